"""What a call says must be said: no empty question, no role that nobody knows, and tools as functions."""

import contextlib
import json

import pytest

import innervoice as iv
from innervoice.emulator import Emulator, emulated_client

MODEL = "openai/gpt-5.6"
CALLED = [
    iv.user("The weather in Bonn?"),
    iv.Message("assistant", (iv.ToolCall("call_1", "get_weather", '{"city": "Bonn"}'),)),
    iv.tool_result("call_1", ""),
]


class Kept(Emulator):
    """An emulator that keeps the bodies that it got."""

    def __init__(self):
        super().__init__()
        self.bodies = []

    def reply(self, method, path, headers, body):
        self.bodies.append(json.loads(body))
        return super().reply(method, path, headers, body)


@pytest.mark.parametrize("messages", ["", "  ", "\n", [], (), [""], [iv.user("")], [iv.user([])], [{"role": "user", "content": ""}]], ids=repr)  # fmt: skip
def test_an_empty_question_is_an_error(messages):
    kept = Kept()
    with pytest.raises(iv.UsageError, match="expected a question"):
        emulated_client(kept).ask(MODEL, messages)
    with pytest.raises(iv.UsageError, match="expected a question"):
        emulated_client(kept).stream(MODEL, messages).__enter__()
    assert [] == kept.bodies


@pytest.mark.parametrize("messages", [CALLED, [iv.user("a"), iv.assistant("b"), iv.user(" ")]], ids=len)  # fmt: skip
def test_calls_alone_and_empty_results_are_none(messages):
    """Nor is a history whose last turn is blank: what may be sent of it, the plan says."""
    assert emulated_client().ask(MODEL, messages).ended


@pytest.mark.parametrize("member", ["previous_response_id", "conversation", "prompt"])
def test_a_request_that_goes_on_from_stored_state_may_say_nothing(member):
    kept = Kept()
    with contextlib.suppress(iv.ProviderError):  # the emulator stores no such thing
        emulated_client(kept).ask(MODEL, [], extra={member: "resp_1"})
    assert member in kept.bodies[0]


@pytest.mark.parametrize("role", ["usr", "User ", "bot2", "", "asistant"])
def test_a_role_that_nobody_knows_is_an_error(role):
    """It became the user's."""
    messages = [{"role": "user", "content": "a"}, {"role": role, "content": "b"}]
    words = f"expected the role system, user, assistant or tool in message 1, got {role!r}"
    for use in (lambda: emulated_client().ask(MODEL, messages), lambda: iv.plan(messages, MODEL), lambda: iv.lint(messages, MODEL), lambda: iv.repair(messages, MODEL)):  # fmt: skip
        with pytest.raises(iv.UsageError) as raised:
            use()
        assert words == str(raised.value)
    with pytest.raises(iv.UsageError, match="expected the role"):
        iv.Request(MODEL, [iv.Message(role, (iv.Text("a"),))])


@pytest.mark.parametrize("role", ["developer", "model", "function", "human", "critic"])
def test_words_of_single_apis_are_roles(role):
    messages = [{"role": "user", "content": "a"}, {"role": role, "content": "b"}]
    assert 2 == len(iv.plan(messages, MODEL).messages)


def test_functions_are_tools_of_a_single_call():
    """The model gets their names, their docstrings and their parameters; the caller runs them."""

    def get_weather(city: str, days: int = 1) -> str:
        """Returns the weather of a city."""
        return f"{city}: fog"

    kept = Kept()
    client = emulated_client(kept)
    answer = client.ask(MODEL, "The weather in Bonn?", tools=[get_weather])
    (call,) = answer.tool_calls
    assert ("get_weather", "Bonn") == (call.name, json.loads(call.arguments)["city"])
    (tool,) = kept.bodies[0]["tools"]
    assert ("get_weather", "Returns the weather of a city.") == (tool["name"], tool["description"])
    assert {"city", "days"} == tool["parameters"]["properties"].keys()
    with client.stream(MODEL, "The weather in Bonn?", tools=[get_weather]) as events:
        finished = [event for event in events if isinstance(event, iv.Finish)]
    assert "get_weather" == finished[0].response.tool_calls[0].name
