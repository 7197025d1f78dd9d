"""A client that merely changes its top-level effort keeps the prompt cache: the change is put where it was first asked for, and kept there."""

import asyncio
import os
from itertools import pairwise

import pytest

import innervoice as iv
from gateway.harness import TOOLS, Served, Upstream, bare, body_of, read
from innervoice.canon.messages import tool_result
from innervoice.gateway.config import GatewayConfig, ServerSettings
from innervoice.memory.stores.sqlite import SqliteStore

CLIENTS = ["openai-responses", "anthropic", "openai-chat", "gemini"]
KEEPS = ["openai/gpt-6-sol", "anthropic/claude-opus-5-5", "vertex/claude-haiku-5-5", "openrouter/openai/gpt-6-sol"]  # fmt: skip
LEVELS = ["high", "high", "low", "low", "minimal", "high", "high"]


class Program:
    """A program that sends its whole history, and the effort of the moment at the top."""

    def __init__(self, served, dialect, model, *, loses=False, tools=(), headers=None):
        self.served, self.dialect, self.model = served, dialect, model
        self.loses, self.tools, self.headers = loses, tools, headers
        self.history = []

    def ask(self, text, effort):
        self.history.append(iv.user(text))
        return self.go_on(effort)

    def go_on(self, effort):
        reasoning = iv.Reasoning(effort) if effort else None
        options = {"tools": self.tools, "reasoning": reasoning, "max_tokens": 8000}
        path, body = body_of(self.dialect, self.model, self.history, **options)
        reply = asyncio.run(self.served.call("POST", path, body, self.headers))
        assert 200 == reply.status, reply.body
        answer = read(reply, self.dialect)
        self.history.append(bare(answer.message) if self.loses else answer.message)
        return answer

    def give(self, answer):
        self.history += [tool_result(call.id, "sunshine") for call in answer.tool_calls]


def items_of(body):
    return body.get("input", body.get("messages"))


def settings_of(body):
    return {name: body[name] for name in body if name not in ("input", "messages")}


def codes(report):
    return {note.code for note in report.notes}


@pytest.mark.parametrize("loses", [False, True])
@pytest.mark.parametrize("dialect", CLIENTS)
@pytest.mark.parametrize("model", KEEPS)
def test_no_byte_is_lost(dialect, model, loses):
    served = Served()
    program = Program(served, dialect, model, loses=loses)
    for number, level in enumerate(LEVELS):
        program.ask(f"Question {number}?", level)
    assert [0] * len(LEVELS) == served.upstream.lost
    for before, after in pairwise(served.upstream.requests):
        assert items_of(before) == items_of(after)[: len(items_of(before))]
    last = served.upstream.requests[-1]
    assert "low" not in str(settings_of(last)).replace("allow", "")
    text = str(items_of(last))
    words = [text.find(f"'effort': '{word}'") for word in ("low", "high")]
    assert -1 not in words
    assert sorted(words) == words
    assert "effort_in_place" in codes(served.reports[-1])


@pytest.mark.parametrize("dialect", CLIENTS)
@pytest.mark.parametrize("model", ["openai/gpt-5.6", "anthropic/claude-fable-5"])
def test_elsewhere_the_effort_at_the_top_changes_with_a_note(dialect, model):
    served = Served()
    program = Program(served, dialect, model)
    for number, level in enumerate(["high", "low", "low"]):
        program.ask(f"Question {number}?", level)
    assert "high" in str(settings_of(served.upstream.requests[0]))
    assert "low" in str(settings_of(served.upstream.requests[1]))
    assert [False, True, False] == ["effort_at_top" in codes(one) for one in served.reports]
    assert served.upstream.lost[1] > 0


@pytest.mark.parametrize("model", KEEPS[:2])
def test_the_default_is_an_effort_too(model):
    """A client that begins without an effort, sets one, and leaves it out again."""
    served = Served()
    program = Program(served, "openai-chat", model)
    for number, level in enumerate([None, "low", None, "low"]):
        program.ask(f"Question {number}?", level)
    assert [0] * 4 == served.upstream.lost
    assert 2 == str(items_of(served.upstream.requests[-1])).count("'effort': 'low'")


@pytest.mark.parametrize("dialect", CLIENTS)
@pytest.mark.parametrize("model", KEEPS[:2])
def test_in_a_tool_loop_it_waits_for_the_next_question(dialect, model):
    served = Served()
    program = Program(served, dialect, model, tools=TOOLS)
    answer = program.ask("What is the weather in Lisbon, then the weather in Oslo?", "high")
    while answer.tool_calls:
        program.give(answer)
        answer = program.go_on("low")
        assert "effort_later" in codes(served.reports[-1])
    assert "'effort': 'low'" not in str(served.upstream.requests[-1])
    program.ask("And in Rome?", "low")
    assert 1 == str(items_of(served.upstream.requests[-1])).count("'effort': 'low'")
    assert {0} == {*served.upstream.lost}


@pytest.mark.parametrize("model", KEEPS[:2])
def test_it_survives_a_restart_with_a_store(model, tmp_path):
    upstream, key = Upstream(), os.urandom(32)
    levels = ["high", "low", "low"]
    history = []
    for number, level in enumerate(levels):
        served = Served(None, upstream, key=key, store=SqliteStore(tmp_path / "turns.db"))
        program = Program(served, "openai-chat", model)
        program.history = history
        program.ask(f"Question {number}?", level)
        asyncio.run(served.gateway.close())
    assert [0, 0, 0] == upstream.lost


def test_where_nothing_is_remembered_the_request_goes_on_as_the_client_wrote_it():
    served = Served(GatewayConfig(server=ServerSettings(remember="off")))
    program = Program(served, "openai-responses", "openai/gpt-6-sol")
    program.ask("Question?", "high")
    program.ask("More?", "low")
    assert "low" == served.upstream.requests[-1]["reasoning"]["effort"]


def test_a_client_with_its_own_form_is_left_alone():
    served = Served()
    program = Program(served, "openai-responses", "openai/gpt-6-sol")
    program.ask("Question?", "high")
    program.history.append(iv.user("More?", effort="low"))
    path, body = body_of("openai-responses", "openai/gpt-6-sol", program.history[:-1], reasoning=iv.Reasoning("high"))  # fmt: skip
    item = {"type": "configuration_update", "reasoning": {"effort": "low"}}
    body["input"] += [item, {"role": "user", "content": "More?"}]
    assert 200 == served.ask("POST", path, body).status
    assert item == served.upstream.requests[-1]["input"][-2]
    assert 1 == served.upstream.requests[-1]["input"].count(item)
    body["reasoning"] = {"effort": "max"}
    assert 200 == served.ask("POST", path, body).status
    assert body["input"] == served.upstream.requests[-1]["input"]
    assert "max" == served.upstream.requests[-1]["reasoning"]["effort"]


def test_the_flag_joins_those_of_the_client():
    served = Served()
    headers = {"anthropic-beta": "context-management-2025-06-27"}
    program = Program(served, "anthropic", "anthropic/claude-opus-5-5", headers=headers)
    program.ask("Question?", "high")
    program.ask("More?", "low")
    flags = served.upstream.headers[-1]["anthropic-beta"].split(",")
    assert ["context-management-2025-06-27", "mid-conversation-output-config-2026-07-01"] == flags
