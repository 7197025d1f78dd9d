"""A turn of a model, as a program stored it -> the parts that its provider's own answer would have had.

Programs store reasoning, text and calls in their own forms, with the seals next to the text or among metadata. Here the blocks of the
provider are rebuilt and read by the reader of its dialect, so that a seal is where `plan`, `lint` and the viewer look for it. For a dialect
without a row here, or an unknown host, the parts name their author and have no block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from innervoice.canon.notes import Note
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Form, Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.response import Failure, Response
from innervoice.canon.usage import Usage
from innervoice.canon.words import finish_reason_of
from innervoice.catalog.lookup import dialect_at, host_of
from innervoice.catalog.makers import maker_of
from innervoice.catalog.targets import names_of
from innervoice.errors import UsageError
from innervoice.wire.anthropic import DIALECT as MESSAGES
from innervoice.wire.chat import DIALECT as CHAT
from innervoice.wire.converse import DIALECT as CONVERSE
from innervoice.wire.dialects import reader_of
from innervoice.wire.gemini import DIALECT as GEMINI
from innervoice.wire.json_access import arguments_of, as_text, parsed
from innervoice.wire.protocol import Context
from innervoice.wire.responses import DIALECT as RESPONSES
from innervoice.wire.serve import assistant_turn

__all__ = [
    "UNSEALED",
    "Author",
    "Called",
    "Piece",
    "Said",
    "Seals",
    "Thought",
    "answer_from",
    "as_effort",
    "author_of",
    "parts_from",
    "seals_of",
]


class Author(NamedTuple):
    """The author of a turn, as far as the source says."""

    provider: str | None = None
    """The id of a row of hosts.toml, or the name in the source."""
    model: str | None = None
    dialect: str | None = None

    @property
    def origin(self) -> Origin:
        """The origin of a part that has no block."""
        return Origin(provider=self.provider, model=self.model, dialect=self.dialect)


def author_of(provider: str | None, model: str | None, dialect: str | None = None) -> Author:
    """The author by the names in a source; without a provider it is the maker of the model, if the catalog has one."""
    provider_id, name = names_of(provider or None, model or None)
    host = host_of(provider_id) if provider_id else maker_of(name) if name else None
    if host is not None:
        return Author(host.id, name, dialect or dialect_at(host, name or ""))
    return Author(provider_id, name, dialect)


class Seals(NamedTuple):
    """What a provider sent to be sent back; None for what it did not send."""

    signature: str | None = None
    """Signs the text, or holds the state of the model at this point."""
    encrypted: str | None = None
    """The reasoning itself, encrypted; there may be a summary of it."""
    redacted: str | None = None
    """Reasoning that is not shown at all."""
    item: str | None = None
    """The id under which the provider stores it."""
    details: list[Any] | None = None
    """OpenRouter's list, which may contain all of these."""


UNSEALED = Seals()


class Thought(NamedTuple):
    """A piece of reasoning."""

    text: str
    form: Form = "full"
    seals: Seals = UNSEALED


class Said(NamedTuple):
    """A piece of the answer."""

    text: str
    seals: Seals = UNSEALED


class Called(NamedTuple):
    """A tool call; `arguments` is JSON, or the text that the model wrote."""

    id: str
    name: str
    arguments: Any = None
    seals: Seals = UNSEALED


Piece: TypeAlias = (
    Thought | Said | Called | Text | Thinking | ToolCall | ToolResult | Media | Opaque
)
"""The content of a turn, in order; parts are used as they are."""


def seals_of(part: Part) -> Seals:
    """The seals in the block of a part: what `parts_from` would need to make the part again."""
    block = part.origin.block if part.origin else None
    dialect = part.origin.dialect if part.origin else None
    match block:
        case {"type": "redacted_thinking", "data": str(data)}:
            return Seals(redacted=data)
        case {"reasoningContent": {"redactedContent": str(data)}}:
            return Seals(redacted=data)
        case {"reasoningContent": {"reasoningText": {"signature": str(signature)}}}:
            return Seals(signature=signature)
        case {"thoughtSignature": str(signature)} | {"signature": str(signature)}:
            return Seals(signature=signature) if signature else UNSEALED
        case {"type": str(), **rest} if dialect == RESPONSES.name:
            return Seals(
                encrypted=as_text(rest.get("encrypted_content")), item=as_text(rest.get("id"))
            )
        case _:
            return UNSEALED


