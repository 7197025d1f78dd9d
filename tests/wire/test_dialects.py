"""Every dialect is one folder: it offers the same members, and nobody else knows its name."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import innervoice as iv
from innervoice.answering.writing import exact_answer, exact_stream
from innervoice.emulator.dialect_server import DialectServer, server_for
from innervoice.errors import UsageError
from innervoice.frames.frame import Frame
from innervoice.wire.dialect import Code, Dialect
from innervoice.wire.dialects import (
    DEFAULT,
    DIALECTS,
    HISTORY_MEMBERS,
    dialect_named,
    dialect_of,
    history_dialect_of,
    kin_at,
    rules_of,
)
from innervoice.wire.protocol import Context, Reader
from innervoice.wire.replay import Replay

SOURCE = Path(iv.__file__).parent
FOLDERS = sorted(path.parent.name for path in (SOURCE / "wire").glob("*/__init__.py"))

# Literals that are spelled like a dialect and mean something else.
OTHER_MEANINGS = {
    # ids of providers
    "catalog/refresh.py": {"anthropic"},
    "cli/models.py": {"anthropic"},
    "emulator/chat.py": {"anthropic"},
    "sources/langchain/__init__.py": {"gemini"},
    # types of messages, and the AI SDK's names of providers
    "sources/gemini_cli.py": {"gemini"},
    "sources/opencode/turns.py": {"anthropic", "gemini"},
    "sources/writers/writer.py": {"gemini"},
    # the command that starts Gemini CLI
    "sources/writers/gemini_cli.py": {"gemini"},
    # inline formats, called after the model family that writes them
    "inline/formats.py": {"cohere", "mistral"},
}
# Bridges map what another library calls its providers and parameters to dialects, by name.
NAMES_DIALECTS = ("wire", "bridges")


def test_registry_is_the_folders():
    assert sorted(dialect_named(name).folder for name in DIALECTS) == FOLDERS
    assert {dialect_named(name).history for name in DIALECTS} == set(HISTORY_MEMBERS)
    assert DEFAULT in DIALECTS


@pytest.mark.parametrize("name", DIALECTS)
def test_members(name):
    """Each fact has the type that its class says."""
    dialect = dialect_named(name)
    plain = {
        "str": str,
        "bytes": bytes,
        "bool": bool,
        "str | None": (str, type(None)),
        "re.Pattern[str]": re.Pattern,
        "Code": Code,
    }

    assert type(dialect) is Dialect
    assert dialect.name == name
    for member, kind in Dialect.__annotations__.items():
        value = getattr(dialect, member)
        if value is None and kind.endswith("| None"):
            continue
        if kind.startswith("Callable"):
            assert isinstance(value, Callable), member
        elif kind.startswith("dict"):
            assert isinstance(value, dict), member
        elif kind.startswith(("tuple", "frozenset")):
            assert isinstance(value, (tuple, frozenset)), member
            item_type = bytes if kind.startswith("tuple[bytes") else str
            assert all(isinstance(item, item_type) for item in value), member
        else:
            assert isinstance(value, plain[kind]), member
    assert set(dialect.lacks) <= set(iv.Request.__struct_fields__)
    assert ("{verb}" in dialect.path) == any(dialect.verbs)
    assert dialect.kin in (None, *DIALECTS)
    assert isinstance(server_for(name), DialectServer)
    assert isinstance(dialect.replay, Replay)
    for member in Code.__annotations__:
        assert hasattr(dialect, member), member


@pytest.mark.parametrize("name", DIALECTS)
def test_reading_writing_serving_refusing(name):
    """A request is written, read again and checked; an answer to it is served, framed and read."""
    dialect = dialect_named(name)
    provider = dialect.home
    wire = iv.encode(iv.Request(f"{provider}/some-model", (iv.user("hi"),), dialect=name))
    read = iv.decode_request(wire.body, dialect=name)
    answer = iv.Response(parts=(iv.Text("hello"),), ended=True, finish_reason="stop")
    body = exact_answer(answer, dialect.name).body
    frames = list(exact_stream(answer, dialect.name, 3))
    streamed = iv.StreamDecoder(dialect=name)
    for frame in frames:
        streamed.feed(dialect.framing(frame))
    streamed.finish()

    assert wire.dialect == name
    assert dialect.history in wire.body
    assert [message.text for message in read.messages] == ["hi"]
    assert issubclass(dialect.reader, Reader)
    assert dialect.reader(Context()).dialect == name
    assert all(isinstance(frame, Frame) for frame in frames)
    assert iv.decode(body, dialect=name).text == streamed.response.text == "hello"
    assert rules_of(name) is dialect.rules
    assert dialect_of(body) == (dialect.kin or name)
    assert len(dialect.turn_of(body)) == 1


def test_kin_looks_the_same():
    assert kin_at("openai-chat", "mistral") == "mistral"
    assert kin_at("anthropic", "mistral") == "anthropic"
    assert kin_at("openai-chat", "anthropic") == "openai-chat"
    assert kin_at(None, "mistral") is None


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([{"role": "user", "parts": [{"text": "a"}]}], "gemini"),
        ([{"role": "assistant", "content": [{"type": "tool_use"}]}], "anthropic"),
        ([{"type": "message", "content": [{"type": "thinking"}]}], "anthropic"),
        ([{"type": "reasoning"}], "openai-responses"),
        ([{"role": "user", "content": "a"}], "openai-chat"),
        (["a"], None),
        ([{"content": "a"}], None),
    ],
)
def test_histories_are_recognised(items, expected):
    assert history_dialect_of(items) == expected


@pytest.mark.parametrize("name", ["chat", "", None, 3])
def test_other_names_are_refused(name):
    with pytest.raises(UsageError, match="dialect must be one of openai-chat, anthropic"):
        dialect_named(name)


def test_nobody_else_names_a_dialect():
    """A dialect's name stands in its folder and in the registry; elsewhere it would be a fact in the wrong place."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE)
        if place.parts[0] in NAMES_DIALECTS:
            continue
        names = {
            node.value
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Constant) and node.value in DIALECTS
        }
        if names:
            found[place.as_posix()] = names

    assert found == OTHER_MEANINGS
