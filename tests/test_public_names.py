"""The public names, pinned: a change here is a change of the contract."""

import ast
from pathlib import Path

import innervoice

NAMES = {
    "DecodeError", "Event", "Failure", "Finish", "Heartbeat", "InnervoiceError", "Markup", "Media", "Message", "Note",
    "Opaque", "Origin", "Part", "PartEnd", "PartStart", "ProviderError", "Reasoning", "ReasoningReport", "Recast", "Request", "Decision", "Problem", "lint", "repair", "Plan", "plan", "trim", "RuleError", "Tool", "Wire", "assistant", "decode_request", "encode", "encode_response", "encode_stream", "written", "WrittenAnswer", "system", "tool_result", "user", "Response", "Splitter", "StreamDecoder", "StreamEncoder", "StructuredResponse",
    "Text", "TextDelta", "Thinking", "ThinkingDelta", "ToolCall", "ToolCallDelta", "ToolResult", "Usage", "UsageError",
    "CarriedSession", "carry", "AnswerInterruptedError", "AsyncClient", "AuthenticationError", "BadRequestError", "Client", "ConnectionFailedError", "NotFoundError",
    "OverloadedError", "RateLimitError", "ServerError", "TimedOutError", "TransportError",
    "ThinkingMetrics", "UsageUpdate", "__version__", "convert", "decode", "decode_stream", "file", "fold", "from_json", "restore", "split", "to_json",
}  # fmt: skip


def test_names():
    assert NAMES == set(innervoice.__all__)
    assert NAMES <= set(dir(innervoice))


def test_every_name_is_there():
    for name in NAMES:
        assert getattr(innervoice, name) is not None


def test_names_are_not_modules():
    """A module of the same name must never stand in a function's place."""
    innervoice.split("x")

    assert callable(innervoice.fold)


def test_unknown_names_fail():
    assert not hasattr(innervoice, "nonsense")


def test_errors_have_one_root():
    for name in NAMES:
        value = getattr(innervoice, name)
        if isinstance(value, type) and issubclass(value, Exception):
            assert issubclass(value, innervoice.InnervoiceError)


def test_type_checkers_see_the_same_names():
    """The stub beside `__init__.py` offers each name from the module that it comes from."""
    stub = ast.parse(Path(innervoice.__file__).with_suffix(".pyi").read_text("utf-8"))
    offered = {
        alias.asname: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = {name: f"innervoice.{module}" for name, module in innervoice._MODULES.items()}

    assert homes == offered
