"""Errors reach a client in the shape of its own API: ours in words that help, a provider's word for word."""

import json

import pytest

import innervoice as iv
from gateway.harness import Served, body_of
from innervoice.canon.response import Failure
from innervoice.client.error_mapping import failure_error, refusal_error
from innervoice.errors import (
    AnswerInterruptedError,
    ConnectionFailedError,
    DecodeError,
    RuleError,
    TimedOutError,
    UsageError,
)
from innervoice.gateway.endpoints import endpoint_of
from innervoice.gateway.errors import (
    NO_KEY,
    WRONG_KEY,
    no_model,
    not_configured,
    refusal_of,
    refused,
    too_many_streams,
    unknown_model,
)
from innervoice.gateway.incoming import check_head, checked_body
from innervoice.gateway.limits import Limits
from innervoice.wire.dialects import DIALECTS, dialect_named
from innervoice.wire.refusals import Refusal, Refused

PATHS = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "gemini": "/v1beta/models/m:generateContent",
    "gemini-interactions": "/v1beta/interactions",
    "bedrock-converse": "/model/m/converse",
    "mistral": "/mistral/v1/chat/completions",
    "cohere": "/v2/chat",
    "ollama": "/api/chat",
}
LIMITS = Limits(body_bytes=1000, depth=5)


def raised(function, *arguments):
    with pytest.raises(Refused) as caught:
        function(*arguments, LIMITS)
    return caught.value.refusal


def not_allowed(dialect):
    missing = endpoint_of("GET", PATHS[dialect], "", {})
    assert dialect == missing.dialect
    return missing.refusal


def not_found(dialect):
    missing = endpoint_of("POST", f"/{dialect}/v1/nothing", "", {})
    assert dialect == missing.dialect
    return missing.refusal


# Kind -> (what is refused in a dialect, the status, what the text says).
KINDS = {
    "bad JSON": (lambda _: raised(checked_body, b'{"model":\n"a" 1}'), 400, "line 2 column 5"),
    "no object": (lambda _: raised(checked_body, b"[1]"), 400, "a JSON object, not a list"),
    "too large": (lambda _: raised(checked_body, b" " * 1001), 413, "1000 bytes"),
    "too deep": (lambda _: raised(checked_body, b'{"a":[[[[[[]]]]]]}'), 400, "5 levels deep"),
    "wrong content type": (lambda _: raised(check_head, {"content-type": "text/xml"}), 415, "application/json, not 'text/xml'"),
    "wrong method": (not_allowed, 405, "use POST"),
    "wrong path": (not_found, 404, "is not served here"),
    "missing key": (lambda _: NO_KEY, 401, "x-api-key, Authorization (Bearer), x-goog-api-key or ?key="),
    "wrong key": (lambda _: WRONG_KEY, 401, "unknown to this gateway"),
    "unknown model": (lambda dialect: unknown_model(dialect, "claude-opus", ["claude-opus-5-5", "sonnet"]), None, "claude-opus-5-5 or sonnet?"),
    "unknown model looked up": (lambda dialect: unknown_model(dialect, "claude-opus", ["claude-opus-5-5"], looked_up=True), 404, "claude-opus"),
    "no model": (no_model, 400, "model"),
    "no stored response": (lambda _: dialect_named("openai-responses").stored_answers.missing("resp_1"), 404, "'resp_1' not found"),
    "no stored interaction": (lambda _: dialect_named("gemini-interactions").stored_answers.missing("v1_1"), 404, "'v1_1' not found"),
    "no upstream": (lambda _: not_configured("no key for openai"), 400, "no key for openai"),
    "too many streams": (lambda _: too_many_streams(8), 429, "8 concurrent answers"),
    "timed out": (lambda dialect: refusal_of(TimedOutError("no byte for 300 s", "idle"), dialect), 504, "no byte for 300 s"),
    "no connection": (lambda dialect: refusal_of(ConnectionFailedError("connection failed: refused"), dialect), 502, "connection failed: refused"),
}  # fmt: skip
UNKNOWN_MODEL = {"openai-responses": 400, "mistral": 400, "bedrock-converse": 400}
"""The APIs that call an unknown model an invalid request; the others say 404."""

