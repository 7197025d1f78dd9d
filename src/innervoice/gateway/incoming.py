"""One HTTP request of a client: its head and its body, checked against the limits before any work is done with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import lru_cache
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from innervoice.client.proxies import is_loopback
from innervoice.gateway.limits import Limits
from innervoice.wire.dialects import HISTORY_MEMBERS
from innervoice.wire.refusals import Headers, Refusal, Refused, bounded

__all__ = [
    "ON_GONE",
    "WRITE_NOW",
    "Incoming",
    "Receive",
    "Scope",
    "Send",
    "WriteNow",
    "check_framing",
    "check_head",
    "check_host",
    "check_page",
    "checked_body",
    "unless_gone",
]

ON_GONE = "innervoice.on_gone"
WRITE_NOW = "innervoice.write_now"
"""Members of a scope that our own server adds."""
Scope: TypeAlias = dict[str, Any]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
WriteNow: TypeAlias = Callable[[bytes], bool]
"""Writes a piece of a streamed answer in this step of the event loop; returns False if the client is slow or gone."""
Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]

_LOOK_UPS = ("GET", "HEAD", "DELETE", "OPTIONS")
_ODD_TYPES = frozenset({"", "text/plain", "application/x-www-form-urlencoded", "application/octet-stream"})  # fmt: skip
"""What programs send with JSON if they do not set the type: nothing, curl -d, HTTP libraries with their default."""


class Incoming:
    """One HTTP request of a client."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.path: str = (
            (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
        )
        self.query: str = scope.get("query_string", b"").decode("latin-1")
        self.scheme: str = scope.get("scheme", "http")
        self.version: str = scope.get("http_version", "")
        self._pairs = scope["headers"]
        # ASGI has their names in lower case.
        self.headers = {str(name, "latin-1"): str(value, "latin-1") for name, value in self._pairs}
        self.on_gone: list[Callable[[], None]] | None = scope.get(ON_GONE)
        """What our own server calls when the client disconnects; with others a task has to wait for that."""
        self.write_now: WriteNow | None = scope.get(WRITE_NOW)
        self.receive = receive
        self.has_begun = False
        """Whether an answer was begun."""
        self._send = send
        self.is_socket = scope["type"] == "websocket"

    async def send(self, message: dict[str, Any]) -> None:
        """Sends a message of an answer."""
        self.has_begun = True
        await self._send(message)

    @property
    def may_answer(self) -> bool:
        """True if a model may answer: for anything but a request that only looks up or deletes."""
        return self.is_socket or self.method.upper() not in _LOOK_UPS

    def check_hosts(self) -> None:
        """Raises `Refused` for a request of HTTP/1.1 without a host header, or with several: servers on the way may disagree about where it goes."""
        hosts = [name for name, _ in self._pairs].count(b"host")
        if hosts > 1 or (self.version == "1.1" and not hosts):
            text = f"expected one host header, got {hosts or 'none'}"
            raise Refused(Refusal(text=text))

    async def body(self, limits: Limits) -> bytes:
        """The body; raises `Refused` for one that is too slow. One that is too large is read up to the limit, and refused where it is used."""
        task, is_late = asyncio.current_task(), False
        assert task is not None

        def expire() -> None:
            nonlocal is_late
            is_late = True
            task.cancel()

        # `asyncio.timeout` does the same, and takes as long as reading most bodies.
        timer = asyncio.get_running_loop().call_later(limits.body_seconds, expire)
        try:
            return await self._whole_body(limits.body_bytes)
        except asyncio.CancelledError:
            if not is_late:
                raise
            task.uncancel()
            text = f"the body did not arrive within {limits.body_seconds:g} s"
            raise Refused(Refusal(text=text, status=408)) from None
        finally:
            timer.cancel()

    async def _whole_body(self, most: int) -> bytes:
        body = bytearray()
        while len(body) <= most:
            message = await self.receive()
            if not message.get("more_body"):
                last = message.get("body", b"")
                return bytes(body + last) if body else bytes(last)
            body += message.get("body", b"")
        return bytes(body)


def check_head(headers: Headers, limits: Limits) -> None:
    """Raises `Refused` for a request with a body whose headers already show that it cannot be served; header names are in lower case."""
    check_framing(headers, limits)
    length = headers.get("content-length", "0").strip()
    if not (length.isascii() and length.isdecimal()):
        raise Refused(Refusal(text="content-length must be a number"))
    # The number is first compared by its count of digits: a very long one is not worth parsing.
    if len(length.lstrip("0")) > 18 or int(length) > limits.body_bytes:
        raise _too_large(limits)
    _check_type(headers)
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        # A small body may decompress to a huge one.
        text = f"the body must not be compressed; content-encoding is {_quoted(encoding)}"
        raise Refused(Refusal(text=text, status=415, headers={"accept-encoding": "identity"}))


