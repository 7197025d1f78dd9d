"""A request -> what came of it: sent over the network, or answered by the emulator of this process.

A refusal is a statement of the server about the request. Everything that says nothing about it (a network error, a timeout, 429, 5xx, an answer
that is cut) is a failure: it is tried again, and in the end the fact is not measured.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.request import Wire
from innervoice.canon.response import Response
from innervoice.canon.target import Target
from innervoice.client.auth import Destination, Outgoing
from innervoice.client.base_urls import base_url_of, with_quoted_model
from innervoice.client.error_mapping import (
    errors_of,
    is_transient,
    retry_after,
    scrubbed,
    secrets_of,
)
from innervoice.client.settings import ClientOptions, Settings
from innervoice.decoding import read_answer
from innervoice.emulator.core import Emulator
from innervoice.emulator.routes import base_urls
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.frames.frame import FrameError
from innervoice.frames.sniff import AnyFraming
from innervoice.wire.dialects import dialect_named
from innervoice.wire.json_access import as_dict
from innervoice.wire.refusals import failure_of, status_of

__all__ = ["Emulated", "Network", "Outcome", "Raw", "Server", "outcome_of"]

_MOST_BYTES = 4_000_000
_REFUSALS = (400, 404, 405, 413, 415, 422, 501)
_DENIED = (401, 402, 403)


@dataclass(frozen=True)
class Raw:
    """A reply as it came; without a status nothing came, and `problem` says why."""

    status: int = 0
    headers: Mapping[str, str] = ()  # type: ignore[assignment]
    body: bytes = b""
    problem: str = ""


class Server(Protocol):
    """Something that answers requests."""

    base_url: str

    def exchange(self, wire: Wire, target: Target, key: str, *, peek: bool = False) -> Raw:
        """The reply to a request; `key` names its recipe, with `peek` only its beginning is read."""
        ...


class Emulated:
    """The emulator of this process: it does what the catalog says."""

    def __init__(self, provider: str) -> None:
        self._emulator = Emulator(b"probe")
        self.base_url = base_urls("http://emulator")[provider]

    def exchange(self, wire: Wire, target: Target, key: str, *, peek: bool = False) -> Raw:  # noqa: ARG002 - as other servers
        """The emulator's reply."""
        address = urlsplit(with_quoted_model(wire.url, target))
        path = address.path + (f"?{address.query}" if address.query else "")
        headers = {**wire.headers, "authorization": "Bearer emulator"}
        reply = self._emulator.reply(wire.method, path, headers, dump_json(wire.body))
        return Raw(reply.status, reply.headers, reply.body)


class Network:
    """A server behind a URL, with the key of the environment."""

    def __init__(
        self,
        target: Target,
        base_url: str | None,
        *,
        timeout: float,
        api_key: str | None = None,
    ) -> None:
        options: ClientOptions = {}
        if base_url:
            options["base_url"] = base_url
        if api_key:
            options["api_key"], options["provider"] = api_key, target.provider
        self._settings = Settings(options)
        self._target = target
        host = target.host
        self.base_url = base_url or (base_url_of(host, self._settings.environ) if host else "")
        self._is_default = base_url is None
        self._timeout = timeout
        self._http: Any = None

    def exchange(self, wire: Wire, target: Target, key: str, *, peek: bool = False) -> Raw:  # noqa: ARG002 - as other servers
        """The server's reply, or why there is none."""
        destination = Destination(target, self._is_default)
        headers = {"user-agent": "innervoice probe", **wire.headers}
        keyring = self._settings.keyring
        body = {**wire.body, **keyring.members(destination)}
        url = with_quoted_model(wire.url, target)
        outgoing = Outgoing(wire.method, url, headers, dump_json(body))
        headers.update(keyring.headers(destination, outgoing))
        return self._sent(outgoing, secrets_of(headers), peek=peek)

    def get(self, url: str) -> Raw:
        """The reply to a request without a body."""
        outgoing = Outgoing("GET", url, {"user-agent": "innervoice probe"}, b"")
        destination = Destination(self._target, self._is_default)
        outgoing.headers.update(self._settings.keyring.headers(destination, outgoing))
        return self._sent(outgoing, secrets_of(outgoing.headers))

    def _sent(self, outgoing: Outgoing, secrets: frozenset[str], *, peek: bool = False) -> Raw:
        if self._http is None:
            self._http = import_module("innervoice.client.network").sync_http()
        errors = errors_of(self._http)
        begun = time.monotonic()
        status, headers, body = 0, {}, b""
        try:
            request = self._http.build_request(
                outgoing.method,
                outgoing.url,
                headers=outgoing.headers,
                content=outgoing.body or None,
                timeout=self._timeout,
            )
            answer = self._http.send(request, stream=True)
            status, headers = answer.status_code, dict(answer.headers)
            try:
                for piece in answer.iter_bytes():
                    body += piece
                    if peek and status == 200:
                        break
                    if len(body) > _MOST_BYTES or time.monotonic() - begun > self._timeout:
                        return Raw(problem=f"no whole answer within {self._timeout:g} seconds")
            finally:
                answer.close()
        except errors as error:
            text = scrubbed(str(error).strip() or type(error).__name__, secrets)
            return Raw(problem=f"connection failed: {text[:200]}")
        return Raw(status, {name.lower(): value for name, value in headers.items()}, body)

    def close(self) -> None:
        """Closes the connections."""
        if self._http is not None:
            self._http.close()


