"""The views of a stream: what is given out joins to the answer, and what is settled is never taken back."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from client.harness import KEY
from innervoice.client.text_stream import View

# Where the splitter is on: an unknown model at a server of one's own, one that stutters, one that starts inside thinking.
MODELS = ["some-model", "deepseek-r1t2-chimera", "qwq-32b", "glm-4.7", "gpt-oss-20b"]
PIECES = [
    "<think>", "</think>", "<thinking>", "</thinking>", "`", "``", "```", "\n", "\n\n", " ", "a", "word", "A sentence of some words.", ".",
    "{", "<answer>", "</answer>", "<|channel|>analysis<|message|>", "<|end|>", "<|channel|>final<|message|>", "~~~", "x.\n",
]  # fmt: skip


def frames(text, field, cuts):
    """A stream of chat whose content is cut at these places, with reasoning in a field before, within or not."""
    ends = sorted({*(cut % (len(text) + 1) for cut in cuts), 0, len(text)})
    deltas = [{"content": text[start:end]} for start, end in pairwise(ends)]
    if field is not None:
        deltas.insert(field % (len(deltas) + 1), {"reasoning_content": "A field."})
    for delta in deltas:
        yield {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def read(chunks, model, provider=None, dialect="openai-chat"):
    """The settled pieces, the live ones, the reasoning, and the response."""
    decoder = iv.StreamDecoder(provider=provider, model=model, dialect=dialect)
    firm, live, thinking = View("text"), View("text"), View("thinking")
    given_out = ([], [], [])
    for chunk in [*chunks, None]:
        events = decoder.finish() if chunk is None else decoder.feed_json(chunk)
        bound = None if chunk is None else decoder.settled
        given_out[0].extend(firm.feed(events, bound))
        given_out[1].extend(live.feed(events))
        given_out[2].extend(thinking.feed(events))
    return *given_out, decoder.response


def squeezed(text):
    return "".join(text.split())


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
    st.one_of(st.none(), st.integers(0, 5)),
    st.lists(st.integers(0, 300), max_size=30),
    st.sampled_from(MODELS),
)
def test_settled_text_is_the_answer(text, field, cuts, model):
    """Whatever comes: joined, the settled pieces are the answer, white space beside a cut aside."""
    firm, _, _, response = read(frames(text, field, cuts), model)

    assert squeezed(response.text) == squeezed("".join(firm))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=12), max_size=4))
def test_settled_text_of_several_blocks(blocks):
    """Each block of Bedrock is searched anew, and a later one may be recast though an earlier one is settled."""
    chunks = []
    for index, block in enumerate(blocks):
        chunks += [
            {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"text": piece}}}
            for piece in block
        ]
        chunks.append({"contentBlockStop": {"contentBlockIndex": index}})
    chunks.append({"messageStop": {"stopReason": "end_turn"}})
    firm, _, _, response = read(chunks, "moonshot.kimi-k2-thinking", "bedrock", "bedrock-converse")

    assert squeezed(response.text) == squeezed("".join(firm))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
    st.one_of(st.none(), st.integers(0, 5)),
    st.lists(st.integers(0, 300), max_size=30),
)
def test_without_a_splitter_views_are_exact(text, field, cuts):
    """At a host that separates reasoning all is settled at once, and joins to the very answer; but for blocks at its head."""
    firm, live, thinking, response = read(frames(text, field, cuts), "deepseek-v4", "deepseek")
    if text.strip().startswith("<"):
        assert squeezed(response.text) == squeezed("".join(firm))
        return

    assert response.text == "".join(firm) == "".join(live)
    assert (response.thinking or "") == "".join(thinking)
    assert firm == live


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["a", " b", "c ", " ", "\n", "-"]).map(
                lambda text: {"type": "text", "text": text}
            ),
            st.sampled_from(["Hmm.", " ", ""]).map(
                lambda text: {"type": "thinking", "thinking": text, "signature": "s"}
            ),
            st.just({"type": "tool_use", "id": "t", "name": "f", "input": {}}),
        ),
        max_size=8,
    )
)
def test_blocks_join_as_in_the_response(content):
    message = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "content": content,
        "stop_reason": "end_turn",
    }
    firm, live, thinking, response = read([message], "claude-opus-5", "anthropic", "anthropic")

    assert response.text == "".join(firm) == "".join(live)
    assert (response.thinking or "") == "".join(thinking)


def one_by_one(text, **hints):
    decoder = iv.StreamDecoder(dialect="openai-chat", model="some-model")
    view, given_out = View("text"), []
    for delta in [*({"content": character} for character in text), None]:
        chunk = {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": None}]}
        if hints.get("field") and not given_out:
            chunk["choices"][0]["delta"]["reasoning_content"] = "Hmm."
        given_out.append("".join(view.feed(decoder.feed_json(chunk), decoder.settled)))
    return given_out


def test_text_behind_reasoning_is_settled_at_once():
    pieces = one_by_one("<think>hm</think>\n\nYes, it is.")

    assert "Yes, it is." == "".join(pieces)
    assert pieces[-3] == "s"


def test_text_beside_a_field_is_settled_at_once():
    assert "Yes, it is." == "".join(one_by_one("Yes, it is.", field=True))


def test_text_without_reasoning_may_yet_be_reasoning():
    """A closing tag at its end would make it so; nothing is settled before the end."""
    assert "" == "".join(one_by_one("Is it? I think that it is so."))


def test_json_is_settled_at_once():
    assert '{"a": "b"}' == "".join(one_by_one('{"a": "b"}'))


def test_open_code_span_is_not_settled():
    """The rest of the line could turn out not to be code."""
    pieces = one_by_one("<think>x</think>Use `<think> and")

    assert "Use `" == "".join(pieces)


def test_a_stuttered_line_is_not_settled():
    """It goes with the closing tag behind it."""
    text = "<think>a</think>The answer, and more of it.\nx.\n</think>Rest."
    firm, _, _, response = read(frames(text, None, range(70)), "deepseek-r1t2-chimera")

    assert "x." not in response.text
    assert squeezed(response.text) == squeezed("".join(firm))


def test_a_closer_takes_back_live_text_only():
    text = "A thought of more than twenty characters</think>The answer."
    firm, live, _, response = read(frames(text, None, range(0, 60, 3)), "some-model")

    assert "The answer." == response.text == "".join(firm)
    assert "".join(live).startswith("A thought")
    assert "".join(live).endswith("The answer.")


def test_live_text_follows_a_recast_that_adds():
    firm, live, _, response = read(frames("The tag <think> opens", None, range(21)), "some-model")

    assert "The tag <think> opens" == response.text == "".join(live) == "".join(firm)


@pytest.mark.parametrize("settled", [True, False])
def test_views_start_at_the_beginning(settled, emulator):
    """Whatever was read before, and as often as one likes."""
    with iv.Client(base_urls=emulator.base_url, api_key=KEY) as client:
        with client.stream("vllm/qwen3-8b+inline", "What is 15 * 23?") as events:
            next(events)
            assert "".join(events.thinking()).strip() == events.response.thinking
            assert "".join(events.text(settled=settled)) == "15 * 23 = 345."
        assert "".join(events.text(settled=settled)) == "15 * 23 = 345."
        assert [*events][-1] == iv.Finish(events.response)


def test_linear():
    """Many pieces that stay unsettled are not put together again for each."""
    chunk = {"choices": [{"index": 0, "delta": {"content": "word\n"}, "finish_reason": None}]}
    decoder = iv.StreamDecoder(dialect="openai-chat", model="some-model")
    view = View("text")
    joins = 0
    for _ in range(3000):
        joins += len(view.feed(decoder.feed_json(json.loads(json.dumps(chunk))), decoder.settled))

    assert joins == 0
    assert "word\n" * 3000 == "".join(view.feed(decoder.finish()))
