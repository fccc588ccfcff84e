"""Networks of operations: baselines against PyG and against each other, readouts, records."""

import json

import pytest
import torch

from fgnas.errors import UserError
from fgnas.networks.points.baselines import BASELINES, baseline
from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.model import PointModel, batch_of, readout
from fgnas.networks.points.operations import TAILS, Aggregate, Combine, Join, PointNetwork, Sample, widths

TAIL = {"embedding": 4, "hidden": []}


def trained_once(model: PointModel, x: torch.Tensor, batch: Batch) -> PointModel:
    """The model with statistics of a batch, for evaluation."""
    with torch.no_grad():
        model(x, batch)
    return model.eval()


def test_fused_convolutions_compute_the_same() -> None:
    torch.manual_seed(0)
    naive, fused = (PointModel(baseline(name, TAILS["small"]), 3, 10) for name in ("dgcnn", "dgcnn-fused"))
    x, batch = batch_of(torch.randn(4, 32, 3), 8)
    with torch.no_grad():
        for norm in (one.norm for one in naive.layers.values()):  # scales of either sign
            norm.weight.copy_(torch.randn_like(norm.weight))
    trained_once(naive, x, batch)
    fused.load_state_dict(naive.state_dict())
    with torch.no_grad():
        assert torch.allclose(naive(x, batch), fused.eval()(x, batch), atol=1e-4)


def test_an_edge_convolution_is_that_of_pyg() -> None:
    from torch_geometric.nn import EdgeConv as PygEdgeConv

    torch.manual_seed(1)
    model = PointModel(baseline("dgcnn", TAILS["small"]), 3, 10)
    x, batch = batch_of(torch.randn(2, 16, 3), 4)
    trained_once(model, x, batch)
    first = PointModel(PointNetwork(model.network.operations[:2], TAILS["small"]), 3, 10)
    first.layers["1"] = model.layers["1"]
    neighbours = torch.cdist(x.reshape(2, 16, 3), x.reshape(2, 16, 3)).topk(4, largest=False).indices
    sources = (neighbours + 16 * torch.arange(2)[:, None, None]).flatten()
    convolution = PygEdgeConv(model.layers["1"], aggr="max")
    with torch.no_grad():
        wanted = convolution(x, torch.stack([sources, torch.arange(32).repeat_interleave(4)]))
        assert torch.allclose(first.eval().rows(x, batch), wanted, atol=1e-6)


def test_clouds_do_not_see_each_other() -> None:
    """A cloud's logits are the same alone and in a batch of others, of its size or of another."""
    torch.manual_seed(2)
    network = PointNetwork((Sample("nearest"), Aggregate("mean", "full"), Combine(8), Sample("random"),
                            Aggregate("max", "relative")), TAILS["small"])  # fmt: skip
    model = PointModel(network, 3, 5)
    first, second, third = torch.randn(12, 3), torch.randn(12, 3), torch.randn(9, 3)
    trained_once(model, *batch_of([first, second], 4))
    with torch.no_grad():
        alone = model(*batch_of([first], 4))
        assert torch.allclose(model(*batch_of([first, second], 4))[:1], alone, atol=1e-5)
        assert torch.allclose(model(*batch_of([third, first], 4))[1:], alone, atol=1e-5)


def test_readouts_of_equal_and_unequal_graphs() -> None:
    x = torch.tensor([[1.0], [3], [-2], [5], [0]])
    assert readout(x[:4], Batch((2, 2), 1)).tolist() == [[3, 2], [5, 1.5]]
    assert readout(x, Batch((2, 3), 1)).tolist() == [[3, 2], [5, 1]]


@pytest.mark.parametrize("name", BASELINES)
def test_records_return(name: str) -> None:
    network = baseline(name, TAILS["paper"])
    again = PointNetwork.from_dict(json.loads(json.dumps(network.to_dict())))
    assert again == network and again.hash == network.hash


def test_widths_of_dgcnn() -> None:
    found = widths(baseline("dgcnn", TAILS["paper"]).operations, 3)
    assert found == [3, 64, 64, 64, 64, 128, 128, 256, 512]
    assert isinstance(baseline("dgcnn", TAILS["paper"]).operations[-1], Join)


def test_parameters_of_dgcnn() -> None:
    """The published network has 1.81 million parameters (HGNAS, Table 3)."""
    model = PointModel(baseline("dgcnn", TAILS["paper"]), 3, 40)
    assert sum(one.numel() for one in model.parameters()) == pytest.approx(1.81e6, rel=0.005)


@pytest.mark.parametrize(
    "content, message",
    [
        ({}, "not a network of operations"),
        ({"operations": [{"operation": "fly"}], "tail": TAIL}, "unknown operation 'fly'"),
        ({"operations": [{"operation": "combine", "features": 0}], "tail": TAIL}, "1 feature"),
        ({"operations": [{"operation": "aggregate", "reducer": "max", "message": "x"}], "tail": TAIL},
         "unknown message 'x'"),
        ({"operations": [], "tail": {"embedding": 0, "hidden": []}}, "a tail has"),
    ],
)  # fmt: skip
def test_wrong_records(content: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        PointNetwork.from_dict(content)


def test_an_unknown_baseline() -> None:
    with pytest.raises(UserError, match="known: dgcnn, dgcnn-fused, dgcnn-static, pointnet"):
        baseline("resnet", TAILS["small"])
