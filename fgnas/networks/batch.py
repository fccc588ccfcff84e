"""Many networks of one depth trained as one computation on a CPU: their columns are concatenated in every matrix.

A pass over the graph serves all of them: each feature and each edge is read once for every network. No sum runs over
columns of two networks, so each is trained bit by bit as it would be alone.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fgnas.design import MLP, VECTORS
from fgnas.networks import kernels
from fgnas.networks.model import Architecture, Block, Child, Field, SparseMatrix, keep_mask

Reals = NDArray[np.float32]
COMPILED = ("constant", "gcn", "gat")
"""Attentions that the compiled loops train; networks with others are trained by autograd."""
BETAS = np.array([0.9, 0.999])
"""Decay of Adam's means, as in torch."""


@dataclass(frozen=True, eq=False)
class Group:
    """Networks that one layer aggregates alike, in neighbouring columns.

    Attributes:
        attention, aggregation: of all of them.
        first, end: their columns.
        starts: [heads + 1] first column of each head, with gat.
    """

    attention: str
    aggregation: str
    first: int
    end: int
    starts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns of each network in one layer's matrices.

    Attributes:
        columns: for each network its columns.
        heads: for each network the heads among them: 1 where the last layer averages its heads in the weights.
        groups: the networks by their aggregation.
        codes: [columns] activations, as in `kernels.ACTIVATION_CODES`; empty in the last layer.
    """

    columns: tuple[slice, ...]
    heads: tuple[int, ...]
    groups: tuple[Group, ...]
    codes: NDArray[np.int64]

    @property
    def width(self) -> int:
        """Columns of all networks together."""
        return max(columns.stop for columns in self.columns)


def layout_of(architectures: Sequence[Architecture], place: int, classes: int) -> Layout:
    """The layout of layer `place`."""
    layers = [architecture[place] for architecture in architectures]
    last = place == len(architectures[0]) - 1
    linear = [layer["attention"] not in VECTORS and layer["aggregation"] not in ("max", MLP) for layer in layers]
    averaged = [last and place > 0 and ahead for ahead in linear]
    heads = [1 if ahead else layer["k"] for layer, ahead in zip(layers, averaged, strict=True)]
    widths = [k * (classes if last else layer["d"]) for k, layer in zip(heads, layers, strict=True)]
    columns: dict[int, slice] = {}
    groups, at = [], 0
    kinds = sorted({(layer["attention"], layer["aggregation"]) for layer in layers})
    for kind in kinds:
        members = [n for n, layer in enumerate(layers) if (layer["attention"], layer["aggregation"]) == kind]
        first = at
        for n in members:
            columns[n] = slice(at, at + widths[n])
            at += widths[n]
        starts = [columns[n].start + head * (widths[n] // heads[n]) for n in members for head in range(heads[n])]
        groups.append(Group(*kind, first, at, np.array([*starts, at], np.int64)))
    codes = np.zeros(0 if last else at, np.int64)
    if not last:
        for n, layer in enumerate(layers):
            codes[columns[n]] = kernels.ACTIVATION_CODES[layer["activation"]]
    return Layout(tuple(columns[n] for n in range(len(layers))), tuple(heads), tuple(groups), codes)


class Csr:
    """A sparse matrix as plain arrays: indptr, indices, and values in the order of the rows."""

    def __init__(self, indptr: NDArray[Any], indices: NDArray[Any], values: Reals) -> None:
        self.indptr, self.indices, self.values = indptr, indices, values

    @classmethod
    def of(cls, matrix: SparseMatrix) -> Csr:
        """Those of a matrix, which it shares."""
        csr = matrix.csr
        return cls(csr.crow_indices().numpy(), csr.col_indices().numpy(), csr.values().numpy())

    @functools.cached_property
    def _kept(self) -> Reals:
        return np.empty_like(self.values)

    def refilled(self, values: Reals) -> Csr:
        """The same structure with other values."""
        return Csr(self.indptr, self.indices, values)

    def dropped(self, rng: np.random.Generator, dropout: float) -> Csr:
        """The same with random values dropped, until the next call: fresh memory each time would take longer."""
        drop(rng, self.values, dropout, self._kept)
        return self.refilled(self._kept)

    def multiply(self, dense: Reals, out: Reals, first: int, end: int) -> None:
        """The columns first to end of out = matrix @ dense; threads share the rows."""
        each = [(self.indptr[rows.start : rows.stop + 1], self.indices, self.values, dense, out[rows], first, end)
                for rows in self._shares(len(out), end - first)]  # fmt: skip
        run_all(kernels.multiply, each)

    def multiply_transposed(self, dense: Reals, out: Reals, first: int, end: int) -> None:
        """The columns first to end of out = matrix.T @ dense; threads share the columns."""
        arrays = (self.indptr, self.indices, self.values, dense, out)
        each = [(*arrays, first + columns.start, first + columns.stop)
                for columns in self._shares(end - first, end - first)]  # fmt: skip
        run_all(kernels.multiply_transposed, each)

    def _shares(self, count: int, width: int) -> list[slice]:
        """`count` things, shared among as many threads as torch has, where the product is worth more than one."""
        threads = max(1, min(torch.get_num_threads() if len(self.values) * width >= MANY_PRODUCTS else 1, count))
        bounds = [count * one // threads for one in range(threads + 1)]
        return [slice(*pair) for pair in itertools.pairwise(bounds)]


MANY_PRODUCTS = 1 << 22
"""Multiplications from which threads share a product: some milliseconds."""


def run_all(kernel: Any, each: Sequence[tuple[Any, ...]]) -> None:
    """Run a kernel that needs no lock with each of these arguments, at the same time."""
    if len(each) == 1:
        kernel(*each[0])
        return
    with ThreadPoolExecutor(len(each)) as pool:
        list(pool.map(lambda arguments: kernel(*arguments), each))


def drop(rng: np.random.Generator, values: Reals, dropout: float, out: Reals) -> None:
    """out = values, of which random ones are 0, and the others are divided by 1 - `dropout`."""
    if dropout == 0.5:  # of which `keep_mask` asks for one random bit a value
        keep_mask(rng, values.shape, dropout, out)
        out *= values
    else:
        rng.random(dtype=np.float32, out=out)
        kernels.share_of(values, np.float32(dropout), np.float32(1) / np.float32(1 - dropout), out)


@functools.lru_cache(maxsize=64)
def _csr(block: Block, attention: str, aggregation: str) -> Csr:
    return Csr.of(block.matrix(attention, aggregation))


@dataclass(eq=False)
class Parameters:
    """The parameters of all networks in one array, and views of their parts.

    Attributes:
        flat: all of them.
        inputs: [width_in, columns] weights of the first layer.
        weights: for each later layer and network [columns before, k * d].
        biases: for each layer [columns], or, in the last, [networks, classes]; those behind a second product, where a
            network has one.
        vectors: for each layer the attention vectors of the sender and of the receiver, [2, columns].
        seconds: for each layer, by network, the bias of the sums and the weight of its second product.
    """

    flat: Reals
    inputs: Reals
    weights: list[list[Reals]]
    biases: list[Reals]
    vectors: list[Reals]
    seconds: list[dict[int, tuple[Reals, Reals]]]


class Batch:
    """The networks, their gradients, and the state of Adam."""

    def __init__(self, children: Sequence[Child]) -> None:
        self.architectures = [child.architecture for child in children]
        self.classes = children[0].classes
        self.layers = len(self.architectures[0])
        self.layouts = [layout_of(self.architectures, place, self.classes) for place in range(self.layers)]
        self.width_in = len(children[0].weights[0])
        self.parameters = self._views()
        for n, child in enumerate(children):
            for ours, its in zip(self._of(self.parameters, n), _tensors(child), strict=True):
                ours[...] = its
        self.gradient = self._views()
        self.best = self._views()
        self.best.flat[:] = self.parameters.flat
        self._mean, self._square = (np.zeros_like(self.parameters.flat) for _ in range(2))
        self._steps = 0

    def __len__(self) -> int:
        return len(self.architectures)

    def _views(self) -> Parameters:
        """A new flat array of zeros, and its parts."""
        shapes: list[tuple[int, ...]] = [(self.width_in, self.layouts[0].width)]
        for place in range(1, self.layers):
            for n, architecture in enumerate(self.architectures):
                before = self.layouts[place - 1].columns[n]
                d = architecture[place]["d"] or self.classes
                shapes.append((before.stop - before.start, architecture[place]["k"] * d))
        biases: list[tuple[int, ...]] = [(layout.width,) for layout in self.layouts[:-1]]
        shapes += [*biases, (len(self), self.classes), *((2, layout.width) for layout in self.layouts)]
        widths = [{n: self._second_width(place, n) for n in self.seconds(place)} for place in range(self.layers)]
        for of_place in widths:
            for width in of_place.values():
                shapes += [width[:1], width]
        ends = list(itertools.accumulate(int(np.prod(shape)) for shape in shapes))
        flat = np.zeros(ends[-1], np.float32)
        parts = iter(part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True))
        take = functools.partial(itertools.islice, parts)
        inputs = next(parts)
        weights = [list(take(len(self))) for _ in range(1, self.layers)]
        biases_of, vectors = list(take(self.layers)), list(take(self.layers))
        seconds = [{n: (next(parts), next(parts)) for n in of_place} for of_place in widths]
        return Parameters(flat, inputs, weights, biases_of, vectors, seconds)

    def seconds(self, place: int) -> list[int]:
        """The networks whose layer `place` has a second product."""
        return [n for n, one in enumerate(self.architectures) if one[place]["aggregation"] == MLP]

    def _second_width(self, place: int, n: int) -> tuple[int, int]:
        """Inputs and outputs of a second product."""
        columns = self.layouts[place].columns[n]
        inner = columns.stop - columns.start
        return inner, self.classes if place == self.layers - 1 else inner

    def _of(self, parts: Parameters, n: int) -> Iterator[Reals]:
        """The views of one network, layer by layer: weight, bias, attention vectors, second product and its bias."""
        for place, layout in enumerate(self.layouts):
            columns, second = layout.columns[n], parts.seconds[place].get(n)
            bias = parts.biases[place][columns] if place < self.layers - 1 else parts.biases[place][n]
            yield parts.inputs[:, columns] if place == 0 else parts.weights[place - 1][n]
            yield bias if second is None else second[0]
            if self.architectures[n][place]["attention"] in VECTORS:
                yield from parts.vectors[place][:, columns]
            if second is not None:
                yield from (second[1], bias)

    def gradients(self, n: int) -> Iterator[Reals]:
        """The gradients of one network's parameters, in the order of `_of`."""
        return self._of(self.gradient, n)

    def used_weight(self, place: int, n: int) -> Reals:
        """The weight of a later layer as it is multiplied, [columns before, columns].

        The mean over heads commutes with a linear aggregation, and is cheapest on the weights.
        """
        weight = self.parameters.weights[place - 1][n]
        heads = self._averaged(place, n)
        return weight if heads == 1 else weight.reshape(len(weight), heads, -1).mean(1)

    def store_gradient(self, place: int, n: int, of_used: Reals) -> None:
        """Write the gradient of a later layer's weight, from that of `used_weight`."""
        heads = self._averaged(place, n)
        of_weight = of_used if heads == 1 else np.tile(of_used / np.float32(heads), heads)
        self.gradient.weights[place - 1][n][...] = of_weight

    def _averaged(self, place: int, n: int) -> int:
        """Heads whose mean is taken on the weights."""
        return int(self.architectures[n][place]["k"]) // self.layouts[place].heads[n]

    def keep(self, n: int) -> None:
        """Remember the present parameters of a network as its best."""
        for best, now in zip(self._of(self.best, n), self._of(self.parameters, n), strict=True):
            best[...] = now

    def restore(self, n: int, child: Child) -> None:
        """Put the best parameters of a network into its child."""
        for its, best in zip(_tensors(child), self._of(self.best, n), strict=True):
            its[...] = best

    def step(self, rate: float, decay: float) -> None:
        """One step of Adam along the gradient."""
        self._steps += 1
        state = (self.parameters.flat, self.gradient.flat, self._mean, self._square)
        kernels.adam(*state, rate, decay, self._steps, BETAS)


