"""`innervoice emulate`: a local server that emulates the providers, without a key."""

from __future__ import annotations

from pathlib import Path

import click

from innervoice.catalog.lookup import all_hosts
from innervoice.cli.running import INTERRUPTED
from innervoice.emulator.routes import base_urls
from innervoice.errors import UsageError
from innervoice.installing import install_command

__all__ = ["command"]

_EPILOG = """\
\b
Examples:
  innervoice emulate
  ANTHROPIC_BASE_URL=http://127.0.0.1:8808/anthropic ANTHROPIC_API_KEY=any python my_agent.py
  innervoice emulate --log requests/         then, in another terminal: innervoice view requests/
  curl http://127.0.0.1:8808/deepseek/chat/completions -d '{"model": "deepseek-v4-pro",
      "messages": [{"role": "user", "content": "What is 15 * 23?"}]}'

\b
A suffix of the model name, or the header x-innervoice-emulate, changes how the model behaves:
  +redact  +summarise  +hide  +full     how much of its reasoning it shows
  +inline=think  +unclosed  +stutter    writes it into the text, in tags; omits or repeats the closing tag
  +pieces=3  +silent  +mirror           several blocks; reasons without an answer; sends it in two fields
  +cut=5  +fail=5  +slow=0.05           breaks off or fails after 5 frames; waits 0.05 s between frames
  +expire=3  +flaky=3                   every third request of a batch expires or fails, the first time

Needs the packages of innervoice[emulator].
"""


@click.command("emulate", epilog=_EPILOG)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    default=8808,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="The port to listen on; 0 picks a free one.",
)
@click.option(
    "--log-to",
    "--log",
    "place",
    type=click.Path(path_type=Path),
    metavar="FILE|FOLDER",
    help="Log requests and responses there for innervoice view, without seals and keys.",
)
@click.option(
    "--script",
    type=click.Path(),
    help="A JSON file that says what the model does, step by step. Tools that act are called only by it.",
)
@click.option(
    "--deviate",
    "deviations",
    type=click.Path(),
    metavar="FILE",
    help="A TOML file of facts that are different here than in the catalog, to test programs against a changed provider.",
)
def command(
    *, host: str, port: int, place: Path | None, script: str | None, deviations: str | None
) -> None:
    """Serve every provider's API on this machine, with its real rules and error messages.

    Requests are checked as the real API checks them. Signatures and encrypted reasoning are checked too: a lost, edited
    or foreign one is refused with the provider's own error message.
    """
    try:
        from innervoice.emulator.app import bound_socket, run
        from innervoice.emulator.core import Emulator
        from innervoice.emulator.request_log import EmulatorLog
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise click.UsageError(f"the emulator needs: {install_command('emulator')}") from None
    try:
        log = EmulatorLog(place, say=_complain) if place else None
        emulator = Emulator(script=script, log=log, acting_tools=False, deviations=deviations)
        listening = bound_socket(host, port)
    except UsageError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        reason = error.strerror or error
        raise click.ClickException(f"cannot listen on {host}:{port}: {reason}") from None
    port = listening.getsockname()[1]
    dialects = {row.id: row.dialect for row in all_hosts()}
    for provider, url in base_urls(f"http://{host}:{port}").items():
        click.echo(f"{provider:16} {dialects[provider]:17} {url}")
    click.echo("Any API key is accepted; each key is a separate account. Stop with Ctrl+C.")
    if place:
        click.echo(f"View the requests with: innervoice view {place}")
    run(listening, emulator)
    if log:
        log.close()
    raise click.exceptions.Exit(INTERRUPTED)  # it serves until Ctrl+C


def _complain(text: str) -> None:
    click.echo(text, err=True)
