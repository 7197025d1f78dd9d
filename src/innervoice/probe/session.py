"""Recipes -> their outcomes at one server: each request is sent once, failures are tried again, and money is counted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from innervoice.canon.target import Target
from innervoice.catalog.home import row_reads
from innervoice.catalog.lookup import family_of
from innervoice.catalog.makers import names_at
from innervoice.catalog.targets import target_at
from innervoice.probe.exchanges import Outcome, Server, outcome_of
from innervoice.probe.recipes import (
    Recipe,
    Turn,
    limit_of,
    on_choices,
    other_spellings,
    turn_of,
    wire_of,
)
from innervoice.wire.controls import Choice

__all__ = ["NotMeasuredError", "Session", "Spending", "StoppedError"]

_TRIES = 3
_LONGEST_WAIT = 20.0
_FIRST_WAIT = 0.5
_INPUT_TOKENS = 250
"""What a request has at most, for an estimate: the question, a tool, and a turn."""


class NotMeasuredError(Exception):
    """A fact cannot be measured; the message says why."""


class StoppedError(Exception):
    """Nothing more can be measured; the message says why."""


@dataclass
class Spending:
    """What the requests cost, at most."""

    input_price: Decimal | None = None
    """US dollars for a token; None: unknown."""
    output_price: Decimal | None = None
    most: Decimal | None = None
    spent: Decimal = Decimal(0)
    planned: Decimal = Decimal(0)
    """The most that all requests so far can have cost."""
    requests: int = 0

    def bound(self, limit: int) -> Decimal:
        """The most that a request with this limit costs."""
        if self.input_price is None or self.output_price is None:
            return Decimal(0)
        return self.input_price * _INPUT_TOKENS + self.output_price * limit

    def begin(self, limit: int) -> None:
        """Raises `NotMeasuredError` if a request could cost more than is left."""
        if self.most is not None and self.spent + self.bound(limit) > self.most:
            raise NotMeasuredError("it could cost more than --max-usd")

    def end(self, outcome: Outcome, limit: int) -> None:
        """Adds what a request cost: by its counts, or else the most that it can have cost."""
        self.requests += 1
        if outcome.kind != "accepted":
            return
        self.planned += self.bound(limit)
        usage = outcome.response.usage if outcome.response else None
        if usage is None or usage.input_tokens is None or usage.output_tokens is None:
            self.spent += self.bound(limit)
        elif self.input_price is not None and self.output_price is not None:
            self.spent += (
                self.input_price * usage.input_tokens + self.output_price * usage.output_tokens
            )


@dataclass
class Session:
    """The requests to one model at one server."""

    target: Target
    server: Server
    spending: Spending = field(default_factory=Spending)
    sleep: Callable[[float], None] = time.sleep
    tick: Callable[[], None] = lambda: None
    """Called after each request."""
    attempt: int = 1
    """Facts that differ are measured a second time, with new requests."""
    waits: list[Outcome] = field(default_factory=list)
    """Failures that came, for what they say about retries."""
    _outcomes: dict[str, Outcome] = field(default_factory=dict)
    _on: Choice | None = None
    _is_on_known: bool = False
    _streams: bool | None = None
    _spelled: Target = None  # type: ignore[assignment]
    """The target whose control switches the reasoning on: the other one of its API, if that of the catalog is not accepted."""

    def outcome(self, recipe: Recipe, *, target: Target | None = None) -> Outcome:
        """What came of a recipe, refusals included; raises `NotMeasuredError` if nothing came that says anything."""
        target = target or self.target
        key = f"{self.attempt} {target.model} {recipe.key}"
        if target.row.control != self.target.row.control and target.model == self.target.model:
            key += f" {target.row.control}"
        if key not in self._outcomes:
            self._outcomes[key] = self._tried(recipe, target, key)
        outcome = self._outcomes[key]
        if outcome.kind == "denied":
            raise StoppedError(f"the server denies access: {outcome.status} {outcome.words}")
        if outcome.kind == "failed":
            status = f"{outcome.status} " if outcome.status >= 300 else ""
            raise NotMeasuredError(f"{status}{outcome.words}"[:120])
        return outcome

    def accepted(self, recipe: Recipe) -> Outcome:
        """The answer to a recipe; raises `NotMeasuredError` if it is refused."""
        outcome = self.outcome(recipe)
        if not outcome.is_accepted:
            raise NotMeasuredError(f"refused: {outcome.words}"[:120])
        return outcome

    def _tried(self, recipe: Recipe, target: Target, key: str) -> Outcome:
        limit = limit_of(recipe, target.row)
        on = self.on_choice() if recipe.setting == "on" else None
        is_usual = recipe.effort is None and recipe.budget is None and target is self.target
        wire = wire_of(
            recipe,
            self._spelled if on and is_usual else target,
            self.server.base_url,
            stream=not recipe.whole and self.streams(),
            on=on,
            turn=self.turn(recipe.loop == "sibling") if recipe.loop else None,
        )
        outcome = Outcome("failed")
        for tried in range(_TRIES):
            self.spending.begin(limit)
            raw = self.server.exchange(wire, target, f"{key} {tried}", peek=recipe.peek)
            outcome = outcome_of(raw, wire, target, peek=recipe.peek)
            self.spending.end(outcome, limit)
            self.tick()
            if outcome.kind != "failed":
                break
            self.waits.append(outcome)
            wait = outcome.wait if outcome.wait is not None else _FIRST_WAIT * 2**tried
            if wait > _LONGEST_WAIT or tried == _TRIES - 1:
                break
            self.sleep(wait)
        return outcome

    # ---- what other requests are made of -------------------------------------------------------

    def streams(self) -> bool:
        """Whether answers are streamed unless a recipe says otherwise: because only those are accepted."""
        if self._streams is None:
            self._streams = self.target.row.stream_only
            if not self._streams and not self.outcome(Recipe(whole=True)).is_accepted:
                self._streams = self.outcome(Recipe(stream=True)).is_accepted
        return self._streams

    def on_choice(self) -> Choice | None:
        """The cheapest setting that switches the reasoning on and is accepted; None: nothing is sent."""
        if not self._is_on_known:
            self._is_on_known = True  # the requests below ask for it again
            for spelled in (self.target, *other_spellings(self.target)):
                self._spelled = spelled
                self._on = next(filter(self._switches_on, on_choices(spelled)), None)
                if self._on is not None:
                    break
            else:
                self._spelled = self.target
        return self._on

    def _switches_on(self, choice: Choice) -> bool:
        """Whether a choice is accepted; if only in streams, everything is streamed from now on."""
        self._on = choice
        recipe = Recipe(setting="on", effort=choice.effort, budget=choice.budget)
        if self.outcome(recipe, target=self._spelled).is_accepted:
            return True
        if self._streams or not self.outcome(recipe.replace(stream=True), target=self._spelled).is_accepted:  # fmt: skip
            return False
        self._streams = True
        return True

    def turn(self, of_sibling: bool = False) -> Turn:
        """A turn with calls, from which a loop goes on; raises `NotMeasuredError` if the model calls nothing."""
        recipe = Recipe(setting="on", tools=True, show="visible")
        target = self.sibling() if of_sibling else self.target
        if of_sibling:
            recipe = Recipe(tools=True)
        outcome = self.outcome(recipe, target=target)
        if not outcome.is_accepted or outcome.response is None:
            raise NotMeasuredError(f"refused: {outcome.words}"[:120])
        if not outcome.response.tool_calls:
            raise NotMeasuredError("the model called no tool")
        return turn_of(outcome.response, outcome.body, target.dialect)

    def sibling(self) -> Target:
        """Another model of the family at the same host, by the catalog."""
        target = self.target
        names = [name for name in names_at(target.provider or "") if family_of(name) == family_of(target.model)]  # fmt: skip
        others = [target_at(target.provider, name, target.dialect) for name in names]
        others = [one for one in others if one.row != target.row and one.row.reasons]
        if not others:
            raise NotMeasuredError("the catalog has no other model of the family here")
        readable = (
            one for one in others if row_reads(target.row, target.model, one.model, one.row)
        )
        return next(readable, others[0])
