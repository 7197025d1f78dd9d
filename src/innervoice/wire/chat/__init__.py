"""OpenAI's Chat Completions and everything that calls itself compatible with it."""

from __future__ import annotations

from typing import Any

from innervoice.wire.dialect import CACHE_BREAKPOINT, OPENAI_SETTINGS, Code, Dialect
from innervoice.wire.json_access import parsed

__all__ = ["DIALECT", "turn_of"]


# The answer of Cloudflare's own models, in place of choices.
_OWN = {"response", "reasoning_content", "tool_calls", "usage", "finish_reason", "p"}


def _looks_like(value: dict[str, Any], name: str | None) -> bool:
    return "choices" in value or ("response" in value and _is_cloudflare(value))


def _is_cloudflare(value: dict[str, Any]) -> bool:
    """Whether `response` is the text itself, and not an answer of another kind in a log or a batch file."""
    answer = value["response"]
    if isinstance(answer, str) and answer.lstrip()[:1] not in ("{", "["):
        return value.keys().isdisjoint(("done", "type", "custom_id", "key"))
    if not value.keys() <= _OWN:
        return False
    # In JSON mode the answer is JSON, as a text or as it is.
    held = parsed(answer) if isinstance(answer, str) else answer
    is_answer = isinstance(held, dict) and not held.keys().isdisjoint(("choices", "candidates"))
    return not is_answer and (isinstance(answer, str) or "usage" in value or "tool_calls" in value)


def turn_of(body: dict[str, Any]) -> list[Any]:
    """The message of the first choice, without empty members."""
    message = body["choices"][0]["message"]
    return [
        {key: item for key, item in message.items() if item is not None or key == "content"},
    ]


DIALECT = Dialect(
    name="openai-chat",
    package=__name__,
    file_references=("file_id",),
    open_tools=True,
    open_files=True,
    schema="OPENAI_STRICT",
    schema_if_strict=True,
    free_form_hosts=("openai", "azure"),
    places={
        name: (name,)
        for name in ("seed", "presence_penalty", "frequency_penalty", "verbosity", *OPENAI_SETTINGS)
    },
    part_places={
        "text": CACHE_BREAKPOINT,
        "image": {"detail": ("image_url", "detail"), **CACHE_BREAKPOINT},
        "document": CACHE_BREAKPOINT,
    },
    message_members=frozenset({"prefix"}),
    format_members=frozenset({"name", "description", "strict"}),
    endpoints={"GET /models": "models", "GET /models/{model}": "model"},
    home="openai",
    is_extended=True,
    path="/chat/completions",
    closing=b"data: [DONE]\n\n",
    last_mark=b"[DONE]",
    id_start="chatcmpl-",
    inline_reasoning=True,
    looks_like=_looks_like,
    turn_of=turn_of,
    thinks_visibly=True,
    seals=("signature", "data", "thought_signature"),
    code=Code(
        reader="read:ChatReader",
        answer_writer="answer:ChatWriter",
        grammar="grammar:ChatGrammar",
        replay="replay:REPLAY",
    ),
)
