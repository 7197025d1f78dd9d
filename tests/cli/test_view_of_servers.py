"""Servers in processes of their own, and what can be viewed of them: several workers of a gateway, and the emulator."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time

from cli.test_serve import QUESTION, WAIT, Serve
from cli.test_talking import NO_KEYS
from innervoice.sources.opening import open_source


def asked(number):
    words = f"What is {number} * 2?"
    return {**QUESTION, "messages": [{"role": "user", "content": words}]}


def test_any_worker_shows_the_requests_of_all(tmp_path):
    file = tmp_path / "gateway.toml"
    file.write_text('[server]\nlog = "full"\n')
    with Serve("--emulated", "--workers", "3", "--config", str(file)) as serve:
        (told,) = [line for line in serve.greeting() if line.startswith("View: ")]
        assert told.startswith(f"View: http://127.0.0.1:{serve.port}/view; ")
        for number in range(100, 124):
            assert serve.ask(body=asked(number))[0] == 200
        deadline = time.monotonic() + WAIT
        seen = []
        # Each connection may reach another worker; each must know all files.
        while time.monotonic() < deadline:
            found = [sources_of(serve) for _ in range(6)]
            seen = [sum(conversations) for conversations in found]
            if min(seen) == 24:
                break
            time.sleep(0.2)
        assert seen == [24] * 6
        assert len(found[0]) > 1, "one worker got all connections"
        assert 130 == serve.ended()


def sources_of(serve):
    """How many conversations each file has, as a worker tells it."""
    body = json.loads(serve.ask("GET", "/view/api/sources", None)[2])
    labels = [[fact["label"] for fact in source["facts"]] for source in body["sources"]]
    words = [label for facts in labels for label in facts if "conversation" in label]
    return [int(word.split()[0]) for word in words]


def test_who_looks_does_not_keep_it_from_ending():
    with Serve("--emulated") as serve:
        serve.greeting()
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", serve.port, timeout=WAIT)
        ) as connection:
            connection.request("GET", "/view/api/live")
            response = connection.getresponse()
            assert response.status == 200
            began = time.monotonic()
            assert 0 == serve.ended(signal.SIGTERM)
            assert time.monotonic() - began < 20  # an answer would have 30 seconds


def test_the_store_of_a_server_is_kept_between_starts(tmp_path):
    state = {"XDG_STATE_HOME": str(tmp_path)}
    with Serve(**state, ANTHROPIC_API_KEY="k") as serve:
        (told,) = [line for line in serve.greeting() if line.startswith("View: ")]
        serve.ended()

    assert str(tmp_path / "innervoice" / "requests") in told


HEADERS = {"content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01"}


class Emulate:
    """`innervoice emulate` in a process of its own."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "innervoice", "emulate", "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            env={**os.environ, **NO_KEYS, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
            text=True,
        )
        lines = iter(self.process.stdout.readline, "")
        said = []
        for line in lines:
            said.append(line.rstrip())
            if line.startswith(("View the", "Error")):
                break
        self.said = said
        self.url = next(line.split()[-1] for line in said if line.startswith("anthropic "))
        self._rest = threading.Thread(target=lambda: list(lines), daemon=True)
        self._rest.start()

    def connected(self):
        """A connection, as soon as it listens: it says where before."""
        connection = http.client.HTTPConnection(self.url.split("/")[2], timeout=WAIT)
        deadline = time.monotonic() + WAIT
        while True:
            try:
                connection.connect()
            except ConnectionRefusedError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            else:
                return connection

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(WAIT)
        self._rest.join(WAIT)
        self.process.stdout.close()


def test_the_emulator_is_followed_live(tmp_path):
    """While a slow answer comes, a reader of the folder sees its open thought grow."""
    body = {
        "model": "claude-opus-5-5+slow=0.05+full",
        "max_tokens": 4000,
        "thinking": {"type": "adaptive", "display": "summarized"},
        "stream": True,
        "messages": [{"role": "user", "content": "What is 15 * 23?"}],
    }
    with Emulate("--log", str(tmp_path)) as emulate:
        assert emulate.said[-1] == f"View the requests with: innervoice view {tmp_path}"
        connection = emulate.connected()
        connection.request("POST", "/anthropic/v1/messages", json.dumps(body), HEADERS)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        reading = threading.Thread(target=response.read)
        reading.start()
        lengths = []
        while reading.is_alive():
            lengths += [len(text) for text in open_texts(tmp_path)]
            time.sleep(0.02)
        reading.join()
        connection.close()
        os.killpg(emulate.process.pid, signal.SIGINT)
        assert 130 == emulate.process.wait(WAIT)
    (file,) = tmp_path.glob("*.jsonl")
    (conversation,) = open_source(file).conversations()

    assert len(set(lengths)) >= 3
    assert conversation.turns[-1].answer.status == "answered"


def open_texts(folder):
    for file in folder.glob("*.jsonl"):
        for conversation in open_source(file).conversations():
            turn = conversation.turns[-1]
            if turn.answer and not turn.answer.ended:
                yield "".join(getattr(part, "text", "") for part in turn.message.parts)
