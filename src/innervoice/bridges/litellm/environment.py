"""`validate_environment`: whether the keys that a model needs are there."""

from __future__ import annotations

import os
from typing import Any

from innervoice.bridges.litellm.providers import resolve_model
from innervoice.catalog.lookup import host_of
from innervoice.errors import InnervoiceError

__all__ = ["get_secret_bool", "validate_environment"]


def get_secret_bool(secret_name: str, default_value: bool | None = None) -> bool | None:
    """An environment variable as a boolean; the default if it is not set, or neither true nor false."""
    words = {"true": True, "false": False}
    return words.get(os.environ.get(secret_name, "").strip().lower(), default_value)


def validate_environment(
    model: str | None = None,
    api_key: str | None = None,
    api_base: str | None = None,
    api_version: str | None = None,  # noqa: ARG001 - litellm's signature
) -> dict[str, Any]:
    """`keys_in_environment`, and the variables that are missing; a provider that accepts several names misses the first.

    A model without a recognizable provider needs nothing that is known, and counts as complete, as in litellm.
    """
    try:
        target = resolve_model(model or "", None, api_base)
    except InnervoiceError:
        return {"keys_in_environment": True, "missing_keys": []}
    host = host_of(target.host) if target.host else None
    names = host.keys if host else ()
    there = bool(api_key) or not names or any(os.environ.get(name) for name in names)
    return {"keys_in_environment": there, "missing_keys": [] if there else list(names[:1])}
