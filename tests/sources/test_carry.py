"""A session of any agent goes on in another: its file is read back as the same turns, and has no seal that the other cannot read."""

import json
from base64 import b64encode

import pytest

import innervoice as iv
from innervoice.canon.notes import SENTENCES
from innervoice.planning.turns import UNANSWERED
from innervoice.sources.opening import open_source
from innervoice.sources.writers.carrying import WRITERS, carry
from sources.made_sessions import MADE, SEAL
from sources.samples import SAMPLES
from sources.test_transcripts import Session, calls, file_of, gave, thinks

CLAUDE_SEAL = "Q0xBVURFLXNlYWw="
OPENAI_SEAL = "T1BFTkFJLXNlYWw="
GEMINI_SEAL = "R0VNSU5JLXNlYWw="


def claude_lines():
    session = Session()
    session.says("Fix the wheels.")
    session.answers("msg_1", thinks("I look around.", CLAUDE_SEAL))
    session.answers("msg_1", {"type": "text", "text": "Let me look."})
    session.answers("msg_1", calls("toolu_1"))
    session.answers("msg_1", calls("toolu_2", "Read"))
    session.says([*gave("toolu_1"), {**gave("toolu_2", "no such file")[0], "is_error": True}])
    session.answers("msg_2", {"type": "text", "text": "Fixed."})
    session.says("Thanks. And the bell?")
    session.answers("msg_3", {"type": "text", "text": "It rings."})
    return session.data


def codex_lines():
    def line(kind, second, **payload):
        return {"timestamp": f"2026-11-20T10:00:{second:02}.000Z", "type": kind, "payload": payload}

    def said(second, role, text):
        kind = "output_text" if role == "assistant" else "input_text"
        return line("response_item", second, type="message", role=role, content=[{"type": kind, "text": text}])  # fmt: skip

    summary = [{"type": "summary_text", "text": "**Red**\n\nIt must be red."}]
    return file_of([
        line("session_meta", 0, id="s", cwd="/home/me/shed", model_provider="openai"),
        said(0, "user", "<environment_context>\n<cwd>/home/me/shed</cwd>"),
        line("turn_context", 1, model="gpt-5.6"),
        said(1, "user", "Paint it."),
        line("event_msg", 3, type="agent_reasoning", text="**Red**\n\nIt must be red."),
        line("response_item", 4, type="reasoning", id="rs_1", summary=summary, encrypted_content=OPENAI_SEAL),
        line("response_item", 5, type="function_call", id="fc_1", call_id="call_1", name="shell", arguments='{"command":"paint"}'),
        line("response_item", 6, type="function_call_output", call_id="call_1", output="done"),
        said(9, "assistant", "It is red."),
    ])  # fmt: skip


def gemini_chat():
    """A conversation with Gemini as innervoice stores it, whose call has a signature."""
    answer = {"candidates": [{"content": {"role": "model", "parts": [
        {"text": "A list is needed.", "thought": True},
        {"functionCall": {"id": "call_7", "name": "ls", "args": {"path": "."}}, "thoughtSignature": GEMINI_SEAL},
    ]}, "finishReason": "STOP"}], "modelVersion": "gemini-3.5-flash"}  # fmt: skip
    turn = iv.decode(answer, provider="gemini", model="gemini-3.5-flash")
    history = [iv.user("Which files?"), turn.message, iv.tool_result("call_7", "a.txt"), iv.assistant("One.")]  # fmt: skip
    return iv.to_json(history)


MADE_HERE = {"claude-code": claude_lines, "codex": codex_lines, "gemini-chat": gemini_chat}
SOURCES = {**MADE, **MADE_HERE, "request": lambda: SAMPLES["stored"]["a history"]}
MAKERS = {CLAUDE_SEAL: "anthropic", OPENAI_SEAL: "openai", GEMINI_SEAL: "gemini"}


def facts_of(turns):
    """What is said, called, answered and thought in turns, each kind in its order."""
    facts = {"questions": [], "answers": [], "calls": [], "results": [], "thoughts": []}
    for turn in turns:
        for part in turn.message.parts:
            match part:
                case iv.Text() if part.text.strip():
                    role = "answers" if turn.message.role == "assistant" else "questions"
                    facts[role].append(part.text)
                case iv.ToolCall():
                    facts["calls"].append((part.id, part.name, json.loads(part.arguments or "{}")))
                case iv.ToolResult():
                    facts["results"].append((part.call_id, words_of(part), part.error))
                case iv.Thinking() if part.text:
                    facts["thoughts"].append(part.text)
    return facts


