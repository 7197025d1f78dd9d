"""`innervoice ask`: one question, one answer."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import click

from innervoice.canon.jsontext import dump_json
from innervoice.canon.response import Response
from innervoice.canon.storage import to_json
from innervoice.canon.thinking_metrics import ThinkingMetrics
from innervoice.cli.connect import chosen_model, connect, setting_of, tools_in
from innervoice.cli.files import read_file
from innervoice.cli.output import Output, show_events
from innervoice.cli.parameters import EFFORT, FILE, MODEL, emulated_option, show_option
from innervoice.errors import InnervoiceError
from innervoice.show.amounts import thinking_line
from innervoice.show.export import export
from innervoice.show.policy import Remark, thought_about, view_of

__all__ = ["command"]

_EPILOG = """\
\b
Examples:
  innervoice ask "What is 15 * 23?"
  innervoice ask -m gemini/gemini-3.5-flash -e high "Why is the sky blue?" --show summary
  cat question.txt | innervoice ask - -m deepseek/deepseek-v4-pro --show none > answer.txt
  innervoice ask "The weather in Paris?" --tools tools.py      the file's functions are the tools
  innervoice ask "Why?" --raw > turn.json                      the complete response, to send back later

In a pipe, the answer goes to stdout and the reasoning to stderr; without an answer, the exit status is 1. Without an
API key, the emulator answers on a terminal if no model is named, and with --emulated; elsewhere the exit status is 1.
"""


@click.command("ask", epilog=_EPILOG)
@click.argument("question")
@click.option("-m", "--model", type=MODEL, help="The model, as provider/model; INNERVOICE_MODEL sets a default.")  # fmt: skip
@click.option("-e", "--effort", type=EFFORT, help="none, minimal, low, medium, high, xhigh, max, or a number of tokens.")  # fmt: skip
@click.option("-s", "--system", help="The system prompt.")
@show_option
@click.option("--keep", is_flag=True, help="Leave the reasoning on the screen.")
@click.option(
    "--tools", "tools_file", type=FILE, help="A Python file whose functions the model may call."
)
@click.option("--max-tokens", type=int, help="The limit on output tokens, including reasoning.")
@click.option("--base-url", is_eager=True, help="Another base URL for the provider's API.")
@emulated_option("Use the emulator, even if there is an API key.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON, without seals.")
@click.option(
    "--raw",
    is_flag=True,
    help="Print the complete response as JSON that innervoice can read, including seals.",
)
def command(
    *,
    question: str,
    model: str | None,
    effort: str | None,
    system: str | None,
    show: Any,
    keep: bool,
    tools_file: str | None,
    max_tokens: int | None,
    base_url: str | None,
    emulated: bool,
    as_json: bool,
    raw: bool,
) -> None:
    """Ask a model QUESTION (or standard input, with -), and show its reasoning separately from its answer."""
    text = read_file("-").decode("utf-8", "replace") if question == "-" else question
    chosen = chosen_model(model)
    name = chosen.name
    try:
        settings: dict[str, Any] = {"reasoning": setting_of(effort, show), "max_tokens": max_tokens}
        given_settings = {key: value for key, value in settings.items() if value is not None}
        tools = tools_in(tools_file)
        connection = connect(chosen, base_url=base_url, emulated=emulated)
        chat = connection.client.conversation(name, system=system, tools=tools, **given_settings)
        if raw:
            click.echo(to_json(chat.ask(text)))
        elif as_json:
            chat.ask(text)
            click.echo(_json(chat.responses, show))
        elif sys.stdout.isatty():
            with chat.stream(text) as events:
                show_events(events, show, keep=keep)
            _foot(chat.responses, show)
        else:
            _piped(chat.ask(text), show)
            _foot(chat.responses, show)
    except InnervoiceError as error:
        raise click.ClickException(str(error)) from None


def _json(responses: Sequence[Response], show: Any) -> str:
    """The last response, with what all of them thought."""
    value = export(responses[-1], show)
    if show != "none":
        members = _metrics_of(responses).members()
        value["thinking"] = {name: one for name, one in members.items() if one is not None}
    return dump_json(value).decode()


def _foot(responses: Sequence[Response], show: Any) -> None:
    """A line about what all responses thought, on stderr."""
    line = thinking_line(_metrics_of(responses)) if show != "none" and responses else ""
    if line:
        Output().aside(line)


def _metrics_of(responses: Sequence[Response]) -> ThinkingMetrics:
    """The metrics of all responses; those before the last one call tools."""
    return reduce(add, (response.thinking_metrics() for response in responses))


def _piped(response: Any, show: Any) -> None:
    output = Output()
    if show == "full":
        output.thinking(response.thinking or "")
    elif show != "none":
        for thought in thought_about(response.parts, show):
            output.thinking("\n".join(filter(None, (thought.title, thought.text))))
    output.end_thinking()
    output.answer(response.text)
    output.end()
    if not response.text.strip():
        # A script that writes the answer to a file must notice that there is none.
        texts = [item.text for item in view_of(response, show)[0].items if isinstance(item, Remark)]
        raise click.ClickException(texts[-1] if texts else "no answer")
