"""Stored interactions through the gateway with google-genai: loops that send an id in place of their history, to models of every provider."""

from contextlib import contextmanager

import pytest

from innervoice.client.embedded import embedded_async_http
from innervoice.emulator.routes import base_urls
from sdk.loops import STREAMED, Served, check
from sdk.test_gateway_loops import BEHIND, Behind, Counted
from sdk.test_interactions import MODEL, client, interactions_loop

genai = pytest.importorskip("google.genai")
pytest.importorskip("aiohttp")


@contextmanager
def gateway_for(model):
    """A gateway that sends the name of Gemini elsewhere; gives its address, and its reports."""
    from innervoice.gateway.app import Gateway, create_app
    from innervoice.gateway.config import GatewayConfig, NamedModel, UpstreamSettings
    from innervoice.gateway.in_thread import GatewayInThread

    upstream, reports = Served(), []
    gateway = Gateway(
        GatewayConfig(
            models=(NamedModel(name=MODEL, to=(model,)),),
            upstreams={
                "interactions": UpstreamSettings(provider="gemini", dialect="gemini-interactions")
            },
        ),
        {},
        http=embedded_async_http(upstream),
        base_url_of=base_urls("http://emulator").get,
        log=reports.append,
    )
    with GatewayInThread(Behind(create_app(gateway), "gemini", "gemini-interactions")) as server:
        yield Counted(server.url, upstream), reports


@STREAMED
@pytest.mark.parametrize("behind", BEHIND)
def test_a_loop_with_ids_alone(behind, streamed):
    with gateway_for(BEHIND[behind]) as (at, reports):
        ended = interactions_loop(at, stored=True, streamed=streamed)
    assert [report.status for report in reports] == [200] * 3
    if behind != "gemini-interactions":  # which has the conversation itself
        thought = [report for report in reports[:-1] if report.usage.reasoning_tokens]
        assert reports[-1].kept >= len(thought), "what the model thought is back where it came from"
    assert reports[-1].omitted == 0
    check(ended, at, shown=any(ended.thoughts))


@pytest.mark.parametrize("behind", ["anthropic", "gemini-interactions", "openai-responses"])
def test_get_and_delete(behind):
    errors = genai._gaos.lib.compat_errors
    with gateway_for(BEHIND[behind]) as (at, _), client(f"{at.url}/gemini") as sdk:
        first = sdk.interactions.create(model=MODEL, input="What is 15 * 23?")
        assert "345" in first.output_text
        found = sdk.interactions.get(first.id)
        assert (found.id, found.output_text) == (first.id, first.output_text)
        assert found.steps == first.steps

        second = sdk.interactions.create(
            model=MODEL, input="Times two?", previous_interaction_id=first.id
        )
        assert sdk.interactions.get(second.id).output_text == second.output_text
        sdk.interactions.delete(first.id)
        with pytest.raises(errors.NotFoundError):
            sdk.interactions.get(first.id)
        with pytest.raises(errors.NotFoundError):
            sdk.interactions.create(model=MODEL, input="Go on.", previous_interaction_id=first.id)
