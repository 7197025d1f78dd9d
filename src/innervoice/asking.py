"""One setting for reasoning -> what each model takes for it.

A model takes an effort in words, a budget in tokens, both, a mere switch, or nothing. What is asked for
is brought to what the model's row (`hosts/asks.toml`) accepts: an error that names the rule in mode
"strict", the nearest value and a note in "clamp", and as it is in "passthrough".

Shares of max_tokens stand for efforts where only a budget exists, and the way back takes the nearest share,
ties upward. At least `ANSWER_SHARE` of max_tokens is left for the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, get_args

from innervoice.canon.cards import Ask
from innervoice.canon.notes import Notebook
from innervoice.canon.reasoning import Effort, Reasoning, Show
from innervoice.canon.request import Mode
from innervoice.errors import RuleError

__all__ = ["ANSWER_SHARE", "CONTROLS", "SHARES", "Choice", "Compiler", "fields_of"]

ANSWER_SHARE = 0.05
SHARES = {"minimal": 0.10, "low": 0.20, "medium": 0.50, "high": 0.80, "xhigh": 0.95, "max": 0.95}
_RANKS = {word: rank for rank, word in enumerate(get_args(Effort))}
_UNKNOWN_LIMIT = 32_000


class Choice(NamedTuple):
    """What is sent in the end."""

    off: bool = False
    effort: str | None = None
    budget: int | None = None
    show: Show | None = None


class Compiler:
    """Brings one setting to what a row accepts, and writes down what it changed."""

    def __init__(self, ask: Ask, *, mode: Mode, notebook: Notebook) -> None:
        self._ask = ask
        self._mode = mode
        self._notebook = notebook
        self.max_tokens: int | None = None

    def choose(self, asked: Reasoning, max_tokens: int | None) -> Choice:
        """What to send for this setting; `max_tokens` may have changed after it."""
        self.max_tokens = max_tokens
        effort, budget = asked.effort, asked.budget
        if effort is not None and budget is not None:
            self.bend("effort_wins", f"effort {effort}, budget {budget}")
            budget = None
        show = self._show(asked.show)
        if effort == "none":
            return self._off(show)
        if (effort or budget) and self._ask.control == self._ask.default == "none":
            self.bend("reasoning_impossible", effort or f"{budget} tokens")
            return Choice(off=True)
        if effort is not None:
            return self._with_effort(effort, show)
        if budget is not None:
            return self._with_budget(budget, show)
        return Choice(show=show)

    def bend(self, rule: str, detail: str) -> None:
        """Notes that something was changed, or refuses to in mode strict."""
        if self._mode == "strict" and rule != "effort_wins":
            raise RuleError(rule, detail)
        self._notebook.add(rule, detail)

    def _off(self, show: Show | None) -> Choice:
        ask = self._ask
        if ask.off != "never" or self._mode == "passthrough":
            return Choice(off=True, show=show)
        least = ask.efforts[0] if ask.efforts else None
        budget = ask.budget[0] if ask.budget and not least else None
        self.bend("off_impossible", f"sent {least or budget or 'nothing'}")
        return Choice(
            effort=least, budget=budget, show="hidden" if "hidden" in ask.showable else show
        )

    def _with_effort(self, effort: str, show: Show | None) -> Choice:
        ask = self._ask
        if self._mode == "passthrough":
            return Choice(effort=effort, show=show)
        if ask.efforts:
            nearest = _nearest(effort, ask.efforts)
            if nearest != effort:
                self.bend(
                    "effort_clamped",
                    f"{effort} became {nearest}; taken are {', '.join(ask.efforts)}",
                )
            needs_budget = ask.control == "anthropic-enabled"
            budget = self._fitted(self._share(effort)) if needs_budget else None
            return Choice(effort=nearest, budget=budget, show=show)
        if ask.budget:
            budget = self._fitted(self._share(effort))
            self.bend("effort_as_budget", f"{effort} became {budget} tokens")
            return Choice(budget=budget, show=show)
        self.bend("effort_as_switch", effort)
        return Choice(show=show, effort=None)

    def _with_budget(self, budget: int, show: Show | None) -> Choice:
        ask = self._ask
        if self._mode == "passthrough":
            return Choice(budget=budget, show=show)
        if ask.budget:
            return Choice(budget=self._fitted(budget, asked=True), show=show)
        if ask.efforts:
            share = budget / (self.max_tokens or ask.max_output or _UNKNOWN_LIMIT)
            word = min(
                ask.efforts,
                key=lambda word: (
                    round(abs(SHARES.get(word, 0.95) - share), 9),
                    -_RANKS.get(word, 9),
                ),
            )
            self.bend("budget_as_effort", f"{budget} tokens became {word}")
            return Choice(effort=word, show=show)
        self.bend("effort_as_switch", f"{budget} tokens")
        return Choice(show=show)

    def _share(self, effort: str) -> int:
        limit = self.max_tokens or self._ask.max_output or _UNKNOWN_LIMIT
        return int(limit * SHARES[effort])

    def _fitted(self, budget: int, *, asked: bool = False) -> int:
        """A budget that the model takes and that leaves room for an answer."""
        assert self._ask.budget is not None
        least, most = self._ask.budget
        fitted = min(max(budget, least), most)
        if fitted != budget and asked:
            self.bend("budget_clamped", f"{budget} became {fitted}; taken are {least} to {most}")
        limit = self.max_tokens
        if limit is None:
            return fitted
        room = int(limit * (1 - ANSWER_SHARE))
        if fitted <= room:
            return fitted
        if room >= least:
            self.bend("budget_lowered", f"{fitted} became {room} of {limit}")
            return room
        self.max_tokens = int(least / (1 - ANSWER_SHARE)) + 1
        self.bend("max_tokens_raised", f"{limit} became {self.max_tokens}")
        return least

    def _show(self, show: Show | None) -> Show | None:
        ask = self._ask
        if show is None or self._mode == "passthrough" or show in ask.showable:
            return show
        if show == ask.shown or (show == "full" and ask.shown == "summary"):
            return None
        if show == "full" and "summary" in ask.showable:
            return "summary"
        self.bend("show_unavailable", show)
        return None


def _nearest(effort: str, taken: tuple[str, ...]) -> str:
    """The nearest word that is taken, ties upward."""
    rank = _RANKS[effort]
    return min(taken, key=lambda word: (abs(_RANKS.get(word, rank) - rank), -_RANKS.get(word, 0)))


# ---- how each wire says it -----------------------------------------------------------------------

Fields = dict[str, Any]


def _without_none(fields: Fields) -> Fields:
    return {key: value for key, value in fields.items() if value is not None}


def _anthropic_adaptive(choice: Choice, ask: Ask) -> Fields:
    if choice.off:
        return {"thinking": {"type": _OFF.get(ask.off, "disabled")}}
    thinking = _without_none({"type": "adaptive", "display": _DISPLAY.get(choice.show or "")})
    effort = {"output_config": {"effort": choice.effort}} if choice.effort else {}
    return {"thinking": thinking, **effort}


def _anthropic_enabled(choice: Choice, ask: Ask) -> Fields:
    if choice.off:
        return {"thinking": {"type": "disabled"}}
    budget = choice.budget or (ask.budget[0] if ask.budget else 1024)
    display = _DISPLAY.get(choice.show or "")
    effort = {"output_config": {"effort": choice.effort}} if choice.effort and ask.efforts else {}
    return {
        "thinking": _without_none({"type": "enabled", "budget_tokens": budget, "display": display}),
        **effort,
    }


_OFF = {"between_tools": "between_tools"}
_DISPLAY = {"full": "summarized", "summary": "summarized", "hidden": "omitted"}


def _effort(choice: Choice, ask: Ask) -> Fields:
    if choice.off:
        return {"reasoning_effort": "none"}
    return _without_none({"reasoning_effort": choice.effort})


def _responses(choice: Choice, ask: Ask) -> Fields:
    summary = {"full": "detailed", "summary": "auto"}.get(choice.show or "")
    if choice.off:
        return {"reasoning": {"effort": "none"}}
    inner = _without_none({"effort": choice.effort, "summary": summary})
    return {"reasoning": inner} if inner else {}


def _gemini(choice: Choice, ask: Ask) -> Fields:
    level = ask.control == "gemini-level"
    shown = None if choice.show is None else choice.show != "hidden"
    config: Fields = {"includeThoughts": False if choice.off else shown}
    if choice.off and not level:
        config["thinkingBudget"] = 0
    elif level:
        config["thinkingLevel"] = choice.effort.upper() if choice.effort else None
    else:
        config["thinkingBudget"] = choice.budget
    config = _without_none(config)
    return {"generationConfig": {"thinkingConfig": config}} if config else {}


def _thinking_type(choice: Choice, ask: Ask) -> Fields:
    on = "adaptive" if ask.control == "thinking-adaptive" else "enabled"
    if choice.off:
        return {"thinking": {"type": "disabled"}}
    if ask.off == "never":
        return _without_none({"reasoning_effort": choice.effort})
    return _without_none({"thinking": {"type": on}, "reasoning_effort": choice.effort})


def _enable_thinking(choice: Choice, ask: Ask) -> Fields:
    return _without_none(
        {
            "enable_thinking": not choice.off,
            "thinking_budget": None if choice.off else choice.budget,
        }
    )


def _template(choice: Choice, ask: Ask) -> Fields:
    name = "thinking" if ask.control == "template-thinking" else "enable_thinking"
    fields: Fields = {"chat_template_kwargs": {name: not choice.off}}
    return _without_none({**fields, "reasoning_effort": None if choice.off else choice.effort})


def _openrouter(choice: Choice, ask: Ask) -> Fields:
    exclude = True if choice.show == "hidden" else None
    if choice.off:
        return {"reasoning": {"effort": "none"}}
    inner = _without_none(
        {"effort": choice.effort, "max_tokens": choice.budget, "exclude": exclude}
    )
    return {"reasoning": inner or {"enabled": True}}


def _toggle(choice: Choice, ask: Ask) -> Fields:
    fields: Fields = {"reasoning": {"enabled": not choice.off}}
    return _without_none({**fields, "reasoning_effort": None if choice.off else choice.effort})


def _groq(choice: Choice, ask: Ask) -> Fields:
    shown = {"full": "parsed", "summary": "parsed", "hidden": "hidden"}.get(choice.show or "")
    effort = "none" if choice.off else choice.effort
    return _without_none(
        {"reasoning_effort": effort, "reasoning_format": None if choice.off else shown}
    )


def _cohere(choice: Choice, ask: Ask) -> Fields:
    if choice.off:
        return {"thinking": {"type": "disabled"}}
    return {"thinking": _without_none({"type": "enabled", "token_budget": choice.budget})}


def _ollama(choice: Choice, ask: Ask) -> Fields:
    return {"think": False if choice.off else choice.effort or True}


def _nova(choice: Choice, ask: Ask) -> Fields:
    if choice.off:
        return {"reasoningConfig": {"type": "disabled"}}
    return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": choice.effort or "medium"}}


def _qwen_string(choice: Choice, ask: Ask) -> Fields:
    return {} if choice.off else {"reasoning_config": choice.effort or "high"}


def _nothing(choice: Choice, ask: Ask) -> Fields:
    return {}


def fields_of(choice: Choice, ask: Ask) -> Fields:
    """What goes into the body; where sending nothing is off, off is nothing."""
    return {} if choice.off and ask.off == "omit" else CONTROLS[ask.control](choice, ask)


CONTROLS: dict[str, Callable[[Choice, Ask], Fields]] = {
    "anthropic-adaptive": _anthropic_adaptive,
    "anthropic-enabled": _anthropic_enabled,
    "effort": _effort,
    "responses": _responses,
    "gemini-level": _gemini,
    "gemini-budget": _gemini,
    "thinking-type": _thinking_type,
    "thinking-adaptive": _thinking_type,
    "enable-thinking": _enable_thinking,
    "template": _template,
    "template-thinking": _template,
    "openrouter": _openrouter,
    "toggle": _toggle,
    "groq": _groq,
    "cerebras": _effort,
    "mistral": _effort,
    "cohere": _cohere,
    "ollama": _ollama,
    "nova": _nova,
    "qwen-string": _qwen_string,
    "converse-effort": _effort,
    "none": _nothing,
}
