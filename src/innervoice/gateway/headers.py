"""Headers between a client, the gateway and an upstream. Nothing is passed on that no row names: a caller's key least of all."""

from __future__ import annotations

from collections.abc import Mapping

from innervoice.canon.notes import Notebook
from innervoice.canon.target import Target
from innervoice.wire.dialects import dialect_named

__all__ = ["AFFINITY", "passed_back", "passed_on"]

_BETA = "anthropic-beta"
_BETAS: dict[str, tuple[str, ...]] = {
    "anthropic": ("*",),
    # Vertex refuses flags that it does not know, stale ones too (vercel/ai, packages/anthropic, e5c4f40).
    "vertex": ("interleaved-thinking-2025-05-14", "context-1m-2025-08-07"),
}
"""Hosts of the Messages API -> the flags of `anthropic-beta` that they know; one that is in no row gets none."""

_BYTES_ONLY = ("anthropic-version",)
"""Sent as the client sent it where its body is, too: the version decides what the body may hold."""

AFFINITY = (
    "x-claude-code-session-id",
    "session-id",
    "thread-id",
    "x-session-id",
    "x-session-affinity",
)
"""Headers that say which requests belong together."""

_BACK = frozenset({"request-id", "x-request-id", "retry-after", "openai-processing-ms"})
_BACK_STARTS = ("anthropic-ratelimit-", "x-ratelimit-")


def passed_on(
    given: Mapping[str, str], target: Target, notebook: Notebook, *, is_bytes: bool
) -> dict[str, str]:
    """The client's headers that go to an upstream; flags that it does not know are noted."""
    passed: dict[str, str] = {}
    if not dialect_named(target.dialect).headers.keys() & set(_BYTES_ONLY):
        return passed  # no other API has these headers
    flags = [flag.strip() for flag in given.get(_BETA, "").split(",") if flag.strip()]
    known = _BETAS.get(target.provider or "", ())
    kept = [flag for flag in flags if "*" in known or flag in known]
    for flag in flags:
        if flag not in kept:
            notebook.add("header_dropped", flag[:80])
    if kept:
        passed[_BETA] = ",".join(kept)
    if is_bytes:
        passed |= {name: given[name] for name in _BYTES_ONLY if name in given}
    return passed


def passed_back(given: Mapping[str, str]) -> dict[str, str]:
    """The upstream's headers that go to the client: its id of the request, and how much one may still ask."""
    lowered = {name.lower(): value for name, value in given.items()}
    return {
        name: value
        for name, value in lowered.items()
        if name in _BACK or name.startswith(_BACK_STARTS)
    }
