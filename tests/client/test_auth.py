"""Who is let in with what: keys, tokens, signatures, and where each provider answers."""

import asyncio
import json
import sys
from contextlib import suppress
from types import SimpleNamespace

import httpx2
import pytest

import innervoice as iv
from client.faulty import whole
from client.harness import KEY
from innervoice.catalog.lookup import all_hosts, host_of
from innervoice.client import auth as cloud_credentials
from innervoice.client.auth import AwsKeys, signature_headers
from innervoice.client.base_urls import base_url_of

BODY = whole()[0].partition(b"\r\n\r\n")[2]
EXAMPLE = AwsKeys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
THEN = 1440938160.0  # 2015-08-30 12:36:00


def sent(model, *, environ=None, dialect=None, **settings):
    """The request that would leave."""
    seen = []

    def handle(request):
        seen.append(request)
        return httpx2.Response(200, content=BODY)

    with httpx2.Client(transport=httpx2.MockTransport(handle)) as http:
        client = iv.Client(http=http, environ=environ or {}, **settings)
        # The answer may be of another dialect, and nobody looks at it.
        with suppress(iv.DecodeError, iv.ProviderError):
            client.ask(model, "Hi", **({"dialect": dialect} if dialect else {}))
    return seen[0]


@pytest.mark.parametrize(
    ("model", "variable", "header", "value"),
    [
        ("anthropic/claude-opus-5", "ANTHROPIC_API_KEY", "x-api-key", "key"),
        ("anthropic/claude-opus-5", "ANTHROPIC_AUTH_TOKEN", "authorization", "Bearer key"),
        ("gemini/gemini-3-pro", "GEMINI_API_KEY", "x-goog-api-key", "key"),
        ("google/gemini-3-pro", "GOOGLE_API_KEY", "x-goog-api-key", "key"),
        ("openai/gpt-5.6", "OPENAI_API_KEY", "authorization", "Bearer key"),
        ("deepseek:deepseek-v4", "DEEPSEEK_API_KEY", "authorization", "Bearer key"),
        ("zai/glm-5", "ZHIPU_API_KEY", "authorization", "Bearer key"),
        ("bedrock/moonshot.kimi-k2", "AWS_BEARER_TOKEN_BEDROCK", "authorization", "Bearer key"),
        ("azure/gpt-5.6", "AZURE_OPENAI_API_KEY", "api-key", "key"),
        ("azure/gpt-5.6", "AZURE_OPENAI_AD_TOKEN", "authorization", "Bearer key"),
        ("vertex/gemini-3-pro", "VERTEX_ACCESS_TOKEN", "authorization", "Bearer key"),
        ("vertex/gemini-3-pro", "GOOGLE_ACCESS_TOKEN", "authorization", "Bearer key"),
        ("vertex/claude-opus-5-5", "VERTEX_ACCESS_TOKEN", "authorization", "Bearer key"),
        ("ollama/qwen3:8b", "OLLAMA_API_KEY", "authorization", "Bearer key"),
        ("azure/claude-opus-5-5", "ANTHROPIC_FOUNDRY_API_KEY", "x-api-key", "key"),
        ("azure/claude-opus-5-5", "AZURE_API_KEY", "x-api-key", "key"),
        ("bedrock-mantle/anthropic.claude-opus-5-5", "ANTHROPIC_AWS_API_KEY", "authorization", "Bearer key"),
        ("bedrock-invoke/anthropic.claude-opus-5-5", "AWS_BEARER_TOKEN_BEDROCK", "authorization", "Bearer key"),
    ],
)  # fmt: skip
def test_key_of_the_environment(model, variable, header, value):
    places = {
        "AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com/",
        "AWS_REGION": "eu-west-1",
        "GOOGLE_CLOUD_PROJECT": "p",
        "GOOGLE_CLOUD_LOCATION": "europe-west4",
        "ANTHROPIC_FOUNDRY_RESOURCE": "r",
    }
    request = sent(model, environ={**places, variable: " key\n"})

    assert value == request.headers[header]
    others = {"authorization", "x-api-key", "api-key", "x-goog-api-key"} - {header}
    assert not others & set(request.headers)


