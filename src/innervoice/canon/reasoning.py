"""The requested settings for a model's reasoning, and what was sent.

None is not "off": it leaves the provider's default alone. Off is effort "none".
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

from innervoice.canon.notes import Note
from innervoice.canon.value import Value
from innervoice.errors import UsageError

__all__ = ["Effort", "Reasoning", "ReasoningReport", "Show"]

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Show: TypeAlias = Literal["full", "summary", "hidden", "auto"]
"""What is shown of the reasoning; "auto": a summary from models that would hide it and show one at no price."""
_EFFORTS, _SHOWS = get_args(Effort), get_args(Show)


class Reasoning(Value, frozen=True):
    """How much a model should reason (effort, or a budget in tokens) and how much of it to show."""

    effort: Effort | None = None
    """ "none", "minimal", "low", "medium", "high", "xhigh" or "max"."""
    budget: int | None = None
    """The most tokens to reason with."""
    show: Show | None = None
    """What to request of the reasoning: "full", "summary", "hidden", or "auto" for what a model shows at no price."""

    def __post_init__(self) -> None:
        _check_word("effort", self.effort, _EFFORTS)
        _check_word("show", self.show, _SHOWS)
        budget = self.budget
        if budget is not None and (
            isinstance(budget, bool) or not isinstance(budget, int) or not 0 <= budget < 2**53
        ):
            raise UsageError(
                f"budget must be a number of tokens, 0 or more, or None, not {budget!r:.40}"
            )

    @classmethod
    def from_any(cls, value: Any) -> Reasoning | None:
        """Reads the forms in which callers write it. Off wins over an effort, and an effort over a budget.

        :param value: A string is an effort, a number a budget, False is off and True is on. In a dict, OpenRouter's members
            (`effort max_tokens enabled exclude`), Anthropic's (`type budget_tokens display`), litellm's
            (`reasoning_effort thinking`) and ours are accepted.
        """
        match value:
            case None | Reasoning():
                return value
            case bool():
                return cls("medium") if value else cls("none")
            case int():
                return cls(budget=value) if value else cls("none")
            case str():
                return cls(value)  # type: ignore[arg-type]
            case dict():
                return _from_dict(value)
            case _:
                raise UsageError(
                    f"reasoning must be a string, a number of tokens, a dict or Reasoning, not {value!r}"
                )


_MEMBERS = {
    "effort", "budget", "show", "max_tokens", "enabled", "exclude", "summary",
    "type", "budget_tokens", "display", "reasoning_effort", "thinking",
}  # fmt: skip


_DISPLAYS = {"summarized": "summary", "omitted": "hidden"}


def _from_dict(value: dict[str, Any]) -> Reasoning:
    unknown = value.keys() - _MEMBERS
    if unknown:
        raise UsageError(
            f"reasoning has the members {', '.join(sorted(_MEMBERS))}, not {', '.join(sorted(unknown))}"
        )
    inner = value.get("thinking")
    if isinstance(inner, dict):
        value = {**inner, **{key: item for key, item in value.items() if key != "thinking"}}
    off = (
        value.get("enabled") is False
        or value.get("type") in ("disabled", "between_tools")
        or inner is False
    )
    effort = value.get("effort") or value.get("reasoning_effort")
    budget = next(
        (value[key] for key in ("budget", "budget_tokens", "max_tokens") if value.get(key)), None
    )
    on = value.get("enabled") is True or value.get("type") in ("enabled", "adaptive")
    display = value.get("display") or ""
    if not isinstance(display, str):
        raise UsageError(f"display must be a string, not {display!r}")
    show: Any = value.get("show") or _DISPLAYS.get(display)
    if value.get("exclude") is True:
        show = "hidden"
    elif value.get("summary") and not show:
        show = "summary"
    if off:
        return Reasoning("none", None, show)
    if effort is None and budget is None and on:
        effort = "medium"
    return Reasoning(effort, budget, show)


class ReasoningReport(Value, frozen=True, kw_only=True):
    """What was requested, what was sent, and why they differ."""

    requested: Reasoning | None = None
    """What the request had."""
    effective: Reasoning | None = None
    """What was sent."""
    notes: tuple[Note, ...] = ()
    """Why they differ."""


def _check_word(name: str, word: str | None, known: tuple[str, ...]) -> None:
    if word is not None and word not in known:
        raise UsageError(f"{name} must be one of {', '.join(known)} or None, not {word!r}")
