"""OpenAI's Responses API and the servers that speak it."""

from __future__ import annotations

from typing import Any

from innervoice.wire.dialect import CACHE_BREAKPOINT, OPENAI_SETTINGS, Code, Dialect
from innervoice.wire.json_access import as_text

__all__ = ["DIALECT"]

_ITEMS = {
    "reasoning",
    "function_call",
    "function_call_output",
    "message",
    "item_reference",
    "custom_tool_call",
}


def _looks_like(value: dict[str, Any], name: str | None) -> bool:
    if value.get("object") == "response" or isinstance(value.get("output"), list):
        return True
    return (as_text(value.get("type")) or "").startswith("response.")


def _history_looks_like(items: list[dict[str, Any]]) -> bool:
    return any(_is_item(item) for item in items)


def _is_item(item: dict[str, Any]) -> bool:
    """Whether it belongs to this API; Gemini's Interactions have calls of the same type, with arguments that are an object."""
    return as_text(item.get("type")) in _ITEMS and not isinstance(item.get("arguments"), dict)


def _turn_of(body: dict[str, Any]) -> list[Any]:
    return list(body["output"])


DIALECT = Dialect(
    name="openai-responses",
    package=__name__,
    counts="input_tokens",
    server_state={"prompt": "send its text in instructions or input"},
    file_references=("file_id",),
    effort_path=("reasoning", "effort"),
    effort_members={"type": "configuration_update"},
    effort_off=True,
    effort_excludes=("context_management",),  # 2026-09
    count_members={"object": "response.input_tokens"},
    counts_at=("/responses", "/responses/input_tokens"),
    counted=(
        "model",
        "input",
        "instructions",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "reasoning",
        "text",
        "truncation",
        "previous_response_id",
        "conversation",
    ),
    endpoints={
        "POST /responses/input_tokens": "count",
        "POST /responses/compact": "compact",
        "GET /responses/{id}": "stored",
        "DELETE /responses/{id}": "delete",
        "POST /responses/{id}/cancel": "cancel",
        "GET /responses/{id}/input_items": "input_items",
        "POST /conversations": "create_conversation",
        "GET /conversations/{id}": "conversation",
        "POST /conversations/{id}": "update_conversation",
        "DELETE /conversations/{id}": "delete_conversation",
        "POST /conversations/{id}/items": "add_items",
        "GET /conversations/{id}/items": "list_items",
        "GET /conversations/{id}/items/{item}": "item",
        "DELETE /conversations/{id}/items/{item}": "delete_item",
        "GET /models": "models",
        "GET /models/{model}": "model",
    },
    open_tools=True,
    tool_members=frozenset({"async", "defer_loading"}),
    schema="OPENAI_STRICT",
    schema_if_strict=True,
    free_form_hosts=("*",),
    places={
        "verbosity": ("text", "verbosity"),
        **{name: (name,) for name in OPENAI_SETTINGS},
    },
    holders=("text", "reasoning"),
    part_places={
        "text": CACHE_BREAKPOINT,
        "image": {"detail": ("detail",), **CACHE_BREAKPOINT},
        "document": CACHE_BREAKPOINT,
    },
    format_members=frozenset({"name", "description", "strict"}),
    home="openai",
    path="/responses",
    history="input",
    limit="max_output_tokens",
    lacks=("stop",),
    unstored={"include": ["reasoning.encrypted_content"]},
    error_is_quiet=True,
    has_sockets=True,
    private_members=("internal_chat_message_metadata_passthrough",),
    compactions=("compaction", "compaction_summary", "context_compaction"),
    compaction_asked="compaction_trigger",
    last_mark=b"response.completed",
    numbers_events=True,
    other_marks=(b"response.incomplete", b"response.failed"),
    id_start="resp_",
    looks_like=_looks_like,
    history_looks_like=_history_looks_like,
    turn_of=_turn_of,
    seals=("id", "encrypted_content"),
    reasoning_blocks=("reasoning",),
    is_local=True,
    code=Code(
        batches="batch:API",
        reader="read:ResponsesReader",
        answer_writer="answer:ResponsesWriter",
        grammar="grammar:ResponsesGrammar",
        replay="replay:REPLAY",
        stored_answers="serve:STORED",
        without_reasoning="write:without_seals",
    ),
)
