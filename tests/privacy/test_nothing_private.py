"""Whatever member of whatever API holds a seal or a key: nothing shows it, and nothing writes it."""

import asyncio
import copy
import json

import pytest

import innervoice as iv
from cli.runs import run
from gateway.harness import BEHIND, HOMES, Served, body_of
from gateway.upstreams import Answer, Scripted
from innervoice.gateway.config import GatewayConfig, ServerSettings
from innervoice.gateway.operations.journal import json_line, terminal_line
from innervoice.gateway.operations.request_log import GatewayLog
from innervoice.sources.request_log.files import LogBounds
from innervoice.wire.dialects import DIALECTS, dialect_named
from privacy.outputs import LOGGED, POLICIES, SCREEN, SHARED, SHELF, forget, switch_off
from privacy.planting import (
    ALL_ANSWERS,
    Plants,
    conversation_of,
    full_conversation,
    leaves,
    planted_answers,
)

ALL = {**SCREEN, **LOGGED}
IDS = [answer.name for answer in ALL_ANSWERS]


@pytest.fixture(autouse=True)
def _forgetting():
    forget()
    yield
    forget()


@pytest.mark.parametrize("answer", ALL_ANSWERS, ids=IDS)
def test_in_any_member_of_an_answer(answer):
    leaks = []
    for planted in planted_answers(answer):
        conversation = conversation_of(planted.response)
        for name, output in ALL.items():
            if planted.is_word and name in SCREEN:
                continue
            if planted.plants.leaks(output(conversation)):
                leaks.append(f"{name} <- {planted.place}")
    assert [] == leaks


def shown(output, folder, plants):
    """What an output shows of a conversation with a secret in every field; what was said is the owner's on the screen."""
    conversation = full_conversation(plants, words=output not in SCREEN and output != "shelf")
    if output in ALL:
        return ALL[output](conversation)
    return (SHELF if output == "shelf" else SHARED[output])(conversation, folder)


OUTPUTS = [*ALL, *SHARED, "shelf"]


@pytest.mark.parametrize("output", OUTPUTS)
def test_in_any_field(output, tmp_path):
    plants = Plants()
    assert [] == plants.leaks(shown(output, tmp_path, plants))


@pytest.mark.parametrize("output", OUTPUTS)
def test_the_secrets_would_be_seen(output, tmp_path, monkeypatch):
    """Without the redactor every output shows some of them, so the tests above can fail."""
    switch_off(monkeypatch)
    plants = Plants()
    assert plants.leaks(shown(output, tmp_path, plants))


@pytest.mark.parametrize("answer", ALL_ANSWERS, ids=IDS)
def test_in_any_member_of_a_captured_answer_that_is_exported(answer, tmp_path):
    leaks = []
    for number, planted in enumerate(planted_answers(answer)):
        conversation = conversation_of(planted.response)
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, output in SHARED.items():
            if planted.plants.leaks(output(conversation, folder, ["full"])):
                leaks.append(f"{name} <- {planted.place}")
    assert [] == leaks


@pytest.mark.parametrize("show", POLICIES)
@pytest.mark.parametrize("ending", ["html", "md", "json"])
def test_in_a_file_that_the_command_writes(tmp_path, ending, show):
    plants = Plants()
    turns = [turn.answer or turn.message for turn in full_conversation(plants, words=True).turns]
    file, out = tmp_path / "conversation.json", tmp_path / f"out.{ending}"
    file.write_bytes(iv.to_json(turns))

    done = run("view", str(file), "--export", str(out), "--show", show)

    assert 0 == done.returncode, done.stderr
    assert plants.leaks(file.read_text("utf-8"))
    assert [] == plants.leaks(out.read_text("utf-8") + (done.stdout + done.stderr).decode())


# ---- the gateway: its request log, its lines and its explanations

LEVELS = ("shape", "full")
_OF_THE_API = ("type", "role", "object", "status", "finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason", "arguments", "format")  # fmt: skip


def full_answer(dialect, plants):
    """An answer of a dialect with a secret in each member that holds no word of the API."""
    answer = next(one for one in ALL_ANSWERS if one.dialect == dialect)
    body = copy.deepcopy(answer.body)
    for path in leaves(body):
        if path[-1] in _OF_THE_API:
            continue
        inner = body
        for name in path[:-1]:
            inner = inner[name]
        place = f"answer.{'.'.join(map(str, path))}"
        inner[path[-1]] += f"__thought__{plants.seal(place)}" if "id" in str(path[-1]).lower() else f" {plants.key(place)}"  # fmt: skip
    return body


