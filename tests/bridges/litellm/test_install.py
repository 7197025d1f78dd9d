"""`install()`: what a program that says `import litellm` gets, and that nothing is left of it after `uninstall()`.

Each case is a program of its own, because the import system of a process is shared.
"""

import subprocess
import sys
from pathlib import Path

import pytest

import innervoice

SOURCE = str(Path(innervoice.__file__).parents[1])
HEAD = """
import importlib, importlib.metadata, importlib.util, sys
import innervoice.bridges.litellm as ours
before = dict(sys.modules), list(sys.meta_path), set(vars(ours))
ours.install()
"""


def run(code):
    """The output of a program; fails with its error."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {SOURCE!r})\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    "imported",
    [
        "import litellm; it = litellm; own = ours",
        "import litellm.utils; it = litellm.utils; own = ours.utils",
        "from litellm import exceptions as it; own = ours.exceptions",
        "from litellm.types.utils import ModelResponse as it; own = ours.ModelResponse",
        "from litellm import completion as it; own = ours.completion",
        "import litellm.types.utils as it; own = ours.types.utils",
        "it = importlib.import_module('litellm.exceptions'); own = ours.exceptions",
        "import innervoice.bridges.litellm.chunks as own, litellm.chunks as it",
        "it = sys.modules['litellm.types.utils']; own = ours.types.utils",
        "import pkgutil; it = pkgutil.resolve_name('litellm.main'); own = ours.main",
    ],
)
def test_every_way_to_import(imported):
    assert ["True"] == run(f"{HEAD}\n{imported}\nprint(it is own)")


def test_a_module_that_nobody_imported_yet():
    code = HEAD + (
        "assert 'innervoice.bridges.litellm.scratch' not in sys.modules\n"
        "import pathlib, tempfile\n"
        "folder = tempfile.mkdtemp(); ours.__path__.append(folder)\n"
        "pathlib.Path(folder, 'scratch.py').write_text('class Thing: pass')\n"
        "from litellm.scratch import Thing\n"
        "from innervoice.bridges.litellm.scratch import Thing as Own\n"
        "import innervoice.bridges.litellm.scratch as own, litellm.scratch as it\n"
        "print(Thing is Own, it is own, own.__spec__.name)"
    )
    assert ["True", "True", "innervoice.bridges.litellm.scratch"] == run(code)


def test_the_modules_stay_what_they_are():
    """Their names, specs and loaders are still ours, so that pickles and reloads find them."""
    code = HEAD + (
        "import litellm, litellm.utils, pickle\n"
        "print(litellm.__name__, litellm.__spec__.name, litellm.utils.__spec__.name)\n"
        "print(type(pickle.loads(pickle.dumps(litellm.Timeout('m', 'x', 'y')))) is ours.Timeout)"
    )
    names = [
        "innervoice.bridges.litellm",
        "innervoice.bridges.litellm",
        "innervoice.bridges.litellm.utils",
    ]
    assert [*names, "True"] == run(code)


def test_probes():
    """What programs look at before they import litellm."""
    code = HEAD + (
        "print(importlib.util.find_spec('litellm') is not None)\n"
        "print(importlib.util.find_spec('litellm.utils') is not None)\n"
        "import litellm\n"
        "print(importlib.metadata.version('litellm') == litellm.__version__)\n"
        "print(importlib.metadata.distribution('LiteLLM').metadata['Name'])\n"
        "print('litellm' in importlib.metadata.packages_distributions())\n"
        "print(importlib.metadata.requires('litellm'))"
    )
    assert ["True", "True", "True", "litellm", "True", "None"] == run(code)


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("import litellm.proxy", "litellm.proxy"),
        ("from litellm.proxy import proxy_server", "litellm.proxy"),
        ("from litellm.llms.anthropic.chat import handler", "litellm.llms.anthropic"),
        ("importlib.import_module('litellm.caching')", "litellm.caching"),
        ("from litellm import nothing_like_this", "litellm.nothing_like_this"),
        ("import litellm.types.nothing", "litellm.types.nothing"),
        ("from litellm import RedisCache", "litellm.RedisCache"),
        ("from litellm.utils import nothing_at_all", "litellm.utils.nothing_at_all"),
    ],
)
def test_what_is_not_there(statement, named):
    """One sentence that says whose module is missing, instead of «no module named»."""
    code = f"{HEAD}\ntry:\n    {statement}\nexcept ModuleNotFoundError as error:\n    print(error.name, error)"
    name, *sentence = run(code)
    assert named == name
    assert " ".join(sentence).startswith(f"innervoice's stand-in for litellm has no {named!r}:")


def test_uninstall():
    """Nothing is left: no module, no finder, no attribute; and again, and without an install before."""
    code = HEAD + (
        "import litellm.types.utils, litellm.chunks\n"
        "ours.uninstall(); ours.uninstall()\n"
        "modules, finders, names = before\n"
        "print(sys.meta_path == finders, set(vars(ours)) == names)\n"
        "print(*[name for name in sys.modules if name.split('.')[0] == 'litellm'])\n"
        "ours.install(); ours.install(); import litellm\n"
        "print(litellm is ours, len(sys.meta_path) - len(finders))\n"
        "ours.uninstall()\n"
        "print(sys.meta_path == finders)"
    )
    assert ["True", "True", "True", "1", "True"] == run(code)


def test_after_uninstall_the_name_is_free():
    """Another litellm can be imported."""
    code = HEAD + (
        "import pathlib, tempfile\n"
        "folder = tempfile.mkdtemp(); sys.path.insert(0, folder)\n"
        "pathlib.Path(folder, 'litellm.py').write_text('WHOSE = 1')\n"
        "import litellm; first = litellm\n"
        "ours.uninstall(); ours.uninstall()\n"
        "import litellm; ours.uninstall()\n"
        "print(first is ours, litellm.WHOSE, sys.modules['litellm'] is litellm)"
    )
    assert ["True", "1", "True"] == run(code)


def test_too_late():
    """The real litellm was imported before: an error that says what to do, and nothing is changed."""
    code = (
        "import sys, types; sys.modules['litellm'] = types.ModuleType('litellm')\n"
        "import innervoice.bridges.litellm as ours\n"
        "finders = list(sys.meta_path)\n"
        "try:\n    ours.install()\n"
        "except ValueError as error:\n    print(error)\n"
        "assert finders == sys.meta_path and sys.modules['litellm'] is not ours"
    )
    said = " ".join(run(code))
    assert "the real litellm is already imported" in said
    assert "install() before anything imports litellm" in said


def test_a_program_that_catches_import_errors_goes_on():
    code = HEAD + (
        "try:\n    from litellm.proxy import x\nexcept ImportError:\n    x = None\nprint(x)"
    )
    assert ["None"] == run(code)
