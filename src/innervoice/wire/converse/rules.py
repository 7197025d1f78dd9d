"""What Converse refuses about reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from innervoice.canon.parts import Media
from innervoice.canon.target import Target
from innervoice.wire.controls import is_claude
from innervoice.wire.converse import write
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.media import kind_of, misfit_files
from innervoice.wire.refusals import NO_HEADERS, Headers, Refusal
from innervoice.wire.rules import (
    answers,
    claude,
    claude_is_on,
    company,
    is_forced,
    last_turn,
    refused,
    supported,
)
from innervoice.wire.shapes import Kind, Misfit, Needs, Path, Words, refusals, type_name

__all__ = ["BODY", "problems", "shape_problems"]

_NAMES = {"temperature": "temperature", "top_p": "topP", "stop": "stopSequences"}
_CLAUDE = {"thinking", "output_config", "anthropic_beta"}
_MEMBERS = {
    "anthropic-adaptive": _CLAUDE,
    "anthropic-enabled": _CLAUDE,
    "nova": {"reasoningConfig"},
    "qwen-string": {"reasoning_config"},
    "converse-effort": {"reasoning_effort"},
}


def problems(
    body: dict[str, Any], target: Target, headers: Headers = NO_HEADERS
) -> Iterator[Refusal]:
    """Why the API would refuse a body."""
    yield from shape_problems(body, target)
    row = target.row
    signs = is_claude(row)
    fields = as_dict(body.get("additionalModelRequestFields"))
    if signs and "reasoning_config" in fields and "thinking" not in fields:
        fields = {**fields, "thinking": fields["reasoning_config"]}  # another name for the same
        fields.pop("reasoning_config")
    config = as_dict(body.get("inferenceConfig"))
    for name in sorted(fields.keys() - _MEMBERS.get(row.control, set())):
        yield refused(f"{name}: Extra inputs are not permitted")
    if signs:
        yield from map(_wrapped, claude(fields, row, config.get("maxTokens")))
        on = claude_is_on(fields, row)
    else:
        yield from _effort(fields.get("reasoning_effort"), target, "reasoning_effort")
        yield from _effort(fields.get("reasoning_config"), target, "reasoning_config")
        is_off = as_dict(fields.get("reasoningConfig")).get("type") == "disabled"
        on = not is_off and (bool(fields) or row.default != "none")
    yield from company(config, target, _NAMES, on=on)
    choice = as_dict(body.get("toolConfig")).get("toolChoice")
    if on and is_forced(choice) and not row.forced_tools:
        yield _wrapped(refused("Thinking may not be enabled when tool_choice forces tool use."))
    yield from last_turn(body.get("messages"), row)
    for path, file in misfit_files(body.get("messages"), write):
        yield refused(_format_refusal(path, file))
    yield from _history(body, fields, target)


def _format_refusal(path: tuple[str | int, ...], file: Media) -> str:
    """The words of the API, which counts from one."""
    kind = kind_of(file)
    kind = kind if kind in ("image", "video") else "document"
    place = ".".join(f"{step + 1}.member" if isinstance(step, int) else step for step in path)
    word = (file.mime or "").rsplit("/", 1)[-1]
    words = ", ".join(mime.rsplit("/", 1)[-1] for mime in sorted(write.TYPES["image"]))
    known = f": [{words}]" if kind == "image" else ""
    return (
        f"1 validation error detected: Value '{word}' at 'messages.{place}.{kind}.format' failed to satisfy constraint: "
        f"Member must satisfy enum value set{known}"
    )


def _wrapped(refusal: Refusal) -> Refusal:
    """What the model's own API refuses, as Converse passes it on."""
    return refusal.replace(text=f"The model returned the following errors: {refusal.text}")


def _effort(word: Any, target: Target, where: str) -> Iterator[Refusal]:
    taken = supported(target.row)
    if isinstance(word, str) and word not in taken:
        yield refused(f"{where}: Input should be one of {', '.join(taken) or 'nothing'}")


# ---- histories ------------------------------------------------------------------------------------


