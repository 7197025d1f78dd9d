"""Our response -> litellm's `ModelResponse`."""

from __future__ import annotations

from typing import Any

from innervoice.bridges.litellm.arguments import CompletionCall
from innervoice.bridges.litellm.errors import LitellmError, ModelNotMappedError
from innervoice.bridges.litellm.message_fields import CallIds, members_of
from innervoice.bridges.litellm.response_types import (
    Choices,
    Message,
    ModelResponse,
    Usage,
)
from innervoice.bridges.litellm.tokens import cost_per_token
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage as Counts
from innervoice.wire.json_access import as_count, as_dict

__all__ = [
    "additional_headers",
    "call_facts",
    "cost_of",
    "finish_word",
    "hidden_facts",
    "model_response",
    "usage_of",
]

_LIMITS = "x-ratelimit-"

_WORDS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "pause": "stop",
    "error": "stop",
}


def model_response(response: Response, call: CompletionCall) -> ModelResponse:
    """The response as litellm's object, with a choice for each alternative."""
    answers = [response, *response.alternatives]
    result = ModelResponse(
        id=response.id,
        model=response.model or call.target.model,
        choices=[_choice(number, answer, call) for number, answer in enumerate(answers)],
        usage=usage_of(response.usage),
        hidden_params=hidden_facts(response, call),
    )
    result._hidden_params["response_cost"] = cost_of(call, result.model, result["usage"])
    result._response_headers = call.received
    return result


def _choice(number: int, answer: Response, call: CompletionCall) -> Choices:
    turn = CallIds().turn(answer.message)
    call.continuation.remember(turn)
    word = finish_word(answer)
    native = answer.wire_finish_reason
    more = {"native_finish_reason": native} if native and native != word else None
    return Choices(
        word,
        number,
        Message(**members_of(turn)),
        provider_specific_fields=more,
    )


def finish_word(response: Response) -> str:
    """The finish reason, as OpenAI spells it."""
    usual = "tool_calls" if response.tool_calls else "stop"
    return _WORDS.get(response.finish_reason or "", usual)


def hidden_facts(response: Response, call: CompletionCall) -> dict[str, Any]:
    """litellm's `_hidden_params`; `notes` is ours and lists what was left out or changed."""
    return {**call_facts(call), "notes": [*call.notes, *map(str, response.notes)]}


def call_facts(call: CompletionCall) -> dict[str, Any]:
    """The part of `_hidden_params` that is known without a response."""
    return {
        "custom_llm_provider": call.target.provider,
        "litellm_model_name": call.target.model,
        "api_base": call.settings["base_url"],
        "model_id": None,
        "additional_headers": additional_headers(call.received),
    }


def additional_headers(received: dict[str, str]) -> dict[str, str]:
    """The headers of a response as litellm names them; rate limits, which all providers share, also under their own names."""
    lowered = {name.lower(): value for name, value in received.items()}
    return {
        **{name: value for name, value in lowered.items() if name.startswith(_LIMITS)},
        **{f"llm_provider-{name}": value for name, value in lowered.items()},
    }


def cost_of(call: CompletionCall, model: str | None, usage: Usage) -> float | None:
    """The cost of a call, by the name in the response or else by the requested name; None if the price is unknown."""
    provider = call.target.provider
    for name in dict.fromkeys((model or call.target.model, call.target.model)):
        try:
            return sum(cost_per_token(name, custom_llm_provider=provider, usage_object=usage))
        except (LitellmError, ModelNotMappedError):
            continue
    return None


def usage_of(counts: Counts) -> Usage:
    """Usage in OpenAI's form; a count that was not reported is 0, or absent where litellm leaves it out."""
    raw = as_dict(counts.raw)
    more = {
        name: count
        for name in ("cache_creation_input_tokens", "cache_read_input_tokens")
        if (count := as_count(raw.get(name))) is not None
    }
    reasoned, cached = counts.reasoning_tokens, counts.cached_input_tokens
    return Usage(
        prompt_tokens=counts.input_tokens,
        completion_tokens=counts.output_tokens,
        completion_tokens_details=None if reasoned is None else {"reasoning_tokens": reasoned},
        prompt_tokens_details=None if cached is None else {"cached_tokens": cached},
        **more,
    )
