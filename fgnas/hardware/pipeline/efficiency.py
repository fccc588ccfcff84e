"""How close an accelerator comes to its own arithmetic: the least cycles that its stages need, and multiplier use.

The *tile bound* of a phase is the work of its busiest stage, as if that stage never waited. Its service times are those
of the latency model, with tiles of outputs and lanes rounded up, but non-zeros fill every input lane. One phase follows
another, so their bounds add up. The *unrounded bound* is the work itself over the lanes: no rounding up, no padding.

Every function takes the geometry of one design, lowered or priced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fgnas.hardware import wire
from fgnas.hardware.pipeline.geometry import LayerGeometry
from fgnas.hardware.pipeline.latency import Workload
from fgnas.hardware.pipeline.latency import phases as modelled_phases
from fgnas.hardware.timeline import Phase as ModelledPhase


@dataclass(frozen=True)
class StageWork:
    """Cycles that a stage of a phase works, if it never waits.

    Attributes:
        stage: its name, with the layer in brackets.
        tiles: tiles of outputs and lanes rounded up, non-zeros not.
        unrounded: nothing rounded up, no padding.
    """

    stage: str
    tiles: float
    unrounded: float


@dataclass(frozen=True)
class Phase:
    """A phase's name and the work of its stages."""

    name: str
    stages: tuple[StageWork, ...]

    @property
    def busiest(self) -> StageWork:
        """The stage that bounds the phase."""
        return max(self.stages, key=lambda work: work.tiles)

    @property
    def unrounded(self) -> float:
        """The bound of the phase with nothing rounded up."""
        return max(work.unrounded for work in self.stages)


LANE_WORK: dict[str, Callable[[LayerGeometry], tuple[Any, Any]]] = {
    "linear": lambda layer: (layer.k * layer.d, layer.t_in * layer.t_out),
    "store": lambda layer: (layer.k * layer.d, layer.h_lanes),
    "score": lambda layer: (2 * layer.k * layer.d, layer.t_attn),
    "row maximum": lambda layer: (layer.head_groups, 1),
    "aggregate": lambda layer: (layer.k * layer.d, layer.t_aggr),
    "activate": lambda layer: (layer.k * layer.d, layer.t_act),
    "head mean": lambda layer: (layer.k * layer.d, layer.t_aggr),
    "write": lambda layer: (layer.d, wire.BEAT_WORDS),
}
"""By stage, the work and the lanes that share it: the work for an input of linear, for an edge of row maximum and
aggregate, for a row of the others."""


def phases(layers: Sequence[LayerGeometry], workload: Workload) -> tuple[Phase, ...]:
    """Load, phase 0, a phase for each further layer, output: the work of one inference on one graph."""
    return tuple(Phase(phase.name, _works(phase, layers, workload)) for phase in modelled_phases(layers, workload))


def _works(phase: ModelledPhase, layers: Sequence[LayerGeometry], workload: Workload) -> tuple[StageWork, ...]:
    """The work of each stage of a phase."""
    services, rows, items, lanes = phase.services, len(phase.items), int(phase.items.sum()), 1
    if phase.number == 0:
        # Non-zeros that fill every lane of their beats.
        items, lanes = int(workload.non_zeros.sum()), _one(layers[0].t_in)
    found = []
    for place, stage in enumerate(services.graph.stages):
        tiles = items * services.per_item[place, 0] / lanes + rows * services.per_row[place, 0]
        if stage.name not in LANE_WORK:
            found.append(StageWork(stage.name, float(tiles), float(tiles)))
            continue
        index = phase.layer + stage.layer
        units = {"linear": inputs(layers, workload)[index], "row maximum": items, "aggregate": items}
        work, shared = LANE_WORK[stage.name](layers[index])
        unrounded = _one(units.get(stage.name, rows) * work / shared)
        found.append(StageWork(f"{stage.name}({index})", float(tiles), unrounded))
    return tuple(found)


def inputs(layers: Sequence[LayerGeometry], workload: Workload) -> list[int]:
    """Inputs of each layer's linear stage: the non-zero features, then every feature of every node."""
    features = [int(_one(layer.k * layer.d)) for layer in layers]
    return [int(workload.non_zeros.sum()), *(workload.nodes * count for count in features[:-1])]


def tile_bound(work: tuple[Phase, ...]) -> float:
    """Cycles that no schedule of these stages undercuts while phases follow each other."""
    return sum(phase.busiest.tiles for phase in work)


def unrounded_bound(work: tuple[Phase, ...]) -> float:
    """The same with nothing rounded up."""
    return sum(phase.unrounded for phase in work)


def multiplications(layers: Sequence[LayerGeometry], workload: Workload) -> int:
    """Products that one inference needs: features times weights, coefficients times features, scores; no padding."""
    nodes, edges, total = workload.nodes, int(workload.degrees.sum()), 0
    for layer, count in zip(layers, inputs(layers, workload), strict=True):
        features = int(_one(layer.k * layer.d))
        total += count * features
        if _one(layer.gat):
            total += 2 * nodes * features
        if _one(layer.gat | layer.gcn):
            total += edges * features
    return total


def multipliers(layers: Sequence[LayerGeometry]) -> int:
    """Multipliers that the accelerator has for them."""
    total = 0
    for layer in layers:
        weighted = layer.gat | layer.gcn
        total += int(_one(layer.t_in * layer.t_out + weighted * layer.t_aggr + layer.gat * layer.t_attn))
    return total


def _one(number: Any) -> Any:
    """The number of a single design, given as itself or as an array of length one."""
    return np.asarray(number).item()
