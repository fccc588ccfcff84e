"""Training of the supernet: it learns, repeats, and continues a killed training to the same bits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fgnas.networks.vision.supernet import Recipe, _initial, accuracy, extreme, train, vig_space
from fgnas.networks.vision.vig import Backbone
from fgnas.tasks.images import ImageData, load_images

RECIPE = Recipe(epochs=3, batch=20)


@pytest.fixture(scope="module")
def few() -> ImageData:
    """Eighty digits to train with."""
    data = load_images("digit-images")
    return replace(data, train=data.train & (np.cumsum(data.train) <= 80))


def weights(model: torch.nn.Module) -> list[torch.Tensor]:
    return list(model.state_dict().values())


def test_a_killed_training_continues(few: ImageData, tmp_path: Path) -> None:
    """Stopped after each of its epochs, it ends with the weights of an undisturbed training."""
    whole = train(few, RECIPE, seed=4)
    place = tmp_path / "supernet.pt"

    class Killed(Exception):
        pass

    def die(epoch: int) -> None:
        raise Killed

    for _ in range(2):
        with pytest.raises(Killed):
            train(few, RECIPE, 4, place, die)
    resumed = train(few, RECIPE, 4, place)
    for one, other in zip(weights(whole), weights(resumed), strict=True):
        assert torch.equal(one, other)
    another = train(few, RECIPE, seed=5)
    assert not torch.equal(weights(whole)[0], weights(another)[0])


def test_a_score_repeats_and_leaves_the_weights(few: ImageData) -> None:
    model = train(few, RECIPE, seed=4)
    before = [tensor.clone() for tensor in weights(model)]
    backbone = Backbone.of(few)
    subnets = [extreme(backbone, True, "sage"), extreme(backbone, False, "edgeconv")]
    first = [accuracy(model, subnet, few) for subnet in subnets]
    assert [accuracy(model, subnet, few) for subnet in reversed(subnets)] == first[::-1]
    assert all(torch.equal(one, other) for one, other in zip(before, weights(model), strict=True))


def test_before_its_training_every_block_hands_on_what_it_got(few: ImageData) -> None:
    model, backbone = _initial(Backbone.of(few)).eval(), Backbone.of(few)
    subnets = [extreme(backbone, largest, operator) for largest in (True, False) for operator in ("sage", "gin")]
    images = torch.from_numpy(few.split("train")[0][:20])
    with torch.no_grad():
        outputs = [model(images, subnet) for subnet in subnets]
    assert all(torch.equal(output, outputs[0]) for output in outputs)


def test_the_rate_rises_then_falls() -> None:
    recipe = Recipe(epochs=1, learning_rate=1.0, warmup=3)
    rates = [recipe.rate(step, 100) for step in range(101)]
    assert rates[0] == 0.25 and rates[1] < rates[2] < rates[3] and rates[50] == 0.5 and rates[100] == 0
    assert rates[3:] == sorted(rates[3:], reverse=True)


def test_a_subnet_may_be_trained_alone(few: ImageData) -> None:
    """The rest of the supernet stays as it was, but for the decay of weights."""
    subnet = extreme(Backbone.of(few), False, "gin")
    model = train(few, replace(RECIPE, weight_decay=0.0), seed=4, draw=lambda rng: [subnet])
    torch.manual_seed(4)
    changed = {
        name for (name, one), other in zip(model.state_dict().items(), weights(_initial(Backbone.of(few))), strict=True)
        if not torch.equal(one, other)
    }  # fmt: skip
    assert any(".operators.gin." in name for name in changed)
    assert not any(name.startswith("superblocks") and ".operators.gin." not in name and ".post." not in name
                   for name in changed)  # fmt: skip


@pytest.mark.slow
def test_subnets_of_a_trained_supernet_read_digits() -> None:
    """After twelve epochs random subnets, which were never trained alone, are right nineteen times in twenty."""
    data = load_images("digit-images")
    model = train(data, Recipe(epochs=12), seed=0)
    space = vig_space(Backbone.of(data))
    rows = space.draw(8, np.random.default_rng(1))
    assert np.mean([accuracy(model, space.candidate(row), data) for row in rows]) > 0.95
