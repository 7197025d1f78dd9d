"""Session files of Claude Code and Codex come back as they were, but for what would be refused."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.canon.target import Target
from innervoice.catalog.lookup import host_of, model_row_of
from innervoice.memory.envelopes import EnvelopeSealer, Summary
from innervoice.sources import repairs
from innervoice.sources.repairs import lint_session
from innervoice.sources.stored import history_from
from innervoice.wire.dialects import rules_of

CLAUDE = "anthropic/claude-opus-4-6"
CODEX = "openai/gpt-5.6"


def repair_session(data, target):
    return repairs.repair_session(history_from(data).session, target)


def dumped(line):
    """As both programs write it: no blanks, letters as they are."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def file_of(lines):
    return "".join(f"{dumped(line)}\n" for line in lines).encode()


def lines_of(data):
    return [json.loads(line) for line in data.decode().splitlines()]


# ---- Claude Code -----------------------------------------------------------------------------------


class Session:
    """Writes a session of Claude Code, one line after the other."""

    def __init__(self):
        self.lines = []
        self.last = {False: None, True: None}

    def line(self, kind, sidechain=False, **members):
        name = f"00000000-0000-4000-8000-{len(self.lines):012}"
        head = {
            "parentUuid": self.last[sidechain],
            "isSidechain": sidechain,
            "userType": "external",
            "cwd": "/home/me/räder",
            "sessionId": "5a1d",
            "version": "2.3.1",
            "gitBranch": "main",
            "type": kind,
        }
        stamp = f"2026-11-20T10:00:{len(self.lines) % 60:02}.000Z"
        self.lines.append({**head, **members, "uuid": name, "timestamp": stamp})
        self.last[sidechain] = name
        return name

    def says(self, content, sidechain=False):
        return self.line("user", sidechain, message={"role": "user", "content": content})

    def answers(self, given, block, model="claude-opus-4-6", sidechain=False):
        usage = {"input_tokens": 3, "output_tokens": 9}
        message = {"id": given, "type": "message", "role": "assistant", "model": model}
        message |= {"content": [block], "stop_reason": None, "usage": usage}
        return self.line("assistant", sidechain, message=message, requestId="req_1")

    @property
    def data(self):
        return file_of(self.lines)


def thinks(text, signature="EuwBCkYIBxgCKkA="):
    return {"type": "thinking", "thinking": text, "signature": signature}


def calls(name, tool="Bash"):
    return {"type": "tool_use", "id": name, "name": tool, "input": {"command": "ls"}}


def gave(name, text="a.py"):
    return [{"tool_use_id": name, "type": "tool_result", "content": text}]


