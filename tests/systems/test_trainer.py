"""The trainer of FGNAS designs: results that designs share, and designs that count as seen."""

import dataclasses

import numpy as np
import pytest

from fgnas.engine.jobs import Workers
from fgnas.errors import UserError
from fgnas.systems.fgnas import jobs
from fgnas.systems.fgnas import trainer as module
from fgnas.systems.fgnas.jobs import bundled, run_bundle


class Counting(Workers):
    """Runs jobs in place and keeps them."""

    def __init__(self, executor):
        super().__init__(executor)
        self.jobs = []

    def run(self, jobs, function):
        self.jobs += [job for bundle in jobs for job in bundle]
        return super().run(jobs, function)


def designs_of(space, seed, count):
    return [space.candidate(row) for row in space.draw(count, np.random.default_rng(seed))]


def finer(design):
    """The same architecture in another format."""
    layers = [layer.model_copy(update={"wf": (layer.wf + 1) % 7}) for layer in design.layers]
    return design.model_copy(update={"layers": tuple(layers)})


def faster(design):
    """The same numbers in another time."""
    layers = [layer.model_copy(update={"t_in": layer.t_in % 5 + 1}) for layer in design.layers]
    return design.model_copy(update={"layers": tuple(layers)})


@pytest.fixture
def counting(in_place):
    return Counting(in_place)


def test_parallelism_is_no_reason_to_score_again(compose, space, counting, workers):
    trainer = compose().trainer
    (first,) = designs_of(space, 0, 1)
    scores = trainer.score([first, faster(first)], counting)
    scores += trainer.score([faster(faster(first)), faster(first)], counting)
    assert [len(job.designs) for job in counting.jobs] == [1]
    assert len({score.values["val"] for score in scores}) == 1
    seen = [(score.trained, score.cached) for score in scores]
    assert seen == [(True, False), (False, False), (False, False), (False, True)]
    alone = compose().trainer.score([faster(first)], workers)
    assert alone[0].values == scores[1].values


def test_repeats_and_shared_architectures_train_once(compose, space, counting):
    trainer = compose().trainer
    (first,) = designs_of(space, 0, 1)
    second = finer(first)
    scores = trainer.score([first, second, first], counting)
    assert [(score.trained, score.cached) for score in scores] == [(True, False), (False, False), (False, True)]
    assert scores[0].values == scores[2].values
    assert scores[0].values["float_val"] == scores[1].values["float_val"]
    assert [len(job.designs) for job in counting.jobs] == [2]
    trainer.score([finer(second)], counting)
    assert counting.jobs[1].trained is not None


def test_a_forgotten_network_is_trained_again_alike(compose, space, counting, monkeypatch):
    monkeypatch.setattr(module, "NETWORKS_KEPT_BYTES", 0)
    first, other = designs_of(space, 1, 2)
    trainer, forgetful = compose().trainer, []
    for design in (first, other, finer(first)):
        forgetful += trainer.score([design], counting)
    assert [job.trained for job in counting.jobs] == [None] * 3
    assert [score.trained for score in forgetful] == [True, True, False]


def test_the_search_never_asks_for_test_accuracy(compose, space, workers, monkeypatch):
    asked = []
    accuracy = jobs.quantised_accuracy
    monkeypatch.setattr(
        jobs, "quantised_accuracy", lambda d, n, data, splits: asked.append(splits) or accuracy(d, n, data, splits)
    )
    trainer, designs = compose().trainer, designs_of(space, 2, 3)
    trainer.score(designs, workers)
    outcomes = trainer.retrain(designs, 1, workers)
    trainer.refine([(design, 1, outcome) for design, outcome in zip(designs, outcomes, strict=True)], workers)
    assert asked == [("val",)] * 9


def test_a_job_is_pure(compose, space):
    job = compose().trainer.job(designs_of(space, 0, 1), 0)
    (first,), (again,) = run_bundle([job]), run_bundle([job])
    assert first.trained.network.to_bytes() == again.trained.network.to_bytes()
    assert first.val == again.val
    (known,) = run_bundle([dataclasses.replace(job, trained=first.trained)])
    assert known.trained is first.trained


@pytest.mark.parametrize("workers", [1, 3, 40])
def test_bundles_hold_every_job_once_and_change_no_result(compose, space, workers):
    trainer = compose().trainer
    jobs = [trainer.job([design], 0) for design in designs_of(space, 4, 7)]
    bundles = bundled(jobs, workers)
    assert sorted(job.seed for bundle in bundles for job in bundle) == sorted(job.seed for job in jobs)
    assert len(bundles) >= min(workers, len(jobs))
    for bundle in bundles:
        for job, result in zip(bundle, run_bundle(bundle), strict=True):
            (alone,) = run_bundle([job])
            assert result.trained.network.to_bytes() == alone.trained.network.to_bytes() and result.val == alone.val


def test_other_data_than_the_searchs_is_refused(compose, space):
    job = compose().trainer.job(designs_of(space, 0, 1), 0)
    with pytest.raises(UserError, match="FGNAS_DATA_ROOT"):
        run_bundle([dataclasses.replace(job, fingerprint="other")])
