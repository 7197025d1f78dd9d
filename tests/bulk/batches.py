"""Batches for the tests: made by hand, and drawn by hypothesis."""

from hypothesis import strategies as st

WORDS = [
    "wait", "let me check", "the answer is 42.", "\\boxed{7}", "so", "x = 3", "<think>", "</think>", "我们", "证明", "これは", "нет", "\n\n", "```py\nx\n```",
    "$a+b$", "sk-ant-api03-abcdefghijkl0123456789", "  ", "\U0001f600", "…", "and again",
]  # fmt: skip

texts = st.one_of(
    st.just(""),
    st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join),
    st.text("ab \n</>`数\u200b\U0001f600\x1b{}$", max_size=40),
)
usages = st.none() | st.fixed_dictionaries(
    {
        "input": st.none() | st.integers(0, 10**6),
        "output": st.none() | st.integers(0, 10**6),
        "reasoning": st.none() | st.integers(0, 10**6),
    }
)


def message(role, content, reasoning=None, calls=None, call_id=None):
    """A message of a prompt."""
    return {
        "role": role,
        "content": content,
        "reasoning": reasoning,
        "calls": calls,
        "call_id": call_id,
    }


@st.composite
def rows(draw, min_size=0, max_size=5):
    """A batch with the columns that every reader gives."""
    size = draw(st.integers(min_size, max_size))
    many = lambda values: draw(st.lists(values, min_size=size, max_size=size))  # noqa: E731
    prompts = st.none() | st.lists(
        st.builds(message, st.sampled_from(["system", "user", "assistant"]), texts), max_size=4
    )
    return {
        "id": [f"row-{index}" for index in range(size)],
        "source": ["a.jsonl"] * size,
        "model": many(st.none() | st.sampled_from(["qwen3-8b", "o3"])),
        "turn": [0] * size,
        "last": [True] * size,
        "prompt": many(prompts),
        "answer": many(texts),
        "reasoning": many(st.none() | texts),
        "status": many(st.sampled_from(["answered", "empty", "truncated", "unreadable"])),
        "finish": many(st.none() | st.sampled_from(["stop", "length"])),
        "usage": many(usages),
        "notes": many(st.lists(st.sampled_from(["inline_thinking", "rethought"]), unique=True)),
        "markup": many(st.none() | st.sampled_from(["think", "field"])),
        "text": many(texts),
    }


def row(**columns):
    """A batch of one row."""
    row = {
        "id": "row-0",
        "source": "a.jsonl",
        "model": None,
        "turn": 0,
        "last": True,
        "prompt": [message("user", "Q")],
        "answer": "A",
        "reasoning": "R",
        "status": "answered",
        "finish": "stop",
        "usage": None,
        "notes": [],
        "markup": None,
        **columns,
    }
    return {name: [value] for name, value in row.items()}


def sliced(batch, start, end):
    """Some rows of a batch."""
    return {name: values[start:end] for name, values in batch.items()}
