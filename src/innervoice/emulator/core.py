"""The emulator without a socket: takes the bytes of a request, returns the bytes of a reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from innervoice.answering.writing import exact_answer, exact_stream
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.target import Target
from innervoice.canon.usage import Usage
from innervoice.catalog.lookup import host_of, is_served
from innervoice.catalog.servers import server_named
from innervoice.catalog.targets import target_at
from innervoice.emulator import interactions, prompt_cache, responses
from innervoice.emulator.batches import Answered, Batches
from innervoice.emulator.call import (
    HEADER,
    Behaviour,
    EmulatedCall,
    Sealer,
    ServerMemory,
    behaviour_of,
    digest,
    tokens,
    tools_of,
)
from innervoice.emulator.callable_tools import callable_tools, too_long
from innervoice.emulator.deviations import (
    AS_CATALOGED,
    Failures,
    Manners,
    deviations_from,
    further_refusals,
    remaining,
    renamed,
    with_event,
    without_seals,
)
from innervoice.emulator.dialect_server import DialectServer, server_for
from innervoice.emulator.other_paths import count_of, reply_without_body
from innervoice.emulator.routes import Route, near_dialect, route_of
from innervoice.emulator.running_on import begun_by, rest_of, running_on, within_budget
from innervoice.emulator.scripted_model import AnswerDraft, draft_of, script_from, think
from innervoice.emulator.stored_responses import StoredReply, answered, reply_about
from innervoice.errors import DecodeError
from innervoice.frames.eventstream import chunk_bytes
from innervoice.frames.frame import Frame
from innervoice.frames.lines import JsonArray
from innervoice.frames.sse import sse_bytes
from innervoice.wire.dialect import Dialect
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict
from innervoice.wire.refusals import Refusal, Refused, bounded
from innervoice.wire.rules import is_forced

if TYPE_CHECKING:
    from innervoice.emulator.request_log import EmulatorLog
import re
from collections.abc import Sequence

from innervoice.canon.request import Request, Tool
from innervoice.emulator.scripted_model import DraftedCall, instance_of
from innervoice.wire.json_access import as_list, parsed
from innervoice.wire.serve import without
from innervoice.wire.write import json_schema

__all__ = ["Emulator", "Reply", "in_form"]

_KEYS = ("x-api-key", "api-key", "x-goog-api-key", "authorization")


@dataclass(frozen=True)
class Reply:
    """A reply: bytes in pieces, with a pause after each."""

    status: int
    """The HTTP status code."""
    media: str
    """The content type."""
    pieces: Iterator[bytes]
    """The body."""
    pause: float = 0.0
    """Seconds to wait after each piece."""
    headers: dict[str, str] = field(default_factory=dict)
    """Further headers."""

    @property
    def body(self) -> bytes:
        """The whole body at once."""
        return b"".join(self.pieces)


class Emulator:
    """Answers as the providers do. An emulator does not accept the seals of another one with a different key.

    :param key: What seals are made with.
    :param script: What the model does next, in the forms that `script_from` reads; None: the emulated model decides.
    :param log: Takes each exchange.
    :param acting_tools: Whether the emulated model calls tools that are not known to be harmless; those that a script calls are called always.
    :param deviations: A file, or its rows, that say where it is not as the catalog says: `deviations.py`.
    """

    def __init__(
        self,
        key: bytes = b"innervoice",
        script: Any = None,
        log: EmulatorLog | None = None,
        *,
        acting_tools: bool = True,
        deviations: Any = None,
    ) -> None:
        self._sealer = Sealer(key)
        self._memory = ServerMemory()
        self._prompts = prompt_cache.PromptCache()
        self._script = script_from(script) if script is not None else None
        self._log = log
        self._acting_tools = acting_tools
        self._deviations = deviations_from(deviations or ())
        self._failures = Failures()
        self._batches = Batches(self._answer_in_batch)

    def reply(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """The reply to one request.

        :param method: The HTTP method.
        :param path: The path after the host, with the provider's name in front; it may have a query.
        :param headers: The headers, by name.
        :param body: The body.
        """
        lowered = {name.lower(): value for name, value in headers.items()}
        route, plain, verb = route_of(path), path.partition("?")[0], method.upper()
        try:
            reply = self._about_batches(verb, path, lowered, body) or self._without_model(
                verb, path, body
            )
            if reply is not None:
                return reply
            value = bounded(body)
            if (count := count_of(plain, value)) and self._counts(plain):
                return _json(200, count)
            if is_compact := plain.endswith(responses.COMPACT):
                route = route_of(plain.removesuffix("/compact"))
            if route is None:
                return _not_found(verb, plain)
            work = self._compacted if is_compact else self._reply_at
            reply = work(route, value, lowered, path)
        except (Refused, ValueError, DecodeError) as error:
            refusal = Refusal(text=f"the body is not a valid request: {error}")
            if isinstance(error, Refused):  # too large or too deep to be read
                refusal = error.refusal
            return _refusal(route or near_dialect(plain), refusal)
        if self._log is None:
            return reply
        model = route.model or str(as_dict(value).get("model") or "")
        return self._log.followed(route, model, lowered, body, reply)

    def _reply_at(self, route: Route, value: Any, headers: dict[str, str], path: str) -> Reply:
        manners = self._deviations.manners(
            route.provider, route.model or str(as_dict(value).get("model") or "")
        )
        failure = self._failures.next(manners)
        if failure.isdecimal():
            return _failed(route, int(failure), manners)
        try:
            call = self._call(route, as_dict(value), headers, path, manners)
            reply = self._answered(call)
            counted = {prompt_cache.HEADER: self._prompts.count(call)}
            reply = replace(reply, headers={**reply.headers, **counted})
        except Refused as refused:
            return _deviating(_refusal(route, refused.refusal), refused.refusal, manners)
        return _hampered(reply, failure) if failure else reply

    def _compacted(self, route: Route, value: Any, headers: dict[str, str], path: str) -> Reply:
        """The reply at the path for compactions, which only some hosts have."""
        host, body = host_of(route.provider), as_dict(value)
        if host is None or not host.compacts:
            return _not_found("POST", path.partition("?")[0])
        reply = self._reply_at(route, responses.compacting(body), headers, path)
        if reply.status != 200:
            return reply
        return _json(200, responses.compaction_answer(load_json(reply.body), body))

    def _counts(self, path: str) -> bool:
        """Whether the host of a path counts tokens: all do, unless a deviation says otherwise."""
        provider = path.lstrip("/").partition("/")[0]
        host = host_of(provider)
        if host is None or not self._deviations:
            return True
        counting = self._deviations.applied(target_at(host.id, "", host.dialect)).host
        return counting is None or counting.counts or not host.counts

    def _about_batches(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> Reply | None:
        reply = self._batches.reply(method, path, headers, _account(headers, path), body)
        if reply is None:
            return None
        if reply.content is None:
            return _json(200, reply.value)
        return Reply(200, "application/octet-stream", iter([reply.content]))

    def _answer_in_batch(
        self, path: str, headers: Mapping[str, str], body: dict[str, Any]
    ) -> Answered:
        reply = self.reply("POST", path, headers, dump_json(body))
        return Answered(reply.status, load_json(reply.body))

    def _without_model(self, method: str, path: str, body: bytes) -> Reply | None:
        """The reply to a request that needs no model; None for others."""
        stored = reply_about(self._memory, method, path, lambda: as_dict(bounded(body or b"{}")))
        if stored is not None:
            return _stored(stored)
        return None if method == "POST" else self._looked_up(method, path)

    def _looked_up(self, method: str, path: str) -> Reply:
        """The reply to a request that sends nothing: stored interactions, lists of models."""
        if method == "GET" and (stored := interactions.stored(self._memory, path)):
            return _json(stored.status, stored.body)
        plain = path.partition("?")[0]
        listed = None
        if method in ("GET", "HEAD"):
            listed = self._own_reply(plain) or reply_without_body(plain)
        return _not_found(method, plain) if listed is None else _json(200, listed)

    def _own_reply(self, path: str) -> Any:
        """What the program behind a host replies at a path of its own, which tells what program it is; None elsewhere."""
        provider, _, rest = path.lstrip("/").partition("/")
        host = host_of(provider)
        name = self._deviations.manners(provider, "").poses_as or (host.id if host else "")
        row = server_named(name)
        return row.replies.get(f"/{rest}") if row and host else None

    def _call(
        self,
        route: Route,
        body: dict[str, Any],
        headers: dict[str, str],
        path: str,
        manners: Manners = AS_CATALOGED,
    ) -> EmulatedCall:
        """The call of a request; raises `Refused` for an unknown model, a wrong shape, or settings that are refused."""
        dialect, dialect_server = dialect_named(route.dialect), server_for(route.dialect)
        body = _with_dialect_names(body, route.provider)
        model_name = route.model or str(body.get("model") or "")
        name, behaviour = behaviour_of(model_name, headers.get(HEADER), str(body)[-20_000:])
        if behaviour.unverified:
            headers = {**headers, "verified": "no"}
        target = self._deviations.applied(target_at(route.provider, name, route.dialect))
        behaviour = _with_markup(behaviour, self._deviations.markup(route.provider, name))
        account = _account(headers, path)
        body = dialect_server.whole(body, self._memory, account, headers)
        rules = remaining(dialect.rules(body, target, headers), manners)
        refusal = _model_refusal(target, dialect) or next(rules, None)
        if refusal:
            raise Refused(refusal)
        body = without(dialect_server.spelled(body), *manners.ignores)
        stream = route.stream
        if stream is None:
            stream = bool(body.get("stream", dialect.streams_unasked))
        return EmulatedCall(
            body=body,
            headers=headers,
            request=dialect.request_reader({**body, "model": name}),
            target=target,
            account=account,
            behaviour=behaviour,
            stream=stream,
            listed=stream and dialect.streams_lists and "alt=sse" not in path,
            sealer=self._sealer,
            memory=self._memory,
            number=digest([route.provider, name, body]),
            manners=manners,
            deviations=self._deviations,
        )

    def _answered(self, call: EmulatedCall) -> Reply:
        dialect, dialect_server = dialect_named(call.dialect), server_for(call.dialect)
        refusal = next(self._refusals(call, dialect_server), None)
        if refusal is None and call.behaviour.fail == 0:
            refusal = dialect_server.overloaded
        if refusal:
            raise Refused(refusal)
        draft = self._drafted(call, dialect_server.conversation(call))
        draft = draft if dialect_server.is_on(call) else draft.replace(thoughts=())
        answer, echo = _answer(call, dialect_server, draft), dialect_server.echo(call)
        if queued := answered(call, answer, echo):
            return _json(200, queued)
        if not call.stream:
            body = exact_answer(answer, call.dialect, echo=echo).body
            return Reply(200, "application/json", renamed([dump_json(body)], call.manners))
        frames = _stream(call, answer, dialect_server, echo)
        if call.listed:
            return Reply(200, "application/json", _as_list(frames), call.behaviour.slow)
        around = _envelope_of(call.provider)
        pieces = renamed(map(chunk_bytes if around else dialect.framing, frames), call.manners)
        return Reply(200, (around or dialect).media_type, pieces, call.behaviour.slow)

    def _refusals(self, call: EmulatedCall, dialect_server: DialectServer) -> Iterator[Refusal]:
        """What is refused about seals, and what a deviating server refuses in addition."""
        if call.manners.seals == "checked":
            yield from remaining(dialect_server.check(call), call.manners)
        yield from self._deviations.limit_refusals(call.request, call.provider, call.model)
        yield from further_refusals(call.request, call.manners)

    def _drafted(self, call: EmulatedCall, body: dict[str, Any]) -> AnswerDraft:
        """The next turn: what the script says, or else the emulated model. Raises `Refused` for a conversation that is too long."""
        read = dialect_named(call.dialect).request_reader
        messages: tuple[Message, ...] = read({**body, "model": call.model}).messages
        messages, begun = begun_by(messages, call.target)
        pieces = max(call.behaviour.pieces, 2 if call.behaviour.redact else 1)
        tools = tools_of(body)
        step = self._script(messages, tools) if self._script else None
        if step is not None:
            draft = draft_of(step, pieces)
        else:
            acting = self._acting_tools
            if not acting and (refusal := too_long(messages)):
                raise Refused(refusal)
            allowed = callable_tools(tools, messages, acting=acting)
            forced = _is_call_forced(body)
            draft = think(messages, allowed, forced=forced, pieces=pieces, plain=not acting)
            draft = in_form(draft, call.request, allowed.tools)
        draft = running_on(rest_of(draft, begun) if begun else draft, call.behaviour)
        if not call.manners.parallel_calls:
            draft = draft.replace(calls=draft.calls[:1])
        return draft.replace(text="", calls=()) if call.behaviour.silent else draft


def _model_refusal(target: Target, dialect: Dialect) -> Refusal | None:
    """A host's refusal of a model that it does not have."""
    if target.host is None or is_served(target.model, target.host):
        return None
    if not target.model:
        return dialect.listing.NO_MODEL
    refusal = dialect.listing.UNKNOWN_MODEL
    text = target.host.says.get("unknown_model", refusal.text)
    return refusal.replace(text=text.replace("{model}", target.model[:200]))


