"""The pipeline as a kind of hardware: units for each layer, whose lanes the design itself names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from fgnas.design import Design
from fgnas.designs import DesignTable
from fgnas.errors import UserError
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.integer.quantised import logits_of
from fgnas.hardware.kind import TablePricer, Wanted
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.encoding import check_capacity, edge_beats, encode, feature_beats
from fgnas.hardware.pipeline.geometry import GATHERS, NO_MLP, NO_SCORES, TOO_WIDE
from fgnas.hardware.pipeline.lowering import ROUNDING, lower
from fgnas.hardware.pipeline.pricing import Pricer, written_resources
from fgnas.hardware.prices import Priced
from fgnas.hardware.shape import GraphShape, Sized
from fgnas.hardware.specification import Specification
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData

ONE_GRAPH = "a pipeline reads one graph for all layers; a design with sampling is for an array (--target array)"


class Pipeline:
    """The accelerator of FGNAS."""

    name = "pipeline"
    rounding = ROUNDING
    ties = False
    traces = True
    backend = "fgnas.backends.pipeline"
    page = "fgnas.report.design"

    def made_for(self, design: Design | DesignTable) -> bool:
        """Whether a design names no array."""
        return design.array is None

    def check(self, design: Design) -> None:
        """Raise UserError where there is no stage for a layer."""
        if any(layer.mlp for layer in design.layers):
            raise UserError(NO_MLP)
        if any(layer.gathers_first for layer in design.layers):
            raise UserError(GATHERS)
        if not all(layer.pipelined for layer in design.layers):
            raise UserError(NO_SCORES if all(layer.narrow for layer in design.layers) else TOO_WIDE)

    def pricer(self, data: Sized, specification: Specification) -> TablePricer:
        """Prices of designs on a graph."""
        return partial(_priced, Pricer(data, specification.family, specification.beat_cycles))

    def fit(self, design: Design, network: Network, data: GraphData, wanted: Wanted) -> FittedPipeline:
        """The accelerator of a design for graphs of the data's shape."""
        if wanted.multipliers is not None:
            raise UserError("--multipliers is for --target array: the design itself says how many a pipeline has")
        if wanted.beat_bits not in (None, wire.BEAT_BITS):
            raise UserError(f"--beat-bits is for --target array: a pipeline's port has {wire.BEAT_BITS} bits")
        if wanted.bram36 is not None:
            raise UserError("--bram36 is for --target array: the design and the graph say how many a pipeline takes")
        if wanted.flexible:
            raise UserError("--flexible is for --target array: a pipeline runs the one network that it was built for")
        if wanted.paired:
            raise UserError("--paired is for --target array: a multiplier of a pipeline has a DSP slice of its own")
        if not wanted.repurposing:
            raise UserError("--repurposing is for --target array: a pipeline has buffers for each layer")
        return FittedPipeline(lower(design, network, GraphShape.of(data), data.label, design.hash), network)

    def fit_built(self, summary: dict[str, Any], design: Design, network: Network, data: GraphData) -> NoReturn:
        """None: a pipeline is built for the layers of one design."""
        raise UserError("a pipeline runs the one network that it was built for: encode networks on an array, which "
                        "`fgnas hls --target array` makes")  # fmt: skip

    def resources(self, summary: dict[str, Any], family: str) -> dict[str, float]:
        """LUT, FF, DSP and block RAM of a described accelerator."""
        return written_resources(summary, family)


def _priced(pricer: Pricer, table: DesignTable) -> Priced:
    if table.sampling:
        raise UserError(f"design {int(table.places[0]) + 1}: {ONE_GRAPH}")
    return pricer.price(table.columns(), table.dsp)


@dataclass(frozen=True, eq=False)
class FittedPipeline:
    """A design with its weights as a pipeline; see `Fitted`."""

    accelerator: Accelerator
    network: Network
    kind = Pipeline()

    @property
    def logit_step(self) -> float:
        """The value of one step of a logit code."""
        return self.accelerator.logit_format.step

    def logits(self, data: GraphData) -> Codes:
        """[N, classes] logits of a graph within the capacities."""
        check_capacity(self.accelerator, data)
        return logits_of(self.accelerator.integers, data, self.accelerator.design.rates)

    def regions(self, data: GraphData) -> dict[str, Any]:
        """Nodes, features and edges of a graph within the capacities."""
        check_capacity(self.accelerator, data)
        if self.accelerator.design.sampling is not None:
            raise UserError(ONE_GRAPH)
        graph = encode(self.accelerator, data)
        return {"nodes": graph.nodes, "features": feature_beats(self.accelerator, graph), "edges": edge_beats(graph)}

    def summary(self) -> dict[str, Any]:
        """The accelerator as plain JSON values."""
        return self.accelerator.summary()
