"""The cost of importing a library, of a first response with it, and of installing it."""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median
from typing import Any

from crew import environment, spread
from peers import FLOOR, SOURCE, Environments, Peer

# Runs in a fresh process: the modules that measure are loaded before the clock starts.
_PROGRAM = """
import json, os, resource, sys, time
sys.path.insert(0, {source!r})
url = {url!r}
page = os.sysconf("SC_PAGE_SIZE")
def memory():
    try:
        return int(open("/proc/self/statm").read().split()[1]) * page
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
modules, held = len(sys.modules), memory()
start = time.process_time()
{code}
seconds = time.process_time() - start
print(json.dumps([seconds, len(sys.modules) - modules, memory() - held]))
"""


def measure(
    peers: list[Peer], environments: Environments, base: str, rounds: int
) -> dict[str, dict[str, Any]]:
    """Contender -> the cost of import, first response and installation."""
    samples: dict[str, dict[str, list[Any]]] = {
        peer.title: {"import": [], "first": []} for peer in peers
    }
    for _ in range(rounds + 1):
        for peer in peers:
            for kind, code in (("import", f"import {peer.imports}"), ("first", peer.first)):
                samples[peer.title][kind].append(_run(peer, environments, code, base))
    return {
        peer.title: _summary(peer, samples, environments)
        for peer in peers
        if all(map(_worked, samples[peer.title].values()))
    }


def _worked(taken: list[Any]) -> bool:
    return all(item is not None for item in taken)


def _run(peer: Peer, environments: Environments, code: str, base: str) -> Any:
    program = _PROGRAM.format(source=str(SOURCE), url=f"{base}/{peer.payload}", code=code)
    done = subprocess.run(
        [str(environments.python(peer)), "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    if done.returncode:
        print(f"  {peer.title}: {done.stderr.strip().splitlines()[-1][:160]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def _summary(
    peer: Peer, samples: dict[str, dict[str, list[Any]]], environments: Environments
) -> dict[str, Any]:
    size, packages = environments.size(peer)
    made: dict[str, Any] = {"size": size, "packages": packages}
    for kind, taken in samples[peer.title].items():
        # The first round compiles bytecode.
        warm, floor = taken[1:], samples[FLOOR.title][kind][1:]
        ratios = [one[0] / least[0] for one, least in zip(warm, floor, strict=True)]
        made[kind] = {
            "seconds": median(item[0] for item in warm),
            "ratio": median(ratios),
            "spread": spread(ratios),
            "modules": warm[-1][1],
            "memory": median(item[2] for item in warm),
        }
    return made
