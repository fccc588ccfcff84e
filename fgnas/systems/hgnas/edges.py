"""Networks of operations over graphs with edges of their own, such as molecules, as networks that an array runs in
calls."""

from __future__ import annotations

import functools

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from fgnas.errors import UserError
from fgnas.hardware.array.calls import CalledArray, calls_engine
from fgnas.hardware.array.engine import MOST_TILES
from fgnas.hardware.array.layers import Described
from fgnas.hardware.array.operations import OperationNetwork, halves_of_operations
from fgnas.hardware.array.parts import most_rows, parts_of
from fgnas.networks.imported.fusing import fused
from fgnas.networks.imported.importing import KEPT, Imported, given_of, imported
from fgnas.networks.imported.quantising import Seen, built, first_formats
from fgnas.networks.imported.reading import traced
from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import PARTS, Aggregate, PointNetwork, Sample
from fgnas.networks.points.targets import explained
from fgnas.networks.points.work import Cloud
from fgnas.plain import IMPORTED_BITS, check_bits
from fgnas.systems.hgnas.arrays import ArraySize, Lowering, OnEngine, on_engine
from fgnas.tasks.collection import Collection
from fgnas.tasks.points import GraphSet


class OverEdges(nn.Module):
    """A network as a model of PyG, whose results are the targets themselves: numbers in their own units."""

    def __init__(self, model: PointModel, data: GraphSet) -> None:
        super().__init__()
        self.model, self.neighbours = model, data.neighbours
        centre, scale = data.spread if data.kind == "values" else (np.zeros(1), np.ones(1))
        self.centre, self.scale = (torch.from_numpy(one).float() for one in (centre, scale))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        """[graphs, outputs]."""
        sizes = tuple(torch.bincount(batch).tolist())
        found: Tensor = self.model(x, Batch(sizes, self.neighbours, edge_index, listed=True))
        return found * self.scale + self.centre


def collection(data: GraphSet) -> Collection:
    """The same graphs as data that models are imported for."""
    graph = np.repeat(np.arange(len(data.sizes)), data.sizes)
    targets = data.labels.astype(np.float64).reshape(len(data.sizes), -1)
    assert data.edge_index is not None, "clouds have no edges"
    return Collection(
        data.name, data.label, sp.csr_matrix(data.features), data.edge_index, None, graph, targets, data.kind,
        data.train, data.val, data.test,
    )  # fmt: skip


def check_importable(network: PointNetwork) -> None:
    """Raise UserError for what an array does not compute over edges: distances, and nearest neighbours by features."""
    for place, one in enumerate(network.operations):
        if isinstance(one, Aggregate) and "distance" in PARTS[one.message]:
            raise UserError(f"operation {place} sends distances (message {one.message}), which no array computes over "
                            f"edges: take another of the run's leaders with --design 2")  # fmt: skip
        if isinstance(one, Sample) and one.function == "nearest":
            raise UserError(f"operation {place} samples nearest neighbours, which an array finds among the points of "
                            f"clouds alone: take another of the run's leaders with --design 2")  # fmt: skip


def on_array(model: PointModel, data: GraphSet, bits: int, kept: int = KEPT) -> Imported:
    """A trained network as integers of so many bits, with the first `kept` graphs that test."""
    check_importable(model.network)
    return imported(functools.partial(traced, OverEdges(model, data).eval()), collection(data), bits, kept)


def quality(data: GraphSet, metric: float) -> float:
    """What `fgnas.networks.points.targets.quality` says of results with this metric of their kind."""
    return explained(data, metric) if data.kind == "values" else metric


def lowering(data: GraphSet, cloud: Cloud, size: ArraySize) -> Lowering:
    """How networks for the data are lowered to an array of a size: for a cloud; or in calls, for a graph of median size
    among those that train. Raises UserError for a width that the calls' numbers cannot have."""
    if data.edge_index is None:
        return functools.partial(on_engine, cloud=cloud, size=size)
    check_bits(size.bits, IMPORTED_BITS)
    trained = np.flatnonzero(data.train)
    median = trained[np.argsort(data.sizes[trained], kind="stable")[len(trained) // 2]]
    return functools.partial(in_calls, data=data, graph=collection(data).part(np.array([median])), size=size)


def in_calls(network: PointNetwork, data: GraphSet, graph: Collection, size: ArraySize) -> OnEngine:
    """A network for one graph, in calls of the smallest array of a size that runs them.

    Cycles depend on shapes alone, so that any weights do. Raises UserError for what no array computes over edges.
    """
    check_importable(network)
    model = OverEdges(PointModel(network, data.width_in, data.classes), data).eval()
    output = fused(traced(model, given_of(graph)).output)
    seen = Seen.of(output, sp.csr_matrix(graph.features, dtype=np.float64))
    found = built(seen, first_formats(seen, size.bits), size.bits)
    source = OperationNetwork(network.hash, data.label, Described(network.hash, {}), found.integers, found.graphs,
                              int(graph.edge_index.shape[1]))  # fmt: skip
    halves = halves_of_operations(source)
    parts = parts_of(halves, MOST_TILES, most_rows(halves, size.units))
    engine = calls_engine(source, parts, size.units, size.beat_bits)
    array = CalledArray(source, engine, parts, source.edges).in_groups()
    return OnEngine(array.cycles, array.engine)
