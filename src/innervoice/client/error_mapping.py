"""A failed exchange -> one of our errors: by HTTP status or by the type of network error, without any key."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, TypeAlias

from innervoice.canon.jsontext import load_json
from innervoice.canon.response import Failure
from innervoice.client.deadline import Deadline
from innervoice.errors import (
    AnswerInterruptedError,
    AuthenticationError,
    BadRequestError,
    ConnectionFailedError,
    DecodeError,
    NotFoundError,
    OverloadedError,
    ProviderError,
    RateLimitError,
    ServerError,
    TransportError,
    UsageError,
)
from innervoice.wire.json_access import as_dict, as_list
from innervoice.wire.refusals import OUT_OF_MONEY, failure_of, status_of

__all__ = [
    "LONGEST_WAIT",
    "SHOWN",
    "Backoff",
    "Problem",
    "errors_of",
    "failure_error",
    "is_transient",
    "network_error",
    "refusal_error",
    "request_id_of",
    "retry_after",
    "scrubbed",
    "secrets_of",
]

Problem: TypeAlias = DecodeError | TransportError | ProviderError
"""The errors of an exchange that was sent; all of them carry details of it."""

SHOWN = 4000
"""How many characters of the body an error keeps."""

_STATUSES: dict[int, type[ProviderError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: AuthenticationError,
    404: NotFoundError,
    413: BadRequestError,
    422: BadRequestError,
    429: RateLimitError,
    503: OverloadedError,
    529: OverloadedError,
}
_REQUEST_IDS = (
    "x-request-id",
    "request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "x-ms-request-id",
    "x-goog-request-id",
    "x-trace-id",
    "cf-ray",
)
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password")
_LEAST_SECRET = 6


def secrets_of(headers: Mapping[str, str]) -> frozenset[str]:
    """The header values that must not be shown, with and without a word such as "Bearer" in front."""
    secrets = [value for name, value in headers.items() if _SECRET_HEADER.search(name.lower())]
    words = [value.partition(" ")[2] for value in secrets]
    return frozenset(value for value in (*secrets, *words) if len(value) >= _LEAST_SECRET)


def scrubbed(text: str, secrets: Iterable[str]) -> str:
    """The text without secrets; the longest are removed first, since one may contain another."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "<key removed>")
    return text


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """The host's id of the request."""
    return next((headers[name] for name in _REQUEST_IDS if headers.get(name)), None)


# ---- errors of the host -----------------------------------------------------------------------------


def refusal_error(
    status: int, headers: Mapping[str, str], body: bytes, *, now: float, secrets: Iterable[str]
) -> ProviderError:
    """The error for a response with an error status."""
    text = scrubbed(body.decode("utf-8", "replace"), secrets)
    try:
        value = load_json(text)
    except ValueError:
        value = None
    failure = failure_of(value) if value is not None else Failure(message=text.strip()[:300])
    # Bedrock names the type in a header, followed by a colon and a URL.
    kind = failure.type or headers.get("x-amzn-errortype", "").partition(":")[0] or None
    error = _class_of(status, kind)(kind, failure.code, failure.message or f"status {status}")
    return error.with_facts(
        status=status,
        request_id=request_id_of(headers),
        retry_after=retry_after(headers, now, value),
        body=text[:SHOWN],
    )


def failure_error(failure: Failure, secrets: Iterable[str]) -> ProviderError:
    """The error for a failure that a provider reported inside an answer."""
    message = scrubbed(failure.message, secrets) if failure.message else None
    kind = _class_of(status_of(failure), failure.type)
    return kind(failure.type, failure.code, message or "the answer ended in an error")


def _class_of(status: int, kind: str | None) -> type[ProviderError]:
    if status >= 500 and kind and "overloaded" in kind.lower():
        return OverloadedError
    return _STATUSES.get(status, ServerError if status >= 500 else ProviderError)


# ---- errors of the network -----------------------------------------------------------------------------


def errors_of(http: Any) -> tuple[type[Exception], ...]:
    """The network errors that an HTTP client raises: those in its `errors`, or those of the package of its class."""
    classes: tuple[type[Exception], ...] | None = getattr(http, "errors", None)
    kind: Any = type(http)
    return classes or _errors_of_class(kind)


