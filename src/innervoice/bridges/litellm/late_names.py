"""Names of the package that are loaded on first access, so that `import` stays fast."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from innervoice.bridges.litellm.absent import missing

__all__ = ["late_name", "late_names"]

_TOP = "innervoice.bridges.litellm"
_MODULES = (
    "types.llms.openai",
    "types.router",
    "integrations.custom_logger",
    "llms.custom_llm",
    "_logging",
    "router",
    "text_completions",
    "responses_api",
    "batches",
    "cost_calculator",
    "integrations",
    "litellm_core_utils",
    "llms",
)
"""Modules whose names are also names of the package; those without a dot are names themselves."""


def late_name(name: str) -> Any:
    """The value of a name; raises AttributeError with an alternative."""
    if name in _MODULES:
        return import_module(f"{_TOP}.{name}")
    for module in () if name.startswith("__") else _MODULES:
        loaded = import_module(f"{_TOP}.{module}")
        if name in getattr(loaded, "__all__", ()):
            value = getattr(loaded, name)
            setattr(sys.modules[_TOP], name, value)
            return value
    raise missing(name, _TOP)


def late_names() -> list[str]:
    """All of these names."""
    loaded = [import_module(f"{_TOP}.{module}") for module in _MODULES]
    names = [name for module in loaded for name in getattr(module, "__all__", ())]
    return [*names, *(module for module in _MODULES if "." not in module)]
