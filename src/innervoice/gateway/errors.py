"""Errors as the client's own API would write them: status, headers and body.

A provider's message is passed on word for word, with its status: programs read it (Claude Code shortens a request by the numbers in "input
length and `max_tokens` exceed context limit"). Only the word for the type of error is that of the client's dialect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.response import Failure
from innervoice.client.error_mapping import is_transient
from innervoice.errors import (
    DecodeError,
    InnervoiceError,
    ProviderError,
    TimedOutError,
    TransportError,
    UsageError,
)
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.routes import NotConfiguredError, UnknownModelError
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.refusals import Refusal, status_of

__all__ = [
    "KEYS_AWAY",
    "NO_KEY",
    "NO_OTHER_PATHS",
    "NO_STORE",
    "WRONG_KEY",
    "ErrorReply",
    "budget_reserved",
    "budget_spent",
    "key_expired",
    "key_revoked",
    "model_not_allowed",
    "no_model",
    "not_configured",
    "refusal_of",
    "refused",
    "too_many_in_a_minute",
    "too_many_streams",
    "trouble",
    "unknown_model",
]

_FINAL = {"x-should-retry": "false"}
"""Waiting does not help; read by the SDKs of OpenAI and Anthropic."""
_CHALLENGE = {"www-authenticate": "Bearer", **_FINAL}
NO_OTHER_PATHS = Refusal(
    text="this key may not use other paths of providers; a key that may is created with `innervoice keys add NAME --other-paths`",
    status=403,
    code="other_paths_not_allowed",
    headers=_FINAL,
)
NO_KEY = Refusal(
    text="no key was sent; send a key of this gateway in x-api-key, Authorization (Bearer), x-goog-api-key or ?key=",
    status=401,
    headers=_CHALLENGE,
)
WRONG_KEY = Refusal(
    text="the key is unknown to this gateway, has expired, or was revoked",
    status=401,
    code="invalid_api_key",
    headers=_CHALLENGE,
)
KEYS_AWAY = Refusal(
    text="the store with this gateway's keys does not respond, so the key cannot be checked; try again in a moment",
    status=503,
    headers={"retry-after": "5"},
)
NO_STORE = Refusal(
    text="the store of this gateway cannot be reached at the moment; try again",
    status=503,
    headers={"retry-after": "1"},
)
_KINDS: tuple[tuple[type[InnervoiceError], int, str], ...] = (
    (UsageError, 400, ""),
    (TimedOutError, 504, "the answer took too long: "),
    (TransportError, 502, ""),
    (DecodeError, 502, "the answer cannot be read: "),
)
"""Errors that no provider sent -> the status, and the prefix of the message; the first that matches."""


class ErrorReply(NamedTuple):
    """An error as it is sent to the client."""

    status: int
    headers: dict[str, str]
    body: bytes


def refused(dialect: str, refusal: Refusal) -> ErrorReply:
    """A refusal in the format of a dialect."""
    spoken = dialect_named(dialect)
    headers = {"content-type": "application/json", **spoken.error_headers(refusal)}
    return ErrorReply(refusal.status, headers, dump_json(spoken.server.write_error(refusal)))


# ---- our own words --------------------------------------------------------------------------------------


def unknown_model(
    dialect: str, name: str, nearest: Sequence[str] = (), *, looked_up: bool = False
) -> Refusal:
    """The dialect's error for an unknown model, with the nearest names; `looked_up` if the model itself was requested."""
    refusal = dialect_named(dialect).listing.UNKNOWN_MODEL
    short_name = name[: LIMITS.name_characters]
    text = refusal.text.replace("{model}", short_name)
    if short_name not in text:
        text = f"{text} There is no model {short_name!r} here."
    if nearest:
        text = f"{text} (did you mean {' or '.join(nearest)}?)"
    # Some APIs call it an invalid request when the model is to answer; a look-up is a 404 in all of them.
    return refusal.replace(text=text, **({"status": 404, "type": None} if looked_up else {}))


def no_model(dialect: str) -> Refusal:
    """The dialect's error for a request that names no model."""
    return dialect_named(dialect).listing.NO_MODEL


def not_configured(problem: str) -> Refusal:
    """No provider that can answer for a model has a key and a base URL.

    Waiting does not help, so the status is one that no client repeats: programs repeat 5xx and 429 for minutes, Claude Code a 401 as well, and
    it replaces the text of a 404 with its own.
    """
    return Refusal(text=problem, code="provider_not_configured", headers=_FINAL)


def too_many_streams(most: int) -> Refusal:
    """A key has reached its limit of concurrent answers."""
    text = (
        f"this key has {most} concurrent answers, which is its limit; wait for one of them to end"
    )
    return Refusal(text=text, status=429, headers={"retry-after": "1"})


def too_many_in_a_minute(kind: str, most: int, wait: float, dialect: str) -> Refusal:
    """A key has reached its limit of requests or tokens per minute, which `kind` says; `wait` is the number of seconds until it may send again."""
    seconds = _whole(wait)
    text = f"this key has reached its limit of {most:,} {kind} per minute; try again in {seconds} s"
    words = {"type": kind, "code": "rate_limit_exceeded"} if _is_openai(dialect) else {}
    return Refusal(text=text, status=429, headers={"retry-after": str(seconds)}, **words)


