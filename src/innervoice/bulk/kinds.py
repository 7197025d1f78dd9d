"""Finds the layout of a sample of rows: one row of `KINDS` for each kind.

The values decide: a column whose texts contain tags is the model's, and a column `reasoning` that says "on" or "off" is not. Names break ties; they are
compared in lower case. A layout that another column contradicts is refused, with the options that say which is right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from innervoice.bulk.answers import answers_in
from innervoice.bulk.layouts import (
    ASSISTANTS,
    REASONING_NAMES,
    Layout,
    ReadOptions,
    as_messages,
    pair_in,
)
from innervoice.bulk.prompts import TRACE_INPUTS, TRACE_OUTPUTS, is_trace_output, rendered_messages
from innervoice.bulk.schema import COLUMNS
from innervoice.bulk.table import Table
from innervoice.errors import InnervoiceError, UsageError

__all__ = ["KINDS", "LayoutKind", "find_layout", "layout_text"]


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
    "deepseek_response", "generated_solution", "assistant_content", "assistant", "answer", "solution", "text", "content",
)  # fmt: skip
_PROMPTS = ("prompt", "question", "problem", "instruction", "query", "input", "user", "human")
_SYSTEMS = ("system", "system_prompt", "developer")
_IDS = ("id", "uuid", "custom_id", "problem_id", "row_id", "_id", "uid")
# In a batch, `id` is the provider's; these are the ids of the requests.
_BATCH_IDS = ("custom_id", "key", "recordid", *_IDS)
_MODELS = (
    "model",
    "generator",
    "model_name",
    "teacher",
    "generated_by",
    "generation_model",
    "response_model",
)
_FINISHES = ("finish_reasons", "finish_reason", "stop_reason", "finish")
# A column `reasoning` that only says whether there was any.
_SWITCHES = frozenset(("on", "off", "true", "false", "yes", "no", "low", "medium", "high", "none", ""))  # fmt: skip
# Columns that are never the model's output, whatever their values look like.
_CONTEXT = frozenset((
    *_PROMPTS, *_SYSTEMS, *_IDS, *_MODELS, *_FINISHES, "status", "source", "dataset", "domain", "category", "type", "name", "title", "url", "language",
    "timestamp", "created_at", "split", "subset", "topic", "subject", "license", "error", "version", "context", "difficulty", "level", "tags",
))  # fmt: skip
# The right answer, which no model wrote.
_GOLD = re.compile(r"(?:reference|expected|gold|ground_?truth|correct|target|label)")
_NUMBERED = re.compile(r"(.+?)_?\d+")


def find_layout(rows: Sequence[dict[str, Any]], options: ReadOptions) -> Layout:
    """The layout of the rows of a sample; the options come first. Raises `UsageError` if none matches, or another column contradicts it."""
    sample = [row for row in rows if isinstance(row, dict)]
    layout = _by_options(sample, options)
    if layout is not None:
        return _with_context(layout, sample, options)
    layouts = (kind.find(sample) for kind in KINDS.values())
    layout = next((one for one in layouts if one is not None), None)
    if layout is None:
        raise UsageError(
            "no column holds messages, generations, a text or a pair of reasoning and answer; name one with --text, --messages, "
            f"--generations, or --reasoning and --answer. {_columns_text(sample)}"
        )
    layout = _with_context(layout, sample, options)
    _check_others(layout, sample)
    return layout


def _columns_text(sample: list[dict[str, Any]]) -> str:
    """The columns with the kinds of their values, for people."""
    columns = {
        name: next((type(value).__name__ for value in _values(sample, name)), "always null")
        for name in dict.fromkeys(name for row in sample for name in row)
    }
    if not columns:
        return "The rows have no columns: the objects are empty."
    return (
        f"The columns are: {', '.join(f'{name} ({kind})' for name, kind in columns.items())[:600]}"
    )


def _check_others(layout: Layout, sample: list[dict[str, Any]]) -> None:
    """Raises `UsageError` if the layout has no reasoning between tags, and a column that it does not read has."""
    if layout.kind not in ("generations", "messages", "columns", "text"):
        return
    some = sample[:_CHECKED]
    others = [
        name
        for name in _columns(some)
        if name not in layout.read
        and not _is_context(name)
        and _share(_texts_in(some, name), is_tagged) >= _MOST
    ]
    if not others:
        return
    answers = list(answers_in(Table.of_rows("", some), layout))
    tagged = any(answer.text is not None and is_tagged(answer.text) for answer in answers)
    fields = layout.kind != "columns" and any(
        answer.reasoning or (answer.response and answer.response.thinking) for answer in answers
    )
    if tagged or fields:
        return
    prompt = f" --prompt {layout.prompt}" if layout.prompt else ""
    ready = " or ".join(f"--text {name}{prompt}" for name in others)
    raise UsageError(
        f"{', '.join((*layout.reasoning, *layout.columns))} would be read as {KINDS[layout.kind].meaning}, but {', '.join(others)} has texts with tags "
        f"around reasoning. Pass {ready}, or {_options_text(layout)}{prompt}. {_columns_text(sample)}"
    )


_CHECKED = 200  # rows
_MOST = 0.5


def _options_text(layout: Layout) -> str:
    """The options that name this layout."""
    if layout.reasoning:
        return f"--reasoning {layout.reasoning[0]} --answer {layout.columns[0]}"
    return " ".join(f"--{layout.kind} {name}" for name in layout.columns)


def layout_text(layout: Layout) -> str:
    """A layout in words, for people."""
    kind = KINDS[layout.kind]
    pairs = [
        f"{one} + {other}" for one, other in zip(layout.reasoning, layout.columns, strict=False)
    ]
    names = ", ".join(pairs or layout.columns)
    singles = ("prompt", "input", "system", "id", "model", "finish")
    others = {name: getattr(layout, name) for name in singles}
    rest = "".join(f"; {name} {column}" for name, column in others.items() if column)
    return f"{kind.meaning}: {names}{rest}" if names else kind.meaning


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

    prompt = options.prompt or layout.prompt
    if prompt is None and _needs_prompt(layout, sample):
        prompt = column_for(_PROMPTS, _is_prompt) or column_for(_MESSAGES, _is_messages)
    # Alpaca has the text that an instruction is about in a column of its own.
    is_divided = options.prompt is None and (prompt or "").lower() == "instruction"
    if is_divided:
        taken.add(prompt or "")
    return layout.replace(
        prompt=prompt,
        input=column_for(("input", "context"), _is_text) if is_divided else None,
        system=column_for(_SYSTEMS, _is_text) if layout.kind not in ("answers", "traces") else None,
        id=options.id
        or column_for(_BATCH_IDS if layout.kind == "answers" else _IDS, _is_id)
        or (column_for(("metadata",), _has_key) if layout.kind == "answers" else None),
        model=options.model_column or column_for(_MODELS, _is_text),
        finish=options.finish or column_for(_FINISHES, _is_finish),
    )


def _needs_prompt(layout: Layout, sample: list[dict[str, Any]]) -> bool:
    """Whether the prompt is in another column than the output: a conversation contains it, a completion in messages does not."""
    if layout.kind != "messages":
        return layout.kind not in ("interactions", "answers", "rendered", "traces")
    return not _mostly(_values(sample, layout.columns[0]), _has_question)


# ---- tests of values ------------------------------------------------------------------------------------


_OPENER = re.compile(
    r"(?i)\s*(?:<(?:think|thinking|ant_thinking|thought|reasoning|reflection|scratchpad)\b[^<>]{0,80}>|<\|begin_of_thought\|>|<\|thought_start\|>|\[THINK\]"
    r"|<\|channel\|>|<\|START_THINKING\|>|◁think▷|<seed:think>)"
)
_ANY_TAG = re.compile(
    r"(?i)<(?P<close>/)?(?:think|thinking|ant_thinking|thought|reasoning)>|(?P<closed>\[/THINK\]|<\|end_of_thought\|>|◁/think▷|</seed:think>)"
)


def is_tagged(text: str) -> bool:
    """Whether a text begins with reasoning between tags, or ends reasoning that the prompt began; an instruction that only mentions tags does neither."""
    if _OPENER.match(text):
        return True
    first = _ANY_TAG.search(text)
    return first is not None and bool(first["close"] or first["closed"])


def _texts_in(sample: list[dict[str, Any]], name: str) -> Iterator[str]:
    """The texts of a column: texts, and those of the answers in messages."""
    for value in _values(sample, name):
        if isinstance(value, str):
            yield value
        elif _is_texts(value):
            yield from value


def _share(texts: Iterable[str], fits: Callable[[str], bool]) -> float:
    results = [fits(text) for text in texts]
    return sum(results) / len(results) if results else 0.0


def _columns(sample: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in sample for name in row))


def _is_context(name: str) -> bool:
    """Whether a column is never the model's output, by its name."""
    return name.lower() in _CONTEXT or _GOLD.match(name.lower()) is not None


