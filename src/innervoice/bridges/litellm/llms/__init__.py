"""The modules of litellm's providers whose names programs import."""

from typing import NoReturn

from innervoice.bridges.litellm.llms import custom_llm as custom_llm
from innervoice.bridges.litellm.unsupported import missing


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
