"""What all requests of one process share: model names, upstreams, the store, the journal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from secrets import token_bytes
from typing import Any, NamedTuple

from innervoice.canon.notes import Note
from innervoice.canon.response import Response
from innervoice.client.aio import AsyncClient
from innervoice.client.auth import Outgoing
from innervoice.errors import InnervoiceError
from innervoice.gateway.appended import AppendedRequests
from innervoice.gateway.callers import ANYBODY, Caller, CallerKeys, KnownCallers
from innervoice.gateway.circuits import Circuits
from innervoice.gateway.client_request import ClientRequest
from innervoice.gateway.client_stream import Pings, TimeLimits
from innervoice.gateway.config import GatewayConfig, Remember, exposure_problem, secret
from innervoice.gateway.credentials import Credentials, credentials_of, sent_keys
from innervoice.gateway.errors import WRONG_KEY
from innervoice.gateway.first_questions import FirstQuestions
from innervoice.gateway.forwarded import ForwardedRequests
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.operations.journal import Journal
from innervoice.gateway.operations.metrics import Metrics
from innervoice.gateway.operations.request_log import GatewayLog
from innervoice.gateway.operations.state import public_url
from innervoice.gateway.operations.store_check import OTHER_KEY, has_other_keys
from innervoice.gateway.operations.viewing import Viewing
from innervoice.gateway.outgoing import Connections, whole
from innervoice.gateway.owned_ids import OwnedIds
from innervoice.gateway.passing.other_paths import OtherPaths
from innervoice.gateway.quotas import Expected, Quotas, SharedCounts, cost_of
from innervoice.gateway.report import Report
from innervoice.gateway.responses.background import BackgroundRuns
from innervoice.gateway.responses.conversations import StoredConversations
from innervoice.gateway.responses.stored import StoredResponses
from innervoice.gateway.rewritten import Attempt, BrokenAnswers, RefusedSeals
from innervoice.gateway.routes import Routes
from innervoice.memory.envelopes import EnvelopeSealer
from innervoice.memory.records import TurnsByKey
from innervoice.memory.retention import without_summaries
from innervoice.memory.sealed_store import SealedStore, derived
from innervoice.memory.store_calls import StoreCalls
from innervoice.memory.stores.ram import RamStore
from innervoice.memory.stores.store import Retention, Store, StoreError
from innervoice.memory.turns import Turns
from innervoice.wire.refusals import Refusal, Refused

__all__ = ["Admitted", "Gateway"]

_EXPLAIN_AGAIN = (0.05, 0.1, 0.2)


class Admitted(NamedTuple):
    """Who may use the gateway for a request."""

    caller: Caller
    credentials: Credentials | None = None
    """What the caller sent for its own providers, where upstreams are called with that."""
    is_local: bool = False
    """Whether no key was needed, because only this machine can reach the gateway."""

    @property
    def has_key(self) -> bool:
        """True for the owner of a key of the gateway."""
        is_own = self.credentials is not None and self.credentials.owner == self.caller.name
        return self.caller is not ANYBODY and not is_own

    @property
    def may_use_other_paths(self) -> bool:
        """True if paths that are only passed on may be used: with a key that has the permission, or with the caller's own credentials alone."""
        return self.is_local or self.caller.other_paths or not self.has_key


