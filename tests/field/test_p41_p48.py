"""P41 to P48: drafts in the reasoning, and tags in the text."""

import json
from itertools import pairwise

import httpx2
import pytest

import innervoice as iv
from field.situations import completion, frames, noted, read_both_ways
from innervoice import show
from innervoice.emulator import emulated_client
from innervoice.sources.opening import open_source
from innervoice.sources.stored import history_from

VLLM = {"provider": "vllm", "model": "some-model"}
QUESTION = "What is 15 * 23?"
THOUGHT = "First the tens, then the ones: 300 and 45."
DRAFT = '<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>'


def _playing(*bodies):
    """A client whose host responds with these bodies, one after the other."""
    answers = iter(bodies)
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=next(answers)))
    http = httpx2.Client(transport=transport)
    return iv.Client(http=http, base_url="http://gpu-1/v1", provider="vllm")


@pytest.mark.parametrize("where", ["field", "tags"])
def test_p41_a_draft_of_a_call_is_not_run(where):
    """P41. A tool call that the model only drafted in its reasoning is not run; the real one is, once.

    Elsewhere: a parser that searches the reasoning runs the draft too, or only the draft
    (https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1592, https://github.com/PrimeIntellect-ai/renderers/pull/80).
    Here: only the host's tool calls count; reasoning is text, and a draft before a real call is not reported either.
    Seen failing: Response.tool_calls adding the calls that are written in the reasoning.
    """
    asked = []

    def get_weather(city: str) -> str:
        """Tells the weather of a city."""
        asked.append(city)
        return f"{city}: rain"

    thought = f"I could ask for Rome, {DRAFT}, but it is Paris."
    message = {"content": "", "reasoning_content": thought} if where == "field" else {"content": f"<think>{thought}</think>"}  # fmt: skip
    function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    call = {"id": "c1", "type": "function", "function": function}
    client = _playing(
        completion(finish="tool_calls", tool_calls=[call], **message), completion("Rain.")
    )
    chat = client.conversation("some-model", tools=[get_weather])

    assert "Rain." == chat.ask("The weather in Paris?").text
    assert ["Paris"] == asked
    assert "call_candidate" not in noted(chat.responses[0])


def test_p41_a_draft_before_a_call_in_a_channel():
    """P41. In harmony channels a drafted call is reasoning, and only the call after it counts.

    Elsewhere: a draft in the analysis and the call after it are both found (https://github.com/PrimeIntellect-ai/renderers/pull/80).
    Here: one opaque part with the note call_in_text (rule S1), not run.
    Seen failing: the row of harmony without its recipient; call_notes looking into reasoning that led to something.
    """
    text = (
        f"<|channel|>analysis<|message|>Perhaps to=functions.get_weather {DRAFT}? No.<|end|><|start|>assistant"
        '<|channel|>commentary to=functions.get_weather<|constrain|>json<|message|>{"city": "Paris"}<|call|>'
    )
    response = read_both_ways(text, provider="vllm", model="gpt-oss-20b")

    assert ["thinking", "opaque"] == [part.type for part in response.parts]
    assert "call_in_text" in noted(response)
    assert "call_candidate" not in noted(response)
    assert "Paris" in json.dumps(response.parts[1].value)


REAL = '{"verdict": "yes", "why": "{\\"score\\": 3}"}'


@pytest.mark.parametrize(
    ("content", "field", "model"),
    [
        (f'<think>Maybe {{"verdict": "no"}}? Or {{"verdict"</think>\n{REAL}', "", "some-model"),
        (REAL, 'Draft: {"verdict": "no"}', "some-model"),
        (f'{{"verdict": "no"}} is what I would say at first.\n</think>\n\n{REAL}', "", "qwq-32b"),
    ],
    ids=["tags", "field", "opener in the prompt"],
)
def test_p42_only_the_real_json_is_the_answer(content, field, model):
    """P42. JSON drafted in the reasoning is not part of the answer, so the answer can be parsed.

    Elsewhere: the first brace is used, which is in the draft
    (https://github.com/garrytan/gbrain/issues/4640, https://github.com/langchain-ai/langchain-google/pull/2014).
    Here: r.text is only the answer, complete and streamed.
    Seen failing: Scanner giving up on the reasoning at its first brace.
    """
    response = read_both_ways(content, field=field, provider="vllm", model=model)

    assert json.loads(REAL) == json.loads(response.text)


