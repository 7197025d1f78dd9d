"""Members and headers between a client, the gateway and an upstream: what is forwarded, and what the gateway adds.

Some of a request the client's own body cannot express, or has in another place:

    flags      `anthropic-beta`, a header at most hosts of Claude, is a member of the body at Bedrock
    cache key  OpenAI routes requests with the same prefix and the same key to one machine; the key is derived from the beginning of a conversation
    errors     a failed tool result says so in its text where the API has no member for it
    summaries  a client whose API shows reasoning, and that requests an effort, wants to see the reasoning

A key that differs in every request would defeat prompt caches, and one key for each system prompt would send all agents with the same
prompt to one machine. So all requests of a conversation have the same key, and the next conversation has another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Part, Text, ToolResult
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request, Wire
from innervoice.canon.target import Target
from innervoice.conversation.digest import conversation_start
from innervoice.sources.request_log.write import AFFINITY
from innervoice.wire.controls import is_claude
from innervoice.wire.dialect import Dialect
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.serve import ReceivedMembers, without

__all__ = [
    "AFFINITY",
    "STORE",
    "added_members",
    "asked_betas",
    "known_betas",
    "moved_out",
    "passed_back",
    "passed_on",
    "shown_elsewhere",
    "shown_to_client",
    "trace_of",
    "with_marked_errors",
    "with_members",
    "without_private_members",
]

_BETAS = "anthropic_beta"
_CACHE_KEY = "prompt_cache_key"


def moved_out(extra: dict[str, Any], target: Target) -> dict[str, Any]:
    """The client's further members without those that `added_members` writes in another place."""
    if not isinstance(extra, ReceivedMembers) or extra.dialect == target.dialect:
        return extra
    moved = {_BETAS, _CACHE_KEY} if _has_keyed_cache(target) else {_BETAS}
    holder = dialect_named(extra.dialect).wraps_reasoning
    others = {name: value for name, value in extra.items() if name not in moved}
    if holder and _BETAS in as_dict(others.get(holder)):
        others[holder] = {name: item for name, item in others[holder].items() if name != _BETAS}
        if not others[holder]:
            del others[holder]
    if others == extra:
        return extra
    return ReceivedMembers(extra.dialect, others, extra.spelling, extra.elsewhere)


def shown_to_client(
    setting: Reasoning | None, dialect: str, target: Target, notebook: Notebook
) -> Reasoning | None:
    """The setting with a request for a summary, if the client asks for thinking and its API shows what is asked for, but the model would hide it.

    An API that has a setting for what is shown is asked in its own words at home: there only an amount, which models with a hidden
    default no longer know, is a request for words.
    """
    row, spoken = target.row, dialect_named(dialect)
    is_at_home = spoken.shows_asked and dialect == target.dialect
    if (
        not (spoken.thinks_visibly or spoken.shows_asked)
        or setting is None
        or setting.show is not None
        or setting.effort == "none"
        or (is_at_home and setting.budget is None)
        or row.shown != "hidden"
        or "summary" not in row.showable
    ):
        return setting
    notebook.add("reasoning_shown")
    return setting.replace(show="summary")


def shown_elsewhere(request: Request, dialect: str, target: Target, notebook: Notebook) -> Any:
    """The client's further members, with the same for a setting that only the client's API has, and its meaning in others."""
    extra = request.extra
    if not isinstance(extra, ReceivedMembers) or dialect == target.dialect:
        return extra
    here, meant = extra.elsewhere.get("reasoning", (None, None))
    if meant is None or request.reasoning != here:
        return extra
    shown = shown_to_client(meant, dialect, target, notebook)
    if shown == meant:
        return extra
    elsewhere = {**extra.elsewhere, "reasoning": (here, shown)}
    return ReceivedMembers(extra.dialect, dict(extra), extra.spelling, elsewhere)


def with_marked_errors(request: Request, target: Target) -> Request:
    """The request with failed tool results marked in their text, if the target has no other way."""
    results = (part for message in request.messages for part in message.parts)
    if dialect_named(target.dialect).flags_errors or not any(map(_is_error, results)):
        return request
    return request.replace(
        messages=tuple(
            message.replace(parts=tuple(map(_marked_error, message.parts)))
            for message in request.messages
        )
    )


def _is_error(part: Part) -> bool:
    return isinstance(part, ToolResult) and part.error


def _marked_error(part: Part) -> Part:
    if not isinstance(part, ToolResult) or not part.error:
        return part
    content = part.content
    if not isinstance(content, str):
        return part.replace(content=(Text("Error:"), *content))
    is_marked = content.lstrip().lower().startswith("error")
    return part if is_marked else part.replace(content=f"Error: {content}")


