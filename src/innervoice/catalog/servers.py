"""The rows of servers.toml: programs that serve models on machines of one's own."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from innervoice.canon.rows import Row
from innervoice.catalog.lookup import fits

__all__ = ["ServerRow", "ServerSign", "all_servers", "server_named"]


class ServerSign(Row, frozen=True, kw_only=True):
    """A reply by which a server is recognized."""

    path: str
    member: str | None = None
    value: Any = None
    """None: any."""
    text: str | None = None


class ServerRow(Row, frozen=True, kw_only=True):
    """A program that serves models; servers.toml explains the columns."""

    id: str
    name: str
    host: str
    signs: tuple[ServerSign, ...]
    version: tuple[str, str] | None = None
    models: tuple[str, str]
    start: str = ""
    parsers: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    replies: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it
    source: str

    def start_for(self, model: str) -> str:
        """What the server is started with for a model."""
        patterns = [pattern for pattern in self.parsers if fits((pattern,), model)]
        best = max(patterns, key=len, default=None)
        return self.start.replace("{parser}", self.parsers[best] if best else "NAME")


@cache
def all_servers() -> tuple[ServerRow, ...]:
    """Every row, in the order in which they are asked."""
    import tomllib  # noqa: PLC0415 - few programs need it

    text = Path(__file__).with_name("servers.toml").read_text("utf-8")
    return tuple(map(ServerRow.from_row, tomllib.loads(text)["server"]))


def server_named(name: str) -> ServerRow | None:
    """The row with an id."""
    return next((row for row in all_servers() if row.id == name), None)