def words_of(result):
    if isinstance(result.content, str):
        return result.content
    return "\n".join(part.text for part in result.content)


def sent_facts(data, to):
    """The same of the turns that go along: no system prompts, and only to the same program what it wrote in the user's name."""
    source = open_source(data)
    is_same = source.kind == WRITERS[to].kind
    return facts_of(
        turn
        for turn in source.conversation().sent
        if turn.message.role != "system" and (is_same or "injected" not in turn.marks)
    )


@pytest.fixture(autouse=True)
def a_home(tmp_path, monkeypatch):
    """Neither the folders of the agents on this machine nor their variables."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "PI_CODING_AGENT_DIR", "XDG_DATA_HOME"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("to", WRITERS)
@pytest.mark.parametrize("source", SOURCES)
def test_the_file_is_read_back_as_the_same_turns(source, to):
    data = SOURCES[source]()
    expected = sent_facts(data, to)
    carried = carry(data, to)
    read = open_source(carried.content)
    actual = facts_of(read.conversation().turns)
    if to == "codex":  # it has no place for the mark of a failed result
        expected["results"] = [(name, words, False) for name, words, _ in expected["results"]]

    assert WRITERS[to].kind == read.kind
    assert not read.troubles
    assert expected == actual
    assert len(expected["calls"]) == carried.counts["calls"]


@pytest.mark.parametrize("to", WRITERS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_part_that_differs_has_a_note(source, to):
    """What is left of a session is in the notes: nothing that is neither in the file nor there."""
    data = SOURCES[source]()
    conversation = open_source(data).conversation()
    carried = carry(data, to)
    counts = {note.code: 0 for note in carried.notes}
    for note in carried.notes:
        counts[note.code] += note.count
    thoughts = [part for turn in conversation.sent for part in turn.message.parts if isinstance(part, iv.Thinking)]  # fmt: skip

    assert counts.keys() <= SENTENCES.keys()
    assert len(thoughts) == carried.counts["thoughts"] + counts.get("thinking_left", 0)
    unsent = len(conversation.turns) - len(carried_turns(carried))
    assert (counts.get("turn_left", 0) > 0) == (unsent > 0) or to in ("codex", "pi")
    assert counts.get("seal_left", 0) == carried.counts["seals_left"]


def carried_turns(carried):
    return open_source(carried.content).conversation().turns


@pytest.mark.parametrize("to", WRITERS)
@pytest.mark.parametrize("source", ["claude-code", "codex", "gemini-chat"])
def test_a_seal_goes_only_where_it_can_be_read_and_byte_for_byte(source, to):
    """And back again: the seal that went along is read from the new file as it was."""
    data = SOURCES[source]()
    (seal,) = (seal for seal in MAKERS if seal in data.decode())
    carried = carry(data, to)
    goes_along = WRITERS[to].home in (None, MAKERS[seal])

    assert goes_along == (seal in carried.content.decode())
    assert goes_along == (carried.counts["seals"] > 0)
    assert goes_along == (carried.counts["seals_left"] == 0)
    assert goes_along != ("seal_left" in {note.code for note in carried.notes})
    if goes_along:
        again = carry(carried.content, to)
        assert seal in again.content.decode()


@pytest.mark.parametrize("to", ["pi", "opencode"])
@pytest.mark.parametrize("model", ["anthropic/claude-opus-5-5", "openai/gpt-5.6", "gemini/gemini-3.5-flash"])  # fmt: skip
@pytest.mark.parametrize("source", ["claude-code", "codex", "gemini-chat"])
def test_the_model_decides_where_an_agent_has_several(source, model, to):
    data = SOURCES[source]()
    (seal,) = (seal for seal in MAKERS if seal in data.decode())
    carried = carry(data, to, model=model)

    assert (model.partition("/")[0] == MAKERS[seal]) == (seal in carried.content.decode())


@pytest.mark.parametrize("to", WRITERS)
def test_seals_of_two_providers(to):
    """A session of opencode with turns of Claude and of GPT, whose seals look the same."""
    carried = carry(MADE["opencode"](), to)
    expected = {"claude": 2, "codex": 1, "gemini": 0, "opencode": 2, "pi": 1}
    left = {"claude": 1, "codex": 2, "gemini": 3, "opencode": 2, "pi": 2}

    assert left[to] == carried.counts["seals_left"]
    # One reasoning item of GPT is two thoughts, and opencode repeats its seal in each.
    assert expected[to] == carried.content.decode().count(SEAL)


def test_ids_of_items_stay_with_codex():
    """Its provider would look for those of another program, which it may never have stored."""
    other = carry(MADE["opencode"](), "codex").content.decode()
    same = carry(codex_lines(), "codex").content.decode()

    assert SEAL in other
    assert "rs_1" not in other
    assert "msg_9" not in other
    assert "rs_1" in same
    assert "fc_1" in same


@pytest.mark.parametrize("to", WRITERS)
def test_a_failed_call_stays_one(to):
    carried = carry(claude_lines(), to)
    noted = "error_flag_dropped" in {note.code for note in carried.notes}

    assert [False, to != "codex"] == [error for *_, error in facts_of(carried_turns(carried))["results"]]  # fmt: skip
    assert noted == (to == "codex")
    if to == "gemini":  # its user sees it by this
        assert 1 == carried.content.count(b'"status":"error"')


def planted():
    """A conversation that has everything which cannot go along everywhere."""
    sealed = iv.decode({"type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": [thinks("Hm.", CLAUDE_SEAL)], "stop_reason": "end_turn"}, provider="anthropic")  # fmt: skip
    hidden = iv.Thinking("", "hidden", origin=iv.Origin(provider="openai", dialect="openai-responses"))  # fmt: skip
    sound = iv.Media(mime="audio/wav", data=b64encode(b"RIFF").decode())
    cut = iv.ToolCall("call_3", "cut", '{"a', complete=False)
    return [
        iv.system("Be brief."),
        iv.user([iv.Text("Listen."), sound, iv.Opaque({"type": "odd"})]),
        iv.Message("assistant", (*sealed.parts, hidden, iv.ToolCall("a.b:1", "ls", "{}"))),
        iv.user("Quick!"),
        iv.tool_result("a.b:1", "late"),
        iv.tool_result("a.b:1", "again"),
        iv.tool_result("never", "a stray"),
        iv.assistant([iv.ToolCall("call_2", "cat", "{}"), cut]),
    ]


LEFT = {"turn_left", "opaque_dropped", "thinking_left", "result_left", "result_repeated", "result_moved", "result_filled", "call_omitted"}  # fmt: skip
PLANTED = {
    "claude": {*LEFT, "part_without_place", "id_mapped"},
    "codex": {*LEFT, "part_without_place", "id_mapped", "seal_left", "thinking_shown"},
    "gemini": {*LEFT, "id_mapped", "seal_left", "thinking_shown"},
    "opencode": {*LEFT, "part_without_place", "id_mapped"},
    "pi": {*LEFT, "part_without_place", "id_mapped"},
}


@pytest.mark.parametrize("to", WRITERS)
def test_what_cannot_go_along_is_noted(to):
    carried = carry(iv.to_json(planted()), to)
    facts = facts_of(carried_turns(carried))

    assert PLANTED[to] == {note.code for note in carried.notes}
    assert ["Listen.", "Quick!"] == facts["questions"]
    assert ["late", UNANSWERED] == [words for _, words, _ in facts["results"]]
    assert [name for name, *_ in facts["calls"]] == [name for name, *_ in facts["results"]]


HOSTILE = [
    "\u2028 \u2029 \x00 \x1b[31m \x7f",
    '"}\n{"type":"session_meta","payload":{"id":"x"}}\n',
    "</think><think>\n```\n$(rm -rf /)`'\"\\",
    "<system-reminder in the middle> ﷽ 👩‍👩‍👧 e\u0301",
    "\ud83d alone",
    " \n\t ends with blanks \n\n",
    "x" * 200_000,
]


@pytest.mark.parametrize("to", WRITERS)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_survives(text, to):
    """In every place: question, thought, answer, arguments and result."""
    history = [
        iv.user(f"a{text}"),
        iv.assistant([iv.Thinking(f"b{text}"), iv.Text(f"c{text}"), iv.ToolCall("call_1", "ls", json.dumps({f"k{text}": text}))]),
        iv.tool_result("call_1", f"d{text}"),
        iv.assistant(f"e{text}"),
    ]  # fmt: skip
    facts = facts_of(carried_turns(carry(iv.to_json(history), to)))
    expected = open_source(iv.to_json(history)).conversation()

    assert facts_of(expected.turns) == facts


def test_an_existing_file_is_never_overwritten(tmp_path):
    carried = carry(claude_lines(), "codex", path=tmp_path / "there")
    (tmp_path / "there").write_text("mine")

    with pytest.raises(FileExistsError):
        carried.save()
    assert "mine" == (tmp_path / "there").read_text()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        carried.save(tmp_path / "link")
    assert not (tmp_path / "nowhere").exists()


PLACES = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude/projects/-home-me-shed/{id}.jsonl", "projects/-home-me-shed/{id}.jsonl"),
    "codex": ("CODEX_HOME", ".codex/sessions/*/*/*/rollout-*-{id}.jsonl", "sessions/*/*/*/rollout-*-{id}.jsonl"),
    "gemini": ("GEMINI_CLI_HOME", ".gemini/tmp/*/chats/session-*-{id:.8}.jsonl", ".gemini/tmp/*/chats/session-*-{id:.8}.jsonl"),
    "pi": ("PI_CODING_AGENT_DIR", ".pi/agent/sessions/--home-me-shed--/*_{id}.jsonl", "sessions/--home-me-shed--/*_{id}.jsonl"),
}  # fmt: skip


@pytest.mark.parametrize("to", PLACES)
def test_the_file_is_where_the_agent_looks_for_it(to, tmp_path, monkeypatch):
    variable, usual, moved = PLACES[to]
    carried = carry(codex_lines(), to)
    assert [carried.save()] == list(tmp_path.glob(usual.format(id=carried.id)))

    monkeypatch.setenv(variable, str(tmp_path / "else where"))
    carried = carry(codex_lines(), to)
    assert [carried.save()] == list((tmp_path / "else where").glob(moved.format(id=carried.id)))
    assert 0o600 == carried.save(tmp_path / "third").stat().st_mode & 0o777


def test_gemini_cli_knows_projects_by_name(tmp_path):
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini" / "projects.json").write_text('{"projects": {"/home/me/shed": "shed"}}')

    assert "/.gemini/tmp/shed/chats/" in carry(codex_lines(), "gemini").path
    (tmp_path / ".gemini" / "projects.json").write_text('{"projects": {"/home/me/shed": "../.."}}')
    assert "/../" not in carry(codex_lines(), "gemini").path


FOLDERS = {
    "claude-code": "/home/me/räder",
    "codex": "/home/me/shed",
    "pi": "/home/u/shop",
    "copilot-cli": "/home/u/shop",
    "opencode": "/w",
}


@pytest.mark.parametrize("source", FOLDERS)
def test_the_project_is_that_of_the_session(source):
    assert FOLDERS[source] == carry(SOURCES[source](), "pi").folder


def test_the_project_of_gemini_cli_is_noted_above_its_sessions(tmp_path):
    file = tmp_path / "tmp" / "shop" / "chats" / "session-2026-11-01T10-00-5e551011.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(MADE["gemini-cli"]())
    assert str(tmp_path) == carry(file, "pi").folder

    (tmp_path / "tmp" / "shop" / ".project_root").write_text("/home/u/shop")
    assert "/home/u/shop" == carry(file, "pi").folder


@pytest.mark.parametrize("to", WRITERS)
def test_what_the_gateway_sealed_goes_along_to_the_same_agent_alone(to):
    """It opens it where it sealed it; a provider would refuse it."""
    envelope = b64encode(b"iv\x01" + b"sealed by the gateway").decode()
    data = claude_lines().replace(CLAUDE_SEAL.encode(), envelope.encode())
    carried = carry(data, to)

    assert (to == "claude") == (envelope in carried.content.decode())
    assert (to == "claude") == (carried.counts["seals_left"] == 0)


COMMANDS = {
    ("claude-code", "claude"): "claude --resume {id} --model claude-opus-4-6",
    ("claude-code", "codex"): "codex resume {id} --model gpt-5.6",
    ("claude-code", "gemini"): "gemini --resume {id} --model gemini-3.5-flash",
    ("claude-code", "pi"): "pi --session {id} --model anthropic/claude-opus-4-6",
    ("gemini-chat", "pi"): "pi --session {id} --model google/gemini-3.5-flash",
    ("codex", "opencode"): "opencode import {path} && opencode --session {id} --model openai/gpt-5.6",
}  # fmt: skip


@pytest.mark.parametrize(("source", "to"), COMMANDS)
def test_the_command_goes_on_with_the_session(source, to, tmp_path):
    """In the folder of the project, with the session's own model where the agent is made for it."""
    carried = carry(SOURCES[source](), to, folder=tmp_path)

    assert COMMANDS[source, to].format(id=carried.id, path=carried.path) == carried.command
    elsewhere = carry(SOURCES[source](), to, folder=tmp_path / "my shed")
    assert f"cd '{tmp_path}/my shed' && {COMMANDS[source, to].partition(' ')[0]} " in elsewhere.command  # fmt: skip


