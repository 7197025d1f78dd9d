"""Sessions of opencode: the database, the export and the tree of files; nothing is written."""

import json
import sqlite3

import pytest

import innervoice as iv
from innervoice.errors import DecodeError
from innervoice.sources.opening import open_source, paths_in
from sources.made_sessions import (
    AT,
    SEAL,
    SESSION,
    answered,
    asked,
    opencode_database,
    opencode_export,
    opencode_tree,
    ran,
    store_messages,
)


def shown(turns):
    return [(turn.message.role, *map(words, turn.message.parts)) for turn in turns]


def words(part):
    match part:
        case iv.Thinking():
            return (part.form, part.text)
        case iv.ToolCall():
            return ("calls", part.id, part.name, part.arguments)
        case iv.ToolResult():
            return ("result", part.call_id, part.content)
        case iv.Text():
            return part.text
        case _:
            return part.type


TURNS = [
    ("user", "How many files?"),
    (
        "assistant",
        ("full", "First look."),
        ("calls", "toolu_1", "list", '{"path":"."}'),
        ("hidden", ""),
        "I will count.",
        ("calls", "toolu_2", "count", '{"path":"."}'),
    ),
    ("tool", ("result", "toolu_1", "a.txt"), ("result", "toolu_2", "1")),
    ("assistant", ("summary", "**One**"), ("summary", "**Two**"), "There is one."),
]


@pytest.fixture(params=["export", "database", "bytes", "tree", "oldest"])
def stored(request, tmp_path):
    """A session as it is stored, in each way."""
    match request.param:
        case "export":
            return opencode_export()
        case "database" | "bytes":
            path = tmp_path / "opencode.db"
            opencode_database(path).close()
            return path if request.param == "database" else path.read_bytes()
        case _:
            return opencode_tree(tmp_path, oldest=request.param == "oldest")


def test_every_store_holds_the_same_turns(stored):
    source = open_source(stored)
    conversation = source.conversation("ses_1")

    assert (source.kind, source.troubles) == ("opencode", [])
    assert "Count files" == conversation.title
    assert TURNS == shown(conversation.turns)
    assert [AT + 1, AT + 2, AT + 4, AT + 6] == [turn.at for turn in conversation.turns]
    assert [None, 2.5, None, 2.5] == [turn.seconds for turn in conversation.turns]


def test_seals_are_where_their_provider_has_them(stored):
    turns = open_source(stored).conversation("ses_1").turns
    thoughts = [
        part for turn in turns for part in turn.message.parts if isinstance(part, iv.Thinking)
    ]

    assert [("signature",), ("data",), ("id", "encrypted_content"), ()] == [
        thought.origin.seals for thought in thoughts
    ]
    assert SEAL == thoughts[0].origin.block["signature"]
    assert ["anthropic", "anthropic", "openai", "openai"] == [
        thought.origin.provider for thought in thoughts
    ]
    assert SEAL not in repr(turns)


def test_answers_have_author_tokens_and_the_reason_of_their_end(stored):
    """The cache is counted beside the input; reasoning beside the output only where a total says so."""
    claude, gpt = (
        turn.answer for turn in open_source(stored).conversation("ses_1").turns if turn.answer
    )

    assert ("anthropic", "claude-opus-5-5", "tool_calls", "tool_calls") == (
        claude.provider, claude.model, claude.finish_reason, claude.status,
    )  # fmt: skip
    assert (135, 50, 30, 50) == counts(claude)
    assert ("openai", "gpt-5.6", "stop", "answered") == (gpt.provider, gpt.model, gpt.finish_reason, gpt.status)  # fmt: skip
    assert (10, 40, 30, 0) == counts(gpt)


def counts(answer):
    usage = answer.usage
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
        usage.cached_input_tokens,
    )


def test_children_are_lanes(tmp_path):
    path = tmp_path / "opencode.db"
    opencode_database(path).close()
    for source in (open_source(path), open_source(opencode_tree(tmp_path))):
        assert [("ses_1", None), ("ses_2", "ses_1")] == [
            (entry.id, entry.parent) for entry in source.entries
        ]
        assert "ses_1" == source.conversation("ses_2").parent
        assert [("user", "Look around.")] == shown(source.conversation("ses_2").turns)


def test_an_export_says_that_it_has_no_children():
    assert any("subagents" in sentence for sentence in open_source(opencode_export()).cannot_know)


def test_a_tree_is_listed_by_its_main_sessions(tmp_path):
    path = opencode_tree(tmp_path)

    assert [path] == list(paths_in([tmp_path]))


@pytest.mark.parametrize("is_running", [True, False])
@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_nothing_is_written_beside_the_database(tmp_path, mode, is_running):
    """Not even a file that is gone again at the end: the folder would have another time."""
    path = tmp_path / "opencode.db"
    connection = opencode_database(path, mode=mode)
    if not is_running:
        connection.close()
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    time = tmp_path.stat().st_mtime_ns
    source = open_source(path)
    read = [source.conversation(entry.id) for entry in source.entries]
    after = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    assert (before, time) == (after, tmp_path.stat().st_mtime_ns)
    assert TURNS == shown(read[0].turns)
    connection.close()