def _is_messages(value: Any) -> bool:
    return as_messages(value) is not None


def _has_question(value: Any) -> bool:
    return any(
        (one.get("role") or one.get("from")) not in ASSISTANTS for one in as_messages(value) or ()
    )


def _is_rendered(value: Any) -> bool:
    messages = rendered_messages(value) if isinstance(value, str) else None
    return messages is not None and any(
        one["role"] == "assistant" and one["content"].strip() for one in messages
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple))
        and bool(value)
        and all(isinstance(one, str) for one in value)
    )


def _is_generations(value: Any) -> bool:
    """Whether a value is a list of texts, or of objects with one."""
    if not isinstance(value, (list, tuple)) or not value or as_messages(value):
        return False
    return _is_texts(value) or all(
        isinstance(one, dict) and any(isinstance(one.get(name), str) for name in _TEXTS)
        for one in value
    )


def _is_thought(value: Any) -> bool:
    return (isinstance(value, str) and value.strip().lower() not in _SWITCHES) or _is_texts(value)


def _is_prompt(value: Any) -> bool:
    return isinstance(value, str) or as_messages(value) is not None


def _is_id(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _has_key(value: Any) -> bool:
    """Whether it is what Gemini has beside each answer of a batch that was sent without a file."""
    return isinstance(value, dict) and _is_id(value.get("key"))


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
    """The columns with these names, in the order of the names; a number may follow (`r1_solution_1`), or words precede (`r1_generation`)."""
    columns = list(dict.fromkeys(name for row in sample for name in row))
    for name in names:
        yield from (column for column in columns if column.lower() == name)
        numbered = [
            column
            for column in columns
            if (match := _NUMBERED.fullmatch(column.lower())) and match[1] == name
        ]
        yield from sorted(numbered, key=lambda column: (len(column), column))
    for name in names:
        ending = f"_{name}"
        yield from (
            column
            for column in columns
            if column.lower().endswith(ending) and not _GOLD.match(column.lower())
        )


def _any_column(
    sample: list[dict[str, Any]], names: tuple[str, ...], fits: Callable[[Any], bool]
) -> str | None:
    """The matching column: the first with one of these names, or else the first of any name."""
    columns = dict.fromkeys((*_in_order(sample, names), *(name for row in sample for name in row)))
    return next((name for name in columns if _mostly(_values(sample, name), fits)), None)


def _has_answer(value: Any) -> bool:
    messages = as_messages(value)
    return messages is not None and any(
        (one.get("role") or one.get("from")) in ASSISTANTS for one in messages
    )


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
    column = next((name for name in names if _mostly(_values(sample, name), _is_generations)), None)
    return Layout(kind="generations", columns=(column,)) if column else None


def _find_rendered(sample: list[dict[str, Any]]) -> Layout | None:
    names = (name for name in _columns(sample) if name.lower() not in _PROMPTS)
    column = next((name for name in names if _mostly(_values(sample, name), _is_rendered)), None)
    return Layout(kind="rendered", columns=(column,)) if column else None


def _find_traces(sample: list[dict[str, Any]]) -> Layout | None:
    names = _columns(sample)
    prompt = next((name for name in TRACE_INPUTS if name in names), None)
    answer = next((name for name in TRACE_OUTPUTS if name in names), None)
    if not prompt or not answer or not _mostly(_values(sample, answer), is_trace_output):
        return None
    return Layout(kind="traces", columns=(answer,), prompt=prompt)


def _find_messages(sample: list[dict[str, Any]]) -> Layout | None:
    column = _any_column(sample, _MESSAGES, _has_answer)
    return Layout(kind="messages", columns=(column,)) if column else None


def _find_interactions(sample: list[dict[str, Any]]) -> Layout | None:
    column = _any_column(sample, ("interactions",), _is_interaction)
    return Layout(kind="interactions", columns=(column,)) if column else None


def _find_columns(sample: list[dict[str, Any]]) -> Layout | None:
    texts = [name for name in _columns(sample) if _mostly(_values(sample, name), _is_thought)]
    pairs: list[tuple[str, str, str]] = []
    thoughts = {name: prefix for name in texts if (prefix := _prefix(name)) is not None}
    for prefix in dict.fromkeys(thoughts.values()):
        columns_here = {
            name.lower().removeprefix(prefix): name
            for name in texts
            if name.lower().startswith(prefix)
        }
        if pair := pair_in(list(columns_here)):
            pairs.append((prefix, columns_here[pair[0]], columns_here[pair[1]]))
    if not pairs and len(thoughts) == 1:
        # `Complex_CoT` belongs to `Response`: there is no other reasoning.
        (thought,) = thoughts
        lowered = {name.lower(): name for name in texts if name != thought}
        answer = pair_in([REASONING_NAMES[0], *lowered])
        pairs = [("", thought, lowered[answer[1]])] if answer else []
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
        (word for word in REASONING_NAMES if name == word or name.endswith(f"_{word}")), None
    )
    return None if word_at_end is None else name.removesuffix(word_at_end)


