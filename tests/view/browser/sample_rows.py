"""Rows made by hand that show everything: seals of all states, an empty block, tools, a sub-agent, right-to-left text."""

from __future__ import annotations

PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def fact(label, why=None, tone=None):
    return {"label": label} | ({"why": why} if why else {}) | ({"tone": tone} if tone else {})


def seal(state, who="anthropic", why="Only anthropic/claude-opus-5-5 can open it."):
    label = f"sealed by {who}" + ("" if state == "present" else f", {state}")
    return {"state": state, "label": label, "why": why, "size": "436 bytes", "hash": "9f2c41d7"}


class Rows:
    """Numbers rows as they are added."""

    def __init__(self):
        self.rows = []
        self._turn = -1
        self._part = 0
        self._role = "user"

    def turn(self, role, *facts, notes=(), title=None, **more):
        self._turn += 1
        self._part = 0
        self._role = role
        return self._add("turn", title or role, "", None, list(facts), notes=list(notes), **more)

    def part(self, kind, title, text, *facts, **more):
        row = self._add(kind, title, text, self._part, list(facts), **more)
        self._part += 1
        return row

    def thought(self, text, *facts, **more):
        if text:
            more = {"first": text.split("\n")[0][:160], "opening": text.split(". ")[0][:160]} | more
        facts = (*([fact(f"{len(text):,} characters")] if text else []), *facts)
        return self.part(
            "thinking", "Thinking" if text else "Hidden reasoning", text, *facts, **more
        )

    def text(self, text, **more):
        return self.part("text", "Text", text, **more)

    def _add(self, kind, title, text, part, facts, *, seals=(), notes=(), **more):
        row = {
            "n": len(self.rows), "turn": self._turn, "part": part, "kind": kind, "role": self._role, "title": title, "text": text,
            "facts": facts, "seals": list(seals), "notes": list(notes), **more,
        }  # fmt: skip
        self.rows.append(row)
        return row


def source(id_="s1", title="Find out why the build is slow", path="build/slow.jsonl"):
    facts = [fact("2 conversations"), fact("14 kB"), fact("today 10:12")]
    return {
        "id": id_,
        "title": title,
        "path": path,
        "kind": "claude-code",
        "first": f"{id_}.main",
        "facts": facts,
    }


def head(id_, title, lanes=(), **more):
    return {
        "id": id_, "title": title, "source": source(), "lanes": list(lanes),
        "facts": [
            fact("7 turns"), fact("5 thoughts"), fact("claude-opus-5-5", "Who answered."), fact("8,412 tokens"),
            fact("1,932 of them reasoning, 23 %", "Anthropic counts reasoning as a part of the output."),
            fact("$0.061, $0.048 of it for reasoning", "At the prices of the provider's list."),
        ],
        "cannot_know": ["How long the model took for a turn.", "Which settings a request had."],
        "troubles": [], **more,
    }  # fmt: skip


def main_rows():
    made = Rows()
    made.turn("user", fact("10:12:03"), fact("line 1"))
    made.text(
        "Our build takes eleven minutes since last week. Find out why, and propose a fix.\n\nيرجى الإجابة بالعربية أيضًا في سطر واحد."
    )
    made.turn(
        "assistant",
        fact("claude-opus-5-5"),
        fact("10:12:09"),
        fact("tool calls"),
        fact("1,204 tokens, 612 reasoning", "Reasoning is a part of the output."),
        fact("$0.021", "At the list's prices."),
    )
    made.thought(
        "The build became slow last week. Something changed then: a dependency, a cache key, or the runner. I should look at the history of the build files before guessing.\n\nThe cheapest evidence is the timing report; I will read it first, and then the lock file.",
        fact("612 tokens", "Reasoning tokens of the whole answer."), fact("4.1 s"),
        seals=[seal("fits", why="Only anthropic/claude-opus-5-5 can open it. It is bound to everything before it, which has not changed.")],
    )  # fmt: skip
    made.text("I start with the timing report.")
    call = made.part(
        "call",
        'read_file(path="build/timing.txt")',
        '{\n  "path": "build/timing.txt"\n}',
        first='{"path": "build/timing.txt"}',
    )
    made.turn("user", title="tool result")
    made.part(
        "result",
        "result of read_file",
        "resolve    391 s\ncompile    142 s\ntest       118 s\npackage     17 s",
        fact("70 characters"),
        first="resolve    391 s",
        call=call["n"],
    )
    made.turn(
        "assistant",
        fact("claude-opus-5-5"),
        fact("10:12:31"),
        fact("tool calls"),
        fact("988 tokens, 540 reasoning"),
    )
    made.thought(
        "",
        fact("540 tokens"),
        seals=[
            seal(
                "present",
                why="Only anthropic/claude-opus-5-5 can open it. It is bound to everything before it; the source does not say what that was when it was written.",
            )
        ],
        empty={
            "word": "sealed only",
            "why": 'The provider sent the seal and no text. Ask with show="summary" to get a summary.',
        },
    )
    made.text("Resolving takes six and a half minutes; that is the change.")
    made.part(
        "call",
        'start_agent(task="Find the commit that changed the resolver")',
        '{\n  "task": "Find the commit that changed the resolver"\n}',
    )
    made.turn("user", title="tool result")
    made.part(
        "result",
        "result of start_agent",
        "\n".join(
            f"{i:3}  checked commit {i * 7919 % 65536:04x}: no change of the resolver"
            for i in range(60)
        ),
        fact("2,880 characters"),
        first="  0  checked commit 0000: no change of the resolver",
    )
    made.turn(
        "assistant",
        fact("claude-opus-5-5"),
        fact("10:13:44"),
        fact("answered"),
        fact("1,870 tokens, 780 reasoning"),
        notes=[
            fact(
                "prefix_changed",
                "The system prompt before this block was changed after it was written.",
                "warn",
            )
        ],
    )
    made.thought(
        "The lock file was deleted in that commit, so every build resolves all versions again. The fix is to restore it and to check in CI that it exists.",
        fact("780 tokens"), fact("6.0 s"),
        seals=[seal("dead", why="Only anthropic/claude-opus-5-5 can open it. The host would refuse it: the system prompt changed. The edit is in turn 0.")],
    )  # fmt: skip
    made.text(
        "The lock file was deleted last Tuesday, so every build resolves all versions anew. Restore it:\n\n```sh\ngit checkout 5f1c~1 -- requirements.lock\ngit commit -m 'Restore the lock file'\n```\n\nThen let CI refuse a build without it.\n\nحُذف ملف القفل، لذلك يعيد كل بناء حلّ جميع الإصدارات من جديد."
    )
    made.turn("user", fact("10:15:20"))
    made.text("Thanks. Show me the graph of the times.")
    made.part(
        "media",
        "times.png",
        "image/png, 312 bytes",
        fact("image/png"),
        fact("312 bytes"),
        image=PIXEL,
    )
    made.turn(
        "assistant",
        fact("claude-opus-5-5"),
        fact("10:15:29"),
        fact("budget exhausted", "All tokens were used before an answer.", "bad"),
    )
    made.thought(
        "The picture shows one",
        fact("unfinished", "It was cut off before its end; it is not sent back as sealed.", "warn"),
    )
    made.part("remark", "No answer", "no answer: the token limit was reached while thinking")
    made.rows[-1]["part"] = None
    return made.rows


