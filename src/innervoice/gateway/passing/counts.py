"""What an answer that is passed on says of tokens and ids, read beside it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from innervoice.canon.usage import Usage
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.owned_ids import ids_in_answer
from innervoice.gateway.passing.passed_json import PassedJson
from innervoice.wire.json_access import as_count, as_dict

__all__ = ["BYTES_A_TOKEN", "AnswerReader", "usage_in"]

_USAGE_MEMBERS = ("usage", "usageMetadata", "usage_metadata", "billed_units")
_INPUT_COUNTS = ("input_tokens", "prompt_tokens", "promptTokenCount", "prompt_token_count", "total_tokens", "totalTokenCount")  # fmt: skip
_OUTPUT_COUNTS = ("output_tokens", "completion_tokens", "candidatesTokenCount", "responseTokenCount", "response_token_count")  # fmt: skip
BYTES_A_TOKEN = 4
_EVENT = b"\ndata:"


def usage_in(value: Mapping[str, Any], before: Usage) -> Usage:
    """The token counts of an object, in any API's words; those from before where it has none."""
    for holder in (value, *(as_dict(value.get(name)) for name in ("response", "message", "meta"))):
        for name in _USAGE_MEMBERS:
            counts = as_dict(holder.get(name))
            received, sent = _first(counts, _INPUT_COUNTS), _first(counts, _OUTPUT_COUNTS)
            if received is not None or sent is not None:
                before = Usage(
                    input_tokens=(before.input_tokens or 0) if received is None else received,
                    output_tokens=(before.output_tokens or 0) if sent is None else sent,
                )
    return before


def _first(counts: Mapping[str, Any], names: Collection[str]) -> int | None:
    found = (as_count(counts.get(name)) for name in names)
    return next((count for count in found if count is not None), None)


class AnswerReader:
    """Reads the token counts and the ids of an answer that is passed on."""

    def __init__(self, content_type: str) -> None:
        self.usage = Usage()
        self.ids: set[str] = set()
        self._events = self._size = 0
        self.is_object = "json" in content_type
        """Whether it is one value, which nobody reads before its end."""
        is_json = self.is_object or "event-stream" in content_type
        self._json = PassedJson(lambda _: is_json, self._read, LIMITS.counted_bytes if is_json else 0)  # fmt: skip
        self.end = self._json.end

    def add(self, piece: bytes) -> None:
        """Adds a piece of the answer."""
        self._size += len(piece)
        self._events += piece.count(_EVENT)
        self._json.add(piece)

    @property
    def estimate(self) -> int:
        """About how many tokens it has: one for each event of a stream, else as many as are reserved at most."""
        return self._events or min(-(-self._size // BYTES_A_TOKEN), LIMITS.reserved_tokens)

    def _read(self, value: dict[str, Any]) -> None:
        self.usage = usage_in(value, self.usage)
        self.ids |= ids_in_answer(value)
