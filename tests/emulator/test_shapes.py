"""Strict APIs refuse members, roles, blocks, tools and models that they do not have, in their own words; others ignore them."""

import json

import pytest

import innervoice as iv
from emulator.shapes import BODIES, STRICT, ask, changed
from innervoice.catalog.lookup import all_hosts
from innervoice.emulator import Emulator

# A place in the request of each strict API, and what is said of a member `foo` that is put there.
UNKNOWN = [
    ("anthropic", "foo", "foo: Extra inputs are not permitted"),
    ("anthropic", "messages.0.foo", "messages.0.foo: Extra inputs are not permitted"),
    ("anthropic", "messages.0.content.0.foo", "messages.0.content.0.text.foo: Extra inputs are not permitted"),
    ("anthropic", "tools.0.foo", "tools.0.custom.foo: Extra inputs are not permitted"),
    ("openai-chat", "foo", "Unknown parameter: 'foo'."),
    ("openai-chat", "messages.0.foo", "Unknown parameter: 'messages[0].foo'."),
    ("openai-chat", "messages.0.content.0.foo", "Unknown parameter: 'messages[0].content[0].foo'."),
    ("openai-chat", "tools.0.foo", "Unknown parameter: 'tools[0].foo'."),
    ("openai-chat", "tools.0.function.foo", "Unknown parameter: 'tools[0].function.foo'."),
    ("openai-responses", "foo", "Unknown parameter: 'foo'."),
    ("openai-responses", "input.0.foo", "Unknown parameter: 'input[0].foo'."),
    ("openai-responses", "input.0.content.0.foo", "Unknown parameter: 'input[0].content[0].foo'."),
    ("openai-responses", "tools.0.foo", "Unknown parameter: 'tools[0].foo'."),
    ("gemini", "foo", 'Invalid JSON payload received. Unknown name "foo": Cannot find field.'),
    ("gemini", "max_tokens", 'Unknown name "max_tokens": Cannot find field.'),
    ("gemini", "contents.0.parts.0.foo", "Unknown name \"foo\" at 'contents[0].parts[0]': Cannot find field."),
    ("gemini", "tools.0.functionDeclarations.0.foo", "Unknown name \"foo\" at 'tools[0].function_declarations[0]': Cannot find field."),
    ("gemini", "tools.0.functionDeclarations.0.parameters.additionalProperties",
     "Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field."),
    ("gemini-interactions", "foo", "Invalid input at 'foo'."),
    ("gemini-interactions", "input.0.foo", "Invalid input at 'input[0].foo'."),
    ("gemini-interactions", "input.0.content.0.foo", "Invalid input at 'input[0].content[0].foo'."),
    ("gemini-interactions", "tools.0.foo", "Invalid input at 'tools[0].foo'."),
    ("bedrock-converse", "foo", "Malformed input request: #: extraneous key [foo] is not permitted, please reformat your input"),
    ("bedrock-converse", "messages.0.content.0.foo", "#/messages/0/content/0: extraneous key [foo] is not permitted"),
    ("bedrock-converse", "toolConfig.tools.0.toolSpec.foo", "#/toolConfig/tools/0/toolSpec: extraneous key [foo] is not permitted"),
    ("mistral", "foo", "extra_forbidden"),
    ("mistral", "messages.0.reasoning_content", "reasoning_content"),
    ("mistral", "tools.0.function.foo", "Extra inputs are not permitted"),
    ("cohere", "foo", "unknown field: parameter 'foo' is not a valid field"),
    ("cohere", "tools.0.function.strict", "unknown field: parameter 'strict' is not a valid field"),
]  # fmt: skip
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
FOREIGN = [
    ("anthropic", "tools.0", FUNCTION, "tools.0: Input tag 'function' found using 'type' does not match any of the expected tags:"),
    ("anthropic", "tools.0", {"name": "f"}, "tools.0.custom.input_schema: Field required"),
    ("anthropic", "messages.0.content.0", {"type": "image_url", "image_url": {"url": "x"}},
     "messages.0.content.0: Input tag 'image_url' found using 'type' does not match any of the expected tags:"),
    ("anthropic", "messages.0.role", "tool", "messages.0.role: Input should be 'user' or 'assistant'"),
    ("anthropic", "temperature", "hot", "temperature: Input should be a valid number"),
    ("openai-chat", "tools.0", {"name": "f", "input_schema": {}}, "Missing required parameter: 'tools[0].type'."),
    ("openai-chat", "tools.0", {"type": "function", "name": "f"}, "Missing required parameter: 'tools[0].function'."),
    ("openai-chat", "messages.0.content.0", {"type": "tool_use", "id": "a", "name": "f", "input": {}},
     "Invalid value: 'tool_use'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'."),
    ("openai-chat", "messages.0.role", "bot",
     "Invalid value: 'bot'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."),
    ("openai-chat", "temperature", "hot", "Invalid type for 'temperature': expected a decimal, but got a string instead."),
    ("openai-responses", "tools.0", FUNCTION, "Missing required parameter: 'tools[0].name'."),
    ("openai-responses", "input.0.role", "tool",
     "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'."),
    ("openai-responses", "input.0.content.0", {"type": "text", "text": "x"}, "Invalid value: 'text'. Supported values are:"),
    ("gemini", "contents.0.role", "assistant", "Please use a valid role: user, model."),
    ("gemini", "contents.0.parts.0", {"type": "text", "text": "x"}, "Unknown name \"type\" at 'contents[0].parts[0]'"),
    ("gemini", "generation_config", {"temperature": "hot"}, "Invalid value at 'generation_config.temperature' (TYPE_FLOAT), \"hot\""),
    ("gemini-interactions", "input.0", {"role": "user", "content": "x"}, "Invalid input at 'input[0].type'."),
    ("gemini-interactions", "generation_config", {"thinking_budget": 500}, "Invalid input at 'generation_config.thinking_budget'."),
    ("bedrock-converse", "messages.0.role", "system", "#/messages/0/role: system is not a valid enum value"),
    ("bedrock-converse", "messages.0.content", "x", "#/messages/0/content: expected type: JSONArray, found: String"),
    ("mistral", "messages.0.role", "developer", "Input tag 'developer' found using 'role' does not match any of the expected tags"),
    ("cohere", "messages.0.role", "developer", "invalid request: messages[0].role must be one of system, user, assistant, tool"),
]  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_the_request_itself_is_accepted(name):
    assert 200 == ask(name, BODIES[name])[0], ask(name, BODIES[name])


