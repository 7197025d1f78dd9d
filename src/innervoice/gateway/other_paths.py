"""Other paths of a provider's API: embeddings, files, batches, audio. They go to that provider as they came.

    /openai/v1/embeddings     the first word names a provider or an upstream
    /v1/embeddings            the one that `other_paths` in [server] names

Bodies are passed on in both directions while they arrive, so that their size does not matter. Only headers with a row here are passed on; the
provider's key is added, or the caller's own where the upstream takes that. The host is always that of the upstream, and a redirect is not
followed. WebSockets: `websockets.py`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.usage import Usage
from innervoice.client.auth import Outgoing
from innervoice.errors import InnervoiceError, UsageError
from innervoice.gateway.callers import check_model
from innervoice.gateway.config.names import split_name
from innervoice.gateway.credentials import with_credential
from innervoice.gateway.gateway_members import passed_back
from innervoice.gateway.incoming import Incoming, Receive, check_framing, unless_gone
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.routes import Route
from innervoice.wire.json_access import as_count, as_dict, as_text
from innervoice.wire.refusals import Refusal, Refused

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Admitted, Gateway
    from innervoice.gateway.report import Report
    from innervoice.gateway.routes import Routes
    from innervoice.gateway.upstreams import Candidate

__all__ = ["OtherPath", "OtherPaths", "other_path_of", "url_of"]

_VERSION = re.compile(r"v[0-9]+[a-z0-9]*")
_BEFORE_VERSIONS = ("upload", "download")
"""Words that stand before the version in paths of Google's APIs."""
_UNSAFE = re.compile(r"(?:^|/)(?:\.|%2e){1,2}(?:/|$)|//|\\|%5c|%2f|[\x00-\x20\x7f]", re.IGNORECASE)
"""What could lead out of the upstream's path, or be read differently on the way."""
_SENT = frozenset(
    {
        "accept", "anthropic-beta", "anthropic-version", "content-disposition", "content-encoding", "content-length", "content-md5",
        "content-range", "content-type", "idempotency-key", "if-match", "if-none-match", "openai-beta", "range", "traceparent", "tracestate",
    }
)  # fmt: skip
_RETURNED = frozenset(
    {
        "accept-ranges", "cache-control", "content-disposition", "content-encoding", "content-length", "content-range", "content-type", "etag",
        "last-modified",
    }
)  # fmt: skip
_UPLOAD = "x-goog-upload-"
"""Google's protocol for uploads, in headers of both directions."""
_UPLOAD_URL = f"{_UPLOAD}url"
"""Where its clients send the parts of a file: an address at Google, which is replaced by one here."""
_WITH_MODEL = (
    "audio/speech", "completions", "embeddings", "fim/completions", "images/generations", "moderations", "ocr", "rerank",
)  # fmt: skip
"""Paths whose body is JSON with the member `model`."""


class OtherPath(NamedTuple):
    """A path that goes to a provider as it came."""

    upstream: str
    """The name of the provider or upstream."""
    path: str
    """The path behind that name, with a slash at its beginning."""
    is_named: bool
    """Whether the path began with that name."""


def other_path_of(path: str, routes: Routes, usual: str | None) -> OtherPath | None:
    """Where a path goes that the gateway does not serve itself; None: nowhere. `usual` is the upstream for paths that name none."""
    word, _, rest = path.removeprefix("/").partition("/")
    if rest and routes.has_upstream(word):
        place = OtherPath(word, f"/{rest}", is_named=True)
    elif usual is not None:
        place = OtherPath(usual, path, is_named=False)
    else:
        return None
    is_safe = place.path.strip("/") and not _UNSAFE.search(place.path)
    return place if is_safe else None


def url_of(base_url: str, path: str) -> str:
    """The URL of a path at an upstream. A version at the end of the base URL counts only for a path that has none."""
    base = base_url.rstrip("/")
    words = path.strip("/").split("/")
    first = words[1] if words[0] in _BEFORE_VERSIONS and len(words) > 1 else words[0]
    if _VERSION.fullmatch(first):
        base = _unversioned(base)
    return f"{base}{path}"