@pytest.mark.parametrize("lead", ["", "\n  ", "<think>Hm.</think>\n"])
def test_p42_tags_inside_of_json_stay(lead):
    """P42. An answer that is a JSON object keeps the tags in its strings.

    Elsewhere: a member of the object loses its content, or the object is cut off (https://github.com/HKUDS/DeepTutor/pull/675).
    Here: a text that begins with a brace is unchanged (rule S2), also after reasoning and in code; an array cannot be
    distinguished from a link or a footnote, so its tags count.
    Seen failing: Scanner never leaving a text alone.
    """
    answer = '{"html": "<think>a</think>b", "note": "</think>"}'
    response = read_both_ways(lead + answer, **VLLM)

    assert json.loads(answer) == json.loads(response.text)
    assert ("Hm." if "Hm" in lead else None) == response.thinking


@pytest.mark.parametrize(
    "behave", ["inline", "inline=reasoning", "inline, unclosed", "inline, stutter"]
)
def test_p43_nobody_grades_titles_or_speaks_a_thought(behave):
    """P43. The answer contains no reasoning; after an unclosed block it is empty, with a status; the original text is available.

    Elsewhere: graders, title generators and speech output get the reasoning with the answer
    (https://github.com/huggingface/lighteval/issues/869, https://github.com/NousResearch/hermes-agent/issues/73962).
    Here: r.text, every output format with "none", and settled text of a stream are only the answer; iv.restore is the original.
    Seen failing: Response.text beginning with the reasoning; Events.text giving out what may still be recast.
    """
    client = emulated_client(headers={"x-innervoice-emulate": behave})
    with client.stream("vllm/deepseek-r1t2-chimera", QUESTION) as events:
        spoken = "".join(events.text(settled=True))
    response = events.response

    answer = "" if "unclosed" in behave else "15 * 23 = 345."
    assert answer == response.text.strip() == spoken.strip()
    assert ("answered" if answer else "stopped_inside_thinking") == response.status
    for form in ("plain", "markdown", "html", "discord"):
        assert "The user asks" not in "".join(show.render(response, form, "none"))
    assert "The user asks" in response.thinking
    assert iv.restore(response.parts).startswith(("<think>", "<reasoning>"))


TEXTS = [
    "<think>Mülltonne 🗑️ </think>Fünf 🚮.",
    "<mm:think>Hm.</mm:think>\nYes.",
    "Well, <thinking>hm</thinking> yes < no <thi> </thin>.",
    "A thought that is long enough to be one.</think>And the answer.",
    "Use `<think>` so, and <b>bold</b> <think",
]


@pytest.mark.parametrize("text", TEXTS)
def test_p44_every_cut_of_a_stream_gives_the_whole(text):
    """P44. However a stream is split, even within a character, the result is that of the complete text.

    Elsewhere: tags leak only in streams, when a tag falls on a chunk boundary
    (https://github.com/vllm-project/vllm/issues/45687, https://github.com/vllm-project/vllm/issues/39885).
    Here: the same code reads both, and holds back text that may still become a tag.
    Seen failing: Scanner holding nothing back.
    """
    whole = iv.decode(completion(text), **VLLM)
    pieces = [[text[:at], text[at:]] for at in range(len(text) + 1)] + [list(text)]
    pieces += [[text[one:other] for one, other in pairwise(range(0, len(text) + 8, 7))]]
    for cut in pieces:
        deltas = [{"content": piece} for piece in cut]
        streamed = iv.fold(iv.decode_stream(frames(deltas), **VLLM))
        assert [(part.type, part.text) for part in whole.parts] == [
            (part.type, part.text) for part in streamed.parts
        ], cut
    data = b"".join(frames([{"content": text}]))
    single = iv.fold(iv.decode_stream((data[at : at + 1] for at in range(len(data))), **VLLM))
    assert (whole.text, whole.thinking) == (single.text, single.thinking)


