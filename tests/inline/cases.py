"""Our result for every input of the catalogue of disagreements, and why.

33 implementations were run on these 31 inputs in August 2026: client libraries (Vercel's AI SDK,
pydantic-ai, litellm, any-llm, LangChain, nr-llm, stackbilt), the tzurot bot, and the parsers of vLLM and
SGLang. "n agree" counts those that give the same reasoning and answer, white space aside.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CASES", "Case"]


class Case(NamedTuple):
    id: str
    text: str
    thinking: str | None
    answer: str
    why: str


CASES = [
    Case("A", "<think>R</think>A", "R", "A", "31 agree"),
    Case("B", "<think>\nR\n</think>\n\nA", "R", "A", "31 agree; the views strip, the parts do not"),
    Case(
        "C",
        "Hi <think>R</think> A",
        "R",
        "Hi  A",
        "13 agree; a pair anywhere is thinking, and both sides keep their blanks",
    ),
    Case(
        "D",
        "<think>R1</think>A1<think>R2</think>A2",
        "R1\n\nR2",
        "A1 A2",
        "10 agree on the split; one blank so that words are not glued, as nr-llm does",
    ),
    Case(
        "E",
        "I should look at this carefully first.</think>A",
        "I should look at this carefully first.",
        "A",
        "16 agree (servers that know the template, and tzurot by the same twenty characters)",
    ),
    Case(
        "F",
        "R</think>A",
        None,
        "R A",
        "tzurot agrees but for the blank: too little before the closer to call it thought, and words are not glued",
    ),
    Case("G", "<think>R only", "R only", "", "22 agree; the others show the thought as the answer"),
    Case(
        "H", "A <think>R only", None, "A <think>R only", "9 agree; a mention in prose loses nothing"
    ),
    Case(
        "I",
        "<think>R1<think>R2</think>R3</think>A",
        "R1R2R3",
        "A",
        "nobody; everyone leaks R3, and most a tag, into the answer",
    ),
    Case("J", "<think><think>R</think>A", "R", "A", "12 agree; the others leak the second opener"),
    Case(
        "K", "<think>R</think></think>A", "R", "A", "6 agree (tzurot, vLLM's engine); no stray tag"
    ),
    Case("L", "<think></think>A", None, "A", "31 agree; an empty block is a block without text"),
    Case("M", "<think>\n\n</think>\n\nA", None, "A", "31 agree; blank reasoning is none"),
    Case(
        "N",
        '<think type="x">R</think>A',
        "R",
        "A",
        "nobody of these, Open WebUI does: attributes are no disguise",
    ),
    Case(
        "O",
        "<THINK>R</THINK>A",
        "R",
        "A",
        "3 agree (tzurot, stackbilt, nr-llm); models do write it",
    ),
    Case("P", "<Think>R</tHink>A", "R", "A", "the same 3"),
    Case("Q", "<thinking>R</thinking>A", "R", "A", "4 agree (litellm, any-llm twice, tzurot)"),
    Case("R", "<think>R</thinking>A", "R", "A", "litellm agrees: models mix the names up"),
    Case(
        "S",
        "Use `<think>x</think>` tags.",
        None,
        "Use `<think>x</think>` tags.",
        "tzurot and, by accident, litellm agree: code loses no character",
    ),
    Case(
        "T",
        "```xml\n<think>x</think>\n```\ndone",
        None,
        "```xml\n<think>x</think>\n```\ndone",
        "tzurot and, by accident, litellm agree",
    ),
    Case(
        "U",
        "<think>close with `</think>` ok</think>A",
        "close with `",
        "` ok A",
        "vLLM's engine agrees but for the blank; all close at the first closer, most leak the second",
    ),
    Case(
        "V",
        "\n\n<think>R</think>A",
        "R",
        "A",
        "23 agree; white space before the head is still the head",
    ),
    Case(
        "W", "A", None, "A", "20 agree; the others were told that the text starts inside thinking"
    ),
    Case("X", "<ant:think>R</ant:think>A", "R", "A", "tzurot agrees; any namespace"),
    Case(
        "Y",
        "<think/>A",
        None,
        "<think/>A",
        "20 agree: it opens nothing, so nothing may be swallowed",
    ),
    Case("Z", "</think>A", None, "A", "16 agree; MiniMax M3 starts answers so"),
    Case(
        "AA",
        "<think>R</think>A line one.\nok. </think>\nA2",
        "R",
        "A line one.\nok. \nA2",
        "vLLM's engine agrees; the stutter goes only where the card knows it (tzurot: always)",
    ),
    Case(
        "AB",
        '<think>R<tool_call>{"x":1}</tool_call>',
        'R<tool_call>{"x":1}</tool_call>',
        "",
        "14 agree; the marker ends thinking only where the card says so",
    ),
    Case(
        "AC", "<antThinking>R</antThinking>A", "R", "A", "nobody; it is in Anthropic's own prompts"
    ),
    Case(
        "AD", "< think >R</ think >A", None, "< think >R</ think >A", "20 agree: no model writes it"
    ),
    Case(
        "AE",
        "<think>R</think>A <reasoning>r2</reasoning> B",
        "R\n\nr2",
        "A  B",
        "tzurot agrees but for its separator; the others leave the second block in the answer",
    ),
]
