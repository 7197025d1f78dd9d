"""What the Messages API refuses about reasoning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any

from innervoice.canon.target import Target
from innervoice.wire.anthropic import write
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.media import misfit_files
from innervoice.wire.refusals import NO_HEADERS, Headers, Refusal
from innervoice.wire.response_schema import claude_schema
from innervoice.wire.rules import (
    answers,
    claude,
    claude_is_on,
    is_forced,
    last_turn,
    quoted,
    refused,
    turns_of,
)
from innervoice.wire.shapes import Kinds, Misfit, Needs, Words, dotted, refusals

__all__ = ["BODY", "problems", "shape_problems"]

THINKING = ("thinking", "redacted_thinking")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_SAMPLING = ("temperature", "top_p", "top_k")
_MOST_MARKS = 4
_EFFORT_FLAGS = {"mid-conversation-output-config-2026-07-01", "per-turn-control-2026-07-01"}
_WITHOUT_SAMPLING = "2026-10-21"


def problems(
    body: dict[str, Any], target: Target, headers: Headers = NO_HEADERS
) -> Iterator[Refusal]:
    """Why the API would refuse a body."""
    yield from shape_problems(body, target)
    yield from _enveloped(body, target)
    row, limit = target.row, body.get("max_tokens")
    on = claude_is_on(body, row)
    if not isinstance(limit, int) or limit < 0:
        yield refused("max_tokens: Field required")
    elif limit == 0 and (
        body.get("stream") or as_dict(body.get("thinking")).get("type") == "enabled"
    ):
        yield refused("max_tokens: 0 cannot be combined with streaming or enabled thinking")
    betas = headers.get("anthropic-beta", "").split(",")
    yield from claude({"anthropic_beta": betas, **body}, row, limit)
    yield from _sampling(body, target, headers, on=on)
    if on and is_forced(body.get("tool_choice")) and not row.forced_tools:
        yield refused("Thinking may not be enabled when tool_choice forces tool use.")
    for edit in as_list(as_dict(body.get("context_management")).get("edits")):
        if as_dict(edit).get("type") == "clear_thinking_20251015" and not on:
            yield refused(
                "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive"
            )
    form = as_dict(as_dict(body.get("output_config")).get("format"))
    if form:
        yield from claude_schema(form.get("schema"))
    for number, tool in enumerate(map(as_dict, as_list(body.get("tools")))):
        demanded = tool.get("type") in (None, "custom") and not tool.get("defer_loading")
        if demanded and tool.get("input_schema") is None:
            yield refused(f"tools.{number}.custom.input_schema: Field required")
    marks = sum(
        1 for _ in _cache_marks([body.get(name) for name in ("tools", "system", "messages")])
    )
    if marks > _MOST_MARKS:
        yield refused(
            f"A maximum of {_MOST_MARKS} blocks with cache_control may be provided. Found {marks}."
        )
    betas += map(str, as_list(body.get("anthropic_beta")))
    yield from _efforts(body, target, None if headers is NO_HEADERS else frozenset(betas))
    yield from last_turn(body.get("messages"), row)
    yield from _history(body, target, on=on)


def _efforts(
    body: dict[str, Any], target: Target, flags: frozenset[str] | None
) -> Iterator[Refusal]:
    """Messages that set another effort: only with a flag, and only at models that have them. None: the flags are not known."""
    row = target.row
    for number, message in enumerate(map(as_dict, as_list(body.get("messages")))):
        if "output_config" not in message:
            continue
        place, word = f"messages.{number}.output_config", as_dict(message["output_config"]).get("effort")  # fmt: skip
        is_flagged = flags is None or not flags.isdisjoint(_EFFORT_FLAGS)
        if not is_flagged or not (row.effort_updates or row.guess):
            yield refused(f"{place}: Extra inputs are not permitted")
        elif message.get("role") != "system":
            yield refused(f"{place}: Only messages with role 'system' can change the configuration")
        elif word is not None and row.efforts and word not in row.efforts:
            words = quoted(list(row.efforts), "or").replace(", or", " or")
            yield refused(f"{place}.effort: Input should be {words}")


def _cache_marks(lists: list[Any]) -> Iterator[Any]:
    """The cache marks of tools, of the system prompt, and of blocks in messages and in results."""
    for block in map(as_dict, chain.from_iterable(map(as_list, lists))):
        if block.get("cache_control"):
            yield block["cache_control"]
        yield from _cache_marks([block.get("content")])


def _enveloped(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    """What Vertex and Bedrock require differently: the model's name only in the path, and the version in the body."""
    host = target.host
    if host is None:
        return
    if "model" in body and "{model}" in host.paths.get("anthropic", ""):
        yield refused("model: Extra inputs are not permitted")
    for name in host.lacks:
        if name in body:
            yield refused(f"{name}: Extra inputs are not permitted")
    for name in host.members.get("anthropic", {}):
        if name not in body:
            yield refused(f"{name}: Field required")


