"""How an answer that has begun ends in an error: in words that the clients of its API repeat, if repeating may help, else in words that they do not.

    a failure, in the words of any provider ──► what happened ──► the row of the client's API ──► a refusal in its words

The status of such an answer is spent, so clients go by the type of the error, or by its text. What they repeat was measured with the programs
or read in them (2026-11-19): Claude Code repeats `api_error`, `overloaded_error` and `timeout_error`, and ends at any other type. Codex ends at
the codes that it knows, among them `server_is_overloaded`, and repeats all others. Google's SDKs and Gemini CLI repeat 503 of all statuses that
the API has. pi looks for a word in the text, in every API; those of Ollama and Cohere have nothing but a text.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from innervoice.canon.response import Failure
from innervoice.wire.refusals import OUT_OF_MONEY, Refusal, status_of

__all__ = ["CUT", "Happened", "happened", "late_refusal"]

Happened: TypeAlias = Literal["cut", "failed", "overloaded", "limited", "late", "refused", "filtered", "unpaid", "barred"]  # fmt: skip
"""The first five may pass: the connection or the provider broke, it has no room, the limit of requests is reached, the time is over. The others
do not: the request or its content is refused, there is no money, the key may not do this."""

CUT = "the connection to the provider ended before the answer did"


class _Words(NamedTuple):
    """An error in the words of an API."""

    status: int
    type: str | None = None
    code: str | None = None


_MAY_PASS: tuple[Happened, ...] = ("cut", "failed", "overloaded", "limited", "late")
_SAID: dict[Happened, str] = {
    "cut": "connection error",
    "failed": "server error",
    "overloaded": "overloaded",
    "limited": "rate limit",
    "late": "timed out",
    "unpaid": "insufficient_quota",
}
"""What the text of an error has to say, for clients that go by it."""
_USUAL: dict[Happened, _Words] = {
    "cut": _Words(500),
    "failed": _Words(500),
    "overloaded": _Words(503),
    "limited": _Words(429),
    "late": _Words(504),
    "refused": _Words(400),
    "filtered": _Words(400),
    "unpaid": _Words(402),
    "barred": _Words(403),
}
"""The statuses, where an API has its own word for each."""
_SERVER_ERROR = _Words(500, "server_error", "server_error")
_UNAVAILABLE = _Words(503)
_ROWS: dict[str, dict[Happened, _Words]] = {
    "anthropic": {
        "overloaded": _Words(529, "overloaded_error"),
        "limited": _Words(529, "overloaded_error"),
        "late": _Words(504, "timeout_error"),
    },
    "openai-chat": {
        "limited": _Words(429, "rate_limit_exceeded", "rate_limit_exceeded"),
        "filtered": _Words(400, "invalid_request_error", "content_filter"),
        "unpaid": _Words(402, "insufficient_quota", "insufficient_quota"),
    },
    "openai-responses": {
        **dict.fromkeys(_MAY_PASS, _SERVER_ERROR),
        **dict.fromkeys(
            ("refused", "filtered", "barred"),
            _Words(400, "invalid_request_error", "invalid_prompt"),
        ),
        "unpaid": _Words(402, "insufficient_quota", "insufficient_quota"),
    },
    "gemini": dict.fromkeys(_MAY_PASS, _UNAVAILABLE),
    "gemini-interactions": dict.fromkeys(_MAY_PASS, _UNAVAILABLE),
    "bedrock-converse": {
        "late": _Words(503),
        "unpaid": _Words(400, "ValidationException"),
        "barred": _Words(400, "ValidationException"),
    },
}
"""By the dialect of the client: what differs from the usual."""
_OWN_CODES = frozenset({"context_length_exceeded", "invalid_prompt", "insufficient_quota", "usage_not_included", "cyber_policy"})  # fmt: skip
"""Codes of OpenAI that no client repeats, and by which some do something else, such as shortening the conversation."""
_GO_BY_TEXT = ("openai-chat", "mistral")
"""Dialects whose clients read the text of such an error, so that its type and code may stay the provider's."""
_KEEP_CODES = (*_GO_BY_TEXT, "openai-responses")
"""Dialects whose errors have codes of OpenAI."""
_FILTERED = ("content_filter", "content_policy", "contentfilter", "policy_violation", "bio_policy", "cyber_policy", "safety", "prohibited", "blocklist", "guardrail", "inspection_failed", "potentially_unintended")  # fmt: skip
_UNPAID = (*OUT_OF_MONEY, "billing", "spend_limit", "insufficient_credit", "usage_not_included")
_BY_STATUS: dict[int, Happened] = {401: "barred", 402: "unpaid", 403: "barred", 404: "barred", 408: "late", 409: "failed", 425: "failed", 429: "limited", 502: "cut", 503: "overloaded", 504: "late", 529: "overloaded"}  # fmt: skip


def happened(failure: Failure | None) -> Happened:
    """What a failure means, by the provider's words for it; an unknown one may pass."""
    if failure is None:
        return "cut"
    words = f"{failure.type} {failure.code}".lower()
    if any(word in words for word in _UNPAID):
        return "unpaid"
    if any(word in words for word in _FILTERED):
        return "filtered"
    status = status_of(failure)
    usual: Happened = "refused" if 400 <= status < 500 else "failed"
    return _BY_STATUS.get(status, usual)


def late_refusal(failure: Failure | None, dialect: str, *, came_in: str | None = None) -> Refusal:
    """The error that ends an answer which has begun, for a client of a dialect; None: it was cut off, and nothing else is known.

    `came_in` is the dialect of the failure's own words: in the same one they stay, where clients go by the text alone.
    """
    kind = happened(failure)
    words = _ROWS.get(dialect, {}).get(kind) or _USUAL[kind]
    text = (failure.message if failure else None) or CUT
    said = _SAID.get(kind, "")
    if said.lower() not in text.lower():
        text = f"{text} ({said})"
    refusal = Refusal(text=text, status=words.status, type=words.type, code=words.code)
    if failure is None or dialect not in _KEEP_CODES:
        return refusal
    if came_in == dialect and dialect in _GO_BY_TEXT and kind not in _MAY_PASS:
        return refusal.replace(type=failure.type or words.type, code=failure.code)
    return refusal.replace(code=failure.code) if failure.code in _OWN_CODES else refusal
