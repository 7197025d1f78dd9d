"""The body of a Converse request -> a request, and an answer -> what the API sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.usage import Usage
from innervoice.frames.frame import Frame
from innervoice.wire.converse.read import ConverseReader
from innervoice.wire.converse.write import read_media
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.protocol import Context
from innervoice.wire.refusals import Refusal
from innervoice.wire.serve import (
    NO_MODEL,
    ModelFacts,
    UserContent,
    assistant_turn,
    checked_messages,
    claude_setting,
    own_word,
    request_of,
    setting_of,
    with_role,
    without,
)

__all__ = [
    "METRICS",
    "NO_MODEL",
    "UNKNOWN_MODEL",
    "counted",
    "error_headers",
    "model_card",
    "model_list",
    "read_request",
    "stop_reason",
    "write_error",
    "write_stream_error",
]


def _read_block(block: dict[str, Any]) -> Part | None:
    """A file, a result that is JSON and not text, the texts of a search result, or text for a guardrail."""
    if set(block) == {"json"}:
        origin = Origin(dialect="bedrock-converse", block=block)
        return Text(dump_json(block["json"]).decode(), origin=origin)
    match block:
        case {"searchResult": {"content": list(pieces)}}:
            texts = [text for piece in pieces if (text := as_text(as_dict(piece).get("text")))]
            return Text("\n\n".join(texts), origin=Origin(dialect="bedrock-converse", block=block))
        case {"guardContent": {"text": {"text": str(text)}}}:
            return Text(text, origin=Origin(dialect="bedrock-converse", block=block))
        case _:
            return read_media(block)


_FIELDS = "additionalModelRequestFields"
_CONTENT = UserContent("bedrock-converse", _read_block)


def read_request(body: dict[str, Any]) -> Request:
    """Reads a body; the model's name is in the path, not here."""
    messages = [_message(message) for message in checked_messages(body.get("messages"), "messages")]
    config = dict(as_dict(body.get("inferenceConfig")))
    options: dict[str, Any] = {
        "max_tokens": config.pop("maxTokens", None),
        "temperature": config.pop("temperature", None),
        "top_p": config.pop("topP", None),
        "stop": config.pop("stopSequences", None),
    }
    read = {"messages", "model", "system"}
    system = as_list(body.get("system"))
    plain = as_text(as_dict(system[0]).get("text")) if len(system) == 1 else None
    if plain is not None and len(system[0]) == 1:
        options["system"] = plain
    else:
        messages = _CONTENT.system(system) + messages
    tools = dict(as_dict(body.get("toolConfig")))
    options["tools"] = tools.pop("tools", None)
    choice = _choice(tools.get("toolChoice"))
    if choice is not None:
        options["tool_choice"] = choice
        del tools["toolChoice"]
    elsewhere: dict[str, Any] = {}
    options["reasoning"], fields = _setting(as_dict(body.get(_FIELDS)), elsewhere)
    changed = {"inferenceConfig": config, "toolConfig": tools, _FIELDS: fields}
    read |= {name for name, rest in changed.items() if not rest}
    changed = {name: rest for name, rest in changed.items() if rest}
    return request_of(
        {**body, **changed}, "bedrock-converse", messages, options, read, elsewhere=elsewhere
    )


def _setting(
    fields: dict[str, Any], elsewhere: dict[str, Any]
) -> tuple[Reasoning | None, dict[str, Any]]:
    """The reasoning setting, in the form of Claude, Nova or an open model, and the other members."""
    match fields:
        case {"reasoningConfig": {"type": "disabled"}}:
            return Reasoning("none"), without(fields, "reasoningConfig")
        case {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}:
            setting = setting_of({"effort": effort})
            return setting, without(fields, "reasoningConfig") if setting else fields
        case {"reasoning_config": str(effort)} if setting := setting_of({"effort": effort}):
            return setting, without(fields, "reasoning_config")
        case {"reasoning_config": dict(config)} if setting := setting_of(config):
            return setting, without(fields, "reasoning_config")
        case {"reasoning_effort": str(effort)} if setting := setting_of({"effort": effort}):
            return setting, without(fields, "reasoning_effort")
        case _:
            setting, beside = claude_setting(fields, elsewhere)
            rest = {name: members for name, members in beside.items() if members}
            return setting, {**without(fields, *beside), **rest}


