"""Hear what a model thinks, keep it out of what it says, and give it back unharmed.

Each public name is imported when it is first used: `import innervoice` loads nothing else, not even
`typing`. `__init__.pyi` declares the same names for type checkers.
"""

from __future__ import annotations

from importlib import import_module

_HOME = {
    "errors": (
        "AnswerInterruptedError",
        "AuthenticationError",
        "BadRequestError",
        "ConnectionFailedError",
        "DecodeError",
        "InnervoiceError",
        "NotFoundError",
        "OverloadedError",
        "ProviderError",
        "RateLimitError",
        "RuleError",
        "ServerError",
        "TimedOutError",
        "TransportError",
        "UsageError",
    ),
    "answering.writing": (
        "StreamEncoder",
        "WrittenAnswer",
        "encode_response",
        "encode_stream",
        "written",
    ),
    "canon.events": (
        "Event",
        "Finish",
        "Heartbeat",
        "PartEnd",
        "PartStart",
        "Recast",
        "TextDelta",
        "ThinkingDelta",
        "ToolCallDelta",
        "UsageUpdate",
    ),
    "canon.messages": ("Message", "assistant", "system", "tool_result", "user"),
    "canon.notes": ("Note",),
    "canon.origin": ("Markup", "Origin"),
    "canon.parts": (
        "Media",
        "Opaque",
        "Part",
        "Text",
        "Thinking",
        "ToolCall",
        "ToolResult",
        "restore",
    ),
    "canon.reasoning": ("Reasoning", "ReasoningReport"),
    "canon.request": ("Request", "Tool", "Wire"),
    "canon.response": ("Failure", "Response"),
    "canon.storage": ("from_json", "to_json"),
    "canon.answer_type": ("StructuredResponse",),
    "canon.thinking_metrics": ("ThinkingMetrics",),
    "canon.usage": ("Usage",),
    "client.aio": ("AsyncClient",),
    "client.sync": ("Client",),
    "converting": ("convert",),
    "files": ("file",),
    "folding": ("fold",),
    "histories": ("lint", "plan", "repair"),
    "planning.lint": ("Problem",),
    "planning.plan": ("Decision", "Plan"),
    "planning.trim": ("trim",),
    "decoding": ("StreamDecoder", "decode", "decode_stream"),
    "splitting": ("Splitter", "split"),
    "planning.encode": ("decode_request", "encode"),
    "sources.writers.carrying": ("CarriedSession", "carry"),
}
_MODULES = {name: module for module, names in _HOME.items() for name in names}

__all__ = [*_MODULES, "__version__"]  # noqa: PLE0604 - the table above is the one list


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("innervoice")
    if name not in _MODULES:
        raise AttributeError(f"module 'innervoice' has no attribute {name!r}")
    value: object = getattr(import_module(f"innervoice.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
