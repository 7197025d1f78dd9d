"""`except openai.RateLimitError` catches ours, whenever `openai` is imported; and without it nothing changes.

Most cases are programs of their own, because a module is imported once.
"""

import subprocess
import sys
from pathlib import Path

import pytest

import innervoice
from bridges.litellm.talk import real_litellm
from innervoice.bridges import litellm

SOURCE = str(Path(innervoice.__file__).parents[1])
# A small package with the classes of the real one, which is not in every environment.
FAKE = """
import pathlib, sys, tempfile
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "openai").mkdir()
(folder / "openai" / "__init__.py").write_text('''
from openai._exceptions import *
''')
(folder / "openai" / "_exceptions.py").write_text('''
class OpenAIError(Exception): pass
class APIError(OpenAIError):
    def __init__(self, message, request, *, body): raise AssertionError("not ours to call")
class APIConnectionError(APIError): pass
class APITimeoutError(APIConnectionError): pass
class APIResponseValidationError(APIError): pass
class APIStatusError(APIError): pass
class AuthenticationError(APIStatusError): pass
class BadRequestError(APIStatusError): pass
class InternalServerError(APIStatusError): pass
class NotFoundError(APIStatusError): pass
class PermissionDeniedError(APIStatusError): pass
class RateLimitError(APIStatusError): pass
class UnprocessableEntityError(APIStatusError): pass
''')
sys.path.insert(0, str(folder))
"""
RAISES = """
def caught(kind):
    try:
        ours.completion("gpt-4o", [], mock_response="litellm.RateLimitError")
    except kind as error:
        return type(error) is ours.RateLimitError and error.status_code == 429
"""


def run(code):
    whole = f"import sys; sys.path.insert(0, {SOURCE!r})\n{code}"
    done = subprocess.run(
        [sys.executable, "-I", "-c", whole], capture_output=True, text=True, check=False
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    "imports",
    [
        "import openai, innervoice.bridges.litellm as ours",
        "import innervoice.bridges.litellm as ours, openai",
        "import innervoice.bridges.litellm as ours; ours.install(); import openai",
    ],
)
@pytest.mark.parametrize(
    ("kind", "caught"),
    [("RateLimitError", True), ("APIStatusError", True), ("OpenAIError", True)],
)
def test_caught_as_openai(imports, kind, caught):
    code = f"{FAKE}\n{imports}\n{RAISES}\nprint(caught(openai.{kind}))"
    assert [str(caught)] == run(code)


def test_an_error_from_before_the_import():
    """Raised and kept while openai was not loaded, looked at when it is."""
    code = FAKE + (
        "\nimport innervoice.bridges.litellm as ours\n"
        "error = ours.Timeout('m', 'x', 'y')\n"
        "import openai\n"
        "print(isinstance(error, openai.APITimeoutError), isinstance(error, openai.RateLimitError))\n"
        "print(openai.__spec__.loader is openai.__loader__, type(openai.__loader__).__name__)"
    )
    assert ["True", "False", "True", "SourceFileLoader"] == run(code)


def test_openai_loaded_again():
    """Its classes are new ones then."""
    code = FAKE + (
        "\nimport openai, innervoice.bridges.litellm as ours\n"
        "first = openai.RateLimitError\n"
        "del sys.modules['openai'], sys.modules['openai._exceptions']\n"
        "import openai\n"
        "print(first is openai.RateLimitError, issubclass(ours.RateLimitError, openai.RateLimitError))"
    )
    assert ["False", "True"] == run(code)


def test_without_openai():
    """Nothing imports it, and nothing misses it."""
    code = (
        "sys.modules['openai'] = None\n"
        "import innervoice.bridges.litellm as ours\n"
        f"{RAISES}\n"
        "print(caught(ours.RateLimitError))\n"
        "try:\n    import openai\nexcept ImportError:\n    print('absent')"
    )
    assert ["True", "absent"] == run(code)


def test_openai_is_not_imported():
    code = FAKE + (
        f"\nimport innervoice.bridges.litellm as ours\n{RAISES}"
        "caught(ours.RateLimitError)\nprint('openai' in sys.modules)"
    )
    assert ["False"] == run(code)


def test_a_broken_openai_stays_broken():
    code = FAKE + (
        "\nimport innervoice.bridges.litellm as ours\n"
        "(folder / 'openai' / '__init__.py').write_text('1 / 0')\n"
        "for _ in range(2):\n"
        "    try:\n        import openai\n    except ZeroDivisionError:\n        print('broken')\n"
        "(folder / 'openai' / '__init__.py').write_text('from openai._exceptions import *  # mended')\n"
        "import importlib; importlib.invalidate_caches()\n"
        "import openai\n"
        "print(issubclass(ours.RateLimitError, openai.RateLimitError))"
    )
    assert ["broken", "broken", "True"] == run(code)


@pytest.mark.filterwarnings("ignore")
def test_the_bases_are_those_of_litellm():
    """For every exception: the same classes of openai, and among themselves the same relations."""
    real = real_litellm().exceptions
    openai = pytest.importorskip("openai")
    names = [
        name
        for name in litellm.exceptions.__all__
        if isinstance(getattr(real, name, None), type) and name != "BudgetExceededError"
    ]
    assert len(names) > 20

    def of_openai(kind):
        return [base for base in kind.__mro__ if base.__module__.startswith("openai")]

    for name in names:
        theirs, mine = getattr(real, name), getattr(litellm.exceptions, name)
        if issubclass(theirs, openai.OpenAIError):
            assert set(of_openai(theirs)) == set(of_openai(mine)), name
        for other in names:
            related = issubclass(theirs, getattr(real, other))
            assert related == issubclass(mine, getattr(litellm.exceptions, other)), (name, other)


def test_what_programs_read_of_an_error():
    error = litellm.BadRequestError(
        "m", "x", "y", body={"code": "too_long", "param": "messages", "type": "invalid"}
    )
    assert ("too_long", "messages", "invalid") == (error.code, error.param, error.type)
    assert error.request_id is None
    assert error.request is None
