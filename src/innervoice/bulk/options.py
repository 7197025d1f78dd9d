"""How data is read: which columns, which markup, what is kept of a row. Options that are not set are determined by a sample."""

from __future__ import annotations

from innervoice.canon.value import Value

__all__ = ["SAMPLE_ROWS", "ReadOptions"]

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
