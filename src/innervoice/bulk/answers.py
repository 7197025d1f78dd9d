"""Rows -> the answers in them, unsplit: texts, reasoning fields, prompts, and finish reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from innervoice.bulk.fast_split import SplitText, TextSplitter
from innervoice.bulk.layouts import Layout, as_messages, pair_in
from innervoice.bulk.prompts import (
    calls_in,
    member_message,
    prompt_message,
    prompt_of_request,
    prompt_of_trace,
    reasoning_field,
    rendered_messages,
    request_in,
    stored_message,
    trace_output,
)
from innervoice.bulk.table import Table
from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, ToolCall
from innervoice.canon.response import FinishReason, Response
from innervoice.canon.words import finish_reason_of, role_of
from innervoice.decoding import decode
from innervoice.errors import DecodeError, InnervoiceError, ProviderError
from innervoice.sources.stored import history_from

__all__ = [
    "RowAnswer",
    "answers_in",
    "with_earlier_turns",
    "with_whole_prompts",
]


class RowAnswer(NamedTuple):
    """An answer of the model, as in the row."""

    row: int
    turn: int = 0
    text: str | None = None
    reasoning: str | None = None
    """Reasoning in a separate field or column."""
    place: str = "field"
    """Which of the two: `field` or `column`."""
    prompt: list[dict[str, Any]] | None = None
    model: str | None = None
    finish: str | None = None
    calls: tuple[ToolCall, ...] = ()
    """Tool calls in addition to the text."""
    response: Response | None = None
    """For an answer in the form of an API, the answer itself."""
    trouble: str | None = None
    """Why there is no answer."""
    failed: bool = False
    """Whether the provider returned an error."""

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the model stopped, as our finish reason."""
        return finish_reason_of(self.finish)


def answers_in(table: Table, layout: Layout) -> Iterator[RowAnswer]:
    """The answers of all rows, in their order; a row without one yields one that says why."""
    read = _READERS[layout.kind]
    finishes = table.column(layout.finish) if layout.finish else None
    models = table.column(layout.model) if layout.model else None
    for row in range(len(table.numbers)):
        if row in table.unreadable:
            yield RowAnswer(row, trouble=table.unreadable[row])
            continue
        model = models[row] if models else None
        context = _Context(
            row,
            _prompt(table, layout, row),
            model if isinstance(model, str) else None,
            finishes[row] if finishes else None,
        )
        has_answer = False
        for answer in read(table, layout, context):
            has_answer = True
            yield answer
        if not has_answer:
            yield RowAnswer(
                row,
                trouble="the row has no answer of a model",
                prompt=context.prompt,
                model=context.model,
            )


class _Context(NamedTuple):
    row: int
    prompt: list[dict[str, Any]] | None
    model: str | None
    finish: Any

    def finish_of(self, turn: int) -> str | None:
        """Why the model stopped at this turn; the column may have a list."""
        if isinstance(self.finish, (list, tuple)):
            value = self.finish[turn] if turn < len(self.finish) else None
        else:
            value = self.finish
        return value if isinstance(value, str) else None


def _prompt(table: Table, layout: Layout, row: int) -> list[dict[str, Any]] | None:
    """The columns before the answer."""
    if layout.kind == "traces":
        return prompt_of_trace(table.column(layout.prompt or "")[row])
    prompt: list[dict[str, Any]] = []
    system = table.column(layout.system)[row] if layout.system else None
    if isinstance(system, str) and system:
        prompt.append({"role": "system", "content": system})
    prompt_value = table.column(layout.prompt)[row] if layout.prompt else None
    is_plain = isinstance(prompt_value, str) and not prompt_value.lstrip().startswith("[")
    messages = None if is_plain else as_messages(prompt_value)
    if messages:
        prompt += map(_prompt_message, messages)
    elif isinstance(prompt_value, str):
        more = table.column(layout.input)[row] if layout.input else None
        text = (
            f"{prompt_value}\n\n{more}" if isinstance(more, str) and more.strip() else prompt_value
        )
        prompt.append({"role": "user", "content": text})
    return prompt or None


