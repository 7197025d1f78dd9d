"""A response format -> what the target accepts for it.

`response_format` has OpenAI's form: `{"type": "json_schema", "json_schema": {"name", "schema", "strict"}}` or
`{"type": "json_object"}`. Where an API holds answers to a schema, the schema is rewritten into the part of JSON Schema that it
accepts (`wire/response_schema.py`). Where it cannot (no such member, only plain JSON, a schema that refers to itself), the schema
is written into the system prompt instead. Both are noted; no request is refused for its schema.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from innervoice.canon.jsontext import dump_json
from innervoice.canon.notes import Notebook
from innervoice.canon.request import Request
from innervoice.wire.response_schema import SchemaProfile, fit_schema
from innervoice.wire.write import json_schema

__all__ = ["FormatSupport", "fit_response_format"]

_JSON = {"type": "json_object"}


class FormatSupport(NamedTuple):
    """How a target holds an answer to a format."""

    schema: SchemaProfile | None
    """What it accepts of JSON Schema; None: anything."""
    strict_only: bool = False
    """Whether that counts only where `strict` is asked for; without it any schema is accepted."""
    formats: tuple[str, ...] = ("json_schema", "json_object")
    """The types of formats that it has a member for."""


def fit_response_format(request: Request, support: FormatSupport, notebook: Notebook) -> Request:
    """The request with a response format that the target accepts."""
    form = request.response_format
    named = json_schema(form)
    if named is None:
        if form == _JSON and "json_object" not in support.formats:
            notebook.add("schema_as_instruction", "json_object")
            return _instructed(request, "Answer with a single JSON object, and nothing else.", None)
        return request
    name, schema = named
    plain = _JSON if "json_object" in support.formats else None
    if "json_schema" not in support.formats:
        notebook.add("schema_as_instruction", "the host has no response format with a schema")
        return _instructed(request, _instruction(schema), plain)
    strict = _member(form, "strict")
    if support.schema is None or (support.strict_only and strict is not True):
        return request
    fitted = fit_schema(schema, support.schema)
    if fitted.obstacle and support.strict_only:
        notebook.add("schema_not_strict", fitted.obstacle)
        return request.replace(response_format=_form(form, name, schema, strict=False))
    if fitted.obstacle:
        notebook.add("schema_as_instruction", fitted.obstacle)
        return _instructed(request, _instruction(schema), plain)
    if fitted.schema == schema:
        return request
    removed = f"in descriptions now: {', '.join(fitted.removed)}" if fitted.removed else None
    notebook.add("schema_rewritten", removed)
    return request.replace(response_format=_form(form, name, fitted.schema, strict=strict))


def _form(form: Any, name: str, schema: Any, *, strict: Any) -> dict[str, Any]:
    """The format with another schema; what else it says stays."""
    inner = form["json_schema"] if "json_schema" in form else form
    kept = {key: inner[key] for key in ("description",) if key in inner}
    made = {"name": name, **kept, "schema": schema}
    if strict is not None:
        made["strict"] = strict
    return {"type": "json_schema", "json_schema": made}


def _member(form: Any, member: str) -> Any:
    inner = form.get("json_schema")
    return inner.get(member) if isinstance(inner, dict) else form.get(member)


def _instruction(schema: Any) -> str:
    text = dump_json(schema).decode()
    return (
        f"Answer with a single JSON value that matches this JSON schema, and nothing else:\n{text}"
    )


def _instructed(request: Request, instruction: str, form: Any) -> Request:
    system = f"{request.system}\n\n{instruction}" if request.system else instruction
    return request.replace(system=system, response_format=form)
