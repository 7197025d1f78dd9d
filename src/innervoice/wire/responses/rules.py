"""What the Responses API refuses about reasoning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from innervoice.canon.target import Target
from innervoice.wire.json_access import as_dict, as_list, as_text
from innervoice.wire.media import misfit_files
from innervoice.wire.openai_words import openai_worded, unsupported_image
from innervoice.wire.refusals import NO_HEADERS, Headers, Refusal
from innervoice.wire.response_schema import strict_schema
from innervoice.wire.responses import write
from innervoice.wire.responses.compactions import ASKED, NOT_LAST
from innervoice.wire.rules import company, quoted, refused, supported
from innervoice.wire.serve import without
from innervoice.wire.shapes import Kinds, Needs, Words, bracketed, refusals

__all__ = ["BODY", "CALLS", "problems", "shape_problems"]

_NAMES = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_logprobs": "top_logprobs",
    "stop": "stop",
}
CALLS = {"function_call": "function call", "custom_tool_call": "custom tool call"}
"""Calls that the client runs, and their names in errors."""
_LONGEST_ID = 64
_ENCRYPTED = "reasoning.encrypted_content"


def problems(
    body: dict[str, Any], target: Target, headers: Headers = NO_HEADERS
) -> Iterator[Refusal]:
    """Why the API would refuse a body."""
    yield from shape_problems(body, target)
    row, reasoning = target.row, as_dict(body.get("reasoning"))
    word = reasoning.get("effort")
    yield from _effort(word, target)
    on = word != "none" if word else row.default != "none"
    yield from company(body, target, _NAMES, on=on)
    form = as_dict(as_dict(body.get("text")).get("format"))
    if form.get("strict") is True:
        yield from strict_schema(form.get("name"), form.get("schema"))
    if row.control == row.default == "none" and _ENCRYPTED in as_list(body.get("include")):
        yield refused("Encrypted content is not supported with this model.", param="include")
    if body.get("previous_response_id") and body.get("conversation"):
        yield refused(
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.",
            code="mutually_exclusive_parameters",
        )
    if "verified" in headers and reasoning.get("summary"):
        yield refused(
            "Your organization must be verified to generate reasoning summaries. Please go to the settings of "
            "your organization and click on Verify Organization.",
            code="unsupported_value",
            param="reasoning.summary",
        )
    items = [as_dict(item) for item in as_list(body.get("input"))]
    yield from _compaction(items)
    yield from _updates(body, items)
    for number, item in enumerate(items):
        yield from _item(item, number, target, pro=reasoning.get("mode") == "pro")
    yield from _groups(items, target)
    for path, _ in misfit_files(items, write, ("input",)):
        yield unsupported_image(bracketed(path))
    yield from _answered(body, items)
    yield from _async(body, items, target)
    if target.host and target.host.calls_last:
        yield from _calls(items, target, on=on)


def _compaction(items: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Where a compaction may be asked for, and what must follow one: the effort that is in force (can1357/oh-my-pi 11121, 2026-09-10)."""
    kinds = [item.get("type") for item in items]
    if ASKED in kinds[:-1]:
        yield NOT_LAST
    last = max((place for place, kind in enumerate(kinds) if kind == "compaction"), default=0)
    if _UPDATE in kinds[:last] and _UPDATE not in kinds[last:]:
        yield refused(
            "The 'configuration_update' item type is not supported with compaction without a subsequent configuration update.",
            param="input",
        )


