"""Events as a browser gets them: over a port, with ids, heartbeats and after a lost connection."""

import json
import threading
import time
from time import monotonic, sleep

import httpx2
import pytest

from innervoice.view.guard import Settings
from innervoice.view.library import Library
from innervoice.view.server import ViewServer
from view.listener import Listener, plain
from view.session_files import session, stream


class Page:
    """A browser that has been at the first address."""

    def __init__(self, server):
        self._streams = []
        self.client = httpx2.Client(base_url=server.url, trust_env=False, timeout=20)
        assert 303 == self.client.get(server.first_address).status_code

    def json(self, path, **query):
        answer = self.client.get(path, params=query)
        assert 200 == answer.status_code, answer.text
        return answer.json()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for events in self._streams:
            events.close()
        self.client.close()

    def events(self, headers=None, **query):
        """Events as (name, data, id); a comment is (None, text, None)."""
        self._streams.append(self._events(headers, query))
        return self._streams[-1]

    def _events(self, headers, query):
        with self.client.stream("GET", "/api/live", params=query, headers=headers or {}) as answer:
            assert "text/event-stream" == answer.headers["content-type"].partition(";")[0]
            assert "no-store" == answer.headers["cache-control"]
            fields = {}
            for line in answer.iter_lines():
                if line.startswith(":"):
                    yield None, line, None
                elif line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif "event" in fields:
                    yield fields["event"], json.loads(fields["data"]), fields.get("id")
                    fields = {}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "session.jsonl").write_bytes(session())
    return tmp_path


@pytest.fixture
def page(folder, monkeypatch):
    monkeypatch.setattr("innervoice.view.live.HEARTBEAT", 0.5)
    with ViewServer(Library([folder]), Settings(policy="full")) as server, Page(server) as page:
        yield page


def first_in(page, name):
    """The first conversation of a file that is new: a folder is not searched at every request, the less often the longer it takes."""
    deadline = monotonic() + 30
    while not (sources := page.json("/api/sources", q=name)["sources"]) and monotonic() < deadline:
        sleep(0.05)
    return sources[0]["first"]


def test_a_file_that_grows_is_heard(folder, page):
    id_ = page.json("/api/sources")["sources"][0]["first"]
    told = page.json(f"/api/c/{id_}")
    longer = session(rounds=3)
    (folder / "session.jsonl").write_bytes(longer)
    listener = Listener(_Told(told))
    for name, data, event in page.events(c=id_, after=told["event"]):
        if event:
            listener.apply(name, data)
        if name == "head":
            break
    assert plain(Library([folder]).rows(id_)) == listener.ordered


def test_a_lost_connection_goes_on_where_it_was(folder, page):
    file = folder / "stream.sse"
    content = stream(("<think>", *["word and "] * 40, "</think>", "Two."))
    half = len(content) // 2
    file.write_bytes(content[:half])
    id_ = first_in(page, "stream.sse")
    told = page.json(f"/api/c/{id_}")
    listener = Listener(_Told(told))

    def write():
        for start in range(half, len(content), 60):
            with file.open("ab") as growing:
                growing.write(content[start : start + 60])
            time.sleep(0.02)

    writing = threading.Thread(target=write)
    writing.start()
    connections = 0
    wanted = None
    while wanted is None or listener.ordered != wanted:
        connections += 1
        assert connections < 200, "the rows never became those of the file"
        # The first address is the same at every reconnection; the browser adds what it heard last.
        headers = {"last-event-id": listener.event} if connections > 1 else {}
        events = page.events(headers, c=id_, after=told["event"])
        for name, data, event in events:
            assert name != "reset"
            if event:
                listener.apply(name, data)
                listener.event = event
            if event or name is None:
                break
        events.close()
        if not writing.is_alive():
            wanted = plain(Library([file]).rows(id_))
    assert connections > 3


class _Told:
    def __init__(self, told):
        self.rows, self.head, self.event = told["rows"], told["head"], told["event"]


def test_events_of_another_time_begin_with_reset(page):
    id_ = page.json("/api/sources")["sources"][0]["first"]
    name, data, event = next(event for event in page.events(c=id_, after="odd-7") if event[2])
    assert ("reset", {}) == (name, data)
    assert page.json(f"/api/c/{id_}")["event"] == event


def test_a_new_file_changes_the_list(folder, page):
    events = page.events()
    threading.Timer(0.3, lambda: (folder / "new.jsonl").write_bytes(session("A new one"))).start()
    assert "sources" == next(name for name, _, _ in events if name)
    assert 2 == page.json("/api/sources")["total"]


def test_it_says_now_and_then_that_it_is_there(page):
    id_ = page.json("/api/sources")["sources"][0]["first"]
    events = page.events(c=id_)
    assert [None, None] == [next(events)[0] for _ in range(2)]


def test_many_small_changes_are_few_frames(folder, page):
    file = folder / "stream.sse"
    content = stream(("<think>", *["word and "] * 300))
    begin = content.index(b"word")
    end = content.rindex(b"word")
    file.write_bytes(content[:begin])
    file.write_bytes(content[: begin + 400])
    id_ = first_in(page, "stream.sse")
    told = page.json(f"/api/c/{id_}")
    began = time.monotonic()

    def write():
        for start in range(begin + 400, end, 100):
            with file.open("ab") as growing:
                growing.write(content[start : min(start + 100, end)])
            time.sleep(0.002)

    writing = threading.Thread(target=write)
    writing.start()
    grown = 0
    listener = Listener(_Told(told))
    for name, data, event in page.events(c=id_, after=told["event"]):
        if event:
            listener.apply(name, data)
        grown += name == "grow"
        if name in (None, "head") and not writing.is_alive() and listener.ordered == plain(Library([file]).rows(id_)):  # fmt: skip
            break
    assert grown <= 20 * (time.monotonic() - began) + 1


def test_the_server_ends_while_somebody_listens(folder, capfd):
    with ViewServer(Library([folder])) as server:
        page = Page(server)
        id_ = page.json("/api/sources")["sources"][0]["first"]
        events = page.events(c=id_, after="odd-1")
        next(events)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    with page:
        assert [] == [name for name, _, _ in events if name not in (None, "sources")]
    assert "" == capfd.readouterr().err
