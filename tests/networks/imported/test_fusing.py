"""Nodes that become one: the same values, of fewer operations and no more multiplications."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from pyg_models import random_given, settled
from torch import nn
from torch_geometric.nn import GCNConv, global_add_pool, global_max_pool, global_mean_pool

from fgnas.networks.imported.fusing import fused
from fgnas.networks.imported.inputs import Given
from fgnas.networks.imported.nodes import Input, Merge, Node, evaluated, ordered
from fgnas.networks.imported.quantising import Seen, built, first_formats
from fgnas.networks.imported.tracing import trace_module

WIDTH = 12


class ThreePools(nn.Module):
    """A layer with a skip that has weights, three pools side by side, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.skip = GCNConv(WIDTH, 8), nn.Linear(WIDTH, 8, bias=False)
        self.head = nn.Linear(24, 5)

    def forward(self, x: Any, edge_index: Any, batch: Any) -> Any:
        x = self.layer(x, edge_index).relu() + self.skip(x)
        pools = (global_add_pool, global_mean_pool, global_max_pool)
        return self.head(torch.cat([pool(x, batch) for pool in pools], 1))


def products_of(last: Node) -> list[Merge]:
    return [node for node in ordered(last) if isinstance(node, Merge)]


def multiplications(products: list[Merge]) -> int:
    return sum(one.rows * one.columns * sum(map(len, one.weights)) for one in products)


def test_pools_meet_in_the_head() -> None:
    """Not in a product that puts them side by side, in one format: their sizes differ."""
    torch.manual_seed(0)
    given = random_given(3)
    traced = trace_module(settled(ThreePools(), 1), given)
    whole, found = products_of(traced.output), products_of(fused(traced.output))
    assert [one.columns for one in found if one.place.startswith("layer head")] == [5]
    assert len(found) == len(whole) - 1 and multiplications(found) < multiplications(whole)
    x = given.x.double().numpy()
    results = [evaluated(ordered(last), x)[id(last)] for last in (traced.output, fused(traced.output))]
    np.testing.assert_allclose(results[1], results[0], atol=1e-12)


def chain(between: int, out: int, read_twice: bool = False, bias: bool = True) -> Node:
    """Two products, one behind the other; the first may have another reader."""
    rng = np.random.default_rng(0)
    features = Input("features", 3, WIDTH)
    first = Merge("first", 3, between, rng.normal(size=between) if bias else None, given=(features,),
                  weights=(rng.normal(size=(WIDTH, between)),))  # fmt: skip
    second = Merge("second", 3, out, rng.normal(size=out), given=(first,), weights=(rng.normal(size=(between, out)),))
    if not read_twice:
        return second
    return Merge("last", 3, out, given=(second, first),
                 weights=(np.eye(out), rng.normal(size=(between, out))))  # fmt: skip


@pytest.mark.parametrize(("between", "out", "twice", "products"), [
    (8, 4, False, 1), (20, 30, False, 1), (8, 30, False, 2), (8, 4, True, 2),
])  # fmt: skip
def test_products_that_become_one(between: int, out: int, twice: bool, products: int) -> None:
    """Where that multiplies no more, and no other node reads the first; biases come along."""
    for bias in (False, True):
        last = chain(between, out, twice, bias)
        found = fused(last)
        assert len(products_of(found)) == products
        assert multiplications(products_of(found)) <= multiplications(products_of(last))
        x = np.random.default_rng(1).normal(size=(3, WIDTH))
        results = [evaluated(ordered(one), x)[id(one)] for one in (last, found)]
        np.testing.assert_allclose(results[1], results[0], atol=1e-12)


def test_a_mean_keeps_its_digits_beside_a_sum() -> None:
    """A head that subtracts the sum of many nodes from their mean, a hundred times as heavy."""

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(2, 1)
            self.head.weight.data = torch.tensor([[-0.01, 1.0]])

        def forward(self, x: Any, edge_index: Any, batch: Any) -> Any:
            return self.head(torch.cat([global_add_pool(x, batch), global_mean_pool(x, batch)], 1))

    rng = np.random.default_rng(5)
    batch = np.repeat(np.arange(6), [100, 3, 70, 10, 40, 90])
    x = torch.from_numpy(rng.normal(1.0, 0.5, (len(batch), 1)).astype(np.float32))
    given = Given(x, torch.zeros((2, 0), dtype=torch.int64), batch=torch.from_numpy(batch))
    traced = trace_module(Both().eval(), given)
    seen = Seen.of(fused(traced.output), sp.csr_matrix(x.double().numpy()))
    found = built(seen, first_formats(seen, 8), 8).values()
    assert np.abs(found - seen.output).max() < 0.05 * np.ptp(seen.output)
