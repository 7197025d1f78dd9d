"""The modules of the page -> one script, for a file that loads nothing.

The modules are written in a simple form, one statement per line: `import { a, b as c } from "./name.js";`, `import * as name from "./name.js";`,
`import "./name.js";`, and `export` before a function, a class or a const. Each becomes a function that returns its exports, in the order in which
a browser would run them. Anything else is an error, not a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from innervoice.errors import UsageError

__all__ = ["bundled"]

_IMPORT = re.compile(
    r"""import\s+(?:(?:\{(?P<names>[^}]*)\}|\*\s+as\s+(?P<all>[\w$]+))\s+from\s+)?["']\./(?P<module>[\w-]+)\.js["'];?"""
)
_EXPORT = re.compile(r"export\s+(?=(?:async\s+)?(?:function\*?|class|const)\s+(?P<name>[\w$]+))")
_STATEMENT = re.compile(r"(?:import|export)\b(?!\s*[.(])")
_RENAMED = re.compile(r"([\w$]+)\s+as\s+([\w$]+)")


def bundled(entry: str, read: Callable[[str], str]) -> str:
    """One script that does what the module `entry` does; `read` returns the text of a module by its name."""
    done: dict[str, str] = {}
    _add(entry, read, done, ())
    return "".join(done.values())


def _add(
    name: str, read: Callable[[str], str], done: dict[str, str], within: tuple[str, ...]
) -> None:
    if name in within:
        raise UsageError(f"modules import each other: {' -> '.join([*within, name])}")
    if name in done:
        return
    lines = []
    exported: list[str] = []
    for number, line in enumerate(read(f"{name}.js").splitlines(), 1):
        if found := _IMPORT.fullmatch(line.rstrip()):
            _add(found["module"], read, done, (*within, name))
            lines.append(_bound(found))
        elif found := _EXPORT.match(line):
            exported.append(found["name"])
            lines.append(line[found.end() :])
        elif _STATEMENT.match(line):
            raise UsageError(
                f"{name}.js, line {number}: expected a simple import or export, not {line!r}"
            )
        else:
            lines.append(line)
    body = "\n".join(lines)
    done[name] = (
        f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();\n"
    )


def _bound(found: re.Match[str]) -> str:
    """The names that an import binds, taken from what the other module returned."""
    if found["all"]:
        return f"const {found['all']} = {_variable(found['module'])};"
    if found["names"] is None:
        return ""
    names = _RENAMED.sub(r"\1: \2", found["names"].strip().rstrip(","))
    return f"const {{ {names} }} = {_variable(found['module'])};"


def _variable(module: str) -> str:
    return f"module_{module.replace('-', '_')}"