@pytest.mark.parametrize(("name", "place", "words"), UNKNOWN)
def test_a_member_that_the_api_does_not_have(name, place, words):
    status, text = ask(name, changed(name, place, 1))
    assert (422 if name in ("mistral", "cohere") else 400) == status
    assert words in text.replace('\\"', '"')


def test_every_strict_dialect_has_its_case():
    """Whoever is strict by the rows is tested, and nobody else."""
    strict = {dialect for host in all_hosts() for dialect in host.strict}
    assert strict == set(STRICT) == {name for name, _, _ in UNKNOWN}


@pytest.mark.parametrize("name", set(BODIES) - set(STRICT))
@pytest.mark.parametrize("place", ["foo", "messages.0.foo"])
def test_lenient_hosts_ignore_it(name, place):
    assert 200 == ask(name, changed(name, place, 1))[0]


@pytest.mark.parametrize(("name", "place", "value", "words"), FOREIGN)
def test_what_belongs_to_another_api(name, place, value, words):
    status, text = ask(name, changed(name, place, value))
    assert status in (400, 422)
    assert words in text.replace('\\"', '"')


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("value", ["hot", [], {"a": 1}, True])
def test_a_wrong_type_is_refused_everywhere(name, value):
    """Hosts that ignore strangers still want numbers to be numbers."""
    place = {
        "gemini": "generationConfig",
        "gemini-interactions": "generation_config",
        "bedrock-converse": "inferenceConfig",
    }.get(name)
    body = changed(name, place or "temperature", {"temperature": value} if place else value)
    assert ask(name, body)[0] in ((200,) if name == "ollama" else (400, 422))


MISSING = {
    "anthropic": (404, '"type":"not_found_error"', "model: nothing-like-it"),
    "openai-chat": (404, "model_not_found", "The model `nothing-like-it` does not exist or you do not have access to it."),
    "openai-responses": (400, "model_not_found", "The requested model 'nothing-like-it' does not exist."),
    "mistral": (400, "invalid_model", "Invalid model: nothing-like-it"),
    "cohere": (404, "message", "model 'nothing-like-it' not found"),
}  # fmt: skip


