"""A response whose answer has the requested type."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from innervoice.canon.answer_type import AnswerType
from innervoice.canon.response import Response

__all__ = ["StructuredResponse"]

T = TypeVar("T")


class StructuredResponse(
    Response, Generic[T], frozen=True, kw_only=True, tag="response", tag_field="type"
):
    """An answer that was requested with `schema=`; stored, it is a plain `Response`."""

    hidden: ClassVar[frozenset[str]] = frozenset({"answer_type"})

    answer_type: AnswerType

    @property
    def data(self) -> T:
        """The answer as a value of the requested type.

        Raises `DecodeError` if there is no such value: the answer was refused or cut off, or does not fit the type.
        """
        value: T = self.answer_type.value_of(self.text, self.tool_calls, self.status)
        return value

    def plain(self) -> Response:
        """The same answer without its type."""
        fields = {name: getattr(self, name) for name in Response.__struct_fields__}
        return Response(**fields)