def _tensors(child: Child) -> Iterator[Reals]:
    """The parameters of a child as arrays that share its memory, in the order of `Batch._of`."""
    for weight, bias, pair, second in zip(child.weights, child.biases, child.attention, child.seconds, strict=True):
        yield weight.detach().numpy()
        yield bias.detach().numpy()
        if pair is not None:
            yield from (vector.detach().numpy().reshape(-1) for vector in pair)
        if second is not None:
            yield from (one.detach().numpy() for one in second)


class Aggregated:
    """One layer's aggregation, forward and backward."""

    def __init__(self, layout: Layout, block: Block, vectors: Reals, h: Reals) -> None:
        self.layout, self.block, self.vectors, self.h = layout, block, vectors, h
        self.y = np.zeros((len(block.target_degrees), layout.width), np.float32)
        self._saved: list[tuple[NDArray[Any], ...]] = []
        for group in layout.groups:
            if group.attention == "gat":
                self._saved.append(self._attend(group))
            elif group.aggregation == "max":
                winner = np.empty(self.y.shape, np.int32)
                kernels.maximum(*block.edges(group.attention), h, self.y, winner, group.first, group.end)
                self._saved.append((winner,))
            else:
                matrix = _csr(block, group.attention, group.aggregation)
                matrix.multiply(h, self.y, group.first, group.end)
                self._saved.append(())

    def _attend(self, group: Group) -> tuple[NDArray[Any], ...]:
        block, heads = self.block, len(group.starts) - 1
        r, s = np.empty((2, len(self.h), heads), np.float32)
        kernels.head_products(self.h, self.vectors[0], group.starts, r)
        kernels.head_products(self.h, self.vectors[1], group.starts, s)
        alpha = np.empty((len(block.sources), heads), np.float32)
        rising = np.empty(alpha.shape, np.bool_)
        kernels.scores(block.indptr, block.sources, block.target_places, s, r, alpha, rising)
        np.exp(alpha, out=alpha)
        kernels.normalise(block.indptr, alpha)
        arrays = (block.indptr, block.sources, alpha, self.h, group.starts, self.y)
        if group.aggregation == "max":
            winner = np.empty(self.y.shape, np.int32)
            kernels.weighted_maximum(*arrays, winner)
            return alpha, rising, winner
        kernels.weighted_sum(*arrays)
        if group.aggregation == "mean":
            self.y[:, group.first : group.end] /= block.target_degrees[:, None].astype(np.float32)
        return alpha, rising

    def backward(self, gradient: Reals, of_vectors: Reals) -> Reals:
        """The gradient of h from that of y, which it may overwrite; writes that of the attention vectors."""
        of_h = np.zeros_like(self.h)
        of_vectors[...] = 0
        for group, saved in zip(self.layout.groups, self._saved, strict=True):
            if group.attention == "gat":
                self._attend_backward(group, saved, gradient, of_h, of_vectors)
            elif group.aggregation == "max":
                edges = self.block.edges(group.attention)[1:]
                kernels.maximum_backward(*edges, saved[0], gradient, of_h, group.first, group.end)
            else:
                matrix = _csr(self.block, group.attention, group.aggregation)
                matrix.multiply_transposed(gradient, of_h, group.first, group.end)
        return of_h

    def _attend_backward(
        self, group: Group, saved: tuple[NDArray[Any], ...], gradient: Reals, of_h: Reals, of_vectors: Reals
    ) -> None:
        block, (alpha, rising) = self.block, saved[:2]
        if group.aggregation == "mean":
            gradient[:, group.first : group.end] /= block.target_degrees[:, None].astype(np.float32)
        of_alpha, messages = np.zeros_like(alpha), (block.sources, alpha, self.h, group.starts)
        if group.aggregation == "max":
            kernels.weighted_maximum_backward(*messages, saved[2], gradient, of_alpha, of_h)
        else:
            kernels.weighted_sum_backward(block.indptr, *messages, gradient, of_alpha, of_h)
        of_s, of_r = np.zeros((2, len(self.h), alpha.shape[1]), np.float32)
        edges = (block.indptr, block.sources, block.target_places)
        kernels.softmax_backward(*edges, alpha, rising, of_alpha, of_s, of_r)
        for row, of_score in ((0, of_r), (1, of_s)):
            heads = (self.h, self.vectors[row], group.starts)
            kernels.head_products_backward(*heads, of_score, of_vectors[row], of_h)


