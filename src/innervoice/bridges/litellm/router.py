"""`Router`: one name for several deployments, with retries, fallbacks and a pause for a deployment that failed.

    model_list=[{"model_name": "smart", "litellm_params": {"model": "anthropic/claude-opus-5-5", "api_key": ...}}, ...]

A call uses one of the deployments of the name at random, by their weights. After an error another one is used, `num_retries` times;
then the fallbacks of the name are tried. A deployment that failed is not used for `cooldown_time` seconds, unless it is the only one.
"""

from __future__ import annotations

import random
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, NoReturn
from uuid import uuid4

from innervoice.bridges.litellm.errors import (
    BadRequestError,
    ContentPolicyViolationError,
    ContextWindowExceededError,
    LitellmError,
    UnsupportedParamsError,
)
from innervoice.bridges.litellm.flags import flag
from innervoice.bridges.litellm.params import ACOMPLETION, COMPLETION, by_name
from innervoice.bridges.litellm.providers import resolve_model
from innervoice.bridges.litellm.types.router import RouterRateLimitError
from innervoice.bridges.litellm.unsupported import missing
from innervoice.errors import InnervoiceError

__all__ = ["Router"]

_RETRIES = 2
_COOLDOWN = 5.0
_WEIGHTS = ("weight", "rpm", "tpm")
_STRATEGY = "simple-shuffle"
_LISTS = ("fallbacks", "context_window_fallbacks", "content_policy_fallbacks", "default_fallbacks")
_SETTINGS = (
    *_LISTS,
    "num_retries",
    "timeout",
    "cooldown_time",
    "disable_cooldowns",
    "retry_after",
    "default_litellm_params",
    "model_group_alias",
)
_MOST = 10
"""The maximum depth of fallbacks of fallbacks."""


