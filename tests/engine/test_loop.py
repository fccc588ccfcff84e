"""The whole loop on four nodes: equal bytes for any workers and any interruption."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from fgnas import searchers
from fgnas.design import Design
from fgnas.engine.finish import Leaders, spread
from fgnas.engine.jobs import Workers
from fgnas.engine.loop import SearchLoop, leaders, with_front
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial
from fgnas.errors import UserError
from fgnas.systems.fgnas import back_end

METHODS = {
    "reinforce": ("reinforce", "conditioned"), "warm": ("reinforce", "warm"), "masked": ("reinforce", "masked"),
    "random": ("random", None), "paper": ("reinforce", "paper"), "disjoint": ("disjoint", None),
    "evolution": ("evolution", None), "distinct": ("distinct", None),
}  # fmt: skip


class Killed(Exception):
    """Represents a signal."""


@pytest.fixture
def make_loop(compose, problem_of, tmp_path, workers):
    def make(name, method="reinforce", by=workers, report=lambda status: None, children=13):
        folder = tmp_path / name
        store = RunStore(folder) if folder.exists() else RunStore.create(tmp_path, name, {})
        parts = compose()
        module, controller = METHODS[method]
        searcher = searchers.find(module)(problem_of(parts, controller=controller))
        distinct = getattr(searcher, "distinct", False)
        return SearchLoop(
            searcher, parts, store, by, children=children, batch=4, leaders=3, distinct=distinct, report=report
        )

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
    assert [trial.trial for trial in trials] == list(range(13))
    draws = [trial.draws for trial in trials]
    assert draws == sorted(set(draws))
    for trial in trials:
        design = Design.from_dict(trial.design)
        assert design.hash == trial.design_hash and design.dsp == 20
        assert (design.training_key, design.score_key) == (trial.training_key, trial.score_key)
        assert trial.costs["latency_cycles"] <= 250 and trial.costs["dsp"] <= 20
        assert loop.parts.space.candidate(np.array(trial.row, np.int16)) == design
    assert trials == loop.store.trials()
    assert len((loop.store.folder / "timings.jsonl").read_text().splitlines()) == 4


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("batches", [1, *(pytest.param(count, marks=pytest.mark.slow) for count in (2, 3))])
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


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("before", [6, *(pytest.param(count, marks=pytest.mark.slow) for count in (2, 8))])
def test_a_search_for_more_children_is_that_from_the_start(make_loop, method, before):
    """The first search ends within its first batch, within its second, or after two: a short batch is drawn again.

    Batches of the paper's controller contain only the feasible part of their draws.
    """
    whole, first = make_loop("whole", method), make_loop("first", method, children=before)
    whole.run()
    first.run()
    first.store.lengthen({})
    again = make_loop("first", method)
    again.resume()
    assert len(again.trials) <= before and (method == "paper" or len(again.trials) == before // 4 * 4)
    again.run()
    assert content(again) == content(whole)
    assert again.store.resume()["draws"] == whole.store.resume()["draws"]


def test_killed_between_trials_and_state(make_loop, monkeypatch):
    """Killed between the two writes: the trials of the second batch are on disk, the state is the first batch's."""
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
    from fgnas.systems.fgnas import jobs

    monkeypatch.setattr(jobs, "load", lambda name: whole.parts.trainer.data)
    again = make_loop("cut")
    again.resume()
    assert len(again.trials) == 4
    again.run()
    assert content(again) == content(whole)


def test_trials_of_another_version_are_refused_by_name(make_loop):
    loop = make_loop("whole")
    loop.run()
    path = loop.store.folder / "trials.jsonl"
    path.write_text(path.read_text().replace('"score_key"', '"numerics"'))
    with pytest.raises(UserError, match=r"another version of fgnas \(numerics\)"):
        loop.store.trials()


def test_the_number_of_workers_changes_nothing(make_loop):
    one = make_loop("one")
    one.run()
    with Workers(lambda: ThreadPoolExecutor(1)) as workers:
        several = make_loop("several", by=workers)
        several.run()
    assert content(one) == content(several)


def ranked_trial(number, design, val, training, feasible=True, score=None):
    return Trial(number, number + 1, (), {}, design, training, score or design, feasible, {"val": val}, {}, True, False)


