"""The exceptions here also become exceptions of `openai`, as soon as a program imports that package.

litellm's exceptions derive from those of `openai`, and programs rely on it: `except openai.RateLimitError`. Such a clause compares
real base classes, so they must be there when an error is raised. Importing `openai` for them would cost every program two seconds
(this package takes a tenth of one), even those that never use it. So the bases are added when `openai` is imported, before or
after this package: a class whose bases change only becomes a subclass of one more class.

Without `openai` installed nothing is added, and no program can name its classes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["follow_openai"]

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


def follow_openai(exceptions: Mapping[str, type[Exception]]) -> None:
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
