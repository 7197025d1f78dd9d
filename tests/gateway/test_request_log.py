"""What the gateway keeps of requests: as much as it was told, never a seal or a key, and never at the cost of a request."""

import asyncio
import json
import sys
import threading
from pathlib import Path

import pytest

import innervoice as iv
from gateway.harness import BEHIND, QUESTION, Client, Served, body_of
from gateway.upstreams import Answer, Scripted, Wait
from innervoice.gateway.config import GatewayConfig, ServerSettings
from innervoice.gateway.operations.request_log import GatewayLog
from innervoice.sources.opening import open_source
from innervoice.sources.request_log.files import LogBounds

SOURCE = str(Path(iv.__file__).parent)


def served_with(folder, level, *, upstream=None, say=lambda _: None, **options):
    log = GatewayLog(folder, level, LogBounds(), say)
    config = GatewayConfig(server=ServerSettings(log=level))
    return Served(config, upstream, request_log=log, **options)


def written(served):
    """The bytes of all files, once everything is written."""
    log = served.gateway.request_log
    assert log.flush()
    return b"".join(file.read_bytes() for file in sorted(log.folder.glob("*.jsonl"))).decode()


def conversations(served):
    written(served)
    files = sorted(served.gateway.request_log.folder.glob("*.jsonl"))
    return [one for file in files for one in open_source(file).conversations()]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model", BEHIND.values())
@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_a_conversation_is_kept_whole(tmp_path, dialect, model, stream):
    """Whatever the client speaks and whoever answers: all turns, in order, and no seal, native or the gateway's own."""
    served = served_with(tmp_path, "full")
    client = Client(served, dialect, model, stream=stream)
    asyncio.run(client.say(QUESTION))
    data = written(served)
    found = conversations(served)
    raw = [*(reply.body.decode("utf-8", "replace") for reply in client.replies), *(one.decode("utf-8", "replace") for one in served.upstream.raw_answers)]  # fmt: skip
    (conversation,) = found

    assert conversation.turns[0].message.text == QUESTION
    answers = [turn for turn in conversation.turns if turn.answer]
    assert [turn.message.text for turn in answers] == [answer.text for answer in client.answers]
    assert [len(turn.message.tool_calls) for turn in answers] == [
        len(answer.tool_calls) for answer in client.answers
    ]
    assert conversation.request.tools[0].name == "get_weather"
    assert [] == [turn for turn in conversation.turns if turn.marks]
    for text in raw:
        assert not any(seal in data for seal in long_texts(text))


def long_texts(text):
    """What looks sealed in an answer: runs of characters that no words have."""
    run = ""
    for character in text:
        if character.isalnum() or character in "+/_-=":
            run += character
            continue
        if len(run) >= 80:
            yield run[8:56]
        run = ""


@pytest.mark.parametrize(
    ("level", "header", "kept"),
    [
        ("none", None, None),
        ("none", "ram", None),
        ("shape", None, "shape"),
        ("shape", "ram", "shape"),
        ("shape", "off", None),
        ("full", None, "full"),
        ("full", "ram", "shape"),
        ("full", "off", None),
    ],
)
def test_as_much_as_was_told(tmp_path, level, header, kept):
    served = served_with(tmp_path / "logs", level)
    path, body = body_of("anthropic", "gemini/gemini-3.5-flash", [iv.user("What is 15 * 23?")])
    headers = {"x-innervoice-store": header} if header else {}
    assert served.ask("POST", path, body, headers).status == 200

    if kept is None:
        assert written(served) == ""
        return
    data = written(served)
    assert f'"level":"{kept}"' in data
    assert ("What is 15" in data) == (kept == "full")
    assert ("15 * 23 = 345" in data) == (kept == "full")


def test_a_request_that_is_refused_is_kept_too(tmp_path):
    served = served_with(tmp_path, "full")
    path, body = body_of("anthropic", "nobody/nothing", [iv.user("Anybody?")])
    assert served.ask("POST", path, body).status == 404
    (conversation,) = conversations(served)

    assert [turn.marks for turn in conversation.turns] == [(), ("api_error",)]
    assert conversation.turns[1].answer.error.code == 404


def test_what_became_of_reasoning_is_told(tmp_path):
    served = served_with(tmp_path, "shape")
    client = Client(served, "openai-chat", BEHIND["anthropic"], loses=True)
    asyncio.run(client.say(QUESTION))
    data = written(served)
    reports = [json.loads(line)["report"] for line in data.splitlines() if '"record":"end"' in line]

    assert [report["reasoning"]["restored"] for report in reports] == [0, 1, 2]
    (conversation,) = conversations(served)
    codes = {note.code for turn in conversation.turns if turn.answer for note in turn.answer.notes}
    assert "thinking_restored" in codes


def test_a_reload_changes_what_is_kept(tmp_path):
    served = served_with(tmp_path, "none")
    path, body = body_of("anthropic", "gemini/gemini-3.5-flash", [iv.user("What is 15 * 23?")])
    served.ask("POST", path, body)
    before = written(served)
    served.gateway.reload(GatewayConfig(server=ServerSettings(log="full")))
    served.ask("POST", path, body)

    assert before == ""
    assert "What is 15" in written(served)


def test_a_failing_disk_costs_no_request(tmp_path):
    place, told = tmp_path / "file", []
    place.write_text("in the way")
    served = served_with(place / "logs", "full", say=told.append)
    path, body = body_of("anthropic", "gemini/gemini-3.5-flash", [iv.user("What is 15 * 23?")])
    statuses = [served.ask("POST", path, body).status for _ in range(3)]
    assert served.gateway.request_log.flush()

    assert statuses == [200] * 3
    assert len(told) == 1
    assert "cannot be written" in told[0]


