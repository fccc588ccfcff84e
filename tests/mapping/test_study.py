"""Questions and answers: limits in user's units, settings, the explained mapping, and the baselines beside it."""

import json
from pathlib import Path

import numpy as np
import pytest

from fgnas import pareto
from fgnas.mapping.baselines import METHODS, draw
from fgnas.mapping.exact import exact_front
from fgnas.mapping.options import MapOptions
from fgnas.mapping.platform import find_platform
from fgnas.mapping.study import solve

XAVIER = find_platform("xavier")


def test_the_paper_s_own_case() -> None:
    """Ours-a3 at the 17.29 ms of the paper's mapping: 195.1 mJ, where its search found 197.8 (Table 3)."""
    answer = solve(XAVIER, "a3", MapOptions(latency_ms=17.29))
    best = answer.points[answer.chosen()]
    assert (best.time, best.energy) == (17_153_200, 195_087_000)
    assert best.transitions == 14
    assert len(solve(XAVIER, "a3").points) == 51


def test_limits_are_exact() -> None:
    """A limit equal to a point's own value keeps it; the next lower one in the platform's unit does not."""
    front = solve(XAVIER, "b0").points
    point = front[len(front) // 2]
    kept = solve(XAVIER, "b0", MapOptions(latency_ms=point.time / 1e6)).points
    assert (kept[-1].time, kept[-1].energy) == (point.time, point.energy)
    lower = solve(XAVIER, "b0", MapOptions(latency_ms=(point.time - 1) / 1e6)).points
    assert lower[-1].energy > point.energy
    assert all(one.energy <= 300 * 10**6 for one in solve(XAVIER, "b0", MapOptions(energy_mj=300)).points)
    assert all(one.energy <= 10 * one.time for one in solve(XAVIER, "b0", MapOptions(power_w=10)).points)
    assert {one.transitions for one in solve(XAVIER, "b0", MapOptions(transitions=1)).points} == {0, 1}


def test_each_alternative_of_the_best_mapping_is_worse() -> None:
    answer = solve(XAVIER, "b0", MapOptions(latency_ms=27))
    best = answer.points[answer.chosen()]
    for move in answer.moves(best):
        for _, _, energy, broken in move.others:
            assert energy >= 0 or broken == ["latency"]


def test_nothing_keeps_the_limits() -> None:
    answer = solve(XAVIER, "a3", MapOptions(latency_ms=10))
    assert answer.points == [] and answer.nearest is not None
    assert answer.nearest.time == 13_420_000 and answer.broken(answer.nearest) == ["latency"]


def test_settings_are_united(own: Path) -> None:
    """norm takes 10, 20 at one setting and 30, 5 at the other: both ends are on the front."""
    platform = find_platform(str(own))
    answer = solve(platform, "net")
    assert {point.setting for point in answer.points} == {"fast", "slow"}
    alone = solve(platform, "net", MapOptions(setting="slow"))
    assert {point.setting for point in alone.points} == {"slow"} and list(alone.chains) == ["slow"]


def test_plain_values() -> None:
    plain = json.loads(json.dumps(solve(XAVIER, "a3", MapOptions(latency_ms=20)).to_dict()))
    assert {source["kind"] for source in plain["sources"].values()} == {"exact", "published", "reconstructed"}
    point = plain["front"][plain["chosen"]]
    assert point["latency_ms"] == point["time"] / 1e6 and set(point["mapping"]) <= {"gpu", "dla"}


@pytest.mark.parametrize("method", METHODS)
def test_baselines_never_beat_the_exact_front(method: str) -> None:
    chain = XAVIER.chain("a3")
    corner = -np.max(list(chain.alone().values()), axis=0)
    exact = exact_front(chain)
    found = METHODS[method](chain, 600, np.random.default_rng(1), None)
    np.testing.assert_array_equal(chain.costs(found.mappings), found.costs)
    share = pareto.hypervolume(-found.costs, corner) / pareto.hypervolume(-exact.costs, corner)
    assert 0.5 < share <= 1
    both = np.concatenate([exact.costs, found.costs])
    assert set(np.flatnonzero(pareto.front(-both))) <= set(range(len(exact.costs)))
    again = METHODS[method](chain, 600, np.random.default_rng(1), None)
    np.testing.assert_array_equal(again.mappings, found.mappings)


def test_draws_use_supported_units(own: Path) -> None:
    chain = find_platform(str(own)).chain("net", "layer")
    drawn = draw(chain, 50, np.random.default_rng(0))
    assert chain.supported[np.arange(5), drawn].all() and len(np.unique(drawn, axis=0)) == 4