def _unversioned(base: str) -> str:
    root, _, last = base.rpartition("/")
    return root if _VERSION.fullmatch(last) else base


class OtherPaths:
    """Passes requests on; one pool of connections for a process."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._session: Any = None

    async def serve(
        self, incoming: Incoming, place: OtherPath, admitted: Admitted, report: Report
    ) -> bool:
        """Sends the provider's answer to the client; returns False if the client disconnected before its end.

        Raises `Refused` if the request cannot be sent, or the provider cannot be reached.
        """
        check_framing(incoming.headers, self._gateway.limits)
        body = _Body(incoming)
        model = await self._model(incoming, body, place, admitted)
        candidate = self.candidate(place, admitted, model)
        report.provider, report.model = candidate.target.provider or "", model or ""
        report.account, report.attempts = candidate.account.name, 1
        host = candidate.target.host
        if host is not None and host.aws_service:
            await body.read(self._gateway.limits.body_bytes)  # which the signature covers
        outgoing = await self.outgoing(incoming, place, candidate, body.whole)
        if self._gateway.routes.is_emulated:
            await self._pass_embedded(incoming, report, outgoing, body)
            return True
        work = self._pass(incoming, report, outgoing, body, _Passage(candidate, place))
        return await unless_gone(work, body.after)

    async def close(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()

    # ---- where it goes -------------------------------------------------------------------------

    def candidate(self, place: OtherPath, admitted: Admitted, model: str | None) -> Candidate:
        """The upstream with the account that is called: always the first, since files and batches belong to one.

        Raises `Refused` if it cannot be called.
        """
        name = f"{place.upstream}/{model or 'other'}"
        try:
            candidates = self._gateway.routes.candidates_of(name)
        except InnervoiceError as error:
            headers = {"x-should-retry": "false"}
            code = "provider_not_configured"
            raise Refused(Refusal(text=str(error), code=code, headers=headers)) from None
        return with_credential(Route(name, candidates), admitted.credential).candidates[0]

    async def outgoing(
        self, incoming: Incoming, place: OtherPath, candidate: Candidate, whole: bytes | None
    ) -> Outgoing:
        """The request as it is sent, with the key; `whole` is its body, if it was read."""
        headers = _picked(incoming.headers, _SENT)
        if whole is not None:
            headers["content-length"] = str(len(whole))
        headers |= dict(candidate.headers)
        url = url_of(candidate.base_url, place.path) + _query(incoming.query)
        outgoing = Outgoing(incoming.method, url, headers, whole or b"")
        keyring, destination = candidate.account.keyring, candidate.destination
        if keyring.may_block(destination):
            headers |= await asyncio.to_thread(keyring.headers, destination, outgoing)
        else:
            headers |= keyring.headers(destination, outgoing)
        return outgoing

    async def _model(
        self, incoming: Incoming, body: _Body, place: OtherPath, admitted: Admitted
    ) -> str | None:
        """The model that a body names, as its host spells it; None where the body is not read."""
        kind = incoming.headers.get("content-type", "").partition(";")[0].strip().lower()
        words = place.path.strip("/").split("/")
        plain = "/".join(words[1:] if _VERSION.fullmatch(words[0]) else words)
        if plain not in _WITH_MODEL or kind != "application/json" or incoming.method != "POST":
            return None
        data = await body.read(self._gateway.limits.body_bytes)
        try:
            value = as_dict(load_json(data))
        except ValueError:
            return None  # the provider says what is wrong with it
        name = as_text(value.get("model"))
        if name is None:
            return None
        check_model(admitted.caller, name)
        model = self._model_at(place.upstream, name)
        if model != name:
            body.whole = dump_json({**value, "model": model})
        return model

    def _model_at(self, upstream: str, name: str) -> str:
        """A model's name as the upstream spells it: without the provider, or what an entry of [[models]] reaches there."""
        routes = self._gateway.routes
        try:
            targets = [candidate.target for candidate in routes.route(name).candidates]
        except UsageError:
            parsed = split_name(name)
            is_here = parsed is not None and routes.is_same(parsed.provider, upstream)
            return parsed.model if parsed and is_here else name
        here = (one.model for one in targets if routes.is_same(one.provider or "", upstream))
        return next(here, name)

    # ---- passing on ----------------------------------------------------------------------------

    async def _pass(
        self,
        incoming: Incoming,
        report: Report,
        outgoing: Outgoing,
        body: _Body,
        passage: _Passage,
    ) -> None:
        aiohttp, provider = import_module("aiohttp"), report.provider
        server = self._gateway.config.server
        try:
            answer = await self.session().request(
                outgoing.method,
                import_module("yarl").URL(outgoing.url, encoded=True),
                headers=outgoing.headers,
                data=body.data(),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(
                    total=None,
                    sock_connect=server.connect_seconds,
                    sock_read=server.first_byte_seconds,
                ),
            )
        except TimeoutError:
            raise Refused(Refusal(text=f"{provider}: no answer in time", status=504)) from None
        except (OSError, aiohttp.ClientError):
            if body.refusal is not None:
                raise Refused(body.refusal) from None
            raise Refused(Refusal(text=f"{provider}: connection failed", status=502)) from None
        try:
            if 300 <= answer.status < 400 and answer.status != 304:
                text = f"{provider} answered with a redirect, which is not followed"
                raise Refused(Refusal(text=text, status=502))
            await _return(incoming, report, answer, passage)
        finally:
            answer.close()

    async def _pass_embedded(
        self, incoming: Incoming, report: Report, outgoing: Outgoing, body: _Body
    ) -> None:
        """The same at an emulator in this process, which gets the whole body."""
        data = await body.read(self._gateway.limits.body_bytes)
        status, answer = await self._gateway.posted(outgoing._replace(body=data))
        report.status = status
        headers = {"content-type": "application/json", "x-innervoice-id": report.id}
        await _begin(incoming, status, headers)
        await incoming.send({"type": "http.response.body", "body": answer})

    def session(self) -> Any:
        """The connections to upstreams, which belong to the event loop in which they are first used."""
        if self._session is None:
            aiohttp = import_module("aiohttp")
            self._session = aiohttp.ClientSession(
                trust_env=True,
                auto_decompress=False,  # what the provider compressed stays so
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Accept-Encoding", "User-Agent", "Content-Type"),
            )
        return self._session


