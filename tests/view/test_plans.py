"""The plan on its rows, and the next request as a difference to the last one."""

import json

import pytest

import innervoice as iv
from innervoice.view.plans import plan_view
from innervoice.view.rows import rows_of
from view.samples import answered, conversation, emulated, hand_made, seals_of, thinker, turn

CLAUDE = "anthropic/claude-fable-5-2"
TARGETS = [CLAUDE, "anthropic/claude-opus-4-6", "openai/gpt-5.6", "gemini/gemini-3-pro", "deepseek/deepseek-v4", "bedrock/us.anthropic.claude-sonnet-4-5-v1:0", "mistral/mistral-small-latest", "cohere/command-a-reasoning-08-2025", "ollama/qwen3:8b"]  # fmt: skip


def lines(view, op):
    return [line["text"] for line in view["request"] if line["op"] == op]


def marked(made, view):
    """What happens to which kind of row, by which rule."""
    rows = rows_of(made)
    return [
        (rows[int(n)]["turn"], rows[int(n)]["kind"], mark["action"], mark["rule"])
        for n, marks in view["marks"].items()
        for mark in marks
    ]


def test_thoughts_go_home_and_stay_elsewhere():
    made = emulated(CLAUDE)

    assert [(1, "thinking", "goes", "H1"), (3, "thinking", "goes", "H1")] == marked(
        made, plan_view(made, CLAUDE)
    )
    abroad = plan_view(made, "openai/gpt-5.6")
    assert [(1, "thinking", "stays", "H2"), (3, "thinking", "stays", "H2")] == marked(made, abroad)
    mark = abroad["marks"]["3"][0]
    assert "stays here" == mark["label"]
    assert "goes unchanged" == plan_view(made, CLAUDE)["marks"]["3"][0]["label"]
    assert "it came from anthropic/claude-fable-5-2" == mark["why"]
    assert [] == mark["problems"]  # the plan fixes it, and nobody has to do anything
    assert (
        "GPT-5.6 would get everything but 2 thoughts, which are Claude's and stay here; the prompt cache starts anew."
        == abroad["sentence"]
    )
    home = plan_view(made, CLAUDE)["sentence"]
    assert "Claude Fable 5.2 would get everything; the prompt cache is used." == home


def test_a_part_that_is_added_or_rewritten_is_marked():
    call = iv.ToolCall("a-very-long-id/with.odd:characters", "f", "{}")
    made = conversation(
        iv.user("x"), answered(call, finish_reason="tool_calls"), iv.tool_result(call.id, "1")
    )

    assert (1, "call", "added", "H4") in marked(made, plan_view(made, "gemini/gemini-3-pro"))
    assert (1, "call", "rewritten", "H6") in marked(
        made, plan_view(made, "mistral/mistral-small-latest")
    )


def test_findings_of_lint_are_on_their_place():
    made = conversation(iv.user("x"), iv.tool_result("nowhere", "1"), iv.user("y"))
    view = plan_view(made, CLAUDE)

    assert "result without call" == view["marks"]["3"][0]["problems"][0]["label"]
    assert "1 problem needs you" in [item["label"] for item in view["summary"]]
    assert "which no earlier message contains" in view["error"]


def test_what_is_not_part_of_the_history_stays():
    turns = [iv.user("x"), turn(answered(iv.Text("no")), marks=("abandoned",)), turn(iv.assistant("529"), marks=("api_error",)), iv.user("y")]  # fmt: skip
    view = plan_view(conversation(*turns), CLAUDE)

    assert [
        ["the user went back to a point before it"],
        ["it is an error that was only shown"],
    ] == [[mark["why"] for mark in view["marks"][n]] for n in ("2", "4")]
    assert '"no"' not in "\n".join(lines(view, "added"))


def test_a_summary_replaces_what_was_before_it():
    made = conversation(iv.system("s"), iv.user("old"), answered(iv.Text("older")), turn(iv.user("So far."), marks=("compaction",)), iv.user("new"))  # fmt: skip
    text = "\n".join(lines(plan_view(made, "deepseek/deepseek-v4"), "added"))

    assert [True, False, False, True, True] == [
        f'"{word}"' in text for word in ("s", "old", "older", "So far.", "new")
    ]


def test_the_next_request_is_a_difference_to_the_last_one():
    made = emulated(CLAUDE)
    view = plan_view(made, CLAUDE)

    assert (
        "Compared with the request before turn 4, to anthropic/claude-fable-5-2, as it would be written now."
        == view["compared"]
    )
    assert [] == lines(view, "removed")
    assert any("[your next message]" in line for line in lines(view, "added"))
    assert any("lines are the same" in line for line in lines(view, "same"))
    assert "error" not in view


def test_without_an_answer_all_of_it_is_new():
    view = plan_view(conversation(iv.user("x")), CLAUDE)

    assert "Nothing was sent before: the whole request is new." == view["compared"]
    assert [] == lines(view, "same") == lines(view, "removed")


