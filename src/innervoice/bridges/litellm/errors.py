"""litellm's exceptions, with its positional orders, attributes and kinship.

LitellmError (of innervoice: an InnervoiceError)
├── BadRequestError                   400
│   ├── ContextWindowExceededError
│   ├── ContentPolicyViolationError
│   ├── UnsupportedParamsError
│   ├── RejectedRequestError
│   ├── ImageFetchError
│   └── PaymentRequiredError          402
├── AuthenticationError               401
├── PermissionDeniedError             403
├── NotFoundError                     404
├── Timeout                           408
├── UnprocessableEntityError          422
├── RateLimitError                    429
├── APIError                          as given
├── APIConnectionError                500
├── APIResponseValidationError        500
│   └── JSONSchemaValidationError
├── InternalServerError               500
├── BadGatewayError                   502
├── ServiceUnavailableError           503
├── ModelNotMappedError               a look-up of a model that nobody registered
└── BudgetExceededError               never raised here

Code that retries sorts by `isinstance`, so those that stand side by side here are no kinds of each other.
"""

from __future__ import annotations

from typing import Any, ClassVar

from innervoice.errors import InnervoiceError

__all__ = [
    "APIConnectionError",
    "APIError",
    "APIResponseValidationError",
    "AuthenticationError",
    "BadGatewayError",
    "BadRequestError",
    "BudgetExceededError",
    "ContentPolicyViolationError",
    "ContextWindowExceededError",
    "ErrorResponse",
    "ImageFetchError",
    "InternalServerError",
    "InvalidRequestError",
    "JSONSchemaValidationError",
    "LitellmError",
    "ModelNotMappedError",
    "NotFoundError",
    "PaymentRequiredError",
    "PermissionDeniedError",
    "RateLimitError",
    "RejectedRequestError",
    "ServiceUnavailableError",
    "Timeout",
    "UnprocessableEntityError",
    "UnsupportedParamsError",
]

_TRIES = ("max_retries", "num_retries")
_PROVIDER_FIRST = ("message", "llm_provider", "model", "response", "litellm_debug_info", *_TRIES)
_MODEL_FIRST = ("message", "model", "llm_provider", "response", "litellm_debug_info", *_TRIES)
_MORE = ("body", "headers", "detail", "provider_specific_fields", "request", "request_data")


class ErrorResponse:
    """What is known of the answer that was an error, as far as `httpx.Response` is usually read."""

    def __init__(self, status_code: int, text: str = "", headers: Any = None) -> None:
        self.status_code = status_code
        self.text = text
        self.headers: dict[str, str] = dict(headers or {})
        self.request: Any = None

    def __repr__(self) -> str:
        return f"<ErrorResponse {self.status_code}>"


