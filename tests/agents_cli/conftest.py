"""Makes the agents available to the tests of this folder, and skips these visibly where they are not installed."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from workplace import AGENTS, INSTALLED, Workplace


@pytest.fixture
def at_work(tmp_path):
    """A function that gives an agent a place to work."""
    if not (INSTALLED / ".installed").is_file():
        pytest.skip("the agents are not installed; scripts/agents does it")
    places = []

    def start(agent):
        place = Workplace(tmp_path, AGENTS[agent])
        places.append(place)
        return place.__enter__()

    yield start
    for place in places:
        place.__exit__(None, None, None)
