"""Which columns of a row hold the output of the model: found on a sample, one row of `KINDS` for each layout.

Names are compared in lower case. The values decide as well: a column `reasoning` that says "on" or "off" does not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from innervoice.bulk.schema import COLUMNS
from innervoice.canon.jsontext import load_json
from innervoice.canon.value import Value
from innervoice.errors import InnervoiceError, UsageError

__all__ = [
    "ASSISTANTS",
    "KINDS",
    "SAMPLE_ROWS",
    "Layout",
    "LayoutKind",
    "ReadOptions",
    "as_messages",
    "find_layout",
    "pair_in",
]


class Layout(Value, frozen=True, kw_only=True):
    """Which columns of a row hold what."""

    kind: str
    """A name of `KINDS`."""
    columns: tuple[str, ...] = ()
    """The columns with the model's output, in the order of their turns; for pairs, those with the answers."""
    reasoning: tuple[str, ...] = ()
    """For pairs, the columns with the reasoning."""
    models: tuple[str | None, ...] = ()
    """The model of each column, if its name contains it: `gemini` of `gemini_attempt`."""
    prompt: str | None = None
    system: str | None = None
    id: str | None = None
    model: str | None = None
    finish: str | None = None

    @property
    def read(self) -> frozenset[str]:
        """The columns that are read."""
        single = (self.prompt, self.system, self.id, self.model, self.finish)
        return frozenset((*self.columns, *self.reasoning, *filter(None, single)))

    def __str__(self) -> str:
        """In words, for people."""
        kind = KINDS[self.kind]
        pairs = [
            f"{one} + {other}" for one, other in zip(self.reasoning, self.columns, strict=False)
        ]
        names = ", ".join(pairs or self.columns)
        others = {
            "prompt": self.prompt,
            "system": self.system,
            "id": self.id,
            "model": self.model,
            "finish": self.finish,
        }
        rest = "".join(f"; {name} {column}" for name, column in others.items() if column)
        return f"{kind.meaning}: {names}{rest}" if names else kind.meaning


class LayoutKind(NamedTuple):
    """One layout of rows with the output of a model."""

    meaning: str
    find: Callable[[list[dict[str, Any]]], Layout | None]
    """The layout of this kind for the rows of a sample."""


# ---- names of columns --------------------------------------------------------------------------------

_MESSAGES = (
    "messages", "conversations", "conversation", "chat", "dialog", "dialogue", "turns", "trajectory", "completion",
)  # fmt: skip
_GENERATIONS = ("generations", "responses", "completions", "outputs", "samples")
_TEXTS = (
    "response", "llm_response", "model_response", "model_output", "output", "completion", "generated_text", "generation", "r1_solution",
    "deepseek_response", "assistant", "answer", "solution", "text", "content",
)  # fmt: skip
_REASONING = (
    "reasoning_content", "reasoning", "thinking_trajectory", "thinking_trajectories", "thinking", "think", "thoughts", "thought", "chain_of_thought",
    "cot", "rationale", "analysis", "thought_process", "think_content", "reasoning_trace", "trace",
)  # fmt: skip
_ANSWERS = (
    "attempt", "final", "answer", "response", "final_answer", "assistant", "output", "completion", "answer_content", "solution", "content",
)  # fmt: skip
_PROMPTS = ("prompt", "question", "problem", "instruction", "query", "input", "user", "human")
_SYSTEMS = ("system", "system_prompt", "developer")
_IDS = ("id", "uuid", "custom_id", "problem_id", "row_id", "_id", "uid")
# In a batch, `id` is the provider's; these are the ids of the requests.
_BATCH_IDS = ("custom_id", "key", "recordid", *_IDS)
_MODELS = ("model", "generator", "model_name", "teacher", "generated_by")
_FINISHES = ("finish_reasons", "finish_reason", "stop_reason", "finish")
# A column `reasoning` that only says whether there was any.
_SWITCHES = frozenset(("on", "off", "true", "false", "yes", "no", "low", "medium", "high", "none", ""))  # fmt: skip
_NUMBERED = re.compile(r"(.+?)_?\d+")


def find_layout(rows: Sequence[dict[str, Any]], options: ReadOptions) -> Layout:
    """The layout of the rows of a sample; the options come first. Raises `UsageError` if none matches."""
    sample = [row for row in rows if isinstance(row, dict)]
    layout = _by_options(sample, options)
    if layout is None:
        layouts = (kind.find(sample) for kind in KINDS.values())
        layout = next((one for one in layouts if one is not None), None)
    if layout is None:
        names = ", ".join(dict.fromkeys(name for row in sample[:20] for name in row)) or "nothing"
        raise UsageError(
            "no column holds messages, generations, a text or a pair of reasoning and answer; name one with --text, --messages, "
            f"--generations, or --reasoning and --answer. The columns are: {names[:400]}"
        )
    return _with_context(layout, sample, options)


