"""Units that run a whole network in one start: beside every mapping of its steps, exactly."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fgnas.mapping.chain import NO_SHORTCUT, WHOLE, Chain
from fgnas.mapping.exact import Limits, exact_front, front_of
from fgnas.mapping.options import MapOptions
from fgnas.mapping.platform import Ability, Platform
from fgnas.mapping.study import solve


def drawn(rng: np.random.Generator) -> Chain:
    """A random chain on two units that run steps, and one that runs it whole."""
    n = int(rng.integers(1, 6))
    supported = np.ones((n, 3), bool)
    supported[:, 2] = False
    cost, send, receive = (rng.integers(0, 20, (n, 3, 2)) for _ in range(3))
    cost[:, 2] = 0
    whole = {2: (int(rng.integers(0, 40)), int(rng.integers(0, 40)))}
    return Chain(tuple(map(str, range(n))), ("a", "b", "c"), cost, supported, send, receive,
                 np.full(n, NO_SHORTCUT), rng.integers(0, 9, 2), whole)  # fmt: skip


@given(st.integers(0, 2**32 - 1), st.sampled_from([Limits(), Limits(time=40), Limits(power=Fraction(1))]))
@settings(deadline=None, max_examples=60)
def test_the_front_is_that_of_all_mappings_and_of_the_whole(seed: int, limits: Limits) -> None:
    chain = drawn(np.random.default_rng(seed))
    every = np.array([*itertools.product((0, 1), repeat=len(chain.steps)), [2] * len(chain.steps)], np.int8)
    costs = np.array([chain.offset + (chain.whole[2] if one[0] == 2 else 0) for one in every])
    steps = [one for one in every if one[0] != 2]
    costs[: len(steps)] = chain.costs(np.array(steps))
    kept = costs[limits.kept(costs, np.zeros(len(costs)))]
    assert exact_front(chain, limits).costs.tolist() == kept[front_of(kept)].tolist()


def table() -> dict[str, object]:
    """A platform of a processor, and of an array that runs whole networks."""
    free = {"source": "clock"}
    return {
        "about": "made", "units": ["cpu", "array"], "time": {"unit": "ns"}, "energy": {"unit": "nJ", "times": "1000"},
        "sources": {"clock": {"kind": "exact", "about": "counted"}},
        "transition": {"send": free, "receive": free},
        "steps": {"one": {"elements": 4, "on": {"cpu": {"source": "clock", "cost": [50, 90]}}}},
        "starts": {"array": {"parts": {"source": "clock", "cost": [7, 3]}, "power": 2_500_000, "source": "clock"}},
    }  # fmt: skip


def test_a_start_costs_its_parts_and_the_time_of_all_units() -> None:
    """7 + 60 ns; 3 nJ and 60 ns of 2.5 W."""
    platform = Platform.model_validate(table())
    assert platform.states_energy
    whole = {"array": platform.starts["array"].taking(60)}
    answer = solve(platform.with_model("net", "made", ["one", "one"], whole), "net", MapOptions())
    assert [(one.time, one.energy, one.mapping.tolist()) for one in answer.points] == [(67, 153, [1, 1])]
    assert answer.chains["default"].spans(answer.points[0].mapping) == [(WHOLE, 1, 67, 153)]
    assert answer.moves(answer.points[0]) == []
    assert {unit: point.time for unit, point in answer.alone()} == {"cpu": 100, "array": 67}
    nearest = solve(answer.platform, "net", MapOptions(latency_ms=0.00005))
    assert not nearest.points and nearest.nearest is not None and nearest.nearest.time == 67


@pytest.mark.parametrize("method", ["exact", "random", "nsga2"])
def test_a_platform_of_nothing_else(method: str) -> None:
    made = table()
    made |= {"units": ["array"], "steps": {"one": {"elements": 4, "on": {}}}}
    platform = Platform.model_validate(made)
    whole = {"array": (Ability(source="clock", cost=(5, 6)),)}
    answer = solve(platform.with_model("net", "made", ["one", "one"], whole), "net", MapOptions(method=method))
    assert [(one.time, one.energy) for one in answer.points] == [(5, 6)]


@pytest.mark.parametrize(("change", "message"), [
    ({"units": ["cpu"]}, "array"),
    ({"steps": {"one": {"on": {"array": {"source": "clock", "cost": [1, 1]}}}}}, "which runs whole networks"),
    ({"starts": {"array": {"parts": {"source": "guess", "cost": [7, 3]}, "source": "clock"}}}, "guess"),
])  # fmt: skip
def test_wrong_platforms(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Platform.model_validate(table() | change)


def test_a_model_of_a_file_may_state_it() -> None:
    model = {"about": "made", "steps": ["one"], "whole": {"array": {"source": "clock", "cost": [4, 4]}}}
    platform = Platform.model_validate(table() | {"models": {"net": model}})
    assert [one.time for one in solve(platform, "net", MapOptions()).points] == [4]
