"""Whatever a file holds: every view of it is made, can be sent as JSON, and holds no seal."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

import innervoice as iv
from innervoice.canon.response import Failure
from innervoice.view.comparing import request_diff, turn_diff
from innervoice.view.plans import plan_view
from innervoice.view.rows import head_facts, heads_of, rows_of, whole_text
from innervoice.view.searching import hits_in
from view.samples import conversation, turn
from view.test_rows import parts

messages = st.builds(
    iv.Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.lists(parts, max_size=3).map(tuple),
)
counts = st.none() | st.integers(0, 5000)
answers = st.builds(
    iv.Response,
    parts=st.lists(parts, max_size=3).map(tuple),
    provider=st.sampled_from([None, "anthropic", "openai", "gemini", "nobody"]),
    model=st.sampled_from([None, "claude-fable-5-2", "gpt-5.6", "gemini-3-pro", "m"]),
    ended=st.booleans(),
    finish_reason=st.sampled_from(["stop", "length", "tool_calls", "refusal", None]),
    usage=st.builds(
        iv.Usage, output_tokens=counts, reasoning_tokens=counts, cached_input_tokens=counts
    ),
    error=st.none()
    | st.just(Failure(message="messages.1.content.0: Invalid `signature` in `thinking` block")),
)
marks = st.lists(st.sampled_from(["compaction", "abandoned", "api_error", "injected"]), max_size=2)
turns = st.builds(lambda one, some: turn(one, marks=tuple(some)), messages | answers, marks)
conversations = st.builds(
    lambda made, request: conversation(*made, request=request),
    st.lists(turns, max_size=5),
    st.sampled_from(
        [None, iv.Request("anthropic/claude-fable-5-2", (), system="s", reasoning="high")]
    ),
)


@settings(deadline=None)
@given(conversations, st.sampled_from(["anthropic/claude-fable-5-2", "openai/gpt-5.6", "gemini/gemini-3-pro", "deepseek/deepseek-v4", "x"]))  # fmt: skip
def test_every_view_of_any_conversation(made, target):
    rows = rows_of(made)
    shown = [rows, head_facts(made), plan_view(made, target), list(hits_in("c", made, "a"))]
    for number in range(len(made.turns)):
        shown += turn_diff(made, 0, made, number), request_diff(made, number, made, 0)
    text = json.dumps(shown, ensure_ascii=False, allow_nan=False)

    text.encode()  # no half of a character
    assert "SEAL" * 9 not in text
    assert heads_of(made) == [row["n"] for row in rows if row["kind"] == "turn"]
    assert [row["text"] for row in rows] == [whole_text(made, row["n"])[:20_000] for row in rows]
