"""A task that one real agent began goes on in another, by `innervoice carry`: it has all that was said, done and thought."""

import json
import os
import struct
import subprocess
import sys
import zlib
from base64 import b64encode

import pytest
from workplace import AGENTS, MODELS

import innervoice as iv
from innervoice.canon.parts import ToolCall
from innervoice.sources.opening import open_source, paths_in
from innervoice.sources.program_folders import session_folder
from innervoice.sources.writers.carrying import WRITERS

MODEL = MODELS[1]
PAIRS = [
    ("claude", "codex", "keep"),
    ("codex", "claude", "keep"),
    ("claude", "gemini", "keep"),
    # opencode sends the thoughts of another model as text, which the model never said; pi drops them.
    ("codex", "pi", "keep"),
    ("claude", "opencode", "keep"),
]
OTHERS = [
    ("codex", "gemini", "keep"),
    ("gemini", "claude", "keep"),
    ("gemini", "codex", "keep"),
    ("gemini", "opencode", "none"),
    ("pi", "claude", "keep"),
    ("pi", "gemini", "keep"),
    ("opencode", "codex", "keep"),
    ("claude", "claude", "keep"),
    ("codex", "codex", "keep"),
]
LATER = pytest.mark.skipif(
    not os.environ.get("INNERVOICE_ALL_AGENTS"),
    reason="takes minutes; scripts/test agents-cli runs it",
)


def places(place):
    """The folders of the agents of a place, as their variables name them."""
    return {"HOME": str(place.home), "GEMINI_CLI_HOME": str(place.files)}


def session_of(place, name):
    """The session that an agent has just written."""
    folder = session_folder(WRITERS[name].kind, places(place), place.home)
    return max(paths_in([folder]), key=lambda path: path.stat().st_mtime_ns)


def carried(place, source, name, thoughts):
    """What `innervoice carry` prints; for opencode its file is imported."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME")}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "innervoice", "carry", source, "--to", name, "--thoughts", thoughts, "--json"],
        cwd=place.work, env={**kept, **places(place)}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)
    if name == "opencode":
        place.agent = AGENTS[name]
        done = place.start("import", row["path"], model=MODEL)
        assert done.returncode == 0, done.stderr
    return row


@pytest.mark.parametrize(
    ("first", "second", "thoughts"),
    [*PAIRS, *(pytest.param(*pair, marks=LATER) for pair in OTHERS)],
)
def test_another_agent_goes_on_with_the_task(at_work, first, second, thoughts):
    place = at_work(first)
    place.does("alpha", MODEL)
    source = session_of(place, first)
    row = carried(place, source, second, thoughts)
    calls = [part.id for turn in open_source(source).conversation().sent for part in turn.message.parts if isinstance(part, ToolCall)]  # fmt: skip
    place.agent = AGENTS[second]
    place.does("beta", MODEL, session=row["id"])
    request = json.dumps(next(one for one in place.upstream.requests[4:] if "Task beta" in str(one)))  # fmt: skip

    assert [200] * 8 == place.statuses()
    assert 3 == len(calls) == row["counts"]["calls"] == row["counts"]["results"]
    for words in ("Task alpha: make three files.", "Task alpha is finished.", *calls):
        assert words in request
    # What an agent only shows it does not send, so nothing has to be left out on the way.
    assert not [report.omitted for report in place.reports[4:] if report.omitted]
    # By the ids of its calls the gateway knows what it stored, and the model has its thoughts again.
    assert 4 * 3 + 12 <= place.thoughts_are_back(of_calls=True)


def dot():
    """A picture of one red pixel, which an agent that looks into it can read."""
    chunks = {b"IHDR": struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0), b"IDAT": zlib.compress(b"\0\xff\0\0"), b"IEND": b""}  # fmt: skip
    body = b"".join(struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks.items())  # fmt: skip
    return b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


@pytest.mark.parametrize("agent", ["pi", "opencode"])
def test_a_picture_in_a_result_is_sent_to_the_model(at_work, agent):
    """By an agent that reads the session which has it; where it cannot have one by its URL, the URL is in words."""
    place = at_work(agent)
    picture = iv.Media(mime="image/png", data=dot())
    linked = iv.Media(mime="image/png", url="https://127.0.0.1:9/far.png")
    history = [
        iv.user("Look."),
        iv.assistant([iv.ToolCall("call_1", "read", "{}")]),
        iv.Message("tool", (iv.ToolResult("call_1", (iv.Text("Here."), picture)),)),
        iv.assistant("Red."),
        iv.user([iv.Text("And there?"), *([linked] if agent == "pi" else [])]),
        iv.assistant("Too far."),
    ]
    source = place.files / "history.json"
    source.write_bytes(iv.to_json(history))
    row = carried(place, source, agent, "keep")
    place.does("beta", MODEL, session=row["id"])
    request = json.dumps(next(one for one in place.upstream.requests if "Task beta" in str(one)))

    assert [200] * 4 == place.statuses()
    assert picture.data in request
    assert (linked.url in request) == (agent == "pi")
