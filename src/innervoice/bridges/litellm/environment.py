"""The environment variables that a call needs: `validate_environment`, and litellm's functions that read one."""

from __future__ import annotations

import os
from typing import Any

from innervoice.bridges.litellm.absent import sentence
from innervoice.bridges.litellm.providers import resolve_model
from innervoice.catalog.lookup import host_of
from innervoice.errors import InnervoiceError

__all__ = [
    "get_secret",
    "get_secret_bool",
    "get_secret_str",
    "load_credentials_from_list",
    "validate_environment",
]

_WORDS = {"true": True, "false": False}


def validate_environment(
    model: str | None = None,
    api_key: str | None = None,
    api_base: str | None = None,
    api_version: str | None = None,  # noqa: ARG001 - litellm's signature
) -> dict[str, Any]:
    """`keys_in_environment`, and the variables that are missing; a provider that accepts several names misses the first.

    A model without a recognizable provider has no known variables, and counts as complete, as in litellm.
    """
    try:
        target = resolve_model(model or "", None, api_base)
    except InnervoiceError:
        return {"keys_in_environment": True, "missing_keys": []}
    host = host_of(target.host) if target.host else None
    names = host.keys if host else ()
    there = bool(api_key) or not names or any(os.environ.get(name) for name in names)
    return {"keys_in_environment": there, "missing_keys": [] if there else list(names[:1])}


def get_secret(secret_name: str, default_value: Any = None) -> Any:
    """An environment variable; litellm's secret managers are not available."""
    return os.environ.get(secret_name.removeprefix("os.environ/"), default_value)


def get_secret_str(secret_name: str, default_value: Any = None) -> str | None:
    """The same, if it is a text."""
    found = get_secret(secret_name, default_value)
    return found if isinstance(found, str) else None


def get_secret_bool(secret_name: str, default_value: bool | None = None) -> bool | None:
    """The same as a boolean; the default for any other text."""
    found = get_secret(secret_name)
    return default_value if found is None else _WORDS.get(found.lower(), default_value)


def load_credentials_from_list(kwargs: dict[str, Any]) -> None:
    """Does nothing without a `litellm_credential_name`; only litellm's proxy has such credentials."""
    if kwargs.get("litellm_credential_name"):
        raise NotImplementedError(sentence("litellm.proxy.credential_list"))
