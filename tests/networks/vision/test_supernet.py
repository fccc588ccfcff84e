"""Training of the supernet: it learns, repeats, and continues a killed training to the same bits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fgnas.networks.vision.supernet import Recipe, accuracy, extreme, train, vig_space
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


@pytest.mark.slow
def test_subnets_of_a_trained_supernet_read_digits() -> None:
    """After twelve epochs, random subnets that were never trained alone are right nine times in ten."""
    data = load_images("digit-images")
    model = train(data, Recipe(epochs=12), seed=0)
    space = vig_space(Backbone.of(data))
    rows = space.draw(8, np.random.default_rng(1))
    assert np.mean([accuracy(model, space.candidate(row), data) for row in rows]) > 0.9