# ---- the answer ------------------------------------------------------------------------------------


def _answer(call: EmulatedCall, dialect_server: DialectServer, draft: AnswerDraft) -> Response:
    """The answer, with as many alternatives as were requested."""
    answer = _from_draft(call, dialect_server, draft)
    others = []
    for number in range(2, dialect_server.choices(call) + 1):
        again = replace(call, number=digest([call.number, number]))
        thoughts = tuple(f"{thought}\nThis is choice {number}." for thought in draft.thoughts)
        plain = draft.text and not draft.text.startswith(("{", "["))
        text = f"{draft.text} This is choice {number}." if plain else draft.text
        others.append(
            _from_draft(again, dialect_server, draft.replace(thoughts=thoughts, text=text))
        )
    if not others:
        return answer
    counts = [other.usage for other in (answer, *others)]
    usage = answer.usage.replace(
        output_tokens=sum(count.output_tokens or 0 for count in counts),
        reasoning_tokens=sum(count.reasoning_tokens or 0 for count in counts),
    )
    return answer.replace(alternatives=tuple(others), usage=usage)


def _from_draft(call: EmulatedCall, dialect_server: DialectServer, draft: AnswerDraft) -> Response:
    draft, finish = _within_limit(call, within_budget(call, draft))
    answer_parts = dialect_server.parts(call, draft)
    if call.manners.seals == "absent":
        seals = dialect_named(call.dialect).seals
        answer_parts = [without_seals(part, seals) for part in answer_parts]
    thought = sum(tokens(text) for text in draft.thoughts)
    answer_tokens = tokens(draft.text) + sum(tokens(str(values)) for _, values in draft.calls)
    return Response(
        parts=tuple(answer_parts),
        id=call.id(dialect_named(call.dialect).id_start),
        model=call.model,
        provider=call.provider,
        ended=True,
        finish_reason=finish,
        usage=Usage(
            input_tokens=tokens(str(call.body)),
            output_tokens=answer_tokens + (0 if _counts_apart(call) else thought),
            reasoning_tokens=thought if _counts_reasoning(call) else None,
        ),
    )


