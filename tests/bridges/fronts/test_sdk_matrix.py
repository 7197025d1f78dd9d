"""The providers of the AI SDK (6 and 7) and the chat models of LangChain, through the gateway to five kinds of models.

By default a covering selection; `scripts/test sdk-matrix` runs all of it.
"""

import os

import pytest

from gateway.lossy import lossy_gateway
from gateway.witness import noted, proofs, reasoning_is_back
from sdk import test_late_errors

QUESTION = "What is the weather in Paris and Rome, then the weather in Oslo and Bergen?"
ENDED = {"text": "Paris: 21 °C. Rome: 27 °C. Oslo: 9 °C. Bergen: 8 °C.", "calls": [2, 2, 0]}
MODELS = ("anthropic/claude-opus-5-5", "openai/gpt-5.6", "gemini/gemini-3.5-flash", "deepseek/deepseek-v4-pro", "minimax/MiniMax-M3")  # fmt: skip
PROGRAMS = [
    *((sdk, front) for sdk in ("ai", "ai-6") for front in ("openai", "responses", "anthropic", "google")),
    *(("langchain", front) for front in ("openai", "responses", "anthropic", "google")),
]  # fmt: skip
_STAND_INS = {"signature_filled", "reasoning_filled", "thinking_omitted", "reasoning_off_for_loop", "recovered_after_refusal", "turn_not_stored", "envelope_unreadable", "envelope_outdated"}  # fmt: skip
"""Notes of what takes the place of reasoning, or is sent without it."""

ALL = [
    (*program, model, streamed, drops)
    for program in PROGRAMS
    for model in MODELS
    for streamed in (False, True)
    for drops in (False, True)
]
# One case of each program and model, such that whole, streamed, keeps and drops meet each of both.
COVERING = [
    case
    for number, case in enumerate(ALL)
    if number % 4 == (PROGRAMS.index(case[:2]) + MODELS.index(case[2])) % 4
]
CASES = ALL if os.environ.get("INNERVOICE_ALL_SDKS") else COVERING


@pytest.mark.parametrize(("sdk", "front", "model", "streamed", "drops"), CASES)
def test_a_loop_gets_its_answer_and_the_model_its_reasoning(programs, chains, sdk, front, model, streamed, drops):  # fmt: skip
    how = {"provider": front, "streamed": streamed, "prunes": drops}
    program = chains if sdk == "langchain" else programs
    with lossy_gateway() as served:
        ended = program.lead(sdk, served.url, QUESTION, [model] * 3, by="steps", **how)

    assert ENDED == ended
    upstream = served.upstream
    assert [200] * 3 == upstream.statuses, "the emulator refused nothing"
    notes = set().union(*map(noted, served.reports))
    assert not _STAND_INS & notes
    turns = [proofs(answer.message) for answer in upstream.answers[:2]]
    assert all(turns), "both turns with calls have reasoning"
    # The first turn goes back into the second request, and both into the third.
    assert reasoning_is_back(upstream) == 2 * len(turns[0]) + len(turns[1])
    assert 0 == served.reports[-1].omitted
    if drops:
        # The calls of the AI SDK keep Gemini's signatures, which are no reasoning to it.
        last = served.reports[-1]
        assert last.kept >= last.restored >= 2
        assert front == "google" or last.kept == last.restored


gateway, provider = test_late_errors.gateway, test_late_errors.provider  # fixtures
LATE = [
    (*program, model, streamed)
    for program in PROGRAMS
    for model in test_late_errors.FAILURES
    for streamed in (False, True)
]
LATE_CASES = LATE if os.environ.get("INNERVOICE_ALL_SDKS") else [
    case for number, case in enumerate(LATE) if number % 20 in (PROGRAMS.index(case[:2]), PROGRAMS.index(case[:2]) + 5)
]  # fmt: skip


@pytest.mark.parametrize(("sdk", "front", "model", "streamed"), LATE_CASES)
def test_a_late_failure_is_thrown(programs, chains, gateway, sdk, front, model, streamed):  # fmt: skip
    """With white space before whole answers and without, the program gets an error, and never an empty text."""
    program = chains if sdk == "langchain" else programs
    how = {"provider": front, "streamed": streamed, "prunes": False}
    ended = program.lead(sdk, gateway[0], QUESTION, [model] * 3, by="steps", **how)

    assert ended.get("thrown"), ended
