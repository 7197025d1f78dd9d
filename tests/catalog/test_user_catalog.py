"""The user's own catalog: rows that extend and override the packaged ones, in the library and in every program."""

import os
import subprocess
import sys

import pytest

from cli.runs import run

OPUS = "anthropic/claude-opus-5-5"


def python(code: str, catalog) -> str:
    """What a program prints that uses the library with this catalog."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "INNERVOICE_CATALOG": str(catalog)},
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture
def catalog(tmp_path):
    def write(text: str):
        file = tmp_path / "catalog.toml"
        file.write_text(text, "utf-8")
        return file

    return write


SENT = f"""
import innervoice as iv
wire = iv.encode(iv.Request("{OPUS}", [iv.user("Hi")], reasoning="max", max_tokens=500))
print(wire.body["output_config"]["effort"], wire.body["max_tokens"])
"""


def test_a_column_is_changed_in_one_line(catalog):
    """The other columns stay those of the packaged row."""
    file = catalog('[[model]]\nmatch = ["claude-opus-5-5"]\nefforts = ["low", "high"]\n')

    assert python(SENT, "") == "max 500\n"
    assert python(SENT, file) == "high 500\n"


def test_the_file_of_the_configuration_folder(tmp_path):
    folder = tmp_path / "innervoice"
    folder.mkdir()
    (folder / "catalog.toml").write_text(
        '[[model]]\nmatch = ["claude-opus-5-5"]\nefforts = ["low"]\n'
    )
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
    del environment["INNERVOICE_CATALOG"]
    done = subprocess.run(
        [sys.executable, "-c", SENT], capture_output=True, text=True, env=environment, timeout=60, check=True
    )  # fmt: skip

    assert done.stdout == "low 500\n"


def test_a_change_is_for_its_hosts(catalog):
    file = catalog(
        '[[model]]\nmatch = ["claude-opus-5-5"]\nhosts = ["vertex"]\nefforts = ["low"]\n'
    )

    assert python(SENT, file) == "max 500\n"


def test_a_host_of_ones_own(catalog):
    file = catalog(
        '[[host]]\nid = "mine"\nbase_url = "http://127.0.0.1:9999/v1"\nkeys = ["MINE_KEY"]\n'
        'dialect = "openai-chat"\nfields = ["reasoning_content"]\ninline = true\n'
        '[[model]]\nmatch = ["thinker*"]\nhosts = ["mine"]\ncontrol = "effort"\nefforts = ["low", "high"]\n'
    )
    code = (
        "import innervoice as iv\n"
        'wire = iv.encode(iv.Request("mine/thinker-2", [iv.user("Hi")], reasoning="medium"))\n'
        'print(wire.url, wire.body["reasoning_effort"])'
    )

    assert python(code, file) == "http://127.0.0.1:9999/v1/chat/completions high\n"


def test_another_address_for_a_packaged_host(catalog):
    file = catalog('[[host]]\nid = "deepseek"\nbase_url = "http://127.0.0.1:1"\n')
    code = (
        "import innervoice as iv\n"
        'print(iv.encode(iv.Request("deepseek/deepseek-v4-pro", [iv.user("Hi")])).url)'
    )

    assert python(code, file) == "http://127.0.0.1:1/chat/completions\n"


def test_markup_of_ones_own(catalog):
    file = catalog('[[markup]]\nfamily = "mine"\nmatch = ["mine-*"]\ntags = ["inner"]\n')
    code = (
        'import innervoice as iv\nprint(iv.split("<inner>why</inner>so", model="mine-7b").thinking)'
    )

    assert python(code, file) == "why\n"


COST = """
import innervoice as iv
answer = iv.decode(
    {"model": "gpt-5.6", "choices": [{"message": {"content": "a"}}],
     "usage": {"prompt_tokens": 1000000, "completion_tokens": 100000, "prompt_tokens_details": {"cached_tokens": 400000},
               "completion_tokens_details": {"reasoning_tokens": 50000}}},
    provider="openai", model="gpt-5.6")
