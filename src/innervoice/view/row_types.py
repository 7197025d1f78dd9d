"""What the server sends to the page: the JSON of every route, as types. The page draws it and decides nothing.

Every text in it is sanitized (`show.visible`), and contains no seal, key or header. Numbers that people read (characters, tokens, seconds, dollars)
are sent as words in addition to the numbers, so that the page formats nothing.

  GET /                           the page; /assets/NAME its modules
  GET /api/about                  About
  GET /api/sources?q=&from=&model=&cost=&lost=    SourceList
  GET /api/c/ID?from=&to=&early=  Rows; ID is SOURCE.CONVERSATION; with `early`, of a large file that was not read yet only those at its beginning
  GET /api/outline/ID             Outline
  GET /api/part/ID/N              Whole, the whole text of row N
  GET /api/plan/ID?for=MODEL      PlanView
  GET /api/diff?a=ID:N&b=ID:N&what=turn|request    DiffView; N is the number of a turn
  GET /api/search?q=&in=ID        SearchResult
  GET /api/live?c=ID&after=EVENT  server-sent events, see `live.py`: `row` Row, `grow` Growth, `gone` {"n": N}, `head` Head, `sources` {}, `reset` {}
  GET /runs                       the page with two runs; /api/runs?a=ID&b=ID RunsView (`runs.py`), /api/runs/export?a=ID&b=ID&show=full a file
  GET /api/export/ID?form=html|markdown|json&show=full    a file

Everything else is `{"error": "a sentence"}` with a status of 400 or more. The page's URLs are relative, because it may be served below another path.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from innervoice.privacy.redactor import Redactor, size
from innervoice.show.amounts import dollars, share
from innervoice.show.visible import one_line

__all__ = [
    "About",
    "Badge",
    "Chapter",
    "DiffLine",
    "DiffView",
    "Empty",
    "Fact",
    "Growth",
    "Head",
    "Hit",
    "Outline",
    "PlanMark",
    "PlanView",
    "Row",
    "Rows",
    "SearchResult",
    "SourceItem",
    "SourceList",
    "ThreadRow",
    "Whole",
    "clock",
    "day_of",
    "dollars",
    "duration",
    "fact",
    "moment",
    "rest",
    "share",
    "size",
    "turn_name",
]

RowKind: TypeAlias = Literal[
    "turn", "thinking", "text", "call", "result", "media", "opaque", "remark"
]


class About(TypedDict):
    """What the page needs to start."""

    version: str
    policy: Literal["full", "summary", "length", "none"]
    targets: list[str]
    """Models to suggest for the plan, as provider/model."""
    target: str | None
    """The model of `--for`."""
    is_live: bool
    is_export: bool
    has_usage: NotRequired[bool]
    """Whether there is a request log, whose sums the page about usage has."""


class Fact(TypedDict):
    """A label with a sentence that explains it."""

    label: str
    """A few words, such as `1,204 tokens`."""
    why: NotRequired[str]
    """A sentence, shown on demand."""
    tone: NotRequired[Literal["good", "warn", "bad"]]
    rest: NotRequired[bool]
    """Whether it is shown on demand only."""


class Badge(TypedDict):
    """A seal of a part; never its bytes."""

    state: Literal["present", "fits", "dead", "refused"]
    """Present; bound to the messages before it, which are unchanged; bound, and they changed; known to be refused."""
    label: str
    """In words, such as `sealed by anthropic`."""
    why: str
    """Its owner, what it is bound to, since which edit it is dead: one or two sentences."""
    size: str
    hash: str
    """The first 8 hex digits of a hash of it, to tell seals apart."""


class Empty(TypedDict):
    """Why a block of reasoning has no text."""

    word: Literal[
        "summarised", "sealed only", "redacted", "stripped by a gateway", "never asked", "truncated", "budget_exhausted", "none",
    ]  # fmt: skip
    why: str


class Row(TypedDict):
    """One row of the timeline: the head of a turn, or a part of it."""

    n: int
    """Its number in the conversation."""
    turn: int
    part: int | None
    """The position in the history; None for the head of a turn and for a remark."""
    kind: RowKind
    role: Literal["system", "user", "assistant", "tool"]
    title: str
    """A short title: `assistant`, `Thinking`, `read_file(path="a.py")`, `result of read_file`."""
    text: str
    """What `show.render(..., "plain")` shows of the part under `full`, without the quotation marks."""
    cut: NotRequired[int]
    """The total number of characters, if `text` is only the beginning."""
    first: NotRequired[str]
    """The first line of a folded row."""
    opening: NotRequired[str]
    """What the policy `summary` shows of a thought."""
    facts: list[Fact]
    """Characters, tokens, seconds, form, state; for a turn: model, time, status, tokens, cost, line, marks."""
    seals: list[Badge]
    empty: NotRequired[Empty]
    notes: list[Fact]
    """Notes of an answer, on the head of its turn: code and sentence."""
    image: NotRequired[str]
    """A data: URL of one of five types, shown after a click."""
    call: NotRequired[int]
    """The row of the call, on a result."""
    is_open: NotRequired[bool]
    """Whether it still grows."""
    blocks: NotRequired[list[Any]]
    """The text as people read it: the blocks of its Markdown (`markdown.py`), or the form of a call (`call_forms.py`)."""
    is_aside: NotRequired[bool]
    """Whether it is folded because neither the user nor the model wrote it for the other."""
    is_nested: NotRequired[bool]
    """On the head of a turn of results: each is shown under its call."""
    day: NotRequired[str]
    """On the head of the first turn of a day."""


class Growth(TypedDict):
    """Text that is appended to a row that is open.

    The row becomes `{...row, ...growth, text: row.text.slice(0, at) + text}`, so that applying it twice does no harm.
    """

    n: int
    at: int
    """How much of the row's text is before it, as JavaScript counts characters (UTF-16)."""
    text: str
    facts: list[Fact]
    first: NotRequired[str]
    opening: NotRequired[str]
    cut: NotRequired[int]
    blocks: NotRequired[list[Any]]
    """The same members as in the row, where they changed."""


