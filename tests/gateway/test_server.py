"""Real processes behind real ports: how they start, stop, fall and take new configurations."""

import contextlib
import http.client
import json
import os
import pty
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "served.py"
SOURCE = Path(__file__).parents[2] / "src"
WAIT = 30.0
"""Seconds after which a test gives up; nothing here takes as long."""


class Served:
    """`served.py` with some settings; `line` is what it writes next."""

    def __init__(self, **settings):
        self.settings = settings
        self.connections = []

    def __enter__(self):
        # As a terminal starts it: whoever runs the tests in the background has told them to ignore Ctrl+C.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self.process = subprocess.Popen(
                [sys.executable, str(SCRIPT), json.dumps(self.settings)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,  # no traceback goes unseen
                env={**os.environ, "PYTHONPATH": str(SOURCE)},
                start_new_session=True,
            )
        finally:
            signal.signal(signal.SIGINT, before)
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(line.decode().rstrip("\n"))
        self._lines.put(None)

    def __exit__(self, *_):
        for connection in self.connections:
            connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(WAIT)
        self._reader.join(WAIT)
        self.process.stdout.close()

    def line(self):
        return self._lines.get(timeout=WAIT)

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)

    def get(self, path="/"):
        with contextlib.closing(self.connect()) as connection:
            connection.request("GET", path)
            return connection.getresponse().read().decode()

    def until(self, path, expected):
        deadline = time.monotonic() + WAIT
        while (found := self.get(path)) != expected:
            assert time.monotonic() < deadline, found
            time.sleep(0.05)

    def worker(self):
        """The process of a worker that answers."""
        deadline = time.monotonic() + WAIT
        while True:
            try:
                return int(self.get("/pid"))
            except ConnectionError:
                assert time.monotonic() < deadline

    def refuses(self):
        """Waits until it takes no connections."""
        deadline = time.monotonic() + WAIT
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < deadline:
                self.get()
            pytest.fail("it still answers")

    def stream(self, seconds):
        self.connections.append(self.connect())
        return Stream(self.connections[-1], seconds)

    def streams_of_both(self, seconds):
        """A stream of each of the two workers."""
        found = {}
        deadline = time.monotonic() + WAIT
        while len(found) < 2:
            assert time.monotonic() < deadline
            stream = self.stream(seconds)
            found.setdefault(stream.worker, stream)
        return list(found.values())

    def signal(self, number):
        self.process.send_signal(number)

    def ended(self):
        return self.process.wait(WAIT)


class Stream:
    """An answer that has begun: the number of its worker, and the rest of it."""

    def __init__(self, connection, seconds):
        connection.request("GET", f"/stream?{seconds}")
        self._response = connection.getresponse()
        self.worker = int(self._response.readline())

    def rest(self):
        try:
            return self._response.read().decode().split("\n")[-2]
        except http.client.IncompleteRead as error:
            return f"cut after {error.partial.decode().splitlines()[-1:]}"
        except ConnectionResetError:
            return "cut after a reset"


@contextlib.contextmanager
def listening(**settings):
    with Served(**settings) as served:
        word, port = served.line().split()
        assert "port" == word
        served.port = int(port)
        yield served


workers = pytest.mark.parametrize("workers", [1, 2])


@workers
class TestStop:
    def test_a_stream_finishes_and_no_connection_is_taken(self, workers):
        with listening(workers=workers) as served:
            stream = served.stream(1.5)
            served.signal(signal.SIGTERM)
            served.refuses()
            assert "end" == stream.rest()
            assert "stopped by 15" == served.line()
            assert 0 == served.ended()

    def test_a_stream_that_does_not_end_is_cut_with_its_last_event(self, workers):
        with listening(workers=workers, stop_seconds=0.3) as served:
            stream = served.stream(WAIT)
            served.signal(signal.SIGTERM)
            assert "cut after ['last event']" == stream.rest()
            assert 0 == served.ended()

    def test_the_second_signal_cuts_at_once(self, workers):
        with listening(workers=workers, stop_seconds=1000) as served:
            stream = served.stream(WAIT)
            served.signal(signal.SIGINT)
            served.refuses()
            served.signal(signal.SIGINT)
            assert "cut after ['last event']" == stream.rest()
            assert "stopped by 2" == served.line()
            assert 0 == served.ended()

    def test_a_signal_to_the_whole_group_is_one_signal(self, workers):
        """Ctrl+C of a terminal, and what many supervisors do."""
        with listening(workers=workers) as served:
            stream = served.stream(1)
            os.killpg(served.process.pid, signal.SIGINT)
            assert "end" == stream.rest()
            assert 0 == served.ended()

    def test_a_client_that_only_stays_connected_does_not_hold_it_up(self, workers):
        with (
            listening(workers=workers, stop_seconds=1000) as served,
            contextlib.closing(served.connect()) as connection,
        ):
            connection.request("GET", "/")
            connection.getresponse().read()
            served.signal(signal.SIGTERM)
            assert 0 == served.ended()


def test_a_signal_to_a_worker_that_stops_already_does_not_cut():
    """With a signal to the whole group, the worker's own may come after the parent's word."""
    with listening(workers=2) as served:
        stream = served.stream(1)
        served.signal(signal.SIGTERM)
        served.refuses()
        os.kill(stream.worker, signal.SIGTERM)
        assert "end" == stream.rest()
        assert 0 == served.ended()