def poisoned():
    """Claude, another model by way of a proxy, Claude again; a stop in mid-thought; a killed call; a subagent."""
    session = Session()
    session.lines.append({"type": "summary", "summary": "Räder fix", "leafUuid": "gone"})
    session.says("Fix the wheels.")
    session.answers("msg_1", thinks("I look around."))
    session.answers("msg_1", calls("toolu_1"))
    session.says(gave("toolu_1"))
    session.line("system", content="hook ran", subtype="informational")
    session.answers("msg_2", thinks("Hm, ich denke.", "glm-sig"), model="glm-4.7")
    session.answers("msg_2", {"type": "text", "text": "Found it."}, model="glm-4.7")
    session.says("Go on.")
    session.answers("msg_3", thinks("I was st", ""))
    session.line("user", message={"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]})  # fmt: skip
    session.says("Find all spokes.", sidechain=True)
    session.answers("msg_s", thinks("A subagent thinks.", ""), sidechain=True)
    session.answers("msg_s", calls("toolu_s", "Grep"), sidechain=True)
    session.says(gave("toolu_s"), sidechain=True)
    session.answers("msg_4", thinks("Once more."))
    session.answers("msg_4", calls("toolu_4"))
    session.answers("msg_4", calls("toolu_5"))
    session.says(gave("toolu_5"))
    session.lines.append(
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {"a": 1.0}}
    )
    session.says("What happened?")
    session.line(
        "assistant",
        message={"id": "e", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 400"}]},
        isApiErrorMessage=True,
    )  # fmt: skip
    return session


def chain_of(lines):
    """The main conversation as Claude Code finds it: from the last line up its parents."""
    named = {line["uuid"]: line for line in lines if "uuid" in line}
    at = [line for line in lines if "uuid" in line and not line["isSidechain"]][-1]
    chain = [at]
    while at["parentUuid"] is not None:
        at = named[at["parentUuid"]]
        chain.insert(0, at)
    return chain


def test_claude_code():
    session = poisoned()
    data, told = repair_session(session.data, CLAUDE)
    before, after = session.lines, lines_of(data)

    assert [
        "line 7: thinking removed: it came from glm-4.7",
        "line 10: thinking removed: it was never signed",
        "line 13: thinking removed: it was never signed",
        "line 17: result added after it for the call 'toolu_4': it has no result",
    ] == told
    new = [line for line in after if line.get("uuid") not in {line.get("uuid") for line in before}]
    assert ["toolu_4"] == [line["message"]["content"][0]["tool_use_id"] for line in new]
    assert [17 - 3] == [after.index(line) - 1 for line in new]  # behind toolu_5, three lines went
    # The lines that went, and no other.
    gone = {line.get("uuid") for line in before} - {line.get("uuid") for line in after}
    assert {before[at]["uuid"] for at in (6, 9, 12)} == gone


def test_claude_code_keeps_every_byte_of_the_others():
    session = poisoned()
    data, _ = repair_session(session.data, CLAUDE)
    before = session.data.splitlines()
    after = set(data.splitlines())
    # Those whose parent went, or got a result behind it, are told of it and say all else as before.
    relinked = {7, 10, 13, 18}
    assert {6, 9, 12} | relinked == {at for at, line in enumerate(before) if line not in after}
    lines = {line.get("uuid"): line for line in lines_of(data)}
    for at in relinked:
        old = session.lines[at]
        assert old == {**lines[old["uuid"]], "parentUuid": old["parentUuid"]}


def test_claude_code_stays_one_chain():
    """What Claude Code follows from the last line on is the whole conversation, the new result in its place."""
    session = poisoned()
    before = [line["uuid"] for line in chain_of(session.lines)]
    after = chain_of(lines_of(repair_session(session.data, CLAUDE)[0]))
    gone = {session.lines[at]["uuid"] for at in (6, 9)}
    names = [name for name in before if name not in gone]
    assert names == [line["uuid"] for line in after if line["uuid"] in names]
    (new,) = [line for line in after if line["uuid"] not in names]
    at = after.index(new)
    assert calls("toolu_5") == after[at - 1]["message"]["content"][0]
    assert gave("toolu_5") == after[at + 1]["message"]["content"]
    assert "user" == new["type"] == new["message"]["role"]
    assert new["message"]["content"][0]["is_error"]
    assert {"cwd", "sessionId", "version", "gitBranch", "userType"} <= new.keys()
    assert "requestId" not in new


def test_claude_code_is_accepted_after_it():
    session = poisoned()
    before = lint_session(history_from(session.data).session, CLAUDE)
    assert [7, 10, 10, 13, 17] == [line for line, _ in before]
    data, _ = repair_session(session.data, CLAUDE)
    assert [] == lint_session(history_from(data).session, CLAUDE)
    assert (data, []) == repair_session(data, CLAUDE)


def test_a_session_that_needs_nothing_is_the_same():
    session = Session()
    session.says("Hi.")
    session.answers("msg_1", thinks("Hm."))
    session.answers("msg_1", {"type": "text", "text": "Hello."})
    for data in (session.data, session.data.rstrip(b"\n"), session.data.replace(b"\n", b"\r\n")):
        assert (data, []) == repair_session(data, CLAUDE)


def test_results_between_the_calls_of_a_message():
    """Claude Code runs a call while the next one still comes; the lines are one message all the same."""
    session = Session()
    session.says("Go.")
    session.answers("msg_1", thinks("Hm."))
    first = session.answers("msg_1", calls("toolu_1"))
    session.says(gave("toolu_1"))
    session.last[False] = first
    session.answers("msg_1", calls("toolu_2"))
    session.says(gave("toolu_2"))
    history = history_from(session.data)

    assert ["user", "assistant", "user", "user"] == [item.role for item in history.messages]
    assert ["thinking", "tool_call", "tool_call"] == [
        part.type for part in history.messages[1].parts
    ]
    assert (session.data, []) == repair_session(session.data, CLAUDE)


def test_a_call_at_the_very_end():
    """The session was killed while it ran: who resumes it says something, and nobody brings the result."""
    session = Session()
    session.says("Go.")
    last = session.answers("msg_1", calls("toolu_1"))
    data, told = repair_session(session.data.rstrip(b"\n"), CLAUDE)

    assert ["line 2: result added after it for the call 'toolu_1': it has no result"] == told
    assert data.startswith(session.data)
    assert last == lines_of(data)[-1]["parentUuid"]
    assert (data, []) == repair_session(data, CLAUDE)


def test_a_result_without_a_call():
    session = Session()
    start = session.says("Go.")
    session.says(gave("toolu_9"))
    session.answers("msg_1", {"type": "text", "text": "Done."})
    data, told = repair_session(session.data, CLAUDE)
    assert ["line 2: tool result removed: there is no call with its id"] == told
    assert [None, start] == [line["parentUuid"] for line in lines_of(data)]


def test_one_block_of_a_line():
    """What else stands in the line stays there."""
    session = Session()
    session.says("Go.")
    session.answers("msg_1", thinks("Hm.", ""))
    content = session.lines[-1]["message"]["content"]
    content.append({"type": "text", "text": "Done."})
    data, _ = repair_session(session.data, CLAUDE)
    assert [[{"type": "text", "text": "Done."}]] == [
        line["message"]["content"] for line in lines_of(data)[1:]
    ]
    assert session.data.splitlines()[0] == data.splitlines()[0]


def test_a_result_with_more_members_is_a_result():
    session = Session()
    session.says("Go.")
    session.answers("msg_1", calls("toolu_1"))
    session.says([{**gave("toolu_1")[0], "cache_control": {"type": "ephemeral"}}])
    assert (session.data, []) == repair_session(session.data, CLAUDE)


def test_a_line_that_was_cut_off_stays():
    session = Session()
    session.says("Go.")
    session.answers("msg_1", thinks("Hm.", ""))
    data, told = repair_session(session.data + b'{"type":"assis', CLAUDE)
    assert 1 == len(told)
    assert session.data.splitlines()[0] + b'\n{"type":"assis' == data


def test_ids_that_the_target_refuses():
    """Another provider takes other ids: the call and its result are renamed together."""
    session = Session()
    session.says("Go.")
    session.answers("msg_1", calls("toolu/1 x"))
    session.says(gave("toolu/1 x"))
    data, told = repair_session(session.data, "openai/gpt-5.6")
    call, result = (line["message"]["content"][0] for line in lines_of(data)[1:])
    assert call["id"] == result["tool_use_id"] != "toolu/1 x"
    assert 2 == len(told)
    assert (data, []) == repair_session(data, "openai/gpt-5.6")


# ---- Codex ---------------------------------------------------------------------------------------


def item(**payload):
    return {"timestamp": "2026-11-20T10:00:00.000Z", "type": "response_item", "payload": payload}


def reasons(sealed=True):
    summary = [
        {"type": "summary_text", "text": "**Look**"},
        {"type": "summary_text", "text": "**See**"},
    ]
    seal = {"encrypted_content": "gAAAAABo"} if sealed else {}
    return item(type="reasoning", summary=summary, content=None, **seal)


def function_call(name):
    return item(type="function_call", name="shell", arguments='{"command":["ls"]}', call_id=name)


def output(name):
    return item(type="function_call_output", call_id=name, output="a.py")


def said(role, text):
    kind = "output_text" if role == "assistant" else "input_text"
    return item(type="message", role=role, content=[{"type": kind, "text": text}])


def context(model="gpt-5.6"):
    return {"timestamp": "t", "type": "turn_context", "payload": {"cwd": "/", "model": model}}


EVENT = {"timestamp": "t", "type": "event_msg", "payload": {"type": "token_count", "info": None}}


def codex():
    return [
        {"timestamp": "t", "type": "session_meta", "payload": {"id": "0", "model_provider": "openai"}},
        said("user", "Fix the wheels."),
        EVENT,
        context("gpt-oss-120b"),
        reasons(),  # of a model that the target cannot read
        said("assistant", "Which?"),
        said("user", "All."),
        context(),
        reasons(sealed=False),
        function_call("call_1"),
        EVENT,
        output("call_1"),
        reasons(),
        function_call("call_2"),
        item(type="custom_tool_call", call_id="call_3", name="apply_patch", input="*** Begin"),
        EVENT,
        output("call_9"),
        said("user", "Stop."),
        item(type="ghost_snapshot", ghost_commit={"id": "x"}),
        item(type="local_shell_call", call_id="call_4", status="completed", action={"type": "exec", "command": ["ls"]}),
        output("call_4"),
        said("assistant", "Done."),
    ]  # fmt: skip


def test_codex():
    lines = codex()
    before = file_of(lines)
    data, told = repair_session(before, CODEX)

    assert [
        "line 5: thinking removed: it came from openai/gpt-oss-120b",
        "line 9: thinking removed: it is not stored, and it has no encrypted content",
        "line 14: result added after it for the call 'call_2': it has no result",
        "line 15: result added after it for the call 'call_3': it has no result",
        "line 17: tool result removed: there is no call with its id",
    ] == told
    answers = [
        {"type": "function_call_output", "call_id": "call_2"},
        {"type": "custom_tool_call_output", "call_id": "call_3"},
    ]
    made = lines_of(data)
    new = made[13:15]
    assert answers == [{key: line["payload"][key] for key in ("type", "call_id")} for line in new]
    assert [{"timestamp", "type", "payload"}] * 2 == [set(line) for line in new]
    kept = [line for at, line in enumerate(lines, 1) if at not in (5, 9, 17)]
    assert file_of([*kept[:13], *new, *kept[13:]]) == data
    assert (data, []) == repair_session(data, CODEX)
    assert [] == lint_session(history_from(data).session, CODEX)


def test_codex_is_read():
    history = history_from(file_of(codex()))
    assert "codex" == history.kind
    assert ["user", "assistant", "user", "assistant", "tool", "assistant"] == [
        message.role for message in history.messages
    ][:6]
    origins = [part.origin for part in history.messages[1].parts]
    assert [("openai", "gpt-oss-120b")] * 3 == [(item.provider, item.model) for item in origins]


def compacted(*items):
    return {"timestamp": "t", "type": "compacted", "payload": {"message": "", "replacement_history": list(items)}}  # fmt: skip


SEALED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAABo"}
KEPT = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]}


