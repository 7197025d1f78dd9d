"""litellm's documented behavior, tested with the real litellm and with the bridge.

The real one lives in its own environment (`scripts/setup litellm`); elsewhere its half is skipped.
"""

import asyncio
import importlib
import json

import pytest

from bridges.litellm.talk import QUESTION, SUM, TOOLS, results, through_json

# The real one warns of things that are none of ours.
pytestmark = pytest.mark.filterwarnings("ignore")

CLAUDE = "anthropic/claude-sonnet-4-5"
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 4000}
TARGETS = {
    "claude": (CLAUDE, THINKING),
    "adaptive": ("anthropic/claude-opus-5-5", {"reasoning_effort": "high"}),
    "gemini": ("gemini/gemini-2.5-pro", {"reasoning_effort": "low"}),
    "deepseek": ("deepseek/deepseek-v4", {}),
    "openai": ("openai/gpt-4o", {}),
    "responses": ("openai/gpt-5.6", {"reasoning_effort": "low"}),
}


def place(both, name):
    """A module of litellm's, as `litellm.utils`."""
    return importlib.import_module(f"{both.module.__name__}.{name}")


@pytest.fixture(params=TARGETS)
def target(request):
    """A model and its reasoning setting."""
    return TARGETS[request.param]


# ---- asking ------------------------------------------------------------------------------------------


def test_an_answer(both, target):
    """https://docs.litellm.ai/docs/completion/output"""
    model, options = target
    response = both.ask(model, [SUM], **options)

    assert "15 * 23 = 345." == response.choices[0].message.content
    assert response["choices"][0]["message"]["content"] == response.choices[0].message.content
    assert "assistant" == response.choices[0].message.role
    assert "stop" == response.choices[0].finish_reason == response["choices"][0]["finish_reason"]
    assert 0 == response.choices[0].index
    assert "chat.completion" == response.object
    assert model.partition("/")[2] == response.model
    usage = response.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens > 0
    assert usage["prompt_tokens"] == usage.prompt_tokens
    assert "15 * 23" in json.dumps(response.model_dump(), default=str)


@pytest.mark.parametrize("name", ["claude", "adaptive", "gemini", "deepseek"])
def test_reasoning(both, name):
    """https://docs.litellm.ai/docs/reasoning_content"""
    model, options = TARGETS[name]
    message = both.ask(model, [SUM], **options).choices[0].message

    assert "15 * 23" in message.reasoning_content
    assert message.reasoning_content not in message.content
    assert message["reasoning_content"] == message.get("reasoning_content")
    assert "reasoning_content" in message.model_dump()


@pytest.mark.parametrize("behaviour", [None, "redact"])
def test_blocks_of_thinking(both, behaviour):
    """Blocks have Anthropic's form, redacted ones included."""
    message = both.ask(CLAUDE, [SUM], **THINKING, behaviour=behaviour).choices[0].message
    kinds = [block["type"] for block in message.thinking_blocks]

    assert (["redacted_thinking", "thinking"] if behaviour else ["thinking"]) == kinds
    assert message.thinking_blocks[-1]["signature"]
    if behaviour:
        assert message.thinking_blocks[0]["data"]


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "gemini"])
def test_a_tool_loop(both, name):
    """https://docs.litellm.ai/docs/completion/function_call: the message is appended as it is, or as its dict."""
    model, options = TARGETS[name]
    response = both.ask(model, [QUESTION], tools=TOOLS, **options)
    message = response.choices[0].message
    assert "tool_calls" == response.choices[0].finish_reason
    assert ["get_weather"] * 2 == [call.function.name for call in message.tool_calls]
    assert ["Paris", "London"] == [
        json.loads(call["function"]["arguments"])["city"] for call in message.tool_calls
    ]
    assert all(call.type == "function" and call.id for call in message.tool_calls)
    dumped = message.tool_calls[0].model_dump()
    assert "get_weather" == dumped["function"]["name"]

    for turn in (message, through_json(message.model_dump())):
        history = [QUESTION, turn, *results(message)]
        answer = both.ask(model, history, tools=TOOLS, **options)
        assert "sunny in Paris" in answer.choices[0].message.content