# ---- what a reply says -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What came of a request."""

    kind: Literal["accepted", "refused", "failed", "denied"]
    """denied: the key or the account is the problem, so nothing can be measured."""
    status: int = 0
    words: str = ""
    """The server's words of a refusal, or what failed."""
    response: Response | None = None
    body: Any = None
    """The JSON of the answer, unless it was streamed."""
    shape: str = ""
    """The members of the body of a refusal."""
    complaints: tuple[str, ...] = ()
    """The rules of the dialect's grammar that a stream broke."""
    is_late: bool = False
    """Whether the refusal came inside an answer, not as a status."""
    wait: float | None = None
    """How long the server asks to wait before the next try."""

    @property
    def is_accepted(self) -> bool:
        """Whether the server answered."""
        return self.kind == "accepted"


def outcome_of(raw: Raw, wire: Wire, target: Target, *, peek: bool = False) -> Outcome:
    """What a reply says about its request; with `peek` only its beginning was read."""
    if not raw.status:
        return Outcome("failed", words=raw.problem)
    if 200 <= raw.status < 300:
        return _answer(raw, wire, target, peek=peek)
    headers = dict(raw.headers)
    value = _json(raw.body)
    failure = failure_of(value) if value is not None else None
    text = (failure and failure.message) or raw.body.decode("utf-8", "replace").strip()[:300]
    words = text or f"status {raw.status}"
    kind = f"{failure.type} {failure.code}" if failure else None
    if raw.status in _DENIED:
        return Outcome("denied", raw.status, words)
    if is_transient(raw.status, headers, kind) or raw.status not in _REFUSALS:
        wait = retry_after(headers, time.time(), value)
        return Outcome("failed", raw.status, words, wait=wait)
    return Outcome("refused", raw.status, words, shape=_shape(value))


def _answer(raw: Raw, wire: Wire, target: Target, *, peek: bool) -> Outcome:
    value = _json(raw.body)
    if _is_count(wire, target):
        ok = isinstance(value, dict)
        return Outcome("accepted" if ok else "failed", raw.status, "" if ok else "no JSON")
    try:
        response = read_answer(
            raw.body, target.provider, target.model, target.dialect, inline="all"
        )
    except (InnervoiceError, ValueError) as error:
        return Outcome("failed", raw.status, f"the answer cannot be read: {error}")
    if response.error is not None:
        status = status_of(response.error)
        words = response.error.message or "the answer ended in an error"
        kind: Any = "refused" if status in _REFUSALS else "failed"
        shape = _shape(response.error.raw)
        return Outcome(kind, status or raw.status, words, shape=shape, is_late=True)
    if peek and raw.body:
        return Outcome("accepted", raw.status)
    if not response.ended:
        return Outcome("failed", raw.status, "the answer was cut")
    is_streamed = not isinstance(value, dict)
    return Outcome(
        "accepted",
        raw.status,
        response=response,
        body=value,
        complaints=_complaints(raw.body, target) if is_streamed else (),
    )


def _is_count(wire: Wire, target: Target) -> bool:
    at = dialect_named(target.dialect).counts_at
    return bool(at) and urlsplit(wire.url).path.endswith(at[1] if at else "")


def _complaints(body: bytes, target: Target) -> tuple[str, ...]:
    """The rules of the dialect's grammar that a stream breaks; those that its host is recorded to break are tolerated."""
    host = target.host
    if host and host.envelope:
        return ()
    framing = AnyFraming()
    try:
        frames = [*framing.feed(body), *framing.finish()]
    except (FrameError, DecodeError):
        return ("framing",)
    grammar = dialect_named(target.dialect).grammar(target.provider)
    return tuple(dict.fromkeys(complaint.rule for complaint in grammar.check(frames)))


def _json(body: bytes) -> Any:
    try:
        return load_json(body)
    except ValueError:
        return None


def _shape(value: Any, depth: int = 0) -> str:
    """The members of an error's body: {error{code,message}}."""
    if isinstance(value, list):
        return f"[{_shape(value[0], depth + 1)}]" if value and depth < 3 else "[]"
    members = as_dict(value)
    if not members:
        return "text" if depth == 0 else ""
    inner = (
        f"{name}{_shape(item, depth + 1) if isinstance(item, (dict, list)) and depth < 2 else ''}"
        for name, item in sorted(members.items())
    )
    return "{" + ",".join(inner) + "}"


_NUMBER = re.compile(r"\d+")
_QUOTED_ID = re.compile(r"\b(?:toolu|call|rs|fc|msg|req|resp|id)_\w+")


def plain_words(words: str, model: str) -> str:
    """The words of a refusal without what differs every time: ids, numbers, the model's name."""
    text = _QUOTED_ID.sub("ID", words.replace(model, "MODEL"))
    return " ".join(_NUMBER.sub("N", text).lower().split())
