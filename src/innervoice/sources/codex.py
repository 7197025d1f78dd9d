"""Sessions of Codex (`rollout-*.jsonl`) -> a conversation.

The format is not documented; this follows public session files (2026-11-20). A line of type response_item has an item of the Responses API;
`turn_context` names the model of the following turns, `session_meta` the provider. In addition the file has a line `token_count` after each answer, `turn_context` with
the settings of the following turns, and `compacted` with the replacement of the history before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any

from innervoice.canon.messages import Message, user
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request
from innervoice.canon.response import Failure, Response
from innervoice.canon.usage import Usage
from innervoice.catalog.lookup import host_of
from innervoice.errors import DecodeError, UsageError
from innervoice.memory.envelopes import is_envelope
from innervoice.planning.compactions import compaction_of
from innervoice.planning.turns import UNANSWERED
from innervoice.sources.conversation import (
    Conversation,
    Mark,
    Turn,
    seconds_of,
    title_of,
    with_title,
)
from innervoice.sources.injected import is_injected
from innervoice.sources.reader import (
    Data,
    Entry,
    Opened,
    Reader,
    broken_line,
    first_dicts,
    folder_name,
    members_at,
)
from innervoice.sources.transcripts import (
    IN_PIECES,
    LinePosition,
    SessionFormat,
    SessionIndex,
    SessionTurn,
    ThreadPosition,
    entries_in,
    with_author,
)
from innervoice.wire.json_access import as_count, as_dict, as_list, as_text
from innervoice.wire.responses import DIALECT as RESPONSES
from innervoice.wire.responses.serve import read_messages
from innervoice.wire.serve import setting_of

__all__ = ["READER", "SESSION", "SHOWN_THOUGHT"]

_KINDS = {"session_meta", "turn_context", "response_item", "event_msg", "compacted"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
"""Items that contain a result: of a function, and of a tool that takes text."""
_UNSENT = {"ghost_snapshot"}
"""Items that Codex does not send."""
_FAILURES = {"error", "stream_error"}
SHOWN_THOUGHT = "agent_reasoning"
"""The event with which the user is shown a thought; if no item has its text, it is the only place of the thought."""
_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "reasoning_tokens": "reasoning_output_tokens",
    "cached_input_tokens": "cached_input_tokens",
}


def _recognizes(_: Data, beginning: bytes) -> bool:
    return any(
        as_text(entry.get("type")) in _KINDS and isinstance(entry.get("payload"), dict)
        for entry in first_dicts(beginning)
    )


# ---- lines -> messages ---------------------------------------------------------------------------------


def _threads(
    entries: list[dict[str, Any]], further: Mapping[int, list[Part]] = MappingProxyType({})
) -> dict[str, list[SessionTurn]]:
    """The turns; `further` are parts of the model that are not items, by the numbers of their lines."""
    turns: list[SessionTurn] = []
    provider = model = None
    for number, entry in enumerate(entries):
        kind, payload = entry.get("type"), as_dict(entry.get("payload"))
        if kind == "session_meta":
            host = host_of(as_text(payload.get("model_provider")) or "")
            provider = host.id if host else None
        elif kind == "turn_context":
            model = as_text(payload.get("model"))
        elif number in further:
            goes_on = turns and turns[-1].message.role == "assistant" and kind == "event_msg"
            if not goes_on:
                turns.append(SessionTurn(Message("assistant", ())))
            turns[-1].add(
                number, None, [with_author(part, provider, model) for part in further[number]]
            )
        elif kind == "response_item" and payload and as_text(payload.get("type")) not in _UNSENT:
            for message in _messages(payload):
                goes_on = turns and turns[-1].message.role == message.role == "assistant"
                turn = turns[-1] if goes_on else SessionTurn(message)
                if not goes_on:
                    turns.append(turn)
                parts = [with_author(_paired(part), provider, model) for part in message.parts]
                turn.add(number, None, parts)
    return {"": turns} if turns else {}


def _shown_thoughts(entries: list[dict[str, Any]]) -> dict[int, list[Part]]:
    """The thoughts that only an event has, by the numbers of their lines."""
    shown: dict[int, str] = {}
    known: set[str] = set()
    for number, entry in enumerate(entries):
        payload = as_dict(entry.get("payload"))
        if entry.get("type") == "event_msg" and payload.get("type") == SHOWN_THOUGHT:
            shown[number] = as_text(payload.get("text")) or ""
        elif entry.get("type") == "response_item" and payload.get("type") == "reasoning":
            blocks = (*as_list(payload.get("summary")), *as_list(payload.get("content")))
            known.update(as_text(as_dict(block).get("text")) or "" for block in blocks)
    origin = Origin(dialect=RESPONSES.name)
    return {
        number: [Thinking(text, "summary", origin=origin)]
        for number, text in shown.items()
        if text and text not in known
    }


def _session_threads(entries: list[dict[str, Any]]) -> dict[str, list[SessionTurn]]:
    """The turns, with the compactions that the next request would have and that only their provider can read.

    A later compaction replaces an earlier one. If the last cannot be read, the one before it counts, to which a repair goes back.
    """
    sealed: dict[int, list[Part]] = {}
    for number, entry in enumerate(entries):
        if entry.get("type") == "compacted":
            if parts := _sealed_compactions(entry):
                sealed[number] = parts
            else:
                sealed.clear()
    return _threads(entries, sealed)


def _sealed_compactions(entry: dict[str, Any]) -> list[Part]:
    """The compactions of a provider in the history that replaces what was before it; those of the gateway are read there."""
    items = map(as_dict, as_list(as_dict(entry.get("payload")).get("replacement_history")))
    return [
        part
        for item in items
        for message in _messages(item)
        for part in message.parts
        if compaction_of(part) and not is_envelope(as_text(item.get("encrypted_content")) or "")
    ]


def _messages(item: dict[str, Any]) -> list[Message]:
    """The messages of an item; an item of a wrong form is passed on as it is."""
    try:
        return read_messages([item])
    except DecodeError:
        origin = Origin(dialect=RESPONSES.name, item="input")
        return [Message("user", (Opaque(item, origin=origin),))]


def _paired(part: Part) -> Part:
    """The call or result in an item that the reader of the dialect carries without interpreting it."""
    match part:
        case Opaque(value={"type": kind, "call_id": str(name)}) if kind in _OUTPUTS:
            return ToolResult(name)
        case Opaque(value={"type": "local_shell_call", "call_id": str(name)}):
            origin = Origin(dialect=RESPONSES.name, block=part.value)
            return ToolCall(name, "local_shell", "{}", origin=origin)
        case _:
            return part


# ---- finding --------------------------------------------------------------------------------------------


class _Settings:
    """What the lines so far say about the next request."""

    def __init__(self) -> None:
        self.provider: str | None = None
        self.model: str | None = None
        self.place = ""
        self._system: str | None = None
        self._reasoning: dict[str, Any] = {}

    def take(self, kind: Any, payload: dict[str, Any]) -> None:
        """Reads a line."""
        if kind == "session_meta":
            host = host_of(as_text(payload.get("model_provider")) or "")
            self.provider = host.id if host else None
            instructions = payload.get("base_instructions") or payload.get("instructions")
            self._system = as_text(as_dict(instructions).get("text")) or as_text(instructions)
            folder = folder_name(payload.get("cwd"))
            branch = as_text(as_dict(payload.get("git")).get("branch"))
            self.place = ", ".join(filter(None, (folder, branch)))
        elif kind == "turn_context":
            self.model = as_text(payload.get("model")) or self.model
            setting = {"effort": payload.get("effort"), "summary": payload.get("summary")}
            self._reasoning = {
                name: word for name, word in setting.items() if isinstance(word, str)
            }

    def lines(self) -> list[dict[str, Any]]:
        """Lines with the model and the settings from here on, for a piece of a file that begins after the original ones."""
        lines: list[dict[str, Any]] = []
        if self.provider:
            lines.append({"type": "session_meta", "payload": {"model_provider": self.provider}})
        if self.model:
            lines.append({"type": "turn_context", "payload": {"model": self.model}})
        return lines

    def request(self) -> Request | None:
        """The settings of the last request."""
        if not self.model:
            return None
        name = f"{self.provider}/{self.model}" if self.provider else self.model
        effort = {name: word for name, word in self._reasoning.items() if name == "effort"}
        reasoning = setting_of(self._reasoning) or setting_of(effort)
        try:
            return Request(name, (), system=self._system, reasoning=reasoning)
        except UsageError:
            return None


def _open(data: Data) -> Opened:
    index = SessionIndex(data)
    befores = _indexed(data, index)
    project = next((one.place.partition(", ")[0] for one in befores.values() if one.place), None)
    entries = index.entries(project=project)
    if not entries:
        raise DecodeError("the Codex session has no items")

    def read(entry: Entry) -> Conversation:
        position = index.positions[entry.id]
        before = copy(befores.get(position.start, _Settings()))
        read = _read(entries_in(data, position.start, position.end), position, before)
        title = read.title or entry.title
        return with_title(
            read.replace(id=entry.id, title=title if not index.is_cut else entry.title)
        )

    return Opened(entries, read, index.troubles, (IN_PIECES,) if index.is_cut else ())


def _indexed(data: Data, index: SessionIndex) -> dict[int, _Settings]:
    """Fills the index; returns the settings at the beginning of each piece, and at -1 those at the end."""
    settings = _Settings()
    befores: dict[int, _Settings] = {-1: settings}
    for number, (start, line) in enumerate(data.lines(), 1):
        if not (text := line.strip()):
            continue
        try:
            head = members_at(text, "type", "timestamp")
            kind = head.get("type")
            is_head = kind in ("session_meta", "turn_context")
            payload = as_dict(members_at(text, "payload").get("payload")) if is_head or kind == "response_item" else {}  # fmt: skip
        except ValueError:
            index.troubles.append(broken_line(number, line))
            continue
        settings.take(kind, payload)
        if kind == "session_meta":
            index.folder = index.folder or as_text(payload.get("cwd"))
        if kind != "response_item" or not payload:
            continue
        is_question = payload.get("role") == "user" and not _is_injected(
            messages := _messages(payload)
        )
        if is_question and index.begins_turn(start, number):
            befores[start] = copy(settings)
        index.add("", seconds_of(head.get("timestamp")))
        index.learn("", model=settings.model)
        if is_question and not index.knows("")[0]:
            place = f" ({settings.place})" if settings.place else ""
            index.learn("", title=title_of(messages) + place)
    return befores


def _is_injected(messages: Sequence[Message]) -> bool:
    texts = [part.text for message in messages for part in message.parts if isinstance(part, Text)]
    return bool(texts) and all(map(is_injected, texts))


# ---- reading --------------------------------------------------------------------------------------------


def _read(
    items: list[dict[str, Any]], position: ThreadPosition, settings: _Settings
) -> Conversation:
    head = settings.lines()
    first_line = position.line - len(head)
    entries = [*head, *items]
    turns = _threads(entries, _shown_thoughts(entries)).get("", [])
    counts = _counts(turns, entries)
    numbered: list[tuple[int, Turn]] = []
    models: dict[int, tuple[str | None, str | None]] = {}
    for number, entry in enumerate(entries):
        if number >= len(head):
            settings.take(entry.get("type"), as_dict(entry.get("payload")))
        models[number] = settings.provider, settings.model
        numbered += [(number, turn) for turn in _own_turns(entry, first_line + number)]
    for place, turn in enumerate(turns):
        following = turns[place + 1].lines[0] if place + 1 < len(turns) else len(entries)
        first, last = turn.lines[0], turn.lines[-1]
        at = seconds_of(entries[first].get("timestamp"))
        facts: dict[str, Any] = {"at": at, "line": first_line + first}
        if turn.message.role != "assistant":
            is_injected = turn.message.role == "user" and _is_injected((turn.message,))
            marks: tuple[Mark, ...] = ("injected",) if is_injected else ()
            numbered.append((first, Turn(message=turn.message, marks=marks, **facts)))
            continue
        is_stopped = _is_stopped(entries[last:following])
        is_over = not is_stopped and (following < len(entries) or place in counts or not counts)
        provider, model = models[first]
        answer = Response(
            parts=turn.message.parts,
            provider=provider,
            model=model,
            ended=is_over,
            usage=counts.get(place, Usage()),
            origin=turn.message.origin,
        )
        seconds = _seconds(entries, first, last)
        facts |= {"seconds": seconds, "thinking_seconds": turn.thinking_seconds(entries, seconds)}
        numbered.append((first, Turn(message=turn.message, answer=answer, **facts)))
    ordered = tuple(turn for _, turn in sorted(numbered, key=lambda pair: pair[0]))
    request = settings.request()
    return Conversation(id="main", turns=ordered, request=request)


def _counts(turns: list[SessionTurn], entries: list[dict[str, Any]]) -> dict[int, Usage]:
    """The tokens of the answers: a count belongs to the answer before it, and is repeated where nothing was added."""
    counts: dict[int, Usage] = {}
    starts = [(turn.lines[0], place) for place, turn in enumerate(turns) if turn.message.role == "assistant"]  # fmt: skip
    last_total: Any = None
    for number, entry in enumerate(entries):
        payload = as_dict(entry.get("payload"))
        if entry.get("type") != "event_msg" or payload.get("type") != "token_count":
            continue
        info = as_dict(payload.get("info"))
        used, total = info.get("last_token_usage"), info.get("total_token_usage")
        place = next((place for line, place in reversed(starts) if line <= number), None)
        if not isinstance(used, dict) or place is None or (total is not None and total == last_total):  # fmt: skip
            continue
        last_total = total
        usage = Usage(**{name: as_count(used.get(key)) for name, key in _COUNTS.items()}, raw=used)
        counts[place] = counts[place] + usage if place in counts else usage
    return counts


def _is_stopped(entries: list[dict[str, Any]]) -> bool:
    """Whether the user stopped the answer."""
    return any(
        entry.get("type") == "event_msg"
        and as_dict(entry.get("payload")).get("type") == "turn_aborted"
        for entry in entries
    )


def _seconds(entries: list[dict[str, Any]], first: int, last: int) -> float | None:
    """The time from the item before the answer to its last line."""
    items = (
        entries[n] for n in range(first - 1, -1, -1) if entries[n].get("type") == "response_item"
    )
    before = next(items, None)
    start = seconds_of(before.get("timestamp")) if before else None
    end = seconds_of(entries[last].get("timestamp"))
    if start is None or end is None or end < start:
        return None
    return round(end - start, 3)


def _own_turns(entry: dict[str, Any], line: int) -> list[Turn]:
    """The turns that Codex adds: the replacement of the history by a compaction, and errors that it shows."""
    payload = as_dict(entry.get("payload"))
    facts: dict[str, Any] = {"at": seconds_of(entry.get("timestamp")), "line": line}
    if entry.get("type") == "compacted":
        items = [
            item for item in as_list(payload.get("replacement_history")) if isinstance(item, dict)
        ]
        messages = [message for item in items for message in _messages(item)]
        if not messages:
            messages = [user(as_text(payload.get("message")) or "")]
        return [
            Turn(message=message, marks=("injected",) if number else ("compaction",), **facts)
            for number, message in enumerate(messages)
        ]
    if entry.get("type") == "event_msg" and as_text(payload.get("type")) in _FAILURES:
        text = as_text(payload.get("message")) or "an error without a message"
        message = Message("assistant", (Text(text),))
        kind = payload.get("codex_error_info")
        failure = Failure(type=as_text(kind), message=text)
        answer = Response(parts=message.parts, error=failure)
        return [Turn(message=message, answer=answer, marks=("api_error",), **facts)]
    return []


# ---- repairing -------------------------------------------------------------------------------------------


def _edited(
    entry: dict[str, Any], gone: set[int | None], names: dict[int | None, str]
) -> dict[str, Any] | None:
    return None if gone else {**entry, "payload": {**entry["payload"], "call_id": names[None]}}


def _moved(
    _: dict[str, Any], entry: dict[str, Any], __: LinePosition, names: dict[int | None, str]
) -> dict[str, Any]:
    return (_edited(entry, set(), names) if names else None) or entry


def _answered(before: dict[str, Any], name: str, call: ToolCall) -> dict[str, Any]:
    block = as_dict(call.origin.block) if call.origin else {}
    kind = _OUTPUTS[block.get("type") == "custom_tool_call"]
    members = {key: value for key, value in before.items() if key in ("timestamp", "type")}
    return {**members, "payload": {"type": kind, "call_id": name, "output": UNANSWERED}}


SESSION = SessionFormat("codex", _session_threads, _edited, _moved, _answered, lambda *_: None)
READER = Reader(
    kind="codex",
    name="a Codex session",
    recognizes=_recognizes,
    open=_open,
    cannot_know=(
        "The tools of the requests.",
        "The reason why the model stopped.",
        "How long the model took, except for the time between two lines.",
    ),
)
