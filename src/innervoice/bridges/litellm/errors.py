"""litellm's exceptions, with its argument orders, attributes and class hierarchy.

LitellmError (ours; a subclass of InnervoiceError)
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
├── APIError                          its argument `status_code`
├── APIConnectionError                500
├── APIResponseValidationError        500
│   └── JSONSchemaValidationError
├── InternalServerError               500
├── BadGatewayError                   502
├── ServiceUnavailableError           503
├── InvalidRequestError               400; the old name of BadRequestError
├── MockException                     its argument `status_code`
├── OpenAIError                       never raised here
├── ModelNotMappedError               a look-up of an unregistered model
└── BudgetExceededError               never raised here

Retry code checks errors with `isinstance`, so siblings in this tree must not be subclasses of each other. Where the package `openai`
is loaded, each class is also a subclass of the exception of `openai` that litellm derives it from (below).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
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
    "MockException",
    "ModelNotMappedError",
    "NotFoundError",
    "OpenAIError",
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
    """The error response, with the attributes of `httpx.Response` that programs usually read."""

    def __init__(self, status_code: int, text: str = "", headers: Any = None) -> None:
        self.status_code = status_code
        self.text = text
        self.headers: dict[str, str] = dict(headers or {})
        self.request: Any = None

    def __repr__(self) -> str:
        return f"<ErrorResponse {self.status_code}>"


class LitellmError(InnervoiceError):
    """The base class of these exceptions; `str(error)` is the class name and the message."""

    status: ClassVar[int] = 500
    order: ClassVar[tuple[str, ...]] = _PROVIDER_FIRST
    """The argument names, in litellm's positional order."""
    body: Any

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        name = type(self).__name__
        if len(arguments) > len(self.order):
            raise TypeError(f"{name} takes at most {len(self.order)} arguments by position")
        facts = dict(zip(self.order, arguments, strict=False))
        for key, value in keywords.items():
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
        for key in ("litellm_debug_info", *_TRIES, "body", "request", *facts):
            setattr(self, key, facts.get(key))
        detail = self.body if isinstance(self.body, dict) else {}
        for key in ("code", "param", "type"):
            setattr(self, key, detail.get(key))
        self.request_id: str | None = dict(self.response.headers).get("x-request-id")
        # Not super(): an exception of openai may be next in the hierarchy, and has other arguments.
        Exception.__init__(self, self.message)

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self.args, self.__dict__)


def _remade(kind: type[LitellmError], arguments: tuple[Any, ...], facts: dict[str, Any]) -> Any:
    """Restores a pickled error."""
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(facts)
    return error


class BadRequestError(LitellmError):
    """The request is invalid."""

    status = 400
    order: ClassVar[tuple[str, ...]] = (*_MODEL_FIRST, "body")


class ContextWindowExceededError(BadRequestError):
    """The messages exceed the context window."""


class ContentPolicyViolationError(BadRequestError):
    """The provider's content policy refused the request."""


class UnsupportedParamsError(BadRequestError):
    """The provider does not support a parameter."""

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
    """The request was refused before it reached the provider."""

    order: ClassVar[tuple[str, ...]] = (
        "message",
        "model",
        "llm_provider",
        "request_data",
        "litellm_debug_info",
    )


class ImageFetchError(BadRequestError):
    """An image could not be downloaded."""


class PaymentRequiredError(BadRequestError):
    """The account has no credit left."""

    status = 402


class InvalidRequestError(LitellmError):
    """The old name of `BadRequestError`."""

    status = 400
    order = _MODEL_FIRST


class AuthenticationError(LitellmError):
    """The API key is missing or invalid."""

    status = 401


class PermissionDeniedError(LitellmError):
    """The API key has no permission for this."""

    status = 403


class NotFoundError(LitellmError):
    """The model or the URL does not exist."""

    status = 404
    order = _MODEL_FIRST


class Timeout(LitellmError):  # noqa: N818 - litellm's name
    """The request timed out."""

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
    """The provider could not process the request."""

    status = 422
    order = _MODEL_FIRST


class RateLimitError(LitellmError):
    """Too many requests or tokens."""

    status = 429
    order = (*_PROVIDER_FIRST, "category", "rate_limit_type")


class APIError(LitellmError):
    """Any other error of the provider."""

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


class MockException(LitellmError):  # noqa: N818 - litellm's name
    """An error of `mock_response`."""

    order = APIError.order


