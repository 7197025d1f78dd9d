"""The flags that callers set on the top module, read when they matter."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["flag"]

_TOP = "innervoice.bridges.litellm"


def flag(name: str) -> Any:
    """A flag as it is now, None if there is none: plain attributes of the top module, so that they can be set and patched."""
    return getattr(sys.modules[_TOP], name, None)
