"""The members of a generateContent request, in the spelling of the API, and how it refuses others.

After google-genai 3.1.0 and recorded requests; the error texts follow Alishahryar1/free-claude-code 542 and flyun/chatAir 108
(read 2026-11-16). The API also accepts names with underscores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.target import Target
from innervoice.wire.refusals import Refusal
from innervoice.wire.shapes import Misfit, Named, Words, bracketed, refusals

__all__ = ["shape_problems"]

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


def _in_both_spellings(shape: Any, made: dict[int, Any]) -> Any:
    """A shape whose objects have each member in camel case and with underscores; `made` are those already done, because a shape may contain itself."""
    if id(shape) in made:
        return made[id(shape)]
    match shape:
        case Named():
            return Named(_in_both_spellings(shape.shape, made))
        case Words() | str() | None:
            return shape
        case dict():
            both: dict[str, Any] = {}
            made[id(shape)] = both
            for name, inner in shape.items():
                both[name] = both[_snake(name)] = _in_both_spellings(inner, made)
            return both
        case _:
            return type(shape)(_in_both_spellings(item, made) for item in shape)


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
            given = dump_json(misfit.value).decode()[:200]
            text = f"Invalid value at '{place}' ({kind}), {given}"
    return Refusal(text=text)


def _snake(path: str) -> str:
    """A path as the API's errors spell it."""
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", path)