def test_another_model_goes_through_the_gateway(tmp_path):
    carried = carry(claude_lines(), "claude", model="openai/gpt-5.6", folder=tmp_path)

    assert f"innervoice run claude -m openai/gpt-5.6 -- --resume {carried.id}" == carried.command
    with pytest.raises(iv.UsageError, match="models of gemini only"):
        carry(claude_lines(), "gemini", model="openai/gpt-5.6")


@pytest.mark.parametrize("to", WRITERS)
def test_thoughts_are_left_out_or_become_text(to):
    none = carry(codex_lines(), to, thoughts="none")
    assert [] == facts_of(carried_turns(none))["thoughts"]
    assert OPENAI_SEAL not in none.content.decode()
    assert {"thinking_left", "seal_left"} <= {note.code for note in none.notes}

    if to == "claude":
        with pytest.raises(iv.UsageError, match="Claude refuses"):
            carry(codex_lines(), to, thoughts="text")
        return
    data = MADE["cline"]()
    text = carry(data, to, thoughts="text", model={"pi": "openai/gpt-5.6", "opencode": "openai/gpt-5.6"}.get(to))  # fmt: skip
    assert "[Reasoning of an earlier turn]\nI read it.\n" in facts_of(carried_turns(text))["answers"]  # fmt: skip
    assert "thinking_as_text" in {note.code for note in text.notes}


