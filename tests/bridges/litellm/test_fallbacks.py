"""`fallbacks=` and its kin, arguments by position, and retries."""

import asyncio
import inspect
import os

import pytest

from bridges.litellm.talk import SUM, real_litellm
from innervoice.bridges import litellm

FAILS = {"mock_response": "litellm.InternalServerError"}
LONG = {"mock_response": "litellm.ContextWindowExceededError"}
REFUSED = {"mock_response": "litellm.ContentPolicyViolationError"}
OTHER = {"model": "anthropic/claude-opus-5-5", "mock_response": "from the other"}


def ask(how, *arguments, **options):
    if how == "sync":
        return litellm.completion(*arguments, **options)
    return asyncio.run(litellm.acompletion(*arguments, **options))


@pytest.fixture(params=["sync", "async"])
def how(request):
    return request.param


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({**FAILS, "fallbacks": [OTHER]}, "claude-opus-5-5"),
        ({**FAILS, "fallbacks": [{"model": "gpt-4o-mini", **FAILS}, OTHER]}, "claude-opus-5-5"),
        ({**LONG, "context_window_fallbacks": [{"gpt-4o": [OTHER]}]}, "claude-opus-5-5"),
        ({**REFUSED, "content_policy_fallbacks": [{"gpt-4o": [OTHER]}]}, "claude-opus-5-5"),
        ({**FAILS, "fallbacks": [{"gpt-4o": [OTHER]}]}, "claude-opus-5-5"),
        ({**FAILS, "fallbacks": [{"another": [{"model": "x"}], "*": [OTHER]}]}, "claude-opus-5-5"),
    ],
)
def test_the_next_model_answers(how, options, expected):
    response = ask(how, "gpt-4o", [SUM], **options)
    assert expected == response.model
    assert "from the other" == response.choices[0].message.content


@pytest.mark.parametrize(
    "options",
    [
        {**FAILS, "context_window_fallbacks": [{"gpt-4o": [OTHER]}]},
        {**FAILS, "content_policy_fallbacks": [{"gpt-4o": [OTHER]}]},
        {**FAILS, "fallbacks": [{"another": [OTHER]}]},
        {**FAILS, "fallbacks": []},
    ],
)
def test_a_fallback_for_something_else_is_not_tried(how, options):
    with pytest.raises(litellm.InternalServerError):
        ask(how, "gpt-4o", [SUM], **options)


def test_the_last_error_is_raised(how):
    """Each fallback has failed; the error is the last one's."""
    with pytest.raises(litellm.RateLimitError):
        ask(how, "gpt-4o", [SUM], **FAILS, fallbacks=[{"model": "o3", "mock_response": "litellm.RateLimitError"}])  # fmt: skip


def test_fallbacks_of_the_package(how, monkeypatch):
    monkeypatch.setattr(litellm, "fallbacks", [OTHER])
    assert "claude-opus-5-5" == ask(how, "gpt-4o", [SUM], **FAILS).model


def test_an_alias(how, monkeypatch):
    monkeypatch.setattr(litellm, "model_alias_map", {"mine": "openai/gpt-4o"})
    assert "gpt-4o" == ask(how, "mine", [SUM], mock_response="x").model


def test_the_responses_api_by_name(line):
    """`openai/responses/<model>`, as litellm spells it."""
    line.ask("openai/gpt-4o", [SUM])
    assert line.emulator.paths[-1].endswith("/chat/completions")
    line.ask("openai/responses/gpt-4o", [SUM])
    assert line.emulator.paths[-1].endswith("/responses")
    assert "gpt-4o" == line.body["model"]


def test_a_real_failure(line):
    """A request that is refused, then one to another provider: without the key and the address of the first."""
    seen = line.options("deepseek/deepseek-v4")
    other = {"model": "anthropic/claude-opus-5-5", "api_key": "other", "api_base": line.addresses["anthropic"]}  # fmt: skip
    response = litellm.completion(
        messages=[SUM], **seen | {"extra_headers": {"x-innervoice-emulate": "fail=0"}}, fallbacks=[other]
    )  # fmt: skip

    assert "345" in response.choices[0].message.content
    sent = line.emulator.headers[-1]
    assert "other" == sent["x-api-key"]
    assert "authorization" not in sent
    assert "x-innervoice-emulate" not in sent