def _updates(body: dict[str, Any], items: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Where an item may set another effort: directly before a message of the user, never two in a row; not with compaction.

    The rules are those of OpenAI's guide and of NousResearch/hermes-agent 103019 and 103246 (2026-09); the texts of the refusals of places are not
    known.
    """
    for item, following in pairwise([*items, {}]):
        if item.get("type") != _UPDATE:
            continue
        if body.get("context_management"):
            yield refused("The 'configuration_update' item type is not supported with compaction.", param="input")  # fmt: skip
        elif following.get("type") == _UPDATE:
            yield refused("Consecutive 'configuration_update' items are not supported.", param="input")  # fmt: skip
        elif following.get("role") != "user":
            yield refused("A 'configuration_update' item must directly precede a user message.", param="input")  # fmt: skip


def _async(body: dict[str, Any], items: list[dict[str, Any]], target: Target) -> Iterator[Refusal]:
    """Tools whose results may come later, and calls of them: only the newest models have them."""
    if target.row.async_tools:
        return
    places = [("tools", as_list(body.get("tools"))), ("input", items)]
    for name, values in places:
        for number, value in enumerate(values):
            if as_dict(value).get("async") is not None:
                yield refused(f"Unknown parameter: '{name}[{number}].async'.", param=f"{name}[{number}].async")  # fmt: skip


def _answered(body: dict[str, Any], items: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Each call has one output, and each output its call, unless the server stores the start of the conversation, or items of it."""
    refers = any(item.get("type") == "item_reference" for item in items)
    continues = body.get("previous_response_id") or body.get("conversation") or refers
    with_output = {
        as_text(item.get("call_id")) for item in items if str(item.get("type")).endswith("_output")
    }
    called: dict[Any, str] = {}
    answered: set[Any] = set()
    for item in items:
        kind, name = str(item.get("type")), as_text(item.get("call_id"))
        if kind in CALLS and item is not items[-1] and name not in with_output:
            yield refused(f"No tool output found for {CALLS[kind]} {name}.", param="input")
        if kind in CALLS:
            called[name] = kind
            answered.discard(name)
        call_kind = kind.removesuffix("_output")
        if call_kind == kind or call_kind not in CALLS:
            continue
        if called.get(name) != call_kind and not continues:
            yield refused(
                f"No tool call found for {CALLS[call_kind]} output with call_id {name}.",
                param="input",
            )
        elif name in answered:
            yield refused(
                f"Duplicate tool output found for {CALLS[call_kind]} {name}.", param="input"
            )
        answered.add(name)


def _effort(word: Any, target: Target) -> Iterator[Refusal]:
    row, taken = target.row, supported(target.row)
    if word is None or word in taken or "reasoning.effort" in row.tolerates:
        return
    if not taken:
        usual = "Unsupported parameter: 'reasoning.effort' is not supported with this model."
    else:
        usual = (
            f"Unsupported value: '{word}' is not supported with the '{target.model}' model. "
            f"Supported values are: {quoted(taken)}."
        )
    words = row.says.get("effort")
    text = words.format(model=target.model, word=word) if words is not None else usual
    yield refused(text, code="unsupported_value", param="reasoning.effort")


# ---- items ----------------------------------------------------------------------------------------


def _item(item: dict[str, Any], number: int, target: Target, *, pro: bool) -> Iterator[Refusal]:
    if item.get("type") == _UPDATE and not target.row.effort_updates:
        yield refused("The 'configuration_update' item type is not supported with this model.")
    elif item.get("type") == _UPDATE and pro:
        yield refused(
            "The 'configuration_update' item type is not supported with pro or tournament models."
        )
    if "id" in item:
        yield from _id(item, number)
    if item.get("type") != "reasoning":
        return
    strict = target.host is not None and target.host.sealed_only
    if "summary" not in item and target.provider == "xai":
        yield refused(
            "Could not decode the compaction blob. Ensure it is unmodified from the compact response."
        )
    elif "summary" not in item:
        yield refused(f"Input[{number}] missing required field 'summary'")
    if strict and "status" in item and item["status"] is None:
        yield refused(f"Invalid type for 'input[{number}].status': expected a string, got null.")
    content = as_list(item.get("content"))
    if strict and content:
        yield refused(
            f"Invalid 'input[{number}].content': array too long. Expected an array with maximum length 0, but got "
            f"an array with length {len(content)} instead.",
            code="array_above_max_length",
            param=f"input[{number}].content",
        )


_UPDATE = "configuration_update"
_STARTS = {"reasoning": "rs", "message": "msg", "function_call": "fc"}


def _id(item: dict[str, Any], number: int) -> Iterator[Refusal]:
    name, param = str(item["id"]), f"input[{number}].id"
    starts = _STARTS.get(as_text(item.get("type")) or "")
    if not name:
        text = f"Invalid '{param}': ''. Expected an ID that begins with '{starts or 'msg'}'."
    elif len(name) > _LONGEST_ID:
        text = (
            f"Invalid '{param}': string too long. Expected a string with maximum length 64, but got a string with "
            f"length {len(name)} instead."
        )
    elif not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        text = (
            f"Invalid '{param}': '{name}'. Expected an ID that contains letters, numbers, underscores, or dashes, "
            "but this value contained additional characters."
        )
    else:
        return
    yield refused(text, code="invalid_value", param=param)


def _groups(items: list[dict[str, Any]], target: Target) -> Iterator[Refusal]:
    """A reasoning item with an id needs the item that it led to, and no id may occur twice."""
    seen: set[str] = set()
    followed = _followed(items)
    for number, item in enumerate(items):
        name = item.get("id")
        if not name or not target.host or not target.host.sealed_only:
            if name and name in seen and target.provider == "xai":
                yield refused(
                    "Invalid request content: Each message must have at least one content element."
                )
            seen |= {name} if name else set()
            continue
        if name in seen:
            yield refused(
                f"Duplicate item found with id {name}. Remove duplicate items from your input and try again.",
                param="input",
            )
        seen.add(name)
        if item.get("type") == "reasoning" and not followed[number]:
            yield refused(
                f"Item '{name}' of type 'reasoning' was provided without its required following item.",
                param="input",
            )


def _followed(items: list[dict[str, Any]]) -> list[bool]:
    """For each item, whether an item of the model follows its reasoning; a bare `{"role", "content"}` does not count."""
    flags, follows = [], False
    for item in reversed(items):
        flags.append(follows)
        kind = str(item.get("type", ""))
        if kind == "message":
            follows = item.get("role") == "assistant"
        elif kind != "reasoning":
            follows = kind != "" and not kind.endswith(("_output", "_response", "_update"))
    return flags[::-1]


def _calls(items: list[dict[str, Any]], target: Target, *, on: bool) -> Iterator[Refusal]:
    """DeepSeek: nothing may be between the calls of a turn and their results, and the reasoning is required."""
    thought = False
    behind: dict[str, Any] = {}
    ends = []
    for item in reversed(items):
        ends.append(behind)
        behind = behind if item.get("type") == "function_call" else item
    for item, end in zip(items, reversed(ends), strict=True):
        thought = thought or (
            item.get("type") == "reasoning" and bool(as_list(item.get("content")))
        )
        if item.get("type") != "function_call":
            continue
        if end.get("type") != "function_call_output":
            yield refused(
                f"No tool output found for tool call {item.get('call_id')}.",
                code="invalid_request_error",
            )
        if on and not thought:
            yield refused(
                "The 'reasoning_text' in the thinking mode must be passed back to the API.",
                code="invalid_request_error",
            )


# The members of a request of the Responses API, after the types of the openai SDK 3.49.0 and recorded requests.


_BREAK = {"type": None, "prompt_cache_breakpoint": None}
_INPUT = {
    "input_text": {**_BREAK, "text": "string"},
    "input_image": {**_BREAK, "detail": None, "file_id": "string", "image_url": "string"},
    "input_file": {
        **_BREAK, "detail": None, "file_data": "string", "file_id": "string", "file_url": "string", "filename": "string",
    },
}  # fmt: skip
_PARTS = Kinds(
    "type",
    {
        **_INPUT,
        "input_audio": None,
        "output_text": {"type": None, "text": "string", "annotations": "list", "logprobs": "list"},
        "refusal": {"type": None, "refusal": "string"},
        "computer_screenshot": None,
        "summary_text": {"type": None, "text": "string"},
        "reasoning_text": {"type": None, "text": "string"},
    },
)
_OUTPUT = ("string", [_PARTS])
_ITEM: Mapping[str, Any] = {"type": None, "id": "string", "status": None}
_CALL = {
    **_ITEM, "call_id": "string", "name": "string", "namespace": None, "caller": None, "async": None,
}  # fmt: skip
_RESULT = {**_ITEM, "call_id": "string", "output": _OUTPUT, "caller": None}
_OPEN = (
    "additional_tools", "apply_patch_call", "apply_patch_call_output", "code_interpreter_call", "compaction",
    "compaction_trigger", "computer_call", "computer_call_output", "configuration_update", "file_search_call",
    "image_generation_call", "item_reference", "local_shell_call", "local_shell_call_output", "mcp_approval_request",
    "mcp_approval_response", "mcp_call", "mcp_list_tools", "program", "program_output", "shell_call", "shell_call_output",
    "tool_search_call", "tool_search_output", "web_search_call",
)  # fmt: skip
_ITEMS = Kinds(
    "type",
    {
        "message": Needs(
            {
                **_ITEM,
                "role": Words("assistant", "system", "developer", "user"),
                "content": _OUTPUT,
                "phase": None,
            },
            ("role", "content"),
        ),
        "function_call": Needs({**_CALL, "arguments": "string"}, ("call_id", "name", "arguments")),
        "function_call_output": Needs({**_RESULT, "name": None, "namespace": None}, ("call_id", "output")),
        "custom_tool_call": Needs({**_CALL, "input": "string"}, ("call_id", "name", "input")),
        "custom_tool_call_output": Needs(_RESULT, ("call_id", "output")),
        "reasoning": {**_ITEM, "summary": "list", "content": "list", "encrypted_content": "string"},
        **dict.fromkeys(_OPEN),
    },
    usual="message",
)  # fmt: skip
_TOOL = {
    "type": None, "name": "string", "description": "string", "allowed_callers": None, "async": None, "defer_loading": "boolean",
}  # fmt: skip
_TOOLS = Kinds(
    "type",
    {
        "function": Needs(
            {**_TOOL, "parameters": "object", "strict": "boolean", "output_schema": None}, ("name",)
        ),
        "custom": Needs({**_TOOL, "format": "object"}, ("name",)),
        **dict.fromkeys(
            (
                "apply_patch", "code_interpreter", "computer", "computer_use_preview", "file_search", "image_generation",
                "local_shell", "mcp", "namespace", "programmatic_tool_calling", "shell", "tool_search", "web_search",
                "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11",
            )
        ),
    },
)  # fmt: skip
BODY: Mapping[str, Any] = {
    "model": "string",
    "input": ("string", [_ITEMS]),
    "instructions": "string",
    "max_output_tokens": "integer",
    "max_tool_calls": "integer",
    "temperature": "number",
    "top_p": "number",
    "top_logprobs": "integer",
    "stream": "boolean",
    "stream_options": "object",
    "store": "boolean",
    "background": "boolean",
    "include": "list",
    "previous_response_id": "string",
    "conversation": ("string", "object"),
    "reasoning": {
        "effort": "string", "summary": "string", "generate_summary": "string", "context": None, "mode": None,
    },
    "text": {"format": "object", "verbosity": "string"},
    "tools": [_TOOLS],
    "tool_choice": ("string", "object"),
    "parallel_tool_calls": "boolean",
    "metadata": "object",
    "client_metadata": "object",  # Codex sends it
    "user": "string",
    **dict.fromkeys(
        (
            "access_programs", "context_management", "image", "moderation", "prompt", "prompt_cache_key",
            "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "service_tier", "truncation",
        )
    ),
}  # fmt: skip


def shape_problems(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    """What the API refuses about the shape of a body."""
    extensions = target.host.knows if target.host else ()
    items = body.get("input")
    if isinstance(items, list) and any(
        name in item for item in map(as_dict, items) for name in extensions
    ):
        body = {
            **body,
            "input": [
                without(item, *extensions) if isinstance(item, dict) else item for item in items
            ],
        }
    return refusals(body, BODY, target, openai_worded)
