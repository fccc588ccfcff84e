"""The phases and stages of an accelerator: the boxes of its picture and the strips of its time line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fgnas.fixedpoint import FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.timeline import PhaseTimes, StageTimes, Timeline
from fgnas.report.chart import silhouette

PARTS = 240
"""Equal parts of a phase that its time line shows."""


@dataclass(frozen=True)
class Number:
    """A format in the pipeline: what it is of, its bits, and its step as a power of two."""

    label: str
    width: int
    exponent: int


@dataclass(frozen=True)
class StageBox:
    """One stage in the picture.

    Attributes:
        title: with its layer.
        lines: what it does.
        across, down: lanes as a grid; 0 where a stage has none.
        dsp: how many of them take a DSP slice; None where they multiply nothing.
        numbers: formats that it takes or makes.
        rows: rows of the buffer before it; 0 where there is none.
        busy: share of its phase in which it works.
        busiest: whether no other stage of the phase works more.
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
    """One phase: its stages in columns, those fed by the same one in one column, and what it reads and writes.

    `modelled` is the cycle in which it begins by the latency model.
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
    """The phases with their stages, in the picture and in the time line."""
    found = []
    for index, phase in enumerate(times.phases):
        boxes = [stage_box(stage, phase, summary) for stage in phase.stages]
        columns: list[list[StageBox]] = []
        for stage, box in zip(phase.stages, boxes, strict=True):
            siblings = [other for other in phase.stages if other.before == stage.before]
            if siblings[0] is stage:
                columns.append([])
            columns[-1].append(box)
        reads, writes = _traffic(index, phase, summary)
        found.append(
            PhaseBox(
                phase.name, reads, columns, writes, phase.begin, phase.end, phase.cycles / times.cycles,
                [_strip(stage, phase, box) for stage, box in zip(phase.stages, boxes, strict=True)],
                modelled.phases[index].begin,
            )
        )  # fmt: skip
    return found


def _traffic(index: int, phase: PhaseTimes, summary: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What a phase reads and what it writes."""
    layers = summary["layers"]
    if index == 0:
        return ["parameters"], ["weights, biases"]
    before, after = index - 2, index - 1
    scores = [f"scores {after}"] if after < len(layers) and layers[after]["attention"] == "gat" else []
    writes = ["logits"] if phase.name == "output" else [f"H {after}", *scores]
    if before < 0:
        return ["features"], writes
    attends = [f"scores {before}"] if layers[before]["attention"] == "gat" else []
    return ["edges", f"H {before}", *attends], writes


def _strip(stage: StageTimes, phase: PhaseTimes, box: StageBox) -> Strip:
    outline = silhouette(stage.busy_share(phase.begin, phase.end, PARTS).round(3).tolist())
    return Strip(
        box.title, outline, stage.busy, box.busy, int(stage.starts[0]), int(stage.finishes[-1]), box.busiest
    )


def stage_box(stage: StageTimes, phase: PhaseTimes, summary: dict[str, Any]) -> StageBox:
    """One stage with its lanes and formats, from the layer that it works for."""
    layer = summary["layers"][stage.layer]
    layer = layer["geometry"] | layer
    across, down, dsp, lines, numbers = _STAGES[stage.name](layer, summary)
    title = stage.name if stage.name == "load" else f"{stage.name} {stage.layer}"
    return StageBox(
        title, lines, across, down, dsp, numbers, stage.rows if stage.before >= 0 else 0,
        stage.busy / phase.cycles, stage is phase.busiest,
    )  # fmt: skip


def cycles(count: int) -> str:
    """A number of cycles in words."""
    return f"{count:,} cycle{'' if count == 1 else 's'}"


_Box = tuple[int, int, int | None, list[str], list[Number]]


def _number(label: str, layer: dict[str, Any], name: str) -> Number:
    shape = FixedPoint(**layer[name])
    return Number(label, shape.width, -shape.fraction_bits)


def _load(layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    return 0, 0, None, [f"{summary['parameter_beats']:,} beats of {wire.BEAT_BYTES} bytes"], []


def _linear(layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    kind = "walks the non-zero features" if layer["first"] else f"{layer['input_width']} inputs a row"
    formats = (("X", "input_format"), ("W", "weight_format"), ("H", "value_format"))
    numbers = [_number(label, layer, name) for label, name in formats]
    lines = [f"{layer['input_width']} → {layer['k']}×{layer['d']}", kind, f"sums of {layer['linear_bits']} bits"]
    return layer["t_in"], layer["t_out"], layer["linear_dsp"], lines, numbers


def _store(layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    bits = layer["h_lanes"] * layer["value_format"]["width"]
    depth = summary["shape"]["node_capacity"] * layer["h_words"]
    return 0, 0, None, [f"H: {depth:,} words", f"{bits} bits a word", f"{cycles(layer['h_words'])} a row"], []


def _score(layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    lines = ["H with the attention vectors", f"{cycles(2 * layer['k'] * layer['score_tiles'])} a row"]
    return layer["t_attn"], 1, layer["score_dsp"], lines, [_number("s, r", layer, "value_format")]


def _row_maximum(layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    lines = ["largest LeakyReLU(s + r) of a row", f"{layer['exponent_bits']} bits"]
    return layer["group_heads"], 1, None, lines, []


def _aggregate(layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    weighted = layer["attention"] != "constant"
    what = f"{layer['aggregation']}, {layer['attention']}"
    lines = [what, f"{cycles(layer['aggr_tiles'])} an edge", f"Y of {layer['y_bits']} bits"]
    return layer["t_aggr"], 1, layer["aggregate_dsp"] if weighted else None, lines, []


def _activate(layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    lines = [f"{layer['activation']}(Y + b)", f"{cycles(layer['act_tiles'])} a row"]
    return layer["t_act"], 1, None, lines, [_number("U", layer, "value_format"), _number("Z", layer, "output_format")]


def _head_mean(layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    what = "bias" if layer["k"] == 1 else f"mean over {layer['k']} heads, bias"
    lines = [what, f"{cycles(layer['aggr_tiles'])} a row"]
    return layer["t_aggr"], 1, None, lines, []


def _write(layer: dict[str, Any], summary: dict[str, Any]) -> _Box:
    return 0, 0, None, [f"{summary['shape']['classes']} logits of 16 bits", f"{layer['logit_beats']} beats a node"], []


_STAGES = {
    "load": _load, "linear": _linear, "store": _store, "score": _score, "row maximum": _row_maximum,
    "aggregate": _aggregate, "activate": _activate, "head mean": _head_mean, "write": _write,
}  # fmt: skip
