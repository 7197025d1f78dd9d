"""A folder of files that shows everything with the real server: seals that fit and are dead, an empty block, tools, a sub-agent, Arabic."""

from __future__ import annotations

import json
from base64 import b64encode

import innervoice as iv

MODEL = "anthropic/claude-opus-5-5"
QUESTION = "Our build takes eleven minutes since last week. Find out why, and propose a fix.\n\nيرجى الإجابة بالعربية أيضًا في سطر واحد."
FIRST = (
    "The build became slow last week, so something changed then: a dependency, a cache key, or the runner. I should look at evidence before guessing.\n\n"
    "The cheapest evidence is the timing report; I read it first, and then the lock file."
)
LAST = "The lock file was deleted in that commit, so every build resolves all versions again. The fix is to restore it, and to let CI refuse a build without it."
ANSWER = (
    "The lock file was deleted last Tuesday, so every build resolves all versions anew. Restore it:\n\n"
    "```sh\ngit checkout 5f1c~1 -- requirements.lock\ngit commit -m 'Restore the lock file'\n```\n\nThen let CI refuse a build without it.\n\n"
    "حُذف ملف القفل، لذلك يعيد كل بناء حلّ جميع الإصدارات من جديد."
)
TIMES = "resolve    391 s\ncompile    142 s\ntest       118 s\npackage     17 s"


def _seal(name):
    return b64encode(f"a seal of this sample: {name}, ".encode() * 12).decode()


def _thinks(name, text):
    return {"type": "thinking", "thinking": text, "signature": _seal(name)}


def _calls(id_, path):
    return {"type": "tool_use", "id": id_, "name": "read_file", "input": {"path": path}}


def _answer(history, number, *blocks, stop="end_turn", tokens=600):
    """What Claude answers to a history, read as the library reads it: seals know what is before them."""
    body = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": list(blocks), "stop_reason": stop,
        "usage": {"input_tokens": 1800 + 700 * number, "output_tokens": tokens},
    }  # fmt: skip
    history = [getattr(message, "message", message) for message in history]
    return iv.decode(
        body, provider="anthropic", request=iv.Request(MODEL, history, reasoning="high")
    )


def conversation(edited=False):
    """The history; `edited`: the result of the second call was shortened after the last thought was written."""
    history = [iv.user(QUESTION)]
    history.append(_answer(history, 0, _thinks("first", FIRST), {"type": "text", "text": "I start with the timing report."}, _calls("toolu_1", "build/timing.txt"), stop="tool_use", tokens=612))  # fmt: skip
    history.append(iv.tool_result("toolu_1", TIMES))
    history.append(_answer(history, 1, _thinks("second", ""), {"type": "text", "text": "Resolving takes six and a half minutes; that is the change."}, _calls("toolu_2", "git.log"), stop="tool_use", tokens=540))  # fmt: skip
    log = "\n".join(
        f"{number:3}  {number * 7919 % 65536:04x}  no change of the resolver"
        for number in range(40)
    )
    history.append(iv.tool_result("toolu_2", log))
    before = (
        [*history[:-1], iv.tool_result("toolu_2", log + "\n 41  5f1c  delete requirements.lock")]
        if edited
        else history
    )
    history.append(
        _answer(before, 2, _thinks("third", LAST), {"type": "text", "text": ANSWER}, tokens=780)
    )
    return [*history, iv.user("Thanks. How much faster will it be?")]


def _line(uuid, parent, kind, message, second, **more):
    stamp = f"2026-11-16T10:12:{second:02}.000Z"
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "5e55",
        "timestamp": stamp,
        "cwd": "/work",
        "version": "2.1.0",
        "message": message,
        **more,
    }


def session():
    """A session of Claude Code that starts a sub-agent: its file, and the sub-agent's."""

    def claude(id_, *content, stop="end_turn"):
        return {
            "id": id_,
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": list(content),
            "stop_reason": stop,
            "usage": {"input_tokens": 900, "output_tokens": 320},
        }

    task = {
        "type": "tool_use",
        "id": "toolu_9",
        "name": "Task",
        "input": {
            "description": "Find the commit",
            "prompt": "Find the commit that changed the resolver.",
        },
    }
    main = [
        _line(
            "u0",
            None,
            "user",
            {"role": "user", "content": "Why does the resolver run at every build?"},
            1,
        ),
        _line(
            "u1",
            "u0",
            "assistant",
            claude(
                "msg_a",
                _thinks(
                    "task",
                    "Somebody must look through the history; that is work for an agent of its own.",
                ),
                task,
                stop="tool_use",
            ),
            6,
        ),
        _line(
            "u2",
            "u1",
            "user",
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_9",
                        "content": "Commit 5f1c deleted requirements.lock.",
                    }
                ],
            },
            40,
            toolUseResult={"agentId": "a1"},
        ),
        _line(
            "u3",
            "u2",
            "assistant",
            claude("msg_b", {"type": "text", "text": "Commit 5f1c deleted the lock file."}),
            44,
        ),
    ]
    agent = [
        _line(
            "v0",
            None,
            "user",
            {"role": "user", "content": "Find the commit that changed the resolver."},
            10,
            isSidechain=True,
            agentId="a1",
        ),
        _line(
            "v1",
            "v0",
            "assistant",
            claude(
                "msg_c",
                _thinks("agent", "I look at the commits of last week, from new to old."),
                {"type": "text", "text": "Commit 5f1c deleted requirements.lock."},
            ),
            35,
            isSidechain=True,
            agentId="a1",
        ),
    ]
    return main, agent


GPT = {
    "id": "resp_1", "object": "response", "model": "gpt-5.6", "status": "completed",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "**Looking at caches**\n\nThe cache key may contain the date, so that it never fits."}], "encrypted_content": _seal("gpt")},
        {"type": "message", "id": "m_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "The cache key contains the date.", "annotations": []}]},
    ],
    "usage": {"input_tokens": 300, "output_tokens": 210, "output_tokens_details": {"reasoning_tokens": 150}, "total_tokens": 510},
}  # fmt: skip


def write(folder):
    """Writes the files into a folder."""
    main, agent = session()
    for name, content in {
        "slow-build.json": iv.to_json(conversation()),
        "slow-build-edited.json": iv.to_json(conversation(edited=True)),
        "gpt.json": json.dumps(GPT).encode(),
        "claude/5e55.jsonl": "".join(json.dumps(line) + "\n" for line in main).encode(),
        "claude/5e55/subagents/agent-a1.jsonl": "".join(
            json.dumps(line) + "\n" for line in agent
        ).encode(),
    }.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder
