"""What a provider says in an answer about the request, beside the answer: reasoning that it dropped, edits of the context, why it refused.

`input_transformations` of OpenAI (3.51, 2026-11-13) and Anthropic (beta `thinking-binding-controls-2026-08-01`), `stop_details` and
`context_management` of Anthropic. Each is a note, so that nobody has to look into the body to learn of it.
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.notes import Notebook
from innervoice.wire.json_access import as_dict, as_list, as_text

__all__ = ["note_edits", "note_refusal", "note_transformations"]

_ALLOWED = "thinking_mismatch_allowed"


def note_transformations(notebook: Notebook, value: Any) -> None:
    """Notes which reasoning of the request the provider dropped, or accepted although it does not match, and why."""
    for item in map(as_dict, as_list(value)):
        code = "mismatch_allowed" if item.get("type") == _ALLOWED else "dropped_by_provider"
        reason, place = as_text(item.get("reason")), as_text(item.get("path"))
        notebook.add(code, " at ".join(filter(None, (reason or "no reason", place))))


def note_refusal(notebook: Notebook, value: Any) -> None:
    """Notes for which category of content the answer was refused."""
    if category := as_text(as_dict(value).get("category")):
        notebook.add("refused_for", category)


def note_edits(notebook: Notebook, value: Any) -> None:
    """Notes what the provider cleared from the context before the model read it."""
    for edit in map(as_dict, as_list(as_dict(value).get("applied_edits"))):
        notebook.add("context_edited", as_text(edit.get("type")))
