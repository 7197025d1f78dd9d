"""The body of a generateContent request -> a request, and an answer -> what the API sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Opaque, Part, Text, ToolResult
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.tools import standard_schema
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.gemini.read import GeminiReader
from innervoice.wire.gemini.spelling import camel_case
from innervoice.wire.gemini.write import WRAPPERS, read_media
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve import (
    NO_MODEL,
    ModelFacts,
    OpenCalls,
    UserContent,
    assistant_turn,
    checked_messages,
    known,
    own_word,
    request_of,
    schema_format,
    setting_of,
    with_role,
    without,
)

__all__ = [
    "NO_MODEL",
    "UNKNOWN_MODEL",
    "counted",
    "finish_word",
    "model_card",
    "model_list",
    "read_request",
    "write_error",
    "write_stream_error",
]

_CONTENT = UserContent("gemini", read_media)
_MODES: dict[Any, str] = {"AUTO": "auto", "NONE": "none", "ANY": "required"}
_NEAREST = {**_MODES, "VALIDATED": "auto"}
_THINKING = ("includeThoughts", "thinkingLevel", "thinkingBudget")


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body, in either spelling; the model's name is in the path, not here."""
    body = camel_case(body)
    system = body.get("systemInstruction")
    messages: list[Message] = []
    calls = OpenCalls()
    for contents in _turns(checked_messages(_contents(body.get("contents")), "contents")):
        is_turn = contents[0].get("role") == "model"
        calls.begin(is_turn=is_turn)
        messages.append(_turn(contents, calls) if is_turn else _content(contents[0], calls))
        calls.end(messages[-1])
    config = dict(as_dict(body.get("generationConfig")))
    options: dict[str, Any] = {
        "max_tokens": config.pop("maxOutputTokens", None),
        "temperature": config.pop("temperature", None),
        "top_p": config.pop("topP", None),
        "stop": config.pop("stopSequences", None),
        "tools": body.get("tools"),
    }
    elsewhere: dict[str, Any] = {}
    if config.get("responseMimeType") == "application/json":
        if google := config.get("responseSchema"):
            # Google's own kind of schema is sent back unchanged.
            elsewhere["response_format"] = (None, schema_format(standard_schema(google)))
        else:
            del config["responseMimeType"]
            schema = config.pop("responseJsonSchema", None)
            options["response_format"] = (
                schema_format(schema) if schema else {"type": "json_object"}
            )
    thinking = as_dict(config.get("thinkingConfig"))
    setting = _setting(thinking)
    if thinking.get("thinkingBudget") == -1:
        elsewhere["reasoning"] = (
            setting,
            _setting({**thinking, "thinkingBudget": None, "thinkingLevel": "MEDIUM"}),
        )
    if setting is not None:
        options["reasoning"] = setting
        del config["thinkingConfig"]
        if rest := without(thinking, *_THINKING):
            config["thinkingConfig"] = rest
    read = {"contents", "model", "systemInstruction"}
    read |= {"tools"} if isinstance(body.get("tools"), list) else set()
    instruction = without(as_dict(body.get("systemInstruction")), "role", "parts", "text")
    if instruction:
        read.discard("systemInstruction")
        body = {**body, "systemInstruction": instruction}
    text, blocks = _system(system)
    options["system"] = text
    messages = blocks + messages
    choice = _choice(body.get("toolConfig"))
    if choice is not None:
        options["tool_choice"] = choice
        read.add("toolConfig")
    elif nearest := _nearest_choice(body.get("toolConfig")):
        elsewhere["tool_choice"] = (None, nearest)
    rest = {**body, "generationConfig": config} if config else without(body, "generationConfig")
    return request_of(rest, "gemini", messages, options, read, elsewhere=elsewhere)


def _contents(value: Any) -> Any:
    """The contents; the SDKs also allow a text or a single content."""
    if isinstance(value, str):
        return [{"role": "user", "parts": [{"text": value}]}]
    return [value] if isinstance(value, dict) else value


def _system(value: Any) -> tuple[str | None, list[Message]]:
    """The system prompt: as a text, or as a message if it has several parts."""
    if isinstance(value, str):
        return value, []
    parts = as_dict(value).get("parts", value)
    parts = parts if isinstance(parts, list) else [parts] if parts else []
    match parts:
        case [{"text": str(text), **rest}] if not rest:
            return text, []
        case _:
            return None, _CONTENT.system(parts)


def _setting(config: dict[str, Any]) -> Reasoning | None:
    """The reasoning setting; None for one that `Reasoning` cannot express, such as a budget of -1 for any number of tokens."""
    level, budget = config.get("thinkingLevel"), config.get("thinkingBudget")
    includes = config.get("includeThoughts")
    form = ("summary" if includes else "hidden") if isinstance(includes, bool) else None
    if level is not None and not isinstance(level, str):
        return None
    members = {"effort": level.lower() if level else None, "budget": budget, "show": form}
    if budget == 0:
        members = {"effort": "none", "show": form}
    return setting_of({name: value for name, value in members.items() if value is not None})


def _choice(config: Any) -> str | None:
    match config:
        case {"functionCallingConfig": {"mode": str(mode), **rest}} if len(config) == 1:
            names = rest.pop("allowedFunctionNames", None)
            if rest or mode not in _MODES:
                return None
            if mode == "ANY" and isinstance(names, list) and len(names) == 1:
                return str(names[0])
            return None if names else _MODES[mode]
        case _:
            return None


