"""Which candidate is asked next: affinity, cool-down, circuits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innervoice.gateway.circuits import Circuits
from innervoice.gateway.config import GatewayConfig, NamedModel, UpstreamSettings
from innervoice.gateway.limits import LIMITS
from innervoice.gateway.routes import Routes

ENVIRON = {"A": "key-a", "B": "key-b", "C": "key-c", "ANTHROPIC_API_KEY": "x", "XAI_API_KEY": "y"}
CONFIG = GatewayConfig(
    models=(
        NamedModel(name="all", to=("openai/gpt-5.6", "anthropic/claude-opus-5-5", "xai/grok-4.3")),
        NamedModel(name="small", to=("anthropic/claude-haiku-4-5", "openai/gpt-5.4-mini")),
        NamedModel(name="two", to=("anthropic/claude-opus-5-5", "xai/grok-4.3")),
        NamedModel(name="one", to=("xai/grok-4.3",)),
    ),
    upstreams={"openai": UpstreamSettings(keys=("env:A", "env:B", "env:C"))},
)
ROUTES = Routes(CONFIG, ENVIRON)
ALL, SMALL, TWO, ONE = (ROUTES.route(name) for name in ("all", "small", "two", "one"))
ANTHROPIC, XAI = TWO.candidates
DETERMINISTIC = (400, 403, 404, 405, 409, 413, 415, 422, 451, 499)


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def circuits(clock):
    return Circuits(clock=clock)


def names(candidates):
    return [candidate.target.provider for candidate in candidates]


def keys(candidates):
    return [candidate.key for candidate in candidates]


def fail(circuits, candidate, times=1, status=500, retry_after=None):
    for _ in range(times):
        circuits.failed(candidate, status=status, retry_after=retry_after)


# ---- the order -------------------------------------------------------------------------------------


def test_the_order_of_the_config(circuits):
    assert ["anthropic", "xai"] == names(circuits.order(TWO, b"c"))
    assert ["openai"] * 3 + ["anthropic", "xai"] == names(circuits.order(ALL, b"c"))


def test_accounts_take_turns_over_conversations(circuits):
    firsts = {circuits.order(ALL, b"%d" % n)[0].account.name for n in range(50)}

    assert {"env:A", "env:B", "env:C"} == firsts


def test_every_process_chooses_the_same_account(clock):
    one, other = Circuits(clock=clock), Circuits(clock=clock)

    for n in range(20):
        assert keys(one.order(ALL, b"%d" % n)) == keys(other.order(ALL, b"%d" % n))


def test_requests_without_a_conversation_go_round(circuits):
    firsts = [circuits.order(ALL, None)[0].account.name for _ in range(6)]

    assert 3 == len(set(firsts[:3]))
    assert firsts[:3] == firsts[3:]


# ---- affinity --------------------------------------------------------------------------------------


def test_a_conversation_stays_where_it_was_answered(circuits, clock):
    circuits.succeeded(XAI, b"c")

    for _ in range(3):
        assert "xai" == names(circuits.order(TWO, b"c"))[0]
        clock.now += 10_000
    assert "anthropic" == names(circuits.order(TWO, b"other"))[0]


def test_a_conversation_does_not_return_to_what_it_has_left(circuits, clock):
    """The first one fails once and recovers; the conversation is elsewhere by then."""
    circuits.succeeded(ANTHROPIC, b"c")
    fail(circuits, ANTHROPIC)
    circuits.succeeded(XAI, b"c")
    circuits.succeeded(ANTHROPIC, b"other")
    clock.now += 10_000

    assert ["xai", "anthropic"] == names(circuits.order(TWO, b"c"))


def test_what_a_conversation_has_left_comes_after_the_others(circuits):
    first, second, third, *_ = circuits.order(ALL, b"c")
    circuits.succeeded(first, b"c")
    fail(circuits, first)
    circuits.succeeded(second, b"c")

    ordered = circuits.order(ALL, b"c")
    assert [second, third] == ordered[:2]
    assert first is ordered[-1]


def test_another_model_of_a_conversation_uses_the_same_account(circuits):
    openai = ALL.candidates[1]
    circuits.succeeded(openai, b"c")

    first = circuits.order(SMALL, b"c")[0]
    assert ("openai/gpt-5.4-mini", "env:B") == (first.name, first.account.name)


def test_models_of_a_conversation_do_not_disturb_each_other(circuits):
    """An agent that asks a small model in between finds its large one where it was."""
    circuits.succeeded(XAI, b"c")
    circuits.succeeded(SMALL.candidates[0], b"c")

    assert "xai" == names(circuits.order(TWO, b"c"))[0]


def test_affinity_outlives_another_reading_of_the_config(circuits):
    circuits.succeeded(XAI, b"c")
    fail(circuits, ANTHROPIC, LIMITS.failures)
    again = Routes(CONFIG, ENVIRON).route("two")

    assert "xai" == names(circuits.order(again, b"c"))[0]
    assert 1 == len(circuits.states())


def test_memory_is_bounded_and_the_oldest_conversation_goes(clock):
    circuits = Circuits(clock=clock, most_conversations=3)
    for name in (b"1", b"2", b"3"):
        circuits.succeeded(XAI, name)
    circuits.order(TWO, b"1")  # used again
    circuits.succeeded(XAI, b"4")

    firsts = {name: names(circuits.order(TWO, name))[0] for name in (b"1", b"2", b"3", b"4")}
    assert {b"1": "xai", b"2": "anthropic", b"3": "xai", b"4": "xai"} == firsts


def test_no_number_of_models_or_conversations_grows_the_memory(clock):
    circuits = Circuits(clock=clock, most_conversations=10)
    for n in range(300):
        (candidate,) = ROUTES.route(f"xai/grok-{n}").candidates
        circuits.succeeded(candidate, b"c")
        circuits.succeeded(candidate, b"%d" % n)
    assert 10 == len(circuits._homes)
    assert max(len(homes) for homes in circuits._homes.values()) <= 8

    for n in range(10_050):
        (candidate,) = ROUTES.route(f"xai/grok-{n}").candidates
        circuits.failed(candidate, status=500, retry_after=None)
    assert 10_000 == len(circuits._failing)


# ---- cooling down ----------------------------------------------------------------------------------


def test_a_limit_cools_down_by_its_retry_after(circuits, clock):
    fail(circuits, ANTHROPIC, status=429, retry_after=20)

    assert ["xai", "anthropic"] == names(circuits.order(TWO, b"new"))
    assert 20 == circuits.wait(ANTHROPIC)
    clock.now += 19
    assert ["xai", "anthropic"] == names(circuits.order(TWO, b"new"))
    clock.now += 1
    assert ["anthropic", "xai"] == names(circuits.order(TWO, b"new"))
    assert 0 == circuits.wait(ANTHROPIC)


def test_limits_without_a_retry_after_cool_down_longer_each_time(circuits):
    waits = []
    for _ in range(9):
        fail(circuits, ANTHROPIC, status=429)
        waits.append(circuits.wait(ANTHROPIC))

    assert [1, 2, 4, 8, 16, 32, 64, 64, 64] == waits


def test_limits_never_open_the_circuit(circuits, clock):
    fail(circuits, ANTHROPIC, 50, status=429, retry_after=1)
    clock.now += 1

    assert "anthropic" == names(circuits.order(TWO, b"new"))[0]


@pytest.mark.parametrize("retry_after", [1e9, float("inf")])
def test_a_wrong_header_does_not_switch_a_candidate_off(circuits, retry_after):
    fail(circuits, ANTHROPIC, status=429, retry_after=retry_after)

    assert LIMITS.cool_down_seconds == circuits.wait(ANTHROPIC)


@pytest.mark.parametrize("retry_after", [-5.0, float("nan")])
def test_a_retry_after_that_is_no_time_counts_as_none(circuits, retry_after):
    fail(circuits, ANTHROPIC, status=429, retry_after=retry_after)

    assert 1 == circuits.wait(ANTHROPIC)


def test_a_conversation_waits_for_its_own_candidate_if_that_is_soon(clock):
    """Its cache and its seals are there; others go elsewhere at once."""
    circuits = Circuits(clock=clock, longest_wait=60)
    circuits.succeeded(ANTHROPIC, b"c")
    fail(circuits, ANTHROPIC, status=429, retry_after=60)
    assert ["anthropic", "xai"] == names(circuits.order(TWO, b"c"))
    assert ["xai", "anthropic"] == names(circuits.order(TWO, b"new"))

    fail(circuits, ANTHROPIC, status=429, retry_after=61)
    assert ["xai", "anthropic"] == names(circuits.order(TWO, b"c"))


def test_of_those_that_cool_down_the_soonest_is_first(circuits):
    fail(circuits, ANTHROPIC, status=429, retry_after=20)
    fail(circuits, XAI, status=429, retry_after=10)

    assert ["xai", "anthropic"] == names(circuits.order(TWO, None))


# ---- circuits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [500, 502, 503, 529, 401, 402, 408, None])
def test_failures_in_a_row_open_the_circuit(circuits, status):
    fail(circuits, ANTHROPIC, LIMITS.failures - 1, status=status)
    assert "anthropic" == names(circuits.order(TWO, b"new"))[0]
    fail(circuits, ANTHROPIC, status=status)

    assert ["xai", "anthropic"] == names(circuits.order(TWO, b"new"))
    (state,) = circuits.states()
    assert (
        "anthropic/claude-opus-5-5",
        "env:ANTHROPIC_API_KEY",
        "open",
        LIMITS.open_seconds,
    ) == state


def test_a_success_in_between_closes_it(circuits):
    fail(circuits, ANTHROPIC, LIMITS.failures - 1)
    circuits.succeeded(ANTHROPIC, None)
    fail(circuits, ANTHROPIC, LIMITS.failures - 1)

    assert () == circuits.states()


def test_an_open_circuit_moves_a_conversation(circuits):
    circuits.succeeded(ANTHROPIC, b"c")
    fail(circuits, ANTHROPIC, LIMITS.failures)

    assert ["xai", "anthropic"] == names(circuits.order(TWO, b"c"))


def test_after_a_while_one_request_tries(circuits, clock):
    fail(circuits, ANTHROPIC, LIMITS.failures)
    clock.now += LIMITS.open_seconds

    assert "anthropic" == names(circuits.order(TWO, b"1"))[0]
    assert "xai" == names(circuits.order(TWO, b"2"))[0]
    assert "trying" == circuits.states()[0].health

    fail(circuits, ANTHROPIC)
    clock.now += LIMITS.open_seconds - 1
    assert "xai" == names(circuits.order(TWO, b"3"))[0]
    clock.now += 1
    assert "anthropic" == names(circuits.order(TWO, b"4"))[0]
    circuits.succeeded(ANTHROPIC, b"4")
    assert "anthropic" == names(circuits.order(TWO, b"5"))[0]
    assert () == circuits.states()


def test_a_try_that_nobody_reports_is_not_waited_for_forever(circuits, clock):
    fail(circuits, ANTHROPIC, LIMITS.failures)
    clock.now += LIMITS.open_seconds
    circuits.order(TWO, b"1")
    clock.now += LIMITS.open_seconds

    assert "anthropic" == names(circuits.order(TWO, b"2"))[0]


def test_a_limit_ends_the_try(circuits, clock):
    fail(circuits, ANTHROPIC, LIMITS.failures)
    clock.now += LIMITS.open_seconds
    circuits.order(TWO, b"1")
    fail(circuits, ANTHROPIC, status=429, retry_after=1)
    clock.now += 1

    assert "anthropic" == names(circuits.order(TWO, b"2"))[0]


def test_the_only_candidate_is_always_asked(circuits):
    fail(circuits, XAI, LIMITS.failures)

    assert ["xai"] == names(circuits.order(ONE, b"c"))


def test_a_circuit_is_of_one_account(circuits):
    first = circuits.order(ALL, b"c")[0]
    fail(circuits, first, LIMITS.failures)

    ordered = circuits.order(ALL, b"c")
    assert ["openai", "openai", "anthropic", "xai", "openai"] == names(ordered)
    assert first is ordered[-1]


# ---- whatever happens ------------------------------------------------------------------------------

CONVERSATIONS = st.sampled_from([None, b"1", b"2", b"3"])
CANDIDATES = st.sampled_from([*ALL.candidates, *SMALL.candidates])
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("failed"),
            CANDIDATES,
            st.sampled_from([None, 401, 429, 500, 503, 529, *DETERMINISTIC]),
            st.one_of(st.none(), st.floats()),
        ),
        st.tuples(st.just("succeeded"), CANDIDATES, CONVERSATIONS),
        st.tuples(st.just("order"), st.sampled_from([ALL, SMALL, TWO, ONE]), CONVERSATIONS),
        st.tuples(st.just("wait"), st.floats(0, 100)),
    ),
    max_size=40,
)


def run(circuits, clock, steps):
    """Runs the steps; the orders that came of them."""
    orders = []
    for step in steps:
        match step:
            case ("failed", candidate, status, retry_after):
                circuits.failed(candidate, status=status, retry_after=retry_after)
            case ("succeeded", candidate, conversation):
                circuits.succeeded(candidate, conversation)
            case ("order", route, conversation):
                orders.append((route, circuits.order(route, conversation)))
            case ("wait", seconds):
                clock.now += seconds
    return orders


@given(STEPS)
def test_every_candidate_once(steps):
    clock = Clock()

    for route, ordered in run(Circuits(clock=clock), clock, [*steps, ("order", ALL, b"1")]):
        assert sorted(keys(route.candidates)) == sorted(keys(ordered))


@given(STEPS, st.lists(st.tuples(st.integers(0, 40), CANDIDATES, st.sampled_from(DETERMINISTIC))))
def test_a_refusal_of_the_request_changes_nothing(steps, refusals):
    """The same steps with and without refusals give the same orders and states."""
    with_refusals = list(steps)
    for place, candidate, status in refusals:
        with_refusals.insert(place, ("failed", candidate, status, 30.0))
    clocks = Clock(), Clock()
    plain, refused = (Circuits(clock=clock) for clock in clocks)
    end = [("order", route, conversation) for route in (ALL, TWO) for conversation in (b"1", None)]
    expected = run(plain, clocks[0], [*steps, *end])
    actual = run(refused, clocks[1], [*with_refusals, *end])

    assert [keys(ordered) for _, ordered in expected] == [keys(ordered) for _, ordered in actual]
    assert plain.states() == refused.states()


@given(STEPS, st.sampled_from(ALL.candidates))
def test_affinity_holds_until_a_failure_of_that_candidate(steps, home):
    """Whatever happens to others and to other conversations."""
    elsewhere = [step for step in steps if not (step[0] == "failed" and step[1] is home)]
    clock = Clock()
    circuits = Circuits(clock=clock)
    circuits.succeeded(home, b"home")
    run(circuits, clock, elsewhere)

    assert home is circuits.order(ALL, b"home")[0]


@given(STEPS, st.permutations(range(5)))
def test_there_is_no_return_within_a_conversation(steps, places):
    """A conversation that moved on is never sent back while the place it moved to works."""
    left, home, *_ = (ALL.candidates[place] for place in places)
    others = [
        step
        for step in steps
        if step[0] in ("order", "wait") or (step[0] == "succeeded" and step[1] is left)
    ]
    clock = Clock()
    circuits = Circuits(clock=clock)
    circuits.succeeded(left, b"home")
    circuits.failed(left, status=500, retry_after=None)
    circuits.succeeded(home, b"home")
    run(circuits, clock, others)
    ordered = circuits.order(ALL, b"home")

    assert home is ordered[0]
    assert left is ordered[-1]
