"""Messages and requests -> the prompt column: roles, texts, reasoning, tool calls and their results."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, Thinking, ToolCall, ToolResult
from innervoice.canon.storage import from_json
from innervoice.canon.words import REASONING_FIELDS
from innervoice.errors import DecodeError
from innervoice.sources.stored import history_from
from innervoice.wire.envelopes import parsed_text

__all__ = [
    "TRACE_INPUTS",
    "TRACE_OUTPUTS",
    "calls_in",
    "calls_text",
    "is_trace_output",
    "member_message",
    "prompt_message",
    "prompt_of_message",
    "prompt_of_request",
    "prompt_of_trace",
    "reasoning_field",
    "rendered_messages",
    "request_in",
    "stored_message",
    "trace_output",
]

# ---- messages as data sets write them: reasoning fields, tool calls and their results, and messages in our own JSON ----


_FIELDS = (*REASONING_FIELDS[1:], "thought", "think", "analysis")
# AM-DeepSeek-R1-Distilled also has its answers split, next to the content.
_NESTED_FIELDS = (("info", "think_content"),)
# LLaMA-Factory writes a call as the JSON at the end of a value.
_WRITTEN_CALL = re.compile(r'(?:\[\s*)?\{\s*"name"\s*:')


def reasoning_field(message: dict[str, Any]) -> str | None:
    """The reasoning in a separate field of a message."""
    fields = (message.get(name) for name in _FIELDS)
    nested = (
        inner.get(name)
        for outer, name in _NESTED_FIELDS
        if isinstance(inner := message.get(outer), dict)
    )
    return next((value for value in (*fields, *nested) if isinstance(value, str)), None)


def stored_message(message: dict[str, Any]) -> Message | None:
    """The message, if it is in the JSON that `to_json` writes."""
    if message.get("type") != "message" or not isinstance(message.get("parts"), list):
        return None
    try:
        read = from_json(dump_json(message))
    except DecodeError:
        return None
    return read if isinstance(read, Message) else None


def calls_in(message: dict[str, Any], text: str | None) -> tuple[str | None, tuple[ToolCall, ...]]:
    """The tool calls of a message, and its text without calls that are written in it."""
    if message.get("from") == "function_call" and text:
        match = _WRITTEN_CALL.search(text)
        try:
            written = load_json(text[match.start() :]) if match else None
        except ValueError:
            written = None
        if written is not None and match is not None:
            return text[: match.start()], _calls(
                written if isinstance(written, list) else [written]
            )
    return text, _calls(message.get("tool_calls"))


def _calls(written: Any) -> tuple[ToolCall, ...]:
    calls = []
    for index, call in enumerate(written if isinstance(written, (list, tuple)) else ()):
        function = (call.get("function") or call) if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            continue
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else dump_json(arguments).decode()
        calls.append(ToolCall(str(call.get("id") or f"call_{index}"), function["name"], arguments))
    return tuple(calls)


def calls_text(calls: Iterable[ToolCall]) -> str | None:
    """Tool calls in the form of the schema: the JSON of a list of id, name and arguments; None if there are none."""
    listed = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]
    return dump_json(listed).decode() if listed else None


def prompt_message(role: str, content: str | None, message: dict[str, Any]) -> dict[str, Any]:
    """A message in the form of the prompt column; members without a value are left out."""
    stored = stored_message(message)
    if stored is not None:
        return prompt_of_message(stored)
    content, calls = calls_in(message, content)
    call_id = message.get("tool_call_id")
    reasoning = reasoning_field(message) if role == "assistant" else None
    return member_message(
        role, content, reasoning, calls, None if call_id is None else str(call_id)
    )


def prompt_of_message(message: Message) -> dict[str, Any]:
    """One of our messages in the form of the prompt column."""
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    texts = [_result_text(part) for part in results]
    return member_message(
        message.role,
        "\n\n".join(texts) if results else message.text,
        message.thinking,
        message.tool_calls,
        results[0].call_id if results else None,
    )


def _result_text(result: ToolResult) -> str:
    if isinstance(result.content, str):
        return result.content
    return "\n\n".join(part.text for part in result.content if isinstance(part, Text))


def member_message(
    role: str,
    content: str | None,
    reasoning: str | None,
    calls: Iterable[ToolCall],
    call_id: str | None,
) -> dict[str, Any]:
    """A message in the form of the prompt column, of its members; those without a value are left out."""
    more = {"reasoning": reasoning or None, "calls": calls_text(calls), "call_id": call_id}
    members = {name: value for name, value in more.items() if value is not None}
    return {"role": role, "content": content, **members}


# ---- requests of APIs ----------------------------------------------------------------------------------

_BODIES = ("body", "params", "request", "modelInput")
_MESSAGES = ("messages", "contents", "input")
_SYSTEMS = ("system", "instructions", "systemInstruction", "system_instruction")


def request_in(line: dict[str, Any]) -> dict[str, Any] | None:
    """The request that a line of a batch holds; None if it holds none."""
    bodies = (line[name] for name in _BODIES if isinstance(line.get(name), dict))
    return next((body for body in bodies if any(name in body for name in _MESSAGES)), None)


def prompt_of_request(
    body: dict[str, Any],
) -> tuple[list[dict[str, Any]] | None, str | None]:
    """The prompt of a request, and what of it the prompt does not have; None if it has everything."""
    content = next((body[name] for name in _MESSAGES if body.get(name) is not None), None)
    listed = [{"role": "user", "content": content}] if isinstance(content, str) else content
    if not isinstance(listed, list) or not listed:
        return None, f"the request has no messages, under none of {', '.join(_MESSAGES)}"
    try:
        history = history_from(listed, inline="off")
    except DecodeError as error:
        return None, f"the prompt could not be read: {error}"
    prompt = [prompt_of_message(message) for message in history.messages]
    system = next((body[name] for name in _SYSTEMS if body.get(name) is not None), None)
    if text := _text(system):
        prompt.insert(0, {"role": "system", "content": text})
    missing = [
        part.type
        for message in history.messages
        for part in message.parts
        if not isinstance(part, (Text, Thinking, ToolCall, ToolResult))
    ]
    names = ", ".join(dict.fromkeys(missing))
    return prompt, f"a part of the prompt is not text: {names}" if missing else None


def _text(value: Any) -> str | None:
    """The text of a system prompt, which may be in blocks or parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _text(value.get("parts") or value.get("text"))
    if isinstance(value, list):
        return "\n\n".join(filter(None, map(_text, value))) or None
    return None


