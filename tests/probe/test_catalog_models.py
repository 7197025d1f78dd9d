"""No false alarm: what the emulator does without deviations agrees with the catalog, for every model of the catalog."""

import os

import pytest

from innervoice.catalog.lookup import all_hosts, all_model_rows, dialect_at, host_of, is_served
from innervoice.catalog.targets import target_at
from innervoice.emulator import Emulator
from innervoice.probe.columns import catalog_value, column_of
from innervoice.probe.exchanges import Emulated
from innervoice.probe.facts import all_facts
from innervoice.probe.run import Run
from innervoice.probe.session import Session
from probe.probing import emulator_server, probe

ALL = bool(os.environ.get("INNERVOICE_ALL_PROBES"))


def _targets():
    """A model of each row at each of its hosts and in each of its dialects."""
    for row in all_model_rows():
        if row.guess:
            continue
        name = row.match[0].replace("*", "x" if row.match[0].endswith("*") else "")
        hosts = [host.id for host in all_hosts()] if "*" in row.hosts else row.hosts
        for host in hosts:
            for dialect in row.dialects or (dialect_at(host_of(host), name),):
                target = target_at(host, name, dialect)
                if target.row == row and is_served(name, host_of(host)):
                    yield target


def _sampled():
    """One for each control, dialect, way to be switched off, and way of replay."""
    by_kind = {
        (target.row.control, target.dialect, target.row.off, target.row.replay): target
        for target in _targets()
    }
    return list(by_kind.values())


@pytest.fixture(scope="module")
def at():
    with emulator_server() as both:
        yield both


@pytest.mark.parametrize(
    "target",
    list(_targets()) if ALL else _sampled(),
    ids=lambda target: f"{target.provider}/{target.model}@{target.dialect}",
)
def test_nothing_differs(at, target):
    server, answering = at
    answering.emulator = Emulator()
    probed = probe(server, f"{target.provider}/{target.model}", "--dialect", target.dialect)

    assert probed.with_status("differs", "differs in words", "not measured", "settled") == set()
    assert (probed.status, probed.data["stopped"]) == (0, None)
    assert len(probed.facts) >= 8


_CLAUDE_IN_CHAT = (
    "Claude in the form of Chat Completions: the chat rules know nothing of Claude's settings"
)
_NOT_ENFORCED = "the emulator does not enforce it there"
KNOWN = {
    **{("databricks", fact): _CLAUDE_IN_CHAT for fact in ("refuses", "refuses-always", "efforts", "budget-least", "kinds", "prefill", "prefill-off", "showable", "streamed-place")},
    ("bedrock", "refuses-always"): "Converse has no top_k, and refuses it as unknown",
    ("bedrock", "efforts"): _NOT_ENFORCED,
    ("ollama", "efforts"): "Ollama's API has the words, whatever the model does",
    ("ollama", "off"): "the same",
    ("xai", "refuses"): "the Responses API does not have these parameters",
    ("deepseek", "forced-tools"): _NOT_ENFORCED,
    ("snowflake", "budget-least"): _NOT_ENFORCED,
    ("snowflake", "showable"): _NOT_ENFORCED,
    ("openrouter", "budget-least"): _NOT_ENFORCED,
    ("cohere", "budget-most"): _NOT_ENFORCED,
    ("sambanova", "prefix"): "it writes the opening tag, which its card does not know",
    ("minimax", "prefix"): "the same",
}  # fmt: skip
"""Facts that the emulator does not take from the column, and why; there the column decides."""


def test_the_emulator_does_what_the_columns_say():
    """What a column says is what is measured at the emulator, so that the table shows the catalog's own values."""
    wrong = set()
    for target in _sampled():
        run = Run(all_facts(), Session(target, Emulated(target.provider)))
        for result in run.results():
            if result.fact.column is None or result.expected is None:
                continue
            column = column_of(result.fact, result.expected, target)
            if column and column.value != catalog_value(column.table, column.name, target):
                wrong.add((target.provider, result.fact.id))

    assert wrong - set(KNOWN) == set()