def test_the_key_of_a_caller_is_not_in_it(tmp_path):
    secret = "iv-" + "k3Y_" * 10 + "abc"
    config = GatewayConfig(server=ServerSettings(log="full"), keys={"alice": "env:ALICE"})
    log = GatewayLog(tmp_path, "full", LogBounds(), lambda _: None)
    served = Served(config, environ={"ALICE": secret}, request_log=log)
    path, body = body_of("anthropic", "gemini/gemini-3.5-flash", [iv.user("What is 15 * 23?")])
    headers = {"x-api-key": secret, "x-session-id": secret}
    assert served.ask("POST", path, body, headers).status == 200

    assert secret not in written(served)
    assert '"tenant":"alice"' in written(served)


# ---- while an answer comes ---------------------------------------------------------------------


def thought_frames(count):
    start = {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude-opus-5-5", "usage": {"input_tokens": 3, "output_tokens": 1}}}  # fmt: skip
    frames = [start, {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}]  # fmt: skip
    frames += [{"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": f"step {number} of it, "}} for number in range(count)]  # fmt: skip
    frames += [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2VhbA==" * 20}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Done."}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 40}},
        {"type": "message_stop"},
    ]  # fmt: skip
    return [f"event: {frame['type']}\ndata: {json.dumps(frame)}\n\n".encode() for frame in frames]


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat"], ids=["bytes", "translated"])
def test_an_open_thought_grows_while_the_stream_comes(tmp_path, dialect):
    """Seen failing: on the byte path the answer was read in batches of 16 kB."""
    frames = thought_frames(30)
    steps = [step for frame in frames for step in (frame, Wait(0.03))]
    served = served_with(
        tmp_path, "full", http=Scripted(Answer(*steps)), environ={"ANTHROPIC_API_KEY": "k"}
    )
    messages = [iv.user("Think.")]
    path, body = body_of(
        dialect, "anthropic/claude-opus-5-5", messages, stream=True, max_tokens=8000
    )
    seen = []

    async def look(task):
        while not task.done():
            await asyncio.sleep(0.03)
            for file in tmp_path.glob("*.jsonl"):
                (conversation,) = open_source(file).conversations()
                seen.extend(
                    turn.message.parts[0]
                    for turn in conversation.turns
                    if turn.answer and not turn.answer.ended
                )

    async def ask():
        task = asyncio.create_task(served.call("POST", path, body))
        await look(task)
        return await task

    assert asyncio.run(ask()).status == 200
    open_thoughts = [part.text for part in seen if part.type == "thinking" and not part.complete]
    lengths = sorted({len(text) for text in open_thoughts})
    assert len(lengths) >= 3
    assert all("".join(f"step {n} of it, " for n in range(30)).startswith(text) for text in open_thoughts)  # fmt: skip
    (conversation,) = conversations(served)
    assert conversation.turns[-1].message.text == "Done."
    assert conversation.turns[-1].answer.ended


def test_lines_of_an_answer_are_few(tmp_path):
    """At most about ten a second, however many pieces come."""
    frames = thought_frames(400)
    served = served_with(
        tmp_path, "full", http=Scripted(Answer(*frames)), environ={"ANTHROPIC_API_KEY": "k"}
    )
    path, body = body_of("openai-chat", "anthropic/claude-opus-5-5", [iv.user("Think.")], stream=True)  # fmt: skip
    assert served.ask("POST", path, body).status == 200
    growth = [line for line in written(served).splitlines() if '"record":"growth"' in line]

    assert len(growth) < 10 * (1 + served.reports[0].total) + 2


# ---- what it costs -----------------------------------------------------------------------------


def lines_for(tmp_path, level, deltas, monkeypatch):
    """Lines of innervoice that the event loop's thread runs for one streamed answer."""
    monkeypatch.setattr(
        "innervoice.gateway.operations.request_log._STEPS", {"full": 1e6, "shape": 1e6}
    )
    environ = {"ANTHROPIC_API_KEY": "k"}
    answers = [Answer(*thought_frames(deltas)) for _ in range(4)]
    if level is None:
        served = Served(http=Scripted(*answers), environ=environ)
    else:
        folder = tmp_path / f"{level}{deltas}"
        served = served_with(folder, level, http=Scripted(*answers), environ=environ)
    path, body = body_of("openai-chat", "anthropic/claude-opus-5-5", [iv.user("Hi.")], stream=True)

    async def ask():
        for _ in range(3):  # loads what it needs, and knows the settings
            await served.call("POST", path, body)
        return await counted(served.call("POST", path, body))

    return asyncio.run(ask())


async def counted(work):
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        if event == "line":
            count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        await work
    finally:
        sys.settrace(before)
    return count


def test_hardly_anything_is_done_where_requests_are_served(tmp_path, monkeypatch):
    """Counted, so a busy machine changes nothing: nothing is done for a piece of an answer, and little for a request."""
    short, long = 20, 220
    bare = lines_for(tmp_path, None, short, monkeypatch)
    none = lines_for(tmp_path, "none", short, monkeypatch)
    shape = lines_for(tmp_path, "shape", short, monkeypatch)
    per_piece = lines_for(tmp_path, "shape", long, monkeypatch) - shape

    assert none - bare <= 5
    assert shape - bare <= 70
    assert per_piece <= lines_for(tmp_path, None, long, monkeypatch) - bare


def test_it_has_a_thread_only_if_it_keeps_something(tmp_path):
    served = served_with(tmp_path / "none", "none")
    path, body = body_of("anthropic", "gemini/gemini-3.5-flash", [iv.user("What is 15 * 23?")])
    before = threading.active_count()
    served.ask("POST", path, body)

    assert threading.active_count() == before
    assert not (tmp_path / "none").exists()
