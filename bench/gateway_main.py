"""Measures the gateway beside a floor and beside other gateways, and writes its part of docs/performance.md.

bench/gateway                         everything, under ten minutes
bench/gateway --gateways innervoice   the floor and some gateways
bench/gateway --page                  writes the part anew from the last numbers
bench/gateway --docs FOLDER           writes the part into the page of another folder
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gateway_page
import gateway_plot
from gateway_asking import Asker, Process
from gateway_contenders import FLOOR, GATEWAYS, NOT_MEASURED, Addresses, Gateway, Running
from gateway_emulator import StrictEmulator
from gateway_waits import agents, waits
from gateway_works import Bench
from main import machine, told
from peers import ROOT

ROUNDS = 3


def measured(gateways: list[Gateway], rounds: int, folder: Path) -> dict[str, Any]:
    """The numbers of a run; configurations and logs go into a folder."""
    began = time.monotonic()
    skipped = dict(NOT_MEASURED)
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(Process("gateway_upstream.py"))
        load = stack.enter_context(Process("gateway_load.py"))
        strict = stack.enter_context(StrictEmulator())
        addresses = Addresses(f"127.0.0.1:{upstream.line()}", strict.address)
        running = dict(_running(stack, gateways, folder, addresses, skipped))
        asker = Asker(running, load, addresses)
        bench = Bench(asker, rounds)
        results = {
            "memory": bench.memory(),
            "loops": bench.loops(strict),
            "waits": waits(asker),
            "agents": agents(asker),
            "forgetful": agents(asker, drops=True),
            "costs": bench.costs(),
            "skipped": {**skipped, **asker.skipped},
        }
    pins = {gateway.title: gateway.pins for gateway in gateways if gateway.title in running}
    minutes = (time.monotonic() - began) / 60
    return {**results, "machine": machine(rounds), "versions": pins, "minutes": minutes}


def _running(
    stack: contextlib.ExitStack,
    gateways: list[Gateway],
    folder: Path,
    addresses: Addresses,
    skipped: dict[str, str],
) -> Iterator[tuple[str, Running]]:
    started = []
    for gateway in gateways:
        if why := gateway.missing():
            skipped[gateway.title] = why
            told(f"left out: {gateway.title}: {why}")
            continue
        told(f"start of {gateway.title}")
        running = Running(gateway, folder / gateway.title, addresses)
        stack.callback(running.close)
        started.append(running)
    for running in started:
        title = running.gateway.title
        if why := running.wait():
            skipped[title] = why
            told(f"left out: {title}: {why}")
        else:
            yield title, running


def chosen(names: str) -> list[Gateway]:
    """The gateways with these names; the floor is always there."""
    wanted = {name.strip() for name in names.split(",")}
    known = {gateway.title for gateway in GATEWAYS}
    if names != "all" and (unknown := wanted - known):
        raise SystemExit(
            f"no such gateway: {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}"
        )
    return [one for one in GATEWAYS if names == "all" or one.title in wanted | {FLOOR}]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gateways", default="all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--cache", type=Path, default=ROOT / ".bench")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where the page is")
    options = parser.parse_args()
    # What was started has to end as well.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    options.cache.mkdir(exist_ok=True)
    store = options.cache / "results.json"
    results = json.loads(store.read_text("utf-8")) if store.is_file() else {}
    if not options.page:
        results["gateway"] = measured(
            chosen(options.gateways), options.rounds, options.cache / "gateways"
        )
        store.write_text(json.dumps(results, indent=1), "utf-8")
    if "gateway" not in results:
        raise SystemExit("there are no numbers yet: run bench/gateway without --page")
    file = options.docs / "performance.md"
    page = file.read_text("utf-8") if file.is_file() else ""
    options.docs.mkdir(parents=True, exist_ok=True)
    file.write_text(gateway_page.put_into(page, results["gateway"]), "utf-8")
    pictures = options.docs / "pictures"
    pictures.mkdir(exist_ok=True)
    (pictures / "gateways.svg").write_text(gateway_plot.drawn(results["gateway"]), "utf-8")
    told(f"wrote the part about gateways of {options.docs.name}/performance.md, and its plot")
    sys.stdout.write(gateway_page.targets(results["gateway"]) + "\n")


if __name__ == "__main__":
    main()
