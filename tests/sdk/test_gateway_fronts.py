"""The providers' own SDKs read the gateway's lists, counts and errors as those of the provider.

The server has no model behind it: whatever an SDK sends is read by the fronts and the limits, and listed, counted or refused.
"""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from innervoice.canon.jsontext import dump_json
from innervoice.gateway.credentials import sent_keys
from innervoice.gateway.endpoints import Missing, endpoint_of
from innervoice.gateway.errors import NO_KEY, refused, unknown_model
from innervoice.gateway.incoming import check_head, checked_body
from innervoice.gateway.limits import Limits
from innervoice.gateway.listings import (
    count_body,
    estimate,
    model_body,
    models_body,
    shown_model,
    version_body,
)
from innervoice.wire.refusals import Refused

NAMES = ["anthropic/claude-opus-5-5", "gemini/gemini-3.5-flash", "sonnet"]
NO_SUCH = "anthropic/claude-opus"
NEAREST = "did you mean anthropic/claude-opus-5-5?"
HI = [{"role": "user", "content": "What is 15 * 23?"}]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        data = self.rfile.read(int(headers.get("content-length", 0)))
        front = endpoint_of(self.command, path, query, headers)
        if isinstance(front, Missing):
            self.send(*refused(front.dialect, front.refusal))
            return
        try:
            self.send(200, {}, dump_json(self.listed(front, query, headers, data)))
        except Refused as error:
            self.send(*refused(front.dialect, error.refusal))

    do_GET = do_POST  # noqa: N815 - the name that http.server looks for

    def listed(self, front, query, headers, data):
        if [key.value for key in sent_keys(headers, query)] == ["none"]:
            raise Refused(NO_KEY)
        body = {}
        if self.command == "POST":
            check_head(headers, Limits())
            body = checked_body(data, Limits())
        name = front.model or shown_model(body)
        if front.verb in ("answer", "model", "show") and name not in NAMES:
            looked_up = front.verb != "answer"
            raise Refused(unknown_model(front.dialect, name, NAMES[:1], looked_up=looked_up))
        match front.verb:
            case "models":
                return models_body(front, NAMES)
            case "count":
                return count_body(front, estimate(body))
            case "version":
                return version_body(front)
            case _:
                return model_body(front, name)

    def send(self, status, headers, body):
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def url():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("base", ["", "/v1", "/anthropic", "/anthropic/"])
def test_anthropic(url, base):
    anthropic = pytest.importorskip("anthropic")
    with anthropic.Anthropic(api_key="a", base_url=url + base, max_retries=0) as sdk:
        assert NAMES == [model.id for model in sdk.models.list(limit=1000)]
        model = sdk.models.retrieve(NAMES[0])
        assert (NAMES[0], NAMES[0], 1970) == (model.id, model.display_name, model.created_at.year)
        assert sdk.messages.count_tokens(model=NAMES[0], messages=HI).input_tokens > 4
        with pytest.raises(anthropic.NotFoundError, match=f"model: {NO_SUCH}") as raised:
            sdk.messages.create(model=NO_SUCH, messages=HI, max_tokens=9)
        assert "not_found_error" == raised.value.body["error"]["type"]
        assert NEAREST in str(raised.value)
    with (
        anthropic.Anthropic(api_key="none", base_url=url + base, max_retries=0) as sdk,
        pytest.raises(anthropic.AuthenticationError, match="no key was sent"),
    ):
        sdk.models.list()


@pytest.mark.parametrize("base", ["", "/v1", "/openai-chat/v1"])
def test_openai_chat(url, base):
    openai = pytest.importorskip("openai")
    with openai.OpenAI(api_key="a", base_url=url + base, max_retries=0) as sdk:
        assert NAMES == [model.id for model in sdk.models.list()]
        assert NAMES[0] == sdk.models.retrieve(NAMES[0]).id
        with pytest.raises(openai.NotFoundError, match="did you mean") as raised:
            sdk.chat.completions.create(model=NO_SUCH, messages=HI)
        assert "model_not_found" == raised.value.code
        with pytest.raises(openai.NotFoundError, match="not served here"):
            sdk.embeddings.create(model="a", input="b")
    with (
        openai.OpenAI(api_key="none", base_url=url + base, max_retries=0) as sdk,
        pytest.raises(openai.AuthenticationError, match="no key was sent"),
    ):
        sdk.models.list()


