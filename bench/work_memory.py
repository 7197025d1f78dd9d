"""What is held while a long stream is read: 5 MB and 50 MB of it, in a fresh process each.

python bench/work_memory.py decoder|client DELTAS ADDRESS     # prints the bytes held above a short stream
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import innervoice as iv
from contenders.innervoice import MODELS
from crew import environment
from payloads import payload

_FRAME = len(payload("chat").frames[1])
SIZES = {"5 MB": 5_000_000 // _FRAME, "50 MB": 50_000_000 // _FRAME}
KINDS = ("decoder", "client")


def measure(python: Path, base: str) -> dict[str, dict[str, int]]:
    """Decoder and client -> peak memory in bytes, by the size of the stream."""
    return {
        kind: {size: _held(python, kind, deltas, base) for size, deltas in SIZES.items()}
        for kind in KINDS
    }


def _held(python: Path, kind: str, deltas: int, base: str) -> int:
    command = [str(python), __file__, kind, str(deltas), base]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    return int(done.stdout)


def _peak() -> int:
    """The most that was held so far; what Linux counts for `getrusage` begins with the process that started this one."""
    try:
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    except OSError:
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return held if sys.platform == "darwin" else held * 1024
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def _decode(deltas: int) -> None:
    block = b"".join(payload("chat.100.0").frames[1:101])
    decoder = iv.StreamDecoder(provider="deepseek")
    for _ in range(deltas // 100):
        decoder.feed(block)
    decoder.finish()


def _ask(deltas: int, base: str) -> None:
    client = iv.Client(base_url=f"{base}/chat.{deltas}.1", keys={"deepseek": "k"})
    with client.stream(MODELS["chat"], "hi") as events:
        for _ in events:
            pass


def main(kind: str, deltas: str, base: str) -> None:
    """Reads a short and a long stream, and prints the difference in memory."""

    def read(count: int) -> None:
        if kind == "decoder":
            _decode(count)
        else:
            _ask(count, base)

    read(1_000)
    before = _peak()
    read(int(deltas))
    print(_peak() - before)


if __name__ == "__main__":
    main(*sys.argv[1:])