@pytest.mark.parametrize("trainings", [1, 6, 7])
def test_a_search_ends_with_its_trainings(make_loop, trainings):
    whole, short = make_loop("whole", "random", children=200), make_loop("short", "random", children=200)
    short.trainings = trainings
    trials = short.run()
    assert sum(trial.trained for trial in trials) == trainings and len(trials) < 200
    # Until the last batches, which are smaller, it is the search without that limit.
    assert trials[: trainings - trainings % 4] == whole.run()[: trainings - trainings % 4]


def test_leaders_are_distinct_and_the_earlier_of_equals_comes_first():
    named = [("a", 0.5), ("b", 0.7), ("a", 0.5), ("c", 0.7), ("d", 0.1)]
    trials = [ranked_trial(place, name, val, name) for place, (name, val) in enumerate(named)]
    trials.append(ranked_trial(5, "x", 0.9, "x", feasible=False))
    assert [trial.design_hash for trial in leaders(trials, 3, "val")] == ["b", "c", "a"]
    assert [trial.trial for trial in leaders(trials, 3, "val")] == [1, 3, 0]


def test_no_architecture_crowds_the_leaders():
    trials = [ranked_trial(place, str(place), 0.9 - place / 100, "wide" if place < 4 else "slim") for place in range(6)]
    assert [trial.trial for trial in leaders(trials, 4, "val")] == [0, 1, 4, 5]
    assert [trial.trial for trial in leaders(trials, 5, "val")] == [0, 1, 4, 5, 2]


def test_leaders_that_differ_in_parallelism_alone_stand_behind_all_others():
    named = [("a", "x"), ("b", "x"), ("c", "y"), ("d", "x")]
    trials = [ranked_trial(place, name, 0.9, "wide", score=of) for place, (name, of) in enumerate(named)]
    trials.append(ranked_trial(4, "e", 0.1, "slim"))
    assert [trial.trial for trial in leaders(trials, 9, "val")] == [0, 2, 4, 1, 3]


def test_leaders_by_merit_are_those_whose_costs_count():
    """Each has a point less than the one before it, and the third costs nothing."""
    costs = ({"lut": 3.0}, {"lut": 2.0}, {"lut": 0.0}, {"lut": 0.5})
    trials = [replace(ranked_trial(n, str(n), 0.9 - n / 100, str(n)), costs=one) for n, one in enumerate(costs)]
    assert [trial.trial for trial in leaders(trials, 4, "val", {"lut": 0.02})] == [2, 3, 1, 0]
    assert [trial.trial for trial in leaders(trials, 4, "val", {"lut": 0.0})] == [0, 1, 2, 3]


def test_half_of_the_leaders_come_from_the_front_of_several_objectives():
    ranked = [ranked_trial(place, str(place), 0.9 - place / 100, str(place)) for place in range(6)]
    objectives = np.array([[0.90, -9], [0.89, -9], [0.88, -9], [0.87, -9], [0.86, -2], [0.85, -1]])
    assert [trial.trial for trial in with_front(ranked, objectives, 4)] == [0, 1, 4, 5]
    assert [trial.trial for trial in with_front(ranked, objectives, 5)] == [0, 1, 2, 4, 5]
    assert [trial.trial for trial in with_front(ranked, objectives, 9)] == [0, 1, 2, 3, 4, 5]
    assert [trial.trial for trial in with_front(ranked[:3], objectives[:3], 2)] == [0, 1]


def test_with_one_objective_the_front_is_that_of_score_and_saved_cost(make_loop):
    """Cheap candidates are retrained, too, so that one of them may prove to be as good."""
    loop = make_loop("whole")
    loop.trials = [
        replace(ranked_trial(place, str(place), 0.9 - place / 100, str(place)), costs={loop.parts.saved: cost})
        for place, cost in enumerate((9.0, 9.0, 9.0, 9.0, 2.0, 1.0))
    ]  # fmt: skip
    assert loop.leader_count == 3 and [trial.trial for trial in loop.leaders()] == [0, 1, 4]


def test_the_best_children_are_kept_on_disk(make_loop):
    loop = make_loop("whole")
    loop.run()
    kept = {path.stem for path in loop.store.children.iterdir()}
    assert kept == {trial.training_key for trial in loop.leaders()}


