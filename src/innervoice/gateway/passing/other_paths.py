"""Other paths of a provider's API: embeddings, files, batches, audio. They go to that provider as they came.

    /openai/v1/embeddings     the first word names a provider or an upstream
    /v1/embeddings            the one that `other_paths` in [server] names

Bodies are passed on in both directions while they arrive, so that their size does not matter; they are read where a key is for certain models
only (`named_models.py`). Only headers with a row here are passed on; the provider's key is added, or the caller's own where the upstream takes
that. The host is always that of the upstream, and the path is written from its segments. WebSockets: `websockets.py`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.notes import Note
from innervoice.canon.usage import Usage
from innervoice.client.auth import Outgoing
from innervoice.client.error_mapping import scrubbed, secrets_of
from innervoice.errors import InnervoiceError, UsageError
from innervoice.gateway.config.names import split_name
from innervoice.gateway.credentials import with_credentials
from innervoice.gateway.gateway_members import passed_back
from innervoice.gateway.incoming import Incoming, Receive, check_framing, unless_gone
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.outgoing import PassedAnswer, RedirectedError, Waits, whole
from innervoice.gateway.owned_ids import OwnedPath, ids_in_query, unreadable
from innervoice.gateway.passing.counts import BYTES_A_TOKEN, AnswerReader
from innervoice.gateway.passing.named_models import ModelCheck, models_in_path
from innervoice.gateway.quotas import Expected
from innervoice.gateway.routes import Route
from innervoice.wire.json_access import as_dict, as_text
from innervoice.wire.paths import path_of, segments_of
from innervoice.wire.refusals import Refusal, Refused

if TYPE_CHECKING:
    from innervoice.gateway.gateway import Admitted, Gateway
    from innervoice.gateway.report import Report
    from innervoice.gateway.routes import Routes
    from innervoice.gateway.upstreams import Candidate

__all__ = ["OtherPath", "OtherPaths", "expected_of", "other_path_of", "url_of"]

_VERSION = re.compile(r"v[0-9]+[a-z0-9]*")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_BEFORE_VERSIONS = ("upload", "download")
"""Words that stand before the version in paths of Google's APIs."""
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
_COSTLY = ("completions", "embeddings", "fim/completions")
_EMBEDS = "embed"
_USE_A_MODEL = (
    *_WITH_MODEL, "audio/transcriptions", "audio/translations", "images/edits", "images/variations", "realtime", "realtime/client_secrets",
    "realtime/sessions", "realtime/transcription_sessions", "videos",
)  # fmt: skip
"""Paths that choose a model themselves where the body names none."""
_FORM = "application/x-www-form-urlencoded"
_WORDS = (_FORM, "application/json")
_ERROR = 400
_REQUESTS = "multipart/mixed"
"""A body that consists of requests, as Google's batch endpoints take them: nothing would be checked or counted for those."""
_COMPRESSED = "the body is compressed"
_BLANKS = b" \t\r\n\x00\xef\xbb\xbf\xfe\xff"
"""What may stand before JSON in any UTF."""
_MOST_BLANKS = 4096
_KEYS_IN_QUERIES = frozenset({"key", "access_token", "oauth_token", "api_key", "api-key"})


class OtherPath(NamedTuple):
    """A path that goes to a provider as it came."""

    upstream: str
    """The name of the provider or upstream."""
    segments: tuple[str, ...]
    """The segments behind that name, decoded."""
    is_named: bool
    """Whether the path began with that name."""

    @property
    def path(self) -> str:
        """The path behind the name, in its one spelling."""
        return path_of(self.segments)

    @property
    def words(self) -> str:
        """The path without its version, to compare it."""
        words = self.segments
        return "/".join(words[1:] if _VERSION.fullmatch(words[0]) else words).rstrip("/")


def other_path_of(path: str, routes: Routes, usual: str | None) -> OtherPath | None:
    """Where a path goes that the gateway does not serve itself; None: nowhere. `usual` is the upstream for paths that name none."""
    try:
        word, *rest = segments = segments_of(path)
    except ValueError:
        return None
    if any(rest) and routes.has_upstream(word):
        place = OtherPath(word, tuple(rest), is_named=True)
    elif usual is not None:
        place = OtherPath(usual, segments, is_named=False)
    else:
        return None
    # A slash at the end may stay; another empty segment is no part of any API, and can be read as the name of a host. What a server could decode
    # once more has no one meaning either.
    is_plain = all(place.segments[:-1]) and not any(map(_ESCAPE.search, place.segments))
    return place if is_plain and any(place.segments) else None


