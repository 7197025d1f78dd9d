"""How a conversation is read: rows on demand, the outline, folded context, days, calls as people read them, Markdown as blocks."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import innervoice as iv
from innervoice.sources.conversation import Conversation, Turn
from innervoice.view.library import Library
from innervoice.view.markdown import blocks_of
from innervoice.view.outline import outline_of
from innervoice.view.rows import Timeline, rows_of
from view.calling import app_of, get
from view.session_files import session


def conversation(*messages, at=None, marks=()):
    turns = tuple(Turn(message=message, at=at, marks=marks) for message in messages)
    return Conversation(id="c", turns=turns)


def called(name, **arguments):
    call = iv.ToolCall("a", name, json.dumps(arguments))
    return rows_of(conversation(iv.Message("assistant", (call,))))[1]


# ---- rows on demand ----------------------------------------------------------------------------------------


def test_any_range_of_rows_is_the_same_as_in_all_of_them(tmp_path):
    (tmp_path / "s.jsonl").write_bytes(session(rounds=5))
    library = Library([tmp_path])
    timeline = library.rows(library.sources()["sources"][0]["first"])
    rows = list(timeline)

    assert [row["n"] for row in rows] == list(range(len(timeline)))
    for start in range(len(rows) + 1):
        for end in (start, start + 1, start + 4, len(rows) + 3):
            assert timeline[start:end] == rows[start:end]
    assert timeline[-1] == rows[-1]


def test_the_outline_has_a_letter_and_a_digit_for_each_row(tmp_path):
    (tmp_path / "s.jsonl").write_bytes(session("Why?", rounds=2))
    library = Library([tmp_path])
    app = app_of(library)
    id_ = library.sources()["sources"][0]["first"]
    outline = get(app, f"/api/outline/{id_}").json

    assert "Ux" + "HtcHr" * 2 + "Hx" == outline["kinds"]
    assert len(outline["kinds"]) == len(outline["sizes"]) == len(library.rows(id_))
    [chapter] = outline["chapters"]
    assert (0, "Why?") == (chapter["n"], chapter["title"])
    assert ["3 steps", "2 thoughts"] == [fact["label"] for fact in chapter["facts"]][:2]


def test_an_error_is_an_error_in_the_outline():
    failed = iv.Message("user", (iv.ToolResult("a", "no", error=True),))
    assert "Hr" == outline_of(Timeline(conversation(iv.tool_result("a", "x"))))["kinds"]
    assert "He" == outline_of(Timeline(conversation(failed)))["kinds"]


def test_the_beginning_of_a_large_file_is_shown_before_the_rest_is_read(tmp_path):
    lines = session("The first words", rounds=3_000)
    (tmp_path / "s.jsonl").write_bytes(lines)
    library = Library([tmp_path / "s.jsonl"])
    app = app_of(library)
    id_ = library.sources(limit=0)["sources"] or f"{library._places.all()[0].id}."
    early = get(app, f"/api/c/{id_}", "to=60&early=1").json
    whole = get(app, f"/api/c/{early['head']['id']}", "to=60").json
    again = get(app, f"/api/c/{early['head']['id']}", "to=60&early=1").json

    assert early["is_early"]
    assert 60 == len(early["rows"])
    assert [row["text"] for row in early["rows"]] == [row["text"] for row in whole["rows"]]
    assert [] == early["head"]["facts"]
    assert "is_early" not in whole
    assert "is_early" not in again  # it is read now
    assert whole["total"] > 9_000


def test_a_format_that_needs_its_end_is_read_whole(tmp_path):
    (tmp_path / "s.json").write_bytes(iv.to_json([iv.user("x" * 300_000)]))
    library = Library([tmp_path])
    assert library.early_rows(f"{library._places.all()[0].id}.", 60) is None


# ---- what is folded, what is said once -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "title"),
    [
        (iv.Message("system", (iv.Text("You are a helper."),)), "System prompt"),
        (iv.user("<system-reminder>\nBe brief.\n</system-reminder>"), "Context"),
        (iv.user("# AGENTS.md instructions\n\nx"), "Context"),
    ],
)
def test_what_nobody_said_is_folded_with_its_size(message, title):
    row = rows_of(conversation(message))[1]
    assert (True, title) == (row.get("is_aside"), row["title"])
    assert f"{len(message.text)} characters" in [fact["label"] for fact in row["facts"]]


def test_what_the_user_says_is_not_folded():
    row = rows_of(conversation(iv.user("What does <system-reminder> mean?")))[1]
    assert "is_aside" not in row


def test_the_day_is_said_once():
    noon = 1_794_900_000.0
    turns = [Turn(message=iv.user(str(n)), at=noon + hours * 3600) for n, hours in enumerate((0, 1, 30, 31))]  # fmt: skip
    rows = rows_of(Conversation(id="c", turns=tuple(turns)))
    days = [row.get("day") for row in rows if row["kind"] == "turn"]
    assert [bool(day) for day in days] == [True, False, True, False]
    assert "2026" in days[0]


def test_results_under_their_calls():
    call = iv.Message("assistant", (iv.ToolCall("a", "f", "{}"), iv.ToolCall("b", "f", "{}")))
    results = iv.Message("user", (iv.ToolResult("b", "2"), iv.ToolResult("a", "1")))
    rows = rows_of(conversation(call, results))
    assert [2, 1] == [row["call"] for row in rows if row["kind"] == "result"]
    assert rows[3]["is_nested"]
    alone = rows_of(conversation(results))
    assert "is_nested" not in alone[0]


def test_a_call_id_that_is_used_again_means_the_last_call_before():
    def step(text):
        return iv.Message("assistant", (iv.ToolCall("a", "f", "{}"),)), iv.tool_result("a", text)

    rows = rows_of(conversation(*step("1"), *step("2")))
    assert [1, 5] == [row["call"] for row in rows if row["kind"] == "result"]


# ---- calls -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        ({"command": "ls -l", "description": "List"}, "ls -l"),
        ({"cmd": "ls -l"}, "ls -l"),
        ({"command": ["bash", "-lc", "ls | wc"]}, "ls | wc"),
        ({"command": ["ls", "-l"]}, "ls -l"),
        ({"commands": ["ls", "pwd"]}, "ls\npwd"),
    ],
)
def test_a_command_is_a_command(arguments, first):
    row = called("Bash", **arguments)
    assert ["command", first] in row["blocks"]
    assert first.split("\n")[0] == row["first"]
    assert "Bash" == row["title"]
    assert arguments == json.loads(row["text"])  # as it was written


@pytest.mark.parametrize(
    ("old", "new"),
    [("old_string", "new_string"), ("oldString", "newString"), ("old_str", "new_str"), ("oldText", "newText")],
)  # fmt: skip
def test_an_edit_is_a_diff(old, new):
    row = called("Edit", **{"file_path": "a.py", old: "x = 1\ny = 2", new: "x = 1\ny = 3"})
    [arguments, diff] = row["blocks"]
    assert ["args", [["file_path", "a.py"]]] == arguments
    assert [["@", "@@ -1,2 +1,2 @@"], [" ", "x = 1"], ["-", "y = 2"], ["+", "y = 3"]] == diff[1]
    assert "a.py" in row["first"]


def test_several_edits_and_patches_are_diffs():
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]
    [_, diff] = called("MultiEdit", file_path="a.py", edits=edits)["blocks"]
    assert [["-", "a"], ["+", "b"], ["-", "c"], ["+", "d"]] == [line for line in diff[1] if line[0] != "@"]  # fmt: skip
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"
    [diff] = called("apply_patch", input=patch)["blocks"]
    assert [["-", "x"], ["+", "y"]] == [line for line in diff[1] if line[0] in "+-"]
    free = rows_of(conversation(iv.Message("assistant", (iv.ToolCall("a", "apply_patch", patch),))))
    assert diff == free[1]["blocks"][0]
    search = "------- SEARCH\nold\n=======\nnew\n+++++++ REPLACE"
    [_, diff] = called("replace_in_file", path="a", diff=search)["blocks"]
    assert [["-", "old"], ["+", "new"]] == diff[1]


def test_other_arguments_are_a_table():
    [arguments] = called("f", path="a.py", lines=[1, 2], deep={"x": None})["blocks"]
    assert ["args", [["path", "a.py"], ["lines", "[1,2]"], ["deep", '{"x":null}']]] == arguments


@given(st.text())
def test_any_arguments(text):
    for message in (iv.ToolCall("a", "f", text), iv.ToolCall("a", "f", json.dumps({"command": text, "diff": text, "old_str": text, "new_str": text[::-1]}))):  # fmt: skip
        json.dumps(rows_of(conversation(iv.Message("assistant", (message,)))))


# ---- Markdown ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("plain words", None),
        ("a - b, 2 * 3 * 4, snake_case_name", None),
        ("**b** and *i*", [["p", [["b", ["b"]], " and ", ["i", ["i"]]]]]),
        ("***both***", [["p", [["b", [["i", ["both"]]]]]]]),
        ("`a*b*`", [["p", [["code", "a*b*"]]]]),
        ("## Head", [["h", 2, ["Head"]]]),
        ("- a\n- b\n  - c", [["ul", [[["p", ["a"]]], [["p", ["b"]], ["ul", [[["p", ["c"]]]]]]]]]),
        ("3. a\n4. b", [["ol", 3, [[["p", ["a"]]], [["p", ["b"]]]]]]),
        ("> q", [["quote", [["p", ["q"]]]]]),
        ("```sh\nls *x*\n```", [["pre", "sh", "ls *x*"]]),
        ("```\nopen", [["pre", "", "open"]]),
        ("|a|b|\n|-|-|\n|1|2|", [["table", [[["a"], ["b"]], [["1"], ["2"]]]]]),
        ("[x](javascript:y)", [["p", [["link", ["x"], "javascript:y"]]]]),
        ("![x](https://e.invalid/a.png)", [["p", [["image", "x", "https://e.invalid/a.png"]]]]),
        ("\\*no\\*", None),
        ("---", [["hr"]]),
    ],
)
def test_markdown(text, blocks):
    read = blocks_of(text)
    if blocks is None:
        assert read is None or all(block[0] == "p" for block in read)
        assert "".join(read[0][1]) == text.replace("\\", "") if read else True
    else:
        assert blocks == read


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


@given(st.text(alphabet="xyz *_`#>-|[]()!\\~\n1.", max_size=200))
def test_nothing_that_was_written_is_lost(text):
    """Letters stay, in their order; only marks go."""
    read = blocks_of(text)
    shown = text if read is None else "".join(strings(read))
    assert [letter for letter in text if letter in "xyz"] == [letter for letter in shown if letter in "xyz"]  # fmt: skip


@pytest.mark.parametrize("bad", ["*" * 20_000, "_a" * 10_000, "[(" * 9_000, "- " * 9_000, "> " * 9_000, "**a " * 5_000, "`a``" * 5_000])  # fmt: skip
def test_hostile_text_ends(bad):
    json.dumps(blocks_of(bad))
