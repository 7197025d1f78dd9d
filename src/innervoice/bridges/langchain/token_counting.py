"""Messages and tools -> token counts, without a tokenizer of our own.

tiktoken is used if it is installed and its vocabulary is on this machine; otherwise the number is an estimate. LangChain's own default
would download GPT-2's vocabulary with transformers.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Part, Text, Thinking, ToolResult
from innervoice.canon.request import Request
from innervoice.errors import InnervoiceError, UsageError
from innervoice.planning.plan import planned

__all__ = ["count_message_tokens", "count_tokens", "token_ids"]


def count_tokens(model: str, text: str) -> int:
    """The number of tokens of a text."""
    return int(_tokens().token_counter(model, text=text))


def count_message_tokens(model: str, messages: Sequence[Message], tools: Sequence[Any]) -> int:
    """The number of tokens of messages and tools; reasoning is counted where it is sent back to the model."""
    try:
        sent: Sequence[Message] = planned(Request(model, tuple(messages))).plan.messages
    except InnervoiceError:  # part of a conversation
        sent = messages
    dumped = [_dumped(message) for message in sent]
    return int(_tokens().token_counter(model, messages=dumped, tools=list(tools) or None))


def token_ids(model: str, text: str) -> list[int]:
    """The tokens of a text; needs tiktoken."""
    try:
        return list(_tokens().encode(model, text))
    except NotImplementedError:
        raise UsageError(
            "get_token_ids needs tiktoken and its vocabulary on this machine; get_num_tokens estimates"
            " without them, and custom_get_token_ids= takes another tokenizer"
        ) from None


def _tokens() -> Any:
    return import_module("innervoice.bridges.litellm.tokens")


def _dumped(message: Message) -> dict[str, Any]:
    """A message in the form of the counter: OpenAI's."""
    calls = [
        {"function": {"name": call.name, "arguments": call.arguments}}
        for call in message.tool_calls
    ]
    content = [block for part in message.parts for block in _blocks(part)]
    return {"role": message.role, "content": content, "tool_calls": calls}


def _blocks(part: Part | str) -> list[dict[str, Any]]:
    match part:
        case str():
            return [{"type": "text", "text": part}]
        case Text():
            return [{"type": "text", "text": part.text}]
        case Thinking():
            return [{"type": "thinking", "thinking": part.text}]
        case Media():
            return [{"type": "image"}]
        case ToolResult():
            return [block for item in part.content for block in _blocks(item)]
        case _:
            return []
