"""The emulated model: it does arithmetic and calls the caller's tools, deterministically.

A question is split into steps at the word "then". A step that concerns a tool (it contains a word of the tool's name, or the
choice is forced) makes one call for each thing it mentions, in parallel; arithmetic is computed. When every step has its
results, they are joined to the answer. The same conversation always gives the same thoughts. `callable_tools.py` decides which
tools it may call.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from innervoice.canon.jsontext import load_json
from innervoice.canon.messages import Message
from innervoice.canon.parts import Text, ToolResult
from innervoice.canon.request import Tool
from innervoice.canon.schema import target_of
from innervoice.canon.value import Value
from innervoice.emulator.callable_tools import CallableTools, own_words, plain_text
from innervoice.errors import UsageError
from innervoice.wire.json_access import as_dict, as_list, as_text

__all__ = [
    "AnswerDraft",
    "DraftedCall",
    "Script",
    "draft_of",
    "instance_of",
    "script_from",
    "think",
    "words_of",
]

_ARITHMETIC = re.compile(
    r"(?<!\d)-?\d+(?:\.\d+)?(?:\s{0,3}(?:\*\*|[-+*/×x])\s{0,3}-?\d+(?:\.\d+)?)+"
)
_QUOTED = re.compile(r"[\"'“]([^\"'”]{1,60})[\"'”]")
_NAMED = re.compile(r"(?<![.?!] )(?<!^)\b[A-Z][\w-]+(?: [A-Z][\w-]+)*(?:, [A-Z]{2}\b)?")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_LONGEST_QUESTION = 20_000
"""Of longer questions only the beginning is considered."""
_LONGEST_SUM = 80
"""Longer expressions are not computed: their results could become too large."""
_MOST_CALLS = 8
_MOST_MEMBERS = 200
_LONGEST_NAME = 200


DraftedCall: TypeAlias = tuple[str, dict[str, Any] | str]


class AnswerDraft(Value, frozen=True, kw_only=True):
    """The next turn before it is written: thoughts, then calls or an answer."""

    thoughts: tuple[str, ...]
    text: str = ""
    calls: tuple[DraftedCall, ...] = ()
    """Names of tools, each with its arguments, or with the text that a free-form tool takes."""
    cut: bool = False
    """Whether the limit was reached before the thoughts had ended."""


def think(
    messages: Sequence[Message], tools: CallableTools, *, forced: bool, pieces: int, plain: bool
) -> AnswerDraft:
    """The next turn of a conversation; with `plain`, it repeats the words of others as plain text only."""
    repeated = plain_text if plain else str
    start = next((n for n in range(len(messages) - 1, -1, -1) if _is_question(messages[n])), -1)
    question = repeated(words_of(messages[start])[:_LONGEST_QUESTION]) if start >= 0 else ""
    steps = [step.strip() for step in re.split(r"(?i)\bthen\b", question) if step.strip()]
    since = messages[start + 1 :]
    rounds = sum(bool(message.tool_calls) for message in since)
    results = [part for message in since for part in message.parts if _is_result(part)]
    result_texts = [repeated(_result_text(part)) for part in results]
    for step in steps[rounds:]:
        calls = _calls(step, tools.tools, forced=forced and not rounds)
        if calls:
            return AnswerDraft(thoughts=_thoughts(question, step, calls, pieces), calls=calls)
    sums = [_computed(found_sum[0]) for found_sum in _ARITHMETIC.finditer(question)]
    answer = ". ".join([*result_texts, *(line for line in sums if line)])
    if tools.withheld and (not answer or _would_call(tools.withheld, steps, forced=forced)):
        answer = (
            f"{answer}. {tools.reason}" if answer else f"You said: {question}\n\n{tools.reason}"
        )
    else:
        answer = f"{answer}." if answer else f"You said: {question}"
    return AnswerDraft(
        thoughts=_closing_thoughts(question, result_texts, sums, pieces), text=answer
    )


# ---- the question ---------------------------------------------------------------------------------


def _is_result(part: Any) -> bool:
    return isinstance(part, ToolResult)


def _is_question(message: Message) -> bool:
    return message.role == "user" and bool(words_of(message))


def words_of(message: Message) -> str:
    """The user's own words: without context in tags that a program put around or before them."""
    texts = [own_words(part.text) for part in message.parts if isinstance(part, Text)]
    return " ".join(text for text in texts if text)


