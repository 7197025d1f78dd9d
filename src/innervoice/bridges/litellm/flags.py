"""The flags that callers set on the package, such as `litellm.drop_params`."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["flag"]

_TOP = "innervoice.bridges.litellm"


def flag(name: str) -> Any:
    """The current value of a flag, None if it does not exist; read from the package, where callers set and patch it."""
    return vars(sys.modules[_TOP]).get(name)
