"""Requests as agents and SDKs send them: what they ask for is read into the fields of `Request`, and is not lost on the way elsewhere."""

import pickle

import pytest

import innervoice as iv

DECLARED = {
    "name": "f",
    "description": "d",
    "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    ("dialect", "body", "fields"),
    [
        ("anthropic", {"thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "high"}},
         {"reasoning": iv.Reasoning("high", None, "hidden")}),
        ("anthropic", {"thinking": {"type": "adaptive", "block_binding": {"x": 1}}, "output_config": {"effort": "low"}},
         {"reasoning": iv.Reasoning("low"), "extra": {"thinking": {"block_binding": {"x": 1}}}}),
        ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 2000}}, {"reasoning": iv.Reasoning(budget=2000)}),
        ("anthropic", {"thinking": {"type": "disabled"}}, {"reasoning": iv.Reasoning("none")}),
        ("anthropic", {"thinking": {"type": "adaptive"}}, {"reasoning": None, "extra": {"thinking": {"type": "adaptive"}}}),
        ("anthropic", {"tool_choice": {"type": "any"}}, {"tool_choice": "required"}),
        ("anthropic", {"tool_choice": {"type": "tool", "name": "f"}}, {"tool_choice": "f"}),
        ("openai-chat", {"tool_choice": {"type": "function", "function": {"name": "f"}}}, {"tool_choice": "f"}),
        ("openai-responses", {"reasoning": {"effort": "medium", "summary": "auto"}},
         {"reasoning": iv.Reasoning("medium", None, "summary"), "extra": {}}),
        ("openai-responses", {"reasoning": {"effort": "high", "summary": "concise"}},
         {"reasoning": iv.Reasoning("high", None, "summary"), "extra": {"reasoning": {"summary": "concise"}}}),
        ("openai-responses", {"tool_choice": {"type": "function", "name": "f"}}, {"tool_choice": "f"}),
        ("gemini", {"generation_config": {"thinking_config": {"thinking_level": "HIGH", "include_thoughts": True}}},
         {"reasoning": iv.Reasoning("high", None, "summary"), "extra": {}}),
        ("gemini", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}, "topK": 64}},
         {"reasoning": iv.Reasoning("none"), "extra": {"generationConfig": {"topK": 64}}}),
        ("gemini", {"generationConfig": {"thinkingConfig": {"thinkingBudget": -1}}},
         {"reasoning": None, "extra": {"generationConfig": {"thinkingConfig": {"thinkingBudget": -1}}}}),
        ("gemini", {"tool_config": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f"]}}},
         {"tool_choice": "f"}),
        ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}, {"tool_choice": "none"}),
        ("gemini", {"tools": [{"function_declarations": [DECLARED]}]}, {"tools": (iv.Tool("f", "d", SCHEMA),)}),
        ("gemini", {"systemInstruction": "Be brief."}, {"system": "Be brief."}),
        ("gemini", {"system_instruction": {"parts": {"text": "Be brief."}}}, {"system": "Be brief."}),
        ("bedrock-converse",
         {"toolConfig": {"tools": [{"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": SCHEMA}}}],
                         "toolChoice": {"any": {}}}},
         {"tools": (iv.Tool("f", "d", SCHEMA),), "tool_choice": "required", "extra": {}}),
        ("bedrock-converse", {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 2000}}},
         {"reasoning": iv.Reasoning(budget=2000), "extra": {}}),
        ("bedrock-converse", {"additionalModelRequestFields": {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}, "x": 1}},
         {"reasoning": iv.Reasoning("low"), "extra": {"additionalModelRequestFields": {"x": 1}}}),
        ("ollama", {"think": "high"}, {"reasoning": iv.Reasoning("high")}),
        ("ollama", {"think": False}, {"reasoning": iv.Reasoning("none")}),
        ("cohere", {"thinking": {"type": "enabled", "token_budget": 500}, "tool_choice": "REQUIRED"},
         {"reasoning": iv.Reasoning(budget=500), "tool_choice": "required"}),
    ],
)  # fmt: skip
def test_settings(dialect, body, fields):
    request = iv.decode_request({"model": "m", **body}, dialect)
    assert {name: getattr(request, name) for name in fields} == fields


