"""`innervoice demo`: one conversation through four providers and back, on the embedded emulator."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from textwrap import fill

import click

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Thinking
from innervoice.canon.reasoning import Reasoning
from innervoice.canon.request import Request
from innervoice.canon.response import Response
from innervoice.catalog.targets import target_of
from innervoice.cli.output import show_events
from innervoice.client.tools import ToolBox
from innervoice.emulator.call import HEADER
from innervoice.emulator.core import Emulator
from innervoice.emulator.embedded import emulated_client
from innervoice.emulator.naive import naive_wire
from innervoice.emulator.routes import base_urls
from innervoice.installing import install_command, is_installed
from innervoice.planning.plan import plan
from innervoice.wire.refusals import failure_of

__all__ = ["command"]

# A command, the extra that it needs, and what it does.
_NEXT = (
    ("chat", "cli", "talk to a model, and switch with /model; the emulator answers without a key"),
    ("view", "view", "the sessions of your agents in the browser, with all reasoning"),
    ("serve --demo", "gateway", "what the gateway does for a client that loses reasoning"),
)
_WAY = (
    ("anthropic/claude-opus-5-5", "What is the weather in Lisbon and Oslo?"),
    ("gemini/gemini-3.5-flash", "And the population of Lisbon, then the population of Oslo?"),
    ("openai/gpt-5.6", "How many is 720000 - 570000? And the weather in Bergen?"),
    ("deepseek/deepseek-v4-pro", "The weather in Porto, please."),
    ("anthropic/claude-opus-5-5", "Back to you: the population of Porto, and 17 * 3?"),
)
_REASONING = Reasoning("high", show="summary")
_PEOPLE = {"Lisbon": 570_000, "Oslo": 720_000, "Porto": 250_000, "Bergen": 290_000}
"""Round numbers, for the demonstration."""


def get_weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"{city}: {'rain' if len(city) % 2 else 'sunshine'}"


def get_population(city: str) -> str:
    """Returns the population of a city."""
    return f"{city} has {_PEOPLE.get(city, 0):,} people"


_TOOLS = (get_weather, get_population)


@click.command("demo")
@click.option("--fast", is_flag=True, help="Do not slow the streams down to realistic speed.")
def command(*, fast: bool) -> None:
    """Run one conversation with tools through Claude, Gemini, GPT and DeepSeek, and back to Claude.

    Nothing leaves this machine: the providers are emulated, with their real rules. Every answer is streamed, reasoning is
    shown separately from the answer, and a table at the end shows which reasoning was sent back.
    """
    emulator = Emulator()
    slow = sys.stdout.isatty() and not fast
    client = emulated_client(emulator, headers={HEADER: "slow=0.012"} if slow else None)
    chat = client.conversation(_WAY[0][0], tools=_TOOLS, reasoning=_REASONING)
    click.echo(
        "The providers are emulated in this process, with their real rules; no key is needed.\n"
    )
    for model, question in _WAY:
        click.secho(f"── {model} ", bold=True)
        click.echo(f"you: {question}\n")
        with chat.switch(model).stream(question) as events:
            show_events(events, keep=True)
        click.echo()
    requests = _requests(chat.history, chat.responses)
    _tell_history(requests)
    _tell_naive(emulator, requests)
    _tell_next()


def _requests(history: list[Message], responses: list[Response]) -> list[Request]:
    """Every request that was sent, rebuilt from the history."""
    turns = [number for number, message in enumerate(history) if message.role == "assistant"]
    tools = ToolBox(_TOOLS).offered
    return [
        Request(
            f"{response.provider}/{response.model}",
            tuple(history[:number]),
            tools=tools,
            reasoning=_REASONING,
        )
        for number, response in zip(turns, responses, strict=True)
    ]


def _tell_history(requests: list[Request]) -> None:
    """Prints how much of the earlier reasoning each request had."""
    rows: list[tuple[str, ...]] = [("request to", "in history", "kept", "omitted", "restored")]
    unsent: set[tuple[int, int | None]] = set()
    for request in requests:
        planned = plan(request.messages, request.model, tools=request.tools, reasoning=_REASONING)
        decided = [item for item in planned.decisions if item.kind == "thinking"]
        kept_places = {(item.message, item.part) for item in decided if item.action == "kept"}
        omitted_places = {(item.message, item.part) for item in decided if item.action == "omitted"}
        read = sum(isinstance(part, Thinking) for item in request.messages for part in item.parts)
        rows.append(
            (
                request.model,
                *(
                    str(n)
                    for n in (
                        read,
                        len(kept_places),
                        len(omitted_places),
                        len(kept_places & unsent),
                    )
                ),
            )
        )
        unsent = omitted_places
    click.secho("What happened to the reasoning", bold=True)
    for name, *numbers in rows:
        click.echo(f"  {name:28}" + "".join(f"{number:>13}" for number in numbers))
    click.echo(
        "  kept: sent back unchanged, with its seal; omitted: not sent, but still in the history;"
    )
    click.echo("  restored: kept, after the previous request had omitted it.\n")


def _tell_naive(emulator: Emulator, requests: list[Request]) -> None:
    """Prints what happens to the same requests without a plan; they are really sent."""
    words: dict[str, str] = {}
    refused = 0
    for request in requests:
        provider = target_of(request).provider or ""
        wire = naive_wire(request.replace(base_url=base_urls("")[provider]))
        headers = {**wire.headers, "authorization": "Bearer emulator"}
        reply = emulator.reply("POST", wire.url, headers, dump_json(wire.body))
        if reply.status != 200:
            refused += 1
            words.setdefault(provider, failure_of(load_json(reply.body)).message or "")
    click.secho("Without innervoice", bold=True)
    for provider, text in words.items():
        click.echo(fill(f"{provider}: {text}", 92, initial_indent="  ", subsequent_indent="    "))
    click.echo(
        f"  With innervoice, all {len(requests)} requests of this conversation were accepted."
    )
    click.echo(f"  Sent without a plan for the history, {refused} of them are refused.\n")


def _tell_next() -> None:
    """Prints what to try next, with the path under which this program was started."""
    here = Path(sys.argv[0])
    program = f"{sys.executable} -m innervoice"
    if here.name == "innervoice":
        on_path = shutil.which("innervoice")
        is_on_path = on_path is not None and Path(on_path).samefile(here)
        is_near = here.is_relative_to(Path.cwd())
        program = str(here.relative_to(Path.cwd()) if is_near else here)
        program = "innervoice" if is_on_path else program
    click.secho("Next", bold=True)
    missing = [extra for _, extra, _ in _NEXT if not is_installed(extra)]
    for arguments, extra, what in _NEXT:
        if extra not in missing:
            click.echo(f"  {program} {arguments:34} {what}")
    for extra in missing:
        click.echo(f"The {extra} is not installed: {install_command(extra)}")
