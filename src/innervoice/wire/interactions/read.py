"""Gemini Interactions -> canonical events.

Enters: a whole interaction, or the events of a stream. Leaves: the parts of every step, in order.

Rules, after https://ai.google.dev/gemini-api/docs/streaming (read 2026-11-16), google-genai 3.1.0 and recordings:

  1. A step is told by its `index`. It starts with its type, its pieces come as deltas of some type, and a stop ends it.
  2. A thought has a signature, which comes whole, and a summary, which comes in pieces and may be missing or hold images.
  3. The contents of an output are parts of their own. Text goes on until another content comes: deltas have no number of a content.
  4. The arguments of a call come as text; the call itself has no signature.
  5. Steps of tools that run on the server are kept as they are, with their own signatures, also those of unknown types.
  6. Before revision 2026-05-20 the contents of all steps were in one list, `outputs`.
  7. `interaction.completed` is the end, whatever its status; it has the counts, but no steps. Thoughts are not part of the output there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, ClassVar

from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall
from innervoice.canon.usage import Usage
from innervoice.wire.interactions.write import KINDS
from innervoice.wire.json_access import arguments_of, as_count, as_dict, as_list, as_text, parsed
from innervoice.wire.protocol import Context, Reader, Slot

__all__ = ["InteractionsReader"]

_RUNNING = ("in_progress", "queued")
_PLAIN = {"type", "text"}
_CONTENTS = ("text", *KINDS)
_CONTINUATION = "continuation_token"


class _Step:
    """One step while it comes."""

    slot: Slot | None = None
    """The part that is open."""
    is_over = False

    def __init__(self, index: int, block: dict[str, Any]) -> None:
        self.type = as_text(block.get("type")) or ""
        self.block = block
        self.item = f"step_{index}"
        self.entries: list[tuple[int, int, dict[str, Any]]] = []
        """Entries of a summary that are more than text: where they stand in it, and how much of the text is theirs."""

    def summary(self, text: str) -> list[Any]:
        """The entries of a summary that has come."""
        entries: list[Any] = []
        at = 0
        for start, length, entry in self.entries:
            if start > at:
                entries.append({"type": "text", "text": text[at:start]})
            entries.append(entry)
            at = start + length
        if at < len(text):
            entries.append({"type": "text", "text": text[at:]})
        return entries


class InteractionsReader(Reader):
    """Reads one interaction."""

    dialect: ClassVar[str] = "gemini-interactions"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._steps: dict[int, _Step] = {}
        self._by_part: dict[int, _Step] = {}

    def read(self, value: Any, name: str | None) -> None:
        event = as_dict(value)
        kind = as_text(event.get("event_type")) or name or ""
        if kind == "step.delta":
            self._use(as_dict(event.get("metadata")).get("total_usage"))
            self._extend(self._step(event), event.get("delta"))
        elif kind == "step.start":
            self._start(event)
        elif kind == "step.stop":
            self._use(event.get("usage"))
            self._close_step(self._step(event))
        elif kind == "error" or (event.get("error") and "status" not in event):
            self.fail(event)
        elif kind == "interaction.status_update":
            self._describe({**event, "id": event.get("interaction_id")})
        elif kind.startswith("interaction."):
            self._describe(as_dict(event.get("interaction")))
        elif "steps" in event or "status" in event:
            self._describe(event)
        else:
            self.skip(kind)

    # ---- the interaction -----------------------------------------------------------------------

    def _describe(self, interaction: dict[str, Any]) -> None:
        self.id = as_text(interaction.get("id")) or self.id
        self.model = as_text(interaction.get("model")) or self.model
        steps = interaction.get("steps")
        if steps is None and isinstance(outputs := interaction.get("outputs"), list):
            steps = list(_steps_of(outputs))
        if isinstance(steps, list):
            for index, step in enumerate(steps):
                if index not in self._steps:
                    self._whole_step(index, step)
        elif steps is not None:
            self.odd(steps, "steps")
        self._use(interaction.get("usage"))
        if token := as_text(interaction.get(_CONTINUATION)):
            self.message_block[_CONTINUATION] = token
            self.message_seals = (_CONTINUATION,)
        status = interaction.get("status")
        if status in _RUNNING:
            self.wire_finish_reason = status
            return
        self.stop(status)
        if self.finish_reason == "stop" and self._ends_with_call():
            self.finish_reason = "tool_calls"
        if (errors := as_list(interaction.get("errors"))) and status == "failed":
            self.fail({"error": errors[0]})

    def _ends_with_call(self) -> bool:
        return any(isinstance(part, ToolCall) for part in self.parts)

    def _use(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        names = ("total_input_tokens", "total_tool_use_tokens", "total_output_tokens")
        read, tools, written = (as_count(usage.get(name)) for name in names)
        thought = as_count(usage.get("total_thought_tokens"))
        if thought is not None or written is not None:
            written = (written or 0) + (thought or 0)
        self.use(
            Usage(
                input_tokens=read if read is None else read + (tools or 0),
                output_tokens=written,
                reasoning_tokens=thought,
                cached_input_tokens=as_count(usage.get("total_cached_tokens")),
                raw=usage,
            )
        )

    # ---- whole steps ---------------------------------------------------------------------------

    def _whole_step(self, index: int, value: Any) -> None:
        if not isinstance(value, dict):
            self.odd(value, "steps")
            return
        step = self._steps[index] = _Step(index, value)
        step.is_over = True
        match step.type:
            case "thought" if isinstance(value.get("summary", []), list):
                self._whole_thought(value)
            case "model_output" if isinstance(value.get("content", []), list):
                for content in as_list(value.get("content")):
                    self._whole_content(step, content)
                self._take_error(value)
            case "function_call":
                arguments = arguments_of(value.get("arguments"))
                self.whole_call(value.get("id"), value.get("name"), arguments, value)
            case _:
                self.opaque(value)

    def _whole_thought(self, block: dict[str, Any]) -> None:
        text = "".join(_text_of(entry) for entry in as_list(block.get("summary")))
        thought = self._thought(block, text, complete=True)
        begun = thought.origin and thought.origin.replace(seals=())
        self.whole(thought, Thinking("", thought.form, complete=False, origin=begun))

    def _thought(self, block: dict[str, Any], text: str, *, complete: bool) -> Thinking:
        seals = ("signature",) if complete and block.get("signature") else ()
        origin = self.origin(block, seals)
        return Thinking(text, "summary" if text else "hidden", complete, origin)

    def _whole_content(self, step: _Step, content: Any) -> None:
        """A content that comes in one piece."""
        if not isinstance(content, dict):
            self.odd(content, "content")
            return
        text = content.get("text")
        if content.get("type") == "text" and isinstance(text, str):
            self.whole(self._said(step, content, text), self._said_begun(step))
        else:
            self._file(step, content)

    def _said(
        self, step: _Step, block: dict[str, Any], text: str, *, complete: bool = True
    ) -> Text:
        origin = self.origin(None if block.keys() <= _PLAIN else block, item=step.item)
        return Text(text, complete, origin)

    def _said_begun(self, step: _Step) -> Text:
        return Text("", complete=False, origin=self.origin(None, item=step.item))

    def _file(self, step: _Step, content: dict[str, Any]) -> None:
        data, uri = as_text(content.get("data")), as_text(content.get("uri"))
        if content.get("type") in KINDS and (data is not None or uri is not None):
            origin = self.origin(content, item=step.item)
            mime, name = as_text(content.get("mime_type")), as_text(content.get("name"))
            self.whole(Media(mime, data, uri, origin=origin, name=name))
        else:
            if content.get("type") == "text":
                self.notebook.add("odd_value", "text")
            self.whole(Opaque(content, origin=self.origin(None, item=step.item)))

    def _take_error(self, block: dict[str, Any]) -> None:
        if block.get("error"):
            self.fail({"error": block["error"]})

    # ---- steps in pieces -----------------------------------------------------------------------

    def _step(self, event: dict[str, Any]) -> _Step:
        """The step of an event: the one with its index, or the last one."""
        index = as_count(event.get("index"))
        if index is None:
            index = max(self._steps, default=0)
        return self._steps.get(index) or self._begin(index, {})

    def _start(self, event: dict[str, Any]) -> None:
        index = as_count(event.get("index"))
        if index is None:
            index = max(self._steps, default=-1) + 1
        if index not in self._steps:
            self._begin(index, as_dict(event.get("step")))

    def _begin(self, index: int, value: dict[str, Any]) -> _Step:
        member = {"thought": "summary", "model_output": "content"}.get(str(value.get("type")), "")
        content = value.get(member)
        block = (
            {key: item for key, item in value.items() if key != member} if member else dict(value)
        )
        step = self._steps[index] = _Step(index, block)
        match step.type:
            case "thought":
                origin = self.origin(dict(block))
                self._open(step, "thinking", Thinking("", "summary", complete=False, origin=origin))
            case "function_call":
                step.slot = self.open_call(block.get("id"), block.get("name"), block)
                self._by_part[step.slot.index] = step
            case "model_output" | "":
                pass
            case _:
                self._open(step, "opaque", None)
        for entry in as_list(content):
            is_thought = step.type == "thought"
            self._extend(
                step, {"type": "thought_summary", "content": entry} if is_thought else entry
            )
        return step

    def _open(self, step: _Step, kind: str, begun: Part | None) -> Slot:
        slot = step.slot = self.open(kind, step.block if kind != "text" else {}, begun)
        self._by_part[slot.index] = step
        return slot

    def _extend(self, step: _Step, value: Any) -> None:
        delta = as_dict(value)
        kind = delta.get("type")
        if step.is_over:
            return
        if not delta:
            if value is not None:
                self.odd(value, "delta")
        elif not step.type:
            self._guess(step, kind)
            self._extend(step, delta)
        elif step.type == "thought":
            self._extend_thought(step, delta)
        elif step.type == "function_call":
            self._extend_call(step, delta)
        elif step.type == "model_output":
            self._extend_output(step, delta)
        else:
            step.block.update({key: item for key, item in delta.items() if key != "type"})

    def _guess(self, step: _Step, kind: Any) -> None:
        """The type of a step whose start did not come."""
        kinds = {
            "thought_summary": "thought",
            "thought_signature": "thought",
            "arguments_delta": "function_call",
        }
        guessed = kinds.get(str(kind), "model_output")
        step.type = step.block["type"] = guessed
        if guessed == "thought":
            self._open(step, "thinking", None)
        elif guessed == "function_call":
            step.slot = self.open_call(None, None, step.block)
            self._by_part[step.slot.index] = step

    def _extend_thought(self, step: _Step, delta: dict[str, Any]) -> None:
        slot = step.slot
        assert slot is not None
        if delta.get("type") == "thought_signature":
            step.block["signature"] = delta.get("signature")
        elif delta.get("type") == "thought_summary":
            entry = as_dict(delta.get("content"))
            text = _text_of(entry)
            if entry and not (entry.keys() <= _PLAIN and "text" in entry):
                step.entries.append((slot.length, len(text), entry))
            self.add(slot, text)
        else:
            step.block.update({key: item for key, item in delta.items() if key != "type"})

    def _extend_call(self, step: _Step, delta: dict[str, Any]) -> None:
        assert step.slot is not None
        if isinstance(text := delta.get("arguments"), str):
            self.add(step.slot, text)
        else:
            step.block.update({key: item for key, item in delta.items() if key != "type"})

    def _extend_output(self, step: _Step, delta: dict[str, Any]) -> None:
        kind, text = delta.get("type"), delta.get("text")
        if kind == "text" and isinstance(text, str):
            slot = step.slot or self._open(step, "text", self._said_begun(step))
            if not delta.keys() <= _PLAIN:
                slot.block.update({key: item for key, item in delta.items() if key not in _PLAIN})
            self.add(slot, text)
        elif kind == "text_annotation_delta":
            slot = step.slot or self._open(step, "text", self._said_begun(step))
            slot.block.setdefault("annotations", []).extend(as_list(delta.get("annotations")))
        else:
            self._close_part(step)
            self._file(step, delta)

    def _close_part(self, step: _Step) -> None:
        slot, step.slot = step.slot, None
        if slot and slot.open:
            self.close(slot)

    def _close_step(self, step: _Step) -> None:
        self._close_part(step)
        if not step.is_over and step.type == "model_output":
            self._take_error(step.block)
        step.is_over = True

    def conclude(self, slot: Slot, *, complete: bool = True) -> None:
        step, text = self._by_part[slot.index], slot.text
        match slot.kind:
            case "thinking":
                if summary := step.summary(text):
                    step.block["summary"] = summary
                self.end(slot, self._thought(step.block, text, complete=complete))
            case "text":
                block = {"type": "text", "text": text, **slot.block}
                self.end(slot, self._said(step, block, text, complete=complete))
            case "tool_call":
                arguments = text or arguments_of(step.block.get("arguments"))
                if not text:
                    self.add(slot, arguments)
                step.block["arguments"] = parsed(arguments)
                self.end_call(slot, arguments, complete=complete)
            case _:
                self.note_unknown(step.block)
                self.end(slot, Opaque(step.block, complete, self.origin()))


def _steps_of(outputs: list[Any]) -> Iterator[Any]:
    """The steps in an answer of an older revision, which has contents, thoughts and calls in one list."""
    for is_content, group in groupby(outputs, lambda item: as_dict(item).get("type") in _CONTENTS):
        if is_content:
            yield {"type": "model_output", "content": list(group)}
        else:
            yield from group


def _text_of(entry: Any) -> str:
    """The text of an entry of a summary, or nothing."""
    return as_text(as_dict(entry).get("text")) or ""
