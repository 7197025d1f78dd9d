"""Who may see the page, and what a browser may do with it.

Any content of a log is opened on a developer's machine. Other web pages in the same browser must not reach it (DNS rebinding,
requests from other pages, frames), and nothing that a model wrote may run or connect to the network (the policy of `HEADERS`).
"""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from innervoice.canon.jsontext import dump_json
from innervoice.canon.value import Value
from innervoice.show.policy import Policy

__all__ = ["HEADERS", "Guard", "Settings", "is_loopback", "new_token"]

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Sent with every response, including refusals."""

_METHODS = ("GET", "HEAD")
_HOST = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[^:@/\[\]]+))(?::(?P<port>\d+))?")
_OWN_SITES = ("same-origin", "none")
"""Values of `Sec-Fetch-Site`; a page on another port of this machine is `same-site`, and is refused."""


def new_token() -> str:
    """A token for the first URL of a viewer."""
    return secrets.token_urlsafe(24)


def is_loopback(host: str) -> bool:
    """Whether an address or a name is this machine, and only this machine."""
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


class Guard:
    """Passes a request on to the application, or refuses it with a sentence."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await (self._answer(scope) or self._app)(scope, receive, send_guarded)

    def _answer(self, scope: Scope) -> Response | None:
        """A response without the application: a refusal, or the redirect to the page without the token."""
        headers = Headers(scope=scope)
        if scope["method"] not in _METHODS:
            refusal = _refusal(405, "The viewer is read-only: it accepts GET and HEAD.")
            refusal.headers["allow"] = ", ".join(_METHODS)
            return refusal
        if (why := self._foreign(scope, headers)) is not None:
            return _refusal(403, why)
        return self._unknown(scope, headers)

    def _foreign(self, scope: Scope, headers: Headers) -> str | None:
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self._is_own(host, scope):
            return (
                "The viewer does not accept this host name; use the URL that the command printed."
            )
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"{scope['scheme']}://{host}".lower():
            return "Requests from another web page are refused."
        if headers.get("sec-fetch-site", "none") not in _OWN_SITES:
            return "Another web page linked here; type or paste the URL that the command printed."
        return None

    def _is_own(self, host: str, scope: Scope) -> bool:
        if self._settings.hosts is None:
            return True
        name, port = _name_and_port(host)
        server = scope.get("server")
        if port is not None and server and server[1] is not None and port != str(server[1]):
            return False
        address = _address(name)
        if address is not None:
            return address.is_loopback or not self._settings.only_loopback
        return name.lower() in _lowered(self._settings.hosts)

    def _unknown(self, scope: Scope, headers: Headers) -> Response | None:
        """A request with the token gets it as a cookie; a request with neither is refused."""
        token = self._settings.token
        if token is None:
            return None
        name = _cookie_name(scope)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        path = scope["path"]
        root = scope.get("root_path", "")
        if path in ("/", root, f"{root}/"):
            tokens = [value for key, value in query if key == "token"]
            if tokens and _is_same(tokens[0], token):
                return _way_to_the_page(f"{root}/", name, token, query)
        if _is_same(_cookie(headers, name), token):
            return None
        return _refusal(403, "This needs the URL that the command printed, with its token.")


def _way_to_the_page(
    path: str, cookie: str, token: str, query: Iterable[tuple[str, str]]
) -> Response:
    rest = urlencode([(key, value) for key, value in query if key != "token"])
    response = Response(status_code=303)
    response.headers["location"] = f"{path}?{rest}" if rest else path
    response.set_cookie(cookie, token, path=path, httponly=True, samesite="strict")
    return response


def _refusal(status: int, why: str) -> Response:
    return Response(dump_json({"error": why}), status, media_type="application/json")


def _is_same(text: str, token: str) -> bool:
    return secrets.compare_digest(text.encode(), token.encode())


def _cookie_name(scope: Scope) -> str:
    """Browsers do not tell cookies of two ports apart, so the port is in the name."""
    server = scope.get("server")
    return f"innervoice-view-{server[1] if server else 0}"


def _cookie(headers: Headers, name: str) -> str:
    for line in headers.getlist("cookie"):
        try:
            cookies = SimpleCookie(line)
        except CookieError:
            continue
        if name in cookies:
            return cookies[name].value
    return ""


def _name_and_port(host: str) -> tuple[str, str | None]:
    """The two parts of a Host header; "" for an invalid one."""
    match = _HOST.fullmatch(host)
    return (match["six"] or match["name"], match["port"]) if match else ("", None)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _lowered(names: Iterable[str]) -> set[str]:
    return {name.lower() for name in names}


# ---- The settings of a viewer.


class Settings(Value, frozen=True, kw_only=True):
    """The choices of the user who starts a viewer, and who may access it."""

    policy: Policy = "summary"
    """How much of a thought is open at first."""
    target: str | None = None
    """The model whose plan is suggested, as provider/model."""
    token: str | None = None
    """The token that the first URL must contain; None where access was already checked."""
    hosts: tuple[str, ...] | None = None
    """The accepted host names, in addition to IP addresses; None where host names are checked elsewhere."""
    only_loopback: bool = True
    """Whether an IP address must be one of this machine."""
    is_live: bool = True
