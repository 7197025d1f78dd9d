"""Rows: every part in its place, and what is shown of it is what `show.render` shows."""

import json
import re
import time
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.canon.notes import Note
from innervoice.canon.origin import Markup
from innervoice.canon.response import Failure
from innervoice.show import render
from innervoice.show.visible import one_line
from innervoice.view.rows import head_facts, heads_of, rows_of, whole_text
from show.hostile import hostile
from view.samples import answered, brief, conversation, emulated, hand_made, seals_of, thinker, turn


def labels(facts):
    return [item["label"] for item in facts]


# ---- order, and nothing hidden -------------------------------------------------------------------


def test_every_part_is_a_row_in_wire_order_behind_the_head_of_its_turn():
    kinds = [(row["turn"], row["part"], row["kind"]) for row in rows_of(hand_made())]

    assert kinds == [
        (0, None, "turn"),
        (0, 0, "text"),
        (1, None, "turn"),
        (1, 0, "thinking"),
        (1, 1, "thinking"),
        (1, 2, "text"),
        (1, 3, "call"),
        (1, 4, "thinking"),
        (1, 5, "call"),
        (2, None, "turn"),
        (2, 0, "result"),
        (2, 1, "result"),
        (3, None, "turn"),
        (3, 0, "thinking"),
        (3, 1, "text"),
    ]


def test_adjacent_thoughts_stay_two():
    shown = brief(conversation(answered(thinker("one"), thinker("two"), iv.Text("3"))))

    assert [("thinking", "Thinking", "one"), ("thinking", "Thinking", "two")] == shown[1:3]


def test_an_empty_block_is_a_row_that_says_why():
    row = rows_of(hand_made())[13]

    assert ("Hidden reasoning", "", "sealed only") == (
        row["title"],
        row["text"],
        row["empty"]["word"],
    )
    assert "asks for a summary" in row["empty"]["why"]


def test_a_turn_with_thinking_alone_shows_it():
    made = conversation(answered(thinker("only this"), finish_reason="length"))

    assert [
        ("turn", "assistant", ""),
        ("thinking", "Thinking", "only this"),
        ("remark", "No answer", "[no answer: the token limit was reached while thinking]"),
    ] == brief(made)


def test_a_blank_text_is_a_row_and_says_so():
    blank, empty = rows_of(conversation(answered(iv.Text(" \n"), iv.Text(""))))[1:3]

    assert ("", ["blank"]) == (blank["text"], labels(blank["facts"]))
    assert ("", ["empty"]) == (empty["text"], labels(empty["facts"]))


def test_rows_are_numbered_and_heads_are_found_by_turn():
    made = conversation(iv.user("a"), answered(error=Failure(message="down")), iv.user("b"))
    rows = rows_of(made)

    assert list(range(len(rows))) == [row["n"] for row in rows]
    assert [row["n"] for row in rows if row["kind"] == "turn"] == heads_of(made)
    assert "[interrupted: down]" == whole_text(made, rows[3]["n"])


def test_results_point_at_their_calls_in_any_order():
    rows = rows_of(hand_made())
    results = [row for row in rows if row["kind"] == "result"]

    assert ["error from read_file", "result of read_file"] == [row["title"] for row in results]
    assert ["b.py", "a.py, lines=[1,2]"] == [rows[row["call"]]["first"] for row in results]


def test_a_call_without_a_result_says_so_unless_it_is_the_last_word():
    call = answered(iv.ToolCall("a", "f", "{}"), finish_reason="tool_calls")

    assert ["no result"] == labels(rows_of(conversation(call, iv.user("x")))[1]["facts"])
    assert [] == labels(rows_of(conversation(call))[1]["facts"])


# ---- what a row shows is what render shows ----------------------------------------------------------

