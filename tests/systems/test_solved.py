"""Solved hardware: it keeps the limits, its costs are exact, and it is compared with every combination of lanes."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support import random_graph

from fgnas.costs import feasible
from fgnas.engine.jobs import Workers
from fgnas.engine.loop import SearchLoop
from fgnas.engine.store import RunStore
from fgnas.errors import UserError
from fgnas.hardware.specification import Specification
from fgnas.searchers.evolution import Evolution, EvolutionSettings
from fgnas.systems.fgnas import jobs
from fgnas.systems.fgnas.composition import composed
from fgnas.systems.fgnas.options import Options
from fgnas.systems.fgnas.solved import SolvedTarget, first_least, formats_of
from fgnas.systems.fgnas.space import find_space
from fgnas.systems.fgnas.target import TARGETS, PipelineTarget

LANES = {"t_in": (1, 3), "t_out": (1, 2, 5), "t_attn": (1, 4), "t_aggr": (1, 4), "t_act": (1, 2)}


@pytest.fixture
def small():
    """A space with few combinations of lanes: 288 without gat, 1,152 with gat in both layers."""
    return find_space("fgnas", dsp=20).restrict(k=(1, 2), d=(4, 8), **LANES)


def assert_equal(some, others):
    assert {name: values.tolist() for name, values in some.items()} == {
        name: values.tolist() for name, values in others.items()
    }


def every_hardware(space, row):
    """A full row with every combination of its lanes."""
    lanes = [column for column, one in enumerate(space.decisions) if one.kind == "hardware"]
    ranges = (range(len(space.decisions[column].options)) for column in lanes)
    rows = np.repeat(row[None], np.prod([len(space.decisions[column].options) for column in lanes]), axis=0)
    rows[:, lanes] = list(itertools.product(*ranges))
    return np.unique(space.repaired(rows), axis=0)


@pytest.fixture
def graph():
    return random_graph(np.random.default_rng(0), 60, 40, 4, 150)


@pytest.mark.parametrize("cheapest, optimal, most", [("latency_cycles", 14, 1.08), ("lut", 15, 1.0), ("dsp", 15, 1.0)])
def test_it_is_compared_with_every_combination_of_lanes(small, graph, cheapest, optimal, most):
    """60 architectures, of which 15 fit: how many get the cheapest lanes of their formats, and the greatest excess."""
    specification = Specification(latency_ms=0.03, lut=2_924, dsp=20)
    inner = PipelineTarget(small, graph, specification)
    solved = SolvedTarget(small, inner, specification.bounds(), cheapest)
    rows = np.unique(solved.space.draw(120, np.random.default_rng(0)), axis=0)[:60]
    found = solved.price(rows)
    full = solved.solver.solved(solved.solver.lifted(solved.space, rows))
    assert_equal(found, inner.price(full))
    kept = feasible(found, specification.bounds())
    excess = []
    for place, row in enumerate(full):
        prices = inner.price(every_hardware(small, row))
        ok = feasible(prices, specification.bounds())
        assert ok.any() == kept[place]
        if kept[place]:
            excess.append(found[cheapest][place] / prices[cheapest][ok].min())
    assert len(excess) == 15 and min(excess) == 1
    assert excess.count(1.0) >= optimal and max(excess) <= most


def test_the_widest_formats_that_fit_are_taken(small, graph):
    """Under the same limits no wider formats have lanes that keep them."""
    specification = Specification(latency_ms=0.03, lut=3_200, dsp=20)
    inner = PipelineTarget(small, graph, specification)
    solved = SolvedTarget(small, inner, specification.bounds(), "lut")
    rows = solved.space.draw(120, np.random.default_rng(1))
    full = solved.solver.solved(solved.solver.lifted(solved.space, rows))
    taken = set()
    for row in full[feasible(inner.price(full), specification.bounds())]:
        formats = solved.solver.formats
        here = next(place for place, one in enumerate(formats) if all(row[c] == i for c, i in one.items()))
        taken.add(here)
        for wider in formats[:here]:
            changed = row.copy()
            changed[list(wider)] = list(wider.values())
            assert not feasible(inner.price(every_hardware(small, changed)), specification.bounds()).any()
    assert len(taken) > 1


def test_formats_go_from_ten_bits_to_four():
    space = find_space("fgnas")
    row = space.draw(1, np.random.default_rng(0))[0]
    found = []
    for formats in formats_of(space):
        row[list(formats)] = list(formats.values())
        layer = space.candidate(row).layers[1]
        assert (layer.ai, layer.af) == (layer.wi, layer.wf)
        found.append((layer.ai, layer.af))
    assert found == [(3, 6), (1, 6), (1, 5), (1, 4), (1, 3), (1, 2)]
    assert len(formats_of(space.restrict(af=(5,), wf=(5,), ai=(1,), wi=(1,)))) == 1


def test_smaller_hardware_has_the_fewest_luts_of_every_pair_of_widths(small, graph):
    specification = Specification(latency_ms=0.03, lut=3_200, dsp=20)
    inner = PipelineTarget(small, graph, specification)
    solved = SolvedTarget(small, inner, specification.bounds(), "latency_cycles")
    rows = solved.space.draw(40, np.random.default_rng(0))
    row = rows[np.flatnonzero(feasible(solved.price(rows), specification.bounds()))[0]]
    found, costs = solved.smaller.rows(row)
    assert_equal(costs, inner.price(found))
    assert feasible(costs, specification.bounds()).all() and solved.smaller.saved == "lut"
    layers = [small.candidate(one).layers[0] for one in found]
    pairs = [(layer.ai + layer.af + 1, layer.wi + layer.wf + 1) for layer in layers]
    assert len(set(pairs)) == len(pairs) > 10
    architecture = solved.space.candidate(row).architecture()
    assert all(small.candidate(one).architecture() == architecture for one in found)
    for one, lut in zip(found, costs["lut"], strict=True):
        prices = inner.price(every_hardware(small, one))
        assert lut == prices["lut"][feasible(prices, specification.bounds())].min()
    assert TARGETS["pipeline"](small, graph, specification).smaller is None


def test_the_cheapest_of_a_search_is_rescored_with_its_leaders_networks(small, workers):
    parts = composed(Options(dataset="digits", dsp=100, children=1))
    rows = parts.space.draw(20, np.random.default_rng(4))
    offered = parts.smaller.variants(rows[np.flatnonzero(parts.feasible(rows))[0]])[::12]
    designs = [design for design, _ in offered]
    (outcome,) = parts.trainer.retrain(designs[:1], 1, workers)
    ((first, *others),) = parts.smaller.score([(designs, 1, outcome)], workers)
    assert first == outcome.scores["val"] and len(others) == len(designs) - 1 > 0
    for design, value in zip(designs[1:], others, strict=True):
        assert parts.trainer.retrain([design], 1, workers)[0].scores["val"] == value


def test_what_is_found_depends_on_no_history(small, four_nodes):
    specification = Specification(latency_ms=0.003, lut=3_000, dsp=20)

    def target():
        return TARGETS["solved-lut"](small, four_nodes, specification)

    rows = target().space.draw(15, np.random.default_rng(2))
    whole = target().price(rows)
    one = target()
    single = [one.price(row[None]) for row in rows[::-1]][::-1]
    assert_equal(whole, {name: np.array([each[name][0] for each in single]) for name in whole})
    assert all(len(values) == 0 for values in target().price(rows[:0]).values())


def test_without_limits_the_fewest_cycles_are_found(small, four_nodes):
    inner = PipelineTarget(small, four_nodes, Specification())
    solved = SolvedTarget(small, inner, (), "latency_cycles")
    rows = solved.space.draw(10, np.random.default_rng(3))
    full = solved.solver.solved(solved.solver.lifted(solved.space, rows))
    for row, cycles in zip(full, solved.price(rows)["latency_cycles"], strict=True):
        assert cycles == inner.price(every_hardware(small, row))["latency_cycles"].min()


def test_the_searched_space_has_architectures_alone(four_nodes):
    parts = composed(Options(target="solved-cycles", dsp=20, latency_ms=0.003), four_nodes)
    assert {decision.kind for decision in parts.space.decisions} == {"architecture"}
    rows = parts.space.draw(20, np.random.default_rng(0))
    designs, costs = [parts.space.candidate(row) for row in rows], parts.target.price(rows)
    assert len({design.training_key for design in designs}) == len(np.unique(rows, axis=0))
    restricted = parts.space.restrict(attention=("gcn",))
    row = restricted.draw(1, np.random.default_rng(0))[0]
    assert restricted.candidate(row).layers[0].attention == "gcn"
    full = [design.to_dict()["layers"][0]["t_in"] for design in designs]
    assert all(full) and len(costs["lut"]) == 20


def test_the_first_of_equal_candidates_wins():
    keys = [np.array([[1, 0], [0, 0], [0, 0]]), np.array([[0, 2], [3, 1], [3, 1]])]
    assert first_least(keys).tolist() == [1, 1]


class Killed(Exception):
    """Represents a signal."""


@pytest.fixture
def make_loop(four_nodes, workers, tmp_path, monkeypatch):
    """Makes a loop of evolution over solved architectures, with two objectives and a population of six."""
    monkeypatch.setattr(jobs, "load", lambda name: four_nodes)
    options = Options(
        target="solved-lut", dsp=20, latency_ms=0.0025, lut=100_000, epochs=2, objectives="val,latency_cycles"
    )

    def make(name, by=workers, report=lambda status: None):
        store = RunStore(tmp_path / name) if (tmp_path / name).exists() else RunStore.create(tmp_path, name, {})
        parts = composed(options, four_nodes)
        searcher = Evolution(parts.space, 3, EvolutionSettings(population=6, sample=3))
        return SearchLoop(searcher, parts, store, by, children=16, batch=4, leaders=4, distinct=True, report=report)

    return make


def trials_of(loop):
    return (loop.store.folder / "trials.jsonl").read_bytes()


def test_evolution_over_architectures_is_the_same_killed_resumed_and_by_any_workers(make_loop):
    whole = make_loop("whole")
    trials = whole.run()
    assert len({trial.training_key for trial in trials}) == 16 and all(trial.trained for trial in trials)
    assert all(trial.costs["latency_cycles"] <= 250 for trial in trials)

    def kill(status):
        if status.done == 12:
            raise Killed

    cut = make_loop("cut", report=kill)
    with pytest.raises(Killed):
        cut.run()
    again = make_loop("cut")
    again.resume()
    assert len(again.trials) == 12
    again.run()
    with Workers(lambda: ThreadPoolExecutor(2)) as two:
        several = make_loop("several", by=two)
        several.run()
    assert trials_of(whole) == trials_of(again) == trials_of(several)
    assert [trial.row for trial in whole.leaders()] == [trial.row for trial in again.leaders()]


def test_an_unknown_objective_is_one_line(four_nodes):
    with pytest.raises(UserError, match="--objectives: unknown 'power'; known: .*latency_cycles.*val"):
        composed(Options(objectives="val,power"), four_nodes)
