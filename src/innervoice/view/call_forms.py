"""The arguments of a tool call in the form that people read: a command as a command, an edit as a diff, everything else as a table.

Which argument is which is a matter of names, and agents use few of them. A name that is not among these only means that the argument is in the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from typing import Any, TypeAlias

from innervoice.canon.jsontext import dump_json, load_json
from innervoice.canon.parts import ToolCall
from innervoice.show.visible import one_line, visible

__all__ = ["call_blocks", "call_line"]

Form: TypeAlias = list[Any]

_COMMANDS = ("command", "cmd", "script", "commands")
_BEFORE_AND_AFTER = (
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("old_str", "new_str"),
    ("oldText", "newText"),
    ("old_text", "new_text"),
)
_EDITS = ("edits",)
"""Lists of such pairs."""
_PATCHES = ("patch", "patchText", "diff", "input")
_PATCH_MARKS = ("*** Begin Patch", "--- ", "@@ ", "<<<<<<< SEARCH", "------- SEARCH")
_PATHS = ("file_path", "filePath", "path", "file", "pattern", "query", "url", "description", "prompt", "task")  # fmt: skip
"""What is shown of a folded call first, if it has no command."""
_LONGEST_READ = 200_000
_MOST_LINES = 400
_LONGEST_VALUE = 4_000
_MOST_ARGUMENTS = 60


def call_blocks(call: ToolCall) -> list[Form] | None:
    """`["command", TEXT]`, `["diff", [["+", TEXT], ...]]` and `["args", [[NAME, TEXT], ...]]`; None for arguments that are not an object."""
    members = _members(call)
    if members is None:
        return _patch_alone(call)
    forms: list[Form] = []
    shown: set[str] = set()
    for name in _COMMANDS:
        if command := _command(members.get(name), is_list=name == "commands"):
            forms.append(["command", visible(command)])
            shown.add(name)
    for names, lines in _diffs(members):
        forms.append(["diff", lines[:_MOST_LINES]])
        if len(lines) > _MOST_LINES:
            forms.append(["more", f"{len(lines) - _MOST_LINES:,} more lines"])
        shown.update(names)
    rest = [[visible(name), _value(value)] for name, value in members.items() if name not in shown]
    if rest:
        forms.insert(0, ["args", rest[:_MOST_ARGUMENTS]])
    return forms


def call_line(call: ToolCall) -> str:
    """The arguments on one line: the command or the path first; the arguments as they are if they are no object."""
    members = _members(call)
    if members is None:
        return call.arguments
    for name in _COMMANDS:
        if command := _command(members.get(name), is_list=name == "commands"):
            return command
    first = next((name for name in _PATHS if isinstance(members.get(name), str)), "")
    # The mark of the cut lets a file leave out half a key, which is not recognized as one.
    rest = [f"{name}={one_line(_text(members[name]), 80)}" for name in members if name != first][:8]
    return ", ".join([members[first], *rest] if first else rest)


def _members(call: ToolCall) -> dict[str, Any] | None:
    if len(call.arguments) > _LONGEST_READ:
        return None
    try:
        value = load_json(call.arguments)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _command(value: Any, *, is_list: bool = False) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        if is_list:
            return "\n".join(value)
        # ["bash", "-lc", "ls | wc"]: the last word is what is run.
        is_shell = len(value) == 3 and value[1].startswith("-") and value[1].endswith("c")
        return value[2] if is_shell else " ".join(value)
    return ""


def _diffs(members: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], list[list[str]]]]:
    """The arguments that are an edit, and its lines."""
    for before, after in _BEFORE_AND_AFTER:
        old, new = members.get(before), members.get(after)
        if isinstance(old, str) and isinstance(new, str):
            yield (before, after), _compared(old, new)
    for name in _EDITS:
        edits = members.get(name)
        if isinstance(edits, list) and edits and all(isinstance(edit, dict) for edit in edits):
            lines = [line for edit in edits for _, lines in _diffs(edit) for line in lines]
            if lines:
                yield (name,), lines
    for name in _PATCHES:
        if _is_patch(members.get(name)):
            yield (name,), _patch(members[name])


def _compared(old: str, new: str) -> list[list[str]]:
    lines = unified_diff(old.split("\n"), new.split("\n"), lineterm="", n=3)
    return [_line(line) for number, line in enumerate(lines) if number > 1]


def _is_patch(value: Any) -> bool:
    return isinstance(value, str) and value.lstrip().startswith(_PATCH_MARKS)


def _patch(text: str) -> list[list[str]]:
    """A patch as its lines; in blocks of SEARCH and REPLACE, the first half is removed and the second added."""
    lines: list[list[str]] = []
    sign = ""
    for line in text.strip("\n").split("\n"):
        word = line.strip("<>=-+ ")
        if word in ("SEARCH", "REPLACE") or (sign and set(line) <= set("=") and len(line) > 5):
            sign = {"SEARCH": "-", "REPLACE": ""}.get(word, "+")
        elif sign:
            lines.append([sign, visible(line)])
        else:
            lines.append(_line(line))
    return lines


def _line(line: str) -> list[str]:
    if line.startswith(("+", "-")) and not line.startswith(("+++", "---")):
        return [line[0], visible(line[1:])]
    is_head = line.startswith(("@@", "***", "+++", "---"))
    return ["@" if is_head else " ", visible(line.removeprefix(" ") if not is_head else line)]


def _patch_alone(call: ToolCall) -> list[Form] | None:
    """A tool that takes a text, such as `apply_patch` of Codex."""
    if _is_patch(call.arguments):
        return [["diff", _patch(call.arguments)[:_MOST_LINES]]]
    return None


def _value(value: Any) -> str:
    text = _text(value)
    if len(text) <= _LONGEST_VALUE:
        return visible(text)
    return f"{visible(text[:_LONGEST_VALUE])} … {len(text) - _LONGEST_VALUE:,} more characters"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dump_json(value).decode("utf-8", "replace")
