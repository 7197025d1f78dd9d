"""Which clients repeat which refusals of the gateway: what cannot pass is repeated by none, what can pass by those that repeat at all."""

import re
from dataclasses import dataclass

import pytest

from innervoice.canon.jsontext import load_json
from innervoice.client.error_mapping import refusal_error
from innervoice.errors import ConnectionFailedError, TimedOutError, UsageError
from innervoice.gateway import errors
from innervoice.gateway.errors import refused
from innervoice.gateway.routes import NotConfiguredError, UnknownModelError
from innervoice.wire.dialects import DIALECTS
from innervoice.wire.refusals import failure_of


@dataclass(frozen=True)
class Rule:
    """When a client sends a request again."""

    statuses: frozenset[int] = frozenset()
    from_500: bool = False
    """Whether each status from 500 on counts."""
    obeys: bool = False
    """Whether `x-should-retry` decides."""
    longest: float | None = None
    """The longest `retry-after` that it waits, in seconds."""
    text: str | None = None
    """The pattern of a message that it repeats, whatever the status."""
    final_text: str | None = None
    """The pattern of a message that it does not."""

    def repeats(self, status, headers, text):
        if self.longest is not None and float(headers.get("retry-after", 0)) > self.longest:
            return False
        if self.obeys and "x-should-retry" in headers:
            return headers["x-should-retry"] == "true"
        if self.final_text and re.search(self.final_text, text, re.IGNORECASE):
            return False
        by_text = bool(self.text and re.search(self.text, text, re.IGNORECASE))
        return by_text or status in self.statuses or (self.from_500 and status >= 500)


USUAL = frozenset({408, 409, 429})
# Read on 2026-11-17 in the installed packages, in clients' sources and in recordings of the programs.
CLIENTS = {
    "openai 3.49": Rule(USUAL, from_500=True, obeys=True, longest=120),
    "anthropic 2.8": Rule(USUAL, from_500=True, obeys=True),
    "google-genai 3.1, with retry_options": Rule(frozenset({408, 429, 500, 502, 503, 504})),
    "ai 7.0.169 and 6.0.326": Rule(USUAL, from_500=True),
    "Claude Code": Rule(USUAL | {401}, from_500=True, obeys=True),
    "Codex": Rule(from_500=True),
    "pi 0.73": Rule(
        frozenset({429}),
        from_500=True,
        text=r"overloaded|rate.?limit|too many requests|429|500|502|503|504|service.?unavailable|server.?error|internal.?error"
        r"|(network|connection).?error|connection.?(refused|lost)|fetch failed|timed? out|timeout|terminated|ended without",
        final_text=r"insufficient_quota|out of budget|quota exceeded|billing",
    ),
}
MAY_PASS = {"openai 3.49", "anthropic 2.8", "google-genai 3.1, with retry_options", "ai 7.0.169 and 6.0.326", "Claude Code", "pi 0.73"}  # fmt: skip
"""The clients that repeat a 429 too."""


def from_provider(status, body=b'{"error": {"message": "The provider refuses.", "type": "some_error"}}', **headers):  # fmt: skip
    error = refusal_error(status, headers, body, now=0, secrets=())
    return lambda dialect: errors.trouble(error, dialect, "openai-chat")


POOR = b'{"error": {"message": "You exceeded your current quota.", "type": "insufficient_quota", "code": "insufficient_quota"}}'
FINAL = {
    "no key": lambda _: errors.NO_KEY,
    "wrong key": lambda _: errors.WRONG_KEY,
    "expired": lambda _: errors.key_expired("2026-11-01"),
    "revoked": lambda _: errors.key_revoked("2026-11-01"),
    "model not allowed": lambda _: errors.model_not_allowed("gpt-5.6", ["sonnet"]),
    "unknown model": lambda dialect: errors.trouble(UnknownModelError("gpt-5.6", ("gpt-5.5",)), dialect),
    "no model": errors.no_model,
    "not configured": lambda dialect: errors.trouble(NotConfiguredError(("no key for openai: set OPENAI_API_KEY",)), dialect),
    "cannot be sent": lambda dialect: errors.trouble(UsageError("max_tokens must be positive"), dialect),
    "budget spent": lambda dialect: errors.budget_spent(500.0, "day", "2026-11-18", 86_400, dialect),
    "budget spent for good": lambda dialect: errors.budget_spent(0.05, "", None, None, dialect),
    **{f"provider's {status}": from_provider(status) for status in (400, 403, 404, 413, 422)},
}  # fmt: skip
# The status is the provider's, and these two repeat each 429 and 401 themselves; the others obey.
POOR_REPEATERS = {"google-genai 3.1, with retry_options", "ai 7.0.169 and 6.0.326"}
PASSING = {
    "keys away": lambda _: errors.KEYS_AWAY,
    "no store": lambda _: errors.NO_STORE,
    "streams": lambda _: errors.too_many_streams(8),
    "requests": lambda dialect: errors.too_many_in_a_minute("requests", 60, 12.5, dialect),
    "budget reserved": lambda _: errors.budget_reserved(5.0),
    "connection": lambda dialect: errors.trouble(ConnectionFailedError("connection failed"), dialect),
    "timeout": lambda dialect: errors.trouble(TimedOutError("no answer within 600 s"), dialect),
    "provider's 429": from_provider(429, **{"retry-after": "3"}),
    **{f"provider's {status}": from_provider(status) for status in (500, 502, 503)},
}  # fmt: skip


def repeaters(refusal, dialect):
    reply = refused(dialect, refusal(dialect))
    text = failure_of(load_json(reply.body)).message
    return {name for name, rule in CLIENTS.items() if rule.repeats(reply.status, reply.headers, text)}  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", FINAL)
def test_what_cannot_pass_is_repeated_by_none(name, dialect):
    assert set() == repeaters(FINAL[name], dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_provider_without_money_is_not_asked_again_by_those_that_obey(dialect):
    poor = from_provider(429, POOR)
    assert repeaters(poor, dialect) <= POOR_REPEATERS | {"pi 0.73"}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", PASSING)
def test_what_can_pass_is_repeated(name, dialect):
    reply = refused(dialect, PASSING[name](dialect))
    assert repeaters(PASSING[name], dialect) >= MAY_PASS
    if reply.status == 429:
        assert float(reply.headers["retry-after"]) > 0
    assert ("Codex" in repeaters(PASSING[name], dialect)) == (reply.status != 429)