def test_variables_are_asked_in_the_order_of_the_row():
    environ = {"GOOGLE_API_KEY": "second", "GEMINI_API_KEY": "first"}

    assert sent("gemini/gemini-3-pro", environ=environ).headers["x-goog-api-key"] == "first"


def test_passed_keys_come_first():
    environ = {"OPENAI_API_KEY": "environment"}
    request = sent("openai/gpt-5.6", environ=environ, keys={"openai": "mine", "anthropic": "other"})
    alias = sent("google/gemini-3-pro", keys={"google": lambda: "made"})

    assert request.headers["authorization"] == "Bearer mine"
    assert alias.headers["x-goog-api-key"] == "made"


def test_missing_key_names_its_variables():
    with pytest.raises(iv.UsageError, match="GEMINI_API_KEY or GOOGLE_API_KEY"):
        sent("gemini/gemini-3-pro")
    with pytest.raises(
        iv.UsageError, match=r"AWS_BEARER_TOKEN_BEDROCK.*AWS_ACCESS_KEY_ID and AWS_SECRET"
    ):
        sent("bedrock/moonshot.kimi-k2", environ={"AWS_REGION": "eu-west-1"})
    with pytest.raises(iv.UsageError, match="VERTEX_ACCESS_TOKEN"):
        sent(
            "vertex/gemini-3-pro",
            environ={"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l"},
        )


@pytest.mark.parametrize("model", ["ollama/qwen3:8b", "lmstudio/x", "sglang/x", "llamacpp/x"])
def test_a_server_of_ones_own_needs_no_key(model):
    assert "authorization" not in sent(model).headers


def test_own_address_needs_no_key():
    assert "authorization" not in sent("openai/gpt-5.6", base_url="http://gateway/v1").headers


def test_a_key_goes_to_its_owner_only():
    """Never to another provider's usual address."""
    with pytest.raises(iv.UsageError, match="api_key needs provider="):
        iv.Client(api_key="key")
    request = sent(
        "anthropic/claude-opus-5",
        environ={"ANTHROPIC_API_KEY": "right"},
        api_key="gateway-key",
        base_urls={"openai": "http://gateway"},
    )
    there = sent("openai/gpt-5.6", api_key="gateway-key", base_urls={"openai": "http://gateway"})

    assert request.headers["x-api-key"] == "right"
    assert there.headers["authorization"] == "Bearer gateway-key"


def test_own_authorization():
    """Who brings one needs no key; other headers are added."""
    request = sent("openai/gpt-5.6", headers={"Authorization": "Custom x", "X-More": "1"})

    assert request.headers["authorization"] == "Custom x"
    assert request.headers["x-more"] == "1"


@pytest.mark.parametrize("key", ["", "  ", "a\nb", "schlüssel", "a\x00b", 5])
def test_unusable_keys_are_refused_and_not_shown(key):
    with pytest.raises(iv.UsageError) as caught:
        sent("openai/gpt-5.6", keys={"openai": key})

    assert "printable" in str(caught.value)
    assert not key or str(key).strip() == "" or repr(key) not in repr(caught.value)


def test_custom_servers():
    """By their dialect, under any name."""
    chat = sent("some/model-name", base_url="http://server/v1", api_key="key")
    claude = sent("x/claude", base_url="http://server", api_key="key", dialect="anthropic")
    named = sent("mine/model", base_urls={"mine": "http://server/v1"}, api_key="key")
    one = sent("deepseek-ai/DeepSeek-R1", base_url="http://server/v1", provider="vllm")

    assert str(chat.url) == "http://server/v1/chat/completions"
    assert chat.headers["authorization"] == "Bearer key"
    assert b'"some/model-name"' in chat.content
    assert claude.headers["x-api-key"] == "key"
    assert str(claude.url) == "http://server/v1/messages"
    assert b'"model"' in named.content
    assert b'"deepseek-ai/DeepSeek-R1"' in one.content


