"""One exchange without I/O: what is sent, what the outcome means, and whether the request is retried.

    Request ──► Wire ──► Outgoing ─ ─ ► failed           ──► wait and retry, or an error
                                  ─ ─ ► started, refused ──► the same, or send a request with less reasoning
                                  ─ ─ ► started, feed... ──► events
                                        end              ──► Finish, or wait and send again, or an error

A client calls these methods in order and does the waiting. Once the caller has seen output, nothing is sent again; of an answer
that is not streamed, the caller sees nothing before its end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NoReturn
from urllib.parse import urlsplit

from innervoice.canon.answer_type import AnswerType, StructuredResponse
from innervoice.canon.events import Event, Finish
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.notes import Notebook
from innervoice.canon.parts import Thinking
from innervoice.canon.request import Request, Wire
from innervoice.canon.response import Failure, Response
from innervoice.canon.rows import Host
from innervoice.client.auth import Destination, Keyring, Outgoing, key_headers
from innervoice.client.base_urls import with_quoted_model
from innervoice.client.deadline import Deadline
from innervoice.client.error_mapping import (
    SHOWN,
    Backoff,
    Problem,
    failure_error,
    is_transient,
    network_error,
    refusal_error,
    request_id_of,
    scrubbed,
    secrets_of,
)
from innervoice.client.log import Log
from innervoice.client.thinking_clock import ThinkingClock
from innervoice.decoding import StreamDecoder, unfinished
from innervoice.errors import (
    AnswerInterruptedError,
    ConnectionFailedError,
    DecodeError,
    InnervoiceError,
    ProviderError,
    TimedOutError,
    UsageError,
)
from innervoice.folding import fold
from innervoice.inline.marks import SettledPlace
from innervoice.planning.encode import encoded
from innervoice.planning.recover import recover
from innervoice.wire.refusals import status_of

__all__ = ["Exchange", "is_uncompressed"]

_AGENT = "innervoice (python)"
_FLAGS = "anthropic-beta"
_DAMAGED = ("DecodeError", "FrameError")
_NEW = frozenset({"unknown_block", "content_unread"})
"""Notes of an answer by which its API may have changed."""
_code = attrgetter("code")


class Exchange:
    """One request, its retries and its answer."""

    is_over = False
    """Whether the whole answer has arrived."""
    failure: InnervoiceError | None = None
    refusal = b""
    """The body of the last error response."""
    received_headers: Mapping[str, str] = MappingProxyType({})
    """The headers of the answer."""
    has_output = False
    """Whether a part of the answer has arrived, so that the request is not retried."""
    _tries = 0
    _recovered = False
    _status = 0
    _decoder: StreamDecoder | None = None
    _first = b""
    _response: Response | None = None
    _sent_headers: Mapping[str, str] = received_headers

    def __init__(
        self,
        request: Request,
        destination: Destination,
        *,
        keyring: Keyring,
        headers: Mapping[str, str],
        backoff: Backoff,
        deadline: Deadline,
        inline: str | None = None,
        answer_type: AnswerType | None = None,
        wire: Wire | None = None,
        body: bytes | None = None,
        on_hidden: Callable[[], None] | None = None,
        names_server: bool = False,
    ) -> None:
        """`wire` is the request if it is already encoded, `body` is sent in place of its own body. `on_hidden` is called if the provider refuses to show its reasoning."""
        self._on_hidden = on_hidden
        self._names_server = names_server
        """Whether network errors say which server was called; those of a gateway must not."""
        self.deadline = deadline
        self.thinking_clock = ThinkingClock(deadline.clock)
        self.events = Log()
        """All events so far."""
        self._request = request
        self._wire = wire or encoded(request, destination.target)
        self._body = body
        self._destination = destination
        self._keyring = keyring
        self._extra_headers = headers
        self._backoff = backoff
        self._inline = inline
        self._answer_type = answer_type
        self._notebook = Notebook()

    # ---- sending -------------------------------------------------------------------------------

    @property
    def may_block(self) -> bool:
        """Whether `outgoing` may read files or use the network to get a key."""
        return self._needs_key and self._keyring.may_block(self._destination)

    @property
    def wire(self) -> Wire:
        """The encoded request."""
        return self._wire

    def outgoing(self) -> Outgoing:
        """The request to send now."""
        wire, destination = self._wire, self._destination
        headers = {"user-agent": _AGENT, **wire.headers, **self._extra_headers}
        if (needed := wire.headers.get(_FLAGS)) and (more := self._extra_headers.get(_FLAGS)):
            headers[_FLAGS] = ",".join(dict.fromkeys([*more.split(","), needed]))
        url = with_quoted_model(wire.url, destination.target)
        body = dump_json(self._with_members(wire.body)) if self._body is None else self._body
        outgoing = Outgoing(wire.method, url, headers, body)
        if self._needs_key:
            for name, value in self._keyring.headers(destination, outgoing).items():
                headers.setdefault(name, value)
        self._sent_headers = headers
        return outgoing

    def _with_members(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body with the members that the environment fills, unless the caller set one of them."""
        host = self._destination.target.host
        return self._filled(body, host) if host and host.member_variables else body

    def _filled(self, body: dict[str, Any], host: Host) -> dict[str, Any]:
        if not host.member_variables.keys().isdisjoint(body):
            return body
        return {**body, **self._keyring.members(self._destination)}

    @property
    def _needs_key(self) -> bool:
        """Whether the caller passed no key in a header."""
        return key_headers().isdisjoint(self._extra_headers)

    def failed(self, error: Exception) -> float:
        """Handles a network error before any answer; returns the seconds to wait before a retry, or raises."""
        problem = self._network_error(error, began=False)
        connecting = isinstance(problem, TimedOutError) and problem.limit == "connect"
        broken = connecting or isinstance(problem, ConnectionFailedError)
        return self._again(problem, transient=broken)

    # ---- receiving -----------------------------------------------------------------------------

    def started(self, status: int, headers: Mapping[str, str]) -> bool:
        """Reads the head of an answer; returns whether its status is a success."""
        self._status = status
        self.received_headers = headers
        self._first = b""
        self.has_output = False
        if self.events and not self._request.stream:
            self.events.clear()  # of an earlier attempt, which the caller has not seen
        self._decoder = StreamDecoder(
            provider=self._destination.provider,
            model=self._destination.target.model,
            dialect=self._wire.dialect,
            request=self._wire,
            inline=self._inline,
        )
        return 200 <= status < 300

    def refused(self, body: bytes) -> float:
        """Handles an error response; returns the seconds to wait before a retry, or raises."""
        self.refusal = body
        error = refusal_error(
            self._status, self._lowercase_headers, body, now=time.time(), secrets=self._secrets
        ).with_facts(provider=self._destination.provider)
        if self._status == 400 and not self._recovered:
            sent = self._wire.body
            reduced = recover(self._request, body.decode("utf-8", "replace"))
            if reduced is not None and (wire := self.rewritten(reduced)).body != sent:
                self._recovered = True
                if self._on_hidden is not None and reduced.messages == self._request.messages:
                    self._on_hidden()
                self._request, self._wire, self._body = reduced, wire, None
                self._notebook.add("recovered_after_refusal", (error.message or "")[:200])
                return 0.0
        self._note_refusal(error)
        kind = f"{error.type} {error.code}"
        return self._again(
            error, transient=is_transient(self._status, self._lowercase_headers, kind)
        )

    def _note_refusal(self, error: ProviderError) -> None:
        """Notes a refusal of what the catalog says is accepted."""
        from innervoice.client.drift import refusal_drift  # noqa: PLC0415 - few requests are refused

        try:
            body = self._wire.body if self._body is None else load_json(self._body)
        except ValueError:
            return
        target, headers = self._destination.target, self._wire.headers
        # The body also names the parameter that is refused.
        note = refusal_drift(error.body or "", self._status, body, target, headers)
        if note is not None:
            error.with_facts(notes=(note,))
            error.add_note(f"{note.code}: {note.detail}")

    def rewritten(self, request: Request) -> Wire:
        """A request that was reduced after a refusal, as it is sent."""
        return encoded(request, self._destination.target)

    def feed(self, chunk: bytes) -> bool:
        """Reads bytes of the answer; returns whether to continue reading."""
        decoder = self._decoder
        assert decoder is not None
        if len(self._first) < SHOWN:
            self._first += chunk[:SHOWN]
        events = decoder.feed(chunk)
        if not self.thinking_clock.changes.isdisjoint(map(type, events)):
            self._changed(events)
        self.events.add(events)
        return not decoder.failed

    def _changed(self, events: list[Event]) -> None:
        """Among these events there is another kind of output than before."""
        self.has_output = True
        if self.is_streamed:
            self.thinking_clock.feed(events, self._received_at)

    @property
    def is_streamed(self) -> bool:
        """Whether the answer comes piece by piece."""
        return self._request.stream

    @property
    def _received_at(self) -> float:
        """When the bytes that were read last came."""
        return self.deadline.clock()

    def end(self, error: Exception | None = None) -> float | None:
        """Handles the end of an answer, or the error that interrupted it.

        Returns None if the exchange has ended, or else the seconds to wait before a retry; or raises.
        """
        decoder = self._decoder
        assert decoder is not None
        *events, finish = decoder.finish()
        assert isinstance(finish, Finish)
        problem, transient = self._verdict(finish.response, error)
        if problem is not None:
            delivered = self.has_output and self._request.stream
            return self._again(problem, transient=transient and not delivered)
        self._response, self.is_over = self._typed(self._noted(finish.response)), True
        self.thinking_clock.end(self._response)
        self.events.add([*events, Finish(self._response)])
        return None

    @property
    def dialect(self) -> str:
        """The dialect of the request and its answer."""
        return self._wire.dialect

    @property
    def attempts(self) -> int:
        """How often the request was sent."""
        return 1 + self._tries + self._recovered

    @property
    def bound(self) -> SettledPlace | None:
        """The first place of the text that could still be recast."""
        return self._decoder.settled if self._decoder and not self.is_over else None

    @property
    def response(self) -> Response:
        """The whole response; before the end, what has arrived so far."""
        if self._response is not None:
            return self._response
        partial = self.failure and getattr(self.failure, "response", None)
        if isinstance(partial, Response):
            return partial
        folded = fold(self.events)
        return folded.replace(
            id=self._decoder.id if self._decoder else None,
            provider=self._destination.provider,
            model=self._destination.target.model,
        )

    # ---- judging the outcome -------------------------------------------------------------------------

    @property
    def _secrets(self) -> frozenset[str]:
        """Values that no error may show."""
        return secrets_of(self._sent_headers)

    @property
    def _lowercase_headers(self) -> dict[str, str]:
        """The headers of the answer; converted only when needed."""
        return {name.lower(): value for name, value in self.received_headers.items()}

    def _verdict(
        self, response: Response, error: Exception | None
    ) -> tuple[UsageError | Problem | None, bool]:
        """The error of an answer that has ended, if any, and whether a retry may help."""
        if error is not None:
            if response.ended and response.error is None:
                self._notebook.add("broken_after_end")
                return None, False
            problem = self._network_error(error, began=True)
            return self._with_facts(problem, response), isinstance(problem, AnswerInterruptedError)
        if not self._first:
            empty = AnswerInterruptedError("the answer was empty")
            return self._with_facts(empty, response), True
        if response.error is not None:
            return self._error_inside(response, response.error)
        if not response.ended and (self._request.stream or not response.parts):
            cut = AnswerInterruptedError("the stream ended before the answer did")
            nothing = DecodeError("the body is not an answer of a known API")
            whole = unfinished(response) if response.id else nothing
            problem = cut if self._request.stream else whole
            return self._with_facts(problem, response), self._request.stream
        return None, False

    def _error_inside(
        self, response: Response, failure: Failure
    ) -> tuple[UsageError | Problem, bool]:
        if failure.type in _DAMAGED:
            damaged = DecodeError(scrubbed(failure.message or "", self._secrets))
            return self._with_facts(damaged, response), False
        kind = f"{failure.type} {failure.code}"
        transient = is_transient(status_of(failure), {}, kind)
        return self._with_facts(failure_error(failure, self._secrets), response), transient

    def _network_error(self, error: Exception, *, began: bool) -> UsageError | Problem:
        problem = network_error(
            error,
            began=began,
            deadline=self.deadline,
            secrets=self._secrets,
            server=_server_of(self._wire.url) if self._names_server else "",
        )
        if not isinstance(problem, UsageError):
            problem.with_facts(provider=self._destination.provider)
            # The cause is kept for debugging, unless it shows a key.
            if scrubbed(str(error), self._secrets) == str(error):
                problem.__cause__ = error
        return problem

    def _with_facts(
        self, problem: UsageError | Problem, response: Response
    ) -> UsageError | Problem:
        if isinstance(problem, UsageError):
            return problem
        text = scrubbed(self._first.decode("utf-8", "replace"), self._secrets)
        return problem.with_facts(
            provider=self._destination.provider,
            status=problem.status or self._status,
            request_id=request_id_of(self._lowercase_headers),
            body=text[:SHOWN],
            response=self._noted(response),
        )

    def _again(self, error: UsageError | Problem, *, transient: bool) -> float:
        """The seconds to wait before a retry; raises the error if there is none."""
        cause = None if isinstance(error, UsageError) else error
        hint = cause.retry_after if cause else None
        wait = self._backoff.wait(self._tries, hint) if transient else None
        if wait is None or wait >= self.deadline.left:
            self._fail(error)
        self._tries += 1
        status = cause.status if cause else None
        self._notebook.add("retried", f"status {status}" if status else type(error).__name__)
        self.deadline.spend(wait)
        return wait

    def _fail(self, error: InnervoiceError) -> NoReturn:
        self.failure = error
        raise error

    def _typed(self, response: Response) -> Response:
        """The answer with the requested type."""
        if self._answer_type is None:
            return response
        fields = {name: getattr(response, name) for name in response.__struct_fields__}
        return StructuredResponse(**fields, answer_type=self._answer_type)

    def _explain(self, response: Response) -> None:
        """Notes reasoning in a form that is not known here, and why there is nothing to read of reasoning that took place."""
        thoughts = [part.text for part in response.parts if isinstance(part, Thinking)]
        if any(thoughts) and _NEW.isdisjoint(map(_code, response.notes)):
            return
        self._note_drift(response)
        is_hidden = not any(thoughts) and (thoughts or response.usage.reasoning_tokens)
        if self._on_hidden is None or not is_hidden:  # not a client's own call
            return
        row, setting = self._destination.target.row, self._request.reasoning
        if self._recovered:
            why = "the provider refused to show it"
        elif "summary" not in row.showable:
            why = "the provider shows none of it"
        elif setting is not None and setting.show in ("summary", "auto", "full"):
            why = "a summary was asked for, and none came: it was short"
        else:
            why = 'it was not asked for; pass reasoning=Reasoning(show="summary")'
        self._notebook.add("reasoning_hidden", why)

    def _note_drift(self, response: Response) -> None:
        """Notes reasoning in a form that is not known here."""
        from innervoice.client.drift import answer_drift, field_drift  # noqa: PLC0415 - not for every answer of the gateway

        target = self._destination.target
        note = answer_drift(response, target)
        if note is None and self._on_hidden is not None:
            note = field_drift(response, target)
        if note is not None:
            self._notebook.add(note.code, note.detail)

    def _noted(self, response: Response) -> Response:
        """The response with the notes of the request in front of its own."""
        if self._on_hidden is not None or not _NEW.isdisjoint(map(_code, response.notes)):
            self._explain(response)
        notes = (*self._wire.notes, *self._notebook.notes())
        return response.replace(notes=(*notes, *response.notes)) if notes else response


# ---- Checks of an HTTP response and its events, for both clients.


def _server_of(url: str) -> str:
    """The scheme and the host of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else ""


def is_uncompressed(answer: Any) -> bool:
    """Whether the bytes of an HTTP response can be read as they arrive: not compressed, and not already read by a caller's hook."""
    return not answer.is_stream_consumed and "content-encoding" not in answer.headers