def _result_text(part: Any) -> str:
    """The result of a tool, without the context that a program put around it."""
    return own_words(_content_text(part))[:_LONGEST_QUESTION].rstrip(".")


def _content_text(part: Any) -> str:
    if isinstance(part.content, str) and part.content:
        return str(part.content)
    if part.content:
        return " ".join(item.text for item in part.content if isinstance(item, Text))
    block = as_dict(part.origin.block if part.origin else None)
    response = as_dict(as_dict(block.get("functionResponse")).get("response"))
    value = next(iter(response.values()), "")
    return as_text(value) or str(value)


# ---- calls -----------------------------------------------------------------------------------------


def _calls(step: str, tools: Sequence[Tool], *, forced: bool) -> tuple[DraftedCall, ...]:
    spoken = set(re.findall(r"[a-z]+", step.lower()))
    fitting = [tool for tool in tools if _concerns(tool, spoken)]
    if not fitting and forced:
        fitting = [tool for tool in tools if tool.parameters is not None][:1]
    calls = [(tool.name, arguments) for tool in fitting for arguments in _arguments(tool, step)]
    return tuple(calls[:_MOST_CALLS])


def _would_call(tools: Sequence[Tool], steps: Sequence[str], *, forced: bool) -> bool:
    """Whether the model would call one of these tools if it were allowed to."""
    return any(_calls(step, tools, forced=forced) for step in steps)


def _concerns(tool: Tool, spoken: set[str]) -> bool:
    words = {
        word for word in re.split(r"[^a-z]+", tool.name[:_LONGEST_NAME].lower()) if len(word) > 3
    }
    return bool(words & spoken)


def _arguments(tool: Tool, step: str) -> list[dict[str, Any] | str]:
    """One set of arguments for each thing mentioned in a step; for a free-form tool, the things themselves."""
    schema = as_dict(tool.parameters)
    if schema.get("type") == "string":
        return list(dict.fromkeys(_QUOTED.findall(step))) or [step.rstrip("?.! ")]
    members = {key: as_dict(value) for key, value in as_dict(schema.get("properties")).items()}
    numbers = [float(text) if "." in text else int(text) for text in _NUMBER.findall(step)]
    things = _QUOTED.findall(step) or _NAMED.findall(step) or [step.rstrip("?.! ")]
    wanted = [name for name in as_list(schema.get("required")) if isinstance(name, str)]
    wanted = (wanted or list(members))[:_MOST_MEMBERS]
    texts = [
        name
        for name in wanted
        if str(members.get(name, {}).get("type", "string")).lower() == "string"
    ]
    argument_sets: list[dict[str, Any] | str] = []
    for thing in list(dict.fromkeys(things))[:_MOST_CALLS] if texts else things[:1]:
        values: dict[str, Any] = {}
        for name in wanted:
            values[name] = _argument(members.get(name, {}), thing, numbers)
        argument_sets.append(values)
    return argument_sets


def _argument(schema: dict[str, Any], thing: str, numbers: list[int | float]) -> Any:
    match str(schema.get("type", "string")).lower():
        case "integer":
            return int(numbers.pop(0)) if numbers else 1
        case "number":
            return numbers.pop(0) if numbers else 1.0
        case "boolean":
            return True
        case _ if as_list(schema.get("enum")):
            return schema["enum"][0]
        case "array":
            return [_argument(as_dict(schema.get("items")), thing, numbers)]
        case _:
            return thing


# ---- thoughts --------------------------------------------------------------------------------------


def _computed(expression: str) -> str | None:
    """An expression and its value; None if it cannot be computed."""
    if len(expression) > _LONGEST_SUM:
        return None
    try:
        tree = ast.parse(expression.replace("×", "*").replace("x", "*"), mode="eval")
        value = _value(tree.body)
    except (SyntaxError, ZeroDivisionError, KeyError, TypeError, OverflowError):
        return None
    return (
        f"{expression.strip()} = {value:g}"
        if isinstance(value, float)
        else f"{expression.strip()} = {value}"
    )


def _value(node: ast.AST) -> Any:
    match node:
        case ast.BinOp(left, how, right):
            return _OPERATORS[type(how)](_value(left), _value(right))
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand)
        case ast.Constant(value) if isinstance(value, (int, float)):
            return value
        case _:
            raise TypeError("no arithmetic")


