"""`/view`: the viewer on the gateway's own port, for the folder of its request log.

Where callers need no key, everybody on this machine may view the requests, as they may send them. Elsewhere a key opens it: that of an owner
shows everything, any other one the requests of its caller alone. It is sent once, as `/view?key=...`; from then on a sealed cookie replaces
it, so that neither the URL nor the browser has the key. Any worker can open the cookie, and a revoked key stops working there as well.
"""

from __future__ import annotations

import asyncio
import re
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from innervoice.gateway.callers import ANYBODY, Caller
from innervoice.gateway.client_stream import reply
from innervoice.gateway.credentials import sent_keys
from innervoice.gateway.incoming import Receive, Send, check_host
from innervoice.gateway.limits import LIMITS
from innervoice.memory.sealed_store import Sealing
from innervoice.wire.refusals import Refusal, Refused

if TYPE_CHECKING:
    from innervoice.gateway.callers import KnownCallers
    from innervoice.gateway.operations.metrics import Metrics
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
_OTHER_PAGE = "; /view/usage shows the totals since it started"
_NOT_INSTALLED = (
    "the viewer is not installed; whoever runs this gateway installs it with the extra [view]"
)
_NO_KEY = "this gateway has keys: open /view?key=KEY once; a key shows the requests of its caller, and the key of an owner (innervoice keys add NAME --owner) those of all"
_WITHOUT_LOG = ("/usage", "/api/usage", "/api/usage.csv", "/assets/")
"""The paths that need no log."""
_MOST_APPS = 32
"""Callers whose viewers are kept at a time."""


def is_view(path: str) -> bool:
    """Whether a path is the viewer's."""
    return path.startswith(PATH) and path[len(PATH) : len(PATH) + 1] in ("", "/")


class Viewing:
    """The viewers of one process: one for the owners, and one for each other caller that looks; created on first use."""

    def __init__(
        self,
        callers: KnownCallers,
        log: GatewayLog | None,
        metrics: Metrics,
        key: bytes,
        *older: bytes,
    ) -> None:
        self._callers = callers
        self._log = log
        self._metrics = metrics
        self._since = time.time()
        self._sealing = Sealing(b"iv", "viewer", key, *older)
        self._apps: OrderedDict[str | None, Any] = OrderedDict()
        """By the tenant whose requests they show; None: those of all."""

    async def answer(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answers a request below `/view`."""
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        query = scope.get("query_string", b"").decode("latin-1")
        try:
            key = self._callers.key_among([sent.value for sent in sent_keys(headers, query)])
            caller = await self._caller(key or self._from_cookie(headers))
            if caller is ANYBODY:
                key = None
                check_host(headers.get("host", ""))
            pairs = parse_qsl(query, keep_blank_values=True)
            has_key = any(name == "key" for name, _ in pairs)
            if scope["path"] == PATH or has_key:
                await self._lead(scope, send, pairs, key if has_key else None)
                return
            sees_all = caller is ANYBODY or caller.owns_gateway
            app = await self._application(None if sees_all else caller.name, scope["path"])
        except Refused as error:
            refusal = error.refusal
            await reply(send, refusal.status, _PLAIN, f"{refusal.text}\n".encode())
            return
        root = scope.get("root_path", "") + PATH
        await app({"scheme": "http", **scope, "root_path": root}, receive, send)

    def close(self) -> None:
        """Ends the streams of the viewers, because the server stops."""
        for app in self._apps.values():
            app.state.live.close()

    async def _caller(self, key: str | None) -> Caller:
        try:
            return await self._callers.of(key)
        except Refused as error:
            if key is None and error.refusal.status == 401:
                raise Refused(Refusal(text=_NO_KEY, status=401)) from None
            raise

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

    async def _application(self, tenant: str | None, path: str) -> Any:
        """The viewer of a tenant, or that of all; without a log, only what the metrics know, and only for owners."""
        if not self._has_log:
            if tenant is not None:
                raise Refused(Refusal(text=_NOTHING, status=404))
            if not path.removeprefix(PATH).startswith(_WITHOUT_LOG):
                raise Refused(Refusal(text=_NOTHING + _OTHER_PAGE, status=404))
        if tenant not in self._apps:
            # Importing its modules and reading a log take a moment; streams continue meanwhile.
            app = await asyncio.to_thread(self._new_app, tenant)
            self._apps.setdefault(tenant, app)
        self._apps.move_to_end(tenant)
        app = self._apps[tenant]
        while len(self._apps) > _MOST_APPS:
            _, oldest = self._apps.popitem(last=False)
            oldest.state.live.close()
        return app

    @property
    def _has_log(self) -> bool:
        return self._log is not None and (self._log.level != "none" or _has_files(self._log))

    def _new_app(self, tenant: str | None) -> Any:
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
        folders = []
        if self._log is not None:
            self._log.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folders = [self._log.folder]
        metrics = self._totals if tenant is None else lambda: None
        return app.create_app(library.Library(folders, tenant=tenant), settings, metrics)

    def _totals(self) -> dict[str, Any] | None:
        """What the metrics know, while no request is logged; None while requests are."""
        if self._log is not None and self._log.level != "none":
            return None
        return {"since": self._since, "providers": _totals_of(self._metrics.page())}


def _has_files(log: GatewayLog) -> bool:
    return log.folder.is_dir() and any(log.folder.iterdir())


def _cookie_name(scope: dict[str, Any]) -> str:
    """Browsers do not tell cookies of two ports apart, so the port is in the name."""
    server = scope.get("server")
    return f"{_COOKIE}-{server[1] if server else 0}"


# ---- The page of metrics -> totals by provider.


_SAMPLE = re.compile(r"(?P<name>\w+)\{(?P<labels>.*)\} (?P<value>\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_TOTALS = {
    "innervoice_requests_total": "requests",
    "innervoice_errors_total": "errors",
    "innervoice_tokens_total": None,
    "innervoice_reasoning_total": None,
}
"""The families that are shown, and as what; None: as their label `kind` or `outcome` says."""


def _totals_of(page: str) -> list[dict[str, Any]]:
    totals: dict[str, dict[str, Any]] = {}
    for line in page.splitlines():
        sample = _SAMPLE.fullmatch(line)
        if sample is None or sample["name"] not in _TOTALS:
            continue
        labels = dict(_LABEL.findall(sample["labels"]))
        name = _TOTALS[sample["name"]] or labels.get("kind") or labels["outcome"]
        counts = totals.setdefault(labels["provider"], {"provider": labels["provider"]})
        counts[name] = counts.get(name, 0) + int(float(sample["value"]))
    return sorted(totals.values(), key=lambda counts: -counts.get("requests", 0))
