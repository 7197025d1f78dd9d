"""The time, the tokens and the cost of the reasoning in one answer.

A provider that counts reasoning is believed. Where it counts only the sum, and the reasoning is here in full, the sum is split: in proportion to
the bytes of the texts, since a token is about as many bytes of a thought as of an answer, and with fixed costs for the end of a message
and for each call. Nothing is estimated of summaries and hidden reasoning: their length says nothing of what was thought.
"""

from __future__ import annotations

from decimal import Decimal

from innervoice.canon.origin import Origin
from innervoice.canon.parts import Part, Text, Thinking, ToolCall
from innervoice.canon.response import Response
from innervoice.canon.thinking_metrics import ThinkingMetrics
from innervoice.canon.usage import Usage
from innervoice.catalog.lookup import model_row_of
from innervoice.errors import UsageError
from innervoice.pricing import cost

__all__ = [
    "estimated_thinking_tokens",
    "shows_only_summaries",
    "split_tokens",
    "thinking_cost",
    "thinking_metrics",
    "token_metrics",
]

# Fitted to 58 recorded answers that have both a full text and a count: docs/reading.md says how far off it is there.
_MESSAGE_BYTES = 24
"""What a message takes besides its texts, as bytes of text: the marks where reasoning ends and where the message ends."""
_CALL_BYTES = 64
"""The same for a tool call: its marks, and the quotes and braces around its name and arguments."""
_FEWEST, _MOST = 1.0, 12.0
"""Bytes per token between which the texts and the count can belong together; else a text is not all that was written, or the count not of all."""


def thinking_metrics(response: Response) -> ThinkingMetrics:
    """The metrics of an answer; its times if a client has measured them.

    :param response: The answer.
    """
    clock = vars(response).get("clock")
    times = ThinkingMetrics() if clock is None else clock.metrics(response.parts)
    metrics = token_metrics(response, response.usage, times)
    return metrics.replace(cost=thinking_cost(response, metrics.thinking_tokens))


def token_metrics(response: Response, usage: Usage, times: ThinkingMetrics) -> ThinkingMetrics:
    """The times with the tokens of reasoning, as they were counted, or else estimated.

    :param response: The answer.
    :param usage: Its token counts, as they are to be shown.
    :param times: Its times.
    """
    output, count = usage.output_tokens, usage.reasoning_tokens
    if count is None and (count := estimated_thinking_tokens(response, output)) is not None:
        times = times.replace(estimated=True)
    if count == 0 and times.first_answer_seconds is not None and not response.has_thinking:
        times = times.replace(thinking_seconds=0.0)
    return times.replace(output_tokens=output, thinking_tokens=count)


def thinking_cost(response: Response, tokens: int | None) -> Decimal | None:
    """What so many tokens of an answer cost as reasoning; None if nobody has a price for its model."""
    if tokens is None:
        return None
    usage = response.usage.replace(reasoning_tokens=tokens)
    try:
        price = cost(response.replace(usage=usage))
    except (UsageError, ValueError):  # genai-prices is not installed, or counts do not fit together
        return None
    return price.reasoning if price else None


# ---- An estimate, where a provider counts only the sum.


def estimated_thinking_tokens(response: Response, output: int | None) -> int | None:
    """How many of the output tokens of a complete answer are reasoning; None if that cannot be estimated.

    :param response: The answer.
    :param output: All of its output tokens.
    """
    if not output or not all(_is_in_full(part, response) for part in response.parts):
        return None
    if not response.ended or response.error is not None or response.alternatives:
        return None
    thoughts = "".join(part.text for part in response.parts if isinstance(part, Thinking))
    rest = "".join(map(_text_of, response.parts))
    return split_tokens(output, thoughts, rest, len(response.tool_calls))


def split_tokens(output: int, thoughts: str, rest: str, calls: int) -> int | None:
    """The tokens of reasoning among those of an output with these texts; None if the texts and the count do not belong together.

    :param output: The tokens of all of it.
    :param thoughts: The reasoning, all of it.
    :param rest: The texts, and the names and arguments of tool calls.
    :param calls: The number of tool calls.
    """
    thought, said = _size(thoughts), _size(rest)
    if not thought or not _FEWEST <= (thought + said) / output <= _MOST:
        return None
    return round(output * thought / (thought + said + _MESSAGE_BYTES + calls * _CALL_BYTES))


def _is_in_full(part: Part, response: Response) -> bool:
    """Whether a part is all that the model wrote there."""
    if not isinstance(part, Thinking):
        return isinstance(part, (Text, ToolCall))
    origin = part.origin or Origin()
    model, provider = origin.model or response.model, origin.provider or response.provider
    is_full = part.form == "full" and part.complete
    return is_full and not shows_only_summaries(model, provider, origin.dialect)


def shows_only_summaries(model: str | None, provider: str | None, dialect: str | None) -> bool:
    """Whether a model shows only summaries of its reasoning, even if nothing on the wire says so.

    :param model: The model, as its host spells it; None if it is not known.
    :param provider: The provider.
    :param dialect: The wire format of the answer.
    """
    row = model_row_of(model, provider, dialect) if model and dialect else None
    return row is not None and "full" not in (row.shown, *row.showable)


def _text_of(part: Part) -> str:
    match part:
        case Text():
            return part.text
        case ToolCall():
            return part.name + part.arguments
        case _:
            return ""


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
