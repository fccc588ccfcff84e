"""Fine-tuning with the roundings of integers: what it folds, what it brings back, and that it repeats itself."""

import numpy as np
import pytest
import torch
from point_clouds import tied_clouds, warmed

from fgnas.networks.points import training
from fgnas.networks.points.baselines import BASELINES
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import TAILS, Aggregate, Combine, Connect, PointNetwork, Sample
from fgnas.networks.points.training import graphs_of
from fgnas.networks.scaled import logits
from fgnas.systems.hgnas import finetuning
from fgnas.systems.hgnas.finetuning import RoundedModel, fine_tuned, quantised
from fgnas.systems.hgnas.integers import accuracy, formats_of, network_of
from fgnas.tasks.points import GraphSet, load_graphs, of_clouds

TAIL = TAILS["small"]
NETWORK = PointNetwork(
    (Combine(32), Connect("identity"), Sample("nearest"), Aggregate("max", "target-relative"), Combine(32)), TAIL
)


@pytest.fixture(scope="module")
def trained() -> tuple[PointModel, GraphSet]:
    data = load_graphs("digit-points")
    torch.set_num_threads(1)
    return training.train(NETWORK, data, training.Recipe(5, scale=0.1, jitter=0.02), 0), data


@pytest.mark.parametrize("operations", [
    (Combine(8), Combine(8), Connect("skip")),
    (Sample("nearest"), Aggregate("mean", "full"), Combine(16)),
    (Sample("random"), Aggregate("min", "relative"), Connect("skip"), Combine(8)),
])  # fmt: skip
def test_at_many_bits_it_is_the_float_network(operations) -> None:
    place = np.arange(24)
    made = np.random.default_rng(4).integers(-4096, 4097, (24, 12, 3)) / 4096  # finer than what the mean rounds off
    data = of_clouds("made", made, place % 3, [place < 12, (place >= 12) & (place < 20), place >= 20])
    model = warmed(PointNetwork(operations, TAIL), data)
    _, numbers = formats_of(model, data, 16, passes=0)
    rounded = RoundedModel(model, numbers).eval()
    x, batch, _ = graphs_of(data, np.flatnonzero(data.train))
    with torch.no_grad():
        wanted = model(x, batch)
        assert torch.allclose(rounded(x, batch), wanted, rtol=0, atol=2e-2 * float(wanted.abs().max()))
        assert torch.allclose(rounded.model()(x, batch), wanted, rtol=1e-4, atol=1e-5)


def test_it_rounds_as_the_integers_do(trained: tuple[PointModel, GraphSet]) -> None:
    model, data = trained
    integers, numbers = formats_of(model, data, 6)
    clouds, _ = data.clouds("val")
    x, batch, _ = graphs_of(data, np.flatnonzero(data.val))
    with torch.no_grad():
        found = RoundedModel(model, numbers).eval()(x, batch).argmax(dim=1).numpy()
        plain = model(x, batch).argmax(dim=1).numpy()
    wanted = logits(integers, clouds).argmax(axis=1)
    assert (found == wanted).mean() > max(0.9, (plain == wanted).mean())


@pytest.mark.slow
def test_what_was_lost_comes_back(trained: tuple[PointModel, GraphSet]) -> None:
    model, data = trained
    before = {name: value.clone() for name, value in model.state_dict().items()}
    calibrated, tuned = network_of(model, data, 5), quantised(model, data, 5)
    exact = training.accuracy(model, data, "val")
    assert accuracy(calibrated, data, "val") < exact - finetuning.LOST
    assert accuracy(tuned, data, "val") > accuracy(calibrated, data, "val")
    assert [step.name for step in tuned.steps] == [step.name for step in calibrated.steps]
    assert tuned.number == calibrated.number and tuned.output.number == calibrated.output.number
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_it_repeats_itself(trained: tuple[PointModel, GraphSet], monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = trained
    monkeypatch.setattr(finetuning, "EPOCHS", 2)
    _, numbers = formats_of(model, data, 5, passes=0)
    one, same, other = (fine_tuned(model, numbers, data, seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_what_loses_nothing_is_calibrated_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    data = tied_clouds(np.random.default_rng(4), 12, 3, 4)
    monkeypatch.setattr(finetuning, "LOST", -1.0)
    monkeypatch.setattr(finetuning, "fine_tuned", pytest.fail)
    baseline = warmed(PointNetwork(BASELINES["dgcnn-fused"](), TAIL), data)
    assert logits(quantised(baseline, data, 8, passes=0), data.clouds("val")[0]).shape == (8, 3)
    monkeypatch.setattr(finetuning, "LOST", 1.0)
    model = warmed(PointNetwork((Combine(8),), TAIL), data)
    clouds, _ = data.clouds("val")
    assert np.array_equal(logits(quantised(model, data, 4, passes=0), clouds),
                          logits(network_of(model, data, 4, passes=0), clouds))  # fmt: skip
