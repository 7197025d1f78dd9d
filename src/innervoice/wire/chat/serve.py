"""The server's side of Chat Completions: reads requests, writes errors and lists of models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message, Role
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.frames.frame import Frame
from innervoice.wire.chat.read import ChatReader, write_usage
from innervoice.wire.chat.reasoning import DETAILS, FIELDS
from innervoice.wire.chat.write import read_media, write_assistant
from innervoice.wire.dialects import dialect_named
from innervoice.wire.effort_messages import changed_effort
from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve import (
    NO_MODEL,
    UNKNOWN_MODEL,
    Spelling,
    UserContent,
    assistant_turn,
    check_message,
    checked_messages,
    openai_error,
    own_part,
    own_word,
    request_of,
    setting_of,
    with_role,
    without,
)
from innervoice.wire.serve import openai_model as model_card
from innervoice.wire.serve import openai_models as model_list
from innervoice.wire.write import block_of, wholes

__all__ = [
    "DONE",
    "NO_MODEL",
    "UNKNOWN_MODEL",
    "WORDS",
    "chat_setting",
    "completion",
    "message_of",
    "model_card",
    "model_list",
    "read_message",
    "read_request",
    "word_of",
    "write_answer",
    "write_error",
    "write_stream_error",
]

_ROLES: dict[Any, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "tool": "tool",
}
CONTENT = UserContent("openai-chat", read_media)
_CHOICES = ("auto", "none", "required", "any")
_OPTIONS = ("temperature", "top_p", "tools", "parallel_tool_calls", "response_format")


def read_request(
    body: dict[str, Any],
    reader: type[ChatReader] = ChatReader,
    content: UserContent = CONTENT,
) -> Request:
    """Reads a body."""
    messages = [
        _message(message, reader, content)
        for message in checked_messages(body.get("messages"), "messages")
    ]
    read = {"model", "messages", "stop", "stream", "stream_options", "tool_choice", *_OPTIONS}
    options = {name: body.get(name) for name in _OPTIONS}
    elsewhere: dict[str, Any] = {}
    options["tool_choice"] = _choice(body.get("tool_choice"), elsewhere)
    options["stop"] = body.get("stop")
    options["stream"] = body.get("stream")
    for name in ("max_completion_tokens", "max_tokens"):
        if isinstance(body.get(name), int):
            options["max_tokens"] = body[name]
            read.add(name)
    spelling, rest = chat_setting(body)
    if spelling is not None:
        options["reasoning"] = spelling.setting
        read |= spelling.members.keys() - rest.keys()
    if body.get("stream_options") not in (None, {"include_usage": True}):
        read.discard("stream_options")
    return request_of(
        {**body, **rest},
        reader.dialect,
        messages,
        options,
        read,
        spelling=spelling,
        elsewhere=elsewhere,
    )


def read_message(message: dict[str, Any]) -> Message:
    """Reads one message of a body; raises `DecodeError` for a member of a wrong type."""
    check_message(message, "")
    return _message(message, ChatReader, CONTENT)


def _choice(choice: Any, elsewhere: dict[str, Any]) -> Any:
    match choice:
        case {"type": "function", "function": {"name": str(name), **rest}} if not rest:
            return name if len(choice) == 2 and name not in _CHOICES else choice
        case {"type": "custom", "custom": {"name": str(name)}}:
            elsewhere["tool_choice"] = (choice, name)
        case {"type": "allowed_tools", "allowed_tools": {"mode": "auto" | "required" as mode}}:
            elsewhere["tool_choice"] = (choice, mode)
        case _:
            pass
    return choice


def _message(message: dict[str, Any], reader: type[ChatReader], content: UserContent) -> Message:
    role = message.get("role")
    if role == "assistant":
        answer = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        turn = assistant_turn(reader(Context()), answer)
        if "content" in message and not message["content"] and turn.origin:
            # Null and "" differ, and neither is a part.
            block = {**as_dict(turn.origin.block), "content": message["content"]}
            return turn.replace(origin=turn.origin.replace(block=block))
        return turn
    rest = {
        key: value
        for key, value in message.items()
        if value is not None and key not in ("role", "content", "tool_call_id")
    }
    if role == "tool":
        result = content.result(message.get("tool_call_id"), message.get("content"))
        return with_role("tool", (result,), reader.dialect, rest)
    if role not in ("system", "user"):
        rest["role"] = role
    parts = content.parts(message.get("content"))
    message_here = with_role(_ROLES.get(role, "user"), parts, reader.dialect, rest)
    if "configuration_update" not in rest:
        return message_here
    effort = changed_effort(rest, dialect_named(reader.dialect))
    # Where nothing is said besides, there is no part either.
    return (
        message_here.replace(parts=parts if message_here.text else (), effort=effort)
        if effort
        else message_here
    )


# ---- The whole message of a completion, its end, and its errors.


DONE = Frame(b"[DONE]")
_DIALECT = "openai-chat"
_CREATED = 1_767_225_600
"""The first second of 2026: the API requires a time, and none is known."""
WORDS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "error": "error",
}


def write_answer(answer: Response) -> dict[str, Any]:
    """The body of a completion with one choice."""
    parts = tuple(wholes(answer.parts))
    refused = _refusals(parts, answer)
    spoken = answer.replace(parts=tuple(part for part in parts if part not in refused))
    message = message_of(spoken, _DIALECT, lambda text: {"reasoning_content": text})
    message["refusal"] = "".join(part.text for part in refused) or None
    if refused and not message["content"]:
        message["content"] = None
    _mirror_details(message)
    word = word_of(answer, _DIALECT, WORDS)
    if answer.finish_reason == "refusal" and not refused and word == "stop":
        word = "content_filter"  # a refusal without a text has no other member
    return completion(answer, message, word, write_usage(answer.usage))


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of an error."""
    return openai_error(refusal)


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream: a chunk that has nothing else."""
    return Frame(dump_json(write_error(refusal)))


# ---- shared with the relatives of chat --------------------------------------------------------------


def completion(
    answer: Response, message: dict[str, Any], word: str, usage: dict[str, Any]
) -> dict[str, Any]:
    """The body around a message."""
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": word}
    body = {
        "id": answer.id or "chatcmpl-0",
        "object": "chat.completion",
        "created": _CREATED,
        "model": answer.model or "",
        "choices": [choice],
    }
    return {**body, "usage": usage} if usage else body


def message_of(
    answer: Response, dialect: str, plain: Callable[[str], dict[str, Any]]
) -> dict[str, Any]:
    """The message of an answer; `plain` makes the block of reasoning that came without one."""
    parts = [
        part_here
        for part in wholes(answer.parts)
        if (part_here := _part_of_dialect(part, dialect, plain)) is not None
    ]
    origin = answer.origin if answer.origin and answer.origin.dialect == dialect else None
    message = write_assistant(Message("assistant", tuple(parts), origin))
    calls = [part for part in parts if isinstance(part, ToolCall)]
    for number, part in enumerate(calls):
        if part.origin and "id" in part.origin.invented and block_of(part):
            # The host sent none, so none is written.
            message["tool_calls"][number] = block_of(part)
    received = as_dict(origin.block) if origin else {}
    return {**message, **{name: value for name, value in received.items() if name != "content"}}


def _part_of_dialect(
    part: Part, dialect: str, plain: Callable[[str], dict[str, Any]]
) -> Part | None:
    """A part as this dialect can write it: with a block of this dialect, or without one."""
    part_here = own_part(part, dialect)
    if isinstance(part_here, Thinking) and block_of(part_here) is None:
        origin = Origin(dialect=dialect, block=plain(part_here.text))
        return part_here.replace(origin=origin) if part_here.text else None
    return part_here


def word_of(answer: Response, dialect: str, words: dict[str, str]) -> str:
    """The API's word for the finish reason; another dialect's own word is translated."""
    usual = words["tool_calls" if answer.tool_calls else "stop"]
    return own_word(answer, dialect) or words.get(answer.finish_reason or "", usual)


# ---- specific to chat -------------------------------------------------------------------------------


def _refusals(parts: tuple[Part, ...], answer: Response) -> list[Text]:
    """The texts that are a refusal: those that were received as one, or all if the answer is one."""
    texts = [part for part in parts if isinstance(part, Text)]
    marked = [
        part
        for part in texts
        if part.origin
        and part.origin.dialect == _DIALECT
        and as_dict(part.origin.block).get("type") == "refusal"
    ]
    return marked or (texts if answer.finish_reason == "refusal" else [])


def _mirror_details(message: dict[str, Any]) -> None:
    """OpenRouter repeats the text of all details in one field."""
    entries = message.get(DETAILS)
    if not entries or not message.keys().isdisjoint(FIELDS[1:]):
        return
    texts = [entry.get("text") or entry.get("summary") for entry in map(as_dict, entries)]
    message["reasoning"] = "".join(text for text in texts if isinstance(text, str)) or None


# ---- How OpenAI's API describes its models, and its error for an unknown one.


# ---- The members of a chat body that ask for reasoning -> a reasoning setting.
#
# OpenAI has `reasoning_effort`; every other host has its own members. One function reads the value of each member into words that
# `Reasoning.from_any` accepts, and leaves values that it does not understand.


Asked: TypeAlias = dict[str, Any]
_SHOWN = {"parsed": "full", "raw": "full", "hidden": "hidden"}
_SWITCHES = ("enable_thinking", "thinking")


def _effort(value: Any) -> tuple[Asked, Any]:
    if value == "default":  # Groq's word for on
        return {"enabled": True}, None
    return ({"effort": value}, None) if isinstance(value, str) else ({}, value)


def _reasoning(value: Any) -> tuple[Asked, Any]:
    """OpenRouter's object."""
    if not isinstance(value, dict):
        return {}, value
    setting = {name: value[name] for name in ("enabled", "exclude", "summary") if name in value}
    if isinstance(value.get("max_tokens"), int):
        setting["budget"] = value["max_tokens"]
    effort, _ = _effort(value.get("effort"))
    return {**setting, **effort}, without(value, "effort", "max_tokens", *setting)