def _counts_reasoning(call: EmulatedCall) -> bool:
    return call.target.host is None or call.target.host.counts_reasoning


def _counts_apart(call: EmulatedCall) -> bool:
    """Whether the host reports reasoning tokens beside the output tokens."""
    return bool(call.target.host and call.target.host.separate_reasoning)


def _with_markup(behaviour: Behaviour, columns: dict[str, Any]) -> Behaviour:
    """How the model behaves whose markup deviates: it writes its reasoning into the text."""
    if not columns:
        return behaviour
    tags = columns.get("tags") or [behaviour.inline or "think"]
    return behaviour.replace(
        inline=tags[0],
        opened=bool(columns.get("prefix_open")),
        stutter=bool(columns.get("stutter")) or behaviour.stutter,
    )


def _is_call_forced(body: dict[str, Any]) -> bool:
    """Whether a request, in any dialect, demands a tool call."""
    config = as_dict(body.get("toolConfig"))
    choice = as_dict(body.get("generation_config")).get("tool_choice")
    mode = as_dict(as_dict(choice).get("allowed_tools")).get("mode")
    choices = (body.get("tool_choice"), config.get("toolChoice"), choice, mode)
    is_any = as_dict(config.get("functionCallingConfig")).get("mode") == "ANY"
    return is_any or any(map(is_forced, choices))


