"""The kinds of hardware, by name."""

from __future__ import annotations

from typing import Any

from fgnas.design import Design
from fgnas.designs import DesignTable
from fgnas.errors import UserError
from fgnas.hardware.array.kind import MultiplierArray
from fgnas.hardware.kind import Kind
from fgnas.hardware.pipeline.kind import Pipeline

PIPELINE, ARRAY = Pipeline(), MultiplierArray()
KINDS: dict[str, Kind] = {kind.name: kind for kind in (ARRAY, PIPELINE)}
"""The last one is that of a summary that names none."""


def find_kind(name: str) -> Kind:
    """A kind by name, or UserError."""
    if name not in KINDS:
        raise UserError(f"unknown target {name!r}; known: {', '.join(KINDS)}")
    return KINDS[name]


def kind_of(design: Design | DesignTable) -> Kind:
    """The kind that a design, or each of a table, was made for."""
    return next(kind for kind in KINDS.values() if kind.made_for(design))


def described_kind(summary: dict[str, Any]) -> Kind:
    """The kind of the hardware that a project's report/accelerator.json describes."""
    return find_kind(summary.get("target", PIPELINE.name))
