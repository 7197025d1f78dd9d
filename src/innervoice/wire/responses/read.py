"""OpenAI Responses -> canonical events.

Input: a whole response, or the events of a stream. Output: the parts of every item, in order.

Rules, after https://platform.openai.com/docs/api-reference/responses-streaming (read 2026-11-15) and recordings:

  1. Items are distinguished by `output_index`, not by their id: GitHub Copilot changes it with every event. An event without an
     index (llama.cpp's server) belongs to the item with its id, and one with neither to the last item of its type.
  2. `encrypted_content` differs in `added`, `done` and the terminal response, and is never joined: the terminal
     one counts, or else the one of `done`; that of `added` is not complete.
  3. Items may end in another order than they began, indexes may have gaps, `item` may be null, and `done` events
     may be missing altogether: the terminal response fills the gaps. Its items are matched by id, and those whose id
     changed by their type and text, never by their position.
  4. `response.completed`, `.incomplete` and `.failed` are the end; `[DONE]` need not come.
"""

from __future__ import annotations

from collections import deque
from itertools import count, islice
from typing import Any, ClassVar

from innervoice.canon.response import FinishReason
from innervoice.canon.usage import Usage
from innervoice.canon.words import finish_reason_of
from innervoice.wire.json_access import as_count, as_dict, as_list, as_text
from innervoice.wire.protocol import Context, Reader, Slot
from innervoice.wire.reported import note_transformations
from innervoice.wire.responses.items import Item, Leaders, text_of

__all__ = ["Matches", "ResponsesReader"]

# Events that lengthen an entry: where it is, and the member that numbers it.
_DELTAS = {
    "response.output_text.delta": ("content", "content_index"),
    "response.refusal.delta": ("content", "content_index"),
    "response.reasoning_text.delta": ("content", "content_index"),
    "response.reasoning_summary_text.delta": ("summary", "summary_index"),
    "response.function_call_arguments.delta": ("content", ""),
    "response.custom_tool_call_input.delta": ("content", ""),
}
# Events with the whole text of an entry: the same, and the member with the text.
_WHOLE = {
    "response.output_text.done": ("content", "content_index", "text"),
    "response.refusal.done": ("content", "content_index", "refusal"),
    "response.reasoning_text.done": ("content", "content_index", "text"),
    "response.reasoning_summary_text.done": ("summary", "summary_index", "text"),
    "response.function_call_arguments.done": ("content", "", "arguments"),
    "response.custom_tool_call_input.done": ("content", "", "input"),
}
_TYPES = {
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.function_call_arguments.delta": "function_call",
    "response.custom_tool_call_input.delta": "custom_tool_call",
}
_TERMINAL = (
    "response.completed",
    "response.incomplete",
    "response.failed",
    "response.cancelled",
    "response.done",
)


_UNREAD = frozenset({"response.fusion_call.panel.reasoning.delta"})
"""Events with reasoning of models that worked for this one, which have no place in the answer (OpenRouter 1.3.84)."""