class LitellmError(InnervoiceError):
    """The root of litellm's exceptions here; `str(error)` is its name and the message."""

    status: ClassVar[int] = 500
    order: ClassVar[tuple[str, ...]] = _PROVIDER_FIRST
    """The names of its arguments, in the order in which litellm takes them by position."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        name = type(self).__name__
        if len(arguments) > len(self.order):
            raise TypeError(f"{name} takes at most {len(self.order)} arguments by position")
        facts = dict(zip(self.order, arguments, strict=False))
        for key, value in named.items():
            if key in facts or key not in (*self.order, *_MORE):
                problem = "twice" if key in facts else "unexpectedly"
                raise TypeError(f"{name} got the argument {key!r} {problem}")
            facts[key] = value
        if "message" not in facts:
            raise TypeError(f"{name} needs a message")
        self.status_code: int = facts.pop("status_code", None) or self.status
        self.message = f"litellm.{name}: {facts.pop('message')}"
        self.llm_provider: str | None = facts.pop("llm_provider", None)
        self.model: str | None = facts.pop("model", None)
        response = facts.pop("response", None)
        self.response: Any = ErrorResponse(self.status_code) if response is None else response
        for key in ("litellm_debug_info", *_TRIES, "body", *facts):
            setattr(self, key, facts.get(key))
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self.args, self.__dict__)


def _remade(kind: type[LitellmError], arguments: tuple[Any, ...], facts: dict[str, Any]) -> Any:
    """The error again, after pickling."""
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(facts)
    return error


class BadRequestError(LitellmError):
    """The request is not taken as it is."""

    status = 400
    order: ClassVar[tuple[str, ...]] = (*_MODEL_FIRST, "body")


class ContextWindowExceededError(BadRequestError):
    """The messages are longer than the model can read."""


class ContentPolicyViolationError(BadRequestError):
    """The provider refused for its policy."""


class UnsupportedParamsError(BadRequestError):
    """The provider has no such parameter."""

    order = (
        "message",
        "llm_provider",
        "model",
        "status_code",
        "response",
        "litellm_debug_info",
        *_TRIES,
    )


class RejectedRequestError(BadRequestError):
    """Something before the provider refused."""

    order: ClassVar[tuple[str, ...]] = (
        "message",
        "model",
        "llm_provider",
        "request_data",
        "litellm_debug_info",
    )


class ImageFetchError(BadRequestError):
    """An image could not be had."""


class PaymentRequiredError(BadRequestError):
    """No money is left."""

    status = 402


class InvalidRequestError(BadRequestError):
    """The old name of a bad request."""


class AuthenticationError(LitellmError):
    """The key is missing or wrong."""

    status = 401


class PermissionDeniedError(LitellmError):
    """The key may not do this."""

    status = 403


class NotFoundError(LitellmError):
    """There is no such model."""

    status = 404
    order = _MODEL_FIRST


class Timeout(LitellmError):  # noqa: N818 - litellm's name
    """It took longer than allowed."""

    status = 408
    order = (
        "message",
        "model",
        "llm_provider",
        "litellm_debug_info",
        *_TRIES,
        "headers",
        "exception_status_code",
        "response",
    )


class UnprocessableEntityError(LitellmError):
    """The request makes no sense to the provider."""

    status = 422
    order = _MODEL_FIRST


class RateLimitError(LitellmError):
    """Too many requests or tokens."""

    status = 429
    order = (*_PROVIDER_FIRST, "category", "rate_limit_type")


class APIError(LitellmError):
    """The provider answered with an error that is none of the others."""

    order = (
        "status_code",
        "message",
        "llm_provider",
        "model",
        "request",
        "litellm_debug_info",
        *_TRIES,
        "body",
    )


class APIConnectionError(LitellmError):
    """Nobody answered, or the answer broke off."""

    order = ("message", "llm_provider", "model", "request", "litellm_debug_info", *_TRIES)


class APIResponseValidationError(LitellmError):
    """The answer is not what it should be."""

    order = ("message", "llm_provider", "model", "litellm_debug_info", *_TRIES)


class JSONSchemaValidationError(APIResponseValidationError):
    """The answer does not fit its schema."""

    def __init__(self, model: str, llm_provider: str, raw_response: str, schema: str) -> None:
        self.raw_response = raw_response
        self.schema = schema
        text = f"model={model}, returned an invalid response={raw_response}, for schema={schema}."
        super().__init__(text, llm_provider, model)


class InternalServerError(LitellmError):
    """The provider failed by itself."""


class BadGatewayError(LitellmError):
    """Something between here and the provider failed."""

    status = 502


class ServiceUnavailableError(LitellmError):
    """The provider is too busy."""

    status = 503


class ModelNotMappedError(InnervoiceError):
    """Nothing is known of this model; `register_model` makes it known."""


class BudgetExceededError(InnervoiceError):
    """More was spent than allowed."""

    def __init__(
        self, current_cost: float, max_budget: float, message: str | None = None, **facts: Any
    ) -> None:
        self.current_cost = current_cost
        self.max_budget = max_budget
        self.message = message or (
            f"Budget has been exceeded! Current cost: {current_cost}, Max budget: {max_budget}"
        )
        self.status_code = 422
        self.llm_provider = facts.get("llm_provider") or ""
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message