def _prompt_message(message: dict[str, Any]) -> dict[str, Any]:
    """A message in the form of the prompt column."""
    content = _content(message)
    text = content if isinstance(content, str) else _text_of(content)
    return prompt_message(_role(message), text, message)


def _role(message: dict[str, Any]) -> str:
    role = str(message.get("role") or message.get("from") or "")
    return role_of(role) or role


def _content(message: dict[str, Any]) -> Any:
    return next(
        (message[name] for name in ("content", "value", "text") if message.get(name) is not None),
        None,
    )


def _text_of(content: Any) -> str | None:
    """The text of content in blocks; None if there is none."""
    if not isinstance(content, (list, tuple)):
        return None
    texts = [
        one if isinstance(one, str) else one.get("text")
        for one in content
        if isinstance(one, (str, dict))
    ]
    return "".join(text for text in texts if isinstance(text, str)) or None


# ---- a reader for each kind of layout ------------------------------------------------------------------


def _of_messages(table: Table, layout: Layout, context: _Context) -> Iterator[RowAnswer]:
    return _of_turns(as_messages(table.column(layout.columns[0])[context.row]), context)


def _of_rendered(table: Table, layout: Layout, context: _Context) -> Iterator[RowAnswer]:
    text = table.column(layout.columns[0])[context.row]
    messages = rendered_messages(text) if isinstance(text, str) else None
    if messages is None and isinstance(text, str):
        return iter((RowAnswer(context.row, text=text, prompt=context.prompt, model=context.model, finish=context.finish_of(0)),))  # fmt: skip
    return _of_turns(messages, context)


def _of_turns(messages: list[dict[str, Any]] | None, context: _Context) -> Iterator[RowAnswer]:
    prompt = list(context.prompt or [])
    turn = 0
    for message in messages or ():
        if _role(message) == "assistant":
            yield _of_message(message, context, turn, list(prompt) or None)
            turn += 1
        prompt.append(_prompt_message(message))


def _of_message(message: dict[str, Any], context: _Context, turn: int, prompt: Any) -> RowAnswer:
    content = _content(message)
    answer = RowAnswer(
        context.row, turn, prompt=prompt, model=context.model, finish=context.finish_of(turn)
    )
    stored = stored_message(message)
    if stored is not None:
        response = Response(parts=stored.parts, ended=True, finish_reason=answer.finish_reason)
        return answer._replace(response=response)
    if content is not None and not isinstance(content, str):
        return _of_blocks(message, answer)
    text, calls = calls_in(message, content)
    return answer._replace(text=text or "", reasoning=reasoning_field(message), calls=calls)


def _of_blocks(message: dict[str, Any], answer: RowAnswer) -> RowAnswer:
    """An answer whose content is blocks, in the form of an API."""
    try:
        given = message if "kwargs" in message else {**message, "role": "assistant"}
        read = history_from([given], inline="off").messages
    except DecodeError as error:
        return answer._replace(trouble=str(error))
    parts = tuple(part for one in read if isinstance(one, Message) for part in one.parts)
    if all(isinstance(part, (Text, ToolCall)) for part in parts):
        # Text in blocks is text: there may be tags in it.
        texts = [part.text for part in parts if isinstance(part, Text)]
        calls = tuple(part for part in parts if isinstance(part, ToolCall))
        return answer._replace(text="".join(texts), reasoning=reasoning_field(message), calls=calls)
    return answer._replace(
        response=Response(parts=parts, ended=True, finish_reason=answer.finish_reason)
    )


def _of_generations(table: Table, layout: Layout, context: _Context) -> Iterator[RowAnswer]:
    texts = table.column(layout.columns[0])[context.row]
    for turn, text in enumerate(texts if isinstance(texts, (list, tuple)) else [texts]):
        answer = RowAnswer(
            context.row,
            turn,
            prompt=context.prompt,
            model=context.model,
            finish=context.finish_of(turn),
        )
        if isinstance(text, dict):
            yield _of_object(text, answer)
            continue
        yield (
            answer._replace(text=text)
            if isinstance(text, str)
            else answer._replace(trouble=f"expected a text, not {type(text).__name__}")
        )


