"""Which of a route's candidates is called next: the conversation's own first, those that failed last.

- A conversation stays at the host and account that answered it. If that fails and another answers, it stays with the other: it does not
  return when the first one has recovered, since its cache and its newest seals are at the other.
- New conversations go to the first candidate of the config that works. Accounts of one target take turns: by a digest of the conversation,
  so that every process of the gateway chooses the same one without coordination; requests without a conversation rotate.
- A 429 and a Retry-After start a cool-down. A conversation waits for its own candidate if that takes no longer than `longest_wait`.
- Failures of the host, and of an account's key or credit, count. Five in a row open the circuit for 30 seconds; then one request is a probe.
- A refusal of the request itself (400, 403, 404, 413, 422, ...) says nothing about the candidate and changes nothing.

Candidates are identified by `Candidate.key`, so that this state survives a reload of the config. All memory is bounded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

from innervoice.canon.bounded import Bounded
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.routes import Candidate, Route

__all__ = ["CircuitState", "Circuits", "Health"]

Health: TypeAlias = Literal["cooling", "open", "trying"]

_Key: TypeAlias = tuple[str, str, str, str]

_COUNTED = frozenset({401, 402, 408})
"""Statuses below 500 that concern the account or the host: a wrong key, no credit, a timeout. No caller can provoke them."""


class CircuitState(NamedTuple):
    """A candidate that does not accept requests as usual."""

    name: str
    account: str
    health: Health
    seconds: float
    """How long this will last, if nothing happens."""


@dataclass
class _Failing:
    """The state of a candidate since its last success."""

    name: str
    account: str
    failures: int = 0
    limits: int = 0
    """How many 429 responses without a Retry-After were received."""
    cool_until: float = 0.0
    open_until: float = 0.0
    trying_until: float = 0.0
    """Until when the result of the one request that probes an open circuit is awaited."""


class Circuits:
    """The state of candidates and conversations in one process."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        most_conversations: int = LIMITS.conversations,
        longest_wait: float = 60.0,
    ) -> None:
        self._clock = clock
        self._longest_wait = longest_wait
        self._failing: Bounded[_Key, _Failing] = Bounded(LIMITS.candidates)
        self._homes: Bounded[bytes, tuple[_Key, ...]] = Bounded(most_conversations)
        self._turn = 0

    def order(self, route: Route, conversation: bytes | None) -> list[Candidate]:
        """All candidates of a route, each once, in the order in which they are to be called."""
        now = self._clock()
        if len(route.candidates) == 1:
            if self._failing:
                self._let_try(route.candidates[0], now)
            return list(route.candidates)
        rotated = self._rotated(route.candidates, conversation)
        home, abandoned = self._home(rotated, conversation)

        def rank(candidate: Candidate) -> tuple[int, float]:
            wait = self._wait(candidate, now)
            if candidate is home and wait <= self._longest_wait and not self._is_open(home, now):
                return 0, 0.0
            if wait:
                return 3, wait
            return (2 if candidate in abandoned else 1), 0.0

        ordered = sorted(rotated, key=rank)
        if ordered:
            self._let_try(ordered[0], now)
        return ordered

    def succeeded(self, candidate: Candidate, conversation: bytes | None) -> None:
        """The candidate began to answer: its failures are forgotten, and the conversation stays with it."""
        if self._failing:
            self._failing.pop(candidate.key, None)
        if conversation is None:
            return
        homes = self._homes.used(conversation) or ()
        if not homes or homes[0] != candidate.key:
            others = (home for home in homes if home != candidate.key)
            self._homes[conversation] = (candidate.key, *others)[: LIMITS.homes]

    def failed(
        self, candidate: Candidate, *, status: int | None, retry_after: float | None
    ) -> None:
        """The candidate did not answer: with this status, or without any (None)."""
        is_limit = status == 429
        if status is not None and status < 500 and status not in _COUNTED and not is_limit:
            return
        now = self._clock()
        failing = self._failing.pop(candidate.key, None) or _Failing(
            candidate.name, candidate.account.name
        )
        self._failing[candidate.key] = failing
        if retry_after is not None and retry_after >= 0:
            failing.cool_until = max(
                failing.cool_until, now + min(retry_after, LIMITS.cool_down_seconds)
            )
        elif is_limit:
            failing.limits += 1
            failing.cool_until = max(failing.cool_until, now + 2 ** min(failing.limits - 1, 6))
        if not is_limit:
            failing.failures += 1
            if failing.failures >= LIMITS.failures:
                failing.open_until = now + LIMITS.open_seconds
        failing.trying_until = 0.0

    def wait(self, candidate: Candidate) -> float:
        """Seconds until the candidate may be called; 0 if it may be called now."""
        return self._wait(candidate, self._clock())

    def states(self) -> tuple[CircuitState, ...]:
        """The candidates that do not accept requests as usual."""
        now = self._clock()
        return tuple(
            CircuitState(failing.name, failing.account, health, seconds)
            for failing in self._failing.values()
            for health, seconds in (_health(failing, now),)
            if health
        )

    # ---- conversations -----------------------------------------------------------------------------

    def _home(
        self, candidates: list[Candidate], conversation: bytes | None
    ) -> tuple[Candidate | None, list[Candidate]]:
        """The candidate where the conversation is, and those of the route that it has left."""
        homes = self._homes.used(conversation) if conversation is not None else None
        if homes is None:
            return None, []
        by_key = {candidate.key: candidate for candidate in candidates}
        places_here = [by_key[home] for home in homes if home in by_key]
        if places_here:
            return places_here[0], places_here[1:]
        # Another model of the conversation: it uses the same host and account, if the route has them.
        places = {candidate.key[:2]: candidate for candidate in reversed(candidates)}
        return next((places[home[:2]] for home in homes if home[:2] in places), None), []

    def _rotated(
        self, candidates: tuple[Candidate, ...], conversation: bytes | None
    ) -> list[Candidate]:
        """The candidates with the accounts of each target in the order for this conversation."""
        rotated: list[Candidate] = []
        for _, group in groupby(candidates, key=lambda one: (*one.key[2:], one.base_url)):
            accounts = list(group)
            if len(accounts) > 1 and conversation is not None:
                accounts.sort(key=lambda one: _digest(conversation, one.account.name))
            elif len(accounts) > 1:
                self._turn += 1
                start = self._turn % len(accounts)
                accounts = accounts[start:] + accounts[:start]
            rotated += accounts
        return rotated

    # ---- candidates --------------------------------------------------------------------------------

    def _wait(self, candidate: Candidate, now: float) -> float:
        failing = self._failing.get(candidate.key)
        return _health(failing, now)[1] if failing else 0.0

    def _is_open(self, candidate: Candidate, now: float) -> bool:
        failing = self._failing.get(candidate.key)
        return failing is not None and _health(failing, now)[0] in ("open", "trying")

    def _let_try(self, candidate: Candidate, now: float) -> None:
        """If the circuit was open, this request alone probes it."""
        failing = self._failing.get(candidate.key)
        if failing and failing.failures >= LIMITS.failures and not _health(failing, now)[0]:
            failing.trying_until = now + LIMITS.open_seconds


def _health(failing: _Failing, now: float) -> tuple[Health | None, float]:
    """What keeps a candidate from being called, and for how many seconds."""
    waits: tuple[tuple[Health, float], ...] = (
        ("open", failing.open_until - now),
        ("trying", failing.trying_until - now),
        ("cooling", failing.cool_until - now),
    )
    return next(((health, seconds) for health, seconds in waits if seconds > 0), (None, 0.0))


def _digest(conversation: bytes, account: str) -> bytes:
    return blake2b(conversation + b"\0" + account.encode(), digest_size=8).digest()