def parts_from(author: Author, pieces: Iterable[Piece]) -> tuple[Part, ...]:
    """The parts of a turn, in the order of its pieces."""
    shape = _SHAPES.get(author.dialect or "")
    parts: list[Part] = []
    for stored, run in groupby(
        pieces, key=lambda piece: isinstance(piece, (Thought, Said, Called))
    ):
        run_pieces: list[Any] = list(run)
        if not stored:
            parts += run_pieces
        elif shape is None or not any(_has_block(piece) for piece in run_pieces):
            parts += [_plain(author, piece) for piece in run_pieces]
        elif shape.is_single:
            parts += [part for piece in run_pieces for part in _native(author, shape, [piece])]
        else:
            parts += _native(author, shape, run_pieces)
    return tuple(parts)


class _Shape(NamedTuple):
    """How a dialect writes an answer."""

    block: Callable[[Any], dict[str, Any]]
    answer: Callable[[list[dict[str, Any]]], dict[str, Any]]
    is_single: bool = False
    """Whether the answer has only one place for reasoning, so that each piece is read separately."""


def _has_block(piece: Thought | Said | Called) -> bool:
    return isinstance(piece, Thought) or piece.seals != UNSEALED


def _native(author: Author, shape: _Shape, pieces: list[Any]) -> list[Part]:
    """The parts that the reader of the dialect makes of the pieces."""
    blocks: list[dict[str, Any]] = []
    for piece in pieces:
        block = shape.block(piece)
        if blocks and _is_same_item(blocks[-1], block):
            blocks[-1] = {
                **blocks[-1],
                **block,
                "summary": blocks[-1]["summary"] + block["summary"],
            }
        else:
            blocks.append(block)
    context = Context(provider=author.provider, model=author.model, whole=True)
    reader = reader_of(author.dialect or "", context)
    return _with_forms(assistant_turn(reader, shape.answer(blocks)).parts, pieces)


def _with_forms(parts: Iterable[Part], pieces: list[Any]) -> list[Part]:
    """The parts, with facts about each thought that the source has and most dialects do not express: that it is a summary, or hidden."""
    changed = list(parts)
    forms = [piece.form for piece in pieces if isinstance(piece, Thought)]
    places = [place for place, part in enumerate(changed) if isinstance(part, Thinking)]
    for place, form in zip(places, forms, strict=True) if len(places) == len(forms) else ():
        part = changed[place]
        if form != "full" and isinstance(part, Thinking) and part.form == "full":
            changed[place] = part.replace(form=form if part.text else "hidden")
    return changed


