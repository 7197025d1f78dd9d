"""Parts -> the events of the Responses API, as they arrive.

Rules, after https://platform.openai.com/docs/api-reference/responses-streaming (read 2026-11-15) and recordings:

  1. An item is added empty, its entries are sent in pieces, and it is done as a whole, with its encrypted content.
     Its id and its index are the same in every event.
  2. Parts that share an item are entries of one. A part of another dialect is a separate item: reasoning has its text as a summary,
     which is what clients show.
  3. Every event has the next number, and the last one has the whole response.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from innervoice.canon.jsontext import dump_json
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.response import Failure, FinishReason, Response
from innervoice.canon.words import finish_reason_of
from innervoice.frames.frame import Frame
from innervoice.wire.answer import AnswerHead, AnswerWriter, Seal
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.refusals import Refusal
from innervoice.wire.responses.body import ending, last_event, response_body, unfinished

__all__ = ["ResponsesWriter"]


class _Entry(NamedTuple):
    """An entry of an item: its place, its type, the names of its events, the member that numbers it and the one with its text."""

    place: str
    type: str
    part_event: str
    text_event: str
    number: str
    member: str = "text"


_SUMMARY = _Entry(
    "summary",
    "summary_text",
    "response.reasoning_summary_part",
    "response.reasoning_summary_text",
    "summary_index",
)
_THOUGHT = _Entry(
    "content", "reasoning_text", "response.content_part", "response.reasoning_text", "content_index"
)
_TEXT = _Entry(
    "content", "output_text", "response.content_part", "response.output_text", "content_index"
)
_REFUSAL = _Entry(
    "content", "refusal", "response.content_part", "response.refusal", "content_index", "refusal"
)
_CALLS = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
}


_STARTS = {"reasoning": "rs", "message": "msg", "function_call": "fc", "custom_tool_call": "ctc"}


class ResponsesWriter(AnswerWriter):
    """Writes one response."""

    dialect: ClassVar[str] = "openai-responses"

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        super().__init__(head, notebook, seal)
        self._output: list[dict[str, Any]] = []
        self._item: dict[str, Any] | None = None  # the open item so far
        self._whole: dict[str, Any] | None = None  # the same as it was received, seals included
        self._entry: _Entry | None = None
        self._pieces: list[str] = []  # of the open entry, or of the open call's arguments
        self._sequence = 0
        self._suffix = head.id.removeprefix("resp_")
        self._response = Response()
        self._delta: tuple[bytes, str] | None = None  # the beginning and the name of the next delta
        self._is_queued = False
        self._left: dict[str, Any] | None = None  # the item in which the answer broke off

    def queue(self) -> None:
        waiting = self._body(Response(ended=True), status="queued")
        for kind in ("response.created", "response.queued"):
            self._send(kind, response=waiting)
        self._is_queued = True

    def start(self) -> None:
        begun = self._body(Response(ended=True), status="in_progress")
        if not self._is_queued:
            self._send("response.created", response=begun)
        self._send("response.in_progress", response=begun)

    # ---- items ---------------------------------------------------------------------------------

    def begin(self, number: int, part: Part) -> None:
        self._delta = None
        block = self.own_block(part)
        name = part.origin.item if part.origin and part.origin.dialect == self.dialect else None
        if not isinstance(part, (Text, Thinking, ToolCall)):
            self._begin_opaque(part, block)
            return
        if not (self._item and name and self._item["id"] == name):
            self._end_item()
            self._begin_item(
                self._new_item(part, self._unused(name, (block or {}).get("id")), block)
            )
        if not isinstance(part, ToolCall):
            self._entry = self._entry_of(part)
            if self._entry is not None:
                self._send_entry(".added", "part", self._empty_entry(self._entry))

    def _unused(self, *names: Any) -> str | None:
        """The first of these ids, unless an item that was interrupted has it."""
        used = [item["id"] for item in self._output]
        return next((name for name in names if name and name not in used), None)

    def _begin_opaque(self, part: Part, block: dict[str, Any] | None) -> None:
        self._end_item()
        if block is None or "type" not in block:
            self.left_out(part)
        else:
            self._begin_item({"id": f"item_{self.head.id}_{len(self._output)}", **block})
            if block["type"] == "compaction":
                self._send("response.compaction.compacting", **self._place())

    def _begin_item(self, item: dict[str, Any]) -> None:
        self._item, self._whole = item, None
        self._send("response.output_item.added", output_index=len(self._output), item=_copy(item))

    def _new_item(
        self, part: Part, name: str | None, block: dict[str, Any] | None
    ) -> dict[str, Any]:
        """An item before its first entry, with the members that it had from the beginning."""
        members = {key: value for key, value in (block or {}).items() if key != "encrypted_content"}
        kind = _kind_of(part, members)
        head = {"id": name or f"{_STARTS[kind]}_{self._suffix}_{len(self._output)}", "type": kind}
        status = {"status": "in_progress"} if kind != "reasoning" or "status" in members else {}
        match part:
            case Thinking():
                content: dict[str, Any] = {"content": []} if members.get("content") else {}
                return {**members, **head, **status, "summary": [], **content}
            case Text():
                return {**members, **head, **status, "role": "assistant", "content": []}
            case ToolCall():
                call = {"call_id": part.id, "name": part.name, _CALLS[kind][0]: ""}
                return {**members, **head, **status, **call}
        raise AssertionError(part.type)

    def add(self, number: int, text: str) -> None:
        if self._item is None:
            return
        if call := _CALLS.get(as_text(self._item["type"]) or ""):
            self._pieces.append(text)
            self._send_delta(call[1], None, text)
        elif entry := self._entry:
            self._pieces.append(text)
            self._send_delta(entry.text_event, entry, text)

    def end(self, number: int, part: Part) -> None:
        if self._item is None:
            return
        block = self.own_block(part)
        self._whole = block or self._whole
        if call := _CALLS.get(as_text(self._item["type"]) or ""):
            member, event = call
            text = self._said() or ("{}" if member == "arguments" else "")
            self._item[member] = text
            self._send(f"{event}.done", **self._place(), **{member: text})
        elif entry := self._entry:
            self._end_entry(entry)
        elif isinstance(part, Thinking) and not block and not self.seal_of(part):
            self.left_out(part)
        if isinstance(part, Thinking) and not block and (seal := self.seal_of(part)):
            self._item["encrypted_content"] = seal

    def _end_entry(self, entry: _Entry) -> None:
        assert self._item is not None
        number = len(self._item[entry.place]) - 1
        written = self._item[entry.place][number]
        written[entry.member] = self._said()
        received = as_list((self._whole or {}).get(entry.place))[number : number + 1]
        for entry_before in map(as_dict, received):
            written.update(
                {
                    key: entry_before[key]
                    for key in entry_before
                    if key not in ("type", entry.member)
                }
            )
        for index, annotation in enumerate(as_list(written.get("annotations"))):
            place = {**self._place(entry), "annotation_index": index}
            self._send(f"{entry.text_event}.annotation.added", **place, annotation=annotation)
        more: dict[str, Any] = {"logprobs": []} if entry is _TEXT else {}
        text = {entry.member: written[entry.member]}
        self._send(f"{entry.text_event}.done", **self._place(entry), **more, **text)
        self._send_entry(".done", "part", dict(written))
        self._entry = None

    def _said(self) -> str:
        """The text of the open entry, or the arguments of the open call."""
        text = "".join(self._pieces)
        self._pieces.clear()
        return text

    def _end_item(self) -> None:
        """Ends the open item: as it was received, or as it was written."""
        item, self._item = self._item, None
        if item is None:
            return
        if self._whole is not None:
            item = _as_written(self._whole, item)
        elif "status" in item:
            item["status"] = "completed"
        self._output.append(item)
        self._send("response.output_item.done", output_index=len(self._output) - 1, item=item)

    def leave(self, number: int, part: Part) -> None:
        """The item is only in the whole body, and says that it is incomplete; it is never done, because clients run calls that are."""
        item, self._item = self._item, None
        if item is None:
            return
        if call := _CALLS.get(as_text(item["type"]) or ""):
            item[call[0]] = self._said()
        elif entry := self._entry:
            item[entry.place][-1][entry.member] = self._said()
        self._left = {**item, "status": "incomplete"}

    def free_form_block(self, call: ToolCall, text: str) -> dict[str, Any] | None:
        head = {"type": "custom_tool_call", "status": "completed", "call_id": call.id}
        return {**head, "name": call.name, "input": text}

    def recall(self, part: Part) -> None:
        if isinstance(part, Thinking) and not self.own_block(part) and (seal := self.seal_of(part)):
            self._end_item()
            name = f"rs_{self._suffix}_{len(self._output)}"
            self._begin_item({"id": name, "type": "reasoning", "summary": []})
            assert self._item is not None
            self._item["encrypted_content"] = seal
            self._end_item()

    # ---- entries -------------------------------------------------------------------------------

    def _entry_of(self, part: Part) -> _Entry | None:
        if isinstance(part, Text):
            return _REFUSAL if self._is_refusal(part) else _TEXT
        assert isinstance(part, Thinking)
        if part.form == "hidden" or (part.complete and not part.text):
            return None
        is_ours = part.origin is not None and part.origin.dialect == self.dialect
        return _THOUGHT if is_ours and part.form == "full" else _SUMMARY

    def _is_refusal(self, part: Text) -> bool:
        """Whether a text is a refusal: its entry says so, or else the end of the answer."""
        assert self._item is not None
        entries = as_list((self.own_block(part) or {}).get("content"))
        number = len(as_list(self._item.get("content")))
        kind = as_dict(entries[number]).get("type") if number < len(entries) else None
        return kind == "refusal" if kind in ("refusal", "output_text") else self.is_refused

    def _empty_entry(self, entry: _Entry) -> dict[str, Any]:
        assert self._item is not None
        more: dict[str, Any] = {"annotations": [], "logprobs": []} if entry is _TEXT else {}
        begun = {"type": entry.type, entry.member: "", **more}
        self._item.setdefault(entry.place, []).append(begun)
        return dict(begun)

    def _send_entry(self, suffix: str, member: str, value: dict[str, Any]) -> None:
        assert self._entry is not None
        self._send(
            f"{self._entry.part_event}{suffix}", **self._place(self._entry), **{member: value}
        )

    def _place(self, entry: _Entry | None = None) -> dict[str, Any]:
        assert self._item is not None
        place: dict[str, Any] = {"item_id": self._item["id"], "output_index": len(self._output)}
        if entry is not None:
            place[entry.number] = len(self._item[entry.place]) - 1
        return place

    # ---- the response --------------------------------------------------------------------------

    def finish(self, response: Response) -> None:
        self._end_item()
        if response.finish_reason == "error" and response.status in ("answered", "tool_calls"):
            response = response.replace(finish_reason=None)  # "failed" would take the answer back
        if response.finish_reason == "refusal" and not self._is_marked:
            self._mark_refusal()
        self._response = response
        self._take_last_seals(response)
        body = self._body(response)
        self._send(last_event(body["status"]), response=body)

    @property
    def _is_marked(self) -> bool:
        """Whether an entry says that the answer is a refusal."""
        entries = (
            as_dict(entry) for item in self._output for entry in as_list(item.get("content"))
        )
        return any(entry.get("type") == "refusal" for entry in entries)

    def _mark_refusal(self) -> None:
        """Ends an answer whose text was written before it was known to be a refusal, or that has none, with an empty refusal."""
        self._begin_item(self._new_item(Text(""), None, None))
        self._entry = _REFUSAL
        self._send_entry(".added", "part", self._empty_entry(_REFUSAL))
        self._end_entry(_REFUSAL)
        self._end_item()

    def ended_as(self, response: Response) -> FinishReason | None:
        status, reason = ending(self._response)
        if status == "incomplete":
            return finish_reason_of(reason or status)
        if status in ("failed", "cancelled"):
            return "error"
        usual: FinishReason = "tool_calls" if response.tool_calls else "stop"
        return "refusal" if self._is_marked else usual

    def _take_last_seals(self, response: Response) -> None:
        """The last event may seal an item anew, and then that seal counts."""
        blocks = [block for part in response.parts if (block := self.own_block(part))]
        last = {
            as_text(block.get("id")): block for block in blocks if block.get("encrypted_content")
        }
        for number, item in enumerate(self._output):
            if (block := last.get(as_text(item["id"]))) and "encrypted_content" in item:
                sealed = {**item, "encrypted_content": block["encrypted_content"]}
                self._output[number] = sealed

    def fail(self, refusal: Refusal, response: Response) -> None:
        self._end_item()
        failure = Failure(type=refusal.type, code=refusal.code, message=refusal.text)
        self._response = response.replace(error=failure, finish_reason="error", origin=None)
        self._send("response.failed", response=self._body(self._response))
        if self._left is not None:
            self._output = [*self._output, self._left]

    def body(self) -> dict[str, Any]:
        return self._body(self._response)

    def _body(self, response: Response, status: str | None = None) -> dict[str, Any]:
        identified = response.replace(id=self.head.id, model=self.head.model, usage=self.usage)
        body = response_body(
            identified,
            self._output,
            created=self.head.created,
            completed=self.ended_at or self.head.created,
            echo=self.head.echo or None,
        )
        if status is not None:
            return unfinished(body, status)
        return body

    def _send_delta(self, event: str, entry: _Entry | None, text: str) -> None:
        """Adds a piece. Everything but the text and the number of the event is encoded once for each entry."""
        if self._delta is None:
            more: dict[str, Any] = {"logprobs": []} if entry is _TEXT else {}
            members = {"type": f"{event}.delta", **self._place(entry), **more, "delta": ""}
            self._delta = (dump_json(members).removesuffix(b'""}'), f"{event}.delta")
        before, kind = self._delta
        data = b'%b%b,"sequence_number":%d}' % (before, dump_json(text), self._sequence)
        self._frames.append(Frame(data, kind))
        self._sequence += 1

    def _send(self, kind: str, **members: Any) -> None:
        self.send({"type": kind, **members, "sequence_number": self._sequence}, kind)
        self._sequence += 1


def _kind_of(part: Part, block: dict[str, Any]) -> str:
    """The type of the item for a part."""
    if isinstance(part, ToolCall):
        custom = block.get("type") == "custom_tool_call"
        return "custom_tool_call" if custom else "function_call"
    return "reasoning" if isinstance(part, Thinking) else "message"


def _copy(item: dict[str, Any]) -> dict[str, Any]:
    """An item as it begins, without its seal."""
    return {key: value for key, value in item.items() if key != "encrypted_content"}


def _as_written(whole: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    """An item as received, with its entries where they were written: their place may be known only now."""
    written = {name: item[name] for name in ("summary", "content") if item.get(name)}
    received = {name for name in ("summary", "content") if whole.get(name)}
    same = received == written.keys()
    moved: dict[str, Any] = {} if same else {**{name: [] for name in received}, **written}
    return {**whole, **moved, "id": item["id"]}