@cache
def _errors_of_class(client: type[object]) -> tuple[type[Exception], ...]:
    classes: list[type[Exception]] = [OSError]
    for kind in client.__mro__:
        package = sys.modules.get(kind.__module__.partition(".")[0])
        for name in ("HTTPError", "StreamError", "InvalidURL"):
            error = getattr(package, name, None)
            if isinstance(error, type) and issubclass(error, Exception):
                classes.append(error)
    return tuple(dict.fromkeys(classes))


def network_error(
    error: Exception,
    *,
    began: bool,
    deadline: Deadline,
    secrets: Iterable[str],
    server: str = "",
) -> UsageError | Problem:
    """Our error for an exception of the HTTP client; `began` says whether an answer had begun.

    Classes are compared by name, because a caller's client may be from httpx or httpx2.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    message = scrubbed(str(error), secrets).strip() or type(error).__name__
    if names & {"InvalidURL", "UnsupportedProtocol"}:
        return UsageError(f"base_url cannot be used: {message}")
    if "LocalProtocolError" in names:
        # The message of the HTTP client contains the header, which may contain a key.
        return UsageError("the request cannot be sent: HTTP does not allow some part of it")
    if names & {"TimeoutException", "TimeoutError"}:
        return deadline.timed_out(connecting="ConnectTimeout" in names)
    if "DecodingError" in names:
        return DecodeError(f"the body does not have the encoding that its headers name: {message}")
    if began:
        return AnswerInterruptedError(f"the answer was interrupted: {message}")
    to = f" to {server}" if server else ""
    return ConnectionFailedError(f"connection{to} failed: {message}")


# ---- Whether and when a request is retried.
#
# The wait is chosen at random between 0 and a bound that doubles with every retry, so that clients which failed together do not return
# together. If the host asks for a certain wait, that one is used.


LONGEST_WAIT = 60.0
"""If the host asks for a longer wait, the request is not retried; the error has `retry_after`."""

_FIRST_BOUND = 0.5
_LAST_BOUND = 8.0
# The statuses that the official SDKs retry, and those that no retry can fix.
_TRANSIENT = frozenset({408, 409, 425, 429})
_PERMANENT = frozenset({501, 505})


class Backoff:
    """How long to wait before a retry."""

    def __init__(
        self,
        retries: int,
        *,
        draw: Callable[[], float] = random.random,
        longest: float = LONGEST_WAIT,
    ) -> None:
        self.retries = retries
        self._draw = draw
        self._longest = longest

    def wait(self, tries: int, hint: float | None) -> float | None:
        """Seconds to wait after this many retries; None if there is no further retry."""
        if tries >= self.retries:
            return None
        if hint is not None:
            return hint if hint <= self._longest else None
        return self._draw() * min(_LAST_BOUND, _FIRST_BOUND * 2.0**tries)


def is_transient(status: int, headers: Mapping[str, str], kind: str | None = None) -> bool:
    """Whether the same request may succeed later; `kind` is the provider's word for the error."""
    advice = headers.get("x-should-retry", "").lower()
    if advice in ("true", "false"):
        return advice == "true"
    if kind and any(word in kind for word in OUT_OF_MONEY):
        return False
    return status in _TRANSIENT or (status >= 500 and status not in _PERMANENT)


def retry_after(headers: Mapping[str, str], now: float, body: Any = None) -> float | None:
    """The seconds that the host asks to wait, in its headers or in Google's error details."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    header = headers.get("retry-after")
    if header:
        seconds = _number(header)
        return seconds if seconds is not None else _until(header, now)
    for detail in as_list(as_dict(as_dict(body).get("error")).get("details")):
        delay = as_dict(detail).get("retryDelay")
        if isinstance(delay, str) and delay.endswith("s"):
            return _number(delay[:-1])
    return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text else None
    except ValueError:
        return None
    # Also false for NaN.
    return number if number is not None and 0 <= number < 1e9 else None


def _until(date: str, now: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except (ValueError, OverflowError):
        return None
