"""What clients request from a provider besides answers: lists of models, token counts, and whether a server is there.

Each response has the dialect of its path. Counts are the emulator's own: a token is four characters.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from innervoice.catalog.lookup import all_model_rows, host_of, is_served
from innervoice.emulator.call import tokens
from innervoice.emulator.routes import near_dialect
from innervoice.wire.dialects import DIALECTS, dialect_named
from innervoice.wire.serve import ModelFacts

__all__ = ["count_of", "reply_without_body"]

_HELLO = re.compile(r"(?:/[\w.-]+)*/api/hello")
_MODELS = re.compile(r"(?:/[\w.-]+)*/(?:models|api/tags)")


def reply_without_body(path: str) -> dict[str, Any] | None:
    """The reply to a request without a body; None for other paths.

    Claude Code requests `/api/hello` at its start, to check whether a server is there.
    """
    if _HELLO.fullmatch(path):
        return {}
    return _models(path) if _MODELS.fullmatch(path) else None


def count_of(path: str, body: Any) -> dict[str, Any] | None:
    """The token count of a request; None for other paths."""
    for dialect in map(dialect_named, DIALECTS):
        if dialect.counts and any(pattern.fullmatch(path) for pattern in _counting(dialect.name)):
            return {**dialect.count_members, dialect.counts: tokens(str(body))}
    return None


@cache
def _counting(dialect: str) -> tuple[re.Pattern[str], ...]:
    """The paths at which a dialect counts tokens, after any base URL."""
    asked_for = dialect_named(dialect).endpoints.items()
    paths = (row.partition(" ")[2] for row, verb in asked_for if verb == "count")
    return tuple(
        re.compile(r"(?:/[\w.-]+)*" + re.escape(path).replace(r"\{model\}", "[^/]+"))
        for path in paths
    )


def _models(path: str) -> dict[str, Any]:
    """The models of a provider, as its own API lists them."""
    dialect = dialect_named(near_dialect(path))
    host = host_of(path.split("/")[1]) or host_of(dialect.home)
    owner = host.id if host else dialect.home
    rows = (row for row in all_model_rows() if owner in row.hosts and not row.guess)
    # A pattern for dated names is not a name itself: claude-sonnet-4-5-20*.
    matches = (match for row in rows for match in row.match if not match.endswith("-20*"))
    names = {match.rstrip("*").rstrip("-") for match in matches}
    names = {
        name for name in names if name and "*" not in name and (not host or is_served(name, host))
    }
    return dialect.listing.model_list([ModelFacts(name, owner) for name in sorted(names)])
