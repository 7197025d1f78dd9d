"""The shape of a request, as data, and where a request differs from it.

A shape is written like the JSON it describes:

    None                anything
    "string"            a string; also "number", "integer", "boolean", "object" and "list"
    [shape]             a list of such values
    {"name": shape}     an object with these members
    (shape, shape)      one of these, distinguished by their types
    Needs(members, ..)  an object that must have some of its members
    Named(shape)        an object with members of any name, all of one shape
    Words("a", "b")     one of these strings
    Kinds(tag, shapes)  an object whose member `tag` determines its shape

Each dialect has its shapes in `wire/<dialect>/rules.py` and words its refusals there. An absent member and null are the same here:
`rules.py` checks what must not be null. Types are checked at every host. Members, words and kinds that the API does not have
are refused only by strict hosts (`strict` in `hosts.toml`); others ignore them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from innervoice.canon.target import Target
from innervoice.wire.refusals import Refusal

__all__ = [
    "JSON_NAMES", "Kind", "Kinds", "Misfit", "Named", "Needs", "Path", "Shape", "Words", "bracketed", "dotted", "is_strict", "misfits",
    "refusals", "type_name",
]  # fmt: skip

Shape: TypeAlias = Any
"""Any of the forms above."""
_DEEPEST = 64
"""Deeper values are not checked; only a schema could contain them."""


class Needs(NamedTuple):
    """An object that must have some of its members."""

    members: Mapping[str, Shape]
    names: tuple[str, ...]


class Named:
    """An object with members of any name, all of one shape."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape


class Words:
    """One of these strings."""

    def __init__(self, *words: str) -> None:
        self.words = words


class Kinds(NamedTuple):
    """An object whose member `tag` determines its shape."""

    tag: str
    shapes: Mapping[str, Shape]
    usual: str | None = None
    """The kind of an object without the tag; None: the tag is required."""


class Kind(str):
    """A step of a path: the kind of the object there, which some APIs name in their errors."""

    __slots__ = ()


Path: TypeAlias = tuple[str | int, ...]
"""Members, positions in lists, and kinds."""


class Misfit(NamedTuple):
    """One place where a request differs from its shape."""

    what: Literal["unknown", "missing", "type", "word", "kind", "untagged"]
    path: Path
    """The place of the value, or where it should be."""
    value: Any = None
    expected: tuple[str, ...] = ()
    """The types, words or kinds that are allowed there."""


def misfits(value: Any, shape: Shape, path: Path = (), *, strict: bool) -> Iterator[Misfit]:
    """Where a value differs from its shape. Unless `strict`, only wrong types count."""
    if value is None or len(path) > _DEEPEST:
        return
    shape = _of_its_type(value, shape)
    match shape:
        case None | str():
            pass
        case _Wrong(expected):
            yield Misfit("type", path, value, expected)
        case list():
            for number, item in enumerate(value):
                yield from misfits(item, shape[0], (*path, number), strict=strict)
        case Words():
            if strict and value not in shape.words:
                yield Misfit("word", path, value, shape.words)
        case Kinds():
            yield from _of_kind(value, shape, path, strict=strict)
        case _:
            yield from _members(value, shape, path, strict=strict)


def refusals(
    body: Any, shape: Shape, target: Target, word: Callable[[Misfit], Refusal]
) -> Iterator[Refusal]:
    """What a host refuses about the shape of a body; `word` turns a misfit into the refusal of its dialect."""
    for misfit in misfits(body, shape, strict=is_strict(target)):
        yield word(misfit)


def is_strict(target: Target) -> bool:
    """Whether the host refuses members that its API does not have."""
    return target.host is not None and target.dialect in target.host.strict


# ---- types ----------------------------------------------------------------------------------------

JSON_NAMES: dict[type, str] = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "list", dict: "object",
}  # fmt: skip


class _Wrong(NamedTuple):
    """No shape has the type of the value."""

    expected: tuple[str, ...]


def type_name(value: Any) -> str:
    """The name of a value's type, as shapes name them."""
    return JSON_NAMES.get(type(value), "null")


def _of_its_type(value: Any, shape: Shape) -> Shape:
    """The shape among the alternatives that has the type of the value."""
    alternatives = shape if type(shape) is tuple else (shape,)
    for alternative in alternatives:
        if alternative is None or _fits(value, _type_of(alternative)):
            return alternative
    return _Wrong(tuple(_type_of(alternative) for alternative in alternatives))


def _type_of(shape: Shape) -> str:
    if isinstance(shape, str):
        return shape
    if isinstance(shape, Words):
        return "string"
    return "list" if isinstance(shape, list) else "object"


def _fits(value: Any, name: str) -> bool:
    given = type_name(value)
    if name == "number":
        return given in ("number", "integer")
    if name == "integer" and given == "number":
        return bool(value.is_integer())
    return given == name


# ---- objects --------------------------------------------------------------------------------------


def _members(value: dict[str, Any], shape: Shape, path: Path, *, strict: bool) -> Iterator[Misfit]:
    if isinstance(shape, Needs):
        missing = [name for name in shape.names if value.get(name) is None]
        if strict and missing:
            yield Misfit("missing", (*path, missing[0]))
        shape = shape.members
    any_name = isinstance(shape, Named)
    for name, held in value.items():
        if any_name or name in shape:
            inner = shape.shape if any_name else shape[name]
            yield from misfits(held, inner, (*path, name), strict=strict)
        elif strict:
            yield Misfit("unknown", (*path, name), held)


def _of_kind(value: dict[str, Any], kinds: Kinds, path: Path, *, strict: bool) -> Iterator[Misfit]:
    named = value.get(kinds.tag, kinds.usual)
    if named is None:
        if strict:
            yield Misfit("untagged", (*path, kinds.tag), value, tuple(kinds.shapes))
    elif not isinstance(named, str):
        yield Misfit("type", (*path, kinds.tag), named, ("string",))
    elif named in kinds.shapes:
        yield from misfits(value, kinds.shapes[named], (*path, Kind(named)), strict=strict)
    elif strict:
        yield Misfit("kind", (*path, kinds.tag), named, tuple(kinds.shapes))


# ---- paths ----------------------------------------------------------------------------------------


def dotted(path: Path) -> str:
    """A path as pydantic writes it: messages.0.content.1.text, kinds included."""
    return ".".join(map(str, path))


def bracketed(path: Path) -> str:
    """A path as OpenAI and Google write it: messages[0].content[1], without kinds."""
    written = ""
    for step in path:
        if isinstance(step, int):
            written += f"[{step}]"
        elif not isinstance(step, Kind):
            written += f".{step}" if written else step
    return written
