"""Our response -> litellm's `ModelResponse`."""

from __future__ import annotations

from typing import Any

from innervoice.bridges.litellm.arguments import CompletionCall
from innervoice.bridges.litellm.costs import completion_cost
from innervoice.bridges.litellm.errors import LitellmError, ModelNotMappedError
from innervoice.bridges.litellm.message_fields import CallIds, members_of
from innervoice.bridges.litellm.response_types import Choices, Message, ModelResponse
from innervoice.bridges.litellm.usage import Usage
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage as Counts
from innervoice.wire.json_access import as_count, as_dict

__all__ = ["finish_word", "hidden_facts", "model_response", "usage_of"]

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
    made = ModelResponse(
        id=response.id,
        model=response.model or call.target.model,
        choices=[_choice(number, answer, call) for number, answer in enumerate(answers)],
        usage=usage_of(response.usage),
        hidden_params=hidden_facts(response, call),
    )
    made._hidden_params["response_cost"] = _cost(made)
    return made


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
    return {
        "custom_llm_provider": call.target.provider,
        "litellm_model_name": call.target.model,
        "api_base": call.settings["base_url"],
        "model_id": None,
        "additional_headers": {},
        "notes": [*call.notes, *map(str, response.notes)],
    }


def _cost(response: ModelResponse) -> float | None:
    try:
        return completion_cost(response)
    except (LitellmError, ModelNotMappedError):
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