# ---- places ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "environ", "expected"),
    [
        (
            "azure",
            {"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com/"},
            "https://r.openai.azure.com/openai/v1",
        ),
        ("azure", {"AZURE_OPENAI_ENDPOINT": "https://r.x/openai/v1/"}, "https://r.x/openai/v1"),
        ("azure", {"AZURE_RESOURCE_NAME": "r"}, "https://r.openai.azure.com/openai/v1"),
        (
            "bedrock",
            {"AWS_DEFAULT_REGION": "us-east-1"},
            "https://bedrock-runtime.us-east-1.amazonaws.com",
        ),
        (
            "cloudflare",
            {"CLOUDFLARE_ACCOUNT_ID": "a"},
            "https://api.cloudflare.com/client/v4/accounts/a/ai/v1",
        ),
        (
            "databricks",
            {"DATABRICKS_HOST": "w.cloud.databricks.com"},
            "https://w.cloud.databricks.com/serving-endpoints",
        ),
        ("databricks", {"DATABRICKS_HOST": "https://w.net/"}, "https://w.net/serving-endpoints"),
        (
            "snowflake",
            {"SNOWFLAKE_ACCOUNT": "a"},
            "https://a.snowflakecomputing.com/api/v2/cortex/v1",
        ),
        ("watsonx", {"WATSONX_REGION": "eu-de"}, "https://eu-de.ml.cloud.ibm.com/ml/v1"),
        ("gpustack", {"GPUSTACK_BASE_URL": "http://gpu:80"}, "http://gpu:80/v1"),
        ("openai", {}, "https://api.openai.com/v1"),
    ],
)
def test_places(host, environ, expected):
    assert expected == base_url_of(host_of(host), environ)


@pytest.mark.parametrize(
    ("model", "environ", "expected"),
    [
        ("azure/claude-opus-5-5", {"ANTHROPIC_FOUNDRY_RESOURCE": "r"}, "https://r.services.ai.azure.com/anthropic/v1/messages"),
        ("azure/claude-opus-5-5", {"AZURE_RESOURCE_NAME": "r"}, "https://r.services.ai.azure.com/anthropic/v1/messages"),
        ("azure/claude-opus-5-5", {"ANTHROPIC_FOUNDRY_BASE_URL": "https://f.test/anthropic/"}, "https://f.test/anthropic/v1/messages"),
        ("azure/gpt-5.6", {"AZURE_RESOURCE_NAME": "r"}, "https://r.openai.azure.com/openai/v1/responses"),
        ("bedrock-mantle/anthropic.claude-opus-5-5", {"AWS_REGION": "eu-west-1"}, "https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1/messages"),
        ("bedrock-mantle/anthropic.claude-opus-5-5", {"ANTHROPIC_BEDROCK_MANTLE_BASE_URL": "https://m.test/anthropic"}, "https://m.test/anthropic/v1/messages"),
        ("bedrock-mantle/openai.gpt-oss-120b", {"AWS_REGION": "eu-west-1"}, "https://bedrock-mantle.eu-west-1.api.aws/v1/responses"),
        ("bedrock-invoke/arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-opus-5-5", {"AWS_REGION": "eu-west-1"}, "https://bedrock-runtime.eu-west-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.anthropic.claude-opus-5-5/invoke"),
        ("databricks/databricks-claude-opus-5-5", {"DATABRICKS_HOST": "https://w.test"}, "https://w.test/serving-endpoints/anthropic/v1/messages"),
        ("databricks/databricks-claude-sonnet-4-5", {"DATABRICKS_HOST": "https://w.test"}, "https://w.test/serving-endpoints/chat/completions"),
        ("vertex/claude-opus-5-5", {"CLOUD_ML_REGION": "us-east5", "ANTHROPIC_VERTEX_PROJECT_ID": "p"}, "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-5-5:rawPredict"),
    ],
)  # fmt: skip
def test_where_each_model_is(model, environ, expected):
    """Claude has an address of its own where a cloud has other models at another one: no base URL and no dialect is needed."""
    keys = {model.partition("/")[0]: KEY}

    assert expected == str(sent(model, environ=environ, keys=keys).url)


