"""The emulator without a socket: takes the bytes of a request, returns the bytes of a reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.usage import Usage
from innervoice.catalog.targets import target_at
from innervoice.emulator import responses
from innervoice.emulator.behaviour import HEADER, behaviour_of
from innervoice.emulator.brain import AnswerDraft, think
from innervoice.emulator.call import EmulatedCall, ServerMemory, tokens, tools_of
from innervoice.emulator.desk import Desk, desk_of
from innervoice.emulator.forms import in_form
from innervoice.emulator.routes import Route, route_of
from innervoice.emulator.seals import Sealer, digest
from innervoice.errors import DecodeError
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict
from innervoice.wire.refusals import Refusal
from innervoice.wire.rules import is_forced

__all__ = ["Emulator", "Reply"]

_KEYS = ("x-api-key", "api-key", "x-goog-api-key", "authorization")


@dataclass(frozen=True)
class Reply:
    """A reply: bytes in pieces, with a pause after each."""

    status: int
    media: str
    pieces: Iterator[bytes]
    pause: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """The whole body at once."""
        return b"".join(self.pieces)


class Emulator:
    """Answers as the providers do. An emulator does not accept seals of another one with a different key."""

    def __init__(self, key: bytes = b"innervoice") -> None:
        self._sealer = Sealer(key)
        self._memory = ServerMemory()

    def reply(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """The reply to one request; `path` may carry a query."""
        lowered = {name.lower(): value for name, value in headers.items()}
        route = route_of(path)
        if method.upper() == "GET" and (stored := responses.stored(self._memory, path)):
            return _json(stored.status, stored.body)
        if route is None or method.upper() != "POST":
            text = f"{method} {path.partition('?')[0]} is not served here"
            return _json(404, {"error": {"message": text, "type": "not_found_error"}})
        try:
            value = load_json(body)
            call = self._call(route, as_dict(value), lowered, path)
        except (ValueError, DecodeError) as error:
            return _refusal(
                route.dialect, Refusal(text=f"the body is not a valid request: {error}")
            )
        return self._answered(call)

    def _call(
        self, route: Route, body: dict[str, Any], headers: dict[str, str], path: str
    ) -> EmulatedCall:
        dialect = dialect_named(route.dialect)
        body = desk_of(route.dialect).spelled(body)
        given = route.model or str(body.get("model") or "")
        name, behaviour = behaviour_of(given, headers.get(HEADER), str(body)[-20_000:])
        if behaviour.unverified:
            headers = {**headers, "verified": "no"}
        target = target_at(route.provider, name, route.dialect)
        stream = route.stream
        if stream is None:
            stream = bool(body.get("stream", dialect.streams_unasked))
        return EmulatedCall(
            body=body,
            headers=headers,
            request=dialect.request_reader({**body, "model": name}),
            target=target,
            account=_account(headers, path),
            behaviour=behaviour,
            stream=stream,
            sealer=self._sealer,
            memory=self._memory,
            number=digest([route.provider, name, body]),
        )

    def _answered(self, call: EmulatedCall) -> Reply:
        dialect, desk = dialect_named(call.dialect), desk_of(call.dialect)
        refusal = next(dialect.rules(call.body, call.target, call.headers), None)
        refusal = refusal or next(iter(desk.check(call)), None)
        if refusal is None and call.behaviour.fail == 0:
            refusal = desk.overloaded
        if refusal:
            return _refusal(call.dialect, refusal)
        answer = _answer(call, desk)
        if not call.stream:
            return _json(200, dialect.server.write_answer(answer))
        return Reply(200, dialect.media_type, _stream(call, answer, desk), call.behaviour.slow)


# ---- the answer ------------------------------------------------------------------------------------


def _answer(call: EmulatedCall, desk: Desk) -> Response:
    draft = _drafted(call, desk.conversation(call), on=desk.is_on(call))
    draft, finish = _within_limit(call, draft)
    made = desk.parts(call, draft)
    thought = sum(tokens(text) for text in draft.thoughts)
    said = tokens(draft.text) + sum(tokens(str(values)) for _, values in draft.calls)
    return Response(
        parts=tuple(made),
        id=call.id(dialect_named(call.dialect).id_start),
        model=call.model,
        provider=call.provider,
        ended=True,
        finish_reason=finish,
        usage=Usage(
            input_tokens=tokens(str(call.body)),
            output_tokens=thought + said,
            reasoning_tokens=thought,
        ),
    )


def _drafted(call: EmulatedCall, body: dict[str, Any], *, on: bool) -> AnswerDraft:
    read = dialect_named(call.dialect).request_reader
    messages: tuple[Message, ...] = read({**body, "model": call.model}).messages
    config = as_dict(body.get("toolConfig"))
    forced = is_forced(body.get("tool_choice")) or is_forced(config.get("toolChoice"))
    forced = forced or as_dict(config.get("functionCallingConfig")).get("mode") == "ANY"
    pieces = max(call.behaviour.pieces, 2 if call.behaviour.redact else 1)
    tools = tools_of(body)
    draft = think(messages, tools, forced=forced, pieces=pieces)
    draft = in_form(draft, call.request, tools)
    if call.behaviour.silent:
        draft = draft.replace(text="", calls=())
    return draft if on else draft.replace(thoughts=())


def _within_limit(call: EmulatedCall, draft: AnswerDraft) -> tuple[AnswerDraft, FinishReason]:
    """The draft, cut at the token limit."""
    limit = call.request.max_tokens
    left = limit * 4 if limit else 10**9
    thoughts: list[str] = []
    for thought in draft.thoughts:
        thoughts.append(thought[:left])
        left -= len(thought)
        if left <= 0:
            return draft.replace(thoughts=tuple(thoughts), text="", calls=(), cut=True), "length"
    if len(draft.text) > left:
        return draft.replace(text=draft.text[:left], calls=()), "length"
    return draft, "tool_calls" if draft.calls else "stop"


def _stream(call: EmulatedCall, answer: Response, desk: Desk) -> Iterator[bytes]:
    dialect, behaviour = dialect_named(call.dialect), call.behaviour
    server, framing = dialect.server, dialect.framing
    frames = server.write_stream(desk.streamed(call, answer), behaviour.size)
    if behaviour.cut is not None:
        frames = islice(frames, behaviour.cut)
    elif behaviour.fail is not None:
        for frame in islice(frames, behaviour.fail):
            yield framing(frame)
        yield framing(server.write_stream_error(desk.overloaded))
        return
    for frame in frames:
        yield framing(frame)


# ---- replies ---------------------------------------------------------------------------------------


def _json(status: int, value: Any) -> Reply:
    return Reply(status, "application/json", iter([dump_json(value)]))


def _refusal(dialect: str, refusal: Refusal) -> Reply:
    reply = _json(refusal.status, dialect_named(dialect).server.write_error(refusal))
    reply.headers.update(desk_of(dialect).error_headers(refusal))
    return reply


def _account(headers: dict[str, str], path: str) -> str:
    """A digest of the key: the account that seals are bound to."""
    given = next((headers[name] for name in _KEYS if headers.get(name)), "")
    if given.startswith("AWS4-HMAC-SHA256"):
        given = given.partition("Credential=")[2].partition("/")[0]
    key = given.removeprefix("Bearer ").strip() or path.partition("key=")[2].partition("&")[0]
    return digest(key)