def test_a_stream(both, target):
    """https://docs.litellm.ai/docs/completion/stream"""
    model, options = target
    chunks = both.chunks(model, [SUM], **options)

    assert "15 * 23 = 345." == "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert "assistant" == chunks[0].choices[0].delta.role
    assert "stop" == chunks[-1].choices[0].finish_reason
    assert 1 == len({chunk.id for chunk in chunks})
    assert {"chat.completion.chunk"} == {chunk.object for chunk in chunks}
    assert all("delta" in chunk.model_dump()["choices"][0] for chunk in chunks)


@pytest.mark.parametrize("name", ["claude", "gemini", "deepseek"])
def test_streamed_reasoning(both, name):
    """Reasoning arrives in separate deltas."""
    model, options = TARGETS[name]
    chunks = both.chunks(model, [SUM], **options)
    thought = "".join(
        getattr(chunk.choices[0].delta, "reasoning_content", None) or "" for chunk in chunks
    )

    assert "Computed: 15 * 23 = 345." in thought


def test_the_chunks_put_together(both, target):
    """`stream_chunk_builder` returns the same as a request without streaming."""
    model, options = target
    chunks = both.chunks(
        model, [QUESTION], tools=TOOLS, stream_options={"include_usage": True}, **options
    )
    built = both.module.stream_chunk_builder(chunks, messages=[QUESTION])
    message = built.choices[0].message

    assert "tool_calls" == built.choices[0].finish_reason
    assert ["Paris", "London"] == [
        json.loads(call.function.arguments)["city"] for call in message.tool_calls
    ]
    assert not message.content
    assert built.usage.prompt_tokens > 0
    assert built.usage.completion_tokens > 0


def test_blocks_put_together(both):
    """Signed blocks from chunks equal those of a request without streaming."""
    chunks = both.chunks(CLAUDE, [SUM], **THINKING)
    built = both.module.stream_chunk_builder(chunks, messages=[SUM])
    (block,) = built.choices[0].message.thinking_blocks

    assert "thinking" == block["type"]
    assert block["signature"]
    assert block["thinking"] == built.choices[0].message.reasoning_content


def test_usage_of_a_stream(both):
    """With `include_usage` there is one more chunk, with the usage."""
    options = {"stream_options": {"include_usage": True}}
    chunks = both.chunks("deepseek/deepseek-v4", [SUM], **options)

    assert chunks[-1].usage.total_tokens > 0
    assert not any(getattr(chunk, "usage", None) for chunk in chunks[:-1])


def test_awaiting(both):
    """`acompletion`, whole and streamed."""

    async def main():
        options = both.options("deepseek/deepseek-v4")
        whole = await both.module.acompletion(messages=[SUM], **options)
        stream = await both.module.acompletion(messages=[SUM], stream=True, **options)
        pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]
        return whole.choices[0].message.content, "".join(pieces)

    assert ("15 * 23 = 345.",) * 2 == asyncio.run(main())


# ---- parameters --------------------------------------------------------------------------------------


def test_parameters_reach_the_wire(both):
    """OpenAI's parameters go to OpenAI under their names."""
    given = {"temperature": 0.2, "top_p": 0.9, "seed": 7, "stop": ["x"], "presence_penalty": 0.5}
    both.ask("openai/gpt-4o", [SUM], max_completion_tokens=50, n=None, **given)

    assert given == {name: both.body[name] for name in given}
    assert 50 == both.body["max_completion_tokens"]


def test_unsupported_parameters(both):
    """A parameter that a provider does not support is an error, or dropped on request."""
    with pytest.raises(both.module.UnsupportedParamsError):
        both.ask(CLAUDE, [SUM], max_tokens=100, logit_bias={"1": 2})
    both.ask(CLAUDE, [SUM], max_tokens=100, logit_bias={"1": 2}, drop_params=True)
    assert "logit_bias" not in both.body

    both.module.drop_params = True
    both.ask(CLAUDE, [SUM], max_tokens=100, logit_bias={"1": 2})
    assert "logit_bias" not in both.body


def test_a_provider_s_own_parameters(both):
    """Parameters that OpenAI does not have are added to the body."""
    both.ask(CLAUDE, [SUM], max_tokens=100, top_k=3)
    assert 3 == both.body["top_k"]


