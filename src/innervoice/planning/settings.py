"""Turns a reasoning setting into one that a model accepts.

A model accepts an effort in words, a budget in tokens, both, a mere switch, or nothing. The setting is brought to
what the model's row (`catalog/models.toml`) accepts: an error that names the rule in mode "strict", the nearest
value and a note in "clamp", and unchanged in "passthrough".

Where only a budget exists, an effort becomes a share of max_tokens; where only efforts exist, a budget becomes the
effort with the nearest share, ties upward. At least `ANSWER_SHARE` of max_tokens is left for the answer.
"""

from __future__ import annotations

from typing import get_args

from innervoice.canon.notes import Notebook
from innervoice.canon.reasoning import Effort, Reasoning, Show
from innervoice.canon.request import Mode
from innervoice.canon.rows import ModelRow
from innervoice.errors import RuleError
from innervoice.wire.controls import Choice

__all__ = ["ANSWER_SHARE", "SHARES", "Compiler", "nearest_effort"]

ANSWER_SHARE = 0.05
SHARES = {"minimal": 0.10, "low": 0.20, "medium": 0.50, "high": 0.80, "xhigh": 0.95, "max": 0.95}
_RANKS = {word: rank for rank, word in enumerate(get_args(Effort))}
_UNKNOWN_LIMIT = 32_000


def auto_shown(setting: Reasoning, row: ModelRow) -> Reasoning | None:
    """A setting with `show="auto"` for one model: with a summary, if the model reasons, hides that, and shows a summary at no price; None if nothing is left to ask for.

    A model that does not reason unless it is asked to is left alone: reasoning has a price.
    """
    plain = setting.replace(show=None)
    is_on = setting.effort != "none" and (plain != Reasoning() or row.default != "none")
    if is_on and row.shown == "hidden" and "summary" in row.showable:
        return setting.replace(show="summary")
    return None if plain == Reasoning() else plain


class Compiler:
    """Changes a setting to what a row accepts, and notes each change."""

    def __init__(
        self, row: ModelRow, *, mode: Mode, notebook: Notebook, has_budget: bool = False
    ) -> None:
        """`has_budget`: the host limits the thoughts of any model, whatever its row says."""
        self._row = row
        self._has_budget = has_budget
        self._mode = mode
        self._notebook = notebook
        self.max_tokens: int | None = None

    def choose(self, asked: Reasoning, max_tokens: int | None) -> Choice:
        """Returns what to send for this setting; may change `max_tokens`."""
        self.max_tokens = max_tokens
        effort, budget = asked.effort, asked.budget
        if effort is not None and budget is not None:
            self.bend("effort_wins", f"effort {effort}, budget {budget}")
            budget = None
        show = self._show(asked.show)
        if effort == "none":
            return self._off(show)
        if (effort or budget) and self._row.control == self._row.default == "none":
            self.bend("reasoning_impossible", effort or f"{budget} tokens")
            return Choice(off=True)
        if effort is not None:
            return self._with_effort(effort, show)
        if budget is not None:
            return self._with_budget(budget, show)
        return Choice(show=show)

    def bend(self, rule: str, detail: str) -> None:
        """Notes a change, or raises `RuleError` in mode "strict"."""
        if self._mode == "strict" and rule != "effort_wins":
            raise RuleError(rule, detail)
        self._notebook.add(rule, detail)

    def _off(self, show: Show | None) -> Choice:
        row = self._row
        if row.off != "never" or self._mode == "passthrough":
            return Choice(off=True, show=show)
        least = row.efforts[0] if row.efforts else None
        budget = row.budget[0] if row.budget and not least else None
        self.bend("off_impossible", f"sent {least or budget or 'nothing'}")
        return Choice(
            effort=least, budget=budget, show="hidden" if "hidden" in row.showable else show
        )

    def _with_effort(self, effort: str, show: Show | None) -> Choice:
        row = self._row
        if self._mode == "passthrough":
            return Choice(effort=effort, show=show)
        if row.efforts:
            nearest = nearest_effort(effort, row.efforts)
            if nearest != effort:
                self.bend(
                    "effort_clamped",
                    f"{effort} became {nearest}; accepted are {', '.join(row.efforts)}",
                )
            needs_budget = row.control == "anthropic-enabled"
            budget = self._fitted(self._share(effort)) if needs_budget else None
            return Choice(effort=nearest, budget=budget, show=show)
        if row.budget:
            budget = self._fitted(self._share(effort))
            self.bend("effort_as_budget", f"{effort} became {budget} tokens")
            return Choice(budget=budget, show=show)
        self.bend("effort_as_switch", effort)
        return Choice(show=show, effort=None)

    def _with_budget(self, budget: int, show: Show | None) -> Choice:
        row = self._row
        if self._mode == "passthrough":
            return Choice(budget=budget, show=show)
        if row.budget:
            return Choice(budget=self._fitted(budget, asked=True), show=show)
        if self._has_budget:
            return Choice(budget=budget, show=show)
        if row.efforts:
            share = budget / (self.max_tokens or row.max_output or _UNKNOWN_LIMIT)
            word = min(
                row.efforts,
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
        limit = self.max_tokens or self._row.max_output or _UNKNOWN_LIMIT
        return int(limit * SHARES[effort])

    def _fitted(self, budget: int, *, asked: bool = False) -> int:
        """A budget that the model accepts and that leaves room for an answer."""
        assert self._row.budget is not None
        least, most = self._row.budget
        fitted = min(max(budget, least), most)
        if fitted != budget and asked:
            self.bend("budget_clamped", f"{budget} became {fitted}; accepted are {least} to {most}")
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
        row = self._row
        if show is None or self._mode == "passthrough" or show in row.showable:
            return show
        if show == row.shown or (show == "full" and row.shown == "summary"):
            return None
        if show == "full" and "summary" in row.showable:
            return "summary"
        self.bend("show_unavailable", show)
        return None


def nearest_effort(effort: str, taken: tuple[str, ...]) -> str:
    """The nearest effort that the model accepts, ties upward."""
    rank = _RANKS[effort]
    return min(taken, key=lambda word: (abs(_RANKS.get(word, rank) - rank), -_RANKS.get(word, 0)))