class ThreadRow(TypedDict):
    """A conversation of a source."""

    id: str
    title: str
    parent: str | None
    facts: list[Fact]
    helper: NotRequired[str]
    """What a client asked for itself; such conversations are folded."""


class Head(TypedDict):
    """The head above the timeline."""

    id: str
    title: str
    source: SourceItem
    lanes: list[ThreadRow]
    lanes_total: NotRequired[int]
    """How many there are in total, if `lanes` has only some, around this one."""
    facts: list[Fact]
    """Sums: turns, tokens, reasoning tokens and their share, cost, models, cache hits that an edit cost."""
    cannot_know: list[str]
    troubles: list[str]


class Rows(TypedDict):
    """A range of a timeline."""

    head: Head
    rows: list[Row]
    total: int
    next: int | None
    """Where the next range begins; None at the end."""
    is_early: NotRequired[bool]
    """Whether the file was read only as far as these rows: there are more, and what depends on the rest is not known yet."""
    event: NotRequired[str]
    """The id of the last live event that these rows contain; `/api/live` starts after it."""


class Chapter(TypedDict):
    """A prompt of the user and everything up to the next."""

    n: int
    """The row of its head."""
    title: str
    facts: list[Fact]
    """Steps, thoughts, errors, cost."""


class Outline(TypedDict):
    """All rows of a conversation in brief; see `outline.py`."""

    kinds: str
    """A letter for each row."""
    sizes: str
    """A digit for each row, on a logarithmic scale."""
    chapters: list[Chapter]


class Whole(TypedDict):
    """A whole text."""

    text: str


class SourceItem(TypedDict):
    """A file in the list."""

    id: str
    title: str
    path: str
    """The path, relative to the one on the command line."""
    kind: str
    first: str
    """The id of its main conversation."""
    facts: list[Fact]
    """Format, conversations, size, time of the last change, models."""
    project: NotRequired[str]
    """The folder that an agent worked in, or the one that the file is in: the list is grouped by it."""
    at: NotRequired[float]
    """When the session was written last, as far as it says; else when the file was."""
    day: NotRequired[str]
    time: NotRequired[str]
    """The same in words."""
    problem: NotRequired[str]
    """Why it cannot be opened."""
    is_deleted: NotRequired[bool]
    """Whether the file was there before, and is gone."""


