"""Functions as tools: their schemas, and what becomes of odd arguments."""

import dataclasses
from typing import Annotated, Literal, TypedDict

import pytest

import innervoice as iv
from innervoice.client.tools import ToolBox


@dataclasses.dataclass
class Place:
    city: str
    country: str = "FR"


class Range(TypedDict):
    low: int
    high: int


def run(function, arguments):
    (message,) = ToolBox([function]).run([iv.ToolCall("c", function.__name__, arguments)])
    return message.parts[0]


def test_schema():
    def look(
        place: Annotated[str, "Where to look."],
        days: int = 3,
        unit: Literal["c", "f"] = "c",
        tags: list[str] | None = None,
    ):
        """Looks something up."""

    (tool,) = ToolBox([look]).offered
    assert ("look", "Looks something up.") == (tool.name, tool.description)
    assert {
        "type": "object",
        "properties": {
            "place": {"type": "string", "description": "Where to look."},
            "days": {"type": "integer"},
            "unit": {"enum": ["c", "f"]},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        },
        "required": ["place"],
        "additionalProperties": False,
    } == tool.parameters


def test_classes_become_schemas_and_values():
    def look(place: Place, limits: Range) -> str:
        """Looks."""
        return f"{place.city}, {place.country}, {limits['high']}"

    (tool,) = ToolBox([look]).offered
    assert {"Place", "Range"} == set(tool.parameters["$defs"])
    assert "Paris, FR, 2" == run(look, '{"place": {"city": "Paris"}, "limits": {"low": 1, "high": 2}}').content  # fmt: skip


def test_numbers_as_text_are_taken():
    def double(number: int) -> int:
        """Doubles."""
        return number * 2

    assert "8" == run(double, '{"number": "4"}').content


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("no json", "not valid JSON"),
        ("[]", "must be a JSON object"),
        ("{}", "missing required field `number`"),
        ('{"number": "many"}', "Expected `int`"),
        ('{"number": 1, "other": 2}', "unknown field `other`"),
    ],
)
def test_arguments_that_do_not_fit_are_told(arguments, words):
    def double(number: int) -> int:
        """Doubles."""
        return number * 2

    result = run(double, arguments)
    assert result.error
    assert words in result.content


def test_a_tool_that_nobody_knows():
    (message,) = ToolBox([]).run([iv.ToolCall("c", "lost", "{}")])
    assert "unknown tool 'lost'" in message.parts[0].content


def test_a_tool_may_give_parts():
    def draw() -> iv.Media:
        """Draws."""
        return iv.Media("image/png", "aGk=")

    assert (iv.Media("image/png", "aGk="),) == run(draw, "").content


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ([3], "must be a function"),
        ([lambda *things: None], "which a tool cannot"),
        ([run, run], "two tools have the name"),
    ],
)
def test_what_is_no_tool(tools, words):
    with pytest.raises(iv.UsageError, match=words):
        ToolBox(tools)
