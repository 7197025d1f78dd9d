"""Stands for a client of somebody else's: finds the gateway as the client whose name it bears would, asks it once, and tells what it saw."""

import json
import os
import re
import signal
import sys
import urllib.error
import urllib.request
from itertools import pairwise
from pathlib import Path

NAME = Path(sys.argv[0]).name
ARGUMENTS = sys.argv[1:]
QUESTION = "What is 15 * 23?"
MESSAGES = [{"role": "user", "content": QUESTION}]


def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def after(*names):
    """What stands behind one of these arguments."""
    return next(value for name, value in pairwise(ARGUMENTS) if name in names)


def claude():
    body = {"model": after("--model"), "max_tokens": 2000, "messages": MESSAGES}
    key = {"authorization": f"Bearer {os.environ['ANTHROPIC_AUTH_TOKEN']}"}
    return f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages", key, body


def codex():
    settings = " ".join(ARGUMENTS)
    url = re.search(r'base_url="([^"]*)"', settings)[1]
    key = os.environ[re.search(r'env_key="([^"]*)"', settings)[1]]
    body = {"model": after("-m"), "input": QUESTION, "store": False}
    return f"{url}/responses", {"authorization": f"Bearer {key}"}, body


def gemini():
    settings = Path(os.environ["GEMINI_CLI_HOME"], ".gemini", "settings.json")
    assert json.loads(settings.read_text())["security"]["auth"]["selectedType"] == "gemini-api-key"
    url = f"{os.environ['GOOGLE_GEMINI_BASE_URL']}/v1beta/models/{after('-m')}:generateContent"
    body = {"contents": [{"role": "user", "parts": [{"text": QUESTION}]}]}
    return url, {"x-goog-api-key": os.environ["GEMINI_API_KEY"]}, body


def qwen():
    body = {"model": os.environ["OPENAI_MODEL"], "messages": MESSAGES}
    key = {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    return f"{os.environ['OPENAI_BASE_URL']}/chat/completions", key, body


def llm():
    """As llm 0.36 with its plugins does: a plugin that knows the model comes before the file, and takes its key from the environment."""
    model = os.environ["LLM_MODEL"]
    if model.startswith(("anthropic/", "gemini/")):
        sys.exit(f"the plugin of {model} asks the provider itself")
    folder = Path(os.environ["LLM_USER_PATH"])
    text = (folder / "extra-openai-models.yaml").read_text()
    row = {name: json.loads(value) for name, value in re.findall(r'(\w+): (".*")', text)}
    assert model == row["model_id"]
    key = json.loads((folder / "keys.json").read_text())[row["api_key_name"]]
    body = {"model": row["model_name"], "messages": MESSAGES}
    return f"{row['api_base']}/chat/completions", {"authorization": f"Bearer {key}"}, body


def ask():
    clients = {"claude": claude, "codex": codex, "gemini": gemini, "llm": llm, "qwen": qwen}
    url, headers, body = clients[NAME]()
    headers = {"content-type": "application/json", **headers}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def wait():
    """Waits for Ctrl+C, and counts how often it came; apart from the terminal only what is passed on."""
    if "apart" in ARGUMENTS:
        os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(77))
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    say("waiting")
    seconds, caught = 1.5 if "apart" in ARGUMENTS else 30.0, 0
    while signal.sigtimedwait([signal.SIGINT], seconds):
        seconds, caught = 0.3, caught + 1
    say(f"caught {caught}")
    sys.exit(42)


if "wait" in ARGUMENTS:
    wait()
if "die" in ARGUMENTS:
    os.kill(os.getpid(), signal.SIGKILL)
status, answer = (0, "") if "silent" in ARGUMENTS else ask()
told = {"status": status, "answer": answer, "arguments": ARGUMENTS, "variables": dict(os.environ)}
say(json.dumps({**told, "stdin": sys.stdin.read()}))
sys.exit(int(os.environ.get("FAKE_EXIT", "0")))