def test_retraining_ranks_by_the_mean_and_delivers_the_best_seed(make_loop, workers):
    loop = make_loop("whole")
    trials = leaders(loop.run(), 3, "val")
    chosen = Leaders(loop.parts, trials, [Design.from_dict(trial.design) for trial in trials], 3)
    chosen.retrain(workers)
    made_up = ([0.5, 0.9, 0.1], [0.8, 0.6, 0.8], [0.2, 0.3, 0.4])
    scored_by_hand(chosen, made_up)
    chosen.refine(workers)
    assert [len(one.refined) for one in chosen.finalists] == [1, 3, 1]
    best = chosen.deliver(loop.store)
    entries = loop.store.leaders()
    assert [entry["retrained_val"]["mean"] for entry in entries] == pytest.approx([0.733333, 0.5, 0.3])
    assert [entry["repetition"] for entry in entries][1:] == [2, 3]
    assert best == loop.store.best() and best["design_hash"] == trials[1].design_hash
    place = best["repetition"] - 1
    assert best["seed"] == best["retrained"]["seeds"][place]
    assert len(best["retrained"]["quantised"]["test"]["values"]) == 3
    assert best["delivered"]["quantised"]["test"] == best["retrained"]["quantised"]["test"]["values"][place]
    for entry in entries:
        opened = back_end.open(entry, loop.store.folder)
        assert opened.design.hash == entry["design_hash"] and opened.network.layers


class Race:
    """A trainer whose retrainings have scores by hand, by repetition and candidate."""

    def __init__(self, trainer, values):
        self.trainer, self.values, self.asked = trainer, values, []

    def __getattr__(self, name):
        return getattr(self.trainer, name)

    def retrain(self, candidates, repetition, workers):
        names = [candidate.hash for candidate in candidates]
        self.asked.append(names)
        found = self.trainer.retrain(candidates, repetition, workers)
        return [
            replace(outcome, scores={"val": self.values[name][repetition - 1]})
            for name, outcome in zip(names, found, strict=True)
        ]


def test_finalists_alone_train_with_every_seed_and_merit_chooses(make_loop, workers):
    """The third is the best by score and too dear; the second loses to the first in the further rounds, and still ranks
    before the third."""
    loop = make_loop("whole")
    costs = [{loop.parts.saved: cost} for cost in (10, 12, 90)]
    trials = [replace(trial, costs=one) for trial, one in zip(leaders(loop.run(), 3, "val"), costs, strict=True)]
    designs = [Design.from_dict(trial.design) for trial in trials]
    names = [trial.design_hash for trial in trials]
    values = ([0.7, 0.8, 0.8], [0.75, 0.4, 0.3], [0.9, 0.0, 0.0])
    race = Race(loop.parts.trainer, dict(zip(names, values, strict=True)))
    parts = replace(loop.parts, trainer=race, weights={loop.parts.saved: 0.01})
    chosen = Leaders(parts, trials, designs, 3, finalists=2)
    chosen.retrain(workers)
    assert race.asked == [names, [names[1], names[0]], [names[0], names[1]]]
    chosen.choose_cheapest(workers)
    chosen.refine(workers)
    best = chosen.deliver(loop.store)
    assert [one["design_hash"] for one in loop.store.leaders()] == names
    assert [len(one["retrained_val"]["values"]) for one in loop.store.leaders()] == [3, 3, 1]
    assert best["design_hash"] == names[0] and len(best["retrained"]["seeds"]) == 3
    assert loop.store.cheapest()["rank"] == 1


def test_a_judge_ranks_the_better_half_and_finalists(make_loop, workers):
    """The third is the worst by the first seed, and is not judged; the second is the best on what is held out."""
    loop = make_loop("whole")
    trials = leaders(loop.run(), 3, "val")
    designs = [Design.from_dict(trial.design) for trial in trials]
    names = [trial.design_hash for trial in trials]
    race = Race(loop.parts.trainer, dict(zip(names, ([0.9, 0.9], [0.8, 0.1], [0.7, 0.9]), strict=True)))
    folds, judged, rounds = {names[0]: [0.5, 0.6], names[1]: [0.9, 0.4]}, [], []

    def judge(candidates, by):
        assert by is workers
        judged.append([candidate.hash for candidate in candidates])
        return [folds[candidate.hash] for candidate in candidates]

    chosen = Leaders(replace(loop.parts, trainer=race, judge=judge), trials, designs, 2, finalists=1)
    chosen.retrain(workers, lambda done, total: rounds.append((done, total)))
    assert judged == [names[:2]] and race.asked == [names, [names[1]]]
    chosen.choose_cheapest(workers)
    chosen.refine(workers, lambda done, total: rounds.append((done, total)))
    assert rounds == [(1, 4), (2, 4), (3, 4), (4, 4)]
    best, entries = chosen.deliver(loop.store), loop.store.leaders()
    assert [one["design_hash"] for one in entries] == [names[1], names[0], names[2]]
    assert best["folds"]["mean"] == pytest.approx(0.65) and "folds" not in entries[2]
    assert best["retrained_val"]["values"] == [0.8, 0.1]


