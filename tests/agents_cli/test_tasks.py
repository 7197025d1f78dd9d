"""Agents of others do a task of three calls with models of four providers, and the model reads all that it thought."""

import pytest
from workplace import MODELS


@pytest.mark.parametrize("model", MODELS, ids=[model.partition("/")[0] for model in MODELS])
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_an_agent_does_its_task_and_its_thoughts_are_back(at_work, agent, model):
    place = at_work(agent)
    place.does("alpha", model)

    assert [200] * 4 == place.statuses()
    assert 6 <= place.thoughts_are_back()
