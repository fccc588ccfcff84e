"""The RTL of an accelerator: hand-written stages copied, the top and the activation tables rendered."""

from __future__ import annotations

import shutil
from pathlib import Path

from fgnas.backends.render import render
from fgnas.hardware import wire
from fgnas.hardware.pipeline.accelerator import Accelerator, LayerAccelerator
from fgnas.hardware.pipeline.memories import address_bits, memory_of, output_rows, reader_buffer, ring_edges
from fgnas.hardware.pipeline.tables import is_plain_relu
from fgnas.paths import templates_directory

TOP = "fgnas_top"


def write_rtl(accelerator: Accelerator, directory: Path) -> list[Path]:
    """Write `rtl/` below `directory`: the files in compile order, which files.f lists."""
    target = directory / "rtl"
    target.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for source in sorted((templates_directory() / "rtl").glob("*.sv")):
        files.append(target / source.name)
        shutil.copyfile(source, files[-1])
    for layer in accelerator.layers:
        if layer.geometry.gat:
            files.append(target / f"fgnas_exponential_{layer.index}.sv")
            text = render("rtl/fgnas_exponential.sv.j2", accelerator=accelerator, layer=layer)
            files[-1].write_text(text, encoding="utf-8")
        if not layer.geometry.last and not _is_plain_relu(layer):
            files.append(target / f"fgnas_activation_{layer.index}.sv")
            files[-1].write_text(_activation(accelerator, layer), encoding="utf-8")
    files.append(target / f"{TOP}.sv")
    files[-1].write_text(_top(accelerator), encoding="utf-8")
    listing = target / "files.f"
    listing.write_text("".join(f"{path.name}\n" for path in files), encoding="utf-8")
    return [*files, listing]


def _is_plain_relu(layer: LayerAccelerator) -> bool:
    return is_plain_relu(layer.activation, layer.value_format, layer.output_format)


def _activation(accelerator: Accelerator, layer: LayerAccelerator) -> str:
    bits = layer.value_format.width
    assert layer.activation_table is not None
    table = (layer.activation_table & ((1 << bits) - 1)).tolist()
    return render("rtl/fgnas_activation.sv.j2", accelerator=accelerator, layer=layer, bits=bits, table=table)


def parameter_regions(accelerator: Accelerator) -> dict[str, int]:
    """Beats of every region of the parameters, in the order of the stream."""
    regions: dict[str, int] = {}
    for layer in accelerator.layers:
        parts = {"weight": layer.weight_beats, "score": layer.score_beats, "bias": layer.bias_beats}
        regions |= {f"{name} {layer.index}": beats for name, beats in parts.items() if beats}
    return regions


def _top(accelerator: Accelerator) -> str:
    regions = parameter_regions(accelerator)
    return render(
        "rtl/fgnas_top.sv.j2",
        accelerator=accelerator,
        regions=regions,
        place=lambda name, layer: list(regions).index(f"{name} {layer}"),
        is_plain_relu=_is_plain_relu,
        memory=lambda layer, name: memory_of(layer.geometry, accelerator.shape, name),
        reader=reader_buffer().of(0),
        ring_edges=ring_edges(accelerator.shape),
        address_bits=lambda depth: int(address_bits(depth)),
        extra_bits=wire.LOGIT_EXTRA_BITS,
        output_rows=int(output_rows(accelerator.logit_beats)),
    )
