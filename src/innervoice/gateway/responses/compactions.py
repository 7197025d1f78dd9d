"""Compactions of the Responses API for every upstream: a summary goes in, an item that the client carries comes out, and is opened again.

    a request that asks for one   at OpenAI it goes on as it is; any other upstream is asked for a summary in words
    its answer                    one item `compaction`, whose encrypted content is an envelope with the summary
    a later request with it       the summary stands in its place as a text, which every model can read

The envelope alone is enough to go on, on any machine. The items that it stands for are in the store under its id, as long as the store keeps
things: `GET /v1/responses/cmp_.../input_items` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque
from innervoice.canon.response import Response
from innervoice.canon.target import Target
from innervoice.errors import ServerError
from innervoice.memory.envelopes import Summary, is_envelope
from innervoice.planning.compactions import (
    asks_for_compaction,
    compaction_of,
    readable_point,
    summary_message,
)
from innervoice.wire.json_access import as_dict
from innervoice.wire.refusals import Refusal, Refused
from innervoice.wire.responses.compactions import NOT_LAST, new_compaction, with_trigger
from innervoice.wire.responses.compactions import asks_for_compaction as asks_in_items

if TYPE_CHECKING:
    from innervoice.gateway.client_request import ClientRequest
    from innervoice.gateway.rewritten import Attempt

__all__ = [
    "PATH_VERB",
    "as_request",
    "compacted",
    "is_native",
    "opened",
    "since_compaction",
    "without_trigger",
]

PATH_VERB = "compact"
"""The verb of the path that answers with an object of its own."""
_CODE = "compaction_unreadable"


def as_request(body: bytes) -> bytes:
    """The body of a request to that path as one for an answer; a body that is not an object stays, and is refused where all are checked."""
    try:
        value = load_json(body)
    except ValueError:
        return body
    return dump_json(with_trigger(value)) if isinstance(value, dict) else body


def without_trigger(messages: Sequence[Message]) -> tuple[tuple[Message, ...], Message | None]:
    """The messages without the item that asks for a compaction, and that item; raises `Refused` if it is not the last one."""
    places = [
        number
        for number, message in enumerate(messages)
        if any(map(asks_for_compaction, message.parts))
    ]
    if not places:
        return tuple(messages), None
    if places[0] != len(messages) - 1:
        raise Refused(NOT_LAST)
    return tuple(messages[:-1]), messages[-1]


def opened(
    messages: Sequence[Message], opener: Callable[[str], Summary | None]
) -> tuple[tuple[Message, ...], int]:
    """The messages with the summaries in place of the gateway's compactions, and how many there were.

    Raises `Refused` for one that cannot be opened: the model would not know what was said before it.
    """
    read: list[Message] = []
    count = 0
    for number, message in enumerate(messages):
        pieces = list(_pieces(message))
        if len(pieces) == 1 and not _envelope_of(pieces[0]):
            read.append(message)
            continue
        for piece in pieces:
            envelope = _envelope_of(piece)
            if envelope is None:
                read.append(piece)
                continue
            summary = opener(envelope)
            if summary is None:
                raise Refused(_unreadable(number, piece))
            read.append(summary_message(summary.text))
            count += 1
    return tuple(read), count


def since_compaction(items: list[Any]) -> list[Any]:
    """What is sent of a stored conversation: its last compaction of the gateway, and what follows it.

    Requests for a compaction are left out, which were answered. So are compactions of a provider that were answers to them: what they stand
    for is stored here, and everyone can read it.
    """
    start, kept, is_answer = 0, list[Any](), False
    for item in items:
        if asks_in_items([item]):
            is_answer = True
            continue
        is_compaction = as_dict(item).get("type") == "compaction"
        if is_compaction and is_envelope(str(as_dict(item).get("encrypted_content"))):
            start = len(kept)
        elif is_compaction and is_answer:
            continue
        is_answer = False
        kept.append(item)
    return kept[start:]


def _pieces(message: Message) -> Iterator[Message]:
    """A message, cut before and after each of the gateway's compactions."""
    start = 0
    for place, part in enumerate(message.parts):
        if _envelope_in(part):
            if place > start:
                yield message.replace(parts=message.parts[start:place])
            yield message.replace(parts=(part,))
            start = place + 1
    if start < len(message.parts) or not message.parts:
        yield message.replace(parts=message.parts[start:]) if start else message


def _envelope_of(message: Message) -> str | None:
    return _envelope_in(message.parts[0]) if len(message.parts) == 1 else None


def _envelope_in(part: Any) -> str | None:
    """The envelope of the gateway in a compaction; None for any other part, and for the compaction of a provider."""
    block = compaction_of(part)
    sealed = block.get("encrypted_content") if block else None
    return sealed if isinstance(sealed, str) and is_envelope(sealed) else None


def _unreadable(number: int, message: Message) -> Refusal:
    block = compaction_of(message.parts[0]) or {}
    name = str(block.get("id") or "without an id")[:100]
    text = (
        f"message {number} is a compaction ({name}) that stands for the conversation before it, and it cannot be opened here: it is damaged, or belongs to another owner;"
        f" {readable_point(number)}. Send it as it came, or go on from a turn before the compaction"
    )
    return Refusal(text=text, code=_CODE, param="input")


def is_native(target: Target, dialect: str) -> bool:
    """Whether a provider makes compactions itself, for clients that speak this dialect."""
    return target.host is not None and target.host.compacts and target.dialect == dialect


# ---- the answer ------------------------------------------------------------------------------------------


def compacted(request: ClientRequest, attempt: Attempt, response: Response) -> Response:
    """The answer with a compaction in place of the summary that the model wrote; raises `ServerError` if it wrote none.

    The answer of a provider that compacts itself is returned as it is.
    """
    if not attempt.is_summary:
        return response
    text = response.text.strip()
    is_whole = response.finish_reason in (None, "stop", "tool_calls")
    if not text or not is_whole or attempt.rewritten is None:
        what = f"ended with {response.finish_reason!r}" if text else "no text came"
        message = f"expected a summary of the conversation from the model, but {what}; nothing was compacted"
        error = ServerError("server_error", "compaction_failed", message)
        raise error.with_facts(provider=request.report.provider, status=502)
    name = f"cmp_{token_hex(12)}"
    summary = Summary(name, text, attempt.rewritten.covered_turns, request.name)
    item = new_compaction(name, request.seal_summary(summary))
    part = Opaque(item, origin=Origin(dialect=request.endpoint.dialect, block=item))
    return response.replace(parts=(part,), finish_reason="stop", wire_finish_reason=None)
