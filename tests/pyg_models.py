"""Models as users of PyG write them, one for every layer that is imported, and a few that mix them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch_geometric.nn import (
    APPNP,
    ChebConv,
    EdgeConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GINEConv,
    GraphConv,
    JumpingKnowledge,
    PNAConv,
    SAGEConv,
    SGConv,
    TAGConv,
    TransformerConv,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
)

from fgnas.networks.imported.fusing import fused
from fgnas.networks.imported.inputs import PLAIN, Given
from fgnas.networks.imported.nodes import Node
from fgnas.networks.imported.quantising import Seen
from fgnas.networks.imported.tracing import Traced


def mlp(width: int, out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, out), nn.BatchNorm1d(out), nn.ReLU(), nn.Linear(out, out))


class Projected(nn.Module):
    """APPNP behind the linear layer that it needs."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.linear, self.conv = nn.Linear(width, out), APPNP(3, 0.1)

    def forward(self, x, edge_index):
        return self.conv(self.linear(x), edge_index)


DEGREES = torch.tensor([0, 1, 4, 3, 2])
"""How many nodes have 0, 1, ... neighbours, which PNAConv divides by."""
LAYERS: dict[str, Callable[[int, int], nn.Module]] = {
    "GCNConv": GCNConv,
    "GraphConv": GraphConv,
    "GraphConv, mean": lambda width, out: GraphConv(width, out, aggr="mean"),
    "GraphConv, max": lambda width, out: GraphConv(width, out, aggr="max"),
    "SAGEConv": SAGEConv,
    "SAGEConv, max": lambda width, out: SAGEConv(width, out, aggr="max"),
    "SAGEConv, add, project": lambda width, out: SAGEConv(width, out, aggr="add", project=True),
    "GINConv": lambda width, out: GINConv(mlp(width, out), train_eps=True),
    "GATConv": lambda width, out: GATConv(width, out, 3, concat=False),
    "GATConv, residual": lambda width, out: GATConv(width, out // 2, 2, residual=True),
    "GATv2Conv": lambda width, out: GATv2Conv(width, out, 2, concat=False),
    "TransformerConv": lambda width, out: TransformerConv(width, out // 2, 2),
    "SGConv": lambda width, out: SGConv(width, out, K=2),
    "TAGConv": lambda width, out: TAGConv(width, out, K=3),
    "ChebConv": lambda width, out: ChebConv(width, out, K=3),
    "APPNP": Projected,
    "EdgeConv": lambda width, out: EdgeConv(mlp(2 * width, out)),
    "PNAConv": lambda width, out: PNAConv(
        width, out, ["mean", "max", "std"], ["identity", "amplification"], DEGREES, towers=2
    ),
}
"""A layer from its widths, for each kind that is imported."""
ATTRIBUTES = 3
"""Features of an edge."""
OF_EDGES: dict[str, Callable[[int, int], nn.Module]] = {
    "GINEConv": lambda width, out: GINEConv(mlp(width, out), edge_dim=ATTRIBUTES),
    "GATConv, edge_dim": lambda width, out: GATConv(width, out, 2, concat=False, edge_dim=ATTRIBUTES),
    "GATv2Conv, edge_dim": lambda width, out: GATv2Conv(width, out, 2, concat=False, edge_dim=ATTRIBUTES),
    "TransformerConv, edge_dim": lambda width, out: TransformerConv(width, out // 2, 2, edge_dim=ATTRIBUTES),
    "PNAConv, edge_dim": lambda width, out: PNAConv(
        width, out, ["mean", "max", "std"], ["identity", "amplification"], DEGREES, towers=2, edge_dim=ATTRIBUTES
    ),
}
"""The same for layers that read the features of edges."""


class Two(nn.Module):
    """A layer twice, with a batch norm and relu between."""

    def __init__(self, layer: Callable[[int, int], nn.Module], width: int, hidden: int, out: int) -> None:
        super().__init__()
        self.first, self.norm, self.second = layer(width, hidden), nn.BatchNorm1d(hidden), layer(hidden, out)

    def forward(self, x, edge_index):
        hidden = functional.dropout(functional.relu(self.norm(self.first(x, edge_index))), 0.5, self.training)
        return self.second(hidden, edge_index)


class Deep(nn.Module):
    """Layers with skips, whose results JumpingKnowledge joins, and a head."""

    def __init__(self, width: int, out: int, depth: int = 4, join: str = "cat", hidden: int = 8) -> None:
        super().__init__()
        self.into = nn.Linear(width, hidden)
        self.layers = nn.ModuleList(GCNConv(hidden, hidden) for _ in range(depth))
        self.join = JumpingKnowledge(join, hidden, depth)
        self.head = nn.Linear(hidden * depth if join == "cat" else hidden, out)

    def forward(self, x, edge_index):
        x, seen = self.into(x), []
        for layer in self.layers:
            x = functional.elu(layer(x, edge_index)) + x
            seen.append(x)
        return self.head(self.join(seen)).log_softmax(1)


class Pooled(nn.Module):
    """A model of graphs: two layers, all three pools side by side, and a head."""

    def __init__(self, layer: Callable[[int, int], nn.Module], width: int, out: int, hidden: int = 8) -> None:
        super().__init__()
        self.first, self.second = layer(width, hidden), layer(hidden, hidden)
        self.head = nn.Sequential(nn.Linear(3 * hidden, hidden), nn.ReLU(), nn.Linear(hidden, out))

    def forward(self, x, edge_index, batch):
        x = self.second(functional.relu(self.first(x, edge_index)), edge_index)
        pools = (global_add_pool, global_mean_pool, global_max_pool)
        return self.head(torch.cat([pool(x, batch) for pool in pools], dim=1))


class Weighted(nn.Module):
    """Layers that read the weights of edges."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.first, self.second = GCNConv(width, 8), GraphConv(8, out)

    def forward(self, x, edge_index, edge_weight):
        return self.second(functional.silu(self.first(x, edge_index, edge_weight)), edge_index, edge_weight)


class Attributed(nn.Module):
    """Layers that read the features of edges, and a pool where nodes belong to graphs."""

    def __init__(self, layer: Callable[[int, int], nn.Module], width: int, out: int, hidden: int = 8) -> None:
        super().__init__()
        self.first, self.second = layer(width, hidden), layer(hidden, hidden)
        self.head = nn.Linear(hidden, out)

    def forward(self, x, edge_index, edge_attr, batch=None):
        x = functional.relu(self.first(x, edge_index, edge_attr=edge_attr))
        x = self.second(x, edge_index, edge_attr=edge_attr)
        return self.head(x if batch is None else global_mean_pool(x, batch))


class Categories(nn.Module):
    """Embeds every feature of nodes, and those of edges where they have sizes, as models of molecules do."""

    def __init__(self, nodes: Sequence[int], edges: Sequence[int], hidden: int, out: int) -> None:
        super().__init__()
        self.nodes, self.edges = (
            nn.ModuleList(nn.Embedding(count, hidden) for count in counts) for counts in (nodes, edges)
        )
        self.conv = GINEConv(nn.Linear(hidden, hidden)) if edges else GINConv(nn.Linear(hidden, hidden))
        self.head = nn.Linear(hidden, out)

    def forward(self, x, edge_index, edge_attr=None, batch=None):
        hidden = sum(table(x[:, place]) for place, table in enumerate(self.nodes))
        messages = [sum(table(edge_attr[:, place]) for place, table in enumerate(self.edges))] if self.edges else []
        hidden = functional.relu(self.conv(hidden, edge_index, *messages))
        return self.head(hidden if batch is None else global_mean_pool(hidden, batch))


MIXED: dict[str, Callable[[int, int], nn.Module]] = {
    "one layer": GCNConv,
    "six layers, concatenated": lambda width, out: Deep(width, out, 6),
    "maximum of layers": lambda width, out: Deep(width, out, 3, "max"),
    "edge weights": Weighted,
    "GIN, pooled": lambda width, out: Pooled(LAYERS["GINConv"], width, out),
    "GCN, pooled": lambda width, out: Pooled(GCNConv, width, out),
    "GAT, pooled": lambda width, out: Pooled(LAYERS["GATConv"], width, out),
    **{name: lambda width, out, layer=layer: Attributed(layer, width, out) for name, layer in OF_EDGES.items()},
}
"""Whole models from their widths."""


def models(hidden: int = 8) -> dict[str, Callable[[int, int], nn.Module]]:
    """All of them: each layer twice, then those that mix."""
    twice = {name: lambda width, out, layer=layer: Two(layer, width, hidden, out) for name, layer in LAYERS.items()}
    return twice | MIXED


def settled(model: nn.Module, seed: int) -> nn.Module:
    """A model whose batch norms have seen data, ready to run."""
    random = torch.Generator().manual_seed(seed)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            for tensor, low, high in ((module.running_mean, -0.5, 0.5), (module.running_var, 0.5, 2.0),
                                      (module.weight.data, 0.5, 2.0), (module.bias.data, -0.5, 0.5)):  # fmt: skip
                tensor.uniform_(low, high, generator=random)
    return model.eval()


def seen(traced: Traced, given: Given, form: Callable[[Node], Node] = fused) -> Seen:
    """A model's nodes in a form, with their values on the arguments that it ran on."""
    return Seen.of(form(traced.output), given.matrix(traced.parts or [PLAIN]))


def random_given(seed: int, nodes: int = 24, edges: int = 60, width: int = 12, graphs: int = 4) -> Given:
    """A random graph with weights and features of edges, whose last two nodes have no edges; nodes belong to graphs."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, nodes - 2, (2, edges))
    batch = np.sort(np.concatenate([np.arange(graphs), rng.integers(0, graphs, nodes - graphs)]))
    return Given(
        torch.from_numpy(rng.random((nodes, width)).astype(np.float32)), torch.from_numpy(ends),
        torch.from_numpy(rng.random(edges).astype(np.float32)), torch.from_numpy(batch),
        torch.from_numpy(rng.random((edges, ATTRIBUTES)).astype(np.float32)),
    )  # fmt: skip
