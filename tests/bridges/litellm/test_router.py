"""`Router`: names for deployments, retries on another one, fallbacks, and a rest for one that failed."""

import asyncio
import threading
import time

import pytest

from bridges.litellm.talk import SUM
from innervoice.bridges import litellm


def deployment(name, text, *, number=1, **params):
    """One that answers with a text, or fails with the error of that name."""
    own = {"model": "openai/gpt-4o", "mock_response": text, **params}
    info = {"id": f"{name} {number}: {text}"}
    return {"model_name": name, "litellm_params": own, "model_info": info}


def pair(text):
    """Two deployments that do the same."""
    return [deployment("smart", text, number=number) for number in (1, 2)]


BROKEN = "litellm.InternalServerError"


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """The seconds that this thread would have waited; servers of other tests go on in theirs."""
    seconds, sleep, sleep_async = [], time.sleep, asyncio.sleep

    def is_here():
        return threading.current_thread() is threading.main_thread()

    async def waited(wait):
        if not is_here():
            return await sleep_async(wait)
        return seconds.append(wait)

    monkeypatch.setattr(time, "sleep", lambda wait: seconds.append(wait) if is_here() else sleep(wait))  # fmt: skip
    monkeypatch.setattr(asyncio, "sleep", waited)
    return seconds


@pytest.fixture(params=["sync", "async"])
def ask(request):
    def asked(router, model="smart", **options):
        if request.param == "sync":
            return router.completion(model, [SUM], **options)
        return asyncio.run(router.acompletion(model, [SUM], **options))

    return asked


def text_of(response):
    return response.choices[0].message.content


def test_a_name(ask):
    router = litellm.Router(model_list=[deployment("smart", "a"), deployment("fast", "b")])
    assert "a" == text_of(ask(router))
    response = ask(router, "fast")
    assert "b" == text_of(response)
    assert "fast 1: b" == response._hidden_params["model_id"]


def test_a_stream():
    router = litellm.Router(model_list=[deployment("smart", "hello")])
    chunks = list(router.completion("smart", [SUM], stream=True))
    assert "hello" == "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def test_an_unknown_name(ask):
    with pytest.raises(litellm.BadRequestError, match=r"no deployment named 'x' .*\['smart'\]"):
        ask(litellm.Router(model_list=[deployment("smart", "a")]), "x")


def test_all_deployments_get_calls():
    """At random: with many calls each is used."""
    router = litellm.Router(model_list=[deployment("smart", text) for text in "abc"])
    assert {"a", "b", "c"} == {text_of(router.completion("smart", [SUM])) for _ in range(200)}


def test_weights():
    router = litellm.Router(
        model_list=[deployment("smart", "a", weight=1), deployment("smart", "b", weight=0)]
    )
    assert {"a"} == {text_of(router.completion("smart", [SUM])) for _ in range(50)}


def test_another_deployment_after_an_error(ask, waits):
    """At once; and the one that failed rests, so that later calls do not meet it."""
    router = litellm.Router(
        model_list=[deployment("smart", BROKEN, weight=10**9), deployment("smart", "b", weight=1)]
    )
    assert "b" == text_of(ask(router))
    assert [0.0] == waits
    assert "b" == text_of(ask(router))
    assert [0.0] == waits


