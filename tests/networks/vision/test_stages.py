"""The steps of a subnet one by one are the network, to the bit, and a folded layer is its map and its norm."""

import numpy as np
import torch

from fgnas.networks.vision.stages import run, stages
from fgnas.networks.vision.steps import steps_of
from fgnas.networks.vision.supernet import vig_space
from fgnas.networks.vision.vig import Backbone, Layer, Vig

SMALL = Backbone(channels=1, size=4, patch=2, features=10, neighbours=(1, 2, 3, 4), classes=3)


def test_steps_in_order_are_the_network() -> None:
    torch.manual_seed(3)
    model, space = Vig(SMALL).eval(), vig_space(SMALL)
    images = torch.randn(6, 1, 4, 4)
    for row in space.draw(12, np.random.default_rng(0)):
        subnet = space.candidate(row)
        model.measure(images, subnet)
        chain = stages(model, subnet)
        with torch.no_grad():
            assert torch.equal(run(chain, images), model(images, subnet))
        items = steps_of(subnet, SMALL)
        named = [[one] if isinstance(one, str) else one["steps"] for one in items]
        assert [stage.name for stage in chain] == [name for names in named for name in names]
        assert [stage.opens for stage in chain] == [place == 0 for names in named for place in range(len(names))]


def test_a_layer_folded_into_one_map() -> None:
    torch.manual_seed(4)
    layer, x = Layer(6, 5), torch.randn(40, 4)
    with torch.no_grad():
        layer.norm.weight.uniform_(-2, 2)
        layer.norm.bias.normal_()
        layer.norm.measure(layer.linear(x, 3))
        weight, bias = layer.folded(4, 3)
        assert weight.shape == (4, 3)
        torch.testing.assert_close(x @ weight + bias, layer(x, 3))
