"""Writes an answer in a provider's dialect as its events arrive."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from secrets import token_hex
from typing import Any

from innervoice.answering.encoder import AnswerEncoder
from innervoice.canon.notes import Notebook
from innervoice.canon.tools import Tool
from innervoice.errors import UsageError
from innervoice.frames.lines import JsonArray
from innervoice.wire.answer import AnswerHead, Seal
from innervoice.wire.dialects import dialect_named

__all__ = ["StreamEncoder"]


class StreamEncoder(AnswerEncoder):
    """Writes an answer as its events arrive.

    `feed` and `finish` return bytes, framed as by the dialect's API; `ping` returns a keep-alive. `model` and `id` are written into
    the answer. `seal` returns what a client has to carry in the opaque member of a part that came from another dialect.
    `choice` is the number of one of several answers. `tools` are those of the client's request: calls of functions that replaced its
    free-form tools are written as calls of those tools. `array` writes one JSON array, as Gemini does without `alt=sse`. `echo` has
    members of the request that a Responses answer repeats.
    """

    def __init__(
        self,
        dialect: str,
        model: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the name that the wire has for it
        seal: Seal | None = None,
        choice: int = 0,
        tools: Iterable[Tool] = (),
        array: bool = False,
        echo: Mapping[str, Any] | None = None,
    ) -> None:
        row = dialect_named(dialect)
        now = time.time()
        head = AnswerHead(
            id=id or f"{row.id_start}{token_hex(12)}",
            model=model or "",
            created=int(now),
            created_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
            choice=choice,
            echo=dict(echo or {}),
        )
        self.id = head.id
        """The id in the answer."""
        if array and not row.streams_lists:
            raise UsageError(
                f"array is for dialects that stream a JSON array, which {dialect!r} does not"
            )
        self._array = JsonArray() if array else None
        super().__init__(row.answer_writer(head, Notebook(), seal), self._array or row.framing)
        self._free_form = {tool.name for tool in tools if tool.is_free_form}

    def _taken(self) -> bytes:
        data = super()._taken()
        if self._array and self._is_over:
            data += self._array.end()
            self._array = None
        return data
