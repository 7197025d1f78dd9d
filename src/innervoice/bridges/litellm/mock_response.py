"""`mock_response=`: a response, a stream or an error without a request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.bridges.litellm import errors
from innervoice.bridges.litellm.arguments import CompletionCall
from innervoice.bridges.litellm.chunks import CustomStreamWrapper
from innervoice.bridges.litellm.response_types import (
    Choices,
    Delta,
    Message,
    ModelResponse,
    ModelResponseStream,
    StreamingChoices,
    Usage,
)
from innervoice.bridges.litellm.to_litellm import call_facts, cost_of
from innervoice.bridges.litellm.tokens import token_counter
from innervoice.errors import InnervoiceError

__all__ = ["mock_completion", "wants_mock"]

_ERRORS: dict[str, tuple[type[errors.LitellmError], str]] = {
    "litellm.RateLimitError": (errors.RateLimitError, "rate limit"),
    "litellm.ContextWindowExceededError": (
        errors.ContextWindowExceededError,
        "context window exceeded",
    ),
    "litellm.ContentPolicyViolationError": (
        errors.ContentPolicyViolationError,
        "content policy violation",
    ),
    "litellm.InternalServerError": (errors.InternalServerError, "internal server"),
}
_SIZE = 3
_ONLY_CALLS = "This is a mock request"
"""The text of a mock that was requested with `mock_tool_calls` alone."""
_USAGE = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}
"""The usage that litellm reports for a mock, so that totals in users' tests do not change."""


def wants_mock(options: dict[str, Any]) -> bool:
    """Whether the caller requested a mock."""
    names = ("mock_response", "mock_tool_calls")
    return any(options.get(name) is not None for name in names) or bool(options.get("mock_timeout"))


def mock_completion(
    call: CompletionCall, options: dict[str, Any]
) -> ModelResponse | CustomStreamWrapper:
    """The mock response or stream; raises the mock error."""
    answer = options.get("mock_response", _ONLY_CALLS)
    facts = {"llm_provider": call.target.provider, "model": call.target.model}
    if options.get("mock_timeout"):
        raise errors.Timeout(message="this is a mock timeout error", **facts)
    if isinstance(answer, (errors.LitellmError, InnervoiceError)):
        raise answer
    if isinstance(answer, Exception):
        mocked = errors.MockException(
            getattr(answer, "status_code", 500),
            str(answer),
            call.target.provider,
            call.target.model,
        )
        raise errors.InternalServerError(message=mocked.message, **facts) from answer
    if isinstance(answer, str) and answer in _ERRORS:
        kind, what = _ERRORS[answer]
        raise kind(message=f"this is a mock {what} error", **facts)
    if isinstance(answer, (ModelResponse, CustomStreamWrapper)):
        return answer
    if isinstance(answer, dict):
        return ModelResponse(**answer)
    text, calls = str(answer), options.get("mock_tool_calls")
    if not call.stream:
        count = int(options.get("n") or 1)
        choices = [
            Choices("stop", number, Message(text, tool_calls=calls)) for number in range(count)
        ]
        response = ModelResponse(
            model=call.target.model, choices=choices, usage=_USAGE, response_ms=0.0
        )
        cost = cost_of(call, None, response["usage"])
        response._hidden_params.update(call_facts(call), response_cost=cost, notes=call.notes)
        return response
    provider = call.target.provider
    wrapper = CustomStreamWrapper(_MockStream(call, text, calls), call.target.model, None, provider)
    wrapper.messages = call.original_messages
    return wrapper


class _MockStream:
    """The chunks of a mock; `CustomStreamWrapper` iterates them synchronously and asynchronously."""

    def __init__(self, call: CompletionCall, text: str, calls: Any) -> None:
        self._call = call
        self._chunks = self._mock_chunks(text, calls)

    def __iter__(self) -> Iterator[ModelResponseStream]:
        return self._chunks

    def _mock_chunks(self, text: str, calls: Any) -> Iterator[ModelResponseStream]:
        name = self._call.target.model
        head = ModelResponseStream(model=name)
        pieces = [text[start : start + _SIZE] for start in range(0, len(text), _SIZE)]
        deltas = [Delta(piece) for piece in pieces] + ([Delta(tool_calls=calls)] if calls else [])
        for number, delta in enumerate(deltas):
            delta.role = None if number else "assistant"
            yield self._chunk(head, StreamingChoices(delta=delta))
        yield self._chunk(head, StreamingChoices("tool_calls" if calls else "stop"))
        if self._call.include_usage:
            prompt = token_counter(model=name, messages=self._call.original_messages)
            usage = Usage(prompt, token_counter(model=name, text=text))
            yield self._chunk(head, StreamingChoices(), usage=usage)

    @staticmethod
    def _chunk(
        head: ModelResponseStream, choice: StreamingChoices, usage: Usage | None = None
    ) -> ModelResponseStream:
        return ModelResponseStream(
            id=head.id, created=head.created, model=head.model, choices=[choice], usage=usage
        )
