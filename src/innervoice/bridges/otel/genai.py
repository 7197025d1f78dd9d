"""A request and a response -> attributes of the GenAI conventions, as plain dicts.

The names follow github.com/open-telemetry/semantic-conventions-genai, which has no release yet (read 2026-11-15). A message has a role and
parts; the policy of `innervoice.show` decides how much of its reasoning is included. Of an unknown block only the type is written,
because it may contain a signature.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import urlsplit

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request, Tool, Wire
from innervoice.canon.response import Response
from innervoice.catalog.lookup import dialect_at, host_of
from innervoice.catalog.targets import names_of
from innervoice.show.policy import Policy, check_policy, thought_about

__all__ = [
    "content_attributes",
    "finish_reasons",
    "input_messages",
    "level_of",
    "openinference_attributes",
    "operation_at",
    "operation_of",
    "output_messages",
    "provider_name",
    "request_attributes",
    "response_attributes",
    "thinking_attributes",
    "tool_definition",
]

_UNKNOWN = "custom"  # the row for servers without a row of their own
# Members of a body that hold content, not settings.
_CONTENT_MEMBERS = frozenset({"messages", "contents", "input", "system", "instructions", "tools"})
_LEVELS = frozenset({"effort", "reasoning_effort", "thinkingLevel", "thinking_level"})
_CACHE_WRITES = ("cache_creation_input_tokens", "cacheWriteInputTokens")


def request_attributes(request: Request, wire: Wire | None = None) -> dict[str, Any]:
    """The attributes of a request; its `wire` form adds the server and the level of reasoning."""
    provider, model = names_of(None, request.model)
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": operation_of(request, wire),
        "gen_ai.provider.name": provider_name(provider),
        "gen_ai.request.model": model,
        "gen_ai.request.stream": True if request.stream else None,
        "gen_ai.request.reasoning.level": level_of(wire.body) if wire else None,
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.top_p": request.top_p,
        "gen_ai.request.stop_sequences": list(request.stop) if request.stop else None,
        "gen_ai.request.previous_response.id": request.extra.get("previous_response_id"),
        "gen_ai.conversation.id": _conversation(request.extra.get("conversation")),
    }
    return _without_none(attributes | (_place(wire.url) if wire else {}))


def response_attributes(response: Response) -> dict[str, Any]:
    """The attributes of a response, with its usage; numbers that were not reported are left out."""
    usage = response.usage
    raw = usage.raw if isinstance(usage.raw, dict) else {}
    return _without_none(
        {
            **thinking_attributes(response.thinking_metrics().members()),
            "gen_ai.response.model": response.model,
            "gen_ai.response.id": response.id,
            "gen_ai.response.finish_reasons": finish_reasons(response),
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens,
            "gen_ai.usage.cache_write.input_tokens": next(
                (raw[name] for name in _CACHE_WRITES if isinstance(raw.get(name), int)), None
            ),
        }
    )


def thinking_attributes(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of what an answer thought, which the conventions have no names for; its tokens only if they are estimated."""
    names = ["first_thought_seconds", "first_answer_seconds", "thinking_seconds", "share", "cost"]
    if metrics["estimated"]:
        names += ["thinking_tokens", "estimated"]
    return {
        f"innervoice.thinking.{name.removeprefix('thinking_')}": metrics[name] for name in names
    }


def content_attributes(
    request: Request, response: Response | None, show: Policy = "full"
) -> dict[str, Any]:
    """The content of a request and its response, as structured attributes."""
    system = [{"type": "text", "content": request.system}] if request.system else None
    return _without_none(
        {
            "gen_ai.system_instructions": system,
            "gen_ai.input.messages": input_messages(request.messages, show),
            "gen_ai.output.messages": output_messages(response, show) if response else None,
            "gen_ai.tool.definitions": [tool_definition(tool) for tool in request.tools] or None,
        }
    )


def input_messages(messages: Sequence[Message], show: Policy = "full") -> list[dict[str, Any]]:
    """The messages of a request, with as much reasoning as the policy allows."""
    check_policy(show)
    return [
        {"role": message.role, "parts": list(_parts(message.parts, show))} for message in messages
    ]


def output_messages(response: Response, show: Policy = "full") -> list[dict[str, Any]]:
    """The messages of a response: the answer, and its alternatives if there are any."""
    check_policy(show)
    return [
        {"role": "assistant", "parts": list(_parts(choice.parts, show))}
        for choice in (response, *response.alternatives)
    ]


# ---- requests ------------------------------------------------------------------------------------


