"""A layout: which columns of a row hold what; and the options with which a caller names them. `bulk/kinds.py` finds the layout of a sample."""

from __future__ import annotations

from typing import Any

from innervoice.canon.jsontext import load_json
from innervoice.canon.value import Value

__all__ = [
    "ASSISTANTS",
    "REASONING_NAMES",
    "SAMPLE_ROWS",
    "Layout",
    "ReadOptions",
    "as_messages",
    "pair_in",
]


class Layout(Value, frozen=True, kw_only=True):
    """Which columns of a row hold what."""

    kind: str
    """A name of `KINDS` in `bulk/kinds.py`."""
    columns: tuple[str, ...] = ()
    """The columns with the model's output, in the order of their turns; for pairs, those with the answers."""
    reasoning: tuple[str, ...] = ()
    """For pairs, the columns with the reasoning."""
    models: tuple[str | None, ...] = ()
    """The model of each column, if its name contains it: `gemini` of `gemini_attempt`."""
    prompt: str | None = None
    input: str | None = None
    """A column whose text follows the prompt: `input` of Alpaca."""
    system: str | None = None
    id: str | None = None
    model: str | None = None
    finish: str | None = None

    @property
    def read(self) -> frozenset[str]:
        """The columns that are read."""
        single = (self.prompt, self.input, self.system, self.id, self.model, self.finish)
        return frozenset((*self.columns, *self.reasoning, *filter(None, single)))


# ---- messages, and pairs of reasoning and answer ----------------------------------------------------------


def as_messages(value: Any) -> list[dict[str, Any]] | None:
    """The messages in a value: a list of objects with a role, or the JSON of one."""
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            value = load_json(value)
        except ValueError:
            return None
    if isinstance(value, dict):
        value = value.get("messages")
    if (
        not isinstance(value, (list, tuple))
        or not value
        or not all(isinstance(one, dict) for one in value)
    ):
        return None
    return list(value) if any("role" in one or "from" in one for one in value) else None


ASSISTANTS = frozenset(("assistant", "gpt", "model", "bot", "chatbot", "ai", "function_call"))

REASONING_NAMES = (
    "reasoning_content", "reasoning", "thinking_trajectory", "thinking_trajectories", "thinking", "think", "thoughts", "thought", "chain_of_thought",
    "cot", "rationale", "analysis", "thought_process", "think_content", "reasoning_trace", "trace",
)  # fmt: skip
_ANSWERS = (
    "attempt", "final", "answer", "response", "final_answer", "assistant", "output", "completion", "answer_content", "solution", "content",
)  # fmt: skip


def pair_in(names: list[str]) -> tuple[str, str] | None:
    """The names of reasoning and answer among these."""
    thought = next((word for word in REASONING_NAMES if word in names), None)
    answer = next((word for word in _ANSWERS if word in names), None)
    return (thought, answer) if thought and answer else None


# ---- How data is read: which columns, which markup, what is kept of a row. Options that are not set are determined by a sample.


SAMPLE_ROWS = 1_000
"""How many rows are examined to find layout and markup."""


class ReadOptions(Value, frozen=True, kw_only=True):
    """The caller's options for the rows; None leaves it to the sample."""

    messages: str | None = None
    """The column with a list of messages."""
    generations: str | None = None
    """The column with a list of texts."""
    text: tuple[str, ...] = ()
    """Columns with a text of the model; several yield a row each."""
    reasoning: str | None = None
    """The column with the reasoning; needs `answer` as well."""
    answer: str | None = None
    prompt: str | None = None
    id: str | None = None
    model_column: str | None = None
    finish: str | None = None
    markup: tuple[str, ...] | None = None
    """Markup to search for in addition to the usual tags; None for the markup of the sample."""
    model: str | None = None
    """The model that wrote all texts, as a hint for the splitter."""
    prefix_open: bool | None = None
    keep: tuple[str, ...] | None = None
    """Columns of the rows that are passed on; None for all that are not read."""
    parts: bool = False
    """Whether the column `parts` is filled."""
    whole_prompts: bool = False
    """Whether the prompt of an answer in a session is the whole conversation before it; otherwise it is the messages since the previous answer."""
    raw: bool = False
    """Whether the column `raw` is filled."""
    skip_bad_files: bool = False
    """Whether a file that cannot be read to its end leaves one row that says so, instead of an error."""
