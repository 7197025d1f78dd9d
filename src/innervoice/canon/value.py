"""The base of all canonical values.

A value is frozen, equal to another with the same content, and prints only what differs from its
defaults. A field named in `hidden` may hold a seal (a signature, an encrypted payload, the wire
block around it): it is printed by its size, never by its content (invariant I11). Names, ids and errors
are printed without what looks like a key or a seal.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar, Self

import msgspec

__all__ = ["Value"]

_WORDS = frozenset({"text", "content", "arguments", "system"})
"""Fields with words of people, models and tools, which are printed as they are."""


# A value cannot contain itself, so the garbage collector need not look for cycles through them.
class Value(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A frozen value whose `repr` shows no hidden field."""

    hidden: ClassVar[frozenset[str]] = frozenset()

    def replace(self, **changes: Any) -> Self:
        """The same value with other fields.

        :param changes: The fields to change.
        """
        return msgspec.structs.replace(self, **changes)

    def __repr__(self) -> str:
        members = []
        for field in msgspec.structs.fields(self):
            value = getattr(self, field.name)
            if value == field.default:
                continue
            members.append(f"{field.name}={self._shown(field.name, value)}")
        return f"{type(self).__name__}({', '.join(members)})"

    def _shown(self, name: str, value: Any) -> str:
        if name in self.hidden:
            return size_of(value)
        if name not in _WORDS and isinstance(value, (str, dict, list)):
            # An id may carry a seal, and a name or an error a key.
            value = import_module("innervoice.privacy.redactor").shown_field(name, value)
        return repr(value)


def size_of(value: Any) -> str:
    """How a hidden value is printed: its kind and size."""
    try:
        return f"<{type(value).__name__} of {len(value)}>"
    except TypeError:
        return f"<{type(value).__name__}>"
