"""Mistral's chat API: Chat Completions with chunks of thinking."""

from __future__ import annotations

import re
from typing import Any

from innervoice.wire import chat
from innervoice.wire.dialect import Code, Dialect

__all__ = ["DIALECT"]


def _history_looks_like(items: list[dict[str, Any]]) -> bool:
    contents = (item["content"] for item in items if isinstance(item.get("content"), list))
    return any(
        isinstance(block, dict) and isinstance(block.get("thinking"), list)
        for content in contents
        for block in content
    )


DIALECT = Dialect(
    name="mistral",
    package=__name__,
    open_tools=True,
    schema="OPENAI_STRICT",
    schema_if_strict=True,
    places={
        "seed": ("random_seed",),
        **{
            name: (name,)
            for name in (
                "top_k",
                "presence_penalty",
                "frequency_penalty",
                "metadata",
                "prompt_cache_key",
                "service_tier",
            )
        },
    },
    part_places={"image": {"detail": ("image_url", "detail")}},
    message_members=frozenset({"prefix"}),
    format_members=frozenset({"name", "description", "strict"}),
    endpoints={"GET /models": "models", "GET /models/{model}": "model"},
    home="mistral",
    path="/chat/completions",
    kin=chat.DIALECT.name,
    call_ids=re.compile(r"[A-Za-z0-9]{9}"),
    call_id_start="",
    history_looks_like=_history_looks_like,
    turn_of=chat.turn_of,
    thinks_visibly=True,
    closing=b"data: [DONE]\n\n",
    last_mark=b"[DONE]",
    seals=("signature",),
    reasoning_blocks=("thinking",),
    code=Code(
        reader="read:MistralReader",
        answer_writer="answer:MistralWriter",
        grammar="grammar:MistralGrammar",
    ),
)
