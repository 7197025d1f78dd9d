"""A new conversation in known settings: what was written for another one, with another question.

Many programs ask one question after the other with the same settings, tools and system prompt. All that differs in what is sent is the
question: so the settings are read, planned and written once, and the bytes around the question are kept.

    body ──► same settings, same system prompt? ──► read the question ──► the bytes of last time, with it in its place
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from innervoice.canon.bounded import Bounded
from innervoice.canon.jsontext import dump_json
from innervoice.conversation.body import SplitBody
from innervoice.conversation.digest import ConversationDigest
from innervoice.gateway.appended import Appended
from innervoice.gateway.limits import LIMITS

if TYPE_CHECKING:
    from innervoice.canon.request import Request
    from innervoice.conversation.prefix import Prefix

__all__ = ["FirstQuestions"]

_BYTES_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class _Known:
    """What was sent with a question."""

    sent: Appended
    before: bytes
    after: bytes
    """The bytes around the question, up to the end of the messages."""
    prefix: Prefix
    digest: ConversationDigest
    """Both before the question."""
    marked_settings: tuple[bytes, ...]
    tokens: int
    """About how many tokens everything but the question has."""


class FirstQuestions:
    """What was sent for conversations of one question, in one process. `owner` is the tenant, the settings and the candidate."""

    def __init__(self) -> None:
        self._known: Bounded[bytes, _Known] = Bounded(LIMITS.known_settings)

    def clear(self) -> None:
        """Forgets everything: another configuration may change what is sent."""
        self._known.clear()

    def find(self, body: SplitBody, owner: bytes, betas: tuple[str, ...]) -> Appended | None:
        """What is sent for a conversation that begins; None for one that must be read."""
        known = self._known.used(_key(body, owner))
        if known is None or known.sent.betas != betas:
            return None
        if body.marked_items or known.marked_settings != body.marked_settings:
            return None
        question = body.question(len(body.items) - 1)
        if question is None or question.role != "user":
            return None
        text = dump_json(question.text)
        prefix, digest = known.prefix.copy(), known.digest.copy()
        prefix.add(question, question.parts)
        digest.add(question)
        sent = known.sent
        before = b"".join((known.before, text, known.after))
        frame = sent.frame._replace(before=(before,), size=len(before) + len(sent.frame.after))
        return replace(
            sent,
            frame=frame,
            unmarked=frame,
            wire=sent.wire.replace(prefix=prefix.value),
            prefix=prefix,
            digest=digest,
            tokens=known.tokens + len(text) // _BYTES_A_TOKEN,
        )

    def learn(
        self,
        body: SplitBody,
        owner: bytes,
        sent: Appended,
        request: Request,
        start: ConversationDigest,
    ) -> None:
        """Remembers what was sent with a question, if nothing but the question would differ in the next one; `start` is the conversation before it."""
        question = body.question(len(body.items) - 1)
        if question is None or body.marked_items or len(sent.frame.before) != 1:
            return
        *leading, last = request.messages
        if last.role != "user" or any(message.role != "system" for message in leading):
            return
        # What the question is bound to must be the settings alone.
        if sent.prefix.count != 1:
            return
        text = dump_json(question.text)
        before, found, after = sent.frame.before[0].partition(text)
        if not found or text in after or question.text != last.text:
            return
        self._known[_key(body, owner)] = _Known(
            sent,
            before,
            after,
            sent.prefix.at_start(),
            start,
            body.marked_settings,
            max(0, sent.tokens - len(text) // _BYTES_A_TOKEN),
        )


def _key(body: SplitBody, owner: bytes) -> bytes:
    """The owner, and what comes before the last item."""
    return owner + (body.beginning(len(body.items) - 1) or b"")