@pytest.mark.parametrize(("location", "server"), [("global", "aiplatform"), ("us-east5", "us-east5-aiplatform")])  # fmt: skip
def test_interactions_at_vertex(location, server):
    """The same credentials as generateContent, at the path of a place and in the version that has the API."""
    environ = {"GOOGLE_CLOUD_LOCATION": location, "GOOGLE_CLOUD_PROJECT": "p", "VERTEX_ACCESS_TOKEN": "t"}  # fmt: skip
    request = sent("vertex/gemini-4-carbon", environ=environ, dialect="gemini-interactions")

    assert f"https://{server}.googleapis.com/v1beta1/projects/p/locations/{location}/interactions" == str(request.url)  # fmt: skip
    assert "Bearer t" == request.headers["authorization"]
    assert "2026-05-20" == request.headers["api-revision"]
    assert "gemini-4-carbon" == json.loads(request.content)["model"]


@pytest.mark.parametrize(
    ("model", "named"),
    [
        ("azure/claude-opus-5-5", "ANTHROPIC_FOUNDRY_RESOURCE"),
        ("azure/gpt-5.6", "AZURE_OPENAI_ENDPOINT"),
        ("bedrock-mantle/anthropic.claude-opus-5-5", "ANTHROPIC_BEDROCK_MANTLE_BASE_URL"),
    ],
)
def test_the_missing_place_of_a_model_is_named(model, named):
    with pytest.raises(iv.UsageError, match=named):
        sent(model, keys={model.partition("/")[0]: KEY})


SIGNING = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "eu-west-1"}


def test_claude_platform_on_aws():
    """Signed for a service of its own, or with a key; the workspace is in a header."""
    workspace = {"ANTHROPIC_AWS_WORKSPACE_ID": "wrkspc_1"}
    signed = sent("claude-aws/claude-opus-5-5", environ={**SIGNING, **workspace})
    keyed = sent("claude-aws/claude-opus-5-5", environ={"AWS_REGION": "us-east-1", "ANTHROPIC_AWS_API_KEY": "key"})  # fmt: skip

    assert "https://aws-external-anthropic.eu-west-1.api.aws/v1/messages" == str(signed.url)
    assert "/eu-west-1/aws-external-anthropic/aws4_request," in signed.headers["authorization"]
    assert "wrkspc_1" == signed.headers["anthropic-workspace-id"]
    assert "Bearer key" == keyed.headers["authorization"]
    assert "anthropic-workspace-id" not in keyed.headers


def test_a_workspace_that_is_no_header_is_refused():
    with pytest.raises(iv.UsageError, match="anthropic-workspace-id"):
        sent(
            "claude-aws/claude-opus-5-5", environ={**SIGNING, "ANTHROPIC_AWS_WORKSPACE_ID": "a\nb"}
        )


def test_claude_on_google_cloud():
    environ = {"GOOGLE_CLOUD_PROJECT": "p", "ANTHROPIC_GOOGLE_CLOUD_WORKSPACE_ID": "w", "GOOGLE_ACCESS_TOKEN": "t"}  # fmt: skip
    request = sent("claude-google/claude-haiku-5-5", environ=environ)

    assert "https://claude.googleapis.com/v1/projects/p/locations/global/workspaces/w/invoke/v1/messages" == str(request.url)  # fmt: skip
    assert "Bearer t" == request.headers["authorization"]


def test_invoke_model_is_signed():
    request = sent("bedrock-invoke/anthropic.claude-opus-5-5", environ=SIGNING)

    assert "/eu-west-1/bedrock/aws4_request," in request.headers["authorization"]


def test_vertex_has_a_global_place():
    environ = {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "global"}
    url = base_url_of(host_of("vertex"), environ)

    assert url.startswith("https://aiplatform.googleapis.com/v1/projects/p/locations/global")


