"""The settings of a router and of retries, under the names that litellm has in `litellm.types.router`."""

from __future__ import annotations

from typing import Any, NoReturn

from innervoice.bridges.litellm.litellm_object import LitellmObject
from innervoice.bridges.litellm.unsupported import missing

__all__ = ["AllowedFailsPolicy", "RetryPolicy", "RouterRateLimitError"]


class RetryPolicy(LitellmObject):
    """How often a call is retried, by the kind of its error; None leaves it to `num_retries`."""

    BadRequestErrorRetries: int | None
    AuthenticationErrorRetries: int | None
    TimeoutErrorRetries: int | None
    RateLimitErrorRetries: int | None
    ContentPolicyViolationErrorRetries: int | None
    InternalServerErrorRetries: int | None
    ServiceUnavailableErrorRetries: int | None
    NotFoundErrorRetries: int | None
    DefaultRetries: int | None

    def __init__(self, **retries: int | None) -> None:
        super().__init__(**{name: retries.get(name) for name in self.model_fields})


class AllowedFailsPolicy(LitellmObject):
    """How often a deployment may fail before its cooldown, by the kind of the error; accepted, but without effect."""

    def __init__(self, **fails: Any) -> None:
        super().__init__(**fails)


class RouterRateLimitError(ValueError):
    """No deployment of the model is available: all of them failed a moment ago."""

    def __init__(
        self, model: str, cooldown_time: float, enable_pre_call_checks: bool = False, **facts: Any
    ) -> None:
        self.model = model
        self.cooldown_time = cooldown_time
        self.enable_pre_call_checks = enable_pre_call_checks
        self.cooldown_list = facts.get("cooldown_list") or []
        super().__init__(
            f"No deployments available for selected model, Try again in {cooldown_time:g} seconds."
            f" Passed model={model}."
        )


def __getattr__(name: str) -> NoReturn:
    raise missing(name, __name__)
