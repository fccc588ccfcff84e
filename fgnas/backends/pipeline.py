"""A pipeline as a project folder: HLS C++, RTL, test vectors, reports, and a README that explains them."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

from fgnas.backends.project import (
    DEFAULT_COMPILER,
    MARK,
    SPECIFICATION,
    Request,
    check_compiler,
    clock_and_part,
    compilers,
    replace_project,
    write_driver,
    write_json,
)
from fgnas.backends.render import render, render_folder
from fgnas.backends.rtl import write_rtl
from fgnas.backends.standalone import write_standalone
from fgnas.backends.vectors import write_vectors
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.geometry import GATHERS, NO_MLP, check_scores, check_widths
from fgnas.hardware.pipeline.kind import ONE_GRAPH, FittedPipeline
from fgnas.hardware.pipeline.memories import memories_of, memory_of, output_rows, reader_buffer
from fgnas.hardware.pipeline.pricing import price_accelerator
from fgnas.hardware.pipeline.stages import placed_stages
from fgnas.hardware.pipeline.traffic import peak_rows
from fgnas.hardware.specification import Specification
from fgnas.network import Network
from fgnas.paths import templates_directory
from fgnas.tasks.nodes import GraphData

ACTIVATION_TEMPLATE, EXPONENTIAL_TEMPLATE = "src/activation.h.j2", "src/exponential.h.j2"


def write(fitted: FittedPipeline, data: GraphData, directory: Path, request: Request) -> list[Path]:
    """The project of a design as a pipeline; returns the files."""
    if fitted.accelerator.design.sampling is not None:
        raise UserError(ONE_GRAPH)
    return write_project(
        fitted.accelerator, data, directory, request.specification, fitted.network, request.compiler
    )


def write_project(
    accelerator: Accelerator,
    data: GraphData,
    directory: Path,
    specification: Specification | None = None,
    network: Network | None = None,
    compiler: str = DEFAULT_COMPILER,
) -> list[Path]:
    """Write the project of an accelerator to `directory`, whole or not at all; returns the files.

    The project states which limits of `specification` the design breaks; its part and clock go to the vendor's tool.
    With `network` its float weights are written too. The C++ has the pragmas of `compiler`, one of `compilers()`. An
    existing project is replaced. Raises UserError for scores, numbers and second products that the pipeline does not
    run.
    """
    specification = specification or Specification()
    check_compiler(compiler)
    geometries = [layer.geometry for layer in accelerator.layers]
    check_scores(geometries)
    check_widths(geometries)
    if any(layer.second for layer in accelerator.layers):
        raise UserError(NO_MLP)
    if any(layer.gathers_first for layer in accelerator.design.layers):
        raise UserError(GATHERS)
    return replace_project(directory, lambda built: _fill(accelerator, data, built, specification, network, compiler))


def _fill(
    accelerator: Accelerator,
    data: GraphData,
    built: Path,
    specification: Specification,
    network: Network | None,
    compiler: str,
) -> None:
    """Write all files of the project into the new folder `built`."""
    predicted = price(accelerator, data, specification)
    values = _values(accelerator, specification, write_vectors(accelerator, data, built / "vectors"))
    peaks = peak_rows(predicted, specification.port_bits)
    values |= {"price": predicted, "specification": specification, "peaks": peaks, "compiler": compiler}
    values |= {"notes": data.remarks}
    headers = {name: f"pragmas/{name}.h" for name in compilers()}
    render_folder("hls", built, skip=(ACTIVATION_TEMPLATE, EXPONENTIAL_TEMPLATE, *headers.values()), **values)
    shutil.copyfile(templates_directory() / "hls" / headers[compiler], built / "src" / "pragmas.h")
    for layer in accelerator.layers:
        tables = {"activation": ACTIVATION_TEMPLATE} if not layer.geometry.last else {}
        tables |= {"exponential": EXPONENTIAL_TEMPLATE} if layer.geometry.gat else {}
        for name, template in tables.items():
            text = render(f"hls/{template}", layer=layer, **values)
            (built / "src" / f"{name}_{layer.index}.h").write_text(text, encoding="utf-8")
    render_folder("project", built, **values)
    write_standalone(built, wire.ARGUMENT_REGISTERS, wire.BEAT_BITS)
    write_driver(built, "pipeline", status_bits=wire.STATUS_BITS, **values)
    write_json(built / MARK, accelerator.design.to_dict())
    write_json(built / "report" / "accelerator.json", accelerator.summary())
    write_json(built / SPECIFICATION, specification.to_dict())
    write_json(built / "report" / "price.json", predicted)
    if network is not None:
        network.save(built / "weights.npz")
    write_rtl(accelerator, built)


def write_step(
    accelerator: Accelerator, data: GraphData, folder: Path, specification: Specification, network: Network
) -> None:
    """Write one more use of a project's hardware below it: other parameters and another graph, as test vectors."""
    write_vectors(accelerator, data, folder / "vectors")
    write_json(folder / "report" / "accelerator.json", accelerator.summary())
    write_json(folder / "report" / "price.json", price(accelerator, data, specification))
    network.save(folder / "weights.npz")


def price(accelerator: Accelerator, data: GraphData, specification: Specification) -> dict[str, Any]:
    """The models' prediction for this accelerator on this graph, and the limits that it breaks."""
    return price_accelerator(accelerator, data, specification.family, specification.beat_cycles).rows(specification)[0]


def _values(accelerator: Accelerator, specification: Specification, counts: dict[str, int]) -> dict[str, Any]:
    """The variables of the templates."""
    beats = [layer.weight_beats + layer.score_beats + layer.bias_beats for layer in accelerator.layers]
    return {
        "a": accelerator,
        "design_hash": accelerator.design.hash,
        "stages": placed_stages([layer.geometry for layer in accelerator.layers]),
        "counts": counts,
        "offsets": [0, *itertools.accumulate(beats)],
        "memory": lambda layer, name: memory_of(layer.geometry, accelerator.shape, name),
        "memories": lambda layer: memories_of(layer.geometry, accelerator.shape),
        "reader": reader_buffer().of(0),
        "output_rows": output_rows,
        # The test bench also sends a row longer than the capacity.
        "edge_depth": max(counts["edge_beats"], accelerator.shape.degree_capacity // wire.EDGES_PER_BEAT + 2),
        "beat_bits": wire.BEAT_BITS,
        "arguments": wire.ARGUMENT_REGISTERS,
        **clock_and_part(specification),
    }