def test_a_schema(both):
    """https://docs.litellm.ai/docs/completion/json_mode"""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form = {"type": "json_schema", "json_schema": {"name": "number", "schema": schema}}
    both.ask("openai/gpt-4o", [SUM], response_format=form)

    assert "json_schema" == both.body["response_format"]["type"]
    assert "number" == both.body["response_format"]["json_schema"]["name"]


def test_a_forced_tool(both):
    """A named tool is OpenAI's dict."""
    choice = {"type": "function", "function": {"name": "get_weather"}}
    both.ask("openai/gpt-4o", [SUM], tools=TOOLS, tool_choice=choice)
    assert choice == both.body["tool_choice"]

    both.ask("anthropic/claude-haiku-4-5", [SUM], tools=TOOLS, tool_choice=choice, max_tokens=100)
    assert {"type": "tool", "name": "get_weather"} == both.body["tool_choice"]


def test_headers(both):
    """`extra_headers` are sent."""
    both.ask("openai/gpt-4o", [SUM], extra_headers={"x-own": "yes"})
    assert "yes" == both.emulator.headers[-1]["x-own"]


# ---- mocks -------------------------------------------------------------------------------------------


def test_mocks(both):
    """https://docs.litellm.ai/docs/completion/mock_requests"""
    module = both.module
    answer = module.completion(model="gpt-4o", messages=[SUM], mock_response="It's simple")
    assert (
        "It's simple"
        == answer.choices[0].message.content
        == answer["choices"][0]["message"]["content"]
    )
    assert (10, 20, 30) == (
        answer.usage.prompt_tokens,
        answer.usage.completion_tokens,
        answer.usage.total_tokens,
    )

    chunks = list(
        module.completion(model="gpt-4o", messages=[SUM], mock_response="It's simple", stream=True)
    )
    assert "It's simple" == "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert "It's simple" == module.stream_chunk_builder(chunks).choices[0].message.content


@pytest.mark.parametrize(
    ("mock", "name", "status"),
    [
        ("litellm.RateLimitError", "RateLimitError", 429),
        ("litellm.InternalServerError", "InternalServerError", 500),
        ("litellm.ContextWindowExceededError", "ContextWindowExceededError", 400),
        (RuntimeError("boom"), "InternalServerError", 500),
    ],
)
def test_mocked_errors(both, mock, name, status):
    """A mock may be an error, by its name or as one."""
    with pytest.raises(getattr(both.module, name)) as caught:
        both.module.completion(model="gpt-4o", messages=[SUM], mock_response=mock)
    assert status == caught.value.status_code
    assert "openai" == caught.value.llm_provider
    assert "gpt-4o" == caught.value.model


# ---- errors ------------------------------------------------------------------------------------------


def test_a_refusal(both):
    """A request that the model refuses raises BadRequestError, before or after it is sent."""
    with pytest.raises(both.module.BadRequestError, match="top_k") as caught:
        both.ask("anthropic/claude-opus-5-5", [SUM], top_k=3, max_tokens=4000)
    assert 400 == caught.value.status_code


def test_nobody_answers(both):
    """No server: a retryable error, whose class depends on litellm's provider."""
    errors = (both.module.APIConnectionError, both.module.InternalServerError)
    with pytest.raises(errors) as caught:
        both.ask("openai/gpt-4o", [SUM], api_base="http://127.0.0.1:9", num_retries=0)
    assert 500 == caught.value.status_code
    assert "openai" == caught.value.llm_provider


def test_an_unknown_provider(both):
    """A model name without a recognizable provider."""
    with pytest.raises(both.module.BadRequestError, match="LLM Provider NOT provided"):
        both.module.completion(model="nobody-knows-this", messages=[SUM])


def test_no_key(both):
    """Anthropic without a key."""
    with pytest.raises(both.module.AuthenticationError):
        both.module.completion(model=CLAUDE, messages=[SUM])


PROVIDER_FIRST = [
    "AuthenticationError",
    "RateLimitError",
    "APIConnectionError",
    "InternalServerError",
    "ServiceUnavailableError",
]
MODEL_FIRST = ["BadRequestError", "NotFoundError", "Timeout"]
MODEL_FIRST += ["ContextWindowExceededError", "ContentPolicyViolationError"]


