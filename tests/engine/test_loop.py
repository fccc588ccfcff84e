"""The whole loop on four nodes: equal bytes for any workers and any interruption; the leaders' end."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from fgnas.design import Design
from fgnas.engine.finish import Leaders, spread
from fgnas.engine.jobs import Workers
from fgnas.engine.loop import SearchLoop, descended, leaders, propose, redrawn, survey, worst
from fgnas.engine.run import SearchConfig, make_searcher
from fgnas.engine.store import RunStore
from fgnas.errors import UserError
from fgnas.hardware.pipeline.pricing import Specification
from fgnas.searchers.disjoint import Disjoint
from fgnas.searchers.paper import PaperReinforce
from fgnas.searchers.random import RandomSearch
from fgnas.searchers.reinforce import Reinforce

METHODS = {
    "reinforce": lambda space, evaluator: Reinforce(space, 5),
    "random": lambda space, evaluator: RandomSearch(space, 5),
    "paper": lambda space, evaluator: PaperReinforce(space, 5),
    "disjoint": lambda space, evaluator: Disjoint(space, 5, 25, lambda samples: evaluator.check(samples)[1]),
}


class Killed(Exception):
    """Stands for a signal."""


@pytest.fixture
def make_loop(make_evaluator, space, tmp_path):
    def make(name, method="reinforce", run=None, report=lambda status: None, children=13):
        folder = tmp_path / name
        store = RunStore(folder) if folder.exists() else RunStore.create(tmp_path, name, {})
        evaluator = make_evaluator(run)
        searcher = METHODS[method](space, evaluator)
        return SearchLoop(searcher, evaluator, store, children=children, batch=4, leaders=3, report=report)

    return make


def content(loop):
    return (loop.store.folder / "trials.jsonl").read_bytes()


def killed_after(batches):
    statuses = []

    def report(status):
        statuses.append(status)
        if len(statuses) == batches:
            raise Killed

    return report


def test_trials_hold_what_they_must(make_loop):
    loop = make_loop("whole")
    trials = loop.run()
    assert [trial["trial"] for trial in trials] == list(range(13))
    draws = [trial["draws"] for trial in trials]
    assert draws == sorted(set(draws))
    for trial in trials:
        design = Design.from_dict(trial["design"])
        assert design.hash == trial["design_hash"] and design.dsp == 20
        assert design.score_key == trial["score_key"]
        assert trial["latency_cycles"] <= 250 and trial["dsp"] <= 20
    assert trials == loop.store.trials()
    assert len((loop.store.folder / "timings.jsonl").read_text().splitlines()) == 4


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("batches", [1, 2, 3])
def test_killed_and_resumed_is_undisturbed(make_loop, method, batches):
    whole = make_loop("whole", method)
    whole.run()
    cut = make_loop("cut", method, report=killed_after(batches))
    with pytest.raises(Killed):
        cut.run()
    with (cut.store.folder / "trials.jsonl").open("a") as file:
        file.write('{"trial":')
    again = make_loop("cut", method)
    again.resume()
    assert 0 < len(again.trials) <= 4 * batches
    again.run()
    assert content(again) == content(whole)


def test_killed_between_trials_and_state(make_loop, monkeypatch):
    """The trials of the second batch are on disk, the state is still the first's."""
    from fgnas.engine import store as module

    whole, cut = make_loop("whole"), make_loop("cut")
    whole.run()
    write, written = module.replace_file, []

    def fail_the_second_time(path, data):
        if path.name == "state.pt":
            written.append(path)
            if len(written) == 2:
                raise Killed
        write(path, data)

    monkeypatch.setattr(module, "replace_file", fail_the_second_time)
    with pytest.raises(Killed):
        cut.run()
    monkeypatch.undo()
    assert content(cut).count(b"\n") == 8
    from fgnas.engine import jobs

    monkeypatch.setattr(jobs, "load", lambda name: whole.evaluator.data)
    again = make_loop("cut")
    again.resume()
    assert len(again.trials) == 4
    again.run()
    assert content(again) == content(whole)