def test_the_rest_ends(ask, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    router = litellm.Router(
        model_list=[deployment("smart", BROKEN, weight=10**9), deployment("smart", "b", weight=1)],
        cooldown_time=30,
        num_retries=0,
    )
    for passed, fails in [(0, True), (29, False), (2, True)]:
        now[0] += passed
        if fails:
            with pytest.raises(litellm.InternalServerError):
                ask(router)
        else:
            assert "b" == text_of(ask(router))


def test_nobody_is_ready(ask):
    router = litellm.Router(model_list=pair(BROKEN), num_retries=1)
    with pytest.raises(litellm.InternalServerError):
        ask(router)
    with pytest.raises(litellm.RouterRateLimitError, match="Try again in 5 seconds"):
        ask(router)


def test_the_only_deployment_is_tried_again(ask, waits):
    """After a growing time; it does not rest."""
    router = litellm.Router(model_list=[deployment("smart", BROKEN)], num_retries=3)
    for _ in range(2):
        with pytest.raises(litellm.InternalServerError):
            ask(router)
    assert [1.0, 2.0, 4.0] * 2 == waits


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"fallbacks": [{"smart": ["fast"]}]}, BROKEN),
        ({"default_fallbacks": ["fast"]}, BROKEN),
        ({"fallbacks": [{"*": ["fast"]}]}, BROKEN),
        ({"context_window_fallbacks": [{"smart": ["fast"]}]}, "litellm.ContextWindowExceededError"),
        (
            {"content_policy_fallbacks": [{"smart": ["fast"]}]},
            "litellm.ContentPolicyViolationError",
        ),
    ],
)
def test_fallbacks(ask, settings, error):
    listed = [deployment("smart", error), deployment("fast", "b")]
    router = litellm.Router(model_list=listed, num_retries=0, **settings)
    assert "b" == text_of(ask(router))


def test_no_fallback(ask):
    router = litellm.Router(
        model_list=[deployment("smart", BROKEN), deployment("fast", "b")],
        num_retries=0,
        fallbacks=[{"other": ["fast"]}],
    )
    with pytest.raises(litellm.InternalServerError):
        ask(router)
    assert "b" == text_of(ask(router, fallbacks=["fast"]))


def test_a_refused_request_is_not_repeated(ask, waits):
    router = litellm.Router(model_list=pair("litellm.ContextWindowExceededError"))
    with pytest.raises(litellm.ContextWindowExceededError):
        ask(router)
    assert [] == waits


def test_the_list_can_change():
    router = litellm.Router(model_list=[deployment("smart", "a")])
    assert ["smart"] == router.get_model_names()
    router.set_model_list([deployment("new", "n")])
    assert ["new"] == [item["model_name"] for item in router.get_model_list()]
    added = router.add_deployment({"model_name": "more", "litellm_params": {"model": "gpt-4o"}})
    assert {"new", "more"} == router.model_names
    assert [added] == router.get_model_list("more")
    assert router.get_model_list("smart") is None
    assert added == router.delete_deployment(added["model_info"]["id"])
    assert {"new"} == router.model_names


def test_a_deployment_without_a_model():
    with pytest.raises(ValueError, match="a deployment needs 'model_name' and 'litellm_params'"):
        litellm.Router(model_list=[{"model_name": "x"}])


def test_an_alias():
    router = litellm.Router(
        model_list=[deployment("smart", "a")], model_group_alias={"gpt-4": "smart"}
    )
    assert "a" == text_of(router.completion("gpt-4", [SUM]))


def test_what_it_passes_on(line):
    """The deployment's parameters, then the caller's; settings of the router are not sent."""
    given = line.options("deepseek/deepseek-v4", temperature=0.1, rpm=5)
    router = litellm.Router(
        model_list=[{"model_name": "smart", "litellm_params": given}],
        default_litellm_params={"top_p": 0.5},
    )
    response = router.completion("smart", [SUM], temperature=0.9, api_key=None, api_base=None)
    assert "345" in response.choices[0].message.content
    assert (0.9, 0.5) == (line.body["temperature"], line.body["top_p"])
    assert not {"rpm", "model_info", "num_retries"} & line.body.keys()


def test_settings_without_an_effect():
    with pytest.warns(UserWarning, match="without an effect in innervoice: redis_url"):
        litellm.Router(model_list=[], redis_url="redis://x", routing_strategy="simple-shuffle")


def test_methods_that_it_lacks():
    router = litellm.Router(model_list=[])
    assert not hasattr(router, "aembedding")
    with pytest.raises(AttributeError, match=r"no 'litellm\.router\.Router\.aembedding': use the"):
        router.aembedding(model="x", input=[])