CACHED = {"cache_control": {"type": "ephemeral"}}
AGENTS = {
    "Claude Code": ("anthropic", {
        "model": "claude-opus-5-5", "max_tokens": 128000, "stream": True,
        "system": [{"type": "text", "text": "x-anthropic-billing-header: x"}, {"type": "text", "text": "You are an agent.", **CACHED}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "What is 2 + 2?", **CACHED}]},
            {"role": "system", "content": [], "output_config": {"effort": "high"}},
        ],
        "tools": [{"name": "Bash", "description": "Runs.", "input_schema": {"$schema": "x", "type": "object"}}, {"name": "Later", "defer_loading": True}],
        "thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "high"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}, "metadata": {"user_id": "{}"},
    }),
    "Codex": ("openai-responses", {
        "model": "gpt-5.6", "stream": True, "store": False, "include": ["reasoning.encrypted_content"], "tool_choice": "auto",
        "parallel_tool_calls": True, "prompt_cache_key": "x", "client_metadata": {"a": "b"}, "text": {"verbosity": "low"},
        "reasoning": {"effort": "high", "summary": "auto"},
        "input": [
            {"type": "message", "id": "msg_1", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
            {"type": "message", "id": "msg_2", "role": "user", "content": [{"type": "input_text", "text": "What is 2 + 2?"}]},
        ],
        "tools": [
            {"type": "function", "name": "exec_command", "strict": False, "parameters": {"type": "object"}},
            {"type": "custom", "name": "apply_patch", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}},
            {"type": "tool_search", "execution": "client"}, {"type": "web_search", "external_web_access": False},
            {"type": "namespace", "name": "multi_agent_v1", "tools": []},
        ],
    }),
    "Gemini CLI": ("gemini", {
        "contents": [{"role": "user", "parts": [{"text": "What is 2 + 2?"}]}],
        "systemInstruction": {"role": "user", "parts": [{"text": "You are an agent."}]},
        "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object", "additionalProperties": False}}]}],
        "generationConfig": {"temperature": 1, "topP": 0.95, "topK": 64, "thinkingConfig": {"includeThoughts": True}},
    }),
    "litellm": ("openai-chat", {
        "model": "gpt-4o",
        "messages": [
            {"role": "user", "content": "What is 2 + 2?"},
            {"role": "assistant", "content": "Hm.", "tool_calls": None, "function_call": None, "provider_specific_fields": {"refusal": None}},
            {"role": "user", "content": "What is 2 + 2?"},
        ],
    }),
}  # fmt: skip


@pytest.mark.parametrize("agent", AGENTS)
def test_what_agents_send_is_accepted(agent):
    """Bodies with the members that these programs send."""
    status, text = ask(*AGENTS[agent])
    assert 200 == status, text


class TestModels:
    @pytest.mark.parametrize("name", MISSING)
    def test_a_model_that_the_provider_does_not_have(self, name):
        status, kind, words = MISSING[name]
        given, text = ask(name, changed(name, "model", "nothing-like-it"))
        assert status == given
        assert kind in text
        assert words in text

    @pytest.mark.parametrize(
        ("name", "path", "status", "words"),
        [
            ("gemini", "/gemini/v1beta/models/nothing:generateContent", 404, "models/nothing is not found for API version v1beta"),
            ("bedrock-converse", "/bedrock/model/nothing/converse", 400, "The provided model identifier is invalid."),
        ],
    )  # fmt: skip
    def test_a_model_in_the_path(self, name, path, status, words):
        given, text = ask(name, BODIES[name], path=path)
        assert status == given
        assert words in text

    @pytest.mark.parametrize("name", ["anthropic", "openai-chat"])
    def test_a_name_that_is_only_similar(self, name):
        model = "claude-99-5" if name == "anthropic" else "gpt-99"
        assert 404 == ask(name, changed(name, "model", model))[0]

    @pytest.mark.parametrize(
        ("name", "words"),
        [("anthropic", "model: Field required"), ("openai-chat", "you must provide a model parameter")],
    )  # fmt: skip
    def test_no_model_at_all(self, name, words):
        body = {key: value for key, value in BODIES[name].items() if key != "model"}
        status, text = ask(name, body)
        assert (400, True) == (status, words in text)

    @pytest.mark.parametrize("name", ["vllm", "ollama"])
    def test_hosts_that_run_any_model(self, name):
        assert 200 == ask(name, changed(name, "model", "nothing-like-it"))[0]

    def test_every_model_of_the_lists_is_served(self):
        """What an emulated provider lists can be asked."""
        emulator = Emulator()
        listed = json.loads(emulator.reply("GET", "/anthropic/v1/models", {}, b"").body)["data"]
        names = [model["id"] for model in listed]
        assert len(names) > 5
        for model in names:
            body = {"model": model, "max_tokens": 100, "messages": BODIES["anthropic"]["messages"]}
            assert 200 == ask("anthropic", body, emulator)[0], model

    @pytest.mark.parametrize("word", ["redact", "pieces=3", "slow=0"])
    def test_a_suffix_keeps_the_row_of_the_model(self, word):
        """`claude-sonnet-4-5+redact` accepts a budget, as claude-sonnet-4-5 does."""
        plain = iv.encode(iv.Request("anthropic/claude-sonnet-4-5", [iv.user("hi")], reasoning=iv.Reasoning(budget=2000)))  # fmt: skip
        wire = iv.encode(iv.Request(f"anthropic/claude-sonnet-4-5+{word}", [iv.user("hi")], reasoning=iv.Reasoning(budget=2000)))  # fmt: skip
        assert wire.body["thinking"] == plain.body["thinking"]
        assert wire.body["model"] == f"claude-sonnet-4-5+{word}"
        assert plain.notes == wire.notes


