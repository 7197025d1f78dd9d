"""The gateway watches thoughts, and goes on with answers that broke off, for clients that know nothing of it."""

import asyncio
import json
from dataclasses import replace

import pytest

import innervoice as iv
from gateway.harness import BEHIND, TOOLS, Served, Upstream, body_of, read
from innervoice.emulator.core import Emulator
from innervoice.frames.sniff import AnyFraming
from innervoice.gateway.config import GatewayConfig, ModelReasoning, NamedModel
from innervoice.wire.dialects import DIALECTS, dialect_named

ASKED = "What is 15 * 23?"
ANSWER = "15 * 23 = 345."
FRONTS = ("anthropic", "openai-chat", "openai-responses", "gemini", "ollama", "bedrock-converse")
# Models whose reasoning is shown and can be switched off, one for each dialect.
WATCHED = {
    **BEHIND,
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-flash",
    "gemini-interactions": "interactions/gemini-2.5-flash",
    "ollama": "ollama/qwen3",
}


class Streaming(Upstream):
    """The emulator, whose pieces arrive one by one."""

    def __init__(self, emulate="", **options):
        super().__init__(Emulator(**options))
        self.emulate = emulate

    def reply(self, method, path, headers, body):
        headers = {**headers, "x-innervoice-emulate": f"size=60,{self.emulate}"}
        self.bodies.append(body)
        self.requests.append(json.loads(body or b"{}"))
        return self.emulator.reply(method, path, headers, body)


def serve(to, emulate="", *, upstream=None, goes_on=False, **reasoning):
    model = NamedModel(
        name="m",
        to=(to,) if isinstance(to, str) else tuple(to),
        reasoning=ModelReasoning(**reasoning),
        goes_on=goes_on,
    )
    config = GatewayConfig(models=(model,))
    return Served(config.replace(server=config.server.replace(retries=0)), upstream=upstream or Streaming(emulate))  # fmt: skip


def ask(served, front, *, stream=True, messages=(), **settings):
    settings.setdefault("reasoning", iv.Reasoning("high", show="summary"))
    settings.setdefault("max_tokens", 60_000)
    path, body = body_of(front, "m", messages or [iv.user(ASKED)], stream=stream, **settings)
    return asyncio.run(served.call("POST", path, body))


def complaints(dialect, data):
    framing = AnyFraming()
    frames = [*framing.feed(data), *framing.finish()]
    return [str(found) for found in dialect_named(dialect).grammar(None).check(frames)]


def notes(served):
    return [note.code for note in served.reports[-1].notes]


# ---- the thought -----------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("front", DIALECTS)
@pytest.mark.parametrize("behind", DIALECTS)
def test_a_loop_becomes_an_answer(front, behind, stream):
    """One well-formed answer in the client's dialect: the thought so far, then what was asked for."""
    served = serve(WATCHED[behind], "loops=200,full", loops="answer")
    reply = ask(served, front, stream=stream)
    answer = read(reply, front)

    assert 200 == reply.status
    # Interactions cannot switch this model off: it loops again, and the answer ends.
    is_stubborn = behind == "gemini-interactions"
    assert ("" if is_stubborn else ANSWER) == answer.text
    assert ("length" if is_stubborn else "stop") == answer.finish_reason
    if stream:
        assert [] == complaints(front, reply.body)
    assert "thinking_loops" in notes(served)
    assert 2 == len(served.upstream.bodies)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("front", DIALECTS)
def test_stop_is_a_proper_end(front, stream):
    served = serve(WATCHED["openai-chat"], "loops=200", loops="stop")
    reply = ask(served, front, stream=stream)
    answer = read(reply, front)

    assert 200 == reply.status
    assert "" == answer.text
    assert "length" == answer.finish_reason
    assert 1 == len(served.upstream.bodies)


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("front", FRONTS)
def test_note_changes_not_one_byte(front, stream):
    watched = serve(WATCHED["openai-chat"], "loops=200", loops="note")
    plain = serve(WATCHED["openai-chat"], "loops=200")
    one, other = (read(ask(served, front, stream=stream), front) for served in (watched, plain))

    assert (one.text, one.thinking) == (other.text, other.thinking)
    assert watched.upstream.bodies == plain.upstream.bodies
    assert "thinking_loops" in notes(watched)
    assert "thinking_loops" not in notes(plain)


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("behind", ["anthropic", "openai-chat", "gemini"])
def test_a_limit_ends_the_thought(front, behind):
    served = serve(WATCHED[behind], "rambles=20000,full,overruns", limit=1500)
    answer = read(ask(served, front), front)

    assert ANSWER == answer.text
    assert (
        6_000
        < sum(len(part.text) for part in answer.parts if isinstance(part, iv.Thinking))
        < 8_000
    )
    assert "thinking_cut_short" in notes(served)


