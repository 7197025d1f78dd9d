"""How an emulated server deviates from the catalog: rows of a TOML file -> other facts for a model, and other manners of its server.

    [[deviation]]
    hosts = ["anthropic"]            # absent: all
    match = ["claude-opus-5-5"]      # absent: all models
    model = { efforts = ["low"] }    # columns of models.toml
    host = { strict = [] }           # columns of hosts.toml
    markup = { tags = ["reason"] }   # columns of markup.toml: the text then carries the reasoning
    server = { seals = "unchecked" } # what no column says: `Manners`

`innervoice probe` shall find each of them; programs can be tested against a provider that has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from innervoice.canon.jsontext import dump_json
from innervoice.canon.parts import Part, Thinking
from innervoice.canon.request import Request
from innervoice.canon.rows import Card, Host, ModelRow, Row
from innervoice.canon.target import Target
from innervoice.catalog.lookup import all_hosts, fits
from innervoice.catalog.user_catalog import wrong_values
from innervoice.errors import UsageError
from innervoice.frames.frame import Frame
from innervoice.wire.json_access import as_dict
from innervoice.wire.refusals import Refusal

__all__ = [
    "AS_CATALOGED",
    "Deviation",
    "Deviations",
    "Failures",
    "Manners",
    "deviations_from",
    "further_refusals",
    "remaining",
    "renamed",
    "with_event",
    "without_seals",
]

_ABOUT_LOST_REASONING = (
    "Expected `thinking`",
    "must be passed back",
    "missing a thought_signature",
    "without its required 'reasoning'",
    "reasoning_content",
    "reasoning_text",
)
"""What refusals say that are about reasoning which was not sent back."""


class Manners(Row, frozen=True, kw_only=True):
    """What a server does beyond the columns of the catalog; the defaults are what the emulator does anyway."""

    seals: Literal["checked", "unchecked", "ignored", "absent"] = "checked"
    """unchecked: changed seals are accepted; ignored: missing ones as well; absent: answers have none."""
    dropped: Literal["refused", "accepted"] | None = None
    """Whether a tool loop without its reasoning is refused; None: as the rules of the dialect say."""
    words: str | None = None
    """The words of every refusal."""
    status: int | None = None
    """The status of every refusal."""
    error_shape: Literal["detail", "text"] | None = None
    """The body of a refusal: {"detail": ...}, or plain text; None: that of the dialect."""
    stream_event: str | None = None
    """The type of an event in the middle of streams that the dialect does not have."""
    parallel_calls: bool = True
    """Whether a turn may have several calls."""
    accepts_schema: bool = True
    """Whether the form of an answer may be a JSON schema."""
    renames: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Words of answers, such as the type of a block or the name of a field -> other words."""
    ignores: tuple[str, ...] = ()
    """Members of a body that are accepted and have no effect."""
    fails: tuple[str, ...] = ()
    """What happens to one request after the other: a status, "cut", "cut:N" after N bytes, "slow", or "" for nothing; then again from the start."""
    retry_after: str | None = None
    """The header `retry-after` of failures."""
    poses_as: str | None = None
    """The program whose replies to requests without a body it has: an id of catalog/servers.toml; None: that of its host."""


class Deviation(Row, frozen=True, kw_only=True):
    """Other facts about some models at some hosts."""

    hosts: tuple[str, ...] = ("*",)
    match: tuple[str, ...] = ("*",)
    model: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it
    host: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it
    markup: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it
    server: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it

    def concerns(self, provider: str, model: str) -> bool:
        """Whether it is about a model at a host."""
        return ("*" in self.hosts or provider in self.hosts) and fits(self.match, model)


AS_CATALOGED = Manners()


class Deviations:
    """All deviations of an emulator; without any it is as the catalog says."""

    def __init__(self, rows: Iterable[Deviation] = ()) -> None:
        self._rows = tuple(rows)

    def __bool__(self) -> bool:
        return bool(self._rows)

    def _columns(self, table: str, provider: str, model: str) -> dict[str, Any]:
        rows = (row for row in self._rows if row.concerns(provider, model))
        return dict(chain.from_iterable(getattr(row, table).items() for row in rows))

    def applied(self, target: Target) -> Target:
        """The target with the facts of this server."""
        if not self._rows:
            return target
        provider = target.provider or ""
        host = target.host and _changed(target.host, self._columns("host", provider, target.model))
        return target.replace(row=self.row_of(target.row, provider, target.model), host=host)

    def row_of(self, row: ModelRow, provider: str, model: str) -> ModelRow:
        """A model's row with the facts of this server."""
        return _changed(row, self._columns("model", provider, model)) if self._rows else row

    def markup(self, provider: str, model: str) -> dict[str, Any]:
        """The columns of the markup card that deviate."""
        return self._columns("markup", provider, model) if self._rows else {}

    def manners(self, provider: str, model: str) -> Manners:
        """What the server does beyond the columns."""
        columns = self._columns("server", provider, model) if self._rows else {}
        return Manners.from_row(columns) if columns else AS_CATALOGED

    def limit_refusals(self, request: Request, provider: str, model: str) -> Iterator[Refusal]:
        """Refuses more output than the deviating row says; what a provider does above its real limit differs, so nobody else is refused."""
        most = self._columns("model", provider, model).get("max_output") if self._rows else None
        if most is not None and (request.max_tokens or 0) > most:
            text = f"max_tokens: {request.max_tokens} > {most}, which is the maximum allowed number of output tokens"
            yield Refusal(text=text)


