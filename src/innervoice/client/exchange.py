"""One request's life without input and output: what is sent, what an outcome means, and whether it is tried again.

    Request ──► Wire ──► Outgoing ─ ─ ► failed       ──► wait and send again, or an error
                                  ─ ─ ► met, refused ──► the same, or a request with less reasoning, or an error
                                  ─ ─ ► met, feed... ──► events
                                        end          ──► Finish, or wait and send again, or an error

A client calls these in order and does the waiting. After output was given out nothing is sent again; a whole answer is
given out when it is there, so that until then it may be.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NoReturn

from innervoice.canon.events import Finish
from innervoice.canon.jsontext import dump_json
from innervoice.canon.notes import Notebook
from innervoice.canon.request import Request
from innervoice.canon.response import Failure, Response
from innervoice.client.answer import is_output
from innervoice.client.auth import Keyring, Outgoing, Whom
from innervoice.client.base_urls import with_quoted_model
from innervoice.client.deadline import Deadline
from innervoice.client.error_mapping import (
    SHOWN,
    Problem,
    failure_error,
    refusal_error,
    request_id_of,
    road_error,
    scrubbed,
    secrets_of,
    status_of,
)
from innervoice.client.log import Log
from innervoice.client.retry import Backoff, is_transient
from innervoice.decoding import StreamDecoder
from innervoice.encoding import encode
from innervoice.errors import (
    AnswerInterruptedError,
    ConnectionFailedError,
    DecodeError,
    InnervoiceError,
    TimedOutError,
    UsageError,
)
from innervoice.folding import fold
from innervoice.history.recover import recover
from innervoice.inline.marks import Place

__all__ = ["Exchange"]

_AGENT = "innervoice (python)"
_KEY_HEADERS = frozenset({"authorization", "x-api-key", "api-key", "x-goog-api-key"})
_DAMAGED = ("DecodeError", "FrameError")


class Exchange:
    """One request and what becomes of it."""

    def __init__(
        self,
        request: Request,
        whom: Whom,
        *,
        keyring: Keyring,
        headers: Mapping[str, str],
        backoff: Backoff,
        deadline: Deadline,
        inline: str | None = None,
    ) -> None:
        self.deadline = deadline
        self.events = Log()
        """All that came so far."""
        self.is_over = False
        """Whether the whole answer is there."""
        self.failure: InnervoiceError | None = None
        self._request = request
        self._wire = encode(request)
        self._whom = whom
        self._keyring = keyring
        self._extra_headers = headers
        self._backoff = backoff
        self._inline = inline
        self._notebook = Notebook()
        self._tries = 0
        self._recovered = False
        self._sent_headers: dict[str, str] = {}
        self._status = 0
        self._told_headers: Mapping[str, str] = {}
        self._decoder: StreamDecoder | None = None
        self._first = b""
        self._has_output = False
        self._response: Response | None = None

    # ---- sending -------------------------------------------------------------------------------

    @property
    def blocks(self) -> bool:
        """Whether making the request may ask the disk or the network for a key."""
        return self._needs_key and self._keyring.blocks(self._whom)

    def outgoing(self) -> Outgoing:
        """What is to be sent now."""
        wire, whom = self._wire, self._whom
        headers = {"user-agent": _AGENT, **wire.headers, **self._extra_headers}
        url = with_quoted_model(wire.url, whom.model, wire.dialect)
        outgoing = Outgoing(wire.method, url, headers, dump_json(wire.body))
        if self._needs_key:
            for name, value in self._keyring.headers(whom, outgoing).items():
                headers.setdefault(name, value)
        self._sent_headers = headers
        return outgoing

    @property
    def _needs_key(self) -> bool:
        """Who brings an authorization needs no key of ours."""
        return _KEY_HEADERS.isdisjoint(self._extra_headers)

    def failed(self, error: Exception) -> float:
        """No answer came; gives the seconds to wait before the next try, or raises."""
        problem = self._road_error(error, began=False)
        connecting = isinstance(problem, TimedOutError) and problem.limit == "connect"
        broken = connecting or isinstance(problem, ConnectionFailedError)
        return self._again(problem, transient=broken)

    # ---- receiving -----------------------------------------------------------------------------

    def met(self, status: int, headers: Mapping[str, str]) -> bool:
        """An answer began; gives whether it is one, and not a refusal."""
        self._status = status
        self._told_headers = headers
        self._first = b""
        self._has_output = False
        if not self._request.stream:
            self.events.clear()  # of an earlier try, which nobody has seen
        self._decoder = StreamDecoder(
            provider=self._whom.provider,
            model=self._whom.model,
            dialect=self._wire.dialect,
            request=self._wire,
            inline=self._inline,
        )
        return 200 <= status < 300

    def refused(self, body: bytes) -> float:
        """The host refused; gives the seconds to wait before the next try, or raises."""
        error = refusal_error(
            self._status, self._headers, body, now=time.time(), secrets=self._secrets
        ).knowing(provider=self._whom.provider)
        if self._status == 400 and not self._recovered:
            sent = self._wire.body
            reduced = recover(self._request, body.decode("utf-8", "replace"))
            if reduced is not None and (wire := encode(reduced)).body != sent:
                self._recovered = True
                self._request, self._wire = reduced, wire
                self._notebook.add("recovered_after_refusal", (error.message or "")[:200])
                return 0.0
        kind = f"{error.type} {error.code}"
        return self._again(error, transient=is_transient(self._status, self._headers, kind))

    def feed(self, chunk: bytes) -> bool:
        """Takes bytes of the answer; gives whether more is wanted."""
        decoder = self._decoder
        assert decoder is not None
        if len(self._first) < SHOWN:
            self._first += chunk[:SHOWN]
        events = decoder.feed(chunk)
        if not self._has_output:
            self._has_output = any(map(is_output, events))
        self.events.add(events)
        return not decoder.failed

    def end(self, error: Exception | None = None) -> float | None:
        """The answer is over, or broke off by this error.

        Gives None if that is the end of it, the seconds to wait before the next try, or raises.
        """
        decoder = self._decoder
        assert decoder is not None
        *events, finish = decoder.finish()
        assert isinstance(finish, Finish)
        problem, transient = self._verdict(finish.response, error)
        if problem is not None:
            delivered = self._has_output and self._request.stream
            return self._again(problem, transient=transient and not delivered)
        self._response, self.is_over = self._noted(finish.response), True
        self.events.add([*events, Finish(self._response)])
        return None

    @property
    def bound(self) -> Place | None:
        """The first place of the text that could still be recast."""
        return self._decoder.settled if self._decoder and not self.is_over else None

    @property
    def response(self) -> Response:
        """The whole answer; before its end what came so far."""
        if self._response is not None:
            return self._response
        partial = self.failure and getattr(self.failure, "response", None)
        if isinstance(partial, Response):
            return partial
        folded = fold(self.events)
        return folded.replace(provider=self._whom.provider, model=self._whom.model)

    # ---- what it means -------------------------------------------------------------------------

    @property
    def _secrets(self) -> frozenset[str]:
        """What no error may show."""
        return secrets_of(self._sent_headers)

    @property
    def _headers(self) -> dict[str, str]:
        """The headers of the answer; few look at them."""
        return {name.lower(): value for name, value in self._told_headers.items()}

    def _verdict(
        self, response: Response, error: Exception | None
    ) -> tuple[UsageError | Problem | None, bool]:
        """What is wrong with an answer that is over, and whether another try may mend it."""
        if error is not None:
            if response.ended and response.error is None:
                self._notebook.add("broken_after_end")
                return None, False
            problem = self._road_error(error, began=True)
            return self._told(problem, response), isinstance(problem, AnswerInterruptedError)
        if not self._first:
            empty = AnswerInterruptedError("the answer was empty")
            return self._told(empty, response), True
        if response.error is not None:
            return self._error_inside(response, response.error)
        if not response.ended and self._request.stream:
            cut = AnswerInterruptedError("the stream ended before the answer did")
            return self._told(cut, response), True
        return None, False

    def _error_inside(
        self, response: Response, failure: Failure
    ) -> tuple[UsageError | Problem, bool]:
        if failure.type in _DAMAGED:
            damaged = DecodeError(scrubbed(failure.message or "", self._secrets))
            return self._told(damaged, response), False
        kind = f"{failure.type} {failure.code}"
        transient = is_transient(status_of(failure), {}, kind)
        return self._told(failure_error(failure, self._secrets), response), transient

    def _road_error(self, error: Exception, *, began: bool) -> UsageError | Problem:
        problem = road_error(error, began=began, deadline=self.deadline, secrets=self._secrets)
        if not isinstance(problem, UsageError):
            problem.knowing(provider=self._whom.provider)
            # The cause is kept for those who look, unless it shows a key.
            if scrubbed(str(error), self._secrets) == str(error):
                problem.__cause__ = error
        return problem

    def _told(self, problem: UsageError | Problem, response: Response) -> UsageError | Problem:
        if isinstance(problem, UsageError):
            return problem
        text = scrubbed(self._first.decode("utf-8", "replace"), self._secrets)
        return problem.knowing(
            provider=self._whom.provider,
            status=self._status,
            request_id=request_id_of(self._headers),
            body=text[:SHOWN],
            response=self._noted(response),
        )

    def _again(self, error: UsageError | Problem, *, transient: bool) -> float:
        """Seconds to wait before the next try, if there is one."""
        known = None if isinstance(error, UsageError) else error
        hint = known.retry_after if known else None
        wait = self._backoff.wait(self._tries, hint) if transient else None
        if wait is None or wait >= self.deadline.left:
            self._fail(error)
        self._tries += 1
        status = known.status if known else None
        self._notebook.add("retried", f"status {status}" if status else type(error).__name__)
        self.deadline.spend(wait)
        return wait

    def _fail(self, error: InnervoiceError) -> NoReturn:
        self.failure = error
        raise error

    def _noted(self, response: Response) -> Response:
        """The answer with what became of the request before what was seen in it."""
        notes = (*self._wire.notes, *self._notebook.notes())
        return response.replace(notes=(*notes, *response.notes)) if notes else response
