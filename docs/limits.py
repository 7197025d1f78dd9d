"""The table of limits in docs/gateway-reference.md, made from `innervoice.gateway.limits`."""

from __future__ import annotations

import ast
from pathlib import Path

from innervoice.gateway import limits
from innervoice.gateway.limits import LIMITS

PAGE = Path(__file__).with_name("gateway-reference.md")
START, END = "<!-- limits -->\n", "<!-- end of limits -->\n"


def table() -> str:
    """One line for each limit: its name, its value, and what its docstring says."""
    tree = ast.parse(Path(limits.__file__).read_text("utf-8"))
    holder = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    lines = ["| limit | value | of what |", "|---|---|---|"]
    for node, text in zip(holder.body, holder.body[1:], strict=False):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            assert isinstance(text, ast.Expr)
            assert isinstance(text.value, ast.Constant)
            value = getattr(LIMITS, node.target.id)
            value = int(value) if value == int(value) else value
            lines.append(f"| `{node.target.id}` | {value:,} | {text.value.value} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with its table up to date."""
    before, rest = PAGE.read_text("utf-8").split(START)
    _, after = rest.split(END)
    return f"{before}{START}{table()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
