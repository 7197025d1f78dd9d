"""The viewer, as its page asks it: a session of 50 MB in one conversation, and a folder of 1,000 sessions.

Each measurement starts a new process of `innervoice view`, which has read nothing, and asks what the page asks, in its order. Memory is the most that the
process ever took (VmHWM of Linux).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

GOALS = {"first row": 0.3, "1,000 files listed": 1.0, "memory": 200.0}
_WORDS = "the build cache resolver lock file test report index page reader window scroll token thought seal request answer model history".split()


def session(file: Path, steps: int, question: str, folder: str = "shop") -> None:
    """A session of Claude Code: a prompt, and steps with a thought, a text, a call and its result."""
    random_words = random.Random(steps)
    number = 0

    def text(count: int) -> str:
        return " ".join(random_words.choices(_WORDS, k=count))

    def line(kind: str, message: dict[str, Any]) -> str:
        nonlocal number
        stamp = f"2026-11-16T{10 + number // 36000:02}:{number // 600 % 60:02}:{number // 10 % 60:02}.{number % 10}00Z"
        head = {
            "type": kind,
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "sessionId": "s1",
        }
        number += 1
        return (
            json.dumps(
                {
                    **head,
                    "timestamp": stamp,
                    "cwd": f"/home/u/{folder}",
                    "gitBranch": "main",
                    "version": "2.1.0",
                    "message": message,
                }
            )
            + "\n"
        )

    with file.open("w", encoding="utf-8") as stream:
        stream.write(line("user", {"role": "user", "content": f"{question} {text(30)}"}))
        for step in range(steps):
            answer = {
                "id": f"msg_{step}",
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-5-5",
                "usage": {"input_tokens": 10, "output_tokens": 400},
            }
            thought = {"type": "thinking", "thinking": text(80), "signature": f"Eq{step:04}" * 80}
            call = {
                "type": "tool_use",
                "id": f"toolu_{step}",
                "name": "Bash",
                "input": {"command": f"grep -rn {text(1)} src"},
            }
            result = {
                "type": "tool_result",
                "tool_use_id": f"toolu_{step}",
                "content": text(600),
                "is_error": step % 50 == 7,
            }
            for block, stop in (
                (thought, None),
                ({"type": "text", "text": text(30)}, None),
                (call, "tool_use"),
            ):
                stream.write(line("assistant", {**answer, "content": [block], "stop_reason": stop}))
            stream.write(line("user", {"role": "user", "content": [result]}))
        last = {
            "id": "msg_end",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [{"type": "text", "text": "The last needle."}],
            "stop_reason": "end_turn",
        }
        stream.write(line("assistant", last))


class Viewer:
    """A process of the viewer, and what it answers."""

    def __init__(self, process: subprocess.Popen[str], address: str, began: float) -> None:
        self.began = began
        """When the process was started."""
        self._process = process
        self._base = address.split("?", maxsplit=1)[0]
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self._open = opener.open
        self._open(address).read()

    def ask(self, path: str) -> Any:
        with self._open(f"{self._base}api/{path}") as answer:
            return json.load(answer)

    @property
    def megabytes(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text("utf-8")
        found = re.search(r"VmHWM:\s+(\d+)", status)
        return int(found[1]) / 1024 if found else float("nan")


@contextmanager
def viewer(path: Path) -> Iterator[Viewer]:
    """A new viewer of a path."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "innervoice", "view", str(path), "--no-browser", "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        yield Viewer(process, address, began)
    finally:
        process.terminate()
        process.wait()


def timed(work: Any) -> tuple[float, Any]:
    began = time.perf_counter()
    value = work()
    return time.perf_counter() - began, value


def long_session(file: Path) -> dict[str, float]:
    """What the page asks to show a large file, then its end, a search and a row in the middle."""
    with viewer(file) as one:
        first, (_, listed) = timed(lambda: (one.ask("about"), one.ask("sources")))
        id_ = listed["sources"][0]["first"]
        early, rows = timed(lambda: one.ask(f"c/{id_}?to=60&early=1"))
        assert rows["rows"]
        started = time.perf_counter() - one.began
        whole, rows = timed(lambda: one.ask(f"c/{rows['head']['id']}?to=60"))
        id_, total = rows["head"]["id"], rows["total"]
        outline, _ = timed(lambda: one.ask(f"outline/{id_}"))
        end, _ = timed(lambda: one.ask(f"c/{id_}?from={total - 200}&to={total}"))
        middle, _ = timed(lambda: one.ask(f"c/{id_}?from={total // 2}&to={total // 2 + 200}"))
        search, found = timed(lambda: one.ask(f"search?q=needle&in={id_}"))
        assert found["hits"]
        return {"rows": total, "first row": first + early, "first row, with the start": started, "all of it read": whole, "outline": outline, "end": end, "a row in the middle": middle, "search": search, "memory": one.megabytes}  # fmt: skip


def many_sessions(folder: Path) -> dict[str, float]:
    """The list of a folder, in a new process."""
    with viewer(folder) as one:
        seconds, listed = timed(lambda: one.ask("sources"))
        assert listed["total"] == 1000
        assert not listed.get("pending")
        started = time.perf_counter() - one.began
        return {
            "1,000 files listed": seconds,
            "the same, with the start": started,
            "memory with 1,000 files": one.megabytes,
        }


def main() -> None:
    """Makes the files, measures, and prints the medians and the goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "long.jsonl"
        session(file, 8_300, "Why is the build slow?")
        many = folder / "many"
        for number in range(1_000):
            project = many / f"p{number % 20}"
            project.mkdir(parents=True, exist_ok=True)
            session(project / f"{number}.jsonl", 10 + number % 40, f"Question {number}", f"shop{number % 20}")  # fmt: skip
        size = sum(path.stat().st_size for path in many.rglob("*.jsonl"))
        print(
            f"{file.stat().st_size / 1e6:.0f} MB in one session; 1,000 sessions of {size / 1e6:.0f} MB in all; median of {runs} runs"
        )
        found = [{**long_session(file), **many_sessions(many)} for _ in range(runs)]
    for key in found[0]:
        number = median(one[key] for one in found)
        is_memory, goal = key.startswith("memory"), GOALS.get(key)
        words = f"{number:,.0f}" if key == "rows" else f"{number:.0f} MB" if is_memory else f"{number * 1000:.0f} ms"  # fmt: skip
        target = "" if goal is None else f"   goal: under {goal:.0f} MB" if is_memory else f"   goal: under {goal * 1000:.0f} ms"  # fmt: skip
        print(f"{key:26}{words:>12}{target}")


if __name__ == "__main__":
    main()