def _copied(matrix: Reals, columns: slice) -> Reals:
    """One network's columns without its neighbours, whose stride may change the order in which NumPy sums."""
    return np.ascontiguousarray(matrix[:, columns])


class Pass:
    """One evaluation of all networks of a batch for the targets of a field.

    `masks`: for each hidden layer the factors of its values, [rows, columns]; [rows, 1] ones without dropout.

    Attributes:
        logits: [targets, networks, classes].
    """

    def __init__(self, batch: Batch, field: Field, features: Csr, masks: Sequence[Reals]) -> None:
        self.batch, self.features, self.masks = batch, features, masks
        self.aggregated: list[Aggregated] = []
        self.z: list[Reals] = []
        self.dropped: list[Reals] = []
        self.between: list[dict[int, Reals]] = []
        parameters = batch.parameters
        h = np.empty((field.features.csr.shape[0], batch.layouts[0].width), np.float32)
        features.multiply(parameters.inputs, h, 0, h.shape[1])
        for place, (layout, block) in enumerate(zip(batch.layouts, field.blocks, strict=True)):
            if place:
                h = self._linear(place)
            aggregated = Aggregated(layout, block, parameters.vectors[place], h)
            self.aggregated.append(aggregated)
            self.between.append(self._between(place))
            if place < batch.layers - 1:
                self._second(place)
                self._activate(layout, aggregated.y, parameters.biases[place], masks[place])
        self.logits = self._logits()

    def _linear(self, place: int) -> Reals:
        """H of a later layer."""
        batch, x = self.batch, self.dropped[-1]
        layout, before = batch.layouts[place], batch.layouts[place - 1]
        h = np.empty((len(x), layout.width), np.float32)
        for n, (its, own) in enumerate(zip(before.columns, layout.columns, strict=True)):
            h[:, own] = _copied(x, its) @ batch.used_weight(place, n)
        return h

    def _between(self, place: int) -> dict[int, Reals]:
        """By network what its second product reads: relu(sum + bias)."""
        y, columns = self.aggregated[place].y, self.batch.layouts[place].columns
        seconds = self.batch.parameters.seconds[place]
        return {n: np.maximum(_copied(y, columns[n]) + bias, np.float32(0)) for n, (bias, _) in seconds.items()}

    def _second(self, place: int) -> None:
        """The second products of a hidden layer, in the place of the sums."""
        for n, (_, weight) in self.batch.parameters.seconds[place].items():
            self.aggregated[place].y[:, self.batch.layouts[place].columns[n]] = self.between[place][n] @ weight

    def _second_backward(self, place: int, n: int, gradient: Reals) -> Reals:
        """The gradient of a network's sums, from that of its second product; writes those of its parameters."""
        read, weight = self.between[place][n], self.batch.parameters.seconds[place][n][1]
        of_bias, of_weight = self.batch.gradient.seconds[place][n]
        of_weight[...] = read.T @ gradient
        of_sums = (gradient @ weight.T) * (read > 0)
        kernels.column_sums(of_sums, of_bias)
        return of_sums

    def _activate(self, layout: Layout, y: Reals, bias: Reals, mask: Reals) -> None:
        y += bias
        z = np.empty_like(y)
        scale = np.where(layout.codes == kernels.TANH, np.float32(-2), np.float32(-1))
        kernels.activate(y, np.exp(np.abs(y) * scale), layout.codes, z)
        self.z.append(z)
        self.dropped.append(z * mask)

    def _logits(self) -> Reals:
        batch, layout, y = self.batch, self.batch.layouts[-1], self.aggregated[-1].y
        logits = np.empty((len(y), len(batch), batch.classes), np.float32)
        seconds = batch.parameters.seconds[-1]
        for n, (columns, heads) in enumerate(zip(layout.columns, layout.heads, strict=True)):
            if n in seconds:
                logits[:, n] = self.between[-1][n] @ seconds[n][1]
                continue
            own = y[:, columns]
            logits[:, n] = own if heads == 1 else own.reshape(len(y), heads, batch.classes).mean(1)
        logits += batch.parameters.biases[-1]
        return logits

    def backward(self, gradient: Reals) -> None:
        """Write the gradient of the batch's parameters, from that of the logits."""
        batch, layout, into = self.batch, self.batch.layouts[-1], self.batch.gradient
        kernels.column_sums(gradient.reshape(len(gradient), -1), into.biases[-1].reshape(-1))
        of_y = np.empty_like(self.aggregated[-1].y)
        for n, (columns, heads) in enumerate(zip(layout.columns, layout.heads, strict=True)):
            if n in self.between[-1]:
                of_y[:, columns] = self._second_backward(batch.layers - 1, n, np.ascontiguousarray(gradient[:, n]))
                continue
            own = gradient[:, n] / np.float32(heads)
            of_y[:, columns] = own if heads == 1 else np.tile(own, heads)
        for place in range(batch.layers - 1, 0, -1):
            of_h = self.aggregated[place].backward(of_y, into.vectors[place])
            of_y = self._hidden_backward(place, of_h)
            kernels.column_sums(of_y, into.biases[place - 1])
            for n in self.between[place - 1]:
                columns = batch.layouts[place - 1].columns[n]
                of_y[:, columns] = self._second_backward(place - 1, n, _copied(of_y, columns))
        of_h = self.aggregated[0].backward(of_y, into.vectors[0])
        self.features.multiply_transposed(of_h, into.inputs, 0, of_h.shape[1])

    def _hidden_backward(self, place: int, of_h: Reals) -> Reals:
        """The gradient of Y one layer below, from that of H; writes that of the weights between them."""
        batch, x, z = self.batch, self.dropped[place - 1], self.z[place - 1]
        layout, before = batch.layouts[place], batch.layouts[place - 1]
        of_x, of_y = np.empty_like(x), np.empty_like(x)
        for n, (its, own) in enumerate(zip(before.columns, layout.columns, strict=True)):
            of_own = _copied(of_h, own)
            batch.store_gradient(place, n, _copied(x, its).T @ of_own)
            of_x[:, its] = of_own @ batch.used_weight(place, n).T
        kernels.activate_backward(z, before.codes, self.masks[place - 1], of_x, of_y)
        if (columns := np.flatnonzero(before.codes == kernels.SOFTPLUS)).size:
            kernels.softplus_backward(z, columns, self.masks[place - 1], of_x, of_y)
        return of_y
