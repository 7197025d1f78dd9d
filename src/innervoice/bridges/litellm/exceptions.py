"""The exceptions, under the module name that litellm uses."""

from typing import NoReturn

from innervoice.bridges.litellm.errors import *
from innervoice.bridges.litellm.errors import __all__ as _names
from innervoice.bridges.litellm.unsupported import missing

__all__ = list(_names)


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
