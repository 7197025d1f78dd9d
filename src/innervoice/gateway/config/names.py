"""Model names, as callers and the config write them.

A caller's text becomes part of the URL of some APIs, so only names with the characters of real models are accepted: a name with an address,
a query or `..` in it is unknown. Only the slash divides `provider/model`: `qwen:7b` is the name of a model in Ollama.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = [
    "MODEL_NAME",
    "ModelName",
    "filled",
    "is_safe",
    "matched",
    "split_name",
    "without_suffix",
]

_PROVIDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+~=,\[\]-]{0,254}")
_UNSAFE = re.compile(r"//|(?:^|/)\.\.?(?:/|\Z)")
_SUFFIX = re.compile(r"\[[A-Za-z0-9_-]{1,16}\]\Z")

MODEL_NAME = "a model name of letters, digits and ._:/@+~=,-"
"""What `is_safe` accepts, in words."""


class ModelName(NamedTuple):
    """The two halves of `provider/model`."""

    provider: str
    model: str


def split_name(name: str) -> ModelName | None:
    """The halves of `provider/model`; None if the name has another form."""
    provider, slash, model = name.partition("/")
    if not slash or not model or not _PROVIDER.fullmatch(provider):
        return None
    return ModelName(provider, model)


def is_safe(name: str) -> bool:
    """Whether a name may be sent to an upstream."""
    return bool(_SAFE.fullmatch(name)) and not _UNSAFE.search(name)


def without_suffix(name: str) -> str:
    """The name without a word in brackets at its end: Claude Code appends `[1m]` for a larger context window, which no API accepts."""
    return _SUFFIX.sub("", name)


def matched(glob: str, name: str) -> tuple[str, ...] | None:
    """The texts that each `*` of a glob stands for in a name; None if the name does not match.

    Takes time in proportion to the name's length, because each piece is matched at its leftmost position.
    """
    first, *others = glob.split("*")
    if not others:
        return () if glob == name else None
    last = others[-1]
    if not name.startswith(first) or not name.endswith(last):
        return None
    end = len(name) - len(last)
    place, texts = len(first), []
    for piece in others[:-1]:
        position = name.find(piece, place, end)
        if position < 0:
            return None
        texts.append(name[place:position])
        place = position + len(piece)
    return (*texts, name[place:end]) if place <= end else None


def filled(target: str, texts: tuple[str, ...]) -> str:
    """A target with each `*` replaced by a text, in their order."""
    first, *others = target.split("*")
    return first + "".join(text + piece for text, piece in zip(texts, others, strict=False))