def test_claude_code_never_sends_thinking_without_a_signature():
    """It leaves out thinking that seems to be signed by another model than the one that it goes on with."""
    session = Session()
    session.says("Go.")
    session.answers("msg_1", thinks("Signed.", CLAUDE_SEAL))
    session.answers("msg_1", thinks("Not signed.", ""))
    session.answers("msg_1", {"type": "text", "text": "Gone."})
    for data in (session.data, MADE["cline"](), codex_lines()):
        carried = carry(data, "claude")
        lines = [json.loads(line)["message"] for line in carried.content.splitlines()]
        blocks = [(line.get("model"), block) for line in lines for block in line["content"]]
        thoughts = [(name, block) for name, block in blocks if block["type"] == "thinking"]

        assert thoughts
        for name, block in thoughts:
            assert block["signature"]
            assert (name is None) == (block["signature"] != CLAUDE_SEAL)
        # What stands in the place of a signature is none for the next reader.
        assert carried.counts["seals"] == carry(carried.content, "codex").counts["seals_left"]


@pytest.mark.parametrize(("to", "code"), [("claude", "thinking_shown"), ("pi", "thinking_shown"), ("opencode", "thinking_as_answer")])  # fmt: skip
def test_sealed_thoughts_of_a_sibling_model_are_noted(to, code):
    """These agents send back the sealed reasoning of one model alone: the one that they go on with."""
    same = carry(claude_lines(), to)
    other = carry(claude_lines(), to, model="anthropic/claude-opus-5-5")

    assert code not in {note.code for note in same.notes}
    assert code in {note.code for note in other.notes}
    assert CLAUDE_SEAL in other.content.decode()


