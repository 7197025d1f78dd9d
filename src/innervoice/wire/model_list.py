"""How a server describes its models: the facts that any dialect can express, and OpenAI's form of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from innervoice.wire.refusals import Refusal

__all__ = [
    "NO_MODEL", "NO_TIME", "UNKNOWN_MODEL", "ModelFacts", "ModelListing", "known", "openai_model", "openai_models",
]  # fmt: skip

NO_TIME = "1970-01-01T00:00:00Z"
"""The API requires a time, and none is known; Anthropic also writes this one for an unknown date."""


NO_MODEL = Refusal(text="you must provide a model parameter")
UNKNOWN_MODEL = Refusal(
    text="The model `{model}` does not exist or you do not have access to it.",
    status=404,
    code="model_not_found",
)


class ModelFacts(NamedTuple):
    """The facts about a model."""

    name: str
    owner: str
    context: int | None = None
    """The size of its context window in tokens; None: unknown."""
    output: int | None = None
    """Its maximum output in tokens; None: unknown."""
    reasons: bool = False


class ModelListing(Protocol):
    """The interface of every `listing.py`."""

    NO_MODEL: Refusal
    """The refusal of a request without a model."""
    UNKNOWN_MODEL: Refusal
    """The refusal for a model that the server does not have."""

    def model_list(self, models: Sequence[ModelFacts]) -> dict[str, Any]:
        """The list of models as a server sends it."""
        ...

    def model_card(self, model: ModelFacts) -> dict[str, Any]:
        """The server's description of one model."""
        ...


def known(**members: Any) -> dict[str, Any]:
    """The members that have a value: unknown ones are left out, not guessed."""
    return {name: value for name, value in members.items() if value is not None}


def openai_model(model: ModelFacts) -> dict[str, Any]:
    """One model; OpenAI reports no sizes, so they have the names that other servers of this API use.

    `context_length` is OpenRouter's, `context_window` and `max_completion_tokens` are Groq's.
    """
    sizes = known(
        context_length=model.context,
        context_window=model.context,
        max_completion_tokens=model.output,
    )
    return {"id": model.name, "object": "model", "created": 0, "owned_by": model.owner, **sizes}


def openai_models(models: Sequence[ModelFacts]) -> dict[str, Any]:
    """The list of models."""
    return {"object": "list", "data": [openai_model(model) for model in models]}