class Router:
    """Sends calls to the deployments of a model list; settings that have no effect here are warned about."""

    def __init__(self, model_list: Iterable[Any] | None = None, **settings: Any) -> None:
        self._settings = {name: settings.pop(name, None) for name in _SETTINGS}
        ignored = [name for name, value in settings.items() if value and value != _STRATEGY]
        if ignored:
            names = ", ".join(sorted(ignored))
            warnings.warn(f"Router settings without an effect in innervoice: {names}", stacklevel=2)
        self._lock = threading.Lock()
        self._resting: dict[str, float] = {}
        self._deployments: list[dict[str, Any]] = []
        self.set_model_list(model_list or [])

    # ---- the list ------------------------------------------------------------------------------

    def set_model_list(self, model_list: Iterable[Any]) -> None:
        """Replaces all deployments."""
        self._deployments = []
        for deployment in model_list:
            self.add_deployment(deployment)

    def add_deployment(self, deployment: Any) -> dict[str, Any]:
        """Adds one; `model_info` gets an `id` if it has none."""
        added = dict(deployment)
        if "model_name" not in added or "model" not in added.get("litellm_params", {}):
            raise ValueError(
                f"a deployment needs 'model_name' and 'litellm_params' with 'model'; it has {sorted(added)}"
            )
        added["model_info"] = {"id": uuid4().hex, **(added.get("model_info") or {})}
        self._deployments.append(added)
        return added

    def delete_deployment(self, id: str) -> dict[str, Any] | None:  # noqa: A002 - litellm's name
        """Removes one by its id, and returns it."""
        deployment = next(
            (item for item in self._deployments if item["model_info"]["id"] == id), None
        )
        self._deployments = [item for item in self._deployments if item is not deployment]
        return deployment

    @property
    def model_list(self) -> list[dict[str, Any]]:
        """The deployments."""
        return self._deployments

    @property
    def model_names(self) -> set[str]:
        """The names that can be called."""
        return set(self.get_model_names())

    def get_model_names(self) -> list[str]:
        """The names that can be called, aliases included."""
        names = [item["model_name"] for item in self._deployments]
        return list(dict.fromkeys([*names, *(self._settings["model_group_alias"] or {})]))

    def get_model_list(self, model_name: str | None = None) -> list[dict[str, Any]] | None:
        """The deployments of a name, or all; None if there is none."""
        name = self._alias(model_name) if model_name is not None else None
        deployments = [item for item in self._deployments if name in (None, item["model_name"])]
        return deployments or None

    # ---- calls ---------------------------------------------------------------------------------

    def completion(self, model: str, messages: Any = None, *more: Any, **options: Any) -> Any:
        """`litellm.completion` with one of the deployments of `model`."""
        route = _Route(self, model, by_name(COMPLETION, more, options, "completion"))
        while True:
            deployment = route.deployment()
            try:
                call = self._function("completion")
                return _marked(call(messages=messages, **route.options(deployment)), deployment)
            except LitellmError as error:
                wait = route.failed(deployment, error)
                if wait is None:
                    raise
                time.sleep(wait)

    async def acompletion(
        self, model: str, messages: Any = None, *more: Any, **options: Any
    ) -> Any:
        """The same, async."""
        route = _Route(self, model, by_name(ACOMPLETION, more, options, "acompletion"))
        while True:
            deployment = route.deployment()
            try:
                call = self._function("acompletion")
                response = await call(messages=messages, **route.options(deployment))
                return _marked(response, deployment)
            except LitellmError as error:
                wait = route.failed(deployment, error)
                if wait is None:
                    raise
                await import_module("asyncio").sleep(wait)

    def __getattr__(self, name: str) -> NoReturn:
        raise missing(name, f"{__name__}.Router")

    @staticmethod
    def _function(name: str) -> Any:
        # Read from the package, where programs patch it.
        return getattr(sys.modules["innervoice.bridges.litellm"], name)

    # ---- choosing ------------------------------------------------------------------------------

    def _setting(self, name: str, default: Any = None) -> Any:
        """A setting, or the default if it was not passed."""
        value = self._settings[name]
        return default if value is None else value

    def _alias(self, name: str) -> str:
        alias = (self._settings["model_group_alias"] or {}).get(name, name)
        return str(alias["model"] if isinstance(alias, dict) else alias)

    def _deployment_of(self, model: str) -> dict[str, Any]:
        """One of the deployments of a name that are not cooling down."""
        deployments = self.get_model_list(model)
        if deployments is None:
            raise BadRequestError(
                f"no deployment named {model!r} in the router; it has {self.get_model_names()}",
                model,
                "",
            )
        now = time.monotonic()
        with self._lock:
            ready = [
                item
                for item in deployments
                if self._resting.get(item["model_info"]["id"], 0) <= now
            ]
        if not ready:
            raise RouterRateLimitError(model, self._setting("cooldown_time", _COOLDOWN))
        return random.choices(ready, _weights(ready))[0]  # noqa: S311 - spreads load

    def _rest(self, deployment: dict[str, Any]) -> bool:
        """Starts the cooldown of a deployment that failed; returns whether another one of its name is ready."""
        deployments = self.get_model_list(deployment["model_name"]) or []
        if len(deployments) < 2 or self._setting("disable_cooldowns", False):
            return len(deployments) > 1
        now = time.monotonic()
        with self._lock:
            until = now + float(self._setting("cooldown_time", _COOLDOWN))
            self._resting[deployment["model_info"]["id"]] = until
            return any(
                self._resting.get(item["model_info"]["id"], 0) <= now for item in deployments
            )


