"""Sessions of Gemini CLI: both formats, what was taken back or compressed, and subagents."""

import json

import pytest

import innervoice as iv
from innervoice.errors import DecodeError
from innervoice.sources.opening import open_source, paths_in
from sources.made_sessions import (
    AT,
    GEMINI_ANSWER,
    GEMINI_CALL,
    GEMINI_HEAD,
    GEMINI_QUESTION,
    GEMINI_STEP,
    SEAL,
    gemini_lines,
    gemini_object,
    lines,
    stamp,
)


def shown(turns):
    """Each turn in short: its role, its parts, its marks."""
    return [(turn.message.role, *map(words, turn.message.parts), *turn.marks) for turn in turns]


def words(part):
    match part:
        case iv.Thinking():
            return ("thinks", part.text)
        case iv.ToolCall():
            return ("calls", part.id, part.name, part.arguments)
        case iv.ToolResult():
            return ("result", part.call_id, part.content)
        case iv.Text():
            return part.text


TURNS = [
    ("user", "Which files are here?"),
    (
        "assistant",
        ("thinks", "**Listing**\n\nThe folder must be listed."),
        ("thinks", "**Tool**\n\nThere is a tool for it."),
        "I look.",
        ("calls", "call_1", "list_directory", '{"path":"."}'),
    ),
    ("tool", ("result", "call_1", "a.txt")),
    ("assistant", ("thinks", "**Answering**\n\nThere is one."), "One file: a.txt."),
]


@pytest.mark.parametrize("made", [gemini_lines, gemini_object])
def test_both_formats_hold_the_same_turns(made):
    source = open_source(made())
    conversation = source.conversation()

    assert (source.kind, source.troubles) == ("gemini-cli", [])
    assert (conversation.id, conversation.title) == ("5e551011-aaaa", "Which files are here?")
    assert TURNS == shown(conversation.turns)
    assert [AT + second for second in (1, 2, 3, 4)] == [turn.at for turn in conversation.turns]


def test_the_entry_is_known_before_the_conversation_is_read():
    (entry,) = open_source(gemini_lines()).entries

    assert (entry.id, entry.title, entry.at, entry.model) == (
        "5e551011-aaaa", "Which files are here?", AT, "gemini-3-pro-preview",
    )  # fmt: skip


def test_an_answer_has_its_tokens_as_all_providers_count_them():
    """Gemini counts thoughts beside the output, and what its tools read beside the input."""
    answer = open_source(gemini_lines()).conversation().turns[1].answer

    assert (answer.provider, answer.model) == ("gemini", "gemini-3-pro-preview")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (105, 50)
    assert (answer.usage.reasoning_tokens, answer.usage.cached_input_tokens) == (30, 40)
    assert answer.status == "tool_calls"


def test_thoughts_are_summaries_and_name_their_author():
    thoughts = [
        part
        for turn in open_source(gemini_lines()).conversation().turns
        for part in turn.message.parts
        if isinstance(part, iv.Thinking)
    ]

    assert {"summary"} == {thought.form for thought in thoughts}
    assert {("gemini", "gemini-3-pro-preview")} == {
        (thought.origin.provider, thought.origin.model) for thought in thoughts
    }


def test_a_message_that_is_written_again_is_one_turn_with_its_first_line():
    turns = open_source(gemini_lines()).conversation().turns

    assert [2, 3, 3, 6] == [turn.line for turn in turns]


def test_calls_with_signatures_keep_them_and_stand_once():
    call = {"functionCall": {"id": "call_1", "name": "list_directory", "args": {"path": "."}}, "thoughtSignature": SEAL}  # fmt: skip
    step = {**GEMINI_STEP, "content": [{"text": "I look."}, call]}
    repeated = {"id": "u2", "timestamp": stamp(3), "type": "user", "content": GEMINI_CALL["result"]}
    data = lines(GEMINI_HEAD, GEMINI_QUESTION, step, repeated, GEMINI_ANSWER)
    turns = open_source(data).conversation().turns

    assert TURNS == shown(turns)
    assert ("thoughtSignature",) == turns[1].message.tool_calls[0].origin.seals
    assert SEAL not in repr(turns)


def test_what_was_taken_back_stays_and_is_marked():
    again = {**GEMINI_QUESTION, "id": "u9", "content": "Which folders?"}
    turns = open_source(gemini_lines({"$rewindTo": "g2"}, again)).conversation().turns

    assert [*TURNS[:3], (*TURNS[3], "abandoned"), ("user", "Which folders?")] == shown(turns)


def test_a_place_that_is_not_known_takes_everything_back():
    turns = open_source(gemini_lines({"$rewindTo": "elsewhere"})).conversation().turns

    assert {("abandoned",)} == {turn.marks for turn in turns}


def test_a_compressed_history_stands_behind_what_it_replaces():
    summary = {
        "id": "s1",
        "timestamp": stamp(8),
        "type": "user",
        "content": [{"text": "So far: one file."}],
    }
    rebuilt = {"$set": {"messages": [summary, GEMINI_ANSWER]}}
    turns = open_source(gemini_lines(rebuilt)).conversation().turns

    assert [*TURNS[:3], ("user", "So far: one file.", "compaction"), TURNS[3]] == shown(turns)


