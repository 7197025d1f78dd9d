"""The real clients of the front ends, behind `read_stream.js`, `chat_loop.js` and `langchain_loop.js`, and what the tests ask of them."""

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from innervoice.bridges import ag_ui, vercel_ui

FOLDER = Path(__file__).parent
INSTALLED = FOLDER.parents[2] / ".npm-fronts"
FRONTS = ("ag-ui", "ai", "ai-6")


class NodeProgram:
    """One process of Node that answers every line it gets with one of its own."""

    def __init__(self, script):
        if not shutil.which("node") or not (INSTALLED / ".installed").is_file():
            pytest.skip("the packages of the front ends are not installed; scripts/fronts does it")
        shutil.copy(FOLDER / script, INSTALLED)
        self._process = subprocess.Popen(
            ["node", script], cwd=INSTALLED, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, request):
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=20)


class FrontEnds(NodeProgram):
    """Reads streams as front ends do."""

    def read(self, front, stream, messages=None):
        request = {
            "front": front,
            "stream": base64.b64encode(stream).decode(),
            "messages": [asked(front)] if messages is None else messages,
        }
        return self.ask(request)


class Programs(NodeProgram):
    """Leads tool loops as programs on the AI SDK or on LangChain do."""

    def lead(self, sdk, url, question, models, **how):
        return self.ask({"sdk": sdk, "url": url, "question": question, "models": models, **how})


@pytest.fixture(scope="session")
def clients():
    found = FrontEnds("read_stream.js")
    yield found
    found.close()


@pytest.fixture(scope="session")
def programs():
    found = Programs("chat_loop.js")
    yield found
    found.close()


@pytest.fixture(scope="session")
def chains():
    found = Programs("langchain_loop.js")
    yield found
    found.close()


def asked(front, text="hi"):
    if front == "ag-ui":
        return {"id": "question", "role": "user", "content": text}
    return {"id": "question", "role": "user", "parts": [{"type": "text", "text": text}]}


def written(front, events):
    if front == "ag-ui":
        return b"".join(ag_ui.encode_stream(events, "thread-1", "run-1"))
    return b"".join(vercel_ui.encode_stream(events))


def read_back(front, messages):
    return (ag_ui if front == "ag-ui" else vercel_ui).read_messages(messages)


def said(front, messages):
    """Text, reasoning and calls of what a client shows, without the question."""
    if front == "ag-ui":
        return {
            "text": [
                item["content"] for item in of_role(messages, "assistant") if item.get("content")
            ],
            "thinking": [
                item["content"] for item in of_role(messages, "reasoning") if item["content"]
            ],
            "calls": [
                (call["function"]["name"], call["function"]["arguments"])
                for item in of_role(messages, "assistant")
                for call in item.get("toolCalls") or ()
            ],
        }
    parts = [part for item in of_role(messages, "assistant") for part in item["parts"]]
    return {
        "text": [part["text"] for part in parts if part["type"] == "text" and part["text"]],
        "thinking": [
            part["text"] for part in parts if part["type"] == "reasoning" and part["text"]
        ],
        "calls": [
            (part["type"].removeprefix("tool-"), json.dumps(part.get("input")))
            for part in parts
            if "toolCallId" in part
        ],
    }


def with_results(front, messages, result):
    """The same chat after every tool of the last turn gave this result."""
    if front == "ag-ui":
        ids = [call["id"] for item in messages for call in item.get("toolCalls") or ()]
        return [
            *messages,
            *(
                {"id": f"r-{name}", "role": "tool", "toolCallId": name, "content": result}
                for name in ids
            ),
        ]
    answered = {"state": "output-available", "output": result}
    return [
        {
            **item,
            "parts": [
                {**part, **(answered if "toolCallId" in part else {})} for part in item["parts"]
            ],
        }
        for item in messages
    ]


def of_role(messages, role):
    return [item for item in messages if item["role"] == role]
