"""Selects rows by an expression on their columns: `status == "answered" and reasoning_chars < 60_000 and "rethought" not in notes`.

The expression looks like Python and is parsed by Python, but only column names, literals, comparisons, `and`, `or`, `not`, `in`, arithmetic
on numbers, `len(...)` and `lower(...)` are allowed. Nothing else is run: no attributes, no subscripts, no other calls.

A null compares as false with everything except `== None`, `!= None`, `is None` and `is not None`, and arithmetic with it is null. A rejected
row gets a reason: the first of the conditions, joined by `and`, that was false, and the values in it.
"""

from __future__ import annotations

import ast
import difflib
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from innervoice.bulk.schema import REJECTED, Batch, rows_in
from innervoice.bulk.table import taken
from innervoice.bulk.training.checks import template_problems, unlike
from innervoice.bulk.training.examples import Recipe, unfit_rows
from innervoice.errors import UsageError

__all__ = ["REJECTED", "Divider", "Filter", "Sorted", "parse_filter"]

_LONGEST = 10_000
_ALLOWED = "names of columns, literals, comparisons, and, or, not, in, + - * / // %, len(...) and lower(...)"

_Compute: TypeAlias = Callable[[Batch], list[Any]]

_COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_NUMBERS = (int, float)
_TEXTS = frozenset({"answer", "reasoning", "raw"})
_SHORT = 40


class Sorted(NamedTuple):
    """A batch in two: the rows that are kept, and those that are not, with the reason in the column `rejected`."""

    accepted: Batch
    rejected: Batch


class _Condition(NamedTuple):
    """One of the conditions that `and` joins."""

    source: str
    compute: _Compute
    names: tuple[str, ...]


class Filter:
    """A parsed expression."""

    def __init__(self, expression: str, conditions: tuple[_Condition, ...]) -> None:
        self.expression = expression
        self._conditions = conditions
        self.names = tuple(
            dict.fromkeys(name for condition in conditions for name in condition.names)
        )
        """The columns that it reads."""

    def __reduce__(self) -> tuple[Any, ...]:
        return parse_filter, (self.expression,)

    def reasons(self, batch: Batch) -> list[str | None]:
        """For each row None if it is kept, or else the reason why it is not."""
        for name in self.names:
            if name not in batch:
                raise _unknown_column(name, batch)
        reasons: list[str | None] = [None] * rows_in(batch)
        for condition in self._conditions:
            for index, holds in enumerate(condition.compute(batch)):
                if not holds and reasons[index] is None:
                    reasons[index] = _reason(condition, batch, index)
        return reasons

    def sorted(self, batch: Batch) -> Sorted:
        """The rows that are kept, and the others."""
        reasons = self.reasons(batch)
        accepted = [index for index, reason in enumerate(reasons) if reason is None]
        others = [index for index, reason in enumerate(reasons) if reason is not None]
        rejected = _taken(batch, others)
        rejected["rejected"] = [reasons[index] for index in others]
        return Sorted(_taken(batch, accepted), rejected)


def parse_filter(expression: str, columns: Iterable[str] | None = None) -> Filter:
    """Parses an expression; with `columns`, also checks that its names are among them."""
    if len(expression) > _LONGEST:
        raise UsageError(f"a filter has at most {_LONGEST:,} characters, not {len(expression):,}")
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        joined = isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And)
        parts = tree.values if joined and isinstance(tree, ast.BoolOp) else [tree]
        parsed = Filter(expression, tuple(_condition(part) for part in parts))
    except UsageError:
        raise
    except SyntaxError as error:
        raise UsageError(f"the filter is not an expression: {error.msg}: {expression!r}") from None
    except (RecursionError, MemoryError, ValueError) as error:
        raise UsageError(
            f"the filter cannot be read ({type(error).__name__}): it is nested too deeply, or has a null byte"
        ) from None
    if columns is not None:
        present = dict.fromkeys(columns)
        for name in parsed.names:
            if name not in present:
                raise _unknown_column(name, present)
    return parsed


def _condition(node: ast.expr) -> _Condition:
    called = {id(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)}
    names = [
        call.id for call in ast.walk(node) if isinstance(call, ast.Name) and id(call) not in called
    ]
    return _Condition(ast.unparse(node), _compiled(node), tuple(dict.fromkeys(names)))


