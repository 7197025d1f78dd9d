"""The table of formats in docs/inline.md, made from the vocabulary and the cards."""

from __future__ import annotations

from pathlib import Path

from innervoice.catalog.lookup import all_cards
from innervoice.inline.formats import ROWS, Format

PAGE = Path(__file__).with_name("inline.md")
START, END = "<!-- formats -->\n", "<!-- end of formats -->\n"


def table() -> str:
    """One line a row: name, what it looks like, who writes it, which cards switch it on."""
    lines = ["| name | looks like | written by | on for |", "|---|---|---|---|"]
    for row in ROWS.values():
        families = ", ".join(card.family for card in all_cards() if row.name in card.markup)
        lines.append(f"| `{row.name}` | {_looks(row)} | {row.models} | {families or 'nobody'} |")
    return "\n".join(lines) + "\n"


def _looks(row: Format) -> str:
    examples = [f"<{name}>" for name in row.tags]
    examples += [*row.opens, *row.heads, *row.closes, *row.wrappers, *row.headers, *row.ends]
    shown = [
        f"`{example.replace(chr(10), '⏎').replace('|', chr(92) + '|')}`" for example in examples[:4]
    ]
    return " ".join(shown) + (" …" if len(examples) > 4 else "")


def page() -> str:
    """The page with its table up to date."""
    before, rest = PAGE.read_text("utf-8").split(START)
    _, after = rest.split(END)
    return f"{before}{START}{table()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
