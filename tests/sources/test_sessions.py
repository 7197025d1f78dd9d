"""Sessions of Claude Code and Codex: what a user gets of each turn, and of the files of subagents."""

import json

import pytest

from innervoice.sources import transcripts
from innervoice.sources.opening import open_source, paths_in
from sources.samples import claude_session, codex_session
from sources.test_transcripts import Session, calls, file_of, thinks


def table(conversation):
    return [(turn.line, turn.message.role, turn.message.text, turn.marks) for turn in conversation.turns]  # fmt: skip


def test_claude_code():
    source = open_source(claude_session().data)
    main = source.conversation()

    assert [
        (1, "user", "Paint the shed.", ()),
        (2, "assistant", "Which colour?", ("abandoned",)),
        (3, "user", "Injected.", ("injected",)),
        (4, "assistant", "", ()),
        (7, "user", "", ()),
        (8, "user", "", ()),
        (9, "assistant", "API Error: 529", ("api_error",)),
        (10, "assistant", "Painted.", ()),
        (12, "user", "So far: a shed.", ("compaction",)),
        (13, "assistant", "On we go.", ()),
    ] == table(main)
    assert "A shed in two colours (räder, main)" == main.title == source.entries[0].title
    assert ["So far: a shed.", "On we go."] == [turn.message.text for turn in main.sent]
    assert "claude-opus-4-6" == source.entries[0].model


def test_what_claude_code_knows_of_an_answer():
    turns = {turn.line: turn for turn in open_source(claude_session().data).conversation().turns}
    answer = turns[10].answer

    assert ("answered", "end_turn", "claude-opus-4-6", "anthropic") == (answer.status, answer.wire_finish_reason, answer.model, answer.provider)  # fmt: skip
    assert (105, 100, 12) == (answer.usage.input_tokens, answer.usage.cached_input_tokens, answer.usage.output_tokens)  # fmt: skip
    assert "tool_calls" == turns[4].answer.status
    assert 2.0 + 1.0 == turns[4].seconds  # from the line before it to its last of three
    assert 1795168803.0 == turns[4].at
    assert ("overloaded", "interrupted") == (turns[9].answer.error.type, turns[9].answer.status)
    assert "interrupted" == turns[13].answer.status  # the file ends, and others have a reason


def test_a_session_without_reasons_is_whole():
    """Older versions wrote no `stop_reason` at all."""
    session = Session()
    session.says("Hi")
    session.answers("m", {"type": "text", "text": "Hello."})

    assert "answered" == open_source(session.data).conversation().turns[1].answer.status


def test_a_stop_of_the_user():
    session = Session()
    session.says("Hi")
    session.answers("m", thinks("Hm", ""))
    session.says([{"type": "text", "text": "[Request interrupted by user]"}])

    assert "interrupted" == open_source(session.data).conversation().turns[1].answer.status


def test_an_edited_first_prompt():
    session = Session()
    session.says("One")
    session.answers("m", {"type": "text", "text": "1"})
    session.last[False] = None
    session.says("Two")
    session.answers("n", {"type": "text", "text": "2"})
    marks = [turn.marks for turn in open_source(session.data).conversation().turns]

    assert [("abandoned",), ("abandoned",), (), ()] == marks


def test_a_line_whose_parent_is_lost_is_not_abandoned():
    session = Session()
    session.says("One")
    session.answers("m", {"type": "text", "text": "1"})
    session.last[False] = "of another file"
    session.says("Two")

    assert [(), (), ()] == [turn.marks for turn in open_source(session.data).conversation().turns]


def subagent(text, agent="a1"):
    session = Session()
    session.says(text, sidechain=True)
    session.answers("msg_s", calls("toolu_s"), sidechain=True)
    for line in session.lines:
        line |= {"agentId": agent, "sessionId": "5a1d"}
    return session.data


def project(folder):
    """A project as Claude Code keeps it: one layout of subagents of each kind, beside other files."""
    folder.mkdir(parents=True)
    (folder / "5a1d.jsonl").write_bytes(claude_session().data)
    nested = folder / "5a1d" / "subagents"
    nested.mkdir(parents=True)
    (nested / "agent-a1.jsonl").write_bytes(subagent("Find the brush."))
    (nested / "agent-a1.meta.json").write_text(json.dumps({"agentType": "Explore", "description": "Look for a brush"}))  # fmt: skip
    (nested / "workflows" / "wf_1").mkdir(parents=True)
    (nested / "workflows" / "wf_1" / "agent-a3.jsonl").write_bytes(subagent("Mix.", "a3"))
    (folder / "agent-a2.jsonl").write_bytes(subagent("Find the paint.", "a2"))
    (folder / "sessions-index.json").write_text('{"version": 1}')
    return folder


