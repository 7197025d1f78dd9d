"""The body of a Mistral chat request -> a request."""

from __future__ import annotations

from typing import Any

from innervoice.canon.request import Request
from innervoice.wire.chat import serve as chat
from innervoice.wire.mistral.read import MistralReader

__all__ = ["read_request"]


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body."""
    return chat.read_request(body, MistralReader)