def _sampling(
    body: dict[str, Any], target: Target, headers: Headers, *, on: bool
) -> Iterator[Refusal]:
    row = target.row
    for name in _SAMPLING:
        value = body.get(name)
        if value is None:
            continue
        version = body.get("anthropic_version") or headers.get("anthropic-version")
        if version == _WITHOUT_SAMPLING:
            yield refused(f"{name}: Extra inputs are not permitted")
        elif name in row.refuses_always and value != 1:
            yield refused(f"`{name}` is not supported for this model.")
        elif on and name in row.refuses and name == "top_p" and value < 0.95:
            yield refused("`top_p` must be greater than or equal to 0.95 when thinking is enabled.")
        elif on and name in row.refuses and name == "top_k":
            yield refused("`top_k` must be unset when thinking is enabled.")
        elif on and name in row.refuses and name == "temperature" and value != 1:
            yield refused("`temperature` may only be set to 1 when thinking is enabled.")


# ---- histories ------------------------------------------------------------------------------------


def _history(body: dict[str, Any], target: Target, *, on: bool) -> Iterator[Refusal]:
    turns = [as_dict(message) for message in as_list(body.get("messages"))]
    latest = max((n for n, turn in enumerate(turns) if turn.get("role") == "assistant"), default=-1)
    for number, turn in enumerate(turns):
        if turn.get("role") == "assistant":
            yield from _turn(turn, number)
    for path, _ in misfit_files(turns, write, ("messages",)):
        *others, last = (f"'{mime}'" for mime in write.TYPES["image"])
        words = f"{', '.join(others)} or {last}"
        yield refused(f"{dotted(path)}.image.source.base64.media_type: Input should be {words}")
    for number, (turn, following) in enumerate(pairwise([{}, *turns_of(turns)])):
        yield from _answered(turn, following, number)
    if latest < 0:
        return
    blocks = [as_dict(block) for block in as_list(turns[latest].get("content"))]
    thought = any(block.get("type") in THINKING for block in blocks)
    if (
        as_dict(body.get("thinking")).get("type") == "disabled"
        and thought
        and latest == len(turns) - 1
    ):
        yield refused(
            "When thinking is disabled, an 'assistant' message in the final position cannot contain 'thinking' blocks."
        )
    enabled = as_dict(body.get("thinking")).get("type") == "enabled"
    is_prefill = latest == len(turns) - 1 and not target.row.prefill_thinking
    final = is_prefill or (latest == len(turns) - 2 and answers(turns[-1]))
    if enabled and final and blocks and blocks[0].get("type") not in THINKING:
        yield refused(
            f"messages.{latest}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{blocks[0].get('type')}`. When `thinking` is enabled, a final `assistant` message must start with a "
            "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you "
            "include thinking blocks from previous turns. To avoid this requirement, disable `thinking`."
        )


def _turn(turn: dict[str, Any], number: int) -> Iterator[Refusal]:
    content = turn.get("content")
    if content in ("", []):
        yield refused(f"messages.{number}: all messages must have non-empty content")
    blocks = [as_dict(block) for block in as_list(content)]
    for position, block in enumerate(blocks):
        yield from _block(block, f"messages.{number}.content.{position}")
    if blocks and blocks[-1].get("type") in THINKING:
        yield refused(
            f"messages.{number}: The final block in an assistant message cannot be `thinking`."
        )


def _answered(turn: dict[str, Any], following: dict[str, Any], number: int) -> Iterator[Refusal]:
    """Each call of a turn has one result in the turn after it, the `number`th, which has no others."""
    called = [
        str(as_dict(block).get("id"))
        for block in as_list(turn.get("content"))
        if as_dict(block).get("type") == "tool_use"
    ]
    called_ids, answered_ids, only_results = set(called), set[str](), True
    first_ids: set[str] = set()
    for position, block in enumerate(map(as_dict, as_list(following.get("content")))):
        if block.get("type") != "tool_result":
            only_results = False
            continue
        name, place = str(block.get("tool_use_id")), f"messages.{number}.content.{position}"
        if name not in called_ids:
            yield refused(
                f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {name}. Each `tool_result` block "
                "must have a corresponding `tool_use` block in the previous message."
            )
        elif name in answered_ids:
            yield refused(
                f"{place}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {name}"
            )
        answered_ids.add(name)
        if only_results:  # before any other block
            first_ids.add(name)
    missing = [name for name in called if name not in first_ids]
    if missing:
        yield refused(
            f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
            "message."
        )


