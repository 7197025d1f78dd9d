"""Reads examples back as a data set, and reports those that differ from what was written.

The reader is the one for any data set. White space at the edges of a text in tags does not count: templates add and remove it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from innervoice.bulk.detection import Detected
from innervoice.bulk.kinds import find_layout
from innervoice.bulk.layouts import ReadOptions
from innervoice.bulk.rows import RowReader
from innervoice.bulk.schema import Batch, rows_in
from innervoice.bulk.table import Table
from innervoice.bulk.training.examples import Recipe, parsed_arguments
from innervoice.bulk.training.history_rules import Turn, by_rule, conversation_of
from innervoice.bulk.training.targets import FormName, family_of
from innervoice.canon.jsontext import dump_json, load_json
from innervoice.errors import UsageError

__all__ = [
    "load_template",
    "read_back",
    "read_options",
    "render",
    "template_problem",
    "template_problems",
    "unlike",
]

_OPTIONS: dict[FormName, ReadOptions] = {
    "messages": ReadOptions(messages="messages", id="id"),
    "prompt_completion": ReadOptions(messages="completion", prompt="prompt", id="id"),
    "sharegpt": ReadOptions(messages="conversations", id="id"),
    "text": ReadOptions(text=("text",), prompt="prompt", id="id"),
    "columns": ReadOptions(reasoning="reasoning", answer="answer", prompt="prompt", id="id"),
    "json": ReadOptions(messages="messages", id="id"),
    "verl": ReadOptions(reasoning="reasoning", answer="answer", prompt="prompt", id="id"),
}
_IN_TAGS: frozenset[FormName] = frozenset(("sharegpt", "text"))
"""Forms with reasoning in tags; the others have only that of earlier turns in tags, or none."""

_WITH_IDS: frozenset[FormName] = frozenset(("messages", "prompt_completion", "json", "verl"))
_WITH_CALLS: frozenset[FormName] = _WITH_IDS | {"sharegpt"}


def read_options(recipe: Recipe) -> ReadOptions:
    """How the examples of a recipe are read."""
    return _OPTIONS[recipe.form].replace(markup=family_of(recipe.family).markup, keep=())


def read_back(recipe: Recipe, examples: Sequence[dict[str, Any]]) -> list[tuple[Turn, ...]]:
    """The conversation that the reader finds in each example."""
    options = read_options(recipe)
    rows = [_flat(example) if recipe.form == "verl" else example for example in examples]
    reader = RowReader(
        find_layout(rows, options), options, Detected(options.markup or ()), searches=False
    )
    batch = reader.batch(Table.of_rows("examples", rows))
    last = [index for index in range(rows_in(batch)) if batch["last"][index]]
    return [conversation_of(batch, index) for index in last]


def unlike(recipe: Recipe, batch: Batch) -> list[str | None]:
    """For each row None, or what the reader finds different in its example. Rows without an example have nothing to compare."""
    examples = [recipe.example(batch, index)[0] for index in range(rows_in(batch))]
    present = [index for index, example in enumerate(examples) if example is not None]
    problems: list[str | None] = [None] * len(examples)
    if not present:
        return problems
    read = read_back(recipe, [example for example in examples if example is not None])
    for index, turns in zip(present, read, strict=True):
        expected = by_rule(conversation_of(batch, index), recipe.history)
        problems[index] = _difference(_as_written(expected, recipe), turns, recipe)
    return problems


def _as_written(turns: Sequence[Turn], recipe: Recipe) -> list[Turn]:
    """The conversation, without what the form cannot represent."""
    if recipe.form == "verl":
        return [turn if turn is turns[-1] else turn._replace(reasoning=None) for turn in turns]
    family = family_of(recipe.family)
    if recipe.form in ("messages", "prompt_completion") and family.one_call:
        return [_joined(turn) if turn.calls and turn.reasoning else turn for turn in turns]
    if recipe.form == "sharegpt":
        system = [turn for turn in turns if turn.role == "system"]
        spoken = [turn for turn in turns if turn.role != "system"]
        joined = "\n\n".join(turn.content for turn in system)
        return [*([Turn("system", joined)] if joined else []), *spoken]
    return list(turns)


def _joined(turn: Turn) -> Turn:
    both = "\n\n".join(filter(None, (turn.reasoning, turn.content)))
    return turn._replace(reasoning=both, content="")


def _difference(expected: Sequence[Turn], example: Sequence[Turn], recipe: Recipe) -> str | None:
    if [turn.role for turn in expected] != [turn.role for turn in example]:
        return f"reads back as {len(example)} messages, not {len(expected)}, or with other roles"
    last = len(expected) - 1
    for index, (one, other) in enumerate(zip(expected, example, strict=True)):
        in_tags = recipe.form in _IN_TAGS or (recipe.form == "columns" and index != last)
        place = "the answer" if index == last else f"message {index}"
        is_verl_answer = recipe.form == "verl" and index == last
        if one.calls and (recipe.form not in _WITH_CALLS or is_verl_answer):
            return f"has no place for the tool calls of {place}"
        mine, read = (_compared(turn, recipe.form, in_tags=in_tags) for turn in (one, other))
        differing = [what for what in mine if mine[what] != read[what]]
        if differing:
            return f"reads back with {differing[0]} in {place}"
    return None


def _compared(turn: Turn, form: FormName, *, in_tags: bool) -> dict[str, Any]:
    """What must be the same when it is read back, by the words for a difference."""
    # ShareGPT has calls without ids; where arguments are objects, their white space is lost.
    calls = [
        (None if form == "sharegpt" else call.id, call.name, parsed_arguments(call.arguments))
        for call in turn.calls
    ]
    return {
        "another text": _text(turn.content, in_tags=in_tags),
        "other reasoning": _text(turn.reasoning, in_tags=in_tags),
        "other tool calls": calls,
        "another tool call id": turn.call_id if form in _WITH_IDS else None,
    }


def _text(text: str | None, *, in_tags: bool) -> str:
    return (text or "").strip() if in_tags else text or ""


def _flat(example: dict[str, Any]) -> dict[str, Any]:
    """An example for verl as columns."""
    extra = example["extra_info"]
    return {
        "id": extra["index"],
        "prompt": example["prompt"],
        "reasoning": extra["reasoning"],
        "answer": extra["answer"],
    }


# ---- What a chat template makes of an example: whether the reasoning of the answer is in it exactly once, and nothing else is changed.
#
# A template is rendered like in `transformers`, with jinja2 alone. First every text of the example is replaced by a marker, which shows what the template
# keeps, repeats and drops; then the texts themselves must appear where their markers did, which shows what it does to a text that looks like markup.


_TEXT = "\ue000{kind}{index}\ue001"
"""A marker of private-use characters, which no text contains."""


def load_template(name: str) -> str:
    """The template in a file (`.jinja`, or a `tokenizer_config.json`), in a folder with one, or, with transformers, of a model by its name."""
    path = Path(name)
    if path.is_dir():
        path = next(
            (
                path / file
                for file in ("chat_template.jinja", "tokenizer_config.json")
                if (path / file).is_file()
            ),
            path,
        )
    if path.is_file():
        text = path.read_text("utf-8")
        if path.suffix != ".json":
            return text
        template = load_json(text).get("chat_template")
        if isinstance(template, str):
            return template
        raise UsageError(f"{path} has no chat_template that is a string")
    try:
        tokenizer = import_module("transformers").AutoTokenizer.from_pretrained(name)
    except ModuleNotFoundError:
        raise UsageError(
            f"{name} is not a file with a template, and transformers, which could load a model of that name, is not installed"
        ) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{name} is neither a file with a template nor a model: {error}") from None
    return str(tokenizer.chat_template)


def template_problems(recipe: Recipe, batch: Batch, template: str) -> list[str | None]:
    """For each row None, or what the template does wrong with its example."""
    examples = (recipe.example(batch, index)[0] for index in range(rows_in(batch)))
    return [
        None
        if example is None
        else template_problem(example, template, family_of(recipe.family).field)
        for example in examples
    ]


def template_problem(
    example: dict[str, Any], template: str, field: str = "reasoning_content"
) -> str | None:
    """What is wrong with an example of messages, or of prompt and completion, in this template; None if nothing is."""
    if "completion" not in example and "messages" not in example:
        raise UsageError(
            "a template takes messages, or prompt and completion; choose such a target"
        )
    messages = [
        _plain(message)
        for message in example.get("messages") or [*example["prompt"], *example["completion"]]
    ]
    tools = example.get("tools")
    tools = load_json(tools) if isinstance(tools, str) else tools
    marked, texts = _marked(messages, field)
    try:
        skeleton = render(template, marked, tools)
        rendered = render(template, messages, tools)
    except TemplateRefusalError as error:
        return f"the template refuses it: {error}"
    last = len(messages) - 1
    for marker, (index, kind, text) in texts.items():
        count = skeleton.count(marker)
        if index == last and count != 1:
            return f"the template writes the {kind} {count} times, not once"
        if kind == "text" and count != 1 and text.strip():
            return f"the template writes the text of message {index} {count} times, not once"
        skeleton = skeleton.replace(marker, text)
    if _without_blanks(skeleton) != _without_blanks(rendered):
        return "the template reads a part of a text as its own markup"
    if "completion" in example:
        before = render(
            template, messages[: len(example["prompt"])], tools, add_generation_prompt=True
        )
        if not rendered.startswith(before):
            return "the prompt alone is not a prefix of prompt and completion together, so the trainer would mask the wrong tokens"
    return None


def _marked(
    messages: Sequence[dict[str, Any]], field: str
) -> tuple[list[dict[str, Any]], dict[str, tuple[int, str, str]]]:
    """The messages with markers for their texts, and the texts by their markers."""
    texts: dict[str, tuple[int, str, str]] = {}
    marked = []
    for index, message in enumerate(messages):
        changed = dict(message)
        for name, kind in (("content", "text"), (field, "reasoning")):
            if changed.get(name):
                marker = _TEXT.format(kind=kind, index=index)
                texts[marker] = (index, kind, changed[name])
                changed[name] = marker
        marked.append(changed)
    return marked, texts


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """A message without the members that a file with a schema fills with null."""
    return {name: value for name, value in message.items() if value is not None}


def _without_blanks(text: str) -> str:
    return "".join(text.split())


class TemplateRefusalError(UsageError):
    """A template that raised an error."""


def render(
    template: str, messages: Sequence[dict[str, Any]], tools: Any = None, **settings: Any
) -> str:
    """The text that a template makes of messages; raises TemplateRefusalError where the template raises."""
    compiled = _compiled(template)
    try:
        rendered = compiled.render(
            messages=list(messages),
            tools=tools,
            bos_token="",
            eos_token="",
            **{"add_generation_prompt": False, **settings},
        )
    except (import_module("jinja2").TemplateError, TypeError, ValueError) as error:
        raise TemplateRefusalError(str(error)) from None
    return str(rendered)


@lru_cache(maxsize=8)
def _compiled(template: str) -> Any:
    try:
        sandbox = import_module("jinja2.sandbox")
    except ModuleNotFoundError:
        raise UsageError("checking a chat template needs jinja2: pip install jinja2") from None
    environment = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.loopcontrols", _generation()],
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda form: form
    return environment.from_string(template)


def _generation() -> Any:
    """The tag `{% generation %}` of training templates, which marks what is trained; here it only renders its content."""
    jinja2 = import_module("jinja2")
    extension = import_module("jinja2.ext").Extension

    class Generation(extension):  # type: ignore[misc, valid-type] # jinja2 is not there when types are checked
        tags = frozenset({"generation"})

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.Scope(body).set_lineno(line)

    return Generation


def _to_json(value: Any, indent: int | None = None, **_: Any) -> str:
    if indent is not None:
        json = import_module("json")
        return str(json.dumps(value, ensure_ascii=False, indent=indent))
    return dump_json(value).decode()


def _raise(message: str) -> Any:
    raise import_module("jinja2").TemplateError(message)
