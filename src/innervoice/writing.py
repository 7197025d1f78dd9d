"""A request -> what would leave for its host: url, headers and body. Nothing is sent, and no key is known here.

    Request ──► who answers ──► the model's row ──► settings compiled ──► history fitted ──► wire writer ──► extra

What cannot be sent as asked is changed and noted, or refused in mode "strict".
"""

from __future__ import annotations

from typing import Any

from innervoice.asking import Choice, Compiler, fields_of
from innervoice.canon.cards import Ask, Host
from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.notes import Notebook
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Opaque, Part, Text, Thinking, ToolCall, ToolResult, is_inline
from innervoice.canon.reasoning import Reasoning, ReasoningReport
from innervoice.canon.request import Request, Wire
from innervoice.errors import DecodeError, RuleError, UsageError
from innervoice.hosts.lookup import ask_of, card_of, host_of
from innervoice.wire.dialects import DIALECTS, request_reader_of, writer_of

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
_LIMIT_DEMANDED = ("anthropic",)
_FILLED_LIMIT = 32_000
_FORCING = ("required", "any")


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
        self.request = request
        self.notebook = Notebook()
        self.host, self.model = _target(request)
        self.dialect = request.dialect or (self.host.dialect if self.host else "")
        if self.dialect not in DIALECTS:
            raise UsageError(
                f"who answers {request.model!r} is not known, so dialect must be one of {', '.join(DIALECTS)}"
            )
        host_id = self.host.id if self.host else None
        found = ask_of(self.model, host_id, self.dialect)
        self.ask = found or Ask(
            match=("*",), control="none", off="never", source="nothing is known"
        )
        self.known = found is not None
        self.choice: Choice | None = None

    def wire(self) -> Wire:
        request = self._settled(self.request)
        limit = (
            self.ask.limit
            if self.ask.limit != "max_tokens"
            else _LIMITS.get(self.dialect, "max_tokens")
        )
        fitted = request.but(messages=tuple(self._fitted(message) for message in request.messages))
        _check_results(fitted.messages)
        body = writer_of(self.dialect)(fitted, self.model, limit)
        fields = fields_of(self.choice, self.ask) if self.choice else {}
        if self.dialect == "bedrock-converse" and fields:
            fields = {"additionalModelRequestFields": fields}
        if self.dialect == "openai-responses" and not request.store and self._reasons():
            body.setdefault("include", ["reasoning.encrypted_content"])
        body = _merged(_merged(body, fields), request.extra)
        return Wire(
            url=self._url(),
            headers={"content-type": "application/json", **_HEADERS.get(self.dialect, {})},
            body=body,
            dialect=self.dialect,
            notes=self.notebook.notes(),
            reasoning=self._report(),
        )

    # ---- settings ------------------------------------------------------------------------------

    def _settled(self, request: Request) -> Request:
        """The request with settings that the model takes."""
        compiler = Compiler(self.ask, mode=request.mode, notebook=self.notebook)
        asked = request.reasoning
        if asked is not None and asked != Reasoning() and not self.known:
            compiler.bend("control_unknown", self.model)
            asked = None
        request = self._with_limit(request)
        if asked is not None and asked != Reasoning():
            self.choice = compiler.choose(asked, request.max_tokens)
            request = request.but(max_tokens=compiler.max_tokens)
        request = self._with_tools(request, compiler)
        return self._without_refused(request, compiler)

    def _with_limit(self, request: Request) -> Request:
        if request.max_tokens is not None or self.dialect not in _LIMIT_DEMANDED:
            return request
        filled = self.ask.max_output or _FILLED_LIMIT
        self.notebook.add("max_tokens_filled", str(filled))
        return request.but(max_tokens=filled)

    def _reasons(self) -> bool:
        """Whether the model will reason, as far as it is known."""
        return not self.choice.off if self.choice else self.ask.default != "none"

    def _with_tools(self, request: Request, compiler: Compiler) -> Request:
        """Tools and a forced choice of them, where the model refuses these while it reasons."""
        if request.mode == "passthrough" or not self._reasons():
            return request
        forced = _is_forced(request.tool_choice)
        refused = (bool(request.tools) and not self.ask.tools) or (
            forced and not self.ask.forced_tools
        )
        if not refused:
            return request
        if self.ask.off in ("value", "omit"):
            compiler.bend(
                "reasoning_off_for_tools", "a forced tool choice" if forced else "function tools"
            )
            self.choice = Choice(off=True)
            return request
        if forced and not self.ask.forced_tools:
            compiler.bend("tool_choice_relaxed", str(request.tool_choice))
            return request.but(tool_choice="auto")
        raise RuleError(
            "reasoning_off_for_tools", "this model takes no function tools in this dialect"
        )

    def _without_refused(self, request: Request, compiler: Compiler) -> Request:
        refused = {*self.ask.refuses_always, *(self.ask.refuses if self._reasons() else ())}
        if request.mode == "passthrough":
            return request
        for name in ("temperature", "top_p", "stop"):
            if name in refused and getattr(request, name) is not None:
                compiler.bend("parameter_removed", name)
                request = request.but(**{name: None})
        return request

    def _report(self) -> ReasoningReport | None:
        asked = self.request.reasoning
        if asked is None:
            return None
        choice = self.choice
        effective = None
        if choice:
            effort = "none" if choice.off else choice.effort
            effective = Reasoning(effort, choice.budget, choice.show)  # type: ignore[arg-type]
        return ReasoningReport(requested=asked, effective=effective, notes=self.notebook.notes())

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
            and self._reasons()
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
            card = card_of(self.model)
            if (
                self.dialect == "anthropic"
                or (card and card.family.startswith("claude"))
                or "claude" in self.model
            ):
                raise UsageError(
                    'foreign="text" is refused for Claude, which refuses prompts with such text'
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
        if origin is None:
            return False
        host = self.host.id if self.host else None
        same_host = (
            origin.provider is None
            or origin.provider == host
            or (host is None and self.request.dialect)
        )
        return bool(same_host) and origin.dialect == self.dialect

    def _url(self) -> str:
        base = self.request.base_url or (self.host.base_url if self.host else "")
        path = _PATHS[self.dialect].format(
            model=self.model, verb=_VERBS.get((self.dialect, self.request.stream), "")
        )
        if self.dialect == "openai-chat" and self.host and self.host.id == "ollama":
            path = f"/v1{path}"
        return base.rstrip("/") + path


def _target(request: Request) -> tuple[Host | None, str]:
    provider, _, model = (
        request.model.replace(":", "/", 1).partition("/")
        if "/" not in request.model
        else request.model.partition("/")
    )
    host = host_of(provider)
    if not model:
        if request.dialect is None:
            raise UsageError(
                f"model must be 'provider/model', as 'openai/gpt-5.6'; not {request.model!r}"
            )
        return None, request.model
    if host is None and request.dialect is None:
        raise UsageError(
            f"no provider is known by {provider!r}; name another, or give a dialect and a base_url"
        )
    return host, model


def _is_forced(choice: Any) -> bool:
    if isinstance(choice, str):
        return choice not in ("auto", "none")
    return isinstance(choice, dict) and choice.get("type") in (
        "any",
        "tool",
        "function",
        "required",
    )


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
