"""A model id -> LangChain's `ModelProfile`: the limits and abilities of the model.

Our catalog has what the provider's API accepts; the limits and abilities of a model come from the table of the litellm bridge. A
member that is in neither is left out.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from innervoice.canon.target import Target
from innervoice.catalog.targets import resolved
from innervoice.errors import UsageError
from innervoice.wire.dialects import dialect_named

if TYPE_CHECKING:  # langchain-core 1.0 has no profiles yet
    from langchain_core.language_models import ModelProfile

__all__ = ["profile_of"]


def profile_of(model: str, dialect: str | None = None) -> ModelProfile | None:
    """The profile of a model; None if its provider is unknown."""
    try:
        target = resolved(model, dialect)
    except UsageError:
        return None
    facts = _facts(target)
    found = {
        "text_inputs": True,
        "text_outputs": True,
        "max_input_tokens": facts.get("max_input_tokens"),
        "max_output_tokens": facts.get("max_output_tokens") or target.row.max_output,
        "temperature": "temperature" not in target.row.refuses_always,
        **_files(target, facts),
        **_reasoning(target, facts),
        **_tools(target, facts),
    }
    # langchain-core warns of members that its version does not have.
    declared = import_module("langchain_core.language_models").ModelProfile.__annotations__
    return {name: value for name, value in found.items() if value is not None and name in declared}


def _facts(target: Target) -> dict[str, Any]:
    """The model's row of the table, an empty dict if it has none."""
    models = import_module("innervoice.bridges.litellm.models")
    found = models.entry_of(target.model, target.provider)
    return dict(found[1]) if found else {}


def _supports(facts: dict[str, Any], ability: str) -> bool | None:
    """Whether the model has an ability; the table lists those that it has."""
    return bool(facts.get(f"supports_{ability}")) if facts else None


def _files(target: Target, facts: dict[str, Any]) -> dict[str, Any]:
    """Files that both the model and its API accept; also in tool results, because they are moved where an API requires it."""
    accepts = dialect_named(target.dialect).files.ACCEPTS
    images = _supports(facts, "vision") and "image" in accepts
    documents = _supports(facts, "pdf_input") and "pdf" in accepts
    return {
        "image_inputs": images,
        "image_url_inputs": images and "url" in accepts.get("image", ()),
        "image_tool_message": images,
        "pdf_inputs": documents,
        "pdf_tool_message": documents,
        "audio_inputs": _supports(facts, "audio_input") and "audio" in accepts,
        "attachment": images or documents,
    }


def _reasoning(target: Target, facts: dict[str, Any]) -> dict[str, Any]:
    row = target.row
    if not target.is_known or row.guess:
        return {"reasoning_output": _supports(facts, "reasoning")}
    reasons = row.control != "none" or row.default != "none"
    return {
        "reasoning_output": reasons,
        "reasoning_effort_levels": list(row.efforts) if reasons and row.efforts else None,
        "reasoning_effort_default": row.default if row.efforts and row.default != "on" else None,
    }


def _tools(target: Target, facts: dict[str, Any]) -> dict[str, Any]:
    dialect = dialect_named(target.dialect)
    formats = (target.host.formats if target.host else ()) or dialect.formats
    calls = _supports(facts, "function_calling")
    # A model that refuses a forced call while it reasons accepts it if its reasoning can be switched off.
    forced = target.row.forced_tools or target.row.off in ("value", "omit")
    return {
        "tool_calling": calls,
        "tool_choice": calls and forced and "tool_choice" not in dialect.lacks,
        "tool_call_streaming": calls,
        "structured_output": "json_schema" in formats,
    }