origins = st.sampled_from([
    None,
    iv.Origin(provider="p", model="m", dialect="openai-chat", markup=(Markup(0, "<think>"),)),
    iv.Origin(provider="anthropic", model="claude-opus-4-6", dialect="anthropic", block={"type": "thinking", "signature": "SEAL" * 9}, seals=("signature",)),
])  # fmt: skip
jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | hostile,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile, inner, max_size=3),
    max_leaves=6,
)
media = st.builds(iv.Media, st.none() | hostile, st.none() | hostile, st.none() | hostile)
opaque = st.builds(
    iv.Opaque, jsons | st.fixed_dictionaries({"type": hostile | st.just("redacted_thinking")})
)
arguments = hostile | jsons.map(json.dumps)
content = hostile | st.lists(st.builds(iv.Text, hostile) | media | opaque, max_size=3).map(tuple)
parts = st.one_of(
    st.builds(iv.Text, hostile, st.booleans(), origins),
    st.builds(iv.Thinking, hostile, st.sampled_from(["full", "summary"]), st.booleans(), origins),
    st.builds(iv.Thinking, st.just(""), st.just("hidden"), st.booleans(), origins),
    st.builds(iv.ToolCall, hostile, hostile, arguments, st.booleans()),
    st.builds(iv.ToolResult, hostile, content, st.booleans()),
    media,
    opaque,
)


def unquoted(lines):
    """Lines of reasoning without the marks that plain text has before them."""
    assert all(line == ">" or line.startswith("> ") for line in lines)
    return "\n".join(line[2:] for line in lines)


def without_blanks(text):
    return "".join(text.split())


def check_beginning(text, shown):
    """Whether a line of render, which leaves out blanks and the end of long texts, is how a row's text begins."""
    whole = without_blanks(text)
    if shown.endswith("…") and whole != without_blanks(shown):
        assert whole.startswith(without_blanks(shown[:-1]))
    else:
        assert whole == without_blanks(shown)


@settings(deadline=None)
@given(st.lists(parts, max_size=5), st.sampled_from(["system", "user", "assistant", "tool"]))
def test_a_row_shows_what_render_shows_of_its_part(message_parts, role):
    """The contract of the page: part by part it shows what plain text shows, and where that is nothing, why."""
    message = iv.Message(role, tuple(message_parts))
    rows = rows_of(conversation(message))
    assert len(rows) == 1 + len(message_parts)
    for row, part in zip(rows[1:], message_parts, strict=True):
        check(row, part, render(iv.Message(role, (part,)), "plain"))
        json.dumps(row, allow_nan=False, ensure_ascii=False).encode()


def check(row, part, shown):
    head, *lines = shown.split("\n")
    match part:
        case iv.Text():
            assert row["text"] == shown
            assert shown or labels(row["facts"])[0] in ("blank", "empty")
        case iv.Thinking() if lines:
            title, _, facts = head.removesuffix("):").partition(" (")
            assert (row["title"], row["text"]) == (title, unquoted(lines))
            assert set(facts.split(", ")) <= set(labels(row["facts"]))
            assert "empty" not in row
        case iv.Thinking() | iv.Opaque() if head.startswith("Hidden reasoning") or not head:
            assert ("", True) == (row["text"], "empty" in row)
            assert row["title"] == ("Hidden reasoning" if head else "Thinking")
        case iv.ToolCall():
            check_beginning(
                row["text"], head.removeprefix(f"call {one_line(part.name)}(").removesuffix(")")
            )
        case iv.ToolResult():
            word = "error from" if part.error else "result of"
            assert row["title"].startswith(f"{word} ")
            check_beginning(row["text"], head.removeprefix(f"{word} a call: "))
        case _:
            assert row["text"] == shown


@settings(deadline=None)
@given(arguments)
def test_arguments_change_only_in_white_space_between_tokens(text):
    row = rows_of(conversation(answered(iv.ToolCall("a", "f", text))))[1]
    try:
        before = json.loads(text)
    except ValueError:
        return
    if not re.search(r"[^ -~]", text):
        assert repr(before) == repr(json.loads(row["text"]))


def test_arguments_are_on_lines_and_the_title_is_short():
    row = rows_of(hand_made())[6]

    assert '{\n  "path": "a.py",\n  "lines": [\n    1,\n    2\n  ]\n}' == row["text"]
    long = answered(iv.ToolCall("a", "f", json.dumps({"text": "x" * 5000})))
    assert len(rows_of(conversation(long))[1]["title"]) < 160


@pytest.mark.parametrize(
    "text", ['{"a": 1e999, "a": 00}', "{not json", '{"n": 1.10, "n": 2}', "[" * 300, '"{}"', "12"]
)
def test_arguments_that_are_odd_stay_as_they_are(text):
    row = rows_of(conversation(answered(iv.ToolCall("a", "f", text))))[1]

    assert without_blanks(text) == without_blanks(row["text"])