def test_a_cancelled_turn_is_abandoned_and_a_changed_one_stays_in_its_place():
    changed = {**GEMINI_STEP, "content": "I looked."}
    rebuilt = {"$set": {"messages": [GEMINI_QUESTION, changed]}}
    turns = open_source(gemini_lines(rebuilt)).conversation().turns

    assert "I looked." in shown(turns)[1]
    assert [(), (), (), ("abandoned",)] == [turn.marks for turn in turns]


def test_what_the_program_wrote_is_told_apart():
    context = {
        "id": "c",
        "timestamp": stamp(0),
        "type": "user",
        "content": "<session_context>\nToday is ...",
    }
    notice = {"id": "i", "timestamp": stamp(1), "type": "info", "content": "Update available"}
    error = {"id": "e", "timestamp": stamp(5), "type": "error", "content": "[API Error: quota]"}
    source = open_source(lines(GEMINI_HEAD, context, notice, GEMINI_QUESTION, error))
    conversation = source.conversation()

    assert "Which files are here?" == conversation.title
    assert [("injected",), (), ("api_error",)] == [turn.marks for turn in conversation.turns]
    assert (
        "Notices of the program that were not sent to a model: they are left out."
        in source.cannot_know
    )


def test_a_call_that_failed_or_never_ran():
    failed = {**GEMINI_CALL, "status": "error", "result": [{"functionResponse": {"id": "call_1", "name": "x", "response": {"error": "no"}}}]}  # fmt: skip
    waiting = {
        "id": "call_2",
        "name": "write_file",
        "args": {},
        "status": "awaiting_approval",
        "timestamp": stamp(3),
    }
    data = lines(GEMINI_HEAD, {**GEMINI_STEP, "toolCalls": [failed, waiting]})
    step, results = open_source(data).conversation().turns

    assert ["call_1", "call_2"] == [call.id for call in step.message.tool_calls]
    assert [("call_1", True)] == [(part.call_id, part.error) for part in results.message.parts]


def test_subagents_are_lanes_of_their_session(tmp_path):
    path = tmp_path / "chats" / "session-2026-11-01T10-00-5e551011.jsonl"
    lane = path.parent / "5e551011-aaaa" / "sub-1.jsonl"
    lane.parent.mkdir(parents=True)
    path.write_bytes(gemini_lines())
    head = {**GEMINI_HEAD, "sessionId": "sub-1", "kind": "subagent"}
    lane.write_bytes(lines(head, {**GEMINI_QUESTION, "content": "Search for it."}))
    source = open_source(path)

    assert [("5e551011-aaaa", None), ("sub-1", "5e551011-aaaa")] == [
        (entry.id, entry.parent) for entry in source.entries
    ]
    assert [("user", "Search for it.")] == shown(source.conversation("sub-1").turns)
    assert "5e551011-aaaa" == open_source(lane).conversation().parent
    assert [path] == list(paths_in([tmp_path]))


def test_lines_that_cannot_be_read_are_told(tmp_path):
    path = tmp_path / "session-x.jsonl"
    path.write_bytes(gemini_lines() + b'{"id": "g3", "ty\n[1]\n{"id": "q", "type": "poem"}\n')
    source = open_source(path)
    turns = source.conversation().turns
    source.conversation()

    assert TURNS == shown(turns)
    assert [7, 8, 9] == sorted(trouble.line for trouble in source.troubles)


def test_an_object_that_is_cut_is_refused():
    with pytest.raises(DecodeError, match="expected a session of Gemini CLI"):
        open_source(gemini_object()[:-200])


def test_lint_and_plan_know_whether_a_call_is_signed():
    call = {"functionCall": {"id": "call_1", "name": "list_directory", "args": {"path": "."}}, "thoughtSignature": SEAL}  # fmt: skip
    step = {**GEMINI_STEP, "content": [{"text": "I look."}, call]}
    target = "gemini/gemini-3-pro-preview"
    bare = open_source(gemini_lines()).conversation().messages
    signed = open_source(lines(GEMINI_HEAD, GEMINI_QUESTION, step)).conversation().messages

    assert ["signature_filled"] == [problem.code for problem in iv.lint(bare, target)]
    assert [] == iv.lint(signed, target)
    away = [
        found for found in iv.plan(bare, "openai/gpt-5.6").decisions if found.kind == "thinking"
    ]
    assert {("omitted", "it came from gemini/gemini-3-pro-preview")} == {(found.action, found.why) for found in away}  # fmt: skip


def test_what_the_format_does_not_tell_is_said():
    said = " ".join(open_source(gemini_lines()).cannot_know)

    for subject in ("How long the model took", "summaries", "system prompt", "Vertex AI"):
        assert subject in said


def test_json_of_the_same_shape_for_others_is_not_taken():
    """Claude Code has sessionId in every line."""
    line = {
        "type": "user",
        "sessionId": "s",
        "uuid": "u",
        "message": {"role": "user", "content": "hi"},
    }

    assert open_source(json.dumps(line).encode() + b"\n").kind != "gemini-cli"