def _is_same_item(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two blocks are summaries of one reasoning item."""
    return "summary" in one and "summary" in other and one.get("id") == other.get("id") is not None


def _plain(author: Author, piece: Thought | Said | Called) -> Part:
    origin = author.origin
    if author.dialect is None and (block := _object(**piece.seals._asdict())):
        # The provider that needs it back is unknown; that there is a seal is not.
        origin = origin.replace(block=block, seals=tuple(block))
    match piece:
        case Thought(text=text, form=form):
            return Thinking(text, form if text else "hidden", origin=origin)
        case Said(text=text):
            return Text(text, origin=origin)
        case Called():
            return ToolCall(piece.id, piece.name, arguments_of(piece.arguments), origin=origin)


def _input(call: Called) -> Any:
    value = parsed(call.arguments) if isinstance(call.arguments, str) else call.arguments
    return {} if value is None else value


def _object(**members: Any) -> dict[str, Any]:
    """An object without the members that are None."""
    return {name: value for name, value in members.items() if value is not None}


# ---- how each dialect writes a turn ----------------------------------------------------------------


def _messages_block(piece: Thought | Said | Called) -> dict[str, Any]:
    match piece:
        case Thought(seals=Seals(redacted=str(data))):
            return {"type": "redacted_thinking", "data": data}
        case Thought(text=text, seals=seals):
            return _object(type="thinking", thinking=text, signature=seals.signature)
        case Said(text=text):
            return {"type": "text", "text": text}
        case Called():
            return {"type": "tool_use", "id": piece.id, "name": piece.name, "input": _input(piece)}


def _messages_answer(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": blocks, "stop_reason": "end_turn"}


def _responses_block(piece: Thought | Said | Called) -> dict[str, Any]:
    item = piece.seals.item
    match piece:
        case Thought(text=text, form=form, seals=seals):
            summary = [{"type": "summary_text", "text": text}] if text and form == "summary" else []
            whole = [{"type": "reasoning_text", "text": text}] if text and not summary else None
            sealed = seals.encrypted or seals.redacted
            return _object(
                type="reasoning", id=item, summary=summary, content=whole, encrypted_content=sealed
            )
        case Said(text=text):
            content = [{"type": "output_text", "text": text}]
            return _object(type="message", id=item, role="assistant", content=content)
        case Called():
            written = arguments_of(piece.arguments)
            return _object(
                type="function_call", id=item, call_id=piece.id, name=piece.name, arguments=written
            )


def _responses_answer(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {"object": "response", "status": "completed", "output": blocks}


def _gemini_block(piece: Thought | Said | Called) -> dict[str, Any]:
    signature = piece.seals.signature or piece.seals.encrypted
    match piece:
        case Thought(text=text):
            return _object(text=text, thought=True, thoughtSignature=signature)
        case Said(text=text):
            return _object(text=text, thoughtSignature=signature)
        case Called():
            call = {"id": piece.id, "name": piece.name, "args": _input(piece)}
            return _object(functionCall=call, thoughtSignature=signature)


def _gemini_answer(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": blocks}, "finishReason": "STOP"}]}


def _converse_block(piece: Thought | Said | Called) -> dict[str, Any]:
    match piece:
        case Thought(seals=Seals(redacted=str(data))):
            return {"reasoningContent": {"redactedContent": data}}
        case Thought(text=text, seals=seals):
            readable = _object(text=text, signature=seals.signature)
            return {"reasoningContent": {"reasoningText": readable}}
        case Said(text=text):
            return {"text": text}
        case Called():
            return {"toolUse": {"toolUseId": piece.id, "name": piece.name, "input": _input(piece)}}


def _converse_answer(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    message = {"role": "assistant", "content": blocks}
    return {"output": {"message": message}, "stopReason": "end_turn"}


def _chat_block(piece: Thought | Said | Called) -> dict[str, Any]:
    match piece:
        case Thought(seals=Seals(details=list(details))):
            return {"reasoning_details": details}
        case Thought(text=text):
            return {"reasoning_content": text}
        case Said(text=text):
            return {"content": text}
        case Called():
            called = {"name": piece.name, "arguments": arguments_of(piece.arguments)}
            return {"tool_calls": [{"id": piece.id, "type": "function", "function": called}]}


def _chat_answer(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    message = {"role": "assistant", **blocks[0]}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


_SHAPES = {
    MESSAGES.name: _Shape(_messages_block, _messages_answer),
    RESPONSES.name: _Shape(_responses_block, _responses_answer),
    GEMINI.name: _Shape(_gemini_block, _gemini_answer),
    CONVERSE.name: _Shape(_converse_block, _converse_answer),
    CHAT.name: _Shape(_chat_block, _chat_answer, is_single=True),
}


# ---- Facts of programs about an answer besides its parts: words for the finish reason, and for levels of reasoning -> ours.


_UNSAID = {"", "unknown", "other"}
"""Words for an unknown reason."""


def answer_from(
    author: Author,
    parts: tuple[Part, ...],
    *,
    id: str | None = None,  # noqa: A002 - the plain word
    ended: bool = True,
    reason: str | None = None,
    usage: Usage | None = None,
    error: Failure | None = None,
    notes: tuple[Note, ...] = (),
) -> Response:
    """An answer whose parts are known; an unknown finish reason is noted."""
    word = (reason or "").lower().replace("-", "_")
    finish_reason = None if word in _UNSAID else finish_reason_of(word)
    if finish_reason is None and word not in _UNSAID:
        notes = (*notes, Note("unknown_finish_reason", reason))
    return Response(
        parts=parts,
        provider=author.provider,
        model=author.model,
        id=id,
        ended=ended,
        finish_reason=finish_reason,
        wire_finish_reason=reason or None,
        usage=usage or Usage(),
        error=error,
        notes=notes,
    )


def as_effort(word: Any) -> Reasoning | None:
    """A level of reasoning, as a program wrote it; None for an unknown word."""
    try:
        return Reasoning.from_any(word.lower()) if isinstance(word, str) else None
    except UsageError:
        return None
