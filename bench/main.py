"""Measures innervoice beside its peers, and writes docs/performance.md with its plot.

bench/run                          everything, about half an hour
bench/run --rounds 3               a quick look
bench/run --only codec,client      some works; the page keeps what it has of the others
bench/run --peers openai,litellm   some peers; none for innervoice and the floors alone
bench/run --page                   writes the page anew from the last numbers
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import page
import plot
import work_client
import work_codec
import work_history
import work_import
import work_inline
import work_memory
import work_names
import work_secrets
import work_watch
from crew import Crew
from peers import FLOOR, OURS, PEERS, ROOT, VARIANTS, Environments, Peer

WORKS = ("import", "codec", "inline", "client", "history", "memory")


class Run:
    """One run of all works, or of some."""

    def __init__(
        self, cache: Path, peers: list[Peer], rounds: int, results: dict[str, Any]
    ) -> None:
        self.environments = Environments(cache)
        self.rounds = rounds
        self.results = results
        self.skipped: dict[str, str] = {}
        self.peers = [FLOOR, OURS]
        for peer in (*self.peers, *VARIANTS, *peers):
            told(f"environment of {peer.title}")
            problem = self.environments.make(peer)
            if problem:
                self.skipped[peer.title] = f"it cannot be installed: {problem}"
                told(f"  left out: {problem}")
            elif peer not in self.peers:
                self.peers.append(peer)

    def measure(self, works: list[str]) -> None:
        """Runs the works and stores their results."""
        with Crew(self.peers, self.environments, self.rounds) as crew:
            doing: dict[str, Callable[[Crew], None]] = {
                "import": self._import,
                "codec": self._codec,
                "inline": self._inline,
                "client": self._client,
                "history": self._history,
                "memory": self._memory,
            }
            for work in works:
                told(work)
                doing[work](crew)
            self.results["skipped"] = {**self.skipped, **crew.skipped}
        self.results["machine"] = machine(self.rounds)
        self.results["versions"] = {peer.title: peer.pins for peer in self.peers}

    def _keep(self, found: dict[str, dict[str, dict[str, Any]]]) -> None:
        for work, payloads in found.items():
            self.results.setdefault("contest", {})[work] = {
                payload: {title: timing._asdict() for title, timing in timings.items()}
                for payload, timings in payloads.items()
            }

    def _python(self) -> Path:
        return self.environments.python(OURS)

    def _import(self, crew: Crew) -> None:
        self.results["import"] = work_import.measure(
            [peer for peer in self.peers if peer not in VARIANTS],
            self.environments,
            crew.upstream.base,
            self.rounds,
        )

    def _codec(self, crew: Crew) -> None:
        self._keep(work_codec.measure(crew))
        self.results["stray"] = work_codec.stray_growth(20_000)
        self.results["calls"] = work_codec.calls_growth(800)
        self.results["written"] = work_codec.written(max(self.rounds, 9))

    def _inline(self, crew: Crew) -> None:
        self._keep(work_inline.measure(crew))
        self.results["hostile"] = work_inline.hostility(300_000)
        self.results["secrets"] = work_secrets.growth(100_000)
        self.results["held"] = work_inline.held_back()
        self.results["openers"] = work_inline.peak_of_openers()
        self.results["names"] = work_names.growth(100_000)

    def _client(self, crew: Crew) -> None:
        self.results["pace"] = work_client.upstream_pace(crew)
        self.results["watch"] = work_watch.seconds(self.rounds)
        self._keep(work_client.measure(crew))

    def _history(self, crew: Crew) -> None:
        self.results["history"] = work_history.measure(
            self._python(), crew.upstream.base, self.rounds
        )

    def _memory(self, crew: Crew) -> None:
        self.results["memory"] = work_memory.measure(self._python(), crew.upstream.base)


def machine(rounds: int) -> dict[str, Any]:
    """The machine, without its name and paths."""
    return {
        "date": datetime.now(tz=UTC).strftime("%Y-%m-%d"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "rounds": rounds,
        "load": round(os.getloadavg()[0], 1),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def told(line: str) -> None:
    """Prints the progress."""
    print(line, file=sys.stderr, flush=True)


def chosen(names: str) -> list[Peer]:
    """The peers with these names."""
    if names == "all":
        return list(PEERS)
    wanted = {name.strip() for name in names.split(",")} - {"", "none"}
    unknown = wanted - {peer.title for peer in PEERS}
    if unknown:
        raise SystemExit(f"no such peer: {', '.join(sorted(unknown))}")
    return [peer for peer in PEERS if peer.title in wanted]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default=",".join(WORKS), help=f"of {', '.join(WORKS)}")
    parser.add_argument("--peers", default="all")
    parser.add_argument("--cache", type=Path, default=ROOT / ".bench")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where the page goes")
    options = parser.parse_args()
    options.cache.mkdir(exist_ok=True)
    store = options.cache / "results.json"
    results = json.loads(store.read_text("utf-8")) if store.is_file() else {}
    if not options.page:
        run = Run(options.cache, chosen(options.peers), options.rounds, results)
        run.measure([work for work in options.only.split(",") if work])
        store.write_text(json.dumps(results, indent=1), "utf-8")
        results = json.loads(store.read_text("utf-8"))
    (options.docs / "pictures").mkdir(parents=True, exist_ok=True)
    (options.docs / "performance.md").write_text(page.written(results), "utf-8")
    (options.docs / "pictures" / "performance.svg").write_text(plot.drawn(results), "utf-8")
    told(f"wrote {options.docs.name}/performance.md and its plot")
    print(page.targets(results))


if __name__ == "__main__":
    main()
