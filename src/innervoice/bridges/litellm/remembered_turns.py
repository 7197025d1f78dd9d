"""Remembers the turns of this process, and restores those that a program sends back without their reasoning.

Many programs keep `role`, `content` and `tool_calls` of an assistant message and nothing else. Such a message gets its stored turn
back, as if the program had kept `provider_specific_fields`; `from_litellm.py` then treats edited members as usual. A message that
has signatures or other seals of its own is sent as it is. Another API key, base URL or provider is another caller.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from innervoice.bridges.chat_turns import ChatTurns, TurnPosition, with_sent_ids
from innervoice.bridges.litellm.flags import flag
from innervoice.bridges.litellm.litellm_object import plain
from innervoice.bridges.litellm.message_fields import (
    KEY,
    calls_of,
    thinking_blocks_of,
    thought_signature,
)
from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.catalog.lookup import host_of
from innervoice.wire.gemini.replay import PLACEHOLDERS
from innervoice.wire.json_access import as_dict, as_list

__all__ = ["MEMORY", "Continuation", "caller_of", "continued"]

MEMORY = ChatTurns()
"""The turns of all callers in this process."""

_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "openai-organization")
_ACCOUNTS = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AZURE_OPENAI_AD_TOKEN", "GOOGLE_CLOUD_PROJECT")
_SEALED = ("reasoning_items", "reasoning_details")
_FIELDS = (KEY, "thought_signatures", "reasoning_details")


class Continuation(NamedTuple):
    """The messages to send, and where the response to them will be stored."""

    messages: list[Any]
    restored: int
    """How many turns got their reasoning back."""
    position: TurnPosition | None
    """None if turns are not remembered."""

    def remember(self, turn: Message) -> None:
        """Stores a turn of the response, with the tool call ids that the program sees."""
        if self.position is not None:
            MEMORY.keep(self.position, turn)

    @property
    def notes(self) -> list[str]:
        """What was restored, for `_hidden_params`."""
        if not self.restored:
            return []
        turns = "1 earlier turn" if self.restored == 1 else f"{self.restored} earlier turns"
        return [f"messages: the reasoning of {turns}, which the program left out, was restored"]


def continued(messages: Iterable[Any], caller: str) -> Continuation:
    """The messages of a request, with lost reasoning restored."""
    sent_messages = list(messages)
    if not flag("remember_turns"):
        return Continuation(sent_messages, 0, None)
    recalled = MEMORY.recall(map(plain, sent_messages), caller)
    restored = [
        _restored(message, turn) if turn is not None and not _is_sealed(message, turn) else None
        for message, turn in recalled.messages
    ]
    originals = [message for message, _ in recalled.messages]
    sent = [found or message for found, message in zip(restored, originals, strict=True)]
    return Continuation(with_sent_ids(originals, sent), sum(map(bool, restored)), recalled.position)


def caller_of(settings: Mapping[str, Any], http: Any) -> str:
    """The sender of a request: provider, base URL and credentials."""
    host = host_of(settings["provider"])
    environ = settings["environ"] or os.environ
    variables = (*host.keys, *host.tokens, *_ACCOUNTS) if host else _ACCOUNTS
    headers = {**dict(getattr(http, "headers", None) or {}), **settings["headers"]}
    facts = [
        settings["provider"],
        settings["base_url"],
        settings["api_key"],
        [environ.get(name) for name in variables],
        sorted((name, str(headers[name])) for name in headers if name.lower() in _HEADERS),
    ]
    return dump_json(facts).decode()


def _is_sealed(message: dict[str, Any], known: Message) -> bool:
    """Whether a message has seals of its own; seals that the stored turn also has do not count."""
    blocks = [as_dict(block) for block in as_list(message.get("thinking_blocks"))]
    fields = as_dict(message.get("provider_specific_fields"))
    calls = zip(as_list(message.get("tool_calls")), known.tool_calls, strict=False)
    return (
        (any(map(_seal, blocks)) and blocks != thinking_blocks_of(known))
        or any(message.get(name) for name in _SEALED)
        or any(fields.get(name) for name in _FIELDS)
        or any(
            _signature(as_dict(call)) not in (None, *PLACEHOLDERS, thought_signature(stored_call))
            for call, stored_call in calls
        )
    )


def _seal(block: dict[str, Any]) -> Any:
    return block.get("signature") or block.get("data")


def _signature(call: dict[str, Any]) -> Any:
    """Gemini's signature of a call; some programs write the skip value if there is none."""
    fields = as_dict(call.get("provider_specific_fields"))
    google = as_dict(as_dict(call.get("extra_content")).get("google"))
    return fields.get("thought_signature") or google.get("thought_signature")


def _restored(message: dict[str, Any], known: Message) -> dict[str, Any]:
    """The message with its stored turn; a member that is None was lost, not edited."""
    members = {name: value for name, value in message.items() if value is not None}
    if known.tool_calls:
        # The same calls, but perhaps with their arguments serialized again.
        members["tool_calls"] = calls_of(known)
    else:
        members.pop("content", None)
    fields = as_dict(message.get("provider_specific_fields"))
    return {**members, "provider_specific_fields": {**fields, KEY: known}}
