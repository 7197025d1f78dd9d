"""A model and a schema -> a runnable that returns objects of the schema.

A forced tool call is the most reliable way, but some models do not reason during one. If reasoning was requested, they get the schema
as their response format, or, where the host has none, the system prompt asks for the call, as `ask(..., schema=...)` does.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser
from langchain_core.output_parsers.openai_tools import (
    JsonOutputKeyToolsParser,
    PydanticToolsParser,
)
from langchain_core.runnables import Runnable, RunnableLambda, RunnableMap, RunnablePassthrough
from langchain_core.utils.function_calling import convert_to_json_schema, convert_to_openai_tool
from langchain_core.utils.pydantic import is_basemodel_subclass

from innervoice.canon.messages import user
from innervoice.canon.request import Request, Tool
from innervoice.client.settings import call_instruction
from innervoice.errors import UsageError
from innervoice.planning.encode import encode

__all__ = ["Method", "StructuredMethod", "structured", "usual_method"]

Method: TypeAlias = Literal["function_calling", "json_schema", "json_mode"]


class StructuredMethod(NamedTuple):
    """How a model is made to answer with an object."""

    name: Method
    is_forced: bool = True
    """Whether the tool call is forced; otherwise the system prompt asks for it."""


_PROBE = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


def usual_method(model: str, **settings: Any) -> StructuredMethod:
    """The default method: a forced tool call, unless the model cannot be forced or would not reason as requested."""
    # The probe must be a strict schema: one that allows any value would be sent as an instruction.
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": _PROBE}}
    request = Request(
        model,
        (user("?"),),
        tools=(Tool("answer", parameters={"type": "object"}),),
        tool_choice="required",
        response_format=form,
        **settings,
    )
    try:
        notes = encode(request).notes
    except UsageError:  # unknown provider
        return StructuredMethod("function_calling")
    noted = {note.code for note in notes} | {
        (note.detail or "").partition(":")[0] for note in notes
    }
    unforced = noted & {"tool_choice_relaxed", "tool_choice"}
    loses_reasoning = settings.get("reasoning") is not None and "reasoning_off_for_tools" in noted
    if not unforced and not loses_reasoning:
        return StructuredMethod("function_calling")
    if "schema_as_instruction" not in noted:
        return StructuredMethod("json_schema")
    return StructuredMethod("function_calling", is_forced=False)


def structured(
    model: Any,
    schema: Any,
    *,
    method: StructuredMethod,
    include_raw: bool,
    strict: bool | None,
    **fields: Any,
) -> Runnable[Any, Any]:
    """The model, followed by a parser of its responses."""
    traced = {"kwargs": {"method": method.name, "strict": strict}, "schema": schema}
    if method.name == "function_calling":
        if method.is_forced:
            fields["tool_choice"] = "any"
        else:
            fields.setdefault("system", call_instruction(_tool_name(schema)))
        bound = model.bind_tools(
            [schema], strict=strict, ls_structured_output_format=traced, **fields
        )
    else:
        form = _form(schema, method.name, strict=strict)
        bound = model.bind(response_format=form, ls_structured_output_format=traced, **fields)
    parser = _parser(schema, method)
    if not include_raw:
        return bound | parser
    parsed = RunnablePassthrough.assign(
        parsed=itemgetter("raw") | parser, parsing_error=lambda _: None
    )
    unparsed = RunnablePassthrough.assign(parsed=lambda _: None)
    with_error = parsed.with_fallbacks([unparsed], exception_key="parsing_error")
    return RunnableMap(raw=bound) | with_error


def _form(schema: Any, method: Method, *, strict: bool | None) -> dict[str, Any]:
    """The response format in OpenAI's form."""
    if method == "json_mode":
        return {"type": "json_object"}
    if method != "json_schema":
        methods = "function_calling, json_schema, json_mode"
        raise UsageError(f"method must be one of {methods}, not {method!r}")
    json_schema = dict(convert_to_json_schema(schema, strict=strict))
    inner = {"name": json_schema.pop("title", "answer"), "schema": json_schema}
    if strict is not None:
        inner["strict"] = strict
    return {"type": "json_schema", "json_schema": inner}


def _parser(schema: Any, method: StructuredMethod) -> Runnable[Any, Any]:
    is_class = isinstance(schema, type) and is_basemodel_subclass(schema)
    if method.name != "function_calling":
        return PydanticOutputParser(pydantic_object=schema) if is_class else JsonOutputParser()
    if not method.is_forced:
        return RunnableLambda(_checked) | _parser(schema, StructuredMethod("function_calling"))
    if is_class:
        return PydanticToolsParser(tools=[schema], first_tool_only=True)
    return JsonOutputKeyToolsParser(key_name=_tool_name(schema), first_tool_only=True)


def _tool_name(schema: Any) -> str:
    return str(convert_to_openai_tool(schema)["function"]["name"])


def _checked(message: AIMessage) -> AIMessage:
    """The message, if it has the call that the system prompt asks for."""
    if not message.tool_calls:
        raise OutputParserException(
            f"the model answered with text and did not call the tool: {message.text!r:.200}"
        )
    return message