@pytest.mark.parametrize(
    "host", [host for host in all_hosts() if "{" in host.base_url], ids=lambda host: host.id
)
def test_missing_places_are_named(host):
    with pytest.raises(iv.UsageError, match=f"no base URL for {host.id}") as caught:
        base_url_of(host, {})

    assert "base_url" in str(caught.value)


# ---- AWS -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "signed", "signature"),
    [
        (
            {"method": "GET", "url": "https://example.amazonaws.com/", "service": "service"},
            "host;x-amz-date",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            {"method": "POST", "url": "https://example.amazonaws.com/", "service": "service"},
            "host;x-amz-date",
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
        (
            {
                "method": "GET",
                "url": "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08",
                "headers": {"content-type": "application/x-www-form-urlencoded; charset=utf-8"},
                "service": "iam",
            },
            "content-type;host;x-amz-date",
            "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
        ),
    ],
    ids=["get-vanilla", "post-vanilla", "the documentation's example"],
)
def test_published_signatures(request_, signed, signature):
    call = {"headers": {}, "body": b"", "region": "us-east-1", "now": THEN, **request_}
    headers = signature_headers(EXAMPLE, **call)

    assert headers == {
        "x-amz-date": "20150830T123600Z",
        "authorization": "AWS4-HMAC-SHA256"
        f" Credential=AKIDEXAMPLE/20150830/us-east-1/{request_['service']}/aws4_request,"
        f" SignedHeaders={signed}, Signature={signature}",
    }


@pytest.mark.parametrize(
    ("session", "signature"),
    [
        (None, "d6a3421e64b89b057b3a9ca84bdb9730afa197c42c4d1761921793b08c92e204"),
        ("a/session+token==", "1ce5e1e219dcc465f9aff88348f4cb0374753ef095c506f1352e8bdf60673ea5"),
    ],
)
def test_signatures_are_those_of_botocore(session, signature):
    """Made with botocore 1.44.0: a colon in the path, a query, the token of a session."""
    headers = signature_headers(
        AwsKeys("access", "secret", session),
        method="POST",
        url="https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude-v1%3A0/converse?b=1&a=x%20y",
        headers={"content-type": "application/json"},
        body=b'{"a": 1}',
        region="eu-west-1",
        service="bedrock",
        now=1794744000.0,
    )

    assert headers["x-amz-date"] == "20261115T120000Z"
    assert headers["authorization"].endswith(f"Signature={signature}")


AWS = {
    "AWS_ACCESS_KEY_ID": "AKID",
    "AWS_SECRET_ACCESS_KEY": "very-secret",
    "AWS_SESSION_TOKEN": "session",
}


def test_bedrock_is_signed_with_static_keys():
    model = "bedrock/anthropic.claude-sonnet-4-5-v1:0"
    request = sent(model, environ={**AWS, "AWS_REGION": "eu-west-1"})

    assert request.url.raw_path == b"/model/anthropic.claude-sonnet-4-5-v1%3A0/converse"
    assert "/eu-west-1/bedrock/aws4_request" in request.headers["authorization"]
    assert "content-type;host;x-amz-date;x-amz-security-token" in request.headers["authorization"]
    assert request.headers["x-amz-security-token"] == "session"


def test_arn_is_one_segment_of_the_path():
    arn = "arn:aws:bedrock:eu-west-1:123:inference-profile/eu.anthropic.claude-v1:0"
    request = sent(f"bedrock/{arn}", environ={**AWS, "AWS_REGION": "eu-west-1"})

    assert b"%2Feu.anthropic.claude-v1%3A0/converse" in request.url.raw_path


def test_bearer_key_comes_before_a_signature():
    environ = {**AWS, "AWS_BEARER_TOKEN_BEDROCK": "bearer", "AWS_REGION": "eu-west-1"}

    assert (
        sent("bedrock/moonshot.kimi-k2", environ=environ).headers["authorization"]
        == "Bearer bearer"
    )


