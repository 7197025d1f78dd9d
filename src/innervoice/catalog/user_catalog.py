"""The user's own catalog file -> rows that extend and override the packaged ones, or every mistake in it with its line.

`$XDG_CONFIG_HOME/innervoice/catalog.toml`, or the file that INNERVOICE_CATALOG names (empty: none), has tables of the packaged files:

    [[host]]     a packaged id changes the columns that are named; another id is a new host
    [[model]]    with `control` a row of its own; without it, other values for the columns that are named, of whatever row fits
    [[markup]]   a packaged family changes the columns that are named; another one is a new card
    [[price]]    US dollars for a million tokens: match, hosts, input, output, cached_input
    [[client]]   as in cli/clients.toml

A row of the user wins over every packaged one; of two rows of the user that fit equally well the later wins.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from innervoice.canon.rows import Card, Host, ModelRow, Price, Row
from innervoice.errors import UsageError
from innervoice.wire.dialects import DIALECTS

__all__ = [
    "ModelChange",
    "UserCatalog",
    "catalog_file",
    "config_folder",
    "read_catalog",
    "wrong_values",
]

_VARIABLE = "INNERVOICE_CATALOG"
_NAMES = ("match", "hosts", "dialects", "source")
"""Columns of a change that say what it applies to, and why."""
_TAG = re.compile(r"[A-Za-z]\w*")
_EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")


class ModelChange(NamedTuple):
    """Other values for some columns of the rows of a model."""

    match: tuple[str, ...]
    hosts: tuple[str, ...]
    dialects: tuple[str, ...]
    columns: dict[str, Any]
    source: str
    line: int


@dataclass(frozen=True)
class UserCatalog:
    """The rows of the user's file, checked."""

    file: Path | None = None
    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Ids -> the columns that the file names."""
    models: tuple[ModelRow, ...] = ()
    changes: tuple[ModelChange, ...] = ()
    markup: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Families -> the columns that the file names."""
    prices: tuple[Price, ...] = ()
    clients: tuple[dict[str, Any], ...] = ()


def config_folder() -> Path:
    """The folder of the user's own files."""
    home = os.environ.get("INNERVOICE_HOME") or os.environ.get("XDG_CONFIG_HOME")
    return Path(home or os.path.expanduser("~/.config")) / "innervoice"  # noqa: PTH111 - Path.home() raises without a home


def catalog_file() -> Path | None:
    """The user's catalog file, whether it exists or not; None if there shall be none."""
    named = os.environ.get(_VARIABLE)
    if named is not None:
        return Path(named) if named else None
    return config_folder() / "catalog.toml"


def read_catalog(packaged: Callable[[str], list[dict[str, Any]]]) -> UserCatalog:
    """The user's catalog; `packaged` returns the packaged rows of a table. Raises `UsageError` with every mistake."""
    file = catalog_file()
    if file is None:
        return UserCatalog()
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        if os.environ.get(_VARIABLE):
            raise UsageError(f"{_VARIABLE} names {file}, which does not exist") from None
        return UserCatalog()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the catalog {file}: {error}") from None
    import tomllib  # noqa: PLC0415 - most users have no such file

    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the catalog {file} is not valid TOML: {error}") from None
    return _Reading(file, text, tables, packaged).catalog()


