"""Which front a request comes to, by its method and its raw path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innervoice.gateway.credentials import sent_keys
from innervoice.gateway.endpoints import Endpoint, Missing, endpoint_of
from innervoice.wire.dialects import DIALECTS, dialect_named

ANSWER, COUNT = "answer", "count"
CLAUDE = "anthropic/claude-opus-5-5"

# Method, path and query -> the front, as the first table of the contract has them.
SERVED = [
    ("POST", "/v1/messages", "", Endpoint("anthropic", ANSWER)),
    ("POST", "/v1/messages", "beta=true", Endpoint("anthropic", ANSWER)),
    ("POST", "/v1/messages/count_tokens", "beta=true", Endpoint("anthropic", COUNT)),
    ("HEAD", "/api/hello", "", Endpoint("anthropic", "hello")),
    ("GET", "/api/hello", "", Endpoint("anthropic", "hello")),
    ("POST", "/v1/chat/completions", "", Endpoint("openai-chat", ANSWER)),
    ("POST", "/v1/%63hat/completion%73", "", Endpoint("openai-chat", ANSWER)),
    ("POST", "/mistral/v1/chat/completions", "", Endpoint("mistral", ANSWER)),
    ("GET", "/v1/models", "", Endpoint("openai-chat", "models")),
    ("GET", "/v1/models/openai/gpt-5.6", "", Endpoint("openai-chat", "model", "openai/gpt-5.6")),
    ("GET", "/v1/models/openai%2Fgpt-5.6", "", Endpoint("openai-chat", "model", "openai/gpt-5.6")),
    ("GET", "/v1/models/qwen3:30b", "", Endpoint("openai-chat", "model", "qwen3:30b")),
    ("POST", "/v1/responses", "", Endpoint("openai-responses", ANSWER)),
    ("POST", "/v1/responses/input_tokens", "", Endpoint("openai-responses", COUNT)),
    ("GET", "/v1/responses/resp_1", "", Endpoint("openai-responses", "stored", id="resp_1")),
    ("DELETE", "/v1/responses/resp_1", "", Endpoint("openai-responses", "delete", id="resp_1")),
    ("POST", "/v1/responses/resp_1/cancel", "", Endpoint("openai-responses", "cancel", id="resp_1")),
    ("GET", "/v1/responses/resp_1/input_items", "", Endpoint("openai-responses", "input_items", id="resp_1")),
    ("POST", "/v1beta/models/gemini-3.5-flash:generateContent", "", Endpoint("gemini", ANSWER, "gemini-3.5-flash", stream=False)),
    ("POST", f"/v1beta/models/{CLAUDE}:generateContent", "", Endpoint("gemini", ANSWER, CLAUDE, stream=False)),
    ("POST", "/v1beta/models/anthropic%2Fclaude-opus-5-5%3AgenerateContent", "", Endpoint("gemini", ANSWER, CLAUDE, stream=False)),
    ("POST", "/v1beta/models/ollama/qwen3:30b:generateContent", "", Endpoint("gemini", ANSWER, "ollama/qwen3:30b", stream=False)),
    ("POST", f"/v1beta/models/{CLAUDE}:streamGenerateContent", "alt=sse", Endpoint("gemini", ANSWER, CLAUDE, stream=True)),
    ("POST", f"/v1beta/models/{CLAUDE}:streamGenerateContent", "key=a&alt=sse", Endpoint("gemini", ANSWER, CLAUDE, stream=True)),
    ("POST", f"/v1beta/models/{CLAUDE}:streamGenerateContent", "key=alt%3Dsse", Endpoint("gemini", ANSWER, CLAUDE, stream=True, array=True)),
    ("POST", f"/v1beta/models/{CLAUDE}:countTokens", "", Endpoint("gemini", COUNT, CLAUDE)),
    # @ai-sdk/google writes a name with a slash without models/ before it.
    ("POST", "/v1beta/openai/gpt-5.6:generateContent", "", Endpoint("gemini", ANSWER, "openai/gpt-5.6", False)),
    ("POST", "/v1beta/anthropic/claude-opus-5-5:streamGenerateContent", "alt=sse", Endpoint("gemini", ANSWER, "anthropic/claude-opus-5-5", True)),
    ("POST", "/openrouter/z-ai/glm-5:countTokens", "", Endpoint("gemini", COUNT, "openrouter/z-ai/glm-5")),
    ("GET", "/v1beta/models", "", Endpoint("gemini", "models")),
    ("GET", "/v1beta/models/gemini-3.5-flash", "", Endpoint("gemini", "model", "gemini-3.5-flash")),
    ("POST", "/api/chat", "", Endpoint("ollama", ANSWER)),
    ("GET", "/api/tags", "", Endpoint("ollama", "models")),
    ("GET", "/api/version", "", Endpoint("ollama", "version")),
    ("POST", "/api/show", "", Endpoint("ollama", "show")),
    ("POST", "/model/us.anthropic.claude-sonnet-4-5-v1:0/converse", "", Endpoint("bedrock-converse", ANSWER, "us.anthropic.claude-sonnet-4-5-v1:0", stream=False)),
    ("POST", "/model/anthropic%2Fclaude-opus-5-5/converse", "", Endpoint("bedrock-converse", ANSWER, CLAUDE, stream=False)),
    ("POST", f"/model/{CLAUDE}/converse-stream", "", Endpoint("bedrock-converse", ANSWER, CLAUDE, stream=True)),
    ("GET", "/foundation-models", "", Endpoint("bedrock-converse", "models")),
    ("POST", "/v2/chat", "", Endpoint("cohere", ANSWER)),
    ("GET", "/cohere/v1/models", "", Endpoint("cohere", "models")),
    ("GET", "/health/live", "", Endpoint("openai-chat", "live")),
    ("GET", "/health/ready", "", Endpoint("openai-chat", "ready")),
    ("GET", "/metrics", "", Endpoint("openai-chat", "metrics")),
    ("GET", "/v1/explain/abc", "", Endpoint("openai-chat", "explain", id="abc")),
]  # fmt: skip
OWN_NAME = ("/mistral", "/cohere")
GATEWAYS_OWN = ("live", "ready", "metrics", "explain")
SHAPES = {
    "as it is": lambda path: path,
    "trailing slash": lambda path: f"{path}/",
    "double slash": lambda path: f"/{path}",
    "version twice": lambda path: path.replace("/v1", "/v1/v1", 1),
    "no version": lambda path: path.replace("/v1beta/", "/").replace("/v1/", "/"),
    "another version before it": lambda path: f"/v1{path}",
}


def unversioned(front):
    """Without /v1beta a list of models is OpenAI's, unless headers say otherwise."""
    is_list = front.verb in ("models", "model") and front.dialect == "gemini"
    return front._replace(dialect="openai-chat") if is_list else front


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("method", "path", "query", "expected"), SERVED)
def test_served(method, path, query, expected, shape):
    if shape == "no version":
        expected = unversioned(expected)
    if path.startswith(OWN_NAME) and shape == "another version before it":
        path = path.replace("/v1", "/v1/v1")
        shape = "as it is"
    assert expected == endpoint_of(method, SHAPES[shape](path), query, {})


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [row for row in SERVED if not row[1].startswith(OWN_NAME)],
)
def test_below_the_name_of_the_dialect(method, path, query, expected):
    found = endpoint_of(method, f"/{expected.dialect}{path}", query, {})
    if expected.verb in GATEWAYS_OWN:
        assert 404 == found.refusal.status
    else:
        assert expected == found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_answers_at_the_path_of_its_own_api(dialect):
    facts = dialect_named(dialect)
    for stream, verb in enumerate(facts.verbs):
        path, _, query = facts.path.replace("{verb}", verb).partition("?")
        found = endpoint_of("POST", f"/{dialect}" + path.replace("{model}", "a%2Fb"), query, {})
        spoken = (found.dialect, found.verb, found.model, found.stream, found.array)
        named = ("a/b", bool(stream)) if any(facts.verbs) else (None, None)
        assert (dialect, ANSWER, *named, False) == spoken