def _within_limit(call: EmulatedCall, draft: AnswerDraft) -> tuple[AnswerDraft, FinishReason]:
    """The draft, cut at the token limit."""
    limit = call.request.max_tokens
    room = limit * 4 if limit else 10**9
    thoughts: list[str] = []
    for thought in draft.thoughts:
        thoughts.append(thought[:room])
        room -= len(thought)
        if room <= 0:
            return draft.replace(thoughts=tuple(thoughts), text="", calls=(), cut=True), "length"
    if len(draft.text) > room:
        return draft.replace(text=draft.text[:room], calls=()), "length"
    return draft, "tool_calls" if draft.calls else "stop"


def _stream(
    call: EmulatedCall, answer: Response, dialect_server: DialectServer, echo: dict[str, Any]
) -> Iterator[Frame]:
    server, behaviour = dialect_named(call.dialect).server, call.behaviour
    streamed = dialect_server.streamed(call, answer)
    queued = bool(echo.get("background"))
    frames = exact_stream(streamed, call.dialect, behaviour.size, echo=echo, queued=queued)
    if call.manners.stream_event:
        frames = with_event(frames, call.manners.stream_event)
    if behaviour.cut is not None:
        frames = islice(frames, behaviour.cut)
    elif behaviour.fail is not None:
        yield from islice(frames, behaviour.fail)
        around = _envelope_of(call.provider)
        yield (around.server if around else server).write_stream_error(dialect_server.overloaded)
        return
    yield from frames


