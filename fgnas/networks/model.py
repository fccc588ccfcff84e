"""The float network of an architecture, on sparse matrices, evaluated only for the nodes that are asked for."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from fgnas.activations import LEAKY_SLOPE
from fgnas.design import DOT, MLP, PAIRS, VECTORS
from fgnas.networks import kernels, scatter
from fgnas.networks.attention import EdgeSoftmax, WeightedMaximum, WeightedSum
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.sampling import EVERY, layer_graphs

Architecture = list[dict[str, Any]]
"""For each layer d, attention, aggregation, k, activation, and perhaps sampling, as in `Design.architecture`."""


def rates_of(architecture: Architecture) -> tuple[float, ...]:
    """The share of the edges that each layer keeps."""
    return tuple(layer.get("sampling", EVERY) for layer in architecture)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "elu": torch.nn.functional.elu,
    # torch's own softplus is not exact beyond a threshold.
    "softplus": lambda u: torch.logaddexp(u, torch.zeros_like(u)),
    "leaky_relu": functools.partial(torch.nn.functional.leaky_relu, negative_slope=LEAKY_SLOPE),
    "relu6": torch.nn.functional.relu6,
    "linear": lambda u: u,
}


MANY_VALUES = 1 << 24
"""Features of a graph whose fields are made anew each time: they take some 50 bytes a feature, and less time than a
training."""
OfGraph = TypeVar("OfGraph", bound=Callable[..., Any])


def kept_unless_large(most: int) -> Callable[[OfGraph], OfGraph]:
    """Keeps the last results, so many, of a function of a graph; none where it has more than MANY_VALUES features."""

    def decorate(make: OfGraph) -> OfGraph:
        kept = functools.lru_cache(maxsize=most)(make)

        @functools.wraps(make)
        def made(data: GraphData, *given: Any) -> Any:
            return (make if data.features.nnz > MANY_VALUES else kept)(data, *given)

        return cast(OfGraph, made)

    return decorate


class SparseMatrix:
    """A sparse matrix [n, m] and its transpose, both as CSR tensors; the structure is fixed, values may change.

    The values have no gradient: computing one through autograd would take longer than the rest of a step. The transpose
    is made when it is first read: what is only evaluated needs none.
    """

    def __init__(self, matrix: sp.csr_matrix, dtype: torch.dtype = torch.float32, device: str = "cpu") -> None:
        self._matrix, self._dtype, self._device = matrix, dtype, device
        self.csr = _csr_tensor(matrix, dtype, device)

    @functools.cached_property
    def _turned(self) -> tuple[Tensor, Tensor]:
        transposed, order = _transpose(self._matrix)
        return _csr_tensor(transposed, self._dtype, self._device), order.to(self._device)

    @property
    def transposed(self) -> Tensor:
        """[m, n] the transpose."""
        return self._turned[0]

    @property
    def order(self) -> Tensor:
        """[non-zeros] the position of each of the transpose's values in the matrix."""
        return self._turned[1]

    def refill(self, values: Tensor) -> None:
        """Replace the values, [non-zeros] in the order of the rows, in place."""
        self.csr.values().copy_(values)
        torch.index_select(values, 0, self.order, out=self.transposed.values())


def _transpose(matrix: sp.csr_matrix) -> tuple[sp.csr_matrix, Tensor]:
    """The transpose as CSR, and the position of each of its values in `matrix`."""
    # Counted from one, because SciPy may drop stored zeros.
    places = sp.csr_matrix((np.arange(1, matrix.nnz + 1), matrix.indices, matrix.indptr), shape=matrix.shape)
    turned = places.T.tocsr()
    order = turned.data - 1
    values = (matrix.data[order], turned.indices, turned.indptr)
    return sp.csr_matrix(values, shape=turned.shape), torch.from_numpy(order)


def _csr_tensor(matrix: sp.csr_matrix, dtype: torch.dtype, device: str) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr.astype(np.int32, copy=False)),
            torch.from_numpy(matrix.indices.astype(np.int32, copy=False)),
            torch.from_numpy(matrix.data.copy()).to(dtype),
            matrix.shape,
            check_invariants=False,
        ).to(device)


