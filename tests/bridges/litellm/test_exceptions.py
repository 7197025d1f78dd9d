"""Exceptions: their argument orders, and the mapping from our errors."""

import pickle

import pytest

import innervoice
from bridges.litellm.talk import SUM
from innervoice.bridges import litellm
from innervoice.bridges.litellm import exceptions
from innervoice.bridges.litellm.error_mapping import exception_of

PROVIDER_FIRST = (
    "AuthenticationError",
    "RateLimitError",
    "APIConnectionError",
    "PermissionDeniedError",
    "InternalServerError",
    "ServiceUnavailableError",
    "BadGatewayError",
    "UnsupportedParamsError",
)
MODEL_FIRST = (
    "BadRequestError",
    "NotFoundError",
    "Timeout",
    "UnprocessableEntityError",
    "ContextWindowExceededError",
    "ContentPolicyViolationError",
)
STATUSES = {
    "BadRequestError": 400,
    "ContextWindowExceededError": 400,
    "ContentPolicyViolationError": 400,
    "UnsupportedParamsError": 400,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "Timeout": 408,
    "UnprocessableEntityError": 422,
    "RateLimitError": 429,
    "APIConnectionError": 500,
    "InternalServerError": 500,
    "BadGatewayError": 502,
    "ServiceUnavailableError": 503,
}


@pytest.mark.parametrize("name", PROVIDER_FIRST + MODEL_FIRST)
def test_by_hand(name):
    """By position, by two positions, by name; at the top and in its place; through pickle."""
    kind = getattr(litellm, name)
    second, third = ("p", "m") if name in PROVIDER_FIRST else ("m", "p")
    whole = kind("went wrong", second, third)

    assert kind is getattr(exceptions, name)
    assert issubclass(kind, innervoice.InnervoiceError)
    for error in (
        whole,
        kind(message="went wrong", llm_provider="p", model="m"),
        pickle.loads(pickle.dumps(whole)),
    ):
        assert ("p", "m") == (error.llm_provider, error.model)
        assert STATUSES[name] == error.status_code == error.response.status_code
        assert f"litellm.{name}: went wrong" == str(error) == error.message
        assert error.max_retries is None
    two = kind("went wrong", second)
    assert (second, None) == (
        (two.llm_provider, two.model) if name in PROVIDER_FIRST else (two.model, two.llm_provider)
    )


def test_more_arguments():
    """What else litellm's errors take."""
    answer = exceptions.ErrorResponse(429, headers={"retry-after": "3"})
    error = litellm.RateLimitError("m", "p", "n", answer, "debug", 1, 2)
    assert ("3", "debug", 1, 2) == (
        error.response.headers["retry-after"],
        error.litellm_debug_info,
        error.max_retries,
        error.num_retries,
    )
    assert {"a": 1} == litellm.BadRequestError("m", "n", "p", body={"a": 1}).body
    assert 503 == litellm.APIError(503, "m", "p", "n").status_code
    assert (
        418
        == litellm.APIError(status_code=418, message="m", llm_provider="p", model="n").status_code
    )


@pytest.mark.parametrize(
    "make",
    [
        litellm.RateLimitError,
        lambda: litellm.RateLimitError("m", message="m"),
        lambda: litellm.RateLimitError("m", nonsense=1),
        lambda: litellm.RateLimitError(*range(20)),
    ],
)
def test_wrong_arguments(make):
    with pytest.raises(TypeError):
        make()


def test_others():
    error = litellm.BudgetExceededError(1.0, 0.5)
    assert "Current cost: 1.0, Max budget: 0.5" in str(error)
    assert (1.0, 0.5, 422) == (error.current_cost, error.max_budget, error.status_code)
    broken = litellm.JSONSchemaValidationError("m", "p", "raw", "schema")
    assert "raw" == broken.raw_response
    assert isinstance(broken, litellm.APIResponseValidationError)