def before_and_after(*compactions):
    """A session with compactions in it: its lines before the first of them, and all of them."""
    head = {"timestamp": "t", "type": "session_meta", "payload": {"id": "0", "model_provider": "openai"}}  # fmt: skip
    before = [head, context(), said("user", "Fix it."), reasons(), said("assistant", "Done.")]
    after = []
    for one in compactions:
        after += [one, EVENT, said("user", "Go on."), reasons(), said("assistant", "I do.")]
    return before, [*before, *after]


def test_a_compaction_that_the_target_cannot_read_is_cut_off_with_what_follows_it():
    """The session goes on from all that was said before it. Seen failing: neither lint nor repair knew of it."""
    before, lines = before_and_after(compacted(KEPT, SEALED))
    session = history_from(file_of(lines)).session
    problems = {(line, one.code, one.severity) for line, one in lint_session(session, CLAUDE)}
    assert (6, "compaction_unreadable", "refused") in problems
    assert "compaction_unreadable" not in {one.code for _, one in lint_session(session, CODEX)}

    data, told = repair_session(file_of(lines), CLAUDE)
    assert "line 6: compaction removed: it stands for everything before it, and only its own provider can read it; the last readable point is the end of message 1" in told  # fmt: skip
    assert "line 8: text removed: it comes after a compaction that cannot be read" in told
    thought = before[3]
    assert [*(line for line in before if line is not thought), EVENT] == lines_of(data)
    assert [] == lint_session(history_from(data).session, CLAUDE)
    assert (file_of(lines), []) == repair_session(file_of(lines), CODEX)


