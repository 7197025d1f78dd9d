"""The modules of litellm's integrations whose names programs import."""

from typing import NoReturn

from innervoice.bridges.litellm.integrations import custom_logger as custom_logger
from innervoice.bridges.litellm.unsupported import missing


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
