"""The arguments of `completion`, and where they appear in the request."""

import asyncio
import json
from types import SimpleNamespace

import httpx2
import pytest

from bridges.litellm.talk import QUESTION, SUM, TOOLS, real_litellm
from innervoice.bridges import litellm
from innervoice.bridges.litellm.arguments import completion_call, strict_schema

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FORM = {"type": "json_schema", "json_schema": {"name": "number", "schema": SCHEMA}}


# ---- where things go ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "given", "expected"),
    [
        ("openai/gpt-4o", {"seed": 1, "n": None, "user": "u"}, {"seed": 1, "user": "u"}),
        (
            "openai/gpt-5.6",
            {"verbosity": "low", "user": "u"},
            {"text": {"verbosity": "low"}, "user": "u"},
        ),
        (
            "anthropic/claude-haiku-4-5",
            {"user": "u", "top_k": 2},
            {"metadata": {"user_id": "u"}, "top_k": 2},
        ),
        (
            "gemini/gemini-2.5-pro",
            {"seed": 1, "top_k": 2, "presence_penalty": 0.5, "temperature": 0.1},
            {
                "generationConfig": {
                    "temperature": 0.1,
                    "seed": 1,
                    "topK": 2,
                    "presencePenalty": 0.5,
                }
            },
        ),
        ("mistral/mistral-large-latest", {"seed": 1, "n": 2}, {"random_seed": 1, "n": 2}),
        ("cohere/command-a-03-2025", {"seed": 1, "top_k": 2}, {"seed": 1, "k": 2}),
        ("ollama/qwen3:8b", {"seed": 1, "num_ctx": 99}, {"options": {"seed": 1, "num_ctx": 99}}),
        ("deepseek/deepseek-v4", {"extra_body": {"a": 1}, "own": 2}, {"a": 1, "own": 2}),
        ("deepseek/deepseek-v4", {"max_completion_tokens": 9}, {"max_tokens": 9}),
        ("deepseek/deepseek-v4", {"stop": "x"}, {"stop": ["x"]}),
        ("openai/gpt-5.6", {"store": True}, {"store": True}),
    ],
)
def test_places(line, model, given, expected):
    """Each of OpenAI's parameters is at the dialect's path."""
    line.ask(model, [SUM], **given)

    assert expected == {name: line.body[name] for name in expected}


def test_tools_and_choices(line):
    """Tools in OpenAI's form, old and new; a named choice; one call at a time."""
    line.ask("anthropic/claude-haiku-4-5", [QUESTION], tools=TOOLS, parallel_tool_calls=False)
    assert {"type": "auto", "disable_parallel_tool_use": True} == line.body["tool_choice"]
    line.ask("anthropic/claude-haiku-4-5", [QUESTION], tools=TOOLS, parallel_tool_calls=True)
    assert "tool_choice" not in line.body

    function = TOOLS[0]["function"]
    line.ask(
        "openai/gpt-4o", [QUESTION], functions=[function], function_call={"name": "get_weather"}
    )
    assert function["name"] == line.body["tools"][0]["function"]["name"]
    assert {"type": "function", "function": {"name": "get_weather"}} == line.body["tool_choice"]
    line.ask("openai/gpt-4o", [SUM], tool_choice="auto")
    assert "tool_choice" not in line.body


def test_schemas(line):
    """A schema, a pydantic class, plain JSON, and formats that Claude does not support."""

    class Number:
        @classmethod
        def model_json_schema(cls):
            return SCHEMA

    line.ask("anthropic/claude-haiku-4-5", [SUM], response_format=FORM)
    assert {**SCHEMA, "additionalProperties": False} == line.body["output_config"]["format"][
        "schema"
    ]
    line.ask("openai/gpt-4o", [SUM], response_format=Number)
    form = line.body["response_format"]["json_schema"]
    assert ("Number", True) == (form["name"], form["strict"])
    assert {**SCHEMA, "additionalProperties": False} == form["schema"]
    line.ask("openai/gpt-5.6", [SUM], response_format=FORM)
    assert "number" == line.body["text"]["format"]["name"]
    line.ask("openai/gpt-4o", [SUM], response_format={"type": "json_object"})
    assert {"type": "json_object"} == line.body["response_format"]
    line.ask(
        "openai/gpt-4o", [SUM], response_format={"type": "json_object", "response_schema": SCHEMA}
    )
    assert SCHEMA == line.body["response_format"]["json_schema"]["schema"]
    line.ask("openai/gpt-4o", [SUM], response_format={"type": "text"})
    assert "response_format" not in line.body
    response = line.ask(
        "anthropic/claude-haiku-4-5", [SUM], response_format={"type": "json_object"}
    )
    assert "output_config" not in line.body
    assert any("response_format" in note for note in response._hidden_params["notes"])