class _Passage(NamedTuple):
    candidate: Candidate
    place: OtherPath


async def _return(incoming: Incoming, report: Report, answer: Any, passage: _Passage) -> None:
    """Sends the provider's answer to the client, as it arrives."""
    lowered = {name.lower(): value for name, value in answer.headers.items()}
    headers = {**passed_back(lowered), **_picked(lowered, _RETURNED)}
    if _UPLOAD_URL in headers:
        headers[_UPLOAD_URL] = _upload_url(headers[_UPLOAD_URL], incoming, passage)
    reader = _UsageReader(headers.get("content-type", ""))
    report.status = answer.status
    await _begin(incoming, answer.status, {**headers, "x-innervoice-id": report.id})
    async for piece in answer.content.iter_any():
        reader.add(piece)
        await incoming.send({"type": "http.response.body", "body": piece, "more_body": True})
    report.usage = reader.usage()
    await incoming.send({"type": "http.response.body", "body": b""})


async def _begin(incoming: Incoming, status: int, headers: Mapping[str, str]) -> None:
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await incoming.send({"type": "http.response.start", "status": status, "headers": pairs})


# ---- the body of a request -------------------------------------------------------------------------


class _Body:
    """The body of a request, in the pieces in which it arrives; it is held as a whole only where it must be read."""

    def __init__(self, incoming: Incoming) -> None:
        headers = incoming.headers
        self.whole: bytes | None = None
        self.refusal: Refusal | None = None
        """Why the client's body could not be passed on."""
        self._receive: Receive = incoming.receive
        length = headers.get("content-length", "0").strip()
        self._is_empty = "transfer-encoding" not in headers and length in ("", "0")
        self._end = asyncio.Event()
        if self._is_empty:
            self._end.set()

    async def read(self, most: int) -> bytes:
        """The whole body; raises `Refused` for one that is too large or too slow."""
        if self.whole is None:
            self.whole = b""
            pieces = [piece async for piece in self._pieces(most)] if not self._is_empty else []
            self.whole = b"".join(pieces)
        return self.whole

    def data(self) -> bytes | AsyncIterator[bytes] | None:
        """What is sent: nothing, the whole, or pieces as they arrive."""
        if self.whole is not None:
            return self.whole
        return None if self._is_empty else self._passed()

    async def after(self) -> dict[str, Any]:
        """The next message of the connection behind the body."""
        await self._end.wait()
        return await self._receive()

    async def _passed(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._pieces(LIMITS.upload_bytes):
                yield piece
        except Refused as error:
            self.refusal = error.refusal
            raise ConnectionError from None

    async def _pieces(self, most: int) -> AsyncIterator[bytes]:
        size, has_more = 0, True
        while has_more:
            try:
                async with asyncio.timeout(LIMITS.body_seconds):
                    message = await self._receive()
            except TimeoutError:
                text = f"nothing of the body arrived for {LIMITS.body_seconds:g} s"
                raise Refused(Refusal(text=text, status=408)) from None
            if message["type"] == "http.disconnect":
                raise Refused(Refusal(text="the client disconnected", status=499))
            piece, has_more = message.get("body", b""), bool(message.get("more_body"))
            size += len(piece)
            if size > most:
                text = f"the body is too large; at most {most} bytes are accepted"
                raise Refused(Refusal(text=text, status=413))
            if piece:
                yield piece
        self._end.set()


# ---- headers, queries and counts -------------------------------------------------------------------


def _picked(headers: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    return {
        name: value
        for name, value in headers.items()
        if name in names or name.startswith((_UPLOAD, "openai-processing"))
    }


def _query(query: str) -> str:
    """The query without the caller's key."""
    pairs = parse_qsl(query, keep_blank_values=True)
    others = [(name, value) for name, value in pairs if name != "key"]
    rest = query if len(others) == len(pairs) else urlencode(others)
    return f"?{rest}" if rest else ""


def _upload_url(url: str, incoming: Incoming, passage: _Passage) -> str:
    """The address at which the client goes on with an upload: the gateway's own, for the same path."""
    given, base = urlsplit(url), urlsplit(passage.candidate.base_url)
    if given.netloc != base.netloc:
        text = "the provider names another host for the upload, which is not called"
        raise Refused(Refusal(text=text, status=502))
    scheme = incoming.headers.get("x-forwarded-proto") or incoming.scheme
    prefix = f"/{passage.place.upstream}" if passage.place.is_named else ""
    path = given.path.removeprefix(_unversioned(base.path.rstrip("/")))
    return f"{scheme}://{incoming.headers.get('host', '')}{prefix}{path}?{given.query}"


class _UsageReader:
    """Reads the token counts of a small JSON answer that is passed on."""

    def __init__(self, content_type: str) -> None:
        self._data: bytearray | None = bytearray() if "json" in content_type else None

    def add(self, piece: bytes) -> None:
        """Adds a piece; an answer that is too large is not read."""
        if self._data is not None:
            self._data += piece
            if len(self._data) > LIMITS.counted_bytes:
                self._data = None

    def usage(self) -> Usage:
        """The counts; unknown ones are None."""
        try:
            counts = as_dict(as_dict(load_json(bytes(self._data or b"null"))).get("usage"))
        except ValueError:
            return Usage()
        received = as_count(counts.get("input_tokens", counts.get("prompt_tokens")))
        sent = as_count(counts.get("output_tokens", counts.get("completion_tokens")))
        if received is None:
            return Usage()
        return Usage(input_tokens=received, output_tokens=sent or 0)
