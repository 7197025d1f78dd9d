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
from innervoice.fitting.request import FittedRequest
from innervoice.history.plan import Plan, Planner
from innervoice.wire.controls import Choice, fields_of
from innervoice.wire.dialects import request_reader_of, writer_of
from innervoice.wire.write import dropped_members

__all__ = ["decode_request", "encode"]

_LIMITS = {
    "openai-responses": "max_output_tokens",
    "gemini": "maxOutputTokens",
    "bedrock-converse": "maxTokens",
    "ollama": "num_predict",
}
_PATHS = {
    "anthropic": "/v1/messages",
    "openai-chat": "/chat/completions",
    "openai-responses": "/responses",
    "gemini": "/models/{model}:{verb}",
    "bedrock-converse": "/model/{model}/{verb}",
    "mistral": "/chat/completions",
    "cohere": "/v2/chat",
    "ollama": "/api/chat",
}
# For whole and for streamed answers.
_VERBS = {
    "gemini": ("generateContent", "streamGenerateContent?alt=sse"),
    "bedrock-converse": ("converse", "converse-stream"),
}
_WITHOUT_ERROR_FLAG = ("openai-chat", "openai-responses", "mistral", "cohere", "ollama")
_UNJOINED = ("openai-chat", "openai-responses", "mistral", "cohere", "ollama")
"""Dialects that take neighbours of one role for several turns, and whose templates may want roles to alternate."""
_HEADERS = {"anthropic": {"anthropic-version": "2023-06-01"}}


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
        self.settled = FittedRequest(request)
        self.request = self.settled.request
        self.notebook = self.settled.notebook
        self.host, self.model = self.settled.host, self.settled.model
        self.dialect, self.row = self.settled.dialect, self.settled.row

    def wire(self) -> Wire:
        request, settled = self.request, self.settled
        limit = self.row.limit
        limit = _LIMITS.get(self.dialect, limit) if limit == "max_tokens" else limit
        _check_results(request.messages)
        planned = self._planned()
        messages = _alternating(planned) if self.dialect in _UNJOINED else planned.messages
        if messages != request.messages:
            request = request.replace(messages=messages)
        body = writer_of(self.dialect)(request, self.model, limit)
        if request.tools:
            self._note_tools(request)
        fields = fields_of(settled.choice, self.row) if settled.choice else {}
        if self.dialect == "bedrock-converse" and fields:
            fields = {"additionalModelRequestFields": fields}
        if self.dialect == "openai-responses" and not request.store and settled.reasons:
            body.setdefault("include", ["reasoning.encrypted_content"])
        return Wire(
            url=self._url(),
            headers={"content-type": "application/json", **_HEADERS.get(self.dialect, {})},
            body=_merged(_merged(self._enveloped(body), fields), request.extra),
            dialect=self.dialect,
            notes=self.notebook.notes(),
            reasoning=settled.report,
            prefix=planned.prefix,
            scope=request.scope,
        )

    def _planned(self) -> Plan:
        """The history as it may go to this target; what is not sent as it is, is noted."""
        planned = Planner(self.settled).plan()
        for decision in planned.decisions:
            if decision.note:
                self.notebook.add(decision.note, decision.rule)
        if self.dialect in _WITHOUT_ERROR_FLAG:
            flagged = [
                part
                for message in planned.messages
                for part in message.parts
                if isinstance(part, ToolResult) and part.error
            ]
            if flagged:
                self.notebook.add("error_flag_dropped", count=len(flagged))
        if planned.thinking_off and self.settled.choice and not self.settled.choice.off:
            self.notebook.add("reasoning_off_for_loop")
            self.settled.choice = Choice(off=True)
        return planned

    def _note_tools(self, request: Request) -> None:
        for tool in request.tools:
            if tool.members:
                for name in dropped_members(tool, self.dialect):
                    self.notebook.add("tool_member_dropped", name)

    @property
    def _path(self) -> str:
        usual = _PATHS[self.dialect]
        return self.host.paths.get(self.dialect, usual) if self.host else usual

    def _url(self) -> str:
        base = self.request.base_url or (self.host.base_url if self.host else "")
        verbs = _VERBS.get(self.dialect, ("", ""))
        whole, streamed = self.host.verbs.get(self.dialect, verbs) if self.host else verbs
        verb = streamed if self.request.stream else whole
        return base.rstrip("/") + self._path.format(model=self.model, verb=verb)

    def _enveloped(self, body: dict[str, Any]) -> dict[str, Any]:
        """A body as this host wants it beside others of its dialect: the model in one place, and what else it asks for."""
        wanted = self.host.members.get(self.dialect) if self.host else None
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