def _choice(choice: Any) -> str | None:
    match choice:
        case {"auto": {**rest}} if len(choice) == 1 and not rest:
            return "auto"
        case {"any": {**rest}} if len(choice) == 1 and not rest:
            return "required"
        case {"tool": {"name": str(name), **rest}} if len(choice) == 1 and not rest:
            return name
        case _:
            return None


def _message(message: dict[str, Any]) -> Message:
    beside = without(message, "role", "content")
    if message.get("role") == "assistant":
        return assistant_turn(ConverseReader(Context()), {"output": {"message": message}}, beside)
    parts: list[Part] = []
    content = message.get("content")
    for block in [content] if isinstance(content, str) else as_list(content):
        match block:
            case {"toolResult": {"toolUseId": call_id, **rest}}:
                more = block if rest.keys() - {"content", "status"} or len(block) > 1 else None
                failed = rest.get("status") == "error"
                parts.append(
                    _CONTENT.result(call_id, rest.get("content"), error=failed, block=more)
                )
            case _:
                parts.append(_CONTENT.part(block))
    return with_role("user", tuple(parts), "bedrock-converse", beside)


# ---- How an answer of Bedrock's Converse ends: its reasons, its counts, and its errors.
#
# The type of an error is in a header, or in the name of its frame; the body has only the message.


_DIALECT = "bedrock-converse"
_WORDS: dict[FinishReason | None, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "content_filtered",
    "refusal": "refusal",
    "pause": "end_turn",  # the API has no word for it
    "error": "malformed_model_output",
}
_ERRORS = {
    400: "ValidationException",
    401: "AccessDeniedException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    402: "ServiceQuotaExceededException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
    529: "ServiceUnavailableException",
}
# A stream has only these.
_STREAM_ERRORS = (
    "internalServerException",
    "modelStreamErrorException",
    "validationException",
    "throttlingException",
    "serviceUnavailableException",
)
METRICS = {"latencyMs": 0}  # there is no clock here


def write_error(refusal: Refusal) -> dict[str, Any]:
    """The body of a refusal; its type is in a header."""
    return {"message": refusal.text}


def error_headers(refusal: Refusal) -> dict[str, str]:
    """The type of a refusal; botocore reads it only from this header."""
    return {"x-amzn-errortype": _error_type(refusal)}


def _error_type(refusal: Refusal) -> str:
    usual = "ValidationException" if refusal.status < 500 else "InternalServerException"
    return refusal.type or _ERRORS.get(refusal.status, usual)


def write_stream_error(refusal: Refusal) -> Frame:
    """An error in the middle of a stream."""
    kind = _error_type(refusal)
    name = kind[:1].lower() + kind[1:]
    if name not in _STREAM_ERRORS:
        name = "modelStreamErrorException"
    return Frame(dump_json(write_error(refusal)), name, failed=True)


def stop_reason(answer: Response) -> str | None:
    usual = _WORDS.get(answer.finish_reason)
    if answer.tool_calls and usual == "end_turn" and answer.finish_reason != "stop":
        usual = "tool_use"  # the API has no word for this end, and clients run calls only after this one
    return own_word(answer, _DIALECT) or usual


def counted(usage: Usage) -> dict[str, int]:
    """The counts; tokens read from the cache are not input here, but are in the total."""
    read, written, cached = (
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        usage.cached_input_tokens,
    )
    counts = {
        "inputTokens": read - (cached or 0),
        "outputTokens": written,
        "totalTokens": read + written,
    }
    return counts if cached is None else {**counts, "cacheReadInputTokens": cached}


# ---- blocks ---------------------------------------------------------------------------------------


# ---- How AWS Bedrock describes its models.


UNKNOWN_MODEL = Refusal(text="The provided model identifier is invalid.")


def _summary(model: ModelFacts) -> dict[str, Any]:
    return {
        "modelArn": f"arn:aws:bedrock:::foundation-model/{model.name}",
        "modelId": model.name,
        "modelName": model.name,
        "providerName": model.owner,
        "inputModalities": ["TEXT"],
        "outputModalities": ["TEXT"],
        "responseStreamingSupported": True,
        "inferenceTypesSupported": ["ON_DEMAND"],
        "modelLifecycle": {"status": "ACTIVE"},
    }


def model_card(model: ModelFacts) -> dict[str, Any]:
    return {"modelDetails": _summary(model)}


def model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
    return {"modelSummaries": [_summary(model) for model in models]}
