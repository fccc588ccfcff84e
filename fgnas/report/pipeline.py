"""The phases and stages of an accelerator: boxes of the diagram and strips of the time line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fgnas.fixedpoint import FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.timeline import PhaseTimes, StageTimes, Timeline
from fgnas.report.chart import silhouette

PARTS = 240
"""Number of equal intervals of a phase in its time line."""


@dataclass(frozen=True)
class Number:
    """A format in the pipeline: the name of its numbers, its bits, and its step as a power of two."""

    label: str
    width: int
    exponent: int


@dataclass(frozen=True)
class StageBox:
    """One stage in the diagram.

    Attributes:
        title: its name with its layer.
        lines: a description, line by line.
        across, down: lanes as a grid; 0 if it has none.
        dsp: number of lanes that use a DSP slice; None if they do not multiply.
        numbers: formats of its inputs and outputs.
        rows: rows of the buffer before it; 0 if there is none.
        busy: share of its phase in which it is busy.
        busiest: whether no other stage of the phase is busier.
    """

    title: str
    lines: list[str]
    across: int
    down: int
    dsp: int | None
    numbers: list[Number]
    rows: int
    busy: float
    busiest: bool


@dataclass(frozen=True)
class Strip:
    """One stage in the time line: an outline of its busy share over its phase."""

    title: str
    outline: str
    busy: int
    share: float
    first: int
    last: int
    busiest: bool


@dataclass(frozen=True)
class PhaseBox:
    """One phase: the memories that it reads and writes, and its stages in columns by their distance from the first.

    `modelled` is its first cycle according to the latency model.
    """

    name: str
    reads: list[str]
    columns: list[list[StageBox]]
    writes: list[str]
    begin: int
    end: int
    share: float
    strips: list[Strip]
    modelled: int


def phases(times: Timeline, modelled: Timeline, summary: dict[str, Any]) -> list[PhaseBox]:
    """The phases with their stages, for the diagram and the time line."""
    found = []
    for index, phase in enumerate(times.phases):
        boxes = [stage_box(stage, phase, summary) for stage in phase.stages]
        columns = [[boxes[place] for place in places] for places in phase.graph.columns]
        reads = [name.format(layer=times.layer) for times in phase.stages for name in times.stage.reads]
        writes = [name.format(layer=times.layer) for times in phase.stages for name in times.stage.writes]
        found.append(
            PhaseBox(
                phase.name, reads, columns, writes, phase.begin, phase.end, phase.cycles / times.cycles,
                [_strip(stage, phase, box) for stage, box in zip(phase.stages, boxes, strict=True)],
                modelled.phases[index].begin,
            )
        )  # fmt: skip
    return found


def _strip(stage: StageTimes, phase: PhaseTimes, box: StageBox) -> Strip:
    outline = silhouette(stage.busy_share(phase.begin, phase.end, PARTS).round(3).tolist())
    return Strip(
        box.title, outline, stage.busy, box.busy, int(stage.starts[0]), int(stage.finishes[-1]), box.busiest
    )


def stage_box(stage: StageTimes, phase: PhaseTimes, summary: dict[str, Any]) -> StageBox:
    """One stage with its lanes and formats, from the layer that it works for."""
    layer = summary["layers"][stage.layer]
    layer = layer["geometry"] | layer
    across, down, dsp, lines, numbers = _STAGES[stage.name](stage, layer, summary)
    title = stage.name if stage.name == "load" else f"{stage.name} {stage.layer}"
    share = stage.busy / phase.cycles
    return StageBox(title, lines, across, down, dsp, numbers, stage.rows, share, stage is phase.busiest)


def cycles(count: int) -> str:
    """A number of cycles in words."""
    return f"{count:,} cycle{'' if count == 1 else 's'}"


_Box = tuple[int, int, int | None, list[str], list[Number]]


def _a_row(stage: StageTimes) -> str:
    return f"{cycles(stage.per_row)} a row"


def _number(label: str, layer: dict[str, Any], name: str) -> Number:
    shape = FixedPoint(**layer[name])
    return Number(label, shape.width, -shape.fraction_bits)


def _load(stage: StageTimes, layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    return 0, 0, None, [f"{summary['parameter_beats']:,} beats of {wire.BEAT_BYTES} bytes"], []


def _linear(stage: StageTimes, layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    kind = "walks the non-zero features" if layer["first"] else f"{layer['input_width']} inputs a row"
    formats = (("X", "input_format"), ("W", "weight_format"), ("H", "value_format"))
    numbers = [_number(label, layer, name) for label, name in formats]
    lines = [f"{layer['input_width']} → {layer['k']}×{layer['d']}", kind, f"sums of {layer['linear_bits']} bits"]
    return layer["t_in"], layer["t_out"], layer["linear_dsp"], lines, numbers


def _store(stage: StageTimes, layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    bits = layer["h_lanes"] * layer["value_format"]["width"]
    depth = summary["shape"]["node_capacity"] * layer["h_words"]
    return 0, 0, None, [f"H: {depth:,} words", f"{bits} bits a word", _a_row(stage)], []


def _score(stage: StageTimes, layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    lines = ["H with the attention vectors", _a_row(stage)]
    return layer["t_attn"], 1, layer["score_dsp"], lines, [_number("s, r", layer, "value_format")]


def _row_maximum(stage: StageTimes, layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    lines = ["largest LeakyReLU(s + r) of a row", f"{layer['exponent_bits']} bits"]
    return layer["group_heads"], 1, None, lines, []


def _aggregate(stage: StageTimes, layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    weighted = layer["attention"] != "constant"
    what = f"{layer['aggregation']}, {layer['attention']}"
    lines = [what, f"{cycles(stage.per_item)} an edge", f"Y of {layer['y_bits']} bits"]
    return layer["t_aggr"], 1, layer["aggregate_dsp"] if weighted else None, lines, []


def _activate(stage: StageTimes, layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    lines = [f"{layer['activation']}(Y + b)", _a_row(stage)]
    return layer["t_act"], 1, None, lines, [_number("U", layer, "value_format"), _number("Z", layer, "output_format")]


def _head_mean(stage: StageTimes, layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    what = "bias" if layer["k"] == 1 else f"mean over {layer['k']} heads, bias"
    lines = [what, _a_row(stage)]
    return layer["t_aggr"], 1, None, lines, []


def _write(stage: StageTimes, layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    return 0, 0, None, [f"{summary['shape']['classes']} logits of 16 bits", f"{stage.per_row} beats a node"], []


_STAGES = {
    "load": _load, "linear": _linear, "store": _store, "score": _score, "row maximum": _row_maximum,
    "aggregate": _aggregate, "activate": _activate, "head mean": _head_mean, "write": _write,
}  # fmt: skip
