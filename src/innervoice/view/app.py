"""The viewer as an ASGI application: the page, its files and the routes of `row_types.py`. It only reads."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from importlib.metadata import version
from time import monotonic, time
from typing import Any, TypeAlias, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from innervoice.canon.jsontext import dump_json
from innervoice.catalog.lookup import all_hosts, all_model_rows
from innervoice.errors import DecodeError, InnervoiceError
from innervoice.privacy.secrets import redacted_name
from innervoice.show.policy import counted
from innervoice.show.visible import one_line
from innervoice.sources.conversation import Conversation
from innervoice.view.comparing import request_diff, turn_diff
from innervoice.view.export import PAGE, RUNS_PAGE, USAGE_PAGE, asset, export_file, media_type
from innervoice.view.guard import Guard, Settings
from innervoice.view.library import Library, NotInLibraryError
from innervoice.view.listing import Filters
from innervoice.view.live import Live, Threads
from innervoice.view.plans import plan_view
from innervoice.view.row_types import (
    About,
    DiffView,
    Hit,
    PlanView,
    Row,
    Rows,
    SearchResult,
    Whole,
    turn_name,
)
from innervoice.view.rows import whole_text
from innervoice.view.runs import RunsView, export_runs, runs_view
from innervoice.view.searching import hits_in
from innervoice.view.usage import UsageIndex
from innervoice.view.usage_tables import MetricTotals, UsageView, query_of, usage_csv, usage_view

__all__ = ["create_app", "search", "suggested_models"]

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

_MOST_ROWS = 1_000
_MOST_TEXT = 2_000_000
"""Characters of rows in one response; there is at least one row."""
_MOST_SOURCES = 100
_USAGE_SECONDS = 2.0
"""Seconds that an answer about usage may read; the page asks again for the rest."""


def create_app(
    library: Library,
    settings: Settings,
    metrics: Callable[[], MetricTotals | None] = lambda: None,
) -> Starlette:
    """An application that shows the sources of a library; `metrics` are what a gateway has counted that keeps no log."""
    threads = Threads()
    live = Live(library, threads)
    pages = _Pages(library, settings, live, threads)
    runs = _RunPages(library, threads)
    usage = _UsagePages(library, threads, metrics)
    routes: dict[str, Endpoint] = {
        "/": pages.page,
        "/assets/{name}": pages.asset,
        "/api/about": pages.about,
        "/api/sources": pages.sources,
        "/api/c/{id}": pages.rows,
        "/api/outline/{id}": pages.outline,
        "/api/part/{id}/{n:int}": pages.part,
        "/api/plan/{id}": pages.plan,
        "/api/diff": pages.diff,
        "/api/search": pages.search,
        "/api/live": pages.live,
        "/api/export/{id}": pages.export,
        "/runs": runs.page,
        "/api/runs": runs.runs,
        "/api/runs/export": runs.export,
        "/usage": usage.page,
        "/api/usage": usage.usage,
        "/api/usage.csv": usage.csv,
    }
    app = Starlette(
        routes=[Route(path, endpoint, methods=["GET"]) for path, endpoint in routes.items()],
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers={
            HTTPException: _refused,
            NotInLibraryError: _status(404),
            DecodeError: _status(422),
            InnervoiceError: _status(400),
            OSError: _unreadable,
        },
    )
    app.state.live = live
    return app


class _Pages:
    """The handler of each path; everything that reads files runs in a thread."""

    def __init__(self, library: Library, settings: Settings, live: Live, threads: Threads) -> None:
        self._library = library
        self._settings = settings
        self._live = live
        self._threads = threads

    async def page(self, _: Request) -> Response:
        return _file(PAGE)

    async def asset(self, request: Request) -> Response:
        return _file(request.path_params["name"])

    async def about(self, _: Request) -> Response:
        logs = await self._threads.run("list", self._library.request_logs)
        return _json(
            About(
                version=version("innervoice"),
                policy=self._settings.policy,
                targets=suggested_models(),
                target=self._settings.target,
                is_live=self._settings.is_live and self._library.is_live,
                is_export=False,
                has_usage=bool(logs),
            )
        )

    async def sources(self, request: Request) -> Response:
        query = request.query_params
        start = _number(query.get("from"), 0)
        words = query.get("q", "")
        filters = Filters(
            model=query.get("model", "")[:200],
            cost=_amount(query.get("cost")),
            lost=bool(query.get("lost")),
        )
        return _json(
            await self._threads.run(
                "list", lambda: self._library.sources(words, start, _MOST_SOURCES, filters)
            )
        )

    async def rows(self, request: Request) -> Response:
        start = _number(request.query_params.get("from"), 0)
        end = _number(request.query_params.get("to"), start + _MOST_ROWS)
        end = min(end, start + _MOST_ROWS)
        id_ = request.path_params["id"]
        if request.query_params.get("early"):
            early = await self._threads.run("list", lambda: self._library.early_rows(id_, end))
            if early is not None:
                head, rows = early
                total = len(rows)
                return _json(Rows(head=head, rows=rows, total=total, next=None, is_early=True))
        answer = await self._live.snapshot(id_)
        rows = await self._threads.run("read", lambda: _page(answer.rows[start:end]))
        following = start + len(rows)
        return _json(
            Rows(
                head=answer.head,
                rows=rows,
                total=len(answer.rows),
                next=following if following < len(answer.rows) and rows else None,
                event=answer.event,
            )
        )

    async def outline(self, request: Request) -> Response:
        id_ = request.path_params["id"]
        return _json(await self._threads.run("read", lambda: self._library.outline(id_)))

    async def part(self, request: Request) -> Response:
        id_, n = request.path_params["id"], request.path_params["n"]

        def whole() -> Whole:
            conversation = self._library.conversation(id_)
            if n >= len(self._library.rows(id_)):
                raise NotInLibraryError(f"There is no row {n} in this conversation.")
            return Whole(text=whole_text(conversation, n))

        return _json(await self._threads.run("read", whole))

    async def plan(self, request: Request) -> Response:
        target = request.query_params.get("for") or self._settings.target
        if not target:
            raise HTTPException(400, "Name a model, as for=provider/model.")
        id_ = request.path_params["id"]

        def plan() -> PlanView:
            return plan_view(self._library.conversation(id_), target)

        return _json(await self._threads.run("read", plan))

    async def diff(self, request: Request) -> Response:
        query = request.query_params
        first, first_turn = _turn(query.get("a", ""))
        second, second_turn = _turn(query.get("b", ""))
        what = query.get("what", "turn")
        if what not in ("turn", "request"):
            raise HTTPException(400, "`what` must be turn or request.")

        def diff() -> DiffView:
            compare = turn_diff if what == "turn" else request_diff
            sides = self._library.conversation(first), self._library.conversation(second)
            for side, turn in zip(sides, (first_turn, second_turn), strict=True):
                if turn >= len(side.turns):
                    raise NotInLibraryError(f"There is no {turn_name(turn)} in this conversation.")
            return compare(sides[0], first_turn, sides[1], second_turn)

        return _json(await self._threads.run("read", diff))

    async def search(self, request: Request) -> Response:
        query = request.query_params
        words, within = query.get("q", ""), query.get("in")
        return _json(
            await self._threads.run("search", lambda: search(self._library, words, within))
        )

    async def live(self, request: Request) -> Response:
        after = request.headers.get("last-event-id") or request.query_params.get("after")
        id_ = request.query_params.get("c")
        if id_ is not None:
            await self._live.snapshot(id_)  # an unknown id is refused before the stream begins
        if request.method == "HEAD":
            return Response(
                media_type="text/event-stream"
            )  # a stream without a body would never end
        return StreamingResponse(self._live.frames(id_, after), media_type="text/event-stream")

    async def export(self, request: Request) -> Response:
        query = request.query_params
        id_, form, show = (
            request.path_params["id"],
            query.get("form", "html"),
            query.get("show", "full"),
        )
        file = await self._threads.run("read", lambda: export_file(self._library, id_, form, show))
        headers = {"content-disposition": f'attachment; filename="{file.name}"'}
        return Response(file.data, media_type=file.media_type, headers=headers)


class _RunPages:
    """The page with two runs side by side, its data, and a file of it."""

    def __init__(self, library: Library, threads: Threads) -> None:
        self._library = library
        self._threads = threads

    async def page(self, _: Request) -> Response:
        return _file(RUNS_PAGE)

    async def runs(self, request: Request) -> Response:
        ids = _two(request)

        def view() -> RunsView:
            left, right = (self._library.conversation(id_) for id_ in ids)
            return runs_view(ids, (left, right))

        return _json(await self._threads.run("read", view))

    async def export(self, request: Request) -> Response:
        ids, show = _two(request), request.query_params.get("show", "full")
        file = await self._threads.run("read", lambda: export_runs(self._library, ids, show))
        headers = {"content-disposition": f'attachment; filename="{file.name}"'}
        return Response(file.data, media_type=file.media_type, headers=headers)


class _UsagePages:
    """The page about usage, and its data as JSON and CSV."""

    def __init__(
        self, library: Library, threads: Threads, metrics: Callable[[], MetricTotals | None]
    ) -> None:
        self._library = library
        self._threads = threads
        self._metrics = metrics
        self._index = UsageIndex(library.tenant)

    async def page(self, _: Request) -> Response:
        return _file(USAGE_PAGE)

    async def usage(self, request: Request) -> Response:
        query = query_of(dict(request.query_params), time())

        def view() -> UsageView:
            is_partial = not self._index.look(self._library.request_logs(), _USAGE_SECONDS)
            cells, has_prices = self._index.cells(), self._index.has_prices
            return usage_view(cells, query, has_prices=has_prices, is_partial=is_partial, metrics=self._metrics())  # fmt: skip

        return _json(await self._threads.run("list", view))

    async def csv(self, request: Request) -> Response:
        query = query_of(dict(request.query_params), time())

        def table() -> str:
            # A table must be whole: it has no second page.
            while not self._index.look(self._library.request_logs(), _USAGE_SECONDS):
                if self._library.is_closed:
                    break
            return usage_csv(self._index.cells(), query, has_prices=self._index.has_prices)

        headers = {"content-disposition": 'attachment; filename="usage.csv"'}
        text = await self._threads.run("list", table)
        return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def _two(request: Request) -> tuple[str, str]:
    first, second = request.query_params.get("a"), request.query_params.get("b")
    if not first or not second:
        raise HTTPException(400, "Expected a=ID and b=ID, the two conversations.")
    return first, second


def _page(rows: list[Row]) -> list[Row]:
    """As many of the rows as fit into one response."""
    page: list[Row] = []
    text = 0
    for row in rows:
        text += len(row["text"]) + len(row.get("image", ""))
        if page and text > _MOST_TEXT:
            break
        page.append(row)
    return page


def _json(value: Any) -> Response:
    return Response(dump_json(value), media_type="application/json")


def _file(name: str) -> Response:
    try:
        data = asset(name)
    except KeyError:
        raise HTTPException(404, f"The page has no file {one_line(name, 80)!r}.") from None
    return Response(data, media_type=media_type(name))


def _number(text: str | None, default: int) -> int:
    if text is None:
        return default
    if not text.isdecimal() or len(text) > 12:
        raise HTTPException(400, f"Expected a number, not {one_line(text, 40)!r}.")
    return int(text)


def _amount(text: str | None) -> Decimal | None:
    if not text:
        return None
    if not re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", text):
        raise HTTPException(400, f"Expected an amount of dollars, not {one_line(text, 40)!r}.")
    return Decimal(text)


def _turn(text: str) -> tuple[str, int]:
    id_, colon, number = text.rpartition(":")
    if not colon:
        raise HTTPException(400, "Expected a=ID:N and b=ID:N, N being the number of a turn.")
    return id_, _number(number, 0)


def _status(status: int) -> Callable[[Request, Exception], Response]:
    def respond(_: Request, error: Exception) -> Response:
        return _error(status, redacted_name(str(error)))

    return respond


def _refused(_: Request, error: Exception) -> Response:
    status = cast("HTTPException", error).status_code
    detail = cast("HTTPException", error).detail
    return _error(status, "There is nothing at this URL." if detail == "Not Found" else detail)


def _unreadable(_: Request, error: Exception) -> Response:
    return _error(
        404, f"The file cannot be read: {cast('OSError', error).strerror or 'no reason given'}."
    )


def _error(status: int, why: str) -> Response:
    sentence = one_line(why, 600)
    sentence = sentence[:1].upper() + sentence[1:]
    return Response(dump_json({"error": sentence}), status, media_type="application/json")


# ---- A query -> its matches, in one conversation, one source or all of them.


_MOST_HITS = 200
_PATIENCE = 10.0
"""Seconds that a search may take."""


def search(library: Library, query: str, within: str | None = None) -> SearchResult:
    """Searches one conversation after the other; `within` is the id of a conversation or of a source."""
    hits: list[Hit] = []
    if not query.strip():
        return SearchResult(hits=hits, is_cut=False, words="Nothing to search for.")
    deadline = monotonic() + _PATIENCE
    read = unread = 0
    is_cut = False
    conversations: Iterator[tuple[str, Conversation | Exception]]
    if within is not None and "." in within:
        conversations = iter([(within, library.conversation(within))])
    else:
        if within is not None:
            library.source(within)  # raises if there is none
        conversations = library.all_conversations(within)
    for id_, conversation in conversations:
        if isinstance(conversation, Exception):
            unread += 1
            continue
        read += 1
        for hit in hits_in(id_, conversation, query):
            if len(hits) == _MOST_HITS:
                is_cut = True
                break
            hits.append(hit)
        if is_cut or monotonic() > deadline:
            is_cut = True
            break
        del conversation  # before the next one is read
    return SearchResult(
        hits=hits, is_cut=is_cut, words=_words(len(hits), read, unread, is_cut=is_cut)
    )


def _words(hits: int, read: int, unread: int, *, is_cut: bool) -> str:
    words = f"{'the first ' if is_cut else ''}{counted(hits, 'hit')}" if hits else "No hit"
    rest = f"; {unread:,} could not be read" if unread else ""
    more = "; there may be more" if is_cut else ""
    return f"{words[:1].upper()}{words[1:]} in {counted(read, 'conversation')}{rest}{more}."


# ---- The models that the page suggests for a plan.


@lru_cache(maxsize=1)
def suggested_models() -> list[str]:
    """The first name of each row of the catalog that names a host, as provider/model, in the order of the hosts."""
    order = {host.id: number for number, host in enumerate(all_hosts())}
    names = dict.fromkeys(
        (row.hosts[0], row.match[0].removesuffix("*").removesuffix("-"))
        for row in all_model_rows()
        if row.hosts and row.hosts[0] in order and not row.guess
    )
    models = sorted(names, key=lambda name: order[name[0]])
    return [f"{host}/{model}" for host, model in models if _is_a_name(model)]


def _is_a_name(model: str) -> bool:
    """Whether the rest of a pattern names a model, and not a whole family."""
    return "*" not in model and not model.endswith(".") and any(map(str.isdigit, model))
