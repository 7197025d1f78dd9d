"""A request -> what would leave for its host: url, headers and body. Nothing is sent, and no key is known here.

    Request ──► who answers ──► the model's row ──► settings compiled ──► history fitted ──► wire writer ──► extra

What cannot be sent as asked is changed and noted, or refused in mode "strict".
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, ToolCall, ToolResult
from innervoice.canon.request import Request, Wire
from innervoice.errors import DecodeError, UsageError
from innervoice.fitting.media import fit_media
from innervoice.fitting.reasoning import Compiler
from innervoice.fitting.request import FittedRequest
from innervoice.fitting.response_format import fit_response_format
from innervoice.history.plan import Plan, Planner
from innervoice.wire.controls import Choice, fields_of
from innervoice.wire.dialects import dialect_named, request_reader_of

__all__ = ["decode_request", "encode"]


def encode(request: Request) -> Wire:
    """What would be sent for a request."""
    return _Encoding(request).wire()


def decode_request(body: Any, dialect: str) -> Request:
    """The other way round: the request that a body in a dialect is."""
    value = load_json(body) if isinstance(body, (bytes, bytearray, str)) else body
    if not isinstance(value, dict):
        raise DecodeError(f"expected the body of a request, an object, not {type(value).__name__}")
    return request_reader_of(dialect)(value)


class _Encoding:
    def __init__(self, request: Request) -> None:
        self.fitted = FittedRequest(request)
        self.request = self.fitted.request
        self.notebook = self.fitted.notebook
        self.host, self.model = self.fitted.host, self.fitted.model
        self.dialect, self.row = dialect_named(self.fitted.dialect), self.fitted.row

    def wire(self) -> Wire:
        request, fitted, dialect = self.request, self.fitted, self.dialect
        named = self.row.limit != "max_tokens"
        limit = self.row.limit if named else dialect.limit
        _check_results(request.messages)
        planned = self._planned()
        messages = planned.messages if dialect.joins_turns else _alternating(planned)
        messages = fit_media(messages, dialect, self.notebook)
        if messages != request.messages:
            request = request.replace(messages=messages)
        if request.response_format is not None:
            change = Compiler(self.row, mode=request.mode, notebook=self.notebook).bend
            formats = self.host.formats if self.host and self.host.formats else dialect.formats
            if request.mode != "passthrough" or not formats:
                request = fit_response_format(request, dialect, formats, change)
        body = dialect.writer(request, self.model, limit)
        fields = fields_of(fitted.choice, self.row) if fitted.choice else {}
        if fields and dialect.wraps_reasoning:
            fields = {dialect.wraps_reasoning: fields}
        if dialect.unstored and not request.store and fitted.reasons:
            body = {**dialect.unstored, **body}
        return Wire(
            url=self._url(),
            headers={"content-type": "application/json", **dialect.headers},
            body=_merged(_merged(self._enveloped(body), fields), request.extra),
            dialect=dialect.name,
            notes=self.notebook.notes(),
            reasoning=fitted.report,
            prefix=planned.prefix,
            scope=request.scope,
        )

    def _planned(self) -> Plan:
        """The history as it may go to this target; what is not sent as it is, is noted."""
        planned = Planner(self.fitted).plan()
        for decision in planned.decisions:
            if decision.note:
                self.notebook.add(decision.note, decision.rule)
        if not self.dialect.flags_errors:
            flagged = [
                part
                for message in planned.messages
                for part in message.parts
                if isinstance(part, ToolResult) and part.error
            ]
            if flagged:
                self.notebook.add("error_flag_dropped", count=len(flagged))
        if planned.thinking_off and self.fitted.choice and not self.fitted.choice.off:
            self.notebook.add("reasoning_off_for_loop")
            self.fitted.choice = Choice(off=True)
        return planned

    @property
    def _path(self) -> str:
        usual = self.dialect.path
        return self.host.paths.get(self.dialect.name, usual) if self.host else usual

    def _url(self) -> str:
        base = self.request.base_url or (self.host.base_url if self.host else "")
        verbs = self.dialect.verbs
        whole, streamed = self.host.verbs.get(self.dialect.name, verbs) if self.host else verbs
        verb = streamed if self.request.stream else whole
        return base.rstrip("/") + self._path.format(model=self.model, verb=verb)

    def _enveloped(self, body: dict[str, Any]) -> dict[str, Any]:
        """A body as this host wants it beside others of its dialect: the model in one place, and what else it asks for."""
        wanted = self.host.members.get(self.dialect.name) if self.host else None
        if "{model}" in self._path:
            body.pop("model", None)
        return {**body, **wanted} if wanted else body


def _alternating(planned: Plan) -> tuple[Message, ...]:
    """The messages, with two of the user as one where a turn between them is left out."""
    messages = list(planned.messages)
    for gap in reversed(planned.gaps):
        neighbours = messages[gap - 1 : gap + 1] if gap else []
        if [message.role for message in neighbours] != ["user", "user"]:
            continue
        before, after = (message.parts for message in neighbours)
        match before[-1:] + after[:1]:
            case (Text() as one, Text() as other):
                parts = (*before[:-1], Text(f"{one.text}\n\n{other.text}"), *after[1:])
            case _:
                parts = (*before, *after)
        messages[gap - 1 : gap + 1] = [neighbours[0].replace(parts=parts)]
    return tuple(messages)


def _check_results(messages: tuple[Message, ...]) -> None:
    used = [
        part
        for message in messages
        for part in message.parts
        if isinstance(part, (ToolCall, ToolResult))
    ]
    called = {part.id for part in used if isinstance(part, ToolCall)}
    for part in used:
        if isinstance(part, ToolResult) and part.call_id not in called:
            raise UsageError(
                f"a tool result names the call {part.call_id!r}, which no earlier message made"
            )


def _merged(body: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    if not more:
        return body
    merged = dict(body)
    for key, value in more.items():
        known = merged.get(key)
        merged[key] = (
            _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
        )
    return merged