def _compiled(node: ast.expr) -> _Compute:  # noqa: PLR0911 - a return for each kind of node
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return lambda batch: [value] * rows_in(batch)
        case ast.Name(id=name):
            return lambda batch: batch[name]
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            cells = [_compiled(item) for item in items]
            return lambda batch: (
                [list(row) for row in zip(*(cell(batch) for cell in cells), strict=True)]
                if cells
                else [[] for _ in range(rows_in(batch))]
            )
        case ast.BoolOp(op=operation, values=values):
            return _joined(
                [_compiled(value) for value in values], every=isinstance(operation, ast.And)
            )
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _compiled(operand)
            return lambda batch: [not value for value in inner(batch)]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _calculated(
                operator.sub,
                lambda batch: [0] * rows_in(batch),
                _compiled(operand),
                ast.unparse(node),
            )
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _ARITHMETIC:
            return _calculated(
                _ARITHMETIC[type(operation)], _compiled(left), _compiled(right), ast.unparse(node)
            )
        case ast.Compare(left=left, ops=operations, comparators=others):
            return _compared(node, [left, *others], operations)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _CALLS:
            call, inner = _CALLS[name], _compiled(argument)
            return lambda batch: [call(value) for value in inner(batch)]
        case _:
            raise UsageError(
                f"a filter has {_ALLOWED}; not {ast.unparse(node)!r} ({type(node).__name__})"
            )


def _joined(values: list[_Compute], *, every: bool) -> _Compute:
    decide = all if every else any
    return lambda batch: [
        decide(row) for row in zip(*(value(batch) for value in values), strict=True)
    ]


def _calculated(
    operation: Callable[[Any, Any], Any], first: _Compute, second: _Compute, source: str
) -> _Compute:
    def calculate(one: Any, other: Any) -> Any:
        if one is None or other is None:
            return None
        if not isinstance(one, _NUMBERS) or not isinstance(other, _NUMBERS):
            raise UsageError(
                f"{source}: arithmetic takes numbers, not {_kind(one)} and {_kind(other)}"
            )
        try:
            return operation(one, other)
        except ZeroDivisionError:
            return None
        except OverflowError:
            raise UsageError(f"{source}: the number is too large") from None

    return lambda batch: [calculate(*row) for row in zip(first(batch), second(batch), strict=True)]


def _compared(node: ast.Compare, sides: list[ast.expr], operations: list[ast.cmpop]) -> _Compute:
    values = [_compiled(side) for side in sides]
    source = ast.unparse(node)
    for operation, side in zip(operations, sides[1:], strict=True):
        if isinstance(operation, (ast.Is, ast.IsNot)) and not _is_none(side):
            raise UsageError(f"{source}: `is` takes None; compare values with ==")

    def compare(row: tuple[Any, ...]) -> bool:
        return all(
            _holds(operation, row[index], row[index + 1], source)
            for index, operation in enumerate(operations)
        )

    return lambda batch: [
        compare(row) for row in zip(*(value(batch) for value in values), strict=True)
    ]


def _holds(operation: ast.cmpop, one: Any, other: Any, source: str) -> bool:
    match operation:
        case ast.Eq() | ast.Is():
            return bool(one == other)
        case ast.NotEq() | ast.IsNot():
            return bool(one != other)
        case ast.In() | ast.NotIn():
            # A null contains nothing, and is contained only in a list that names it.
            return _is_in(one, other, source) is isinstance(operation, ast.In)
    if one is None or other is None:
        return False
    sign, compare = _COMPARISONS[type(operation)]
    if not (isinstance(one, _NUMBERS) and isinstance(other, _NUMBERS)) and type(one) is not type(
        other
    ):
        raise UsageError(f"{source}: {sign} cannot compare {_kind(one)} and {_kind(other)}")
    try:
        return bool(compare(one, other))
    except TypeError:
        raise UsageError(
            f"{source}: {sign} cannot compare {_kind(one)} and {_kind(other)}"
        ) from None


def _is_in(one: Any, other: Any, source: str) -> bool:
    if other is None:
        return False
    if isinstance(other, str):
        if one is None:
            return False
        if isinstance(one, str):
            return one in other
        raise UsageError(f"{source}: only a string can be in a string, not {_kind(one)}")
    if isinstance(other, (list, tuple, dict)):
        return one in other
    raise UsageError(f"{source}: `in` takes a list or a string, not {_kind(other)}")


def _length(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, (str, list, tuple, dict)):
        return len(value)
    raise UsageError(f"len(...) takes a string or a list, not {_kind(value)}")


