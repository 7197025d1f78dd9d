"""Mistral chat -> canonical events: what chat hosts send, with content that may be a list of chunks."""

from __future__ import annotations

from typing import ClassVar

from innervoice.wire.chat.read import ChatReader

__all__ = ["MistralReader"]


class MistralReader(ChatReader):
    """Reads one completion of Mistral."""

    dialect: ClassVar[str] = "mistral"
