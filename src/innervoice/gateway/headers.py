"""Headers between a client, the gateway and an upstream. Only headers with a row here are forwarded: a caller's key never is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from innervoice.canon.notes import Notebook
from innervoice.canon.target import Target
from innervoice.sources.request_log_writer import AFFINITY
from innervoice.wire.controls import is_claude
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict, as_list

__all__ = ["AFFINITY", "STORE", "asked_betas", "known_betas", "passed_back", "passed_on"]

STORE = "x-innervoice-store"
"""The header in which a client says how little may be kept of its turns: "off" or "ram"."""
_BETA = "anthropic-beta"
_IN_BODY = (("additionalModelRequestFields", "anthropic_beta"), ("anthropic_beta",))
"""Where clients of Bedrock write the flags: those of Converse, and those made for InvokeModel."""

_EVERYWHERE = (
    "computer-use-2025-01-24",
    "computer-use-2025-11-24",
    "context-1m-2025-08-07",
    "thinking-display-updates-2026-08-18",
)
_AT_BEDROCK = frozenset(
    {
        *_EVERYWHERE,
        "effort-2025-11-24",
        "fine-grained-tool-streaming-2025-05-14",
        "structured-outputs-2025-11-13",
        "thinking-binding-controls-2026-08-01",
    }
)
_BETAS: dict[str, frozenset[str]] = {
    "anthropic": frozenset({"*"}),
    "claude-aws": frozenset({"*"}),
    "claude-google": frozenset({"*"}),
    "azure": frozenset({
        *_EVERYWHERE, "advanced-tool-use-2025-11-20", "code-execution-2025-08-25", "context-management-2025-06-27",
        "dangerous-tool-use-2026-09-03", "effort-2025-11-24", "files-api-2025-04-14", "interleaved-thinking-2025-05-14",
        "mcp-client-2025-04-04", "mcp-client-2025-11-20", "per-turn-control-2026-07-01", "prompt-caching-scope-2026-01-05",
        "skills-2025-10-02", "structured-outputs-2025-11-13", "web-fetch-2025-09-10", "web-search-2025-03-05",
    }),
    "bedrock": _AT_BEDROCK,
    "bedrock-invoke": _AT_BEDROCK,
    # Vertex refuses flags that it does not know, including outdated ones (vercel/ai, packages/anthropic, e5c4f40).
    "vertex": frozenset({
        *_EVERYWHERE, "compact-2026-01-12", "compact-2026-09-04", "context-management-2025-06-27", "dangerous-tool-use-2026-09-03",
        "interleaved-thinking-2025-05-14", "per-turn-control-2026-07-01", "thinking-binding-controls-2026-08-01",
        "tool-search-tool-2025-10-19", "web-search-2025-03-05",
    }),
}  # fmt: skip
"""Hosts of Claude -> the flags of `anthropic-beta` that they know; a host without a row gets none. No flag is added that a client did
not send. Source: anthropic_beta_headers_config.json of litellm, commit 030dd40, read 2026-11-16."""

_BYTES_ONLY = ("anthropic-version",)
"""Forwarded where the client's body is forwarded: the version decides what the body may contain."""

_BACK = frozenset({"request-id", "x-request-id", "retry-after", "openai-processing-ms"})
_BACK_STARTS = ("anthropic-ratelimit-", "x-ratelimit-")


def asked_betas(given: Mapping[str, str], body: Mapping[str, Any]) -> tuple[str, ...]:
    """The flags that a client sets, in its header or in its body."""
    flags: list[Any] = given.get(_BETA, "").split(",")
    for path in _IN_BODY:
        value: Any = body
        for name in path:
            value = as_dict(value).get(name)
        flags += as_list(value)
    stripped = (flag.strip() for flag in flags if isinstance(flag, str))
    return tuple(dict.fromkeys(flag for flag in stripped if flag))


def known_betas(flags: Sequence[str], target: Target, notebook: Notebook) -> tuple[str, ...]:
    """The flags that an upstream knows; the others are noted."""
    takes = _has_headers(target) or is_claude(target.row)
    known = _BETAS.get(target.provider or "", frozenset()) if takes else frozenset()
    kept = tuple(flag for flag in flags if "*" in known or flag in known)
    for flag in flags:
        if flag not in kept:
            notebook.add("header_dropped", flag[:80])
    return kept


def passed_on(
    given: Mapping[str, str], target: Target, betas: Sequence[str], *, is_bytes: bool
) -> dict[str, str]:
    """The client's headers that go to an upstream, and the flags that the upstream knows."""
    if not _has_headers(target):
        return {}
    passed = {_BETA: ",".join(betas)} if betas else {}
    if is_bytes:
        passed |= {name: given[name] for name in _BYTES_ONLY if name in given}
    return passed


def _has_headers(target: Target) -> bool:
    """Whether the target's API has these headers at all; in an envelope, the body has their content."""
    if target.host and target.host.envelope:
        return False
    return bool(dialect_named(target.dialect).headers.keys() & set(_BYTES_ONLY))


def passed_back(given: Mapping[str, str]) -> dict[str, str]:
    """The upstream's headers that go to the client: the request id, and the remaining rate limits."""
    lowered = {name.lower(): value for name, value in given.items()}
    return {
        name: value
        for name, value in lowered.items()
        if name in _BACK or name.startswith(_BACK_STARTS)
    }