@pytest.mark.parametrize("name", PROVIDER_FIRST + MODEL_FIRST)
def test_positions(both, name):
    """Each error takes its arguments in litellm's order, and by name."""
    kind = getattr(both.module, name)
    assert kind is getattr(place(both, "exceptions"), name)
    second, third = ("openai", "gpt-4o") if name in PROVIDER_FIRST else ("gpt-4o", "openai")
    for error in (
        kind("went wrong", second, third),
        kind(message="went wrong", llm_provider="openai", model="gpt-4o"),
    ):
        assert ("openai", "gpt-4o") == (error.llm_provider, error.model)
        assert "went wrong" in str(error)
        assert name == type(error).__name__


def test_an_api_error(both):
    """The first argument of APIError is the status."""
    error = both.module.APIError(503, "went wrong", "openai", "gpt-4o")
    assert (503, "openai", "gpt-4o") == (error.status_code, error.llm_provider, error.model)
    assert "went wrong" in str(error)


def test_kinship(both):
    """Retry code checks errors with `isinstance`."""
    errors = place(both, "exceptions")
    limited = errors.RateLimitError("m", "p", "n")
    late = errors.Timeout("m", "n", "p")
    for other in ("BadRequestError", "AuthenticationError", "NotFoundError", "APIConnectionError"):
        assert not isinstance(limited, getattr(errors, other))
        assert not isinstance(late, getattr(errors, other))
    for other in ("Timeout", "InternalServerError", "ServiceUnavailableError", "APIError"):
        assert not isinstance(limited, getattr(errors, other))
    assert issubclass(errors.ContextWindowExceededError, errors.BadRequestError)
    assert issubclass(errors.UnsupportedParamsError, errors.BadRequestError)


# ---- objects -----------------------------------------------------------------------------------------


def test_an_empty_response(both):
    """`ModelResponse()` has one empty choice that can be filled."""
    response = both.module.ModelResponse()
    assert response.choices[0].message.content is None
    response["choices"][0]["message"]["content"] = "x"

    assert "x" == response.choices[0].message.content
    assert "x" == response.model_dump()["choices"][0]["message"]["content"]
    assert "x" == json.loads(response.model_dump_json())["choices"][0]["message"]["content"]
    assert "stop" == response.choices[0].finish_reason


def test_a_chunk_by_hand(both):
    """A delta that is set shows up in the dump, and the builder reads it."""
    delta = place(both, "utils").Delta
    chunks = []
    for piece in ("Hel", "lo"):
        chunk = both.module.ModelResponse(stream=True)
        chunk.choices[0].delta = delta(role="assistant", content=piece)
        chunks.append(chunk)
    assert "Hel" == chunks[0].model_dump()["choices"][0]["delta"]["content"]

    built = both.module.stream_chunk_builder(chunks=chunks, messages=[SUM])
    assert "Hello" == built.choices[0].message.content
    assert built.model_extra["usage"].total_tokens > 0


