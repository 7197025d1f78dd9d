"""A tool call, a result, a block or a remark -> one line of clean text, the same in every form."""

from __future__ import annotations

from typing import assert_never

from innervoice.show.policy import Block, Remark, Result, ShownCall
from innervoice.show.visible import one_line

__all__ = ["line_of"]


def line_of(item: ShownCall | Result | Block | Remark) -> str:
    """The line; long arguments and results are shortened."""
    match item:
        case ShownCall():
            return f"call {one_line(item.name)}({one_line(item.arguments)})"
        case Result():
            word = "error from" if item.error else "result of"
            name = one_line(item.call.name) if item.call else "a call"
            return f"{word} {name}: {one_line(item.text)}"
        case Block():
            return f"[{one_line(item.kind)}]"
        case Remark():
            return f"[{one_line(item.text)}]"
        case _:
            assert_never(item)
