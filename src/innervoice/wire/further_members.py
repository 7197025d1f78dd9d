"""What a wire block says beyond its part: members for which no part has a field.

At home a block is sent back as it came, so nothing is lost. For another dialect a block is written anew from its part: members that
both dialects have (`Dialect.part_places`) move to their place there, and the names of the others are returned, to be noted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from innervoice.canon.parts import Media, Part, Text, ToolCall, ToolResult
from innervoice.wire.dialect import Dialect
from innervoice.wire.dialects import dialect_named
from innervoice.wire.media import kind_of

__all__ = ["Moved", "further_members", "moved_members", "path_put"]

_STRUCTURE = frozenset({"type", "role", "object", "index"})
"""Members that say what a block is, or where it is."""


class _Expressed(NamedTuple):
    """What the fields of a part express, in whatever dialect it was read."""

    names: frozenset[str]
    holders: frozenset[str]
    """Objects and lists of which the same is true of their own members."""


_EXPRESSED: dict[type, _Expressed] = {
    Text: _Expressed(
        frozenset({"text", "refusal", "json", "data"}),
        frozenset({"content", "source", "document", "guardContent", "searchResult", "text"}),
    ),
    Media: _Expressed(
        frozenset({
            "url", "uri", "fileUri", "file_url", "image_url", "video_url", "document_url", "data", "bytes", "file_data", "input_audio",
            "mimeType", "mime_type", "media_type", "format", "title", "filename", "name", "displayName", "document_name",
        }),
        frozenset({
            "source", "image_url", "video_url", "input_audio", "file", "inlineData", "fileData", "image", "document", "video",
            "s3Location",
        }),
    ),
    ToolCall: _Expressed(
        frozenset({"id", "call_id", "toolUseId", "name", "arguments", "input", "args"}),
        frozenset({"function", "custom", "toolUse", "functionCall"}),
    ),
    ToolResult: _Expressed(
        frozenset({
            "id", "call_id", "toolUseId", "tool_use_id", "tool_call_id", "name", "content", "output", "result", "response", "parts",
            "is_error",
        }),
        frozenset({"toolResult", "functionResponse"}),
    ),
}  # fmt: skip
_RESULTS = [("status", "success"), ("status", "error")]
"""What Converse says of a result, and `ToolResult.error` as well."""
_MARK = "cache_control"
"""Cache marks have rules of their own (`planning/cache_marks.py`), as far as they have a type and a duration."""
_COMPLETED = (("status",), "completed")
_UNTYPED = (("toolUse",), ("toolResult",))
"""Objects whose kind is the name of their member, so that their `type` says something else."""


class Moved(NamedTuple):
    """The further members of a block, for another dialect."""

    members: dict[str, Any]
    """Those that the other dialect has, as they stand in its block."""
    lost: tuple[str, ...] = ()
    """The names of the others."""


_NOTHING = Moved({})


def moved_members(part: Part, target: Dialect) -> Moved:
    """What the block of a part says beyond the part, for another dialect than its own."""
    origin = part.origin
    if origin is None or origin.dialect is None or not isinstance(origin.block, dict):
        return _NOTHING
    source = dialect_named(origin.dialect)
    places = source.part_places.get(_kind(part), {})
    names = {path: name for name, path in places.items()}
    there = target.part_places.get(_kind(part), {}) if target is not source else {}
    members: dict[str, Any] = {}
    lost: list[str] = []
    for path, value in further_members(part, source):
        name = names.get(path)
        if name in there:
            path_put(members, there[name], value)
        else:
            lost.append(".".join(path))
    return Moved(members, tuple(dict.fromkeys(lost)))


def _kind(part: Part) -> str:
    if isinstance(part, Media):
        return "image" if kind_of(part) == "image" else "document"
    return part.type


def further_members(part: Part, source: Dialect) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The members of a part's block for which the part has no field, with their paths."""
    expressed, origin = _EXPRESSED.get(type(part)), part.origin
    if expressed is None or origin is None or not isinstance(origin.block, dict):
        return
    for path, value in _further(origin.block, expressed, (*source.seals, _MARK), ()):
        # An answer has that on each of its items; in a request it is the client's.
        if origin.model is None or (path, value) != _COMPLETED:
            yield path, value
    mark = origin.block.get(_MARK)
    marked = mark if isinstance(mark, dict) else {}
    for name in marked.keys() - {"type", "ttl"}:
        yield (_MARK, name), marked[name]


def _further(
    block: dict[str, Any], expressed: _Expressed, seals: tuple[str, ...], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in block.items():
        is_named = name == "type" and path[-1:] in _UNTYPED
        if (name in _STRUCTURE and not is_named) or name in seals:
            continue
        if name in expressed.holders and isinstance(value, (dict, list)):
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, dict):
                    yield from _further(item, expressed, seals, (*path, name))
        elif name not in expressed.names and _says(value) and (name, value) not in _RESULTS:
            yield (*path, name), value


def _says(value: Any) -> bool:
    """Whether a value says anything: null, an empty one, and an object that only names its own type do not."""
    if isinstance(value, dict):
        return any(_says(item) for name, item in value.items() if name not in _STRUCTURE)
    if isinstance(value, list):
        return any(map(_says, value))
    return value is not None and value != ""


def path_put(members: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """Puts a value at a path, and the objects on the way there."""
    for step in path[:-1]:
        members = members.setdefault(step, {})
    members[path[-1]] = value
