"""The sparse layers against PyG's, on a graph small enough to check by hand."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.nn import GCNConv, MessagePassing

from fgnas.child.model import Child, Field, Maximum, SparseMatrix, SparseProduct, glorot, keep_mask

ALL = np.arange(4)


def layer(d=2, attention="gcn", aggregation="add", k=1, activation="relu"):
    return {"d": d, "attention": attention, "aggregation": aggregation, "k": k, "activation": activation}


def edge_index(data):
    return torch.from_numpy(np.stack([data.sources, data.targets]))


class PyGLayer(MessagePassing):
    """A layer as its formula reads, by PyG's own gather and scatter."""

    def __init__(self, attention, aggregation):
        super().__init__(aggr=aggregation)
        self.attention = attention

    def forward(self, x, edges, degrees):
        return self.propagate(edges, x=x, degrees=degrees[:, None])

    def message(self, x_j, degrees_i, degrees_j):
        return x_j if self.attention == "constant" else x_j / torch.sqrt(degrees_i * degrees_j)


def test_sparse_product_of_a_two_by_three_matrix():
    matrix = SparseMatrix(sp.csr_matrix(np.array([[1.0, 0, 2], [0, 3, 0]])), torch.float64)
    dense = torch.tensor([[1.0, 10], [2, 20], [3, 30]], dtype=torch.float64)
    assert SparseProduct.apply(dense, matrix).tolist() == [[7, 70], [6, 60]]
    matrix.refill(torch.tensor([5.0, 6, 7], dtype=torch.float64))
    assert matrix.csr.to_dense().tolist() == [[5, 0, 6], [0, 7, 0]]
    assert matrix.transposed.to_dense().tolist() == [[5, 0], [0, 7], [6, 0]]


def test_gradients_in_float64():
    rng = np.random.default_rng(0)
    matrix = SparseMatrix(sp.random_array((5, 4), density=0.5, rng=rng).tocsr(), torch.float64)
    dense = torch.from_numpy(rng.normal(size=(4, 3))).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: SparseProduct.apply(x, matrix), dense)
    indptr, sources = np.array([0, 2, 5]), np.array([0, 1, 1, 2, 3], np.int32)
    coefficients = rng.uniform(0.5, 1, 5)
    assert torch.autograd.gradcheck(lambda x: Maximum.apply(x, indptr, sources, coefficients), dense)


def test_maximum_sends_its_gradient_to_the_first_of_equals():
    h = torch.tensor([[1.0], [2.0], [2.0]], requires_grad=True)
    out = Maximum.apply(h, np.array([0, 3]), np.array([0, 1, 2], np.int32), np.ones(3, np.float32))
    out.backward()
    assert out.tolist() == [[2.0]]
    assert h.grad.tolist() == [[0.0], [1.0], [0.0]]


def test_gcn_add_is_pygs_gcnconv(four_nodes):
    child = Child([layer(d=None, activation=None)], 3, 2, np.random.default_rng(0), torch.float64)
    with torch.no_grad():
        child.biases[0].copy_(torch.tensor([0.25, -1.0]))
    convolution = GCNConv(3, 2, add_self_loops=False).double()
    with torch.no_grad():
        convolution.lin.weight.copy_(child.weights[0].T)
        convolution.bias.copy_(child.biases[0])
    x = torch.from_numpy(four_nodes.features.toarray()).double()
    expected = convolution(x, edge_index(four_nodes))
    torch.testing.assert_close(child(Field(four_nodes, ALL, 1, torch.float64)), expected)


@pytest.mark.parametrize("attention, aggregation", [*itertools.product(("constant", "gcn"), ("add", "mean", "max"))])
def test_two_layers_are_pygs_message_passing(four_nodes, attention, aggregation):
    """Two heads a layer, concatenated in the first and averaged in the last."""
    first = layer(2, attention, aggregation, k=2, activation="elu")
    second = layer(None, attention, aggregation, k=2, activation=None)
    child = Child([first, second], 3, 2, np.random.default_rng(1), torch.float64)
    passing, edges = PyGLayer(attention, aggregation), edge_index(four_nodes)
    degrees = torch.from_numpy(four_nodes.degrees).double()
    x = torch.from_numpy(four_nodes.features.toarray()).double()
    z = torch.nn.functional.elu(passing(x @ child.weights[0], edges, degrees) + child.biases[0])
    heads = passing(z @ child.weights[1], edges, degrees).view(4, 2, 2)
    expected = heads.mean(1) + child.biases[1]
    torch.testing.assert_close(child(Field(four_nodes, ALL, 2, torch.float64)), expected)


def test_a_receptive_field_holds_no_more_than_is_read(four_nodes):
    field = Field(four_nodes, np.array([0]), 2)
    assert field.nodes.tolist() == [0, 1, 2]
    assert field.blocks[0].below == 3 and len(field.blocks[0].target_degrees) == 2
    assert Field(four_nodes, np.array([3]), 2).nodes.tolist() == [3]


@pytest.mark.parametrize("aggregation", ["add", "mean", "max"])
def test_a_receptive_field_answers_as_the_whole_graph(cora, aggregation):
    layers = [layer(4, "gcn", aggregation), layer(None, "constant", aggregation, k=2, activation=None)]
    child = Child(layers, cora.width_in, cora.classes, np.random.default_rng(2))
    some = np.flatnonzero(cora.val)[::25]
    whole = child(Field(cora, np.arange(cora.nodes), 2))
    torch.testing.assert_close(child(Field(cora, some, 2)), whole[some])


def test_dropout_keeps_half_and_doubles_it():
    mask = keep_mask(np.random.default_rng(0), (1000, 10), 0.5)
    assert set(np.unique(mask)) == {0.0, 2.0}
    assert abs(mask.mean() - 1) < 0.05
    other = keep_mask(np.random.default_rng(0), (1000, 10), 0.2)
    assert set(np.unique(other)) == {0.0, np.float32(1.25)}
    assert abs(other.mean() - 1) < 0.05


def test_features_dropped_leave_the_stored_ones_alone(four_nodes):
    field = Field(four_nodes, ALL, 1)
    before = field.features.csr.to_dense().clone()
    dropped = field.dropped(np.random.default_rng(0), 0.5).csr.to_dense()
    kept = dropped != 0
    assert torch.equal(dropped[kept], 2 * before[kept])
    assert torch.equal(field.features.csr.to_dense(), before)


def test_glorot_stays_in_its_bound():
    weights = glorot(np.random.default_rng(0), 100, 50)
    assert weights.dtype == np.float32
    assert 0.19 < np.abs(weights).max() <= 0.2
