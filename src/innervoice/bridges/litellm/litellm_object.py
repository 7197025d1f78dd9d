"""The base class of litellm's response objects: members can be read as attributes and as items.

Members are the entries of the instance's `__dict__` without a leading underscore. An optional member that was not passed does not
exist: neither as an attribute, nor as an item, nor in a dump. `repr` prints members that may hold a seal by their size.
"""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Self, TypeAlias

from innervoice.canon.value import size_of

__all__ = [
    "LitellmObject",
    "Members",
    "MissingMemberError",
    "ResponseAPIUsage",
    "ResponseItem",
    "ResponsesAPIResponse",
    "build",
    "build_all",
    "plain",
    "without_none",
]

Members: TypeAlias = dict[str, Any]
"""Members by name; an alias, because the class below has a method `dict`."""

_SEALED = ("thinking_blocks", "reasoning_items", "provider_specific_fields")


class MissingMemberError(AttributeError, KeyError):
    """A missing item; both errors, because litellm raises AttributeError and a dict would raise KeyError."""


class LitellmObject:
    """An object that also behaves like a dict and like a pydantic model."""

    declared: ClassVar[frozenset[str]] = frozenset()
    """The members that the class annotates; all others are extra."""
    model_fields: ClassVar[Members] = {}
    """The same with their annotations."""

    def __init_subclass__(cls) -> None:
        annotated = inspect.get_annotations(cls).items()
        fields = {name: kind for name, kind in annotated if not str(kind).startswith("ClassVar")}
        cls.model_fields = {**cls.model_fields, **fields}
        cls.declared = cls.declared | fields.keys()

    def __init__(self, **members: Any) -> None:
        self.__dict__.update(members)

    # ---- as a dict -----------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise MissingMemberError(name)
        return self.__dict__[name]

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise MissingMemberError(name)
        del self.__dict__[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and not name.startswith("_") and name in self.__dict__

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(self.items())

    def get(self, name: str, default: Any = None) -> Any:
        """A member, or the default if it is absent; as in litellm, it also reads private attributes."""
        return self.__dict__.get(name, default)

    def keys(self) -> list[str]:
        """The names of the members."""
        return [name for name in self.__dict__ if not name.startswith("_")]

    def values(self) -> list[Any]:
        """The members."""
        return [value for _, value in self.items()]

    def items(self) -> list[tuple[str, Any]]:
        """The members with their names."""
        return [(name, self.__dict__[name]) for name in self.keys()]

    # ---- as a pydantic model -------------------------------------------------------------------

    @property
    def model_extra(self) -> Members:
        """Members that the class does not declare."""
        return {name: value for name, value in self.items() if name not in self.declared}

    @property
    def model_fields_set(self) -> set[str]:
        """The names of all members."""
        return set(self.keys())

    def model_dump(
        self,
        *,
        exclude_none: bool = False,
        include: Any = None,
        exclude: Any = None,
        **_: Any,
    ) -> Members:
        """The members as plain dicts and lists."""
        return {
            name: plain(value, exclude_none=exclude_none)
            for name, value in self.items()
            if not (exclude_none and value is None)
            and (include is None or name in include)
            and (exclude is None or name not in exclude)
        }

    def model_dump_json(self, *, indent: int | None = None, **options: Any) -> str:
        """The members as JSON text."""
        separators = (",", ":") if indent is None else (",", ": ")
        dumped = self.model_dump(**options)
        return json.dumps(dumped, indent=indent, separators=separators, ensure_ascii=False)

    def json(self, **options: Any) -> Members:
        """The members as a plain dict; litellm's `json()` does not return text either."""
        return self.model_dump(**options)

    def dict(self, **options: Any) -> Members:
        """The members as a plain dict."""
        return self.model_dump(**options)

    def to_dict(self, **options: Any) -> Members:
        """The members as a plain dict."""
        return self.model_dump(**options)

    def model_copy(self, *, update: Any = None, deep: bool = False) -> Self:
        """A copy, with the members in `update` replaced."""
        copied = copy.deepcopy(self) if deep else copy.copy(self)
        copied.__dict__.update(update or {})
        return copied

    @classmethod
    def model_validate(cls, value: Any) -> Self:
        """An object from a dict."""
        return value if isinstance(value, cls) else cls(**value)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Members:
        """The class as the type of a pydantic field; a core schema is a plain dict, so pydantic is not needed for it."""
        return {
            "type": "function-plain",
            "function": {"type": "no-info", "function": cls._from_field},
            "serialization": {"type": "function-plain", "function": plain},
        }

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> Members:
        return {"type": "object", "title": cls.__name__}

    @classmethod
    def _from_field(cls, value: Any) -> Self:
        if not isinstance(value, (cls, dict)):
            # ValueError, because pydantic lets a TypeError through.
            raise ValueError(f"expected a {cls.__name__} or a dict, got {type(value).__name__}")  # noqa: TRY004
        return cls.model_validate(value)

    # ---- as a value ----------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.items() == other.items()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        members = ", ".join(
            f"{name}={size_of(value) if value and name in _SEALED else repr(value)}"
            for name, value in self.items()
        )
        return f"{type(self).__name__}({members})"


def plain(value: Any, *, exclude_none: bool = False) -> Any:
    """A value as plain dicts, lists and scalars."""
    if isinstance(value, LitellmObject):
        return value.model_dump(exclude_none=exclude_none)
    if isinstance(value, dict):
        return {
            name: plain(item, exclude_none=exclude_none)
            for name, item in value.items()
            if not (exclude_none and item is None)
        }
    if isinstance(value, (list, tuple)):
        return [plain(item, exclude_none=exclude_none) for item in value]
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) and not isinstance(value, type) else value


def build(kind: Callable[..., Any], value: Any) -> Any:
    """An object of this class from a dict; any other value unchanged."""
    if not isinstance(value, dict):
        return value
    return kind(**{str(name): item for name, item in value.items()})


def build_all(kind: Callable[..., Any], values: Iterable[Any] | None) -> Any:
    """The same for a list."""
    return None if values is None else [build(kind, value) for value in values]


def without_none(**members: Any) -> Members:
    """The members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


# ---- The objects of a response of the Responses API; members can be read as attributes and as items.


class ResponseItem(LitellmObject):
    """An item of the output, or a part of one."""

    def __init__(self, **members: Any) -> None:
        if isinstance(members.get("content"), list):
            members["content"] = build_all(ResponseItem, members["content"])
        if isinstance(members.get("summary"), list):
            members["summary"] = build_all(ResponseItem, members["summary"])
        super().__init__(**members)


class ResponsesAPIResponse(LitellmObject):
    """A response of the Responses API."""

    id: str
    created_at: float
    model: str | None
    object: str
    status: str | None
    output: list[Any]
    usage: Any

    def __init__(self, **members: Any) -> None:
        members["output"] = build_all(ResponseItem, members.get("output") or [])
        members["usage"] = build(ResponseAPIUsage, members.get("usage"))
        super().__init__(**members)
        self._hidden_params: dict[str, Any] = {}

    @property
    def output_text(self) -> str:
        """The text of all messages."""
        entries = [
            entry for item in self.output if item.get("type") == "message" for entry in item.content
        ]
        return "".join(entry.text for entry in entries if entry.get("type") == "output_text")


class ResponseAPIUsage(LitellmObject):
    """Token counts, under the names of this API."""

    def __init__(self, **members: Any) -> None:
        super().__init__(
            **{name: build(ResponseAPIUsage, value) for name, value in members.items()}
        )