def _find_text(sample: list[dict[str, Any]]) -> Layout | None:
    texts = [
        name
        for name in _columns(sample)
        if not _is_context(name) and _mostly(_values(sample, name), _is_text)
    ]
    shares = {name: _share(_texts_in(sample, name), is_tagged) for name in texts}
    named_columns = [name for name in dict.fromkeys(_in_order(sample, _TEXTS)) if name in texts]
    tagged = [name for name in (*named_columns, *texts) if shares[name] > 0]
    if tagged:
        # Of columns with tags in most texts, the name decides; a few tags do not win against many.
        most = max(shares.values())
        first = next(name for name in tagged if 2 * shares[name] >= most)
    elif named_columns and not _has_bytes(sample, named_columns[0]):
        first = named_columns[0]
    elif len(texts) == 1 and not named_columns and not _has_bytes(sample, None):
        first = texts[0]
    else:
        return None
    match = _NUMBERED.fullmatch(first)
    kin = [
        name
        for name in named_columns
        if match and (other := _NUMBERED.fullmatch(name)) and other[1] == match[1]
    ]
    return Layout(kind="text", columns=tuple(kin or [first]))


def _has_bytes(sample: list[dict[str, Any]], before: str | None) -> bool:
    """Whether a column that is rather the model's than this one has bytes that are not text."""
    order = list(dict.fromkeys(_in_order(sample, _TEXTS)))
    earlier = order[: order.index(before)] if before in order else order
    return any(isinstance(value, bytes) for name in earlier for value in _values(sample, name))


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
    "rendered": LayoutKind("conversations as a chat template writes them", _find_rendered),
    "traces": LayoutKind("calls of a model, with input and output", _find_traces),
    "messages": LayoutKind("messages of a conversation", _find_messages),
    "interactions": LayoutKind("a list of objects with reasoning and answer", _find_interactions),
    "columns": LayoutKind("reasoning and answer in columns of their own", _find_columns),
    "text": LayoutKind("a text with reasoning in it", _find_text),
}
"""In the order in which they are tried: the most specific first."""
