"""What programs see beside chat, held against the real litellm: callbacks, routers, text completions and their types."""

import inspect
import time
import types

import pytest

from bridges.litellm.talk import SUM, real_litellm
from innervoice.bridges import litellm

# The real one warns of things that are none of ours.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def theirs(monkeypatch):
    module = real_litellm()
    for name in ("callbacks", "success_callback", "failure_callback", "_async_success_callback"):
        monkeypatch.setattr(module, name, [])
    return module


@pytest.mark.parametrize("name", ["CustomLogger", "CustomLLM", "Router"])
def test_methods(theirs, name):
    """Every method that is here is there, with the same parameters that can be passed by name."""
    real, mine = getattr(theirs, name), getattr(litellm, name)
    for method, function in vars(mine).items():
        if method.startswith("_") or not callable(function):
            continue
        found = getattr(real, method)
        assert inspect.iscoroutinefunction(function) == inspect.iscoroutinefunction(found) or (
            name != "CustomLogger"
        )
        named = [
            parameter.name
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ]
        assert set(named) <= set(inspect.signature(found).parameters), method


def told(module, **options):
    """The kwargs of a success."""
    heard = []

    class Logger(module.integrations.custom_logger.CustomLogger):
        def log_success_event(self, kwargs, response_obj, start_time, end_time):
            heard.append((kwargs, response_obj, start_time, end_time))

    module.callbacks = [Logger()]
    try:
        module.completion(
            "openai/gpt-4o", [SUM], mock_response="x", temperature=0.5, user="u", **options
        )
        for _ in range(100):
            if heard:
                break
            time.sleep(0.05)
    finally:
        module.callbacks = []
    return heard[0]


def test_what_callbacks_are_told(theirs):
    """All that ours are told, litellm tells too, and the values are the same."""
    mine, my_response, *my_times = told(litellm, metadata={"a": 1})
    real, response, *times = told(theirs, metadata={"a": 1})
    assert set(mine) <= set(real)
    assert set(mine["litellm_params"]) <= set(real["litellm_params"])
    same = (
        "model messages input user stream custom_llm_provider call_type log_event_type temperature"
    )
    for name in same.split():
        assert mine[name] == real[name] or (name == "stream" and not real[name]), name
    assert mine["litellm_params"]["metadata"]["a"] == real["litellm_params"]["metadata"]["a"]
    assert [type(moment) for moment in my_times] == [type(moment) for moment in times]
    assert [moment.tzinfo for moment in my_times] == [moment.tzinfo for moment in times]
    assert my_response.model_dump().keys() == response.model_dump().keys()


@pytest.mark.parametrize("name", ["RetryPolicy"])
def test_settings(theirs, name):
    assert set(getattr(theirs, name).model_fields) == set(getattr(litellm, name).model_fields)


@pytest.mark.parametrize("name", ["ModelResponse", "Message", "Choices", "ModelResponseStream"])
def test_fields(theirs, name):
    """Every field that is here is there."""
    assert set(getattr(litellm, name).model_fields) <= set(getattr(theirs, name).model_fields)


@pytest.mark.parametrize("model", ["openai/gpt-4o", "anthropic/claude-sonnet-4-5", "nothing"])
@pytest.mark.parametrize("key", [None, "k"])
def test_environment(theirs, model, key):
    assert theirs.validate_environment(model, api_key=key) == (
        litellm.validate_environment(model, api_key=key)
    )


def test_kinds_of_names(theirs):
    """A dict is a dict, an error an error, a module a module, for every name that both have."""
    differ = {
        name
        for name in set(dir(theirs)) & set(dir(litellm))
        if not name.startswith("__")
        and kind_of(getattr(theirs, name)) != kind_of(getattr(litellm, name))
    }
    # A router's settings of a model there, the facts of a model here, which is litellm.types.utils.ModelInfo in both.
    assert {"ModelInfo"} == differ


def kind_of(value):
    if isinstance(value, types.ModuleType):
        return "module"
    if not isinstance(value, type):
        return "function" if callable(value) else "value"
    if hasattr(value, "__required_keys__"):
        return "dict"
    return "error" if issubclass(value, BaseException) else "class"


def test_hidden_facts_of_a_mock(theirs):
    """What programs read is there in both."""
    for module in (theirs, litellm):
        hidden = module.completion("gpt-4o", [SUM], mock_response="x")._hidden_params
        named = {
            "custom_llm_provider",
            "api_base",
            "model_id",
            "response_cost",
            "additional_headers",
        }
        assert named <= set(hidden)


def test_text_completion(theirs):
    made = [
        module.text_completion(prompt="x", model="gpt-3.5-turbo-instruct", mock_response="hello")
        for module in (theirs, litellm)
    ]
    dumps = [response.model_dump() for response in made]
    assert set(dumps[0]) <= set(dumps[1])
    assert dumps[0]["choices"] == dumps[1]["choices"]
    assert dumps[0]["usage"]["total_tokens"] == dumps[1]["usage"]["total_tokens"]


def test_responses(theirs):
    """A mock, with the members that litellm's has."""
    made = [
        module.responses(input="x", model="openai/gpt-4o", mock_response="hello")
        for module in (theirs, litellm)
    ]
    real, mine = (response.model_dump() for response in made)
    assert set(real) - set(mine) <= {"user", "store"}
    assert "hello" == made[0].output_text == made[1].output_text
    assert set(mine["output"][0]) <= set(real["output"][0])
    assert "hello" == mine["output"][0]["content"][0]["text"]


def test_a_router(theirs):
    """The same answers and errors for the same list."""
    listed = [
        {"model_name": "good", "litellm_params": {"model": "gpt-4o", "mock_response": "x"}},
        {
            "model_name": "bad",
            "litellm_params": {"model": "gpt-4o", "mock_response": "litellm.InternalServerError"},
        },
    ]
    for module in (theirs, litellm):
        router = module.Router(model_list=listed, num_retries=0, fallbacks=[{"bad": ["good"]}])
        assert "x" == router.completion("good", [SUM]).choices[0].message.content
        assert "x" == router.completion("bad", [SUM]).choices[0].message.content
        assert {"good", "bad"} == router.model_names
        assert ["good"] == [item["model_name"] for item in router.get_model_list("good")]
        with pytest.raises(module.BadRequestError):
            router.completion("none", [SUM])
        alone = module.Router(model_list=listed, num_retries=0)
        for _ in range(3):
            with pytest.raises(module.InternalServerError):
                alone.completion("bad", [SUM])


@pytest.mark.parametrize("kind", ["context_window_fallbacks", "fallbacks"])
def test_fallbacks(theirs, kind):
    """A model that is too small, and one that is not."""
    error = "litellm.ContextWindowExceededError"
    for module in (theirs, litellm):
        router = module.Router(
            model_list=[
                {"model_name": "small", "litellm_params": {"model": "gpt-4o", "mock_response": error}},
                {"model_name": "large", "litellm_params": {"model": "gpt-4o", "mock_response": "x"}},
            ],
            num_retries=0,
            **{kind: [{"small": ["large"]}]},
        )  # fmt: skip
        assert "x" == router.completion("small", [SUM]).choices[0].message.content
