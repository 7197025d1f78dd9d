"""The official SDK of OpenAI compacts a conversation through the gateway, whole, as a stream and at the path for it, and speaks over its WebSocket."""

import pytest

from gateway.harness import BEHIND, Served
from innervoice.gateway.in_thread import GatewayInThread

openai = pytest.importorskip("openai")

TASK = [
    {"role": "user", "content": "What is the weather in Lisbon?"},
    {"role": "assistant", "content": "It is sunny."},
]
TRIGGER = {"type": "compaction_trigger"}
QUESTION = {"role": "user", "content": "And in Oslo?"}


@pytest.fixture(scope="module")
def sdk():
    with GatewayInThread(Served().app) as server:
        yield openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0)


@pytest.mark.parametrize("model", BEHIND.values(), ids=BEHIND)
@pytest.mark.parametrize("way", ["whole", "stream", "path"])
def test_a_compaction_and_on(sdk, model, way):
    if way == "path":
        compacted = sdk.responses.compact(model=model, input=TASK)
        assert "response.compaction" == compacted.object
        items = compacted.output
        assert ["message", "compaction"] == [item.type for item in items]
    elif way == "whole":
        items = sdk.responses.create(model=model, input=[*TASK, TRIGGER], store=False).output
    else:
        with sdk.responses.stream(model=model, input=[*TASK, TRIGGER], store=False) as events:
            items = [event.item for event in events if event.type == "response.output_item.done"]
    assert "compaction" == items[-1].type
    kept = [
        item.model_dump(exclude_none=True, warnings=False) for item in items
    ]  # its types have no message of the user here
    answer = sdk.responses.create(model=model, input=[*kept, QUESTION], store=False)
    assert "completed" == answer.status
    assert answer.output_text


@pytest.mark.filterwarnings("ignore:connect\\(\\) must be used:DeprecationWarning")
@pytest.mark.parametrize("model", BEHIND.values(), ids=BEHIND)
def test_a_response_over_the_websocket(sdk, model):
    with sdk.responses.connect() as connection:
        connection.response.create(model=model, input="What is 15 * 23?", store=False)
        for event in connection:
            if event.type in ("response.completed", "error"):
                break
        assert "response.completed" == event.type