class Gateway:
    """The gateway of one process. `http` replaces aiohttp as the HTTP client, and `base_url_of` returns the base URLs of providers; tests and
    `--emulated` pass both. Envelopes, look-ups and the store are keyed with `key`: processes that share it can read each other's data;
    `older_keys` only open data that was written with them."""

    def __init__(
        self,
        config: GatewayConfig,
        environ: Mapping[str, str],
        *,
        http: Any = None,
        base_url_of: Callable[[str], str | None] | None = None,
        log: Callable[[Report], None] | None = None,
        key: bytes | None = None,
        older_keys: Sequence[bytes] = (),
        store: Store | None = None,
        store_url: str | None = None,
        say: Callable[[str], None] = lambda _: None,
        metrics: Metrics | None = None,
        assume_keys: bool = False,
        request_log: GatewayLog | None = None,
    ) -> None:
        """`assume_keys`: the store may have callers' keys, so requests without a key are refused until it was read. `store_url` is the address of the store, for people, and
        `say` writes a line to the operator. `request_log` keeps requests for the viewer."""
        key = key or token_bytes(32)
        self._environ = environ
        self._base_url_of = base_url_of
        self.circuits = Circuits(longest_wait=config.server.longest_wait)
        self.pings = Pings()
        self.journal = Journal(line=log)
        self.metrics = metrics or Metrics()
        self.lookup_key, *self.older_lookup_keys = (
            derived(one, "look-up") for one in (key, *older_keys)
        )
        self._owner_key = derived(key, "callers' credentials")
        self.sealer = EnvelopeSealer(key, *older_keys)
        self._say = say
        self._store_name = "memory" if store is None else public_url(store_url or "a store")
        self._use_store(store, (key, *older_keys), assume_keys=assume_keys)
        self.connections = Connections(http)
        self.http = self.connections.http
        self.client = AsyncClient(http=self.http)
        self.forwarded = ForwardedRequests()
        self.appended = AppendedRequests()
        self.first_questions = FirstQuestions()
        self.refused = RefusedSeals()
        self.broken = BrokenAnswers()
        self.other_paths = OtherPaths(self)
        self.socket_bytes: Counter[str] = Counter()
        """How much waits in WebSockets, by tenant."""
        self.request_log = request_log
        self.viewing = Viewing(self.callers, request_log, self.metrics, key, *older_keys)
        self.reload(config)

    def _use_store(self, store: Store | None, keys: Sequence[bytes], *, assume_keys: bool) -> None:
        """Everything that is kept in a store; None: in memory."""
        self.store: Store = (
            RamStore(Retention(tenant_bytes=LIMITS.memory_bytes)) if store is None else store
        )
        self.sealed = SealedStore(self.store, *keys)
        memory = SealedStore(RamStore(Retention(tenant_bytes=LIMITS.memory_bytes)), keys[0])
        calls = StoreCalls()
        self.responses = StoredResponses(self.sealed, None if store is None else memory, calls)
        self.conversations = StoredConversations(
            lambda: memory if self.config.server.remember == "ram" else self.sealed, calls
        )
        self.background = BackgroundRuns(self)
        # Without a store that outlives the process, turns need not be sealed: they never leave it.
        self.turns = Turns(None if store is None else self.sealed, calls=calls)
        caller_keys = None if store is None else CallerKeys(self.sealed, *keys)
        self.calls = calls
        self.callers = KnownCallers(
            caller_keys, calls=calls, assume_keys=assume_keys, on_store=self._see_store
        )
        self.owned_ids = OwnedIds(self.sealed, calls, self.callers.are_several)
        self.quotas = Quotas(SharedCounts(self.store, calls))

    def reload(self, config: GatewayConfig) -> None:
        """Applies a new configuration; running requests keep the old one."""
        self.forwarded.clear()
        self.appended.clear()
        self.first_questions.clear()
        self.routes = Routes(config, self._environ, base_url_of=self._base_url_of)
        self.config = config
        if self.request_log is not None:
            self.request_log.level = config.server.log
        self.callers.configure(
            {name: secret(reference, self._environ) for name, reference in config.keys.items()},
            exposed=exposure_problem(config.server.host, {}) is not None,
        )
        self.quotas.streams_per_key = config.server.streams_per_key
        self.owned_ids.unknown = config.server.unknown_ids
        self.limits = replace(LIMITS, body_bytes=config.server.body_bytes)
        server = config.server
        self.time_limits = TimeLimits(
            server.ping_seconds,
            server.whole_ping_seconds or inf,
            server.first_byte_seconds,
            server.idle_seconds,
            server.total_seconds,
        )

    async def admit(self, headers: Mapping[str, str], query: str, dialect: str) -> Admitted:
        """The caller of a request; raises `Refused` for a key that is not valid."""
        keys = sent_keys(headers, query)
        own = [key for key in keys if self.callers.is_own(key.value)]
        is_outside = False
        try:
            caller = await self.callers.of(self.callers.key_among([key.value for key in keys]))
        except Refused as error:
            is_outside = error.refusal == WRONG_KEY and not own
            if not is_outside or not self.routes.takes_callers_keys:
                raise
            caller = ANYBODY
        is_local = caller is ANYBODY and not is_outside
        others = [key for key in keys if key not in own]
        if not others or not self.routes.takes_callers_keys:
            return Admitted(caller, None, is_local)
        credentials = credentials_of(others, headers, dialect, self._owner_key)
        assert credentials is not None
        if caller is not ANYBODY:
            return Admitted(caller, credentials)
        credentials = replace(credentials, is_only_key=is_outside)
        return Admitted(Caller(name=credentials.owner), credentials, is_local)

    def new_report(self, caller: Caller, dialect: str) -> Report:
        """The report of a request that has just arrived."""
        return Report(
            id=f"iv_{os.urandom(12).hex()}",
            tenant=caller.name,
            caller=caller.id,
            dialect=dialect,
            begun=time.time(),
        )

    async def explained(self, id: str, tenant: str) -> dict[str, Any]:  # noqa: A002 - as in the path
        """What happened to a request; raises `Refused` for one that is unknown here."""
        explanation = self.journal.explained(id, tenant)
        for seconds in _EXPLAIN_AGAIN if self.journal.is_shared else ():
            if explanation is None:
                # The worker that answered writes the report only after the client has the answer.
                await asyncio.sleep(seconds)
                explanation = self.journal.explained(id, tenant)
        if explanation is None:
            text = f"unknown request {id[:80]!r}; only the last ones are kept"
            raise Refused(Refusal(text=text, status=404))
        return explanation

    async def readiness(self) -> dict[str, Any]:
        """Whether requests are admitted, and the state of the store and of the upstreams."""
        states = [
            {"upstream": state.name, "state": state.health} for state in self.circuits.states()
        ]
        is_there = await self.callers.is_store_there()
        is_ready = is_there or self.callers.admits_without_store()
        store: dict[str, Any] = {"at": self._store_name, "state": "ok" if is_there else "away"}
        with contextlib.suppress(StoreError):
            if is_there and await self.calls.wait(
                lambda: has_other_keys(self.sealed), LIMITS.store_seconds
            ):
                store["problem"] = OTHER_KEY
        status = "ready" if is_ready else "not ready"
        return {"status": status, "store": store, "upstreams": states}

    def _see_store(self, is_there: bool) -> None:
        state = "answers again" if is_there else "does not answer"
        refused = "" if is_there or self.callers.admits_without_store() else ": requests are refused"  # fmt: skip
        self._say(f"The store {self._store_name} {state}{refused}.")

    def finish(self, report: Report) -> None:
        """Handles the end of a request."""
        report.total = time.time() - report.begun
        self.metrics.add(report)
        self.journal.add(report)

    # ---- the store -----------------------------------------------------------------------------

    async def stored_turns(self, report: Report, keys: Sequence[bytes]) -> TurnsByKey:
        """The stored turns that a request may contain, by their keys."""
        if self.keeps(report) == "off":
            report.store = "off"
            return {}
        if not keys:
            return {}
        turns = await self.turns.get(report.tenant, keys)
        if not turns.is_whole:
            report.store = "degraded"
        return turns.turns

    async def remember(self, request: ClientRequest, attempt: Attempt, response: Response) -> None:
        """Stores the turn of an answer."""
        report, message = request.report, response.message
        keeps = self.keeps(report)
        if keeps == "off" or not (record := request.record(attempt, message)):
            return
        message = record[0].message
        stored = without_summaries(message) if keeps == "seals" else message
        if not await self.turns.put(*record, None if keeps == "ram" else stored):
            report.store = "degraded"
            report.notes.append(Note("turn_not_stored"))

    def keeps(self, report: Report) -> Remember:
        """What is kept of a request's turns: what the configuration says, or less if the client requests that."""
        usual = self.config.server.remember
        return usual if usual == "off" or report.keeps is None else report.keeps

    def expected(self, request: ClientRequest, caller: Caller) -> Expected:
        """What a request will probably use, at the first of its candidates."""
        usage = request.expected_usage()
        tokens = float(usage.total_tokens or 0)
        if caller.budget is None:
            return Expected(tokens)
        try:
            target = self.routes.route(request.name).candidates[0].target
        except InnervoiceError:  # it is refused in a moment
            return Expected(tokens)
        return Expected(tokens, cost_of(target.provider, target.model, usage) or 0.0)

    # ---- upstreams -----------------------------------------------------------------------------

    async def posted(self, outgoing: Outgoing) -> tuple[int, bytes]:
        """Sends a request other than one for an answer; returns the status and the body."""
        request = self.http.build_request(
            outgoing.method,
            outgoing.url,
            headers=outgoing.headers,
            content=outgoing.body,
            extensions={"timeout": {"connect": self.config.server.connect_seconds}},
        )
        answer = await self.http.send(request, stream=True)
        try:
            body = await whole(answer.aiter_bytes(), self.limits.body_bytes)
        finally:
            await answer.aclose()
        return int(answer.status_code), body

    async def close(self) -> None:
        """Closes the connections to the upstreams and to the store."""
        await self.background.close()
        self.quotas.close()
        await self.turns.close()
        await self.responses.close()
        await self.store.close()
        await self.connections.close()
        if self.request_log is not None:
            await asyncio.to_thread(self.request_log.close)
