"""Stored interactions, after the types of google-genai 3.1.0 and https://ai.google.dev/gemini-api/docs/interactions (read 2026-11-16)."""

from __future__ import annotations

from typing import Any

from innervoice.wire.interactions.serve_request import steps_of
from innervoice.wire.refusals import Refusal
from innervoice.wire.stored_answers import Query, StoredAnswers

__all__ = ["STORED"]

_PREVIOUS = "previous_interaction_id"
_THERE = "supported only if the request is forwarded unchanged to Google"


def _missing(name: str) -> Refusal:
    return Refusal(text=f"Interaction with id '{name[:200]}' not found.", status=404)


def _no_previous(name: str) -> Refusal:
    return _missing(name).replace(param=_PREVIOUS)


def _deleted(name: str) -> dict[str, Any]:
    return {}


def _shown(answer: dict[str, Any], items: list[Any], query: Query) -> dict[str, Any]:
    """The interaction; with its input, if the query asks for that."""
    is_asked = any(query.get(name, ["false"])[-1].lower() in ("true", "1") for name in _INPUT)
    return {**answer, "input": items} if is_asked else answer


_INPUT = ("include_input", "includeInput")

STORED = StoredAnswers(
    dialect="gemini-interactions",
    noun="interaction",
    previous=_PREVIOUS,
    output="steps",
    goes_on=("completed", "incomplete", "requires_action"),
    ended=("completed", "incomplete", "requires_action", "failed", "cancelled"),
    only_there={
        "background": f"background interactions are {_THERE}; remove `background`",
        "continuation_token": f"continuation_token is {_THERE}; repeat the request without it",
        "environment": f"environment is {_THERE}; remove it",
    },
    lost=("entity was not found", "interaction"),
    items_of=steps_of,
    missing=_missing,
    no_previous=_no_previous,
    cannot_cancel="Only interactions that run in the background can be cancelled.",
    deleted=_deleted,
    shown=_shown,
)