_OBJECT_TEXTS = ("response", "text", "output", "content", "generation", "completion", "answer")
_OBJECT_MODELS = ("response_model", "model", "generator")


def _of_object(generation: dict[str, Any], answer: RowAnswer) -> RowAnswer:
    """A generation that is an object: a text, and the model that wrote it."""
    texts = (generation[name] for name in _OBJECT_TEXTS if isinstance(generation.get(name), str))
    models = (generation[name] for name in _OBJECT_MODELS if isinstance(generation.get(name), str))
    text = next(texts, None)
    if text is None:
        return answer._replace(
            trouble=f"expected an object with a text: {', '.join(_OBJECT_TEXTS)}"
        )
    return answer._replace(
        text=text, reasoning=reasoning_field(generation), model=next(models, answer.model)
    )


def _of_traces(table: Table, layout: Layout, context: _Context) -> Iterator[RowAnswer]:
    output = trace_output(table.column(layout.columns[0])[context.row])
    answer = RowAnswer(context.row, prompt=context.prompt, model=context.model, finish=context.finish_of(0))  # fmt: skip
    if isinstance(output, str):
        yield answer._replace(text=output)
    elif isinstance(output, dict) and "role" in output:
        yield _of_message(output, context, 0, context.prompt)
    elif isinstance(output, dict) and "kwargs" in output:
        yield _of_blocks(output, answer)
    elif isinstance(output, dict):
        yield from _decoded(output, context)


def _of_text(table: Table, layout: Layout, context: _Context) -> Iterator[RowAnswer]:
    for turn, name in enumerate(layout.columns):
        text = table.column(name)[context.row]
        if isinstance(text, str):
            yield RowAnswer(
                context.row,
                turn,
                text=text,
                prompt=context.prompt,
                model=context.model,
                finish=context.finish_of(turn),
            )


def _of_columns(table: Table, layout: Layout, context: _Context) -> Iterator[RowAnswer]:
    for turn, (thought, text_column) in enumerate(
        zip(layout.reasoning, layout.columns, strict=True)
    ):
        reasoning, text = (
            _joined(table.column(name)[context.row]) for name in (thought, text_column)
        )
        if reasoning is None and text is None:
            continue
        model = context.model or (layout.models[turn] if layout.models else None)
        yield RowAnswer(
            context.row,
            turn,
            text or "",
            reasoning,
            "column",
            prompt=context.prompt,
            model=model,
            finish=context.finish_of(turn),
        )


def _joined(value: Any) -> str | None:
    if isinstance(value, (list, tuple)):
        return "\n\n".join(one for one in value if isinstance(one, str)) or None
    return value if isinstance(value, str) else None


def _of_interactions(table: Table, layout: Layout, context: _Context) -> Iterator[RowAnswer]:
    prompt = list(context.prompt or [])
    interactions: Sequence[Any] = table.column(layout.columns[0])[context.row] or ()
    for turn, one in enumerate(interactions):
        pair = pair_in(list(one)) if isinstance(one, dict) else None
        if pair is None:
            yield RowAnswer(
                context.row, turn, trouble="expected an object with reasoning and answer"
            )
            continue
        question = next(
            (
                one[name]
                for name in ("query", "prompt", "question", "user")
                if isinstance(one.get(name), str)
            ),
            None,
        )
        if question is not None:
            prompt.append({"role": "user", "content": question})
        reasoning, text = _joined(one[pair[0]]), _joined(one[pair[1]])
        yield RowAnswer(
            context.row,
            turn,
            text or "",
            reasoning,
            prompt=list(prompt),
            model=context.model,
            finish=context.finish_of(turn),
        )
        prompt.append({"role": "assistant", "content": text})


def _of_answers(table: Table, layout: Layout, context: _Context) -> Iterator[RowAnswer]:
    del layout
    row = {name: value for name, value in table.row(context.row).items() if value is not None}
    return _decoded(row, context)