def _history(body: dict[str, Any], fields: dict[str, Any], target: Target) -> Iterator[Refusal]:
    turns = [as_dict(message) for message in as_list(body.get("messages"))]
    for number, turn in enumerate(turns):
        blocks = [as_dict(block) for block in as_list(turn.get("content"))]
        if not blocks:
            yield refused(
                f"The content field in the Message object at messages.{number} is empty. Add a ContentBlock object "
                "to the content field and try again."
            )
        for position, block in enumerate(blocks):
            yield from _block(block, number, position, target)
        ends_in_thinking = turn.get("role") == "assistant" and "reasoningContent" in (
            blocks[-1] if blocks else {}
        )
        if ends_in_thinking and is_claude(target.row):
            text = (
                f"messages.{number}: The final block in an assistant message cannot be `thinking`."
            )
            yield _wrapped(refused(text))
        following = as_dict(turns[number + 1]) if number + 1 < len(turns) else None
        yield from _answered(blocks, following, number)
        results = sum("toolResult" in block for block in blocks)
        before = as_list(turns[number - 1].get("content")) if number else []
        if results > sum("toolUse" in as_dict(block) for block in before):
            yield refused(
                f"The number of toolResult blocks at messages.{number}.content exceeds the number of toolUse blocks of "
                "previous turn."
            )
    enabled = as_dict(fields.get("thinking")).get("type") == "enabled"
    final = len(turns) - (2 if turns and answers(turns[-1]) else 1)
    if enabled and final >= 0 and turns[final].get("role") == "assistant":
        first = next(map(as_dict, as_list(turns[final].get("content"))), {})
        if "reasoningContent" not in first:
            text = (
                f"messages.{final}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{'tool_use' if 'toolUse' in first else 'text'}`. When `thinking` is enabled, a final `assistant` "
                "message must start with a thinking block (preceeding the lastmost set of `tool_use` and "
                "`tool_result` blocks)."
            )
            yield _wrapped(refused(text))


def _answered(
    blocks: list[dict[str, Any]], following: dict[str, Any] | None, number: int
) -> Iterator[Refusal]:
    called = [as_dict(block["toolUse"]).get("toolUseId") for block in blocks if "toolUse" in block]
    if not called or following is None:
        return
    answered = {
        as_dict(as_dict(block).get("toolResult")).get("toolUseId")
        for block in as_list(following.get("content"))
    }
    missing = [str(name) for name in called if name not in answered]
    if missing:
        yield refused(
            f"Expected toolResult blocks at messages.{number + 1}.content for the following Ids: {', '.join(missing)}"
        )


def _block(block: dict[str, Any], number: int, position: int, target: Target) -> Iterator[Refusal]:
    if block.get("text") == "":
        yield refused(
            f"The text field in the ContentBlock object at messages.{number}.content.{position} is blank. Add text "
            "to the text field, and try again."
        )
    reasoning = as_dict(block.get("reasoningContent"))
    if not reasoning:
        return
    signs = is_claude(target.row)
    if target.row.replay == "never" and not signs:
        yield refused(
            "User messages cannot contain reasoning content. Please remove the reasoning content and try again."
        )
        return
    if "reasoningText" not in reasoning:
        return
    text = as_dict(reasoning["reasoningText"])
    if text.get("text") is None:
        yield refused(
            f"Value at 'messages.{number + 1}.member.content.{position + 1}.member.reasoningContent.reasoningText.text' "
            "failed to satisfy constraint: Member must not be null"
        )
    if not signs and "signature" in text and not target.row.tolerates:
        yield refused(
            "This model doesn't support the reasoningContent.reasoningText.signature field. Remove "
            "reasoningContent.reasoningText.signature and try again."
        )
    elif signs and "signature" not in text:
        yield _wrapped(
            refused(f"messages.{number}.content.{position}.thinking.signature: Field required")
        )
    elif signs and not text["signature"]:
        yield _wrapped(
            refused(
                f"messages.{number}.content.{position}: Invalid `signature` in `thinking` block"
            )
        )


# ---- The members of a Converse request, after botocore 1.44.0, and how Bedrock refuses others.
#
# The error texts follow zed-industries/zed 31815 and fumito-ito/AnthropicSwiftSDK 19 (read 2026-11-16).


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
            type_here = _TYPES[type_name(misfit.value)]
            wanted = _TYPES[misfit.expected[0]]
            text = f"{_pointer(misfit.path)}: expected type: {wanted}, found: {type_here}"
        case _:
            text = f"{_pointer(misfit.path)}: {str(misfit.value)[:100]} is not a valid enum value"
    return Refusal(
        text=f"Malformed input request: {text}, please reformat your input and try again."
    )


def _pointer(path: Path) -> str:
    """A path as a JSON pointer: #/messages/0/content."""
    return "/".join(["#", *(str(step) for step in path if not isinstance(step, Kind))])