def expected_of(incoming: Incoming, place: OtherPath) -> Expected:
    """What a request will probably use: its model is not known yet, and so no price."""
    is_use = incoming.is_socket or place.words in _USE_A_MODEL or models_in_path(place.segments)
    return Expected(LIMITS.reserved_tokens if is_use and incoming.may_answer else 0)


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
    """Passes requests on."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def serve(
        self, incoming: Incoming, place: OtherPath, admitted: Admitted, report: Report
    ) -> bool:
        """Sends the provider's answer to the client; returns False if the client disconnected before its end.

        Raises `Refused` if the request cannot be sent, or the provider cannot be reached.
        """
        check_framing(incoming.headers, self._gateway.limits)
        if incoming.headers.get("content-type", "").strip().lower().startswith(_REQUESTS):
            text = "requests in a request (multipart/mixed) are not passed on; send each by itself"
            raise Refused(Refusal(text=text, status=415))
        body = _Body(incoming)
        ids = OwnedPath(self._gateway.owned_ids, report, place.segments, incoming.query)
        report.is_shared = admitted.has_key and self._gateway.routes.has_own_key(place.upstream)
        await ids.check_address()
        check = self.model_check(incoming, place, admitted)
        model = await self._model(incoming, body, place, check, ids)
        candidate = self.candidate(place, admitted, model, report)
        report.model = report.model or next(iter(sorted(models_in_path(place.segments))), "")
        host = candidate.target.host
        if host is not None and host.aws_service:
            await body.read(self._gateway.limits.body_bytes)  # which the signature covers
        outgoing = await self.outgoing(incoming, place, candidate, body.whole)
        if self._gateway.routes.is_emulated:
            await self._pass_embedded(incoming, report, outgoing, body)
            return True
        work = self._pass(
            incoming,
            report,
            outgoing,
            body,
            _Passage(candidate, place, ids, check, body, secrets_of(outgoing.headers)),
        )
        return await unless_gone(work, body.after)

    # ---- where it goes -------------------------------------------------------------------------

    def model_check(self, incoming: Incoming, place: OtherPath, admitted: Admitted) -> ModelCheck:
        """The check of the models that a request names, after that of its address; raises `Refused` for one that the caller may not use."""
        check = ModelCheck(admitted.caller, place.upstream, self._gateway.routes.id_of(place.upstream))  # fmt: skip
        check.address(place.segments, incoming.query)
        return check

    def must_name(self, incoming: Incoming, place: OtherPath, check: ModelCheck) -> None:
        """Raises `Refused` if a request that uses a model has named none, and the caller may not use every one."""
        is_use = incoming.may_answer and place.words in _USE_A_MODEL
        if check.is_needed and is_use:
            check.must_name()

    def candidate(
        self, place: OtherPath, admitted: Admitted, model: str | None, report: Report
    ) -> Candidate:
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
        route = with_credentials(Route(name, candidates), admitted.credentials, report.notes.append)
        candidate = route.candidates[0]
        report.provider, report.model = candidate.target.provider or "", model or ""
        report.account, report.attempts = candidate.account.name, 1
        return candidate

    async def outgoing(
        self, incoming: Incoming, place: OtherPath, candidate: Candidate, whole: bytes | None
    ) -> Outgoing:
        """The request as it is sent, with the key; `whole` is its body, if it was read."""
        headers = _picked(incoming.headers, _SENT)
        if whole is not None:
            headers["content-length"] = str(len(whole))
        headers |= dict(candidate.headers)
        url = url_of(candidate.base_url, place.path) + _query(incoming.query, candidate)
        outgoing = Outgoing(incoming.method, url, headers, whole or b"")
        keyring, destination = candidate.account.keyring, candidate.destination
        if keyring.may_block(destination):
            headers |= await asyncio.to_thread(keyring.headers, destination, outgoing)
        else:
            headers |= keyring.headers(destination, outgoing)
        return outgoing

    async def _model(
        self,
        incoming: Incoming,
        body: _Body,
        place: OtherPath,
        check: ModelCheck,
        ids: OwnedPath,
    ) -> str | None:
        """The model that a body names, as its host spells it; None where the body is not read. Where the caller may use certain models only, all of them are checked."""
        kind = incoming.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_known = (
            place.words in _WITH_MODEL and kind == "application/json" and incoming.method == "POST"
        )
        most = self._gateway.limits.body_bytes
        is_checked = not body.is_empty and (check.is_needed or await ids.is_enforced())
        if is_checked:
            await self._check(incoming, body, place, check, ids)
        self.must_name(incoming, place, check)
        if not is_known:
            return None
        try:
            value = as_dict(load_json(await body.read(most)))
        except ValueError:
            return None  # the provider says what is wrong with it
        name = as_text(value.get("model"))
        if name is None:
            return None
        model = self._model_at(place.upstream, name)
        if model != name:
            body.whole = dump_json({**value, "model": model})
        return model

    async def _check(
        self, incoming: Incoming, body: _Body, place: OtherPath, check: ModelCheck, ids: OwnedPath
    ) -> None:
        """Raises `Refused` for a body that names what the caller may not use, or could hide it."""
        content_type = incoming.headers.get("content-type", "")
        kind = content_type.partition(";")[0].strip().lower()
        most = self._gateway.limits.body_bytes
        if incoming.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
            raise check.unreadable(_COMPRESSED) if check.is_needed else unreadable(_COMPRESSED)
        if kind.startswith("multipart/"):
            body.watch = ids.form_check(content_type)
            if check.is_needed:
                check.body(await body.read(most), content_type, place.words)
        elif kind in _WORDS or await body.begins_like_json():
            data = await body.read(most)
            if check.is_needed:
                check.body(data, content_type, place.words)
            await ids.check_body(data, check, is_form=kind == _FORM and not await body.begins_like_json())  # fmt: skip

    def _model_at(self, upstream: str, name: str) -> str:
        """A model's name as the upstream spells it: without the provider, or what an entry of [[models]] reaches there."""
        routes = self._gateway.routes
        try:
            targets = routes.targets_of(name)
        except UsageError:
            targets = (name,)
        parsed = filter(None, map(split_name, targets))
        return next((one.model for one in parsed if routes.is_same(one.provider, upstream)), name)

    # ---- passing on ----------------------------------------------------------------------------

    async def _pass(
        self,
        incoming: Incoming,
        report: Report,
        outgoing: Outgoing,
        body: _Body,
        passage: _Passage,
    ) -> None:
        provider, server = report.provider, self._gateway.config.server
        waits = Waits(server.connect_seconds, server.first_byte_seconds)
        try:
            answer = await self._gateway.connections.request(outgoing, body.data(), waits)
        except TimeoutError:
            raise Refused(Refusal(text=f"{provider}: no answer in time", status=504)) from None
        except RedirectedError:
            text = f"{provider} answered with a redirect, which is not followed"
            raise Refused(Refusal(text=text, status=502)) from None
        except OSError:
            if body.refusal is not None:
                raise Refused(body.refusal) from None
            raise Refused(Refusal(text=f"{provider}: connection failed", status=502)) from None
        try:
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


