"""Every error that innervoice raises, and the cause of each.

InnervoiceError
├── UsageError                  the caller: an argument, a setting or a file that cannot be used
│   └── RuleError               a request that the model would refuse; names the rule
├── DecodeError                 the data: a response or a stored value that cannot be read
├── TransportError              the network: no response, or only part of one
│   ├── ConnectionFailedError   connection failed: refused, unreachable, or closed before a response began
│   ├── TimedOutError           a limit on connecting, on waiting or on the whole request was exceeded
│   └── AnswerInterruptedError  the connection failed in the middle of a response
└── ProviderError               the provider: it responded with an error
    ├── BadRequestError         400, 413, 422: the request is invalid
    ├── AuthenticationError     401, 403: the key is missing, wrong, or lacks a permission
    ├── NotFoundError           404: no such model or path
    ├── RateLimitError          429: too many requests or tokens, or no credit left
    └── ServerError             5xx: an internal error
        └── OverloadedError     503, 529: the provider is overloaded

An error that a client raises after it sent a request carries details of the exchange: `provider`, `status`,
`request_id`, `retry_after` (seconds), `body` (the start of the response body, without keys), `response` (the part
of the answer that was received) and `notes` (what was noticed, as that the provider contradicts the catalog).
"""

from __future__ import annotations

from typing import Any, Self

__all__ = [
    "AnswerInterruptedError",
    "AuthenticationError",
    "BadRequestError",
    "ConnectionFailedError",
    "DecodeError",
    "InnervoiceError",
    "NotFoundError",
    "OverloadedError",
    "ProviderError",
    "RateLimitError",
    "RuleError",
    "ServerError",
    "TimedOutError",
    "TransportError",
    "UsageError",
]


class InnervoiceError(Exception):
    """The base class: `except innervoice.InnervoiceError` catches every error of innervoice and no other."""


class UsageError(InnervoiceError, ValueError):
    """An argument, a setting or a file cannot be used; the message says what was expected and what was passed."""


class RuleError(UsageError):
    """A request that the model would refuse.

    :param rule: The code of the note that other modes add instead.
    :param message: What is wrong, and how to fix it.
    """

    def __init__(self, rule: str, message: str) -> None:
        self.rule = rule
        super().__init__(f"{rule}: {message}")


class _ExchangeError(InnervoiceError):
    """An error with details of the exchange; a field is None if it is unknown or nothing was sent."""

    provider: str | None = None
    status: int | None = None
    """The HTTP status code."""
    request_id: str | None = None
    """The provider's id for the request, to quote to its support."""
    retry_after: float | None = None
    """The number of seconds to wait before a retry, if the provider sent it."""
    body: str | None = None
    """The start of the response body, without keys."""
    response: Any = None
    """The part of the answer that was received, a `Response`."""
    notes: tuple[Any, ...] = ()
    """What was noticed about the refusal, as `Note` values."""

    def with_facts(self, **facts: Any) -> Self:
        """The same error with details of the exchange.

        :param facts: What is known: `provider`, `model`, `status`, `request_id`, ...
        """
        for name, value in facts.items():
            setattr(self, name, value)
        return self

    def __str__(self) -> str:
        facts = [
            self.provider,
            f"status {self.status}" if self.status else None,
            f"request {self.request_id}" if self.request_id else None,
            f"retry after {self.retry_after:g} s" if self.retry_after is not None else None,
        ]
        known = ", ".join(fact for fact in facts if fact)
        return f"{super().__str__()} ({known})" if known else super().__str__()


class DecodeError(_ExchangeError):
    """The data is not a response of a provider, or not a value that innervoice stored.

    For a response that is not over, `id` and `status` are those of the response, to retrieve it later: "queued" or "in_progress".
    """

    id: str | None = None
    status: int | str | None = None  # type: ignore[assignment]


class TransportError(_ExchangeError):
    """A network error: no response was received, or only part of one."""


class ConnectionFailedError(TransportError):
    """The connection failed before a response began."""


class TimedOutError(TransportError):
    """A time limit was exceeded.

    :param message: What was waited for.
    :param limit: Which limit: "connect", "idle" or "total".
    """

    def __init__(self, message: str, limit: str = "total") -> None:
        self.limit = limit
        super().__init__(message)


class AnswerInterruptedError(TransportError):
    """The connection failed in the middle of a response; `response` has the part that was received."""


class ProviderError(_ExchangeError):
    """The provider responded with an error.

    :param type: The kind of the error, in the provider's word.
    :param code: The provider's code.
    :param message: The provider's sentence.
    """

    def __init__(self, type: str | None, code: str | int | None, message: str | None) -> None:  # noqa: A002
        self.type = type
        self.code = code
        self.message = message
        super().__init__(": ".join(str(item) for item in (type, code, message) if item is not None))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.type, self.code, self.message), self.__dict__


class BadRequestError(ProviderError):
    """The provider rejects the request as invalid."""


class AuthenticationError(ProviderError):
    """The key is missing, wrong, or lacks a permission."""


class NotFoundError(ProviderError):
    """The provider has no such model or path."""


class RateLimitError(ProviderError):
    """Too many requests or tokens."""


class ServerError(ProviderError):
    """An internal error of the provider."""


class OverloadedError(ServerError):
    """The provider is overloaded."""
