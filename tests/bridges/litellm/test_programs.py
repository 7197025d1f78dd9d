"""What programs were found to need of litellm besides its functions: names of modules, flags, lists."""

import json
import subprocess
import sys

import pytest

import innervoice.bridges.litellm as ours
from bridges.litellm.talk import SUM

CODE = """
import json, pickle
import innervoice.bridges.litellm as ours
classes = [ours.ModelResponseStream, ours.Usage, ours.RateLimitError]
found = [[kind.__module__ for kind in classes]]
ours.install()
import litellm
found.append([kind.__module__ for kind in classes])
copy = pickle.loads(pickle.dumps(litellm.Usage(prompt_tokens=1)))
found.append([type(copy) is ours.Usage])
ours.uninstall()
found.append([kind.__module__ for kind in classes])
print(json.dumps(found))
"""


def test_classes_are_litellms_while_it_is_replaced():
    """DSPy takes a chunk for one of litellm's by the module of its class."""
    made = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True)
    before, during, pickled, after = json.loads(made.stdout)

    assert ["litellm.types.utils", "litellm.types.utils", "litellm.exceptions"] == during
    assert [True] == pickled
    assert before == after != during


def test_aliases(line, monkeypatch):
    monkeypatch.setattr(ours, "model_alias_map", {"mine": "anthropic/claude-haiku-4-5"})
    options = line.options("anthropic/claude-haiku-4-5")
    answer = ours.completion(**{**options, "model": "mine"}, messages=[SUM])

    assert "345" in answer.choices[0].message.content
    assert "claude-haiku-4-5" == line.body["model"]


def test_the_older_name_of_fallbacks(line, monkeypatch):
    monkeypatch.setattr(ours, "model_fallbacks", ["anthropic/claude-haiku-4-5"])
    answer = line.ask("anthropic/claude-sonnet-4-5+fail=0", [SUM], num_retries=0)

    assert "345" in answer.choices[0].message.content


@pytest.mark.parametrize(("text", "value"), [("True", True), ("false", False), ("x", None), (None, None)])  # fmt: skip
def test_get_secret_bool(monkeypatch, text, value):
    monkeypatch.delenv("A_SWITCH", raising=False)
    if text is not None:
        monkeypatch.setenv("A_SWITCH", text)

    assert value is ours.get_secret_bool("A_SWITCH")


def test_parameters_of_chat():
    listed = set(ours.OPENAI_CHAT_COMPLETION_PARAMS)

    assert {"tools", "reasoning_effort", "seed"} <= listed
    assert set(ours.get_supported_openai_params("gpt-5.6", "openai")) <= listed


class LooksLikeALogger:
    """crewAI's counter of tokens, which crewAI calls itself."""

    def __init__(self):
        self.heard = 0

    def log_success_event(self, *_):
        self.heard += 1


@pytest.mark.parametrize("how", ["whole", "streamed", "awaited", "awaited-streamed"])
def test_objects_that_only_look_like_loggers_are_not_called(line, monkeypatch, how):
    counter = LooksLikeALogger()
    monkeypatch.setattr(ours, "callbacks", [counter])
    answer = line.whole("anthropic/claude-haiku-4-5", [SUM], how=how)

    assert ("345" in answer.choices[0].message.content, 0) == (True, counter.heard)