def _live(model, content, **hints):
    decoder = iv.StreamDecoder(provider="vllm", model=model, **hints)
    events = [event for frame in frames({"content": word} for word in content.split(" ")) for event in decoder.feed(frame)]  # fmt: skip
    return [*events, *decoder.finish()], decoder.response


def test_p45_the_opening_tag_stood_in_the_prompt():
    """P45. If only the closing tag arrives, the text before it is reasoning: from the start if the model is known, else by a Recast.

    Elsewhere: the reasoning is shown as the answer, with a stray tag
    (https://github.com/open-webui/open-webui/issues/11259, https://github.com/vercel/ai/issues/4920).
    Here: the model's row or prefix_open= makes it reasoning from the first word; else a Recast replaces the text that was
    shown. The note says which it was.
    Seen failing: Decoder ignoring the card's prefix_open; Splitter only removing an orphan closer.
    """
    content = f"{THOUGHT} </think> It is 345."
    known, response = _live("qwq-32b", content)
    assert "prefix_assumed" in noted(response)
    assert not [event for event in known if isinstance(event, iv.Recast)]
    assert ["First", "It"] == [
        next(event.text for event in known if isinstance(event, kind)).strip()
        for kind in (iv.ThinkingDelta, iv.TextDelta)
    ]
    guessed, other = _live("some-model", content)
    assert "orphan_closer" in noted(other)
    assert 1 == len([event for event in guessed if isinstance(event, iv.Recast)])
    hinted = iv.split(content, prefix_open=True)
    for result in (response, other, hinted, iv.fold(guessed[:-1])):
        assert (THOUGHT.replace(" ", ""), "Itis345.") == (
            result.thinking.replace(" ", ""),
            result.text.replace(" ", ""),
        )


def test_p45_a_wrong_guess_is_taken_back():
    """P45. If a model that should start inside its reasoning answers directly, the text becomes the answer, with a note.

    Elsewhere: the answer is shown as reasoning (https://github.com/theroyallab/tabbyAPI/issues/309).
    Here: without a closing tag the text is the answer: a Recast, and the note prefix_withdrawn.
    Seen failing: Splitter._finish_open keeping what a card opened.
    """
    events, response = _live("qwq-32b", "It is 345.")

    assert "Itis345." == response.text.replace(" ", "")
    assert "prefix_withdrawn" in noted(response)
    assert [event for event in events if isinstance(event, iv.Recast)]


def test_p46_a_block_that_never_closes():
    """P46. An unclosed tag at the beginning is incomplete reasoning and no answer; later in the text it is text.

    Elsewhere: the answer is lost, or the reasoning is shown and spoken
    (https://github.com/open-webui/open-webui/issues/15234, https://github.com/NousResearch/hermes-agent/issues/73962).
    Here: complete and streamed text follow the same rule (S4), and the part is marked as incomplete.
    Seen failing: Splitter._finish_open making text of both; then reasoning of both.
    """
    for lead in ("", "\n\n"):
        response = read_both_ways(f"{lead}<think>{THOUGHT}", **VLLM)
        assert ("", THOUGHT) == (response.text, response.thinking)
        assert [False] == [part.complete for part in response.parts if part.type == "thinking"]
        assert "stopped_inside_thinking" == response.status
    text = f"Open it with <think> and go on. {THOUGHT}"
    response = read_both_ways(text, **VLLM)
    assert (text, None, "answered") == (response.text, response.thinking, response.status)


LITERAL = [
    "Write `<think>` first and `</think>` last.",
    "Use ``<think>x</think>`` for it.",
    "```xml\n<think>plan</think>\n<answer>42</answer>\n```\nThat is all.",
    "~~~\n<think>\nplan\n</think>\n~~~\n",
    "> The model writes `<think>` here.\n\nSo it goes.",
    "The tag <think> opens a block; remember that.",
    'Its name is "<think>", as I said.',
]