def agent_rows():
    made = Rows()
    made.turn("user")
    made.text("Find the commit that changed the resolver")
    made.turn("assistant", fact("claude-haiku-5"))
    made.thought(
        "I look at the commits of last week, from new to old.",
        seals=[seal("refused", why="The host refused it: Invalid signature in thinking block.")],
    )
    made.text("Commit 5f1c deleted requirements.lock.")
    return made.rows


def conversations():
    """Two conversations of one source, and one of another."""
    lanes = [
        {"id": "s1.main", "title": "Find out why the build is slow", "parent": None, "facts": [fact("8 turns")]},
        {"id": "s1.agent", "title": "Find the commit", "parent": "s1.main", "facts": [fact("2 turns")]},
    ]  # fmt: skip
    other = Rows()
    other.turn("user")
    other.text("Our build takes eleven minutes since last week. Find out why.")
    other.turn("assistant", fact("gpt-5.6"))
    other.thought(
        "**Looking at caches**\n\nThe cache key may have changed.",
        fact("summary"),
        seals=[seal("present", "openai", "Only openai/gpt-5.6 can open it.")],
    )
    other.text("The cache key contains the date.")
    second = source("s2", "The same question to GPT", "build/gpt.json") | {"kind": "captured"}
    return {
        "s1.main": {"head": head("s1.main", "Find out why the build is slow", lanes), "rows": main_rows()},
        "s1.agent": {"head": head("s1.agent", "Find the commit", lanes), "rows": agent_rows()},
        "s2.main": {"head": head("s2.main", second["title"], source=second), "rows": other.rows},
    }  # fmt: skip


def plan(rows, target="openai/gpt-5.6"):
    """A plan: thoughts stay, one is rewritten, something is added."""
    marks = {}
    for row in rows:
        if row["kind"] == "thinking":
            marks[str(row["n"])] = [
                {
                    "action": "stays",
                    "label": "stays",
                    "rule": "H2",
                    "why": "Its seal belongs to another provider.",
                    "problems": [],
                }
            ]
    call = next(row for row in rows if row["kind"] == "call")
    marks[str(call["n"])] = [
        {
            "action": "rewritten",
            "label": "is rewritten",
            "rule": "H9",
            "why": "Its id is too long for this API.",
            "problems": [fact("orphan_result", "A result must follow its call.", "bad")],
        }
    ]
    lines = [
        {"op": "same", "text": '{"model": "…"'}, {"op": "removed", "text": '  "thinking": {"type": "adaptive"}'},
        {"op": "added", "text": '  "reasoning": {"effort": "high"}'}, {"op": "same", "text": "}"},
    ]  # fmt: skip
    return {
        "target": target, "sentence": "GPT-5.6 would get everything but 5 thoughts, which are Claude's and stay here; the prompt cache starts anew.", "summary": [fact("5 parts stay", "Seals of another provider are not sent."), fact("1 is rewritten"), fact("1 finding", tone="bad")],
        "marks": marks, "request": lines, "compared": "Compared with the request before turn 8.",
    }  # fmt: skip


DIFF = {
    "left": "turn 1 of Find out why the build is slow, claude-opus-5-5",
    "right": "turn 1 of The same question to GPT, gpt-5.6",
    "facts": [fact("model: claude-opus-5-5, gpt-5.6"), fact("seals: anthropic, openai")],
    "lines": [
        {"op": "removed", "text": "The build became slow last week."}, {"op": "added", "text": "**Looking at caches**"},
        {"op": "same", "text": ""}, {"op": "removed", "text": "I start with the timing report."}, {"op": "added", "text": "The cache key contains the date."},
    ],
}  # fmt: skip
