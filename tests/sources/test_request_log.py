"""The log of requests: what is written of them, what is not, and the conversations that come out of it."""

import json
import os
import stat
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from gateway.harness import BEHIND, HOMES, QUESTION, TOOLS, Served
from innervoice.canon.events import PartEnd, PartStart, Recast, TextDelta, ThinkingDelta
from innervoice.canon.origin import Origin
from innervoice.canon.parts import Media, Opaque, Text, Thinking, ToolCall
from innervoice.canon.response import Failure, Response
from innervoice.emulator.core import Emulator
from innervoice.emulator.embedded import emulated_client
from innervoice.emulator.request_log import EmulatorLog
from innervoice.errors import DecodeError
from innervoice.gateway.operations.journal import json_line
from innervoice.sources.opening import open_source
from innervoice.sources.request_log.files import LogBounds
from innervoice.sources.request_log.write import Asked, RequestLog

KEY = "sk-ant-api03-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA"
SEAL = "RXJyb3I6IG5vdGhpbmcgdG8gc2VlIGhlcmUsIG1vdmUgYWxvbmcu" * 3


def logged(place, **options):
    return RequestLog(place, by="test", **options)


def files_in(folder):
    return sorted(folder.glob("*.jsonl"))


def only_file(folder):
    (file,) = files_in(folder)
    return file


def body(messages, **members):
    return json.dumps({"model": "m", "max_tokens": 100, "messages": messages, **members}).encode()


def asked(name, messages, *, session="", **members):
    return Asked(
        name, 1000.0, "anthropic", body(messages, **members), "anthropic/m", session=session
    )


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


def answer(text, **fields):
    return Response(parts=(Text(text),), ended=True, finish_reason="stop", **fields)


def talk(log, *steps, level="full"):
    """Writes requests, each with its answer; None is one that has none yet."""
    for request, response in steps:
        entry = log.begin(request, level)
        if response is not None:
            entry.end(response)
    log.close()


def texts(conversation):
    return [turn.message.text for turn in conversation.turns]


# ---- conversations -----------------------------------------------------------------------------


def test_a_conversation_comes_out_as_it_went_in(tmp_path):
    first, second = [user("one")], [user("one"), said("eins"), user("two")]
    tool = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}
    talk(
        logged(tmp_path),
        (asked("a", first, system="Be brief.", tools=[tool]), answer("eins", model="m")),
        (asked("b", second, system="Be brief.", tools=[tool]), answer("zwei", model="m")),
    )
    source = open_source(only_file(tmp_path))
    (conversation,) = source.conversations()

    assert not source.troubles
    assert conversation.id == "a"
    assert conversation.title == "one"
    assert texts(conversation) == ["one", "eins", "two", "zwei"]
    assert [turn.message.role for turn in conversation.turns] == ["user", "assistant"] * 2
    assert [turn.answer.status if turn.answer else None for turn in conversation.turns] == [
        None, "answered", None, "answered",
    ]  # fmt: skip
    assert conversation.request.system == "Be brief."
    assert conversation.request.tools[0].name == "look"
    assert [turn.marks for turn in conversation.turns] == [()] * 4


def test_it_grows_with_what_is_new(tmp_path):
    """A request brings its whole history; each message is in the log once. Seen failing: every request with all of its messages."""
    log, messages, sizes = logged(tmp_path), [], []
    for number in range(100):
        messages.append(user(f"question {number:03} " + "x " * 200))
        entry = log.begin(asked(f"r{number}", messages), "full")
        entry.end(answer(f"reply {number:03} " + "y " * 200))
        messages.append(said(f"reply {number:03} " + "y " * 200))
        log.flush()
        sizes.append(only_file(tmp_path).stat().st_size)
    log.close()
    data = only_file(tmp_path).read_bytes()

    assert sizes[99] - sizes[49] < 1.1 * (sizes[49] - sizes[0]) * 50 / 49
    assert all(data.count(f"question {number:03}".encode()) == 1 for number in range(100))
    assert all(data.count(f"reply {number:03}".encode()) == 1 for number in range(100))
    (conversation,) = open_source(only_file(tmp_path)).conversations()
    assert len(conversation.turns) == 200


