"""A file may be larger than the memory: 200 MB are opened and read within 150 MB of a process."""

import json
import subprocess
import sys

import pytest

from sources.samples import CHAT
from sources.test_transcripts import Session, dumped

SIZE = 200 << 20
MOST = 150 << 20
READ = """
import re, sys
from pathlib import Path
from innervoice.sources.opening import open_source
source = open_source(Path(sys.argv[1]))
entries = source.entries
some = [entries[0], entries[len(entries) // 2], entries[-1]]
turns = [len(source.conversation(entry.id).turns) for entry in some]
# Not ru_maxrss: that counts the process which started this one as well.
peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
print(source.kind, len(entries), min(turns), peak)
"""


def batch(number):
    said = {**CHAT["choices"][0]["message"], "content": "Words. " * 300}
    body = {**CHAT, "choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}
    return json.dumps({"custom_id": f"request-{number}", "response": {"status_code": 200, "body": body}, "error": None})  # fmt: skip


def claude_code(number):
    session = Session()
    session.says(f"Question {number}")
    session.answers(f"m{number}", {"type": "text", "text": "Words. " * 600})
    return "\n".join(map(dumped, session.lines))


def answers(number):
    return json.dumps({**CHAT, "id": str(number), "filler": "x" * 2000})


@pytest.mark.parametrize("make", [batch, answers, claude_code])
def test_memory(make, tmp_path):
    file = tmp_path / "large.jsonl"
    size = 0
    with file.open("w") as stream:
        for number in range(0, 10_000_000, 50):
            lines = f"{make(number)}\n" * 50
            stream.write(lines)
            size += len(lines)
            if size > SIZE:
                break
    done = subprocess.run([sys.executable, "-c", READ, str(file)], capture_output=True, timeout=120, check=True)  # fmt: skip
    kind, entries, turns, memory = done.stdout.split()

    assert {"batch": b"batch", "answers": b"captured", "claude_code": b"claude-code"}[make.__name__] == kind  # fmt: skip
    assert 10 < int(entries)
    assert 0 < int(turns)
    assert int(memory) < MOST