@pytest.mark.parametrize(
    ("model", "given", "expected"),
    [
        (
            "anthropic/claude-opus-5-5",
            {"reasoning_effort": "high"},
            {"type": "adaptive", "display": "summarized"},
        ),
        ("anthropic/claude-opus-5-5", {"thinking": {"type": "adaptive"}}, {"type": "adaptive"}),
        (
            "anthropic/claude-sonnet-4-5",
            {"thinking": {"type": "enabled", "budget_tokens": 1500}, "max_tokens": 4000},
            {"type": "enabled", "budget_tokens": 1500},
        ),
        ("anthropic/claude-sonnet-4-5", {"reasoning_effort": "none"}, None),
        ("anthropic/claude-sonnet-4-5", {"reasoning_effort": "disable"}, None),
        ("anthropic/claude-sonnet-4-5", {"thinking": {"type": "disabled"}}, None),
        ("anthropic/claude-sonnet-4-5", {"reasoning_effort": "default"}, None),
    ],
)
def test_claude_s_reasoning(line, model, given, expected):
    line.ask(model, [SUM], **given)
    thinking = line.body.get("thinking")
    assert expected == (None if thinking == {"type": "disabled"} else thinking)


def test_reasoning_elsewhere(line):
    """A Gemini request with an effort also asks for visible reasoning; OpenAI also accepts a dict."""
    line.ask("gemini/gemini-2.5-pro", [SUM], thinking={"type": "enabled", "budget_tokens": 1000})
    assert {"thinkingBudget": 1000, "includeThoughts": True} == line.body["generationConfig"][
        "thinkingConfig"
    ]
    line.ask("openai/gpt-5.6", [SUM], reasoning_effort={"effort": "low", "summary": "auto"})
    assert "low" == line.body["reasoning"]["effort"]
    assert line.body["reasoning"]["summary"]


# ---- who is asked ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "given", "path"),
    [
        ("openai/gpt-4o", {}, "/openai/v1/chat/completions"),
        ("openai/gpt-5.6", {}, "/openai/v1/responses"),
        ("openai/gpt-5.6", {"seed": 1}, "/openai/v1/chat/completions"),
        ("openai/some-llama", {"api_base": "http://emulator/vllm/v1"}, "/vllm/v1/chat/completions"),
        ("xai/grok-4", {"api_base": "http://emulator/xai/v1"}, "/xai/v1/responses"),
        (
            "xai/grok-4",
            {"api_base": "http://emulator/xai/v1", "seed": 1},
            "/xai/v1/chat/completions",
        ),
        ("hosted_vllm/qwen3", {"api_base": "http://emulator/vllm/v1"}, "/vllm/v1/chat/completions"),
        (
            "together_ai/x/y",
            {"api_base": "http://emulator/together/v1"},
            "/together/v1/chat/completions",
        ),
        ("novita/x", {"api_base": "http://emulator/custom/v1"}, "/custom/v1/chat/completions"),
        (
            "anthropic/claude-haiku-4-5",
            {"api_base": "http://emulator/anthropic/v1/messages"},
            "/anthropic/v1/messages",
        ),
        (
            "anthropic/claude-haiku-4-5",
            {"api_base": "http://emulator/anthropic/v1/"},
            "/anthropic/v1/messages",
        ),
        (
            "openai/gpt-4o",
            {"api_base": None, "base_url": "http://emulator/openai/v1/chat/completions"},
            "/openai/v1/chat/completions",
        ),
        (
            "azure/gpt-4o",
            {"api_base": "http://emulator/azure", "api_version": "x"},
            "/azure/openai/v1/chat/completions",
        ),
    ],
)
def test_addresses(line, model, given, path):
    """Model and parameters decide the dialect; base URLs are accepted as litellm users write them."""
    options = {"api_base": "http://emulator/openai/v1", **given}
    if model.startswith("anthropic") and "api_base" not in given:
        options.pop("api_base")
    litellm.completion(model, [SUM], api_key="any", **options)

    assert path == line.emulator.paths[-1]


