"""Paths that the gateway only passes on, as the official SDKs use them: embeddings, files, batches, uploads, realtime."""

import io
from contextlib import closing

import pytest

from gateway.provider import running_provider

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")
genai = pytest.importorskip("google.genai")
pytest.importorskip("aiohttp")


@pytest.fixture(scope="module")
def gateway():
    """The address of a gateway in front of a provider, and that provider."""
    from innervoice.gateway.app import Gateway, create_app
    from innervoice.gateway.config import GatewayConfig, ServerSettings, UpstreamSettings
    from innervoice.gateway.in_thread import GatewayInThread

    with running_provider() as provider:
        keys = ("env:KEY",)
        upstreams = {
            "openai": UpstreamSettings(base_url=f"{provider.url}/v1", keys=keys),
            "anthropic": UpstreamSettings(base_url=provider.url, keys=keys),
            "gemini": UpstreamSettings(base_url=f"{provider.url}/v1beta", keys=keys),
        }
        config = GatewayConfig(server=ServerSettings(other_paths="openai"), upstreams=upstreams)
        with GatewayInThread(create_app(Gateway(config, {"KEY": "sk-owner"}))) as server:
            yield server.url, provider


@pytest.fixture(params=["/v1", "/openai/v1"])
def sdk(request, gateway):
    """OpenAI's client with a base URL of the gateway; without a provider's name the configuration says which one."""
    with openai.OpenAI(base_url=gateway[0] + request.param, api_key="k", max_retries=0) as client:
        yield client


def test_embeddings(sdk, gateway):
    answer = sdk.embeddings.create(model="openai/text-embedding-3-small", input=["a"], encoding_format="float")  # fmt: skip
    assert [0.5, 0.25] == answer.data[0].embedding
    assert "Bearer sk-owner" == gateway[1].requests[-1][2]["authorization"]


def test_files_and_batches(sdk, gateway):
    file = sdk.files.create(file=("a.jsonl", io.BytesIO(b"{}\n" * 1000)), purpose="batch")
    assert "file-1" == file.id
    assert b"a.jsonl" in gateway[1].bodies[-1]
    batch = sdk.batches.create(input_file_id=file.id, endpoint="/v1/responses", completion_window="24h")  # fmt: skip
    assert "validating" == batch.status
    content = sdk.files.content(file.id)
    assert 5_000_000 == len(content.content)


@pytest.mark.filterwarnings("ignore:connect\\(\\) must be used:DeprecationWarning")
def test_realtime_over_a_websocket(sdk, gateway):
    with sdk.realtime.connect(model="gpt-realtime") as connection:
        assert "session.created" == connection.recv().type
        connection.send({"type": "response.create"})
        assert "response.create" == connection.recv().type, "the provider repeats what it is told"
    method, path, headers, _ = gateway[1].requests[-1]
    assert ("WS", "/v1/realtime?model=gpt-realtime") == (method, path)
    assert "Bearer sk-owner" == headers["authorization"]


def test_an_error_is_an_exception(sdk):
    with pytest.raises(openai.NotFoundError, match="no such path"):
        sdk.vector_stores.retrieve("vs_1")


def test_batches_of_messages(gateway):
    with anthropic.Anthropic(base_url=f"{gateway[0]}/anthropic", api_key="k", max_retries=0) as client:  # fmt: skip
        params = {"model": "claude-opus-5-5", "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}]}  # fmt: skip
        batch = client.messages.batches.create(requests=[{"custom_id": "a", "params": params}])
        assert "ended" == client.messages.batches.retrieve(batch.id).processing_status
    assert "sk-owner" == gateway[1].requests[-1][2]["x-api-key"]


def test_files_of_gemini(gateway, tmp_path):
    """An upload goes on at an address that the first answer names: the gateway's, not Google's."""
    address, provider = gateway
    file = tmp_path / "a.txt"
    file.write_bytes(b"abc" * 10_000)
    with closing(genai.Client(api_key="k", http_options={"base_url": f"{address}/gemini"})) as client:  # fmt: skip
        uploaded = client.files.upload(file=str(file))
    assert "files/1" == uploaded.name
    uploads = [item for item in provider.requests if "/upload/" in item[1]]
    begun, passed = (path for _, path, _, _ in uploads)
    assert f"{begun}?upload_id=7" == passed
    assert 30_000 == uploads[-1][3]
    assert {"sk-owner"} == {headers.get("x-goog-api-key") for _, _, headers, _ in uploads}