def _lower(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return None if value is None else value.lower()
    raise UsageError(f"lower(...) takes a string, not {_kind(value)}")


_CALLS: dict[str, Callable[[Any], Any]] = {"len": _length, "lower": _lower}


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _kind(value: Any) -> str:
    return {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "a struct",
    }.get(type(value), type(value).__name__)


def _reason(condition: _Condition, batch: Batch, index: int) -> str:
    """The condition, and the values of its columns."""
    values = [f"{name} = {_short(batch[name][index], name)}" for name in condition.names]
    return f"not {condition.source}: {', '.join(values)}" if values else f"not {condition.source}"


def _short(value: Any, name: str) -> str:  # noqa: PLR0911 - a return for each kind of value
    """A value, shortened. Texts and structs are shown by their size only: they may be long, and parts may contain a seal."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.6g}"
        case int():
            return str(value)
        case str() if name not in _TEXTS and len(value) <= _SHORT:
            return repr(value)
        case list() if all(isinstance(item, str) and len(item) <= _SHORT for item in value):
            return repr(value[:5])
        case str() | list() | dict():
            return f"{_kind(value)} of {len(value)}"
        case _:
            return type(value).__name__


def _taken(batch: Batch, indices: list[int]) -> Batch:
    return {name: taken(values, indices) for name, values in batch.items()}  # type: ignore[misc] # a column of Arrow stays one


def _unknown_column(name: str, columns: Iterable[str]) -> UsageError:
    present = list(columns)
    near = difflib.get_close_matches(name, present, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(present)}"
    return UsageError(f"the filter names a column that the rows do not have, {name!r}{hint}")


# ---- Which rows are written, and which go to a second file with the reason: by a filter, and by what a trainer could not read.


@dataclass(frozen=True)
class Divider:
    """Divides batches; all of it can be pickled."""

    filter: Filter | None = None
    recipe: Recipe | None = None
    """The recipe for which the rows are written."""
    check: bool = True
    """Whether each example is read back and compared."""
    template: str | None = None
    """The text of a chat template with which each example is rendered."""

    def __call__(self, batch: Batch) -> dict[str, Batch]:
        """The rows that are written, under "", and the others."""
        reasons = self.reasons(batch)
        accepted = [index for index, reason in enumerate(reasons) if reason is None]
        others = [index for index, reason in enumerate(reasons) if reason is not None]
        divided: dict[str, Batch] = {"": _rows(batch, accepted)}
        if others:
            divided[REJECTED] = {
                **_rows(batch, others),
                REJECTED: [reasons[index] for index in others],
            }
        return divided

    def reasons(self, batch: Batch) -> list[str | None]:
        """For each row None, or why it is not written."""
        reasons: list[str | None] = [None] * len(next(iter(batch.values()), ()))
        if self.filter is not None:
            reasons = self.filter.reasons(batch)
        if self.recipe is not None:
            reasons = self._whole_conversations(batch, reasons)
            accepted = [index for index, reason in enumerate(reasons) if reason is None]
            for index, reason in zip(
                accepted, self._unwritable(_rows(batch, accepted)), strict=True
            ):
                reasons[index] = reason
        return reasons

    def _whole_conversations(self, batch: Batch, reasons: list[str | None]) -> list[str | None]:
        """Where all turns of a conversation are in one example, one rejected turn rejects the example."""
        if self.recipe is None or self.recipe.history != "all" or "last" not in batch:
            return reasons
        whole = list(reasons)
        earlier: str | None = None
        for index, is_last in enumerate(batch["last"]):
            if is_last:
                whole[index] = whole[index] or earlier
                earlier = None
            elif whole[index] and not earlier:
                earlier = f"turn {batch['turn'][index]} of the conversation: {whole[index]}"
        return whole

    def _unwritable(self, batch: Batch) -> list[str | None]:
        """Why rows cannot be written for the target."""
        assert self.recipe is not None
        reasons = unfit_rows(self.recipe)(batch)
        checks = [unlike(self.recipe, batch)] if self.check else []
        if self.template is not None:
            checks.append(template_problems(self.recipe, batch, self.template))
        return [
            next(filter(None, row_reasons), None)
            for row_reasons in zip(reasons, *checks, strict=True)
        ]


def _rows(batch: Batch, indices: list[int]) -> Batch:
    return {name: taken(values, indices) for name, values in batch.items()}  # type: ignore[misc] # a column of Arrow stays one
