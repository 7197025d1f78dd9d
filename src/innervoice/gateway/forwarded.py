"""The first way of a request: it is forwarded as it came, unread but for what is new.

When a request went through on the byte path, its settings are known to need no change, and so is its conversation up to its end. The next
request of the conversation adds the answer and something new. Only these are read: if the answer is complete, as the client got it, and
the rest needs no change either, the whole body is forwarded, with another model name.

    body ──► settings known? beginning known? ──► read the new messages ──► the same bytes
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from innervoice.canon.bounded import Bounded
from innervoice.canon.jsontext import dump_json, split_members
from innervoice.canon.messages import Message
from innervoice.canon.parts import Part, Thinking
from innervoice.canon.request import Request, Wire
from innervoice.conversation.body import SplitBody
from innervoice.conversation.digest import ConversationDigest
from innervoice.conversation.growth import Beginnings, growth_of
from innervoice.conversation.turns import seals_of, shown_turn
from innervoice.gateway.limits import LIMITS
from innervoice.wire.dialects import dialect_named

if TYPE_CHECKING:
    from innervoice.gateway.upstreams import Candidate

__all__ = ["Forwarded", "ForwardedRequests", "is_reasoning", "with_model"]

_MODEL = re.compile(rb'"model"\s*:\s*("(?:[^"\\]|\\.)*")')
_ESCAPED_NAME = re.compile(rb'"[^"]{0,64}\\u00[^"]{0,64}"\s*:')


@dataclass(frozen=True, slots=True)
class _Settings:
    """Settings that need no change at a candidate."""

    request: Request
    """The request, without its messages."""
    wire: Wire
    """What was sent, without its body."""
    start: ConversationDigest


@dataclass(frozen=True, slots=True)
class _Answered:
    """A conversation that needs no change, with the answer to it."""

    digest: ConversationDigest
    """The conversation, including the answer."""
    proof: int
    """A hash of everything in the answer that the client has to send back."""
    thoughts: int
    """Pieces of reasoning in the conversation and in the answer."""


@dataclass(frozen=True, slots=True)
class Forwarded:
    """How a request is forwarded as it came."""

    body: bytes
    request: Request
    wire: Wire
    digest: ConversationDigest
    thoughts: int
    """Pieces of reasoning in the conversation."""


class ForwardedRequests:
    """What is known about requests that were forwarded as they came, in one process. `owner` is the tenant, the settings and the candidate."""

    def __init__(self) -> None:
        self._settings: Bounded[bytes, _Settings] = Bounded(LIMITS.forwarded_conversations)
        self.beginnings: Beginnings[_Answered] = Beginnings(Bounded(LIMITS.forwarded_conversations))

    def clear(self) -> None:
        """Forgets everything: another configuration may change which requests are forwarded."""
        self._settings.clear()
        self.beginnings.clear()

    def forget(self, owner: bytes) -> None:
        """Handles the refusal of a request with these settings: they are learned anew."""
        self._settings.pop(owner)

    def find(self, body: SplitBody, owner: bytes, candidate: Candidate) -> Forwarded | None:
        """How a request is forwarded to a candidate; None for one that must be read."""
        settings = self._settings.used(owner)
        if settings is None:
            return None
        match = self.beginnings.longest(body, owner, answered=True)
        if match is None:
            digest, thoughts = _with_questions(settings.start.copy(), body), 0
        else:
            count, answered = match
            digest = _grown(answered, body, count)
            thoughts = answered.thoughts
        if digest is None:
            return None
        data = with_model(body.body, body.value("model"), candidate.target.model, body.frame)
        if data is None:
            return None
        return Forwarded(data, settings.request, settings.wire, digest, thoughts)

    def learn(self, owner: bytes, request: Request, wire: Wire, start: ConversationDigest) -> None:
        """Remembers that the settings of a request needed no change; `start` is a conversation before its first message."""
        bare = request.replace(messages=())
        self._settings[owner] = _Settings(bare, wire.replace(body={}, notes=(), prefix=None), start)

    def answered(
        self,
        body: SplitBody,
        owner: bytes,
        digest: ConversationDigest,
        answer: Message,
        thoughts: int,
    ) -> None:
        """Remembers a conversation that needed no change and was answered."""
        behind = digest.copy()
        behind.add(answer)
        thoughts += sum(map(is_reasoning, answer.parts))
        self.beginnings.add(body, owner, _Answered(behind, _proof(answer), thoughts))


def _grown(answered: _Answered, body: SplitBody, start: int) -> ConversationDigest | None:
    """The conversation with the new messages; None if something may have to change."""
    growth = growth_of(body, start)
    if growth is None or answered.proof != _proof(growth.turn) or not growth.is_answered:
        return None
    if dialect_named(body.dialect).turns_are_items and len(body.items) - start > 1 + len(
        growth.rest
    ):
        return None  # the turn came in pieces
    digest = answered.digest.copy()
    for message in growth.rest:
        digest.add(message)
    return digest


def _with_questions(digest: ConversationDigest, body: SplitBody) -> ConversationDigest | None:
    """A new conversation; None if it is not only texts, of the user or of the system prompt."""
    for number in range(len(body.items)):
        message = body.question(number)
        if message is None:
            return None
        digest.add(message)
    return digest if body.items else None


def _proof(turn: Message) -> int:
    """A hash of the visible content of a turn, and of its reasoning, in order; it never leaves the process."""
    visible = shown_turn(turn)
    facts = [*visible.ids]
    for part in turn.parts:
        seals = list(seals_of(part))
        if seals or isinstance(part, Thinking):
            facts += ("", part.text if isinstance(part, Thinking) else "", *seals)
    return hash((visible.data, tuple(facts)))


def is_reasoning(part: Part) -> bool:
    """Whether a part is reasoning, or carries a seal of it."""
    return isinstance(part, Thinking) or any(seals_of(part))


def with_model(
    body: bytes, name_before: Any, model: str, frame: tuple[bytes, bytes] | None = None
) -> bytes | None:
    """The body with another model name; None if the body must be rewritten for that.

    A body that has the member twice could name one model to the gateway and another to the provider, so it is not forwarded unchanged.
    The same holds for a member whose name is spelled with escapes. Members of that name at deeper levels, as in the schemas of Claude Code's
    tools, are something else. `frame` is what comes before the conversation and behind it, which has none of the members of the body.
    """
    if name_before is None:
        return body  # the URL path has the name
    before, behind = frame or (body, b"")
    if any(b"\\u00" in piece and _ESCAPED_NAME.search(piece) for piece in (before, behind)):
        return None
    match = _MODEL.search(before) or _MODEL.search(behind)
    if match is None or match[1] != dump_json(name_before):
        return None
    start, end = match.span(1)
    if match.string is behind:
        shift = len(body) - len(behind)
        start, end = start + shift, end + shift
    name = dump_json(model)
    changed = b"".join((body[:start], name, body[end:]))
    # The last of several members counts: if it is not the one that was replaced, it still has the old name.
    is_only = before.count(b'"model"') + behind.count(b'"model"') == 1
    return changed if is_only or _asks_for(changed, name) else None


def _asks_for(body: bytes, name: bytes) -> bool:
    try:
        return bytes(split_members(body).get("model", b"")) == name
    except ValueError:
        return False
