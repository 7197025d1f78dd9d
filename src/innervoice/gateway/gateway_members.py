"""What the gateway adds to a request because the client's own body cannot express it, or has it in another place.

    flags      `anthropic-beta`, a header at most hosts of Claude, is a member of the body at Bedrock
    cache key  OpenAI routes requests with the same prefix and the same key to one machine; the key is derived from the beginning of a conversation
    errors     a failed tool result says so in its text where the API has no member for it
    summaries  a client whose API shows reasoning, and that requests an effort, wants to see the reasoning

A key that differs in every request would defeat prompt caches, and one key for each system prompt would send all agents with the same
prompt to one machine. So all requests of a conversation have the same key, and the next conversation has another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Part, Text, ToolResult
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request, Wire
from innervoice.canon.target import Target
from innervoice.conversation.digest import conversation_start
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict
from innervoice.wire.serve import ReceivedMembers

__all__ = ["added_members", "moved_out", "shown_to_client", "with_marked_errors", "with_members"]

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
    """The setting with a request for a summary, if the client's API shows reasoning but has no setting for it, and the provider would send none."""
    row = target.row
    if (
        not dialect_named(dialect).thinks_visibly
        or setting is None
        or setting.show is not None
        or setting.effort == "none"
        or row.shown != "hidden"
        or "summary" not in row.showable
    ):
        return setting
    notebook.add("reasoning_shown")
    return setting.replace(show="summary")


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
    given: Mapping[str, Any],
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
        key = given.get(_CACHE_KEY)
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