def test_the_budget_of_a_server_comes_first():
    served = serve("vllm/Qwen/Qwen3-32B", "rambles=20000", limit=500)
    answer = read(ask(served, "openai-chat", reasoning=None), "openai-chat")

    assert ANSWER == answer.text
    assert [500] == [body.get("thinking_token_budget") for body in served.upstream.requests]
    assert "budget_limited" in notes(served)


def test_a_limit_is_no_reason_to_think():
    served = serve("anthropic/claude-sonnet-4-5", limit=2000)
    ask(served, "anthropic", reasoning=None)

    assert "thinking" not in served.upstream.requests[0]


def test_a_loop_is_counted_and_explained():
    served = serve(WATCHED["openai-chat"], "loops=200", loops="answer")
    reply = ask(served, "openai-chat")
    page = asyncio.run(served.call("GET", "/metrics")).body.decode()
    explained = served.ask("GET", f"/v1/explain/{reply.headers['x-innervoice-id']}").json

    assert 'innervoice_steered_total{provider="deepseek",why="loops"} 1' in page
    assert "thinking_loops" in [note["code"] for note in explained["notes"]]
    assert 2 == explained["attempts"]


@pytest.mark.parametrize("front", ["openai-chat", "anthropic", "openai-responses"])
def test_what_looped_is_not_sent_back(front):
    """In a tool loop, whose reasoning the model reads, the client sends back what it got; the model would go on where it was ended."""
    asked = iv.user("What is the weather in Lisbon?")
    served = serve(WATCHED["openai-chat"], "loops=200", loops="answer")
    answer = read(ask(served, front, messages=[asked], tools=TOOLS), front)
    (call,) = answer.tool_calls
    served.upstream.emulate = ""
    messages = [asked, answer.message, iv.tool_result(call.id, "sunshine")]
    again = ask(served, front, messages=messages, tools=TOOLS)

    assert 200 == again.status, again.body
    assert "check that once more" not in served.upstream.bodies[-1].decode()


def test_a_loop_that_nobody_watched_is_not_sent_back_either():
    """It comes from a client's history, and no store knows that it is one."""
    asked = iv.user("What is the weather in Lisbon?")
    unwatched = serve(WATCHED["openai-chat"], "loops=200")
    answer = read(ask(unwatched, "openai-chat", messages=[asked], tools=TOOLS), "openai-chat")
    (call,) = answer.tool_calls
    messages = [asked, answer.message, iv.tool_result(call.id, "sunshine")]

    for loops, is_sent in (("answer", False), ("note", True)):
        served = serve(WATCHED["openai-chat"], loops=loops)
        assert 200 == ask(served, "openai-chat", messages=messages, tools=TOOLS).status
        assert is_sent == ("check that once more" in served.upstream.bodies[-1].decode())
        assert is_sent == ("looped_thinking_omitted" not in notes(served))


# ---- a break ---------------------------------------------------------------------------------------

LONG = "It is 345: 15 times 20 is 300, and “45” more, if 3 < 4 and `<i>` is a tag.\n\n- 300\n- 45\n\nThat is  all."
GOING_ON = {
    "prefill, by default": "llamacpp/qwen3",
    "prefill, with members": "vllm/Qwen/Qwen3-32B",
    "prefill, without reasoning": "anthropic/claude-sonnet-4-5",
    "repeated, anthropic": "anthropic/claude-opus-5-5",
    "repeated, chat": "deepseek/deepseek-v4-pro",
    "repeated, responses": "openai/gpt-5.6",
    "repeated, gemini": "gemini/gemini-3.5-flash",
    "repeated, mistral": "mistral/mistral-small-latest",
    "repeated, ollama": "ollama/qwen3",
    "repeated, bedrock": "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
}


