"""Batches of these requests at OpenAI."""

from __future__ import annotations

from innervoice.wire.openai_batches import OpenAiBatches

__all__ = ["API"]

API = OpenAiBatches("/v1/responses")