def test_open_calls_get_a_place_for_their_results():
    made = hand_made()
    view = plan_view(made.replace(turns=made.turns[:2]), "anthropic/claude-opus-4-6")

    assert 2 == sum("[the result of the tool]" in line for line in lines(view, "added"))
    assert not any("your next message" in line for line in lines(view, "added"))


def test_the_cache_is_told():
    made = emulated(CLAUDE)
    good, lost = (
        next(
            item for item in plan_view(made, target)["summary"] if item["label"].startswith("cache")
        )
        for target in (CLAUDE, "openai/gpt-5.6")
    )

    assert ("cache reusable", "good") == (good["label"], good["tone"])
    assert ("cache lost", "warn") == (lost["label"], lost["tone"])
    assert "another model" in lost["why"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", ["anthropic/claude-fable-5-2", "openai/gpt-5.6", "gemini/gemini-3-pro", "openrouter/anthropic/claude-opus-4-6"])  # fmt: skip
def test_no_request_shows_a_seal_or_a_file(source, target):
    picture = "iVBORw0KGgo" * 30
    made = emulated(
        source, "How is Paris?", "And Rome?", behave="redact" if "claude" in source else ""
    )
    made = made.replace(
        turns=(*made.turns, turn(iv.user([iv.Text("See"), iv.Media("image/png", picture)])))
    )
    view = plan_view(made, target)
    text = json.dumps(view)

    assert not [seal for seal in seals_of(made) if seal in text]
    assert picture not in text
    assert view["request"] or view["error"]


def test_seals_and_files_are_shown_by_their_size():
    made = conversation(iv.user([iv.Text("x"), iv.Media("image/png", "A" * 16_000)]), answered(thinker("t", seal="S" * 436), iv.Text("y")), iv.user("z"))  # fmt: skip
    view = plan_view(made, "anthropic/claude-opus-4-6")
    text = "\n".join(line["text"] for line in view["request"])

    assert "<sealed, 436 bytes>" in text
    assert "<image/png, 12 kB>" in text or "are the same" in text


def test_a_block_that_nobody_has_read_shows_no_seal_either():
    block = {"type": "web_search_tool_result", "content": [{"encrypted_content": "E" * 90, "title": "t"}], "signature": "F" * 9}  # fmt: skip
    part = iv.Opaque(
        block, origin=iv.Origin(provider="anthropic", model="claude-opus-4-6", dialect="anthropic")
    )
    made = conversation(iv.user("x"), answered(part, iv.Text("y")), iv.user("z"))
    text = json.dumps(plan_view(made, "anthropic/claude-opus-4-6"))

    assert "web_search_tool_result" in text
    assert not [seal for seal in ("E" * 90, "F" * 9) if seal in text]


@pytest.mark.parametrize("target", ["", "x", "nobody/model", "anthropic/", "/", "anthropic", "a" * 5000, "\ud800/\n", "sk-ant-api03-abcdefghijkl"])  # fmt: skip
def test_a_target_that_is_none_is_said(target):
    view = plan_view(hand_made(), target)

    assert view["error"]
    assert "abcdefghijkl" not in view["error"]
    assert [] == view["request"]


def test_an_unknown_model_is_planned_and_said():
    view = plan_view(hand_made(), "anthropic/never-heard-of")

    assert "unknown model" == view["summary"][0]["label"]
    assert "error" not in view


@pytest.mark.parametrize("value", [None, [], "text", {"a": float("nan")}, {"type": 3}, {"type": "item_reference", "id": "x"}])  # fmt: skip
@pytest.mark.parametrize("target", TARGETS[:4])
def test_odd_blocks_are_planned_or_said(value, target):
    made = conversation(
        iv.user("x"), iv.Message("assistant", (iv.Opaque(value), iv.Text("y"))), iv.user("z")
    )
    view = plan_view(made, target)

    assert view["request"] or view["error"]
    json.dumps(view)


def test_a_source_without_settings_says_so():
    told = [item["label"] for item in plan_view(hand_made(), CLAUDE)["summary"]]

    assert "unknown settings" in told
    assert "unknown settings" not in [
        item["label"] for item in plan_view(emulated(CLAUDE), CLAUDE)["summary"]
    ]


def test_a_cache_that_is_partly_lost_names_the_turn():
    answer = answered(iv.Text("b"), provider="deepseek", model="deepseek-v4")
    summary = turn(iv.user("So far: b."), marks=("compaction",))
    made = conversation(iv.system("s"), iv.user("a"), answer, summary)
    told = next(
        item
        for item in plan_view(made, "deepseek/deepseek-v4")["summary"]
        if "cache" in item["label"]
    )

    assert "cache partly lost" == told["label"]
    assert "up to turn 4" in told["why"]


def test_what_was_written_for_one_host_is_not_sent_to_another():
    request = iv.Request(
        "openai/gpt-5.6", (), system="Be brief.", scope="acme", extra={"service_tier": "flex"}
    )
    made = conversation(iv.user("x"), request=request)

    assert "flex" in json.dumps(plan_view(made, "openai/gpt-5.6"))
    abroad = json.dumps(plan_view(made, "anthropic/claude-opus-4-6"))
    assert "flex" not in abroad
    assert "Be brief." in abroad
