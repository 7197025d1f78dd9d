"""A request and a response -> attributes of OpenInference (0.1.42), as a plain dict.

Its attributes are flat: the names contain the index of each message and part. It also has names for signatures and encrypted content,
which are never written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from innervoice.bridges.otel.genai import input_messages, level_of, output_messages, tool_definition
from innervoice.canon.jsontext import dump_json
from innervoice.canon.request import Request, Wire
from innervoice.canon.response import Response
from innervoice.catalog.targets import names_of
from innervoice.show.policy import Policy

__all__ = ["openinference_attributes"]


def openinference_attributes(
    request: Request,
    response: Response | None = None,
    wire: Wire | None = None,
    *,
    content: bool = False,
    show: Policy = "full",
) -> dict[str, Any]:
    """The attributes of a request and its response; message content only with `content=True`."""
    provider, model = names_of(None, request.model)
    usage = response.usage if response else None
    attributes: dict[str, Any] = {
        "openinference.span.kind": "LLM",
        "llm.provider": provider,
        "llm.model_name": (response.model if response else None) or model,
        "llm.invocation_parameters": _json(_parameters(request, wire)),
    }
    if usage:
        attributes |= {
            "llm.token_count.prompt": usage.input_tokens,
            "llm.token_count.completion": usage.output_tokens,
            "llm.token_count.total": usage.total_tokens,
            "llm.token_count.prompt_details.cache_read": usage.cached_input_tokens,
            "llm.token_count.completion_details.reasoning": usage.reasoning_tokens,
        }
    if content:
        attributes |= dict(_content(request, response, show))
    return {name: value for name, value in attributes.items() if value is not None}


def _parameters(request: Request, wire: Wire | None) -> dict[str, Any]:
    names = ("max_tokens", "temperature", "top_p", "stop")
    parameters = {name: getattr(request, name) for name in names}
    parameters["reasoning_effort"] = level_of(wire.body) if wire else None
    return {name: value for name, value in parameters.items() if value is not None}


def _content(
    request: Request, response: Response | None, show: Policy
) -> Iterator[tuple[str, Any]]:
    system = {"role": "system", "parts": [{"type": "text", "content": request.system}]}
    first = [system] if request.system else []
    yield from _messages("llm.input_messages", [*first, *input_messages(request.messages, show)])
    if response:
        yield from _messages("llm.output_messages", output_messages(response, show))
    for number, tool in enumerate(request.tools):
        yield f"llm.tools.{number}.tool.json_schema", _json(tool_definition(tool))


def _messages(name: str, messages: Sequence[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Messages; each tool result is a separate message, as in OpenAI's chat."""
    number = 0
    for message in messages:
        results = [part for part in message["parts"] if part["type"] == "tool_call_response"]
        others = [part for part in message["parts"] if part["type"] != "tool_call_response"]
        for result in results:
            head = f"{name}.{number}.message"
            response = result["response"]
            yield f"{head}.role", "tool"
            yield f"{head}.tool_call_id", result["id"]
            yield f"{head}.content", response if isinstance(response, str) else _json(response)
            number += 1
        if others or not results:
            head = f"{name}.{number}.message"
            yield f"{head}.role", message["role"]
            yield from _parts(head, others)
            number += 1


def _parts(head: str, parts: Sequence[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    calls = [part for part in parts if part["type"] == "tool_call"]
    for number, part in enumerate(part for part in parts if part["type"] != "tool_call"):
        place = f"{head}.contents.{number}.message_content"
        yield f"{place}.type", part.get("modality", part["type"])
        if part["type"] in ("text", "reasoning"):
            yield f"{place}.text", part["content"]
        elif "uri" in part and part["modality"] == "image":
            yield f"{place}.image.image.url", part["uri"]
    for number, call in enumerate(calls):
        place = f"{head}.tool_calls.{number}.tool_call"
        arguments = call["arguments"]
        yield f"{place}.id", call["id"]
        yield f"{place}.function.name", call["name"]
        text = arguments if isinstance(arguments, str) else _json(arguments)
        yield f"{place}.function.arguments", text


def _json(value: Any) -> str:
    return dump_json(value).decode("utf-8")
