"""Every chunking equals whole, nothing is lost, and events are legal: for any text."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from inline.streams import check_events, events_of
from inline.test_rules import ZERO_WIDTH
from innervoice.inline.formats import ROWS

ATOMS = [
    "<think>", "</think>", "<thinking>", "</thinking>", "<THINK>", "<mm:think>", "</mm:think>", "<reasoning>", "</reasoning>",
    '<think a="b">', "<think", "</thi", "<th", "<", "</", ">", "/>", "<think/>", "<b>", "<a:", "think", " ",
    "`", "``", "```", "````", "~~~", "\n", "\n\n", "    ", "\t", "\r\n",
    "a", "words and more ", "A sentence that is long enough.", "ok.", "{", "}", '"', "😀", "é", "\u200d", "\ud83d", "\x00",
    "<|channel|>", "analysis", "final", "commentary to=functions.x", "<|message|>", "<|constrain|>json", "<|end|>", "<|start|>assistant",
    "assistantfinal", "assistantcommentary to=functions.f json", "[THINK]", "[/THINK]", "◁think▷", "◁/think▷",
    "thought\n", "<|channel>thought", "<channel|>", "<tool_call>", "<answer>", "</answer>", "<from_id>u</from_id>", "<user>x</user>",
    "<message>", "</message>", "<analysis>", "</analysis>", "to=self<|message|>", "<|eom|>", "<|open|>think<|sep|>", "<|close|>think<|sep|>",
    "Here is my thought process:", "Here is my response:", "<|START_THINKING|>", "<|END_THINKING|>",
    "[", "]", "[true", "-", "1", "\ufeff", "<|channel>", "<|call|>", "commentary", "to=functions.f", "<|message_model|>", "<|content_thinking|>",
    "<|content_text|>", "<|end_message|>", "<|content_model_end_sampling|>", "<from_id>0b8f2c1e-5a5e-4a5a-9c3d-3f1a2b3c4d5e</from_id>", "<|",
]  # fmt: skip
COMMON = ATOMS[:42]
MODELS = [
    "qwq-32b",
    "glm-4.5-air",
    "deepseek-r1t2-chimera",
    "gpt-oss-20b",
    "gemma-4-9b",
    "kimi-k3",
    "qwen3:0.6b",
    "granite-3.2-8b",
    "inkling-1",
    "hy3-preview",
    "unheard-of",
]

texts = st.lists(
    st.sampled_from(COMMON) | st.sampled_from(ATOMS) | st.text(max_size=3), max_size=24
).map("".join)
hints = st.fixed_dictionaries(
    {},
    optional={
        "prefix_open": st.booleans(),
        "model": st.sampled_from(MODELS),
        "markup": st.lists(st.sampled_from(sorted(ROWS)), max_size=3, unique=True),
        "finish_reason": st.sampled_from(["stop", "length"]),
    },
)


@st.composite
def pieces_of(draw, text: str) -> list[str]:
    ends = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)) | {0, len(text)})
    return [text[start:end] for start, end in pairwise(ends)]


@settings(max_examples=600, deadline=None)
@given(st.data(), texts, hints)
def test_every_chunking_equals_whole(data, text, hints):
    """I1: parts, views and notes are the same however the text is cut."""
    whole = iv.split(text, **hints)
    pieces = data.draw(st.one_of(pieces_of(text), st.just(list(text))))

    splitter = iv.Splitter(**hints)
    events = [event for piece in pieces for event in splitter.feed(piece)] + splitter.finish()

    check_events(events)
    assert whole.parts == iv.fold(events).parts
    assert whole == splitter.response


@settings(max_examples=400, deadline=None)
@given(texts, hints)
def test_nothing_is_lost(text, hints):
    """I2 and I3: the text is rebuilt from the parts, also after storage."""
    whole = iv.split(text, **hints)

    assert text == iv.restore(whole.parts)
    assert whole == iv.from_json(iv.to_json(whole))


@settings(max_examples=300, deadline=None)
@given(texts, hints)
def test_views_hold_what_the_parts_hold(text, hints):
    """I3: answer and reasoning, blanks aside, are the characters of their parts. Zero-width characters are blank."""
    whole = iv.split(text, **hints)

    def squeezed(text: str) -> str:
        return "".join(text.split()).translate(dict.fromkeys(map(ord, ZERO_WIDTH)))

    def joined(kind: str) -> str:
        return "".join(part.text for part in whole.parts if part.type == kind)

    assert squeezed(joined("text")) == squeezed(whole.text)
    assert squeezed(joined("thinking")) == squeezed(whole.thinking or "")


@settings(max_examples=300, deadline=None)
@given(texts)
def test_off_changes_nothing(text):
    assert text == iv.split(text, inline="off").text


@settings(max_examples=200, deadline=None)
@given(st.data(), texts, hints)
def test_cut_anywhere_is_readable(data, text, hints):
    """I4: a stream that stops anywhere, without a finish, folds into what arrived."""
    end = data.draw(st.integers(0, len(text)))
    splitter = iv.Splitter(**hints)
    response = iv.fold([event for piece in text[:end] for event in splitter.feed(piece)])

    assert "interrupted" == response.status
    for part in response.parts[:-1]:
        assert part.complete
    assert len(iv.restore(response.parts)) <= end


def test_events_are_the_ones_named():
    """A splitter gives parts, deltas and recasts; the end of a stream is not its to say."""
    kinds = {type(event).__name__ for event in events_of(["A ", "<think>R</think> B", " <think>C"])}

    assert kinds == {"PartStart", "PartEnd", "TextDelta", "ThinkingDelta", "Recast"}