def scored_by_hand(leaders, values):
    """Give leaders these scores, by seed."""
    for finalist, own in zip(leaders.finalists, values, strict=True):
        pairs = zip(finalist.outcomes, own, strict=True)
        finalist.outcomes = [replace(outcome, scores={"val": value}) for outcome, value in pairs]


class Halved:
    """Half the cost with one DSP less in the budget, a third with two less; scores made up by hand."""

    saved = "lut"

    def __init__(self, space, scores):
        self.space, self.scores, self.rows = space, scores, []

    def variants(self, row):
        self.rows.append(tuple(row.tolist()))
        design = self.space.candidate(row)
        return [(design.model_copy(update={"dsp": design.dsp - less}), {"lut": 60 // (less + 1)}) for less in (1, 2)]

    def score(self, jobs, workers):
        assert [(repetition, len(designs)) for designs, repetition, _ in jobs] == [(n, 2) for n in (1, 2, 3)] * 2
        return [list(self.scores) for _ in jobs]


@pytest.mark.parametrize("scores, less", [((0.75, 0.7), 1), ((0.75, 0.745), 2), ((0.1, 0.1), None)])
def test_the_cheapest_may_have_smaller_hardware(make_loop, workers, scores, less):
    """Two of three leaders are within the error of the best mean, 0.8: 0.1 over the root of three."""
    loop = make_loop("whole")
    trials = [replace(trial, costs={"lut": 60}) for trial in leaders(loop.run(), 3, "val")]
    smaller = Halved(loop.parts.space, scores)
    designs = [Design.from_dict(trial.design) for trial in trials]
    chosen = Leaders(replace(loop.parts, smaller=smaller), trials, designs, 3)
    chosen.retrain(workers)
    scored_by_hand(chosen, ([0.5, 0.5, 0.4], [0.9, 0.7, 0.8], [0.75, 0.74, 0.75]))
    chosen.choose_cheapest(workers)
    chosen.refine(workers)
    best = chosen.deliver(loop.store)
    assert smaller.rows == [trials[1].row, trials[2].row]
    found = loop.store.cheapest()
    assert found["saved"] == "lut" and found["rank"] == 1 and best["costs"] == {"lut": 60}
    wanted = designs[1] if less is None else designs[1].model_copy(update={"dsp": designs[1].dsp - less})
    assert found["costs"] == {"lut": 60 if less is None else 60 // (less + 1)}
    assert found["design_hash"] == wanted.hash and back_end.open(found, loop.store.folder).design == wanted
    assert found["retrained_val"]["mean"] == pytest.approx(0.8 if less is None else scores[less - 1])
    assert len(chosen.finalists) == len(loop.store.leaders()) == 3


class Unshrinkable(Halved):
    """No hardware that is smaller keeps the limits."""

    def variants(self, row):
        return []

    def score(self, jobs, workers):
        assert not jobs, "nothing is scored that is not there"
        return []


def test_leaders_without_smaller_hardware(make_loop, workers):
    loop = make_loop("none-smaller")
    trials = [replace(trial, costs={"lut": 60}) for trial in leaders(loop.run(), 3, "val")]
    designs = [Design.from_dict(trial.design) for trial in trials]
    chosen = Leaders(replace(loop.parts, smaller=Unshrinkable(loop.parts.space, ())), trials, designs, 3)
    chosen.retrain(workers)
    chosen.choose_cheapest(workers)
    assert chosen.cheapest in chosen.finalists


def test_spread_of_three():
    assert spread([1.0, 2.0, 3.0]) == {"mean": 2.0, "std": 1.0, "values": [1.0, 2.0, 3.0]}
    assert spread([4.0])["std"] == 0.0