def test_dicts_become_objects(both):
    """Choices, messages, calls and usage may be dicts."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    response = both.module.ModelResponse(
        choices=[{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}],
        usage={"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    )
    made = response.choices[0].message.tool_calls[0]

    assert ("f", "{}", "c") == (made.function.name, made.function.arguments, made.id)
    assert "f" == made["function"]["name"]
    assert call == {name: made.model_dump()[name] for name in call}
    assert 7 == response.usage.total_tokens == response.model_extra["usage"]["total_tokens"]


def test_members_that_are_not_there(both):
    """A message without reasoning has no reasoning member."""
    message = both.module.Message(content="hi")
    assert "reasoning_content" not in message
    assert message.get("reasoning_content") is None
    assert "no" == message.get("reasoning_content", "no")
    with pytest.raises(AttributeError):
        _ = message.reasoning_content


def test_finish_reasons(both):
    """Finish reasons of other providers become OpenAI's."""
    kind = place(both, "types.utils").Choices
    words = {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls"}
    assert words == {word: kind(finish_reason=word).finish_reason for word in words}


def test_usage(both):
    """Tokens of reasoning are in the details."""
    usage = place(both, "types.utils").Usage(
        prompt_tokens=1, completion_tokens=5, total_tokens=6, reasoning_tokens=2
    )
    assert 2 == usage.completion_tokens_details.reasoning_tokens
    assert (1, 5, 6) == (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens)


# ---- models ------------------------------------------------------------------------------------------


def test_what_is_known_of_a_model(both):
    """https://docs.litellm.ai/docs/completion/token_usage"""
    module = both.module
    info = module.get_model_info("gpt-4o-mini")
    assert (128000, 16384) == (info["max_input_tokens"], info["max_output_tokens"])
    assert info["supports_function_calling"] is True
    assert (
        info["max_input_tokens"]
        == module.get_model_info(model="openai/GPT-4o-mini")["max_input_tokens"]
    )
    assert 16384 == module.get_max_tokens("gpt-4o-mini")
    assert module.supports_vision("gpt-4o-mini")
    assert module.supports_function_calling(model="claude-sonnet-4-5")
    assert module.supports_reasoning("claude-sonnet-4-5")
    assert not module.supports_reasoning("gpt-4o-mini")
    assert place(both, "utils").supports_pdf_input("gpt-4o")


def test_what_is_unknown(both):
    """For an unknown model, `supports_...` is False and the other look-ups raise."""
    module = both.module
    for name in ("supports_vision", "supports_function_calling", "supports_response_schema"):
        assert getattr(module, name)("nobody-knows-this") is False
    with pytest.raises(Exception, match="isn't mapped"):
        module.get_model_info("nobody-knows-this")
    with pytest.raises(Exception, match="isn't mapped"):
        module.get_max_tokens("nobody-knows-this")
    assert module.get_supported_openai_params("nobody-knows-this") is None
    with pytest.raises(Exception, match=r".+"):
        module.cost_per_token(model="openai/nobody-knows-this", prompt_tokens=1)


def test_registration(both):
    """All look-ups see registered models; restoring `model_cost` removes them."""
    module = both.module
    before = dict(module.model_cost)
    module.register_model(
        {
            "our-org/our-model": {
                "max_tokens": 10,
                "max_input_tokens": 100,
                "max_output_tokens": 10,
                "input_cost_per_token": 2.0,
                "output_cost_per_token": 3.0,
                "mode": "chat",
                "supports_vision": True,
            }
        }
    )
    assert 100 == module.get_model_info("together_ai/Our-Org/Our-Model")["max_input_tokens"]
    assert module.supports_vision("together_ai/our-org/our-model")
    assert 10 == module.get_max_tokens("our-org/our-model")
    assert (20.0, 15.0) == module.cost_per_token(
        model="our-org/our-model",
        custom_llm_provider="openai",
        prompt_tokens=10,
        completion_tokens=5,
    )
    module.register_model({"our-org/our-model": {"supports_vision": False}})
    assert 100 == module.model_cost["our-org/our-model"]["max_input_tokens"]

    module.model_cost.clear()
    module.model_cost.update(before)
    getattr(getattr(module, "utils", None), "_invalidate_model_cost_lowercase_map", lambda: None)()
    assert "our-org/our-model" not in module.model_cost


PRICES = {
    "input_cost_per_token": 1.0,
    "output_cost_per_token": 2.0,
    "input_cost_per_token_priority": 10.0,
    "output_cost_per_token_priority": 20.0,
    "input_cost_per_token_above_200k_tokens": 3.0,
    "output_cost_per_token_above_200k_tokens": 4.0,
    "cache_read_input_token_cost": 0.5,
    "litellm_provider": "openai",
    "mode": "chat",
}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5}, (10.0, 10.0)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "service_tier": "priority"}, (100.0, 100.0)),
        ({"prompt_tokens": 200_001, "completion_tokens": 5}, (600_003.0, 20.0)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "cache_read_input_tokens": 4}, (8.0, 10.0)),
    ],
)
def test_tiers(both, asked, expected):
    """Prices for priority, for long prompts and for the cache."""
    module = both.module
    before = dict(module.model_cost)
    module.register_model({"openai/priced": dict(PRICES)})
    try:
        assert expected == module.cost_per_token(
            model="priced", custom_llm_provider="openai", **asked
        )
    finally:
        module.model_cost.clear()
        module.model_cost.update(before)


