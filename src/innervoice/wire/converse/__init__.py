"""AWS Bedrock's Converse and ConverseStream."""

from __future__ import annotations

from typing import Any

from innervoice.frames.eventstream import event_bytes
from innervoice.wire.dialect import Code, Dialect
from innervoice.wire.json_access import as_dict

__all__ = ["DIALECT"]

_EVENTS = {
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "contentBlockStop",
    "messageStop",
}

_BLOCKS = {"text", "toolUse", "toolResult", "reasoningContent", "image", "document", "video"}


def _looks_like(value: dict[str, Any], name: str | None) -> bool:
    return (
        name in _EVENTS
        or not value.keys().isdisjoint(_EVENTS)
        or "message" in as_dict(value.get("output"))
    )


def _history_looks_like(items: list[dict[str, Any]]) -> bool:
    contents = (item["content"] for item in items if isinstance(item.get("content"), list))
    return any(
        isinstance(block, dict) and "type" not in block and not block.keys().isdisjoint(_BLOCKS)
        for content in contents
        for block in content
    )


def _turn_of(body: dict[str, Any]) -> list[Any]:
    return [body["output"]["message"]]


DIALECT = Dialect(
    name="bedrock-converse",
    package=__name__,
    has_prefill=True,
    # AWS has these at another host than Converse.
    endpoints={
        "GET /foundation-models": "models",
        "GET /foundation-models/{model}": "model",
    },
    cache_marks="models",
    tool_members=frozenset({"cache_control", "strict"}),
    holders=("inferenceConfig", "toolConfig"),
    part_places={
        "document": {"context": ("document", "context"), "citations": ("document", "citations")}
    },
    switches=("anthropic-adaptive",),
    claude_only=("additionalModelRequestFields", "anthropic_beta"),
    said_by={("additionalModelRequestFields", "thinking"): ("reasoning",)},
    formats=(),
    home="bedrock",
    path="/model/{model}/{verb}",
    verbs=("converse", "converse-stream"),
    quotes_model=True,
    system_apart=True,
    limit="maxTokens",
    lacks=("parallel_tool_calls",),
    forbids_tools=False,
    flags_errors=True,
    refuses_blanks=True,
    joins_turns=True,
    wraps_reasoning="additionalModelRequestFields",
    framing=event_bytes,
    media_type="application/vnd.amazon.eventstream",
    looks_like=_looks_like,
    history_looks_like=_history_looks_like,
    turn_of=_turn_of,
    shows_asked=True,
    last_mark=b"messageStop",
    seals=("signature", "redactedContent"),
    reasoning_keys=("reasoningContent",),
    code=Code(
        reader="read:ConverseReader",
        answer_writer="answer:ConverseWriter",
        grammar="grammar:ConverseGrammar",
        replay="replay:REPLAY",
        error_headers="serve:error_headers",
    ),
)
