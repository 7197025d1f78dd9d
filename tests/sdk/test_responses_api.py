"""All of the Responses API through the gateway with OpenAI's SDK: background, streams that go on, conversations, counts."""

import time

import pytest

from innervoice.client.embedded import embedded_async_http
from innervoice.emulator.routes import base_urls
from sdk.loops import Served
from sdk.test_gateway_loops import BEHIND, Behind, Counted
from sdk.test_stored_responses import gateway_for

openai = pytest.importorskip("openai")
pytest.importorskip("aiohttp")

MODELS = ("openai-responses", "anthropic", "gemini", "openai-chat", "mistral")
UPSTREAM = pytest.mark.parametrize("behind", MODELS)
SUM = "What is 15 * 23?"
ENDED = ("completed", "failed", "incomplete", "cancelled")


def client(at):
    return openai.OpenAI(base_url=f"{at.url}/v1", api_key="k", max_retries=0)


def polled(sdk, name):
    for _ in range(500):
        response = sdk.responses.retrieve(name)
        if response.status in ENDED:
            return response
        time.sleep(0.02)
    raise AssertionError(f"the response stays {response.status}")


@UPSTREAM
def test_background_and_poll(behind):
    with gateway_for(BEHIND[behind]) as (at, reports), client(at) as sdk:
        begun = sdk.responses.create(model="gpt-5.6", input=SUM, background=True)
        assert begun.status in ("queued", "in_progress")
        assert begun.background is True
        done = polled(sdk, begun.id)
        assert ("completed", True) == (done.status, "345" in done.output_text)
        assert done.usage.output_tokens > 0
        more = sdk.responses.create(model="gpt-5.6", input="Times two?", previous_response_id=done.id)  # fmt: skip
        assert more.status == "completed"
        assert sdk.responses.cancel(done.id).status == "completed", "it has ended already"
    assert [200, 200] == [report.status for report in reports]


@UPSTREAM
def test_background_and_stream_and_resume(behind):
    """The client leaves in the middle, and gets the rest of the events later."""
    with gateway_for(BEHIND[behind]) as (at, _), client(at) as sdk:
        events = []
        with sdk.responses.create(model="gpt-5.6", input=SUM, background=True, stream=True) as stream:  # fmt: skip
            for event in stream:
                events.append(event)
                if len(events) == 4:
                    break
        name = events[0].response.id
        rest = list(sdk.responses.retrieve(name, stream=True, starting_after=events[-1].sequence_number))  # fmt: skip
        numbers = [event.sequence_number for event in (*events, *rest)]
        assert list(range(len(numbers))) == numbers
        assert ["response.created", "response.queued", "response.in_progress"] == [event.type for event in events[:3]]  # fmt: skip
        assert "response.completed" == rest[-1].type
        assert "345" in rest[-1].response.output_text
        assert rest[-1].response == sdk.responses.retrieve(name)
        again = list(sdk.responses.retrieve(name, stream=True))
        assert numbers == [event.sequence_number for event in again]


@UPSTREAM
def test_retrieve_as_a_stream(behind):
    with gateway_for(BEHIND[behind]) as (at, _), client(at) as sdk:
        whole = sdk.responses.create(model="gpt-5.6", input=SUM)
        events = list(sdk.responses.retrieve(whole.id, stream=True))
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")  # fmt: skip
        assert (whole.output_text, whole) == (text, events[-1].response)


