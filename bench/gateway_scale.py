"""How many developers a core of the gateway serves, and what another worker adds: prints a table for docs/guides/deploying.md.

The mix is that of captured agents: of ten requests seven send a history of 50 to 400 kB with its reasoning, two are small, one has lost its
reasoning. Processor time of all workers is counted, since clients, upstream and gateway share the cores of one machine here. The 200 events of a
streamed answer are counted with each request, as agents ask for them.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from pathlib import Path
from typing import Any

from gateway_asking import Asker, Process
from gateway_contenders import OURS, Addresses, Running, ours
from gateway_works import Bench
from main import told

_WAYS = (("messages", "anthropic"), ("chat", "anthropic"))
_MIX = {
    "50 kB kept": 0.35,
    "400 kB kept": 0.35,
    "small": 0.2,
    "50 kB dropped": 0.05,
    "400 kB dropped": 0.05,
}
"""Shares of requests."""
_A_MINUTE = 6
"""Requests that an agent sends in a minute while its developer works with it: a step of ten seconds."""
_BUSY = 0.6
"""How busy a core may be on average, so that bursts do not wait."""


def measured(workers: int, count: int, crowd: int) -> dict[str, dict[str, float]]:
    """Way -> milliseconds of processor time for a request of the mix."""
    results = {}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        upstream = stack.enter_context(Process("gateway_upstream.py"))
        load = stack.enter_context(Process("gateway_load.py"))
        addresses = Addresses(f"127.0.0.1:{upstream.line()}", "127.0.0.1:9")
        running = Running(ours(workers=workers), folder, addresses)
        stack.callback(running.close)
        if why := running.wait():
            raise SystemExit(f"the gateway is not there: {why}")
        asker = Asker({OURS: running}, load, addresses)
        for way in _WAYS:
            told(f"{workers} workers, {' to '.join(way)}")
            results[" ".join(way)] = _of_mix(Bench(asker, 1), asker, running, way, count, crowd)
    return results


def _of_mix(
    bench: Bench, asker: Asker, running: Running, way: tuple[str, str], count: int, crowd: int
) -> dict[str, float]:
    bodies = bench.bodies(OURS, way)
    cpu = 0.0
    for name, share in {**_MIX, "stream": 1.0}.items():
        body = bodies[name]
        asker.answered(OURS, way, body, count=2 * crowd, crowd=crowd)  # every worker has seen it
        before = running.cpu()
        asker.answered(OURS, way, body, count=count, crowd=crowd)
        cpu += share * (running.cpu() - before) / count
    return {"cpu": cpu}


def shown(results: dict[int, dict[str, dict[str, float]]]) -> str:
    """The table."""
    lines = [
        "| client and upstream | workers | processor time of a request | developers a core | per worker, beside one |",
        "| --- | --- | --- | --- | --- |",
    ]
    for way in next(iter(results.values())):
        alone = results[min(results)][way]["cpu"]
        for workers, made in results.items():
            cpu = made[way]["cpu"]
            developers = _BUSY * 60 / _A_MINUTE / cpu
            row: tuple[Any, ...] = (
                way.replace(" ", " to "), workers, f"{cpu * 1e3:.1f} ms", f"{developers:,.0f}", f"{alone / cpu:.0%}",
            )  # fmt: skip
            lines.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--count", type=int, default=96, help="requests of each kind")
    parser.add_argument("--crowd", type=int, default=32, help="streams at a time")
    options = parser.parse_args()
    results = {
        workers: measured(workers, options.count, options.crowd) for workers in options.workers
    }
    print(shown(results))


if __name__ == "__main__":
    main()