def _by_options(sample: list[dict[str, Any]], options: ReadOptions) -> Layout | None:
    """The layout that the options specify."""
    options_named = (
        options.messages,
        options.generations,
        *options.text,
        options.reasoning,
        options.answer,
    )
    for name in filter(None, options_named):
        if sample and not any(name in row for row in sample):
            columns = ", ".join(dict.fromkeys(column for row in sample[:20] for column in row))
            raise UsageError(f"there is no column {name!r}; the columns are: {columns[:400]}")
    if options.messages:
        return Layout(kind="messages", columns=(options.messages,))
    if options.generations:
        return Layout(kind="generations", columns=(options.generations,))
    if options.reasoning:
        if not options.answer:
            raise UsageError("a column for the reasoning needs one for the answer: --answer NAME")
        return Layout(kind="columns", columns=(options.answer,), reasoning=(options.reasoning,))
    if options.answer:
        return Layout(kind="text", columns=(options.answer,))
    return Layout(kind="text", columns=options.text) if options.text else None


def _with_context(layout: Layout, sample: list[dict[str, Any]], options: ReadOptions) -> Layout:
    """The layout with further columns besides the model's output."""
    if layout.kind == "rows":
        return layout
    taken = {*layout.columns, *layout.reasoning}

    def column_for(names: tuple[str, ...], fits: Callable[[Any], bool]) -> str | None:
        candidates = (name for name in _in_order(sample, names) if name not in taken)
        return next((name for name in candidates if _mostly(_values(sample, name), fits)), None)

    # A completion has its prompt in another column; a conversation contains it.
    is_completion = layout.kind == "messages" and layout.columns[0].lower() == "completion"
    holds_prompt = is_completion or layout.kind not in ("messages", "interactions", "answers")
    return layout.replace(
        prompt=options.prompt or (column_for(_PROMPTS, _is_prompt) if holds_prompt else None),
        system=column_for(_SYSTEMS, _is_text) if layout.kind != "answers" else None,
        id=options.id or column_for(_BATCH_IDS if layout.kind == "answers" else _IDS, _is_id),
        model=options.model_column or column_for(_MODELS, _is_text),
        finish=options.finish or column_for(_FINISHES, _is_finish),
    )


# ---- tests of values ------------------------------------------------------------------------------------


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


def _has_answer(value: Any) -> bool:
    messages = as_messages(value)
    return messages is not None and any(
        (one.get("role") or one.get("from")) in ASSISTANTS for one in messages
    )


ASSISTANTS = frozenset(("assistant", "gpt", "model", "bot", "chatbot", "ai", "function_call"))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple))
        and bool(value)
        and all(isinstance(one, str) for one in value)
    )


def _is_thought(value: Any) -> bool:
    return (isinstance(value, str) and value.strip().lower() not in _SWITCHES) or _is_texts(value)


def _is_prompt(value: Any) -> bool:
    return isinstance(value, str) or as_messages(value) is not None


def _is_id(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _is_finish(value: Any) -> bool:
    return isinstance(value, str) or _is_texts(value)


def _is_interaction(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple))
        and bool(value)
        and all(isinstance(one, dict) and pair_in(list(one)) for one in value)
    )


def _values(sample: list[dict[str, Any]], name: str) -> Iterator[Any]:
    return (row[name] for row in sample if row.get(name) is not None)


def _mostly(values: Iterator[Any], fits: Callable[[Any], bool]) -> bool:
    """Whether there are values, and at least half of them pass."""
    results = [fits(value) for value in values]
    return bool(results) and 2 * sum(results) >= len(results)


def _in_order(sample: list[dict[str, Any]], names: tuple[str, ...]) -> Iterator[str]:
    """The columns with these names, in the order of the names; a number may follow: `r1_solution_1`."""
    columns = list(dict.fromkeys(name for row in sample for name in row))
    for name in names:
        yield from (column for column in columns if column.lower() == name)
        numbered = [
            column
            for column in columns
            if (match := _NUMBERED.fullmatch(column.lower())) and match[1] == name
        ]
        yield from sorted(numbered, key=lambda column: (len(column), column))


def _any_column(
    sample: list[dict[str, Any]], names: tuple[str, ...], fits: Callable[[Any], bool]
) -> str | None:
    """The matching column: the first with one of these names, or else the first of any name."""
    columns = dict.fromkeys((*_in_order(sample, names), *(name for row in sample for name in row)))
    return next((name for name in columns if _mostly(_values(sample, name), fits)), None)


# ---- the kinds -----------------------------------------------------------------------------------------


def _find_rows(sample: list[dict[str, Any]]) -> Layout | None:
    """The output of `run`: the columns of the schema are used as they are."""
    columns = dict.fromkeys(name for row in sample for name in row)
    if (
        not {"id", "source", "turn", "last", "answer", "reasoning", "status", "notes"}
        <= columns.keys()
    ):
        return None
    return Layout(kind="rows", columns=tuple(name for name in columns if name in COLUMNS))


def _find_answers(sample: list[dict[str, Any]]) -> Layout | None:
    rows = [row for row in sample[:20] if _may_be_answer(row)]
    if not rows or 2 * len(rows) < len(sample[:20]):
        return None
    return Layout(kind="answers") if any(map(_is_answer, rows)) else None


