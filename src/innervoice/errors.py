"""Every error innervoice raises, and whose fault each one is.

InnervoiceError
├── UsageError      yours: an argument, a setting or a file that cannot be used
│   └── RuleError   a request that the model would refuse, by the rule it names
├── DecodeError     the wire's: what came is not what it claims to be
└── ProviderError   the host's: it answered with an error
"""

from __future__ import annotations

__all__ = ["DecodeError", "InnervoiceError", "ProviderError", "RuleError", "UsageError"]


class InnervoiceError(Exception):
    """The root: `except innervoice.InnervoiceError` catches all of ours and nothing else."""


class UsageError(InnervoiceError, ValueError):
    """What the caller passed cannot be used; the message says what was expected and what came."""


class RuleError(UsageError):
    """A request that the model would refuse; `rule` is the code of the note it would be in another mode."""

    def __init__(self, rule: str, message: str) -> None:
        self.rule = rule
        super().__init__(f"{rule}: {message}")


class DecodeError(InnervoiceError):
    """What came from outside is no answer, or no value that innervoice stored."""


class ProviderError(InnervoiceError):
    """The provider answered with an error of its own."""

    def __init__(self, type: str | None, code: str | int | None, message: str | None) -> None:  # noqa: A002
        self.type = type
        self.code = code
        self.message = message
        super().__init__(": ".join(str(item) for item in (type, code, message) if item is not None))