def test_a_run_from_before_numerics_had_names_goes_on(make_loop, monkeypatch):
    cut = make_loop("cut", report=killed_after(1))
    with pytest.raises(Killed):
        cut.run()
    named = cut.store.trials()
    older = [{name: value for name, value in trial.items() if name != "score_key"} for trial in named]
    again = make_loop("cut")
    monkeypatch.setattr(again.store, "trials", lambda: older)
    again.resume()
    assert again.trials == named


def test_the_number_of_workers_changes_nothing(make_loop):
    one = make_loop("one")
    one.run()
    with Workers(lambda: ThreadPoolExecutor(1)) as workers:
        several = make_loop("several", run=workers.run)
        several.run()
    assert content(one) == content(several)


def ranked_trial(number, design, val, architecture, feasible=True, numerics=None):
    hashes = {"design_hash": design, "training_key": architecture, "score_key": numerics or design}
    return {"trial": number, "val": val, "feasible": feasible, **hashes}


def test_leaders_are_distinct_and_the_earlier_of_equals_comes_first():
    named = [("a", 0.5), ("b", 0.7), ("a", 0.5), ("c", 0.7), ("d", 0.1)]
    trials = [ranked_trial(place, name, val, name) for place, (name, val) in enumerate(named)]
    trials.append(ranked_trial(5, "x", 0.9, "x", feasible=False))
    assert [trial["design_hash"] for trial in leaders(trials, 3)] == ["b", "c", "a"]
    assert [trial["trial"] for trial in leaders(trials, 3)] == [1, 3, 0]


def test_no_architecture_crowds_the_leaders():
    trials = [ranked_trial(place, str(place), 0.9 - place / 100, "wide" if place < 4 else "slim") for place in range(6)]
    assert [trial["trial"] for trial in leaders(trials, 4)] == [0, 1, 4, 5]
    assert [trial["trial"] for trial in leaders(trials, 5)] == [0, 1, 4, 5, 2]


def test_leaders_that_differ_in_parallelism_alone_stand_behind_all_others():
    named = [("a", "x"), ("b", "x"), ("c", "y"), ("d", "x")]
    trials = [ranked_trial(place, name, 0.9, "wide", numerics=of) for place, (name, of) in enumerate(named)]
    trials.append(ranked_trial(4, "e", 0.1, "slim"))
    assert [trial["trial"] for trial in leaders(trials, 9)] == [0, 2, 4, 1, 3]


def test_the_best_children_are_kept_on_disk(make_loop):
    loop = make_loop("whole")
    trials = loop.run()
    kept = {path.stem for path in loop.store.children.iterdir()}
    assert kept == {trial["training_key"] for trial in leaders(trials, 3)}


def test_retraining_ranks_by_the_mean_and_delivers_the_best_seed(make_loop):
    loop = make_loop("whole")
    chosen = Leaders(loop.evaluator, leaders(loop.run(), 3), 3)
    chosen.retrain()
    chosen.val = dict(zip(chosen.designs, ([0.5, 0.9, 0.1], [0.8, 0.6, 0.8], [0.2, 0.3, 0.4]), strict=True))
    chosen.fine_tune()
    assert [len(tuned) for tuned in chosen.tuned.values()] == [1, 3, 1]
    best = chosen.deliver(loop.store)
    entries = loop.store.leaders()
    assert [entry["val"]["mean"] for entry in entries] == pytest.approx([0.733333, 0.5, 0.3])
    assert [entry["repetition"] for entry in entries] == [1, 2, 3]
    assert best == loop.store.best() and best["design_hash"] == list(chosen.designs)[1]
    assert best["seed"] == best["retrained"]["seeds"][0]
    assert len(best["retrained"]["quantised"]["test"]["values"]) == 3
    assert best["delivered"]["quantised"]["test"] == best["retrained"]["quantised"]["test"]["values"][0]
    for entry in entries:
        Design.from_dict(entry["design"])
        loop.store.load_network(entry)


def test_spread_of_three():
    assert spread([1.0, 2.0, 3.0]) == {"mean": 2.0, "std": 1.0, "values": [1.0, 2.0, 3.0]}
    assert spread([4.0])["std"] == 0.0


def test_proposals_are_the_first_feasible_draws(make_evaluator, space):
    evaluator = make_evaluator()
    proposal = propose(RandomSearch(space, 3), evaluator, 5, 5)
    twin = RandomSearch(space, 3)
    asked = np.concatenate([twin.ask(20), twin.ask(80), twin.ask(320)])
    feasible = np.flatnonzero(evaluator.check(asked)[1])[:5]
    assert np.array_equal(proposal.samples, asked[feasible])
    assert proposal.draws.tolist() == (feasible + 1).tolist()


