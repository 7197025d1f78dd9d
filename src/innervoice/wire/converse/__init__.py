"""AWS Bedrock's Converse and ConverseStream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from innervoice.frames.eventstream import event_bytes
from innervoice.wire.dialect import Dialect
from innervoice.wire.json_access import as_dict
from innervoice.wire.model_list import ModelFacts
from innervoice.wire.refusals import Refusal

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


def _model_card(model: ModelFacts) -> dict[str, Any]:
    return {"modelDetails": _summary(model)}


def _model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
    return {"modelSummaries": [_summary(model) for model in models]}


DIALECT = Dialect(
    name="bedrock-converse",
    package=__name__,
    model_list=_model_list,
    model_card=_model_card,
    # AWS has these at another host than Converse.
    endpoints={
        "GET /foundation-models": "models",
        "GET /foundation-models/{model}": "model",
    },
    unknown_model=Refusal(text="The provided model identifier is invalid."),
    heads_errors="serve_response:error_headers",
    cache_marks="models",
    tool_members=frozenset({"cache_control"}),
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
    joins_turns=True,
    wraps_reasoning="additionalModelRequestFields",
    framing=event_bytes,
    media_type="application/vnd.amazon.eventstream",
    looks_like=_looks_like,
    history_looks_like=_history_looks_like,
    turn_of=_turn_of,
    answers="answer:ConverseWriter",
    obeys="grammar:ConverseGrammar",
    reads="read:ConverseReader",
    replays="replay:REPLAY",
)
