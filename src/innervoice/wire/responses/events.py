"""A whole response -> the events of its stream.

After https://platform.openai.com/docs/api-reference/responses-streaming (read 2026-11-15) and recordings:
an item is added empty, its entries come in pieces, and it is done as a whole, which is when its encrypted
content is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.serve_response import pieces

__all__ = ["events_of"]

_CALLS = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
}


class Entry(NamedTuple):
    """How the events of an entry are called: of its text, of itself, its number, and its text's member."""

    text: str
    part: str
    number: str
    member: str = "text"


_SUMMARY = Entry(
    "response.reasoning_summary_text", "response.reasoning_summary_part", "summary_index"
)
_CONTENTS = {
    "reasoning_text": Entry("response.reasoning_text", "response.content_part", "content_index"),
    "output_text": Entry("response.output_text", "response.content_part", "content_index"),
    "refusal": Entry("response.refusal", "response.content_part", "content_index", "refusal"),
}


def events_of(response: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    """The events, as yet without their numbers."""
    nothing: dict[str, Any] = {
        "error": None,
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }
    begun = {**response, **nothing, "status": "in_progress"}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        place = {"output_index": index}
        yield {"type": "response.output_item.added", **place, "item": _begun(item)}
        named = {"item_id": item.get("id") or f"item_{index}", **place}
        yield from _item_events(item, named, size)
        yield {"type": "response.output_item.done", **place, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    """An item before anything of it came; its seal comes later."""
    begun = {name: value for name, value in item.items() if name != "encrypted_content"}
    if "status" in begun:
        begun["status"] = "in_progress"
    if item.get("type") in _CALLS:
        begun[_CALLS[item["type"]][0]] = ""
    elif item.get("type") in ("reasoning", "message"):
        begun.update({name: [] for name in ("summary", "content") if item.get(name)})
    return begun


def _item_events(
    item: dict[str, Any], place: dict[str, Any], size: int
) -> Iterator[dict[str, Any]]:
    kind = item.get("type")
    if kind in _CALLS:
        member, name = _CALLS[kind]
        text = as_text(item.get(member)) or ""
        yield from _deltas(f"{name}.delta", place, text, size)
        yield {"type": f"{name}.done", **place, member: text}
    elif kind in ("reasoning", "message"):
        for number, entry in enumerate(as_list(item.get("summary"))):
            yield from _entry_events(_SUMMARY, as_dict(entry), number, place, size)
        for number, entry in enumerate(as_list(item.get("content"))):
            names = _CONTENTS.get(str(as_dict(entry).get("type")))
            if names:
                yield from _entry_events(names, entry, number, place, size)


def _entry_events(
    names: Entry, entry: dict[str, Any], number: int, place: dict[str, Any], size: int
) -> Iterator[dict[str, Any]]:
    place = {**place, names.number: number}
    text = as_text(entry.get(names.member)) or ""
    # The SDK's types want the probabilities of a text, also where nobody asked for them.
    more: dict[str, Any] = {"logprobs": []} if entry.get("type") == "output_text" else {}
    begun = {**entry, names.member: ""}
    yield {"type": f"{names.part}.added", **place, "part": begun}
    yield from _deltas(f"{names.text}.delta", {**place, **more}, text, size)
    yield {"type": f"{names.text}.done", **place, **more, names.member: text}
    yield {"type": f"{names.part}.done", **place, "part": entry}


def _deltas(name: str, members: dict[str, Any], text: str, size: int) -> Iterator[dict[str, Any]]:
    for piece in pieces(text, size):
        yield {"type": name, **members, "delta": piece}
