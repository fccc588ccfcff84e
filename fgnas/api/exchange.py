"""Networks for other tools, from Python: a design's integers as an ONNX model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fgnas.api.data import Data
from fgnas.api.designs import Design
from fgnas.api.imports import ImportedNetwork
from fgnas.api.networks import PointDesign
from fgnas.errors import UserError
from fgnas.extras import require
from fgnas.progress import step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fgnas.hardware.integer.graph import IntegerGraph
    from fgnas.hardware.integer.network import IntegerNetwork

CLOUDS_SHOWN = 1
"""Clouds of the test split in the inputs that are written beside a network of operations."""


def to_onnx(
    design: Design | PointDesign | ImportedNetwork, path: str | os.PathLike[str], data: Data | None = None,
    target: str | None = None,
) -> Path:  # fmt: skip
    """Write a design's integer network as an ONNX model, and beside it an .npz with its inputs and its codes for data.

    The model gives the hardware's integers in any runtime. A design without weights is trained first. `data` (a graph,
    or clouds by name or file) is by default what the weights were made on; `target` is the hardware of a design, whose
    arithmetic it has: "pipeline" or "array", by default what the design was made for.
    """
    require("onnx", "onnx")
    from fgnas.exchange import onnx

    path = Path(path)
    if path.suffix != ".onnx":
        raise UserError(f"--out is {path}: give a name that ends with .onnx")
    if target is not None and not isinstance(design, Design):
        raise UserError(f"--target {target} is for designs of layers: a network of operations runs on an array alone")
    integers, graphs = _integers(design, data, target)
    with step("write the model"):
        try:
            onnx.write(path, integers, graphs, design.label)
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from None
    return path


def _integers(
    design: Design | PointDesign | ImportedNetwork, data: Data | None, target: str | None
) -> tuple[IntegerNetwork, Sequence[IntegerGraph]]:
    """The integer network of a design with its graphs."""
    if isinstance(design, ImportedNetwork):
        if data is not None:
            raise UserError(f"{design.label} holds the graph that it was imported for: leave out --dataset")
        return design.source.integers, design.source.graphs
    if isinstance(design, PointDesign):
        return _of_points(design, data)
    from fgnas.hardware.integer.designs import network_of
    from fgnas.hardware.integer.quantised import graphs_of
    from fgnas.hardware.kinds import find_kind, kind_of

    found = design.data(data)
    trained = design if design.network is not None else design.train(found)
    assert trained.network is not None
    kind = find_kind(target) if target else kind_of(design.choices)
    kind.check(design.choices)
    integers = network_of(design.choices, trained.network, found.width_in, found.classes, kind.rounding)
    return integers, graphs_of(integers, found, design.choices.rates)


def _of_points(design: PointDesign, data: Data | None) -> tuple[IntegerNetwork, Sequence[IntegerGraph]]:
    from fgnas.networks.scaled import graphs

    if not isinstance(data, str | os.PathLike | None):
        raise UserError("a network of operations reads clouds: give them by name or file")
    hardware = design.lower(data).hardware
    return hardware.integers, graphs(hardware.integers, hardware.data.clouds("test")[0][:CLOUDS_SHOWN])
