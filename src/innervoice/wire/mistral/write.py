"""A request -> the body of Mistral's chat API."""

from __future__ import annotations

from typing import Any

from innervoice.canon.request import Request
from innervoice.wire.chat import write as chat
from innervoice.wire.mistral.media import write_media

__all__ = ["write"]


def write(request: Request, model: str, limit: str) -> dict[str, Any]:
    """The body: as chat hosts take it, but for the option that Mistral does not know."""
    body = chat.write(request, model, limit, write_media)
    body.pop("stream_options", None)
    return body