def _block(block: dict[str, Any], place: str) -> Iterator[Refusal]:
    match block.get("type"):
        case "text" if not block.get("text"):
            yield refused("messages: text content blocks must be non-empty")
        case "thinking":
            for name in ("thinking", "signature"):
                if name not in block:
                    yield refused(f"{place}.thinking.{name}: Field required")
                elif not isinstance(block[name], str):
                    yield refused(f"{place}.thinking.{name}.str: Input should be a valid string")
            if block.get("signature") == "":
                yield refused(f"{place}: Invalid `signature` in `thinking` block")
        case "redacted_thinking" if not isinstance(block.get("data"), str):
            yield refused(f"{place}.redacted_thinking.data: Field required")
        case "tool_use" if not _ID.fullmatch(str(block.get("id"))):
            yield refused(f"{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        case _:
            pass


# ---- The members of a request of the Messages API, beta ones included, and how it refuses others.
#
# After the types of the anthropic SDK 2.8.0 and recorded requests; the error texts follow dirac-run/dirac 57, RooCodeInc/Roo-Code 11429 and
# anthropics/claude-code 18947 (read 2026-11-16).


_CACHE = Needs({"type": Words("ephemeral"), "ttl": "string"}, ("type",))
_TEXT = {"type": None, "text": "string", "citations": None, "cache_control": _CACHE}
_IMAGE = {"type": None, "source": "object", "transformations": None, "cache_control": _CACHE}
_DOCUMENT = {
    "type": None, "source": "object", "title": "string", "context": "string", "citations": None, "cache_control": _CACHE,
}  # fmt: skip
_SEARCH_RESULT = {
    "type": None, "source": "string", "title": "string", "content": "list", "citations": None, "cache_control": _CACHE,
}  # fmt: skip
_RESULT_BLOCKS = Kinds(
    "type",
    {
        "document": _DOCUMENT,
        "image": _IMAGE,
        "search_result": _SEARCH_RESULT,
        "text": _TEXT,
        "tool_reference": {"type": None, "tool_name": "string", "cache_control": _CACHE},
    },
)
_USE = {
    "type": None, "id": "string", "name": "string", "input": None, "caller": None, "toolset_name": None,
    "cache_control": _CACHE,
}  # fmt: skip
_SERVER_RESULT = {
    "type": None, "tool_use_id": "string", "content": None, "caller": None, "cache_control": _CACHE,
}  # fmt: skip
_SERVER_RESULTS = (
    "advisor_tool_result",
    "bash_code_execution_tool_result",
    "code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "web_fetch_tool_result",
    "web_search_tool_result",
)
_BLOCKS = Kinds(
    "type",
    {
        **dict.fromkeys(_SERVER_RESULTS, _SERVER_RESULT),
        "compaction": None,
        "container_upload": {"type": None, "file_id": "string", "cache_control": _CACHE},
        "document": _DOCUMENT,
        "fallback": None,
        "image": _IMAGE,
        "mcp_tool_listing": None,
        "mcp_tool_result": {**_SERVER_RESULT, "is_error": "boolean"},
        "mcp_tool_use": {**_USE, "server_name": "string"},
        "redacted_thinking": {"type": None, "data": None},
        "search_result": _SEARCH_RESULT,
        "server_tool_use": _USE,
        "text": _TEXT,
        "thinking": {"type": None, "thinking": None, "signature": None},
        "tool_addition": {"type": None, "tool": "object", "cache_control": _CACHE},
        "tool_removal": {"type": None, "tool": "object", "cache_control": _CACHE},
        "tool_result": Needs(
            {
                "type": None,
                "tool_use_id": "string",
                "content": ("string", [_RESULT_BLOCKS]),
                "is_error": "boolean",
                "toolset_name": None,
                "cache_control": _CACHE,
            },
            ("tool_use_id",),
        ),
        "tool_use": Needs(_USE, ("id", "name", "input")),
    },
)
_TOOL = {
    "type": None, "name": "string", "description": "string", "input_schema": "object", "cache_control": _CACHE, "strict": "boolean",
    "defer_loading": "boolean", "allowed_callers": "list", "eager_input_streaming": "boolean", "input_examples": "list",
}  # fmt: skip
_SERVER_TOOLS = (
    "advisor_20260301", "bash_20241022", "bash_20250124", "browser_toolset_20260801", "code_execution_20250522",
    "code_execution_20250825", "code_execution_20260120", "code_execution_20260521", "computer_20241022", "computer_20250124",
    "computer_20251124", "computer_toolset_20260801", "mcp_toolset", "memory_20250818", "text_editor_20241022",
    "text_editor_20250124", "text_editor_20250429", "text_editor_20250728", "tool_search_tool_bm25",
    "tool_search_tool_bm25_20251119", "tool_search_tool_regex", "tool_search_tool_regex_20251119", "web_fetch_20250910",
    "web_fetch_20260209", "web_fetch_20260309", "web_fetch_20260318", "web_search_20250305", "web_search_20260209",
    "web_search_20260318",
)  # fmt: skip
_TOOLS = Kinds(
    "type",
    {"custom": Needs(_TOOL, ("name",)), **dict.fromkeys(_SERVER_TOOLS)},
    usual="custom",
)
_MESSAGE = Needs(
    {
        "role": Words("user", "assistant", "system"),
        "content": ("string", [_BLOCKS]),
        "clear_at": None,
        "output_config": None,
    },
    ("role", "content"),
)
_CHOICE = {"type": None, "disable_parallel_tool_use": "boolean"}
_THINKING = {"type": None, "display": None, "block_binding": None}

BODY = Needs(
    {
        "model": "string",
        "messages": [_MESSAGE],
        "max_tokens": "integer",
        "system": ("string", [Kinds("type", {"text": _TEXT})]),
        "stop_sequences": ["string"],
        "stream": "boolean",
        "temperature": "number",
        "top_p": "number",
        "top_k": "integer",
        "tools": [_TOOLS],
        "tool_choice": Kinds(
            "type",
            {
                "auto": _CHOICE,
                "any": _CHOICE,
                "tool": Needs({**_CHOICE, "name": "string"}, ("name",)),
                "none": {"type": None},
            },
        ),
        "thinking": Kinds(
            "type",
            {
                "adaptive": _THINKING,
                "between_tools": {"type": None},
                "disabled": {"type": None},
                "enabled": {**_THINKING, "budget_tokens": None},
            },
        ),
        "output_config": {"effort": "string", "format": "object", "task_budget": None},
        "output_format": "object",
        "context_management": {"edits": "list"},
        "metadata": {"user_id": "string"},
        "cache_control": _CACHE,
        "mcp_servers": "list",
        **dict.fromkeys(
            (
                "compaction", "container", "diagnostics", "fallback_credit_token", "fallbacks", "inference_geo", "service_tier",
                "speed", "thread", "user_profile_id", "workspace_id",
            )
        ),
        # In the body instead of in headers, at Vertex and Bedrock.
        "anthropic_version": "string",
        "anthropic_beta": "list",
    },
    ("messages",),
)  # fmt: skip
_TYPES = {"list": "list", "object": "dictionary"}


def shape_problems(body: dict[str, Any], target: Target) -> Iterator[Refusal]:
    """What the API refuses about the shape of a body."""
    return refusals(body, BODY, target, _worded)


def _worded(misfit: Misfit) -> Refusal:
    place = dotted(misfit.path)
    quoted = [f"'{word}'" for word in misfit.expected]
    match misfit.what:
        case "unknown":
            text = f"{place}: Extra inputs are not permitted"
        case "missing":
            text = f"{place}: Field required"
        case "type":
            wanted = _TYPES.get(misfit.expected[-1], misfit.expected[-1])
            text = f"{place}: Input should be a valid {wanted}"
        case "word":
            text = f"{place}: Input should be {' or '.join(quoted[:2])}"
        case "untagged":
            text = f"{dotted(misfit.path[:-1])}: Unable to extract tag using discriminator 'type'"
        case _:
            text = (
                f"{dotted(misfit.path[:-1])}: Input tag '{str(misfit.value)[:100]}' found using 'type' does not match any of the "
                f"expected tags: {', '.join(quoted)}"
            )
    return Refusal(text=text)