@pytest.mark.parametrize("how", ["whole", "streamed", "awaited"])
def test_a_server_without_responses(line, how):
    """For a self-hosted server without Responses, the request is sent again as chat completions."""
    usual = line.emulator.reply

    def reply(method, path, headers, body):
        known = path if path.endswith("chat/completions") else "/nowhere"
        return usual(method, known, headers, body)

    line.emulator.reply = reply
    answer = line.whole("openai/gpt-5.6", [SUM], how=how)

    assert "15 * 23 = 345." == answer.choices[0].message.content
    assert ["/nowhere", "/openai/v1/chat/completions"] == line.emulator.paths
    assert "does not support Responses" in answer._hidden_params["notes"][0]


def test_secrets_stay_out_of_the_body(line):
    """Connection settings never go into the request body, even unknown ones."""
    given = {
        "aws_profile_name": "p",
        "azure_ad_token": "t",
        "vertex_credentials": "c",
        "aws_role_name": "r",
    }
    response = line.ask("deepseek/deepseek-v4", [SUM], **given)

    assert not given.keys() & line.body.keys()
    assert "aws_profile_name" in " ".join(response._hidden_params["notes"])


def test_an_address_of_the_environment(line, monkeypatch):
    monkeypatch.setenv("DEEPSEEK_API_BASE", "http://emulator/deepseek")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-of-the-environment")
    litellm.completion("deepseek/deepseek-v4", [SUM])

    assert "/deepseek/chat/completions" == line.emulator.paths[-1]
    assert "Bearer sk-of-the-environment" == line.emulator.headers[-1]["authorization"]


def test_an_address_of_a_bare_name(line, monkeypatch):
    """The environment variable belongs to the provider of the model."""
    monkeypatch.setenv("ANTHROPIC_API_BASE", "http://emulator/anthropic")
    litellm.completion("claude-haiku-4-5", [SUM], api_key="any")
    assert "/anthropic/v1/messages" == line.emulator.paths[-1]


def test_strict_schemas():
    """Strict at every level; a property may have the name of a keyword."""
    inner = {"type": "object", "properties": {"default": {"type": "string", "default": "x"}}}
    schema = {"$defs": {"inner": inner}, "properties": {"a": {"anyOf": [inner, {"type": "null"}]}}}
    closed = {
        "type": "object",
        "properties": {"default": {"type": "string"}},
        "additionalProperties": False,
        "required": ["default"],
    }
    assert {
        "$defs": {"inner": closed},
        "properties": {"a": {"anyOf": [closed, {"type": "null"}]}},
        "additionalProperties": False,
        "required": ["a"],
    } == strict_schema(schema)
    assert 7 == strict_schema(7)


def test_flags(line):
    """API key and base URL may be set as flags."""
    litellm.api_key, litellm.api_base = "sk-of-a-flag", "http://emulator/groq/openai/v1"
    litellm.completion("groq/openai/gpt-oss-20b", [SUM])

    assert "Bearer sk-of-a-flag" == line.emulator.headers[-1]["authorization"]
    assert "/groq/openai/v1/chat/completions" == line.emulator.paths[-1]


def test_a_client_of_an_sdk(line):
    """The API key and base URL of an SDK client are used; the client itself sends nothing."""
    client = SimpleNamespace(api_key="sk-of-the-client", base_url="http://emulator/openai/v1/")
    response = litellm.completion("openai/gpt-4o", [SUM], client=client)

    assert "Bearer sk-of-the-client" == line.emulator.headers[-1]["authorization"]
    assert any(note.startswith("client:") for note in response._hidden_params["notes"])


def test_a_client_of_httpx(line, monkeypatch):
    """An HTTP client is used to send the request."""
    http = litellm.client_session
    monkeypatch.setattr(litellm, "client_session", None)
    line.ask("openai/gpt-4o", [SUM], client=http)
    assert line.emulator.paths


def test_headers(line):
    line.ask(
        "openai/gpt-4o", [SUM], headers={"x-a": "1"}, extra_headers={"x-b": "2"}, organization="o"
    )
    sent = line.emulator.headers[-1]
    assert ("1", "2", "o") == (sent["x-a"], sent["x-b"], sent["openai-organization"])


def test_variables_of_aws():
    """Arguments that override environment variables reach the client, and not the body."""
    call = completion_call(
        "bedrock/us.anthropic.claude-opus-5-5",
        [SUM],
        {"aws_region_name": "eu-west-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"},
    )
    assert "eu-west-1" == call.settings["environ"]["AWS_REGION"]
    assert {} == call.fields["extra"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (600.0, 2)),
        ({"timeout": 5, "num_retries": 0}, (5.0, 0)),
        ({"request_timeout": "7", "max_retries": 4}, (7.0, 4)),
        ({"timeout": httpx2.Timeout(3.0, read=9.0)}, (9.0, 2)),
    ],
)
def test_deadline(given, expected):
    settings = completion_call("openai/gpt-4o", [SUM], given).settings
    assert expected == (settings["timeout"], settings["retries"])