def test_a_long_text_is_cut_and_can_be_fetched_whole():
    text = "word " * 10_000
    made = conversation(iv.user("x"), answered(thinker(text), iv.Text("y")))
    row = rows_of(made)[3]

    assert (20_000, len(text.rstrip())) == (len(row["text"]), row["cut"])
    assert text.rstrip() == whole_text(made, 3)
    assert "y" == whole_text(made, 4)
    assert "" == whole_text(made, 0)
    for n in (-1, 5, 99):
        with pytest.raises(IndexError):
            whole_text(made, n)


def test_a_folded_thought_has_a_first_line_and_an_opening():
    row = rows_of(
        conversation(answered(thinker("\nI look at the first file now. Then more.\nSecond line.")))
    )[1]

    assert "I look at the first file now. Then more." == row["first"]
    assert "I look at the first file now. …" == row["opening"]


# ---- facts -------------------------------------------------------------------------------------------


def test_reasoning_tokens_are_on_a_thought_that_is_alone_and_in_all_otherwise():
    rows = rows_of(hand_made())

    assert [["200 tokens in all"], [], [], ["50 tokens"]] == [
        [label for label in labels(row["facts"]) if "token" in label]
        for row in rows
        if row["kind"] == "thinking"
    ]


def test_the_head_of_an_answer_tells_model_status_tokens_time_and_line():
    first = hand_made().turns[1].replace(seconds=12.34, at=0.0, line=7, marks=("injected",))
    facts = rows_of(conversation(first))[0]["facts"]
    line = labels(fact for fact in facts if not fact.get("rest"))
    rest = labels(fact for fact in facts if fact.get("rest"))

    assert re.fullmatch(r"\d\d:\d\d:\d\d", line.pop(1))
    assert ["written by the program", "claude-opus-4-6", "300 out", "12.3 s"] == line
    assert re.fullmatch(r"19(69|70)-\d\d-\d\d \d\d:\d\d:\d\d", rest.pop(4))
    assert ["calls tools", "1,200 in", "1,000 cached", "200 reasoning", "turn 1", "line 7"] == rest


@dataclass
class Ended:
    parts: tuple
    about: dict
    words: str
    tone: str | None


@pytest.mark.parametrize(
    "ended",
    [
        Ended((iv.Text("x"),), {}, "answered", None),
        Ended((iv.ToolCall("a", "f", "{}"),), {}, "calls tools", None),
        Ended((iv.Text("x"),), {"finish_reason": "length"}, "cut off at the token limit", "warn"),
        Ended(
            (thinker("x"),),
            {"finish_reason": "length"},
            "token limit reached before an answer",
            "bad",
        ),
        Ended((iv.Text("x"),), {"finish_reason": "refusal"}, "refused", "bad"),
        Ended((iv.Text("x"),), {"ended": False}, "interrupted", "bad"),
        Ended((thinker("x", complete=False),), {}, "stopped inside its thinking", "bad"),
        Ended((), {}, "no answer", "bad"),
    ],
    ids=lambda ended: ended.words,
)
def test_the_status_is_told_in_words(ended):
    facts = rows_of(conversation(answered(*ended.parts, **ended.about)))[0]["facts"]

    assert (ended.words, ended.tone) == (facts[1]["label"], facts[1].get("tone"))


def test_notes_are_on_the_head_with_their_sentence_and_without_keys():
    key = "sk-ant-api03-abcdefghijklmnop"
    notes = (Note("field_thinking"), Note("retried", f"Bearer {key}", 3))
    made = rows_of(conversation(answered(iv.Text("x"), notes=notes)))[0]["notes"]

    assert ["field_thinking", "retried ×3"] == labels(made)
    assert "The reasoning was received in a separate field." == made[0]["why"]
    assert "redacted" in made[1]["why"]
    assert key not in made[1]["why"]


def test_reasoning_from_the_text_a_summary_and_an_unfinished_block_say_so():
    inline = iv.Thinking("a", origin=iv.Origin(markup=(Markup(0, "<think>"),)))
    made = conversation(
        answered(inline, thinker("b", form="summary"), thinker("c", complete=False))
    )

    assert [
        ["1 character", "from the text"],
        ["summary", "1 character"],
        ["1 character", "unfinished"],
    ] == [labels(row["facts"]) for row in rows_of(made)[1:4]]