# ---- of ours -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "name", "status"),
    [
        (innervoice.UsageError("x"), "BadRequestError", 400),
        (
            innervoice.UsageError("no key for openai: set OPENAI_API_KEY"),
            "AuthenticationError",
            401,
        ),
        (innervoice.ConnectionFailedError("x"), "APIConnectionError", 500),
        (innervoice.AnswerInterruptedError("x").with_facts(status=200), "APIConnectionError", 500),
        (innervoice.TimedOutError("x"), "Timeout", 408),
        (innervoice.DecodeError("x"), "APIResponseValidationError", 500),
        (
            innervoice.AuthenticationError(None, None, "x").with_facts(status=401),
            "AuthenticationError",
            401,
        ),
        (
            innervoice.AuthenticationError(None, None, "x").with_facts(status=403),
            "PermissionDeniedError",
            403,
        ),
        (innervoice.NotFoundError(None, None, "x").with_facts(status=404), "NotFoundError", 404),
        (innervoice.RateLimitError(None, None, "x").with_facts(status=429), "RateLimitError", 429),
        (
            innervoice.BadRequestError(None, None, "x").with_facts(status=422),
            "UnprocessableEntityError",
            422,
        ),
        (
            innervoice.ProviderError(None, None, "x").with_facts(status=402),
            "PaymentRequiredError",
            402,
        ),
        (innervoice.ProviderError(None, None, "x").with_facts(status=418), "APIError", 418),
        (
            innervoice.ServerError(None, None, "x").with_facts(status=500),
            "InternalServerError",
            500,
        ),
        (innervoice.ServerError(None, None, "x").with_facts(status=502), "BadGatewayError", 502),
        (innervoice.ServerError(None, None, "x").with_facts(status=504), "Timeout", 408),
        (
            innervoice.OverloadedError(None, None, "x").with_facts(status=529),
            "ServiceUnavailableError",
            503,
        ),
        (
            innervoice.OverloadedError("overloaded_error", None, "x").with_facts(status=200),
            "ServiceUnavailableError",
            503,
        ),
        (
            innervoice.BadRequestError(None, "context_length_exceeded", "x").with_facts(status=400),
            "ContextWindowExceededError",
            400,
        ),
        (
            innervoice.BadRequestError(None, None, "prompt is too long: 9 tokens > 8").with_facts(
                status=400
            ),
            "ContextWindowExceededError",
            400,
        ),
        (
            innervoice.BadRequestError(None, "content_policy_violation", "x").with_facts(
                status=400
            ),
            "ContentPolicyViolationError",
            400,
        ),
    ],
)
def test_of_ours(error, name, status):
    """Each of our errors has its counterpart, with the host's status and its wait."""
    made = exception_of(error, "openai", "gpt-4o")

    assert name == type(made).__name__
    assert status == made.status_code
    assert ("openai", "gpt-4o") == (made.llm_provider, made.model)
    assert "x" in str(made) or "prompt" in str(made) or "key" in str(made)


def test_the_host_s_own_answer():
    """Its status, its body and how long to wait."""
    error = innervoice.RateLimitError("rate", None, "slow down")
    made = exception_of(error.with_facts(status=429, retry_after=7.0, body="{}"), "openai", "m")

    assert (429, "{}", {"retry-after": "7"}) == (
        made.response.status_code,
        made.response.text,
        made.response.headers,
    )


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_of_the_host(line, stream):
    """The cause is our error; a refused stream raises at the call."""
    with pytest.raises(litellm.BadRequestError, match="top_k") as caught:
        line.ask("anthropic/claude-opus-5-5", [SUM], top_k=3, stream=stream)

    assert isinstance(caught.value.__cause__, innervoice.BadRequestError)
    assert 400 == caught.value.response.status_code
    assert ("anthropic", "claude-opus-5-5") == (caught.value.llm_provider, caught.value.model)


def test_a_busy_host(line):
    with pytest.raises(litellm.ServiceUnavailableError, match="Overloaded") as caught:
        line.ask("anthropic/claude-haiku-4-5", [SUM], behaviour="fail=0")
    assert 529 == caught.value.response.status_code


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [("fail=6", litellm.ServiceUnavailableError), ("cut=6", litellm.APIConnectionError)],
)
def test_a_stream_that_breaks_off(line, behaviour, kind):
    """Received chunks are passed on before the error is raised."""
    stream = line.ask("anthropic/claude-haiku-4-5", [SUM], stream=True, behaviour=behaviour)
    with pytest.raises(kind):
        list(stream)
    assert stream.chunks


def test_no_key():
    """The error names the environment variable."""
    with pytest.raises(litellm.AuthenticationError, match="DEEPSEEK_API_KEY"):
        litellm.completion("deepseek/deepseek-v4", [SUM])


def test_rules_of_ours(line):
    """A request that breaks a rule raises before it is sent, and names the rule."""
    with pytest.raises(litellm.BadRequestError, match="prefill_refused"):
        line.ask("anthropic/claude-opus-5-5", [SUM, {"role": "assistant", "content": "It"}])
    with pytest.raises(litellm.BadRequestError, match="effort must be one of"):
        line.ask("anthropic/claude-opus-5-5", [SUM], reasoning_effort="enormous")
    with pytest.raises(litellm.BadRequestError, match="which no earlier message contains"):
        line.ask("openai/gpt-4o", [SUM, {"role": "tool", "tool_call_id": "x", "content": "y"}])