def test_a_system_prompt_in_blocks():
    blocks = [
        {"type": "text", "text": "One."},
        {"type": "text", "text": "Two.", "cache_control": {"type": "ephemeral"}},
    ]
    sent = {
        "model": "m",
        "max_tokens": 9,
        "system": blocks,
        "messages": [{"role": "user", "content": "x"}],
    }
    request = iv.decode_request(sent, "anthropic")
    assert iv.encode(request.replace(model="anthropic/claude-opus-5-5")).body["system"] == blocks
    elsewhere = iv.encode(request.replace(model="gemini/gemini-3-pro", dialect=None)).body
    assert elsewhere["systemInstruction"] == {"parts": [{"text": "One.\n\nTwo."}]}


def test_a_system_message_in_the_middle():
    """Claude Code sends one after the first turn of the user, and an empty one after it has shortened a history."""
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "x"}]},
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}], "output_config": {"effort": "low"}},
        {"role": "user", "content": [{"type": "text", "text": "y"}]},
        {"role": "system", "content": []},
        {"role": "user", "content": [{"type": "text", "text": "z"}]},
    ]  # fmt: skip
    request = iv.decode_request({"model": "m", "max_tokens": 9, "messages": messages}, "anthropic")
    home = iv.encode(request.replace(model="anthropic/claude-opus-5-5")).body
    assert home["messages"] == messages
    chat = iv.encode(request.replace(model="deepseek/deepseek-v4-pro", dialect=None)).body
    assert {"role": "system", "content": "Be brief."} in chat["messages"]
    assert "output_config" not in str(chat)
    gemini = iv.encode(request.replace(model="gemini/gemini-3-pro", dialect=None)).body
    assert gemini["systemInstruction"] == {"parts": [{"text": "Be brief."}]}


@pytest.mark.parametrize("content", [None, []])
def test_a_message_without_content(content):
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": content}, {"role": "user", "content": "x"}],
    }
    request = iv.decode_request(body, "openai-chat")
    sent = iv.encode(request.replace(model="anthropic/claude-opus-5-5", dialect=None)).body
    assert sent["messages"] == [{"role": "user", "content": [{"type": "text", "text": "x"}]}]


BODY = {
    "model": "m",
    "messages": [{"role": "user", "content": "x"}],
    "metadata": {"user_id": "u"},
    "tools": [{"type": "web_search", "x": 1}, {"type": "function", "function": {"name": "f"}}],
}


def test_members_that_only_one_dialect_has():
    """They go back to their own dialect; elsewhere a note names each of them."""
    request = iv.decode_request(BODY, "openai-chat")
    home = iv.encode(request.replace(model="deepseek/deepseek-v4-pro"))
    assert home.body["metadata"] == {"user_id": "u"}
    assert len(home.body["tools"]) == 2
    wire = iv.encode(request.replace(model="gemini/gemini-3-pro", dialect=None))
    assert "metadata" not in wire.body
    assert [list(tool) for tool in wire.body["tools"]] == [["functionDeclarations"]]
    notes = {(note.code, note.detail) for note in wire.notes}
    assert {("extra_dropped", "metadata"), ("tool_dropped", "web_search")} <= notes


def test_an_extra_of_the_caller_is_always_sent():
    request = iv.decode_request(BODY, "openai-chat").replace(extra={"labels": {"a": "b"}})
    wire = iv.encode(request.replace(model="gemini/gemini-3-pro", dialect=None))
    assert wire.body["labels"] == {"a": "b"}


def test_a_request_that_was_read_can_be_copied():
    extra = iv.decode_request(BODY, "openai-chat").extra
    copied = pickle.loads(pickle.dumps(extra))
    assert (copied, copied.dialect) == (extra, "openai-chat")


def test_results_with_further_members():
    """A result is a result, whatever else stands beside its content."""
    items = [
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": "1",
            "id": "fco",
            "caller": None,
        },
    ]
    request = iv.decode_request({"model": "m", "input": items}, "openai-responses")
    assert request.messages[1].parts[0].content == "1"
    home = iv.encode(request.replace(model="openai/gpt-5.6")).body
    assert home["input"][1] == items[1]
    body = iv.encode(request.replace(model="anthropic/claude-opus-5-5", dialect=None)).body
    assert body["messages"][1]["content"] == [
        {"type": "tool_result", "tool_use_id": "c", "content": "1"}
    ]