def _thoughts(
    question: str, step: str, calls: Sequence[DraftedCall], pieces: int
) -> tuple[str, ...]:
    names = ", ".join(f"{name}({_values_text(values)})" for name, values in calls)
    thoughts = [
        f"The user asks: {question}\nFor this step I need to look something up: {step.strip(' ,.?!')}."
    ]
    thoughts.append(f"I call {names} and wait for the results.")
    return _in_pieces(thoughts, pieces)


def _values_text(values: dict[str, Any] | str) -> str:
    return values if isinstance(values, str) else ", ".join(map(str, values.values()))


def _closing_thoughts(
    question: str, result_texts: Sequence[str], sums: Sequence[str | None], pieces: int
) -> tuple[str, ...]:
    thoughts = [f"The user asks: {question}"]
    if result_texts:
        count_text = "one result" if len(result_texts) == 1 else f"{len(result_texts)} results"
        thoughts.append(f"The tools returned {count_text}; I read everything in order.")
    thoughts += [f"Computed: {line}." for line in sums if line]
    thoughts.append("That is all I need to answer.")
    return _in_pieces(thoughts, pieces)


def _in_pieces(thoughts: list[str], pieces: int) -> tuple[str, ...]:
    """Splits the thoughts into `pieces` pieces; missing ones are filled with a check."""
    while len(thoughts) < pieces:
        thoughts.append(f"Checking once more, pass {len(thoughts)}.")
    head, tail = thoughts[: len(thoughts) - pieces + 1], thoughts[len(thoughts) - pieces + 1 :]
    return ("\n".join(head), *tail)


# ---- A JSON schema -> a small value that matches it, for answers in a required form.


_DEEPEST = 12
_MOST_VALUES = 2000
"""A schema may refer to itself in many places; values beyond these are left out."""
_FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "duration": "P1D",
    "email": "someone@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def instance_of(schema: Any, text: str = "text") -> Any:
    """A value of a schema; `text` is the content of its strings."""
    return _Maker(as_dict(schema), text).value(as_dict(schema), 0)


class _Maker:
    def __init__(self, root: dict[str, Any], text: str) -> None:
        self._root, self._text, self._made = root, text, 0

    def value(self, schema: dict[str, Any], depth: int) -> Any:
        self._made += 1
        schema = _target(schema, self._root)
        if "const" in schema:
            return schema["const"]
        if as_list(schema.get("enum")):
            return schema["enum"][0]
        for name in ("anyOf", "oneOf"):
            branches = [as_dict(branch) for branch in as_list(schema.get(name))]
            if branches and depth < 2 * _DEEPEST:
                nulls = [branch for branch in branches if branch.get("type") == "null"]
                chosen = nulls[0] if nulls and self._is_full(depth) else branches[0]
                return self.value(chosen, depth + 1)
        for part in as_list(schema.get("allOf")):
            schema = {**_target(as_dict(part), self._root), **schema}
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((word for word in kind if word != "null"), "null")
        return self._of_kind(
            str(kind or ("object" if "properties" in schema else "string")), schema, depth
        )

    def _is_full(self, depth: int) -> bool:
        return depth >= _DEEPEST or self._made >= _MOST_VALUES

    def _of_kind(self, kind: str, schema: dict[str, Any], depth: int) -> Any:
        match kind:
            case "object":
                members = {}
                for name, inner in as_dict(schema.get("properties")).items():
                    if self._is_full(depth):
                        break
                    members[name] = self.value(as_dict(inner), depth + 1)
                return members
            case "array":
                least = schema.get("minItems")
                count = least if isinstance(least, int) else 0 if self._is_full(depth) else 1
                item = as_dict(schema.get("items"))
                count = min(count, 0 if self._made >= _MOST_VALUES else 8)
                return [self.value(item, depth + 1) for _ in range(count)]
            case "integer" | "number":
                least = schema.get("minimum", schema.get("exclusiveMinimum"))
                return least + 1 if isinstance(least, (int, float)) else 1
            case "boolean":
                return True
            case "null":
                return None
            case _:
                return _FORMATS.get(str(schema.get("format")), self._text)