def test_cancel():
    """A model that answers slowly: the response is cancelled, and stays so."""
    from innervoice.gateway.app import Gateway, create_app
    from innervoice.gateway.config import GatewayConfig, NamedModel
    from innervoice.gateway.in_thread import GatewayInThread

    upstream = Served()
    gateway = Gateway(
        GatewayConfig(models=(NamedModel(name="gpt-5.6", to=("anthropic/claude-opus-5-5+slow=5",)),)),
        {},
        http=embedded_async_http(upstream),
        base_url_of=base_urls("http://emulator").get,
    )  # fmt: skip
    app = Behind(create_app(gateway), "openai", "openai-responses")
    with GatewayInThread(app) as server, client(Counted(server.url, upstream)) as sdk:
        begun = sdk.responses.create(model="gpt-5.6", input=SUM, background=True)
        cancelled = sdk.responses.cancel(begun.id)
        assert cancelled.status == "cancelled"
        assert sdk.responses.retrieve(begun.id).status == "cancelled"
        assert sdk.responses.cancel(begun.id).status == "cancelled"
        with pytest.raises(openai.BadRequestError, match="cancelled"):
            sdk.responses.create(model="gpt-5.6", input="Go on.", previous_response_id=begun.id)
        whole = sdk.responses.create(model="anthropic/claude-opus-5-5", input=SUM)
        with pytest.raises(openai.BadRequestError, match="synchronous"):
            sdk.responses.cancel(whole.id)


@UPSTREAM
def test_a_conversation_over_two_turns(behind):
    with gateway_for(BEHIND[behind]) as (at, reports), client(at) as sdk:
        talk = sdk.conversations.create(metadata={"topic": "sums"}, items=[{"role": "user", "content": "My name is Alice."}])  # fmt: skip
        first = sdk.responses.create(model="gpt-5.6", input=SUM, conversation=talk.id)
        assert ("345" in first.output_text, talk.id) == (True, first.conversation.id)
        with sdk.responses.stream(model="gpt-5.6", input="Times two?", conversation={"id": talk.id}) as stream:  # fmt: skip
            second = stream.get_final_response()
        items = list(sdk.conversations.items.list(talk.id, order="asc", limit=3))
        texts = [item.content[0].text for item in items if item.type == "message" and item.role == "user"]  # fmt: skip
        assert ["My name is Alice.", SUM, "Times two?"] == texts
        assert second.output[-1].id == items[-1].id
        thought = [report for report in reports[:-1] if report.usage.reasoning_tokens]
        assert reports[-1].kept >= len(thought), "what the model thought is back where it came from"


def test_objects_of_conversations():
    with gateway_for(BEHIND["anthropic"]) as (at, _), client(at) as sdk:
        talk = sdk.conversations.create(metadata={"topic": "demo"})
        assert talk == sdk.conversations.retrieve(talk.id)
        assert {"topic": "other"} == sdk.conversations.update(talk.id, metadata={"topic": "other"}).metadata  # fmt: skip
        added = sdk.conversations.items.create(talk.id, items=[{"role": "user", "content": str(number)} for number in range(20)])  # fmt: skip
        assert 20 == len(added.data)
        sdk.conversations.items.create(talk.id, items=[{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "20"}]}])  # fmt: skip
        items = list(sdk.conversations.items.list(talk.id, limit=8))
        assert [str(number) for number in range(20, -1, -1)] == [item.content[0].text for item in items]  # fmt: skip
        one = sdk.conversations.items.retrieve(items[3].id, conversation_id=talk.id)
        assert one == items[3]
        assert talk.id == sdk.conversations.items.delete(one.id, conversation_id=talk.id).id
        with pytest.raises(openai.NotFoundError):
            sdk.conversations.items.retrieve(one.id, conversation_id=talk.id)
        assert sdk.conversations.delete(talk.id).deleted
        with pytest.raises(openai.NotFoundError):
            sdk.conversations.retrieve(talk.id)
        with pytest.raises(openai.NotFoundError):
            sdk.responses.create(model="gpt-5.6", input="Hi", conversation=talk.id)


@UPSTREAM
def test_counts(behind):
    with gateway_for(BEHIND[behind]) as (at, _), client(at) as sdk:
        alone = sdk.responses.input_tokens.count(model="gpt-5.6", input="Hi")
        assert ("response.input_tokens", True) == (alone.object, alone.input_tokens > 0)
        first = sdk.responses.create(model="gpt-5.6", input="A long text. " * 200)
        more = sdk.responses.input_tokens.count(model="gpt-5.6", input="Hi", previous_response_id=first.id)  # fmt: skip
        assert more.input_tokens > alone.input_tokens + 400