def test_the_cost_of_an_answer(both):
    """`completion_cost` adds both."""
    module = both.module
    before = dict(module.model_cost)
    module.register_model({"openai/priced": dict(PRICES)})
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    response = module.ModelResponse(model="priced", usage=usage)
    try:
        assert 20.0 == module.completion_cost(
            completion_response=response, model="priced", custom_llm_provider="openai"
        )
    finally:
        module.model_cost.clear()
        module.model_cost.update(before)


def test_supported_parameters(both):
    """A list of OpenAI's names."""
    module = both.module
    for model in ("gpt-4o", CLAUDE, "gemini/gemini-2.5-pro", "deepseek/deepseek-chat"):
        found = module.get_supported_openai_params(model=model)
        assert {
            "stream",
            "tools",
            "tool_choice",
            "temperature",
            "max_tokens",
            "response_format",
        } <= set(found)
    assert "reasoning_effort" in module.get_supported_openai_params(model=CLAUDE)
    assert "reasoning_effort" not in module.get_supported_openai_params(model="gpt-4o")
    assert "logit_bias" not in module.get_supported_openai_params(model=CLAUDE)


# ---- tokens ------------------------------------------------------------------------------------------


class Words:
    """A tokenizer for both modules: every word and every punctuation character is a token."""

    def encode(self, text, **_):
        return text.replace("{", " { ").replace("}", " } ").split()

    def encode_batch_fast(self, texts):
        return [self.encode(text) for text in texts]


TOKENIZER = {"type": "huggingface_tokenizer", "tokenizer": Words()}


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"text": "one two three"}, 3),
        ({"messages": [{"role": "user", "content": "one two"}]}, 9),
        ({"messages": [{"role": "user", "content": "one", "name": "bob"}]}, 10),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "one two"}]}]}, 9),
        ({"messages": [{"role": "assistant", "content": None, "tool_calls": [CALL]}]}, 11),
        ({"messages": [{"role": "tool", "tool_call_id": "c", "content": "one"}]}, 9),
        (
            {
                "messages": [
                    {"role": "user", "content": "one"},
                    {"role": "assistant", "content": "two"},
                ]
            },
            13,
        ),
        ({"messages": [{"role": "user", "content": "one"}], "count_response_tokens": True}, 5),
    ],
)
def test_the_formula(both, asked, expected):
    """Three a message, the members, one for a name, three before the answer."""
    assert expected == both.module.token_counter(
        model="gpt-4o", custom_tokenizer=TOKENIZER, **asked
    )


NESTED = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "The city"},
        "unit": {"type": "string", "enum": ["c", "f"]},
        "days": {"type": "array", "items": {"type": "integer"}},
        "where": {"type": "object", "properties": {"lat": {"type": "number"}}},
    },
    "required": ["city"],
}
DECLARED = [
    {
        "type": "function",
        "function": {"name": "weather", "description": "Get", "parameters": NESTED},
    },
    {
        "type": "function",
        "function": {"name": "now", "parameters": {"type": "object", "properties": {}}},
    },
]


NAMED = {"type": "function", "function": {"name": "now"}}


@pytest.mark.parametrize(("choice", "more"), [(None, 0), ("none", 1), (NAMED, 8)])
@pytest.mark.parametrize("system", [False, True])
def test_tools_count(both, system, choice, more):
    """Tools are counted as their declarations, and nine; a system message beside them saves four."""
    messages = [{"role": "user", "content": "one"}]
    if system:
        messages.insert(0, {"role": "system", "content": "one"})
    counted = both.module.token_counter(
        model="gpt-4o",
        custom_tokenizer=TOKENIZER,
        messages=messages,
        tools=DECLARED,
        tool_choice=choice,
    )

    assert counted == 58 + system + more


def test_counting_needs_something(both):
    """Exactly one of the two arguments is required."""
    with pytest.raises(ValueError, match="must be provided"):
        both.module.token_counter(model="gpt-4o")
    with pytest.raises(ValueError, match="cannot both"):
        both.module.token_counter(model="gpt-4o", text="a", messages=[])
