"""Tools that a model may call, and the forms in which they are defined.

    OpenAI chat   {"type": "function", "function": {"name", "description", "parameters", "strict"}}
    Responses     {"type": "function", "name", "description", "parameters", "strict"}
    Anthropic     {"name", "description", "input_schema", "cache_control", ...}, with or without "type": "custom"
    Gemini        {"name", "description", "parameters"} with types in capitals, or "parametersJsonSchema"; a list of
                  these in {"functionDeclarations": [...]}
    Converse      {"toolSpec": {"name", "description", "inputSchema": {"json": ...}}}

A dict of another form is a provider's own tool, such as a web search that runs on its server. One of these is OpenAI's free-form tool, which
takes any text in place of arguments: `{"type": "custom", "name", "description", "format"}`, in chat nested like functions. `as_function`
returns the function that replaces it elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from innervoice.canon.value import Value
from innervoice.errors import UsageError

__all__ = ["FREE_FORM_INPUT", "Tool", "standard_schema", "tools_from"]

FREE_FORM_INPUT = "input"
"""The only argument of a function that replaces a free-form tool."""

_SCHEMAS = ("input_schema", "parametersJsonSchema", "parameters_json_schema", "parameters")
_FUNCTION = {"type", "name", "description", "function", "toolSpec", "inputSchema", *_SCHEMAS}
_DECLARATIONS = ("functionDeclarations", "function_declarations")


class Tool(Value, frozen=True):
    """A function that the model may call, or a provider's own tool."""

    name: str
    """The name of the function."""
    description: str | None = None
    """What it does, for the model to read."""
    parameters: Any = None
    """The JSON schema of a function's arguments."""
    own: Any = None
    """A provider's own tool, sent as it is; the fields of a function are empty then."""
    members: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it for each tool
    """Further members of a function: `strict`, `cache_control`, ... Each is sent in the dialects that have it."""
    beside: tuple[str, ...] = ()
    """Those of them that stood next to the function, in a dialect that nests it."""

    @classmethod
    def of(cls, value: Any) -> Tool:
        """Reads a tool.

        :param value: A `Tool`, or a dict in the form of any provider.
        """
        if isinstance(value, Tool):
            return value
        if not isinstance(value, dict):
            raise UsageError(f"a tool must be a Tool or a dict, not {type(value).__name__}")
        fields = _fields(value)
        name, kind = fields.get("name"), value.get("type")
        if kind == "custom" and "input_schema" not in fields:
            return cls(str(name or _free_form(value).get("name") or kind), own=value)
        if not isinstance(name, str) or kind not in (None, "function", "custom"):
            return cls(str(name or kind or "tool"), own=value)
        beside = {} if fields is value else value
        members = {key: item for key, item in {**beside, **fields}.items() if key not in _FUNCTION}
        outer = tuple(name for name in members if name in beside and name not in fields)
        return cls(name, fields.get("description"), _schema(fields), members=members, beside=outer)

    @property
    def is_free_form(self) -> bool:
        """Whether it is OpenAI's tool that takes any text in place of arguments."""
        return isinstance(self.own, dict) and self.own.get("type") == "custom"

    def as_function(self) -> Tool:
        """A function with one string argument, in place of a free-form tool; the description names its grammar."""
        free_form = _free_form(self.own)
        form = free_form.get("format")
        form = form.get("grammar", form) if isinstance(form, dict) else {}
        about = free_form.get("description")
        if isinstance(form, dict) and form.get("definition"):
            grammar = f"{FREE_FORM_INPUT} must match this {form.get('syntax') or ''} grammar:"
            about = f"{about or ''}\n\n{' '.join(grammar.split())}\n{form['definition']}".strip()
        taken = {"type": "string", "description": "The whole input of the tool, as plain text."}
        schema = {
            "type": "object",
            "properties": {FREE_FORM_INPUT: taken},
            "required": [FREE_FORM_INPUT],
            "additionalProperties": False,
        }
        return Tool(self.name, about, schema)


def tools_from(values: Iterable[Any]) -> Iterator[Tool]:
    """The tools in a list: each function that Gemini's form declares in one dict becomes a tool of its own."""
    for value in values:
        declared = value.own if isinstance(value, Tool) else value
        names = [name for name in _DECLARATIONS if isinstance(declared, dict) and name in declared]
        if not names:
            yield Tool.of(value)
            continue
        for name in names:
            yield from map(Tool.of, declared[name] or ())
        if rest := {key: item for key, item in declared.items() if key not in names}:
            yield Tool.of(rest)


def _fields(value: dict[str, Any]) -> dict[str, Any]:
    """The dict that holds the name of a function."""
    inner = value.get("function") if value.get("type") == "function" else value.get("toolSpec")
    return inner if isinstance(inner, dict) else value


def _free_form(value: Any) -> dict[str, Any]:
    """The dict that holds the name of a free-form tool."""
    inner = value.get("custom")
    return inner if isinstance(inner, dict) else value


def _schema(fields: dict[str, Any]) -> Any:
    match fields:
        case {"inputSchema": {"json": schema}}:
            return schema
        case _:
            schema = next((fields[name] for name in _SCHEMAS if name in fields), None)
            return standard_schema(schema) if _is_gemini(schema) else schema


def _is_gemini(schema: Any) -> bool:
    """Whether a schema has the form of Gemini's `parameters`: the outermost type is in capitals."""
    return (
        isinstance(schema, dict)
        and isinstance(schema.get("type"), str)
        and schema["type"].isupper()
    )


def standard_schema(schema: Any) -> Any:
    """JSON Schema for a Gemini schema, whose types are in capitals and which uses `nullable` for null."""
    if not isinstance(schema, dict):
        return schema
    standard = dict(schema)
    if isinstance(standard.get("type"), str):
        standard["type"] = standard["type"].lower()
        if standard.pop("nullable", False) is True:
            standard["type"] = [standard["type"], "null"]
    if isinstance(standard.get("properties"), dict):
        standard["properties"] = {
            name: standard_schema(item) for name, item in standard["properties"].items()
        }
    if isinstance(standard.get("items"), dict):
        standard["items"] = standard_schema(standard["items"])
    if isinstance(standard.get("anyOf"), list):
        standard["anyOf"] = [standard_schema(item) for item in standard["anyOf"]]
    return standard
