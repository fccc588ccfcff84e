"""The RTL of an accelerator: hand-written stages copied, the kernel, its wrapper and the tables rendered."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path

import numpy as np

from fgnas.backends.render import render
from fgnas.design import columns_of
from fgnas.hardware import ports, wire
from fgnas.hardware.integer.tables import is_plain
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator
from fgnas.hardware.pipeline.binding import bind_multipliers
from fgnas.hardware.pipeline.geometry import geometry
from fgnas.hardware.pipeline.memories import memory_of, output_rows, reader_buffer, ring_edges
from fgnas.hardware.pipeline.uses import FIXED, uses
from fgnas.paths import templates_directory

TOP = "fgnas_top"
"""The wrapper in Verilog-2001: the top for simulation, linters and the vendor's tools, as Vitis names its own."""
KERNEL = "fgnas_kernel"
"""The kernel below it, in SystemVerilog: the top for synthesis, whose reports name its instances."""
PACKAGE = "fgnas_pkg"

Settings = dict[str, int]
"""Values of a module's parameters by name; a truth value becomes one bit."""


def write_rtl(accelerator: Accelerator, directory: Path) -> list[Path]:
    """Write `rtl/` below `directory`: the files in compile order, which files.f lists."""
    target = directory / "rtl"
    target.mkdir(parents=True, exist_ok=True)
    files = [write_package(target)]
    for name in sorted(instantiated(accelerator) - {KERNEL}):
        files.append(target / f"{name}.sv")
        shutil.copyfile(templates_directory() / "rtl" / f"{name}.sv", files[-1])
    for layer in accelerator.layers:
        if layer.geometry.gat:
            files.append(target / f"fgnas_exponential_{layer.index}.sv")
            text = render("rtl/fgnas_exponential.sv.j2", accelerator=accelerator, layer=layer)
            files[-1].write_text(text, encoding="utf-8")
        if not layer.geometry.last and not _is_plain_relu(layer):
            files.append(target / f"fgnas_activation_{layer.index}.sv")
            files[-1].write_text(_activation(accelerator, layer), encoding="utf-8")
    files += [target / f"{KERNEL}.sv", target / f"{TOP}.v"]
    files[-2].write_text(_kernel(accelerator), encoding="utf-8")
    files[-1].write_text(render(f"rtl/{TOP}.v.j2", accelerator=accelerator, kernel_ports=ports.PORTS), encoding="utf-8")
    listing = target / "files.f"
    listing.write_text("".join(f"{path.name}\n" for path in files), encoding="utf-8")
    return [*files, listing]


def write_package(
    folder: Path, beat_bits: int = wire.BEAT_BITS, arguments: tuple[wire.Register, ...] | None = None
) -> Path:
    """Write `package_text` into `folder`; it is compiled before the modules."""
    path = folder / f"{PACKAGE}.sv"
    path.write_text(package_text(beat_bits, arguments), encoding="utf-8")
    return path


def package_text(beat_bits: int = wire.BEAT_BITS, arguments: tuple[wire.Register, ...] | None = None) -> str:
    """The SystemVerilog package of the kernel's interface; it is the same for every design with beats of this width.

    `arguments` are the registers of the kernel's arguments, by default those of the pipeline.
    """
    given = wire.ARGUMENT_REGISTERS if arguments is None else arguments
    return render(f"rtl/{PACKAGE}.sv.j2", beat_bits=beat_bits, arguments=given)


def instantiated(accelerator: Accelerator) -> set[str]:
    """The modules that the accelerator instantiates, its tables and the wrapper aside."""
    layers = geometry(columns_of([accelerator.design]), accelerator.shape)
    multipliers = bind_multipliers(layers, np.array([accelerator.design.dsp]))
    found = {use.module for use in uses(layers, multipliers, accelerator.shape) if np.any(use.count)}
    if found & {"fgnas_multiplier_dsp", "fgnas_multiplier_fabric"}:
        found.add("fgnas_multiplier")
    if any(not layer.geometry.last and _is_plain_relu(layer) for layer in accelerator.layers):
        found.add("fgnas_relu")
    return found | set(FIXED)


def _is_plain_relu(layer: LayerAccelerator) -> bool:
    return layer.activation == "relu" and _is_plain(layer)


def _is_plain(layer: LayerAccelerator) -> bool:
    return is_plain(layer.activation, layer.value_format, layer.output_format)


def _activation(accelerator: Accelerator, layer: LayerAccelerator) -> str:
    bits = layer.value_format.width
    assert layer.activation_table is not None
    table = (layer.activation_table & ((1 << bits) - 1)).tolist()
    return render(
        "rtl/fgnas_activation.sv.j2", accelerator=accelerator, layer=layer, bits=bits, table=table,
        plain=_is_plain(layer),
    )  # fmt: skip