# ---- conversations as chat templates write them ----------------------------------------------------------

_RENDERED = (
    re.compile(
        r"<\|start\|>(?P<role>[a-z]+)(?P<rest>[^<]*(?:<\|channel\|>[^<]*)?(?:<\|constrain\|>[^<]*)?<\|message\|>)(?P<content>.*?)(?:<\|end\|>|<\|return\|>|<\|call\|>|\Z)",
        re.DOTALL,
    ),
    re.compile(
        r"<\|im_start\|>(?P<role>[a-z]+)(?P<rest>)\n(?P<content>.*?)(?:<\|im_end\|>|\Z)", re.DOTALL
    ),
    re.compile(
        r"<\|start_header_id\|>(?P<role>[a-z]+)(?P<rest>)<\|end_header_id\|>\n\n(?P<content>.*?)(?:<\|eot_id\|>|<\|eom_id\|>|\Z)",
        re.DOTALL,
    ),
)
"""The turns of gpt-oss, of ChatML, and of Llama 3."""


def rendered_messages(text: str) -> list[dict[str, Any]] | None:
    """The messages of a text that a chat template wrote, from its first turn; None for other texts. The channels of one answer stay together."""
    for pattern in _RENDERED:
        turns = list(pattern.finditer(text))
        if not turns or text[: turns[0].start()].strip() not in ("", "<|begin_of_text|>"):
            continue
        if turns[0]["role"] == "assistant":
            return None  # one answer, not a conversation
        messages: list[dict[str, Any]] = []
        for turn in turns:
            role = "system" if turn["role"] == "developer" else turn["role"]
            if role != "assistant" or not turn["rest"]:
                messages.append({"role": role, "content": turn["content"]})
            elif messages[-1]["role"] == role:
                messages[-1]["content"] += turn[0]
            else:
                messages.append({"role": role, "content": turn[0]})
        return messages
    return None


# ---- calls of a model as Langfuse and LangSmith export them -----------------------------------------------

TRACE_INPUTS = ("inputs", "input")
TRACE_OUTPUTS = ("outputs", "output")
_OUTPUT_MEMBERS = frozenset((
    "role", "content", "choices", "candidates", "generations", "messages", "message", "output", "completion", "kwargs",
))  # fmt: skip
_OUTPUT_TEXTS = ("output", "completion", "text", "answer", "response", "result")
_INPUT_TEXTS = ("input", "question", "prompt", "query", "text")


def is_trace_output(value: Any) -> bool:
    """Whether a value is the output of a call: an object with a message, generations or an answer of an API."""
    value = parsed_text(value)
    return isinstance(value, dict) and not _OUTPUT_MEMBERS.isdisjoint(value)


def trace_output(value: Any) -> Any:
    """The text, the message or the answer of an API in an output."""
    value = parsed_text(value)
    while isinstance(value, (list, tuple)) and value:
        value = value[-1]
    if not isinstance(value, dict):
        return value
    for name in ("generations", "messages", "message"):
        if isinstance(inner := value.get(name), (list, dict)) and inner:
            return trace_output(inner[:1] if name == "generations" else inner)
    if "role" in value or "kwargs" in value or "choices" in value or "candidates" in value:
        return value
    texts = (value[name] for name in _OUTPUT_TEXTS if isinstance(value.get(name), str))
    return next(texts, value)


def prompt_of_trace(value: Any) -> list[dict[str, Any]] | None:
    """The prompt in the input of a call."""
    value = parsed_text(value)
    if isinstance(value, dict):
        texts = (value[name] for name in _INPUT_TEXTS if isinstance(value.get(name), str))
        value = value.get("messages") or next(texts, None)
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if isinstance(value, list) and value and isinstance(value[0], list):
        value = value[0]
    if not isinstance(value, list) or not value:
        return None
    try:
        return [prompt_of_message(one) for one in history_from(value, inline="off").messages]
    except DecodeError:
        return None