def test_cache_marks_that_move_change_nothing(tmp_path):
    mark = {"cache_control": {"type": "ephemeral"}}

    def block(text, **members):
        return {"role": "user", "content": [{"type": "text", "text": text, **members}]}

    talk(
        logged(tmp_path),
        (asked("a", [block("one", **mark)]), answer("eins")),
        (asked("b", [block("one"), said("eins"), block("two", **mark)]), answer("zwei")),
    )
    (conversation,) = open_source(only_file(tmp_path)).conversations()

    assert texts(conversation) == ["one", "eins", "two", "zwei"]


def test_a_client_that_rewrites_its_last_message_stays_one_conversation(tmp_path):
    talk(
        logged(tmp_path),
        (asked("a", [user("base"), said("ok"), user("now: 1")]), answer("eins")),
        (asked("b", [user("base"), said("ok"), user("now"), said("eins"), user("2")]), answer("z")),
    )
    (conversation,) = open_source(only_file(tmp_path)).conversations()

    assert texts(conversation) == ["base", "ok", "now: 1", "eins", "now", "eins", "2", "z"]
    gone = [turn.message.text for turn in conversation.turns if "abandoned" in turn.marks]
    assert gone == ["now: 1", "eins"]


def test_who_goes_back_abandons_what_was_behind(tmp_path):
    start = [user("one"), said("eins")]
    talk(
        logged(tmp_path),
        (asked("a", [user("one")]), answer("eins")),
        (asked("b", [*start, user("left")]), answer("links")),
        (asked("c", [*start, user("right")]), answer("rechts")),
    )
    (conversation,) = open_source(only_file(tmp_path)).conversations()

    assert [(turn.message.text, turn.marks) for turn in conversation.turns] == [
        ("one", ()),
        ("eins", ()),
        ("left", ("abandoned",)),
        ("links", ("abandoned",)),
        ("right", ()),
        ("rechts", ()),
    ]


def test_a_failed_request_that_is_sent_again(tmp_path):
    failed = Response(error=Failure(type="overloaded", code=529))
    talk(
        logged(tmp_path), (asked("a", [user("one")]), failed), (asked("b", [user("one")]), answer("eins"))
    )  # fmt: skip
    (conversation,) = open_source(only_file(tmp_path)).conversations()

    assert [(turn.message.text, turn.marks) for turn in conversation.turns] == [
        ("one", ()),
        ("", ("api_error",)),
        ("eins", ()),
    ]


def test_subagents_are_lanes_of_their_session(tmp_path):
    talk(
        logged(tmp_path),
        (asked("a", [user("do it")], session="s1"), answer("yes")),
        (asked("b", [user("look there")], session="s1", system="You search."), answer("found")),
        (asked("c", [user("do it")], session="s1", system="Another."), answer("title")),
        (asked("d", [user("do it")], session="s2"), answer("other")),
        (asked("e", [user("do it"), said("yes"), user("more")], session="s1"), answer("done")),
    )
    source = open_source(only_file(tmp_path))

    assert [(entry.id, entry.parent) for entry in source.entries] == [
        ("a", None),
        ("b", "a"),
        ("c", "a"),
        ("d", None),
    ]
    assert texts(source.conversation("a")) == ["do it", "yes", "more", "done"]


def test_the_request_for_a_title_is_not_the_main_conversation(tmp_path):
    """Claude Code asks for a title, without tools, before it sends the user's own words; its subagents come later."""
    tools = [{"name": "Bash", "input_schema": {"type": "object"}}]
    talk(
        logged(tmp_path),
        (asked("title", [user("<session>do it</session>")], session="s1"), answer("Doing it")),
        (asked("own", [user("do it")], session="s1", tools=tools), answer("yes")),
        (asked("sub", [user("look")], session="s1", tools=tools, system="You."), answer("seen")),
    )
    source = open_source(only_file(tmp_path))

    assert [(entry.id, entry.parent) for entry in source.entries] == [
        ("own", None),
        ("title", "own"),
        ("sub", "own"),
    ]