class ResponsesReader(Reader):
    """Reads one response."""

    dialect: ClassVar[str] = "openai-responses"

    _refused = False
    _last = -1
    """The highest index of an event."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._items: dict[int, Item] = {}
        self._indexes: dict[str, int] = {}  # by the id of the item, for events without an index
        self._last_of: dict[
            str, tuple[int, bool]
        ] = {}  # by type: the index, and whether an id is known
        self._leaders = Leaders()

    def read(self, value: Any, name: str | None) -> None:
        event = value if isinstance(value, dict) else {}
        kind = as_text(event.get("type")) or name or ""
        if event.get("object") == "response" or (
            "output" in event and not kind.startswith("response.")
        ):
            self._end(event)
        elif kind in _DELTAS:
            where, number = _DELTAS[kind]
            item = self._item(event, _TYPES.get(kind, "message"))
            item.add(self, where, as_count(event.get(number)) or 0, event.get("delta"))
            self._refused = self._refused or kind == "response.refusal.delta"
        elif kind in _WHOLE:
            where, number, member = _WHOLE[kind]
            if record := self._items.get(self._index(event, _TYPES.get(kind, "message"))):
                record.fill(self, where, as_count(event.get(number)) or 0, event.get(member))
        elif kind == "response.output_item.added":
            self._start(event)
        elif kind == "response.output_item.done":
            self._finish_item(event)
        elif kind in _TERMINAL:
            self._end(as_dict(event.get("response")), kind)
        elif kind == "error" or (event.get("error") and not kind.startswith("response.")):
            self.fail(event)
        elif kind in ("response.created", "response.in_progress", "response.queued"):
            self._describe(as_dict(event.get("response")))
        elif kind in ("keepalive", "ping"):
            self.heartbeat()
        elif kind.endswith(".delta"):
            self._pass_over(kind)

    def _pass_over(self, kind: str) -> None:
        self.skip(kind)
        if kind in _UNREAD:
            self.notebook.add("reasoning_unread", kind)

    # ---- items ---------------------------------------------------------------------------------

    def _item(self, event: dict[str, Any], kind: str) -> Item:
        index = as_count(event.get("output_index"))
        if index not in self._items:
            index = self._index(event, kind)
        return self._items.get(index) or self._new(index, {"type": kind})

    def _index(self, event: dict[str, Any], kind: str, *, begins: bool = False) -> int:
        """The index of an event's item, which is of type `kind`; an event that begins an item gets the next index."""
        item = as_dict(event.get("item"))
        ids = [name for name in (event.get("item_id"), item.get("id")) if name and as_text(name)]
        # The calls of llama.cpp have no id, and their deltas name them by their `call_id`.
        names = [*ids, call_id] if (call_id := as_text(item.get("call_id"))) else ids
        index = as_count(event.get("output_index"))
        if index is None:
            index = next((self._indexes[name] for name in names if name in self._indexes), None)
        if index is None and not begins:
            index = self._unended(kind, is_named=bool(ids))
        if index is None:
            index = self._last + 1
        self._indexes.update(dict.fromkeys(names, index))
        self._last = max(self._last, index)
        if ids or index not in self._items:
            self._last_of[kind] = index, bool(ids)
        return index

    def _unended(self, kind: str, *, is_named: bool) -> int | None:
        """The last item of a type, if it has not ended; for an event with an id, only if the item's own is unknown."""
        index, has_id = self._last_of.get(kind, (-1, False))
        item = self._items.get(index)
        return None if item is None or item.done or (is_named and has_id) else index

    def _new(self, index: int, item: dict[str, Any]) -> Item:
        begun = self._items[index] = Item(index, item, self._leaders)
        return begun

    def _start(self, event: dict[str, Any]) -> None:
        item = event.get("item")
        if not isinstance(item, dict):
            return
        # The seal in `added` is not complete yet.
        begun = {key: value for key, value in item.items() if key != "encrypted_content"}
        index = self._index(event, as_text(item.get("type")) or "", begins=True)
        if record := self._items.get(index):
            record.describe({**record.item, **begun})
        else:
            record = self._new(index, begun)
        record.is_sealed = "encrypted_content" in item
        record.take_place(self)

    def _finish_item(self, event: dict[str, Any]) -> None:
        item = event.get("item")
        if isinstance(item, dict):
            record = self._item(event, as_text(item.get("type")) or "")
            if not record.done:
                record.finish(self, item)
                self._refused = self._refused or record.refuses

    def finish(self) -> list[Any]:
        self.events = []
        for item in self._items.values():
            if not item.done:
                item.finish(self, complete=self.ended and self.error is None)
        return self.events

    def conclude(self, slot: Slot, *, complete: bool = True) -> None:
        raise NotImplementedError  # items end their own parts

    # ---- the response --------------------------------------------------------------------------

    def _describe(self, response: dict[str, Any]) -> None:
        self.id = as_text(response.get("id")) or self.id
        self.model = as_text(response.get("model")) or self.model
        if response.get("store") is False:
            self.message_block["store"] = False  # the ids of its items mean nothing to the server

    def _end(self, response: dict[str, Any], kind: str = "") -> None:
        self._describe(response)
        output = response.get("output")
        if output is not None and not isinstance(output, list):
            self.odd(output, "output")
        self._reconcile(as_list(output))
        self._use(response.get("usage"))
        self._stop(response, kind)
        if "input_transformations" in response:
            note_transformations(self.notebook, response["input_transformations"])
        if response.get("error"):
            self.fail(response["error"])

    def _reconcile(self, output: list[Any]) -> None:
        """Reads the items of the terminal response: revises the known ones, and adds the missing ones."""
        matches = Matches(list(self._items.values()), output) if self._items else None
        following = count(max(self._items) + 1 if self._items else 0)
        for item in output:
            if not isinstance(item, dict):
                self.odd(item, "output")
                continue
            record = matches.of(item) if matches else None
            if record is None:
                record = self._new(next(following), item)
                record.read_whole(self)
            elif not record.done:
                record.finish(self, item)
            elif record.type == item.get("type"):
                record.revise(self, item)
            self._refused = self._refused or record.refuses

    def _stop(self, response: dict[str, Any], kind: str) -> None:
        status = as_text(response.get("status")) or kind.removeprefix("response.")
        self.wire_finish_reason = status or None
        self.ended = status not in ("in_progress", "queued")
        if status == "incomplete":
            reason = as_text(as_dict(response.get("incomplete_details")).get("reason"))
            self.wire_finish_reason = reason or status
            self.finish_reason = finish_reason_of(reason or status)
            if self.finish_reason is None:
                self.notebook.add("unknown_finish_reason", reason)
        elif status in ("failed", "cancelled"):
            self.finish_reason = "error"
        elif self.ended:
            ended: FinishReason = "tool_calls" if self._call_ids else "stop"
            self.finish_reason = "refusal" if self._refused else ended

    def _use(self, usage: Any) -> None:
        if isinstance(usage, dict):
            spent = as_dict(usage.get("output_tokens_details"))
            self.use(
                Usage(
                    input_tokens=as_count(usage.get("input_tokens")),
                    output_tokens=as_count(usage.get("output_tokens")),
                    reasoning_tokens=as_count(spent.get("reasoning_tokens")),
                    cached_input_tokens=as_count(
                        as_dict(usage.get("input_tokens_details")).get("cached_tokens")
                    ),
                    raw=usage,
                )
            )


