"""Parts -> the events of the Interactions API, as they come.

Rules, after https://ai.google.dev/gemini-api/docs/streaming (read 2026-11-16) and recordings:

  1. A step starts with its type, and a call with its id and name as well; the rest comes in deltas.
  2. Contents that came in one step are one step again, but a text behind a text starts a new one: deltas do not say where one ends.
  3. The signature of a thought comes behind its summary. A thought that has neither is left out.
  4. The last event has the status and the counts, and no steps; `[DONE]` follows.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Media, Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.wire.answer import AnswerHead, AnswerWriter, ObjectArguments, Seal
from innervoice.wire.interactions.serve import (
    DONE,
    counted,
    error_of,
    status_of,
    write_stream_error,
)
from innervoice.wire.interactions.write import write_content
from innervoice.wire.json_access import as_dict, as_list, parsed
from innervoice.wire.refusals import Refusal
from innervoice.wire.write import is_wrapped

__all__ = ["InteractionsWriter"]

_HEAD = ("type", "id", "call_id", "name", "server_name", "signature")
"""What the start of a step of a tool has; the rest comes as a delta."""
_CONTINUATION = "continuation_token"


class InteractionsWriter(AnswerWriter):
    """Writes one interaction."""

    dialect: ClassVar[str] = "gemini-interactions"
    ends_in_text: ClassVar[bool] = True

    def __init__(self, head: AnswerHead, notebook: Notebook, seal: Seal | None = None) -> None:
        super().__init__(head, notebook, seal)
        self._steps: list[dict[str, Any]] = []
        self._items: list[str | None] = []  # where the contents of each step came from
        self._open: dict[str, Any] | None = None  # the step that is open
        self._pieces: list[str] = []
        self._arguments: ObjectArguments | None = None
        self.word = "in_progress"
        self._more: dict[str, Any] = {}  # what the interaction has beside its steps

    def start(self) -> None:
        self._send("interaction.created", interaction=self._interaction())
        self._send("interaction.status_update", interaction_id=self.head.id, status="in_progress")

    # ---- parts ---------------------------------------------------------------------------------

    def begin(self, number: int, part: Part) -> None:
        self._pieces.clear()
        match part:
            case Text():
                self._begin_content(part)
            case ToolCall():
                self._begin_call(part)
            case Thinking():
                self._end_step()  # a thought begins when there is something to say
            case _:
                pass

    def add(self, number: int, text: str) -> None:
        step = self._open
        if step is None or step["type"] == "thought":
            self._add_thought(text)
        elif step["type"] == "model_output":
            self._pieces.append(text)
            self._send_text("text", text)
        elif self._arguments and (piece := self._arguments.feed(text)):
            self._pieces.append(piece)
            self._send_text("arguments_delta", piece)

    def end(self, number: int, part: Part) -> None:
        match part:
            case Text():
                self._end_text(part)
            case Thinking():
                self._end_thought(part)
            case ToolCall():
                self._end_call(part)
            case Media():
                self._begin_content(part)
                self._add_content(write_content(self._plain(part)))
            case _:
                self._write_opaque(part)

    def _plain(self, part: Part) -> Part:
        """A part without the block of another dialect."""
        return part if self.own_block(part) else part.replace(origin=None)

    def leave(self, number: int, part: Part) -> None:
        step, self._open = self._open, None
        text = "".join(self._pieces)
        if step is None:
            return
        if isinstance(part, Text):
            contents = [*as_list(step.get("content")), {"type": "text", "text": text}]
            self._steps.append({**step, "content": contents})
        elif isinstance(part, Thinking):
            self._steps.append({**step, "summary": [{"type": "text", "text": text}]})
        else:
            self._items.pop()

    # ---- contents ------------------------------------------------------------------------------

    def _begin_content(self, part: Part) -> None:
        origin = part.origin
        item = origin.item if origin and origin.dialect == self.dialect else None
        contents = as_list((self._open or {}).get("content"))
        goes_on = item is not None and bool(contents) and self._items[-1] == item
        is_text = bool(contents) and contents[-1].get("type") == "text"
        if not goes_on or (isinstance(part, Text) and is_text):
            self._start_step({"type": "model_output"}, item)

    def _add_content(self, content: dict[str, Any] | None) -> None:
        assert self._open is not None
        if content is not None:
            self._open.setdefault("content", []).append(content)
            self._send_delta(content)

    def _end_text(self, part: Text) -> None:
        assert self._open is not None
        if not self._pieces:
            self._send_text("text", "")
        block = self.own_block(part) or {}
        content: dict[str, Any] = {"type": "text", "text": "".join(self._pieces)}
        if notes := as_list(block.get("annotations")):
            content["annotations"] = notes
            self._send_delta({"annotations": notes, "type": "text_annotation_delta"})
        self._open.setdefault("content", []).append(content)

    def _write_opaque(self, part: Part) -> None:
        block = self.own_block(part)
        if block is None or "type" not in block:
            self.left_out(part)
        elif part.origin and part.origin.item:
            self._begin_content(part)
            self._add_content(block)
        else:
            head = {name: block[name] for name in block if name in _HEAD}
            self._start_step(head, None)
            assert self._open is not None
            rest = {name: block[name] for name in block if name not in _HEAD}
            if rest:
                self._send_delta({"type": block["type"], **rest})
            self._open.update(rest)
            self._end_step()

    # ---- thoughts ------------------------------------------------------------------------------

    def _add_thought(self, text: str) -> None:
        if self._open is None:
            self._start_step({"type": "thought"}, None)
        self._pieces.append(text)
        self._send_text("thought_summary", text)

    def _end_thought(self, part: Thinking) -> None:
        block = self.own_block(part)
        signature = block.get("signature") if block else self.seal_of(part)
        text = "".join(self._pieces)
        entries = as_list(block.get("summary")) if block else []
        others = [entry for entry in entries if as_dict(entry).get("type") != "text"]
        if not block and not text and not signature:
            self.left_out(part)
            return
        if self._open is None:
            self._start_step({"type": "thought"}, None)
        assert self._open is not None
        for entry in others:
            self._send_delta({"type": "thought_summary", "content": entry})
        if signature:
            self._send_delta({"signature": signature, "type": "thought_signature"})
        if block:
            self._open.update(block)
        else:
            self._open.update({"signature": signature} if signature else {})
            self._open.update({"summary": [{"type": "text", "text": text}]} if text else {})
        self._end_step()

    def recall(self, part: Part) -> None:
        if isinstance(part, Thinking) and not self.own_block(part) and (seal := self.seal_of(part)):
            self._start_step({"type": "thought"}, None)
            assert self._open is not None
            self._send_delta({"signature": seal, "type": "thought_signature"})
            self._open["signature"] = seal
            self._end_step()

    # ---- calls ---------------------------------------------------------------------------------

    def _begin_call(self, call: ToolCall) -> None:
        block = self.own_block(call) or {}
        head = {"type": "function_call", "id": call.id, "name": call.name}
        self._arguments = ObjectArguments(call)
        self._start_step({**block, **head, "arguments": {}}, None)

    def _end_call(self, call: ToolCall) -> None:
        assert self._open is not None
        if is_wrapped(call):
            self.note_wrapped(call)
        rest = self._arguments.rest() if self._arguments else ""
        if rest:
            self._pieces.append(rest)
            self._send_text("arguments_delta", rest)
        elif not self._pieces:
            self._send_text("arguments_delta", "{}")
        arguments = parsed("".join(self._pieces) or "{}")
        self._open["arguments"] = arguments if isinstance(arguments, dict) else {"input": arguments}
        self._arguments = None
        self._end_step()

    # ---- steps ---------------------------------------------------------------------------------

    def _start_step(self, head: dict[str, Any], item: str | None) -> None:
        self._end_step()
        self._send("step.start", index=len(self._steps), step=dict(head))
        self._open = dict(head)
        self._items.append(item)

    def _end_step(self) -> None:
        step, self._open = self._open, None
        if step is not None:
            self._send("step.stop", index=len(self._steps))
            self._steps.append(step)
            self._templates.clear()

    def _send_delta(self, delta: dict[str, Any]) -> None:
        self._send("step.delta", index=len(self._steps), delta=delta)

    def _send_text(self, kind: str, text: str) -> None:
        self.send_piece((kind, len(self._steps)), text, lambda text: self._delta_of(kind, text))

    def _delta_of(self, kind: str, text: str) -> tuple[dict[str, Any], str]:
        match kind:
            case "thought_summary":
                delta: dict[str, Any] = {"content": {"text": text, "type": "text"}, "type": kind}
            case "arguments_delta":
                delta = {"arguments": text, "type": kind}
            case _:
                delta = {"text": text, "type": kind}
        event = {"index": len(self._steps), "delta": delta, "event_type": "step.delta"}
        return event, "step.delta"

    def _send(self, kind: str, **members: Any) -> None:
        self.send({**members, "event_type": kind}, kind)

    # ---- the interaction -----------------------------------------------------------------------

    def finish(self, response: Response) -> None:
        self._end_step()
        if response.finish_reason == "error" and response.status in ("answered", "tool_calls"):
            response = response.replace(finish_reason=None)  # "failed" would take the answer back
        self.word = status_of(response)
        origin = response.origin
        if origin and origin.dialect == self.dialect:
            received = as_dict(origin.block)
            self._more = (
                {_CONTINUATION: received[_CONTINUATION]} if _CONTINUATION in received else {}
            )
        if self.word == "failed" and response.error:
            refusal = Refusal(text=response.error.message or "", status=500)
            self._more["errors"] = [error_of(refusal.replace(code=response.error.code))]
        whole = self._interaction()
        event = {name: value for name, value in whole.items() if name != "errors"}
        self._send("interaction.completed", interaction=event)
        self._frames.append(DONE)

    def fail(self, refusal: Refusal, response: Response) -> None:
        self._end_step()
        self.word = "failed"
        self._more = {"errors": [error_of(refusal)]}
        self._frames.extend((write_stream_error(refusal), DONE))

    def body(self) -> dict[str, Any]:
        whole = self._interaction()
        last = ("object", "model")
        head = {name: value for name, value in whole.items() if name not in last}
        tail = {name: value for name, value in whole.items() if name in last}
        return {**head, "steps": self._joined_steps(), **tail}

    def _joined_steps(self) -> list[dict[str, Any]]:
        """The steps, with those that a stream had to part joined again."""
        joined: list[dict[str, Any]] = []
        last: str | None = None
        for step, item in zip(self._steps, self._items, strict=True):
            if item is not None and item == last:
                content = [*as_list(joined[-1].get("content")), *as_list(step.get("content"))]
                joined[-1] = {**joined[-1], "content": content}
            else:
                joined.append(step)
            last = item
        return joined

    def _interaction(self) -> dict[str, Any]:
        interaction: dict[str, Any] = {"id": self.head.id, "status": self.word}
        if self.word != "in_progress":
            if (usage := counted(self.usage)) is not None:
                interaction["usage"] = usage
            when = self.head.created_at
            interaction |= {
                "created": when,
                "updated": when,
                "service_tier": "standard",
                **self._more,
            }
        interaction["object"] = "interaction"
        interaction |= {name: value for name, value in self.head.echo.items() if value is not None}
        return {**interaction, "model": self.head.model} if self.head.model else interaction
