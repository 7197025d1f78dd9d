"""A flaky server gives "not measured", never a wrong fact."""

import pytest

from innervoice.emulator import Emulator
from innervoice.probe import session
from probe.probing import emulator_server, probe

OPUS = "anthropic/claude-opus-5-5"
GPT = "openai/gpt-5.6"
FEW = ("--only", "default,place,grammar,efforts,loop,strict,plain")


@pytest.fixture(scope="module")
def at():
    with emulator_server() as both:
        yield both


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(session, "_FIRST_WAIT", 0.0)


def flaky(fails, **manners):
    return Emulator(deviations=[{"server": {"fails": fails, "retry_after": "0", **manners}}])


@pytest.mark.parametrize("model", [OPUS, GPT])
@pytest.mark.parametrize(
    "fails",
    [
        ["429"],
        ["503"],
        ["500"],
        ["529"],
        ["cut"],
        ["429", "503", "cut"],
        ["", "429"],
        ["", "", "503", "cut", "429", "503"],
        ["cut", "cut", "cut", ""],
    ],
    ids=" ".join,
)
def test_no_wrong_fact(at, model, fails):
    server, answering = at
    answering.emulator = flaky(fails)
    probed = probe(server, model, *FEW)

    assert probed.with_status("differs", "differs in words") == set()
    assert probed.status == 0
    if "" not in fails:
        # A refusal is never cut, and says what it says.
        assert probed.with_status("agrees") <= ({"strict"} if "cut" in fails else set())
        assert probed.with_status("not measured") >= {"plain", "default", "place", "efforts"}


def test_what_can_be_measured_is(at):
    """A failure now and then only costs a second try."""
    server, answering = at
    answering.emulator = flaky(["", "503"])
    probed = probe(server, OPUS, *FEW)

    assert probed.with_status("agrees") >= {"plain", "default", "place", "efforts", "strict"}


def test_what_a_failure_says_about_retries(at):
    server, answering = at
    answering.emulator = flaky(["", "429"])
    probed = probe(server, OPUS, "--only", "plain,strict,retry")

    assert probed.facts["retry"]["measured"] is True


def test_a_slow_server(at):
    server, answering = at
    answering.emulator = flaky(["", "", "slow"])
    probed = probe(server, OPUS, "--only", "plain,strict", "--timeout", "0.4")

    assert probed.with_status("differs", "differs in words") == set()


def test_a_deviation_of_a_flaky_server_is_found(at):
    server, answering = at
    answering.emulator = Emulator(
        deviations=[
            {"server": {"fails": ["", "503", ""], "retry_after": "0"}},
            {"match": ["claude-opus-5-5"], "model": {"efforts": ["low", "high"]}},
        ]
    )
    probed = probe(server, OPUS, "--only", "efforts,plain,strict")

    assert probed.differing == {"efforts"}


def test_a_fact_that_changes_between_two_measurements_is_not_measured(at):
    """A server that is being updated: the second measurement says something else."""
    server, answering = at
    old = Emulator()
    new = Emulator(deviations=[{"host": {"strict": []}}])

    class Changing:
        seen = 0

        def reply(self, method, path, headers, body):
            self.seen += b"innervoice_probe" in body
            return (new if self.seen == 1 else old).reply(method, path, headers, body)

    answering.emulator = Changing()
    probed = probe(server, OPUS, "--only", "strict")

    assert probed.facts["strict"]["status"] == "not measured"
    assert probed.facts["strict"]["reason"] == "two measurements differ"


def test_no_server():
    with emulator_server() as (server, _):
        pass
    probed = probe(server, OPUS, "--only", "plain,strict")

    assert probed.with_status("not measured") == {"plain", "strict"}
    assert "connection failed" in probed.facts["plain"]["reason"]


def test_a_wrong_key_stops_the_run(at):
    server, answering = at
    answering.emulator = Emulator(deviations=[{"server": {"fails": ["401"]}}])
    probed = probe(server, OPUS)

    assert probed.status == 1
    assert probed.facts == {}
    assert "denies access" in probed.data["stopped"]
    assert "test-key" not in probed.text + probed.error
