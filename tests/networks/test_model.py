"""The sparse layers against PyG's, on a graph small enough to check by hand."""

import dataclasses
import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.nn import GATConv, GATv2Conv, GCNConv, GINConv, MessagePassing
from torch_geometric.utils import softmax

from fgnas.design import GATV2_SLOPE, VECTORS
from fgnas.networks import scatter
from fgnas.networks.attention import EdgeSoftmax, WeightedMaximum, WeightedSum
from fgnas.networks.model import Child, Field, Maximum, SparseMatrix, SparseProduct, glorot, keep_mask

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


def pyg_gin(child, index):
    """PyG's layer, with the weights of the child's and an epsilon of 0."""
    second, bias = child.seconds[index]
    pairs = ((child.weights[index], child.biases[index]), (second, bias))
    products = [torch.nn.Linear(*weight.shape).double() for weight, _ in pairs]
    convolution = GINConv(torch.nn.Sequential(products[0], torch.nn.ReLU(), products[1]))
    with torch.no_grad():  # the layer drew new weights
        for linear, (weight, own) in zip(products, pairs, strict=True):
            linear.weight.copy_(weight.T)
            linear.bias.copy_(own)
    return convolution


def test_mlp_is_pygs_ginconv(four_nodes):
    """Values and the gradients of all parameters: six features, then two heads of two classes that end in two."""
    first = layer(3, "constant", "mlp", k=2, activation="elu")
    last = layer(None, "constant", "mlp", k=2, activation=None)
    child = Child([first, last], 3, 2, np.random.default_rng(1), torch.float64)
    with torch.no_grad():
        for place, bias in enumerate([*child.biases, *(pair[1] for pair in child.seconds)]):
            bias.copy_(torch.linspace(-1, 1, len(bias), dtype=torch.float64) / (place + 1))
    ours = child(Field(four_nodes, ALL, 2, torch.float64))
    (ours**2).sum().backward()
    edges, x = edge_index(four_nodes), torch.from_numpy(four_nodes.features.toarray()).double()
    edges = edges[:, edges[0] != edges[1]]  # PyG adds the node itself
    one, two = pyg_gin(child, 0), pyg_gin(child, 1)
    theirs = two(torch.nn.functional.elu(one(x, edges)), edges)
    (theirs**2).sum().backward()
    torch.testing.assert_close(ours, theirs)
    for index, convolution in enumerate((one, two)):
        pairs = ((child.weights[index], child.biases[index]), child.seconds[index])
        for linear, (weight, bias) in zip((convolution.nn[0], convolution.nn[2]), pairs, strict=True):
            torch.testing.assert_close(weight.grad, linear.weight.grad.T)
            torch.testing.assert_close(bias.grad, linear.bias.grad)


def pyg_gat(child, index, width, d, heads, concat):
    """PyG's layer, with the weights of the child's."""
    aggregation = child.architecture[index]["aggregation"]
    options = {"heads": heads, "concat": concat, "add_self_loops": False, "aggr": aggregation}
    convolution = GATConv(width, d, **options).double()
    source, target = child.attention[index]
    with torch.no_grad():
        convolution.lin.weight.copy_(child.weights[index].T)
        convolution.att_src.copy_(source[None])
        convolution.att_dst.copy_(target[None])
        convolution.bias.copy_(child.biases[index])
    return convolution


@pytest.mark.parametrize("aggregation", ["add", "mean", "max"])
def test_gat_is_pygs_gatconv(four_nodes, aggregation):
    """Values and the gradients of all parameters, with two heads concatenated and four averaged."""
    first = layer(3, "gat", aggregation, k=2, activation="tanh")
    child = Child(
        [first, layer(None, "gat", aggregation, k=4, activation=None)], 3, 2, np.random.default_rng(1), torch.float64
    )
    ours = child(Field(four_nodes, ALL, 2, torch.float64))
    (ours**2).sum().backward()
    edges, x = edge_index(four_nodes), torch.from_numpy(four_nodes.features.toarray()).double()
    one, two = pyg_gat(child, 0, 3, 3, 2, True), pyg_gat(child, 1, 6, 2, 4, False)
    theirs = two(torch.tanh(one(x, edges)), edges)
    (theirs**2).sum().backward()
    torch.testing.assert_close(ours, theirs)
    for index, convolution in enumerate((one, two)):
        torch.testing.assert_close(child.weights[index].grad, convolution.lin.weight.grad.T)
        torch.testing.assert_close(child.attention[index][0].grad, convolution.att_src.grad[0])
        torch.testing.assert_close(child.attention[index][1].grad, convolution.att_dst.grad[0])
        torch.testing.assert_close(child.biases[index].grad, convolution.bias.grad)


