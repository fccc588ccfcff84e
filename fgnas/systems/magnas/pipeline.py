"""A kernel that is a pipeline: layers with fixed widths, of which a call uses the first features.

Weights and graph are data at every start, so one bitstream serves many steps. Where every node receives from itself
alone, a layer is a dense map and two layers are an FFN; where it receives from its nearest patches, a sum is GIN's and
a maximum is the second half of EdgeConv and the first of GraphSAGE.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from fgnas.backends import pipeline as project
from fgnas.design import Design, columns_of
from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware.pipeline import reference
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.encoding import encode, logit_rows, read_logits
from fgnas.hardware.pipeline.geometry import geometry
from fgnas.hardware.pipeline.latency import Workload, latency_cycles
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.pipeline.refill import edge_refill, feature_refill
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.network import Network
from fgnas.systems.magnas.build import FilledRegions, Index, Reals, Sizes, graph_of
from fgnas.systems.magnas.calls import Call
from fgnas.tasks.nodes import GraphData


@dataclass(frozen=True)
class PipelineBuild:
    """A design of as many layers as its calls have maps, with its sizes; see `Build`."""

    layers: Design
    sizes: Sizes
    FIELD: ClassVar[str] = "design"

    @classmethod
    def of(cls, content: object, sizes: Sizes, source: str) -> PipelineBuild:
        """The pipeline of a design; its layers are maps, sums and maxima."""
        design = Design.from_dict(json.loads(content) if isinstance(content, str) else content, source)
        if design.array is not None:
            raise UserError(f'{source}: the design is for a multiplier array: write a kernel {{"array": …}} instead')
        for place, layer in enumerate(design.layers):
            wrong = {
                "attention": layer.attention != "constant", "k": layer.k != 1,
                "activation": layer.activation not in (None, "relu"),
            }  # fmt: skip
            for name in (name for name, broken in wrong.items() if broken):
                right = {"attention": "constant", "k": 1, "activation": "relu"}[name]
                raise UserError(f"{source}: layer {place}: {name} must be {right}: a kernel runs maps, sums and maxima")
        return cls(design, sizes)

    def to_json(self) -> str:
        """The design."""
        return self.layers.to_json()

    def design(self, call: Call) -> Design:
        """The build's own, whatever the call."""
        return self.layers

    def shape(self, call: Call) -> GraphShape:
        """The facts that are built into the hardware."""
        return self.sizes.shape(self.sizes.inputs, self.sizes.outputs)

    def refusal(self, call: Call) -> str | None:
        """A call has the pipeline's layers, which have one graph."""
        layers, shape = self.layers.layers, self.shape(call)
        if len(layers) != len(call.widths) - 1:
            return f"it has {len(layers)} layers, not {len(call.widths) - 1}"
        if len(layers) > 1 and call.neighbours > 1:
            return "it has one graph for all layers, and the further ones have no neighbours"
        sizes = [("inputs", call.widths[0], shape.width_in), ("outputs", call.widths[-1], shape.classes)]
        sizes += [("features", wanted, layer.d or 0) for wanted, layer in zip(call.widths[1:-1], layers, strict=False)]
        sizes += [("nodes", call.nodes, shape.node_capacity), ("neighbours", call.neighbours, shape.degree_capacity)]
        for what, wanted, held in sizes:
            if wanted > held:
                return f"it has {held} {what}, not {wanted}"
        if call.aggregation is not None and layers[0].aggregation != call.aggregation:
            return f"it aggregates by {layers[0].aggregation}, not by {call.aggregation}"
        return None

    def cycles(self, call: Call) -> int:
        """Those of the latency model."""
        return _cycles(self.layers, self.shape(call), call)

    def load(self, call: Call, network: Network, name: str) -> LoadedPipeline:
        """The pipeline with parameters."""
        return LoadedPipeline(lower(self.layers, network, self.shape(call), name=name), network)


@functools.cache
def _cycles(design: Design, shape: GraphShape, call: Call) -> int:
    # Every feature is sent, zeros too: the cycles then depend on no value.
    rows, degrees = np.full(call.nodes, call.widths[0]), np.full(call.nodes, call.neighbours)
    workload = Workload(rows, degrees, shape.degree_capacity)
    return int(latency_cycles(geometry(columns_of([design]), shape), workload)[0])


@dataclass(frozen=True, eq=False)
class LoadedPipeline:
    """A pipeline with the parameters of a call; see `Loaded`."""

    source: Accelerator
    network: Network

    def run(self, rows: Reals, index: Index | None) -> Codes:
        """All rows as one graph."""
        return reference.run(self.source, encode(self.source, graph_of(rows, index, self.source.shape)))

    def regions(self, rows: Reals, index: Index | None) -> PipelineRegions:
        """Regions with the places of these rows and neighbours."""
        graph = encode(self.source, graph_of(rows, index, self.source.shape))
        answer = logit_rows(self.source, np.zeros((len(rows), self.source.shape.classes), np.int64))
        sent, received = feature_refill(self.source, graph), edge_refill(graph)
        return PipelineRegions(sent, received, answer.tobytes(), self.source, len(rows))

    def write(self, data: GraphData, directory: Path, specification: Specification) -> None:
        """The whole project."""
        project.write_project(self.source, data, directory, specification, self.network)

    def write_step(self, data: GraphData, folder: Path, specification: Specification) -> None:
        """Vectors, price and weights."""
        project.write_step(self.source, data, folder, specification, self.network)


@dataclass(frozen=True, eq=False)
class PipelineRegions(FilledRegions):
    """The pipeline's regions; see `Regions`."""

    source: Accelerator
    nodes: int

    def read(self, answer: bytes) -> Codes:
        """Rows of whole beats."""
        return read_logits(self.source, answer, self.nodes)
