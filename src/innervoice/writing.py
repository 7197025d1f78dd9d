"""A request -> what would leave for its host: url, headers and body. Nothing is sent, and no key is known here.

    Request ──► who answers ──► the model's row ──► settings compiled ──► history fitted ──► wire writer ──► extra

What cannot be sent as asked is changed and noted, or refused in mode "strict".
"""

from __future__ import annotations

from typing import Any

from innervoice.asking import fields_of
from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque, Part, Text, Thinking, ToolCall, ToolResult, is_inline
from innervoice.canon.request import Request, Wire
from innervoice.errors import DecodeError, RuleError, UsageError
from innervoice.hosts.lookup import family_of
from innervoice.settling import Settled
from innervoice.wire.dialects import request_reader_of, writer_of

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
_VERBS = {
    ("gemini", False): "generateContent",
    ("gemini", True): "streamGenerateContent?alt=sse",
    ("bedrock-converse", False): "converse",
    ("bedrock-converse", True): "converse-stream",
}
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
        self.settled = Settled(request)
        self.request = self.settled.request
        self.notebook = self.settled.notebook
        self.host, self.model = self.settled.host, self.settled.model
        self.dialect, self.ask = self.settled.dialect, self.settled.ask

    def wire(self) -> Wire:
        request, settled = self.request, self.settled
        named = self.ask.limit != "max_tokens"
        limit = self.ask.limit if named else _LIMITS.get(self.dialect, "max_tokens")
        fitted = request.but(messages=tuple(self._fitted(message) for message in request.messages))
        _check_results(fitted.messages)
        body = writer_of(self.dialect)(fitted, self.model, limit)
        fields = fields_of(settled.choice, self.ask) if settled.choice else {}
        if self.dialect == "bedrock-converse" and fields:
            fields = {"additionalModelRequestFields": fields}
        if self.dialect == "openai-responses" and not request.store and settled.reasons:
            body.setdefault("include", ["reasoning.encrypted_content"])
        return Wire(
            url=self._url(),
            headers={"content-type": "application/json", **_HEADERS.get(self.dialect, {})},
            body=_merged(_merged(body, fields), request.extra),
            dialect=self.dialect,
            notes=self.notebook.notes(),
            reasoning=settled.report,
        )

    # ---- histories -----------------------------------------------------------------------------

    def _fitted(self, message: Message) -> Message:
        """A message as it may go to this target: what came from elsewhere loses its block, or stays behind."""
        if message.role != "assistant":
            return message
        parts = [
            fitted for part in message.parts if (fitted := self._fitted_part(part)) is not None
        ]
        if self._must_have_field(parts):
            assert self.ask.replay_field is not None
            self.notebook.add("reasoning_filled", self.ask.replay_field)
            origin = Origin(dialect=self.dialect, block={self.ask.replay_field: ""})
            parts.insert(0, Thinking("", "hidden", origin=origin))
        home = self._is_home(message.origin)
        return message.but(parts=tuple(parts), origin=message.origin if home else None)

    def _must_have_field(self, parts: list[Part]) -> bool:
        """Whether the host wants the reasoning of a turn with calls that has none (rule H3)."""
        wanted = self.ask.replay == "must" and self.ask.replay_field == "reasoning_content"
        has_call = any(isinstance(part, ToolCall) for part in parts)
        has_thinking = any(isinstance(part, Thinking) and not is_inline(part) for part in parts)
        return (
            wanted
            and has_call
            and not has_thinking
            and self.dialect == "openai-chat"
            and self.settled.reasons
        )

    def _fitted_part(self, part: Part) -> Part | None:
        home = self._is_home(part.origin)
        match part:
            case Thinking():
                return self._fitted_thinking(part, home=home)
            case Opaque():
                if home or part.origin is None:
                    return part
                self.notebook.add("opaque_dropped")
                return None
            case Text() | ToolCall() | ToolResult():
                return part if home or part.origin is None else part.but(origin=None)
            case _:
                return part

    def _fitted_thinking(self, part: Thinking, *, home: bool) -> Part | None:
        sealed_lost = part.origin is not None and not part.complete
        if home and is_inline(part):
            return part
        if home and not sealed_lost and self.ask.replay != "never":
            return self._under_its_name(part)
        if not home and self.request.foreign == "text" and part.text.strip():
            if family_of(self.model) == "claude":
                raise RuleError(
                    "foreign_text_refused", "Claude refuses prompts that hold such text"
                )
            self.notebook.add("thinking_as_text")
            return Text(f"[Reasoning of an earlier turn]\n{part.text}\n")
        self.notebook.add("thinking_omitted")
        return None

    def _under_its_name(self, part: Thinking) -> Part:
        """Reasoning of this model, in the field in which its host wants it back."""
        origin = part.origin
        block = origin.block if origin else None
        if (
            self.dialect != "openai-chat"
            or not isinstance(block, dict)
            or "type" in block
            or not origin
        ):
            return part
        if self.ask.replay == "tags":
            return Text(f"<think>{part.text}</think>\n", origin=origin.but(block=None))
        if self.ask.replay_field and self.ask.replay_field != "reasoning_details":
            return part.but(origin=origin.but(block={self.ask.replay_field: part.text}))
        return part

    def _is_home(self, origin: Origin | None) -> bool:
        """Whether a part came from this host, in this dialect, and from a model of this family (rule H1)."""
        if origin is None or origin.dialect != self.dialect:
            return False
        if self.host and origin.provider not in (None, self.host.id):
            return False
        return origin.model is None or family_of(origin.model) == family_of(self.model)

    def _url(self) -> str:
        base = self.request.base_url or (self.host.base_url if self.host else "")
        path = _PATHS[self.dialect].format(
            model=self.model, verb=_VERBS.get((self.dialect, self.request.stream), "")
        )
        if self.dialect == "openai-chat" and self.host and self.host.id == "ollama":
            path = f"/v1{path}"
        return base.rstrip("/") + path


def _check_results(messages: tuple[Message, ...]) -> None:
    called = {
        part.id for message in messages for part in message.parts if isinstance(part, ToolCall)
    }
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult) and part.call_id not in called:
                raise UsageError(
                    f"a tool result names the call {part.call_id!r}, which no earlier message made"
                )


def _merged(body: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    merged = dict(body)
    for key, value in more.items():
        known = merged.get(key)
        merged[key] = (
            _merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
        )
    return merged