def thought_of(provider, model, dialect):
    """A question, and an answer of this model with a thought that has no seal."""
    origin = iv.Origin(provider=provider, model=model, dialect=dialect)
    parts = (iv.Thinking("Hm.", origin=origin), iv.Text("Yes.", origin=origin))
    return iv.to_json([iv.user("Is it?"), iv.Message("assistant", parts)])


DEEPSEEK = ("deepseek", "deepseek-v4-pro", "openai-chat")
CLAUDE = ("anthropic", "claude-opus-5-5", "anthropic")
UNSEALED = [
    ("pi", DEEPSEEK, "deepseek/deepseek-v4-pro", None),
    ("pi", ("gemini", "gemini-3.5-flash", "gemini"), "gemini/gemini-3.5-flash", None),
    ("pi", CLAUDE, "anthropic/claude-opus-5-5", "thinking_as_answer"),
    ("pi", CLAUDE, "deepseek/deepseek-v4-pro", "thinking_shown"),
    ("pi", DEEPSEEK, "deepseek/deepseek-v4-flash", "thinking_shown"),
    ("pi", DEEPSEEK, "openai/gpt-5.6", "thinking_shown"),
    ("opencode", DEEPSEEK, "deepseek/deepseek-v4-pro", None),
    ("opencode", CLAUDE, "anthropic/claude-opus-5-5", "thinking_as_answer"),
    ("opencode", CLAUDE, "deepseek/deepseek-v4-pro", "thinking_as_answer"),
    ("opencode", DEEPSEEK, "openai/gpt-5.6", "thinking_as_answer"),
]


