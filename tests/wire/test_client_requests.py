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
        ("bedrock-converse", {"additionalModelRequestFields": {"reasoning_config": "high"}}, {"reasoning": iv.Reasoning("high"), "extra": {}}),
        ("bedrock-converse", {"additionalModelRequestFields": {"reasoning_config": {"type": "enabled", "budget_tokens": 2000}}},
         {"reasoning": iv.Reasoning(budget=2000), "extra": {}}),
        ("openai-chat", {"reasoning_effort": "xhigh"}, {"reasoning": iv.Reasoning("xhigh"), "extra": {}}),
        ("openai-chat", {"reasoning": {"effort": "low", "exclude": True}}, {"reasoning": iv.Reasoning("low", None, "hidden"), "extra": {}}),
        ("openai-chat", {"reasoning": {"max_tokens": 2000}}, {"reasoning": iv.Reasoning(budget=2000)}),
        ("openai-chat", {"reasoning": {"enabled": False}}, {"reasoning": iv.Reasoning("none")}),
        ("openai-chat", {"reasoning": {"effort": "low", "x": 1}}, {"reasoning": iv.Reasoning("low"), "extra": {"reasoning": {"x": 1}}}),
        ("openai-chat", {"thinking": {"type": "disabled"}}, {"reasoning": iv.Reasoning("none")}),
        ("openai-chat", {"thinking": {"type": "enabled", "budget_tokens": 500, "clear_thinking": False}},
         {"reasoning": iv.Reasoning(budget=500), "extra": {"thinking": {"clear_thinking": False}}}),
        ("openai-chat", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}, {"reasoning": iv.Reasoning("max"), "extra": {}}),
        ("openai-chat", {"enable_thinking": True, "thinking_budget": 300}, {"reasoning": iv.Reasoning(budget=300)}),
        ("openai-chat", {"enable_thinking": True}, {"reasoning": iv.Reasoning("medium"), "extra": {}}),
        ("openai-chat", {"thinking_budget": 0}, {"reasoning": iv.Reasoning("none")}),
        ("openai-chat", {"chat_template_kwargs": {"enable_thinking": False, "x": 1}},
         {"reasoning": iv.Reasoning("none"), "extra": {"chat_template_kwargs": {"x": 1}}}),
        ("openai-chat", {"chat_template_kwargs": {"thinking": True}}, {"reasoning": iv.Reasoning("medium")}),
        ("openai-chat", {"chat_template_kwargs": {"x": 1}}, {"reasoning": None, "extra": {"chat_template_kwargs": {"x": 1}}}),
        ("openai-chat", {"reasoning_effort": "default", "reasoning_format": "hidden"}, {"reasoning": iv.Reasoning("medium", None, "hidden")}),
        ("openai-chat", {"reasoning_format": "parsed"}, {"reasoning": iv.Reasoning(show="full"), "extra": {}}),
        ("openai-chat", {"reasoning_format": "deepseek"}, {"reasoning": None, "extra": {"reasoning_format": "deepseek"}}),
        ("openai-chat", {"include_reasoning": False}, {"reasoning": iv.Reasoning(show="hidden")}),
        ("openai-chat", {"reasoning_effort": "enormous"}, {"reasoning": None, "extra": {"reasoning_effort": "enormous"}}),
        ("openai-chat", {"reasoning_effort": None, "user": None}, {"reasoning": None, "extra": {}}),
        ("mistral", {"reasoning_effort": "high"}, {"reasoning": iv.Reasoning("high")}),
        ("openai-chat", {"parallel_tool_calls": False}, {"parallel_tool_calls": False, "extra": {}}),
        ("anthropic", {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
         {"tool_choice": "required", "parallel_tool_calls": False, "extra": {}}),
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
    notes = iv.encode(request.replace(model="deepseek/deepseek-v4-pro", dialect=None)).notes
    assert ["effort_from_history"] == [note.code for note in notes]
    gemini = iv.encode(request.replace(model="gemini/gemini-3-pro", dialect=None)).body
    assert "systemInstruction" not in gemini
    late = "<system-message>\nBe brief.\n</system-message>"
    assert [{"text": text} for text in ("x", late, "y", "z")] == gemini["contents"][0]["parts"]


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


# ---- settings on their way ---------------------------------------------------------------------------


def sent_from(dialect, body, target, tools=()):
    """The body for a target; `target` may name a dialect behind "@"."""
    name = {"gemini": "contents", "openai-responses": "input"}.get(dialect, "messages")
    said = (
        {"role": "user", "parts": [{"text": "x"}]}
        if dialect == "gemini"
        else {"role": "user", "content": "x"}
    )
    if dialect == "bedrock-converse":
        said = {"role": "user", "content": [{"text": "x"}]}
    request = iv.decode_request({"model": "m", name: [said], **body}, dialect)
    model, _, other = target.partition("@")
    return iv.encode(request.replace(model=model, dialect=other or None))


@pytest.mark.parametrize(
    ("members", "target"),
    [
        ({"reasoning": {"effort": "high", "exclude": False}}, "openrouter/openai/gpt-5.2"),
        ({"reasoning": {"enabled": True}}, "openrouter/openai/gpt-5.2"),
        ({"thinking": {"type": "enabled"}}, "deepseek/deepseek-v4-pro"),
        ({"thinking": {"type": "enabled"}, "reasoning_effort": "max"}, "deepseek/deepseek-v4-pro"),
        ({"enable_thinking": True, "stream": True}, "alibaba/qwen3-235b-a22b"),
        (
            {"enable_thinking": True, "thinking_budget": 2000, "stream": True},
            "alibaba/qwen3-235b-a22b",
        ),
        ({"chat_template_kwargs": {"enable_thinking": True, "x": 1}}, "vllm/Qwen/Qwen3-8B"),
        ({"reasoning_effort": "high", "include_reasoning": True}, "groq/openai/gpt-oss-120b"),
        (
            {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
            "custom/anything@openai-chat",
        ),
    ],
)
def test_reasoning_goes_to_its_own_host_as_it_came(members, target):
    body = sent_from("openai-chat", members, target).body
    assert members == {name: body[name] for name in members}


def test_a_setting_that_was_changed_since():
    request = iv.decode_request(
        {
            "model": "m",
            "messages": [{"role": "user", "content": "x"}],
            "thinking": {"type": "enabled"},
        },
        "openai-chat",
    )
    changed = request.replace(model="deepseek/deepseek-v4-pro", reasoning=iv.Reasoning("none"))
    assert {"type": "disabled"} == iv.encode(changed).body["thinking"]


@pytest.mark.parametrize(
    ("dialect", "members"),
    [
        ("anthropic", {"thinking": {"type": "adaptive"}}),
        ("anthropic", {"thinking": {"type": "adaptive", "display": "omitted"}}),
        ("gemini", {"generationConfig": {"thinkingConfig": {"thinkingBudget": -1}}}),
        ("cohere", {"thinking": {"type": "enabled"}}),
        ("ollama", {"think": True}),
        ("openai-chat", {"enable_thinking": True}),
        ("bedrock-converse", {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}}}),
    ],
)
def test_a_switch_is_an_effort_elsewhere(dialect, members):
    """A client that only says "on" must get a model that reasons, also where the default is off."""
    wire = sent_from(dialect, members, "openai/gpt-5.2")
    assert "medium" == wire.body["reasoning"]["effort"]
    assert "extra_dropped" not in {note.code for note in wire.notes}