@pytest.mark.parametrize(
    ("compactions", "line"),
    [
        ((compacted(KEPT, SEALED), compacted(KEPT, SEALED)), 6),
        ((compacted(KEPT, SEALED), compacted(KEPT)), None),
        ((compacted(KEPT), compacted(KEPT, SEALED)), 11),
    ],
)
def test_a_later_compaction_replaces_an_earlier_one(compactions, line):
    _, lines = before_and_after(*compactions)
    found = lint_session(history_from(file_of(lines)).session, CLAUDE)
    unreadable = [number for number, one in found if one.code == "compaction_unreadable"]

    assert line == (unreadable[0] if unreadable else None)
    data, _ = repair_session(file_of(lines), CLAUDE)
    assert "compaction_unreadable" not in {one.code for _, one in lint_session(history_from(data).session, CLAUDE)}  # fmt: skip


def test_a_compaction_of_the_gateway_is_left_to_it():
    sealed = EnvelopeSealer(b"k" * 32).seal_summary(Summary("cmp_1", "So it was.", 2, "m"), "me", "openai-responses")  # fmt: skip
    _, lines = before_and_after(compacted(KEPT, {**SEALED, "encrypted_content": sealed}))

    assert "compaction_unreadable" not in {one.code for _, one in lint_session(history_from(file_of(lines)).session, CLAUDE)}  # fmt: skip


