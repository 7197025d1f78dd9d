"""`innervoice probe`: measures what a model does with reasoning, and compares it with the catalog."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innervoice.canon.jsontext import dump_json
from innervoice.catalog.targets import resolved
from innervoice.cli.connect import check_key
from innervoice.cli.parameters import emulated_option
from innervoice.cli.running import INTERRUPTED
from innervoice.errors import InnervoiceError
from innervoice.installing import install_command
from innervoice.show.visible import visible

if TYPE_CHECKING:
    from innervoice.canon.target import Target
    from innervoice.probe.run import ProbeResult, Run
    from innervoice.probe.session import Session

    _About = Callable[[list[ProbeResult]], tuple[list[str], list[str]]]
    """Lines before and after the table, from the results."""

__all__ = ["command"]

_EPILOG = """\
\b
Examples:
  innervoice probe anthropic/claude-opus-5-5                    every fact; asks before it spends anything
  innervoice probe openai/gpt-5.6 --only seals --yes            one group of facts, or one by its id
  innervoice probe gemini/gemini-3.5-flash --max-usd 0.05 --json
  innervoice probe anthropic/claude-opus-5-5 --save             writes what differs to your catalog
  innervoice probe deepseek/deepseek-v4-pro --record traffic/   keeps the redacted traffic
  innervoice probe deepseek/deepseek-v4-pro --replay traffic/   the same facts from a recording, without a network
  innervoice probe --base-url http://127.0.0.1:8000/v1          a server of your own: what it is, and how to use it
  innervoice probe anthropic/claude-opus-5-5 --emulated         the emulator, which does what the catalog says

The exit status is 1 if a fact differs from the catalog. Ctrl+C ends the run; what was measured is kept.
"""
_NOBODY: Any = None
_COLOURS = {"differs": "red", "differs in words": "yellow", "not measured": "yellow"}


def _words(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Words that may be given one by one, or with commas between them."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


@click.command("probe", epilog=_EPILOG)
@click.argument("model", required=False)
@click.option("--base-url", help="Another base URL; without MODEL, a server of your own.")
@click.option("--model", "own_model", metavar="M", help="With --base-url: the server's model.")
@click.option("--key-variable", metavar="NAME", help="The environment variable with the key, if it is not the provider's usual one.")  # fmt: skip
@emulated_option("Measure the emulator, without a key.")
@click.option("--dialect", help="The wire format, if the host has several.")
@click.option("--only", multiple=True, callback=_words, help="Only these facts or groups.")
@click.option("--skip", multiple=True, callback=_words, help="All but these facts or groups.")
@click.option("--max-usd", type=click.FloatRange(min=0), help="Send nothing that could cost more.")
@click.option("--yes", is_flag=True, help="Do not ask before requests are sent.")
@click.option("--json", "as_data", is_flag=True, help="Print JSON.")
@click.option("--save", "saves", is_flag=True, help="Write what differs to your own catalog.")
@click.option("--record", metavar="DIR", type=click.Path(), help="Keep the redacted traffic there.")
@click.option("--replay", metavar="DIR", type=click.Path(), help="Measure a recording.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=60.0, show_default=True, help="Seconds for one answer.")  # fmt: skip
@click.option("--list", "lists", is_flag=True, help="List the facts, and send nothing.")
def command(**options: Any) -> None:
    """Measure what MODEL does with reasoning, and compare it with the catalog.

    Small requests are sent with your key: which settings are accepted, what is shown and where, whether seals are checked, how
    streams and errors look. Facts that differ are measured twice.
    """
    try:
        status = _run(options)
    except InnervoiceError as error:
        raise click.ClickException(str(error)) from None
    raise click.exceptions.Exit(status)


def _run(options: dict[str, Any]) -> int:
    from innervoice.probe.facts import all_facts, selected

    if options["lists"]:
        for fact in all_facts():
            click.echo(f"{fact.id:16} {fact.group:9} {fact.fact:42} {fact.column or ''}".rstrip())
        return 0
    facts = selected(options["only"], options["skip"])
    model, dialect = options["model"], options["dialect"]
    if model is None and options["replay"]:
        model, dialect = _only_recorded(Path(options["replay"]))
    if model is None and options["base_url"]:
        return _measure_own(facts, options)
    if model is None:
        raise click.UsageError("expected a MODEL as provider/model, or --base-url URL")
    return _measure(resolved(model, dialect), facts, options)


def _measure_own(facts: list[Any], options: dict[str, Any]) -> int:
    """Measures a server of the user's own: first what it is, then its facts, and at the end how to use it."""
    from innervoice.probe.exchanges import Network
    from innervoice.probe.servers import (
        accepts_plain,
        advice_lines,
        base_for,
        find_server,
        server_lines,
        with_apis,
    )
    from innervoice.probe.session import Session

    timeout, key = options["timeout"], _key(options)
    custom = resolved("custom/any")
    with closing(Network(custom, options["base_url"], timeout=timeout, api_key=key)) as network:
        server = find_server(options["base_url"], network.get)
    target = server.target(options["own_model"], options["dialect"])

    def accepts(tried: Target) -> bool:
        address = base_for(server, tried.dialect)
        with closing(Network(tried, address, timeout=timeout, api_key=key)) as called:
            return accepts_plain(Session(tried, called))

    if not options["yes"]:
        click.echo(f"{server.name}: {target.model}", err=True)
    options["base_url"] = base_for(server, target.dialect)

    def about(results: list[ProbeResult]) -> tuple[list[str], list[str]]:
        found = with_apis(server, accepts, target.model)
        by_fact = {result.fact.id: result for result in results}
        return server_lines(found, target.model), advice_lines(found, target, by_fact)

    return _measure(target, facts, options, about)


