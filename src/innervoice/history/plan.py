"""A history and a target -> the messages to send, and a decision for everything that is not sent as it is.

Rules, as the design numbers them:

  H1  What came from this host, in this dialect, and from a model of this family goes back as it came.
  H2  Elsewhere its seals stay in the history; its reasoning is omitted, or sent as labelled text if asked.
  H3  A host that wants the reasoning of every turn with calls gets the field, empty where it is unknown; one
      that refuses reasoning gets none.
  H4  Gemini 3 and later: the first call of a step of the current turn that nobody signed gets the documented
      skip value.
  H5  A reasoning item that nobody stored goes back with its encrypted content, or not at all.
  H6  A call's id that the target refuses is mapped, its results with it.
  H9  Claude with a budget refuses a tool loop that does not begin with its thinking: thinking goes off.

Interrupted parts are never sent as sealed, and Claude's turns never end in thinking.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque, Part, Text, Thinking, ToolCall, ToolResult, is_inline
from innervoice.canon.request import Foreign, Request
from innervoice.canon.value import Value
from innervoice.errors import RuleError
from innervoice.history.ids import refused_ids, with_mapped_ids
from innervoice.hosts.lookup import family_of
from innervoice.settling import Settled

__all__ = ["Action", "Decision", "Plan", "Planner", "plan"]

Action: TypeAlias = Literal["kept", "omitted", "converted", "filled"]

SKIP = "skip_thought_signature_validator"
"""What Gemini takes for a signature that nobody has (ai.google.dev, thought signatures, read 2026-11-15)."""


class Decision(Value, frozen=True, kw_only=True):
    """What becomes of one part of a history, by which rule, and why."""

    message: int
    part: int | None
    kind: str
    action: Action
    rule: str
    note: str | None = None
    """The code of the note that tells it, for what is not kept."""
    why: str


class Plan(Value, frozen=True, kw_only=True):
    """What goes to a target."""

    target: str
    messages: tuple[Message, ...]
    decisions: tuple[Decision, ...]
    thinking_off: bool = False
    """Thinking must be off for this request, because an open tool loop began elsewhere (H9)."""

    def __str__(self) -> str:
        lines = [f"to {self.target}:"]
        for item in self.decisions:
            place = f"{item.message}.{item.part}" if item.part is not None else f"{item.message}"
            lines.append(f"  {place:6} {item.kind:10} {item.action:9} {item.rule:3} {item.why}")
        return "\n".join(lines)


def plan(
    messages: Sequence[Message], target: str, dialect: str | None = None, foreign: Foreign = "omit"
) -> Plan:
    """What of a history goes to a target, `provider/model`; nothing is sent."""
    return Planner(
        Settled(
            Request(target, tuple(messages), dialect=dialect, foreign=foreign, mode="passthrough")
        )
    ).plan()


class Planner:
    """Fits a history to the target of a request."""

    def __init__(self, settled: Settled) -> None:
        self._settled = settled
        self._request = settled.asked
        self._ask, self._dialect, self._model = settled.ask, settled.dialect, settled.model
        self._decisions: list[Decision] = []
        self._family = family_of(self._model)

    def plan(self) -> Plan:
        """The messages to send and every decision."""
        messages = self._request.messages
        fitted = [self._fitted(number, message) for number, message in enumerate(messages)]
        fitted = self._with_skip_values(fitted)
        refused = refused_ids(fitted, self._dialect)
        for place in refused.values():
            self._decide(
                place, "tool_call", "converted", "H6", "its id is refused here", "id_mapped"
            )
        fitted = with_mapped_ids(fitted, refused, self._dialect)
        return Plan(
            target=self._request.model,
            messages=tuple(fitted),
            decisions=tuple(self._decisions),
            thinking_off=self._loop_began_elsewhere(fitted),
        )

    def _decide(
        self,
        place: tuple[int, int | None],
        kind: str,
        action: Action,
        rule: str,
        why: str,
        note: str | None = None,
    ) -> None:
        message, part = place
        self._decisions.append(
            Decision(
                message=message, part=part, kind=kind, action=action, rule=rule, note=note, why=why
            )
        )

    # ---- parts ---------------------------------------------------------------------------------

    def _fitted(self, number: int, message: Message) -> Message:
        if message.role != "assistant":
            return message
        parts: list[Part] = []
        for position, part in enumerate(message.parts):
            fitted = self._fitted_part((number, position), part)
            if fitted is not None:
                parts.append(fitted)
        parts = self._with_field(number, parts)
        if self._family == "claude" and self._dialect in ("anthropic", "bedrock-converse"):
            parts = self._without_trailing_thinking(number, parts)
        home = self._is_home(message.origin)
        return message.but(parts=tuple(parts), origin=message.origin if home else None)

    def _fitted_part(self, place: tuple[int, int], part: Part) -> Part | None:
        home = self._is_home(part.origin)
        match part:
            case Thinking():
                return self._fitted_thinking(place, part, home=home)
            case Opaque() if home or part.origin is None:
                return part
            case Opaque():
                self._decide(
                    place,
                    "opaque",
                    "omitted",
                    "H2",
                    "a block of another provider",
                    "opaque_dropped",
                )
                return None
            case Text() | ToolCall() | ToolResult():
                return part if home or part.origin is None else part.but(origin=None)
            case _:
                return part

    def _fitted_thinking(
        self, place: tuple[int, int], part: Thinking, *, home: bool
    ) -> Part | None:
        if not home:
            return self._abroad(place, part)
        if is_inline(part):
            self._decide(place, "thinking", "kept", "H1", "it stands in the text it came in")
            return part
        for rule, refused, why in (
            ("H1", not part.complete, "it was interrupted"),
            ("H3", self._ask.replay == "never", "this host refuses it"),
            (
                "H5",
                self._is_unreadable_item(part),
                "nothing is stored, and it has no encrypted content",
            ),
        ):
            if refused:
                self._decide(place, "thinking", "omitted", rule, why, "thinking_omitted")
                return None
        self._decide(place, "thinking", "kept", "H1", "it came from here")
        return self._under_its_name(part)

    def _abroad(self, place: tuple[int, int], part: Thinking) -> Part | None:
        """H2: reasoning that this model cannot read."""
        if self._request.foreign == "text" and part.text.strip():
            if self._family == "claude":
                raise RuleError(
                    "foreign_text_refused", "Claude refuses prompts that hold such text"
                )
            self._decide(
                place,
                "thinking",
                "converted",
                "H2",
                "sent as labelled text, as asked",
                "thinking_as_text",
            )
            return Text(f"[Reasoning of an earlier turn]\n{part.text}\n")
        origin = part.origin
        known = origin is not None and origin.provider is not None
        came = (
            f"it came from {origin.provider}/{origin.model}"
            if origin and known
            else "nobody knows whose it is"
        )
        self._decide(place, "thinking", "omitted", "H2", came, "thinking_omitted")
        return None

    def _is_unreadable_item(self, part: Thinking) -> bool:
        """H5: an item that the host would have to look up, but did not store."""
        block = part.origin.block if part.origin else None
        host = self._settled.host
        sealed_only = host is not None and host.sealed_only and self._dialect == "openai-responses"
        return (
            sealed_only
            and not self._request.store
            and isinstance(block, dict)
            and not block.get("encrypted_content")
        )

    def _under_its_name(self, part: Thinking) -> Part:
        """Reasoning of this model, in the field and as far as its host wants it back."""
        origin = part.origin
        block = origin.block if origin else None
        host = self._settled.host
        if (
            origin
            and isinstance(block, dict)
            and host
            and host.sealed_only
            and block.get("content")
        ):
            return part.but(
                origin=origin.but(
                    block={key: item for key, item in block.items() if key != "content"}
                )
            )
        if (
            self._dialect != "openai-chat"
            or not isinstance(block, dict)
            or "type" in block
            or not origin
        ):
            return part
        if self._ask.replay == "tags":
            return Text(f"<think>{part.text}</think>\n", origin=origin.but(block=None))
        if self._ask.replay_field and self._ask.replay_field != "reasoning_details":
            return part.but(origin=origin.but(block={self._ask.replay_field: part.text}))
        return part

    def _is_home(self, origin: Origin | None) -> bool:
        """H1: the same host, dialect and family."""
        host = self._settled.host
        if origin is None or origin.dialect != self._dialect:
            return False
        if host and origin.provider not in (None, host.id):
            return False
        return origin.model is None or family_of(origin.model) == self._family

    # ---- turns ---------------------------------------------------------------------------------

    def _with_field(self, number: int, parts: list[Part]) -> list[Part]:
        """H3: the field that the host wants on a turn with calls, empty where it is unknown."""
        wanted = self._ask.replay == "must" and self._ask.replay_field == "reasoning_content"
        has_call = any(isinstance(part, ToolCall) for part in parts)
        has_thinking = any(isinstance(part, Thinking) and not is_inline(part) for part in parts)
        if (
            not (wanted and has_call and self._dialect == "openai-chat" and self._settled.reasons)
            or has_thinking
        ):
            return parts
        self._decide(
            (number, None),
            "thinking",
            "filled",
            "H3",
            "the host wants it on a turn with calls",
            "reasoning_filled",
        )
        origin = Origin(dialect=self._dialect, block={self._ask.replay_field or "": ""})
        return [Thinking("", "hidden", origin=origin), *parts]

    def _without_trailing_thinking(self, number: int, parts: list[Part]) -> list[Part]:
        kept = list(parts)
        while kept and isinstance(kept[-1], Thinking):
            kept.pop()
        if len(kept) != len(parts):
            self._decide(
                (number, None),
                "thinking",
                "omitted",
                "H1",
                "a turn must not end in thinking",
                "thinking_omitted",
            )
        return kept

    def _with_skip_values(self, messages: list[Message]) -> list[Message]:
        """H4: the skip value on the first call of each step of the current turn that nobody signed."""
        version = re.match(r"gemini-(\d+)", self._model.rsplit("/", 1)[-1])
        if self._dialect != "gemini" or not version or int(version[1]) < 3:
            return messages
        start = max(
            (number for number, message in enumerate(messages) if _is_said(message)), default=-1
        )
        return [
            self._signed(number, message)
            if number > start and message.role == "assistant"
            else message
            for number, message in enumerate(messages)
        ]

    def _signed(self, number: int, message: Message) -> Message:
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if not calls or any(part.origin and part.origin.seals for part in calls):
            return message
        first = calls[0]
        self._decide(
            (number, message.parts.index(first)),
            "tool_call",
            "filled",
            "H4",
            "nobody signed this step",
            "signature_filled",
        )
        block = (
            first.origin.block if first.origin and isinstance(first.origin.block, dict) else None
        )
        call = {"name": first.name, "args": _arguments(first)}
        made = {**(block or {"functionCall": {"id": first.id, **call}}), "thoughtSignature": SKIP}
        signed = first.but(origin=Origin(dialect="gemini", block=made, seals=("thoughtSignature",)))
        return message.but(parts=tuple(signed if part is first else part for part in message.parts))

    def _loop_began_elsewhere(self, messages: list[Message]) -> bool:
        """H9: an open tool loop whose turn does not begin with Claude's own thinking."""
        if (
            self._ask.control != "anthropic-enabled"
            or not messages
            or messages[-1].role == "assistant"
        ):
            return False
        last = next(
            (message for message in reversed(messages) if message.role == "assistant"), None
        )
        results = any(isinstance(part, ToolResult) for part in messages[-1].parts)
        if last is None or not results or not last.tool_calls:
            return False
        return not isinstance(last.parts[0], Thinking)


def _is_said(message: Message) -> bool:
    """Whether a message is the user's own, and not only results."""
    return message.role == "user" and not all(
        isinstance(part, ToolResult) for part in message.parts
    )


def _arguments(call: ToolCall) -> object:
    from innervoice.wire.requests import input_of  # noqa: PLC0415 - the one place that makes a Gemini block

    return input_of(call)
