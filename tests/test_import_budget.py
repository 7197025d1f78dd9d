"""Importing is cheap, counted in modules and not by a clock."""

import subprocess
import sys


def modules_after(code: str) -> set[str]:
    script = f"import sys; before = set(sys.modules); {code}; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_alone():
    """The package itself, and what `importlib` and `typing` need; msgspec comes with the first use."""
    loaded = modules_after("import innervoice")

    assert {name for name in loaded if name.startswith("innervoice")} == {"innervoice"}
    assert "msgspec" not in loaded
    assert len(loaded) <= 20, sorted(loaded)


def test_first_use():
    """What is not used is not loaded: no HTTP, no command line, no terminal."""
    loaded = modules_after("import innervoice; innervoice.split('<think>a</think>b').text")

    assert not {"httpx2", "click", "rich", "asyncio", "ssl", "tomllib"} & loaded
    assert len([name for name in loaded if name.startswith("innervoice")]) <= 30
    assert len(loaded) <= 130, len(loaded)


def test_decoding_loads_its_dialect_only():
    """A reader is loaded when an answer of its dialect comes."""
    loaded = modules_after(
        "import innervoice; innervoice.decode({'choices': [{'message': {'content': 'a'}}]})"
    )

    assert "innervoice.wire.chat.read" in loaded
    assert (
        not {"innervoice.wire.gemini.read", "innervoice.wire.responses.read", "httpx2", "click"}
        & loaded
    )
    assert len([name for name in loaded if name.startswith("innervoice")]) <= 55
