"""The emulator behind a port: the fixture, the command, and bytes that come as they are made."""

import json
import subprocess
import sys
import time
import urllib.request

import innervoice as iv
from innervoice.testing import EmulatorServer

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def post(url, body, headers=None):
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"content-type": "application/json", **(headers or {})}
    )
    return _OPENER.open(request, timeout=10)


def test_the_fixture(innervoice_emulator):
    url = innervoice_emulator.base_url("deepseek") + "/chat/completions"
    question = {"role": "user", "content": "What is 15 * 23?"}
    with post(url, {"model": "deepseek-v4-pro", "messages": [question]}) as answer:
        assert "15 * 23 = 345." == iv.decode(answer.read()).text


def test_a_slow_stream_comes_piece_by_piece(innervoice_emulator):
    url = innervoice_emulator.base_url("anthropic") + "/v1/messages"
    question = {"role": "user", "content": "What is 15 * 23?"}
    body = {"model": "claude-opus-5-5+slow=0.01", "max_tokens": 500, "stream": True, "messages": [question]}  # fmt: skip
    with post(url, body) as answer:
        assert "text/event-stream" in answer.headers["content-type"]
        assert answer.readline().startswith(b"event: message_start")
        rest = answer.read()
    assert b"message_stop" in rest


def test_the_index(innervoice_emulator):
    with _OPENER.open(innervoice_emulator.url + "/", timeout=10) as answer:
        assert "anthropic" in json.load(answer)["emulates"]


def test_two_at_once():
    with EmulatorServer() as one, EmulatorServer() as other:
        assert one.url != other.url


def test_the_command():
    process = subprocess.Popen(
        [sys.executable, "-m", "innervoice", "emulate", "--port", "18808"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        assert lines[0].split() == ["anthropic", "anthropic", "http://127.0.0.1:18808/anthropic"]
        for _ in range(100):
            try:
                with _OPENER.open("http://127.0.0.1:18808/", timeout=1) as answer:
                    assert 200 == answer.status
                break
            except OSError:
                time.sleep(0.05)
        else:
            raise AssertionError("it does not answer")
    finally:
        process.terminate()
        process.wait(5)
        process.stdout.close()
