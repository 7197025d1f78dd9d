"""Cohere's chat API, version 2."""

from __future__ import annotations

from typing import Any

from innervoice.wire.dialect import Dialect
from innervoice.wire.json_access import as_text

__all__ = ["DIALECT"]

_EVENTS = ("message-start", "content-", "tool-", "citation-", "message-end")


def _looks_like(value: dict[str, Any], name: str | None) -> bool:
    kind = as_text(value.get("type")) or ""
    return kind.startswith(_EVENTS) or (
        isinstance(value.get("message"), dict) and "finish_reason" in value
    )


def _model_list(names: list[str], owner: str) -> dict[str, Any]:
    return {"models": [{"name": name, "endpoints": ["chat"]} for name in names]}


DIALECT = Dialect(
    name="cohere",
    package=__name__,
    model_list=_model_list,
    home="cohere",
    path="/v2/chat",
    names_tools=False,
    looks_like=_looks_like,
    thinks_visibly=True,
    reads="read:CohereReader",
)