def test_results_name_the_calls_of_the_answer(tmp_path):
    """Clients give calls ids of their own; Gemini's have none."""
    call = {"functionCall": {"name": "look", "args": {"at": "it"}}}
    result = {"functionResponse": {"name": "look", "response": {"result": "seen"}}}
    contents = [{"role": "user", "parts": [{"text": "Look."}]}]
    after = [*contents, {"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]
    log = logged(tmp_path)
    first = Asked("a", 1.0, "gemini", json.dumps({"contents": contents}).encode(), "gemini/g")
    second = Asked("b", 2.0, "gemini", json.dumps({"contents": after}).encode(), "gemini/g")
    called = Response(parts=(ToolCall("call_77", "look", '{"at":"it"}'),), ended=True)
    talk(log, (first, called), (second, answer("Seen.")))
    (conversation,) = open_source(only_file(tmp_path)).conversations()

    results = [part for turn in conversation.turns for part in turn.message.parts if part.type == "tool_result"]  # fmt: skip
    assert [part.call_id for part in results] == ["call_77"]


def test_a_response_that_is_gone_on_from_by_its_id(tmp_path):
    def request(name, **members):
        data = json.dumps({"model": "m", **members}).encode()
        return Asked(name, 1.0, "openai-responses", data, "openai/m")

    talk(
        logged(tmp_path),
        (request("a", input="one"), answer("eins", id="resp_1")),
        (request("b", input="two", previous_response_id="resp_1"), answer("zwei", id="resp_2")),
    )
    (conversation,) = open_source(only_file(tmp_path)).conversations()

    assert texts(conversation) == ["one", "eins", "two", "zwei"]


# ---- growth ------------------------------------------------------------------------------------


def test_an_open_thought_grows(tmp_path):
    log = logged(tmp_path)
    entry = log.begin(asked("a", [user("one")]), "full")
    seen = []
    pieces = ["First of all ", "I look at it, ", "then I ", "think. "]
    entry.grow([PartStart(0, "thinking")])
    for piece in pieces:
        entry.grow([ThinkingDelta(0, piece)])
        log.flush()
        (conversation,) = open_source(only_file(tmp_path)).conversations()
        part = conversation.turns[-1].message.parts[0]
        seen.append((part.text, part.complete))
    log.close()

    assert seen == [
        ("First ", False),
        ("First of all I look ", False),
        ("First of all I look at it, ", False),
        ("First of all I look at it, then ", False),
    ]


def test_a_recast_is_told(tmp_path):
    log = logged(tmp_path)
    entry = log.begin(asked("a", [user("one")]), "full")
    entry.grow([PartStart(0, "text"), TextDelta(0, "I think so. ")])
    entry.grow([Recast(0, (Thinking("I think so. "), Text("Yes ", complete=False)))])
    entry.grow([TextDelta(1, "indeed, it is so. ")])
    log.close()
    (conversation,) = open_source(only_file(tmp_path)).conversations()
    parts = conversation.turns[-1].message.parts

    assert [(part.type, part.text, part.complete) for part in parts] == [
        ("thinking", "I think so. ", True),
        ("text", "Yes indeed, it ", False),
    ]


def test_a_part_that_ended_has_its_seal_and_its_words_once(tmp_path):
    log = logged(tmp_path)
    entry = log.begin(asked("a", [user("one")]), "full")
    origin = Origin(provider="anthropic", block={"signature": SEAL}, seals=("signature",))
    whole = Thinking("Thinking about it", origin=origin)
    entry.grow(
        [PartStart(0, "thinking"), ThinkingDelta(0, "Thinking "), ThinkingDelta(0, "about it")]
    )
    entry.grow([PartEnd(0, whole), PartStart(1, "text"), TextDelta(1, "So ")])
    log.close()
    data = only_file(tmp_path).read_bytes()
    (conversation,) = open_source(only_file(tmp_path)).conversations()
    part = conversation.turns[-1].message.parts[0]

    assert (part.text, part.complete) == ("Thinking about it", True)
    assert part.origin.block["signature"]["innervoice.seal"]["size"] == len(SEAL)
    assert data.count(b"Thinking ") == 1


@settings(deadline=None)
@given(cuts=st.lists(st.integers(1, len(KEY) + 40), max_size=6))
def test_a_key_in_pieces_is_still_a_key(tmp_path_factory, cuts):
    """Seen failing: pieces that were redacted one by one."""
    text = f"I found the key {KEY} in a file of mine."
    ends = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    log = logged(folder := tmp_path_factory.mktemp("log"))
    entry = log.begin(asked("a", [user("one")]), "full")
    entry.grow([PartStart(0, "thinking")])
    for start, end in pairwise(ends):
        entry.grow([ThinkingDelta(0, text[start:end])])
    log.close()
    data = only_file(folder).read_bytes().decode()
    (conversation,) = open_source(only_file(folder)).conversations()

    assert conversation.turns[-1].message.thinking.startswith("I found the key [redacted")
    assert not any(KEY[at : at + 12] in data for at in range(8, len(KEY) - 12))


# ---- what is not written -----------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", BEHIND)
def test_no_seal_and_no_key(tmp_path, dialect, stream):
    """Over every dialect: neither what a provider sealed nor a client's key is in any byte."""
    log = EmulatorLog(tmp_path)
    client = emulated_client(Emulator(log=log), api_key=KEY)
    wanted = {
        "dialect": dialect,
        "tools": TOOLS,
        "reasoning": iv.Reasoning("high", show="summary"),
        "max_tokens": 8000,
    }
    history, answers = [iv.user(f"{QUESTION} My key is {KEY}.")], []
    for _ in range(3):
        if stream:
            with client.stream(HOMES[dialect], history, **wanted) as events:
                list(events)
            response = events.response
        else:
            response = client.ask(HOMES[dialect], history, **wanted)
        answers.append(response)
        history.append(response.message)
        history += [iv.tool_result(call.id, "sunshine") for call in response.tool_calls]
    log.close()
    data = only_file(tmp_path).read_bytes().decode()
    sealed = [seal for response in answers for part in response.parts for seal in seals_of(part)]

    assert sealed or dialect in ("openai-chat", "mistral", "cohere", "ollama")
    for seal in sealed:
        assert seal not in data
        assert not any(seal[at : at + 24] in data for at in range(0, len(seal) - 24, 7))
    assert KEY not in data
    assert KEY[8:24] not in data
    assert "innervoice.seal" in data or not sealed
    (conversation,) = open_source(only_file(tmp_path)).conversations()
    assert [turn.message.text for turn in conversation.turns if turn.answer] == [
        response.text for response in answers
    ]


def seals_of(part):
    """Long texts in the places that a part names as sealed."""
    origin = part.origin
    for path in origin.seals if origin else ():
        value = origin.block
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, str) and len(value) >= 32:
            yield value


WORDS = st.text("abcdefghijklmnop", min_size=8, max_size=20)


@settings(deadline=None)
@given(words=st.lists(WORDS, min_size=9, max_size=9, unique=True))
def test_shape_has_no_words(tmp_path_factory, words):
    """Whatever people, models and tools say: of it only lengths are there. Names of tools and models stay."""
    question, system, thought, text, value, result, name, foreign, detail = words
    tool = {
        "name": "look",
        "description": system,
        "input_schema": {"type": "object", "title": system},
    }
    messages = [
        user(question),
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": thought, "signature": SEAL},
            {"type": "text", "text": text},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {name: value}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": result},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": SEAL}},
            {"type": "odd_block", "content": foreign},
        ]},
    ]  # fmt: skip
    parts = (Thinking(thought), Text(text), ToolCall("toolu_2", "look", json.dumps({name: value})), Opaque({"type": "server_tool", "text": foreign}))  # fmt: skip
    notes = (iv.Note("moved_on", detail),)
    failure = Failure(type="api_error", message=detail)
    response = Response(parts=parts, ended=True, notes=notes, error=failure)
    log = logged(folder := tmp_path_factory.mktemp("log"))
    entry = log.begin(
        asked("a", messages, system=system, tools=[tool], stop_sequences=[value]), "shape"
    )
    entry.grow([PartStart(0, "thinking"), ThinkingDelta(0, f"{thought} and "), Recast(0, parts)])
    entry.end(response, lambda: {"notes": [{"code": "moved_on", "detail": detail, "count": 1}]})
    log.close()
    data = only_file(folder).read_bytes().decode()

    assert [word for word in words if word in data] == []
    assert SEAL[:32] not in data
    assert "look" in data
    (conversation,) = open_source(only_file(folder)).conversations()
    assert len(conversation.turns[0].message.text) == len(question)
    assert len(conversation.turns[-1].message.parts[0].text) == len(thought)
    assert conversation.turns[-1].answer.notes == (iv.Note("moved_on"),)


