"""What is shared between designs, and what counts as seen before."""

import numpy as np

from fgnas.engine import evaluator as module
from fgnas.engine.jobs import Workers
from fgnas.hardware.pipeline.pricing import Specification


class Counting:
    """Runs jobs in place and keeps them."""

    def __init__(self, executor):
        self.run_all, self.jobs = Workers(executor).run, []

    def __call__(self, jobs):
        self.jobs += jobs
        return self.run_all(jobs)


def designs_of(space, seed, count):
    return [space.design(row, 20) for row in space.draw(count, np.random.default_rng(seed))]


def finer(design):
    """The same architecture in another format."""
    layers = [layer.model_copy(update={"wf": (layer.wf + 1) % 7}) for layer in design.layers]
    return design.model_copy(update={"layers": tuple(layers)})


def faster(design):
    """The same numbers in another time."""
    layers = [layer.model_copy(update={"t_in": layer.t_in % 5 + 1}) for layer in design.layers]
    return design.model_copy(update={"layers": tuple(layers)})


def test_parallelism_is_no_reason_to_score_again(make_evaluator, space, in_place):
    run = Counting(in_place)
    evaluator = make_evaluator(run)
    (first,) = designs_of(space, 0, 1)
    scores = evaluator.evaluate([first, faster(first)]) + evaluator.evaluate([faster(faster(first)), faster(first)])
    assert [len(job.designs) for job in run.jobs] == [1]
    assert len({score.val for score in scores}) == 1
    seen = [(score.trained, score.cached) for score in scores]
    assert seen == [(True, False), (False, False), (False, False), (False, True)]
    alone = make_evaluator(Counting(in_place)).evaluate([faster(first)])
    assert alone[0].val == scores[1].val


def test_repeats_and_shared_architectures_train_once(make_evaluator, space, in_place):
    run = Counting(in_place)
    evaluator = make_evaluator(run)
    (first,) = designs_of(space, 0, 1)
    second = finer(first)
    scores = evaluator.evaluate([first, second, first])
    assert [(score.trained, score.cached) for score in scores] == [(True, False), (False, False), (False, True)]
    assert scores[0].val == scores[2].val and scores[0].float_val == scores[1].float_val
    assert [len(job.designs) for job in run.jobs] == [2]
    evaluator.evaluate([finer(second)])
    assert evaluator.trainings == 1 and run.jobs[1].trained is not None


def test_a_forgotten_network_is_trained_again_alike(make_evaluator, space, in_place, monkeypatch):
    monkeypatch.setattr(module, "NETWORKS_KEPT_BYTES", 0)
    first, other = designs_of(space, 1, 2)
    forgetful, run = [], Counting(in_place)
    evaluator = make_evaluator(run)
    for design in (first, other, finer(first)):
        forgetful += evaluator.evaluate([design])
    assert evaluator.trainings == 3
    monkeypatch.undo()
    assert [score.trained for score in forgetful] == [True, True, False]


def test_the_search_never_asks_for_test_accuracy(make_evaluator, space, monkeypatch):
    from fgnas.engine import jobs

    asked = []
    accuracy = jobs.quantised_accuracy
    monkeypatch.setattr(
        jobs, "quantised_accuracy", lambda d, n, data, splits: asked.append(splits) or accuracy(d, n, data, splits)
    )
    make_evaluator().evaluate(designs_of(space, 2, 3))
    assert asked == [("val",)] * 3


def test_check_prices_every_sample(make_evaluator, space):
    samples = space.draw(50, np.random.default_rng(0))
    limit = int(np.median(make_evaluator(specification=Specification()).check(samples)[0].lut))
    prices, feasible = make_evaluator(specification=Specification(lut=limit)).check(samples)
    assert feasible.tolist() == (prices.lut <= limit).tolist()
    assert 0 < feasible.sum() < 50
