"""Decides about whole turns: rules H1, H3, H4, H5, H9 and H10."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from hashlib import blake2b
from itertools import accumulate
from operator import attrgetter

from innervoice.canon.messages import Message, tool_result
from innervoice.canon.parts import Opaque, Part, Thinking, ToolCall, ToolResult, is_inline
from innervoice.canon.request import Request
from innervoice.planning.decisions import Ledger
from innervoice.planning.pairs import at_calls, late_results, pairs_of
from innervoice.planning.request import FittedRequest, is_reasoning
from innervoice.planning.system_messages import behind_results
from innervoice.wire.controls import is_claude
from innervoice.wire.dialect import Dialect
from innervoice.wire.dialects import replay_of

__all__ = [
    "UNANSWERED",
    "TurnRules",
    "is_held",
    "is_said",
    "last_said",
    "new_from",
    "with_taken_ids",
]

UNANSWERED = "This call was interrupted and has no result."
_ROLE, _SYSTEM = attrgetter("role"), "system"
_REFERENCE = "item_reference"
_HELD = ("previous_response_id", "previous_interaction_id", "conversation", "thread")
_NEW_THREAD = {"type": "create"}


def is_said(message: Message) -> bool:
    """Whether a message comes from the user, and is not only tool results."""
    return message.role == "user" and not all(
        isinstance(part, ToolResult) for part in message.parts
    )


def last_said(messages: Sequence[Message]) -> int:
    """The number of the last message from the user; -1 if there is none."""
    return next((n for n in range(len(messages) - 1, -1, -1) if is_said(messages[n])), -1)


def is_held(request: Request) -> bool:
    """H10: whether a server stores the conversation before the messages of a request, or items that these refer to."""
    if _continues(request):
        return True
    return bool(_references(request.messages))


def _references(messages: Sequence[Message]) -> dict[int, str]:
    """The numbers of messages that only refer to an item which the server stores, and the ids of those."""
    return {
        number: str(part.value.get("id"))
        for number, message in enumerate(messages)
        for part in message.parts
        if isinstance(part, Opaque)
        and isinstance(part.value, dict)
        and part.value.get("type") == _REFERENCE
    }


def _continues(request: Request) -> bool:
    """Whether a request names a conversation that a server stores; one that creates a thread has all of it."""
    values = (request.extra.get(name) for name in _HELD)
    return any(value and value != _NEW_THREAD for value in values)


def new_from(request: Request) -> int:
    """H10: the first message that is new to a server that stores the conversation; 0 if no server does."""
    if not request.extra or not _continues(request):
        return 0
    turns = [n for n, message in enumerate(request.messages) if message.role == "assistant"]
    return turns[-1] + 1 if turns else 0


class TurnRules:
    """Fits turns to a target."""

    _before: Message | None = None
    """The last message that is sent."""
    _repeated: frozenset[int] | set[int] = frozenset()
    """The numbers of turns that would be sent twice."""

    def __init__(self, fitted: FittedRequest, ledger: Ledger) -> None:
        self._fitted, self._row = fitted, fitted.target.row
        self._replay = replay_of(fitted.target.dialect)
        self._ledger = ledger
        self._references = _references(fitted.asked.messages)
        self.gaps: list[int] = []
        """The positions in the sent messages before which a turn is left out."""

    def is_repeated(self, number: int, message: Message) -> bool:
        """H1: whether the same assistant turn would be sent a second time, directly after the first."""
        if not message.parts:
            return False
        before, self._before = self._before, message
        if message.role != "assistant" or before is None or message.parts != before.parts:
            return False
        why = "it is the same turn as the one before"
        self._ledger.omitted((number, None), "message", "H1", why, "turn_repeated")
        self._repeated = self._repeated or set()
        assert isinstance(self._repeated, set)
        self._repeated.add(number)
        return True

    def with_field(self, number: int, parts: list[Part]) -> list[Part]:
        """H3: adds the reasoning field that the host demands on a turn with calls, empty if the reasoning is lost."""
        empty = self._replay.empty(self._row)
        if empty is None or not self._fitted.reasons:
            return parts
        has_call = any(isinstance(part, ToolCall) for part in parts)
        has_thinking = any(isinstance(part, Thinking) and not is_inline(part) for part in parts)
        if not has_call or has_thinking:
            return parts
        why = "the host demands the field on a turn with calls"
        self._ledger.filled((number, None), "thinking", "H3", why, "reasoning_filled")
        return [empty, *parts]

    def without_loose_ends(self, number: int, parts: list[Part], *, rule: str) -> list[Part]:
        """Removes thinking at the end of a turn: Claude refuses it there, and OpenAI refuses a reasoning item without the item that it led to."""
        end = len(parts)
        while end and isinstance(parts[end - 1], Thinking):
            end -= 1
        if end == len(parts) or number + 1 in self._references:
            return parts
        why = "no part of the turn follows it"
        self._ledger.omitted((number, None), "thinking", rule, why)
        return parts[:end]

    def without_lost_ids(self, number: int, parts: list[Part]) -> list[Part]:
        """H5: removes the id of a part that no longer follows its reasoning; because of the id, a host with a store would require it."""
        if not self._fitted.asked.store:
            return parts
        changed: list[Part] = []
        led: set[str | None] = {None, *self._references.values()}
        for part in parts:
            origin = part.origin
            if isinstance(part, Thinking) and origin:
                led.add(origin.item)
            lost = origin is not None and origin.led_by not in led
            changed.append(self._replay.without_id(part) if lost else part)
        if changed != parts:
            why = "the reasoning that led to it is not before it"
            self._ledger.converted((number, None), "message", "H5", why, "item_id_dropped")
        return changed

    def is_unstored(self, message: Message) -> bool:
        """H5: whether the host has not stored a turn, because the request for it said so."""
        return message.origin is not None and self._replay.is_unstored(message.origin.block)

    def without_unknown_ids(self, number: int, parts: list[Part]) -> list[Part]:
        """H5: removes the ids of items that the host has not stored."""
        changed = [self._replay.without_id(part) for part in parts]
        if changed != parts:
            why = "the server has not stored it"
            self._ledger.converted((number, None), "message", "H5", why, "item_not_stored")
        return changed

    def with_calls_last(self, number: int, parts: list[Part]) -> list[Part]:
        """H5: moves calls to the end of their turn; DeepSeek's Responses API allows nothing between calls and results."""
        if not self._replay.calls_last(self._fitted.target.host):
            return parts
        calls: list[Part] = [part for part in parts if isinstance(part, ToolCall)]
        others = [part for part in parts if not isinstance(part, ToolCall)]
        if [*others, *calls] != parts:
            why = "the host wants calls at the end of a turn"
            self._ledger.converted((number, None), "tool_call", "H5", why, "calls_moved")
        return [*others, *calls]

    def without_latest_thinking(self, messages: list[Message]) -> list[Message]:
        """H1: removes thinking from Claude's latest turn when thinking is off; Claude refuses it there."""
        choice = self._fitted.choice
        if not choice or not choice.off or not is_claude(self._row):
            return messages
        latest = max((n for n, item in enumerate(messages) if item.role == "assistant"), default=-1)
        if latest < 0:
            return messages
        turn = messages[latest]
        parts = tuple(part for part in turn.parts if not isinstance(part, Thinking))
        if len(parts) == len(turn.parts):
            return messages
        why = "thinking is off, so the latest turn must not contain any"
        self._ledger.omitted((latest, None), "thinking", "H1", why)
        return [*messages[:latest], turn.replace(parts=parts), *messages[latest + 1 :]]

    def without_leftover(self, messages: list[Message]) -> list[Message]:
        """H1: removes the beginning of an answer that was cut off, where the model cannot go on with it."""
        asked = self._fitted.asked.messages
        if not messages or not messages[-1].parts or not self._fitted.is_leftover(asked[-1]):
            return messages
        last = len(messages) - 1
        if is_reasoning(asked[-1]):
            why = "the answer was cut off after its reasoning"
            self._ledger.omitted((last, None), "thinking", "H1", why)
        else:
            why = "the answer was cut off, and the model does not go on with it"
            self._ledger.omitted((last, None), "message", "H1", why, "cut_answer_omitted")
        return [*messages[:last], messages[last].replace(parts=())]

    def with_skip_values(self, messages: list[Message]) -> list[Message]:
        """H4: puts the skip value on the first call of each unsigned step of the current turn."""
        if not self._replay.skips(self._fitted.target.model):
            return messages
        start = last_said(messages)
        return [
            self._signed(number, message)
            if number > start and message.role == "assistant"
            else message
            for number, message in enumerate(messages)
        ]

    def _signed(self, number: int, message: Message) -> Message:
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if not calls or self._replay.is_signed(message.parts):
            return message
        first = calls[0]
        place = (number, message.parts.index(first))
        self._ledger.filled(
            place, "tool_call", "H4", "this step has no signature", "signature_filled"
        )
        return message.replace(parts=self._replay.with_skip(message.parts, first))

    def with_results_at_calls(self, messages: list[Message]) -> list[Message]:
        """H1: moves a result that came after other messages to its call; most hosts accept it only there."""
        late = late_results(messages)
        if self._replay.results_anywhere(self._fitted.target.host):
            for place in late:
                self._ledger.kept(
                    place, "tool_result", "H1", "the host accepts a result after other messages"
                )
            late = {}
        if not late:
            return messages
        for place in late:
            why = "the host requires results directly after their calls"
            self._ledger.converted(place, "tool_result", "H1", why, "result_moved")
        rows = at_calls(
            [message.parts for message in messages], late, lambda part: isinstance(part, ToolResult)
        )
        # A message that has no parts left is not sent.
        return [
            message.replace(role=message.role if row else "tool", parts=tuple(row))
            if len(row) != len(message.parts) or list(message.parts) != row
            else message
            for message, row in zip(messages, rows, strict=True)
        ]

    def with_system_behind_results(self, messages: list[Message]) -> list[Message]:
        """H1: moves a system message between a call and its results behind these; most hosts accept only results there."""
        if _SYSTEM not in map(_ROLE, messages) or self._replay.results_anywhere(
            self._fitted.target.host
        ):
            return messages
        order = behind_results(messages)
        for number, highest in zip(order, accumulate(order, max), strict=True):
            if number < highest:
                why = "the host requires results directly after their calls"
                place = (number, None)
                self._ledger.converted(place, "message", "H1", why, "system_behind_results")
        return [messages[number] for number in order]

    def with_results(self, messages: list[Message], start: int) -> list[Message]:
        """H1: adds a result for every call without one; removes turns that have no parts left.

        The calls of the last turn may still be run, unless the history is sent now.
        """
        unanswered = set(pairs_of(messages).unanswered)
        if not unanswered and all(message.parts for message in messages):
            return messages
        last = max(n for n in range(len(messages)) if n not in self._repeated)
        whole: list[Message] = []
        for number, message in enumerate(messages):
            if not message.parts and message.role in ("assistant", "tool"):
                if message.role == "assistant" and number >= start and number not in self._repeated:
                    why = "no part of the turn is sent"
                    self._ledger.omitted((number, None), "message", "H1", why, "turn_removed")
                    self.gaps.append(len(whole))
                continue
            whole.append(message)
            if number == last and not self._fitted.checked:
                break
            for position, call in enumerate(message.parts):
                if isinstance(call, ToolCall) and (number, position) in unanswered:
                    place = (number, position)
                    why = "the call has no result"
                    self._ledger.filled(place, "tool_result", "H1", why, "result_filled")
                    whole.append(tool_result(call.id, UNANSWERED, error=True))
        return whole

    def began_elsewhere(self, messages: list[Message]) -> bool:
        """H9: whether the turn of an open tool loop does not begin with Claude's own thinking."""
        if self._row.control != "anthropic-enabled" or not messages:
            return False
        latest = max((n for n, item in enumerate(messages) if item.role == "assistant"), default=-1)
        since = [part for message in messages[latest + 1 :] for part in message.parts]
        if latest < 0 or not any(isinstance(part, ToolResult) for part in since):
            return False
        return not isinstance(messages[latest].parts[0], Thinking)


