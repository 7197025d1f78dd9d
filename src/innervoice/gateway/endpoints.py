"""Method and path of a request -> its endpoint: which dialect, what is requested, and of which model.

The rows are facts of the dialects (`path`, `verbs` and `endpoints` in `wire/dialect.py`); only the gateway's own rows are here. A base URL
may have a version or none, so versions are not part of a row. Only the raw path decides, never the header `host`; how it is spelled is settled
once, in `wire/paths.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple, TypeAlias, cast
from urllib.parse import parse_qs, unquote

from innervoice.gateway.limits import LIMITS
from innervoice.wire.dialects import DEFAULT, DIALECTS, dialect_named
from innervoice.wire.paths import folded, path_of, segments_of
from innervoice.wire.refusals import Headers, Refusal

__all__ = ["Endpoint", "Missing", "Verb", "endpoint_of", "is_like_an_answer", "like_an_answer"]

Verb: TypeAlias = Literal[
    "answer", "compact", "count", "models", "model", "stored", "delete", "cancel", "input_items", "version", "show", "hello",
    "create_conversation", "conversation", "update_conversation", "delete_conversation", "add_items", "list_items", "item", "delete_item",
    "live", "ready", "metrics", "explain", "socket",
]  # fmt: skip
"""What a request asks for."""

_OWN: dict[str, str] = {
    "GET /health/live": "live",
    "GET /health/ready": "ready",
    "GET /metrics": "metrics",
    "GET /explain/{report}": "explain",
}
"""The gateway's own endpoints, which belong to no dialect."""
_PLACES = {
    "model": r"(?P<model>.+)",
    "provider/model": r"(?P<model>[^/]+/.+)",
    # A word here is another path: responses/compact.
    "id": r"(?P<id>(?![a-z]+(?:/|$))[^/]+)",
    "item": r"(?P<item>[^/]+)",
    "report": r"(?P<report>[^/]+)",
}
_ELSEWHERE = "; a path of a provider is passed on as it is behind the provider's name, as in /openai/v1/embeddings, or to the provider that other_paths in [server] names"
_REMEMBERED = 256
"""Longer paths are looked up each time."""
_MOST_VERSIONS = 2
"""A base URL that ends in /v1, and a client that adds it once more."""
_VERB_OF_A_MODEL = re.compile(r".*:[a-z]+[A-Z][A-Za-z]*")
"""A name that ends like models/M:embedContent is a verb that is not served, not a model."""


class Endpoint(NamedTuple):
    """What a request asks for, and in which dialect."""

    dialect: str
    verb: Verb
    model: str | None = None
    """The model's name, if it is in the path."""
    stream: bool | None = None
    """Whether the answer is streamed, if the path says so."""
    id: str | None = None
    """The id in the path: of a stored response, or of a request."""
    array: bool = False
    """Whether the stream is one JSON array."""
    item: str | None = None
    """The id of an item of a conversation, in the path."""


class Missing(NamedTuple):
    """A path or a method that is not served, with an error message in the dialect that the path looks like."""

    dialect: str
    refusal: Refusal


class _Row(NamedTuple):
    method: str
    path: str
    pattern: re.Pattern[str]
    verb: Verb
    dialects: tuple[str, ...]
    """The dialects that share the path; the first is used where nothing tells them apart. Empty: the gateway's own."""
    stream: bool | None

    @property
    def methods(self) -> tuple[str, ...]:
        return ("GET", "HEAD") if self.method == "GET" else (self.method,)


class _Path(NamedTuple):
    """A path, divided into its pieces."""

    prefix: str | None
    """The dialect that the path begins with."""
    version: str | None
    rest: str
    """The rest, without slashes around it."""


def endpoint_of(method: str, path: str, query: str, headers: Headers) -> Endpoint | Missing:
    """The endpoint of a request; `path` is the raw one, percent-encoded as received, and the names of headers are in lower case."""
    if len(path) > LIMITS.path_characters:
        text = f"the path has {len(path)} characters; at most {LIMITS.path_characters} are served"
        return Missing(DEFAULT, Refusal(text=text, status=414))
    telling = _telling_headers()
    telling_headers = tuple((name, headers[name]) for name in telling if name in headers)
    if len(path) + len(query) > _REMEMBERED or any(
        len(value) > _REMEMBERED for _, value in telling_headers
    ):
        return _matching_endpoint(method, path, query, dict(telling_headers))
    return _cached_endpoint(method, path, query, telling_headers)