def test_a_file_of_one_line():
    assert "codex" == history_from(file_of([said("user", "x")])).kind
    session = Session()
    session.says("x")
    assert "claude-code" == history_from(session.data.rstrip()).kind


def test_odd_members():
    """Nothing in a file of somebody else's is taken on trust."""
    session = Session()
    session.says("Go.")
    session.answers("msg_1", thinks("Hm.", ""))
    odd = [
        {"type": ["x"], "uuid": {}, "parentUuid": []},
        {"type": "user", "message": {"role": "user", "content": None}, "uuid": 1},
        {"type": "user", "message": {"role": "user", "content": [None, 3]}, "parentUuid": 4},
        {
            "type": "assistant",
            "message": {"id": [], "model": {}, "content": ["x", thinks("y", "")]},
        },
        [1],
        None,
    ]
    data, told = repair_session(session.data + file_of(odd), CLAUDE)
    assert 2 == len(told)
    assert [lines_of(session.data)[0], *odd[:3]] == lines_of(data)[:4]
    assert (data, []) == repair_session(data, CLAUDE)
    strange = file_of([item(type=["x"]), item(type="function_call", call_id=3), said("user", "x")])
    data, _ = repair_session(strange, CODEX)
    assert (data, []) == repair_session(data, CODEX)


@pytest.mark.parametrize("data", [b"", b"\n\n", b'{"type":"summary"}\n{"type":"x"}', b"{\n{"])
def test_what_is_no_session(data):
    with pytest.raises(iv.DecodeError, match="expected"):
        repair_session(data, CLAUDE)


def test_a_long_session():
    """It is read and mended in one go."""
    session = Session()
    for number in range(300):
        session.says("Go.")
        session.answers(f"msg_{number}", thinks("Hm.", ""))
        session.answers(f"msg_{number}", calls(f"toolu_{number}"))
    data, told = repair_session(session.data, CLAUDE)
    assert 600 == len(told)
    assert [] == repair_session(data, CLAUDE)[1]


