"""Rules of matrices: which models of graphs have them, and on which data."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from chains import LAYERS, ChainOfGraphs, random_graphs
from pyg_models import settled
from torch import Tensor, nn
from torch_geometric.nn import global_add_pool

from fgnas.hardware.integer.rules import GRAPHS, NODES, POOL, Rules
from fgnas.networks.imported.chaining import chained
from fgnas.networks.imported.importing import given_of, imported
from fgnas.networks.imported.probing import MOST_NODES, are_those_of, probe_of, rules_of
from fgnas.networks.imported.reading import traced
from fgnas.tasks.collection import Collection


def rules(model: nn.Module, data: Collection) -> Rules | None:
    return imported(partial(traced, model.eval()), data, 8, 4, form=chained).rules


@pytest.mark.parametrize("kind", LAYERS)
def test_everyday_layers_have_rules(kind: str) -> None:
    torch.manual_seed(1)
    found = rules(settled(ChainOfGraphs([kind, kind], "mean", 6, 8, 2), 1), random_graphs(1))
    assert found is not None
    assert [one for one in found.kind.tolist() if one != NODES] == [POOL, GRAPHS]
    np.testing.assert_allclose(found.pool[found.kind == POOL][0, 1:5], [1, 1 / 2, 1 / 3, 1 / 4], rtol=1e-6)


def test_the_numbers_of_a_gcn() -> None:
    torch.manual_seed(1)
    found = rules(settled(ChainOfGraphs(["GCN"], "add", 6, 8, 2), 1), random_graphs(1))
    assert found is not None
    d = np.arange(1, 5)
    np.testing.assert_allclose(found.edge[0, 1:5, 1:5], 1 / np.sqrt((d[:, None] + 1) * (d + 1)), rtol=1e-6)
    np.testing.assert_allclose(found.own[0, :5], 1 / np.arange(1, 6), rtol=1e-6)


class OfNeighbours(nn.Module):
    """Its coefficients are the degrees of a node's neighbours, added up."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        source, target = edge_index
        degree = torch.bincount(target, minlength=len(x)).float()
        near = torch.zeros(len(x)).scatter_add(0, target, degree[source])
        return global_add_pool(self.linear(x) * near[:, None], batch)


class Numbered(nn.Module):
    """Its coefficients depend on the places of nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return global_add_pool(self.linear(x) * (1.0 + torch.arange(len(x))[:, None] % 3), batch)


@pytest.mark.parametrize("model", [OfNeighbours, Numbered])
def test_what_degrees_do_not_determine_has_none(model: type[nn.Module]) -> None:
    torch.manual_seed(1)
    assert rules(model(), random_graphs(1)) is None


def test_data_that_rules_are_not_made_for() -> None:
    data = random_graphs(2)
    assert data.graph is not None
    assert probe_of(data) is not None
    edges = data.edge_index.shape[1]
    loops = np.concatenate([data.edge_index, [[0], [0]]], axis=1)
    large = np.zeros(MOST_NODES + 1, np.int64)
    for change in (
        {"graph": None}, {"edge_weight": np.ones(edges, np.float32)}, {"edge_index": data.edge_index[:, 1:]},
        {"edge_index": loops}, {"graph": large, "edge_index": data.edge_index[:, :0]},
    ):  # fmt: skip
        assert probe_of(replace(data, **change)) is None


def test_rules_of_one_graph_are_not_those_of_others() -> None:
    """Without the degrees of the others there are no numbers, and with others' numbers they are wrong."""
    data, model = random_graphs(4), settled(ChainOfGraphs(["GCN"], "mean", 6, 8, 2), 1).eval()
    probe = probe_of(data)
    assert probe is not None
    last = chained(traced(model, given_of(probe)).output)
    found = rules_of(last, probe)
    assert found is not None and are_those_of(found, last, probe)
    wrong = found._replace(pool=found.pool * 2)
    assert not are_those_of(wrong, last, probe)
    assert not are_those_of(found._replace(kind=found.kind[:-1]), last, probe)