def test_shape_says_that_it_has_no_texts(tmp_path):
    talk(logged(tmp_path), (asked("a", [user("one")]), answer("eins")), level="shape")
    source = open_source(only_file(tmp_path))

    assert any("only their shape was logged" in sentence for sentence in source.cannot_know)
    assert source.entries[0].title == "anthropic/m, 1 request"


def test_media_and_foreign_blocks_keep_their_size(tmp_path):
    parts = (
        Media("image/png", data="QUJD" * 1000, name="a.png"),
        Media("image/png", url=f"https://files.example/a.png?sig={SEAL}"),
        Opaque({"type": "web_search_tool_result", "content": [{"title": "News", "encrypted_content": "abc"}], "index": SEAL}),
    )  # fmt: skip
    talk(logged(tmp_path), (asked("a", [user("one")]), Response(parts=parts, ended=True)))
    data = only_file(tmp_path).read_bytes().decode()
    (conversation,) = open_source(only_file(tmp_path)).conversations()
    image, linked, opaque = conversation.turns[-1].message.parts

    assert "QUJDQUJD" not in data
    assert SEAL not in data
    assert image.data is None
    assert image.name == "a.png, 3,000 bytes"
    assert linked.url is None
    assert linked.name == "https://files.example/a.png"
    assert opaque.value["content"] == [{"title": "News", "encrypted_content": "[3 characters]"}]


