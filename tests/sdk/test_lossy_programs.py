"""A program on the plain OpenAI SDK that keeps `role`, `content` and `tool_calls` alone, through the gateway to models that want their reasoning back."""

import pytest

from gateway.lossy import ANSWER, MODELS, NEXT, QUESTION, each_switch, lossy_gateway
from sdk.loops import FUNCTION, STREAMED, weather_of

openai = pytest.importorskip("openai")

GATEWAYS = pytest.mark.parametrize("gateways", [1, 3], ids=["one gateway", "three gateways"])


class Program:
    """What people write by hand: a list of messages, and what they know of an answer."""

    def __init__(self, url, *, streamed):
        self._client = openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0)
        self._streamed = streamed
        self.messages = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._client.close()

    def ask(self, question, models):
        """The answer to a question after its tools were run; each request goes to the next model."""
        self.messages.append({"role": "user", "content": question})
        for model in models:
            text, calls = self._asked(model)
            turn = {"role": "assistant", "content": text}
            self.messages.append(turn | ({"tool_calls": calls} if calls else {}))
            if not calls:
                return text
            self.messages += [{"role": "tool", "tool_call_id": call["id"], "content": weather_of(call["function"]["arguments"])} for call in calls]  # fmt: skip
        raise AssertionError("the model calls tools without an end")

    def _asked(self, model):
        settings = {"model": model, "messages": self.messages, "tools": [FUNCTION], "reasoning_effort": "high"}  # fmt: skip
        if not self._streamed:
            said = self._client.chat.completions.create(**settings).choices[0].message
            return said.content, [
                {"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": call.function.arguments}}
                for call in said.tool_calls or ()
            ]  # fmt: skip
        text, calls = "", {}
        for chunk in self._client.chat.completions.create(**settings, stream=True):
            delta = chunk.choices[0].delta if chunk.choices else None
            text += delta.content or "" if delta else ""
            for piece in (delta and delta.tool_calls) or ():
                call = calls.setdefault(piece.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})  # fmt: skip
                call["id"] = piece.id or call["id"]
                call["function"]["name"] += piece.function.name or ""
                call["function"]["arguments"] += piece.function.arguments or ""
        return text or None, list(calls.values())


@GATEWAYS
@STREAMED
@pytest.mark.parametrize("model", MODELS)
def test_a_tool_loop_has_its_real_reasoning(model, streamed, gateways):
    with (
        lossy_gateway(gateways=gateways) as served,
        Program(served.url, streamed=streamed) as program,
    ):
        assert ANSWER == program.ask(QUESTION, [model] * 3)
    served.check_loop(streamed=streamed)


@each_switch
def test_another_model_in_the_middle_of_a_loop_and_back(model, streamed, gateways):
    """The second request of the loop goes to another model, and so does a later question: each has its own reasoning again."""
    other = NEXT[model]
    with (
        lossy_gateway(gateways=gateways) as served,
        Program(served.url, streamed=streamed) as program,
    ):
        assert ANSWER == program.ask(QUESTION, [model, other, model])
        assert "2 + 2 = 4." == program.ask("What is 2 + 2?", [other])
        assert "3 + 2 = 5." == program.ask("What is 3 + 2?", [model])
    served.check_switches([model, other, model, other, model], streamed=streamed)
