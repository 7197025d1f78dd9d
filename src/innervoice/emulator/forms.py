"""A draft of an answer -> the same in the form that the request asks for: JSON of a schema, or the call of a tool.

The request may ask in its response format, or in its system prompt, in the words that innervoice uses where an API has no such format.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from innervoice.canon.jsontext import dump_json
from innervoice.canon.request import Request, Tool
from innervoice.emulator.brain import AnswerDraft, DraftedCall
from innervoice.emulator.instances import instance_of
from innervoice.wire.json_access import as_dict, as_list, parsed
from innervoice.wire.write import json_schema

__all__ = ["in_form"]

_BY_TOOL = re.compile(r"by calling the tool ([\w-]+)")
_BY_SCHEMA = re.compile(r"matches this JSON schema, and nothing else:\n(.+)\Z", re.DOTALL)


def in_form(draft: AnswerDraft, request: Request, tools: Sequence[Tool]) -> AnswerDraft:
    """The draft in the requested form."""
    if draft.calls:
        return draft.replace(calls=tuple(_filled(call, tools) for call in draft.calls))
    if not draft.text:
        return draft
    texts = [message.text for message in request.messages if message.role == "system"]
    system = "\n\n".join([request.system or "", *texts])
    named = _BY_TOOL.search(system)
    if named and any(tool.name == named[1] for tool in tools):
        value = instance_of(_schema_of(named[1], tools), draft.text)
        return draft.replace(text="", calls=((named[1], as_dict(value)),))
    schema = json_schema(request.response_format)
    written = _BY_SCHEMA.search(system)
    if schema is None and written:
        schema = ("answer", parsed(written[1]))
    if schema is not None:
        return draft.replace(text=dump_json(instance_of(schema[1], draft.text)).decode())
    if as_dict(request.response_format).get("type") == "json_object":
        return draft.replace(text=dump_json({"answer": draft.text}).decode())
    return draft


def _schema_of(name: str, tools: Sequence[Tool]) -> dict[str, Any]:
    return as_dict(next((tool.parameters for tool in tools if tool.name == name), None))


def _filled(call: DraftedCall, tools: Sequence[Tool]) -> DraftedCall:
    """A call with a value for every member that the schema requires, and for members that are objects or lists of them."""
    name, values = call
    if isinstance(values, str):
        return call
    schema = _schema_of(name, tools)
    properties, demanded = as_dict(schema.get("properties")), as_list(schema.get("required"))
    nested = [member for member in values if _is_nested(as_dict(properties.get(member)))]
    missing = [member for member in demanded if isinstance(member, str) and member not in values]
    if not missing and not nested:
        return call
    whole = as_dict(instance_of(schema))
    return name, {**values, **{key: whole[key] for key in (*missing, *nested) if key in whole}}


def _is_nested(schema: dict[str, Any]) -> bool:
    items = as_dict(schema.get("items"))
    return any(part.get("type") == "object" or "$ref" in part for part in (schema, items))
