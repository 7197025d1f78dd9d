"""An error of any kind -> the refusal that the client gets: unknown names, missing keys, and errors of upstreams."""

from __future__ import annotations

from innervoice.errors import InnervoiceError
from innervoice.gateway.refusals import refusal_of, unknown_model
from innervoice.gateway.routes import NotConfiguredError, UnknownModelError
from innervoice.wire.refusals import Refusal

__all__ = ["trouble"]


def trouble(error: InnervoiceError, dialect: str, upstream: str | None = None) -> Refusal:
    """The refusal for an error, as a client of `dialect` gets it; `upstream` is the dialect in which the provider was called."""
    if isinstance(error, UnknownModelError):
        return unknown_model(dialect, error.model, error.nearest)
    refusal = refusal_of(error, dialect, upstream)
    return refusal.replace(status=503) if isinstance(error, NotConfiguredError) else refusal
