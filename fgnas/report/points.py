"""The page of a network of points on an array: its operations, phases and memories, and the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fgnas.hardware.array.engine import Engine
from fgnas.hardware.devices import Device
from fgnas.networks.points.operations import PointNetwork, widths
from fgnas.report.array import PhaseRow, phases
from fgnas.report.drawing import ArrayDrawing, array_drawing
from fgnas.report.project import Page, evidence
from fgnas.report.record import PointRecord
from fgnas.report.verification import Level, compared_levels


@dataclass(frozen=True)
class OperationRow:
    """One operation of the network: its kind and function, and the features of a point after it."""

    name: str
    function: str
    features: int


@dataclass(frozen=True)
class MemoryRow:
    """One memory of the array: its content, its words, and the bits of a word; `copies` of it are built."""

    name: str
    words: int
    bits: int
    copies: int


@dataclass(frozen=True)
class PointPage(Page):
    """The content of the page."""

    template = "points.html.j2"

    points: int
    width_in: int
    classes: int
    engine: Engine
    drawing: ArrayDrawing
    operations: list[OperationRow]
    phases: list[PhaseRow]
    memories: list[MemoryRow]


def point_page(
    project: PointRecord, data: None = None, float_accuracy: Mapping[str, float] | None = None,
    device: Device | None = None,
) -> PointPage:  # fmt: skip
    """The page of a project; its accuracies are those that were counted when it was written."""
    summary = project.summary
    exact = summary["accuracies"]["quantised"]
    given = summary["accuracies"]["float"]
    levels = [
        Level("Float network", given["val"], given["test"], "PyTorch, 32 bits, with the weights of this project",
              "right"),
        Level("Quantised, integer reference", exact["val"], exact["test"], "every cloud of both splits", "right"),
        *compared_levels(project, exact),
    ]  # fmt: skip
    return PointPage(
        **evidence(project, device), name=summary["name"], points=summary["points"], width_in=summary["width_in"],
        classes=summary["classes"], ladder=levels, engine=project.engine, drawing=array_drawing(project.engine),
        operations=operations(summary), phases=phases(project), memories=memories(project.engine),
    )  # fmt: skip


def operations(summary: dict[str, Any]) -> list[OperationRow]:
    """The operations in order, and the tail."""
    if "operations" in summary:
        return [OperationRow(*one) for one in summary["operations"]]
    network = PointNetwork.from_dict(summary["network"])
    rows = [
        OperationRow(one.KIND, " ".join(str(value) for value in vars(one).values()), features)
        for one, features in zip(network.operations, widths(network.operations, summary["width_in"]), strict=True)
    ]
    tail = network.tail
    return [
        *rows, OperationRow("combine", "embedding", tail.embedding),
        OperationRow("readout", "max and mean of the points", 2 * tail.embedding),
        *(OperationRow("combine", "of the cloud", features) for features in tail.hidden),
    ]  # fmt: skip


def memories(engine: Engine) -> list[MemoryRow]:
    """The memories of the array."""
    units = engine.units
    rows = [
        MemoryRow("tables: weights, and rows that are gathered", engine.table_words, engine.word_bits, engine.copies),
        MemoryRow("own rows: what is multiplied", engine.own_words, engine.word_bits, units),
        MemoryRow("biases", engine.bias_words, engine.word_bits, units),
    ]
    if engine.neighbours is not None:
        index_bits = engine.entry.place("index")[1]
        rows.append(MemoryRow("indices of nearest points", engine.neighbours.words, index_bits, units))
    return rows


RECORD, PAGE = PointRecord, point_page
"""How a project of this kind is read and shown: see `fgnas.hardware.kind.Described.page`."""
