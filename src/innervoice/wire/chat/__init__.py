"""OpenAI's Chat Completions and everything that calls itself compatible with it."""

from __future__ import annotations

from typing import Any

from innervoice.wire.dialect import Dialect

__all__ = ["DIALECT", "turn_of"]


def _looks_like(value: dict[str, Any], name: str | None) -> bool:
    return "choices" in value


def turn_of(body: dict[str, Any]) -> list[Any]:
    """The message of the first choice, without members that say nothing."""
    message = body["choices"][0]["message"]
    return [
        {key: item for key, item in message.items() if item is not None or key == "content"},
    ]


DIALECT = Dialect(
    name="openai-chat",
    package=__name__,
    open_tools=True,
    schema="OPENAI_STRICT",
    schema_if_strict=True,
    home="openai",
    path="/chat/completions",
    id_start="chatcmpl-",
    inline_reasoning=True,
    looks_like=_looks_like,
    turn_of=turn_of,
    thinks_visibly=True,
    reads="read:ChatReader",
    replays="replay:REPLAY",
)
