"""An accelerator as a project folder: HLS C++, RTL, test vectors, reports, and a README that explains them."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fgnas.backends.render import render, render_folder
from fgnas.backends.rtl import write_rtl
from fgnas.backends.vectors import write_vectors
from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.devices import find_device
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.geometry import NO_MLP, check_scores, check_widths
from fgnas.hardware.pipeline.memories import memories_of, memory_of, output_rows, reader_buffer
from fgnas.hardware.pipeline.pricing import price_accelerator
from fgnas.hardware.pipeline.stages import placed_stages
from fgnas.hardware.pipeline.traffic import peak_rows
from fgnas.hardware.specification import Specification
from fgnas.network import Network
from fgnas.paths import templates_directory
from fgnas.tasks.nodes import GraphData

MARK = "design.json"
"""A folder that holds this file is a project, and a new project may replace it."""
MAPPING = "mapping.json"
"""A project that holds this file is of a mapped network: the file lists its steps on accelerators, each a project."""
CALLS = "calls"
"""The folder of a project's calls, where a network is several of them: vectors and reports of each."""
CALL_LIST = Path("report") / "calls.json"
"""A project that holds this file runs a network in several calls, in this order."""
SPECIFICATION = Path("report") / "specification.json"
DEFAULT_DEVICES = {"xc7": "zc706", "xcup": "zcu102"}
"""The device for the vendor's tool if none was named: one of the family that resources were counted for."""
ACTIVATION_TEMPLATE, EXPONENTIAL_TEMPLATE = "src/activation.h.j2", "src/exponential.h.j2"
DEFAULT_COMPILER = "vitis"


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
    return replace_project(directory, lambda built: _fill(accelerator, data, built, specification, network, compiler))


def replace_project(directory: Path, fill: Callable[[Path], None]) -> list[Path]:
    """Let `fill` write a project into a new folder, and put it in the place of `directory`; returns the files.

    It is written whole or not at all. Raises UserError rather than replace a folder that is not a project.
    """
    directory = Path(directory).absolute()
    check_replaceable(directory)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        # In the target's parent folder, so that the last step is a rename on one file system.
        with tempfile.TemporaryDirectory(prefix=f".{directory.name}.", dir=directory.parent) as scratch:
            built = Path(scratch) / "new"
            built.mkdir()
            fill(built)
            _swap(built, directory, Path(scratch) / "old")
    except OSError as error:
        raise UserError(f"cannot write the project {directory}: {error.strerror or error}") from None
    return sorted(path for path in directory.rglob("*") if path.is_file())


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


def write_driver(directory: Path, target: str, **values: Any) -> None:
    """Write the board's driver of a target, which has a template named after it."""
    (directory / "driver.py").write_text(render(f"driver/{target}.py.j2", **values), encoding="utf-8")


def compilers() -> tuple[str, ...]:
    """The HLS compilers whose pragmas the C++ can have: each has a header of its own among the templates."""
    return tuple(sorted(path.stem for path in (templates_directory() / "hls" / "pragmas").glob("*.h")))


def check_compiler(name: str) -> None:
    """Raise UserError for an unknown HLS compiler."""
    if name not in compilers():
        raise UserError(f"unknown HLS compiler {name!r}; known: {', '.join(compilers())}")


def price(accelerator: Accelerator, data: GraphData, specification: Specification) -> dict[str, Any]:
    """The models' prediction for this accelerator on this graph, and the limits that it breaks."""
    return price_accelerator(accelerator, data, specification.family, specification.beat_cycles).rows(specification)[0]


def held_by(directory: Path) -> str | None:
    """The design in a folder and its dataset, in words; None if there is none."""
    try:
        summary = json.loads((directory / "report" / "accelerator.json").read_text(encoding="utf-8"))
        design = Design.load(directory / MARK)
    except (OSError, ValueError, UserError):
        return None
    dataset = summary.get("dataset") if isinstance(summary, dict) else None
    return f"design {design.hash}" + (f" for {dataset}" if dataset else "")


def read_specification(directory: Path) -> Specification:
    """The specification that the project in `directory` was written for; without limits if it has none."""
    place = directory / SPECIFICATION
    if not place.is_file():
        return Specification()
    try:
        return Specification.of(json.loads(place.read_text(encoding="utf-8")), place)
    except ValueError as error:
        raise UserError(f"cannot read {place} ({error}): write the project again with `fgnas hls`") from None


def _values(accelerator: Accelerator, specification: Specification, counts: dict[str, int]) -> dict[str, Any]:
    """The variables of the templates."""
    beats = [layer.weight_beats + layer.score_beats + layer.bias_beats for layer in accelerator.layers]
    return {
        "a": accelerator,
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


def clock_and_part(specification: Specification) -> dict[str, str]:
    """What the files for the vendor's tool name."""
    return {
        "part": part_of(specification),
        "clock_mhz": f"{specification.clock_mhz:g}",
        "clock_ns": f"{1000 / specification.clock_mhz:g}",
    }


def part_of(specification: Specification) -> str:
    """The part for the vendor's tool: the specification's, or the default of its family."""
    return specification.part or find_device(DEFAULT_DEVICES[specification.family]).part


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def check_replaceable(directory: Path) -> None:
    """Raise UserError rather than delete a folder that is not a project."""
    if directory.is_dir():
        if any(directory.iterdir()) and not (directory / MARK).is_file():
            raise UserError(f"{directory} is not empty and holds no {MARK}: it is not a project; name another folder")
    elif directory.exists() or directory.is_symlink():
        raise UserError(f"{directory} is not a folder; name another one")


def _swap(built: Path, directory: Path, old: Path) -> None:
    """Replace `directory` by `built`; if that fails, restore the old folder."""
    built.chmod(0o777 & ~_umask())
    if not directory.exists():
        os.replace(built, directory)
        return
    os.replace(directory, old)
    try:
        os.replace(built, directory)
    except OSError:
        os.replace(old, directory)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
