"""The input of an imported model: features of nodes and of edges, and those that name categories."""

import numpy as np
import pytest
import torch
from pyg_models import Categories, seen, settled
from torch import nn
from torch_geometric.nn import GCNConv

import fgnas
from fgnas.networks.imported.inputs import PLAIN, Given, Part, without_unread
from fgnas.networks.imported.nodes import Merge
from fgnas.networks.imported.quantising import built, first_formats
from fgnas.networks.imported.reading import traced
from fgnas.networks.imported.tracing import trace_module

GIVEN = Given(
    torch.tensor([[1.0, 0.5], [0.0, -2.0]]), torch.tensor([[0, 1, 1], [1, 0, 1]]),
    edge_features=torch.tensor([[2.0], [0.0], [1.0]]),
)  # fmt: skip


def test_a_matrix_of_parts_by_hand() -> None:
    """A node's features and its category, and below them the category of each edge."""
    assert GIVEN.matrix([PLAIN]).toarray().tolist() == [[1, 0.5], [0, -2]]
    parts = [PLAIN, Part(False, 0, 3), Part(True, 0, 3)]
    assert GIVEN.matrix(parts).toarray().tolist() == [
        [1, 0.5, 0, 1, 0, 0, 0, 0], [0, -2, 1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0, 1, 0],
    ]  # fmt: skip


def drawn(seed: int, nodes: int = 20, edges: int = 50) -> Given:
    """A graph whose nodes have four categories and whose edges have two."""
    rng = np.random.default_rng(seed)
    x, attributes, ends = (
        torch.from_numpy(rng.integers(0, *one)) for one in ((5, (nodes, 4)), (3, (edges, 2)), (nodes, (2, edges)))
    )
    return Given(x.float(), ends, edge_features=attributes.float())


@pytest.mark.parametrize("bonds", [False, True])
def test_embedded_categories_are_products(bonds: bool) -> None:
    """The tables of all features are the weights of one product, which reads a one for each category alone."""
    torch.manual_seed(0)
    given = drawn(1)
    model = settled(Categories((5,) * 4, (3,) * 2 if bonds else (), 8, 3), 1)
    run = traced(model, given)
    one = seen(run, given)
    np.testing.assert_allclose(one.output, run.result.numpy(), atol=1e-5)
    assert [part.edges for part in run.parts] == [False] * 5 + [True] * 3 * bonds
    first = [node for node in one.nodes if isinstance(node, Merge)][: 1 + bonds]
    assert all(node.inputs == (one.nodes[0],) for node in first)
    found = without_unread(given.matrix(run.parts), one.nodes)
    assert found.nnz == 20 * 4 + 50 * 2 * bonds
    network = built(one, first_formats(one, 10), 10)
    assert np.abs(network.values() - one.output).max() < 0.02 * np.abs(one.output).max()


class Shifted(nn.Module):
    """Embeds what is no feature as it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 3)

    def forward(self, x, edge_index):
        return self.table(x[:, 0] + x[:, 1])


def test_what_is_no_category_is_refused() -> None:
    with pytest.raises(fgnas.UserError, match=r"layer table \(Embedding\): an embedding is supported of a column"):
        traced(Shifted(), drawn(2))
    real = Given(GIVEN.x, GIVEN.edge_index)
    with pytest.raises(fgnas.UserError, match="does not run on this data"):
        traced(Categories((5, 5), (), 8, 3), real)


def test_numbers_that_meet_no_weight_are_left_out() -> None:
    given = drawn(3)
    layer = GCNConv(4, 2)
    layer.lin.weight.data[:, 1] = 0.0
    one = seen(trace_module(layer, given), given)
    found = without_unread(given.matrix([PLAIN]), one.nodes).toarray()
    wanted = given.x.numpy().copy()
    wanted[:, 1] = 0
    np.testing.assert_array_equal(found, wanted)
