"""`/view`: the viewer on the gateway's own port, for the folder of its request log.

Where callers need no key, everybody on this machine may view the requests, as they may send them. Elsewhere only the key of an owner opens
it: once, as `/view?key=...`; from then on a sealed cookie replaces it, so that neither the URL nor the browser has the key. Any worker can
open the cookie, and a revoked key stops working there as well.
"""

from __future__ import annotations

import asyncio
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from innervoice.gateway.callers import ANYBODY, Caller
from innervoice.gateway.client_stream import reply
from innervoice.gateway.endpoints import given_key
from innervoice.gateway.incoming import Receive, Send, check_host
from innervoice.gateway.limits import LIMITS
from innervoice.memory.sealed_store import Sealing
from innervoice.wire.refusals import Refusal, Refused

if TYPE_CHECKING:
    from innervoice.gateway.callers import KnownCallers
    from innervoice.gateway.operations.request_log import GatewayLog

__all__ = ["PATH", "Viewing", "is_view"]

PATH = "/view"
_COOKIE = "innervoice-view"
_PLAIN = {
    "content-type": "text/plain; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_NOTHING = "this gateway keeps no requests for the viewer; start it with `innervoice serve --log full` to keep texts, or with `--log shape` for everything but texts (or set log in [server])"
_NOT_INSTALLED = (
    'the viewer is not installed; run on the gateway\'s machine: pip install "innervoice[view]"'
)
_NOT_AN_OWNER = "only owners of the gateway may view its requests; create a key for an owner with: innervoice keys add NAME --owner"
_NO_KEY = "this gateway has keys: open /view?key=KEY once, with the key of an owner (innervoice keys add NAME --owner)"


def is_view(path: str) -> bool:
    """Whether a path is the viewer's."""
    return path.startswith(PATH) and path[len(PATH) : len(PATH) + 1] in ("", "/")


class Viewing:
    """The viewer of one process; its application is created on first use."""

    def __init__(
        self, callers: KnownCallers, log: GatewayLog | None, key: bytes, *older: bytes
    ) -> None:
        self._callers = callers
        self._log = log
        self._sealing = Sealing(b"iv", "viewer", key, *older)
        self._app: Any = None

    async def answer(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answers a request below `/view`."""
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        query = scope.get("query_string", b"").decode("latin-1")
        try:
            key = given_key(headers, query)
            if await self._caller(key or self._from_cookie(headers)) is ANYBODY:
                key = None
                check_host(headers.get("host", ""))
            pairs = parse_qsl(query, keep_blank_values=True)
            has_key = any(name == "key" for name, _ in pairs)
            if scope["path"] == PATH or has_key:
                await self._lead(scope, send, pairs, key if has_key else None)
                return
            app = await self._application()
        except Refused as error:
            refusal = error.refusal
            await reply(send, refusal.status, _PLAIN, f"{refusal.text}\n".encode())
            return
        root = scope.get("root_path", "") + PATH
        await app({"scheme": "http", **scope, "root_path": root}, receive, send)

    def close(self) -> None:
        """Ends the streams of the viewers, because the server stops."""
        if self._app is not None:
            self._app.state.live.close()

    async def _caller(self, key: str | None) -> Caller:
        try:
            caller = await self._callers.of(key)
        except Refused as error:
            if key is None and error.refusal.status == 401:
                raise Refused(Refusal(text=_NO_KEY, status=401)) from None
            raise
        if caller is not ANYBODY and not caller.owns_gateway:
            raise Refused(Refusal(text=_NOT_AN_OWNER, status=403))
        return caller

    async def _lead(
        self, scope: dict[str, Any], send: Send, pairs: list[tuple[str, str]], key: str | None
    ) -> None:
        """Redirects to the page, at a URL without the key."""
        rest = urlencode([(name, value) for name, value in pairs if name != "key"])
        path = scope["path"] if scope["path"] != PATH else f"{PATH}/"
        path = scope.get("root_path", "") + path
        headers = {**_PLAIN, "location": f"{path}?{rest}" if rest else path}
        if key is not None:
            place = scope.get("root_path", "") + PATH
            secure = "; Secure" if scope.get("scheme") == "https" else ""
            headers["set-cookie"] = (
                f"{_cookie_name(scope)}={self._sealed(key)}; Path={place}; Max-Age={LIMITS.view_seconds}; HttpOnly; SameSite=Strict{secure}"
            )
        await reply(send, 303, headers, b"")

    def _sealed(self, key: str) -> str:
        data = f"{int(time.time()) + LIMITS.view_seconds} {key}".encode("utf-8", "surrogatepass")
        return urlsafe_b64encode(self._sealing.seal(data, "cookie")).decode().rstrip("=")

    def _from_cookie(self, headers: Mapping[str, str]) -> str | None:
        """The key that a cookie stands for; None if there is none that is still valid."""
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return None
        for name, cookie in cookies.items():
            if name.startswith(_COOKIE) and (key := self._opened(cookie.value)):
                return key
        return None

    def _opened(self, text: str) -> str | None:
        try:
            data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            return None
        opened = self._sealing.open(data, "cookie")
        if opened is None:
            return None
        until, _, key = opened.decode("utf-8", "surrogatepass").partition(" ")
        return key if int(until) > time.time() else None

    async def _application(self) -> Any:
        if self._app is None:
            if self._log is None or (self._log.level == "none" and not _has_files(self._log)):
                raise Refused(Refusal(text=_NOTHING, status=404))
            # Importing its modules takes a moment; streams continue meanwhile.
            self._app = await asyncio.to_thread(self._new_app, self._log)
        return self._app

    def _new_app(self, log: GatewayLog) -> Any:
        try:
            app, library = (
                import_module("innervoice.view.app"),
                import_module("innervoice.view.library"),
            )
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "innervoice":
                raise
            raise Refused(Refusal(text=_NOT_INSTALLED, status=501)) from None
        settings = import_module("innervoice.view.server").Settings()
        log.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return app.create_app(library.Library([log.folder]), settings)


def _has_files(log: GatewayLog) -> bool:
    return log.folder.is_dir() and any(log.folder.iterdir())


def _cookie_name(scope: dict[str, Any]) -> str:
    """Browsers do not tell cookies of two ports apart, so the port is in the name."""
    server = scope.get("server")
    return f"{_COOKIE}-{server[1] if server else 0}"
