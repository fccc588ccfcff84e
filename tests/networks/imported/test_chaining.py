"""Models in the form of chains: the same values, a product and a sum of rows for each layer."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from pyg_models import models, random_given, settled
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GINConv, SAGEConv, global_add_pool, global_mean_pool

from fgnas.networks.imported.chaining import chained
from fgnas.networks.imported.fusing import fused
from fgnas.networks.imported.importing import said
from fgnas.networks.imported.inputs import PLAIN
from fgnas.networks.imported.nodes import Input, Merge, Node, Reals, Spread, evaluated, ordered
from fgnas.networks.imported.tracing import trace_module

WIDTH, OUT = 12, 4
CHAINS = {"GCNConv", "GraphConv", "GraphConv, mean", "SAGEConv", "GINConv", "SGConv", "one layer", "edge weights"}
"""Those of the models that are chains; the others have maxima, softmaxes, skips, or powers of a matrix."""


class Graphs(nn.Module):
    """Layers, pools whose results are added, and a head of two linear layers."""

    def __init__(self, layers: Sequence[nn.Module], width: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.skip = nn.Linear(width, width)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, OUT))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, edge_index).relu()
        x = (self.skip(x) + self.layers[-1](x, edge_index)).tanh()
        return self.head(global_mean_pool(x, batch) + global_add_pool(x, batch))


def values(last: Node, features: Reals) -> Reals:
    return evaluated(ordered(last), features)[id(last)]


def is_chain(last: Node) -> bool:
    nodes = ordered(last)
    while not isinstance(last, Input):
        if not (isinstance(last, Spread) and last.reduce == "add" and len(set(map(id, last.given))) == len(last.given)):
            return False
        products = last.given
        if not all(isinstance(one, Merge) and one.plain and len(one.given) == 1 for one in products):
            return False
        if len({id(one.inputs[0]) for one in products}) > 1:
            return False
        last = products[0].inputs[0]
    return isinstance(nodes[0], Input)


@pytest.mark.parametrize("name", models())
def test_the_same_values(name: str) -> None:
    torch.manual_seed(0)
    given = random_given(1)
    traced = trace_module(settled(models()[name](WIDTH, OUT), 2), given)
    features = given.matrix(traced.parts or [PLAIN]).toarray()
    one, other = fused(traced.output), chained(traced.output)
    np.testing.assert_allclose(values(other, features), values(one, features), rtol=1e-9, atol=1e-9)
    assert is_chain(other) == (name in CHAINS)
    assert is_chain(other) or [type(node) for node in ordered(other)] == [type(node) for node in ordered(one)]


@pytest.mark.parametrize("layer", [GCNConv, SAGEConv, lambda a, b: GINConv(nn.Linear(a, b))])
def test_pools_heads_and_skips_in_front_of_a_function(layer: type) -> None:
    torch.manual_seed(3)
    given = random_given(4)
    model = settled(Graphs([layer(WIDTH, 8), layer(8, 8)], 8), 5)
    traced = trace_module(model, given)
    last, features = chained(traced.output), given.x.double().numpy()
    np.testing.assert_allclose(values(last, features), values(traced.output, features), rtol=1e-9, atol=1e-9)
    assert is_chain(last) and last.rows == 4
    assert [node.rows for node in ordered(last) if isinstance(node, Spread)] == [24, 24, 24, 4, 4]


def test_terms_with_the_same_weights_are_one() -> None:
    """GIN sums a node and its neighbours in one matrix; SAGE multiplies them by weights of their own."""
    given = random_given(4)
    for layer, terms in ((GINConv(nn.Linear(WIDTH, 30)), 1), (SAGEConv(WIDTH, 30), 2)):
        last = chained(trace_module(layer, given).output)
        assert isinstance(last, Spread) and len(last.given) == terms
        assert last.matrix.shape == (24, terms * 24)


def test_a_sum_of_sums_is_multiplied_by_copies() -> None:
    """Three layers in the table: the middle one has no weights, and its words say so."""
    given = random_given(4)
    last = chained(trace_module(models()["SGConv"](WIDTH, OUT), given).output)
    weights = [node.weights[0] for node in ordered(last) if isinstance(node, Merge)]
    assert [one.shape for one in weights] == [(WIDTH, 8), (8, 8), (8, OUT), (OUT, OUT)]
    assert np.array_equal(weights[1], np.eye(8))


def test_a_product_is_said_with_its_function() -> None:
    """Although its rows pass a matrix of the graph."""
    given = random_given(4)
    model = nn.Sequential(nn.Linear(WIDTH, 8), nn.ReLU(), nn.Linear(8, OUT))

    class Net(nn.Module):
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return model(x)

    nodes = ordered(chained(trace_module(Net(), given).output))
    assert len(nodes) == 5 and said(nodes[1:]) == "product with relu, product"


def test_few_columns_are_summed_before_a_wide_product() -> None:
    """As copies, in a layer of their own; terms with other weights each have their product first."""
    given = random_given(4)
    for layer, shapes in (
        (GCNConv(WIDTH, 48), [(WIDTH, WIDTH), (WIDTH, 48)]),
        (GCNConv(WIDTH, 47), [(WIDTH, 47)]),
        (GINConv(nn.Linear(WIDTH, 48)), [(WIDTH, WIDTH), (WIDTH, 48)]),
        (SAGEConv(WIDTH, 48), [(WIDTH, 48), (WIDTH, 48)]),
    ):
        traced = trace_module(layer, given)
        last, features = chained(traced.output), given.x.double().numpy()
        assert [node.weights[0].shape for node in ordered(last) if isinstance(node, Merge)] == shapes
        np.testing.assert_allclose(values(last, features), values(traced.output, features), rtol=1e-9, atol=1e-9)