@pytest.mark.parametrize(("to", "author", "model", "code"), UNSEALED)
def test_what_becomes_of_a_thought_without_a_seal_is_noted(to, author, model, code):
    """pi drops reasoning of other models, opencode sends it as text; that of their own model they send as it is where the API has a place for it."""
    carried = carry(thought_of(*author), to, model=model)

    assert [code] * (code is not None) == [note.code for note in carried.notes]
    assert ["Hm."] == facts_of(carried_turns(carried))["thoughts"]


IMAGE = b64encode(b"a picture").decode()
PICTURE = iv.Media(mime="image/png", data=IMAGE)
LINKED = iv.Media(mime="image/png", url="https://example.com/a.png")


def with_files(*files):
    """Files in a question, and in the result of a call."""
    return iv.to_json([
        iv.user([iv.Text("Look."), *files]),
        iv.assistant([iv.ToolCall("call_1", "shot", "{}")]),
        iv.Message("tool", (iv.ToolResult("call_1", (iv.Text("Here."), *files)),)),
        iv.assistant("Seen."),
    ])  # fmt: skip


def files_of(turns):
    """The files of questions and of results."""
    for turn in turns:
        for part in turn.message.parts:
            inner = part.content if isinstance(part, iv.ToolResult) else [part]
            yield from (one for one in inner if isinstance(one, iv.Media))


@pytest.mark.parametrize("to", [name for name, writer in WRITERS.items() if writer.files_in_results])  # fmt: skip
def test_a_picture_goes_along_in_questions_and_results(to):
    carried = carry(with_files(PICTURE), to)

    assert () == carried.notes
    assert [IMAGE, IMAGE] == [file.data for file in files_of(carried_turns(carried))]


def test_opencode_knows_each_attachment_of_a_result():
    """`opencode import` ends in the middle of a session if one has no id, or not that of its session and message."""
    carried = carry(with_files(PICTURE, PICTURE), "opencode")
    session = json.loads(carried.content)
    parts = [(message["info"], part) for message in session["messages"] for part in message["parts"]]  # fmt: skip
    files = [(info, file) for info, part in parts if part["type"] == "tool" for file in part["state"]["attachments"]]  # fmt: skip
    ids = [part["id"] for _, part in parts] + [file["id"] for _, file in files]

    assert 2 == len(files)
    for info, file in files:
        assert (carried.id, info["id"]) == (file["sessionID"], file["messageID"])
        assert file["id"].startswith("prt_")
    assert len(ids) == len(set(ids))


def test_a_picture_in_a_failed_result_stays_with_a_note():
    """opencode has no place for one there."""
    picture_of_failure = iv.ToolResult("call_1", (iv.Text("No."), PICTURE), error=True)
    history = [iv.user("Look."), iv.assistant([iv.ToolCall("call_1", "shot", "{}")]), iv.Message("tool", (picture_of_failure,))]  # fmt: skip
    carried = carry(iv.to_json(history), "opencode")

    assert ["part_without_place"] == [note.code for note in carried.notes]
    assert [("call_1", "No.", True)] == facts_of(carried_turns(carried))["results"]
    assert () == carry(iv.to_json(history), "pi").notes