def asked_of(front, behind, plants):
    """A request of a client with secrets in its ids, names, tools, files and words."""
    answer = iv.decode(
        json.dumps(full_answer(front, plants)).encode(), dialect=front, model=HOMES[front]
    )
    history = [
        iv.user(f"My key is {plants.key('user')}."),
        answer.message,
        *(iv.tool_result(call.id, f"It is {plants.key('result')}.") for call in answer.tool_calls),
    ]
    tool = {
        "name": "weather",
        "description": f"With {plants.key('description')}.",
        "parameters": {
            "type": "object",
            "properties": {"q": {"type": "string", "default": plants.key("default")}},
        },
    }
    system = f"Use {plants.key('system')}."
    return body_of(front, BEHIND[behind], history, tools=[tool], system=system, max_tokens=4000)


def told(folder, level, http, path, body):
    """All that a gateway writes and says of a request: its log, its lines, its explanation."""
    log = GatewayLog(folder, level, LogBounds(), lambda _: None)
    config = GatewayConfig(server=ServerSettings(log=level, retries=0))
    served = Served(config, http=http, request_log=log)

    async def ask():
        reply = await served.call("POST", path, body)
        explained = await served.call("GET", f"/v1/explain/{reply.headers['x-innervoice-id']}")
        return reply, explained

    reply, explained = asyncio.run(ask())
    assert 200 == explained.status
    assert log.flush()
    written = b"".join(file.read_bytes() for file in folder.glob("*.jsonl")).decode()
    log.close()
    lines = [line(report) for report in served.reports for line in (json_line, terminal_line)]
    assert '"record":"end"' in written
    return reply, "\n".join([written, *lines, explained.body.decode()])


PAIRS = [*zip(DIALECTS, DIALECTS, strict=True), *zip(DIALECTS, (*DIALECTS[1:], DIALECTS[0]), strict=True)]  # fmt: skip


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("front", "behind"), PAIRS)
def test_in_what_the_gateway_writes(tmp_path, front, behind, level):
    plants = Plants()
    path, body = asked_of(front, behind, plants)
    http = Scripted(Answer(json.dumps(full_answer(behind, plants)).encode()))
    reply, text = told(tmp_path, level, http, path, body)

    assert 200 == reply.status, reply.body
    assert [] == plants.leaks(text)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("front", DIALECTS)
def test_in_what_the_gateway_writes_of_an_error(tmp_path, front, level):
    plants = Plants()
    path, body = asked_of(front, front, plants)
    said = f"bad key {plants.key('error')} and block {plants.seal('error seal')}"
    refusal = {"type": "error", "error": {"type": plants.key("type"), "message": said}}
    http = Scripted(Answer(json.dumps(refusal | {"message": said}).encode(), status=400))
    reply, text = told(tmp_path, level, http, path, body)

    assert 400 == reply.status
    assert [] == plants.leaks(text)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("secret", ["key", "seal"])
def test_in_the_name_of_a_model(tmp_path, secret, level):
    plants = Plants()
    path, body = body_of("anthropic", "x", [iv.user("Hello")], max_tokens=100)
    body["model"] = f"anthropic/{getattr(plants, secret)('model')}"
    _, text = told(tmp_path, level, Scripted(Answer(b"{}", status=404)), path, body)

    assert [] == plants.leaks(text)


@pytest.mark.parametrize("level", LEVELS)
def test_the_gateway_would_write_them(tmp_path, level, monkeypatch):
    switch_off(monkeypatch)
    plants = Plants()
    path, body = asked_of("anthropic", "anthropic", plants)
    body["model"] = f"anthropic/{plants.key('model')}"
    http = Scripted(Answer(json.dumps(full_answer("anthropic", plants)).encode()))
    _, text = told(tmp_path, level, http, path, body)
    lines = text.split("\n")

    assert plants.leaks("".join(lines[:-3]))
    assert all(plants.leaks(line) for line in lines[-3:])


# ---- the facts


@pytest.mark.parametrize("answer", ALL_ANSWERS, ids=IDS)
def test_the_seals_of_a_dialect_are_those_that_its_reader_finds(answer):
    """A member that a reader takes for a seal, but its dialect does not name, would be shown in another program's JSON."""
    response = iv.decode(
        json.dumps(answer.body).encode(),
        provider=answer.provider,
        dialect=answer.dialect,
        model=answer.model,
    )
    paths = {path for part in response.parts if part.origin for path in part.origin.seals}
    assert {path.rpartition(".")[2] for path in paths} <= set(dialect_named(answer.dialect).seals)
    assert bool(paths) == bool(answer.seals)
