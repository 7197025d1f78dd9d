"""A request and the type of its answer -> a request whose answer has that type.

If the target can enforce a schema, the schema is sent, and reasoning stays possible. Otherwise the model gets a tool whose arguments
are the answer. A model that refuses a forced tool choice while it reasons is not forced: the system prompt asks for the call instead,
so that the requested reasoning stays on.
"""

from __future__ import annotations

from innervoice.canon.answer_type import AnswerType
from innervoice.canon.request import Request, Tool
from innervoice.errors import UsageError
from innervoice.planning.request import FittedRequest
from innervoice.wire.dialects import dialect_named

__all__ = ["call_instruction", "structured"]


def structured(request: Request, answer: AnswerType) -> Request:
    """The request for an answer of this type."""
    if request.response_format is not None:
        raise UsageError("pass either schema= or response_format=, not both")
    fitted = FittedRequest(request, checked=False)
    target = fitted.target
    formats = (target.host.formats if target.host else ()) or dialect_named(target.dialect).formats
    if "json_schema" in formats:
        inner = {"name": answer.name, "schema": answer.schema, "strict": True}
        form = {"type": "json_schema", "json_schema": inner}
        return request.replace(response_format=form)
    tool = Tool(answer.name, "Gives the final answer.", answer.schema)
    tools = (*request.tools, tool)
    if not request.tools and (target.row.forced_tools or not fitted.reasons):
        return request.replace(tools=tools, tool_choice=answer.name)
    instruction = call_instruction(answer.name)
    system = f"{request.system}\n\n{instruction}" if request.system else instruction
    return request.replace(tools=tools, system=system)


def call_instruction(tool: str) -> str:
    """The instruction for a model that cannot be forced to call a tool."""
    return f"Give the final answer by calling the tool {tool}, and not as text."
