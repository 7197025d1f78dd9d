"""LangChain messages in the forms that people store them in."""

CLAUDE = "anthropic/claude-opus-4-6"
CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage", "system": "SystemMessage"}  # fmt: skip


def as_dict(kind, **members):
    """As `messages_to_dict` gives it."""
    head = {
        "additional_kwargs": {},
        "response_metadata": {},
        "type": kind,
        "name": None,
        "id": None,
    }
    return {"type": kind, "data": {**head, **members}}


def as_constructor(kind, **members):
    """As `dumpd` gives it."""
    path = ["langchain", "schema", "messages", CLASSES[kind]]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {**members, "type": kind}}


def flat(kind, **members):
    """As `model_dump` and LangGraph's server give it."""
    return {"type": kind, **members}


FORMS = {"data": as_dict, "kwargs": as_constructor, "flat": flat}
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "EuwB"}
TEXT = {"type": "text", "text": "I look."}


def call(name):
    return {"name": "weather", "args": {"city": "Rome"}, "id": name, "type": "tool_call"}


def use(name):
    return {"type": "tool_use", "id": name, "name": "weather", "input": {"city": "Rome"}}


def by(model, provider):
    return {"model_name": model, "model_provider": provider}


def conversation(form):
    """Claude's turn with a result, one without, one of DeepSeek, and a result that nobody asked for."""
    claude = by("claude-opus-4-6", "anthropic")
    return [
        form("system", content="Be brief."),
        form("human", content="Weather?"),
        form("ai", content=[THINKING, TEXT, use("toolu_1")], tool_calls=[call("toolu_1")], response_metadata=claude),
        form("tool", content="rain", tool_call_id="toolu_1"),
        form("ai", content="Rain.", additional_kwargs={"reasoning_content": "So it rains.", "refusal": None}, response_metadata=by("deepseek-v4-pro", "deepseek")),
        form("human", content=[{"type": "text", "text": "Again."}]),
        form("ai", content=[{**THINKING, "signature": ""}, use("toolu_2")], tool_calls=[call("toolu_2")], response_metadata=claude),
        form("tool", content="snow", tool_call_id="toolu_9"),
        form("human", content="Well?"),
    ]  # fmt: skip
