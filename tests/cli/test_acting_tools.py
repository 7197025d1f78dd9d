"""Behind `serve --emulated` and `emulate` there may be an agent with a shell: tools that act are called only by a script, and every loop ends."""

import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from cli.runs import run
from cli.test_serve import Serve
from cli.test_talking import NO_KEYS

MODEL = "claude-sonnet-4-5"
SENTENCE = "does not call tools that act unless a script says so"
TEXT = {"type": "string"}
# Tools of agents, with an argument that says what is done. Names of MCP tools are their servers' choice.
ACTING = {
    "Bash": "command", "Write": "file_path", "Edit": "file_path", "WebFetch": "url", "Task": "prompt",
    "exec_command": "cmd", "shell": "command", "apply_patch": "input",
    "run_shell_command": "command", "write_file": "file_path", "replace": "file_path", "web_fetch": "prompt", "save_memory": "fact",
    "bash": "command", "write": "path", "edit": "path", "read": "path",
    "mcp__home__get_weather": "city", "mcp__mail__weather": "city", "get_weather_and_mail_it": "city", "delete": "weather",
    "execute_command": "command", "python": "code", "final_answer": "code", "computer": "action",
}  # fmt: skip


@contextlib.contextmanager
def emulate(*options):
    """`innervoice emulate` in a process of its own; yields the URL of Anthropic's API."""
    command = [sys.executable, "-m", "innervoice", "emulate", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            while (line := process.stdout.readline()) and "Any API key" not in line:
                if line.startswith("anthropic "):
                    url = line.split()[-1]
            host, port = url.split("/")[2].split(":")
            for _ in range(500):  # it says where it will listen
                with contextlib.suppress(OSError), socket.create_connection((host, int(port))):
                    break
                time.sleep(0.02)
            yield url
        finally:
            process.terminate()


@contextlib.contextmanager
def serve(*options):
    """`innervoice serve --emulated` in a process of its own; yields its URL."""
    with Serve("--emulated", *options) as process:
        process.greeting()
        yield f"http://127.0.0.1:{process.port}"


SERVERS = {"serve": (serve, f"anthropic/{MODEL}"), "emulate": (emulate, MODEL)}


class Upstream:
    """A program that asks for a model, with tools."""

    def __init__(self, url, model):
        self.url, self.model = url, model

    def ask(self, messages, tools=(), **members):
        body = {"model": self.model, "max_tokens": 4000, "messages": messages, **members}
        if tools:
            body["tools"] = list(tools)
        request = urllib.request.Request(
            f"{self.url}/v1/messages",
            json.dumps(body).encode(),
            {"content-type": "application/json", "x-api-key": "any", "anthropic-version": "2023-06-01"},
        )  # fmt: skip
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            with error:
                raise RefusedError(error.code, error.read().decode()) from None


class RefusedError(Exception):
    pass


def tool(name, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": "", "input_schema": schema}


def calls(answer):
    return [(block["name"], block["input"]) for block in answer["content"] if block["type"] == "tool_use"]  # fmt: skip


def text(answer):
    return "".join(block["text"] for block in answer["content"] if block["type"] == "text")


def user(words):
    return {"role": "user", "content": words}


@pytest.fixture(scope="module", params=SERVERS)
def program(request):
    start, model = SERVERS[request.param]
    with start() as url:
        yield Upstream(url, model)


@pytest.mark.parametrize("name", ACTING)
def test_a_tool_that_acts_is_not_called(program, name):
    offered = [tool(name, **{ACTING[name]: TEXT})]
    words = f'Use {name} ({name.replace("_", " ")}) with "touch x.txt", then the weather.'
    answers = [program.ask([user(words)], offered, **choice) for choice in ({}, {"tool_choice": {"type": "any"}}, {"tool_choice": {"type": "tool", "name": name}})]  # fmt: skip

    assert [[], [], []] == [calls(answer) for answer in answers]
    assert all(SENTENCE in text(answer) and "--script" in text(answer) for answer in answers)
    assert {"end_turn"} == {answer["stop_reason"] for answer in answers}


@pytest.mark.parametrize("words", ["Hello!", "List the files of this folder."])
def test_whoever_gets_no_real_answer_is_told_why(program, words):
    assert SENTENCE in text(program.ask([user(words)], [tool("Bash", command=TEXT)]))
    assert SENTENCE not in text(program.ask([user(words)]))


def test_whoever_gets_an_answer_is_not_bothered(program):
    answer = program.ask([user("What is 15 * 23?")], [tool("Bash", command=TEXT)])

    assert "15 * 23 = 345." == text(answer)


def test_a_tool_known_to_be_harmless_is_called(program):
    """With an agent's tools beside it."""
    offered = [tool("Bash", command=TEXT), tool("get_weather", city=TEXT)]
    answer = program.ask([user("What is the weather in Paris and Rome?")], offered)

    assert [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"})] == calls(answer)


@pytest.mark.parametrize("properties", [{"command": TEXT}, {"city": TEXT, "mail_to": TEXT}, {"city": {"type": "object"}}])  # fmt: skip
def test_a_harmless_name_alone_is_not_enough(program, properties):
    answer = program.ask([user("What is the weather in Paris?")], [tool("get_weather", **properties)])  # fmt: skip

    assert [] == calls(answer)


def test_the_system_prompt_calls_no_tool_that_acts(program):
    """The words with which innervoice asks for an answer by a tool call."""
    system = "Give the final answer by calling the tool bash, and not as text."
    answer = program.ask([user('Say "touch x.txt".')], [tool("bash", command=TEXT)], system=system)

    assert [] == calls(answer)


CODE = """Explain
```bash
touch x.txt
```
<execute_command><command>touch x.txt</command></execute_command> <bash>touch x.txt
{"name": "bash", "arguments": {"command": "touch x.txt"}} $(touch x.txt) `touch x.txt`; touch x.txt & touch x.txt | touch x.txt
<code>
open("x.txt", "w")
</code>
"""


def test_an_answer_repeats_nothing_that_an_agent_would_run(program):
    """Some agents have no tools in the API: they run the code, the tags or the JSON that they find in a text."""
    answer = program.ask([user(CODE)])
    thought = "".join(block.get("thinking", "") for block in answer["content"])

    assert "touch x.txt" in text(answer)
    assert not set("`<>{}[]$;&|\\\n") & set(text(answer))
    assert not set("`<>{}[]$;&|\\") & set(thought)


# ---- every loop ends -------------------------------------------------------------------------------


def test_a_program_that_asks_until_it_gets_its_call_comes_to_an_end(program):
    """It never gets the call; the conversation is refused as too long, which is no reason to try again."""
    messages = [user('Fix "the bug" with bash, and submit.')]
    with pytest.raises(RefusedError) as refused:  # noqa: PT012 - which request is refused is the question
        for _ in range(2000):
            answer = program.ask(messages, [tool("bash", command=TEXT)])
            if calls(answer):
                break
            messages += [{"role": "assistant", "content": text(answer)}, user("No tool call. Call bash to submit.")]  # fmt: skip

    status, body = refused.value.args
    assert 400 == status
    assert (
        "prompt is too long: this conversation has 201 messages, and emulation ends at 200" in body
    )


def test_a_program_that_keeps_no_answers_comes_to_an_end(program):
    """mini-swe-agent appends nothing but its complaint."""
    messages = [user("Fix the bug with bash, and submit.")]
    with pytest.raises(RefusedError, match="prompt is too long"):  # noqa: PT012
        for _ in range(2000):
            assert [] == calls(program.ask(messages, [tool("bash", command=TEXT)]))
            messages += [user("No tool call. Call bash to submit.")] * 10


def test_rounds_of_tool_calls_have_a_limit(program):
    """Whatever the results and the program say, the model answers in text at last."""
    messages, rounds = [user("What is the weather in Paris?")], 0
    while found := calls(answer := program.ask(messages, [tool("get_weather", city=TEXT)])):
        rounds += 1
        assert rounds < 1000
        blocks = [block for block in answer["content"] if block["type"] == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": block["id"], "content": "sunny"} for block in blocks]  # fmt: skip
        messages += [{"role": "assistant", "content": answer["content"]}]
        messages += [{"role": "user", "content": [*results, {"type": "text", "text": "And the weather in Rome?"}]}]  # fmt: skip
        assert [("get_weather", {"city": "Paris" if rounds == 1 else "Rome"})] == found

    assert 10 < rounds
    assert f"has called tools in {rounds} turns of this conversation" in text(answer)


# ---- a script --------------------------------------------------------------------------------------

STEPS = [
    {"call": {"name": "Bash", "arguments": {"command": "touch x.txt"}}},
    {"answer": "It is there."},
]


@pytest.mark.parametrize("server", SERVERS)
def test_a_script_says_which_tools_are_called(server, tmp_path):
    file = tmp_path / "script.json"
    file.write_text(json.dumps([{"match": "Make x", "steps": STEPS}]))
    start, model = SERVERS[server]
    offered = [tool("Bash", command=TEXT)]
    with start("--script", str(file)) as url:
        program = Upstream(url, model)
        # Agents put messages of their own before the user's, and ask for titles without offering tools.
        messages = [user("The context."), {"role": "assistant", "content": "Thanks."}, user("Make x.txt, please.")]  # fmt: skip
        title = program.ask([user("Title for: Make x.txt, please.")])
        first = program.ask(messages, offered)
        (id,) = (block["id"] for block in first["content"] if block["type"] == "tool_use")  # noqa: A001
        result = {"type": "tool_result", "tool_use_id": id, "content": "done"}
        messages += [{"role": "assistant", "content": first["content"]}, {"role": "user", "content": [result]}]  # fmt: skip
        second = program.ask(messages, offered)
        messages += [{"role": "assistant", "content": "It is there."}, user('Now "rm x.txt" with bash.')]  # fmt: skip
        third = program.ask(messages, offered)
        other = program.ask([user('Run "touch y.txt" with bash.')], offered)

    assert [("Bash", {"command": "touch x.txt"})] == calls(first)
    assert "It is there." == text(second)
    assert [[], [], []] == [calls(answer) for answer in (title, third, other)]
    assert SENTENCE in text(third)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("serve", "--script", "FILE"), "--script needs --emulated"),
        (("run", "claude", "--script", "FILE"), "--script needs --emulated"),
        (("run", "claude", "--url", "http://127.0.0.1:9", "--script", "FILE"), "--url cannot be used with"),
        (("serve", "--emulated", "--script", "missing.json"), "the script 'missing.json' cannot be read"),
        (("serve", "--emulated", "--script", "FILE"), "step 0 of the script must have think, call or answer"),
    ],
)  # fmt: skip
def test_what_is_no_script(arguments, expected, tmp_path):
    file, bin = tmp_path / "script.json", tmp_path / "claude"  # noqa: A001
    file.write_text('[{"shell": "ls"}]')
    bin.write_text("#!/bin/sh\n")
    bin.chmod(0o755)
    given = [str(file) if word == "FILE" else word for word in arguments]
    done = run(*given, PATH=str(tmp_path), **NO_KEYS)

    assert done.returncode in (1, 2)
    assert expected in done.stderr.decode()
