"""The slimmable vision GNN: operators by hand, slices of shared weights, and batch norm of a subnet's own."""

import numpy as np
import pytest
import torch

from fgnas.errors import UserError
from fgnas.networks.vision.subnet import OPERATORS, Subnet, Superblock
from fgnas.networks.vision.supernet import extreme, vig_space
from fgnas.networks.vision.vig import METRICS, Backbone, EdgeConv, Gin, MaxRelative, Vig, gather, nearest, patches

SMALL = Backbone(channels=1, size=4, patch=2, features=10, neighbours=(1, 2, 3, 4), classes=3)


@pytest.fixture
def model() -> Vig:
    torch.manual_seed(3)
    return Vig(SMALL)


def images(count: int = 6) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(5).normal(size=(count, 1, 4, 4)).astype(np.float32))


def test_patches_row_by_row() -> None:
    found = patches(torch.arange(16.0).reshape(1, 1, 4, 4), 2)
    assert found[0].tolist() == [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]


def test_nearest_by_cosine() -> None:
    """Patches 0 and 1 point the same way, whatever their lengths; each is its own nearest."""
    x = torch.tensor([[[1.0, 0.1], [9.0, 0.9], [-1.0, 5.0]]])
    assert {0, 1} == set(nearest(x, 2)[0, 0].tolist()) == set(nearest(x, 2)[0, 1].tolist())
    assert all(place in row for place, row in enumerate(nearest(x, 2)[0].tolist()))


def test_edgeconv_without_products_on_edges() -> None:
    """The split form equals max_j W [x_i ; x_j - x_i] with W = [W_1, W_2], before the norm."""
    torch.manual_seed(1)
    layer = EdgeConv(4)
    x, index = torch.randn(2, 5, 4), torch.randint(5, (2, 5, 3))
    second = layer.other.weight
    first = layer.own.weight + second
    pair = torch.cat([x[:, :, None].expand(-1, -1, 3, -1), gather(x, index) - x[:, :, None]], dim=-1)
    expected = layer.own.norm((pair @ torch.cat([first, second], dim=1).T).amax(dim=2))
    torch.testing.assert_close(layer(x, index), expected)


def test_sums_and_maxima_of_neighbours() -> None:
    x = torch.tensor([[[1.0, 2.0], [3.0, -1.0], [5.0, 0.0]]])
    index = torch.tensor([[[0, 1], [1, 2], [2, 0]]])
    for layer, reduced in (
        (Gin(2), [[[4.0, 1.0], [8.0, -1.0], [6.0, 2.0]]]),
        (MaxRelative(2), [[[1.0, 2.0, 2.0, 0.0], [3.0, -1.0, 2.0, 1.0], [5.0, 0.0, 0.0, 2.0]]]),
    ):
        torch.testing.assert_close(layer(x, index), layer.combine(torch.tensor(reduced)))


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_subnet_uses_its_own_part(model: Vig, operator: str) -> None:
    """Gradients reach the leading blocks, the leading FFN features and the chosen operator, and nothing else."""
    one = Superblock(2, operator, pre=False, ffn=True, width=SMALL.widths[1])
    model(images(), Subnet((one,) * 4)).sum().backward()
    blocks = model.superblocks[0]
    assert blocks[0].pre.weight.grad is None and blocks[2].post.weight.grad is None
    used = {name for name, module in blocks[0].operators.items() if next(module.parameters()).grad is not None}
    assert used == {operator}
    touched = blocks[1].fc1.weight.grad.abs().sum(dim=1) > 0
    assert not touched[SMALL.widths[1] :].any() and touched.any()


def test_statistics_belong_to_a_subnet(model: Vig) -> None:
    """Measured on the same images, one image alone gets the logits that it has within the batch."""
    model.eval()
    batch, subnet = images(), extreme(SMALL, False, "gin")
    whole = model(batch, subnet)
    model.measure(batch, subnet)
    torch.testing.assert_close(model(batch[2:3], subnet)[0], whole[2])
    model.forget()
    assert not torch.allclose(model(batch[:3], subnet)[2], whole[2])


def test_the_space_is_table_1() -> None:
    """144 ** 4 rows, 96 ** 4 of them distinct networks: a width without an FFN has no effect."""
    space = vig_space(Backbone(3, 224, 16, 320, (12, 16, 20, 24), 10))
    assert {choice.name: choice.options for choice in space.choices}["width"] == (96, 192, 320)
    rows = space.draw(500, np.random.default_rng(0))
    subnets = [space.candidate(row) for row in rows]
    assert len({subnet.hash for subnet in subnets}) == len(np.unique(rows, axis=0))
    assert all(Subnet.from_dict(subnet.to_dict()) == subnet for subnet in subnets)
    # 3 depths x 4 operators x 2 (pre) x (no FFN, or 3 widths).
    assert np.prod([len(choice.options) for choice in space.choices if choice.name not in ("ffn", "width")]) * 4 == 96


def test_nearest_by_distance_by_hand() -> None:
    """By cosine all patches of a line are as near."""
    x = torch.tensor([[[1.0, 1.0], [2.0, 2.0], [2.5, 2.5], [9.0, 9.0]]])
    assert METRICS["distance"](x, 2).tolist() == [[[0, 1], [1, 2], [2, 1], [3, 2]]]
    with pytest.raises(UserError, match="cosine, distance"):
        Backbone(1, 4, 2, 10, (1, 2, 3, 4), 3, metric="angle")
