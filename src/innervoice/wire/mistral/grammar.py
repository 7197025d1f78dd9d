"""The order of the chunks of Mistral's chat API: as in chat, but a call is sent whole, and the counts come with the finish reason."""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.wire.chat.grammar import ChatGrammar
from innervoice.wire.json_access import as_dict, as_list

__all__ = ["MistralGrammar"]

_CHUNKS: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "thinking": {"thinking": list},
    "reference": {"reference_ids": list},
}


class MistralGrammar(ChatGrammar):
    """Checks one completion."""

    words: ClassVar[frozenset[str]] = frozenset(
        {"stop", "length", "model_length", "error", "tool_calls"}
    )
    incidental: ClassVar[dict[str, str]] = {
        "created": "the time of the answer",
        "usage": "counts",
        "choices.delta.content.closed": "always true, in some chunks and not in others",
        "p": "padding of a random length",
    }
    calls_whole: ClassVar[bool] = True
    usage_with_reason: ClassVar[bool] = True
    tolerates: ClassVar[dict[str, frozenset[str]]] = {}

    def _check_content(self, delta: dict[str, Any]) -> None:
        content = delta.get("content")
        if content is None or isinstance(content, str):
            return
        self.expect(isinstance(content, list), "content", "'content' is neither text nor a list")
        for chunk in map(as_dict, as_list(content)):
            kind = chunk.get("type")
            is_legal = self.expect(kind in _CHUNKS, "content", f"there is no chunk {kind!r}")
            if is_legal:
                self.expect_members(chunk, _CHUNKS[str(kind)], f"the chunk {kind}")
            for inner in map(as_dict, as_list(chunk.get("thinking"))):
                self.expect_members(inner, {"type": str}, "a piece of thinking")