cost = answer.cost()
print(cost.total, cost.input, cost.output, cost.reasoning)
"""


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("input = 2\noutput = 10", (3, 2, 1, 0.5)),
        ("input = 2\noutput = 10\ncached_input = 0.5", (2.4, 1.4, 1, 0.5)),
        ('hosts = ["openai"]\ninput = 0\noutput = 0', (0, 0, 0, 0)),
    ],
)
def test_a_price_is_corrected(catalog, row, expected):
    file = catalog(f'[[price]]\nmatch = ["gpt-5.6"]\n{row}\n')

    assert tuple(map(float, python(COST, file).split())) == expected


def test_a_client_for_run(catalog):
    file = catalog(
        '[[client]]\nid = "mine"\nname = "My Agent"\nprogram = "my-agent"\ninstall = "make"\n'
        '[[client]]\nid = "claude"\nprogram = "my-claude"\n'
    )
    listed = run("run", "--list", INNERVOICE_CATALOG=str(file)).stdout.decode()

    assert "My Agent" in listed
    assert "Claude Code" in listed


MISTAKES = [
    ('[[model]]\nmatch = "x"\n', "line 2: model 1, match: Expected `array`, got `str`"),
    ('[[model]]\nmatch = ["x"]\neffort = ["low"]\n', "line 3: model 1, effort: unknown column; did you mean 'efforts'?"),
    ('[[model]]\nmatch = ["x"]\n\nhosts = ["antropic"]\n', "line 4: model 1, hosts: unknown value 'antropic'; did you mean 'anthropic'?"),
    ('[[model]]\nefforts = ["low"]\n', "line 1: model 1, match: missing"),
    ('[[model]]\nmatch = ["x"]\ncontrol = "efort"\n', "line 3: model 1, control: unknown value 'efort'; did you mean 'effort'?"),
    ('[[model]]\nmatch = ["x"]\n[[model]]\nmatch = ["y"]\nefforts = ["huge"]\n', "line 5: model 2, efforts: unknown value 'huge'"),
    ('[[model]]\nmatch = ["x"]\nbudget = [5, 1]\n', "line 3: model 1, budget: expected a minimum and a maximum"),
    ('[[host]]\nid = "mine"\n', "line 1: host 1: a new row needs base_url, keys, dialect, fields, inline"),
    ('[[host]]\nid = "openai"\ndialect = "opnai"\n', "line 3: host 1, dialect: unknown value 'opnai'"),
    ('[[host]]\nid = "openai"\n[host.places.anthropic]\nurl = "x"\n', "line 3: host 1, places: Object contains unknown field `url`"),
    ('[[markup]]\nfamily = "mine"\ntags = "x"\n', "line 3: markup 1, tags: Expected `array`"),
    ('[[markup]]\nfamily = "mine"\nmatch = ["x"]\ntags = ["<x>"]\n', "line 4: markup 1, tags: expected the name of a tag, such as 'think', not '<x>'"),
    ('[[markup]]\nfamily = "glm"\nmarkup = ["harmnoy"]\n', "line 3: markup 1, markup: unknown value 'harmnoy'; did you mean 'harmony'?"),
    ('[[price]]\nmatch = ["x"]\ninput = -1\noutput = 2\n', "line 3: price 1, input: expected a price, 0 or more, not -1"),
    ('[[price]]\nmatch = ["x"]\ninput = 1\n', "line 1: price 1: a new row needs output"),
    ('[[client]]\nname = "x"\n', "line 1: client 1, id: missing"),
    ('[[modell]]\nmatch = ["x"]\n', "line 1: modell 1: unknown table; expected host, model, markup, price, client"),
    ("model = 5\n", "line 1: model 1: expected rows, each under [[model]]"),
    ("[[model]\n", "is not valid TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), MISTAKES)
def test_a_mistake_has_its_place(catalog, text, expected):
    shown = run("models", OPUS, INNERVOICE_CATALOG=str(catalog(text)))

    assert shown.returncode == 2
    assert expected in shown.stderr.decode()


def test_every_mistake_is_shown_at_once(catalog):
    whole = [
        text for text, expected in MISTAKES if text.startswith("[[") and "TOML" not in expected
    ]
    shown = run("models", OPUS, INNERVOICE_CATALOG=str(catalog("\n".join(whole)))).stderr.decode()

    assert len([line for line in shown.splitlines() if line.startswith("  line ")]) >= len(whole)


@pytest.mark.parametrize(
    "command", [("ask", "Hi", "-m", OPUS, "--emulate"), ("serve", "--emulated", "--check"), ("models",)]
)  # fmt: skip
def test_a_broken_catalog_stops_every_program_with_its_mistakes(catalog, command):
    shown = run(*command, INNERVOICE_CATALOG=str(catalog('[[model]]\nmatch = "x"\n')))

    assert shown.returncode != 0
    assert "line 2: model 1, match" in shown.stderr.decode()
    assert "Traceback" not in shown.stderr.decode()


def test_a_file_that_is_named_must_exist(tmp_path):
    shown = run("models", OPUS, INNERVOICE_CATALOG=str(tmp_path / "none.toml"))

    assert "none.toml, which does not exist" in shown.stderr.decode()


def test_where_each_fact_comes_from(catalog):
    file = catalog(
        '[[model]]\nmatch = ["claude-opus-5-5"]\nefforts = ["low"]\nsource = "innervoice probe, 2020-01-02"\n'
        '[[host]]\nid = "anthropic"\ncounts = false\n'
        '[[price]]\nmatch = ["claude-*"]\ninput = 3\noutput = 15\n'
    )
    shown = run("models", OPUS, "--source", INNERVOICE_CATALOG=str(file)).stdout.decode()
    lines = {tuple(line.split()[:2]): line for line in shown.splitlines()[1:]}

    assert "innervoice probe, 2020-01-02 (" in lines["model", "efforts"]
    assert "months old)" in lines["model", "efforts"]
    assert "platform.claude.com" in lines["model", "off"]
    assert "catalog.toml, line 5" in lines["host", "counts"]
    assert "anthropic SDK" in lines["host", "strict"]
    assert "catalog.toml, line 8" in lines["price", "input"]
