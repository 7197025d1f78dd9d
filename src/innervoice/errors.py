"""Every error innervoice raises, and whose fault each one is.

InnervoiceError
├── UsageError      yours: an argument, a setting or a file that cannot be used
└── DecodeError     the wire's: what came is not what it claims to be
"""

from __future__ import annotations

__all__ = ["DecodeError", "InnervoiceError", "UsageError"]


class InnervoiceError(Exception):
    """The root: `except innervoice.InnervoiceError` catches all of ours and nothing else."""


class UsageError(InnervoiceError, ValueError):
    """What the caller passed cannot be used; the message says what was expected and what came."""


class DecodeError(InnervoiceError):
    """What came from outside is no answer, or no value that innervoice stored."""
