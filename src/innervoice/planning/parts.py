"""Decides about each piece of reasoning: rules H1, H2, H3, H5 and H7."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolResult, is_inline
from innervoice.canon.target import Target
from innervoice.catalog.home import is_home
from innervoice.catalog.lookup import family_of, model_row_of
from innervoice.conversation.prefix import Prefix, difference
from innervoice.conversation.stable import is_cache_point, unmarked
from innervoice.errors import RuleError
from innervoice.planning.cache_marks import cache_mark_of, takes_cache_marks
from innervoice.planning.compactions import (
    UNASKED,
    UNREADABLE,
    asks_for_compaction,
    compaction_of,
    readable_compaction,
)
from innervoice.planning.decisions import Ledger, Place
from innervoice.planning.received import refuses
from innervoice.planning.request import FittedRequest
from innervoice.planning.turns import last_said
from innervoice.wire.dialects import dialect_named, replay_of
from innervoice.wire.further_members import moved_members
from innervoice.wire.media import kind_of, way_of
from innervoice.wire.shapes import is_strict
from innervoice.wire.write import message_members

__all__ = [
    "ContentRules",
    "ReasoningRules",
    "compacted",
    "has_blank_text",
    "is_own",
    "labelled_text",
    "text_refusal",
]


def labelled_text(part: Thinking) -> Text:
    """Reasoning of another model as a text that says what it is."""
    return Text(f"[Reasoning of an earlier turn]\n{part.text}\n")


def text_refusal(model: str) -> str | None:
    """Why a model refuses prompts with such a text; None if it accepts them."""
    return "Claude refuses prompts that contain such text" if family_of(model) == "claude" else None


class ReasoningRules:
    """Decides which reasoning is sent back, and in which form."""

    def __init__(self, fitted: FittedRequest, ledger: Ledger, prefix: Prefix) -> None:
        self._fitted = fitted
        self._target = target = fitted.target
        self._row, self._host = target.row, target.host
        self._request = fitted.asked
        self._ledger = ledger
        self._prefix = prefix
        self._replay = replay_of(target.dialect)
        self.is_signed = self._replay.signed and family_of(target.model) == "claude"

    def is_home(self, origin: Origin | None) -> bool:
        """H1: whether the target can read a part of this origin."""
        return is_home(origin, self._target)

    def note_missing(self, messages: Sequence[Message], start: int) -> None:
        """H3: notes a turn of the open tool loop that lost its reasoning, which the model expects but does not require."""
        row = self._row
        wanted = row.replay in ("must", "loop", "tags") and self._fitted.reasons
        # Gemini's signatures, DeepSeek's field, and Claude's blocks where they are required (H9) have their own rules.
        if not wanted or self._replay.fills(row) or row.control == "anthropic-enabled":
            return
        for number in range(max(last_said(messages) + 1, start), len(messages)):
            calls = messages[number].tool_calls
            thought = any(isinstance(part, Thinking) for part in messages[number].parts)
            if calls and not thought and self._should_have_thought(calls[0].origin):
                why = "a turn of the open tool loop has no reasoning"
                self._ledger.kept((number, None), "message", "H3", why, "reasoning_missing")

    def _should_have_thought(self, origin: Origin | None) -> bool:
        """Whether a turn without reasoning has lost it: a model that signs its reasoning may call a tool without any, others do not."""
        if origin is None or not self.is_home(origin):
            return False  # this model could not read it anyway
        return origin.model is None or dialect_named(self._target.dialect).thinks_visibly

    def fitted(self, place: Place, part: Thinking, *, unstored: bool) -> Part | None:
        """The part as it is sent to the target; None if it is not sent."""
        if not self.is_home(part.origin):
            return self._abroad(place, part)
        if is_inline(part):
            self._ledger.kept(place, "thinking", "H1", "it is part of the text it came in")
            return part
        block = part.origin.block if part.origin else None
        for rule, refused, why in (
            ("H1", not part.complete, "it was interrupted"),
            ("H3", self._row.replay == "never", "this host refuses reasoning"),
            ("H1", self.is_signed and self._replay.is_unsigned(block), "it was never signed"),
            (
                "H5",
                self._replay.is_unreadable(
                    block, self._host, stored=self._request.store and not unstored
                )
                or ((unstored or not self._request.store) and self._replay.is_lost(block)),
                "it is not stored, and it has no encrypted content",
            ),
        ):
            if refused:
                self._ledger.omitted(place, "thinking", rule, why)
                return None
        return self._bound(place, part)

    def _bound(self, place: Place, part: Thinking) -> Part | None:
        """H7: leaves out reasoning that is no longer valid because something before it changed."""
        prefix = part.origin.prefix if part.origin else None
        bound = self._binding(part.origin)
        if bound == "no" or prefix is None or self._prefix.is_equal(prefix):
            sent = self._replay.returned(part, self._row, self._host)
            if sent is None:
                self._ledger.omitted(place, "thinking", "H3", "this host has no place for it")
            else:
                self._ledger.kept(place, "thinking", "H1", "it came from this target")
            return sent
        why = difference(prefix, self._prefix.value)
        if bound == "dropped":
            self._ledger.kept(
                place, "thinking", "H7", f"the host will ignore it: {why}", "prefix_changed"
            )
            return self._replay.returned(part, self._row, self._host)
        self._ledger.omitted(place, "thinking", "H7", why, "prefix_changed")
        return None

    def _binding(self, origin: Origin | None) -> str:
        """What happens to a block whose prefix changed. The model that wrote the block decides, not the one that reads it."""
        writer = origin.model if origin else None
        host = self._host.id if self._host else None
        row = model_row_of(writer, host, self._target.dialect) if writer else None
        return (row or self._row).bound

    def _abroad(self, place: Place, part: Thinking) -> Part | None:
        """H2: reasoning that this model cannot read."""
        if self._request.foreign == "text" and part.text.strip():
            if refusal := text_refusal(self._target.model):
                raise RuleError("foreign_text_refused", refusal)
            why = "sent as labelled text, as asked"
            self._ledger.converted(place, "thinking", "H2", why, "thinking_as_text")
            return labelled_text(part)
        origin = part.origin
        if origin is None or (origin.provider is None and origin.model is None):
            why = "its origin is unknown"
        elif origin.provider is None:
            why = f"it came from {origin.model}"
        elif self._request.scope and origin.scope and origin.scope != self._request.scope:
            why = f"it belongs to the account {origin.scope}"
        else:
            why = f"it came from {origin.provider}/{origin.model}"
        self._ledger.omitted(place, "thinking", "H2", why)
        return None


# Fits the content of user, system and tool messages to a target: rule H2 for parts that the model did not write.
#
# A part that was read from a request of another dialect is sent without its wire block, in the form of the target's dialect. A block that
# only its own dialect understands is left out. A cache mark is kept for targets that have such marks. The caller's own parts, which have no
# origin, are sent as they are.


_ORIGIN = attrgetter("origin")
_NO_MARKS = "the target has no cache marks"
_KNOWN = frozenset({"role", "type", "content", "id", "store"})
"""Members of a message that its role, its parts or other rules speak for."""
_CALLED = frozenset({"name", "tool_name", "tool_call_id"})
"""Members of a result that only name its call."""


def is_own(message: Message) -> bool:
    """Whether the caller wrote the whole message, as for nearly all messages: no part of it was read from a request."""
    parts = message.parts
    return not (message.origin or any(map(_ORIGIN, parts)) or ToolResult in map(type, parts))


def has_blank_text(message: Message) -> bool:
    """Whether a message of the user has a blank text."""
    texts = (part.text for part in message.parts if isinstance(part, Text))
    return message.role != "system" and not all(map(str.strip, texts))


def compacted(place: Place, block: dict[str, Any], ledger: Ledger) -> Part | None:
    """A summary of everything before it, as a text; None if only its provider can read it, which the request must not go without."""
    text = readable_compaction(block)
    if text is None:
        why = "it stands for everything before it, and only its own provider can read it"
        ledger.omitted(place, "opaque", "H2", why, UNREADABLE)
    else:
        why = "the summary is a text"
        ledger.converted(place, "opaque", "H2", why, "compaction_as_text")
    return text


class ContentRules:
    """Fits the content of messages that the model did not write."""

    def __init__(self, target: Target, ledger: Ledger) -> None:
        self._target = target
        self._dialect = dialect_named(target.dialect)
        self._ledger = ledger

    @cached_property
    def _takes_marks(self) -> bool:
        return takes_cache_marks(self._target)

    def fitted(self, number: int, message: Message) -> Message:
        """The message as the target's dialect can send it; the same object if nothing changes."""
        has_blank = self._dialect.refuses_blanks and has_blank_text(message)
        origin = message.origin
        if origin and self._is_foreign(message):
            message = self.without_members(number, message)
        elif origin:
            message = self.known_members(number, message)
        parts: list[Part | None] = []
        for position, part in enumerate(message.parts):
            if isinstance(part, Opaque) and is_cache_point(part.value) and self._is_foreign(part):
                self._mark_last(parts, (number, position))
                parts.append(None)
            elif has_blank and isinstance(part, Text) and not part.text.strip():
                why = "it is blank"
                self._ledger.omitted((number, position), "text", "H1", why, "blank_omitted")
                parts.append(None)
            else:
                parts.append(self._part((number, position), part))
        if all(new is old for new, old in zip(parts, message.parts, strict=True)):
            return message
        sent = tuple(part for part in parts if part is not None)
        # A message that has no parts left is not sent, unless it sets an effort.
        role = message.role if sent or message.effort or not has_blank else "tool"
        return message.replace(role=role, parts=sent)

    def without_members(self, number: int, message: Message) -> Message:
        """A message of another dialect, with those of its members that the target's has as well."""
        origin = message.origin
        block = origin.block if origin and isinstance(origin.block, dict) else {}
        silent = _KNOWN | _CALLED if message.role == "tool" else _KNOWN
        seals = origin.seals if origin else ()
        if message.effort is not None and origin and origin.dialect:
            silent |= {*dialect_named(origin.dialect).effort_path[:1]}
        members = {}
        for name, value in block.items():
            if name in self._dialect.message_members:
                members[name] = value
            elif value and name not in silent and name not in seals:
                self._ledger.lacking((number, None), "message", name)
        if not members:
            return message.replace(origin=None)
        origin = Origin(dialect=self._target.dialect, block=members, item="input")
        return self.known_members(number, message.replace(origin=origin))

    def known_members(self, number: int, message: Message) -> Message:
        """A message of a client, without members that its host would refuse: the client may have used another host of this dialect."""
        block = message_members(message)
        if not block or message.effort is not None or not is_strict(self._target):
            return message
        history, plain = self._dialect.history, {"role": message.role}
        members = {
            name: value
            for name, value in block.items()
            if name in _KNOWN
            or not refuses({history: [{**plain, name: value}]}, {history: [plain]}, self._target)
        }
        for name in block.keys() - members.keys():
            self._ledger.lacking((number, None), "message", name)
        if len(members) == len(block) or message.origin is None:
            return message
        origin = message.origin.replace(block=members) if members else None
        return message.replace(origin=origin)

    def _part(self, place: Place, part: Part) -> Part | None:
        if isinstance(part, ToolResult) and not isinstance(part.content, str):
            part = self._result(place, part)
        if part.origin is None:
            return part
        if not self._is_foreign(part):
            if isinstance(part, Opaque) and self._lacks_item(part):
                why = "the model has no such item"
                self._ledger.omitted(place, "opaque", "H2", why, "opaque_dropped")
                return None
            return self._unmarked(place, part)
        if (block := compaction_of(part)) is not None:
            return compacted(place, block, self._ledger)
        if isinstance(part, Opaque):
            why, code = f"it is a block of the dialect {part.origin.dialect}", "opaque_dropped"
            if asks_for_compaction(part):
                why, code = "only its own provider answers it with a compaction", UNASKED
            self._ledger.omitted(place, "opaque", "H2", why, code)
            return None
        return self.abroad(place, part)

    def _lacks_item(self, part: Opaque) -> bool:
        """Whether it is an item that sets something inside the conversation, which only some models have."""
        row, members = self._target.row, self._dialect.effort_members
        if row.effort_updates or row.guess or not members or not isinstance(part.value, dict):
            return False
        return members.items() <= part.value.items()

    def abroad(self, place: Place, part: Part) -> Part:
        """A part without the block of another dialect, and with its cache mark if the target has such marks."""
        mark = cache_mark_of(part)
        if mark and not self._takes_marks:
            self._note_mark(place, part)
            mark = None
        members, lost = moved_members(part, self._dialect)
        for name in lost:
            self._ledger.lacking(place, part.type, name)
        origin = Origin(cache_mark=mark, members=members or None) if mark or members else None
        return part.replace(origin=origin)

    def file_of_turn(self, place: Place, part: Media) -> Part | None:
        """A file in a turn of the model, where the target's dialect has such files."""
        ways = self._dialect.files.ACCEPTS.get(kind_of(part), ())
        if self._dialect.files_in_turns and way_of(part) in ways:
            return self.abroad(place, part)
        why = "the target takes no such file in a turn of the model"
        self._ledger.omitted(place, "media", "H2", why, "part_without_place")
        return None

    def _mark_last(self, parts: list[Part | None], place: Place) -> None:
        """Marks the part before a cache point."""
        last = next((at for at in reversed(range(len(parts))) if parts[at] is not None), None)
        part = parts[last] if last is not None else None
        if last is None or part is None or not self._takes_marks:
            self._ledger.omitted(place, "opaque", "H2", _NO_MARKS, "cache_mark_dropped")
        else:
            parts[last] = part.replace(origin=Origin(cache_mark={"type": "ephemeral"}))

    def _unmarked(self, place: Place, part: Part) -> Part:
        """A part of this dialect, without a cache mark that its host would refuse."""
        origin = part.origin
        if origin is None or self._takes_marks or not is_strict(self._target):
            return part
        if not (cache_mark_of(part) and isinstance(origin.block, dict)):
            return part
        self._note_mark(place, part)
        block = unmarked(origin.block)
        plain = block.keys() == {"type", "text"}
        return part.replace(origin=None if plain else origin.replace(block=block))

    def _note_mark(self, place: Place, part: Part) -> None:
        self._ledger.converted(place, part.type, "H2", _NO_MARKS, "cache_mark_dropped")

    def _result(self, place: Place, result: ToolResult) -> ToolResult:
        assert not isinstance(result.content, str)
        content = [self._part(place, inner) for inner in result.content]
        if all(new is old for new, old in zip(content, result.content, strict=True)):
            return result
        accepted = tuple(part for part in content if isinstance(part, (Text, Media, Opaque)))
        return result.replace(content=accepted or "")

    def _is_foreign(self, holder: Part | Message) -> bool:
        """Whether a part or a message was read from a request of another dialect."""
        dialect = holder.origin.dialect if holder.origin else None
        return dialect is not None and dialect != self._target.dialect
