"""Random chains of products and sums of rows, as networks of operations; and models of graphs that are chains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import scipy.sparse as sp
from torch import Tensor, nn
from torch_geometric.nn import (
    ChebConv,
    GCNConv,
    GINConv,
    GraphConv,
    SAGEConv,
    SGConv,
    global_add_pool,
    global_mean_pool,
)

from fgnas.hardware.array.chains import ChainNetwork, chain_of
from fgnas.hardware.array.layers import Described
from fgnas.hardware.array.operations import OperationNetwork
from fgnas.networks.imported.chaining import chained
from fgnas.networks.imported.importing import Kept, imported
from fgnas.networks.imported.nodes import Function, Input, Merge, Node, Spread
from fgnas.networks.imported.quantising import Seen, built, first_formats
from fgnas.networks.imported.reading import traced
from fgnas.tasks.collection import Collection

FUNCTIONS = (None, Function("relu", lambda x: np.maximum(x, 0)), Function("tanh", np.tanh))


def random_operations(seed: int, bits: int, depth: int, rows: int = 30, widest: int = 40) -> OperationNetwork:
    """A chain of so many layers with up to three terms each, on random graphs: rows without entries, graphs of other
    sizes from the second layer on, functions of all kinds."""
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, widest))
    features = sp.random(rows, width, 0.5, "csr", random_state=rng, data_rvs=lambda n: rng.normal(size=n))
    node: Node = Input("input", rows, width)
    for place in range(depth):
        count = node.rows if place == 0 or rng.random() < 0.6 else int(rng.integers(1, rows))
        columns, terms = int(rng.integers(1, widest)), int(rng.integers(1, 4))
        matrix = sp.random(count, terms * node.rows, min(1.0, 4 / node.rows), "csr", random_state=rng,
                           data_rvs=lambda n: rng.normal(size=n))  # fmt: skip
        products = tuple(
            Merge(f"layer {place}", node.rows, columns, given=(node,),
                  weights=(rng.normal(size=(node.columns, columns)) / np.sqrt(node.columns),))
            for _ in range(terms)
        )  # fmt: skip
        function = None if place == depth - 1 else FUNCTIONS[rng.integers(len(FUNCTIONS) if bits <= 10 else 2)]
        bias = rng.normal(size=columns) if rng.random() < 0.7 else None
        node = Spread(f"layer {place}", count, columns, bias, function, products, matrix)
    seen = Seen.of(node, features)
    found = built(seen, first_formats(seen, bits), bits)
    return OperationNetwork("chain", "random", Described("0" * 12, {}), found.integers, found.graphs, features.nnz)


def in_layers(source: OperationNetwork) -> ChainNetwork:
    """A chain in the array's layers."""
    found = chain_of(source)
    assert found is not None
    return found


LAYERS: dict[str, Callable[[int, int], nn.Module]] = {
    "GCN": GCNConv, "SAGE": SAGEConv, "GraphConv": GraphConv, "mean": partial(GraphConv, aggr="mean"), "SG": SGConv,
    "Cheb": lambda a, b: ChebConv(a, b, 2), "GIN": lambda a, b: GINConv(nn.Linear(a, b), eps=0.3, train_eps=True),
}  # fmt: skip
"""Layers whose models are chains."""
POOLS = {"mean": global_mean_pool, "add": global_add_pool}


class ChainOfGraphs(nn.Module):
    """Layers of these kinds, a pool, and two linear layers."""

    def __init__(self, kinds: Sequence[str], pool: str, width: int, hidden: int, out: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(LAYERS[one](width if place == 0 else hidden, hidden)
                                    for place, one in enumerate(kinds))  # fmt: skip
        self.pool = POOLS[pool]
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, edge_index).relu()
        return self.head(self.pool(x, batch))


def random_graphs(seed: int, count: int = 40, width: int = 6, outputs: int = 2) -> Collection:
    """Graphs of 1 to 12 nodes, some without edges, every edge in both directions, with numbers as targets."""
    rng = np.random.default_rng(seed)
    sizes, edges, start = rng.integers(1, 13, count), list[np.ndarray](), 0
    for size in sizes:
        near = np.triu(rng.random((size, size)) < rng.choice([0.0, 0.2, 0.5]), 1)
        edges.append(np.argwhere(near | near.T).T + start)
        start += size
    edge_index = np.concatenate(edges, axis=1)
    part = np.arange(count) % 4
    features = sp.random(start, width, 0.6, "csr", np.float32, rng, rng.standard_normal)
    return Collection(
        "graphs", "graphs", features, edge_index[:, rng.permutation(edge_index.shape[1])], None,
        np.repeat(np.arange(count), sizes), rng.normal(size=(count, outputs)), "values", part < 2, part == 2, part == 3,
    )  # fmt: skip


def imported_chain(model: nn.Module, data: Collection, bits: int, kept: Kept) -> OperationNetwork:
    """A model as a network of operations, with the graphs in these places."""
    found = imported(partial(traced, model.eval()), data, bits, kept, form=chained)
    return OperationNetwork("chain", data.label, Described("0" * 12, {}), found.network.integers, found.network.graphs,
                            data.edge_index.shape[1], rules=found.rules)  # fmt: skip
