"""What is tried after an error: other models, by `fallbacks=` and similar arguments; and how often, by `num_retries` and `retry_policy`.

A fallback is a model name, or a dict of options with `model`. `context_window_fallbacks` and `content_policy_fallbacks` have lists of
models by model, for these two errors only, which come first. Retries of one model are made by the client below.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from innervoice.bridges.litellm.errors import (
    ContentPolicyViolationError,
    ContextWindowExceededError,
)
from innervoice.bridges.litellm.flags import flag
from innervoice.bridges.litellm.providers import resolve_model
from innervoice.errors import InnervoiceError

__all__ = ["CALLBACKS", "Attempts", "fallbacks_of", "named_fallbacks"]

CALLBACKS = ("callbacks", "success_callback", "failure_callback", "input_callback")
"""Arguments of a call, and flags, that apply to every attempt."""
_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (ContextWindowExceededError, "context_window_fallbacks"),
    (ContentPolicyViolationError, "content_policy_fallbacks"),
)
_OWN = (
    "api_key",
    "api_base",
    "base_url",
    "custom_llm_provider",
    "client",
    "organization",
    "headers",
    "extra_headers",
)
"""Options of one provider, which are not passed to another one."""
_TRANSIENT = ("TimeoutErrorRetries", "RateLimitErrorRetries", "InternalServerErrorRetries")


class Attempts:
    """The model and options to try now, and what follows an error."""

    def __init__(self, model: str, options: dict[str, Any]) -> None:
        self.model = model = (flag("model_alias_map") or {}).get(model, model)
        self.options = dict(options)
        self.callbacks = {name: self.options.pop(name, None) for name in CALLBACKS}
        given = self.options.pop("fallbacks", None)
        others: Any = flag("fallbacks") or flag("model_fallbacks") if given is None else given
        self._others = named_fallbacks(others, model)
        self._special = {
            name: self.options.pop(name, None) or flag(name) or () for _, name in _KINDS
        }
        shorter = self.options.pop("context_window_fallback_dict", None) or {}
        if model in shorter:
            self._special["context_window_fallbacks"] = [{model: [shorter[model]]}]
        policy = self.options.pop("retry_policy", None)
        if policy is not None and "num_retries" not in self.options:
            self.options["num_retries"] = _retries_of(policy)

    def go_on(self, error: Exception) -> bool:
        """Moves to the next model; False if there is none, and the error is the result."""
        special = fallbacks_of(error, self._special, self.model)
        if special:
            self._special = dict.fromkeys(self._special, ())
            self._others = [*special, *self._others]
        if not self._others:
            return False
        self._move(self._others.pop(0))
        return True

    def _move(self, to: Any) -> None:
        entry = {"model": to} if isinstance(to, str) else dict(to)
        model = str(entry.pop("model", self.model))
        if _provider(model, entry) != _provider(self.model, self.options):
            self.options = {name: value for name, value in self.options.items() if name not in _OWN}
        self.model = model
        self.options |= entry


def fallbacks_of(error: Exception, special: Mapping[str, Any], model: str) -> list[Any]:
    """The fallbacks for this kind of error."""
    name = next((name for kind, name in _KINDS if isinstance(error, kind)), None)
    return named_fallbacks(special[name], model) if name else []


def named_fallbacks(entries: Iterable[Any] | None, model: str) -> list[Any]:
    """The fallbacks of a model: names and dicts with `model` are for all, `{model: [...]}` is for one, and "*" for the others."""
    found: list[Any] = []
    for entry in entries or ():
        if isinstance(entry, str) or "model" in entry:
            found.append(entry)
        else:
            found += entry.get(model, entry.get("*", ()))
    return found


def _provider(model: str, options: Mapping[str, Any]) -> str | None:
    try:
        base = options.get("api_base") or options.get("base_url")
        return resolve_model(model, options.get("custom_llm_provider"), base).provider
    except InnervoiceError:
        return None


def _retries_of(policy: Any) -> int:
    """The retries of temporary errors, which are the ones that the client retries."""
    facts = dict(policy) if isinstance(policy, Mapping) else dict(policy.items())
    return max((facts.get(name) or 0 for name in _TRANSIENT), default=0)
