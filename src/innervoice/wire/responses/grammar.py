"""The order of the events of the Responses API.

    created in_progress (output_item.added <entries> output_item.done)* (completed | incomplete | failed)
    <entries>: (part.added text.delta* text.done part.done)*, or arguments.delta* arguments.done

Every event has the next `sequence_number`, events of an item have its id and its index, and the last event has the whole response.
After https://platform.openai.com/docs/api-reference/responses-streaming (read 2026-11-15) and recordings.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

from innervoice.frames.frame import Frame
from innervoice.wire.grammar import Grammar, counts_missing
from innervoice.wire.json_access import as_dict, as_list, as_text

__all__ = ["ItemGrammar", "ResponsesGrammar"]

_COUNTS = ("input_tokens", "output_tokens", "total_tokens")
_BEGINNINGS = ("created", "queued", "in_progress")
_ENDINGS = ("completed", "incomplete", "failed", "cancelled")

_ECHOED = (
    "background", "frequency_penalty", "instructions", "metadata", "presence_penalty", "prompt_cache_key", "prompt_cache_retention",
    "reasoning", "safety_identifier", "service_tier", "store", "temperature", "text", "tools", "top_logprobs", "top_p", "truncation",
)  # fmt: skip
"""Settings of the request that the response repeats."""


class ResponsesGrammar(Grammar):
    """Checks one response."""

    has_names: ClassVar[bool] = True
    incidental: ClassVar[dict[str, str]] = {
        "sequence_number": "counts the events",
        "obfuscation": "padding of a random length",
        "response.created_at": "the time",
        "response.completed_at": "the time",
        "response.usage": "counts",
        "response.tool_usage": "counts",
        "copilot_usage": "counts and prices",
        "response.content_filters": "the result of Azure's filter; if it blocks something, the status says so as well",
        "response.output_text": "the text once more",
        "logprobs": "how likely each token was",
        "part.logprobs": "the same",
        **{f"response.{name}": "a setting of the request, once more" for name in _ECHOED},
    }
    tolerates: ClassVar[dict[str, frozenset[str]]] = {
        # Events without names, and vLLM's content whose numbering continues that of the reasoning item.
        "event_name": frozenset({"openrouter", "bedrock-mantle"}),
        "entry_index": frozenset({"bedrock-mantle"}),
        # An item begins before the previous one is done, ids change at the end, and [DONE] follows.
        "two_items": frozenset({"openrouter"}),
        "last_id": frozenset({"openrouter", "github-copilot"}),
        "done": frozenset({"openrouter"}),
        # Every event has other ids.
        "item_id": frozenset({"github-copilot"}),
        "response_id": frozenset({"github-copilot"}),
    }
    _sequence = 0
    _response_id: str | None = None
    _state = ""  # the last of the beginnings

    def __init__(self, host: str | None = None) -> None:
        super().__init__(host)
        self._items: list[ItemGrammar] = []

    def message(self, message: dict[str, Any], frame: Frame) -> None:
        kind = as_text(message.get("type")) or ""
        number = message.get("sequence_number")
        text = f"{kind} has the number {number}, not {self._sequence}"
        self.expect(number == self._sequence, "sequence", text)
        self._sequence += 1
        self.expect(not self.is_over, "after_end", f"{kind} comes after the end")
        if kind == "error":
            self.expect_members(message, {"message": str}, "the error")
            self.fail()
            return
        name = kind.removeprefix("response.")
        self.expect(name != kind, "unknown_event", f"there is no event {kind!r}")
        if name in _BEGINNINGS:
            self._begin(name, as_dict(message.get("response")))
            return
        self.expect(self._state == "in_progress", "no_start", f"{kind} comes before in_progress")
        if name in _ENDINGS:
            self._end(name, as_dict(message.get("response")))
        elif name == "output_item.added":
            self._add(message)
        else:
            self._of_item(name, message)

    def _begin(self, name: str, response: dict[str, Any]) -> None:
        order = {"created": ("",), "queued": ("created",), "in_progress": ("created", "queued")}
        fits = self._state in order[name]
        self.expect(fits, "order", f"{name} comes after {self._state or 'nothing'}")
        self._state = name
        self._check_response(response, "in_progress" if name == "created" else name)
        self.expect(response.get("output") == [], "head", "the response begins with output")

    def _check_response(self, response: dict[str, Any], status: str) -> None:
        self.expect_members(response, {"id": str, "model": str, "output": list}, "the response")
        actual = response.get("status")
        self.expect(actual == status, "status", f"the status is {actual!r}, not {status!r}")
        self._response_id = self._response_id or response.get("id")
        same = response.get("id") == self._response_id
        self.expect(same, "response_id", "the id of the response has changed")

    # ---- items ---------------------------------------------------------------------------------

    def _add(self, event: dict[str, Any]) -> None:
        index, item = event.get("output_index"), as_dict(event.get("item"))
        others = [number for number, other in enumerate(self._items) if not other.is_done]
        self.expect(not others, "two_items", f"item {index} is added while {others} is open")
        text = f"item {index} is added, but {len(self._items)} is the next number"
        self.expect(index == len(self._items), "index", text)
        self.expect_members(item, {"id": str, "type": str}, "the item")
        is_new = all(item.get("id") != other.id for other in self._items)
        self.expect(is_new, "id_again", f"item {index} has the id of another")
        self._items.append(ItemGrammar(item, self.expect))

    def _of_item(self, name: str, event: dict[str, Any]) -> None:
        index = event.get("output_index")
        item_here = self._items[index] if type(index) is int and index < len(self._items) else None
        is_open = item_here is not None and not item_here.is_done
        if self.expect(is_open, "not_open", f"{name} is for item {index}, which is not open"):
            assert item_here is not None
            item_here.event(name, event)

    # ---- the end -------------------------------------------------------------------------------

    def _end(self, name: str, response: dict[str, Any]) -> None:
        self.is_over, self.has_failed = True, name == "failed"
        self._check_response(response, name)
        if self.has_failed:
            self.expect(as_dict(response.get("error")).get("message"), "members", "no error")
            return
        open_items = [number for number, item in enumerate(self._items) if not item.is_done]
        self.expect(not open_items, "unstopped", f"items {open_items} are not done at the end")
        self._check_output(as_list(response.get("output")))
        usage = response.get("usage")
        missing = counts_missing(usage, _COUNTS)
        details = as_dict(as_dict(usage).get("output_tokens_details"))
        missing += counts_missing(details, ("reasoning_tokens",))
        self.expect(usage is None or not missing, "usage", f"the usage lacks {missing}")
        if name == "incomplete":
            members: dict[str, type] = {"reason": str}
            self.expect_members(response.get("incomplete_details"), members, "incomplete_details")

    def _check_output(self, output: list[Any]) -> None:
        counts = f"{len(output)} items at the end, {len(self._items)} before"
        if not self.expect(len(output) == len(self._items), "output", counts):
            return
        for number, (last, item) in enumerate(zip(output, self._items, strict=True)):
            same = as_dict(last).get("id") == item.id
            self.expect(same, "last_id", f"item {number} has another id at the end")
            if same:
                text = f"item {number} is not what it was when it was done"
                self.expect(_unsealed(last) == _unsealed(item.item), "output_item", text)


def _unsealed(item: dict[str, Any]) -> dict[str, Any]:
    """An item without its seal, which OpenAI encrypts anew each time it sends it."""
    return {name: value for name, value in item.items() if name != "encrypted_content"}


# ---- The order of the events of one item of the Responses API: its entries, the text of its call, and its end.


class Expect(Protocol):
    """Adds an error unless the condition holds."""

    def __call__(self, holds: object, rule: str, text: str) -> bool: ...


class _Entries(NamedTuple):
    """The member of an item that holds entries, and the member of an event that numbers them."""

    place: str
    number: str


_PARTS = {
    "content_part": _Entries("content", "content_index"),
    "reasoning_summary_part": _Entries("summary", "summary_index"),
    "reasoning_part": _Entries("content", "content_index"),
}
"""By the name of the events that open and close entries. `reasoning_part` is vLLM's."""
_TEXTS = {
    "output_text": ("message", "output_text", "text"),
    "refusal": ("message", "refusal", "refusal"),
    "reasoning_text": ("reasoning", "reasoning_text", "text"),
    "reasoning_summary_text": ("reasoning", "summary_text", "text"),
}
"""By the name of the events with the text of an entry: the types of the item and of the entry, and the member."""
_CALLS = {
    "function_call_arguments": ("function_call", "arguments"),
    "custom_tool_call_input": ("custom_tool_call", "input"),
    "mcp_call_arguments": ("mcp_call", "arguments"),
    "code_interpreter_call_code": ("code_interpreter_call", "code"),
}
"""By the name of the events with the text of a call: the type of the item, and the member."""