def test_openai_responses(url):
    openai = pytest.importorskip("openai")
    with openai.OpenAI(api_key="a", base_url=f"{url}/v1", max_retries=0) as sdk:
        assert sdk.responses.input_tokens.count(model=NAMES[0], input=HI).input_tokens > 4
        with pytest.raises(openai.BadRequestError, match="does not exist") as raised:
            sdk.responses.create(model=NO_SUCH, input="hi")
        assert ("model_not_found", "model") == (raised.value.code, raised.value.param)


@pytest.mark.parametrize("base", ["", "/v1beta", "/gemini"])
def test_gemini(url, base):
    genai = pytest.importorskip("google.genai")
    from google.genai import errors

    sdk = genai.Client(api_key="a", http_options={"base_url": url + base})
    assert [f"models/{name}" for name in NAMES] == [model.name for model in sdk.models.list()]
    model = sdk.models.get(model=NAMES[1])
    assert (f"models/{NAMES[1]}", True) == (model.name, "countTokens" in model.supported_actions)
    counted = sdk.models.count_tokens(model=f"models/{NAMES[0]}", contents="What is 15 * 23?")
    assert counted.total_tokens > 4
    for ask in (sdk.models.generate_content, lambda **of: list(sdk.models.generate_content_stream(**of))):  # fmt: skip
        with pytest.raises(errors.ClientError, match="did you mean") as raised:
            ask(model=f"models/{NO_SUCH}", contents="hi")
        assert (404, "NOT_FOUND") == (raised.value.code, raised.value.status)


@pytest.mark.parametrize("base", ["", "/ollama"])
def test_ollama(url, base):
    ollama = pytest.importorskip("ollama")
    with ollama.Client(host=url + base) as sdk:
        assert NAMES == [model.model for model in sdk.list().models]
        shown = sdk.show(NAMES[0])
        assert ["completion", "tools", "thinking"] == shown.capabilities
        for ask in (sdk.chat, sdk.show):
            with pytest.raises(ollama.ResponseError, match="did you mean") as raised:
                ask(NO_SUCH)
            assert 404 == raised.value.status_code


@pytest.mark.parametrize("base", ["/cohere"])
def test_cohere(url, base):
    cohere = pytest.importorskip("cohere")
    with cohere.ClientV2(api_key="a", base_url=url + base) as sdk:
        assert NAMES == [model.name for model in sdk.models.list().models]
        assert NAMES[0] == sdk.models.get(NAMES[0]).name
        with pytest.raises(cohere.NotFoundError, match="did you mean"):
            sdk.chat(model=NO_SUCH, messages=HI)


def test_mistral(url):
    module = pytest.importorskip("mistralai.client")
    from mistralai.client import errors

    with module.Mistral(api_key="a", server_url=f"{url}/mistral") as sdk:
        assert NAMES == [model.id for model in sdk.models.list().data]
        assert NAMES[0] == sdk.models.retrieve(model_id=NAMES[0]).id
        with pytest.raises(errors.SDKError, match="did you mean") as raised:
            sdk.chat.complete(model=NO_SUCH, messages=HI)
        assert 400 == raised.value.status_code


@pytest.mark.parametrize("base", ["", "/bedrock-converse"])
def test_bedrock(url, base):
    boto3 = pytest.importorskip("boto3")
    session = boto3.session.Session(
        aws_access_key_id="dummy", aws_secret_access_key="dummy", region_name="us-east-1"
    )
    listing = session.client("bedrock", endpoint_url=url + base)
    summaries = listing.list_foundation_models()["modelSummaries"]
    assert NAMES == [summary["modelId"] for summary in summaries]
    sdk = session.client("bedrock-runtime", endpoint_url=url + base)
    for ask in (sdk.converse, sdk.converse_stream):
        with pytest.raises(sdk.exceptions.ValidationException, match="did you mean"):
            ask(modelId=NO_SUCH, messages=[{"role": "user", "content": [{"text": "hi"}]}])
