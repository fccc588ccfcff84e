"""Random chains of products and sums of rows, as networks of operations."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from fgnas.hardware.array.chains import ChainNetwork, chain_of
from fgnas.hardware.array.layers import Described
from fgnas.hardware.array.operations import OperationNetwork
from fgnas.networks.imported.nodes import Function, Input, Merge, Node, Spread
from fgnas.networks.imported.quantising import Seen, built, first_formats

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