class _Route:
    """One call on its way through the deployments."""

    def __init__(self, router: Router, model: str, options: dict[str, Any]) -> None:
        self._router, self._model = router, model
        self._retries = options.pop("num_retries", None)
        if self._retries is None:
            self._retries = router._setting("num_retries", _RETRIES)
        fallbacks = options.pop("fallbacks", None)
        self._lists = {name: router._setting(name, ()) for name in _LISTS}
        if fallbacks is not None:
            self._lists["fallbacks"] = fallbacks
        self._given = options
        self._left = self._retries
        self._others: list[Any] | None = None
        self._moves = 0

    def deployment(self) -> dict[str, Any]:
        """The deployment to try now."""
        return self._router._deployment_of(self._model)

    def options(self, deployment: dict[str, Any]) -> dict[str, Any]:
        """All arguments of the call except the messages; the caller's win over the deployment's."""
        defaults = dict(self._router._setting("default_litellm_params", {}))
        timeout = self._router._setting("timeout")
        if timeout is not None:
            defaults["timeout"] = timeout
        parameters = {
            name: value
            for name, value in deployment["litellm_params"].items()
            if name not in _WEIGHTS
        }
        # None from the caller counts as not passed: smolagents passes api_key=None although the deployment has one.
        call_options = {name: value for name, value in self._given.items() if value is not None}
        info = {"model_info": deployment["model_info"]}
        # This router retries, so the client below does not.
        return {**defaults, **parameters, **call_options, **info, "num_retries": 0}

    def failed(self, deployment: dict[str, Any], error: LitellmError) -> float | None:
        """The seconds to wait before the next attempt; None if there is none."""
        is_refused = isinstance(error, BadRequestError)
        another = True if is_refused else self._router._rest(deployment)
        if self._left > 0 and not is_refused:
            self._left -= 1
            if another:
                return float(self._router._setting("retry_after", 0))
            if len(self._router.get_model_list(self._model) or ()) == 1:
                return _pause(error, self._retries - self._left)
        return self._fall_back(error)

    def _fall_back(self, error: LitellmError) -> float | None:
        if self._others is None:
            special = fallbacks_of(error, self._lists, self._model)
            general = named_fallbacks(self._lists["fallbacks"], self._model)
            self._others = [*special, *general] or list(self._lists["default_fallbacks"])
        if not self._others or self._moves >= _MOST or isinstance(error, UnsupportedParamsError):
            return None
        entry = self._others.pop(0)
        self._moves += 1
        self._left = self._retries
        if isinstance(entry, dict):
            entry = dict(entry)
            self._model = entry.pop("model")
            self._given = {**self._given, **entry}
        else:
            self._model = entry
        return 0.0


def _weights(deployments: list[dict[str, Any]]) -> list[float] | None:
    """The weights of deployments, by the first kind of weight that one of them has."""
    params = [item["litellm_params"] for item in deployments]
    kind = next((name for name in _WEIGHTS if any(item.get(name) for item in params)), None)
    return [float(item.get(kind) or 0) for item in params] if kind else None


def _pause(error: LitellmError, tries: int) -> float:
    """The wait that the provider asks for, or else a time that doubles."""
    wait = dict(error.response.headers).get("retry-after")
    return min(float(wait) if wait else 0.5 * 2**tries, 60.0)


def _marked(response: Any, deployment: dict[str, Any]) -> Any:
    hidden = getattr(response, "_hidden_params", None)
    if isinstance(hidden, dict):
        hidden["model_id"] = deployment["model_info"]["id"]
    return response


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)


# What is tried after an error: other models, by `fallbacks=` and similar arguments; and how often, by `num_retries`
# and `retry_policy`.
#
# A fallback is a model name, or a dict of options with `model`. `context_window_fallbacks` and `content_policy_fallbacks` have lists of
# models by model, for these two errors only, which come first. Retries of one model are made by the client below.


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
        fallbacks = self.options.pop("fallbacks", None)
        others: Any = (
            flag("fallbacks") or flag("model_fallbacks") if fallbacks is None else fallbacks
        )
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
    models: list[Any] = []
    for entry in entries or ():
        if isinstance(entry, str) or "model" in entry:
            models.append(entry)
        else:
            models += entry.get(model, entry.get("*", ()))
    return models


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