def _nearest_choice(config: Any) -> str | None:
    """The nearest tool choice of other dialects, for one that they cannot express: a mode of Google's own, or several names."""
    mode = as_dict(as_dict(config).get("functionCallingConfig")).get("mode")
    return _NEAREST.get(mode) if isinstance(mode, str) else None


def _turns(contents: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The contents, those of one turn together: google-genai's chats have one for each piece of a stream."""
    turns: list[list[dict[str, Any]]] = []
    for content in contents:
        if turns and _is_piece(content) and _is_piece(turns[-1][-1]):
            turns[-1].append(content)
        else:
            turns.append([content])
    return turns


def _is_piece(content: dict[str, Any]) -> bool:
    """Whether a content may be a piece of a turn of the model: it says nothing of itself."""
    return content.get("role") == "model" and content.keys() <= {"role", "parts"}


def _turn(contents: list[dict[str, Any]], calls: OpenCalls) -> Message:
    """A turn of the model, read like the answer that it was, whole or in pieces."""
    *pieces, last = contents
    reader = GeminiReader(Context(new_call_id=calls.new_id))
    for piece in pieces:
        reader.feed({"candidates": [{"content": piece}]})
    answer = {"candidates": [{"content": last, "finishReason": "STOP"}]}
    return assistant_turn(reader, answer, without(last, "role", "parts"))


def _content(content: dict[str, Any], calls: OpenCalls) -> Message:
    beside = without(content, "role", "parts")
    parts_here = content.get("parts")
    parts: list[Part] = []
    for part in parts_here if isinstance(parts_here, list) else [parts_here] if parts_here else []:
        response = as_dict(as_dict(part).get("functionResponse"))
        if response:
            name = as_text(response.get("name"))
            earlier_id = calls.take(name)
            call_id = as_text(response.get("id")) or earlier_id or name or "unknown"
            parts.append(_result(call_id, response, part))
        else:
            parts.append(_CONTENT.part(part))
    return with_role("user", tuple(parts), "gemini", beside)


def _result(call_id: str, response: dict[str, Any], part: Any) -> ToolResult:
    """A result: the value under one of the usual names is its content, and any other object is its content as a whole.

    Files in a result are in separate parts.
    """
    value = response.get("response")
    match value:
        case {"name": name, "content": content, **rest} if (
            name == response.get("name") and not rest
        ):
            value = {"content": content}  # as the AI SDK writes it
    failed = isinstance(value, dict) and set(value) == {"error"}
    if isinstance(value, dict) and len(value) == 1 and value.keys() <= WRAPPERS:
        (value,) = value.values()
    text = value if isinstance(value, str) else dump_json(value).decode()
    files = [_CONTENT.part(file) for file in as_list(response.get("parts"))]
    origin = Origin(dialect="gemini", block=part)
    if not files:
        return ToolResult(call_id, text, failed, origin)
    kinds_here = (item for item in files if isinstance(item, (Text, Media, Opaque)))
    return ToolResult(call_id, (Text(text), *kinds_here), failed, origin)


# ---- How an answer of Gemini's generateContent ends: its reasons, its counts, and its errors.


_DIALECT = "gemini"
_WORDS: dict[FinishReason | None, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "content_filter": "SAFETY",
    "refusal": "SAFETY",
    "pause": "CONTINUATION",
    "error": "OTHER",
}
_ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    402: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
_PLAIN = {"text", "thought"}


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of a refusal."""
    usual = "INVALID_ARGUMENT" if refusal.status < 500 else "INTERNAL"
    kind = refusal.type or _ERRORS.get(refusal.status, usual)
    error: dict[str, Any] = {"code": refusal.status, "message": refusal.text, "status": kind}
    if refusal.details is not None:
        error["details"] = refusal.details
    elif wait := refusal.headers.get("retry-after"):
        # Google's clients read it here, not in the header.
        error["details"] = [{"@type": _RETRY_INFO, "retryDelay": f"{wait}s"}]
    return {"error": error}


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream."""
    return Frame(dump_json(write_error(refusal)), failed=True)


def finish_word(answer: Response) -> str | None:
    return own_word(answer, _DIALECT) or _WORDS.get(answer.finish_reason)


def counted(usage: Usage) -> dict[str, int]:
    """The counts; candidates are counted without thoughts."""
    output, thought = usage.output_tokens, usage.reasoning_tokens
    counts = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": None if output is None else output - (thought or 0),
        "thoughtsTokenCount": thought,
        "cachedContentTokenCount": usage.cached_input_tokens,
        "totalTokenCount": usage.total_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}


# ---- parts ----------------------------------------------------------------------------------------


# ---- How Gemini's API describes its models.


UNKNOWN_MODEL = Refusal(
    text="models/{model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.",
    status=404,
)


def model_card(model: ModelFacts) -> dict[str, Any]:
    sizes = known(inputTokenLimit=model.context, outputTokenLimit=model.output)
    methods = ["generateContent", "countTokens"]
    card = {"name": f"models/{model.name}", "displayName": model.name}
    return {
        **card,
        **sizes,
        "supportedGenerationMethods": methods,
        **({"thinking": True} if model.reasons else {}),
    }


def model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
    return {"models": [model_card(model) for model in models]}
