"""pydantic-ai messages <-> our messages.

Its thinking parts have a text, an id, one signature and a provider name. The complete turn is also kept in `provider_details`,
under one key, so that a turn that was converted from ours is restored exactly.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic_ai import messages as theirs

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message, Role, system, user
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.response import Response
from innervoice.canon.storage import from_json, to_json
from innervoice.catalog.lookup import host_of

__all__ = ["from_innervoice", "to_innervoice"]

_OURS = "innervoice"


def to_innervoice(value: Any) -> Message | list[Message]:
    """A pydantic-ai message, or a list of them, as ours."""
    if isinstance(value, (list, tuple)):
        return [message for item in value for message in _read(item)]
    messages = list(_read(value))
    return messages[0] if len(messages) == 1 else messages


def from_innervoice(value: Response | Message | list[Message]) -> Any:
    """Our messages as pydantic-ai messages; tool results and user messages become `ModelRequest`s."""
    if isinstance(value, Response):
        return _response(value.message, value)
    if isinstance(value, Message):
        return _response(value, None) if value.role == "assistant" else _request([value], {})
    messages: list[Any] = []
    names = {call.id: call.name for message in value for call in message.tool_calls}
    pending: list[Message] = []
    for message in value:
        if message.role != "assistant":
            pending.append(message)
            continue
        if pending:
            messages.append(_request(pending, names))
            pending = []
        messages.append(_response(message, None))
    return [*messages, _request(pending, names)] if pending else messages


# ---- theirs -> ours --------------------------------------------------------------------------------


def _read(value: Any) -> Iterable[Message]:
    if isinstance(value, theirs.ModelResponse):
        yield _read_response(value)
        return
    for part in value.parts:
        match part:
            case theirs.SystemPromptPart():
                yield system(part.content)
            case theirs.UserPromptPart():
                content = part.content if isinstance(part.content, str) else list(part.content)
                texts = (
                    [content]
                    if isinstance(content, str)
                    else [item for item in content if isinstance(item, str)]
                )
                yield user(texts)
            case theirs.ToolReturnPart() | theirs.RetryPromptPart():
                failed = isinstance(part, theirs.RetryPromptPart)
                text = part.model_response() if failed else part.model_response_str()
                yield Message("tool", (ToolResult(part.tool_call_id, text, failed),))
            case _:
                continue


def _read_response(value: Any) -> Message:
    carried = (value.provider_details or {}).get(_OURS) if value.provider_details else None
    if isinstance(carried, str):
        stored = from_json(carried)
        assert isinstance(stored, Message)
        return stored
    host = host_of(value.provider_name or "")
    provider, dialect = (host.id, host.dialect) if host else (value.provider_name, None)
    parts: list[Part] = []
    for part in value.parts:
        match part:
            case theirs.ThinkingPart():
                block = _block(part, dialect)
                origin = Origin(
                    provider=provider,
                    model=value.model_name,
                    dialect=dialect if block else None,
                    block=block,
                    seals=("signature",) if part.signature else (),
                )
                form = "hidden" if not part.content else "full"
                parts.append(Thinking(part.content or "", form, origin=origin))  # type: ignore[arg-type]
            case theirs.TextPart():
                parts.append(Text(part.content))
            case theirs.ToolCallPart():
                parts.append(ToolCall(part.tool_call_id, part.tool_name, part.args_as_json_str()))
            case _:
                continue
    return Message("assistant", tuple(parts))


def _block(part: Any, dialect: str | None) -> dict[str, Any] | None:
    """The wire block of a thinking part, where it can be reconstructed."""
    match dialect:
        case "anthropic" if part.id == "redacted_thinking":
            return {"type": "redacted_thinking", "data": part.signature}
        case "anthropic" if part.signature:
            return {"type": "thinking", "thinking": part.content, "signature": part.signature}
        case "openai-responses" if part.signature:
            summary = [{"type": "summary_text", "text": part.content}] if part.content else []
            return {
                "type": "reasoning",
                "id": part.id,
                "summary": summary,
                "encrypted_content": part.signature,
            }
        case "openai-chat":
            return {part.id or "reasoning_content": part.content}
        case _:
            return None


# ---- ours -> theirs --------------------------------------------------------------------------------


def _response(message: Message, response: Response | None) -> Any:
    parts: list[Any] = []
    for part in message.parts:
        match part:
            case Thinking():
                name = part.origin.provider if part.origin else None
                parts.append(
                    theirs.ThinkingPart(part.text, signature=_signature(part), provider_name=name)
                )
            case Text():
                parts.append(theirs.TextPart(part.text))
            case ToolCall():
                parts.append(theirs.ToolCallPart(part.name, part.arguments or "{}", part.id))
            case _:
                continue  # kept in `provider_details`
    origin = next((part.origin for part in message.parts if part.origin), None)
    return theirs.ModelResponse(
        parts=parts,
        model_name=(response.model if response else None) or (origin.model if origin else None),
        provider_name=(response.provider if response else None)
        or (origin.provider if origin else None),
        provider_details={_OURS: to_json(message).decode("ascii", "backslashreplace")},
    )


def _signature(part: Thinking) -> str | None:
    block = part.origin.block if part.origin else None
    names = ("signature", "data", "encrypted_content", "thoughtSignature")
    values = [block.get(name) for name in names] if isinstance(block, dict) else []
    return next((item for item in values if isinstance(item, str)), None)


def _request(messages: list[Message], names: dict[str, str]) -> Any:
    parts: list[Any] = []
    roles: dict[Role, Any] = {"system": theirs.SystemPromptPart, "user": theirs.UserPromptPart}
    for message in messages:
        for part in message.parts:
            match part:
                case ToolResult():
                    text = (
                        part.content
                        if isinstance(part.content, str)
                        else dump_json(
                            [item.text for item in part.content if isinstance(item, Text)]
                        ).decode()
                    )
                    parts.append(
                        theirs.ToolReturnPart(names.get(part.call_id, ""), text, part.call_id)
                    )
                case Text():
                    parts.append(roles.get(message.role, theirs.UserPromptPart)(part.text))
                case _:
                    continue
    return theirs.ModelRequest(parts=parts)
