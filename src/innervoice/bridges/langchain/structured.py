"""A model and a schema -> a runnable that returns objects of the schema."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Literal, TypeAlias

from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser
from langchain_core.output_parsers.openai_tools import (
    JsonOutputKeyToolsParser,
    PydanticToolsParser,
)
from langchain_core.runnables import Runnable, RunnableMap, RunnablePassthrough
from langchain_core.utils.function_calling import convert_to_json_schema, convert_to_openai_tool
from langchain_core.utils.pydantic import is_basemodel_subclass

from innervoice.canon.messages import user
from innervoice.canon.request import Request, Tool
from innervoice.encoding import encode
from innervoice.errors import UsageError

__all__ = ["Method", "structured", "usual_method"]

Method: TypeAlias = Literal["function_calling", "json_schema", "json_mode"]

_PROBE = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


def usual_method(model: str, **settings: Any) -> Method:
    """The default method: a forced tool call, or a response schema where the model cannot be forced."""
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
        return "function_calling"
    noted = {note.code for note in notes} | {
        (note.detail or "").partition(":")[0] for note in notes
    }
    unforced = noted & {"tool_choice_relaxed", "tool_choice"}
    return (
        "json_schema" if unforced and "schema_as_instruction" not in noted else "function_calling"
    )


def structured(
    model: Any,
    schema: Any,
    *,
    method: Method,
    include_raw: bool,
    strict: bool | None,
    **fields: Any,
) -> Runnable[Any, Any]:
    """The model, followed by a parser of its responses."""
    traced = {"kwargs": {"method": method, "strict": strict}, "schema": schema}
    if method == "function_calling":
        bound = model.bind_tools(
            [schema],
            tool_choice="any",
            strict=strict,
            ls_structured_output_format=traced,
            **fields,
        )
    else:
        form = _form(schema, method, strict=strict)
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
        known = "function_calling, json_schema, json_mode"
        raise UsageError(f"method must be one of {known}, not {method!r}")
    made = dict(convert_to_json_schema(schema, strict=strict))
    inner = {"name": made.pop("title", "answer"), "schema": made}
    if strict is not None:
        inner["strict"] = strict
    return {"type": "json_schema", "json_schema": inner}


def _parser(schema: Any, method: Method) -> Runnable[Any, Any]:
    is_class = isinstance(schema, type) and is_basemodel_subclass(schema)
    if method != "function_calling":
        return PydanticOutputParser(pydantic_object=schema) if is_class else JsonOutputParser()
    if is_class:
        return PydanticToolsParser(tools=[schema], first_tool_only=True)
    name = convert_to_openai_tool(schema)["function"]["name"]
    return JsonOutputKeyToolsParser(key_name=name, first_tool_only=True)
