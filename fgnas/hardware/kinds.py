"""The kinds of hardware, by name."""

from __future__ import annotations

from typing import Any

from fgnas.design import Design
from fgnas.designs import DesignTable
from fgnas.errors import UserError
from fgnas.hardware.array.imported import ImportedArrays
from fgnas.hardware.array.kind import MultiplierArray
from fgnas.hardware.array.points.kind import PointArrays
from fgnas.hardware.kind import Described, Kind
from fgnas.hardware.pipeline.kind import Pipeline

PIPELINE, ARRAY = Pipeline(), MultiplierArray()
KINDS: dict[str, Kind] = {kind.name: kind for kind in (ARRAY, PIPELINE)}
"""The last one is that of a summary that names none."""
DESCRIBED: dict[str, Described] = {**KINDS, **{one.name: one for one in (PointArrays(), ImportedArrays())}}
"""Kinds of hardware that a project's summary may name; the key `runs` names those that run no design."""


def find_kind(name: str) -> Kind:
    """A kind by name, or UserError."""
    if name not in KINDS:
        raise UserError(f"unknown target {name!r}; known: {', '.join(KINDS)}")
    return KINDS[name]


def kind_of(design: Design | DesignTable) -> Kind:
    """The kind that a design, or each of a table, was made for."""
    return next(kind for kind in KINDS.values() if kind.made_for(design))


def described_kind(summary: dict[str, Any]) -> Described:
    """The kind of the hardware that a project's report/accelerator.json describes. Raises UserError for another."""
    name = summary.get("runs", summary.get("target", PIPELINE.name))
    if name not in DESCRIBED:
        raise UserError(f"unknown hardware {name!r}; known: {', '.join(DESCRIBED)}")
    return DESCRIBED[name]