@pytest.mark.parametrize(
    ("path", "headers", "dialect"),
    [
        ("/v1/models", {"anthropic-version": "2023-06-01"}, "anthropic"),
        ("/v1/models", {"x-api-key": "a"}, "anthropic"),
        ("/v1/models", {"x-goog-api-key": "a"}, "gemini"),
        ("/v1/models", {"authorization": "Bearer a"}, "openai-chat"),
        ("/models", {"anthropic-version": "2023-06-01"}, "anthropic"),
        ("/v1beta/models", {"authorization": "Bearer a"}, "gemini"),
        # The path says more than the headers.
        ("/mistral/v1/models", {"anthropic-version": "2023-06-01"}, "mistral"),
        ("/openai-responses/v1/models", {"x-goog-api-key": "a"}, "openai-responses"),
        ("/v1beta/models", {"anthropic-version": "2023-06-01"}, "gemini"),
    ],
)
def test_a_list_of_models_is_in_the_dialect_of_its_headers(path, headers, dialect):
    assert Endpoint(dialect, "models") == endpoint_of("GET", path, "limit=1000", headers)


@pytest.mark.parametrize(
    ("method", "path", "dialect", "allowed"),
    [
        ("GET", "/v1/messages", "anthropic", "POST"),
        ("OPTIONS", "/v1/chat/completions", "openai-chat", "POST"),
        ("PUT", "/v1/responses/resp_1", "openai-responses", "GET, HEAD, DELETE"),
        ("GET", "/v1beta/models/m:generateContent", "gemini", "POST"),
        ("POST", "/v1/models", "openai-chat", "GET, HEAD"),
        ("POST", "/api/tags", "ollama", "GET, HEAD"),
        ("GET", "/model/m/converse", "bedrock-converse", "POST"),
        ("DELETE", "/v2/chat", "cohere", "POST"),
        ("GET", "/mistral/v1/chat/completions", "mistral", "POST"),
        ("POST", "/metrics", "openai-chat", "GET, HEAD"),
    ],
)
def test_a_method_that_is_not_allowed(method, path, dialect, allowed):
    missing = endpoint_of(method, path, "", {})
    assert isinstance(missing, Missing)
    assert (dialect, 405) == (missing.dialect, missing.refusal.status)
    assert {"allow": allowed} == missing.refusal.headers
    assert method in missing.refusal.text