def _key(options: dict[str, Any]) -> str | None:
    """The key in the variable that the user named; None: the provider's own variable is read."""
    name = options["key_variable"]
    if name and not os.environ.get(name):
        raise click.UsageError(f"--key-variable names {name}, which is not set")
    return os.environ[name] if name else None


def _only_recorded(folder: Path) -> tuple[str, str]:
    """The model of a folder that has one recording."""
    from innervoice.probe.recordings import recorded_models

    models = recorded_models(folder)
    if len(models) != 1:
        known = ", ".join(models) or "none"
        raise click.UsageError(f"expected a MODEL: {folder} has recordings of {known}")
    return next(iter(models.items()))


def _measure(
    target: Target, facts: list[Any], options: dict[str, Any], about: _About | None = None
) -> int:
    from innervoice.probe.exchanges import Emulated, Network
    from innervoice.probe.recordings import Recorded, Recorder
    from innervoice.probe.run import Run
    from innervoice.probe.session import Session

    session = Session(target, _NOBODY, _spending(target, options["max_usd"]))
    run = Run(facts, session)
    network = None
    if options["replay"]:
        session.server, session.sleep = Recorded(Path(options["replay"]), target), lambda _: None
    elif options["emulated"]:
        session.server = Emulated(target.provider or "custom")
    else:
        if not (options["base_url"] or options["key_variable"]):
            check_key(f"{target.provider}/{target.model}", "pass --emulated to try it without one")
        network = Network(
            target, options["base_url"], timeout=options["timeout"], api_key=_key(options)
        )
        session.server = network
    recorder = None
    if options["record"]:
        folder = Path(options["record"])
        session.server = recorder = Recorder(session.server, folder, lambda: run.current)
    estimate = run.estimate()
    if not _confirmed(estimate, options):
        return INTERRUPTED
    try:
        results, interrupted = _results(run, session, estimate.requests, options)
    finally:
        if network:
            network.close()
    before, after = about(results) if about and not interrupted else ([], [])
    _report(run, session, results, options, before=before, after=after)
    if recorder:
        click.echo(f"recorded in {recorder.write(target)}", err=True)
    if interrupted:
        click.echo("Interrupted; the facts above are what was measured.", err=True)
        return INTERRUPTED
    if run.stopped:
        click.echo(f"Error: {visible(run.stopped)}", err=True)
        return 1
    return 1 if any(result.status == "differs" for result in results) else 0


def _spending(target: Target, most: float | None) -> Any:
    from innervoice.pricing import token_prices
    from innervoice.probe.session import Spending

    prices = token_prices(target.provider or "", target.model)
    if most is not None and prices is None:
        raise click.ClickException(
            f"--max-usd needs the price of {target.model}: {install_command('prices')}, or add a [[price]] to your catalog"
        )
    spending = Spending(most=None if most is None else Decimal(str(most)))
    if prices is not None:
        spending.input_price, spending.output_price = prices
    return spending


def _confirmed(estimate: Any, options: dict[str, Any]) -> bool:
    """Whether requests may be sent; asks on a terminal."""
    from innervoice.probe.table import estimate_line

    if options["yes"] or options["replay"] or options["emulated"]:
        return True
    line = estimate_line(estimate)
    if not sys.stdin.isatty():
        raise click.UsageError(f"{line}; pass --yes to send them")
    return click.confirm(f"{line}; go on?", default=True, err=True)


def _results(
    run: Run, session: Session, requests: int, options: dict[str, Any]
) -> tuple[list[ProbeResult], bool]:
    """The results, and whether the user ended the run."""
    results: list[ProbeResult] = []
    with _progress(session, requests, hidden=options["as_data"]):
        try:
            for result in run.results():
                results.append(result)  # noqa: PERF402 - an interruption keeps those so far
        except KeyboardInterrupt:
            return results, True
    return results, False


@contextmanager
def _progress(session: Session, requests: int, *, hidden: bool) -> Iterator[None]:
    """A bar on standard error, if that is a terminal."""
    if hidden or not sys.stderr.isatty():
        yield
        return
    with click.progressbar(length=requests, label="measuring", file=sys.stderr) as bar:
        session.tick = lambda: bar.update(1)
        yield


def _report(
    run: Run,
    session: Session,
    results: list[ProbeResult],
    options: dict[str, Any],
    *,
    before: list[str],
    after: list[str],
) -> None:
    from innervoice.probe.saving import save, toml_of
    from innervoice.probe.table import as_json, summary_lines, table_lines

    target, spending = run.target, session.spending
    name = f"{target.provider}/{target.model}"
    if options["as_data"]:
        dollars = spending.spent if spending.output_price is not None else None
        data = as_json(
            name,
            session.server.base_url,
            results,
            requests=spending.requests,
            dollars=dollars,
            stopped=run.stopped,
        )
        if before or after:
            data["server"] = [*before, *after]
        click.echo(dump_json(data))
    else:
        for line in before:
            click.echo(visible(line))
        for line in table_lines(results, _coloured):
            click.echo(line)
        for line in summary_lines(results, saves=options["saves"], records=bool(options["record"])):
            click.echo(line)
        for line in after:
            click.echo(visible(line))
    if options["saves"]:
        text = toml_of(results, target, datetime.now(UTC).date())
        place = save(text) if text else None
        click.echo(f"saved to {place}" if place else "nothing to save", err=True)


def _coloured(text: str, status: str) -> str:
    return click.style(text, fg=_COLOURS[status]) if status in _COLOURS and sys.stdout.isatty() else text  # fmt: skip
