"""A digest of everything before a piece of reasoning when it was generated (rule H7).

Claude from 5.1 on, and the newest OpenAI models, bind reasoning to everything before it: system prompt, tools, and
every earlier message. `Prefix` grows with the parts that are sent; its value is stored in the origin of the parts that the model then
generates. When the conversation is sent again, the value at the same place must be equal, or the block is no longer valid.

The value has four fields: system prompt, tools, the number of parts before, and their digest. So a change of the
system prompt or of the tools can be distinguished from an edit of a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from hashlib import blake2b
from operator import attrgetter
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from innervoice.canon.request import Request, Tool
from innervoice.canon.words import BILLING_LINE
from innervoice.conversation.stable import is_cache_point, unbilled, unbilled_text, unmarked
from innervoice.wire.dialects import dialect_named

__all__ = ["Prefix", "difference"]

_ROLE = attrgetter("role")


class Prefix:
    """A digest that grows with the parts that are sent; `dialect` is the target's.

    System messages at the beginning are the head, but for those of a dialect with a member for the system prompt: its own stay messages. Later ones
    belong to what follows them.
    """

    _in_head: frozenset[int] = frozenset()
    """Which system messages are sent before everything, by their number among them."""
    _system_messages = 0

    def __init__(self, request: Request, dialect: str) -> None:
        system = [request.system] if request.system is not None else []
        spoken = self._head_of(request.messages, dialect) if "system" in map(_ROLE, request.messages) else []  # fmt: skip
        system += [message.text for message in spoken]
        tools = [_tool(tool) for tool in request.tools if not is_cache_point(tool.own)]
        of_tools = _digest(tools) if tools else _NONE
        self._head = self._older_head = f"{_digest(system) if system else _NONE}.{of_tools}"
        if any(BILLING_LINE in text for text in system):
            stable = [unbilled_text(request.system or ""), *(unbilled(one).text for one in spoken)]
            # The version before took the line for a part of the prompt: turns that it stored are bound to the older head.
            self._head = f"{_digest([*filter(None, stable)])}.{of_tools}"
        self._hash, self._count = blake2b(digest_size=12), 0

    def copy(self) -> Prefix:
        """A copy at the same position in the conversation, to continue from."""
        other = copy(self)
        vars(other)["_hash"] = self._hash.copy()
        return other

    def at_start(self) -> Prefix:
        """A copy before the first message."""
        other = copy(self)
        vars(other).update(_hash=blake2b(digest_size=12), _count=0, _system_messages=0)
        return other

    @property
    def count(self) -> int:
        """How many parts were added."""
        return self._count

    @property
    def value(self) -> str:
        """The digest of everything that was added."""
        return f"{self._head}.{self._count}.{self._hash.hexdigest()}"

    def is_equal(self, value: str) -> bool:
        """True if this is the digest of everything that was added, also as the version before wrote it."""
        now = self.value
        return value == now or value == now.replace(self._head, self._older_head, 1)

    def add(self, message: Message, parts: Iterable[Part]) -> None:
        """Adds parts that are sent; the system prompt is part of the head."""
        role = "assistant" if message.role == "assistant" else "user"
        if message.effort is not None and role == "user":
            self._hash.update(dump_json(["effort", message.effort]))
            self._count += 1
        if message.role == "system":
            self._system_messages, role = self._system_messages + 1, "system"
            if self._system_messages - 1 in self._in_head:
                return
        for part in parts:
            self._hash.update(dump_json([role, *_facts(part)]))
            self._count += 1

    def _head_of(self, messages: Sequence[Message], dialect: str) -> list[Message]:
        """The system messages that are sent before everything."""
        system_messages = [message for message in messages if message.role == "system"]
        leading = next(
            (number for number, item in enumerate(messages) if item.role != "system"),
            len(system_messages),
        )
        is_apart = dialect_named(dialect).system_apart
        self._in_head = frozenset(
            number
            for number, message in enumerate(system_messages)
            if number < leading and not (is_apart and _is_own(message, dialect))
        )
        spoken = (system_messages[number] for number in sorted(self._in_head))
        # One that only sets an effort says nothing.
        return [message for message in spoken if message.parts or message.effort is None]


def _is_own(message: Message, dialect: str) -> bool:
    return message.origin is not None and message.origin.dialect == dialect


def difference(before_digest: str, now: str) -> str:
    """Describes what changed between two digests."""
    before, after = before_digest.split("."), now.split(".")
    if len(before) != len(after):
        return "something before it changed"
    heads = zip(("the system prompt", "the tools"), before, after, strict=False)
    changed = [what for what, one, other in heads if one != other]
    if changed:
        return f"{' and '.join(changed)} changed"
    if before[2] != after[2]:
        return f"{after[2]} parts are before it, but there were {before[2]} when it was generated"
    return "a message before it was edited"


def _facts(part: Part) -> Sequence[Any]:
    match part:
        case Text():
            return ("text", part.text)
        case Thinking():
            return ("thinking", part.text, part.origin.block if part.origin else None)
        case ToolCall():
            return ("call", part.id, part.name, part.arguments)
        case ToolResult():
            return ("result", part.call_id, _result(part.content), part.error)
        case Media():
            return ("media", part.mime, part.data, part.url)
        case Opaque():
            return ("opaque", part.value)


def _result(content: str | Sequence[Part]) -> Any:
    """A single text block is the same as its string: programs write a result as a block while it carries a cache mark, and as a string later."""
    match content:
        case str():
            return content
        case [Text() as only]:
            return only.text
        case _:
            return [_facts(item) for item in content]


def _tool(tool: Tool) -> list[Any]:
    own = tool.own or tool.members
    more = unmarked(own) if isinstance(own, dict) else own
    return [tool.name, tool.description, tool.parameters, more or None]


def _digest(value: Any) -> str:
    return blake2b(dump_json(value), digest_size=4).hexdigest()


_NONE = _digest([])
