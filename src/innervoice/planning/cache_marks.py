"""Cache marks: which targets support them, and which parts carry one.

A mark says that a provider may cache everything up to it. Anthropic writes it into a block (`cache_control`), as some chat hosts do;
Bedrock's Converse has a separate block after the marked content (`cachePoint`). `Origin.cache_mark` holds a mark on its way from one to the other.
"""

from __future__ import annotations

from typing import Any

from innervoice.canon.parts import Part
from innervoice.canon.target import Target
from innervoice.canon.tools import Tool
from innervoice.conversation.stable import unmarked
from innervoice.wire.controls import is_claude
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict

__all__ = ["cache_mark_of", "may_keep_marks", "takes_cache_marks", "without_mark"]


def takes_cache_marks(target: Target) -> bool:
    """Whether the target supports cache marks on parts of messages."""
    match dialect_named(target.dialect).cache_marks:
        case "all":
            return True
        case "models":
            return is_claude(target.row) or target.row.control == "nova"
        case _:
            return target.host is not None and "cache_control" in target.host.knows


def may_keep_marks(dialect: str, target: Target) -> bool:
    """True if the cache marks of a client's dialect may be in what a target is sent."""
    return dialect == target.dialect or takes_cache_marks(target)


def cache_mark_of(part: Part) -> Any:
    """The mark on a part, in Anthropic's form; None if it has none."""
    origin = part.origin
    if origin is None:
        return None
    mark = as_dict(origin.cache_mark or as_dict(origin.block).get("cache_control"))
    if mark.get("type") != "ephemeral":
        return None
    return {name: mark[name] for name in ("type", "ttl") if mark.get(name)}


def without_mark(tool: Tool) -> Tool:
    """A tool without its cache mark."""
    members = unmarked(tool.members)
    return tool if members == tool.members else tool.replace(members=members)
