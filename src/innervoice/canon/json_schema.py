"""Resolves references in a JSON schema."""

from __future__ import annotations

from typing import Any

__all__ = ["target_of"]


def target_of(root: dict[str, Any], reference: Any) -> dict[str, Any] | None:
    """The schema that a local reference (`#/$defs/Dog`, `#`) refers to; None if there is none."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    here: Any = root
    for step in reference[2:].split("/") if len(reference) > 1 else ():
        name = step.replace("~1", "/").replace("~0", "~")
        here = here.get(name) if isinstance(here, dict) else None
    return here if isinstance(here, dict) else None