class OpenAIError(LitellmError):
    """litellm's class for errors of OpenAI's SDK; never raised here."""

    def __init__(self, original_exception: Any = None) -> None:
        super().__init__(str(original_exception or ""), "openai")


class APIConnectionError(LitellmError):
    """The connection failed or was lost."""

    order = ("message", "llm_provider", "model", "request", "litellm_debug_info", *_TRIES)


class APIResponseValidationError(LitellmError):
    """The response is malformed."""

    order = ("message", "llm_provider", "model", "litellm_debug_info", *_TRIES)


class JSONSchemaValidationError(APIResponseValidationError):
    """The response does not match its schema."""

    def __init__(self, model: str, llm_provider: str, raw_response: str, schema: str) -> None:
        self.raw_response = raw_response
        self.schema = schema
        text = f"model={model}, returned an invalid response={raw_response}, for schema={schema}."
        super().__init__(text, llm_provider, model)


class InternalServerError(LitellmError):
    """The provider had an internal error."""


class BadGatewayError(LitellmError):
    """A gateway in front of the provider failed."""

    status = 502


class ServiceUnavailableError(LitellmError):
    """The provider is overloaded or unavailable."""

    status = 503


class ModelNotMappedError(InnervoiceError):
    """The model is not registered; register it with `register_model`."""


class BudgetExceededError(InnervoiceError):
    """The budget was exceeded."""

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


# ---- The exceptions here also become exceptions of `openai`, as soon as a program imports that package.
#
# litellm's exceptions derive from those of `openai`, and programs rely on it: `except openai.RateLimitError`. Such a clause compares
# real base classes, so they must be there when an error is raised. Importing `openai` for them would cost every program two seconds
# (this package takes a tenth of one), even those that never use it. So the bases are added when `openai` is imported, before or
# after this package: a class whose bases change only becomes a subclass of one more class.
#
# Without `openai` installed nothing is added, and no program can name its classes.


_PACKAGE = "openai"
_BASES = {
    "APIConnectionError": "APIConnectionError",
    "APIError": "APIError",
    "APIResponseValidationError": "APIResponseValidationError",
    "AuthenticationError": "AuthenticationError",
    "BadGatewayError": "APIStatusError",
    "BadRequestError": "BadRequestError",
    "InternalServerError": "InternalServerError",
    "InvalidRequestError": "BadRequestError",
    "MockException": "APIError",
    "NotFoundError": "NotFoundError",
    "OpenAIError": "OpenAIError",
    "PermissionDeniedError": "PermissionDeniedError",
    "RateLimitError": "RateLimitError",
    "ServiceUnavailableError": "APIStatusError",
    "Timeout": "APITimeoutError",
    "UnprocessableEntityError": "UnprocessableEntityError",
}
"""Our exceptions, and the class of `openai` that each derives from; the others derive from these."""


def _follow_openai(exceptions: Mapping[str, type[Exception]]) -> None:
    """Adds the bases now if `openai` is loaded, and whenever it is loaded from now on."""
    module = sys.modules.get(_PACKAGE)
    if module is not None and hasattr(module, "OpenAIError"):
        _add_bases(exceptions, module)
    watch: Any = _Watch(exceptions)
    sys.meta_path.insert(0, watch)


def _add_bases(exceptions: Mapping[str, type[Exception]], module: ModuleType) -> None:
    for name, theirs in _BASES.items():
        kind, base = exceptions[name], getattr(module, theirs, None)
        if isinstance(base, type) and not issubclass(kind, base):
            kind.__bases__ = (*kind.__bases__, base)


class _Watch:
    """Waits for the import of `openai`, and finds nothing itself."""

    def __init__(self, exceptions: Mapping[str, type[Exception]]) -> None:
        self._exceptions = exceptions
        self._asks_others = False

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the protocol's signature
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname != _PACKAGE or self._asks_others:
            return None
        self._asks_others = True
        try:
            spec = find_spec(_PACKAGE)
        finally:
            self._asks_others = False
        if spec is not None and spec.loader is not None:
            then: Any = _Then(spec.loader, self._exceptions)
            spec.loader = then
        return spec


class _Then:
    """Loads the package with its own loader, then adds the bases."""

    def __init__(self, loader: Any, exceptions: Mapping[str, type[Exception]]) -> None:
        self._loader = loader
        self._exceptions = exceptions

    def create_module(self, spec: ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _add_bases(self._exceptions, module)


_follow_openai(globals())
