"""Mistral's chat API: Chat Completions with chunks of thinking."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from innervoice.wire import chat
from innervoice.wire.dialect import Dialect
from innervoice.wire.model_list import ModelFacts, known
from innervoice.wire.refusals import Refusal

__all__ = ["DIALECT"]


def _history_looks_like(items: list[dict[str, Any]]) -> bool:
    contents = (item["content"] for item in items if isinstance(item.get("content"), list))
    return any(
        isinstance(block, dict) and isinstance(block.get("thinking"), list)
        for content in contents
        for block in content
    )


def _model_card(model: ModelFacts) -> dict[str, Any]:
    """A base model; the SDK refuses a card without a type or without abilities."""
    abilities = {"completion_chat": True, "function_calling": True, "reasoning": model.reasons}
    named = {"id": model.name, "object": "model", "created": 0, "owned_by": model.owner}
    sizes = known(max_context_length=model.context)
    return {**named, "type": "base", "name": model.name, "capabilities": abilities, **sizes}


def _model_list(models: Sequence[ModelFacts]) -> dict[str, Any]:
    return {"object": "list", "data": [_model_card(model) for model in models]}


DIALECT = Dialect(
    name="mistral",
    package=__name__,
    open_tools=True,
    schema="OPENAI_STRICT",
    schema_if_strict=True,
    places={
        "seed": ("random_seed",),
        **{name: (name,) for name in ("top_k", "presence_penalty", "frequency_penalty")},
    },
    model_list=_model_list,
    model_card=_model_card,
    endpoints={"GET /models": "models", "GET /models/{model}": "model"},
    unknown_model=Refusal(text="Invalid model: {model}", type="invalid_model", code="1500"),
    home="mistral",
    path="/chat/completions",
    kin=chat.DIALECT.name,
    call_ids=re.compile(r"[A-Za-z0-9]{9}"),
    call_id_start="",
    history_looks_like=_history_looks_like,
    turn_of=chat.turn_of,
    thinks_visibly=True,
    answers="answer:MistralWriter",
    obeys="grammar:MistralGrammar",
    reads="read:MistralReader",
)