def budget_spent(amount: float, period: str, ends: str | None, wait: float | None, dialect: str) -> Refusal:  # fmt: skip
    """A key has spent its budget for a period; `ends` says when the next one begins, and `wait` in how many seconds.

    The status is one that no client repeats, unlike 429, and so are the words: pi repeats by the text, but not what is "out of budget".
    """
    spent = f"${amount:,.2f}" if amount >= 0.01 else f"${amount:g}"
    when = f" a {period} is spent; the next {period} begins on {ends}" if ends else " is spent"
    text = f"this key is out of budget: its {spent}{when}"
    words = {"type": _NO_QUOTA, "code": _NO_QUOTA} if _is_openai(dialect) else {}
    headers = {} if wait is None else {"retry-after": str(_whole(wait))}
    return Refusal(text=text, status=402, headers={**headers, **_FINAL}, **words)


def budget_reserved(amount: float) -> Refusal:
    """What is left of a key's budget is reserved for its requests in progress; most of that is given back when they end."""
    spent = f"${amount:,.2f}" if amount >= 0.01 else f"${amount:g}"
    text = f"what is left of this key's budget of {spent} is reserved for its requests in progress; wait for one of them to end"
    return Refusal(text=text, status=429, headers={"retry-after": "1"})


_NO_QUOTA = "insufficient_quota"


def _is_openai(dialect: str) -> bool:
    """Whether the dialect uses OpenAI's terms for limits."""
    return dialect_named(dialect).home == "openai"


def _whole(seconds: float) -> int:
    """Whole seconds, because not every client reads fractions; rounded up, so that a client that returns in time is not too early."""
    return max(1, math.ceil(seconds))


def model_not_allowed(name: str, allowed: Sequence[str]) -> Refusal:
    """A key is valid, but not for this model."""
    more = (
        f" and {len(allowed) - LIMITS.nearest_names} more"
        if len(allowed) > LIMITS.nearest_names
        else ""
    )
    names = ", ".join(allowed[: LIMITS.nearest_names])
    text = f"this key may not use {name[: LIMITS.name_characters]!r}; its models are {names}{more}"
    return Refusal(text=text, status=403)


def key_expired(when: str) -> Refusal:
    """A key has expired."""
    return WRONG_KEY.replace(text=f"the key has expired: it was valid until {when}")


def key_revoked(when: str) -> Refusal:
    """A key was revoked."""
    return WRONG_KEY.replace(text=f"the key was revoked on {when}")


# ---- what happened on the way ---------------------------------------------------------------------------


def refusal_of(error: InnervoiceError, dialect: str, upstream: str | None = None) -> Refusal:
    """The refusal for an error, as a client of `dialect` gets it; `upstream` is the dialect in which the provider was called."""
    if isinstance(error, ProviderError):
        return _of_provider(error, dialect, upstream)
    text = str(error.args[0]) if error.args else type(error).__name__
    provider = getattr(error, "provider", None)
    if isinstance(error, DecodeError) and provider is None and error.status is None:
        # Nothing was sent yet: it is the caller's request that cannot be read.
        return Refusal(text=text)
    matches = ((status, words) for kind, status, words in _KINDS if isinstance(error, kind))
    status, words = next(matches, (500, ""))
    return Refusal(text=f"{provider}: {words}{text}" if provider else words + text, status=status)


def _of_provider(error: ProviderError, dialect: str, upstream: str | None) -> Refusal:
    failure = Failure(type=error.type, code=error.code, message=error.message)
    status = error.status or status_of(failure)
    text = error.message or error.type or "the provider returned an error"
    refusal = Refusal(
        text=text,
        # Not an error status: a redirect, which is not followed, or no status at all.
        status=status if 400 <= status < 600 else 502,
        headers=_waiting(error.retry_after) | ({} if _may_pass(error, status) else _FINAL),
    )
    if upstream is None or not _share_words(dialect, upstream):
        return refusal
    detail = _detail(error.body)
    return refusal.replace(
        type=error.type,
        code=error.code,
        param=as_text(detail.get("param")),
        details=detail.get("details") if dialect == upstream else None,
    )


def _may_pass(error: ProviderError, status: int) -> bool:
    """Whether the same request may succeed later: not where the account has no money, nor behind a redirect."""
    return status >= 400 and is_transient(status, {}, f"{error.type} {error.code}")


def _share_words(dialect: str, upstream: str) -> bool:
    """Whether two dialects have the same types of errors: they belong to one provider."""
    one, other = dialect_named(dialect), dialect_named(upstream)
    return one.home == other.home


def _detail(body: str | None) -> dict[str, Any]:
    """The members of a provider's error; none if it has another form."""
    try:
        value: Any = load_json(body or "null")
    except ValueError:
        return {}
    return as_dict(as_dict(value).get("error"))


def _waiting(seconds: float | None) -> dict[str, str]:
    """The header that says when to retry; whole seconds, because not every client reads fractions."""
    return {} if seconds is None else {"retry-after": str(math.ceil(seconds))}


def let_go(error: BaseException) -> None:
    """Drops the frames of an error that was handled, and of those behind it.

    An error that is kept somewhere in its own frames, such as in the exchange that failed, is a cycle: the whole request would stay in
    memory until the garbage collector finds it.
    """
    errors = [error]
    while errors:
        one = errors.pop()
        if one.__traceback__ is not None:
            one.__traceback__ = None
            errors += filter(None, (one.__cause__, one.__context__))


# An error of any kind -> the refusal that the client gets: unknown names, missing keys, and errors of upstreams.


def trouble(error: InnervoiceError, dialect: str, upstream: str | None = None) -> Refusal:
    """The refusal for an error, as a client of `dialect` gets it; `upstream` is the dialect in which the provider was called."""
    if isinstance(error, UnknownModelError):
        return unknown_model(dialect, error.model, error.nearest)
    if isinstance(error, NotConfiguredError):
        return not_configured(str(error))
    return refusal_of(error, dialect, upstream)
