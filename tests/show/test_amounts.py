"""What an answer thought, in one line."""

from decimal import Decimal

import pytest

import innervoice as iv
from innervoice.show.amounts import thinking_line


@pytest.mark.parametrize(
    ("line", "metrics"),
    [
        ("thought 3.2 s, 412 tokens (71%), $0.0041; first answer after 3.4 s", {"thinking_seconds": 3.2, "first_answer_seconds": 3.4, "total_seconds": 5, "thinking_tokens": 412, "output_tokens": 580, "cost": Decimal("0.00412")}),
        ("thought 3.2 s, ~412 tokens (~71%), ~$0.0041", {"thinking_seconds": 3.2, "thinking_tokens": 412, "output_tokens": 580, "cost": Decimal("0.00412"), "estimated": True}),
        ("thought 1 token (under 1%); took 4.0 s", {"thinking_tokens": 1, "output_tokens": 580, "total_seconds": 4}),
        ("thought 1 min 30 s; first answer after 1 min 31 s", {"thinking_seconds": 90, "first_answer_seconds": 91}),
        ("no reasoning; first answer after 0.4 s", {"thinking_tokens": 0, "output_tokens": 5, "thinking_seconds": 0.0, "first_answer_seconds": 0.4, "cost": Decimal(0)}),
        ("first answer after 0.4 s", {"output_tokens": 5, "first_answer_seconds": 0.4}),
        ("", {"output_tokens": 5, "first_answer_seconds": 0.004, "total_seconds": 0.01}),
        ("", {}),
    ],
)  # fmt: skip
def test_what_is_known_is_said(line, metrics):
    assert line == thinking_line(iv.ThinkingMetrics(**metrics))
