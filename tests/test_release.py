"""What is published, and the workflows that do it, as far as they can be checked here."""

import importlib.util
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = [
    path
    for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    if path.name != "config.yml"
]


@pytest.fixture
def contents():
    """The script that looks into the archives."""
    place = ROOT / "scripts" / "release_contents.py"
    specification = importlib.util.spec_from_file_location("release_contents", place)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def archives(folder, names, extra=()):
    """A wheel and an sdist with these files."""
    with zipfile.ZipFile(folder / "innervoice-1-py3-none-any.whl", "w") as wheel:
        for name in (*names, *extra):
            wheel.writestr(name, "")
    with tarfile.open(folder / "innervoice-1.tar.gz", "w:gz") as sdist:
        for name in names:
            sdist.addfile(tarfile.TarInfo(f"innervoice-1/src/{name}"))


def everything(contents):
    package = ROOT / "src"
    assets = sorted((package / "innervoice" / "view").glob("*assets/*"))
    return [*contents._NEEDED, *(file.relative_to(package).as_posix() for file in assets)]


def test_complete_archives(contents, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    archives(tmp_path, everything(contents))

    assert [] == contents.problems(tmp_path)


def test_incomplete_archives(contents, tmp_path, monkeypatch):
    """A missing table, a stray file and a missing archive are said."""
    monkeypatch.chdir(ROOT)
    archives(tmp_path, everything(contents)[1:], extra=["tests/test_x.py"])
    found = contents.problems(tmp_path)
    (tmp_path / "innervoice-1.tar.gz").unlink()

    missing = contents._NEEDED[0]
    assert {f"the wheel lacks {missing}", f"the sdist lacks src/{missing}"} <= set(found)
    assert "the wheel has tests/test_x.py" in found
    assert ["expected one wheel and one sdist, found 1 and 0"] == contents.problems(tmp_path)


def steps_of(workflow):
    jobs = yaml.safe_load(workflow.read_text("utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_only_call_scripts(workflow):
    """What they run can be run here as well."""
    commands = [step["run"] for step in steps_of(workflow) if "run" in step]

    assert commands
    for command in commands:
        script = command.split()[0]
        assert script == "git" or (ROOT / script).stat().st_mode & 0o111, command


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_have_few_rights(workflow):
    """Only the job that publishes may do more than read; no secret is stored."""
    read = yaml.safe_load(workflow.read_text("utf-8"))
    strong = [name for name, job in read["jobs"].items() if "permissions" in job]

    assert read["permissions"] == {"contents": "read"}
    assert set(strong) <= {"publish"}
    assert "secrets." not in workflow.read_text("utf-8")


def test_tests_run_on_every_python():
    """Those that the package names, and 3.14, which it names as soon as all tests have passed there."""
    text = (ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8")
    named = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)

    assert yaml.safe_load(text)["jobs"]["test"]["strategy"]["matrix"]["python"] == [*named, "3.14"]


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_forms_ask_for_what_a_command_prints(form):
    """Each form names a command or an address of ours, and commands exist."""
    read = yaml.safe_load(form.read_text("utf-8"))
    text = form.read_text("utf-8")
    commands = set(re.findall(r"innervoice (\w+)", text))

    assert {"name", "description", "body"} <= read.keys()
    assert "innervoice " in text
    known = {path.stem for path in (ROOT / "src" / "innervoice" / "cli").glob("*.py")}
    assert commands & known


def test_citation_names_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))

    assert (cited["title"], cited["version"]) == (PROJECT["name"], PROJECT["version"])
    assert cited["license"] == PROJECT["license"]