def test_chain_of_botocore(monkeypatch):
    found = SimpleNamespace(access_key="AKCHAIN", secret_key="hidden", token=None)
    session = SimpleNamespace(
        get_credentials=lambda: SimpleNamespace(get_frozen_credentials=lambda: found)
    )
    monkeypatch.setitem(sys.modules, "botocore", SimpleNamespace())
    monkeypatch.setitem(
        sys.modules, "botocore.session", SimpleNamespace(get_session=lambda: session)
    )
    cloud_credentials._aws_session.cache_clear()
    try:
        request = sent("bedrock/moonshot.kimi-k2", environ={"AWS_REGION": "eu-west-1"})
    finally:
        cloud_credentials._aws_session.cache_clear()

    assert "Credential=AKCHAIN/" in request.headers["authorization"]


# ---- Google ----------------------------------------------------------------------------------------


class Credentials:
    """As google-auth makes them: to be refreshed before they are good."""

    valid = False
    token = None

    def refresh(self, request):
        self.valid, self.token = True, "fresh-token"


@pytest.fixture
def google(monkeypatch):
    errors = SimpleNamespace(GoogleAuthError=KeyError)
    auth = SimpleNamespace(default=lambda scopes: (Credentials(), "p"), exceptions=errors)
    for name, module in {
        "google": SimpleNamespace(),
        "google.auth": auth,
        "google.auth.exceptions": errors,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    cloud_credentials._google_credentials.cache_clear()
    yield auth
    cloud_credentials._google_credentials.cache_clear()


GOOGLE = {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west4"}


def test_token_of_google_auth(google):
    assert (
        sent("vertex/gemini-3-pro", environ=GOOGLE).headers["authorization"] == "Bearer fresh-token"
    )


def test_token_of_google_auth_is_found_in_a_thread(google):
    """It may ask a server, and the event loop must not wait for that."""
    import threading

    found_in = []
    google.default = lambda scopes: (
        found_in.append(threading.current_thread()),
        (Credentials(), "p"),
    )[1]

    async def main():
        transport = httpx2.MockTransport(lambda request: httpx2.Response(200, content=BODY))
        async with httpx2.AsyncClient(transport=transport) as http:
            client = iv.AsyncClient(http=http, environ=GOOGLE)
            with pytest.raises(iv.DecodeError):
                await client.ask("vertex/gemini-3-pro", "Hi")

    asyncio.run(main())
    assert threading.main_thread() not in found_in
    assert found_in


def test_google_auth_that_finds_nothing(google):
    def default(scopes):
        raise KeyError("no credentials")

    google.default = default
    with pytest.raises(iv.UsageError, match="no key for vertex"):
        sent("vertex/gemini-3-pro", environ=GOOGLE)


@pytest.mark.parametrize(
    "url",
    [
        f"https://user:{KEY}@example.com/v1",
        f"https://{KEY}@example.com/v1",
        f"https://example.com/v1?key={KEY}",
        f"https://example.com/v1?api_key={KEY}",
        f"https://example.com/v1?api-version=1&api-key={KEY}",
        f"https://example.com/v1?access_token={KEY}",
        f"https://example.com/v1?X-Amz-Signature={KEY}",
        f"https://example.com/v1#token={KEY}",
    ],
)
@pytest.mark.parametrize(
    "use",
    [
        lambda url: iv.Client(base_url=url),
        lambda url: iv.Client(base_urls={"openai": url}),
        lambda url: iv.Client(keys={"openai": "k"}).ask("openai/gpt-5.6", "Hi", base_url=url),
        lambda url: iv.Request("openai/gpt-5.6", [iv.user("Hi")], base_url=url),
    ],
)
def test_key_in_a_base_url(url, use):
    """URLs are printed and logged."""
    with pytest.raises(iv.UsageError, match="api_key=") as raised:
        use(url)

    assert KEY not in f"{raised.value!r}"


def test_other_members_of_a_base_url():
    url = "https://example.com/v1?api-version=2026-01-01&monkey=1"
    assert iv.Request("openai/gpt-5.6", [iv.user("Hi")], base_url=url).base_url == url