USE = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"}


class TestResults:
    """Each call has one result, and each result its call."""

    def claude(self, *results):
        said = BODIES["anthropic"]["messages"]
        turn = {"role": "assistant", "content": [USE]}
        messages = [*said, turn, {"role": "user", "content": list(results)}]
        return ask("anthropic", {**BODIES["anthropic"], "messages": messages})

    def test_claude(self):
        assert 200 == self.claude(RESULT)[0]
        status, text = self.claude(RESULT, RESULT)
        assert 400 == status
        assert "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_1" in text  # fmt: skip
        status, text = self.claude(RESULT, {**RESULT, "tool_use_id": "toolu_2"})
        assert 400 == status
        assert "messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_2." in text  # fmt: skip

    def test_claude_takes_four_cache_marks(self):
        mark = {"cache_control": {"type": "ephemeral"}}
        block = {"type": "text", "text": "x", **mark}
        body = {**BODIES["anthropic"], "system": [block] * 2, "messages": [{"role": "user", "content": [block] * 2}]}  # fmt: skip
        assert 200 == ask("anthropic", body)[0]
        body["tools"] = [{**BODIES["anthropic"]["tools"][0], **mark}]
        status, text = ask("anthropic", body)
        assert 400 == status
        assert "A maximum of 4 blocks with cache_control may be provided. Found 5." in text

    def test_chat(self):
        call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}  # fmt: skip
        turn = {"role": "assistant", "content": None, "tool_calls": [call]}
        result = {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}
        start = BODIES["openai-chat"]["messages"]
        replies = [
            ask("openai-chat", {**BODIES["openai-chat"], "messages": [*start, *rest]})
            for rest in ([turn, result], [turn, result, result], [result], [turn, result, turn, result])
        ]  # fmt: skip
        assert [200, 400, 400, 200] == [status for status, _ in replies]
        assert "Duplicate value for 'tool_call_id' of 'call_1', in messages[2] and messages[3]." in replies[1][1]  # fmt: skip
        assert "must be a response to a preceeding message with 'tool_calls'" in replies[2][1]

    @pytest.mark.parametrize(
        ("kind", "member", "said"),
        [("function_call", "arguments", "function call"), ("custom_tool_call", "input", "custom tool call")],
    )  # fmt: skip
    def test_responses(self, kind, member, said):
        call = {"type": kind, "call_id": "call_1", "name": "f", member: "{}"}
        output = {"type": f"{kind}_output", "call_id": "call_1", "output": "sunny"}
        start = BODIES["openai-responses"]["input"]
        replies = [
            ask("openai-responses", {**BODIES["openai-responses"], "input": [*start, *rest]})
            for rest in ([call, output], [output], [call, *start], [call, output, output])
        ]
        assert [200, 400, 400, 400] == [status for status, _ in replies]
        assert f"No tool call found for {said} output with call_id call_1." in replies[1][1]
        assert f"No tool output found for {said} call_1." in replies[2][1]

    def test_mistral(self):
        call = {"id": "c1c1c1c1c", "function": {"name": "get_weather", "arguments": "{}"}}
        turn = {"role": "assistant", "content": "", "tool_calls": [call]}
        result = {"role": "tool", "tool_call_id": "c1c1c1c1c", "content": "sunny"}
        start = BODIES["mistral"]["messages"]
        replies = [
            ask("mistral", {**BODIES["mistral"], "messages": [*start, *rest]})
            for rest in ([turn, result], [turn, result, result], [turn, *start], [result])
        ]
        assert [200, 400, 400, 400] == [status for status, _ in replies]
        for _, text in replies[1:]:
            assert "Not the same number of function calls and responses" in text

    def test_gemini_and_converse(self):
        part = {"functionResponse": {"name": "f", "response": {"result": "sunny"}}}
        status, text = ask("gemini", {"contents": [{"role": "user", "parts": [part]}]})
        assert 400 == status
        assert "function response turn comes immediately after a function call turn" in text
        block = {"toolResult": {"toolUseId": "a", "content": [{"text": "sunny"}]}}
        status, text = ask("bedrock-converse", {"messages": [{"role": "user", "content": [block]}]})
        assert 400 == status
        assert "The number of toolResult blocks at messages.0.content exceeds the number of toolUse blocks of previous turn." in text  # fmt: skip
