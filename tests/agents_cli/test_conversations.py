"""Longer work of agents: other agents, resumed sessions, other models in between, a compacted history. `scripts/test agents-cli` runs it."""

import os

import pytest
from workplace import MODELS

from innervoice.gateway.responses.sockets import ResponseSocket

pytestmark = pytest.mark.skipif(
    not os.environ.get("INNERVOICE_ALL_AGENTS"),
    reason="takes minutes; scripts/test agents-cli runs it",
)
NAMES = [model.partition("/")[0] for model in MODELS]


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("agent", ["gemini", "pi"])
def test_other_agents_do_their_task(at_work, agent, model):
    place = at_work(agent)
    place.does("alpha", model)

    assert [200] * 4 == place.statuses()
    assert 6 <= place.thoughts_are_back()


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("agent", ["claude", "codex", "pi"])
def test_a_session_that_goes_on_has_its_thoughts(at_work, agent, model):
    place = at_work(agent)
    place.does("alpha", model)
    place.does("beta", model, again=True)

    assert [200] * 8 == place.statuses()
    assert 28 <= place.thoughts_are_back()


@pytest.mark.parametrize("model", MODELS[1:], ids=NAMES[1:])
def test_gemini_cli_goes_on_with_the_thoughts_of_its_calls(at_work, model):
    """It changes its first message, which lists the folder, and every signature. Turns with calls are still found."""
    place = at_work("gemini")
    place.does("alpha", model)
    place.does("beta", model, again=True)

    assert [200] * 8 == place.statuses()
    assert 3 + 4 * 3 + 6 <= place.thoughts_are_back(of_calls=True)


def test_claude_is_not_sent_what_gemini_cli_has_made_invalid(at_work):
    """Its thoughts are bound to the first message, which is another after `--resume`; they are left out before it refuses them."""
    place = at_work("gemini")
    place.does("alpha", MODELS[0])
    place.does("beta", MODELS[0], again=True)

    assert [200] * 8 == place.statuses()
    assert [3] * 4 == [report.omitted for report in place.reports[4:]]
    assert [0, 1, 2, 3] == [report.kept for report in place.reports[4:]]


@pytest.mark.parametrize(("agent", "first"), [("claude", 0), ("codex", 1), ("pi", 0)])
def test_another_model_in_between(at_work, agent, first):
    """A provider never reads what another one has thought, and finds its own thoughts when it is asked again."""
    place = at_work(agent)
    one, two, three = (MODELS[(first + number) % 3] for number in range(3))
    place.does("alpha", one)
    place.does("beta", two, again=True)
    place.does("gamma", three, again=True)
    place.does("delta", one, again=True)

    assert [200] * 16 == place.statuses()
    assert 6 + 6 + 6 + 4 * 4 + 6 <= place.thoughts_are_at_home()


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_claude_code_goes_on_after_a_compaction(at_work, model):
    """It keeps a summary and its last turn, with a signature that Claude refuses there, once; what it thinks from then on is back."""
    place = at_work("claude")
    place.does("alpha", model)
    done = place.run("/compact", model, again=True)
    assert done.returncode == 0, done.stderr
    before = len(place.statuses())
    place.does("beta", model, again=True)

    refused = [400] if model == MODELS[0] else []
    assert [*refused, *[200] * 4] == place.statuses()[before:]
    assert 6 <= place.thoughts_are_back(since=before + len(refused))


def as_openai(place, *settings):
    """What makes Codex ask its provider for compactions: it does so where the provider's name is OpenAI."""
    url = f'{{name="OpenAI",base_url="{place.url}/v1",env_key="INNERVOICE_CLIENT_KEY",wire_api="responses"}}'
    values = (f"model_providers.innervoice={url}", *settings)
    return tuple(word for value in values for word in ("-c", value))


def compacts_at_the_third_task(place, model):
    """Two tasks, and a third at whose beginning the conversation is compacted."""
    place.does("alpha", model, more=as_openai(place))
    place.does("beta", model, again=True, more=as_openai(place))
    limit = place.reports[-1].usage.total_tokens - 50
    more = as_openai(place, f"model_auto_compact_token_limit={limit}")
    place.does("gamma", model, again=True, more=more)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_codex_goes_on_after_a_compaction_of_its_provider(at_work, model):
    """Without exactly one compaction in the answer it ends the session: "expected exactly one compaction output item"."""
    place = at_work("codex")
    compacts_at_the_third_task(place, model)
    asked, *turns = ({note.code for note in report.notes} for report in place.reports[8:])

    assert [200] * 13 == [report.status for report in place.reports], place.troubles()
    is_native = model.startswith("openai/")
    assert is_native != ("compaction_made" in asked)
    assert all(is_native != ("compaction_as_text" in notes) for notes in turns)
    place.does("delta", model, again=True, more=as_openai(place))
    assert not place.troubles()


def test_codex_takes_its_compaction_to_another_model(at_work):
    place = at_work("codex")
    compacts_at_the_third_task(place, MODELS[0])
    for task, model in zip(("delta", "eta", "iota"), MODELS[1:], strict=True):
        place.does(task, model, again=True, more=as_openai(place))

    assert not place.troubles()
    assert all("compaction_as_text" in {note.code for note in report.notes} for report in place.reports[9:])  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_codex_over_a_websocket(at_work, model, monkeypatch):
    """It goes on from its last response on the connection, and has its thoughts."""
    place, asked = at_work("codex"), []
    ask = ResponseSocket._ask
    monkeypatch.setattr(ResponseSocket, "_ask", lambda *given: (asked.append(given), ask(*given))[1])  # fmt: skip
    more = ("-c", "model_providers.innervoice.supports_websockets=true")
    place.does("alpha", model, more=more)
    place.does("beta", model, again=True, more=more)

    assert 8 <= len(asked), "nothing came over HTTP"
    assert not place.troubles()
    assert [200] * 8 == place.statuses()
    assert 28 <= place.thoughts_are_back()