_SPEAKING = ("message", "reasoning")
"""The types of items that have entries."""


class ItemGrammar:
    """Checks the events of one item."""

    def __init__(self, item: dict[str, Any], expect: Expect) -> None:
        self.item = item
        """The item as it was added; once it is done, the final item."""
        self.id = as_text(item.get("id"))
        self.type = as_text(item.get("type")) or ""
        self.is_done = False
        self._expect = expect
        self._entries: dict[str, list[dict[str, Any]]] = {"content": [], "summary": []}
        self._open: _Entries | None = None
        self._index: Any = None  # of the open entry
        self._text: str | None = ""  # of the open entry or of the call; None: it is done
        self._said_call: Any = None  # the text of the call, once it is done
        for place in self._entries if self.type in _SPEAKING else ():
            expect(not item.get(place), "begun", f"the item is added with its {place} filled")
        self._calls_text = next((row for row in _CALLS.items() if row[1][0] == self.type), None)
        if self.type in ("function_call", "custom_tool_call"):
            names = ("call_id", "name")
            missing = [name for name in names if not isinstance(item.get(name), str)]
            expect(not missing, "members", f"the call lacks {missing}")

    def event(self, name: str, event: dict[str, Any]) -> None:
        """Checks an event of the item."""
        if name == "output_item.done":
            self._end(as_dict(event.get("item")))
            return
        same = event.get("item_id", None if name.startswith("shell_call") else "") in (
            self.id,
            None,
        )
        self._expect(same, "item_id", f"{name} names another item than its index does")
        stem, _, moment = name.rpartition(".")
        if stem in _PARTS:
            self._part(_PARTS[stem], moment, event)
        elif stem in _TEXTS:
            self._entry_text(stem, moment, event)
        elif stem in _CALLS:
            kind, member = _CALLS[stem]
            self._expect(kind == self.type, "delta", f"a {self.type} has no {name}")
            self._piece(stem, moment, event, member)
        elif stem == "output_text.annotation":
            self._expect(self._open, "not_open", "an annotation comes outside of a text")
        else:
            is_own = self.type and name.startswith(self.type.removesuffix("_output"))
            self._expect(is_own, "unknown_event", f"a {self.type} has no event {name!r}")

    # ---- entries -------------------------------------------------------------------------------

    def _part(self, entries: _Entries, moment: str, event: dict[str, Any]) -> None:
        part, index = as_dict(event.get("part")), event.get(entries.number)
        listed = self._entries[entries.place]
        if moment == "added":
            self._expect(self._open is None, "two_open", "an entry begins while another is open")
            text = f"entry {index} begins, but {len(listed)} is the next number"
            self._expect(index == len(listed), "entry_index", text)
            listed.append(part)
            self._open, self._index, self._text = entries, index, ""
            filled = part.get("text") or part.get("refusal")
            self._expect(not filled, "begun", "an entry begins with its text filled")
            return
        if not self._expect_open(entries, index, f"entry {index} is done, which is not open"):
            return
        text = "an entry is done before its text is"
        self._expect(self._text is None, "unstopped", text)
        content = self._said(listed[-1])
        self._expect(self._said(part) == content, "text", "an entry is done with another text")
        listed[-1], self._open, self._text = part, None, ""

    def _entry_text(self, stem: str, moment: str, event: dict[str, Any]) -> None:
        item_type, entry_type, member = _TEXTS[stem]
        self._expect(item_type == self.type, "delta", f"a {self.type} has no {stem}")
        summary = entry_type == "summary_text"
        entries = _PARTS["reasoning_summary_part" if summary else "content_part"]
        index = event.get(entries.number)
        text = f"{stem} is for entry {index}, which is not open"
        if not self._expect_open(entries, index, text):
            return
        entry = self._entries[entries.place][-1]
        self._expect(entry.get("type") == entry_type, "delta", f"{stem} for another entry")
        self._piece(stem, moment, event, member)
        if self._text is not None:
            entry[member] = self._text

    def _piece(self, stem: str, moment: str, event: dict[str, Any], member: str) -> None:
        """A delta, or the whole text at its end."""
        if self._text is None:
            self._expect(False, "after_text", f"{stem}.{moment} comes after its end")
        elif moment == "delta":
            delta = event.get("delta")
            self._expect(isinstance(delta, str), "members", f"{stem}.delta lacks 'delta'")
            self._text += as_text(delta) or ""
        elif moment == "done":
            same = event.get(member) == self._text or (not self._text and member == "arguments")
            self._expect(same, "text", f"{stem}.done has another text than its deltas")
            self._said_call, self._text = event.get(member), None

    def _expect_open(self, entries: _Entries, index: Any, text: str) -> bool:
        is_open = self._open is not None and self._open.place == entries.place
        return self._expect(is_open and index == self._index, "not_open", text)

    def _said(self, part: dict[str, Any]) -> Any:
        return part.get("text", part.get("refusal"))

    # ---- the end -------------------------------------------------------------------------------

    def _end(self, item: dict[str, Any]) -> None:
        self.is_done, self.item = True, item
        self._expect(item.get("id") == self.id, "item_id", "an item is done with another id")
        same = item.get("type") == self.type
        self._expect(same, "item_type", "an item is done with another type")
        self._expect(self._open is None, "unstopped", "an item is done while an entry is open")
        if self._calls_text:
            stem, (_, member) = self._calls_text
            if stem.startswith(("function", "custom")):
                self._expect(self._text is None, "unstopped", f"{stem}.done is missing")
            text = f"an item is done with another {member}"
            same = self._text is not None or item.get(member) == self._said_call
            self._expect(same, "text", text)
        for place, entries in self._entries.items() if self.type in _SPEAKING else ():
            last = [self._said(as_dict(entry)) for entry in as_list(item.get(place))]
            streamed = [self._said(entry) for entry in entries]
            self._expect(last == streamed, "text", f"an item is done with another {place}")
