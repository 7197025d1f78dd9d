"""Programs on the AI SDK with its provider for compatible hosts, through the gateway to models that want their reasoning back."""

import pytest

from gateway.lossy import ANSWER, NEXT, QUESTION, each_loop, each_switch, lossy_gateway

ENDED = {"text": ANSWER, "calls": [2, 1, 0]}
# Who leads the loop: the SDK in its steps, or the program with the messages of each response.
each_lead = pytest.mark.parametrize(("sdk", "by"), [("ai", "steps"), ("ai-6", "messages")])


@each_loop
@each_lead
def test_a_tool_loop_has_its_real_reasoning(programs, sdk, by, model, streamed, gateways):
    """The program drops the reasoning with `pruneMessages`, as is advised for long conversations."""
    with lossy_gateway(gateways=gateways) as served:
        ended = programs.lead(sdk, served.url, QUESTION, [model] * 3, streamed=streamed, by=by, prunes=True)  # fmt: skip
    assert ENDED == ended
    served.check_loop(streamed=streamed)


@each_switch
def test_it_returns_the_words_alone_by_default(programs, model, streamed, gateways):
    """It returns `reasoning_content`, and nothing that has a seal: the seals are put back."""
    with lossy_gateway(gateways=gateways) as served:
        ended = programs.lead("ai", served.url, QUESTION, [model] * 3, streamed=streamed, by="steps", prunes=False)  # fmt: skip
    assert ENDED == ended
    turns = [turn for turn in served.requests[-1]["messages"] if turn["role"] == "assistant"]
    thought = [answer.thinking for answer in served.upstream.answers[:2]]
    assert thought == [turn["reasoning_content"] for turn in turns]
    assert {"role", "content", "reasoning_content", "tool_calls"} == set().union(*turns)
    served.check_loop(loses=False, streamed=streamed)


@each_switch
@pytest.mark.parametrize("prunes", [True, False])
def test_another_model_in_the_middle_of_a_loop_and_back(programs, model, streamed, gateways, prunes):  # fmt: skip
    """The second step goes to another model, which is not sent what the first one thought, and the third goes back."""
    models = [model, NEXT[model], model]
    with lossy_gateway(gateways=gateways) as served:
        ended = programs.lead("ai", served.url, QUESTION, models, streamed=streamed, by="steps", prunes=prunes)  # fmt: skip
    assert ENDED == ended
    served.check_switches(models, loses=prunes, streamed=streamed)