def test_the_key_stays_with_its_provider(monkeypatch):
    """A fallback by name gets the key of its own provider, or none."""
    asked = []
    monkeypatch.setitem(
        litellm.completion.__globals__,
        "_completed",
        lambda model, _, options: asked.append((model, options.get("api_key"))) or 1 / 0,
    )
    with pytest.raises(ZeroDivisionError):
        litellm.completion("openai/gpt-4o", [SUM], api_key="k", fallbacks=["openai/gpt-4o-mini", "anthropic/claude-opus-5-5"])  # fmt: skip
    assert [
        ("openai/gpt-4o", "k"),
        ("openai/gpt-4o-mini", "k"),
        ("anthropic/claude-opus-5-5", None),
    ] == asked


# ---- retries and positions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "retries"),
    [
        ({"num_retries": 4}, 4),
        ({"max_retries": 3}, 3),
        ({"retry_policy": litellm.RetryPolicy(RateLimitErrorRetries=5), "max_retries": 0}, 5),
        ({"retry_policy": {"TimeoutErrorRetries": 1}}, 1),
        ({"retry_policy": litellm.RetryPolicy()}, 0),
        ({}, 2),
    ],
)
def test_retries(line, monkeypatch, options, retries):
    made = []
    kind = litellm.completion.__globals__["client_of"]

    def client_of(call):
        made.append(call.settings["retries"])
        return kind(call)

    monkeypatch.setitem(litellm.completion.__globals__, "client_of", client_of)
    base = {"api_key": "any", "api_base": line.addresses["deepseek"]}
    litellm.completion("deepseek/deepseek-v4", [SUM], **base, **options)
    assert [retries] == made
    assert "retry_policy" not in line.body


def test_positions():
    """`completion(model, messages, timeout, temperature, top_p, n, ...)`."""
    response = litellm.completion("gpt-4o", [SUM], 10.0, 0.5, 0.9, 3, mock_response="x")
    assert 3 == len(response.choices)
    chunks = list(litellm.completion("gpt-4o", [SUM], None, None, None, None, True, mock_response="x"))  # fmt: skip
    assert "x" == chunks[0].choices[0].delta.content


def test_an_argument_twice(how):
    with pytest.raises(TypeError, match="multiple values for argument 'temperature'"):
        ask(how, "gpt-4o", [SUM], *[None] * 12, temperature=1)


def test_too_many_arguments():
    with pytest.raises(TypeError, match="at most"):
        litellm.completion("gpt-4o", [SUM], *[None] * 60)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", ["completion", "acompletion", "text_completion"])
def test_the_order_is_that_of_litellm(function):
    from innervoice.bridges.litellm import params as call_options

    real = inspect.unwrap(getattr(real_litellm(), function))
    names = [
        name
        for name, parameter in inspect.signature(real).parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    assert tuple(names[2:]) == getattr(call_options, function.upper())
    mine = inspect.signature(getattr(litellm, function)).parameters
    assert [*names, "kwargs"] == [name for name in mine if name != "args"]


@pytest.mark.parametrize("function", ["completion", "acompletion"])
def test_the_signature_names_the_parameters(function):
    parameters = inspect.signature(getattr(litellm, function)).parameters
    assert ["model", "messages"] == list(parameters)[:2]
    assert {"temperature", "tools", "thinking", "kwargs"} <= set(parameters)
    assert inspect.iscoroutinefunction(getattr(litellm, function)) == (function == "acompletion")


# ---- the environment -----------------------------------------------------------------------------------


def test_validate_environment(monkeypatch):
    assert {"keys_in_environment": False, "missing_keys": ["OPENAI_API_KEY"]} == (
        litellm.validate_environment("openai/gpt-4o")
    )
    assert litellm.validate_environment("openai/gpt-4o", api_key="k")["keys_in_environment"]
    monkeypatch.setitem(os.environ, "ANTHROPIC_API_KEY", "k")
    assert litellm.validate_environment("claude-opus-5-5")["keys_in_environment"]
    assert litellm.validate_environment("nothing")["keys_in_environment"]


def test_trim_messages():
    """System messages and the newest whole turns stay; a result stays with its call."""
    system = {"role": "system", "content": "be brief"}
    old = {"role": "user", "content": "word " * 500}
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}  # fmt: skip
    result = {"role": "tool", "tool_call_id": "a", "content": "1"}
    history = [system, old, call, result]

    assert [system, call, result] == litellm.utils.trim_messages(history, "gpt-4o", max_tokens=100)
    assert [system, call, result] == litellm.utils.trim_messages(history, max_tokens=1)
    assert history == litellm.utils.trim_messages(history, "nothing-known")
    assert history == litellm.utils.trim_messages(history, max_tokens=5000)
    kept, left = litellm.utils.trim_messages(history, max_tokens=5000, return_response_tokens=True)
    assert history == kept
    assert 0 < left < 5000