def check_framing(headers: Headers, limits: Limits) -> None:
    """Raises `Refused` for a request with too many headers, or whose end is unclear."""
    size = sum(map(len, headers)) + sum(map(len, headers.values()))
    if size > limits.header_bytes:
        text = f"the headers have {size} bytes; at most {limits.header_bytes} are accepted"
        raise Refused(Refusal(text=text, status=431))
    if "transfer-encoding" in headers and "content-length" in headers:
        # Servers on the way may disagree about where such a request ends.
        text = "a request has either content-length or transfer-encoding, not both"
        raise Refused(Refusal(text=text))


@lru_cache(maxsize=64)
def _is_this_machine(host: str) -> bool:
    return is_loopback(urlsplit(f"//{host}").hostname or "")


def check_host(host: str) -> None:
    """Raises `Refused` for a request that does not name this machine. Where no key is needed, a web page whose host name was made to resolve
    to this machine could otherwise use the gateway with the user's keys (DNS rebinding)."""
    try:
        is_here = not host or _is_this_machine(host)
    except ValueError:
        is_here = False
    if not is_here:
        text = f"expected localhost or a loopback address in the host header, got {_quoted(host)}; with callers' keys (innervoice keys add) any host name is accepted"
        raise Refused(Refusal(text=text, status=403))


def check_page(incoming: Incoming, *, is_local: bool, is_read: bool) -> None:
    """Raises `Refused` for a request that any web page could send in the browser of a user of this gateway.

    Where no key is needed (`is_local`), a page may not use what is only passed on, nor a WebSocket. What the gateway reads (`is_read`) a page sends as JSON,
    for which its browser asks before: a page may send other types to any address, also to the user's own computer.
    """
    headers = incoming.headers
    is_of_page = "origin" in headers or headers.get("sec-fetch-site", "none") not in ("none", "same-origin")  # fmt: skip
    if not is_of_page:
        return
    if is_local and (incoming.is_socket or not is_read):
        text = "expected a request of a program, got one of a web page; with callers' keys (innervoice keys add) pages are served as well"
        raise Refused(Refusal(text=text, status=403))
    if is_read and incoming.may_answer and not incoming.is_socket and not _is_json(headers):
        text = "content-type must be application/json in a request from a web page"
        raise Refused(Refusal(text=text, status=415))


def _is_json(headers: Headers) -> bool:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind.endswith(("/json", "+json"))


def _check_type(headers: Headers) -> None:
    media_type = headers.get("content-type", "")
    kind = media_type.partition(";")[0].strip().lower()
    if not _is_json(headers) and kind not in _ODD_TYPES:
        text = f"content-type must be application/json, not {_quoted(media_type)}"
        raise Refused(Refusal(text=text, status=415))


def checked_body(body: bytes, limits: Limits) -> dict[str, Any]:
    """The JSON object of a body; raises `Refused` with the position of a syntax error, or for a body that exceeds the limits."""
    if len(body) > limits.body_bytes:
        raise _too_large(limits)
    if not body.strip():
        raise Refused(Refusal(text="the body is empty; a JSON object is expected"))
    try:
        body.decode()  # what is read more leniently elsewhere, such as a lone surrogate, no provider takes
        value = bounded(body, most=limits.body_bytes, deepest=limits.depth)
    except ValueError as error:
        text = f"the body is not valid JSON: {_place(error)}"
        raise Refused(Refusal(text=text)) from None
    if not isinstance(value, dict):
        text = f"the body must be a JSON object, not {_KINDS.get(type(value), 'a number')}"
        raise Refused(Refusal(text=text))
    for name in HISTORY_MEMBERS:
        member = value.get(name)
        if isinstance(member, list) and len(member) > limits.messages:
            text = f"{name} has {len(member)} items; at most {limits.messages} are accepted"
            raise Refused(Refusal(text=text, status=413, param=name))
    return value


_KINDS: dict[type, str] = {
    list: "a list",
    str: "a string",
    bool: "a boolean",
    type(None): "null",
}


def _too_large(limits: Limits) -> Refused:
    text = f"the body is too large; at most {limits.body_bytes} bytes are accepted"
    return Refused(Refusal(text=text, status=413))


def _place(error: ValueError) -> str:
    """What is wrong and where: line, column and character, or the byte that is not UTF-8. Nothing of the body itself is quoted."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    return str(error)


def _quoted(value: str) -> str:
    return repr(value[:100])


async def unless_gone(
    work: Coroutine[Any, Any, None],
    receive: Receive,
    on_gone: list[Callable[[], None]] | None = None,
) -> bool:
    """Runs the work; returns whether it finished before the client disconnected, which cancels it at once.

    With `on_gone` the server calls what is in that list; otherwise a task waits for the disconnection.
    """
    task = asyncio.current_task()
    assert task is not None
    is_gone = False

    def leave() -> None:
        nonlocal is_gone
        is_gone = True
        task.cancel()

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        leave()

    watching = None
    if on_gone is None:
        watching = asyncio.get_running_loop().create_task(watch())
    else:
        on_gone.append(leave)
    try:
        await work
    except asyncio.CancelledError:
        if not is_gone:
            raise
        task.uncancel()
        return False
    finally:
        if watching is not None:
            watching.cancel()
        elif on_gone is not None:
            on_gone.remove(leave)
    return True
