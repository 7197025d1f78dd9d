"""The body of a Messages request -> a request, and an answer -> what the API sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text
from innervoice.canon.request import Request
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.anthropic.read import AnthropicReader
from innervoice.wire.anthropic.write import read_media
from innervoice.wire.dialects import dialect_named
from innervoice.wire.effort_messages import changed_effort
from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve import (
    NO_TIME,
    ModelFacts,
    StoredAnswers,
    UserContent,
    assistant_turn,
    checked_messages,
    claude_setting,
    known,
    own_word,
    request_of,
    schema_format,
    with_role,
    without,
)
from innervoice.wire.write import standard_format

__all__ = [
    "NO_MODEL",
    "STORED",
    "THREADS_BETA",
    "THREAD_MEMBERS",
    "UNKNOWN_MODEL",
    "counted_input",
    "counted_output",
    "model_card",
    "model_list",
    "no_thread",
    "read_message",
    "read_request",
    "stop_reason",
    "thread_refusal",
    "unsupported_thread",
    "write_error",
    "write_stream_error",
]


def _read_block(block: dict[str, Any]) -> Part | None:
    """A file, or a block whose texts the model reads: a search result, or a document in pieces."""
    match block:
        case {"type": "search_result", "content": list(pieces)}:
            pass
        case {"type": "document", "source": {"type": "content", "content": list(pieces)}}:
            pass
        case _:
            return read_media(block)
    texts = [text for piece in pieces if (text := as_text(as_dict(piece).get("text")))]
    return Text("\n\n".join(texts), origin=Origin(dialect="anthropic", block=block))


_CONTENT = UserContent("anthropic", _read_block)
_OPTIONS = ("max_tokens", "temperature", "top_p", "tools", "stream")
_CHOICES: dict[Any, str] = {"auto": "auto", "none": "none", "any": "required"}


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body."""
    messages = [_message(message) for message in checked_messages(body.get("messages"), "messages")]
    read = {"model", "messages", "stop_sequences", "tool_choice", "system", *_OPTIONS}
    options = {name: body.get(name) for name in _OPTIONS}
    options["stop"] = body.get("stop_sequences")
    options["tool_choice"], options["parallel_tool_calls"] = _choice(body.get("tool_choice"))
    elsewhere: dict[str, Any] = {}
    if isinstance(body.get("system"), str):
        options["system"] = body["system"]
    else:
        messages = _CONTENT.system(body.get("system")) + messages
    options["reasoning"], beside = claude_setting(body, elsewhere)
    form = as_dict(beside["output_config"].get("format"))
    if form.keys() == {"type", "schema"} and form["type"] == "json_schema":
        options["response_format"] = schema_format(form["schema"])
        beside["output_config"] = without(beside["output_config"], "format")
    else:
        # One with further members, and one in the older place, are sent back as they are.
        form = form or as_dict(body.get("output_format"))
        if form.get("type") == "json_schema" and "schema" in form:
            elsewhere["response_format"] = (None, standard_format(form))
    rest = {name: members for name, members in beside.items() if members}
    read |= beside.keys() - rest.keys()
    return request_of({**body, **rest}, "anthropic", messages, options, read, elsewhere=elsewhere)


def _choice(choice: Any) -> tuple[Any, bool | None]:
    """Which tools the model may or must call, and whether several at once."""
    single = as_dict(choice).get("disable_parallel_tool_use")
    parallel = not single if isinstance(single, bool) else None
    plain_choice = without(choice, "disable_parallel_tool_use") if parallel is not None else choice
    match plain_choice:
        case {"type": str(kind)} if len(plain_choice) == 1 and kind in _CHOICES:
            return _CHOICES[kind], parallel
        case {"type": "tool", "name": str(name)} if len(plain_choice) == 2 and name not in _CHOICES:
            return name, parallel
        case _:
            return choice, None


def read_message(message: dict[str, Any]) -> Message:
    """Reads one message; raises `DecodeError` for a value of a wrong type."""
    (checked,) = checked_messages([message], "messages")
    return _message(checked)


def _message(message: dict[str, Any]) -> Message:
    content, role = message.get("content"), message.get("role")
    if role == "assistant":
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        answer = {"type": "message", "content": blocks}
        return assistant_turn(
            AnthropicReader(Context()), answer, without(message, "role", "content")
        )
    parts: list[Part] = []
    for block in content if isinstance(content, list) else [content] if content else []:
        match block:
            case {"type": "tool_result", "tool_use_id": call_id, **rest}:
                failed = rest.get("is_error") is True
                # Content that seals are bound to must stay as it was sent the first time, so `false` is not left out.
                written = {"content", "is_error"} if failed else {"content"}
                more = block if rest.keys() - written else None
                parts.append(
                    _CONTENT.result(call_id, rest.get("content"), error=failed, block=more)
                )
            case _:
                parts.append(_CONTENT.part(block))
    beside = without(message, "role", "content")
    if role == "system":
        block = {"role": "system", **beside}
        system = with_role("system", tuple(parts), "anthropic", block)
        effort = changed_effort(block, dialect_named(_DIALECT)) if beside else None
        return system.replace(effort=effort) if effort else system
    return with_role("user", tuple(parts), "anthropic", beside)


# ---- How an answer of Anthropic's Messages API ends: its reasons, its counts, and its errors.