# ---- what is left out --------------------------------------------------------------------------------


def test_what_is_left_out_is_said(line):
    """Settings of litellm itself are not sent, and a note gives the reason for each."""
    given = {
        "metadata": {"trace": 1},
        "caching": True,
        "guardrails": ["pii"],
        "api_version": "2024",
        "litellm_call_id": "x",
    }
    response = line.ask("deepseek/deepseek-v4", [SUM], **given)

    assert not given.keys() & line.body.keys()
    notes = response._hidden_params["notes"]
    assert set(given) == {note.partition(":")[0] for note in notes if "left out" in note}


def test_dropping(line):
    """Parameters are dropped by argument, by flag, or by name; otherwise the error names them."""
    model, given = "anthropic/claude-haiku-4-5", {"logit_bias": {"1": 1}, "seed": 4}
    with pytest.raises(litellm.UnsupportedParamsError, match=r"\['logit_bias', 'seed'\]") as caught:
        line.ask(model, [SUM], **given)
    assert ("anthropic", "claude-haiku-4-5") == (caught.value.llm_provider, caught.value.model)

    response = line.ask(model, [SUM], drop_params=True, **given)
    assert not given.keys() & line.body.keys()
    assert 2 == sum("does not support it" in note for note in response._hidden_params["notes"])
    line.ask(model, [SUM], additional_drop_params=["logit_bias", "seed"], **given)
    line.ask("deepseek/deepseek-v4", [SUM], additional_drop_params=["temperature"], temperature=1)
    assert "temperature" not in line.body
    litellm.drop_params = True
    line.ask(model, [SUM], **given)
    with pytest.raises(litellm.UnsupportedParamsError):
        line.ask(model, [SUM], drop_params=False, **given)


def test_none_is_not_given(line):
    """Frameworks pass every parameter, most of them None."""
    names = (
        "seed",
        "logit_bias",
        "tools",
        "tool_choice",
        "response_format",
        "stop",
        "top_p",
        "n",
        "client",
    )
    line.ask("anthropic/claude-haiku-4-5", [SUM], **dict.fromkeys(names))
    assert {"model", "max_tokens", "messages"} == line.body.keys()


def test_our_notes_are_hidden_facts(line):
    """Notes about changed settings are in `_hidden_params`."""
    response = line.ask("anthropic/claude-opus-5-5", [SUM], temperature=0.3)

    assert "temperature" not in line.body
    assert any(note.startswith("parameter_removed") for note in response._hidden_params["notes"])
    assert "anthropic" == response._hidden_params["custom_llm_provider"]
    assert response._response_ms > 0


def test_the_cost_of_an_answer_is_a_hidden_fact(line):
    litellm.register_model(
        {"deepseek/deepseek-v4": {"input_cost_per_token": 1.0, "output_cost_per_token": 0.0}}
    )
    response = line.ask("deepseek/deepseek-v4", [SUM])
    assert response.usage.prompt_tokens == response._hidden_params["response_cost"]


# ---- mocks -------------------------------------------------------------------------------------------


def test_mocks():
    """Mocks: texts, dicts, responses, tools, several choices; sync and async; no request is sent."""
    ask = litellm.completion
    assert ["hi", "hi"] == [
        choice.message.content for choice in ask("gpt-4o", [SUM], mock_response="hi", n=2).choices
    ]
    given = {"choices": [{"message": {"content": "d"}}]}
    assert "d" == ask("gpt-4o", [SUM], mock_response=given).choices[0].message.content
    made = litellm.ModelResponse()
    assert made is ask("gpt-4o", [SUM], mock_response=made)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    answer = ask("gpt-4o", [SUM], mock_response="x", mock_tool_calls=[call])
    assert "f" == answer.choices[0].message.tool_calls[0].function.name
    with pytest.raises(litellm.Timeout):
        ask("gpt-4o", [SUM], mock_timeout=True)
    chunks = list(
        ask(
            "gpt-4o",
            [SUM],
            mock_response="hello",
            mock_tool_calls=[call],
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    built = litellm.stream_chunk_builder(chunks)
    assert ("hello", "f") == (
        built.choices[0].message.content,
        built.choices[0].message.tool_calls[0].function.name,
    )
    assert chunks[-1].usage.prompt_tokens == litellm.token_counter("gpt-4o", messages=[SUM])

    async def main():
        stream = await litellm.acompletion("gpt-4o", [SUM], mock_response="hello", stream=True)
        whole = await litellm.acompletion("gpt-4o", [SUM], mock_response="hello")
        return [chunk.choices[0].delta.content async for chunk in stream], whole

    pieces, whole = asyncio.run(main())
    assert ["hel", "lo", None] == pieces
    assert "hello" == whole.choices[0].message.content


# ---- names that are no part of this --------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "embedding",
        "aembedding",
        "rerank",
        "image_generation",
        "image_edit",
        "image_variation",
    ],
)
def test_absent_names(name, monkeypatch):
    """Unsupported names exist, can be patched, and raise when called."""
    with pytest.raises(NotImplementedError, match=rf"no 'litellm\.{name}': use the provider"):
        getattr(litellm, name)(model="x", input=["y"])
    monkeypatch.setattr(litellm, name, lambda **_: 1)
    assert 1 == getattr(litellm, name)()


