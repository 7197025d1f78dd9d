"""The shape of models.dev's published files, written down by us after its schema, and files made up to fit it.

After packages/core/src/schema.ts, schema-v2.ts and README.md of github.com/anomalyco/models.dev, read 2026-11-16. A member whose name ends
with "?" may be missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

__all__ = ["API", "API_2", "CATALOG", "files", "fits"]


@dataclass(frozen=True)
class MapOf:
    """An object with any names and one kind of value."""

    keys: Any
    value: Any


@dataclass(frozen=True)
class OneOf:
    """One of several shapes or literal values."""

    shapes: tuple[Any, ...]


def one_of(*shapes: Any) -> OneOf:
    return OneOf(shapes)


class Date:
    """Text that is a date."""


DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?")
TEXT, BOOL, NUMBER = str, bool, float
NAMES = ("claude-opus-5-5", "claude-next-9", "gpt-5.6", "gpt-9", "deepseek-v4-pro", "openai/gpt-oss-120b", "kimi-k2.6", "qwen3-32b", "gemini-3.5-flash", "text-only-1")  # fmt: skip
PROVIDERS = ("anthropic", "openai", "deepseek", "moonshotai", "google", "google-vertex-anthropic", "amazon-bedrock", "openrouter", "groq", "some-new-host", "302ai")  # fmt: skip
EFFORT = one_of("none", "minimal", "low", "medium", "high", "xhigh", "max")
COST = {"input": NUMBER, "output": NUMBER, "reasoning?": NUMBER, "cache_read?": NUMBER}
LIMIT = {"context": NUMBER, "input?": NUMBER, "output": NUMBER}
MODALITY = one_of("text", "audio", "image", "video", "pdf")
OPTION = one_of(
    {"type": one_of("toggle"), "default?": BOOL},
    {"type": one_of("effort"), "values": [one_of(EFFORT, None)], "default?": EFFORT},
    {"type": one_of("budget_tokens"), "min?": NUMBER, "max?": NUMBER, "default?": NUMBER},
)
MODEL = {
    "id": TEXT,
    "name": TEXT,
    "family?": TEXT,
    "attachment": BOOL,
    "reasoning": BOOL,
    "reasoning_options?": [OPTION],
    "tool_call": BOOL,
    "interleaved?": one_of(True, {"field": one_of("reasoning_content", "reasoning_details")}),
    "structured_output?": BOOL,
    "temperature?": BOOL,
    "knowledge?": Date,
    "release_date": Date,
    "last_updated": Date,
    "modalities": {"input": [MODALITY], "output": [MODALITY]},
    "open_weights": BOOL,
    "cost?": COST,
    "limit": LIMIT,
    "status?": one_of("alpha", "beta", "deprecated"),
}
PROVIDER = {
    "id": TEXT,
    "env": [TEXT],
    "npm": TEXT,
    "api?": TEXT,
    "name": TEXT,
    "doc": TEXT,
    "models": MapOf(NAMES, MODEL),
}
API = MapOf(PROVIDERS, PROVIDER)
CATALOG = {"providers": API, "models": MapOf(NAMES, {"name": TEXT, "reasoning": BOOL})}

REASONING_2 = one_of(
    {"supported": one_of(False)},
    {
        "supported": one_of(True),
        "default?": one_of(
            {"type": one_of("toggle"), "value": BOOL},
            {"type": one_of("effort"), "value": EFFORT},
            {"type": one_of("budget"), "value": NUMBER},
        ),
        "toggle?": BOOL,
        "effort?": [one_of(EFFORT, "default")],
        "budget?": {"min?": NUMBER, "max?": NUMBER},
    },
)
ENTRY_2 = {
    "base_url": TEXT,
    "path": TEXT,
    "compatibility?": {"reasoning_field?": one_of("reasoning", "reasoning_content")},
}
MODEL_2 = {
    "id": TEXT,
    "type": one_of("chat"),
    "name": TEXT,
    "description": TEXT,
    "open_weights": BOOL,
    "release_date": Date,
    "last_updated": Date,
    "modalities": {"input": [TEXT], "output": [TEXT]},
    "capabilities": {
        "tools": {"supported": BOOL},
        "reasoning": REASONING_2,
        "temperature?": BOOL,
    },
    "limit?": {"context?": NUMBER, "output?": NUMBER},
    "api": MapOf(("chat-completions", "responses", "messages"), ENTRY_2),
}
PROVIDER_2 = {"id": TEXT, "name": TEXT, "doc": TEXT, "env": [TEXT], "models": MapOf(NAMES, MODEL_2)}
API_2 = MapOf(PROVIDERS, PROVIDER_2)


def fits(value: Any, shape: Any) -> bool:
    """Whether a value has a shape; members that the shape does not have are refused, as by models.dev."""
    match shape:
        case MapOf():
            return isinstance(value, dict) and all(fits(item, shape.value) for item in value.values())  # fmt: skip
        case OneOf():
            return any(fits(value, each) for each in shape.shapes)
        case dict():
            names = {name.removesuffix("?"): name for name in shape}
            needed = {name for name in shape if not name.endswith("?")}
            return (
                isinstance(value, dict)
                and needed <= value.keys() <= names.keys()
                and all(fits(item, shape[names[name]]) for name, item in value.items())
            )
        case [inner]:
            return isinstance(value, list) and all(fits(item, inner) for item in value)
        case _:
            return _leaf_fits(value, shape)


def _leaf_fits(value: Any, shape: Any) -> bool:
    if shape is Date:
        return isinstance(value, str) and bool(DATE.fullmatch(value))
    if shape is NUMBER:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(shape, type):
        return isinstance(value, shape)
    return value == shape and isinstance(value, bool) == isinstance(shape, bool)


def files(shape: Any) -> st.SearchStrategy[Any]:
    """Values of a shape."""
    match shape:
        case MapOf():
            return st.dictionaries(st.sampled_from(shape.keys), files(shape.value), max_size=4)
        case OneOf():
            return st.one_of(*map(files, shape.shapes))
        case dict():
            needed = {name: files(inner) for name, inner in shape.items() if name[-1] != "?"}
            others = {name[:-1]: files(inner) for name, inner in shape.items() if name[-1] == "?"}
            return st.fixed_dictionaries(needed, optional=others)
        case [inner]:
            return st.lists(files(inner), max_size=3)
        case _:
            leaf = LEAVES.get(shape) if isinstance(shape, type) else None
            return st.just(shape) if leaf is None else leaf


LEAVES: dict[type, st.SearchStrategy[Any]] = {
    Date: st.sampled_from(["2026-03", "2026-11-16"]),
    NUMBER: st.one_of(st.integers(0, 2_000_000), st.sampled_from([0.25, 1024.0])),
    BOOL: st.booleans(),
    TEXT: st.sampled_from(["", "x", "some text"]),
}
