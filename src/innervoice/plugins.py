"""What other packages add to innervoice, by entry points; their names are looked up where one is used.

    [project.entry-points."innervoice.stores"]       SCHEME = "package:open"    (url, retention) -> a `Store`, for `store = "SCHEME:..."`
    [project.entry-points."innervoice.sources"]      NAME = "package:READER"    a `Reader` of another program's files
    [project.entry-points."innervoice.bulk_steps"]   NAME = "package:step"      () -> a `Step`, for `innervoice bulk map --map NAME`
    [project.entry-points."innervoice.clients"]      NAME = "package:ROWS"      rows for `innervoice run`, as in clients.toml

What innervoice has itself cannot be replaced: its own names come first.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeAlias

from innervoice.errors import UsageError

__all__ = ["PluginKind", "plugin", "plugin_names"]

PluginKind: TypeAlias = Literal["stores", "sources", "bulk_steps", "clients"]


@cache
def _installed(kind: PluginKind) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=f"innervoice.{kind}")}


def plugin_names(kind: PluginKind) -> tuple[str, ...]:
    """The names that other packages add, in order."""
    return tuple(sorted(_installed(kind)))


def plugin(kind: PluginKind, name: str) -> Any:
    """What a package adds under this name; raises `UsageError` if it cannot be loaded."""
    point = _installed(kind)[name]
    try:
        return point.load()
    except Exception as error:
        package = point.dist.name if point.dist else point.value
        raise UsageError(
            f"{name!r} of the package {package} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