def _changed(row: Any, columns: dict[str, Any]) -> Any:
    """A row with other values in some columns, as a file has them."""
    if not columns:
        return row
    kind = type(row)
    needed = {name: getattr(row, name) for name in kind.required() if name not in columns}
    read = kind.from_row({**needed, **columns})
    return row.replace(**{name: getattr(read, name) for name in columns})


def deviations_from(source: Any) -> Deviations:
    """Deviations from a path, a list of rows, or the content of a file as a dict; raises `UsageError` with every mistake."""
    if isinstance(source, Deviations):
        return source
    if isinstance(source, (str, Path)):
        source = _read(Path(source))
    rows = source.get("deviation", []) if isinstance(source, Mapping) else source
    if not isinstance(rows, (list, tuple)) or not all(isinstance(row, Mapping) for row in rows):
        raise UsageError("deviations must be rows, each under [[deviation]]")
    mistakes = [
        f"deviation {number}, {mistake}"
        for number, row in enumerate(rows, 1)
        for mistake in _mistakes(dict(row))
    ]
    if mistakes:
        raise UsageError("deviations cannot be used:\n  " + "\n  ".join(mistakes))
    return Deviations(Deviation.from_row(dict(row)) for row in rows)


def _read(file: Path) -> Any:
    import tomllib  # noqa: PLC0415 - most emulators do not deviate

    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the deviations in {file}: {error}") from None


_TABLES: dict[str, type[Row]] = {
    "model": ModelRow,
    "host": Host,
    "markup": Card,
    "server": Manners,
}


def _mistakes(row: dict[str, Any]) -> Iterator[str]:
    for column, problem in Deviation.wrong_columns(row):
        yield f"{column}: {problem}"
    hosts = [host.id for host in all_hosts()]
    for table, kind in _TABLES.items():
        columns = as_dict(row.get(table))
        wrong = list(kind.wrong_columns(columns))
        for column, problem in wrong:
            yield f"{table}.{column}: {problem}"
        if not wrong:
            yield from (f"{table}.{name}: {text}" for name, text in wrong_values(columns, hosts))


# ---- what manners do to requests and answers -----------------------------------------------------


def remaining(refusals: Iterable[Refusal], manners: Manners) -> Iterator[Refusal]:
    """The refusals of the rules that this server has as well."""
    for refusal in refusals:
        is_about_loss = any(words in refusal.text for words in _ABOUT_LOST_REASONING)
        if manners.dropped == "accepted" and is_about_loss:
            continue
        if manners.seals in ("ignored", "absent") and "signature" in refusal.text:
            continue
        yield refusal


def further_refusals(request: Request, manners: Manners) -> Iterator[Refusal]:
    """What this server refuses beside the rules of the dialect."""
    if not manners.accepts_schema and request.response_format is not None:
        yield Refusal(text="response_format is not supported while the model thinks")
    if manners.dropped != "refused":
        return
    messages = request.messages
    start = max((n for n, one in enumerate(messages) if one.role == "user" and one.text), default=0)
    for message in messages[start:]:
        if message.tool_calls and not any(isinstance(part, Thinking) for part in message.parts):
            yield Refusal(text="The reasoning of the open tool loop must be sent back.")


def without_seals(part: Part, names: Iterable[str]) -> Part:
    """A part of an answer without its seals."""
    origin = part.origin
    if origin is None or not isinstance(origin.block, dict):
        return part
    block = _without(origin.block, frozenset(names) - {"id", "data"})
    return part.replace(origin=origin.replace(block=block))


def _without(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, names) for key, item in value.items() if key not in names}
    return [_without(item, names) for item in value] if isinstance(value, list) else value


def with_event(frames: Iterator[Frame], kind: str) -> Iterator[Frame]:
    """The frames of a stream with one more behind the first, of a type that the dialect does not have."""
    yield from islice(frames, 1)
    yield Frame(dump_json({"type": kind, "object": kind}), kind)
    yield from frames


def renamed(pieces: Iterable[bytes], manners: Manners) -> Iterator[bytes]:
    """The bytes of an answer with other words, as the type of a block."""
    words = [(dump_json(old), dump_json(new)) for old, new in manners.renames.items()]
    for piece in pieces:
        for old, new in words:
            piece = piece.replace(old, new)  # noqa: PLW2901
        yield piece


class Failures:
    """Counts requests, to say which of them fail."""

    def __init__(self) -> None:
        self._number = 0

    def next(self, manners: Manners) -> str:
        """What happens to the next request: a status, "cut", "slow", or "" for nothing."""
        if not manners.fails:
            return ""
        self._number += 1
        return manners.fails[(self._number - 1) % len(manners.fails)]