OPENAI = {429: "requests", 502: "server_error", 503: "server_error", 504: "server_error"}
# Dialect -> status -> its own word for the kind of error, where it is not the one for other statuses.
WORDS = {
    "anthropic": {None: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 413: "request_too_large",
                  429: "rate_limit_error", 502: "api_error", 503: "api_error", 504: "timeout_error"},
    "openai-chat": {None: "invalid_request_error", **OPENAI},
    "openai-responses": {None: "invalid_request_error", **OPENAI},
    "gemini": {None: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 502: "INTERNAL",
               503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"},
    "gemini-interactions": {None: "invalid_request", 401: "unauthenticated", 404: "not_found", 429: "resource_exhausted",
                            502: "internal", 503: "unavailable", 504: "gateway_timeout"},
    "bedrock-converse": {None: "ValidationException", 401: "AccessDeniedException", 404: "ResourceNotFoundException",
                         429: "ThrottlingException", 502: "InternalServerException", 503: "ServiceUnavailableException",
                         504: "InternalServerException"},
    "mistral": {None: "invalid_request_error", 429: "rate_limited", 502: "internal_server_error", 503: "internal_server_error",
                504: "internal_server_error"},
}  # fmt: skip


def check_shape(dialect, reply, text):
    """Asserts that an error is written as the API of the dialect writes its own."""
    body, words = json.loads(reply.body), WORDS.get(dialect, {})
    word = words.get(reply.status, words.get(None))
    match dialect:
        case "anthropic":
            assert {"type", "error", "request_id"} == body.keys()
            assert ("error", word, text) == (body["type"], body["error"]["type"], body["error"]["message"])  # fmt: skip
        case "gemini":
            if wait := reply.headers.get("retry-after"):
                (detail,) = body["error"].pop("details")
                assert f"{wait}s" == detail["retryDelay"]
            assert {"error": {"code": reply.status, "message": text, "status": word}} == body
        case "gemini-interactions":
            assert {"error": {"message": text, "code": word}} == body
        case "bedrock-converse":
            assert {"message": text} == body
            assert word == reply.headers["x-amzn-errortype"]
        case "openai-chat" | "openai-responses":
            assert {"message", "type", "param", "code"} == body["error"].keys()
            assert (text, word) == (body["error"]["message"], body["error"]["type"])
        case "mistral":
            assert {"object", "message", "type", "param", "code"} == body.keys()
            assert ("error", text) == (body["object"], body["message"])
            assert body["type"] in (word, "invalid_model")
        case "cohere":
            assert {"id", "message"} == body.keys()
            assert text == body["message"]
        case "ollama":
            assert {"error": text} == body


def read(reply):
    """The error that a client of ours makes of a reply."""
    return refusal_error(reply.status, reply.headers, reply.body, now=0, secrets=())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_our_own_refusals(dialect, kind):
    make, status, words = KINDS[kind]
    refusal = make(dialect)
    reply = refused(dialect, refusal)

    assert (status or UNKNOWN_MODEL.get(dialect, 404)) == reply.status
    assert words in refusal.text
    assert "application/json" == reply.headers["content-type"]
    check_shape(dialect, reply, refusal.text)
    assert refusal.text == read(reply).message


@pytest.mark.parametrize("dialect", DIALECTS)
def test_headers_of_a_refusal(dialect):
    assert "POST" == refused(dialect, not_allowed(dialect)).headers["allow"]
    assert "Bearer" == refused(dialect, NO_KEY).headers["www-authenticate"]
    assert "1" == refused(dialect, too_many_streams(3)).headers["retry-after"]


def test_words_that_programs_compare():
    """OpenAI's clients read `code`."""

    def code(refusal):
        return json.loads(refused("openai-chat", refusal).body)["error"]["code"]

    assert "model_not_found" == code(unknown_model("openai-chat", "x"))
    assert "invalid_api_key" == code(WRONG_KEY)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_long_name_is_cut(dialect):
    text = unknown_model(dialect, "x" * 100_000).text
    assert "x" * 200 in text
    assert len(text) < 600


# ---- what a provider said -------------------------------------------------------------------------------

LIMIT = "input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000, decrease input length"
SAID = [
    (400, LIMIT),
    (401, "invalid x-api-key"),
    (403, "no access to this model"),
    (404, "model: x"),
    (413, "Request exceeds the maximum size"),
    (422, "Input should be a valid string"),
    (429, "slow down"),
    (500, "Internal server error"),
    (503, "try again later"),
    (529, "Overloaded"),
]


def from_provider(upstream, status, text, **headers):
    """The error of a provider that answered in its own shape."""
    reply = refused(upstream, Refusal(text=text, status=status))
    said = {**reply.headers, **headers}
    error = refusal_error(status, said, reply.body, now=0, secrets=())
    return error.with_facts(provider=dialect_named(upstream).home)


@pytest.mark.parametrize(("status", "text"), SAID)
@pytest.mark.parametrize("upstream", DIALECTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_providers_words_and_status_are_kept(dialect, upstream, status, text):
    error = from_provider(upstream, status, text)
    reply = refused(dialect, refusal_of(error, dialect, upstream))

    assert status == reply.status
    assert text == read(reply).message
    if dialect != upstream and status in (400, 401, 429):
        check_shape(dialect, reply, text)
    assert "retry-after" not in reply.headers


@pytest.mark.parametrize("upstream", DIALECTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_when_to_come_back_is_passed_on(dialect, upstream):
    error = from_provider(upstream, 429, "slow down", **{"retry-after": "12.2"})
    assert 12.2 == error.retry_after
    reply = refused(dialect, refusal_of(error, dialect, upstream))
    assert "13" == reply.headers["retry-after"]
    assert 13 == read(reply).retry_after


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_server_that_lists_what_is_wrong_with_a_body(dialect):
    """As FastAPI does: vLLM and others."""
    details = [{"loc": ["body", "model"], "msg": "Field required"}, {"loc": ["body"], "msg": "Extra inputs"}]  # fmt: skip
    error = refusal_error(400, {}, json.dumps({"detail": details}).encode(), now=0, secrets=())
    reply = refused(dialect, refusal_of(error, dialect, "openai-chat"))
    assert "Field required; Extra inputs" == read(reply).message


def openai_error():
    body = {"error": {"message": "Too long.", "type": "tokens", "code": "context_length_exceeded", "param": "input"}}  # fmt: skip
    return refusal_error(400, {}, json.dumps(body).encode(), now=0, secrets=())


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
def test_the_providers_own_words_for_the_kind_are_kept_for_its_own_clients(dialect):
    reply = refused(dialect, refusal_of(openai_error(), dialect, "openai-responses"))
    error = json.loads(reply.body)["error"]
    assert ("tokens", "context_length_exceeded", "input") == (error["type"], error["code"], error["param"])  # fmt: skip


@pytest.mark.parametrize("dialect", ["anthropic", "gemini", "mistral", "ollama"])
def test_and_for_no_others(dialect):
    reply = refused(dialect, refusal_of(openai_error(), dialect, "openai-responses"))
    assert "Too long." == read(reply).message
    assert b"tokens" not in reply.body
    assert b"context_length_exceeded" not in reply.body


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (Failure(type="overloaded_error", message="Overloaded"), 529),
        (Failure(type="server_error", message="oops"), 500),
        (Failure(code=429, message="slow"), 429),
        (Failure(message="something"), 502),
    ],
)
def test_an_error_inside_an_answer_has_the_status_that_its_words_mean(failure, status):
    refusal = refusal_of(failure_error(failure, ()), "openai-chat")
    assert (status, failure.message) == (refusal.status, refusal.text)


def test_a_redirect_is_not_passed_on():
    error = refusal_error(307, {"location": "http://10.0.0.1"}, b"", now=0, secrets=())
    reply = refused("openai-chat", refusal_of(error, "openai-chat", "openai-chat"))
    assert 502 == reply.status
    assert b"10.0.0.1" not in reply.body
    assert "location" not in reply.headers


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (UsageError("max_tokens must be positive; not -1"), 400, "max_tokens must be positive; not -1"),
        (RuleError("H2", "it would be refused"), 400, "H2: it would be refused"),
        (DecodeError("messages[0].role must be a string, not int"), 400, "messages[0].role must be a string, not int"),
        (DecodeError("no JSON").with_facts(provider="deepseek", status=200), 502, "deepseek: the answer cannot be read: no JSON"),
        (TimedOutError("5 s", "connect").with_facts(provider="deepseek"), 504, "deepseek: the answer took too long: 5 s"),
        (ConnectionFailedError("refused").with_facts(provider="deepseek"), 502, "deepseek: refused"),
        (AnswerInterruptedError("closed"), 502, "closed"),
        (iv.InnervoiceError("?"), 500, "?"),
        (iv.InnervoiceError(), 500, "InnervoiceError"),
    ],
)  # fmt: skip
def test_errors_that_no_provider_made(error, status, text):
    refusal = refusal_of(error, "anthropic")
    assert (status, text) == (refusal.status, refusal.text)


REPEATED = {401, 404, 408, 409, 425, 429}
"""What clients repeat besides 5xx, or replace with a text of their own: the SDKs of OpenAI and Anthropic, google-genai, Claude Code, Codex, the AI SDK."""


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_a_model_without_a_key_is_refused_once(dialect, stream):
    served = Served(base_url_of=None)
    path, body = body_of(dialect, "openai/gpt-5.6", [iv.user("Hello.")], stream=stream)
    reply = served.ask("POST", path, body)

    assert reply.status < 500
    assert reply.status not in REPEATED
    assert "no key for openai: set OPENAI_API_KEY" in reply.body.decode()
    assert "false" == reply.headers["x-should-retry"]
    assert "retry-after" not in reply.headers
