"""The members of a Converse request, after botocore 1.44.0, and how Bedrock refuses others.

The error texts follow zed-industries/zed 31815 and fumito-ito/AnthropicSwiftSDK 19 (read 2026-11-16).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.target import Target
from innervoice.wire.refusals import Refusal
from innervoice.wire.shapes import Kind, Misfit, Needs, Path, Words, refusals, type_name

__all__ = ["BODY", "shape_problems"]

_CACHE = {"type": "string", "ttl": "string"}
_MEDIA = {
    "format": "string", "source": "object", "name": "string", "context": "string", "citations": None, "error": None,
}  # fmt: skip
_SEARCH = {"source": "string", "title": "string", "content": "list", "citations": None}
_RESULT = {
    "json": None, "text": "string", "image": _MEDIA, "document": _MEDIA, "video": _MEDIA, "searchResult": _SEARCH,
}  # fmt: skip
_BLOCK = {
    "text": "string",
    "image": _MEDIA,
    "document": _MEDIA,
    "video": _MEDIA,
    "audio": _MEDIA,
    "toolUse": Needs(
        {"toolUseId": "string", "name": "string", "input": None, "type": None}, ("toolUseId", "name")
    ),
    "toolResult": Needs(
        {"toolUseId": "string", "content": [_RESULT], "status": "string", "type": None}, ("toolUseId",)
    ),
    "guardContent": None,
    "cachePoint": _CACHE,
    "reasoningContent": {"reasoningText": {"text": None, "signature": None}, "redactedContent": None},
    "citationsContent": None,
    "searchResult": _SEARCH,
    "toolAddition": None,
    "toolRemoval": None,
}  # fmt: skip
_TOOL = {
    "toolSpec": Needs(
        {"name": "string", "description": "string", "inputSchema": {"json": None}, "strict": "boolean"},
        ("name", "inputSchema"),
    ),
    "systemTool": {"name": "string"},
    "cachePoint": _CACHE,
}  # fmt: skip
BODY = {
    "modelId": "string",
    "messages": [
        Needs({"role": Words("user", "assistant"), "content": [_BLOCK]}, ("role", "content"))
    ],
    "system": [{"text": "string", "guardContent": None, "cachePoint": _CACHE}],
    "inferenceConfig": {
        "maxTokens": "integer", "temperature": "number", "topP": "number", "stopSequences": ["string"],
    },
    "toolConfig": {
        "tools": [_TOOL],
        "toolChoice": {"auto": "object", "any": "object", "tool": {"name": "string"}},
    },
    "additionalModelRequestFields": "object",
    **dict.fromkeys(
        (
            "guardrailConfig", "promptVariables", "additionalModelResponseFieldPaths", "requestMetadata", "performanceConfig",
            "serviceTier", "outputConfig",
        )
    ),
}  # fmt: skip
_TYPES = {
    "string": "String", "number": "Number", "integer": "Integer", "boolean": "Boolean", "list": "JSONArray",
    "object": "JSONObject", "null": "Null",
}  # fmt: skip


def shape_problems(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    """What the API refuses about the shape of a body."""
    return refusals(body, BODY, target, _worded)


def _worded(misfit: Misfit) -> Refusal:
    above, last = _pointer(misfit.path[:-1]), misfit.path[-1] if misfit.path else ""
    match misfit.what:
        case "unknown":
            text = f"{above}: extraneous key [{last}] is not permitted"
        case "missing":
            text = f"{above}: required key [{last}] not found"
        case "type":
            given = _TYPES[type_name(misfit.value)]
            wanted = _TYPES[misfit.expected[0]]
            text = f"{_pointer(misfit.path)}: expected type: {wanted}, found: {given}"
        case _:
            text = f"{_pointer(misfit.path)}: {str(misfit.value)[:100]} is not a valid enum value"
    return Refusal(
        text=f"Malformed input request: {text}, please reformat your input and try again."
    )


def _pointer(path: Path) -> str:
    """A path as a JSON pointer: #/messages/0/content."""
    return "/".join(["#", *(str(step) for step in path if not isinstance(step, Kind))])
