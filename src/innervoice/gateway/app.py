"""The gateway as an ASGI application, without a framework: reads a request, finds its endpoint, and serves it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial

from innervoice.canon.jsontext import dump_json
from innervoice.errors import InnervoiceError
from innervoice.gateway.callers import Caller, check_model
from innervoice.gateway.client_request import ClientRequest
from innervoice.gateway.client_stream import reply, stream_frames
from innervoice.gateway.endpoints import (
    Endpoint,
    Missing,
    endpoint_of,
    is_like_an_answer,
    like_an_answer,
)
from innervoice.gateway.errors import NO_OTHER_PATHS, let_go, refused, trouble
from innervoice.gateway.gateway import Admitted, Gateway
from innervoice.gateway.gateway_members import trace_of
from innervoice.gateway.incoming import (
    Incoming,
    Receive,
    Scope,
    Send,
    check_head,
    check_host,
    check_page,
    checked_body,
    unless_gone,
)
from innervoice.gateway.listings import counted, looked_up
from innervoice.gateway.operations.request_log import FollowedRequest
from innervoice.gateway.operations.viewing import is_view
from innervoice.gateway.passing.named_models import ModelCheck, models_in
from innervoice.gateway.passing.other_paths import OtherPath, expected_of, other_path_of
from innervoice.gateway.passing.websockets import Checks, deny, incoming_of, protocols_of, relay
from innervoice.gateway.quotas import Underway
from innervoice.gateway.report import Report
from innervoice.gateway.responses.conversations import OF_CONVERSATIONS, of_conversation
from innervoice.gateway.responses.sockets import ResponseSocket
from innervoice.gateway.responses.stored import OF_RESPONSES, of_response
from innervoice.gateway.serving import Serving
from innervoice.wire.refusals import Refusal, Refused

__all__ = ["Application", "Gateway", "create_app"]

_OPEN_TO_ALL = frozenset({"live", "ready", "hello", "metrics"})
"""What is served without a key."""
_NO_SOCKET = Refusal(
    text="this server has no WebSockets; send an HTTP POST",
    status=426,
    headers={"upgrade": "HTTP/1.1"},
)
_MISTAKE = Refusal(
    text="internal error of the gateway; GET /v1/explain/ID has the details", status=500
)


def create_app(gateway: Gateway) -> Application:
    """The application of a gateway."""
    return Application(gateway)


class Application:
    """Serves one gateway."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] == "websocket":
            await self._connect(scope, receive, send)
            return
        incoming = Incoming(scope, receive, send)
        endpoint, place = self._endpoint(incoming)
        try:
            incoming.check_hosts()
            if is_view(scope["path"]):
                await self.gateway.viewing.answer(scope, receive, send)
            elif place is not None:
                await self._pass(incoming, endpoint.dialect, place)
            elif isinstance(endpoint, Missing):
                await reply(send, *refused(endpoint.dialect, endpoint.refusal))
            elif endpoint.verb == "socket":
                await reply(send, *refused(endpoint.dialect, _NO_SOCKET))
            else:
                await self._serve(incoming, endpoint)
        except Refused as error:
            await reply(send, *refused(endpoint.dialect, error.refusal))

    async def _admit(self, incoming: Incoming, dialect: str, *, is_read: bool = True) -> Admitted:
        """Who may send a request; raises `Refused` for one that may not. `is_read`: the gateway reads it, and does not only pass it on."""
        admitted = await self.gateway.admit(incoming.headers, incoming.query, dialect)
        if admitted.is_local:
            check_host(incoming.headers.get("host", ""))
        check_page(incoming, is_local=admitted.is_local, is_read=is_read)
        if not (is_read or admitted.may_use_other_paths):
            raise Refused(NO_OTHER_PATHS)
        return admitted

    def _endpoint(self, incoming: Incoming) -> tuple[Endpoint | Missing, OtherPath | None]:
        """What a request asks for, and where it goes if the gateway only passes it on.

        What the gateway serves it serves also behind the name of a provider, as in `/openai/v1/chat/completions`.
        """
        method, query, headers = incoming.method, incoming.query, incoming.headers
        endpoint = endpoint_of(method, incoming.path, query, headers)
        usual = self.gateway.config.server.other_paths
        if not isinstance(endpoint, Missing) or usual == "off":
            return endpoint, None
        if endpoint.refusal.status not in (404, 405):  # it is served, but not in this way
            return endpoint, None
        place = other_path_of(incoming.path, self.gateway.routes, usual)
        if place is None:
            return endpoint, None
        endpoint = endpoint._replace(dialect=self.gateway.routes.dialect_of(place.upstream))
        if place.is_named:
            served = endpoint_of(method, place.path, query, headers)
            if isinstance(served, Endpoint) and served.verb != "socket":
                return served, None
        if incoming.may_answer and is_like_an_answer(place.segments):
            return like_an_answer(method, incoming.path, endpoint.dialect), None
        return endpoint, place

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.gateway.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _serve(self, incoming: Incoming, endpoint: Endpoint) -> None:
        gateway, send = self.gateway, incoming.send
        if endpoint.verb in _OPEN_TO_ALL:
            await self._serve_all(incoming, endpoint)
            return
        admitted = await self._admit(incoming, endpoint.dialect)
        caller = admitted.caller
        if endpoint.verb == "explain":
            explained = await gateway.explained(endpoint.id or "", caller.name)
            await reply(send, 200, {}, dump_json(explained))
        elif endpoint.verb in ("answer", "compact", "count"):
            check_head(incoming.headers, gateway.limits)
            body = await incoming.body(gateway.limits)
            work = self._count if endpoint.verb == "count" else self._answer
            await work(incoming, endpoint, body, admitted)
        elif endpoint.verb in OF_RESPONSES:
            await incoming.body(gateway.limits)
            response = await of_response(gateway, endpoint, incoming.query, caller.name)
            if isinstance(response, dict):
                data = b"" if incoming.method == "HEAD" else dump_json(response)
                await reply(send, 200, {}, data)
            else:
                await stream_frames(send, {}, response, incoming.receive)
        elif endpoint.verb in OF_CONVERSATIONS:
            body = await incoming.body(gateway.limits)
            value = await of_conversation(gateway, endpoint, incoming.query, body, caller.name)
            await reply(send, 200, {}, b"" if incoming.method == "HEAD" else dump_json(value))
        else:
            await self._look_up(incoming, endpoint, caller)

    async def _serve_all(self, incoming: Incoming, endpoint: Endpoint) -> None:
        """Answers requests that need no key."""
        gateway = self.gateway
        status, kind = 200, "application/json"
        match endpoint.verb:
            case "ready":
                readiness = await gateway.readiness()
                status = 200 if readiness["status"] == "ready" else 503
                body = dump_json(readiness)
            case "metrics":
                kind, body = "text/plain; version=0.0.4", gateway.metrics.page().encode()
            case "live":
                body = b'{"status":"live"}'
            case _:
                body = b"{}"
        headers = {"content-type": kind}
        await reply(incoming.send, status, headers, b"" if incoming.method == "HEAD" else body)

    # ---- other paths ---------------------------------------------------------------------------

    async def _pass(self, incoming: Incoming, dialect: str, place: OtherPath) -> None:
        gateway = self.gateway
        admitted = await self._admit(incoming, dialect, is_read=False)
        report = self._new_report(incoming, admitted)
        try:
            async with self._counted(dialect, admitted, report, incoming, place):
                if not await gateway.other_paths.serve(incoming, place, admitted, report):
                    report.status = report.status or 499
        except Refused as error:
            if not incoming.has_begun:
                await self._refuse(incoming, dialect, report, error.refusal)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a WebSocket."""
        incoming = incoming_of(scope, receive, send)
        endpoint, place = self._endpoint(incoming)
        if place is None and isinstance(endpoint, Missing):
            await deny(send, endpoint.dialect, endpoint.refusal)
            return
        try:
            incoming.check_hosts()
            if place is None:
                assert isinstance(endpoint, Endpoint)
                await self._serve_socket(incoming, scope, endpoint.dialect)
                return
            admitted = await self._admit(incoming, endpoint.dialect, is_read=False)
            report = self._new_report(incoming, admitted)
            dialect = endpoint.dialect
            async with self._counted(dialect, admitted, report, incoming, place) as underway:
                checks = Checks(
                    partial(self._admit, incoming, dialect, is_read=False),
                    partial(self._book, underway, report, dialect),
                )
                protocols = protocols_of(scope)
                await relay(incoming, protocols, self.gateway, place, admitted, report, checks)
        except Refused as error:
            await deny(send, endpoint.dialect, error.refusal)

    async def _serve_socket(self, incoming: Incoming, scope: Scope, dialect: str) -> None:
        """Serves a WebSocket whose answers are ours; each of them is a request with a report of its own."""
        admitted = await self._admit(incoming, dialect)

        async def serve(request: Incoming, endpoint: Endpoint) -> None:
            try:
                await self._serve(request, endpoint)
            except Refused as error:
                await reply(request.send, *refused(endpoint.dialect, error.refusal))

        offered = protocols_of(scope)
        socket = ResponseSocket(
            incoming,
            scope,
            dialect,
            serve,
            partial(self._admit, incoming, dialect),
            tenant=admitted.caller.name,
            taken=self.gateway.socket_bytes,
        )
        await socket.run(offered[0] if offered else None)

    def _new_report(self, incoming: Incoming, admitted: Admitted) -> Report:
        """The report of a request that is only passed on."""
        report = self.gateway.new_report(admitted.caller, "other")
        report.way, report.asked = "other", f"{incoming.method} {incoming.path}"
        report.trace = trace_of(incoming.headers)
        return report

    async def _book(
        self, underway: Underway | None, report: Report, dialect: str
    ) -> Refusal | None:
        """Counts what was used so far; returns why the caller may not use more, if a limit is reached."""
        if underway is None:
            return None
        return await self.gateway.quotas.book(underway, report, dialect)

    @asynccontextmanager
    async def _counted(
        self, dialect: str, admitted: Admitted, report: Report, incoming: Incoming, place: OtherPath
    ) -> AsyncIterator[Underway | None]:
        """Counts a request that is only passed on, against the limits of its caller and in what is reported; raises `Refused` if a limit is reached."""
        gateway = self.gateway
        underway: Underway | None = None
        gateway.metrics.stream_opened()
        try:
            underway = await gateway.quotas.begin(
                admitted.caller, report, partial(expected_of, incoming, place), dialect
            )
            yield underway
        except Refused as error:
            report.status, report.error = error.refusal.status, "refused"
            raise
        except Exception as error:
            report.status, report.error = 500, type(error).__name__
            raise
        finally:
            gateway.metrics.stream_closed()
            if underway is not None:
                await gateway.quotas.end(underway, report)
            gateway.finish(report)

    async def _look_up(self, incoming: Incoming, endpoint: Endpoint, caller: Caller) -> None:
        """Answers requests that need no model: the list of models, one model, the version."""
        body = await incoming.body(self.gateway.limits)
        value = checked_body(body, self.gateway.limits) if body else {}
        try:
            listing = looked_up(endpoint, value, self.gateway.routes, caller)
        except InnervoiceError as error:
            raise Refused(trouble(error, endpoint.dialect)) from None
        await reply(
            incoming.send, 200, {}, b"" if incoming.method == "HEAD" else dump_json(listing)
        )

    # ---- answers -------------------------------------------------------------------------------

    async def _answer(
        self, incoming: Incoming, endpoint: Endpoint, body: bytes, admitted: Admitted
    ) -> None:
        gateway, caller = self.gateway, admitted.caller
        report = gateway.new_report(caller, endpoint.dialect)
        report.trace = trace_of(incoming.headers)
        serving: Serving | None = None
        opened = _OpenRequest(gateway, report)
        try:
            request = ClientRequest(gateway, endpoint, body, report, incoming.headers)
            await opened.begin(request, caller, body, incoming.headers)
            report.is_shared = admitted.has_key and gateway.routes.is_shared(request.name)
            await gateway.owned_ids.check_answer(report, endpoint.dialect, body)
            if request.state is not None and request.state.is_background:
                await self._in_background(incoming, request, opened, admitted)
                return
            serving = Serving(
                gateway,
                request,
                incoming.headers,
                incoming.send,
                opened.logged,
                admitted.credentials,
                incoming.write_now,
            )
            if not await unless_gone(serving.serve(), incoming.receive, incoming.on_gone):
                await serving.disconnected()
        except InnervoiceError as error:
            report.error = type(error).__name__
            upstream = serving.upstream if serving else None
            refusal = trouble(error, endpoint.dialect, upstream)
            let_go(error)
            await self._refuse(incoming, endpoint.dialect, report, refusal)
        except Refused as error:
            let_go(error)
            await self._refuse(incoming, endpoint.dialect, report, error.refusal)
        except Exception as error:  # noqa: BLE001 - an internal error is reported in the client's dialect, without any text of the request
            report.error = type(error).__name__
            let_go(error)
            if serving is None or not serving.has_begun:
                await self._refuse(incoming, endpoint.dialect, report, _MISTAKE)
        finally:
            if not opened.is_in_background:
                await opened.end()

    async def _in_background(
        self,
        incoming: Incoming,
        request: ClientRequest,
        opened: _OpenRequest,
        admitted: Admitted,
    ) -> None:
        """Starts an answer in the background; replies with its object, or with its events as long as the client wants them."""
        gateway, headers, is_streamed = self.gateway, incoming.headers, request.stream
        run = await gateway.background.start(
            request,
            lambda send: Serving(
                gateway, request, headers, send, opened.logged, admitted.credentials
            ),
            opened.end,
        )
        opened.is_in_background = True
        report_headers = {"x-innervoice-id": request.report.id}
        try:
            if is_streamed:
                frames = gateway.background.live(run)
                await stream_frames(incoming.send, report_headers, frames, incoming.receive)
            else:
                await reply(incoming.send, 200, report_headers, dump_json(run.body))
        except Exception:  # noqa: BLE001 - the client has left; the answer goes on
            return

    async def _refuse(
        self, incoming: Incoming, dialect: str, report: Report, refusal: Refusal
    ) -> None:
        status, headers, body = refused(dialect, refusal)
        report.status = status
        report.error = report.error or refusal.type or "refused"
        report_headers = {"x-innervoice-id": report.id, "x-innervoice-reasoning": report.reasoning}
        await reply(incoming.send, status, {**headers, **report_headers}, body)

    async def _count(
        self, incoming: Incoming, endpoint: Endpoint, body: bytes, admitted: Admitted
    ) -> None:
        value = checked_body(body, self.gateway.limits)
        try:
            headers, counts = await counted(self.gateway, endpoint, body, value, admitted)
        except InnervoiceError as error:
            raise Refused(trouble(error, endpoint.dialect)) from None
        await reply(incoming.send, 200, headers, dump_json(counts))


class _OpenRequest:
    """What is counted and logged of a request from its beginning to its end."""

    def __init__(self, gateway: Gateway, report: Report) -> None:
        self._gateway, self._report = gateway, report
        self._underway: Underway | None = None
        self.logged: FollowedRequest | None = None
        self.is_in_background = False
        """Whether it goes on without the client, and ends later."""
        gateway.metrics.stream_opened()

    async def begin(
        self, request: ClientRequest, caller: Caller, body: bytes, headers: Mapping[str, str]
    ) -> None:
        """Logs the request, and reserves what it will use; raises `Refused` if the caller may not send it."""
        gateway, report = self._gateway, self._report
        if gateway.request_log is not None:
            self.logged = gateway.request_log.begin(report, body, headers, request.split)
        routes = gateway.routes
        check_model(caller, request.name, is_exact=routes.has_entry(request.name))
        if caller.models:
            others = models_in(body) - {request.name}
            ModelCheck(caller, *routes.providers_of(request.name)).names(sorted(others))
        self._underway = await gateway.quotas.begin(
            caller, report, partial(gateway.expected, request, caller)
        )

    async def end(self) -> None:
        """Counts and logs what became of it."""
        gateway, report = self._gateway, self._report
        gateway.metrics.stream_closed()
        if self._underway is not None:
            await gateway.quotas.end(self._underway, report)
        gateway.finish(report)
        if self.logged is not None:
            self.logged.end(report)
