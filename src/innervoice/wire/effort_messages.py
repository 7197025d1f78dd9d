"""A message that sets another effort for what follows: how it is read in each dialect, and written.

    Responses   {"type": "configuration_update", "reasoning": {"effort": "low"}}       before the user's message
    Messages    {"role": "system", "content": [], "output_config": {"effort": "low"}}  behind the user's turn
    Chat        {"role": "system", "content": "", "configuration_update": {...}}       before the user's message, at OpenRouter

Each keeps the prompt cache, which another setting at the top of the request would lose. Where they stand in a body is in the columns
`effort_...` of a dialect.
"""

from __future__ import annotations

from typing import Any, get_args

from innervoice.canon.messages import Message
from innervoice.canon.origin import Origin
from innervoice.canon.reasoning import Effort
from innervoice.wire.dialect import Dialect
from innervoice.wire.json_access import as_dict

__all__ = ["changed_effort", "effort_message", "is_effort_message", "with_effort", "without_effort"]

_EFFORTS = frozenset(get_args(Effort))


def changed_effort(block: dict[str, Any], dialect: Dialect) -> Effort | None:
    """The effort that a message sets, by its members besides role and content."""
    if not dialect.effort_path or any(
        block.get(name) != value for name, value in dialect.effort_members.items()
    ):
        return None
    value: Any = block
    for name in dialect.effort_path:
        value = as_dict(value).get(name)
    return value if isinstance(value, str) and value in _EFFORTS else None  # type: ignore[return-value]


def effort_message(effort: Effort, dialect: Dialect) -> Message:
    """The message that sets an effort, as if it had been read from a request of the dialect."""
    value: Any = effort
    for name in reversed(dialect.effort_path):
        value = {name: value}
    block = {**dialect.effort_members, **value}
    return Message(
        "system", (), Origin(dialect=dialect.name, block=block, item="input"), effort=effort
    )


def is_effort_message(message: Message, dialect: str) -> bool:
    """Whether a message sets an effort in the form of a dialect."""
    origin = message.origin
    return message.effort is not None and origin is not None and origin.dialect == dialect and message.role == "system"  # fmt: skip


def without_effort(message: Message, dialect: Dialect) -> Message | None:
    """A message of a dialect without the effort that it sets; None if nothing else is in it."""
    block = as_dict(message.origin.block if message.origin else None)
    kept = {name: item for name, item in block.items() if name != dialect.effort_path[0]}
    if not message.parts:
        return None
    origin = message.origin.replace(block=kept) if message.origin and kept else None
    return message.replace(origin=origin, effort=None)


def with_effort(message: Message, effort: Effort, dialect: Dialect) -> Message:
    """A message that sets another effort than it did, at the same place."""
    block = as_dict(message.origin.block if message.origin else None)
    assert message.origin is not None
    return message.replace(origin=message.origin.replace(block=_put(block, dialect.effort_path, effort)), effort=effort)  # fmt: skip


def _put(holder: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    name, *rest = path
    inner = _put(as_dict(holder.get(name)), tuple(rest), value) if rest else value
    return {**holder, name: inner}
