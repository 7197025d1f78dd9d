"""A response format -> the form that the target accepts.

`response_format` has OpenAI's form: `{"type": "json_schema", "json_schema": {"name", "schema", "strict"}}` or
`{"type": "json_object"}`. If an API can enforce a schema, the schema is rewritten into the part of JSON Schema that it
accepts (`wire/response_schema.py`). If it cannot (no such member, only plain JSON, a schema that refers to itself), the schema
is written into the system prompt instead. Both are noted; no request is refused because of its schema.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.request import Request
from innervoice.wire.dialect import Dialect
from innervoice.wire.response_schema import fit_schema
from innervoice.wire.write import json_schema

__all__ = ["fit_response_format"]

_JSON = {"type": "json_object"}


def fit_response_format(
    request: Request,
    dialect: Dialect,
    formats: tuple[str, ...],
    change: Callable[[str, str], None],
) -> Request:
    """The request with a response format that the target accepts; `change` notes a change, or refuses it."""
    form = request.response_format
    named = json_schema(form)
    if named is None:
        if form != _JSON or "json_object" in formats:
            return request
        change("schema_as_instruction", "json_object")
        return _instructed(request, "Answer with a single JSON object, and nothing else.", None)
    if "json_schema" in formats:
        fitted, obstacle = _with_schema(request, *named, dialect, change)
    else:
        fitted, obstacle = request, "the host has no response format with a schema"
    if not obstacle:
        return fitted
    change("schema_as_instruction", obstacle)
    text = dump_json(named[1]).decode()
    instruction = (
        f"Answer with a single JSON value that matches this JSON schema, and nothing else:\n{text}"
    )
    return _instructed(request, instruction, _JSON if "json_object" in formats else None)


def _with_schema(
    request: Request, name: str, schema: Any, dialect: Dialect, change: Callable[[str, str], None]
) -> tuple[Request, str | None]:
    """The request with a schema that the dialect accepts, or why there is none."""
    form, profile = request.response_format, dialect.schema_profile
    strict = _member(form, "strict")
    if profile is None or (dialect.schema_if_strict and strict is not True):
        return request, None
    fitted = fit_schema(schema, profile)
    if fitted.obstacle and dialect.schema_if_strict:
        change("schema_not_strict", fitted.obstacle)
        return request.replace(response_format=_form(form, name, schema, strict=False)), None
    if fitted.schema != schema and not fitted.obstacle:
        change("schema_rewritten", ", ".join(fitted.removed) or "objects are closed")
        request = request.replace(response_format=_form(form, name, fitted.schema, strict=strict))
    return request, fitted.obstacle


def _form(form: Any, name: str, schema: Any, *, strict: Any) -> dict[str, Any]:
    """The format with another schema; its other members stay."""
    inner = form.get("json_schema", form)
    kept = {key: inner[key] for key in ("description",) if key in inner}
    made = {"name": name, **kept, "schema": schema}
    if strict is not None:
        made["strict"] = strict
    return {"type": "json_schema", "json_schema": made}


def _member(form: Any, member: str) -> Any:
    inner = form.get("json_schema")
    return inner.get(member) if isinstance(inner, dict) else form.get(member)


def _instructed(request: Request, instruction: str, form: Any) -> Request:
    system = f"{request.system}\n\n{instruction}" if request.system else instruction
    return request.replace(system=system, response_format=form)
