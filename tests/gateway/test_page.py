"""The pages about the gateway say what the code does: every setting with its default, every metric, path and option."""

import re
from pathlib import Path

import pytest

from innervoice.cli import keys, run, serve
from innervoice.gateway.config import (
    GatewayConfig,
    ModelReasoning,
    NamedModel,
    ReasoningPolicy,
    ReasoningRule,
    ServerSettings,
    UpstreamSettings,
    load_config,
)
from innervoice.gateway.endpoints import Endpoint, endpoint_of
from innervoice.gateway.operations.journal import explain
from innervoice.gateway.operations.metrics import Metrics
from innervoice.gateway.report import Report
from innervoice.wire.dialects import DIALECTS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "".join(path.read_text("utf-8") for path in sorted(DOCS.glob("gateway*.md")))
SECTIONS = {
    "[server]": (ServerSettings,),
    "[[models]]": (NamedModel,),
    "[[reasoning]]": (ReasoningRule,),
    "[upstreams.NAME]": (UpstreamSettings,),
}
ROW = re.compile(r"^\| `(\w+)` \| (\S+) \| .+ \|$", re.MULTILINE)


def rows(section):
    """The keys of a table of settings, with the defaults that the page gives."""
    text = PAGE.partition(f"### `{section}`\n")[2].partition("\n### ")[0]
    return dict(ROW.findall(text))


def shown(value):
    """A default as the page writes it: as in TOML, or "none"."""
    if value is None:
        return "none"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


@pytest.mark.parametrize("section", SECTIONS)
def test_every_setting_is_explained(section):
    fields = [name for kind in SECTIONS[section] for name in kind.__struct_encode_fields__]

    if section == "[[models]]":
        fields += ModelReasoning.__struct_fields__[len(ReasoningPolicy.__struct_fields__) :]
    assert fields
    assert sorted(fields) == sorted(rows(section))


@pytest.mark.parametrize("name", ServerSettings.__struct_fields__)
def test_defaults_of_the_server(name):
    assert shown(getattr(ServerSettings(), name)) == rows("[server]")[name]


@pytest.mark.parametrize("name", GatewayConfig.__struct_fields__)
def test_every_table_has_a_section(name):
    assert re.search(rf"^### `\[+{name}[.\w]*\]+`$", PAGE, re.MULTILINE)


def test_the_example_loads_without_a_problem(tmp_path):
    example, *others = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for number, other in enumerate(others):
        (tmp_path / f"{number}.toml").write_text(other)
        load_config(tmp_path / f"{number}.toml", {})
    secret = tmp_path / "openai_key_b"
    secret.write_text("key-of-b\n")
    file = tmp_path / "gateway.toml"
    file.write_text(example.replace("/run/secrets/openai_key_b", str(secret)))
    names = re.findall(r"env:(\w+)", example)
    config = load_config(file, {name: f"{name}-0123456789-0123456789-0123456789" for name in names})

    assert {"alice"} == set(config.keys)
    assert 2 == len(config.models) == len(config.upstreams)


def test_metrics():
    served = set(re.findall(r"^# TYPE (\w+) ", Metrics().page(), re.MULTILINE))

    assert served == set(re.findall(r"`(innervoice_\w+)`", PAGE))


PATHS = re.findall(r"`((?:GET|POST|HEAD|DELETE) /[^`]+)`", PAGE.partition("## Paths\n")[2].partition("\n## ")[0])  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_paths_are_served(path):
    method, _, path = path.partition(" ")

    assert isinstance(endpoint_of(method, path.replace("ID", "resp_1"), "", {}), Endpoint)


def test_dialects_have_a_row():
    assert set(DIALECTS) == set(re.findall(r"^\| [A-Z][\w ]+ \(`([a-z-]+)`\) \|", PAGE, re.MULTILINE))  # fmt: skip


def test_members_of_an_explanation():
    told = PAGE.partition("**`GET /v1/explain/ID`**")[2].partition("\n\n")[0]
    known = {"id", "tenant", "begun"}

    assert set(explain(Report(id="1", tenant="t", dialect="anthropic"))) - known == set(
        re.findall(r"`([a-z]+)`", told)
    ) - {"bytes", "canon", "received", "traceparent"}


def test_options():
    commands = (serve.command, run.command, keys.command, *keys.command.commands.values())
    options = {name for one in commands for option in one.params for name in option.opts}
    options = {option for option in options if option.startswith("--")} - {
        "--emulate"
    }  # an older name

    of_clients = {"--resume", "--auth-type", "--openai-api-base", "--openai-base-url", "--override-with-envs"}  # fmt: skip
    assert options == set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) - of_clients