class TestFall:
    def test_a_killed_worker_loses_its_own_streams_only_and_is_replaced(self):
        with listening(workers=2) as served:
            one, other = served.streams_of_both(3)
            os.kill(one.worker, signal.SIGKILL)
            assert one.rest().startswith("cut after")
            assert f"Worker {one.worker} ended (SIGKILL); a new one replaces it." == served.line()
            third, fourth = served.streams_of_both(0)
            assert one.worker not in (third.worker, fourth.worker)
            assert other.worker in (third.worker, fourth.worker)
            assert "end" == other.rest()

    def test_workers_stop_when_their_parent_is_killed(self):
        with listening(workers=2) as served:
            one, other = served.streams_of_both(0.5)
            served.signal(signal.SIGKILL)
            assert ["end", "end"] == [one.rest(), other.rest()]
            assert served.line() is None  # all processes that could write have ended
            with pytest.raises(ConnectionError):
                served.get()

    def test_how_often_a_worker_is_replaced_is_bounded(self):
        with listening(workers=2) as served:
            for _ in range(12):  # the first two, and those that took their places
                worker = served.worker()
                os.kill(worker, signal.SIGKILL)
                assert served.line().startswith(f"Worker {worker} ended")
            time.sleep(1.5)
            with pytest.raises(ConnectionError):
                served.get()
            served.signal(signal.SIGTERM)
            assert 0 == served.ended()


class TestStart:
    @pytest.mark.parametrize("first", [1, 2])
    @pytest.mark.parametrize("second", [1, 2])
    def test_a_busy_port_is_said(self, first, second):
        with listening(workers=first) as served:
            with Served(workers=second, port=served.port) as other:
                assert "Address already in use" in other.line()
                assert 1 == other.ended()
            assert "hello" == served.get()

    @workers
    def test_an_application_that_cannot_start(self, workers):
        with Served(workers=workers, broken=True) as served:
            lines = list(iter(served.line, None))
            assert "no application today" in lines[0]
            assert lines[-1].startswith("failed: ")
            assert 1 == served.ended()


@workers
class TestReload:
    @pytest.fixture
    def file(self, tmp_path):
        file = tmp_path / "word"
        file.write_text("one")
        return file

    def test_a_signal_reads_it_again_and_streams_go_on(self, workers, file):
        with listening(workers=workers, file=str(file)) as served:
            assert "one" == served.get()
            streams = served.streams_of_both(1) if workers == 2 else [served.stream(1)]
            state = file.stat()
            file.write_text("two")
            os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))  # only the signal tells
            served.signal(signal.SIGHUP)
            assert "The configuration was reloaded." == served.line()
            for _ in range(20):
                served.until("/", "two")
            assert ["end"] * workers == [stream.rest() for stream in streams]

    def test_a_changed_file_is_seen(self, workers, file):
        with listening(workers=workers, file=str(file)) as served:
            other = file.with_name("other")
            other.write_text("two")
            other.replace(file)  # as editors do
            assert "The configuration was reloaded." == served.line()
            served.until("/", "two")

    def test_a_bad_file_is_refused_and_the_old_one_stays(self, workers, file):
        with listening(workers=workers, file=str(file)) as served:
            file.write_text("bad")
            served.signal(signal.SIGHUP)
            refused = "The new configuration is invalid, the old one stays in use: no good word"
            assert refused == served.line()
            assert {"one"} == {served.get() for _ in range(20)}
            file.write_text("three")
            served.signal(signal.SIGHUP)
            while "The configuration was reloaded." != served.line():
                pass
            served.until("/", "three")


def test_a_worker_that_is_started_later_has_the_last_good_one(tmp_path):
    file = tmp_path / "word"
    file.write_text("one")
    with listening(workers=2, file=str(file)) as served:
        file.write_text("two")
        served.signal(signal.SIGHUP)
        assert "The configuration was reloaded." == served.line()
        file.write_text("bad")
        worker = served.worker()
        os.kill(worker, signal.SIGKILL)
        lines = iter(served.line, None)
        assert any(line.startswith(f"Worker {worker} ended") for line in lines)
        one, other = served.streams_of_both(0)
        assert worker not in (one.worker, other.worker)
        assert {"two"} == {served.get() for _ in range(20)}


class TestHeads:
    def test_a_head_without_an_end_is_refused(self):
        with listening() as served, contextlib.closing(served.connect()) as c:
            c.connect()
            with contextlib.suppress(ConnectionError):
                c.sock.sendall(b"GET / HTTP/1.1\r\nx: ")
                for _ in range(20):
                    c.sock.sendall(b"y" * 10_000)
            assert c.sock.recv(100).startswith(b"HTTP/1.1 400 ")

    def test_a_large_body_and_a_long_head_are_taken(self):
        with listening() as served, contextlib.closing(served.connect()) as c:
            for _ in range(3):
                c.request("POST", "/", body=b"x" * 3_000_000, headers={"x": "y" * 40_000})
                assert b"hello" == c.getresponse().read()


def test_a_closed_terminal_stops_it():
    """SIGHUP of a terminal that is gone is not somebody who wants a reload."""
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(
            signal.SIGHUP, signal.SIG_DFL
        )  # who runs the tests may ignore it, as nohup does
        os.environ["PYTHONPATH"] = str(SOURCE)
        os.execv(sys.executable, [sys.executable, str(SCRIPT), "{}"])
    try:
        seen = b""
        while b"port " not in seen or not seen.endswith(b"\n"):
            seen += os.read(terminal, 1000)
        os.close(terminal)
        deadline = time.monotonic() + WAIT
        while os.waitpid(process, os.WNOHANG) == (0, 0):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    except BaseException:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        raise