def cut_upstream(place, *more):
    """The first request gets so many bytes of its answer."""
    script = [{"think": "It is a product, so I add two.", "answer": LONG}]
    fails = [f"cut:{place}", *more, *[""] * 20]
    return Streaming("size=12", script=script, deviations=[{"server": {"fails": fails}}])


def served_cut(to, place, *more):
    return serve(to, upstream=cut_upstream(place, *more), goes_on=True)


def whole_length(to, front):
    """The bytes of the uncut stream."""
    served = served_cut(to, 10**6)
    sizes, reply_of = [], served.upstream.reply

    def reply(*arguments):
        answer = reply_of(*arguments)
        pieces = list(answer.pieces)
        sizes.append(sum(map(len, pieces)))
        return replace(answer, pieces=iter(pieces))

    served.upstream.reply = reply
    assert LONG == read(ask(served, front), front).text
    return sizes[0]


def text_of(reply, front):
    """The text that the client has, and whether it is told that this is all."""
    if reply.status != 200:
        return "", False
    assert [] == complaints(front, reply.body)
    try:
        answer = read(reply, front)
    except iv.ProviderError as error:
        return error.response.text if error.response else "", False
    return answer.text, answer.error is None and answer.ended


@pytest.mark.parametrize("how", GOING_ON)
def test_cut_at_every_byte(how):
    """The client's text is that of the uncut answer, or the answer ends in an error; no character is doubled or missing."""
    to = GOING_ON[how]
    front = "openai-chat" if "anthropic" in how else "anthropic"
    step = 1 if how == "repeated, ollama" else 29
    places = range(0, whole_length(to, front), step)
    whole = 0
    for place in places:
        text, is_whole = text_of(ask(served_cut(to, place), front), front)
        assert text == LONG if is_whole else LONG.startswith(text), place
        whole += is_whole

    assert whole > len(places) * 0.7


