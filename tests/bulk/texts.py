"""Texts as models write them and as nobody should, from pieces that matter to a splitter."""

import random

PIECES = (
    "<think>", "</think>", "<think>", "</think>", "<thinking>", "</thinking>", "<THINK>", "</Think >", "<mm:think>", "<reasoning a='b'>", "</reasoning>",
    "<think/>", "<ſcratchpad>", "</scratchpad>", "< think>", "<thought", "<" * 3, "<b>", "</b>", f"<think {'x' * 300}>", "<|begin_of_thought|>", "<|end_of_thought|>",
    "<|begin_of_solution|>", "<|end_of_solution|>", "[THINK]", "[/THINK]", "<answer>", "</answer>", "<|im_end|>", "<|en", "Here is my thought process:",
    "Here is my response:", "<tool_call>", '{"name": "f", "arguments": {}}', "</tool_call>", "`", "``", "```", "```\n", "~~~", "\n~~~\n", "\n", "\n\n", " ", "\t", "\r\n",
    "<|channel|>analysis<|message|>", "<|end|>", "<|start|>assistant<|channel|>final<|message|>", "<|return|>", "<|channel|>commentary to=f<|message|>",
    "thought\n", "analysis", "assistantfinal", "Here's my thought process:", "<|channel>thought", "<channel|>", "to=self<|message|>", "to=user<|message|>", "<|eom|>", "<|eot|>", "\u200b", "\ufeff", "{", "[", '["a"]', "}", "a", "word ", "A sentence that is long enough to be a thought. ", "x < y", "é中", "1", "\ud800",
)  # fmt: skip
MARKUP = (
    (),
    ("openthinker",),
    ("mistral", "answer"),
    ("granite",),
    ("harmony",),
    ("reason", "cohere"),
    ("muse", "harmony"),
    ("gemma", "harmony", "granite"),
)
HARMONY = [
    "<|channel|>analysis<|message|>",
    "<|end|>",
    "<|start|>assistant<|channel|>final<|message|>",
    "<|return|>",
]
MUSE = ["to=self<|message|>", "<|eom|>", "to=user<|message|>", "<|eot|>"]
FINISHES = (None, None, None, "stop", "length", "refusal", "tool_calls")


def drawn(generator: random.Random) -> str:
    """A text of up to a dozen pieces; often one that begins as models begin."""
    pieces = [generator.choice(PIECES) for _ in range(generator.randrange(12))]
    beginning = generator.randrange(8)
    if beginning == 0:
        pieces[:0] = ["<think>"]
    elif beginning == 1:
        pieces[:0] = ["<think>\nFirst, look at it. ", "word ", "\n</think>\n\n"]
    elif beginning == 2:
        pieces[:0] = ["A sentence that is long enough to be a thought. ", "</think>"]
    elif beginning == 3:
        pieces[:0] = [
            "<|begin_of_thought|>",
            "word ",
            "<|end_of_thought|>",
            "\n",
            "<|begin_of_solution|>",
        ]
    elif beginning > 5:
        names = HARMONY if beginning == 6 else MUSE
        thought, answer = ("", "word "), ("", "word ", "x `y` ", "```\n", "{", "\n")
        pieces = [names[0], generator.choice(thought), *generator.choice((names[1:3], names[1:3], names[2:3], names[1:2], [])), generator.choice(answer)]  # fmt: skip
        pieces += generator.choice(([], names[3:], names[1:2], ["\n"], [names[3], names[3]]))
        if generator.randrange(3) == 0:
            pieces.insert(generator.randrange(len(pieces) + 1), generator.choice(PIECES))
    return "".join(pieces)
