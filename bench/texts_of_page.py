"""The words of docs/performance.md; its numbers come from a run."""

from __future__ import annotations

HEAD = """# Performance

Written by `bench/run`, which measures innervoice and the libraries that people use today on the same work: answers with 6 kB of
reasoning and 2 kB of text, and streams of 1,000 deltas of reasoning and 300 of text. The texts have as many line breaks, quotes and
characters beyond ASCII as recorded answers do. All numbers are ratios to a floor in the same run, because those travel from one
machine to another and seconds do not. The floor is what nobody can do without: decoding the JSON, or the same request with bare
httpx2. Reasoning in tags stands in rows of its own among the targets: the floor leaves it where it is."""

LEGEND = """Multiples of the floor, less is better; ± is half of the range in which the middle half of the rounds lies. † loses the
reasoning, ‡ leaves it in the text: fast and wrong is not a result. An empty field: the library has no way to do it."""

WORKS = {
    "body": (
        "A whole body",
        "Bytes of 8 kB to what the library calls an answer; the floor decodes into typed structs of what is read. Nothing is sent.",
    ),
    "delta": (
        "One streamed delta",
        "A stream from memory, in blocks of 16 kB; the floor splits it into frames and decodes their JSON.",
    ),
    "call": ("One call", "Asked over HTTP, in processor time of the client."),
    "stream": (
        "One stream over HTTP",
        (
            "Every delta comes in an HTTP chunk of its own, and none is waited for; processor time of the client. The floor"
            " reads the bytes with httpx2, splits the frames and decodes their JSON."
        ),
    ),
    "streams": (
        "64 streams at a time",
        (
            "The same with the asynchronous clients, on 64 connections, with 260 deltas each. `innervoice, aiohttp` is"
            " `AsyncClient(http=OverAiohttp())`, with `OverAiohttp` of `innervoice.client.over_aiohttp`."
        ),
    ),
    "whole": (
        "Reasoning in the text, whole",
        "1 MB of Markdown behind a thought in tags; the floor is one `str.find` for each tag.",
    ),
    "pieces4": (
        "The same in pieces of 4 characters",
        "200 kB of it; the floor is one `str.find` in every piece.",
    ),
    "pieces20": ("The same in pieces of 20 characters", "As above."),
    "orphan": (
        "A thought that was opened in the prompt",
        "48 kB of Markdown before a closing tag without an opening one; the floor is one `str.find` for each tag.",
    ),
    "mixed": (
        "Many short texts",
        "100 texts of 5 kB: a thought in tags, a thought before a closing tag, none, and tags in code; the floor is as above.",
    ),
}
VERDICTS = {
    "kept": "kept",
    "lost": "**lost**",
    "left in the text": "**left in the text**",
    "wrong": "**wrong**",
}
AHEAD = """All works in which a library takes less time than innervoice. Splitting text: the functions of the peers look for one pair of
tags in a whole text, and know nothing of code, of JSON, or of a tag that has half arrived."""
IMPORT = """Processor time, modules and memory that an import takes, and the same for the shortest program that gets an answer from
the upstream; multiples of `import msgspec`, and of bare httpx2 with a JSON decoder. innervoice loads what is used when it is
used, so the second is the fairer one. The size is without compiled bytecode."""
HISTORY = """Turns of Claude with signed thinking, every third with a call and its result, to where they came from and to another
provider. Linear is a factor of ten. Every sample goes through 10,000 turns in all, so that the garbage collector comes into each
of them equally often."""
MEMORY = """What is held at the most above a stream of 1,000 deltas. The text of the answer is a fiftieth of its stream."""
READERS = {"decoder": "`StreamDecoder`", "client": "`Client.stream`"}
HOSTILE = """How much longer ten times as much takes, 3 MB against 300 kB; linear is 10x."""
NAMES = """How much longer the lookup of a name of ten times the length takes, 1 MB against 100 kB of these characters; linear is 10x."""
HELD = """While a tag never ends, {held} characters are held back at the most; a text of nothing but openers takes {peak:.0f} bytes
for each of its characters while it is split."""
FOOT = """## How it is measured

- Each library runs in a process and an environment of its own, in the versions above. A round goes once through all of them, the
  floor among them, and starts with another one each time; what counts is the ratio to the floor of the same round.
- Time is processor time of the process, all its threads. The upstream is another process: it writes canned answers at once, and
  sends a delta in {pace:.2f} µs, so that no client waits for it.
- The way a user would do it: the documented call of each library, its client made once and used again. For "a whole body" that is
  the function that the library itself calls with the JSON of an answer.
- What came out is compared with what was sent, word by word, before anything is timed."""
