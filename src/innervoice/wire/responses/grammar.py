"""The order of the events of the Responses API.

    created in_progress (output_item.added <entries> output_item.done)* (completed | incomplete | failed)
    <entries>: (part.added text.delta* text.done part.done)*, or arguments.delta* arguments.done

Every event has the next `sequence_number`, events of an item have its id and its index, and the last event has the whole response.
After https://platform.openai.com/docs/api-reference/responses-streaming (read 2026-11-15) and recordings.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.frames.frame import Frame
from innervoice.wire.grammar import Grammar, counts_missing
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.responses.item_grammar import ItemGrammar

__all__ = ["ResponsesGrammar"]

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
        found = response.get("status")
        self.expect(found == status, "status", f"the status is {found!r}, not {status!r}")
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
        found = self._items[index] if type(index) is int and index < len(self._items) else None
        is_open = found is not None and not found.is_done
        if self.expect(is_open, "not_open", f"{name} is for item {index}, which is not open"):
            assert found is not None
            found.event(name, event)

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
