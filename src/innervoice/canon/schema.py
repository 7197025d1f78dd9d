"""The JSON schema of a function's arguments, from its type hints, and a call's arguments as those types."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import msgspec

from innervoice.errors import UsageError

__all__ = ["convert_arguments", "schema_of", "target_of"]

_TAKEN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The schema of the object of a function's arguments."""
    schema, components = msgspec.json.schema_components(
        [_arguments(function)], ref_template="#/$defs/{name}"
    )
    name = schema[0]["$ref"].rsplit("/", 1)[-1]
    made = {key: value for key, value in components.pop(name).items() if key != "title"}
    return {**made, "$defs": components} if components else made


def convert_arguments(function: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call as the function's types; raises `UsageError` for values that do not fit.

    Models sometimes write numbers as text, so texts that are numbers are accepted as numbers.
    """
    kind = _arguments(function)
    try:
        converted = msgspec.convert(arguments, kind, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(str(error)) from None
    return {name: getattr(converted, name) for name in kind.__struct_fields__ if name in arguments}


def _arguments(function: Callable[..., Any]) -> type[msgspec.Struct]:
    """A type whose fields are the function's parameters."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UsageError(f"the types of {_name(function)} cannot be read: {error}") from None
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in _TAKEN:
            raise UsageError(
                f"{_name(function)} has the parameter {parameter}, which a tool cannot have"
            )
        kind = _described(hints.get(parameter.name, Any))
        if parameter.default is parameter.empty:
            fields.append((parameter.name, kind))
        else:
            # An omitted argument is left to the function, so that its default need not be JSON.
            fields.append((parameter.name, kind | msgspec.UnsetType, msgspec.UNSET))
    try:
        return msgspec.defstruct(_name(function), fields, kw_only=True, forbid_unknown_fields=True)
    except TypeError as error:
        raise UsageError(f"the types of {_name(function)} have no JSON schema: {error}") from None


def _described(kind: Any) -> Any:
    """A type with its annotation, `Annotated[str, "what it is"]`, as its description."""
    described = [item for item in getattr(kind, "__metadata__", ()) if isinstance(item, str)]
    return Annotated[kind, msgspec.Meta(description=described[0])] if described else kind


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


# ---- Resolves references in a JSON schema.


def target_of(root: dict[str, Any], reference: Any) -> dict[str, Any] | None:
    """The schema that a local reference (`#/$defs/Dog`, `#`) refers to; None if there is none."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    here: Any = root
    for step in reference[2:].split("/") if len(reference) > 1 else ():
        name = step.replace("~1", "/").replace("~0", "~")
        here = here.get(name) if isinstance(here, dict) else None
    return here if isinstance(here, dict) else None