def parameter_regions(accelerator: Accelerator) -> dict[str, int]:
    """Beats of every region of the parameters, in the order of the stream."""
    regions: dict[str, int] = {}
    for layer in accelerator.layers:
        parts = {"weight": layer.weight_beats, "score": layer.score_beats, "bias": layer.bias_beats}
        regions |= {f"{name} {layer.index}": beats for name, beats in parts.items() if beats}
    return regions


def layer_settings(accelerator: Accelerator, layer: LayerAccelerator) -> Settings:
    """Parameters of the layer's fgnas_layer; those of missing stages keep their defaults."""
    g, shape = layer.geometry, accelerator.shape
    found: Settings = {
        "First": g.first, "Gat": g.gat, "NodeCapacity": shape.node_capacity, "DegreeCapacity": shape.degree_capacity,
        "InputWidth": g.input_width, "InGroups": g.in_groups, "InLanes": g.t_in, "OutLanes": g.t_out,
        "OutTiles": g.out_tiles, "InputBits": g.input_bits, "WeightBits": g.weight_bits, "LinearBits": g.linear_bits,
        "LinearShift": layer.linear_shift, "LinearDsp": layer.linear_dsp,
        "WeightsDistributed": not memory_of(g, shape, "weight").block,
        "Features": g.features, "ValueBits": g.value_bits, "StoreRows": g.store_rows, "HLanes": g.h_lanes,
        "HWords": g.h_words, "HDepth": memory_of(g, shape, "h").depth,
        "Heads": g.k, "GroupHeads": g.group_heads, "HeadGroups": g.head_groups,
        "AggregateLanes": g.t_aggr, "AggregateTiles": g.aggr_tiles, "Weighted": layer.weighted, "Maximum": g.maximum,
        "Mean": g.mean, "AggregateBits": g.aggregate_bits, "AggregateShift": layer.aggregate_shift,
        "AggregateDsp": layer.aggregate_dsp, "YBits": g.y_bits, "YRows": g.aggr_rows,
        "YLanes": g.t_aggr if g.last else g.t_act,
    }  # fmt: skip
    if g.gat:
        found |= {
            "ScoreLanes": g.t_attn, "ScoreTiles": g.score_tiles,
            "SkipLanes": g.d_padded - (g.score_tiles - 1) * g.t_attn, "ScoreRows": g.score_rows,
            "ScoreBits": g.score_bits, "ScoreShift": layer.weight_format.fraction_bits, "ScoreDsp": layer.score_dsp,
            "ScoreDepth": memory_of(g, shape, "scores").depth,
            "VectorsDistributed": not memory_of(g, shape, "attention").block,
            "ExponentBits": g.exponent_bits, "MaximumRows": g.maximum_rows,
            "RingEdges": ring_edges(shape), "RingDepth": memory_of(g, shape, "ring").depth,
            "HeadLanes": min(g.t_aggr, g.d_padded), "GroupTiles": g.group_tiles,
        }  # fmt: skip
    return found


def output_settings(accelerator: Accelerator) -> Settings:
    """Parameters of fgnas_output, from the last layer."""
    g = accelerator.layers[-1].geometry
    return {
        "Gat": g.gat, "Classes": accelerator.shape.classes, "LogitBeats": g.logit_beats, "Heads": g.k,
        "GroupHeads": g.group_heads, "HeadGroups": g.head_groups, "Lanes": g.t_aggr, "ClassLanes": g.class_lanes,
        "ClassTiles": g.class_tiles, "HeadTiles": g.head_tiles, "YBits": g.y_bits, "ValueBits": g.value_bits,
        "Rows": int(output_rows(g.logit_beats)),
    }  # fmt: skip


def as_parameters(values: Settings) -> str:
    """Settings as a SystemVerilog parameter list, indented, in lines of at most 120 columns."""
    words = [f".{name}({_literal(value)})" for name, value in values.items()]
    # A setting contains no space, so that no line breaks within it.
    return textwrap.fill(", ".join(words), 120, initial_indent="    ", subsequent_indent="    ", break_long_words=False)


def _literal(value: int | bool) -> str:
    return f"1'b{int(value)}" if isinstance(value, bool) else str(value)


def _kernel(accelerator: Accelerator) -> str:
    regions = parameter_regions(accelerator)
    return render(
        f"rtl/{KERNEL}.sv.j2",
        accelerator=accelerator,
        regions=regions,
        place=lambda name, layer: list(regions).index(f"{name} {layer}"),
        is_plain_relu=_is_plain_relu,
        layer_settings=lambda layer: layer_settings(accelerator, layer),
        output_settings=output_settings(accelerator),
        settings=as_parameters,
        reader=reader_buffer().of(0),
        arguments=[register.name for register in wire.written(wire.ARGUMENT_REGISTERS)],
    )