def _target(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """A schema, or the definition that it refers to; an empty schema for a missing one."""
    return target_of(root, schema["$ref"]) or {} if "$ref" in schema else schema


# ---- a script: what the model does next in a conversation, instead of deciding itself -----------------


Step: TypeAlias = dict[str, Any]
Script: TypeAlias = Callable[[Sequence[Message], Sequence[Tool]], Step | None]
"""Returns the next step of a conversation, or None where the emulated model decides itself."""

_MEMBERS = {"think", "call", "answer"}


def script_from(source: Any) -> Script:
    """The script from a function, a list of steps or a file.

    A script is a function `(messages, tools) -> step`, or a list of steps: the first turn of the model uses the first step, and so on;
    after the last step the emulated model decides itself. A step is a dict:

        {"think": "I need the file.", "call": {"name": "read", "arguments": {"path": "a.txt"}}}     `call` may be a list of calls
        {"call": {"name": "apply_patch", "input": "*** Begin Patch"}}                               `input` for a free-form tool
        {"think": "Done.", "answer": "It says hello."}

    A file contains such a list as JSON, or several conversations: `[{"match": "a regular expression", "steps": [...]}, ...]`. The first
    of the user's messages that one of the expressions matches begins that conversation: agents put messages of their own before it. A
    request without tools, such as an agent's for a title, gets no calls. Seals and rules are still those of the emulator.
    """
    if callable(source):
        script: Script = source
        return script
    if isinstance(source, (str, Path)):
        try:
            source = load_json(Path(source).read_bytes())
        except (OSError, ValueError) as error:
            raise UsageError(f"the script {str(source)[:200]!r} cannot be read: {error}") from None
    if not isinstance(source, (list, tuple)):
        raise UsageError(f"a script is a function or a list of steps, not {type(source).__name__}")
    conversations = [_conversation(number, item) for number, item in enumerate(source)]
    if not all(conversations):
        steps = [_checked(number, item) for number, item in enumerate(source)]
        return lambda messages, tools: _at(steps, messages, tools)

    def play(messages: Sequence[Message], tools: Sequence[Tool]) -> Step | None:
        for number, message in enumerate(messages):
            words = words_of(message) if message.role == "user" else ""
            for pattern, steps in filter(None, conversations):
                if message.role == "user" and pattern.search(words):
                    return _at(steps, messages[number:], tools)
        return None

    return play


def draft_of(step: Step, pieces: int) -> AnswerDraft:
    """The turn that a step describes."""
    thought = step.get("think")
    calls = step.get("call")
    listed = [calls] if isinstance(calls, dict) else calls or []
    thoughts = [str(thought)] if thought else []
    thoughts += ["Checking once more."] * (pieces - len(thoughts) if thoughts else 0)
    return AnswerDraft(
        thoughts=tuple(thoughts),
        text=str(step.get("answer") or ""),
        calls=tuple((str(call["name"]), _call_input(call)) for call in listed),
    )


def _call_input(call: Step) -> dict[str, Any] | str:
    """The input of a call: arguments, or the text of a free-form tool."""
    arguments = call.get("input", call.get("arguments"))
    return arguments if isinstance(arguments, str) else dict(arguments or {})


def _conversation(number: int, item: Any) -> tuple[re.Pattern[str], list[Step]] | None:
    if not isinstance(item, dict) or "steps" not in item:
        return None
    try:
        pattern = re.compile(str(item.get("match", "")))
    except re.error as error:
        raise UsageError(f"conversation {number} of the script: {error}") from None
    return pattern, [_checked(at, step) for at, step in enumerate(item["steps"])]


def _checked(number: int, step: Any) -> Step:
    if not isinstance(step, dict) or not step.keys() <= _MEMBERS or not step:
        raise UsageError(
            f"step {number} of the script must have think, call or answer; not {step!r}"
        )
    calls = step.get("call")
    for call in [calls] if isinstance(calls, dict) else calls or []:
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            raise UsageError(f"a call in step {number} of the script needs a name; not {call!r}")
    return step


def _at(steps: Sequence[Step], messages: Sequence[Message], tools: Sequence[Tool]) -> Step | None:
    turns = sum(message.role == "assistant" for message in messages)
    step = steps[turns] if turns < len(steps) else None
    return None if step and "call" in step and not tools else step