# ---- Which item of a terminal response is which item of the stream before it.
#
# The terminal response may lack items, have more of them, or have them in another order. An item is matched by its id or the id of its
# call; if its id is new, by its type and text, because GitHub Copilot changes ids with every event.


_COMPARED = 16
"""How many items are compared by their text: nearly always the first one matches, and the time stays linear."""


class Matches:
    """The items of the stream, until the items of a terminal response claim them."""

    def __init__(self, items: list[Item], output: list[Any]) -> None:
        by_key: dict[tuple[str, str], list[Item]] = {}
        for item in items:
            for key in _keys(item.item):
                by_key.setdefault(key, []).append(item)
        self._named = by_key
        keys = (key for item in output for key in _keys(as_dict(item)))
        reserved = {item.index for key in keys for item in by_key.get(key, ())}
        self._unnamed: dict[str, deque[Item]] = {}
        for item in items:
            if item.index not in reserved:
                self._unnamed.setdefault(item.type, deque()).append(item)
        self._claimed: set[int] = set()

    def of(self, item: dict[str, Any]) -> Item | None:
        """The matching item of the stream, or None for one that is new."""
        matches = [candidate for key in _keys(item) for candidate in self._named.get(key, ())]
        for candidate in matches:
            if candidate.index not in self._claimed:
                self._claimed.add(candidate.index)
                return candidate
        text = text_of(item)
        # An item that occurs twice in the terminal response is one item.
        again = (candidate for candidate in matches if candidate.text == text)
        return next(again, None) or self._alike(as_text(item.get("type")) or "", text)

    def _alike(self, kind: str, text: str) -> Item | None:
        unnamed, text = self._unnamed.get(kind, deque()), text.strip()
        for item in islice(unnamed, _COMPARED):
            came = item.text.strip()
            if text.startswith(came) or came.startswith(text):
                unnamed.remove(item)
                return item
        return None


def _keys(item: dict[str, Any]) -> list[tuple[str, str]]:
    """The names of an item, each with the item's type: some servers use the same name for all items."""
    kind = as_text(item.get("type")) or ""
    names = (item.get("id"), item.get("call_id"))
    return [(kind, name) for name in names if isinstance(name, str) and name]
