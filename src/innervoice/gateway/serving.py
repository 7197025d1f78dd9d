"""Serves one request for an answer: calls one candidate after the other until one answers, and passes the answer on.

A request is retried, or sent elsewhere, only as long as the client has received nothing of an answer. A request that a provider refuses for
its content is not tried elsewhere: it would be refused there as well, and the provider's message helps the client.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from innervoice.canon.notes import Note, Notebook
from innervoice.canon.parts import Thinking
from innervoice.canon.response import Failure, Response
from innervoice.canon.thinking_metrics import ThinkingMetrics
from innervoice.client.aio import AsyncEvents, pour
from innervoice.client.deadline import Deadline
from innervoice.client.error_mapping import Backoff
from innervoice.errors import (
    AuthenticationError,
    ConnectionFailedError,
    InnervoiceError,
    ProviderError,
    RateLimitError,
    ServerError,
    TimedOutError,
    TransportError,
)
from innervoice.gateway.answers import ClientAnswer, TranslatedAnswer, answer_for
from innervoice.gateway.client_request import ClientRequest
from innervoice.gateway.client_stream import ClientStream
from innervoice.gateway.credentials import Credentials, with_credentials
from innervoice.gateway.errors import let_go, trouble
from innervoice.gateway.estimates import estimated_usage, unfinished_usage
from innervoice.gateway.forwarded import is_reasoning
from innervoice.gateway.gateway_members import AFFINITY, passed_back, passed_on
from innervoice.gateway.incoming import Send, WriteNow
from innervoice.gateway.operations.request_log import FollowedRequest
from innervoice.gateway.owned_ids import OwnedAnswer
from innervoice.gateway.rewritten import Attempt
from innervoice.gateway.routes import Route
from innervoice.gateway.upstreams import Candidate, GatewayExchange, SteeredGatewayExchange
from innervoice.planning.recover import is_about_reasoning
from innervoice.steering.repetition import RepetitionDetector
from innervoice.steering.watch import CHARACTERS_A_TOKEN, Steering
from innervoice.thinking_metrics import token_metrics
from innervoice.wire.refusals import Refused

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Gateway

__all__ = ["Serving"]

_ELSEWHERE = (AuthenticationError, RateLimitError, ServerError, ConnectionFailedError)
_ELSEWHERE_STATUSES = (402, 408)
"""Errors of one upstream that another may not have: its keys, its load, its credit."""
_REFUSED = (400, 404, 422)
"""Statuses of a request that is refused for its content."""
_NO_TIMES = ThinkingMetrics()
_LOST_SEAL = "seal_after_text"
"""What the client does not carry is in the store, unless nothing is stored."""
_STOPPED = Failure(code=503, message="the gateway is stopping")


class _Broken(NamedTuple):
    """An answer that broke off, and with which error."""

    exchange: SteeredGatewayExchange
    error: InnervoiceError


class Serving:
    """One request for an answer."""

    def __init__(
        self,
        gateway: Gateway,
        request: ClientRequest,
        headers: Mapping[str, str],
        send: Send,
        logged: FollowedRequest | None = None,
        credentials: Credentials | None = None,
        write_now: WriteNow | None = None,
    ) -> None:
        self._credentials = credentials
        self._gateway = gateway
        self._request = request
        self._headers_in = headers
        self._report = request.report
        self._stream = ClientStream(
            send, request.report, gateway.pings, gateway.time_limits, write_now
        )
        self._exchange: GatewayExchange | None = None
        self._moved: list[Note] = []
        self._attempt: Attempt | None = None
        self._key: bytes | None = None
        self._broken: _Broken | None = None
        self._is_kept = False
        self._owned: OwnedAnswer | None = None
        self._logged = logged

    @property
    def upstream(self) -> str | None:
        """The dialect of the upstream that was called last."""
        return self._exchange.dialect if self._exchange else None

    @property
    def has_begun(self) -> bool:
        """Whether the client has received something."""
        return self._stream.has_begun

    async def serve(self) -> None:
        """Sends the answer; raises if there is none and the client has received nothing yet."""
        gateway = self._gateway
        route = gateway.routes.route(self._request.name)
        route = with_credentials(route, self._credentials, self._moved.append)
        conversation = self._key = await self._conversation()
        candidates = gateway.circuits.order(route, conversation)
        failed: Exception | None = None
        self._stream.open()
        try:
            for number, candidate in enumerate(candidates):
                is_last = number == len(candidates) - 1
                try:
                    await self._ask(candidate, route, is_last=is_last)
                except (ProviderError, TransportError) as error:
                    gateway.circuits.failed(
                        candidate, status=error.status, retry_after=error.retry_after
                    )
                    may_move = self._broken or (
                        not self._stream.has_said and _may_go_elsewhere(error)
                    )
                    if is_last or not may_move:
                        raise
                    failed = error
                    self._moved.append(_moved(candidate, error))
                    let_go(error)
                except Refused as error:
                    # This candidate cannot continue from a stored response; another may, and the error of an earlier one tells more.
                    failed = failed or error
                    let_go(error)
                    if is_last:
                        await self._refuse(failed)
                else:
                    gateway.circuits.succeeded(candidate, conversation)
                    return
        finally:
            self._stream.close()

    async def _refuse(self, error: Exception) -> None:
        """No candidate is left: raises the error, unless a keep-alive was sent already."""
        answer = self._stream.answer
        if not self._stream.has_begun or answer is None:
            raise error
        self._failed(error)
        await self._stream.fail(answer.fail(_failure_of(error)))

    def _failed(self, error: Exception) -> None:
        """Reports an error after the beginning of the answer, with the status that it would have had."""
        self._report.error = type(error).__name__
        if isinstance(error, InnervoiceError):
            refusal = trouble(error, self._request.endpoint.dialect, self.upstream)
            self._report.status = refusal.status
        elif isinstance(error, Refused):
            self._report.status = error.refusal.status

    # ---- one candidate -------------------------------------------------------------------------

    async def _ask(self, candidate: Candidate, route: Route, *, is_last: bool) -> None:
        stream = self._stream
        attempt = self._attempt = await self._request.attempt(candidate, route)
        self._report.notes += self._moved  # an attempt starts with new notes
        exchange = self._exchange = self._exchange_for(attempt, route, is_last=is_last)
        if (broken := self._broken) is None:
            answer = stream.answer = answer_for(self._request, attempt, exchange)
        else:
            exchange, answer = self._taken_over(attempt, exchange, broken)
        stream.headers = self._headers()
        stream.ask_again()
        if self._logged is not None:
            (self._logged.follow if broken is None else self._logged.go_on)(exchange)
        try:
            if broken is not None and exchange is broken.exchange:
                raise broken.error  # this candidate cannot go on with it
            await self._pass_on(exchange, answer)
            last = answer.last()
            self._is_continued = (
                isinstance(exchange, SteeredGatewayExchange) and exchange.is_continued
            )
            await self._keep(attempt, exchange.response, answer)
            self._is_kept = True
            if not exchange.is_reduced and route.steering is None:
                self._request.learn(attempt, exchange.response.message)
            self._finish(exchange, route, answer.notes)
            await stream.end(last)
        except InnervoiceError as error:
            self._report.attempts += exchange.attempts
            self._keep_notes(error)
            if not stream.has_begun and self._has_another_way(attempt, error):
                let_go(error)
                await self._ask(candidate, route, is_last=is_last)
                return
            if not is_last and self._leave_broken(exchange, error):
                raise
            # Keep-alives are not an answer: another upstream can still send one.
            is_open = not stream.has_said and not is_last and _may_go_elsewhere(error)
            if is_open or not stream.has_begun:
                raise
            self._failed(error)
            # A request that was refused, or never began, costs no tokens.
            self._book(exchange, broken=bool(exchange.response.parts))
            exchange.read_received()
            self._gateway.broken.add(self._report.tenant, exchange.response)
            end = answer.fail(_failure_of(error))
            if self._request.state is not None:
                await self._request.state.keep(
                    attempt, exchange.response, answer.written(), self._key
                )
            let_go(error)
            await stream.fail(end)
            if isinstance(error, (ProviderError, TransportError)):
                self._gateway.circuits.failed(candidate, status=error.status, retry_after=None)

    def _keep_notes(self, error: InnervoiceError) -> None:
        """Keeps what was noticed about a refusal, also if another attempt follows, which starts with new notes."""
        notes = getattr(error, "notes", ())
        self._moved += notes
        self._report.notes += notes

    def _has_another_way(self, attempt: Attempt, error: InnervoiceError) -> bool:
        """Whether the request can be sent in another way: not all of it was read, it continues a response that the provider no longer
        has, or what was restored in it may be what is refused."""
        if _must_be_read(attempt, error):
            self._request.read_all(attempt.candidate)
            return True
        state = self._request.state
        if state is not None and state.refused(error):
            return True
        is_refused = isinstance(error, ProviderError) and error.status in _REFUSED
        rewritten = attempt.rewritten
        return is_refused and rewritten is not None and rewritten.take_back(attempt.candidate)

    async def _keep(
        self,
        attempt: Attempt,
        response: Response,
        answer: ClientAnswer | None,
        *,
        has_left: bool = False,
    ) -> None:
        """Remembers the turn and, in APIs that do so, stores the response that the client got; the end of the answer waits for both."""
        state = self._request.state
        if self._owned is not None:
            await self._owned.learn()
        if attempt.is_summary and state and answer and answer.compaction:
            await state.keep_covered(attempt, answer.compaction)
        if state is None or not state.takes_answer or answer is None:
            await self._gateway.remember(self._request, attempt, response)
            return
        body = answer.written()
        if body is not None and has_left:
            body = {**body, "status": "cancelled", **({"error": None} if "error" in body else {})}
        self._request.turn_keys = state.turn_keys(body)
        await asyncio.gather(
            self._gateway.remember(self._request, attempt, response),
            state.keep(attempt, response, body, self._key),
        )

    async def _pass_on(self, exchange: GatewayExchange, answer: ClientAnswer) -> None:
        """Sends what can be sent before the end; raises if the answer is cut off or takes too long."""
        stream = self._stream
        waiting: list[bytes] = []
        """What could not be written at once."""

        def passed_on() -> bool:
            if not (data := answer.take()):
                stream.hear()
            elif not stream.write_now(data):
                waiting.append(data)
            return not waiting

        try:
            async with AsyncEvents(self._gateway.client, exchange) as events:
                # Once more: a refusal may have changed what is sent.
                stream.headers = {**passed_back(exchange.received_headers), **self._headers()}
                while not exchange.is_over:
                    await pour(events, passed_on)
                    if waiting:
                        await stream.write(waiting.pop())
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if stream.expired is None or task is None:
                await self._stop(answer)
                raise
            task.uncancel()
            late = TimedOutError(stream.expired)
            raise late.with_facts(provider=self._report.provider) from None

    async def _stop(self, answer: ClientAnswer) -> None:
        """The server stops, or the client has disconnected: an answer that has begun gets a valid end, which a disconnected client does not read."""
        if self._stream.has_begun:
            self._report.status = 200
            self._report.error = "Stopped"
            if self._exchange is not None:
                self._exchange.read_received()
                self._book(self._exchange, broken=True)
            await self._stream.fail(answer.fail(_STOPPED))

    def _taken_over(
        self, attempt: Attempt, exchange: GatewayExchange, broken: _Broken
    ) -> tuple[GatewayExchange, ClientAnswer]:
        """The exchange that goes on with the answer that broke off: this one, or the old one if it cannot; and the answer."""
        answer, self._broken = self._stream.answer, None
        assert isinstance(exchange, SteeredGatewayExchange)
        assert isinstance(answer, TranslatedAnswer)
        if not exchange.take_over(broken.exchange):
            self._exchange = broken.exchange
            return broken.exchange, answer
        answer.follow(attempt, exchange)
        return exchange, answer

    def _leave_broken(self, exchange: GatewayExchange, error: InnervoiceError) -> bool:
        """Whether another candidate may go on with an answer that has begun, and broke off."""
        stream = self._stream
        if not stream.has_said or stream.expired is not None:
            return False
        if isinstance(exchange, SteeredGatewayExchange) and exchange.may_go_on(error):
            self._broken = _Broken(exchange, error)
        return self._broken is not None

    def _note_loops(self, response: Response) -> None:
        """Notes reasoning that repeats itself, where nothing else is to be done about it."""
        for part in response.parts:
            if isinstance(part, Thinking) and (
                place := RepetitionDetector(self._request.words).feed(part.text)
            ):
                tokens = place // CHARACTERS_A_TOKEN
                note = Note("thinking_loops", f"after about {tokens} tokens: left alone")
                self._report.notes.append(note)

    def _steered(self, steering: Steering) -> Callable[..., GatewayExchange]:
        """The kind of exchange for a name whose answers are steered while they run."""
        request = self._request
        return partial(
            SteeredGatewayExchange,
            steering=steering,
            request_tokens=request.tokens,
            on_continued=request.leave_unrecorded,
        )

    def _exchange_for(self, attempt: Attempt, route: Route, *, is_last: bool) -> GatewayExchange:
        server = self._gateway.config.server
        forwarded = passed_on(
            self._headers_in, attempt.candidate.target, attempt.betas, is_bytes=attempt.is_bytes
        )
        kind = GatewayExchange if route.steering is None else self._steered(route.steering)
        exchange = kind(
            attempt.request,
            attempt.candidate.destination,
            keyring=attempt.candidate.account.keyring,
            headers={**attempt.candidate.fixed_headers, **forwarded, **attempt.candidate.headers},
            # Where another upstream can answer, a long wait for this one does not help.
            backoff=Backoff(
                server.retries if is_last else min(server.retries, 1), longest=server.longest_wait
            ),
            # The other limits are enforced by one timer for all answers (`client_stream.py`).
            deadline=Deadline(None, server.connect_seconds, server.total_seconds),
            wire=attempt.wire,
            body=attempt.sent,
        )
        exchange.thinking_clock.waited = time.time() - self._report.begun
        exchange.added = attempt.members
        if self._report.is_shared:
            self._owned = self._request.owned_answer(attempt)
            exchange.on_bytes = self._owned.add
        if attempt.rewritten is not None:
            exchange.on_refused = partial(attempt.rewritten.refuse, attempt.candidate)
        return exchange

    def _headers(self) -> dict[str, str]:
        report = self._report
        return {"x-innervoice-id": report.id, "x-innervoice-reasoning": report.reasoning}

    def _finish(self, exchange: GatewayExchange, route: Route, notes: tuple[Any, ...]) -> None:
        report, response = self._report, exchange.response
        report.status = 200
        report.attempts += exchange.attempts
        report.received = sum(map(is_reasoning, response.parts))
        self._book(exchange)
        before = set(report.notes)
        if notes and self._gateway.keeps(report) != "off" and report.store != "degraded":
            notes = tuple(note for note in notes if note.code != _LOST_SEAL)
        report.notes += [note for note in (*response.notes, *notes) if note not in before]
        if route.notes_loops:
            self._note_loops(response)

    async def disconnected(self) -> None:
        """The client has disconnected: the known part of the answer is counted, and what was received of it is kept."""
        self._report.status, self._report.error = 499, None
        if self._exchange is None or self._attempt is None:
            return
        self._exchange.read_received()
        self._book(self._exchange, broken=True)
        self._report.attempts += self._exchange.attempts
        answer = self._stream.answer if self._stream.has_begun else None
        if not self._is_kept:  # otherwise the client may have read the end
            await self._keep(self._attempt, self._exchange.response, answer, has_left=True)

    def _book(self, exchange: GatewayExchange, *, broken: bool = False) -> None:
        """Reports the tokens of an answer; estimates for one that was cut off, and where a limit needs them."""
        report, response = self._report, exchange.response
        report.usage = response.usage
        if broken:
            report.usage = unfinished_usage(response, self._request.tokens())
        elif report.needs_usage:
            report.usage = estimated_usage(response, self._request.tokens())
        if exchange.is_streamed:
            self._measure(exchange, response)
        elif report.usage.reasoning_tokens is None:
            report.thinking = token_metrics(response, report.usage, _NO_TIMES)
        note = Note("tokens_estimated")
        if (report.usage != response.usage or exchange.is_spliced) and note not in report.notes:
            report.notes.append(note)

    def _measure(self, exchange: GatewayExchange, response: Response) -> None:
        """Reports how long the answer thought, from the arrival of the request, and how many tokens."""
        times = exchange.thinking_clock.metrics(response.parts)
        self._report.thinking = token_metrics(response, self._report.usage, times)

    async def _conversation(self) -> bytes | None:
        """What the requests of one conversation have in common: a header of the client, or else the beginning of the conversation."""
        state = self._request.state
        stored = await state.load() if state else None
        hint = next(
            (self._headers_in[name] for name in AFFINITY if self._headers_in.get(name)), None
        )
        if hint is None and stored:
            return stored
        begins = self._request.opening if hint is None else hint.encode("latin-1", "replace")
        facts = f"{self._report.tenant}\0{self._request.name}\0"
        return blake2b(facts.encode("utf-8", "surrogatepass") + begins, digest_size=16).digest()


def _must_be_read(attempt: Attempt, error: InnervoiceError) -> bool:
    """Whether a request that was not read completely is refused for its content."""
    if attempt.rewritten is not None:
        return False
    if attempt.is_bytes:
        return is_about_reasoning(str(error))
    return isinstance(error, ProviderError) and error.status == 400


def _may_go_elsewhere(error: InnervoiceError) -> bool:
    if isinstance(error, TimedOutError):
        return error.limit == "connect"
    status = error.status if isinstance(error, ProviderError) else None
    return isinstance(error, _ELSEWHERE) or status in _ELSEWHERE_STATUSES


def _failure_of(error: Exception) -> Failure:
    if isinstance(error, Refused):
        return Failure(code=error.refusal.status, message=error.refusal.text)
    if isinstance(error, ProviderError):
        # A failure inside an answer has the status of the answer, which says nothing of it.
        status = error.status if error.status and error.status >= 400 else None
        return Failure(type=error.type, code=status or error.code, message=error.message)
    status = 504 if isinstance(error, TimedOutError) else 502
    return Failure(code=status, message=str(error))


def _moved(candidate: Candidate, error: InnervoiceError) -> Note:
    notebook = Notebook()
    notebook.add("moved_on", f"{candidate.name}: {type(error).__name__}")
    return notebook.notes()[0]
