"""Files that grow -> events for the pages that show them.

Each conversation that a page shows has a channel: a sketch of the rows as they were last sent, and the newest events with their ids. A client that
fetches rows gets the id of the last event that they contain, and a client that listens says which event it has seen last, so nothing is lost in between.
One task checks the files of all channels; changed files are read again and compared.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from time import monotonic
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

from innervoice.canon.jsontext import dump_json
from innervoice.errors import InnervoiceError
from innervoice.view.library import Library
from innervoice.view.places import Stamp
from innervoice.view.row_types import Growth, Head, Row
from innervoice.view.rows import Timeline

__all__ = [
    "HEARTBEAT",
    "Change",
    "EventName",
    "Happened",
    "Live",
    "Sketch",
    "Snapshot",
    "Task",
    "Threads",
    "changes",
    "sketch_of",
]

HEARTBEAT = 15.0
_FRAME = 0.05
"""Seconds between two frames, and between two checks of the files."""
_SCAN = 2.0
"""Seconds between two checks of folders."""
_MOST_EVENTS = 2_000
_MOST_BYTES = 4 << 20
_CHANNELS = 8
"""How many conversations without listeners are remembered."""
_SKETCHED = 4_000
"""How many rows at the end of a conversation are compared with what was sent: a session grows there."""
_IDLE_ROWS = 20_000
"""How many rows they may have."""


class Snapshot(NamedTuple):
    """The rows of a conversation, and the id of the last event that they contain."""

    head: Head
    rows: Timeline
    event: str


class Happened(NamedTuple):
    """An event with its id; `data` is JSON."""

    id: str
    number: int
    name: EventName
    data: bytes


class _Channel:
    """A conversation, as it was last sent."""

    def __init__(self) -> None:
        self.stamp: Stamp | None = None
        """The stamp of the file when it was last checked."""
        self.sent: Stamp | None = None
        """The stamp of the rows that were sent."""
        self.listeners = 0
        self.number = 0
        self._name = secrets.token_hex(4)
        self._head: Head | None = None
        self._sketches: list[Sketch] = []
        self._first = 0
        """The number of the first row that has a sketch; rows before it are only checked for being the same turns."""
        self._shape = 0
        self._events: deque[Happened] = deque()
        self._size = 0
        self._lock = Lock()

    @property
    def length(self) -> int:
        """How many rows were sent."""
        return len(self._sketches)

    @property
    def event(self) -> str:
        """The id of the last event."""
        return f"{self._name}-{self.number}"

    def tell(self, stamp: Stamp, head: Head, rows: Timeline) -> bool:
        """Makes events of the differences from what was sent; returns whether there are any."""
        if stamp == self.sent and head == self._head:
            return False
        happened: list[Change] = []
        if self.sent is not None:
            if self._is_continued(rows):
                happened += changes(self._sketches, rows[self._first :])
            else:
                happened.append(Change("reset", {}))
            happened += [Change("head", head)] if head != self._head else []
        if stamp != self.sent:
            self._first = max(0, len(rows) - _SKETCHED)
            self._shape = rows.shape(self._first)
            self._sketches = [sketch_of(row) for row in rows[self._first :]]
        self.sent, self._head = stamp, head
        self._add(happened)
        return bool(happened)

    def _is_continued(self, rows: Timeline) -> bool:
        """Whether the turns before the sketches are still the same."""
        return len(rows) >= self._first and rows.shape(self._first) == self._shape

    def _add(self, happened: list[Change]) -> None:
        with self._lock:
            for change in happened:
                self.number += 1
                data = dump_json(change.data)
                self._events.append(Happened(self.event, self.number, change.name, data))
                self._size += len(data)
            while self._events and (self._size > _MOST_BYTES or len(self._events) > _MOST_EVENTS):
                self._size -= len(self._events.popleft().data)

    def after(self, event: str) -> list[Happened] | None:
        """The events after one; None if it is too old, or unknown here."""
        name, _, number = event.rpartition("-")
        with self._lock:
            oldest = self._events[0].number if self._events else self.number + 1
            is_known = name == self._name and number.isdecimal()
            if not is_known or not oldest - 1 <= int(number) <= self.number:
                return None
            return [event for event in self._events if event.number > int(number)]


class Live:
    """The channels of a library."""

    def __init__(self, library: Library, threads: Threads) -> None:
        self._library = library
        self._threads = threads
        self._channels: OrderedDict[str, _Channel] = OrderedDict()
        self._refreshing = Lock()
        self._waiting: set[asyncio.Event] = set()
        self._watching: list[asyncio.Task[None]] = []
        self._lists = 0
        """How often the list of sources has changed."""
        self._is_closed = False

    def rows(self, id: str) -> Snapshot:  # noqa: A002 - the plain word
        """The rows of a conversation as they are now; blocks, so it is called in a thread."""
        with self._refreshing:
            return self._tell(id)[1]

    def _tell(self, id: str) -> tuple[_Channel, Snapshot]:  # noqa: A002
        id = self._library.canonical_id(id)  # noqa: A001
        channel = self._channels.get(id) or _Channel()
        channel.stamp = self._library.stamp(id)
        stamp, rows = self._library.stamped_rows(id)
        head = self._library.head(id)
        channel.tell(stamp, head, rows)
        self._channels[id] = channel
        self._channels.move_to_end(id)
        self._forget()
        return channel, Snapshot(head, rows, channel.event)

    def _join(self, id: str) -> _Channel:  # noqa: A002
        """The channel of a conversation, which exists as long as there are listeners."""
        with self._refreshing:
            channel, _ = self._tell(id)
            channel.listeners += 1
            return channel

    def since(self, id: str, event: str) -> list[Happened] | None:  # noqa: A002
        """The events after an event, by the current state of the file; None if the event is too old, or unknown here."""
        with self._refreshing:
            channel = self._channels.get(id)
            if channel is None:
                return None
            self._refresh(id, channel)
            return channel.after(event)

    async def snapshot(self, id: str) -> Snapshot:  # noqa: A002
        """The same, for the event loop; listeners are notified of the new events."""
        answer = await self._threads.run("read", lambda: self.rows(id))
        self._wake()
        return answer

    async def frames(self, id: str | None, after: str | None) -> AsyncIterator[bytes]:  # noqa: A002
        """Server-sent events after an event, as long as the client listens; without an id only those of the list."""
        channel = None
        if id is not None:
            channel = await self._threads.run("read", lambda: self._join(id))
        woken = asyncio.Event()
        self._waiting.add(woken)
        self._watch()
        try:
            async for frame in self._frames(channel, after, woken):
                yield frame
        finally:
            self._waiting.discard(woken)
            if channel is not None:
                channel.listeners -= 1

    def close(self) -> None:
        """Ends the streams of all listeners, because the server stops."""
        self._is_closed = True
        self._library.close()
        self._wake()

    async def _frames(
        self, channel: _Channel | None, after: str | None, woken: asyncio.Event
    ) -> AsyncIterator[bytes]:
        # A client that reconnects may have missed a change of the list.
        lists = self._lists if after is None else -1
        seen = (after or channel.event) if channel else ""
        yield b"retry: 1000\n\n"
        while not self._is_closed:
            frame = b""
            if channel is not None:
                happened = channel.after(seen)
                if happened is None:
                    frame = _framed("reset", b"{}", channel.event)
                    seen = channel.event
                elif happened:
                    frame = b"".join(
                        _framed(event.name, event.data, event.id) for event in happened
                    )
                    seen = happened[-1].id
            if lists != self._lists:
                lists = self._lists
                frame += _framed("sources", b"{}")
            if frame:
                yield frame
                await asyncio.sleep(_FRAME)
            if not woken.is_set():
                try:
                    await asyncio.wait_for(woken.wait(), HEARTBEAT)
                except TimeoutError:
                    yield b": still here\n\n"
            woken.clear()

    def _watch(self) -> None:
        """Checks files and folders while there are listeners."""
        if not self._watching or any(task.done() for task in self._watching):
            for task in self._watching:
                task.cancel()
            watches = self._watch_files(), self._watch_folders()
            self._watching = [asyncio.create_task(watch) for watch in watches]

    async def _watch_files(self) -> None:
        while self._waiting and not self._is_closed:
            began = monotonic()
            if await self._threads.run("read", self._look_at_files):
                self._wake()
            # A large file that grows must not use up the whole machine.
            await asyncio.sleep(max(_FRAME, monotonic() - began))

    async def _watch_folders(self) -> None:
        pending = 0
        while self._waiting and not self._is_closed:
            began = monotonic()
            is_new, remaining = await self._threads.run("list", self._look_at_folders)
            if is_new or (pending and not remaining):
                self._lists += 1
                self._wake()
            pending = remaining
            await asyncio.sleep(_FRAME if remaining else max(_SCAN, 20 * (monotonic() - began)))

    def _look_at_files(self) -> bool:
        """Reads what changed; returns whether anything did."""
        with self._refreshing:
            followed = [(id_, one) for id_, one in self._channels.items() if one.listeners]
            happened = [self._refresh(id_, channel) for id_, channel in followed]
            return any(happened)

    def _look_at_folders(self) -> tuple[bool, int]:
        """Whether files were added or removed, and how many were not opened yet."""
        return self._library.scan(), self._library.examine(_FRAME)

    def _refresh(self, id: str, channel: _Channel) -> bool:  # noqa: A002
        """Reads a conversation again if its file changed; returns whether there are events."""
        stamp = self._library.stamp(id)
        if stamp == channel.stamp:
            return False
        channel.stamp = stamp
        try:
            stamp_now, rows = self._library.stamped_rows(id)
            return channel.tell(stamp_now, self._library.head(id), rows)
        except (InnervoiceError, OSError):
            return False  # half written, or gone: the rows stay until the file can be read again

    def _forget(self) -> None:
        """Drops conversations without listeners; a client that returns to one starts from the beginning."""
        idle = [id_ for id_, channel in self._channels.items() if not channel.listeners]
        count = 0
        for number, id_ in enumerate(reversed(idle)):
            count += self._channels[id_].length
            if number and (number >= _CHANNELS or count > _IDLE_ROWS):
                del self._channels[id_]

    def _wake(self) -> None:
        for woken in self._waiting:
            woken.set()


def _framed(name: EventName, data: bytes, id: str | None = None) -> bytes:  # noqa: A002
    head = f"id: {id}\n" if id is not None else ""
    return f"{head}event: {name}\n".encode() + b"data: " + data + b"\n\n"


# ---- Rows before and after a change of their file -> the events that turn the first into the second.
#
# Rows are identified by their number. `row` puts a row at its number, `grow` appends to its text, `gone` removes it; a row that became another
# one (a thought that turned out to be text) is `gone` first. Only sketches of the earlier rows are kept: a conversation may be large, and is in memory
# once already.


EventName: TypeAlias = Literal["row", "grow", "gone", "head", "sources", "reset"]

_CARRIED = ("first", "opening", "cut", "blocks")
_GROWING = ("text", "facts", *_CARRIED)
_SAME = ("turn", "part", "kind", "role")
"""What stays the same as long as a row is the same row."""


class Change(NamedTuple):
    """An event for the page."""

    name: EventName
    data: Any


class Sketch(NamedTuple):
    """What must be known about a row to find out how it changed; texts by their hashes."""

    n: int
    same: int
    """A hash of what identifies the row."""
    fixed: int
    """A hash of everything that does not grow."""
    facts: int
    carried: tuple[int | None, ...]
    length: int
    text: int
    units: int
    """The length of its text as JavaScript counts."""


def sketch_of(row: Row) -> Sketch:
    """The sketch of a row."""
    members = cast("dict[str, Any]", row)
    text = row["text"]
    return Sketch(
        n=row["n"],
        same=hash(tuple(members[name] for name in _SAME)),
        fixed=hash(dump_json({name: members[name] for name in members if name not in _GROWING})),
        facts=hash(dump_json(row["facts"])),
        carried=tuple(_hash(members[name]) if name in members else None for name in _CARRIED),
        length=len(text),
        text=hash(text),
        units=len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2,
    )


def _hash(value: Any) -> int:
    return hash(value if isinstance(value, (str, int)) else dump_json(value))


def changes(old: Sequence[Sketch], new: Sequence[Row]) -> Iterator[Change]:
    """The events, in the order in which they are applied."""
    for before in reversed(old[len(new) :]):
        yield Change("gone", {"n": before.n})
    for before, row in zip(old, new, strict=False):
        yield from _change(before, row)
    for row in new[len(old) :]:
        yield Change("row", row)


def _change(before: Sketch, row: Row) -> Iterator[Change]:
    after = sketch_of(row)
    if before == after:
        return
    # A text that is no longer the same was replaced, not continued.
    goes_on = after.length >= before.length and hash(row["text"][: before.length]) == before.text
    growth = _growth(before, after, row) if goes_on else None
    if growth is not None:
        yield Change("grow", growth)
        return
    if before.same != after.same or not goes_on:
        yield Change("gone", {"n": before.n})
    yield Change("row", row)


def _growth(before: Sketch, after: Sketch, row: Row) -> Growth | None:
    """The appended text; None if anything else changed."""
    carried = dict(zip(_CARRIED, zip(before.carried, after.carried, strict=True), strict=True))
    is_longer = after.length > before.length or carried["cut"][0] != carried["cut"][1]
    is_lost = any(was is not None and now is None for was, now in carried.values())
    if (before.same, before.fixed) != (after.same, after.fixed) or is_lost or not is_longer:
        return None
    growth = {"n": row["n"], "at": before.units, "text": row["text"][before.length :]}
    members = cast("dict[str, Any]", row)
    changed = {name: members[name] for name, (was, now) in carried.items() if was != now}
    return cast("Growth", growth | {"facts": row["facts"]} | changed)


# ---- Where files are read: outside the event loop, in few threads.
#
# Reading is serial anyway, and each thread that reads keeps some memory to itself. A request for rows does not wait for a search, or for the scan
# of a folder, which take seconds.


Task: TypeAlias = Literal["read", "list", "search"]
Result = TypeVar("Result")


class Threads:
    """One thread for each kind of work."""

    def __init__(self) -> None:
        tasks: tuple[Task, ...] = ("read", "list", "search")
        self._pools = {task: ThreadPoolExecutor(1, f"view-{task}") for task in tasks}

    async def run(self, task: Task, function: Callable[[], Result]) -> Result:
        """The result of a function that blocks."""
        return await asyncio.get_running_loop().run_in_executor(self._pools[task], function)