# ---- any session ---------------------------------------------------------------------------------

MODELS = st.sampled_from(["claude-opus-4-6", "claude-fable-5-2", "glm-4.7", "<synthetic>"])
BLOCKS = ["thinking", "unsigned", "redacted", "text", "call", "system"]
ITEMS = ["user", "assistant", "sealed", "bare", "call", "answered", "stray", "event"]


@st.composite
def claude_sessions(draw):
    session = Session()
    session.says("Go.")
    names = iter(range(10_000))
    for _ in range(draw(st.integers(1, 6))):
        side = draw(st.booleans()) and draw(st.booleans())
        if draw(st.booleans()):
            session.says(draw(st.sampled_from(["Go.", [{"type": "text", "text": "Gö."}]])), side)
        if draw(st.integers(0, 4)) == 0:
            session.says(gave(f"stray_{next(names)}"), side)
        given, model = f"msg_{next(names)}", draw(MODELS)
        made = []
        for kind in draw(st.lists(st.sampled_from(BLOCKS), max_size=5)):
            block = {
                "thinking": thinks("Hm."),
                "unsigned": thinks("H", ""),
                "redacted": {"type": "redacted_thinking", "data": "x"},
                "text": {"type": "text", "text": "So."},
                "call": calls(f"toolu_{next(names)}"),
            }.get(kind)
            if block is None:
                session.line("system", side, content="hook")
            elif made and draw(st.booleans()):
                made[-1]["message"]["content"].append(block)
            else:
                session.answers(given, block, model, side)
                made.append(session.lines[-1])
            if kind == "call" and draw(st.booleans()):
                session.says(gave(block["id"]), side)
        if draw(st.integers(0, 3)) == 0:
            session.lines.append({"type": "queue-operation", "operation": "enqueue"})
    return session.data


@st.composite
def codex_sessions(draw):
    lines = [said("user", "Go.")]
    names = iter(range(10_000))
    for kind in draw(st.lists(st.sampled_from([*ITEMS, "gpt-5.6", "gpt-oss-120b"]), max_size=12)):
        name = f"call_{next(names)}"
        lines += {
            "user": [said("user", "Gö.")],
            "assistant": [said("assistant", "So.")],
            "sealed": [reasons()],
            "bare": [reasons(sealed=False)],
            "call": [function_call(name)],
            "answered": [function_call(name), EVENT, output(name)],
            "stray": [output(name)],
            "event": [EVENT],
        }.get(kind, [context(kind)])
    return file_of(lines)


@given(st.one_of(claude_sessions(), codex_sessions()), st.sampled_from([CLAUDE, CODEX]))
@settings(deadline=None)
def test_any_session(data, target):
    """Accepted afterwards, the same when repaired again, and no line changed that need not change."""
    repaired, told = repair_session(data, target)

    assert (repaired, []) == repair_session(repaired, target)
    if repaired:
        left = lint_session(history_from(repaired).session, target)
        assert [] == [problem for _, problem in left if problem.severity == "refused"]
    before, after = lines_of(data), lines_of(repaired)
    assert bool(told) == (repaired != data)
    old = {dumped(line) for line in before}
    parents = ("parentUuid", "message", "payload")
    known = [{key: line[key] for key in line if key not in parents} for line in before]
    for line in after:
        if dumped(line) not in old:
            rest = {key: line[key] for key in line if key not in parents}
            is_result = "tool_result" in dumped(line) or "function_call_output" in dumped(line)
            assert rest in known or is_result
    named = {line["uuid"] for line in after if "uuid" in line}
    assert len(named) == len([line for line in after if "uuid" in line])
    for line in after:
        assert line.get("parentUuid") is None or line["parentUuid"] in named