_AROUND = ("response", "result", "modelOutput", "body")
_ANSWER_MEMBERS = frozenset((
    "choices", "candidates", "output", "content", "parts", "message", "error", "custom_id", "recordId",
))  # fmt: skip


def _may_be_answer(row: dict[str, Any]) -> bool:
    """Whether a row may be an answer as an API sent it, or contain one; cheap enough for any row."""
    is_wrapped = any(isinstance(row.get(name), dict) for name in _AROUND)
    return (
        is_wrapped
        or any(isinstance(row.get(name), (dict, list)) for name in _ANSWER_MEMBERS)
        or not _BATCH.isdisjoint(row)
    )


_BATCH = frozenset(("custom_id", "recordId"))


def _is_answer(row: dict[str, Any]) -> bool:
    from innervoice.decoding import decode  # noqa: PLC0415 - only for rows that may be answers

    try:
        return bool(decode(row).parts)
    except InnervoiceError:
        return False


def _find_generations(sample: list[dict[str, Any]]) -> Layout | None:
    names = _in_order(sample, _GENERATIONS)
    column = next((name for name in names if _mostly(_values(sample, name), _is_texts)), None)
    return Layout(kind="generations", columns=(column,)) if column else None


def _find_messages(sample: list[dict[str, Any]]) -> Layout | None:
    column = _any_column(sample, _MESSAGES, _has_answer)
    return Layout(kind="messages", columns=(column,)) if column else None


def _find_interactions(sample: list[dict[str, Any]]) -> Layout | None:
    column = _any_column(sample, ("interactions",), _is_interaction)
    return Layout(kind="interactions", columns=(column,)) if column else None


def _find_columns(sample: list[dict[str, Any]]) -> Layout | None:
    columns = list(dict.fromkeys(name for row in sample for name in row))
    texts = [name for name in columns if _mostly(_values(sample, name), _is_thought)]
    pairs: list[tuple[str, str, str]] = []
    prefixes = dict.fromkeys(prefix for name in texts if (prefix := _prefix(name)) is not None)
    for prefix in prefixes:
        columns_here = {
            name.lower().removeprefix(prefix): name
            for name in texts
            if name.lower().startswith(prefix)
        }
        if pair := pair_in(list(columns_here)):
            pairs.append((prefix, columns_here[pair[0]], columns_here[pair[1]]))
    if not pairs:
        return None
    return Layout(
        kind="columns",
        columns=tuple(answer for _, _, answer in pairs),
        reasoning=tuple(thought for _, thought, _ in pairs),
        models=tuple(prefix.rstrip("_") or None for prefix, _, _ in pairs),
    )


def _prefix(column: str) -> str | None:
    """The prefix of the name of a column with reasoning; None for other columns."""
    name = column.lower()
    word_at_end = next(
        (word for word in _REASONING if name == word or name.endswith(f"_{word}")), None
    )
    return None if word_at_end is None else name.removesuffix(word_at_end)


def pair_in(names: list[str]) -> tuple[str, str] | None:
    """The names of reasoning and answer among these."""
    thought = next((word for word in _REASONING if word in names), None)
    answer = next((word for word in _ANSWERS if word in names), None)
    return (thought, answer) if thought and answer else None


def _find_text(sample: list[dict[str, Any]]) -> Layout | None:
    names = [name for name in _in_order(sample, _TEXTS) if _mostly(_values(sample, name), _is_text)]
    if not names:
        columns = list(dict.fromkeys(name for row in sample for name in row))
        texts = [name for name in columns if _mostly(_values(sample, name), _is_text)]
        return Layout(kind="text", columns=(texts[0],)) if len(texts) == 1 else None
    tagged = [
        name for name in names if any(map(_TAG.search, filter(_is_text, _values(sample, name))))
    ]
    first = (tagged or names)[0]
    match = _NUMBERED.fullmatch(first)
    kin = [
        name
        for name in names
        if match and (other := _NUMBERED.fullmatch(name)) and other[1] == match[1]
    ]
    return Layout(kind="text", columns=tuple(kin or [first]))


_TAG = re.compile(
    r"(?i)</?(?:think|thinking|thought|reasoning)\b|<\|begin_of_thought\|>|\[THINK\]|<\|channel\|>|◁think▷"
)

KINDS: dict[str, LayoutKind] = {
    "rows": LayoutKind("rows that were split before", _find_rows),
    # `as_sessions` makes these rows; no file contains them.
    "sessions": LayoutKind("sessions of a program, with a row for each answer", lambda _: None),
    "answers": LayoutKind(
        "answers as APIs send them, on their own or in batch files", _find_answers
    ),
    "generations": LayoutKind(
        "a list of texts, each an answer to the same prompt", _find_generations
    ),
    "messages": LayoutKind("messages of a conversation", _find_messages),
    "interactions": LayoutKind("a list of objects with reasoning and answer", _find_interactions),
    "columns": LayoutKind("reasoning and answer in columns of their own", _find_columns),
    "text": LayoutKind("a text with reasoning in it", _find_text),
}
"""In the order in which they are tried: the most specific first."""


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
