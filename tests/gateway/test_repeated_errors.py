"""How an answer that has begun ends in an error: clients repeat what may pass, and nothing else."""

import asyncio
import json
import re

import pytest

import innervoice as iv
from gateway.harness import BEHIND, HOMES, Served, body_of
from gateway.paced import frames_of
from gateway.test_answer_streams import recorded
from gateway.test_retry_rules import CLIENTS
from gateway.upstreams import Answer, BrokenError, Scripted, Wait
from innervoice.frames.sniff import AnyFraming
from innervoice.gateway.config import GatewayConfig, ServerSettings
from innervoice.wire.dialects import DIALECTS, dialect_named
from innervoice.wire.refusals import Refusal

ASKED = "What is 15 * 23?"
PI = CLIENTS["pi 0.73"]
CODEX_ENDS_AT = {"context_length_exceeded", "insufficient_quota", "usage_not_included", "invalid_prompt", "cyber_policy", "server_is_overloaded", "slow_down"}  # fmt: skip
CLAUDE_CODE_REPEATS = {"api_error", "overloaded_error", "timeout_error"}
BEDROCK_ENDS_AT = {"validationException"}


def provider_says(kind, code=None, message="Something odd."):
    """An error event of a chat host."""
    error = {"message": message, "type": kind, "code": code}
    return [b"data: " + json.dumps({"error": error}).encode() + b"\n\n"]