def test_subagents_in_files_of_their_own(tmp_path):
    folder = project(tmp_path / "p")
    source = open_source(folder / "5a1d.jsonl")
    found = {one.id: one for one in source.conversations()}

    assert ["main", "a1", "a3", "a2"] == [entry.id for entry in source.entries]
    assert [None, "main", "main", "main"] == [one.parent for one in found.values()]
    assert ("Look for a brush", "Find the paint.") == (found["a1"].title, found["a2"].title)
    assert "Find the brush." == found["a1"].turns[0].message.text
    assert [folder / "5a1d.jsonl"] == [*paths_in([folder])]

    alone = open_source(folder / "agent-a2.jsonl")
    assert ["main"] == [entry.id for entry in alone.entries]
    assert "Find the paint." == alone.conversation().title


def test_codex():
    source = open_source(file_of(codex_session()))
    main = source.conversation()

    assert [
        (2, "user", "<environment_context>\n<cwd>/home/me/shed</cwd>", ("injected",)),
        (4, "user", "Paint it.", ()),
        (5, "assistant", "", ()),
        (9, "tool", "", ()),
        (10, "assistant", "It is red.", ()),
        (12, "assistant", "stream disconnected", ("api_error",)),
        (13, "user", "Paint it.", ("compaction",)),
        (13, "user", "Summary: it is red.", ("injected",)),
        (14, "user", "Now blue.", ()),
        (15, "assistant", "Blu", ()),
    ] == table(main)
    assert "Paint it. (shed, main)" == main.title
    assert 4 == len(main.sent)
    assert ("openai/gpt-5.6", "Be brief.", "high") == (main.request.model, main.request.system, main.request.reasoning.effort)  # fmt: skip


def test_what_codex_knows_of_an_answer():
    turns = {turn.line: turn for turn in open_source(file_of(codex_session())).conversation().turns}
    calling, answered, stopped = (turns[line].answer for line in (5, 10, 15))

    for answer in (calling, answered):  # a count that is repeated counts once
        usage = answer.usage
        assert (50, 30, 10, 20) == (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.cached_input_tokens)  # fmt: skip
    assert ["tool_calls", "answered", "interrupted"] == [calling.status, answered.status, stopped.status]  # fmt: skip
    assert ("openai", "gpt-5.6") == (answered.provider, answered.model)
    assert (4.0, 3.0) == (turns[5].seconds, turns[10].seconds)
    assert turns[5].thinking_seconds is not None


@pytest.mark.parametrize("kind", ["claude-code", "codex"])
def test_a_large_session_is_shown_in_pieces(kind, monkeypatch):
    """Cut at turns of the user; together the pieces are the whole, and they say what they are."""
    session = Session()
    lines = [{"type": "session_meta", "payload": {"model_provider": "openai"}}, {"type": "turn_context", "payload": {"model": "gpt-5.6"}}]  # fmt: skip
    for number in range(12):
        session.says(f"Question {number}")
        session.answers(f"m{number}", {"type": "text", "text": f"Answer {number}"})
        for role, text in (("user", f"Question {number}"), ("assistant", f"Answer {number}")):
            content = [{"type": "input_text" if role == "user" else "output_text", "text": text}]
            lines.append({"type": "response_item", "payload": {"type": "message", "role": role, "content": content}})  # fmt: skip
    data = session.data if kind == "claude-code" else file_of(lines)
    (whole,) = open_source(data).conversations()
    monkeypatch.setattr(transcripts, "LARGE", 1000)
    monkeypatch.setattr(transcripts, "_PIECE", 1000)
    source = open_source(data)
    pieces = list(source.conversations())

    assert kind == source.kind
    assert 3 <= len(pieces)
    assert ["main", "main~2", "main~3"] == [piece.id for piece in pieces[:3]]
    assert f"Question 0 (part 1 of {len(pieces)})" == pieces[0].title.replace(" (räder, main)", "")
    assert all(piece.turns[0].message.role == "user" for piece in pieces)
    turns = [turn for piece in pieces for turn in piece.turns]
    assert [turn.line for turn in whole.turns] == [turn.line for turn in turns]
    assert list(whole.messages) == [turn.message for turn in turns]
    models = {turn.answer.model for turn in turns if turn.answer}
    assert {"claude-opus-4-6" if kind == "claude-code" else "gpt-5.6"} == models
    assert any("in pieces" in sentence for sentence in source.cannot_know)