def _thinking(value: Any) -> tuple[Asked, Any]:
    """The object of DeepSeek, Z.ai and others, modelled on Anthropic's; or a switch."""
    if isinstance(value, bool):
        return {"enabled": value}, None
    members = as_dict(value)
    kind = members.get("type")
    if kind not in ("enabled", "disabled", "adaptive", "auto"):
        return {}, value
    setting: Asked = {"enabled": kind != "disabled"}
    if isinstance(members.get("budget_tokens"), int):
        setting["budget"] = members["budget_tokens"]
    return setting, without(members, "type", "budget_tokens")


def _switch(value: Any) -> tuple[Asked, Any]:
    return ({"enabled": value}, None) if isinstance(value, bool) else ({}, value)


def _budget(value: Any) -> tuple[Asked, Any]:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        return {}, value
    return ({"budget": value} if value else {"enabled": False}), None


def _custom(value: Any) -> tuple[Asked, Any]:
    """SGLang's own parameters, of which one is a budget."""
    members = dict(as_dict(value))
    budget, _ = _budget(members.pop("thinking_budget", None))
    return budget, members if budget else value


def _template(value: Any) -> tuple[Asked, Any]:
    """Arguments of a chat template, in which the switch has one of two names."""
    members = as_dict(value)
    switch = next((name for name in _SWITCHES if isinstance(members.get(name), bool)), None)
    if switch is None:
        return {}, value
    setting: Asked = {"enabled": members[switch]}
    if isinstance(members.get("thinking_budget"), int):
        setting["budget"] = members["thinking_budget"]
    return setting, without(members, switch, "thinking_budget")