def test_functions_can_be_patched(monkeypatch):
    """Flags are plain attributes of the package."""
    for name in (
        "completion",
        "acompletion",
        "stream_chunk_builder",
        "get_model_info",
        "token_counter",
    ):
        assert name in vars(litellm)
    monkeypatch.setattr(litellm, "completion", json.dumps)
    assert json.dumps is litellm.completion


# ---- settings of litellm are not sent ------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["retry_strategy", "langfuse_secret_key", "s3_secret_access_key", "client_secret", "_router_weights", "posthog_api_key", "cache_read_input_token_cost", "rpm", "base_model", "anthropic_identity_token"],
)  # fmt: skip
def test_a_setting_of_litellm_is_not_sent(line, name):
    """Some are secrets of other services, and providers refuse members that they do not know."""
    response = line.ask("deepseek/deepseek-v4", [SUM], **{name: "secret"})
    assert name not in line.body
    assert "secret" not in str(line.body)
    notes = response._hidden_params["notes"]
    assert any(note.startswith(f"{name}: left out") for note in notes)


@pytest.mark.parametrize("name", ["top_k", "min_p", "num_ctx", "repetition_penalty", "safe_prompt"])
def test_a_parameter_of_the_provider_is_sent(line, name):
    line.ask("deepseek/deepseek-v4", [SUM], **{name: 1})
    assert 1 == line.body[name]


@pytest.mark.filterwarnings("ignore")
def test_no_setting_of_the_real_one_is_sent():
    """None of the names that litellm keeps to itself."""
    real_litellm()
    from litellm.types.utils import all_litellm_params

    from innervoice.bridges.litellm.arguments import completion_call
    from innervoice.bridges.litellm.router import Attempts

    sent = []
    for name in all_litellm_params:
        value = 1 if "timeout" in name or "retries" in name else None if name == "client" else ["x"]
        try:
            options = Attempts("deepseek/deepseek-v4", {name: value}).options
            extra = completion_call("deepseek/deepseek-v4", [], options).fields["extra"]
        except (litellm.exceptions.LitellmError, TypeError, ValueError, AttributeError):
            continue  # a name with an effect, and not this value
        sent += extra
    # Parameters of OpenAI that litellm counts among its own.
    assert {"user", "service_tier", "n", "prompt_cache_key"} >= set(sent)


# ---- headers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["whole", "awaited"])
def test_headers_of_the_response(line, how):
    """As litellm names them."""
    response = line.whole("deepseek/deepseek-v4", [SUM], how=how)
    headers = response._hidden_params["additional_headers"]
    assert "application/json" in headers["llm_provider-content-type"]
    assert response._response_ms >= 0


def test_headers_of_a_stream(line):
    stream = line.ask("deepseek/deepseek-v4", [SUM], stream=True)
    headers = stream._hidden_params["additional_headers"]
    assert "event-stream" in headers["llm_provider-content-type"]
    built = litellm.stream_chunk_builder(list(stream))
    assert headers == built._hidden_params["additional_headers"]


def test_rate_limits_have_their_own_names_too():
    from innervoice.bridges.litellm.to_litellm import additional_headers

    found = additional_headers({"X-RateLimit-Remaining-Requests": "3", "X-Other": "y"})
    assert {
        "x-ratelimit-remaining-requests": "3",
        "llm_provider-x-ratelimit-remaining-requests": "3",
        "llm_provider-x-other": "y",
    } == found


def test_a_mock_of_calls_alone():
    calls = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    response = litellm.completion("gpt-4o", [SUM], mock_tool_calls=calls)
    assert "f" == response.choices[0].message.tool_calls[0].function.name
    assert "This is a mock request" == response.choices[0].message.content
    assert "openai" == response._hidden_params["custom_llm_provider"]