def operation_of(request: Request, wire: Wire | None) -> str:
    """The `gen_ai.operation.name` of a request."""
    provider, model = names_of(None, request.model)
    return operation_at(provider, model, wire.dialect if wire else request.dialect)


def operation_at(provider: str | None, model: str | None, dialect: str | None = None) -> str:
    """The `gen_ai.operation.name` of a request to a provider, in its usual dialect if none is named."""
    host = host_of(provider or _UNKNOWN) or host_of(_UNKNOWN)
    assert host is not None
    return host.otel_operations.get(dialect or dialect_at(host, model or ""), "chat")


def provider_name(provider: str | None) -> str:
    """The `gen_ai.provider.name` of a provider."""
    host = host_of(provider or _UNKNOWN)
    return (host and host.otel_name) or provider or _UNKNOWN


def level_of(body: dict[str, Any]) -> str | None:
    """The level of reasoning as it is sent; None if the body has none."""
    if isinstance(body.get("think"), str):  # Ollama's
        return str(body["think"])
    pending: list[Any] = [{key: item for key, item in body.items() if key not in _CONTENT_MEMBERS}]
    while pending:
        for key, item in pending.pop().items():
            if key in _LEVELS and isinstance(item, str):
                return item
            if isinstance(item, dict):
                pending.append(item)
    return None


def _place(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    if not parts.hostname:
        return {}
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    return {"server.address": parts.hostname, "server.port": port}


def _conversation(value: Any) -> str | None:
    """The id that the caller passed, if any."""
    name = value.get("id") if isinstance(value, dict) else value
    return name if isinstance(name, str) else None


def tool_definition(tool: Tool) -> dict[str, Any]:
    """The definition of a tool; of a provider's own tool only type and name, because its settings may contain keys."""
    if tool.own is not None:
        return _without_none({"type": str(tool.own.get("type") or "other"), "name": tool.name})
    described = {"description": tool.description, "parameters": tool.parameters}
    return _without_none({"type": "function", "name": tool.name, **described})


# ---- responses -----------------------------------------------------------------------------------


def finish_reasons(response: Response) -> list[str]:
    """A finish reason for each choice; "error" for an interrupted answer."""
    return [
        "error" if choice.status == "interrupted" else choice.finish_reason or "stop"
        for choice in (response, *response.alternatives)
    ]


# ---- parts ---------------------------------------------------------------------------------------


def _parts(parts: Sequence[Part], show: Policy) -> Iterator[dict[str, Any]]:
    for thinking, run in groupby(parts, key=lambda part: isinstance(part, Thinking)):
        if not thinking:
            yield from map(_part, run)
        elif show != "none":
            yield from _thoughts(list(run), show)


def _thoughts(run: list[Part], show: Policy) -> Iterator[dict[str, Any]]:
    """Adjacent reasoning parts; where the text is not shown in full, its length is added."""
    for thought in thought_about(run, show):
        attributes: dict[str, Any] = {"type": "reasoning", "content": thought.text}
        if thought.hidden_blocks:
            attributes["hidden_blocks"] = thought.hidden_blocks
        elif len(thought.text) != thought.characters:
            attributes["characters"] = thought.characters
        yield attributes


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "content": part.text}
        case ToolCall():
            members = {"type": "tool_call", "id": part.id, "name": part.name}
            return {**members, "arguments": _arguments(part.arguments)}
        case ToolResult():
            return {"type": "tool_call_response", "id": part.call_id, "response": _result(part)}
        case Media():
            return _media(part)
        case Opaque(value={"type": str(kind)}):
            return {"type": kind}
        case _:
            return {"type": "opaque"}


def _arguments(text: str) -> Any:
    try:
        return load_json(text or "{}")
    except ValueError:
        return text


def _result(part: ToolResult) -> Any:
    if isinstance(part.content, str):
        return part.content
    return [_part(item) for item in part.content]


def _media(part: Media) -> dict[str, Any]:
    kind = (part.mime or "").partition("/")[0]
    modality = kind if kind in ("image", "audio", "video") else "document"
    described = {"modality": modality, "mime_type": part.mime}
    if part.url:
        return _without_none({"type": "uri", **described, "uri": part.url})
    return _without_none({"type": "blob", **described, "content": part.data or ""})


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


# ---- A request and a response -> attributes of OpenInference (0.1.42), as a plain dict.
#
# Its attributes are flat: the names contain the index of each message and part. It also has names for signatures and encrypted content,
# which are never written here.


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
            yield from _flat_parts(head, others)
            number += 1


def _flat_parts(head: str, parts: Sequence[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
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
