"""The exceptions, under the module name that litellm uses."""

from innervoice.bridges.litellm.errors import *
from innervoice.bridges.litellm.errors import __all__ as _names

__all__ = list(_names)
