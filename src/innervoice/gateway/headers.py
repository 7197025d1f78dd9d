"""Headers between a client, the gateway and an upstream. Only headers with a row here are forwarded: a caller's key never is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from innervoice.canon.notes import Notebook
from innervoice.canon.target import Target
from innervoice.sources.request_log.write import AFFINITY
from innervoice.wire.controls import is_claude
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict, as_list

__all__ = ["AFFINITY", "STORE", "asked_betas", "known_betas", "passed_back", "passed_on"]

STORE = "x-innervoice-store"
"""The header in which a client says how little may be kept of its turns: "off" or "ram"."""
_BETA = "anthropic-beta"
_IN_BODY = (("additionalModelRequestFields", "anthropic_beta"), ("anthropic_beta",))
"""Where clients of Bedrock write the flags: those of Converse, and those made for InvokeModel."""

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
    accepted = target.host.betas if target.host and takes else ()
    passed = tuple(flag for flag in flags if "*" in accepted or flag in accepted)
    for flag in flags:
        if flag not in passed:
            notebook.add("header_dropped", flag[:80])
    return passed


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
