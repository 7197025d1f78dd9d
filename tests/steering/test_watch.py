"""When a thought is ended: by the tokens that arrived, before any output, and with room behind a server's own budget."""

import pytest

from innervoice.canon.events import Heartbeat, TextDelta, ThinkingDelta, ToolCallDelta
from innervoice.canon.reasoning import Reasoning
from innervoice.catalog.targets import target_at
from innervoice.steering.watch import Steering, ThoughtWatch, with_native_limit

NATIVE = ("vllm", "Qwen/Qwen3-32B")
EFFORTS = ("deepseek", "deepseek-v4-pro")
SILENT = ("anthropic", "claude-sonnet-4-5")


def alarm_of(events, *, is_native=False, limit=1000, loops=None):
    watch = ThoughtWatch(Steering(limit, loops), is_native=is_native, read=str)
    alarms = [watch.feed([event]) for event in events]
    return next(filter(None, [*alarms, watch.look()]), None)


@pytest.mark.parametrize("size", [1, 7, 400, 10_000])
@pytest.mark.parametrize(("is_native", "least"), [(False, 4_001), (True, 5_001)])
def test_the_limit_counts_characters_whatever_the_deltas(size, is_native, least):
    over = [ThinkingDelta(0, "x" * size)] * (-(-least // size))
    under = [ThinkingDelta(0, "x" * size)] * ((least - 1) // size)

    assert "thinking_cut_short" == alarm_of(over, is_native=is_native).code
    assert alarm_of(under, is_native=is_native) is None


@pytest.mark.parametrize("output", [TextDelta(1, "Yes"), ToolCallDelta(1, "{")])
def test_nothing_is_ended_after_output(output):
    assert alarm_of([output, *[ThinkingDelta(0, "x" * 100)] * 100]) is None


@pytest.mark.parametrize("nothing", [TextDelta(1, "\n\n"), Heartbeat()])
def test_white_space_is_no_output(nothing):
    assert alarm_of([nothing, *[ThinkingDelta(0, "x" * 100)] * 100]) is not None


@pytest.mark.parametrize(
    ("target", "setting", "expected"),
    [
        (NATIVE, None, Reasoning(budget=500)),
        (NATIVE, Reasoning("high"), Reasoning(budget=500)),
        (NATIVE, Reasoning(budget=9000, show="full"), Reasoning(budget=500, show="full")),
        (NATIVE, Reasoning(budget=100), Reasoning(budget=100)),
        (NATIVE, Reasoning("low"), Reasoning("low")),
        (NATIVE, Reasoning("none"), Reasoning("none")),
        (EFFORTS, Reasoning("high"), Reasoning("high")),
        (SILENT, None, None),
    ],
)
def test_a_limit_lowers_and_never_raises(target, setting, expected):
    """A model that does not reason by itself is not made to, and a lower setting stays."""
    assert expected == with_native_limit(setting, 500, target_at(*target))
