"""When the gateway's clients get a thought and an answer: `/v1/explain`, `/metrics`, the request log and the spans say it."""

from dataclasses import replace

import pytest

import innervoice as iv
from gateway.calling import prices
from gateway.harness import BEHIND, Served, body_of
from gateway.test_metrics import value
from innervoice.bridges.otel.call import served_attributes
from innervoice.gateway.gateway import Gateway
from innervoice.gateway.operations.journal import terminal_line
from ticking import Ticking, ticking

__all__ = ["ticking"]

QUESTION = "What is 15 * 23?"
# What the client speaks, what answers, and whether the server counts reasoning; the first ones are forwarded as bytes.
WAYS = [
    ("anthropic", "anthropic", True),
    ("openai-chat", "openai-chat", True),
    ("gemini", "gemini", True),
    ("ollama", "ollama", False),
    ("anthropic", "openai-chat", True),
    ("openai-chat", "ollama", False),
    ("openai-responses", "cohere", True),
    ("gemini", "openai-responses", True),
]
FAMILIES = {
    "first_thought": "innervoice_first_thought_seconds",
    "first_answer": "innervoice_first_answer_seconds",
    "thinking": "innervoice_thinking_seconds",
}


class Upstream(Ticking):
    """The server, with the name that the harness gives its own."""

    def reply(self, method, path, headers, body):
        reply = super().reply(method, path, headers, body)
        return replace(reply, pause=0.0)


def asked(client, behind, *, stream, server=None, show="summary"):
    """The gateway, and what it says of one request."""
    served = Served(upstream=server or Upstream())
    settings = {"reasoning": iv.Reasoning("high", show=show), "max_tokens": 4000}
    path, body = body_of(client, BEHIND[behind], [iv.user(QUESTION)], stream=stream, **settings)
    reply = served.ask("POST", path, body)
    assert 200 == reply.status, reply.body
    explained = served.ask("GET", f"/v1/explain/{reply.headers['x-innervoice-id']}")
    return served, explained.json


@pytest.mark.parametrize(("client", "behind", "counts"), WAYS)
def test_times_of_a_stream(ticking, client, behind, counts):
    """Thinking begins before the answer, which begins before the end; what is estimated is marked."""
    served, explained = asked(client, behind, stream=True, server=ticking)
    thinking = explained["thinking"]

    first, then = thinking["first_thought_seconds"], thinking["first_answer_seconds"]
    assert 0 < first < then <= len(ticking.pieces) + 1
    assert then - first == pytest.approx(thinking["thinking_seconds"], abs=1e-5)
    assert explained["seconds"]["total"] == thinking["total_seconds"]
    assert counts is not thinking["estimated"]
    assert counts is (explained["usage"]["reasoning_tokens"] is not None)
    assert explained["usage"]["output_tokens"] == thinking["output_tokens"]
    assert 0 < thinking["share"] < 1
    page, provider = served.ask("GET", "/metrics").body.decode(), explained["provider"]
    for name, family in FAMILIES.items():
        assert 1 == value(page, f"{family}_count", provider=provider)
        seconds = thinking[f"{name}_seconds"]
        assert seconds == pytest.approx(value(page, f"{family}_sum", provider=provider))


@pytest.mark.parametrize("client", ["anthropic", "openai-chat", "gemini"])
def test_bytes_that_nobody_reads_yet_have_the_time_at_which_they_came(ticking, client):
    """They are read in batches of many seconds: the time of each second's bytes is that second, as the client saw it."""
    _, explained = asked(client, client, stream=True, server=ticking)
    assert "bytes" == explained["way"]
    thinking = explained["thinking"]

    marks = {"anthropic": (b'"thinking"', b"text_delta"), "openai-chat": (b'reasoning_content":"', b'"content":"15'), "gemini": (b'"thought":true', b'"text":"15')}  # fmt: skip
    thought, answer = (
        next(at for at, piece in ticking.pieces if mark in piece) for mark in marks[client]
    )
    assert answer - thought == thinking["thinking_seconds"]


@pytest.mark.parametrize(("client", "behind", "counts"), WAYS)
def test_a_whole_answer_has_tokens_and_no_times(client, behind, counts):
    served, explained = asked(client, behind, stream=False)
    thinking = explained["thinking"]

    assert counts is not thinking["estimated"]
    assert 0 < thinking["share"] < 1
    assert [None] * 3 == [thinking[f"{name}_seconds"] for name in FAMILIES]
    page = served.ask("GET", "/metrics").body.decode()
    assert [0] * 3 == [
        value(page, f"{family}_count", provider=explained["provider"])
        for family in FAMILIES.values()
    ]


def test_hidden_thoughts_are_counted_and_never_estimated():
    _, explained = asked("openai-responses", "openai-responses", stream=True, show="hidden")

    thinking = explained["thinking"]
    assert (22, False) == (thinking["thinking_tokens"], thinking["estimated"])
    _, explained = asked("bedrock-converse", "bedrock-converse", stream=True)
    assert (None, None, False) == tuple(
        explained["thinking"][name] for name in ("thinking_tokens", "share", "estimated")
    )


def test_the_cost_is_looked_up_for_who_asks(monkeypatch):
    prices(monkeypatch)
    _, explained = asked("anthropic", "openai-chat", stream=True)
    thinking = explained["thinking"]

    assert thinking["thinking_tokens"] * 0.001 == pytest.approx(thinking["cost"])


def test_a_span_has_them():
    """What was counted has a name in the conventions; what is estimated does not."""
    _, explained = asked("openai-chat", "ollama", stream=True)
    attributes = served_attributes(explained)
    thinking = explained["thinking"]

    assert thinking["first_answer_seconds"] == attributes["innervoice.thinking.first_answer_seconds"]  # fmt: skip
    assert thinking["thinking_tokens"] == attributes["innervoice.thinking.tokens"]
    assert attributes["innervoice.thinking.estimated"] is True
    _, explained = asked("anthropic", "anthropic", stream=True)
    attributes = served_attributes(explained)
    assert "innervoice.thinking.tokens" not in attributes
    assert explained["thinking"]["share"] == attributes["innervoice.thinking.share"]
    assert explained["thinking"]["thinking_tokens"] == attributes["gen_ai.usage.reasoning.output_tokens"]  # fmt: skip


def test_the_log_line_says_how_long_it_thought_and_what_is_estimated(ticking):
    served, explained = asked("openai-chat", "ollama", stream=True, server=ticking)
    line = terminal_line(served.reports[-1])

    thinking = explained["thinking"]
    assert f"(~{thinking['thinking_tokens']} thought)" in line
    assert f"{thinking['thinking_seconds']:.1f} s thinking, " in line


def test_the_time_before_the_upstream_is_called_counts(ticking, monkeypatch):
    """Seconds are those of the client: it may have waited for a store, or for another upstream that failed."""
    _, before = asked("anthropic", "anthropic", stream=True, server=ticking)
    new_report = Gateway.new_report

    def earlier(*arguments):
        report = new_report(*arguments)
        report.begun -= 100
        return report

    monkeypatch.setattr(Gateway, "new_report", earlier)
    _, after = asked("anthropic", "anthropic", stream=True, server=ticking)

    for name in ("first_thought_seconds", "first_answer_seconds"):
        assert 100 == pytest.approx(after["thinking"][name] - before["thinking"][name], abs=5)