def _as_list(frames: Iterator[Frame]) -> Iterator[bytes]:
    """A stream as one JSON array that grows, which is Gemini's form without `alt=sse`."""
    array = JsonArray()
    yield from map(array, frames)
    yield array.end()


# ---- replies ---------------------------------------------------------------------------------------


def _not_found(method: str, path: str) -> Reply:
    """A provider's error for a path that it does not have, in the dialect that the path looks like."""
    refusal = Refusal(text=f"{method} {path} is not served here", status=404)
    return _refusal(near_dialect(path), refusal)


def _stored(stored: StoredReply) -> Reply:
    """The reply about something stored."""
    if stored.frames is None:
        return _json(200, stored.body)
    return Reply(200, "text/event-stream", map(sse_bytes, stored.frames))


def _json(status: int, value: Any) -> Reply:
    return Reply(status, "application/json", iter([dump_json(value)]))


def _refusal(at: Route | str, refusal: Refusal) -> Reply:
    """A refusal in the form of a route's provider, or in the usual form of a dialect."""
    dialect, provider = (at, "") if isinstance(at, str) else (at.dialect, at.provider)
    around = _envelope_of(provider)
    dialect = around.name if around else dialect
    dialect_server = server_for(dialect)
    error_body = dialect_server.error_body(refusal, provider) if dialect_server.error_body else None
    reply = _json(refusal.status, error_body or dialect_named(dialect).server.write_error(refusal))
    reply.headers.update(dialect_named(dialect).error_headers(refusal))
    return reply


def _deviating(reply: Reply, refusal: Refusal, manners: Manners) -> Reply:
    """A refusal as a deviating server words it."""
    if manners.words is None and manners.status is None and manners.error_shape is None:
        return reply
    text = manners.words or refusal.text
    body = reply.body.replace(dump_json(refusal.text), dump_json(text))
    if manners.error_shape:
        body = dump_json({"detail": text}) if manners.error_shape == "detail" else text.encode()
    return replace(reply, status=manners.status or reply.status, pieces=iter([body]))