def _format(value: Any) -> tuple[Asked, Any]:
    show = _SHOWN.get(as_text(value) or "")
    return ({"show": show}, None) if show else ({}, value)


def _included(value: Any) -> tuple[Asked, Any]:
    return (
        ({"show": "full" if value else "hidden"}, None) if isinstance(value, bool) else ({}, value)
    )


_READ: dict[str, Callable[[Any], tuple[Asked, Any]]] = {
    "chat_template_args": _template,
    "chat_template_kwargs": _template,
    "enable_thinking": _switch,
    "thinking": _thinking,
    "thinking_budget": _budget,
    "thinking_token_budget": _budget,
    "thinking_budget_tokens": _budget,
    "reasoning_budget_tokens": _budget,
    "custom_params": _custom,
    "include_reasoning": _included,
    "reasoning_format": _format,
    "reasoning": _reasoning,
    "reasoning_effort": _effort,
}
"""In rising order: if two members disagree, the later one counts."""


def chat_setting(body: dict[str, Any]) -> tuple[Spelling | None, dict[str, Any]]:
    """The reasoning setting of a body, and the other contents of its members."""
    wishes: Asked = {}
    members: dict[str, Any] = {}
    unread: dict[str, Any] = {}
    is_off = False
    for name, read in _READ.items():
        if body.get(name) is None:
            continue
        part_of_setting, rest = read(body[name])
        if part_of_setting:
            members[name] = body[name]
            is_off = (
                is_off
                or part_of_setting.get("enabled") is False
                or part_of_setting.get("effort") == "none"
            )
            wishes |= part_of_setting
        if rest:
            unread[name] = rest
    if is_off:
        wishes = {"enabled": False}
    setting = setting_of(wishes)
    if setting is None:
        return None, {name: body[name] for name in _READ if name in body}
    is_switch = wishes.get("enabled") is True and wishes.keys().isdisjoint(("effort", "budget"))
    return Spelling(setting, members, is_switch), unread
