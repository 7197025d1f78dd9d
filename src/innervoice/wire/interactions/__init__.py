"""Google's Interactions API: an answer is a list of steps, and the server may store the conversation."""

from __future__ import annotations

from typing import Any

from innervoice.wire.dialect import Code, Dialect
from innervoice.wire.json_access import as_text

__all__ = ["DIALECT"]

_STEPS = {"user_input", "model_output", "thought", "function_result"}


def _looks_like(value: dict[str, Any], name: str | None) -> bool:
    if value.get("object") == "interaction" or isinstance(value.get("steps"), list):
        return True
    kind = as_text(value.get("event_type")) or ""
    return kind.startswith(("interaction.", "step.")) or (kind == "error" and "error" in value)


def _history_looks_like(items: list[dict[str, Any]]) -> bool:
    return any(as_text(item.get("type")) in _STEPS for item in items)


def _turn_of(body: dict[str, Any]) -> list[Any]:
    return list(body["steps"])


DIALECT = Dialect(
    name="gemini-interactions",
    package=__name__,
    endpoints={
        "GET /interactions/{id}": "stored",
        "DELETE /interactions/{id}": "delete",
        "POST /interactions/{id}/cancel": "cancel",
    },
    versions=("v1beta", "v1alpha", "v1"),
    schema="GEMINI",
    places={
        "seed": ("generation_config", "seed"),
        "top_k": ("generation_config", "top_k"),
    },
    said_by={
        ("generation_config", "tool_choice"): ("tool_choice",),
        ("generation_config", "thinking_level"): ("reasoning",),
        ("generation_config", "thinking_summaries"): ("reasoning",),
        ("response_format",): ("response_format",),
        ("response_mime_type",): ("response_format",),
    },
    home="gemini",
    path="/interactions",
    headers={"api-revision": "2026-05-20"},
    key_header="x-goog-api-key",
    history="input",
    system_apart=True,
    limit="max_output_tokens",
    lacks=("parallel_tool_calls",),
    files_in_turns=True,
    flags_errors=True,
    joins_turns=True,
    error_is_quiet=True,
    last_mark=b"[DONE]",
    other_marks=(b'"interaction.completed"',),
    closing=b"event: done\ndata: [DONE]\n\n",
    id_start="v1_",
    looks_like=_looks_like,
    history_looks_like=_history_looks_like,
    turn_of=_turn_of,
    seals=("signature", "continuation_token"),
    reasoning_blocks=("thought",),
    code=Code(
        reader="read:InteractionsReader",
        answer_writer="answer:InteractionsWriter",
        grammar="grammar:InteractionsGrammar",
        replay="replay:REPLAY",
        stored_answers="serve:STORED",
    ),
)