def test_pi_has_pictures_alone_and_none_by_its_address():
    """It would send an empty one; the model can still see where it is."""
    carried = carry(with_files(LINKED), "pi", model="anthropic/claude-opus-5-5")
    facts = facts_of(carried_turns(carried))

    assert [("file_as_url", 2)] == [(note.code, note.count) for note in carried.notes]
    assert ["Look.", LINKED.url] == facts["questions"]
    assert [("call_1", f"Here.\n{LINKED.url}", False)] == facts["results"]
    assert [] == list(files_of(carried_turns(carried)))

    for other in (
        iv.Media(mime="application/pdf", data=IMAGE),
        iv.Media(mime="image/png"),
        iv.Media(url="data:,x"),
    ):
        carried = carry(with_files(other), "pi", model="anthropic/claude-opus-5-5")
        assert [("part_without_place", 2)] == [(note.code, note.count) for note in carried.notes]
        assert b"image" not in carried.content


@pytest.mark.parametrize("to", ["pi", "opencode"])
def test_a_picture_that_a_model_made_stays_with_a_note(to):
    """Answers have no place for one there."""
    history = [iv.user("Draw."), iv.assistant([iv.Text("There."), PICTURE])]
    carried = carry(iv.to_json(history), to, model="gemini/gemini-3.5-flash")

    assert ["part_without_place"] == [note.code for note in carried.notes]
    assert IMAGE not in carried.content.decode()


def test_a_compaction_that_cannot_be_read_gives_way_to_its_turns():
    """What OpenAI compacted is in the file in words as well: another agent gets these."""
    lines = codex_lines()
    compaction = {"type": "compaction", "id": "cmp_1", "encrypted_content": "Q09NUEFDVA=="}
    compacted = {"timestamp": "2026-11-20T10:01:00.000Z", "type": "compacted", "payload": {"message": "", "replacement_history": [compaction]}}  # fmt: skip
    later = {"timestamp": "2026-11-20T10:01:05.000Z", "type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Now blue."}]}}  # fmt: skip
    data = lines + file_of([compacted, later])
    carried = carry(data, "claude")

    assert ["Paint it.", "Now blue."] == facts_of(carried_turns(carried))["questions"]
    assert "compaction_left" in {note.code for note in carried.notes}
    assert b"Q09NUEFDVA==" not in carried.content
    same = carry(data, "codex")
    assert ["Now blue."] == facts_of(carried_turns(same))["questions"]
    assert b"Q09NUEFDVA==" in same.content


def test_a_summary_of_opencode_is_the_users_first_message():
    """A session may not begin with a turn of the model."""
    messages = json.loads(MADE["opencode"]())
    messages["messages"][1]["info"]["summary"] = True
    messages["messages"][1]["parts"] = [{"type": "text", "text": "So far: one file."}]
    carried = carry(json.dumps(messages).encode(), "claude")

    assert "user" == carried_turns(carried)[0].message.role
    assert "So far: one file." in carried_turns(carried)[0].message.text


def test_codex_shows_a_thought_that_no_item_has_and_no_other_twice():
    line = {"timestamp": "2026-11-20T10:00:09.000Z", "type": "event_msg", "payload": {"type": "agent_reasoning", "text": "Only shown."}}  # fmt: skip
    turns = open_source(codex_lines() + file_of([line])).conversation().turns

    assert ["**Red**\n\nIt must be red.", "Only shown."] == facts_of(turns)["thoughts"]


def test_the_ids_of_gemini_cli_are_those_of_the_api():
    """It puts the name of the tool before them; the next agent, and the gateway's memory, know them without."""
    data = MADE["gemini-cli"]().replace(b'"call_1"', b'"list_directory__call_1"')
    facts = facts_of(open_source(data).conversation().turns)

    assert ["call_1"] == [name for name, *_ in facts["calls"]]
    assert ["call_1"] == [name for name, *_ in facts["results"]]


def test_an_unknown_agent_and_a_session_without_turns():
    with pytest.raises(iv.UsageError, match="claude, codex, gemini, opencode, pi"):
        carry(claude_lines(), "cursor")
    with pytest.raises(iv.UsageError, match="nothing to carry"):
        carry(iv.to_json([iv.system("Be brief.")]), "claude")
