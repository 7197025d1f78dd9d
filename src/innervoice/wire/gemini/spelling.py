"""The spelling of Gemini's members: Google accepts camel case and underscores, and its SDK (3.1.0) mixes them."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["camel_case"]

_UNDERSCORE = re.compile(r"_([a-z])")
# The contents of these members are the caller's own, with the caller's names.
_FREE = {"args", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "responseSchema"}  # fmt: skip


def camel_case(value: Any) -> Any:
    """A JSON value with the members of all its objects in camel case."""
    if isinstance(value, list):
        return [camel_case(item) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = {_UNDERSCORE.sub(_raised, key): item for key, item in value.items()}
    return {key: item if key in _FREE else camel_case(item) for key, item in renamed.items()}


def _raised(match: re.Match[str]) -> str:
    return match[1].upper()