def _failed(route: Route, status: int, manners: Manners) -> Reply:
    """The reply of a server that cannot answer now."""
    headers = {"retry-after": manners.retry_after} if manners.retry_after else {}
    return _refusal(route, Refusal(text="Please try again later.", status=status, headers=headers))


def _hampered(reply: Reply, failure: str) -> Reply:
    """An answer that is cut in the middle, or slow."""
    if failure == "slow":
        return replace(reply, pause=30.0)
    body = reply.body
    _, _, place = failure.partition(":")
    return replace(reply, pieces=iter([body[: int(place) if place else len(body) // 2]]))


def _with_dialect_names(body: dict[str, Any], provider: str) -> dict[str, Any]:
    """The body with the member names of its dialect, where the provider has others."""
    host = host_of(provider)
    others = {other: name for name, other in host.renames.items()} if host else {}
    return {others.get(name, name): value for name, value in body.items()} if others else body


def _envelope_of(provider: str) -> Dialect | None:
    """The dialect whose errors and frames wrap a provider's answers."""
    host = host_of(provider)
    return dialect_named(host.envelope) if host and host.envelope else None


def _account(headers: dict[str, str], path: str) -> str:
    """A digest of the key: the account that seals are bound to."""
    credentials = next((headers[name] for name in _KEYS if headers.get(name)), "")
    if credentials.startswith("AWS4-HMAC-SHA256"):
        credentials = credentials.partition("Credential=")[2].partition("/")[0]
    key = credentials.removeprefix("Bearer ").strip() or path.partition("key=")[2].partition("&")[0]
    return digest(key)


# A draft of an answer -> the same in the form that the request asks for: JSON of a schema, or the call of a tool.
#
# The request may ask in its response format, or in its system prompt, in the words that innervoice uses where an API has no such format.


_BY_TOOL = re.compile(r"by calling the tool ([\w-]+)")
_BY_SCHEMA = re.compile(r"matches this JSON schema, and nothing else:\n(.+)\Z", re.DOTALL)


def in_form(draft: AnswerDraft, request: Request, tools: Sequence[Tool]) -> AnswerDraft:
    """The draft in the requested form."""
    if draft.calls:
        return draft.replace(calls=tuple(_filled(call, tools) for call in draft.calls))
    if not draft.text:
        return draft
    texts = [message.text for message in request.messages if message.role == "system"]
    system = "\n\n".join([request.system or "", *texts])
    match = _BY_TOOL.search(system)
    if match and any(tool.name == match[1] for tool in tools):
        value = instance_of(_schema_of(match[1], tools), draft.text)
        return draft.replace(text="", calls=((match[1], as_dict(value)),))
    schema = json_schema(request.response_format)
    written = _BY_SCHEMA.search(system)
    if schema is None and written:
        schema = ("answer", parsed(written[1]))
    if schema is not None:
        return draft.replace(text=dump_json(instance_of(schema[1], draft.text)).decode())
    if as_dict(request.response_format).get("type") == "json_object":
        return draft.replace(text=dump_json({"answer": draft.text}).decode())
    return draft


def _schema_of(name: str, tools: Sequence[Tool]) -> dict[str, Any]:
    return as_dict(next((tool.parameters for tool in tools if tool.name == name), None))


def _filled(call: DraftedCall, tools: Sequence[Tool]) -> DraftedCall:
    """A call with a value for every member that the schema requires, and for members that are objects or lists of them."""
    name, values = call
    if isinstance(values, str):
        return call
    schema = _schema_of(name, tools)
    properties, demanded = as_dict(schema.get("properties")), as_list(schema.get("required"))
    nested = [member for member in values if _is_nested(as_dict(properties.get(member)))]
    missing = [member for member in demanded if isinstance(member, str) and member not in values]
    if not missing and not nested:
        return call
    whole = as_dict(instance_of(schema))
    return name, {**values, **{key: whole[key] for key in (*missing, *nested) if key in whole}}


def _is_nested(schema: dict[str, Any]) -> bool:
    items = as_dict(schema.get("items"))
    return any(part.get("type") == "object" or "$ref" in part for part in (schema, items))