def test_seals_in_ids_are_not_written(tmp_path):
    """Some programs carry a seal in the id of a call."""
    odd = f"call_1__thought__{SEAL}"
    call = {"type": "tool_use", "id": odd, "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": odd, "content": "seen"}
    messages = [
        user("one"),
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    talk(logged(tmp_path), (asked("a", messages), answer("eins")))
    (conversation,) = open_source(only_file(tmp_path)).conversations()
    made = conversation.turns[1].message.parts[0]

    assert SEAL[:32] not in only_file(tmp_path).read_text()
    assert made.id == conversation.turns[2].message.parts[0].call_id


# ---- files that are cut, changed or foreign ----------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    log = logged(folder)
    entry = log.begin(asked("a", [user("one")]), "full")
    entry.grow([PartStart(0, "thinking"), ThinkingDelta(0, "Let me see. "), TextDelta(0, "x ")])
    log.flush()
    entry.end(answer("eins"))
    talk(log, (asked("b", [user("one"), said("eins"), user("two")]), answer("zwei")))
    return only_file(folder).read_bytes()


def read_all(data):
    """Everything that can be read; None if it is no log."""
    try:
        source = open_source(data)
    except DecodeError:
        return None
    turns = []
    for entry in source.entries:
        try:
            turns += source.conversation(entry.id).turns
        except DecodeError:
            continue
    return turns


def test_it_can_be_cut_anywhere(whole):
    counts = [len(read_all(whole[:end]) or ()) for end in range(len(whole) + 1)]

    assert counts[-1] == 4
    assert counts == sorted(counts)  # an answer that grew is not lost again


@settings(deadline=None)
@given(data=st.data())
def test_it_can_be_anything(whole, data):
    """Lines that are left out, repeated and changed give DecodeError or troubles, nothing else."""
    lines = whole.splitlines(keepends=True)
    chosen = data.draw(st.lists(st.sampled_from(lines), max_size=8))
    changed = bytearray(lines[0] + b"".join(chosen))
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(changed) - 1))
        changed[place] = data.draw(st.integers(0, 255))
    read_all(bytes(changed))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "role", "parts", "event", "index", "model", "system", "tools"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


EVENTS = st.sampled_from(["part_start", "text_delta", "thinking_delta", "part_end", "recast", "tool_call_delta", "odd"])  # fmt: skip
PLACES = st.integers(-1, 2) | JSON
STEPS = st.lists(
    st.fixed_dictionaries(
        {"event": EVENTS},
        optional={
            "index": PLACES,
            "type": st.sampled_from(["text", "thinking"]) | JSON,
            "text": st.text(max_size=5) | JSON,
            **dict.fromkeys(("part", "parts", "rest", "origin", "complete"), JSON),
        },
    )
    | JSON,
    max_size=6,
)


