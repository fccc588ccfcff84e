"""How near an accelerator comes to its own arithmetic: the least cycles that its stages need, and its multipliers' use.

The *tile bound* of a phase is the work of its busiest stage, as if that stage never waited: every row of tiles counts
whole (tiles of outputs and lanes rounded up), but non-zeros fill every input lane. Phases follow each other, so their
bounds add up. The *unrounded bound* counts the work itself over the lanes, with nothing rounded up and no padding.
"""

from __future__ import annotations

from dataclasses import dataclass

from fgnas.hardware import wire
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator
from fgnas.hardware.pipeline.latency import Workload


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
    """A phase's name and what its stages have to do."""

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


def phases(accelerator: Accelerator, workload: Workload) -> tuple[Phase, ...]:
    """Load, phase 0, a phase for each further layer, output: the work of one inference on one graph."""
    layers, nodes, edges = accelerator.layers, workload.nodes, int(workload.degrees.sum())
    first, last = layers[0].geometry, layers[-1].geometry
    beats = StageWork("memory", accelerator.parameter_beats, accelerator.parameter_beats)
    non_zeros = int(workload.non_zeros.sum())
    sparse = StageWork(
        "linear(0)",
        non_zeros * first.out_tiles / first.t_in,
        non_zeros * first.k * first.d / (first.t_in * first.t_out),
    )
    found = [Phase("load", (beats,)), Phase("0", (sparse, *_keep(layers[0], nodes)))]
    for before, after in zip(layers, layers[1:], strict=False):
        layer, following = before.geometry, after.geometry
        features = layer.k * layer.d
        activate = StageWork(
            f"activate({before.index})", nodes * layer.act_tiles, nodes * features / max(layer.t_act, 1)
        )
        dense = StageWork(
            f"linear({after.index})",
            nodes * following.in_groups * following.out_tiles,
            nodes * features * following.k * following.d / (following.t_in * following.t_out),
        )
        stages = (*_gather(before, edges), activate, dense, *_keep(after, nodes))
        found.append(Phase(str(after.index), stages))
    mean = StageWork(f"head mean({layers[-1].index})", nodes * last.aggr_tiles, nodes * last.k * last.d / last.t_aggr)
    write = StageWork("write", nodes * last.logit_beats, nodes * last.d / wire.BEAT_WORDS)
    return (*found, Phase("output", (*_gather(layers[-1], edges), mean, write)))


def _keep(lowered: LayerAccelerator, nodes: int) -> list[StageWork]:
    """The stages that follow a linear stage: its row is stored, and scored where the layer attends."""
    layer, index = lowered.geometry, lowered.index
    found = [StageWork(f"store({index})", nodes * layer.h_words, nodes * layer.k * layer.d / layer.h_lanes)]
    if layer.gat:
        score = 2 * nodes * layer.k
        found.append(StageWork(f"score({index})", score * layer.score_tiles, score * layer.d / layer.t_attn))
    return found


def _gather(lowered: LayerAccelerator, edges: int) -> list[StageWork]:
    """The stages that go over the edges."""
    layer, index = lowered.geometry, lowered.index
    features = layer.k * layer.d
    aggregate = StageWork(f"aggregate({index})", edges * layer.aggr_tiles, edges * features / layer.t_aggr)
    if not layer.gat:
        return [aggregate]
    groups = edges * layer.head_groups
    return [StageWork(f"row maximum({index})", groups, groups), aggregate]


def tile_bound(work: tuple[Phase, ...]) -> float:
    """Cycles that no schedule of these stages undercuts while phases follow each other."""
    return sum(phase.busiest.tiles for phase in work)


def unrounded_bound(work: tuple[Phase, ...]) -> float:
    """The same with nothing rounded up."""
    return sum(phase.unrounded for phase in work)


def multiplications(accelerator: Accelerator, workload: Workload) -> int:
    """Products that one inference needs: features times weights, coefficients times features, scores; no padding."""
    nodes, edges, total = workload.nodes, int(workload.degrees.sum()), 0
    inputs = int(workload.non_zeros.sum())
    for layer in accelerator.layers:
        features = layer.geometry.k * layer.geometry.d
        total += inputs * features
        if layer.geometry.gat:
            total += 2 * nodes * features
        if layer.geometry.gat or layer.weighted:
            total += edges * features
        inputs = nodes * features
    return total


def multipliers(accelerator: Accelerator) -> int:
    """Multipliers that the accelerator has for them."""
    total = 0
    for layer in accelerator.layers:
        total += layer.geometry.t_in * layer.geometry.t_out
        total += layer.geometry.t_aggr if layer.geometry.gat or layer.weighted else 0
        total += layer.geometry.t_attn if layer.geometry.gat else 0
    return total
