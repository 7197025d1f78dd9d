"""`responses` and `aresponses`: OpenAI's Responses API for every provider.

    input, instructions, tools, ... ──► our request, as a server of that API reads it ──► our client ──► a response of that API

Items of the Responses API keep their encrypted reasoning in both directions. Reasoning of other APIs becomes a readable item
without its signature, for which that form has no member; `completion` keeps it.
"""

from __future__ import annotations

import time
from typing import Any

from innervoice.bridges.litellm.arguments import CompletionCall, completion_call
from innervoice.bridges.litellm.connections import async_client_of, client_of
from innervoice.bridges.litellm.custom_providers import mock_completion, wants_mock
from innervoice.bridges.litellm.error_mapping import translated
from innervoice.bridges.litellm.litellm_object import (
    ResponsesAPIResponse,
    plain,
)
from innervoice.bridges.litellm.providers import TWO_DIALECTS, resolve_model
from innervoice.bridges.litellm.to_litellm import cost_of, hidden_facts, usage_of
from innervoice.canon.parts import Text
from innervoice.canon.response import Response
from innervoice.canon.usage import Usage
from innervoice.converting import convert
from innervoice.errors import InnervoiceError
from innervoice.planning.encode import decode_request

__all__ = ["aresponses", "responses"]

_DIALECT = "openai-responses"
_READ = (
    "instructions",
    "max_output_tokens",
    "temperature",
    "top_p",
    "tools",
    "tool_choice",
    "reasoning",
    "text",
)
"""Parameters of the API that are fields of our request; the others go into the body for hosts that have this API."""
_FIELDS = (
    "system",
    "max_tokens",
    "temperature",
    "top_p",
    "tools",
    "tool_choice",
    "reasoning",
    "response_format",
)
_LEFT_OUT = {
    "include": "encrypted reasoning is always asked for",
    "metadata": "nothing is stored at the provider",
    "truncation": "the history is sent as it is",
}
_REFUSED = {
    "stream": "responses() does not stream in innervoice; completion(stream=True) does",
    "previous_response_id": "innervoice does not store responses at the provider: pass the items of the history as input",
    "background": "innervoice waits for responses: leave background out",
    "prompt": "innervoice has no stored prompts: pass the text as instructions",
}


def responses(
    input: Any,  # noqa: A002 - litellm's name
    model: str,
    **options: Any,
) -> ResponsesAPIResponse:
    """Calls a model with the parameters of the Responses API; `input` is a text or a list of items."""
    call = _call(input, model, options)
    began = time.monotonic()
    if wants_mock(options):
        return _written(_mock(call, options), call, began)
    with translated(call.target.provider, call.target.model):
        answer = client_of(call).ask(call.model, call.messages, **call.fields)
    return _written(answer, call, began)


async def aresponses(
    input: Any,  # noqa: A002 - litellm's name
    model: str,
    **options: Any,
) -> ResponsesAPIResponse:
    """The same, async."""
    call = _call(input, model, options)
    began = time.monotonic()
    if wants_mock(options):
        return _written(_mock(call, options), call, began)
    with translated(call.target.provider, call.target.model):
        client = await async_client_of(call)
        answer = await client.ask(call.model, call.messages, **call.fields)
    return _written(answer, call, began)


def _call(input_items: Any, model: str, options: dict[str, Any]) -> CompletionCall:
    for name, reason in _REFUSED.items():
        if options.get(name):
            raise NotImplementedError(reason)
    body = {name: options[name] for name in _READ if options.get(name) is not None}
    if (form := options.get("text_format")) is not None:
        schema = {"type": "json_schema", "name": form.__name__, "schema": form.model_json_schema()}
        body["text"] = {"format": schema}
    items = input_items if isinstance(input_items, str) else [_item(item) for item in input_items]
    names = (*_READ, *_REFUSED, *_LEFT_OUT, "text_format")
    rest = {name: value for name, value in options.items() if name not in names}
    with translated(options.get("custom_llm_provider"), model):
        request = decode_request({"model": model, "input": items, **plain(body)}, _DIALECT)
        call = completion_call(model, [], rest)
    for name in _FIELDS:
        value = getattr(request, name)
        if value is not None and value != ():
            call.fields[name] = value
    ignored = (name for name in _LEFT_OUT if options.get(name))
    call.notes.extend(f"{name}: left out, {_LEFT_OUT[name]}" for name in ignored)
    call.messages[:] = request.messages
    return call


def _mock(call: CompletionCall, options: dict[str, Any]) -> Response:
    """The mock of a chat completion, as an answer; raises the mock error."""
    mocked: Any = mock_completion(call, options)
    text, usage = mocked.choices[0].message.content, mocked["usage"]
    counts = Usage(input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens)
    return Response(parts=(Text(text),), finish_reason="stop", ended=True, usage=counts)


def _item(item: Any) -> Any:
    written = plain(item)
    return written if isinstance(written, dict) else dict(written)


def _written(answer: Response, call: CompletionCall, began: float) -> ResponsesAPIResponse:
    response = ResponsesAPIResponse(**convert(answer, _DIALECT))
    response.created_at = time.time()
    response.model = response.model or call.target.model
    cost = cost_of(call, answer.model, usage_of(answer.usage))
    took = (time.monotonic() - began) * 1000
    facts = hidden_facts(answer, call)
    response._hidden_params = {**facts, "response_cost": cost, "_response_ms": took}
    return response


# Which models use a Responses API: programs check this before they name a model `<provider>/responses/<model>`.


class ProviderConfigManager:
    """litellm's registry of providers; here only for Responses APIs."""

    @staticmethod
    def get_provider_responses_api_config(provider: Any, model: str | None = None) -> str | None:
        """The host with a Responses API, None if the provider has none."""
        try:
            host = resolve_model(model or "any", str(getattr(provider, "value", provider))).host
        except InnervoiceError:
            return None
        return host if host in TWO_DIALECTS else None


def responses_api_bridge_check(
    model: str, custom_llm_provider: str, **_: Any
) -> tuple[dict[str, Any], str]:
    """`{"mode": "responses"}` or `{"mode": "chat"}`, and the model without the prefix."""
    target = resolve_model(model, custom_llm_provider)
    mode = "responses" if target.dialect() == "openai-responses" else "chat"
    return {"mode": mode}, target.model