def test_a_database_that_may_not_be_written_is_read(tmp_path):
    """A folder without a right to write, as a mounted backup."""
    path = tmp_path / "opencode.db"
    opencode_database(path, mode="WAL").close()
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        assert TURNS == shown(open_source(path).conversation("ses_1").turns)
    finally:
        tmp_path.chmod(0o755)


def test_messages_that_opencode_wrote_meanwhile_are_read(tmp_path):
    path = tmp_path / "opencode.db"
    connection = opencode_database(path, mode="WAL")
    source = open_source(path)
    store_messages(connection, "ses_1", [asked("msg_9", "And now?", second=9)])
    connection.commit()
    turns = source.conversation("ses_1").turns
    connection.close()

    assert ("user", "And now?") == shown(turns)[-1]


def test_steps_of_one_message_are_turns():
    steps = [
        {"type": "step-start"}, {"type": "reasoning", "text": "One."}, ran("a"), {"type": "step-finish", "reason": "tool-calls", "tokens": {"input": 1, "output": 2}},
        {"type": "step-start"}, {"type": "reasoning", "text": "Two."}, ran("b"), {"type": "step-finish", "reason": "stop", "tokens": {"input": 3, "output": 4}},
    ]  # fmt: skip
    turns = open_source(opencode_export([answered("msg_2", steps, provider="deepseek", model="deepseek-v4-pro")])).conversation().turns  # fmt: skip

    assert [("full", "One."), ("result", "a", "a.txt"), ("full", "Two."), ("result", "b", "a.txt")] == [
        row[1] for row in shown(turns)
    ]  # fmt: skip
    assert [1, 3] == [turn.answer.usage.input_tokens for turn in turns if turn.answer]


@pytest.mark.parametrize(
    ("provider", "model", "part", "seals"),
    [
        ("google", "gemini-3-pro-preview", {"type": "reasoning", "text": "a", "metadata": {"google": {"thoughtSignature": SEAL}}}, ("thoughtSignature",)),
        ("google", "gemini-3-pro-preview", ran("c", metadata={"google": {"thoughtSignature": SEAL}}), ("thoughtSignature",)),
        ("amazon-bedrock", "us.anthropic.claude-opus-5-5-v1:0", {"type": "reasoning", "text": "a", "metadata": {"bedrock": {"signature": SEAL}}}, ("reasoningContent.reasoningText.signature",)),
        ("openrouter", "anthropic/claude-opus-5-5", {"type": "reasoning", "text": "a", "metadata": {"openrouter": {"reasoning_details": [{"type": "reasoning.text", "text": "a", "signature": SEAL}]}}}, ("signature",)),
        ("my-gateway", "claude-opus-5-5", {"type": "reasoning", "text": "a", "metadata": {"anthropic": {"signature": SEAL}}}, ("signature",)),
        ("github-copilot", "gemini-3-pro", {"type": "reasoning", "text": "a", "metadata": {"copilot": {"reasoningOpaque": SEAL}}}, ("encrypted",)),
        ("deepseek", "deepseek-v4-pro", {"type": "reasoning", "text": "a"}, ()),
    ],
)  # fmt: skip
def test_seals_of_every_provider(provider, model, part, seals):
    (first, *_) = open_source(opencode_export([answered("m", [part], provider=provider, model=model)])).conversation().turns  # fmt: skip

    assert seals == first.message.parts[0].origin.seals


def test_the_plan_sends_home_what_can_go_home():
    history = open_source(opencode_export()).conversation().messages
    for target, expected in (("anthropic/claude-opus-5-5", ["kept", "kept", "omitted", "omitted"]), ("openai/gpt-5.6", ["omitted", "omitted", "kept", "kept"])):  # fmt: skip
        found = [one.action for one in iv.plan(history, target).decisions if one.kind == "thinking"]
        assert expected == found


def test_what_was_reverted_is_abandoned(tmp_path):
    reverted = {"messageID": "msg_2"}
    path = tmp_path / "opencode.db"
    opencode_database(path, revert=reverted).close()
    for stored in (path, opencode_export(session={**SESSION, "revert": reverted})):
        turns = open_source(stored).conversation("ses_1").turns
        assert [(), *[("abandoned",)] * 3] == [turn.marks for turn in turns]