class SparseProduct(torch.autograd.Function):
    """matrix [n, m] @ dense [m, f], differentiable in `dense` only."""

    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        return torch.sparse.mm(matrix.csr, dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return torch.sparse.mm(ctx.matrix.transposed, gradients[0].contiguous()), None


class Maximum(torch.autograd.Function):
    """out[i, f] = max over the edges e of row i of coefficients[e] * h[sources[e], f].

    The first of equal messages gets the gradient.
    """

    @staticmethod
    def forward(ctx: Any, h: Tensor, indptr: Any, sources: Any, coefficients: Any) -> Tensor:
        shape = (len(indptr) - 1, h.shape[1])
        out, ctx.winner = torch.empty(shape, dtype=h.dtype), np.empty(shape, np.int32)
        ctx.edges, ctx.nodes = (sources, coefficients), len(h)
        arrays = (indptr, sources, coefficients, h.detach().numpy(), out.numpy(), ctx.winner)
        kernels.maximum(*arrays, 0, shape[1])
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        result = torch.zeros((ctx.nodes, gradients[0].shape[1]), dtype=gradients[0].dtype)
        arrays = (*ctx.edges, ctx.winner, gradients[0].contiguous().numpy(), result.numpy())
        kernels.maximum_backward(*arrays, 0, result.shape[1])
        return result, None, None, None


@dataclass(frozen=True, eq=False)
class Block:
    """The edges into some target nodes; nodes are numbered within the receptive field.

    Attributes:
        indptr, sources: rows by target; sources are positions among the nodes one level below.
        target_degrees: [targets] |S(i)|.
        source_degrees: [edges] |S(j)|.
        target_places: [targets] positions of the targets themselves among the nodes one level below.
        below: number of nodes one level below.
    """

    indptr: NDArray[np.int64]
    sources: NDArray[np.int64]
    target_degrees: NDArray[np.int64]
    source_degrees: NDArray[np.int64]
    target_places: NDArray[np.int64]
    below: int
    dtype: torch.dtype
    device: str = "cpu"

    def coefficients(self, attention: str) -> NDArray[np.float64]:
        """[edges] c_ij: 1, or 1 / sqrt(|S(i)| |S(j)|)."""
        if attention == "constant":
            return np.ones(len(self.sources))
        if attention == "gcn":
            return 1.0 / np.sqrt(np.repeat(self.target_degrees, np.diff(self.indptr)) * self.source_degrees)
        raise ValueError(f"attention {attention} depends on more than the edges")

    @functools.cache  # noqa: B019 - a block lives as long as its dataset
    def matrix(self, attention: str, aggregation: str) -> SparseMatrix:
        """Aggregation by add or mean as one matrix [targets, below]."""
        coefficients = self.coefficients(attention)
        if aggregation == "mean":
            coefficients /= np.repeat(self.target_degrees, np.diff(self.indptr))
        shape = (len(self.target_degrees), self.below)
        matrix = sp.csr_matrix((coefficients, self.sources.copy(), self.indptr.copy()), shape=shape)
        matrix.sum_duplicates()
        return SparseMatrix(matrix, self.dtype, self.device)

    @functools.cached_property
    def scattered(self) -> scatter.Edges:
        """The edges as tensors, for a device without the compiled loops."""
        targets = np.repeat(np.arange(len(self.target_degrees)), self.target_degrees)
        arrays = (targets, self.sources, self.target_places)
        return scatter.Edges(*(torch.from_numpy(array).to(self.device) for array in arrays))

    @functools.cache  # noqa: B019
    def _weights(self, attention: str) -> Tensor:
        return torch.from_numpy(self.coefficients(attention)).to(self.device, self.dtype)[:, None]

    @functools.cache  # noqa: B019
    def edges(self, attention: str) -> tuple[NDArray[Any], ...]:
        """Row pointers, sources and coefficients of the edges, as the compiled loops take them."""
        numbers = torch.empty(0, dtype=self.dtype).numpy().dtype
        return self.indptr, self.sources.astype(np.int32), self.coefficients(attention).astype(numbers)

    def aggregate(self, h: Tensor, attention: str, aggregation: str) -> Tensor:
        """[targets, f] AGG over j in S(i) of c_ij h_j, from h [below, f]; that of mlp is the sum before its relu."""
        if aggregation == "max":
            if self.device != "cpu":
                return scatter.weighted(self._weights(attention), h, self.scattered, True)
            return Maximum.apply(h, *self.edges(attention))
        return SparseProduct.apply(h, self.matrix(attention, aggregation))

    def attend(
        self, h: Tensor, vectors: Sequence[Tensor], attention: str, aggregation: str, *of_edges: scatter.Rounding
    ) -> Tensor:
        """[targets, k * d] AGG over j in S(i) of alpha_ij h_j, from h [below, k * d], as PyG's GATConv.

        alpha_ij is the softmax over S(i) of each head's scores, from the products of the features with the `vectors`
        [k, d], source then target: LeakyReLU(target . h_i + source . h_j) for gat, to which gat-sym adds the same of i
        and j exchanged; tanh(source . h_j) for linear; (source h_i) . h_j for cos; factor . tanh(target h_i + source
        h_j) for gene-linear. `of_edges` may round what the scores of the last two are made of, as `scatter` has them.
        """
        heads = h.view(len(h), *vectors[0].shape)
        if attention == DOT:
            scores = scatter.dot_scores(heads, vectors[0], self.scattered, *of_edges)
            alpha = scatter.edge_softmax(scores, self.scattered)
        elif attention in PAIRS:
            scores = scatter.pair_scores(attention, heads, vectors, self.scattered, *of_edges)
            alpha = scatter.edge_softmax(scores, self.scattered)
        else:
            alpha = self._alpha([(heads * vector).sum(2) for vector in reversed(vectors)], attention)
        if self.device != "cpu":
            y = scatter.weighted(alpha, h, self.scattered, aggregation == "max")
        else:
            function = WeightedMaximum if aggregation == "max" else WeightedSum
            y = function.apply(alpha, h, self.indptr, self.sources)
        return y / torch.from_numpy(self.target_degrees).to(y)[:, None] if aggregation == "mean" else y

    def _alpha(self, products: Sequence[Tensor], attention: str) -> Tensor:
        """[edges, k] the softmax of scores from the products of all nodes with the vectors, the receiver's first."""
        if self.device != "cpu" or attention != "gat":
            return scatter.edge_softmax(scatter.SCORES[attention](products, self.scattered), self.scattered)
        return EdgeSoftmax.apply(*products, self.indptr, self.sources, self.target_places)


class Field:
    """The receptive field of some nodes: the rows that the network needs for their logits.

    On Cora the 140 training nodes need 644 hidden rows and 1,664 input rows out of 2,708. Layers keep the shares of the
    edges in `rates`, all of them by default.

    Attributes:
        blocks: one per layer, from the input to the output.
        nodes: [input rows] the nodes whose features are read.
        features: [input rows, width_in].
    """

    def __init__(
        self,
        data: GraphData,
        targets: NDArray[np.int64],
        layers: int,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
        rates: Sequence[float] = (),
    ) -> None:
        self.blocks: list[Block] = []
        for graph in reversed(layer_graphs(data, rates or (EVERY,) * layers)):
            block, targets = _block(graph, targets, dtype, device)
            self.blocks.insert(0, block)
        self.nodes = targets
        self._matrix = data.features[targets]
        self.features = SparseMatrix(self._matrix, dtype, device)

    @functools.cached_property
    def _dropped(self) -> SparseMatrix:
        kept = self.features
        return SparseMatrix(self._matrix, kept.csr.dtype, str(kept.csr.device))

    def dropped(self, rng: np.random.Generator, dropout: float) -> SparseMatrix:
        """The features with random non-zeros dropped; the next call overwrites them."""
        values = self._matrix.data * keep_mask(rng, self._matrix.data.shape, dropout)
        self._dropped.refill(torch.from_numpy(values).to(self.features.csr.values()))
        return self._dropped


def _block(
    data: GraphData, targets: NDArray[np.int64], dtype: torch.dtype, device: str
) -> tuple[Block, NDArray[np.int64]]:
    """The edges into `targets`, and their source nodes, ascending."""
    degrees = data.degrees[targets]
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    edges = np.arange(indptr[-1]) + np.repeat(data.indptr[targets] - indptr[:-1], degrees)
    sources = data.sources[edges]
    below, local = np.unique(sources, return_inverse=True)
    # Every target is among them because of its self-loop.
    places = np.searchsorted(below, targets)
    return Block(indptr, local, degrees, data.degrees[sources], places, len(below), dtype, device), below


def keep_mask(
    rng: np.random.Generator, shape: tuple[int, ...], dropout: float, out: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """0 with probability `dropout`, else 1 / (1 - dropout); in `out`, where it is given."""
    if dropout == 0.5:  # one random bit per value: fifteen times as fast as uniform numbers
        count = math.prod(shape)
        bits = np.unpackbits(np.frombuffer(rng.bytes(-(-count // 8)), np.uint8), count=count)
        return np.multiply(bits.reshape(shape), np.float32(2), out=out, dtype=np.float32)
    return np.divide(rng.random(shape, np.float32) >= dropout, np.float32(1 - dropout), out=out, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Step:
    """The values of one layer: H [nodes below, k * d], Y [targets, k * d], and Z, which is None in the last layer; with
    aggregation mlp also the second product [targets, k * d], in the last layer [targets, classes]."""

    h: Tensor
    y: Tensor
    z: Tensor | None
    second: Tensor | None = None


class Child:
    """The network of an architecture.

    For each layer and head H = X W, Y_i = AGG over j in S(i) of c_ij h_j, and Z = act(Y + b). Heads are concatenated.
    The last layer averages them, adds a bias per class, and has no activation. Behind an aggregation mlp, see
    `fgnas.design.MLP`, the bias is that of the sums, and a second product of all heads follows.

    Attributes:
        weights, biases: for each layer [width_in, k * d], and [k * d] or, where heads are averaged, [classes].
        attention: for each layer the vectors [k, d] of its scores, see `fgnas.design.VECTORS`; None without scores.
        seconds: for each layer the weight [k * d, k * d] and the bias of its second product, in the last layer
            [k * d, classes]; None without one.
    """

    def __init__(
        self,
        architecture: Architecture,
        width_in: int,
        classes: int,
        rng: np.random.Generator,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
    ) -> None:
        self.architecture, self.classes = architecture, classes
        self.weights: list[Tensor] = []
        self.biases: list[Tensor] = []
        self.attention: list[tuple[Tensor, ...] | None] = []
        self.seconds: list[tuple[Tensor, Tensor] | None] = []
        for index, layer in enumerate(architecture):
            last = index == len(architecture) - 1
            heads, d = layer["k"], classes if last else layer["d"]
            features = heads * d
            self.weights.append(_parameter(glorot(rng, width_in, features), dtype, device))
            mlp = layer["aggregation"] == MLP
            bias = np.zeros(classes if last and not mlp else features, np.float32)
            self.biases.append(_parameter(bias, dtype, device))
            drawn = [glorot(rng, heads, d) for _ in range(VECTORS.get(layer["attention"], 0))]
            self.attention.append(tuple(_parameter(one, dtype, device) for one in drawn) or None)
            if mlp:
                width = classes if last else features
                second = _parameter(glorot(rng, features, width), dtype, device)
                self.seconds.append((second, _parameter(np.zeros(width, np.float32), dtype, device)))
            else:
                self.seconds.append(None)
            width_in = features

    def parameters(self) -> list[Tensor]:
        """The tensors that training changes."""
        vectors = [vector for pair in self.attention if pair is not None for vector in pair]
        return self.weights + self.biases + vectors + [one for pair in self.seconds if pair is not None for one in pair]

    def __call__(
        self,
        field: Field,
        rng: np.random.Generator | None = None,
        dropout: float = 0.5,
        steps: list[Step] | None = None,
    ) -> Tensor:
        """[targets, classes] logits; with `rng`, features and hidden values are dropped, as in training.

        The values of every layer are appended to `steps`.
        """
        features = field.features if rng is None else field.dropped(rng, dropout)
        z: Tensor | None = None
        layers = zip(
            self.architecture, field.blocks, self.weights, self.biases, self.attention, self.seconds, strict=True
        )
        for layer, block, weight, bias, attention, second in layers:
            last, heads = bias is self.biases[-1], layer["k"]
            linear = attention is None and second is None and layer["aggregation"] != "max"
            if last and heads > 1 and linear and steps is None:
                # The mean over heads commutes with a linear aggregation, and is cheapest on the weights.
                weight, heads = weight.view(-1, heads, self.classes).mean(1), 1
            h = SparseProduct.apply(weight, features) if z is None else z @ weight
            if attention is None:
                y = block.aggregate(h, layer["attention"], layer["aggregation"])
            else:
                y = block.attend(h, attention, layer["attention"], layer["aggregation"])
            total, product = y, None
            if second is not None:
                total = product = torch.relu(y + bias) @ second[0]
                bias, heads = second[1], 1
            if last:
                if steps is not None:
                    steps.append(Step(h, y, None, product))
                return (total if heads == 1 else total.view(len(y), heads, self.classes).mean(1)) + bias
            z = ACTIVATIONS[layer["activation"]](total + bias)
            if steps is not None:
                steps.append(Step(h, y, z, product))
            if rng is not None:
                z = z * torch.from_numpy(keep_mask(rng, tuple(z.shape), dropout)).to(z.device)
        raise AssertionError("an architecture has a last layer")


def _parameter(values: NDArray[np.float32], dtype: torch.dtype, device: str) -> Tensor:
    return torch.from_numpy(values).to(device, dtype).requires_grad_()


def glorot(rng: np.random.Generator, rows: int, columns: int) -> NDArray[np.float32]:
    """[rows, columns] uniform in +-sqrt(6 / (rows + columns))."""
    bound = math.sqrt(6.0 / (rows + columns))
    return (bound * (2.0 * rng.random((rows, columns), np.float32) - 1.0)).astype(np.float32)