class SourceList(TypedDict):
    """The files that were opened."""

    sources: list[SourceItem]
    total: int
    next: int | None
    unknown: int
    """How many files of the folder have an unknown format."""
    pending: NotRequired[int]
    """How many files were not examined yet, because there are very many; `sources` is sent when they are."""


class PlanMark(TypedDict):
    """What would happen to a part."""

    action: Literal["goes", "stays", "rewritten", "added"]
    """It is sent unchanged; stays in the history; is sent in another form; something is sent that the history does not have."""
    label: str
    rule: str
    why: str
    problems: list[Fact]
    """The lint's findings at this place that the plan does not fix: they need a person."""


class DiffLine(TypedDict):
    """A line of a comparison."""

    op: Literal["same", "removed", "added"]
    text: str


class PlanView(TypedDict):
    """What a request to a target would do with each row."""

    target: str
    sentence: str
    """What it does, in one sentence."""
    summary: list[Fact]
    marks: dict[str, list[PlanMark]]
    """By the number of the row, as text; rows without an entry are sent unchanged."""
    request: list[DiffLine]
    """The next request in the target's dialect, with seals replaced by their size, compared with the last one that was sent; long runs of `same` are cut."""
    compared: str
    """What it was compared with, in words."""
    error: NotRequired[str]


class DiffView(TypedDict):
    """Two turns or two requests, side by side."""

    left: str
    right: str
    """Their descriptions."""
    facts: list[Fact]
    """The kinds of differences: model, status, tokens, seals."""
    lines: list[DiffLine]


class Hit(TypedDict):
    """A match of a search."""

    id: str
    """The conversation."""
    n: int
    title: str
    where: str
    """text, thinking, tool, note, model or status."""
    before: str
    hit: str
    after: str


class SearchResult(TypedDict):
    """Hits in the order of the sources."""

    hits: list[Hit]
    is_cut: bool
    """Whether there are more."""
    words: str
    """The number of hits and what was searched, in words."""


# ---- Numbers, times and sizes -> the words that the page shows; the page formats nothing.


_WHY = 600
_LOOKED_AT = 8 * _WHY
"""How many characters of a text are examined; the rest could not be shown."""
_SCREEN = Redactor("screen")


@lru_cache(maxsize=4096)
def _line(text: str, limit: int) -> str:
    # The same few facts stand at most rows.
    return one_line(_SCREEN.name(text[:_LOOKED_AT]), limit)


def fact(label: str, why: str = "", tone: Literal["good", "warn", "bad"] | None = None) -> Fact:
    """A label with its sentence, both on one line, sanitized, and without what is private."""
    row: Fact = {"label": _line(label, 120)}
    if why:
        row["why"] = _line(why, _WHY)
    if tone:
        row["tone"] = tone
    return row


def rest(label: str, why: str = "") -> Fact:
    """A fact that is shown on demand only."""
    return {**fact(label, why), "rest": True}


def turn_name(number: int) -> str:
    """What people call a turn: they count from one."""
    return f"turn {number + 1}"


def duration(seconds: float) -> str:
    """Seconds, or minutes if there are many; "" for an invalid time."""
    if not 0 <= seconds < 1e9:
        return ""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def moment(at: float) -> str:
    """A time in the local time zone; "" for an invalid time."""
    try:
        return datetime.fromtimestamp(at).isoformat(" ", "seconds")  # noqa: DTZ006 - local time
    except (ValueError, OverflowError, OSError):
        return ""


def clock(at: float) -> str:
    """The time of day in the local time zone; "" for an invalid time."""
    return moment(at).partition(" ")[2]


def day_of(at: float) -> str:
    """The day in the local time zone, in words; "" for an invalid time."""
    try:
        day = datetime.fromtimestamp(at)  # noqa: DTZ006 - local time
    except (ValueError, OverflowError, OSError):
        return ""
    return f"{day:%A}, {day.day} {day:%B %Y}"
