"""What the Python of README.md and docs/ prints, written into the pages: `# -> ` behind a line or beneath a statement."""

from __future__ import annotations

import ast
import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = re.compile(r"^```(?P<name>python[^\n]*)\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"(?:^|  )# ->.*$")
WIDTH = 100  # of a line, as everywhere in the project


def pages() -> list[str]:
    """The pages with Python that runs in the environment of the tests."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [
        str(path.relative_to(ROOT))
        for path in paths
        if any(block["name"] == "python" for block in PYTHON.finditer(path.read_text("utf-8")))
    ]


def page(path: str, name: str = "python") -> str:
    """The page whose blocks of this name ran from top to bottom, with what they printed."""
    namespace: dict[str, object] = {}

    def ran(block: re.Match[str]) -> str:
        if block["name"] != name:
            return block[0]
        return f"```{name}\n{_with_output(block['code'], path, namespace)}```"

    return PYTHON.sub(ran, (ROOT / path).read_text("utf-8"))


def _with_output(code: str, path: str, namespace: dict[str, object]) -> str:
    lines = [
        PRINTED.sub("", line) for line in code.splitlines() if not line.lstrip().startswith("# ->")
    ]
    for node in ast.parse("\n".join(lines), path).body:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(ast.Module([node], []), path, "exec"), namespace)  # noqa: S102 - our pages
        last = (node.end_lineno or node.lineno) - 1
        _write(lines, last, output.getvalue().splitlines())
    return "\n".join(lines) + "\n"


def _write(lines: list[str], last: int, printed: list[str]) -> None:
    """One printed line stands behind the `print` that ends the statement, if it fits; others stand beneath."""
    comments = [f"# -> {line}".rstrip() for line in printed]
    behind = f"{lines[last]}  {''.join(comments)}"
    ends_in_print = lines[last].lstrip().startswith("print(")
    if len(printed) == 1 and ends_in_print and len(behind) <= WIDTH:
        lines[last] = behind
    else:
        lines[last] = "\n".join([lines[last], *comments])


if __name__ == "__main__":
    for name in pages():
        (ROOT / name).write_text(page(name), "utf-8")
