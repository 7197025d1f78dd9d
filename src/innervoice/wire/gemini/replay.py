"""How turns are sent back to Gemini: version 3 and later requires a signature on the first call of each step."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

from innervoice.canon.origin import Origin
from innervoice.canon.parts import Thinking, ToolCall
from innervoice.canon.rows import ModelRow
from innervoice.wire.gemini import DIALECT
from innervoice.wire.replay import Replay
from innervoice.wire.write import block_of, input_of

__all__ = ["PLACEHOLDERS", "REPLAY", "SKIP", "is_placeholder"]

SKIP = "skip_thought_signature_validator"
"""What Gemini accepts in place of a signature (ai.google.dev, thought signatures, read 2026-11-15)."""
_WORDS = (SKIP, "context_engineering_is_the_way_to_go")
PLACEHOLDERS = frozenset(
    spelled
    for word in _WORDS
    for spelled in (
        word,
        b64encode(word.encode()).decode(),
        b64encode(word.encode()).decode().rstrip("="),
    )
)
"""Values that programs write where they lost a signature, plain and in base64 (litellm, pydantic-ai): no model sealed anything with them."""
_PUBLISHED = {420: "95961e890e24085525fd6971146dd82dc41b406e594bb3f048b599dfe3f44eeb"}
"""Signatures of a foreign conversation that programs write in the same way, by their length, as SHA-256 (@langchain/google-genai 2.3.2)."""
_SIGNATURE = "thoughtSignature"
_VERSION = re.compile(r"gemini-(\d+)")


def is_placeholder(seal: Any) -> bool:
    """Whether a value only stands for a signature that was lost."""
    if not isinstance(seal, str):
        return False
    published = _PUBLISHED.get(len(seal))
    return seal in PLACEHOLDERS or (
        published is not None
        and published == sha256(seal.encode("utf-8", "surrogatepass")).hexdigest()
    )


class _GeminiReplay(Replay):
    call_id = ("functionCall", "id")
    result_id = ("functionResponse", "id")

    def kept(self, part: Thinking) -> Thinking | None:
        """A summary of thoughts is for people; the model reads the signatures."""
        return part if part.origin is None or part.origin.seals else None

    def fills(self, row: ModelRow) -> bool:
        return True

    def skips(self, model: str) -> bool:
        version = _VERSION.match(model.rsplit("/", 1)[-1])
        return version is not None and int(version[1]) >= 3

    def skipped(self, call: ToolCall) -> ToolCall:
        block = block_of(call)
        if not isinstance(block, dict):
            block = {"functionCall": {"id": call.id, "name": call.name, "args": input_of(call)}}
        signed = {**block, _SIGNATURE: SKIP}
        return call.replace(origin=Origin(dialect=DIALECT.name, block=signed, seals=(_SIGNATURE,)))


REPLAY = _GeminiReplay()