def _decoded(row: dict[str, Any], context: _Context) -> Iterator[RowAnswer]:
    """The answers of an API's body."""
    try:
        response = decode(row, inline="all")
    except ProviderError as error:
        yield RowAnswer(context.row, trouble=str(error), model=context.model, failed=True)
        return
    except InnervoiceError as error:
        yield RowAnswer(context.row, trouble=str(error), model=context.model)
        return
    # Some batches repeat the request next to its answer.
    request = request_in(row)
    prompt = context.prompt or (prompt_of_request(request)[0] if request else None)
    for turn, one in enumerate((response, *response.alternatives)):
        yield RowAnswer(
            context.row,
            turn,
            prompt=prompt,
            model=one.model or response.model or context.model,
            finish=one.finish_reason,
            response=one,
        )


def _of_rows(table: Table, layout: Layout, context: _Context) -> Iterator[RowAnswer]:
    """Rows that were already split are not split again."""
    del table, layout
    yield RowAnswer(context.row, response=Response())


def _of_sessions(table: Table, layout: Layout, context: _Context) -> Iterator[RowAnswer]:
    del layout
    row = table.row(context.row)
    answer: Response = row["answer"]
    yield RowAnswer(
        context.row,
        row["turn"],
        prompt=row["prompt"],
        model=row["model"],
        finish=answer.finish_reason,
        response=answer,
    )


_READERS = {
    "rows": _of_rows,
    "sessions": _of_sessions,
    "answers": _of_answers,
    "generations": _of_generations,
    "rendered": _of_rendered,
    "traces": _of_traces,
    "messages": _of_messages,
    "interactions": _of_interactions,
    "columns": _of_columns,
    "text": _of_text,
}


def with_earlier_turns(
    prompts: Sequence[list[dict[str, Any]] | None],
    rows: Sequence[int],
    turns: Sequence[int],
    split: Sequence[SplitText],
    splitter: TextSplitter,
    *,
    counted: bool,
) -> list[list[dict[str, Any]] | None]:
    """The prompts with the reasoning of earlier answers separated from their text.

    `counted` says that the answers of a row are turns of one conversation: then the last assistant messages in a prompt are the answers before it,
    which were already split.
    """
    split_prompts: list[list[dict[str, Any]] | None] = []
    first = 0
    for index, prompt in enumerate(prompts):
        if rows[index] != rows[first]:
            first = index
        if not prompt or not any(message["role"] == "assistant" for message in prompt):
            split_prompts.append(prompt)
            continue
        earlier = list(split[first : first + turns[index]]) if counted else []
        changed = []
        for message in reversed(prompt):
            if message["role"] != "assistant":
                changed.append(message)
            else:
                changed.append(_apart(message, earlier.pop() if earlier else None, splitter))
        split_prompts.append(changed[::-1])
    return split_prompts


def with_whole_prompts(answers: Sequence[RowAnswer]) -> list[RowAnswer]:
    """The answers of one conversation, each with the whole conversation before it instead of only the new messages."""
    turns_before: list[dict[str, Any]] = []
    answers_with_prompts = []
    for answer in answers:
        turns_before = [*turns_before, *(answer.prompt or ())]
        answers_with_prompts.append(answer._replace(prompt=turns_before or None))
        if answer.response is not None:
            response = answer.response
            turns_before = [
                *turns_before,
                member_message(
                    "assistant", response.text, response.thinking, response.tool_calls, None
                ),
            ]
    return answers_with_prompts


def _apart(
    message: dict[str, Any], parts: SplitText | None, splitter: TextSplitter
) -> dict[str, Any]:
    content = message["content"]
    if parts is None:
        if message.get("reasoning") or not content or not splitter.has_marker(content):
            return message
        parts = splitter.split(content)
    if parts.reasoning is None and parts.answer == content:
        return message
    apart = {**message, "content": parts.answer}
    if parts.reasoning is not None:
        apart["reasoning"] = parts.reasoning
    return apart
