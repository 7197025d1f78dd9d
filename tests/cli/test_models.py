"""`innervoice models`: cards for people, and newer facts by file or URL."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cli.runs import run

MODELS_DEV = {
    "deepseek": {"id": "deepseek", "models": {"deepseek-v9": {"id": "deepseek-v9", "reasoning": True, "reasoning_options": [{"type": "toggle"}, {"type": "effort", "values": ["none", "low", "max"]}], "limit": {"output": 99_000}, "interleaved": {"field": "reasoning_content"}}}},
    "unheard-of": {"models": {"x": {"reasoning": True}}},
}  # fmt: skip
ANTHROPIC = {
    "data": [
        {
            "id": "claude-new-9",
            "capabilities": {
                "thinking": {
                    "types": {"adaptive": {"supported": True}, "disabled": {"supported": False}}
                },
                "effort": {"low": {"supported": True}, "max": {"supported": True}},
            },
        }
    ]
}
OPENROUTER = {
    "data": [
        {
            "id": "x/new-1",
            "reasoning": {
                "mandatory": True,
                "supported_efforts": ["high", "low"],
                "default_effort": "low",
            },
        }
    ]
}


def test_overview():
    done = run("models")
    assert 0 == done.returncode
    assert b"anthropic " in done.stdout
    assert 40 < len(done.stdout.splitlines())


def test_a_model():
    shown = run("models", "anthropic/claude-opus-5-5").stdout.decode()
    for word in (
        "anthropic-adaptive",
        "low, medium, high, xhigh, max",
        "can be switched off: no",
        "source  ",
        "ANTHROPIC_API_KEY",
    ):
        assert word in shown
    assert "qwen3" not in shown
    assert "<tool_call>" not in run("models", "ollama/qwen3:8b").stdout.decode()


@pytest.mark.parametrize(
    ("data", "model", "words"),
    [
        (
            MODELS_DEV,
            "deepseek/deepseek-v9",
            ("low, max", "can be switched off: yes", "reasoning_content"),
        ),
        (ANTHROPIC, "anthropic/claude-new-9", ("low, max", "can be switched off: no")),
        (
            OPENROUTER,
            "openrouter/x/new-1",
            ("low, high", "when nothing is sent: low", "can be switched off: no"),
        ),
    ],
)
def test_refresh(data, model, words, tmp_path):
    """Newer facts are written to the user's file, and shown from then on."""
    file = tmp_path / "facts.json"
    file.write_text(json.dumps(data))
    home = {"INNERVOICE_HOME": str(tmp_path)}
    done = run("models", "refresh", str(file), **home)
    assert (0, b"1 rows written to") == (done.returncode, done.stdout[:17])
    shown = run("models", model, **home).stdout.decode()
    for word in words:
        assert word in shown
    assert "facts.json" in shown


def test_refresh_says_what_it_took_and_what_it_did_not_know(tmp_path):
    """Names out of a file are printed as text, without its control characters."""
    file = tmp_path / "facts.json"
    models = {"deepseek-v9": {"reasoning": True, "reasoning_options": [{"type": "slider"}], "limit": {"context": 7}}, "chat-1": {"reasoning": False}}  # fmt: skip
    data = {
        "deepseek": {"models": models},
        "new\x1b[31mhost": {"models": {"x": {"reasoning": True}}},
    }
    file.write_text(json.dumps(data))
    said = run("models", "refresh", str(file), INNERVOICE_HOME=str(tmp_path)).stdout.decode()

    for words in ("1 rows written", "new values  context 1", "1 models that do not reason", "1 models of 1 providers that are unknown here: 'new\\x1b[31mhost'", "not known   reasoning option 'slider' (1)"):  # fmt: skip
        assert words in said
    assert "\x1b" not in said


def test_refresh_by_url(tmp_path):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(MODELS_DEV).encode())

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    done = run(
        "models",
        "refresh",
        f"http://127.0.0.1:{server.server_port}/api.json",
        INNERVOICE_HOME=str(tmp_path),
    )
    server.shutdown()
    server.server_close()
    assert b"1 rows written" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["refresh"],
        ["refresh", "no-such-file"],
        ["refresh", "README.md"],
        ["nobody/model"],
    ],
)
def test_bad_usage(arguments, tmp_path):
    assert 2 == run("models", *arguments, INNERVOICE_HOME=str(tmp_path)).returncode


def test_the_rows_of_a_provider():
    lines = run("models", "anthropic").stdout.decode().splitlines()
    assert "api.anthropic.com" in lines[0]
    assert any("claude-opus-5-5" in line and "anthropic-adaptive" in line for line in lines)
    assert not any("gpt" in line for line in lines)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("claude-opus-5.5", "anthropic/claude-opus-5-5"),
        ("gpt-56", "openai/gpt-5.6"),
        ("antropic", "anthropic"),
        ("openia", "openai"),
    ],
)
def test_a_misspelled_name_is_recognized_as_a_model_or_a_provider(typed, meant):
    """`claude-opus-5.5` is nearer to the model than to the provider `claude-aws`."""
    said = run("models", typed).stderr.decode()
    assert f"id you mean {meant}" in said