def pyg_gatv2(child, index, width, d, heads, concat):
    """PyG's layer, with the weights of the child's: the matrix of either node is the shared one times its vector."""
    aggregation = child.architecture[index]["aggregation"]
    options = {"heads": heads, "concat": concat, "add_self_loops": False, "aggr": aggregation}
    convolution = GATv2Conv(width, d, negative_slope=GATV2_SLOPE, share_weights=False, **options).double()
    source, target, factor = child.attention[index]
    with torch.no_grad():
        convolution.lin_l.weight.copy_((child.weights[index] * source.flatten()).T)
        convolution.lin_r.weight.copy_((child.weights[index] * target.flatten()).T)
        convolution.att.copy_(factor[None])
        convolution.bias.copy_(child.biases[index])
        for linear in (convolution.lin_l, convolution.lin_r):
            linear.bias.zero_()
    return convolution


@pytest.mark.parametrize("aggregation", ["add", "mean", "max"])
def test_gatv2_is_pygs_gatv2conv(four_nodes, aggregation):
    """Values and the gradients of all but the sending node's vector, with two heads concatenated and four averaged.
    PyG's messages are products with that node's matrix, so that its vector is 1."""
    first = layer(3, "gatv2", aggregation, k=2, activation="tanh")
    child = Child(
        [first, layer(None, "gatv2", aggregation, k=4, activation=None)], 3, 2, np.random.default_rng(1), torch.float64
    )
    with torch.no_grad():
        for source, _, _ in child.attention:
            source.fill_(1.0)
    ours = child(Field(four_nodes, ALL, 2, torch.float64))
    (ours**2).sum().backward()
    edges, x = edge_index(four_nodes), torch.from_numpy(four_nodes.features.toarray()).double()
    one, two = pyg_gatv2(child, 0, 3, 3, 2, True), pyg_gatv2(child, 1, 6, 2, 4, False)
    theirs = two(torch.tanh(one(x, edges)), edges)
    (theirs**2).sum().backward()
    torch.testing.assert_close(ours, theirs)
    for index, convolution in enumerate((one, two)):
        target = child.attention[index][1].detach().flatten()
        both = convolution.lin_l.weight.grad.T + convolution.lin_r.weight.grad.T * target
        torch.testing.assert_close(child.weights[index].grad, both)
        of_target = (child.weights[index].detach() * convolution.lin_r.weight.grad.T).sum(0)
        torch.testing.assert_close(child.attention[index][1].grad.flatten(), of_target)
        torch.testing.assert_close(child.attention[index][2].grad, convolution.att.grad[0])
        torch.testing.assert_close(child.biases[index].grad, convolution.bias.grad)


class GraphNASLayer(MessagePassing):
    """Scores as GraphNAS's source reads, of one head: x_i is the receiving node; `vectors` as in `Child.attention`."""

    def __init__(self, attention, vectors, aggregation):
        super().__init__(aggr=aggregation)
        self.attention, self.vectors = attention, vectors

    def forward(self, x, edges):
        return self.propagate(edges, x=x)

    def message(self, x_i, x_j, index, size_i):
        source = self.vectors[0]

        def leaky(i, j):
            return torch.nn.functional.leaky_relu((i * self.vectors[1]).sum(-1) + (j * source).sum(-1), 0.2)

        scores = {
            "linear": lambda: torch.tanh((x_j * source).sum(-1)), "gat-sym": lambda: leaky(x_i, x_j) + leaky(x_j, x_i),
            "cos": lambda: (x_i * x_j * source).sum(-1),
            "gene-linear": lambda: torch.tanh(x_i * self.vectors[1] + x_j * source) @ self.vectors[2],
        }  # fmt: skip
        return softmax(scores[self.attention](), index, num_nodes=size_i)[:, None] * x_j


