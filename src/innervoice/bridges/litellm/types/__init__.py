"""The types, under the package name that litellm uses."""

from typing import NoReturn

from innervoice.bridges.litellm.unsupported import missing


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
