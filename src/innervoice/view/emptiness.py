"""Why a block of reasoning has no text, or a turn no block: one of eight words, with a sentence.

summarised             the API does not send the text: it sends an empty summary, or nothing at all
sealed only            the block has a seal and no text; the text was not requested
redacted               the provider encrypted it for safety
stripped by a gateway  reasoning was counted, or a signature is missing: something on the way removed it
never asked            reasoning was switched off, or is off unless requested
truncated              the answer was cut off before any text of the block was received
budget_exhausted       the token limit was reached while the model was thinking
none                   there was nothing to show
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque, Part, Thinking, ToolCall
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.response import Response
from innervoice.canon.rows import ModelRow
from innervoice.catalog.lookup import dialect_at, family_of, host_of, model_row_of
from innervoice.show.policy import counted
from innervoice.show.visible import one_line
from innervoice.sources.conversation import Conversation, Turn
from innervoice.view.row_types import Empty
from innervoice.wire.dialects import DIALECTS, replay_of

__all__ = ["why_empty", "why_no_thought"]

Word: TypeAlias = Literal[
    "summarised", "sealed only", "redacted", "stripped by a gateway", "never asked", "truncated", "budget_exhausted", "none",
]  # fmt: skip


class _Asked(NamedTuple):
    """The requested reasoning settings; `is_known` is False if the source does not say."""

    reasoning: Reasoning | None
    is_known: bool


def why_empty(conversation: Conversation, turn: Turn, part: Part) -> Empty | None:
    """Why a part with reasoning shows no text; None for a part that has some, and for other parts."""
    if isinstance(part, Opaque):
        return next(_of_unknown(part))
    if not isinstance(part, Thinking) or (part.form != "hidden" and part.text.strip()):
        return None
    return next(_of_block(conversation, turn, part))


def why_no_thought(conversation: Conversation, turn: Turn) -> Empty | None:
    """Why a turn of the model has no block of reasoning at all; None if there is nothing to say about it."""
    return next(_of_turn(conversation, turn), None) if turn.message.role == "assistant" else None


def _of_unknown(part: Opaque) -> Iterator[Empty]:
    if _is_redacted(part.value):
        yield _empty("redacted", _REDACTED)
    why = "It is a block of an unknown kind; it is passed on unchanged, and not read."
    yield _empty("sealed only", why)


def _of_block(conversation: Conversation, turn: Turn, part: Thinking) -> Iterator[Empty]:
    """Reasons why a block has no text, the first that applies first."""
    if _is_redacted(part.origin.block if part.origin else None):
        yield _empty("redacted", _REDACTED)
    if not part.complete:
        yield _broken_off(turn.answer)
    if part.origin and part.origin.seals:
        yield _sealed(part, _setting_of(conversation, turn))
    if part.form == "summary":
        yield _empty("summarised", "The API sends a summary of the reasoning; this one is empty.")
    yield from _unsealed(conversation, turn, part)


def _of_turn(conversation: Conversation, turn: Turn) -> Iterator[Empty]:
    """Reasons why a turn has no block, the first that applies first."""
    yield from _lost_signature(turn)
    answer = turn.answer
    if answer is None:
        return
    tokens = answer.usage.reasoning_tokens
    if answer.status == "budget_exhausted":
        used = f"{counted(tokens, 'token')} of reasoning were used" if tokens else "Nothing came"
        why = f"{used} before the token limit was reached; raise max_tokens or lower the effort."
        yield _empty("budget_exhausted", why)
    row = _row_of(turn, answer)
    request = _setting_of(conversation, turn)
    if tokens:
        yield _uncarried(tokens, row, request)
    if row and row.reasons and request.is_known and _is_off(request.reasoning, row.default):
        why = "Reasoning was switched off for this request."
        if request.reasoning is None or request.reasoning.effort is None:
            why = "This model reasons only when it is asked to, and the request did not ask."
        yield _empty("never asked", why)
    if tokens == 0 and row and row.reasons:
        why = "The provider counted no tokens of reasoning: the model answered at once."
        yield _empty("none", why)


def _uncarried(tokens: int, row: ModelRow | None, setting: _Asked) -> Empty:
    """Reasoning that was counted, but of which nothing was received."""
    count_text = f"{counted(tokens, 'token')} of reasoning were counted"
    form = setting.reasoning.show if setting.reasoning else None
    if form == "hidden":
        return _empty(
            "never asked", f"{count_text}; the request asked to leave them out of the answer."
        )
    if row is None or row.shown != "hidden":
        where = "something" if row else "this API, or something"
        why = f"{count_text}, but no block came: {where} between the model and here left it out."
        return _empty("stripped by a gateway", why)
    word = next((word for word in ("full", "summary") if word in row.showable), None)
    if word is None:
        return _empty("summarised", f"{count_text}, and this API never sends any of it.")
    if setting.is_known and form is None:
        why = f"{count_text}; this API shows {_shown(word)} only to a client that asks for it, and this one did not."
        return _empty("never asked", why)
    why = f"{count_text}, and this API shows {_shown(word)} only to a client that asks for it."
    return _empty("summarised", why)


def _shown(word: str) -> str:
    return "a summary of them" if word == "summary" else "them"


_REDACTED = "The provider encrypted this reasoning for safety; only the provider can read it, and it is sent back unchanged."


def _broken_off(answer: Response | None) -> Empty:
    if answer is not None and answer.status == "budget_exhausted":
        why = "The token limit was reached while the model was thinking, before any text came; raise max_tokens or lower the effort."
        return _empty("budget_exhausted", why)
    if answer is not None and answer.finish_reason == "length":
        return _empty(
            "truncated", "The token limit cut the answer off before any text of this block came."
        )
    return _empty("truncated", "The answer was interrupted before any text of this block came.")


def _sealed(part: Thinking, setting: _Asked) -> Empty:
    show = setting.reasoning.show if setting.reasoning else None
    if part.form == "summary" or show in ("summary", "full"):
        why = "The API was asked to show its reasoning, and sent this block with a seal and no text: it summarised it to nothing."
        return _empty("summarised", why)
    sentence = "The reasoning is in the seal, which only the provider can open"
    if show == "hidden":
        why = f"{sentence}; the request asked to hide it."
    elif setting.is_known:
        why = f"{sentence}; the request did not ask for its text."
    else:
        why = f"{sentence}; no text came with it."
    why += " A client that asks for a summary gets one."
    return _empty("sealed only", why)


def _unsealed(conversation: Conversation, turn: Turn, part: Thinking) -> Iterator[Empty]:
    tokens = turn.answer.usage.reasoning_tokens if turn.answer else None
    is_alone = not any(
        isinstance(other, Thinking) and other.text.strip() for other in turn.message.parts
    )
    if tokens and is_alone:
        why = f"{counted(tokens, 'token')} of reasoning were counted, but the block came without text and without a seal: something on the way removed them."
        yield _empty("stripped by a gateway", why)
    if _is_signed(part.origin):
        why = "This provider signs every block of reasoning, and this one has neither text nor signature: something on the way removed them."
        yield _empty("stripped by a gateway", why)
    request = _setting_of(conversation, turn)
    if request.reasoning is not None and request.reasoning.effort == "none":
        why = "Reasoning was switched off for this request, and the block is empty."
        yield _empty("never asked", why)
    yield _empty("none", "The block is there, and there is nothing in it: no text and no seal.")


def _lost_signature(turn: Turn) -> Iterator[Empty]:
    """A step of a model that signs its first call, without any signature."""
    calls = [part for part in turn.message.parts if isinstance(part, ToolCall)]
    origin = calls[0].origin if calls else None
    if origin is None or not origin.model or origin.dialect not in DIALECTS:
        return
    is_sealed = any(part.origin and part.origin.seals for part in turn.message.parts)
    if not is_sealed and replay_of(origin.dialect).skips(origin.model):
        why = f"{origin.model} signs the first call of each step, and no signature came: something between the model and here removed it."
        yield _empty("stripped by a gateway", one_line(why, 400))


def _row_of(turn: Turn, answer: Response) -> ModelRow | None:
    """The facts about the model that answered."""
    host = host_of(answer.provider or "")
    dialect = next((part.origin.dialect for part in turn.message.parts if part.origin), None)
    if dialect is None and host is not None:
        dialect = dialect_at(host, answer.model or "")
    return model_row_of(answer.model or "", host.id if host else None, dialect or "")


def _is_signed(origin: Origin | None) -> bool:
    """Whether the model that wrote a block signs all of them."""
    if origin is None or origin.dialect not in DIALECTS or not origin.model:
        return False
    return replay_of(origin.dialect).signed and family_of(origin.model) == "claude"


def _is_redacted(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    names = [kind] if isinstance(kind, str) else []
    return any("redacted" in name.lower() for name in (*names, *map(str, block)))


def _is_off(setting: Reasoning | None, default: str) -> bool:
    if setting is None or (setting.effort is None and setting.budget is None):
        return default == "none"
    return setting.effort == "none"


def _setting_of(conversation: Conversation, turn: Turn) -> _Asked:
    """The setting of the answer itself, or of the conversation's last request."""
    report = turn.answer.reasoning_report if turn.answer else None
    if report is not None:
        return _Asked(report.effective or report.requested, is_known=True)
    request = conversation.request
    return _Asked(request.reasoning if request else None, is_known=request is not None)


def _empty(word: Word, why: str) -> Empty:
    return {"word": word, "why": why}