def added_members(
    request: Request,
    body: Mapping[str, Any],
    target: Target,
    betas: Sequence[str],
    owner: tuple[str, bytes],
    notebook: Notebook,
) -> dict[str, Any]:
    """What is added to a body that is written here; `owner` is the tenant and the secret from which its cache keys are derived."""
    added: dict[str, Any] = {}
    holder = dialect_named(target.dialect).wraps_reasoning
    if betas and holder and _BETAS in dialect_named(target.dialect).claude_only:
        added[holder] = {_BETAS: list(betas)}
    elif betas and target.host and target.host.envelope:
        added[_BETAS] = list(betas)
    extra = request.extra
    is_translated = not isinstance(extra, ReceivedMembers) or extra.dialect != target.dialect
    # A client of the same API may send the next request as bytes that are forwarded unchanged: the key must not come and go.
    if _has_keyed_cache(target) and is_translated:
        key = body.get(_CACHE_KEY)
        if not isinstance(key, str):
            key = conversation_start(request, *owner)
            notebook.add("cache_key_added")
        added[_CACHE_KEY] = key
    return added


def with_members(wire: Wire, members: Mapping[str, Any]) -> Wire:
    """The encoded request with further members; members of an object are added to those that it has."""
    body = dict(wire.body)
    for name, value in members.items():
        inner = isinstance(value, dict)
        body[name] = {**as_dict(body.get(name)), **value} if inner else value
    return wire.replace(body=body) if members else wire


def _has_keyed_cache(target: Target) -> bool:
    return target.host is not None and target.host.keyed_cache


# ---- Headers. Only those with a row here are forwarded: a caller's key never is.


STORE = "x-innervoice-store"
"""The header in which a client says how little may be kept of its turns: "off" or "ram"."""
_BETA_HEADER = "anthropic-beta"
_IN_BODY = (("additionalModelRequestFields", "anthropic_beta"), ("anthropic_beta",))
"""Where clients of Bedrock write the flags: those of Converse, and those made for InvokeModel."""

_BYTES_ONLY = ("anthropic-version",)
"""Forwarded where the client's body is forwarded: the version decides what the body may contain."""

_TRACE = ("traceparent", "tracestate")
"""The trace that a request belongs to (W3C Trace Context); every upstream gets it."""
_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)

_BACK = frozenset({"request-id", "x-request-id", "retry-after", "openai-processing-ms"})
_BACK_STARTS = ("anthropic-ratelimit-", "x-ratelimit-")


def trace_of(headers: Mapping[str, str]) -> str:
    """The client's trace and span; empty if it sends none that is valid."""
    trace = headers.get(_TRACE[0], "")
    return trace if trace and _TRACEPARENT.fullmatch(trace) else ""


def without_private_members(
    body: bytes, value: dict[str, Any], dialect: Dialect
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A body without the members of its items that are meant for the client's own provider, and the names of those that it had."""
    names = tuple(name for name in dialect.private_members if name.encode() in body)
    if not names:
        return value, ()
    items = [
        without(item, *names) if isinstance(item, dict) else item
        for item in as_list(value.get(dialect.history))
    ]
    return {**value, dialect.history: items}, names


def asked_betas(headers: Mapping[str, str], body: Mapping[str, Any]) -> tuple[str, ...]:
    """The flags that a client sets, in its header or in its body."""
    if not body and _BETA_HEADER not in headers:
        return ()
    flags: list[Any] = headers.get(_BETA_HEADER, "").split(",")
    for path in _IN_BODY:
        value: Any = body
        for name in path:
            value = as_dict(value).get(name)
        flags += as_list(value)
    stripped = (flag.strip() for flag in flags if isinstance(flag, str))
    return tuple(dict.fromkeys(flag for flag in stripped if flag))


def known_betas(flags: Sequence[str], target: Target, notebook: Notebook) -> tuple[str, ...]:
    """The flags that an upstream knows; the others are noted."""
    if not flags:
        return ()
    takes = _has_headers(target) or is_claude(target.row)
    accepted = target.host.betas if target.host and takes else ()
    passed = tuple(flag for flag in flags if "*" in accepted or flag in accepted)
    for flag in flags:
        if flag not in passed:
            notebook.add("header_dropped", flag[:80])
    return passed


def passed_on(
    headers: Mapping[str, str], target: Target, betas: Sequence[str], *, is_bytes: bool
) -> dict[str, str]:
    """The client's headers that go to an upstream, and the flags that the upstream knows."""
    passed: dict[str, str] = {}
    if trace_of(headers):
        passed = {name: headers[name] for name in _TRACE if name in headers}
    if not _has_headers(target):
        return passed
    if betas:
        passed[_BETA_HEADER] = ",".join(betas)
    if is_bytes:
        passed |= {name: headers[name] for name in _BYTES_ONLY if name in headers}
    return passed


def _has_headers(target: Target) -> bool:
    """Whether the target's API has these headers at all; in an envelope, the body has their content."""
    if target.host and target.host.envelope:
        return False
    return _has_version(target.dialect)


@cache
def _has_version(dialect: str) -> bool:
    return not dialect_named(dialect).headers.keys().isdisjoint(_BYTES_ONLY)


def passed_back(headers: Mapping[str, str]) -> dict[str, str]:
    """The upstream's headers that go to the client: the request id, and the remaining rate limits."""
    lowered = {name.lower(): value for name, value in headers.items()}
    return {
        name: value
        for name, value in lowered.items()
        if name in _BACK or name.startswith(_BACK_STARTS)
    }
