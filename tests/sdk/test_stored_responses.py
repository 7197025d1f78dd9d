"""Stored responses through the gateway with OpenAI's SDK: loops that send an id in place of their history, to models of every provider."""

from contextlib import contextmanager

import pytest

from innervoice.client.embedded import embedded_async_http
from innervoice.emulator.routes import base_urls
from sdk.loops import STREAMED, Served, check
from sdk.test_emulator_loops_chat import responses_loop
from sdk.test_gateway_loops import BEHIND, Behind, Counted

openai = pytest.importorskip("openai")
pytest.importorskip("aiohttp")


@contextmanager
def gateway_for(model):
    """A gateway that sends gpt-5.6 elsewhere; gives its address, and the emulator behind it."""
    from innervoice.gateway.app import Gateway, create_app
    from innervoice.gateway.config import GatewayConfig, NamedModel
    from innervoice.gateway.in_thread import GatewayInThread

    upstream, reports = Served(), []
    gateway = Gateway(
        GatewayConfig(models=(NamedModel(name="gpt-5.6", to=(model,)),)),
        {},
        http=embedded_async_http(upstream),
        base_url_of=base_urls("http://emulator").get,
        log=reports.append,
    )
    with GatewayInThread(Behind(create_app(gateway), "openai", "openai-responses")) as server:
        yield Counted(server.url, upstream), reports


# tests/gateway/test_stored_responses.py has the other four.
MODELS = ("anthropic", "gemini", "openai-chat", "openai-responses")


@STREAMED
@pytest.mark.parametrize("behind", MODELS)
def test_a_loop_with_ids_alone(behind, streamed):
    with gateway_for(BEHIND[behind]) as (at, reports):
        ended = responses_loop(at, store=True, streamed=streamed)
    assert [report.status for report in reports] == [200] * 3
    if behind != "openai-responses":  # which has the conversation itself
        thought = [report for report in reports[:-1] if report.usage.reasoning_tokens]
        assert reports[-1].kept >= len(thought), "what the model thought is back where it came from"
    assert reports[-1].omitted == 0
    check(ended, at, shown=any(ended.thoughts))


@pytest.mark.parametrize(
    ("behind", "streamed"), [(behind, number % 2 == 0) for number, behind in enumerate(MODELS)]
)
def test_retrieve_list_and_delete(behind, streamed):
    with (
        gateway_for(BEHIND[behind]) as (at, _),
        openai.OpenAI(base_url=f"{at.url}/v1", api_key="k", max_retries=0) as sdk,
    ):
        request = {"model": "gpt-5.6", "input": "What is 15 * 23?", "metadata": {"run": "7"}}
        if streamed:
            with sdk.responses.stream(**request) as stream:
                first = stream.get_final_response()
        else:
            first = sdk.responses.create(**request)
        assert "345" in first.output_text
        found = sdk.responses.retrieve(first.id)
        assert (found.id, found.output_text) == (first.id, first.output_text)
        assert found.metadata == {"run": "7"}
        assert found.usage.output_tokens == first.usage.output_tokens

        second = sdk.responses.create(
            model="gpt-5.6", input="Times two?", previous_response_id=first.id
        )
        assert sdk.responses.retrieve(second.id).previous_response_id == first.id
        (item,) = sdk.responses.input_items.list(second.id)
        assert item.content[0].text == "Times two?"

        third = sdk.responses.create(
            model="gpt-5.6",
            input=[{"role": "user", "content": str(number)} for number in range(45)],
        )
        pages = sdk.responses.input_items.list(third.id, limit=20, order="asc")
        assert [str(number) for number in range(45)] == [one.content[0].text for one in pages]

        with pytest.raises(openai.BadRequestError, match="synchronous"):
            sdk.responses.cancel(second.id)
        sdk.responses.delete(first.id)
        with pytest.raises(openai.NotFoundError):
            sdk.responses.retrieve(first.id)
        with pytest.raises(openai.BadRequestError, match="not found") as caught:
            sdk.responses.create(model="gpt-5.6", input="Go on.", previous_response_id=first.id)
        assert caught.value.code == "previous_response_not_found"
