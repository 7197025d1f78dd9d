"""Gemini generateContent -> canonical events.

Input: whole responses; a stream is many of them, each with new parts only. Output: parts in order.

Rules, after https://ai.google.dev/gemini-api/docs/thought-signatures (read 2026-11-15) and recordings:

  1. `thought: true` marks reasoning. A signature does not: it may be on any part, even on an empty text.
  2. Texts of one kind continue from chunk to chunk, but a signed part is never joined to another.
  3. Function calls arrive whole, or (Vertex) in pieces by JSON path until one without `willContinue`.
  4. `finishReason` is STOP for calls as well. The prompt may be blocked: no candidates at all.
  5. Candidates exclude thoughts in the count of tokens, and the prompt excludes that of tools.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, ClassVar

from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.usage import Usage
from innervoice.wire.gemini import DIALECT
from innervoice.wire.json_access import arguments_of, as_count, as_dict, as_list, as_text
from innervoice.wire.protocol import Context, Reader, Slot

__all__ = ["SOURCES", "GeminiReader", "wire_chunk", "wire_part"]

_MEMBERS = {"candidates", "usageMetadata", "modelVersion", "responseId", "promptFeedback"}
_PART_MEMBERS = {"text", "thought", "thoughtSignature", "functionCall", "inlineData"}
_SEAL = DIALECT.seals
_PLAIN = {"text", "thought"}
_EMPTY = {"text": ""}
_TRIVIAL = {"text": {"text"}, "thinking": _PLAIN}
_TEXTLESS = {"thought", *_SEAL}
SOURCES = ("groundingMetadata", "citationMetadata", "urlContextMetadata")
"""Members of the last message about the sources of the text."""
_STEP = re.compile(r"\.([^.\[\]]+)|\[(?:'([^']*)'|\"([^\"]*)\"|([0-9]{1,9}))\]")


class GeminiReader(Reader):
    """Reads one answer: its first candidate."""

    dialect: ClassVar[str] = "gemini"
    ends_late: ClassVar[bool] = True
    _call: Slot | None = None  # a call whose arguments come in pieces
    _is_over = False  # no chunk continues the text of this one

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._current: Slot | None = None  # unsigned text that the next chunk may continue
        self._usage: dict[str, Any] = {}
        self._counted: Any = None  # the usage of the last chunk

    def read(self, value: Any, name: str | None) -> None:
        if isinstance(value, list):
            for item in value:
                self.read(item, name)
            return
        chunk = value if isinstance(value, dict) else {}
        if not chunk.keys() <= _MEMBERS:
            chunk = self._unusual(chunk)
        # Every chunk repeats both: they are read when they change.
        if chunk.get("responseId") != self.id:
            self.id = as_text(chunk.get("responseId")) or self.id
        if chunk.get("modelVersion") != self.model:
            self.model = as_text(chunk.get("modelVersion")) or self.model
        if (usage := chunk.get("usageMetadata")) != self._counted:
            self._use(usage)
        candidates = chunk.get("candidates")
        if type(candidates) is list and len(candidates) == 1 and type(only := candidates[0]) is dict and not only.get("index"):  # fmt: skip
            self._read_candidate(only)  # as in by far most chunks
        else:
            self._read_candidates(as_list(candidates), chunk)
        if "promptFeedback" in chunk and not chunk.get("candidates"):
            blocked = as_text(as_dict(chunk["promptFeedback"]).get("blockReason"))
            if blocked:
                self.ended, self.wire_finish_reason = True, blocked
                self.finish_reason = "content_filter"

    def _read_candidates(self, candidates: list[Any], chunk: dict[str, Any]) -> None:
        for position, candidate in enumerate(candidates):
            members = as_dict(candidate)
            index = as_count(members.get("index"))
            if not index and position == 0:
                self._read_candidate(members)
            else:
                other = {**members, "index": 0}
                self.others.setdefault(index or position, []).append(
                    {**chunk, "candidates": [other]}
                )

    def _unusual(self, chunk: dict[str, Any]) -> dict[str, Any]:
        """A chunk that is an error, that has an envelope, or whose members an SDK has renamed."""
        if "error" in chunk:
            self.fail(chunk)
            return {}
        chunk = as_dict(chunk.get("response")) or chunk
        return wire_chunk(chunk)

    def _read_candidate(self, candidate: dict[str, Any]) -> None:
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        self._is_over = self.context.whole and bool(candidate.get("finishReason"))
        if isinstance(parts, list):
            current = None if self._is_over else self._current
            if current and parts and _continues(parts[0], current.kind):
                self.add(current, parts[0].get("text") or "")
                parts = parts[1:]
            for part in parts:
                self._read_part(part, candidate)
        elif parts is not None:
            self.odd(parts, "parts")
        if reason := candidate.get("finishReason") or candidate.get("finish_reason"):
            self.stop(reason)
            if not candidate.keys().isdisjoint(SOURCES):
                sources = {name: candidate[name] for name in SOURCES if candidate.get(name)}
                self.message_block.update(sources)
        if self.finish_reason == "stop" and any(isinstance(part, ToolCall) for part in self.parts):
            self.finish_reason = "tool_calls"

    def _read_part(self, part: Any, candidate: dict[str, Any]) -> None:
        if not isinstance(part, dict):
            self._pause()
            self.odd(part, "part")
            return
        if not part.keys() <= _PART_MEMBERS and "finishReason" not in candidate:
            part = wire_part(part)  # the names of the candidate are not those of the wire either
        if "functionCall" in part and isinstance(part["functionCall"], dict):
            self._pause()
            self._read_call(part)
        elif isinstance(part.get("text"), str) or part.keys() <= _TEXTLESS:
            self._read_text(part, candidate)
        elif isinstance(part.get("inlineData"), dict) and not part.get("thought"):
            self._pause()
            data = part["inlineData"]
            block = (
                None
                if part.keys() == {"inlineData"} and data.keys() == {"mimeType", "data"}
                else part
            )
            self.media(data.get("mimeType"), data.get("data"), None, block)
        else:
            self._pause()
            if "text" in part and not isinstance(part["text"], str):
                self.notebook.add("odd_value", "text")
            self.opaque(part)

    def _read_text(self, part: dict[str, Any], candidate: dict[str, Any]) -> None:
        kind = "thinking" if part.get("thought") is True else "text"
        if self._is_over and type(part.get("text")) is str:
            self.whole(self._part(kind, part, part["text"], complete=True))
            return
        if part == _EMPTY and self.parts and candidate.get("finishReason"):
            return  # the last message of a stream has nothing else to say
        plain = part.keys() <= _PLAIN
        self._pause()
        current = self.open(kind, dict(part), None if plain else self._begun(kind, part))
        self.add(current, part.get("text") or "")
        if plain:
            self._current = current
        else:
            self.close(current)

    def _begun(self, kind: str, part: dict[str, Any]) -> Part:
        """A part that arrives whole, at its start: whether it has more than its text is known before the text."""
        origin = self.origin({**part, "text": ""}, _SEAL if part.get("thoughtSignature") else ())
        if kind == "text":
            return Text("", complete=False, origin=origin)
        return Thinking("", "full" if part.get("text") else "hidden", complete=False, origin=origin)

    def _pause(self) -> None:
        """Ends the text so far as a separate part."""
        slot, self._current = self._current, None
        if slot and slot.open:
            self.close(slot)

    def conclude(self, slot: Slot, *, complete: bool = True) -> None:
        block = slot.block
        if slot.kind == "tool_call":
            self._end_call(complete=complete)
            return
        if "text" in block or slot.pieces:
            block["text"] = slot.text
        self.end(slot, self._part(slot.kind, block, slot.text, complete=complete))

    def _part(self, kind: str, block: dict[str, Any], text: str, *, complete: bool) -> Part:
        seals = _SEAL if block.get("thoughtSignature") else ()
        trivial = block.keys() == _TRIVIAL[kind]
        origin = self.origin(None if trivial else block, seals)
        if kind == "text":
            return Text(text, complete, origin)
        return Thinking(text, "full" if text else "hidden", complete, origin)

    # ---- calls ---------------------------------------------------------------------------------

    def _read_call(self, part: dict[str, Any]) -> None:
        call = part["functionCall"]
        if self._call and "name" not in call:
            self._extend_call(call)
            return
        if self._call:
            self._end_call(complete=True)
        if call.get("willContinue") or "partialArgs" in call:
            block = {**part, "functionCall": {**call, "args": {}}}
            self._call = self.open_call(call.get("id"), call.get("name"), block)
            self._extend_call(call)
            return
        seals = _SEAL if part.get("thoughtSignature") else ()
        self.whole_call(
            call.get("id"), call.get("name"), arguments_of(call.get("args")), part, seals
        )

    def _extend_call(self, call: dict[str, Any]) -> None:
        assert self._call is not None
        arguments = self._call.block["functionCall"]["args"]
        for piece in as_list(call.get("partialArgs")):
            _put(arguments, as_dict(piece))
        if not call.get("willContinue"):
            self._end_call(complete=True)

    def _end_call(self, *, complete: bool) -> None:
        slot, self._call = self._call, None
        if not slot or not slot.open:
            return
        block = slot.block
        left_out = ("partialArgs", "willContinue")
        call = {key: value for key, value in block["functionCall"].items() if key not in left_out}
        block["functionCall"] = call
        text = arguments_of(call.get("args"))
        self.add(slot, text)
        self.end_call(
            slot,
            text,
            complete=complete,
            seals=_SEAL if block.get("thoughtSignature") and complete else (),
        )

    def _use(self, usage: Any) -> None:
        # Chunks often repeat the count of the previous one.
        if usage == self._counted or not isinstance(usage, dict):
            return
        self._counted = usage
        if None in usage.values():
            usage = {key: value for key, value in usage.items() if value is not None}
        raw = self._usage = {**self._usage, **usage}
        get = raw.get
        read, thoughts = as_count(get("promptTokenCount")), as_count(get("thoughtsTokenCount"))
        written = as_count(get("candidatesTokenCount"))
        if read is not None and "toolUsePromptTokenCount" in raw:
            read += as_count(raw["toolUsePromptTokenCount"]) or 0
        if thoughts is not None:
            written = (written or 0) + thoughts
        if written is None and read is not None:
            total = as_count(get("totalTokenCount")) or 0
            written = total - read if total > read else None
        cached = as_count(get("cachedContentTokenCount"))
        self.use(
            Usage(
                input_tokens=read,
                output_tokens=written,
                reasoning_tokens=thoughts,
                cached_input_tokens=cached,
                raw=raw,
            )
        )


def _continues(part: Any, kind: str) -> bool:
    """Whether the first part of a chunk goes on with the text of the chunk before."""
    if type(part) is not dict or not part.keys() <= _PLAIN:
        return False
    is_same = (part.get("thought") is True) == (kind == "thinking")
    return is_same and isinstance(part.get("text", ""), str)


def _put(arguments: dict[str, Any], piece: dict[str, Any]) -> None:
    """Writes a piece of the arguments at its path; a string continues where it was left."""
    path = as_text(piece.get("jsonPath")) or ""
    steps = [
        int(step[3]) if step[3] else step[0] or step[1] or step[2] for step in _STEP.findall(path)
    ]
    if not steps:
        return
    here: Any = arguments
    for step, following in pairwise(steps):
        here = _child(here, step, [] if isinstance(following, int) else {})
    last = steps[-1]
    if "stringValue" in piece:
        before = _get(here, last)
        value: Any = (before if isinstance(before, str) else "") + (
            as_text(piece["stringValue"]) or ""
        )
    else:
        value = next((piece[key] for key in ("numberValue", "boolValue") if key in piece), None)
    _set(here, last, value)


def _get(here: Any, step: int | str) -> Any:
    try:
        return here[step]
    except (KeyError, IndexError, TypeError):
        return None


def _set(here: Any, step: int | str, value: Any) -> None:
    if isinstance(here, dict):
        here[str(step)] = value
    elif isinstance(here, list) and isinstance(step, int) and step < 100_000:
        here.extend([None] * (step + 1 - len(here)))
        here[step] = value


def _child(here: Any, step: int | str, empty: Any) -> Any:
    child = _get(here, step)
    if not isinstance(child, (dict, list)):
        _set(here, step, empty)
        return empty
    return child


# ---- Names of google-genai's `model_dump()` -> names of the wire format.
#
# The SDK's objects name their members in snake_case, fill missing ones with None, and write bytes as URL-safe base64. A caller's own
# names, in the arguments of a call, stay as they are.


_WORD = re.compile(r"_([a-z])")
_HOLDERS = ("functionCall", "inlineData", "fileData", "executableCode", "codeExecutionResult", "videoMetadata")  # fmt: skip
"""The members of a part whose own members are renamed."""
_STANDARD = str.maketrans("-_", "+/")


def wire_chunk(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk with the names of the wire format, as far as it is read; parts are renamed one by one."""
    if not _is_renamed(chunk):
        return chunk
    renamed = _renamed(chunk)
    for holder in ("usageMetadata", "promptFeedback"):
        if isinstance(renamed.get(holder), dict):
            renamed[holder] = _renamed(renamed[holder])
    return renamed


def wire_part(part: dict[str, Any]) -> dict[str, Any]:
    """A part with the names of the wire format."""
    if not _is_renamed(part):
        return part
    renamed = _renamed(part)
    for holder in _HOLDERS:
        if isinstance(renamed.get(holder), dict):
            renamed[holder] = _renamed(renamed[holder])
    _encode(renamed, "thoughtSignature")
    _encode(renamed.get("inlineData"), "data")
    call = renamed.get("functionCall")
    if isinstance(call, dict) and "partialArgs" in call:
        call["partialArgs"] = [
            _renamed(piece) if isinstance(piece, dict) else piece
            for piece in as_list(call["partialArgs"])
        ]
    return renamed


def _is_renamed(members: dict[str, Any]) -> bool:
    """Whether a name is in snake_case, which is never used on the wire."""
    return any("_" in name for name in members)


def _renamed(members: dict[str, Any]) -> dict[str, Any]:
    return {
        _WORD.sub(lambda match: match[1].upper(), name): value
        for name, value in members.items()
        if value is not None
    }


def _encode(members: Any, name: str) -> None:
    """Bytes in the alphabet of the wire."""
    if isinstance(members, dict) and isinstance(members.get(name), str):
        members[name] = members[name].translate(_STANDARD)
