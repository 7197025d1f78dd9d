"""What was sent before is not read again: a request that is repeated, a new question in known settings, and cache marks that move.

Each of them is compared with the same request, read and written as a whole.
"""

import asyncio
import json

import pytest

from gateway.harness import BEHIND, PATHS, Client, Served
from gateway.test_appended import Watched, written_again
from gateway.witness import Witness
from innervoice.canon.jsontext import load_json
from innervoice.gateway.first_questions import FirstQuestions

MARK = {"type": "ephemeral"}
TOOL = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


class WatchedQuestions(FirstQuestions):
    def __init__(self):
        super().__init__()
        self.ways = []

    def find(self, body, owner, betas):
        way = super().find(body, owner, betas)
        if way is not None:
            self.ways.append((body, way))
        return way


def served_with_witnesses():
    served = Served(None, Witness())
    served.gateway.appended = Watched()
    served.gateway.first_questions = WatchedQuestions()
    return served


def send(served, path, body):
    reply = asyncio.run(served.call("POST", path, json.dumps(body).encode()))
    assert 200 == reply.status, reply.body
    return reply.json


def is_as_written_again(served, body, way):
    candidate = served.gateway.routes.route(body.model).candidates[0]
    questions, served.gateway.first_questions = served.gateway.first_questions, FirstQuestions()
    attempt, report = written_again(served, body, candidate)
    served.gateway.first_questions = questions
    assert attempt.rewritten is not None
    assert attempt.wire.body == load_json(way.frame.body)
    assert attempt.wire.prefix == way.wire.prefix
    assert (attempt.wire.url, attempt.wire.headers) == (way.wire.url, way.wire.headers)
    counts = (report.kept, report.carried, report.restored, report.omitted, report.rules)
    assert counts == tuple(way.counts)
    assert [note.code for note in report.notes] == [note.code for note in way.notes]


# ---- a new question in known settings --------------------------------------------------------------


def question_in(front, model, text):
    system = "Answer in one word."
    match front:
        case "anthropic":
            return {"model": model, "max_tokens": 4000, "system": system, "tools": [TOOL], "messages": [{"role": "user", "content": text}]}  # fmt: skip
        case "gemini":
            return {"systemInstruction": {"parts": [{"text": system}]}, "contents": [{"role": "user", "parts": [{"text": text}]}]}  # fmt: skip
        case "openai-responses":
            return {"model": model, "instructions": system, "store": False, "input": [{"role": "user", "content": text}]}  # fmt: skip
        case _:
            return {"model": model, "messages": [{"role": "system", "content": system}, {"role": "user", "content": text}]}  # fmt: skip


QUESTIONS = ("What is 2 + 2?", 'Say "so": \\u00e9, \u00e9, \U0001f600', "x" * 3000, "Answer in one word.")  # fmt: skip


@pytest.mark.parametrize("front", ["anthropic", "openai-chat", "openai-responses", "gemini"])
@pytest.mark.parametrize("behind", BEHIND)
def test_a_new_question_in_known_settings_is_sent_as_if_it_were_read(front, behind):
    """Seen failing: the prefix of the first question was kept."""
    served = served_with_witnesses()
    model = BEHIND[behind]
    path = PATHS[front][0].format(model)
    for text in ("Who are you?", *QUESTIONS):
        send(served, path, question_in(front, model, text))
    ways = served.gateway.first_questions.ways
    # A client of the same API goes on as bytes; OpenAI gets a cache key that depends on the question; Responses is stored, so it is read.
    if front not in (behind, "openai-responses") and behind != "openai-responses":
        assert len(QUESTIONS) <= len(ways) + 1
    for body, way in ways:
        is_as_written_again(served, body, way)


@pytest.mark.parametrize("change", ["system", "tools", "effort", "mark"])
def test_other_settings_are_read(change):
    served = served_with_witnesses()
    model = BEHIND["openai-chat"]
    for text in ("Who are you?", "What is 2 + 2?"):
        send(served, "/v1/messages", question_in("anthropic", model, text))
    assert 1 == len(served.gateway.first_questions.ways)
    other = question_in("anthropic", model, "What is 3 + 3?")
    match change:
        case "system":
            other["system"] = "Answer in two words."
        case "tools":
            other["tools"] = [{**TOOL, "description": "Another."}]
        case "effort":
            other["output_config"] = {"effort": "low"}
        case "mark":
            other["messages"][0]["content"] = [{"type": "text", "text": "What is 3 + 3?", "cache_control": MARK}]  # fmt: skip
    send(served, "/v1/messages", other)
    assert 1 == len(served.gateway.first_questions.ways)


# ---- the same request again ------------------------------------------------------------------------


@pytest.mark.parametrize("behind", BEHIND)
def test_a_request_that_is_repeated_is_sent_as_it_was(behind):
    served = served_with_witnesses()
    client = Client(served, "openai-chat", BEHIND[behind], loses=True)
    asyncio.run(client.say("What is the weather in Lisbon, then the weather in Oslo?"))
    client.history.pop()
    before = len(served.upstream.bodies)
    asyncio.run(client.turn())
    client.history.pop()
    asyncio.run(client.turn())
    first, second = served.upstream.bodies[before:]
    assert load_json(first) == load_json(second)


# ---- cache marks that move -------------------------------------------------------------------------


def marked(messages, count):
    """The messages with a cache mark in the last block of the last ones, as agents of Anthropic send them."""
    sent = json.loads(json.dumps(messages))
    for message in [one for one in sent if one["role"] == "user"][-count:]:
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        message["content"][-1]["cache_control"] = MARK
    return sent


@pytest.mark.parametrize("marks", [1, 2])
@pytest.mark.parametrize("behind", BEHIND)
def test_moving_cache_marks_do_not_make_a_history_be_read_again(behind, marks):
    """Every agent of Anthropic's moves its marks to the last messages. Seen failing: a piece that was sent with a mark stayed marked."""
    served = served_with_witnesses()
    places = ", then ".join(f"the weather in Oslo{number}" for number in range(8))
    messages = [{"role": "user", "content": f"What is {places}?"}]
    for _ in range(8):
        body = {
            "model": BEHIND[behind],
            "max_tokens": 4000,
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
            "tools": [{**TOOL, "cache_control": MARK}],
            "messages": marked(messages, marks),
        }
        answer = send(served, "/v1/messages", body)
        turn = [block for block in answer["content"] if "thinking" not in block["type"]]
        calls = [block for block in turn if block["type"] == "tool_use"]
        if not calls:
            break
        results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "Sunshine"} for call in calls]  # fmt: skip
        messages += [{"role": "assistant", "content": turn}, {"role": "user", "content": results}]
    ways = served.gateway.appended.ways
    assert len(ways) >= 4
    for request, candidate, way in ways:
        attempt, _ = written_again(served, request, candidate)
        assert attempt.wire.body == load_json(way.frame.body)
        assert attempt.wire.prefix == way.wire.prefix
