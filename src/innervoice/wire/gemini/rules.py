"""What generateContent refuses about reasoning."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.target import Target
from innervoice.wire.gemini import write
from innervoice.wire.gemini.replay import is_placeholder
from innervoice.wire.gemini.spelling import camel_case
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.media import misfit_files
from innervoice.wire.refusals import NO_HEADERS, Headers, Refusal
from innervoice.wire.rules import refused, turns_of
from innervoice.wire.shapes import Misfit, Named, Words, bracketed, refusals

__all__ = [
    "current_turn",
    "needs_signatures",
    "problems",
    "shape_problems",
    "signature_of",
    "signed_steps",
]

MOST_CANDIDATES = 8
_LONG = 40
"""For longer histories the API says only that something is wrong (xesws/socrates-pen 0.23.1; the number is ours)."""


def problems(
    body: dict[str, Any], target: Target, headers: Headers = NO_HEADERS
) -> Iterator[Refusal]:
    """Why the API would refuse a body."""
    yield from shape_problems(body, target)
    body = camel_case(body)
    yield from _settings(body, target)
    contents = [as_dict(content) for content in as_list(body.get("contents"))]
    for _, file in misfit_files(contents, write):
        yield refused(f"Unsupported MIME type: {file.mime}")
    for number, content in enumerate(contents):
        for part in map(as_dict, as_list(content.get("parts"))):
            yield from _signature(signature_of(part), number)
    yield from _answered(contents)
    if needs_signatures(target.model):
        yield from signed_steps(contents)


def _settings(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    row = target.row
    config = as_dict(as_dict(body.get("generationConfig")).get("thinkingConfig"))
    budget, level = config.get("thinkingBudget"), config.get("thinkingLevel")
    count = as_dict(body.get("generationConfig")).get("candidateCount")
    if count is not None and not 1 <= count <= MOST_CANDIDATES:
        yield refused(
            f"Unable to submit request because it has a candidateCount value of {count} but the supported range is from 1 "
            f"(inclusive) to {MOST_CANDIDATES + 1} (exclusive). Update the value and try again."
        )
    if budget is not None and level is not None:
        yield refused("You can only set only one of thinking budget and thinking level.")
    if config and row.control == "none":
        yield refused("Thinking is not supported for this model")
    elif level is not None and row.control != "gemini-level":
        yield refused("Thinking level is not supported for this model")
    elif level is not None and str(level).lower() not in row.efforts:
        yield refused(f"Thinking level {str(level).upper()} is not supported for this model.")
    if budget is None or row.control == "none" or "thinkingBudget" in row.tolerates:
        return
    if budget == 0 and row.off == "never" and target.provider == "vertex":
        yield refused(
            "Unable to submit request because Thinking can't be disabled for this model. "
            "Remove 'thinking_config.thinking_budget' if applicable."
        )
    elif not _fits(budget, target):
        yield refused(f"The thinking budget ({budget}) is invalid.")


def _fits(budget: Any, target: Target) -> bool:
    row = target.row
    if row.budget is None:
        return False
    return (
        budget == -1
        or (budget == 0 and row.off == "value")
        or row.budget[0] <= budget <= row.budget[1]
    )


# ---- histories ------------------------------------------------------------------------------------


def signature_of(part: dict[str, Any]) -> Any:
    """The signature of a part, in either spelling."""
    return part.get("thoughtSignature", part.get("thought_signature"))


def current_turn(contents: list[dict[str, Any]]) -> int:
    """Where the current turn starts: at the last user content that is not only results."""
    for number in range(len(contents) - 1, -1, -1):
        parts = [as_dict(part) for part in as_list(contents[number].get("parts"))]
        if contents[number].get("role") != "model" and any(
            "functionResponse" not in part for part in parts
        ):
            return number
    return 0


def needs_signatures(model: str) -> bool:
    """Whether a model requires the signatures of the current turn: Gemini 3 and later, except those for images."""
    version = re.match(r"gemini-(\d{1,3})", model.rsplit("/", 1)[-1])
    return version is not None and int(version[1]) >= 3 and "image" not in model


def signed_steps(contents: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Steps of the current turn whose first call has no signature."""
    position = 0
    start = current_turn(contents)
    for number, content in enumerate(contents):
        calls = [
            part for part in map(as_dict, as_list(content.get("parts"))) if "functionCall" in part
        ]
        position += len(calls)
        if (
            number > start
            and content.get("role") == "model"
            and calls
            and not signature_of(calls[0])
        ):
            if len(contents) > _LONG:
                yield refused("Request contains an invalid argument.")
                return
            name = as_dict(calls[0]["functionCall"]).get("name")
            yield refused(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                f"data, function call `default_api:{name}` , position {position - len(calls) + 1}. Please refer to "
                "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )


def _answered(contents: list[dict[str, Any]]) -> Iterator[Refusal]:
    for content, following in pairwise([{}, *turns_of(contents, "parts")]):
        calls, results = (
            sum(name in as_dict(part) for part in as_list(turn.get("parts")))
            for turn, name in ((content, "functionCall"), (following, "functionResponse"))
        )
        if results and not calls:
            yield refused(
                "Please ensure that function response turn comes immediately after a function call turn."
            )
        if calls and calls != results:
            yield refused(
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )


def _signature(signature: Any, number: int) -> Iterator[Refusal]:
    if signature is None or is_placeholder(signature):
        return
    try:
        text = str(signature).translate(str.maketrans("-_", "+/")).rstrip("=")
        b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        yield refused(
            f"Invalid value at 'contents[{number}].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed"
        )


# ---- The members of a generateContent request, in the spelling of the API, and how it refuses others.
#
# After google-genai 3.1.0 and recorded requests; the error texts follow Alishahryar1/free-claude-code 542 and flyun/chatAir 108
# (read 2026-11-16). The API also accepts names with underscores.


_SCHEMA = (
    "type", "format", "title", "description", "nullable", "enum", "example", "default", "pattern", "required",
    "propertyOrdering", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "minProperties",
    "maxProperties",
)  # fmt: skip
"""Members of a schema in `parameters`, which is not JSON Schema but Google's own; `parametersJsonSchema` is free."""
_NAMED = {"id": "string", "name": "string"}
_PART = {
    "text": "string",
    "thought": "boolean",
    "thoughtSignature": None,
    "functionCall": {**_NAMED, "args": "object", "partialArgs": None, "willContinue": None},
    "functionResponse": {
        **_NAMED, "response": "object", "parts": "list", "scheduling": None, "willContinue": None,
    },
    "inlineData": {"data": "string", "mimeType": "string", "displayName": "string"},
    "fileData": {"fileUri": "string", "mimeType": "string", "displayName": "string"},
    "executableCode": {"code": "string", "language": "string", "id": "string"},
    "codeExecutionResult": {"outcome": "string", "output": "string", "id": "string"},
    **dict.fromkeys(
        (
            "toolCall", "toolResponse", "videoMetadata", "mediaResolution", "mediaProcessing", "partMetadata",
            "speechMetadata", "audioTranscription",
        )
    ),
}  # fmt: skip
_CONTENT = {"role": Words("user", "model", "function", "system"), "parts": ([_PART], _PART)}
_FUNCTION = {
    "name": "string", "description": "string", "parametersJsonSchema": "object", "response": None,
    "responseJsonSchema": None, "behavior": None,
}  # fmt: skip
_SERVER_TOOLS = (
    "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext", "fileSearch", "googleMaps", "computerUse",
    "enterpriseWebSearch", "exaAiSearch", "mcpServers", "parallelAiSearch", "retrieval",
)  # fmt: skip
_SETTINGS = {
    "temperature": "number",
    "topP": "number",
    "topK": "number",
    "maxOutputTokens": "integer",
    "candidateCount": "integer",
    "stopSequences": ["string"],
    "seed": "integer",
    "presencePenalty": "number",
    "frequencyPenalty": "number",
    "responseMimeType": "string",
    "responseSchema": "object",
    "responseJsonSchema": None,
    "_responseJsonSchema": None,
    "responseModalities": "list",
    "responseLogprobs": "boolean",
    "logprobs": "integer",
    "thinkingConfig": {
        "includeThoughts": "boolean", "thinkingBudget": "integer", "thinkingLevel": "string",
    },
    **dict.fromkeys(
        (
            "audioTimestamp", "audioTranscriptionConfig", "enableAffectiveDialog", "enableEnhancedCivicAnswers", "imageConfig",
            "mediaResolution", "modelSelectionConfig", "responseFormat", "routingConfig", "speechConfig", "translationConfig",
        )
    ),
}  # fmt: skip
_BODY = {
    "model": "string",
    "contents": ([_CONTENT], _CONTENT, "string"),
    "systemInstruction": (
        {"role": "string", "parts": ([_PART], _PART), "text": "string"},
        "string",
        "list",
    ),
    "generationConfig": _SETTINGS,
    "toolConfig": {
        "functionCallingConfig": {
            "mode": "string", "allowedFunctionNames": ["string"], "streamFunctionCallArguments": None,
        },
        "retrievalConfig": None,
        "includeServerSideToolInvocations": "boolean",
    },
    "safetySettings": "list",
    "cachedContent": "string",
    "labels": "object",
    "store": "boolean",
    "serviceTier": None,
    "modelArmorConfig": None,
}  # fmt: skip
_TYPES = {
    "string": "TYPE_STRING", "number": "TYPE_FLOAT", "integer": "TYPE_INT32", "boolean": "TYPE_BOOL",
}  # fmt: skip


def shape_problems(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    """What the API refuses about the shape of a body, in either spelling."""
    return refusals(body, _shape(target.host.knows if target.host else ()), target, _worded)


@cache
def _shape(further: tuple[str, ...]) -> Any:
    """The shape of a body; `further` are additional members of a schema that the host has."""
    schema: dict[str, Any] = dict.fromkeys((*_SCHEMA, *further))
    schema |= {"items": schema, "anyOf": [schema], "properties": Named(schema)}
    tool = {
        "functionDeclarations": [{**_FUNCTION, "parameters": schema}],
        **dict.fromkeys(_SERVER_TOOLS),
    }
    return _in_both_spellings({**_BODY, "tools": [tool]}, {})


def _in_both_spellings(shape: Any, shapes: dict[int, Any]) -> Any:
    """A shape whose objects have each member in camel case and with underscores; `made` are those already done, because a shape may contain itself."""
    if id(shape) in shapes:
        return shapes[id(shape)]
    match shape:
        case Named():
            return Named(_in_both_spellings(shape.shape, shapes))
        case Words() | str() | None:
            return shape
        case dict():
            both: dict[str, Any] = {}
            shapes[id(shape)] = both
            for name, inner in shape.items():
                both[name] = both[_snake(name)] = _in_both_spellings(inner, shapes)
            return both
        case _:
            return type(shape)(_in_both_spellings(item, shapes) for item in shape)


def _worded(misfit: Misfit) -> Refusal:
    place = _snake(bracketed(misfit.path))
    match misfit.what:
        case "unknown":
            above = _snake(bracketed(misfit.path[:-1]))
            at = f" at '{above}'" if above else ""
            text = f'Invalid JSON payload received. Unknown name "{misfit.path[-1]}"{at}: Cannot find field.'
        case "word":
            text = "Please use a valid role: user, model."
        case _:
            kind = _TYPES.get(misfit.expected[0], "TYPE_MESSAGE")
            value_text = dump_json(misfit.value).decode()[:200]
            text = f"Invalid value at '{place}' ({kind}), {value_text}"
    return Refusal(text=text)


def _snake(path: str) -> str:
    """A path as the API's errors spell it."""
    return re.sub(r"[A-Z]", lambda match: f"_{match[0].lower()}", path)
