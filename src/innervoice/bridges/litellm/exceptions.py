"""The exceptions, where litellm has them."""

from innervoice.bridges.litellm.errors import *
from innervoice.bridges.litellm.errors import __all__ as _names

__all__ = list(_names)