def test_an_impossible_constraint_is_named_with_what_it_lacks(make_evaluator, space, monkeypatch):
    from fgnas.engine import loop as module

    monkeypatch.setattr(module, "MAX_FRUITLESS_DRAWS", 2000)
    evaluator = make_evaluator(specification=Specification(latency_ms=1.0, lut=100))
    with pytest.raises(UserError, match=r"nearest one lut \d+ is over 100 \(by [\d.]+%\)"):
        propose(RandomSearch(space, 0), evaluator, 2, 2)


def test_survey_counts_each_constraint(make_evaluator, space, monkeypatch):
    from fgnas.engine import loop as module

    monkeypatch.setattr(module, "SURVEY_DRAWS", 5000)
    evaluator = make_evaluator()
    specification = Specification(latency_ms=0.0025, lut=10**6)
    found = survey(space, evaluator.pricer, specification, 20)
    assert found.draws == 5000 and found.binding == "latency_cycles"
    assert found.holds["lut"] == 1.0 and found.holds["latency_cycles"] == found.share
    assert 0.01 < found.share < 0.99 and found.widest == 16
    free = survey(space, evaluator.pricer, Specification(), 20)
    assert free.share == 1.0 and free.binding is None and "none" in str(free)


def test_descent_moves_each_sample_to_where_no_single_change_helps(make_evaluator, space):
    specification = Specification(latency_ms=0.0002, lut=100, dsp=1)
    pricer = make_evaluator().pricer
    drawn = space.draw(5, np.random.default_rng(0))
    before = drawn.copy()
    found = descended(drawn, space, pricer, specification, 1)
    assert np.array_equal(drawn, before)
    reached = worst(pricer.price(space.columns(found), 1), specification)
    assert (reached < worst(pricer.price(space.columns(drawn), 1), specification)).all() and (reached > 1).all()
    for column, decision in enumerate(space.decisions):
        assert np.array_equal(found[:, column] >= 0, space.offered(found, column))
        for option in range(len(decision.choice.options)):
            changed = space.columns(space.repaired(found, column, option))
            assert (worst(pricer.price(changed, 1), specification) >= reached).all()


def rare(space, pricer):
    """Limits that some design keeps exactly, and none of many uniform draws."""
    found = descended(space.draw(1, np.random.default_rng(7)), space, pricer, Specification(1e-5, 1_000), 20)
    prices = pricer.price(space.columns(found), 20)
    specification = Specification(latency_ms=int(prices.latency_cycles[0]) / 100_000, lut=int(prices.lut[0]), dsp=20)
    samples = space.draw(5_000, np.random.default_rng(0))
    assert not pricer.price(space.columns(samples), 20).feasible(specification).any()
    return specification


def test_what_uniform_draws_miss_is_found_from_the_nearest(make_evaluator, space, monkeypatch):
    from fgnas.engine import loop as module

    for name in ("SURVEY_DRAWS", "MAX_FRUITLESS_DRAWS"):
        monkeypatch.setattr(module, name, 500)
    evaluator = make_evaluator(specification=(specification := rare(space, make_evaluator().pricer)))
    found = survey(space, evaluator.pricer, specification, 20)
    assert found.share == 0 and len(found.known) and evaluator.check(found.known)[1].all()
    assert "improving the nearest" in str(found)
    config = SearchConfig.of("digits", specification=specification)
    searcher = make_searcher(config, space, evaluator, found)
    assert len(redrawn(searcher, evaluator, 5).samples) == 5


def test_what_nothing_meets_is_refused_with_what_it_lacks(make_evaluator, space, monkeypatch):
    from fgnas.engine import loop as module

    for name in ("SURVEY_DRAWS", "MAX_FRUITLESS_DRAWS"):
        monkeypatch.setattr(module, name, 500)
    with pytest.raises(UserError, match=r"nor by improving the nearest: in the nearest one lut \d+ is over 10 \(by"):
        survey(space, make_evaluator().pricer, Specification(latency_ms=1.0, lut=10), 20)