class _Passage(NamedTuple):
    candidate: Candidate
    place: OtherPath
    ids: OwnedPath
    check: ModelCheck
    body: _Body
    secrets: frozenset[str]
    """The key with which the provider was called."""


async def _return(
    incoming: Incoming, report: Report, answer: PassedAnswer, passage: _Passage
) -> None:
    """Sends the provider's answer to the client, as it arrives.

    One that breaks off is left without its end: the server closes the connection, so that nobody takes it for whole.
    """
    headers = {**passed_back(answer.headers), **_picked(answer.headers, _RETURNED)}
    if _UPLOAD_URL in headers:
        url = headers[_UPLOAD_URL] = _upload_url(headers[_UPLOAD_URL], incoming, passage)
        await passage.ids.learn(ids_in_query(urlsplit(url).query), passage.check)
    reader = AnswerReader(headers.get("content-type", ""))
    report.status = answer.status
    if await passage.ids.is_filtered(incoming.method):
        await _return_list(incoming, report, answer, passage, headers)
        return
    if answer.status >= _ERROR:
        await _return_error(incoming, report, answer, passage, headers)
        return
    await _begin(incoming, answer.status, {**headers, "x-innervoice-id": report.id})
    held = b""
    try:
        async for piece in answer.pieces():
            reader.add(piece)
            sent, held = (held, piece) if reader.is_object else (piece, b"")
            if sent:
                await incoming.send({"type": "http.response.body", "body": sent, "more_body": True})
    except ConnectionError as error:
        report.status, report.error = 502, type(error).__name__
        return
    finally:
        reader.end()
        report.usage = reader.usage
        is_untold = reader.usage == Usage() and report.needs_usage and answer.status < 300
        if is_untold and _uses_tokens(incoming, passage.place):
            report.usage = Usage(
                input_tokens=-(-passage.body.size // BYTES_A_TOKEN),
                output_tokens=0 if _EMBEDS in passage.place.words.lower() else reader.estimate,
            )
            report.notes.append(Note("tokens_estimated"))
    if answer.status < 300:
        # Before the client has all of it, and names them.
        await passage.ids.learn(reader.ids, passage.check)
    await incoming.send({"type": "http.response.body", "body": held})


async def _return_error(
    incoming: Incoming,
    report: Report,
    answer: PassedAnswer,
    passage: _Passage,
    headers: dict[str, str],
) -> None:
    """Sends an error of the provider, without the key, which some repeat."""
    try:
        data = await whole(answer.pieces(), LIMITS.counted_bytes)
    except ConnectionError:
        text = f"{report.provider}: an error with status {answer.status} could not be read"
        raise Refused(Refusal(text=text, status=502)) from None
    data = scrubbed(data.decode("latin-1"), passage.secrets).encode("latin-1")
    if "content-length" in headers and incoming.method != "HEAD":
        headers["content-length"] = str(len(data))
    await _begin(incoming, answer.status, {**headers, "x-innervoice-id": report.id})
    await incoming.send({"type": "http.response.body", "body": data})


def _uses_tokens(incoming: Incoming, place: OtherPath) -> bool:
    """True for a path whose answers cost tokens, whether they say so or not."""
    is_path = place.words in _COSTLY or bool(models_in_path(place.segments))
    return incoming.may_answer and is_path


async def _return_list(
    incoming: Incoming,
    report: Report,
    answer: PassedAnswer,
    passage: _Passage,
    headers: dict[str, str],
) -> None:
    """Sends what belongs to the caller of a list that the account has for all owners."""
    try:
        data = await whole(answer.pieces(), LIMITS.body_bytes)
        value = load_json(data)
    except (ConnectionError, ValueError):
        text = f"{report.provider}: the list could not be read"
        raise Refused(Refusal(text=text, status=502)) from None
    if answer.status < 300:
        data = dump_json(await passage.ids.own_part(value))
    length = {"content-length": str(len(data)), "x-innervoice-id": report.id}
    await _begin(incoming, answer.status, {**headers, **length})
    await incoming.send({"type": "http.response.body", "body": data})


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
        self.watch: Callable[[bytes | None], Awaitable[None]] | None = None
        """Is shown each piece before it is passed on, and None at the end; raises `Refused` for what may not be."""
        self._receive: Receive = incoming.receive
        length = headers.get("content-length", "0").strip()
        self.size = 0
        """How much of it was passed on."""
        self.is_empty = "transfer-encoding" not in headers and length in ("", "0")
        self._begun = b""
        """What was read of it to see what it is."""
        self._has_more = not self.is_empty
        self._end = asyncio.Event()
        if self.is_empty:
            self._end.set()

    async def begins_like_json(self) -> bool:
        """Reads the body up to its first character that is not blank; returns whether an object or a list may begin there."""
        while self._has_more and not self._begun.lstrip(_BLANKS):
            self._begun += await self._next()
            if len(self._begun) > _MOST_BLANKS:
                break
        begun = self._begun if self.whole is None else self.whole
        start = begun.lstrip(_BLANKS)
        return bool(begun) and (not start or start.startswith((b"{", b"[")))

    async def read(self, most: int) -> bytes:
        """The whole body; raises `Refused` for one that is too large or too slow."""
        if self.whole is None:
            self.whole = b""
            pieces = [piece async for piece in self._pieces(most)]
            self.whole = b"".join(pieces)
        return self.whole

    def data(self) -> bytes | AsyncIterator[bytes] | None:
        """What is sent: nothing, the whole, or pieces as they arrive."""
        if self.whole is not None:
            return self.whole
        return None if self.is_empty else self._passed()

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
        held = b""
        piece, self._begun = self._begun, b""
        while True:
            self.size += len(piece)
            if self.size > most:
                text = f"the body is too large; at most {most} bytes are accepted"
                raise Refused(Refusal(text=text, status=413))
            if piece and self.watch is not None:
                await self.watch(piece)
                # The last piece waits for the end: with it the body may be whole for the provider.
                piece, held = held, piece
            if piece:
                yield piece
            if not self._has_more:
                break
            piece = await self._next()
        if self.watch is not None:
            await self.watch(None)
            yield held
        self._end.set()

    async def _next(self) -> bytes:
        """The next piece that arrives."""
        try:
            async with asyncio.timeout(LIMITS.body_seconds):
                message = await self._receive()
        except TimeoutError:
            text = f"nothing of the body arrived for {LIMITS.body_seconds:g} s"
            raise Refused(Refusal(text=text, status=408)) from None
        if message["type"] == "http.disconnect":
            raise Refused(Refusal(text="the client disconnected", status=499))
        self._has_more = bool(message.get("more_body"))
        piece: bytes = message.get("body", b"")
        return piece


# ---- headers, queries and counts -------------------------------------------------------------------


def _picked(headers: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    return {
        name: value
        for name, value in headers.items()
        if name in names or name.startswith((_UPLOAD, "openai-processing"))
    }


def _query(query: str, candidate: Candidate) -> str:
    """The query without keys; the upstream's own stays where the caller's credential is sent."""
    pairs = parse_qsl(query, keep_blank_values=True)
    dropped = _KEYS_IN_QUERIES
    if candidate.takes_callers_key and candidate.target.host is not None:
        dropped = dropped - {*candidate.target.host.key_queries}
    others = [(name, value) for name, value in pairs if name.lower() not in dropped]
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