@settings(deadline=None)
@given(
    request=st.fixed_dictionaries({}, optional=dict.fromkeys(("at", "base", "kept", "answer", "new", "settings", "session", "asked", "level"), JSON)),
    steps=STEPS | JSON,
    end=st.fixed_dictionaries({}, optional=dict.fromkeys(("at", "response", "report"), JSON)),
    has_end=st.booleans(),
)  # fmt: skip
def test_records_of_any_content(whole, request, steps, end, has_end):
    head = whole.splitlines(keepends=True)[0]
    records = [
        {"record": "request", "id": "a", **request},
        {"record": "growth", "id": "a", "steps": steps},
        *([{"record": "end", "id": "a", **end}] if has_end else []),
        {"record": "request", "id": "b", **request, "base": "a"},
    ]
    lines = [json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records]
    read_all(head + b"".join(lines))


@pytest.mark.parametrize(
    "steps",
    [
        [{"event": "part_end"}],
        [{"event": "part_end", "index": 5}],
        [{"event": "text_delta", "index": 0, "text": "before its part"}],
        [{"event": "text_delta"}],
        [{"event": "text_delta", "index": [], "text": "x"}],
        [{"event": "recast", "index": None}],
        [3],
    ],
)
def test_steps_that_are_none(whole, steps):
    records = [{"record": "request", "id": "a"}, {"record": "growth", "id": "a", "steps": steps}]
    lines = [json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records]
    source = open_source(whole.splitlines(keepends=True)[0] + b"".join(lines))

    with pytest.raises(DecodeError, match="expected the steps of an answer"):
        source.conversation()


def test_lines_of_the_terminal_are_shown(tmp_path):
    served = Served()
    path = "/v1/messages"
    request = {"model": "gemini/gemini-3.5-flash", "max_tokens": 2000, "messages": [user("What is 15 * 23?")]}  # fmt: skip
    served.ask("POST", path, request)
    served.ask("POST", path, {**request, "model": "nobody/nothing"})
    file = tmp_path / "gateway.log"
    file.write_text("".join(json_line(report) + "\n" for report in served.reports))
    source = open_source(file)
    good, bad = source.conversations()

    assert source.kind == "gateway-lines"
    assert any("has no texts" in sentence for sentence in source.cannot_know)
    assert good.turns[0].answer.usage.output_tokens > 0
    assert good.turns[0].answer.error is None
    assert good.turns[0].message.parts == ()
    assert bad.turns[0].marks == ("api_error",)
    assert bad.turns[0].answer.error.code == 404


# ---- files -------------------------------------------------------------------------------------