def test_an_image_of_five_types_can_be_shown_and_nothing_else():
    shown = [
        iv.Media("image/png", "iVBORw0KGgo="),
        iv.Media("image/svg+xml", "iVBORw0KGgo="),
        iv.Media("image/png", 'x"><script>'),
        iv.Media("image/png", url="https://evil.example/x.png"),
        iv.ToolResult("a", (iv.Text("see"), iv.Media("image/webp", "AAAA"))),
        iv.Media(url="data:image/gif;base64,R0lG"),
        iv.Media(url="data:text/html;base64,R0lG"),
    ]
    rows = rows_of(conversation(iv.Message("user", tuple(shown))))[1:]

    assert [
        "data:image/png;base64,iVBORw0KGgo=",
        None,
        None,
        None,
        "data:image/webp;base64,AAAA",
        "data:image/gif;base64,R0lG",
        None,
    ] == [row.get("image") for row in rows]


def test_times_and_names_that_are_none_break_nothing():
    odd = answered(iv.Text("\ud800"), model="\x1b[31m\ud800", provider="\u202e")
    made = conversation(
        *(turn(odd, at=at, seconds=at) for at in (float("nan"), float("inf"), -1e30, 1e300))
    )

    json.dumps(rows_of(made), allow_nan=False, ensure_ascii=False).encode()
    json.dumps(head_facts(made), allow_nan=False, ensure_ascii=False).encode()


def test_what_the_source_knows_of_the_request_is_above_the_rows():
    tool = iv.Tool("read_file", "Reads.", {"type": "object"})
    request = iv.Request(
        "anthropic/claude-opus-4-6",
        (),
        system="Be brief.",
        tools=[tool],
        reasoning=iv.Reasoning(effort="high", show="summary"),
    )
    facts = head_facts(conversation(iv.user("x"), request=request))

    assert ["1 turn", "system prompt", "1 tool", "reasoning high, shown as summary"] == labels(
        facts
    )
    assert "9 characters, beginning: Be brief." == facts[1]["why"]


# ---- seals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("behave", ["", "redact", "hide", "summarise, pieces=3", "silent"])
@pytest.mark.parametrize(
    "model",
    ["anthropic/claude-fable-5-2", "anthropic/claude-opus-4-6", "openai/gpt-5.6", "gemini/gemini-3-pro", "bedrock/us.anthropic.claude-sonnet-4-5-v1:0", "openrouter/anthropic/claude-opus-4-6", "deepseek/deepseek-v4"],
)  # fmt: skip
def test_no_row_holds_a_seal(model, behave):
    made = emulated(model, "How is Paris?", "And Rome?", behave=behave)
    rows = rows_of(made)
    text = json.dumps([rows, head_facts(made)])

    assert not [seal for seal in seals_of(made) if seal in text]
    hashes = [badge["hash"] for row in rows for badge in row["seals"]]
    assert all(re.fullmatch("[0-9a-f]{8}", one) for one in hashes)
    assert not [one for one in hashes for seal in seals_of(made) if one in seal.encode().hex()]
    assert sum(len(row["seals"]) for row in rows) == sum(
        bool(part.origin and part.origin.seals)
        for item in made.turns
        for part in item.message.parts
    )


# ---- a long session -----------------------------------------------------------------------------------


def long_session(steps=800):
    """Five parts a step: thought, text, call, result, and the user's word; all sealed and bound."""
    turns = []
    for number in range(steps):
        origin = f"a.b.{number}.c"
        thought = thinker(
            f"Step {number}. " + "I think about it. " * 60,
            seal="S" * 600,
            model="claude-fable-5-2",
            prefix=origin,
        )
        call = iv.ToolCall(f"call_{number}", "read_file", json.dumps({"path": f"{number}.py"}))
        turns.append(
            answered(
                thought,
                iv.Text("I look. " * 20),
                call,
                finish_reason="tool_calls",
                usage=iv.Usage(input_tokens=number, output_tokens=2, reasoning_tokens=1),
            )
        )
        turns.append(iv.Message("tool", (iv.ToolResult(f"call_{number}", "line\n" * 200),)))
        turns.append(iv.user("Go on."))
    return conversation(*turns, request=iv.Request("anthropic/claude-fable-5-2", (), system="x"))


def test_a_session_of_4000_parts_has_its_rows_in_under_a_second():
    made = long_session()
    started = time.process_time()
    rows = rows_of(made)
    taken = time.process_time() - started

    assert 4000 + 2400 == len(rows)
    assert taken < 1.0