@pytest.mark.parametrize("front", DIALECTS)
def test_every_client_gets_one_answer(front):
    """Also in the middle of the text, streamed and whole."""
    length = whole_length("vllm/Qwen/Qwen3-32B", front)
    for place in range(length // 2, length, 101):
        for stream in (True, False):
            served = served_cut("vllm/Qwen/Qwen3-32B", place)
            answer = read(ask(served, front, stream=stream), front)
            assert LONG == answer.text
            assert "stop" == answer.finish_reason


@pytest.mark.parametrize(
    "other", ["vllm/Qwen/Qwen3-32B", "deepseek/deepseek-v4-pro", "mistral/mistral-small-latest"]
)
@pytest.mark.parametrize("first", ["llamacpp/qwen3", "deepseek/deepseek-v4-flash", "ollama/qwen3"])
def test_the_next_candidate_goes_on(first, other):
    """If the same upstream cannot."""
    length = whole_length(first, "anthropic")
    whole = 0
    for place in range(0, length, 37):
        served = served_cut([first, other], place, "503")
        text, is_whole = text_of(ask(served, "anthropic"), "anthropic")
        assert text == LONG if is_whole else LONG.startswith(text), place
        whole += is_whole
        if is_whole and place == length // 74 * 37:
            assert "answer_continued" in notes(served)
            assert other.partition("/")[2] == served.reports[-1].model

    assert whole > length // 37 * 0.7


def test_a_sealed_turn_goes_on_nowhere_else():
    """The text of another model behind a signature would not be the turn that was signed."""
    length = whole_length("anthropic/claude-opus-5-5", "anthropic")
    place = length - 700
    elsewhere = served_cut(["anthropic/claude-opus-5-5", "deepseek/deepseek-v4-pro"], place, "503")
    _, is_whole = text_of(ask(elsewhere, "anthropic"), "anthropic")
    assert not is_whole

    again = served_cut(["anthropic/claude-opus-5-5", "deepseek/deepseek-v4-pro"], place)
    assert (LONG, True) == text_of(ask(again, "anthropic"), "anthropic")


@pytest.mark.parametrize(
    "to", ["anthropic/claude-opus-5-5", "deepseek/deepseek-v4-pro", "openai/gpt-5.6"]
)
def test_never_inside_a_call(to):
    """A call that was cut off is an error, as without the setting."""
    script = [
        {
            "think": "I look.",
            "answer": "Let me look.",
            "call": {"name": "get_weather", "arguments": {"city": "Lisbon" * 40}},
        }
    ]
    for place in range(900, 3200, 230):
        upstream = Streaming(
            "size=9", script=script, deviations=[{"server": {"fails": [f"cut:{place}", *[""] * 9]}}]
        )
        served = serve(to, upstream=upstream, goes_on=True)
        reply = ask(served, "anthropic", tools=TOOLS)
        answer = reply.status == 200 and b"tool_use" in reply.body
        if answer and b"event: error" not in reply.body:
            (call,) = read(reply, "anthropic").tool_calls
            assert {"city": "Lisbon" * 40} == json.loads(call.arguments)
        assert len(upstream.bodies) <= 2


def test_without_the_setting_a_cut_is_a_cut():
    served = serve("llamacpp/qwen3", upstream=cut_upstream(2000))
    _, is_whole = text_of(ask(served, "anthropic"), "anthropic")

    assert not is_whole
    assert 1 == len(served.upstream.bodies)


def test_a_model_that_does_not_repeat_ends_in_an_error():
    """What it writes instead is not shown."""
    calls = []

    def script(messages, tools):
        calls.append(messages)
        return {
            "think": "Hm.",
            "answer": LONG if len(calls) == 1 else "Sorry, here is something else entirely. " * 20,
        }

    upstream = Streaming(
        "size=9", script=script, deviations=[{"server": {"fails": ["cut:3000", *[""] * 9]}}]
    )
    served = serve("deepseek/deepseek-v4-pro", upstream=upstream, goes_on=True)
    text, is_whole = text_of(ask(served, "anthropic"), "anthropic")

    assert not is_whole
    assert 10 < len(text) < len(LONG)
    assert LONG.startswith(text)


ROWS = "".join(f'{{"id": {n // 2}, "name": "the same name", "ok": true}}\n' for n in range(8))
REPETITIONS = {
    "less": lambda text, rest: text[-12:] + rest,
    "more": lambda text, rest: text[-64:] + rest,
    "nothing": lambda text, rest: rest,
    "in quotation marks": lambda text, rest: f'"{text[-40:]}"{rest}',
    "in a fence": lambda text, rest: f"```\n{text[-40:]}\n```\n{rest}",
}


@pytest.mark.parametrize("how", REPETITIONS)
def test_equal_rows_are_never_lost_or_doubled(how):
    """Whatever the second model repeats: the client gets the whole text, or is told that it broke off."""
    told = set()

    def script(messages, tools):
        if len(upstream.requests) == 1:
            return {"think": "Rows.", "answer": ROWS}
        said = upstream.requests[-1]["messages"][-2]["content"]
        return {"answer": REPETITIONS[how](said, ROWS[len(said) :])}

    for place in range(1800, 9000, 97):
        fails = [f"cut:{place}", *[""] * 9]
        upstream = Streaming("size=12", script=script, deviations=[{"server": {"fails": fails}}])
        served = serve("deepseek/deepseek-v4-pro", upstream=upstream, goes_on=True)
        text, is_whole = text_of(ask(served, "anthropic"), "anthropic")
        assert text == ROWS if is_whole else ROWS.startswith(text), place
        told.add(len(upstream.bodies) > 1 and not is_whole)

    assert True in told or how == "more"


def test_a_continued_turn_is_counted():
    served = served_cut("deepseek/deepseek-v4-pro", 3000)
    ask(served, "openai-chat")
    page = asyncio.run(served.call("GET", "/metrics")).body.decode()

    assert 'innervoice_steered_total{provider="deepseek",why="continued"} 1' in page
    assert 2 == served.reports[-1].attempts
    assert "answer_continued" in notes(served)


@pytest.mark.parametrize(("place", "restored"), [(10**6, 1), (2000, 0)])
def test_a_continued_turn_is_not_restored(place, restored):
    """For a client that dropped its reasoning, which is put back into other turns."""
    served = served_cut("anthropic/claude-opus-5-5", place)
    text, is_whole = text_of(ask(served, "openai-chat"), "openai-chat")
    assert is_whole
    assert ("answer_continued" in notes(served)) == (not restored)
    ask(served, "openai-chat", messages=[iv.user(ASKED), iv.assistant(text), iv.user("And?")])

    assert restored == served.reports[-1].restored
