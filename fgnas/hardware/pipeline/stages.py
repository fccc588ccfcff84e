"""The stage graphs of the pipeline's phases.

    load           all parameters
    phase 0        linear(0) -> store [and score]
    phase l        [row maximum ->] aggregate -> activate -> linear(l) -> store [and score]
    output         [row maximum ->] aggregate -> head mean -> write

A row is a node. Its items are feature beats in phase 0 and edges in later phases. The stages in brackets are those of
gat, so a phase has one graph for each choice of attention in its two layers. The latency model, the picture and time
line of a design's page, the traces and the probes of the test bench all read these graphs; a test compares the
DATAFLOW regions of the C++ with them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fgnas.hardware import wire
from fgnas.hardware.numbers import Ints
from fgnas.hardware.pipeline.geometry import LayerGeometry, OneDesign, bias_beats, score_beats, weight_beats
from fgnas.hardware.pipeline.memories import output_rows
from fgnas.hardware.stage import Buffer, Size, Stage, StageGraph, none
from fgnas.hardware.timeline import row_name

# Pipeline depths of the RTL (templates/rtl), in cycles from a stage's last issue of a row to the cycle in which
# the next stage sees the row, less one.
LINEAR_DEPTH = 9
AGGREGATE_DEPTH = 7
DIVIDER_EXTRA_DEPTH = 2
ROW_MAXIMUM_DEPTH = 5
ACTIVATE_DEPTH = 3
HEAD_MEAN_DEPTH = 3


def divider_depth(layer: LayerGeometry) -> Ints:
    """Stages of the divider behind a mean or gat: one for each quotient bit, and two for the rounding.

    The denominator of gat's mean takes one more.
    """
    divides = layer.mean | layer.gat
    return np.where(divides, layer.y_bits + DIVIDER_EXTRA_DEPTH + (layer.mean & layer.gat), 0)


def parameter_beats(layers: Sequence[LayerGeometry]) -> Ints:
    """[n] beats of the parameter region; `LayerAccelerator.parameter_words` gives their content."""
    beats = np.zeros_like(layers[0].k)
    for layer in layers:
        beats = beats + weight_beats(layer) + score_beats(layer) + bias_beats(layer)
    return beats


LOAD = StageGraph(
    [
        Stage(
            "load", per_item=lambda layers: 1, reads=("parameters",), writes=("weights, biases",), items_per_beat=1,
        )
    ], {},
)  # fmt: skip
"""The phase before the first: one row, whose items are the beats of the parameters of all layers."""


def phase_graph(phase: int, layers: int, attends: bool, scores: bool) -> StageGraph:
    """The graph of a phase of a design with some layers: phase 0, one for each further layer, and the output.

    `attends`: whether the layer that the phase gathers from is gat; `scores`: whether the layer that it ends in is.
    """
    if phase == 0:
        return first_graph(scores)
    return output_graph(attends) if phase == layers else hidden_graph(attends, scores)


def first_layer(phase: int) -> int:
    """Index of the first layer of a phase."""
    return max(0, phase - 1)


@dataclass(frozen=True)
class Placed:
    """One stage of a design.

    Attributes:
        phase: number of its phase.
        stage: the stage in its phase's graph.
        layer: index of the layer whose sizes it uses.
        buffer: RTL path and prefix of the signals of the buffer before it; None for the first stage of
            a phase.
    """

    phase: int
    stage: Stage
    layer: int
    buffer: str | None

    @property
    def row_name(self) -> str:
        """The name of its rows in the record of a simulation."""
        return row_name(self.phase, self.stage)


def placed_stages(layers: Sequence[OneDesign]) -> list[Placed]:
    """The stages of one design in the order in which a node passes them, from phase 0 on."""
    found = []
    for phase in range(len(layers) + 1):
        first, second = first_layer(phase), min(phase, len(layers) - 1)
        graph = phase_graph(phase, len(layers), layers[first].gat, layers[second].gat)
        for stage, feeder, buffer in zip(graph.stages, graph.feeders, graph.buffers, strict=True):
            name = buffer.name.format(layer=first + graph.stages[feeder].layer) if buffer else None
            found.append(Placed(phase, stage, first + stage.layer, name))
    return found


def traced_values() -> tuple[str, ...]:
    """Names of the values that a trace may hold for a layer, in the order in which a node passes their stages."""
    graphs = (first_graph(True), hidden_graph(True, True), output_graph(True))
    return tuple(dict.fromkeys(value for graph in graphs for stage in graph.stages for value in stage.values))


@functools.cache
def first_graph(scores: bool) -> StageGraph:
    """Phase 0: from the features to H of the first layer."""
    linear = _linear(0, per_item=lambda layer: layer.out_tiles, reads=("features",), items_per_beat=1)
    stages, buffers = _kept(0, scores)
    return StageGraph([linear, *stages], buffers)


@functools.cache
def hidden_graph(attends: bool, scores: bool) -> StageGraph:
    """The phase between two layers: linear, store and score belong to the second."""
    gathering, joined = _gathering(attends)
    kept, following = _kept(1, scores)
    activate = Stage(
        "activate", per_row=lambda layer: layer.act_tiles, depth=lambda layer: ACTIVATE_DEPTH, values=("activate",)
    )
    linear = _linear(1, per_row=lambda layer: layer.in_groups * layer.out_tiles)
    buffers = {
        ("aggregate", "activate"): Buffer("y{layer}", lambda layer: layer.aggr_rows),
        ("activate", "linear"): Buffer("z{layer}", lambda layer: layer.act_rows),
    }
    return StageGraph([*gathering, activate, linear, *kept], joined | buffers | following)


@functools.cache
def output_graph(attends: bool) -> StageGraph:
    """The last phase: from H of the last layer to the logits."""
    gathering, joined = _gathering(attends)
    mean = Stage(
        "head mean", per_row=lambda layer: layer.aggr_tiles, depth=lambda layer: HEAD_MEAN_DEPTH,
        values=("head_mean",),
    )  # fmt: skip
    write = Stage("write", per_row=lambda layer: layer.logit_beats, writes=("logits",), sends_beats=True)
    buffers = {
        ("aggregate", "head mean"): Buffer("y{layer}", lambda layer: layer.aggr_rows),
        ("head mean", "write"): Buffer("u_output.output", lambda layer: output_rows(layer.logit_beats)),
    }
    return StageGraph([*gathering, mean, write], joined | buffers)


def _linear(
    layer: int, per_item: Size = none, per_row: Size = none, reads: tuple[str, ...] = (), items_per_beat: int = 0
) -> Stage:
    return Stage(
        "linear", layer, per_item, per_row, lambda layer: LINEAR_DEPTH, reads, values=("linear",),
        items_per_beat=items_per_beat,
    )  # fmt: skip


def _kept(layer: int, scores: bool) -> tuple[list[Stage], dict[tuple[str, str], Buffer]]:
    """The stages behind linear: its rows become H, and scores where the layer attends."""
    store = Stage("store", layer, per_row=lambda layer: layer.h_words, writes=("H {layer}",))
    stages, buffers = [store], {("linear", "store"): Buffer("u_layer_{layer}.store", lambda layer: layer.store_rows)}
    if scores:
        stages.append(_score(layer))
        buffers["linear", "score"] = Buffer("u_layer_{layer}.gen_gat.score", lambda layer: layer.score_rows)
    return stages, buffers


def _score(layer: int) -> Stage:
    return Stage(
        "score", layer, per_row=lambda layer: 2 * layer.k * layer.score_tiles, writes=("scores {layer}",),
        values=("target_scores", "source_scores"),
    )  # fmt: skip


def _gathering(attends: bool) -> tuple[list[Stage], dict[tuple[str, str], Buffer]]:
    """The stages that go over the edges: the aggregation, and before it the row maximum where the layer attends."""
    aggregate = Stage(
        "aggregate", per_item=lambda layer: layer.aggr_tiles,
        depth=lambda layer: AGGREGATE_DEPTH + divider_depth(layer),
        reads=("H {layer}",) if attends else ("edges", "H {layer}"), values=("aggregate",),
        items_per_beat=0 if attends else wire.EDGES_PER_BEAT,
    )  # fmt: skip
    if not attends:
        return [aggregate], {}
    maximum = Stage(
        "row maximum", per_item=lambda layer: layer.head_groups, depth=lambda layer: ROW_MAXIMUM_DEPTH,
        reads=("edges", "scores {layer}"), values=("row_maximum",),
        items_per_beat=wire.EDGES_PER_BEAT,
    )  # fmt: skip
    # Scored edges wait in a ring until their row's maximum is known.
    ring = Buffer("u_layer_{layer}.gen_gat.maximum", lambda layer: layer.maximum_rows, holds_items=True)
    return [maximum, aggregate], {("row maximum", "aggregate"): ring}