@pytest.mark.parametrize(
    ("path", "headers", "dialect"),
    [
        ("/", {}, "openai-chat"),
        ("", {}, "openai-chat"),
        ("/v1/embeddings", {}, "openai-chat"),
        ("/v1/files", {"anthropic-version": "2023-06-01"}, "anthropic"),
        ("/v1/messages/batches", {}, "anthropic"),
        ("/v1beta/files", {}, "gemini"),
        ("/v1beta/models/m:embedContent", {}, "gemini"),
        ("/v1beta/models/m%3AembedContent", {}, "gemini"),
        ("/model/m/invoke", {}, "bedrock-converse"),
        ("/api/generate", {}, "ollama"),
        ("/v2/embed", {}, "cohere"),
        ("/cohere/v1/chat", {}, "cohere"),
        ("/anthropic/v1/chat/completions", {}, "anthropic"),
        ("/mistral/v1/messages", {}, "mistral"),
        ("/openai-chat/metrics", {}, "openai-chat"),
        # A slash that is encoded divides nothing, and upper case is another name.
        ("/v1%2Fmessages", {}, "openai-chat"),
        ("/V1/Messages", {}, "openai-chat"),
        ("/v1/../v1/messages", {}, "openai-chat"),
        ("/v1/v1/v1/messages", {}, "openai-chat"),
        # Names that would climb in the path of an upstream.
        ("/v1beta/models/..%2F..%2Fadmin:generateContent", {}, "gemini"),
        ("/v1beta/models/../x:generateContent", {}, "gemini"),
        ("/model/%2E%2E/converse", {}, "bedrock-converse"),
        ("/model/a%0Ab/converse", {}, "bedrock-converse"),
        ("/model/%00/converse", {}, "bedrock-converse"),
    ],
)
def test_any_other_path_is_missing_in_words(path, headers, dialect):
    for method in ("GET", "POST"):
        missing = endpoint_of(method, path, "", {"host": "api.openai.com", **headers})
        assert isinstance(missing, Missing)
        assert (dialect, 404) == (missing.dialect, missing.refusal.status)
        assert f"{method} {path} is not served here" in missing.refusal.text


def test_what_is_there_is_said():
    text = endpoint_of("POST", "/anthropic/v1/complete", "", {}).refusal.text
    assert "POST /messages, " in text
    assert "/v1" in text
    assert "chat/completions" not in text


def test_a_long_path():
    missing = endpoint_of("GET", "/v1/models/" + "a" * 5000, "", {})
    assert 414 == missing.refusal.status
    assert len(missing.refusal.text) < 200


def test_websockets_are_refused_with_the_status_at_which_codex_goes_on_over_http():
    upgrade = {"upgrade": "WebSocket", "connection": "Upgrade"}
    missing = endpoint_of("GET", "/v1/messages", "", upgrade)
    assert ("anthropic", 426) == (missing.dialect, missing.refusal.status)
    assert "HTTP POST" in missing.refusal.text
    assert "socket" == endpoint_of("GET", "/v1/responses", "", upgrade).verb
    assert 404 == endpoint_of("GET", "/v1/realtime", "", upgrade).refusal.status


@given(st.text(alphabet="/:%.av12FmodelschtGne", max_size=60), st.sampled_from(["GET", "POST"]))
def test_any_path_is_served_or_missing(path, method):
    """Never an exception; a name is never empty and never climbs."""
    found = endpoint_of(method, path, "", {})
    if isinstance(found, Endpoint) and found.model is not None:
        assert not {"", ".", ".."} & set(found.model.split("/"))


@pytest.mark.parametrize(
    ("headers", "query", "key"),
    [
        ({"x-api-key": "a"}, "", "a"),
        ({"authorization": "Bearer a"}, "", "a"),
        ({"authorization": "bearer  a "}, "", "a"),
        ({"authorization": "a"}, "", "a"),
        ({"x-goog-api-key": "a"}, "", "a"),
        ({"api-key": "a"}, "", "a"),
        ({}, "alt=sse&key=a%2Bb", "a+b"),
        ({"x-api-key": "", "authorization": "Bearer b"}, "key=c", "b"),
        ({"x-api-key": "a", "authorization": "Bearer b"}, "", "a"),
        ({"authorization": "Bearer "}, "", None),
        ({"authorization": "Bearer"}, "", None),
        ({"authorization": "AWS4-HMAC-SHA256 Credential=AKIA/x, Signature=y"}, "", None),
        ({}, "key=", None),
        ({}, "", None),
    ],
)
def test_the_key_of_a_caller(headers, query, key):
    assert key == next((sent.value for sent in sent_keys(headers, query)), None)
