"""Our errors -> litellm's exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from innervoice import errors as ours
from innervoice.bridges.litellm import errors
from innervoice.bridges.litellm.errors import ErrorResponse, LitellmError

__all__ = ["exception_of", "exception_of_status", "translated"]

_CONTEXT = re.compile(
    r"context[ _](?:length|window)|maximum context|prompt is too long|too many (?:input )?tokens"
    r"|exceeds? the (?:maximum|model)|input length and `max_tokens` exceed|token count.*exceeds",
    re.IGNORECASE,
)
_POLICY = re.compile(
    r"content[ _](?:policy|filter|management)|safety system|responsible ?ai", re.IGNORECASE
)
_NO_KEY = "no key for"

_BY_STATUS: dict[int, type[LitellmError]] = {
    400: errors.BadRequestError,
    401: errors.AuthenticationError,
    402: errors.PaymentRequiredError,
    403: errors.PermissionDeniedError,
    404: errors.NotFoundError,
    408: errors.Timeout,
    413: errors.BadRequestError,
    422: errors.UnprocessableEntityError,
    429: errors.RateLimitError,
    500: errors.InternalServerError,
    502: errors.BadGatewayError,
    503: errors.ServiceUnavailableError,
    504: errors.Timeout,
    529: errors.ServiceUnavailableError,
}
# Without a status the class of our error decides; the first match wins.
_BY_KIND: tuple[tuple[type[Exception], type[LitellmError]], ...] = (
    (ours.UsageError, errors.BadRequestError),
    (ours.TimedOutError, errors.Timeout),
    (ours.TransportError, errors.APIConnectionError),
    (ours.DecodeError, errors.APIResponseValidationError),
    (ours.RateLimitError, errors.RateLimitError),
    (ours.AuthenticationError, errors.AuthenticationError),
    (ours.NotFoundError, errors.NotFoundError),
    (ours.BadRequestError, errors.BadRequestError),
    (ours.OverloadedError, errors.ServiceUnavailableError),
    (ours.ServerError, errors.InternalServerError),
)


@contextmanager
def translated(provider: str | None, model: str | None) -> Iterator[None]:
    """Raises litellm's exceptions instead of ours, with ours as the cause."""
    try:
        yield
    except (LitellmError, errors.ModelNotMappedError):
        raise
    except ours.InnervoiceError as error:
        raise exception_of(error, provider, model) from error


def exception_of(
    error: ours.InnervoiceError, provider: str | None = None, model: str | None = None
) -> LitellmError:
    """litellm's exception for one of our errors."""
    kind = _kind_of(error)
    text = _text_of(error)
    status = getattr(error, "status", None)
    response = None
    if status is not None:
        wait = getattr(error, "retry_after", None)
        headers = {"retry-after": f"{wait:g}"} if wait is not None else {}
        response = ErrorResponse(status, getattr(error, "body", None) or "", headers)
    facts = {"message": text, "llm_provider": provider, "model": model}
    if kind is errors.APIError:
        mapped: LitellmError = errors.APIError(status or 500, text, provider, model)
    else:
        mapped = kind(**facts)
    if response is not None:
        mapped.response = response
    return mapped


def exception_of_status(
    status: Any, message: str, provider: str | None, model: str | None
) -> LitellmError:
    """litellm's exception for an HTTP status; without one the connection counts as failed, as in litellm."""
    kind = _BY_STATUS.get(status, errors.APIConnectionError if status is None else errors.APIError)
    if kind is errors.APIError:
        return errors.APIError(status, message, provider, model)
    return kind(message=message, llm_provider=provider, model=model)


def _kind_of(error: ours.InnervoiceError) -> type[LitellmError]:
    if isinstance(error, ours.UsageError) and str(error).startswith(_NO_KEY):
        return errors.AuthenticationError
    # A connection that was lost during a response has that response's status; the network error is what matters.
    is_answer = isinstance(error, ours.ProviderError)
    status = error.status if isinstance(error, ours.ProviderError) else None
    kind = _BY_STATUS.get(status) if is_answer and status else None
    if kind is None or (status is not None and status < 400):
        kind = next(
            (kind for our_error, kind in _BY_KIND if isinstance(error, our_error)), errors.APIError
        )
    if kind is errors.BadRequestError and is_answer:
        words = f"{getattr(error, 'code', '')} {_text_of(error)}"
        if _CONTEXT.search(words):
            return errors.ContextWindowExceededError
        if _POLICY.search(words):
            return errors.ContentPolicyViolationError
    return kind


def _text_of(error: ours.InnervoiceError) -> str:
    return str(getattr(error, "message", None) or error)
