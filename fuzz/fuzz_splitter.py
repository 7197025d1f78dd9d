"""Coverage-guided fuzzing of the splitter: any text, any cutting, any hints.

    scripts/setup fuzz && .venv-fuzz/bin/python fuzz/fuzz_splitter.py -max_total_time=60

One input is hints, cuts and a text; `check` is also run by the tests, on bytes of their own.
"""

from __future__ import annotations

import sys

import innervoice as iv
from innervoice.inline.formats import ROWS

MODELS = (
    None,
    "qwq-32b",
    "glm-4.5-air",
    "deepseek-r1t2-chimera",
    "gpt-oss-20b",
    "gemma-4-9b",
    "kimi-k3",
    "qwen3:0.6b",
)
NAMES = sorted(ROWS)
# One byte each, so that a mutation of a byte moves a whole marker.
WORDS = (
    "<think>", "</think>", "<thinking>", "</thinking>", "<mm:think>", "<think a=", "</thi", "<", ">", "`", "``", "```", "~~~", "\n", " ",
    "a", "long enough to be a thought ", "ok.", "{", "<|channel|>", "analysis", "final", "<|message|>", "<|end|>", "[THINK]", "[/THINK]",
    "thought\n", "<channel|>", "<tool_call>", "<answer>", "to=self<|message|>", "assistantfinal",
    "commentary", "ANALYSIS ", "ASSISTANTFINAL", "<|call|>", "<|start|>assistant", "<|open|>response<|sep|>", "<|close|>think", "<|sep|>", "<|re",
)  # fmt: skip


def check(data: bytes) -> None:
    """Whole and streamed agree, nothing is lost, storage keeps all."""
    model, rows, flags, step = (*data[:4], 0, 0, 0, 1)[:4]
    text = "".join(WORDS[byte - 1] if 0 < byte <= len(WORDS) else chr(byte) for byte in data[4:])
    hints = {
        "model": MODELS[model % len(MODELS)],
        "markup": [NAMES[rows % len(NAMES)], NAMES[rows // 16 % len(NAMES)]],
        "prefix_open": (None, True, False)[flags % 3],
        "finish_reason": (None, "stop", "length")[flags // 3 % 3],
    }
    whole = iv.split(text, **hints)
    splitter = iv.Splitter(**hints)
    size = step % 23 + 1
    events = [
        event
        for start in range(0, len(text), size)
        for event in splitter.feed(text[start : start + size])
    ]
    events += splitter.finish()
    if splitter.response != whole or iv.fold(events).parts != whole.parts:
        raise AssertionError(
            f"cut by {size}, {text!r} with {hints} is {iv.fold(events).parts}, whole {whole.parts}"
        )
    if iv.restore(whole.parts) != text:
        raise AssertionError(f"{text!r} with {hints} lost something: {whole.parts}")
    if iv.from_json(iv.to_json(whole)) != whole:
        raise AssertionError(f"{text!r} with {hints} does not survive storage")


if __name__ == "__main__":
    import atheris

    with atheris.instrument_imports(include=["innervoice"]):
        import innervoice.inline.machine
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