PASSING = {
    "cut": [BrokenError("reset by peer")],
    "ended": [],
    "garbage": [b"data: {nonsense\n\n"],
    "server error": provider_says("server_error"),
    "unknown error": provider_says("some_error"),
    "a number": provider_says(None, 500),
    "overloaded": provider_says("overloaded_error", message="Overloaded"),
    "no room": provider_says(None, 503),
    "limited": provider_says("rate_limit_exceeded"),
    "limited by number": provider_says("some_error", 429),
    "provider's timeout": provider_says("timeout_error"),
    "idle": "idle",
    "total": "total",
    "shutdown": "shutdown",
}
FINAL = {
    "refused": provider_says("invalid_request_error"),
    "too long": provider_says("invalid_request_error", "context_length_exceeded"),
    "by number": provider_says(None, 400),
    "filtered": provider_says("invalid_request_error", "content_filter"),
    "policy": provider_says(None, "misalignment_policy_violation"),
    "no money": provider_says("insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
    "no money by number": provider_says(None, 402),
    "spent": provider_says("billing_error", "contract_spend_limit_reached"),
    "key": provider_says("authentication_error"),
    "forbidden": provider_says("permission_error"),
}  # fmt: skip


def begun(behind):
    """The beginning of an answer, up to its first text or reasoning."""
    frames = frames_of(recorded(behind), dialect_named(behind).media_type)
    for number in range(1, len(frames)):
        answer = iv.fold(iv.decode_stream(frames[:number], dialect=behind, model=HOMES[behind]))
        if answer.text or answer.thinking:
            return frames[:number]
    return frames[:1]


def failed(front, behind, failure):
    """What a client gets of an answer that has begun, and then fails."""
    how = failure if isinstance(failure, str) else ""
    answer = Answer(*begun(behind), *([Wait()] if how else failure))
    config = GatewayConfig(server=ServerSettings(retries=0, idle_seconds=100 if how == "idle" else 9e9, total_seconds=9e9 if how == "idle" else 100))  # fmt: skip
    served = Served(config, http=Scripted(answer))
    path, body = body_of(front, BEHIND[behind], [iv.user(ASKED)], stream=True)
    pieces = []

    async def read(message):
        pieces.append(message.get("body", b""))

    async def ask():
        asking = asyncio.ensure_future(served.call("POST", path, body, reads=read))
        if how:
            await answer.waits.wait()
            if how == "shutdown":
                asking.cancel()
            for watched in list(served.gateway.pings._open) if how != "shutdown" else ():
                watched.look(served.gateway.pings.now() + 200)  # the clock says so
        await asyncio.gather(asking, return_exceptions=True)

    asyncio.run(ask())
    return b"".join(pieces)


def last_error(data):
    """The name of the last frame and its value."""
    framing = AnyFraming()
    frames = [*framing.feed(data), *framing.finish()]
    frame = [frame for frame in frames if frame.data and frame.data != b"[DONE]"][-1]
    return frame.name, json.loads(frame.data)


def text_of(value):
    """The text of an error, as a client shows it; with the words around it that it reads first."""
    error = value.get("response", value).get("error") or value.get("delta") or value
    if isinstance(error, str):
        return error
    message = error.get("message", error.get("error"))
    return " ".join(str(item) for item in (error.get("type"), error.get("code"), message) if isinstance(item, str))  # fmt: skip


def repeats(dialect, name, value):
    """Whether the programs that speak an API repeat a request that ended so; what they go by differs."""
    error = value.get("error")
    match dialect:
        case "anthropic":
            by_word = error["type"] in CLAUDE_CODE_REPEATS
        case "openai-responses":
            assert "response.failed" == value["type"]
            by_word = value["response"]["error"]["code"] not in CODEX_ENDS_AT
        case "gemini":
            by_word = error["code"] in (429, 503)
        case "gemini-interactions":
            by_word = error["code"] in ("unavailable", "resource_exhausted")
        case "bedrock-converse":
            by_word = name not in BEDROCK_ENDS_AT
        case "openai-chat" | "mistral":
            kind = (error or value)["type"]
            by_word = kind in ("server_error", "internal_server_error", "rate_limited", "rate_limit_exceeded")  # fmt: skip
        case _:
            by_word = None
    text = text_of(value)
    by_text = bool(re.search(PI.text, text, re.IGNORECASE)) and not re.search(PI.final_text, text, re.IGNORECASE)  # fmt: skip
    return by_text if by_word is None else by_word, by_text


@pytest.mark.parametrize("behind", ["openai-chat", "the same"])
@pytest.mark.parametrize("front", DIALECTS)
@pytest.mark.parametrize("failure", PASSING)
def test_what_may_pass_is_repeated(failure, front, behind):
    """Claude Code ended with status 1 at `upstream_error`; pi goes by the text."""
    ours = failure in ("cut", "ended", "idle", "total", "shutdown")
    if behind == "the same" and not ours:
        return  # the event is one of chat
    data = failed(front, front if behind == "the same" else behind, PASSING[failure])

    assert (True, True) == repeats(front, *last_error(data)), data[-500:]


@pytest.mark.parametrize("front", DIALECTS)
@pytest.mark.parametrize("failure", FINAL)
def test_what_cannot_pass_is_not(failure, front):
    data = failed(front, "openai-chat", FINAL[failure])

    assert (False, False) == repeats(front, *last_error(data)), data[-500:]


@pytest.mark.parametrize("final", [True, False])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_failure_in_the_client_s_own_dialect(dialect, final):
    """The upstream's own event for it is not sent on: it may be in words that its clients do not repeat, or do."""
    row = dialect_named(dialect)
    refusal = Refusal(text="This is refused.", status=400) if final else Refusal(text="Too many requests, slow down.", status=429, type="rate_limit_error" if dialect == "anthropic" else None)  # fmt: skip
    frame = row.framing(row.server.write_stream_error(refusal))
    if dialect in ("cohere", "ollama"):
        return  # an error is only a text there, and any may pass
    data = failed(dialect, dialect, [frame])

    assert (not final, not final) == repeats(dialect, *last_error(data)), data[-500:]


@pytest.mark.parametrize("front", DIALECTS)
def test_the_provider_s_words_stay(front):
    data = failed(front, "openai-chat", provider_says("overloaded_error", message="Overloaded: try id 7"))  # fmt: skip

    assert "Overloaded: try id 7" in text_of(last_error(data)[1])


def test_codex_learns_that_the_context_is_full():
    """It shortens the conversation then, in place of ending."""
    data = failed("openai-responses", "openai-chat", FINAL["too long"])

    assert "context_length_exceeded" == last_error(data)[1]["response"]["error"]["code"]