# ---- Tool call ids that a target accepts (rule H6).
#
# Most APIs accept up to 64 letters, digits, `_` and `-`; Mistral accepts exactly nine letters and digits; none accepts the
# same id for two calls of a conversation. An id that is not accepted is mapped to a digest of it, always the same, in the call
# and in its result. The history keeps the received id. A call that is sent back as a received block keeps its id, unless an earlier call has it.


_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def with_taken_ids(
    messages: list[Message], dialect: Dialect
) -> tuple[list[Message], list[tuple[int, int]]]:
    """The messages with ids that a dialect accepts, and the places of the calls whose id changed."""
    names = _Names(dialect)
    changed: list[tuple[int, int]] = []
    written = list(messages)
    for number, message in enumerate(messages):
        renamed = {
            position: fitted
            for position, part in enumerate(message.parts)
            if isinstance(part, (ToolCall, ToolResult))
            and (fitted := names.fitted(number, part)) is not part
        }
        if renamed:
            parts = (renamed.get(position, part) for position, part in enumerate(message.parts))
            written[number] = message.replace(parts=tuple(parts))
            changed += [(number, at) for at, part in renamed.items() if isinstance(part, ToolCall)]
    return written, changed


class _Names:
    """The ids that are sent, collected in the order of the conversation."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._replay = dialect.replay
        self._used: set[str] = set()
        self._current: dict[str, tuple[int, deque[str]]] = {}
        """A received id -> the last message with calls of this id, and the ids under which they are sent."""
        self._tried: dict[str, int] = {}
        """A received id -> the number of digests of it that were tried."""

    def fitted(self, number: int, part: ToolCall | ToolResult) -> ToolCall | ToolResult:
        if isinstance(part, ToolResult):
            return self._result(part)
        if _is_block(part):
            taken = part.id in self._used and self._replay.names_call(part)
        else:
            taken = part.id in self._used or not self._dialect.call_ids.fullmatch(part.id)
        name = self._free(part.id) if taken else part.id
        self._used.add(name)
        latest, names = self._current.get(part.id, (-1, deque()))
        self._current[part.id] = (number, names if latest == number else (names := deque()))
        names.append(name)
        return part if name == part.id else self._replay.with_call_id(part, name)

    def _result(self, part: ToolResult) -> ToolCall | ToolResult:
        _, names = self._current.get(part.call_id, (-1, None))
        if not names:
            return part
        # The last id stays: several calls of one turn that share an id have their results in order.
        name = names.popleft() if len(names) > 1 else names[0]
        return part if name == part.call_id else self._replay.with_call_id(part, name)

    def _free(self, call_id: str) -> str:
        """An id that no call has yet."""
        start = self._dialect.call_id_start
        number = self._tried.get(call_id, 0)
        while (
            candidate := start + _short(f"{call_id}#{number}" if number else call_id)
        ) in self._used:
            number += 1
        self._tried[call_id] = number + 1
        return candidate


def _is_block(part: ToolCall) -> bool:
    return part.origin is not None and part.origin.block is not None


def _short(call_id: str) -> str:
    """Nine letters and digits that replace an id."""
    number = int.from_bytes(
        blake2b(call_id.encode("utf-8", "surrogatepass"), digest_size=12).digest(), "big"
    )
    letters = []
    for _ in range(9):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return "".join(letters)
