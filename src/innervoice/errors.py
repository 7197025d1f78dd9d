"""Every error innervoice raises, and whose fault each one is.

InnervoiceError
├── UsageError                  yours: an argument, a setting or a file that cannot be used
│   └── RuleError               a request that the model would refuse, by the rule it names
├── DecodeError                 the wire's: what came is not what it claims to be
├── TransportError              the road's: no answer came through, or not all of it
│   ├── ConnectionFailedError   nobody answered: refused, unreachable, broken before an answer began
│   ├── TimedOutError           connecting, a silence or the whole took longer than allowed
│   └── AnswerInterruptedError  an answer began and broke off
└── ProviderError               the host's: it answered with an error
    ├── BadRequestError         400, 413, 422: it does not take this request
    ├── AuthenticationError     401, 403: the key is missing, wrong, or may not do this
    ├── NotFoundError           404: no such model, or nobody answers at this path
    ├── RateLimitError          429: too many requests or tokens, or no money left
    └── ServerError             5xx: it failed by itself
        └── OverloadedError     503, 529: it is too busy

An error that a client raises after it sent something carries what is known of the exchange: `provider`, `status`,
`request_id`, `retry_after` (seconds), `body` (the first of what came, keys removed) and `response` (what arrived of the
answer before it broke off).
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
    """The root: `except innervoice.InnervoiceError` catches all of ours and nothing else."""


class UsageError(InnervoiceError, ValueError):
    """What the caller passed cannot be used; the message says what was expected and what came."""


class RuleError(UsageError):
    """A request that the model would refuse; `rule` is the code of the note it would be in another mode."""

    def __init__(self, rule: str, message: str) -> None:
        self.rule = rule
        super().__init__(f"{rule}: {message}")


class _ExchangeError(InnervoiceError):
    """What is known of the exchange that failed; None where it is unknown, or where nothing was sent."""

    provider: str | None = None
    status: int | None = None
    """The status of HTTP."""
    request_id: str | None = None
    """The host's name for the request, for its support."""
    retry_after: float | None = None
    """In how many seconds it may be tried again, if the host says so."""
    body: str | None = None
    """The first of what came, keys removed."""
    response: Any = None
    """What arrived of the answer, a `Response`."""

    def with_facts(self, **facts: Any) -> Self:
        """The same error with what is known of its exchange."""
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
    """What came from outside is no answer, or no value that innervoice stored."""


class TransportError(_ExchangeError):
    """No answer came through, or not all of it."""


class ConnectionFailedError(TransportError):
    """Nobody answered."""


class TimedOutError(TransportError):
    """It took longer than allowed; `limit` says which limit it was: "connect", "idle" or "total"."""

    def __init__(self, message: str, limit: str = "total") -> None:
        self.limit = limit
        super().__init__(message)


class AnswerInterruptedError(TransportError):
    """An answer began and broke off; `response` has what arrived."""


class ProviderError(_ExchangeError):
    """The provider answered with an error of its own."""

    def __init__(self, type: str | None, code: str | int | None, message: str | None) -> None:  # noqa: A002
        self.type = type
        self.code = code
        self.message = message
        super().__init__(": ".join(str(item) for item in (type, code, message) if item is not None))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.type, self.code, self.message), self.__dict__


class BadRequestError(ProviderError):
    """It does not take this request."""


class AuthenticationError(ProviderError):
    """The key is missing, wrong, or may not do this."""


class NotFoundError(ProviderError):
    """It knows no such model, or nobody answers at this path."""


class RateLimitError(ProviderError):
    """Too many requests or tokens."""


class ServerError(ProviderError):
    """It failed by itself."""


class OverloadedError(ServerError):
    """It is too busy."""