def test_summaries_texts_of_the_program_and_errors_are_told_apart():
    told = {
        **asked("msg_1", "Continue."),
        "parts": [{"type": "text", "text": "Continue.", "synthetic": True}],
    }
    broken = answered(
        "msg_2", [{"type": "retry", "attempt": 1}, {"type": "text", "text": "Half"}],
        error={"name": "APIError", "data": {"message": "overloaded", "statusCode": 529, "responseHeaders": {"x": SEAL}}},
    )  # fmt: skip
    summary = answered(
        "msg_3", [{"type": "text", "text": "So far ..."}], summary=True, finish="stop"
    )
    turns = open_source(opencode_export([told, broken, summary])).conversation().turns

    assert [("injected",), (), ("compaction",)] == [turn.marks for turn in turns]
    assert ("APIError", 529, "overloaded") == (turns[1].answer.error.type, turns[1].answer.error.code, turns[1].answer.error.message)  # fmt: skip
    assert ("interrupted", ["retried"]) == (
        turns[1].answer.status,
        [note.code for note in turns[1].answer.notes],
    )
    assert SEAL not in iv.to_json(turns[1].answer).decode()


def test_results_that_failed_hold_files_or_never_came():
    failed = {
        "type": "tool",
        "callID": "a",
        "tool": "bash",
        "state": {"status": "error", "input": {}, "error": "denied"},
    }
    image = {
        "type": "file",
        "mime": "image/png",
        "url": "data:image/png;base64,aW1n",
        "filename": "x.png",
    }
    pictured = ran("b")
    pictured["state"]["attachments"] = [image]
    running = {
        "type": "tool",
        "callID": "c",
        "tool": "bash",
        "state": {"status": "running", "input": {}},
    }
    step, results = open_source(opencode_export([answered("m", [failed, pictured, running])])).conversation().turns  # fmt: skip

    assert ["a", "b", "c"] == [call.id for call in step.message.tool_calls]
    assert [("a", True), ("b", False)] == [
        (part.call_id, part.error) for part in results.message.parts
    ]
    assert ("image/png", "aW1n") == (results.message.parts[1].content[1].mime, results.message.parts[1].content[1].data)  # fmt: skip


def test_rows_that_are_not_json_are_told(tmp_path):
    path = tmp_path / "opencode.db"
    connection = opencode_database(path)
    connection.execute("INSERT INTO part VALUES ('p', 'msg_2', 'ses_1', '{\"type\"')")
    connection.execute("INSERT INTO message VALUES ('m', 'ses_1', 0, CAST(x'ff' AS text))")
    connection.commit()
    connection.close()
    source = open_source(path)

    assert TURNS == shown(source.conversation("ses_1").turns)
    assert ["message m is not JSON", "part p is not JSON, or has no message"] == [trouble.why for trouble in source.troubles]  # fmt: skip


def test_sessions_in_a_table_that_is_not_read_are_told(tmp_path):
    path = tmp_path / "opencode.db"
    connection = opencode_database(path)
    connection.execute("CREATE TABLE session_message (id text, session_id text)")
    connection.execute("INSERT INTO session_message VALUES ('x', 'ses_7'), ('y', 'ses_1')")
    connection.commit()
    connection.close()

    assert ["1 sessions are only in the table session_message, which is not read"] == [trouble.why for trouble in open_source(path).troubles]  # fmt: skip


def test_files_of_the_tree_that_are_broken_or_missing_are_told(tmp_path):
    path = opencode_tree(tmp_path)
    (tmp_path / "part" / "msg_2" / "msg_2_p4.json").write_text('{"type":')
    (tmp_path / "message" / "ses_1" / "msg_3.json").unlink()
    source = open_source(path)
    turns = source.conversation().turns

    assert [(*TURNS[1][:4], TURNS[1][5])] == shown(turns)[1:2]
    assert ["msg_2_p4.json"] == [trouble.why.partition(":")[0] for trouble in source.troubles]


def test_views_and_databases_of_others_are_not_taken(tmp_path):
    """A view may run forever, so only tables count."""
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE message (id, session_id, data); CREATE TABLE part (id, data);"
        "CREATE VIEW session AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n;"
    )
    connection.close()

    with pytest.raises(DecodeError):
        open_source(path)


def test_a_damaged_database_is_refused(tmp_path):
    path = tmp_path / "opencode.db"
    opencode_database(path).close()
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)

    with pytest.raises(DecodeError):
        open_source(bytes(data)).conversation()


def test_a_schema_that_is_no_text_is_refused(tmp_path):
    """SQLite quotes it in its error, and Python cannot decode that."""
    path = tmp_path / "opencode.db"
    opencode_database(path).close()
    data = path.read_bytes().replace(b"CREATE TABLE part", b"CREATE \x80ABLE part")

    with pytest.raises(DecodeError):
        open_source(data)


def test_parts_of_other_kinds_are_kept_as_they_are():
    future = {"type": "hologram", "data": 1}
    message = {
        **asked("m", "See"),
        "parts": [{"type": "text", "text": "See"}, {"type": "subtask", "prompt": "p"}],
    }
    turns = open_source(opencode_export([message, answered("n", [future])])).conversation().turns

    assert [("user", "See", "opaque"), ("assistant", "opaque")] == shown(turns)


def test_an_export_of_something_else_is_not_taken():
    with pytest.raises(DecodeError):
        open_source(json.dumps({"info": {"title": "x"}, "messages": []}).encode())