def test_adaptive_thinking_of_an_older_claude():
    body = sent_from(
        "anthropic",
        {"max_tokens": 8000, "thinking": {"type": "adaptive"}},
        "anthropic/claude-sonnet-4-5",
    ).body
    assert "enabled" == body["thinking"]["type"]


SINGLE = {"type": "auto", "disable_parallel_tool_use": True}
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}


def test_one_call_at_a_time():
    chat = {"tools": [FUNCTION], "parallel_tool_calls": False}
    assert SINGLE == sent_from("openai-chat", chat, "anthropic/claude-opus-5-5").body["tool_choice"]
    wire = sent_from("openai-chat", chat, "gemini/gemini-3-pro-preview")
    assert ["parameter_removed"] == [note.code for note in wire.notes]
    messages = {
        "max_tokens": 9,
        "tools": [{"name": "f", "input_schema": SCHEMA}],
        "tool_choice": SINGLE,
    }
    for target in ("openai/gpt-5.6", "deepseek/deepseek-v4-pro", "mistral/mistral-small-latest"):
        assert sent_from("anthropic", messages, target).body["parallel_tool_calls"] is False
    assert (
        SINGLE == sent_from("anthropic", messages, "anthropic/claude-opus-5-5").body["tool_choice"]
    )


SETTINGS = {
    "openai-chat": {"seed": 7, "presence_penalty": 0.5},
    "mistral": {"random_seed": 7, "presence_penalty": 0.5},
    "gemini": {"generationConfig": {"seed": 7, "presencePenalty": 0.5}},
    "cohere": {"seed": 7, "presence_penalty": 0.5},
    "ollama": {"options": {"seed": 7, "presence_penalty": 0.5}},
}
SETTINGS_TARGETS = {
    "openai-chat": "deepseek/deepseek-v4-pro",
    "mistral": "mistral/mistral-small-latest",
    "gemini": "gemini/gemini-3-pro-preview",
    "cohere": "cohere/command-a-03-2025",
    "ollama": "ollama/llama3",
}


@pytest.mark.parametrize("target", SETTINGS)
@pytest.mark.parametrize("source", SETTINGS)
def test_settings_with_another_name_elsewhere(source, target):
    wire = sent_from(source, SETTINGS[source], SETTINGS_TARGETS[target])
    for name, value in SETTINGS[target].items():
        assert value == wire.body[name]
    assert {"unknown_model"} >= {note.code for note in wire.notes}


