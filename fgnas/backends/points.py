"""A network of points as a project folder: what every array has, and a driver that takes clouds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.backends.array import REGIONS, VIVADO_FILES, write_points
from fgnas.backends.project import MARK, SPECIFICATION, clock_and_part, replace_project, write_driver, write_json
from fgnas.backends.render import render
from fgnas.backends.standalone import write_standalone
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.array import programme
from fgnas.hardware.array.points.encoded import EncodedPoints
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.hardware.specification import Specification

WEIGHTS = "weights.pt"


@dataclass(frozen=True, eq=False)
class PointProject:
    """The content of the project of a network of points.

    Attributes:
        encoded: the regions that the host sends, clouds included.
        network: the record of its operations.
        accuracies: {"float", "quantised": {"val", "test": 0 to 1}}.
        weights: the file of the float weights.
        clouds: [B, N, F] the clouds of the vectors; number: their format.
        operations: kind, function and features of each, where the record does not list operations.
    """

    encoded: EncodedPoints
    network: dict[str, Any]
    accuracies: dict[str, dict[str, float]]
    weights: bytes
    clouds: NDArray[np.float32]
    number: FixedPoint
    operations: tuple[tuple[str, str, int], ...] = ()


def write_project(project: PointProject, directory: Path, specification: Specification) -> list[Path]:
    """Write the project to `directory`, whole or not at all; returns the files. An existing project is replaced."""
    return replace_project(directory, lambda built: _fill(project, built, specification))


def _fill(project: PointProject, built: Path, specification: Specification) -> None:
    """Write all files of the project into the new folder `built`."""
    encoded = project.encoded
    facts: dict[str, Any] = {"network": project.network, "accuracies": project.accuracies}
    if project.operations:
        facts |= {"operations": project.operations}
    predicted, counts = write_points(encoded, built, specification, facts)
    _write_clouds(project, built / "vectors", counts)
    engine, source = encoded.engine, encoded.accelerator.source
    values = {"a": source, "engine": engine, "p": programme, "price": predicted, "counts": counts,
              "accuracies": project.accuracies, "formats": formats_of(source.integers), "number": project.number,
              "beat_bits": engine.beat_bits, "arguments": programme.ARGUMENT_REGISTERS, "design_hash": source.name,
              "specification": specification, **clock_and_part(specification)}  # fmt: skip
    (built / "README.md").write_text(render("points/README.md.j2", **values), encoding="utf-8")
    write_driver(built, "points", regions=REGIONS, status_bits=programme.STATUS_BITS, **values)
    for name in VIVADO_FILES:
        (built / name).write_text(render(f"project/{name}.j2", **values), encoding="utf-8")
    write_standalone(built, programme.ARGUMENT_REGISTERS, engine.beat_bits)
    write_json(built / MARK, project.network)
    write_json(built / SPECIFICATION, specification.to_dict())
    (built / WEIGHTS).write_bytes(project.weights)


def formats_of(network: IntegerNetwork) -> list[tuple[str, str, str, int, int | str, str]]:
    """Name, operation, inputs, columns, bits and step of every value of a network, the features first."""
    made = {step.name: (type(step.operation).__name__.lower(), ", ".join(step.inputs)) for step in network.steps}
    return [
        (name, *made.get(name, ("the host", "points")), value.columns,
         value.number.width if value.saturated else "exact", f"2^{-value.number.fraction_bits}")
        for name, value in network.values.items()
    ]  # fmt: skip


def _write_clouds(project: PointProject, vectors: Path, counts: dict[str, int]) -> None:
    """Write the driver's input beside the regions: the clouds as numbers, the sizes and formats with which it encodes
    clouds and reads logits, and the index of the descriptor whose field gives the clouds of a start."""
    _, points, width = project.clouds.shape
    arguments = project.encoded.arguments()
    needed = {name: int(arguments[name]) for name in ("descriptors", "classes", "row_words", "beat_words",
                                                      "logits_beats")}  # fmt: skip
    brings = next(place for place, one in enumerate(project.encoded.programme) if one.brings_clouds)
    write_json(vectors / "vectors.json", counts | needed | {
        "points": points, "width": width, "fraction_bits": project.number.fraction_bits, "clouds_descriptor": brings,
    })  # fmt: skip
    np.save(vectors / "clouds.npy", project.clouds)