class _Reading:
    """One file while it is checked."""

    def __init__(
        self,
        file: Path,
        text: str,
        tables: dict[str, Any],
        packaged: Callable[[str], list[dict[str, Any]]],
    ) -> None:
        self._file = file
        self._tables = tables
        self._lines = _lines_of(text)
        self._packaged = packaged
        self._mistakes: list[tuple[int, str]] = []
        self._hosts = {row["id"] for row in packaged("host")}

    def catalog(self) -> UserCatalog:
        """The rows; raises `UsageError` with every mistake, in the order of lines."""
        for name in self._tables.keys() - _TABLES.keys():
            self._add(name, 0, None, f"unknown table; expected {', '.join(_TABLES)}")
        hosts = _joined(self._by_name("host", "id", Host))
        self._hosts |= hosts.keys()
        markup = _joined(self._by_name("markup", "family", Card))
        models, changes = self._models()
        prices = tuple(Price.from_row(row) for row in self._whole("price", Price))
        clients = tuple(self._clients())
        if self._mistakes:
            listed = "\n".join(f"  {text}" for _, text in sorted(self._mistakes))
            raise UsageError(f"the catalog {self._file} cannot be used:\n{listed}")
        return UserCatalog(self._file, hosts, models, changes, markup, prices, clients)

    # ---- tables --------------------------------------------------------------------------------

    def _by_name(
        self, table: str, name: str, kind: type[Row]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Rows that change a packaged one of the same name, or are new."""
        packaged = {row[name] for row in self._packaged(table)}
        for number, row in self._rows(table):
            if self._check(table, number, row, kind) and name not in row:
                self._add(table, number, name, "missing")
            elif row.get(name) not in packaged:
                self._check_complete(table, number, row, kind)
            yield str(row.get(name)), row

    def _models(self) -> tuple[tuple[ModelRow, ...], tuple[ModelChange, ...]]:
        rows, changes = [], []
        for number, row in self._rows("model"):
            if not self._check("model", number, row, ModelRow):
                continue
            if "match" not in row:
                self._add("model", number, "match", "missing: the names of the models")
            elif "control" in row:
                rows.append(ModelRow.from_row(row))
            else:
                read = ModelRow.from_row({**row, "control": "none"})
                columns = {name: getattr(read, name) for name in row if name not in _NAMES}
                line = self._lines.get(("model", number, None), 0)
                changes.append(
                    ModelChange(read.match, read.hosts, read.dialects, columns, read.source, line)
                )
        return tuple(rows), tuple(changes)

    def _whole(self, table: str, kind: type[Row]) -> Iterator[dict[str, Any]]:
        """Rows that must be complete."""
        for number, row in self._rows(table):
            fits = self._check(table, number, row, kind)
            if self._check_complete(table, number, row, kind) and fits:
                yield row

    def _clients(self) -> Iterator[dict[str, Any]]:
        for number, row in self._rows("client"):
            if not isinstance(row.get("id"), str):
                self._add("client", number, "id", "missing: what people type")
            yield row

    # ---- checks --------------------------------------------------------------------------------

    def _rows(self, table: str) -> Iterable[tuple[int, dict[str, Any]]]:
        rows = self._tables.get(table, [])
        if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
            return [
                (number, {"source": self._source(table, number), **row})
                for number, row in enumerate(rows)
            ]
        self._add(table, 0, None, f"expected rows, each under [[{table}]]")
        return ()

    def _check(self, table: str, number: int, row: dict[str, Any], kind: type[Row]) -> bool:
        """Whether all columns can be read; adds every mistake."""
        before = len(self._mistakes)
        wrong = list(kind.wrong_columns(row))
        for column, problem in wrong:
            near = get_close_matches(column, kind.columns(), 1) if "unknown" in problem else []
            hint = f"; did you mean {near[0]!r}?" if near else ""
            self._add(table, number, column, problem + hint)
        readable = {
            name: value for name, value in row.items() if all(name != one for one, _ in wrong)
        }
        for column, problem in wrong_values(readable, self._hosts):
            self._add(table, number, column, problem)
        return len(self._mistakes) == before

    def _check_complete(
        self, table: str, number: int, row: dict[str, Any], kind: type[Row]
    ) -> bool:
        missing = [name for name in kind.required() if name not in row]
        if missing:
            self._add(table, number, None, f"a new row needs {', '.join(missing)}")
        return not missing

    def _add(self, table: str, number: int, column: str | None, problem: str) -> None:
        line = self._lines.get((table, number, column)) or self._lines.get((table, number, None), 1)
        place = f"{table} {number + 1}" + (f", {column}" if column else "")
        self._mistakes.append((line, f"line {line}: {place}: {problem}"))

    def _source(self, table: str, number: int) -> str:
        line = self._lines.get((table, number, None), 1)
        return f"{self._file.name}, line {line}"


def _joined(rows: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Rows by their names; of several with one name, the later columns win."""
    joined: dict[str, dict[str, Any]] = {}
    for name, row in rows:
        joined[name] = {**joined.get(name, {}), **row}
    return joined


def wrong_values(row: Mapping[str, Any], hosts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Columns of a row whose values have the right type and mean nothing."""
    from innervoice.inline.formats import ROWS  # noqa: PLC0415 - most users have no such file
    from innervoice.wire.controls import CONTROLS  # noqa: PLC0415

    known = {*hosts, "*"}
    words: list[tuple[str, Iterable[str], Iterable[str]]] = [
        ("control", [row["control"]] if "control" in row else [], CONTROLS),
        ("dialect", [row["dialect"]] if "dialect" in row else [], DIALECTS),
        ("dialects", row.get("dialects", ()), DIALECTS),
        ("strict", row.get("strict", ()), DIALECTS),
        ("hosts", row.get("hosts", ()), known),
        ("efforts", row.get("efforts", ()), _EFFORTS),
        ("markup", row.get("markup", ()), ROWS),
    ]
    for column, values, expected in words:
        for value in values:
            if value not in expected:
                near = get_close_matches(str(value), list(expected), 1)
                hint = f"did you mean {near[0]!r}?" if near else f"expected {', '.join(expected)}"
                yield column, f"unknown value {value!r}; {hint}"
    for tag in row.get("tags", ()):
        if not _TAG.fullmatch(tag):
            yield "tags", f"expected the name of a tag, such as 'think', not {tag!r}"
    budget = row.get("budget")
    if budget and budget[0] > budget[1]:
        yield "budget", f"expected a minimum and a maximum, not {list(budget)}"
    for column in ("input", "output", "cached_input"):
        if row.get(column) is not None and row[column] < 0:
            yield column, f"expected a price, 0 or more, not {row[column]}"


_TABLES = {"host": Host, "model": ModelRow, "markup": Card, "price": Price, "client": None}

_HEAD = re.compile(r"\s*\[\[\s*([\w-]+)\s*\]\]")
_PART = re.compile(r"\s*\[\s*([\w-]+)\.([\w-]+)")
_COLUMN = re.compile(r"\s*(?:([\w-]+)|\"([^\"]*)\")\s*(?:\.[^=]*)?=")


def _lines_of(text: str) -> dict[tuple[str, int, str | None], int]:
    """(table, number of the row, column or None for its head) -> the line."""
    lines: dict[tuple[str, int, str | None], int] = {}
    table, number = "", 0
    counts: dict[str, int] = {}
    inside = False
    for line, content in enumerate(text.splitlines(), 1):
        if head := _HEAD.match(content):
            table, inside = head[1], True
            number = counts.get(table, 0)
            counts[table] = number + 1
            lines[table, number, None] = line
        elif part := _PART.match(content):
            inside = False
            lines.setdefault((part[1], counts.get(part[1], 1) - 1, part[2]), line)
        elif inside and (column := _COLUMN.match(content)):
            lines.setdefault((table, number, column[1] or column[2]), line)
        elif not counts and (column := _COLUMN.match(content)):
            lines.setdefault((column[1] or column[2], 0, None), line)
    return lines
