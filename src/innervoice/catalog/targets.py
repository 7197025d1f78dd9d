"""Model ids -> targets. This is the one place where `provider/model` is split.

The first `/` or `:` ends the provider. A request must name a provider that has a row, or a dialect (`resolved`); the source of an answer may
have any name, and `deepseek-ai/DeepSeek-R1` is not split because `deepseek-ai` is not a provider (`names_of`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from innervoice.canon.request import Request
from innervoice.canon.target import UNKNOWN_MODEL, Target
from innervoice.catalog.lookup import dialect_at, host_of, model_row_of
from innervoice.errors import UsageError
from innervoice.wire.dialects import dialect_named

__all__ = ["ModelId", "names_of", "resolved", "split_id", "target_at", "target_of"]

_ID = re.compile(r"([^/:]+)[/:](.+)", re.DOTALL)


class ModelId(NamedTuple):
    """The two halves of a model id."""

    provider: str
    """The host's id if the provider has a row, or else the name itself."""
    model: str
    is_known: bool
    """Whether the provider has a row."""


@lru_cache(maxsize=256)
def split_id(text: str) -> ModelId | None:
    """The halves of a model id; None if it has only one."""
    match = _ID.fullmatch(text)
    if match is None:
        return None
    host = host_of(match[1])
    return ModelId(host.id if host else match[1], match[2], host is not None)


@lru_cache(maxsize=256)
def names_of(provider: str | None, model: str | None) -> tuple[str | None, str | None]:
    """Provider and model of an answer. The model's name is split if it alone is passed and begins with a known provider."""
    if provider is None and model is not None:
        parsed = split_id(model)
        if parsed and parsed.is_known:
            return parsed.provider, parsed.model
    host = host_of(provider) if provider else None
    return (host.id if host else provider), model


def target_of(request: Request) -> Target:
    """The target of a request."""
    return resolved(request.model, request.dialect, request.scope)


def resolved(model: str, dialect: str | None = None, scope: str | None = None) -> Target:
    """The target that a model id names; raises `UsageError` for an unknown provider without a dialect."""
    parsed = split_id(model)
    if dialect is None and parsed is None:
        raise UsageError(f"model must be 'provider/model', as 'openai/gpt-5.6'; not {model!r}")
    if dialect is None and parsed and not parsed.is_known:
        raise UsageError(
            f"unknown provider {parsed.provider!r}; name another, or pass a dialect and a base_url"
        )
    if parsed is None:
        return target_at(None, model, dialect, scope)
    return target_at(parsed.provider, parsed.model, dialect, scope)


def target_at(
    provider: str | None, model: str, dialect: str | None = None, scope: str | None = None
) -> Target:
    """The target of a provider and a model that are already split."""
    host = host_of(provider) if provider else None
    if dialect is None and host is not None:
        dialect = dialect_at(host, model)
    name = dialect_named(dialect or "").name  # raises for a name that is not one
    row = model_row_of(model, host.id if host else None, name) or UNKNOWN_MODEL
    here = host.in_dialect(name) if host and host.places else host
    return Target(provider=provider, model=model, host=here, dialect=name, row=row, scope=scope)
