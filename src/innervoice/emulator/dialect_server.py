"""The part of the emulator that differs by dialect: how reasoning is sealed, when a model reasons, and where the reasoning goes.

A dialect's server is the module of `emulator/` with the name of the dialect's folder in `wire/`; it exports `SERVER`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from innervoice.canon.parts import Part, Thinking
from innervoice.canon.response import Response
from innervoice.emulator.call import EmulatedCall, ServerMemory
from innervoice.emulator.scripted_model import AnswerDraft
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import arguments_of
from innervoice.wire.refusals import Headers, Refusal

__all__ = ["DialectServer", "no_refusals", "parts", "parts_with_ids", "server_for"]


def _same_body(body: dict[str, Any]) -> dict[str, Any]:
    return body


def _body_of(call: EmulatedCall) -> dict[str, Any]:
    return call.body


def _as_sent(
    body: dict[str, Any], _memory: ServerMemory, _account: str, _headers: Headers
) -> dict[str, Any]:
    return body


def _same_answer(_call: EmulatedCall, answer: Response) -> Response:
    return answer


def _no_members(_call: EmulatedCall) -> dict[str, Any]:
    return {}


def _one(_call: EmulatedCall) -> int:
    return 1


def _no_place(_text: str, _seal: str) -> dict[str, Any] | None:
    return None


@dataclass(frozen=True, kw_only=True)
class DialectServer:
    """The functions of one dialect's server."""

    is_on: Callable[[EmulatedCall], bool]
    """Whether the model reasons in a call."""
    check: Callable[[EmulatedCall], Iterable[Refusal]]
    """Which seals of a history are refused, and why."""
    parts: Callable[[EmulatedCall, AnswerDraft], list[Part]]
    """The turn, with its wire blocks and seals."""
    spelled: Callable[[dict[str, Any]], dict[str, Any]] = _same_body
    """A body with the names of its members as the rules expect them."""
    whole: Callable[[dict[str, Any], ServerMemory, str, Headers], dict[str, Any]] = _as_sent
    """A body with what the server holds of its conversation, which is judged like one that was sent as a whole: (body, memory, account,
    headers); raises `Refused`."""
    conversation: Callable[[EmulatedCall], dict[str, Any]] = _body_of
    """The body with the whole conversation, where the server stores a part of it."""
    streamed: Callable[[EmulatedCall, Response], Response] = _same_answer
    """The answer as far as a stream shows it."""
    echo: Callable[[EmulatedCall], dict[str, Any]] = _no_members
    """Members of the answer that repeat the request."""
    choices: Callable[[EmulatedCall], int] = _one
    """How many answers are requested."""
    error_body: Callable[[Refusal, str], Any] | None = None
    """The body of a provider's refusal, where it differs from the dialect's; None: it never does."""
    carried: Callable[[str, str], dict[str, Any] | None] = _no_place
    """The block that a program without a plan makes of a foreign thought and seal; None: the dialect has none."""
    overloaded: Refusal = Refusal(  # noqa: RUF009 - a frozen value
        text="The model is overloaded. Please try again later.", status=503
    )


def server_for(dialect: str) -> DialectServer:
    """The server of a dialect."""
    server: DialectServer = import_module(
        f"innervoice.emulator.{dialect_named(dialect).folder}"
    ).SERVER
    return server


# ---- What hosts share whose reasoning has no seal: Mistral, Cohere, Ollama. Each accepts any reasoning that it receives.


def no_refusals(_call: EmulatedCall) -> tuple[Refusal, ...]:
    """There is no seal to refuse."""
    return ()


def parts(call: EmulatedCall, draft: AnswerDraft) -> list[Part]:
    """The turn, with the usual ids of calls."""
    return parts_with_ids(call, draft, lambda position: call.id("call_", position))


def parts_with_ids(
    call: EmulatedCall, draft: AnswerDraft, id_of: Callable[[int], str]
) -> list[Part]:
    """The turn; `id_of` makes the id of a call from its position."""
    hidden = call.behaviour.show == "hidden"
    parts_here: list[Part] = [Thinking(thought) for thought in (() if hidden else draft.thoughts)]
    if draft.text:
        parts_here.append(call.text(draft.text))
    for position, (name, values) in enumerate(draft.calls):
        parts_here.append(call.tool_call(name, arguments_of(values), id_of(position)))
    return parts_here