@cache
def _telling_headers() -> tuple[str, ...]:
    """The headers that tell dialects apart, or announce a WebSocket."""
    dialects = [dialect_named(name) for name in DIALECTS]
    names = [
        header
        for dialect in dialects
        for header in (dialect.key_header, *dialect.headers)
        if header
    ]
    return tuple(dict.fromkeys((*names, "upgrade")))


@lru_cache(maxsize=1024)
def _cached_endpoint(
    method: str, path: str, query: str, telling_headers: tuple[tuple[str, str], ...]
) -> Endpoint | Missing:
    return _matching_endpoint(method, path, query, dict(telling_headers))


def _matching_endpoint(method: str, path: str, query: str, headers: Headers) -> Endpoint | Missing:
    method = method.upper()
    try:
        pieces = _pieces(path_of(filter(None, segments_of(path))))
    except ValueError as error:
        text = f"{method} {_short_path(path)} is not served here: {error}"
        near = _near(_pieces(path), headers)
        return Missing(near, Refusal(text=text, status=404))
    matches = list(_matches(pieces, headers))
    if not matches and pieces.prefix:
        # The first word may be a provider in the name of a model, which is also the name of a dialect.
        whole = _Path(None, pieces.version, f"{pieces.prefix}/{pieces.rest}")
        matches = list(_matches(whole, headers))
    if not matches:
        return _not_found(method, path, pieces, headers)
    _, dialect, _ = matches[0]
    if headers.get("upgrade", "").lower() == "websocket":
        if matches[0][0].verb == "answer" and dialect_named(dialect).has_sockets:
            return Endpoint(dialect, "socket")
        # Codex continues over HTTP when it gets this status, and gives up at others.
        text = (
            f"{_short_path(path)} is not served over WebSocket; send an HTTP {matches[0][0].method}"
        )
        refusal = Refusal(text=text, status=426, headers={"upgrade": "HTTP/1.1"})
        return Missing(dialect, refusal)
    for row, spoken, values in matches:
        if method in row.methods:
            return _endpoint(row, spoken, values, query)
    allowed = dict.fromkeys(name for row, _, _ in matches for name in row.methods)
    text = f"{method} is not allowed for {_short_path(path)}; use {' or '.join(allowed)}"
    return Missing(dialect, Refusal(text=text, status=405, headers={"allow": ", ".join(allowed)}))


# ---- rows -----------------------------------------------------------------------------------------------


@cache
def _rows() -> tuple[_Row, ...]:
    """Every row; those for answers come first."""
    shared: dict[tuple[str, str, str, bool | None], list[str]] = {}
    answers = ((name, *row) for name in DIALECTS for row in _answers(name))
    others = (
        (name, *_split(row), verb, None)
        for name in DIALECTS
        for row, verb in dialect_named(name).endpoints.items()
    )
    for name, method, path, verb, stream in (*answers, *others):
        shared.setdefault((method, path, verb, stream), []).append(name)
    for row, verb in _OWN.items():
        shared[(*_split(row), verb, None)] = []
    return tuple(
        _Row(method, path, _pattern(path), cast("Verb", verb), tuple(dialects), stream)
        for (method, path, verb, stream), dialects in shared.items()
    )


def _answers(name: str) -> Iterator[tuple[str, str, str, bool | None]]:
    """The rows for answers in a dialect."""
    dialect = dialect_named(name)
    path = _pieces(dialect.path).rest
    if not any(dialect.verbs):
        yield "POST", path, "answer", None
        return
    for row in filter(None, (path, _pieces(dialect.bare_path).rest)):
        for stream, verb in enumerate(dialect.verbs):
            yield "POST", row.replace("{verb}", verb.partition("?")[0]), "answer", bool(stream)


def _split(row: str) -> tuple[str, str]:
    method, _, path = row.partition(" ")
    return method, path.strip("/")


def _pattern(path: str) -> re.Pattern[str]:
    escaped = re.escape(path)
    for name, place in _PLACES.items():
        escaped = escaped.replace(rf"\{{{name}\}}", place)
    return re.compile(escaped)