@pytest.mark.parametrize("text", LITERAL)
def test_p47_an_answer_about_tags_is_whole(text):
    """P47. Tags in code, fences, quotes or prose that only mentions them do not change the answer.

    Elsewhere: the explanation ends where the tag begins, and streamed and complete text differ
    (https://github.com/raullenchai/Rapid-MLX/issues/1778, https://github.com/posit-dev/shinychat/pull/235).
    Here: code keeps its tags (rule S3), and so does an unclosed mention (S4). A complete pair in prose is treated as reasoning
    (S2: it cannot be distinguished), and iv.restore has the original.
    Seen failing: Scanner taking no notice of code; Splitter._finish_open keeping an opener in mid-text.
    """
    response = read_both_ways(text, **VLLM)

    assert (text, None) == (response.text, response.thinking)
    paired = iv.split('Say "<think>a</think>" now.')
    assert ("a", 'Say "<think>a</think>" now.') == (paired.thinking, iv.restore(paired.parts))


RULED = [
    ("<think>a<think>b</think>c</think>d", "abc", "d"),
    ("<think><think>a</think>b", "a", "b"),
    ("<think>a</think>b</think>c", "a", "b c"),
    ("<think>a</think></think>c", "a", "c"),
    ("<think>a</think>x<think>b</think>y", "a\n\nb", "x y"),
    ("<think>a</think><think>b</think>c", "a\n\nb", "c"),
    ("<think>a</thinking>b", "a", "b"),
    ("<think>a <reasoning> b</think>c", "a <reasoning> b", "c"),
    ("<think>a<think>b<think>c</think>d</think>e</think>f", "abcde", "f"),
    ("</think>b", None, "b"),
]


@pytest.mark.parametrize(("text", "thinking", "answer"), RULED, ids=[row[0] for row in RULED])
def test_p48_nested_and_repeated_blocks_by_a_written_rule(text, thinking, answer):
    """P48. Nested, repeated and re-opened blocks follow a written rule, and no closing tag is left in the answer.

    Elsewhere: with nested blocks either the first or the last closing tag counts, and a stray tag stays in the answer
    (https://github.com/kekzl/imp/pull/793, https://github.com/QwenLM/qwen-code/pull/10982).
    Here: rule S6 of docs/inline.md, for complete and streamed text; vectors/inline.json has the cases for other languages.
    Seen failing: Splitter counting no swallowed opener; Splitter leaving a spare closer in the text.
    """
    response = iv.split(text)
    splitter = iv.Splitter()
    events = [event for character in text for event in splitter.feed(character)]
    streamed = iv.fold([*events, *splitter.finish()])

    assert (thinking, answer) == (response.thinking, response.text)
    assert (thinking, answer) == (streamed.thinking, streamed.text)
    assert "</" not in response.text


@pytest.mark.parametrize("form", ["a list", "a request body", "a file"])
def test_p43_a_stored_turn_is_read_like_its_answer(form, tmp_path):
    """P43. Reasoning between tags in a stored history is not part of the answer, for the plan, for lint and for the viewer.

    Elsewhere: programs that read a log or a history take the reasoning for the answer, because only their reader of new answers splits it
    (https://github.com/open-webui/open-webui/issues/9348).
    Here: one rule splits answers and stored turns, and writing them back gives the same bytes.
    Seen failing: split_turn returning every message as it is.
    """
    text = "<think>Two and two.</think>Four."
    messages = [
        {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "content": text},
        {"role": "user", "content": "3 + 3?"},
    ]
    value = messages if form == "a list" else {"model": "qwen3-8b", "messages": messages}
    if form == "a file":
        path = tmp_path / "history.json"
        path.write_text(json.dumps(value))
        turn = open_source(path).conversation().messages[1]
    else:
        turn = history_from(value).messages[1]

    assert ("Four.", "Two and two.") == (turn.text, turn.thinking)
    assert text == iv.restore(turn.parts)
    assert ["inline_thinking"] == [problem.code for problem in iv.lint(messages, "vllm/qwen3-8b")]
    wire = iv.encode(iv.Request("vllm/qwen3-8b", [iv.user("2 + 2?"), turn, iv.user("3 + 3?")]))
    assert text == wire.body["messages"][1]["content"]
