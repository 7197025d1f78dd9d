"""Sessions and captured streams to view, made for the tests."""

import json

__all__ = ["SEAL", "SECRET", "recast_stream", "session", "session_lines", "stream"]

SEAL = "EqoBCkgIARABGAIiQLongSealOfTheTest0123456789"
SECRET = "sk-ant-api03-abcdefghijklmnop1234567890"


def _line(kind, number, message, **more):
    before = f"u{number - 1}" if number else None
    stamp = f"2026-11-16T10:{number // 60:02}:{number % 60:02}.000Z"
    head = {"type": kind, "uuid": f"u{number}", "parentUuid": before, "sessionId": "s1"}
    return (
        head | {"timestamp": stamp, "cwd": "/work", "version": "2.1.0", "message": message} | more
    )


def _assistant(number, id_, block, stop=None):
    message = {"id": id_, "type": "message", "role": "assistant", "model": "claude-opus-5-5"}
    usage = {"input_tokens": 10, "output_tokens": 50}
    return _line("assistant", number, message | {"content": [block], "stop_reason": stop, "usage": usage})  # fmt: skip


def session_lines(question="List the files", rounds=1):
    """The lines of a session: in each round a thought, a call and its result, then an answer."""
    lines = [_line("user", 0, {"role": "user", "content": question})]
    for place in range(rounds):
        thought = {"type": "thinking", "thinking": f"Round {place} ünï 🎉. I run ls now and look.\nThen I say it.", "signature": SEAL}  # fmt: skip
        call = {"type": "tool_use", "id": f"toolu_{place}", "name": "Bash", "input": {"command": "ls"}}  # fmt: skip
        result = {"type": "tool_result", "tool_use_id": f"toolu_{place}", "content": f"a.py <b>{SECRET}</b>"}  # fmt: skip
        number = len(lines)
        lines += [
            _assistant(number, f"msg_{place}", thought),
            _assistant(number + 1, f"msg_{place}", call, "tool_use"),
            _line("user", number + 2, {"role": "user", "content": [result]}),
        ]
    text = {"type": "text", "text": "Two files: a.py </script><script>alert(1)</script>."}
    return [*lines, _assistant(len(lines), "msg_last", text, "end_turn")]


def session(question="List the files", rounds=1):
    """A session file."""
    return b"".join(json.dumps(line).encode() + b"\n" for line in session_lines(question, rounds))


def _chunk(delta, finish=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "qwen3-32b", "choices": [choice]}  # fmt: skip
    return f"data: {json.dumps(body)}\n\n".encode()


def stream(
    pieces=("<think>", "I add ", "one and\none 🎉", " ü.", "</think>", "\n\nIt is ", "two."),
):
    """A captured stream with reasoning written into its text."""
    chunks = [_chunk({"role": "assistant", "content": ""})]
    chunks += [_chunk({"content": piece}) for piece in pieces]
    return b"".join([*chunks, _chunk({}, "stop"), b"data: [DONE]\n\n"])


def recast_stream():
    """A stream whose reasoning turns out to be one only at its end: the opening tag is missing."""
    return stream(("I add one", " and one.", " It makes two.", "</think>", "It is two."))