def claude_body(lines, sidechain):
    """What Claude Code would send: lines of one message joined, and what the user says in a row."""
    messages = []
    for line in lines:
        if line["type"] not in ("user", "assistant") or line["isSidechain"] != sidechain:
            continue
        message = line["message"]
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        given = message.get("id")
        same = [item for item in messages if given and item["id"] == given]
        if not same and messages and messages[-1]["role"] == message["role"] == "user":
            same = messages[-1:]
        if same:
            same[0]["content"] += content
        else:
            messages.append({"role": message["role"], "id": given, "content": [*content]})
    next_words = {"role": "user", "content": "On."}
    sent = [{"role": item["role"], "content": item["content"]} for item in messages]
    return {"messages": [*sent, next_words], "max_tokens": 9}


def refusals(body, target):
    provider, model = target.split("/")
    host = host_of(provider)
    row = model_row_of(model, provider, host.dialect)
    asked = Target(provider=host.id, model=model, row=row, host=host, dialect=host.dialect)
    return [refusal.text for refusal in rules_of(host.dialect)({"model": model, **body}, asked)]


@given(claude_sessions())
@settings(deadline=None)
def test_the_rules_accept_what_claude_code_would_send(data):
    lines = lines_of(repair_session(data, CLAUDE)[0])
    for sidechain in (False, True):
        assert [] == refusals(claude_body(lines, sidechain), CLAUDE)


@given(codex_sessions())
@settings(deadline=None)
def test_the_rules_accept_what_codex_would_send(data):
    lines = lines_of(repair_session(data, CODEX)[0])
    items = [line["payload"] for line in lines if line["type"] == "response_item"]
    assert [] == refusals(
        {"input": [*items, said("user", "On.")["payload"]], "store": False}, CODEX
    )


def test_lines_are_read_without_building_requests(monkeypatch):
    """A line has one block; a request around each would be checked and thrown away."""

    def refuse(*_, **__):
        raise AssertionError("a request was built")

    sessions = [poisoned().data, file_of(codex())]
    messages = [history_from(data).messages for data in sessions]
    for module in ("anthropic", "responses"):
        monkeypatch.setattr(f"innervoice.wire.{module}.serve.request_of", refuse)

    assert messages == [history_from(data).messages for data in sessions]
    with pytest.raises(AssertionError, match="a request was built"):
        history_from({"input": [{"type": "message", "role": "user", "content": "a"}]})


# ---- results that came after other messages ------------------------------------------------------------


def test_a_late_result_of_claude_code():
    """A background command: its result came after the user had gone on."""
    session = Session()
    session.says("x")
    session.answers("msg_1", calls("toolu_1"))
    session.answers("msg_1", calls("toolu_2"))
    session.says(gave("toolu_1"))
    session.says("Go on.")
    session.answers("msg_2", {"type": "text", "text": "Yes."})
    session.says(gave("toolu_2"))
    session.answers("msg_3", {"type": "text", "text": "Done."})
    data, told = repair_session(session.data, CLAUDE)
    lines = lines_of(data)

    why = "the host requires results directly after their calls"
    assert [f"line 7: tool result moved to its call: {why}"] == told
    assert gave("toolu_2") == lines[3]["message"]["content"]
    parents = {line["uuid"]: line["parentUuid"] for line in lines}
    assert [parents[line["uuid"]] for line in lines[1:]] == [line["uuid"] for line in lines[:-1]]
    assert (data, []) == repair_session(data, CLAUDE)
    assert [] == lint_session(history_from(data).session, CLAUDE)


def test_a_late_result_of_codex():
    """Responses takes it where it is; Claude does not."""
    lines = [
        said("user", "x"),
        context(),
        function_call("call_1"),
        function_call("call_2"),
        output("call_1"),
        said("user", "Go on."),
        output("call_2"),
        said("assistant", "Done."),
    ]
    before = file_of(lines)
    data, told = repair_session(before, CLAUDE)

    assert (before, []) == repair_session(before, CODEX)
    assert ["line 7: tool result moved to its call"] == [text.rpartition(": ")[0] for text in told]
    assert ["call_1", "call_2", "call_2", "call_1"] == [line["payload"]["call_id"] for line in lines_of(data) if "call_id" in line["payload"]]  # fmt: skip
    assert (data, []) == repair_session(data, CLAUDE)