_DIALECT = "anthropic"
_WORDS: dict[FinishReason | None, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
    "refusal": "refusal",
    "pause": "pause_turn",
    "error": "end_turn",  # the API has no word for it: it sends an error instead of a message
}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of a refusal."""
    usual = "invalid_request_error" if refusal.status < 500 else "api_error"
    kind = refusal.type or _ERRORS.get(refusal.status, usual)
    error: dict[str, Any] = {"type": kind, "message": refusal.text}
    if refusal.details is not None:
        error["details"] = refusal.details
    elif isinstance(refusal.code, str):
        error["details"] = {"error_code": refusal.code}
    return {"type": "error", "error": error, "request_id": None}


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream."""
    return Frame(dump_json(write_error(refusal)), "error")


def stop_reason(answer: Response) -> str | None:
    usual = _WORDS.get(answer.finish_reason)
    if answer.tool_calls and usual == "end_turn" and answer.finish_reason != "stop":
        usual = "tool_use"  # the API has no word for this end, and clients run calls only after this one
    return own_word(answer, _DIALECT) or usual


def counted_input(usage: Usage) -> dict[str, Any]:
    """The input token counts; the API counts cached tokens separately."""
    cached = usage.cached_input_tokens
    plain = {"input_tokens": (usage.input_tokens or 0) - (cached or 0)}
    return plain if cached is None else {**plain, "cache_read_input_tokens": cached}


def counted_output(usage: Usage) -> dict[str, Any]:
    """The tokens of the answer, thinking included."""
    output = {"output_tokens": usage.output_tokens or 0}
    thought = usage.reasoning_tokens
    if thought is None:
        return output
    return {**output, "output_tokens_details": {"thinking_tokens": thought}}


# ---- blocks ---------------------------------------------------------------------------------------


# ---- How Anthropic's API describes its models.


NO_MODEL = Refusal(text="model: Field required")
UNKNOWN_MODEL = Refusal(text="model: {model}", status=404)


def model_card(model: ModelFacts) -> dict[str, Any]:
    sizes = known(
        max_input_tokens=model.context,
        # Not in Anthropic's API: Claude Code reads it in a gateway's list.
        context_window=model.context,
        max_tokens=model.output,
    )
    card = {"type": "model", "id": model.name, "display_name": model.name, "created_at": NO_TIME}
    return {**card, **sizes}


def model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
    listed = [model_card(model) for model in models]
    first, last = (models[0].name, models[-1].name) if models else (None, None)
    return {"data": listed, "has_more": False, "first_id": first, "last_id": last}


# ---- Threads: a server holds a conversation under the id of its last answer, and a request sends only what is new.
#
# After the types and helpers of the anthropic SDK 2.8.0 (read 2026-11-17), whose tool runner uses threads unless told otherwise. On some
# errors it goes on by itself: with the whole conversation in a new thread, or without one.


THREADS_BETA = "message-threads-2026-08-12"
THREAD_MEMBERS = ("system", "tools")
"""A thread keeps those that it was created with; a request that continues it must not repeat them."""
_LONGEST_ID = 200


def no_thread(name: str) -> Refusal:
    """The error for a thread that is not held."""
    text = f'No thread was found for the message {name[:_LONGEST_ID]!r}; send the whole conversation with thread.type "create"'
    return Refusal(text=text, status=404, code="thread_not_found")


def unsupported_thread(text: str) -> Refusal:
    """The error for a request that is served only without a thread."""
    text = f"{text}; send the whole conversation without `thread`"
    return Refusal(text=text, param="thread", code="thread_unsupported_request")


def thread_refusal(body: Mapping[str, Any]) -> Refusal | None:
    """What is wrong with the thread of a request; None if nothing is."""
    match body.get("thread"):
        case {"type": "create"} | None:
            return None
        case {"type": "continue", "previous_message_id": str(name)} if name:
            repeated = [member for member in THREAD_MEMBERS if body.get(member)]
            if not repeated:
                return None
            text = f"{', '.join(repeated)}: a thread keeps what it was created with; remove this from requests that continue it"
            return Refusal(text=text, param=repeated[0])
        case _:
            text = 'thread: expected {"type": "create"} or {"type": "continue", "previous_message_id": "msg_..."}'
            return Refusal(text=text, param="thread")


def _continued_message(thread: Any) -> Any:
    return as_dict(thread).get("previous_message_id")


def _messages_of(messages: Any) -> list[Any]:
    return list(messages) if isinstance(messages, list) else []


def _turn(answer: dict[str, Any]) -> list[Any]:
    return [{"role": "assistant", "content": answer.get("content") or []}]


STORED = StoredAnswers(
    dialect=_DIALECT,
    noun="message",
    is_in_last_event=False,
    is_asked_for=True,
    flag=THREADS_BETA,
    input="messages",
    previous="thread",
    previous_in=_continued_message,
    settings=THREAD_MEMBERS,
    output="content",
    output_items=_turn,
    status="stop_reason",
    goes_on=(
        "end_turn", "max_tokens", "model_context_window_exceeded", "pause_turn", "stop_sequence", "tool_use",
    ),
    ended=tuple(sorted({*_WORDS.values(), "model_context_window_exceeded", "stop_sequence"})),
    lost=("thread not found", "thread unsupported request", "thread: extra inputs"),
    items_of=_messages_of,
    missing=no_thread,
    no_previous=no_thread,
    check=thread_refusal,
    unstored=unsupported_thread("the answer may not be stored here"),
)  # fmt: skip