def test_settings_without_a_place_are_noted():
    wire = sent_from(
        "gemini", {"generationConfig": {"topK": 5, "mediaResolution": "LOW"}}, "openai/gpt-5.6"
    )
    assert {"generationConfig.topK", "generationConfig.mediaResolution"} == {
        note.detail for note in wire.notes
    }
    wire = sent_from("cohere", {"k": 5}, "anthropic/claude-opus-5-5")
    assert ("parameter_removed", "top_k") in {(note.code, note.detail) for note in wire.notes}


@pytest.mark.parametrize(
    ("dialect", "choice", "word"),
    [
        ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}}}, "auto"),
        (
            "gemini",
            {
                "toolConfig": {
                    "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f", "g"]}
                }
            },
            "required",
        ),
        (
            "openai-responses",
            {"tool_choice": {"type": "allowed_tools", "mode": "required", "tools": []}},
            "required",
        ),
        (
            "openai-chat",
            {
                "tool_choice": {
                    "type": "allowed_tools",
                    "allowed_tools": {"mode": "auto", "tools": []},
                }
            },
            "auto",
        ),
    ],
)
def test_choices_that_only_one_dialect_has(dialect, choice, word):
    tool = (
        {"functionDeclarations": [{"name": "f"}]}
        if dialect == "gemini"
        else {"type": "function", "name": "f"}
    )
    wire = sent_from(
        dialect,
        {"tools": [FUNCTION if dialect == "openai-chat" else tool], **choice},
        "mistral/mistral-small-latest",
    )
    assert word == wire.body["tool_choice"]
    assert ("tool_choice_relaxed", f"sent {word}") in {
        (note.code, note.detail) for note in wire.notes
    }


def test_a_choice_of_a_tool_that_is_not_sent():
    body = {"tools": [{"type": "web_search"}], "tool_choice": "required"}
    wire = sent_from("openai-responses", body, "anthropic/claude-opus-5-5")
    assert wire.body.keys().isdisjoint(("tools", "tool_choice"))
    assert {("tool_dropped", "web_search"), ("extra_dropped", "tool_choice")} <= {
        (note.code, note.detail) for note in wire.notes
    }


def test_the_schema_of_gemini():
    config = {
        "responseMimeType": "application/json",
        "responseSchema": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
    }
    home = sent_from("gemini", {"generationConfig": config}, "gemini/gemini-3-pro-preview").body
    assert config == home["generationConfig"]
    body = sent_from("gemini", {"generationConfig": config}, "openai/gpt-5.6").body
    assert SCHEMA == body["text"]["format"]["schema"]


def test_strict_hosts_do_not_get_what_another_host_has():
    """A client that was written for one chat host asks another."""
    members = {
        "top_k": 5,
        "provider": {"order": ["x"]},
        "tools": [FUNCTION, {"type": "openrouter:web_search"}],
    }
    wire = sent_from("openai-chat", members, "openai/gpt-5.1@openai-chat")
    assert wire.body.keys().isdisjoint(("top_k", "provider"))
    assert 1 == len(wire.body["tools"])
    assert {"top_k", "provider", "openrouter:web_search"} == {note.detail for note in wire.notes}
    lenient = sent_from("openai-chat", members, "openrouter/openai/gpt-5.2").body
    assert 5 == lenient["top_k"]
    assert 2 == len(lenient["tools"])


def test_a_placeholder_of_deferred_tools():
    tools = [
        {"name": "Placeholder", "defer_loading": True},
        {"name": "f", "description": "d", "input_schema": SCHEMA, "defer_loading": True},
    ]
    wire = sent_from("anthropic", {"max_tokens": 9, "tools": tools}, "deepseek/deepseek-v4-pro")
    assert ["f"] == [tool["function"]["name"] for tool in wire.body["tools"]]
    assert ("tool_dropped", "Placeholder") in {(note.code, note.detail) for note in wire.notes}


def test_turns_of_the_model_in_a_row():
    """The results of a call must follow it at once, where calls and results are messages."""
    used = [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}}],
        }
        for n in (1, 2)
    ]
    results = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": f"t{n}", "content": "r"} for n in (1, 2)
        ],
    }
    body = {
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "x"}, *used, results],
        "model": "m",
    }
    request = iv.decode_request(body, "anthropic").replace(
        model="deepseek/deepseek-v4-pro", dialect=None
    )
    roles = [message["role"] for message in iv.encode(request).body["messages"]]
    assert ["user", "assistant", "tool", "tool"] == roles


def test_the_names_of_tools_that_are_left_out():
    """A note names each, also one that is nothing but a member."""
    tools = [{"functionDeclarations": [{"name": "f"}]}, {"googleSearch": {}}]
    wire = sent_from("gemini", {"tools": tools}, "openai/gpt-5.6")
    assert ("tool_dropped", "googleSearch") in {(note.code, note.detail) for note in wire.notes}