@pytest.mark.parametrize("attention", [name for name in VECTORS if name not in ("gat", "gatv2")])
@pytest.mark.parametrize("aggregation", ["add", "mean", "max"])
def test_scores_are_those_of_graphnas(four_nodes, attention, aggregation):
    """Values and the gradients of all parameters, of two heads side by side."""
    child = Child(
        [layer(None, attention, aggregation, k=2, activation=None)], 3, 2, np.random.default_rng(1), torch.float64
    )
    ours = child(Field(four_nodes, ALL, 1, torch.float64))
    (ours**2).sum().backward()
    found = [child.weights[0].grad, *(vector.grad for vector in child.attention[0])]
    weight, *vectors = (one.detach().clone().requires_grad_() for one in (child.weights[0], *child.attention[0]))
    h = (torch.from_numpy(four_nodes.features.toarray()).double() @ weight).view(4, 2, 2)
    heads = [
        GraphNASLayer(attention, [vector[head] for vector in vectors], aggregation)(h[:, head], edge_index(four_nodes))
        for head in range(2)
    ]
    theirs = torch.stack(heads).mean(0) + child.biases[0].detach()
    (theirs**2).sum().backward()
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(found, [weight.grad, *(vector.grad for vector in vectors)])


def test_symmetric_scores_by_hand():
    """Row 0 with neighbours 0, 1 and 2: the largest r, that of 2, does not give the largest score."""
    s, r = torch.tensor([[1.0], [-9.0], [-20.0]]), torch.tensor([[0.0], [4.0], [4.5]])
    edges = scatter.Edges(torch.tensor([0, 0, 0]), torch.tensor([0, 1, 2]), torch.tensor([0]))
    found = scatter.SCORES["gat-sym"]((s, r), edges)
    assert found.flatten().tolist() == pytest.approx([1 + 1, 5 - 1.8, 5.5 - 4])


def test_edge_softmax_by_hand():
    """One row with neighbours 0 and 1: z = 1 + 0 and 1 - 6, after the LeakyReLU 1 and -1."""
    s, r = torch.tensor([[1.0], [9.0]]), torch.tensor([[0.0], [-6.0]])
    alpha = EdgeSoftmax.apply(s, r, np.array([0, 2]), np.array([0, 1]), np.array([0]))
    assert alpha.flatten().tolist() == pytest.approx([np.e / (np.e + 1 / np.e), 1 / (1 + np.e**2)])


def test_gradients_of_attention_in_float64():
    rng = np.random.default_rng(0)
    indptr, sources, places = np.array([0, 2, 5]), np.array([0, 1, 1, 2, 3]), np.array([1, 3])
    s, r, h = (torch.from_numpy(rng.normal(size=(4, width))).requires_grad_() for width in (2, 2, 6))
    alpha = torch.from_numpy(rng.uniform(0.2, 1, (5, 2))).requires_grad_()
    assert torch.autograd.gradcheck(lambda s, r: EdgeSoftmax.apply(s, r, indptr, sources, places), (s, r))
    for function in (WeightedSum, WeightedMaximum):
        assert torch.autograd.gradcheck(lambda a, h, f=function: f.apply(a, h, indptr, sources), (alpha, h))


@pytest.mark.parametrize("attention, aggregation", [*itertools.product(("gcn", "gat"), ("add", "mean", "max"))])
def test_scattering_is_the_same_as_the_compiled_loops(four_nodes, attention, aggregation):
    """The GPU's code path, run on a CPU."""
    field = Field(four_nodes, ALL, 1, torch.float64)
    block, elsewhere = field.blocks[0], dataclasses.replace(field.blocks[0], device="meta")
    vars(elsewhere)["scattered"] = block.scattered
    rng = np.random.default_rng(0)
    h, source, target = (torch.from_numpy(rng.normal(size=size)) for size in ((4, 6), (2, 3), (2, 3)))
    if attention == "gat":
        found = [one.attend(h, (source, target), attention, aggregation) for one in (block, elsewhere)]
    else:
        alpha = torch.from_numpy(block.coefficients(attention))[:, None]
        other = scatter.weighted(alpha, h, block.scattered, aggregation == "max")
        if aggregation == "mean":
            other = other / torch.from_numpy(block.target_degrees)[:, None]
        found = [block.aggregate(h, attention, aggregation), other]
    torch.testing.assert_close(*found)


def test_a_receptive_field_holds_no_more_than_is_read(four_nodes):
    field = Field(four_nodes, np.array([0]), 2)
    assert field.nodes.tolist() == [0, 1, 2]
    assert field.blocks[0].below == 3 and len(field.blocks[0].target_degrees) == 2
    assert Field(four_nodes, np.array([3]), 2).nodes.tolist() == [3]


@pytest.mark.parametrize("attention", ["gcn", "gat"])
@pytest.mark.parametrize("aggregation", ["add", "mean", "max"])
def test_a_receptive_field_answers_as_the_whole_graph(cora, attention, aggregation):
    layers = [layer(4, attention, aggregation), layer(None, "constant", aggregation, k=2, activation=None)]
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
