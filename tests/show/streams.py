"""Streams to display, and a manual clock."""

import innervoice as iv


class Clock:
    """A clock that the test advances."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def finish(*parts, **fields):
    return iv.Finish(iv.Response(parts=parts, ended=True, **fields))


def stream(*parts, size=7, **fields):
    """The events of a response that arrives part by part, in small pieces."""
    for index, part in enumerate(parts):
        yield iv.PartStart(index, part.type)
        text = getattr(part, "text", "")
        delta = {"text": iv.TextDelta, "thinking": iv.ThinkingDelta}.get(part.type)
        for start in range(0, len(text), size):
            yield delta(index, text[start : start + size])
        yield iv.PartEnd(index, part)
    yield finish(*parts, **fields)


THOUGHT = "15 * 20 = 300\n15 * 3 = 45"
RECAST = [
    iv.PartStart(0, "text"),
    iv.TextDelta(0, "Let me see, 345.\n"),
    iv.PartEnd(0, iv.Text("Let me see, 345.\n")),
    iv.Recast(0, (iv.Thinking("Let me see, 345.\n"),)),
    iv.PartStart(1, "text"),
    iv.TextDelta(1, "\n\nIt is 345."),
    iv.PartEnd(1, iv.Text("\n\nIt is 345.")),
    finish(iv.Thinking("Let me see, 345.\n"), iv.Text("\n\nIt is 345.")),
]
"""Text that was shown as the answer turns out to be reasoning."""