def test_only_this_user_can_read_it(tmp_path):
    talk(logged(tmp_path / "logs"), (asked("a", [user("one")]), answer("eins")))

    assert stat.S_IMODE(only_file(tmp_path / "logs").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700


def test_a_full_file_is_followed_by_another_that_can_be_read_alone(tmp_path):
    log, messages = logged(tmp_path, bounds=LogBounds(file_bytes=4000)), []
    open_one = log.begin(asked("open", [user("slow")]), "full")
    for number in range(20):
        messages.append(user(f"question {number} " + "x" * 300))
        log.begin(asked(f"r{number}", messages), "full").end(answer(f"reply {number}"))
        messages.append(said(f"reply {number}"))
        log.flush()
    open_one.end(answer("at last"))
    log.close()
    sources = [open_source(file) for file in files_in(tmp_path)]
    sources.sort(key=lambda source: source.entries[0].at)
    last = max(
        sources, key=lambda source: max(len(turns) for turns in map(texts, source.conversations()))
    )

    assert len(sources) > 2
    assert not any(source.troubles for source in sources)
    assert texts(last.conversation())[-1] == "reply 19"
    assert len(texts(last.conversation())) == 40
    slow = [texts(one) for source in sources for one in source.conversations() if one.id == "open"]
    assert slow == [["slow", "at last"]]


def test_old_files_and_too_many_bytes_go(tmp_path):
    def old(name, days, size):
        file = tmp_path / f"requests-{name}.jsonl"
        file.write_bytes(b"x" * size)
        when = file.stat().st_mtime - days * 86_400
        os.utime(file, (when, when))
        return file

    ancient, older, newer = old("1", 31, 10), old("2", 2, 5000), old("3", 1, 4000)
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    bounds = LogBounds(most_bytes=6000, seconds=30 * 86_400)
    talk(logged(tmp_path, bounds=bounds), (asked("a", [user("one")]), answer("eins")))

    assert not ancient.exists()
    assert not older.exists()
    assert newer.exists()
    assert other.exists()


def test_a_failing_disk_is_told_once_and_tried_again(tmp_path):
    now, said_lines = [0.0], []
    place = tmp_path / "logs"
    place.write_text("in the way")
    log = logged(place, say=said_lines.append, clock=lambda: now[0])
    for number in range(5):
        log.begin(asked(f"r{number}", [user("one")]), "full").end(answer("eins"))
        assert log.flush()
        now[0] += 60.0
    place.unlink()
    log.begin(asked("late", [user("one")]), "full").end(answer("eins"))
    log.close()
    source = open_source(only_file(place))

    assert len(said_lines) == 1
    assert str(place) in said_lines[0]
    assert [entry.id for entry in source.entries] == ["late"]
    assert (
        "records came faster than they could be written, or the disk failed"
        in source.troubles[0].why
    )


def test_a_body_that_nobody_can_read_is_there_all_the_same(tmp_path):
    log = logged(tmp_path)
    log.begin(Asked("a", 1.0, "anthropic", b'{"messages": 7', "m"), "full").end(None)
    talk(log, (asked("b", [user("one")]), answer("eins")))
    source = open_source(only_file(tmp_path))

    assert [entry.id for entry in source.entries] == ["a", "b"]
    assert source.troubles[0].why == "the body of the request could not be read"


def test_a_file_of_ones_own_goes_on_where_it_ended(tmp_path):
    file = tmp_path / "mine.jsonl"
    talk(logged(file), (asked("a", [user("one")]), answer("eins")))
    talk(logged(file), (asked("b", [user("two")]), answer("zwei")))

    assert [entry.id for entry in open_source(file).entries] == ["a", "b"]


def test_the_requests_of_a_client_for_itself_are_helpers(tmp_path):
    """Whenever they arrive, and with or without tools and a history: they are beside the user's conversation, and nothing of it is abandoned."""
    tools = [{"name": "Bash", "input_schema": {"type": "object"}}]
    talk(
        logged(tmp_path),
        (asked("title", [user("Generate a title for this conversation:"), user("do it")], session="s1", system="You are a title generator. Be brief.", tools=tools), answer("Doing it")),
        (asked("own", [user("do it")], session="s1", tools=tools), answer("yes")),
        (asked("sum", [user("do it"), said("yes"), user("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.")], session="s1", tools=tools), answer("a summary")),
        (asked("more", [user("do it"), said("yes"), user("more")], session="s1", tools=tools), answer("done")),
    )  # fmt: skip
    source = open_source(only_file(tmp_path))

    assert {entry.id: (entry.helper, entry.parent) for entry in source.entries} == {
        "own": (None, None),
        "title": ("a title", "own"),
        "sum": ("a summary", "own"),
    }
    assert "own" == source.entries[0].id
    conversation = source.conversation("own")
    assert ["do it", "yes", "more", "done"] == texts(conversation)
    assert [()] * 4 == [turn.marks for turn in conversation.turns]
    assert "a summary" == texts(source.conversation("sum"))[-1]


def test_a_request_that_is_sent_again_is_not_abandoned(tmp_path):
    talk(
        logged(tmp_path),
        (asked("a", [user("do it")], session="s1"), answer("yes")),
        (asked("b", [user("do it")], session="s1"), answer("sure")),
        (asked("c", [user("do it"), said("sure"), user("more")], session="s1"), answer("done")),
    )
    conversation = open_source(only_file(tmp_path)).conversation()

    assert ["do it", "yes", "sure", "more", "done"] == texts(conversation)
    assert [(), ("repeated",), (), (), ()] == [turn.marks for turn in conversation.turns]
    assert 4 == len(conversation.sent)