@cache
def _answer_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The paths for answers in lower case; those of several words or with a verb also behind other words, as in /v1beta/openai/chat/completions."""
    patterns = []
    for row in _rows():
        if row.verb in ("answer", "compact"):
            before = "(?:.*/)?" if "/" in row.path or ":" in row.path else ""
            pattern = re.compile(
                before + row.pattern.pattern.replace("(?P<model>", "(?:"), re.IGNORECASE
            )
            patterns.append((row.path, pattern))
    return tuple(patterns)


@cache
def _versions() -> frozenset[str]:
    return frozenset(version for name in DIALECTS for version in dialect_named(name).versions)


# ---- matching -------------------------------------------------------------------------------------------


def _pieces(path: str) -> _Path:
    """A path without empty segments, with its dialect and its versions split off."""
    segments = [segment for segment in path.split("/") if segment]
    prefix = segments.pop(0) if segments and segments[0] in DIALECTS else None
    version = None
    for _ in range(_MOST_VERSIONS):
        if segments and segments[0] in _versions():
            version = segments.pop(0)
    return _Path(prefix, version, "/".join(segments))


def _matches(path: _Path, headers: Headers) -> Iterator[tuple[_Row, str, Mapping[str, str]]]:
    """The rows of a path for any method, each with its dialect and the names in the path."""
    for row in _rows():
        if path.prefix and path.prefix not in row.dialects:
            continue
        match = row.pattern.fullmatch(path.rest)
        if not match:
            continue
        values = {name: unquote(value) for name, value in match.groupdict().items()}
        if row.verb == "model" and _VERB_OF_A_MODEL.fullmatch(match["model"]):
            continue
        if all(map(_is_name, values.values())):
            yield (
                row,
                path.prefix or _dialect_by_version(row.dialects, path.version, headers) or DEFAULT,
                values,
            )


def _is_name(name: str) -> bool:
    """Whether it can be a name: it may become part of an upstream's URL, so it must not contain path traversal."""
    return name.isprintable() and not {"", ".", ".."} & set(name.split("/"))


def _dialect_by_version(
    dialects: tuple[str, ...], version: str | None, headers: Headers
) -> str | None:
    """Chooses among the dialects that share a path: by a version that the first does not have, or by headers."""
    usual = dialects[0] if dialects else None
    if usual is None or len(dialects) == 1:
        return usual
    if version and version not in dialect_named(usual).versions:
        return next((name for name in dialects if version in dialect_named(name).versions), usual)
    return _by_headers(dialects, headers) or usual


def _by_headers(dialects: tuple[str, ...], headers: Headers) -> str | None:
    for name in dialects:
        dialect = dialect_named(name)
        if (dialect.key_header or "") in headers or any(
            header in headers for header in dialect.headers
        ):
            return name
    return None


def _endpoint(row: _Row, dialect: str, values: Mapping[str, str], query: str) -> Endpoint:
    array = False
    if row.stream and dialect_named(dialect).streams_lists:
        parameters = parse_qs(query)
        array = "sse" not in (*parameters.get("alt", ()), *parameters.get("$alt", ()))
    wanted = values.get("id") or values.get("report")
    item = values.get("item")
    return Endpoint(dialect, row.verb, values.get("model"), row.stream, wanted, array, item)


# ---- what may be read as an answer on the way ------------------------------------------------------------


def is_like_an_answer(segments: Sequence[str]) -> bool:
    """True if a server may take a path for one that answers: another spelling of it, or the same behind other words."""
    words = folded(segments).split("/")
    while words and words[0] in _versions():
        words.pop(0)
    return any(pattern.fullmatch("/".join(words)) for _, pattern in _answer_patterns())


def like_an_answer(method: str, path: str, dialect: str) -> Missing:
    """The refusal of such a path: what it would reach, nothing was checked for."""
    text = f"{method} {_short_path(path)} may be read as a path for answers, and is passed on under none but their own; send it as the API writes it, such as /v1/chat/completions"
    return Missing(dialect, Refusal(text=text, status=404))


# ---- what is not served ---------------------------------------------------------------------------------


def _not_found(method: str, path: str, pieces: _Path, headers: Headers) -> Missing:
    dialect = pieces.prefix or _near(pieces, headers)
    rows = (row for row in _rows() if dialect in row.dialects)
    served = ", ".join(f"{row.method} /{row.path}" for row in rows)
    versions = " or ".join(f"/{version}" for version in dialect_named(dialect).versions)
    text = f"{method} {_short_path(path)} is not served here; for {dialect} there are {served}, also with the prefix {versions}{_ELSEWHERE}"
    return Missing(dialect, Refusal(text=text, status=404))


def _near(path: _Path, headers: Headers) -> str:
    """The dialect that an unknown path looks like, by its version, by headers, or by its first word."""
    dialect = _dialect_by_version(DIALECTS, path.version, headers)
    if dialect not in (None, DEFAULT):
        return dialect
    word = path.rest.partition("/")[0]
    alike = (row.dialects[0] for row in _rows() if row.dialects and row.path.split("/")[0] == word)
    return next(alike, DEFAULT)


def _short_path(path: str) -> str:
    return path if len(path) <= 200 else f"{path[:200]}..."
