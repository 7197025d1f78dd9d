"""The settings of a request as its caller may write them, for type checkers; `Request` brings them into one form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, TypedDict

__all__ = ["Foreign", "Mode", "RequestFields"]

Mode: TypeAlias = Literal["strict", "clamp", "passthrough"]
Foreign: TypeAlias = Literal["omit", "text"]


class RequestFields(TypedDict, total=False):
    """The fields of a `Request` beside its model and messages."""

    system: str | None
    tools: Iterable[Any]
    tool_choice: Any
    parallel_tool_calls: bool | None
    reasoning: Any
    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    stop: str | Iterable[str] | None
    response_format: Any
    stream: bool
    dialect: str | None
    mode: Mode
    foreign: Foreign
    store: bool
    scope: str | None
    base_url: str | None
    extra: dict[str, Any]
