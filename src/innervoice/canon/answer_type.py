"""The type that an answer should have <-> its JSON schema, and the text of an answer as a value of that type.

Accepted are dataclasses, TypedDicts, msgspec Structs, anything else that msgspec has a schema for (`list[Dog]`, an enum), pydantic
models, and a JSON schema as a dict, whose answers are plain JSON values. APIs require an object at the root of a schema, so any
other type is wrapped into an object with one member.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from innervoice.canon.jsontext import load_json
from innervoice.canon.parts import ToolCall
from innervoice.canon.response import Response
from innervoice.canon.schema import target_of
from innervoice.errors import DecodeError, UsageError

__all__ = ["AnswerType", "StructuredResponse"]

_WRAPPED = "value"
_FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)


class AnswerType:
    """A type, its name and schema, and the conversion of a JSON value into it."""

    def __init__(
        self, name: str, schema: dict[str, Any], convert: Callable[[Any], Any] | None = None
    ) -> None:
        self.name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "answer"
        schema = _rooted(schema)
        self.is_wrapped = not _is_object(schema)
        self.schema = _wrapped(schema) if self.is_wrapped else schema
        self._convert = convert

    @classmethod
    def of(cls, value: Any) -> AnswerType:
        """The answer type of a class, a type or a JSON schema."""
        if isinstance(value, AnswerType):
            return value
        if isinstance(value, dict):
            return cls(str(value.get("title") or "answer"), value)
        if hasattr(value, "model_json_schema") and hasattr(value, "model_validate"):
            return cls(value.__name__, value.model_json_schema(), value.model_validate)
        try:
            (schema,), components = msgspec.json.schema_components(
                [value], ref_template="#/$defs/{name}"
            )
        except TypeError as error:
            raise UsageError(
                "schema must be a dataclass, a TypedDict, a msgspec Struct, a pydantic model or a JSON schema, "
                f"not {value!r}: {error}"
            ) from None
        whole = {**schema, "$defs": components} if components else schema
        name = str(getattr(value, "__name__", "answer"))
        return cls(name, whole, lambda plain: msgspec.convert(plain, value, strict=False))

    def parse(self, text: str) -> Any:
        """The value of a text; raises `DecodeError` if it is not of this type."""
        fenced = _FENCED.match(text)
        try:
            plain = load_json(fenced[1] if fenced else text)
        except ValueError as error:
            raise DecodeError(f"expected JSON of the type {self.name}: {error}") from None
        return self.convert(plain)

    def value_of(self, text: str, calls: Sequence[ToolCall], status: str) -> Any:
        """The value in an answer: in a call of the tool that stands for it, or else in the text."""
        call = next((call for call in calls if call.name == self.name), None)
        if call is not None and call.complete:
            return self.parse(call.arguments or "{}")
        if not text.strip():
            raise DecodeError(f"expected an answer of the type {self.name}; its status is {status}")
        try:
            return self.parse(text)
        except DecodeError as error:
            why = f" (its status is {status})" if status != "answered" else ""
            raise DecodeError(f"{error}{why}") from None

    def convert(self, plain: Any) -> Any:
        """A JSON value as this type."""
        if isinstance(plain, dict):
            plain = _without_nulls(plain, self.schema, self.schema)
        if self.is_wrapped:
            if not isinstance(plain, dict) or _WRAPPED not in plain:
                raise DecodeError(f"expected an object with the member {_WRAPPED!r}")
            plain = plain[_WRAPPED]
        if self._convert is None:
            return plain
        try:
            return self._convert(plain)
        except (msgspec.ValidationError, ValueError) as error:
            raise DecodeError(f"expected a value of the type {self.name}: {error}") from None


def _rooted(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema whose root is not a reference."""
    target = _target(schema, schema)
    if target is schema:
        return schema
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}


def _is_object(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "object" or "properties" in schema


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    wrapped = {"type": "object", "properties": {_WRAPPED: inner}, "required": [_WRAPPED]}
    return {**wrapped, "$defs": schema["$defs"]} if "$defs" in schema else wrapped


def _without_nulls(value: Any, schema: Any, root: dict[str, Any]) -> Any:
    """The value without members that are null although the schema does not allow null.

    OpenAI's strict mode has no optional members: they are null instead of being left out.
    """
    schema = _target(schema, root) if isinstance(schema, dict) else {}
    if isinstance(value, list):
        return [_without_nulls(item, schema.get("items"), root) for item in value]
    properties = schema.get("properties")
    if not isinstance(value, dict) or not isinstance(properties, dict):
        return value
    required = schema.get("required") or ()
    return {
        name: _without_nulls(item, properties.get(name), root)
        for name, item in value.items()
        if item is not None or name in required or _takes_null(properties.get(name), root)
    }


def _takes_null(schema: Any, root: dict[str, Any]) -> bool:
    if not isinstance(schema, dict) or not schema:
        return True
    schema = _target(schema, root)
    kind = schema.get("type")
    if kind is not None:
        return kind == "null" or (isinstance(kind, list) and "null" in kind)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(branches, list):
        return any(_takes_null(branch, root) for branch in branches)
    return None in schema["enum"] if isinstance(schema.get("enum"), list) else "const" not in schema


def _target(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """A schema, or the definition that it refers to."""
    return target_of(root, schema.get("$ref")) or schema


# ---- A response whose answer has the requested type.


T = TypeVar("T")


class StructuredResponse(
    Response, Generic[T], frozen=True, kw_only=True, tag="response", tag_field="type"
):
    """An answer that was requested with `schema=`; stored, it is a plain `Response`."""

    hidden: ClassVar[frozenset[str]] = frozenset({"answer_type"})

    answer_type: AnswerType
    """The type that was requested, which `data` is made of."""

    @property
    def data(self) -> T:
        """The answer as a value of the requested type.

        Raises `DecodeError` if there is no such value: the answer was refused or cut off, or does not fit the type.
        """
        value: T = self.answer_type.value_of(self.text, self.tool_calls, self.status)
        return value

    def plain(self) -> Response:
        """The same answer without its type."""
        fields = {name: getattr(self, name) for name in Response.__struct_fields__}
        return Response(**fields)
