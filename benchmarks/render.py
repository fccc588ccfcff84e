"""Write the pages and figures in docs/results again from their recorded numbers, without measuring anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_area
import array_clock
import array_cpp
import array_neighbours
import array_pairs
import array_parts
import array_random
import array_space
import block_ram
import calibration
import controllers
import efficiency
import every_design
import finetuning
import first_search
import gcos_page
import hardware_model
import hgnas
import hgnas_array
import imports
import imports_trained
import initiation_interval
import large_calls
import mapping
import methods
import molecule_designs
import molecule_search
import multiplier_array
import open_compiler
import points_array
import predictors
import recipe
import search
import side_by_side
import tables
import targets
import two_tiers
import whole_subnets
from pages import read_record, write_page

FILES: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "bambu.md": ("bambu", open_compiler.page),
    "block-ram.md": ("block-ram", block_ram.page),
    "calibration.md": ("calibration", calibration.page),
    "controllers.md": ("controllers", controllers.page),
    "efficiency.md": ("efficiency", efficiency.page),
    "every-design.md": ("every-design", every_design.page),
    "finetuning.md": ("finetuning", finetuning.page),
    f"{first_search.NAME}.md": (first_search.NAME, first_search.page),
    "gcos.md": ("gcos", gcos_page.page),
    **{name: ("gcos", draw) for name, draw in gcos_page.FIGURES.items()},
    "hardware-model.md": ("hardware-model", hardware_model.page),
    "hardware-model.svg": ("hardware-model", hardware_model.figure),
    f"{hgnas.NAME}.md": (hgnas.NAME, hgnas.page),
    f"{hgnas_array.NAME}.md": (hgnas_array.NAME, hgnas_array.page),
    f"{array_pairs.NAME}.md": (array_pairs.NAME, array_pairs.page),
    f"{imports.NAME}.md": (imports.NAME, imports.page),
    f"{imports_trained.NAME}.md": (imports_trained.NAME, imports_trained.page),
    "initiation-interval.md": ("initiation-interval", initiation_interval.page),
    f"{large_calls.NAME}.md": (large_calls.NAME, large_calls.page),
    "mapping.md": ("mapping", mapping.page),
    "methods.md": ("methods", methods.page),
    f"{molecule_designs.NAME}.md": (molecule_designs.NAME, molecule_designs.page),
    f"{molecule_search.NAME}.md": (molecule_search.NAME, molecule_search.page),
    f"{array_area.NAME}.md": (array_area.NAME, array_area.page),
    f"{array_area.NAME}.svg": (array_area.NAME, hardware_model.figure),
    "multiplier-array-cpp.md": ("multiplier-array-cpp", array_cpp.page),
    f"{array_random.NAME}.md": (array_random.NAME, array_random.page),
    f"{array_space.NAME}.md": (array_space.NAME, array_space.page),
    "multiplier-array.md": ("multiplier-array", multiplier_array.page),
    f"{points_array.NAME}.md": (points_array.NAME, points_array.page),
    f"{array_neighbours.NAME}.md": (array_neighbours.NAME, array_neighbours.page),
    f"{array_clock.NAME}.md": (array_clock.NAME, array_clock.page),
    f"{array_parts.NAME}.md": (array_parts.NAME, array_parts.page),
    f"{predictors.NAME}.md": (predictors.NAME, predictors.page),
    "recipe.md": ("recipe", recipe.page),
    "search-throughput.md": ("search-throughput", search.page),
    "side-by-side.md": ("side-by-side", side_by_side.page),
    "tables.md": ("tables", tables.page),
    tables.FIGURE: ("tables", tables.figure),
    f"{targets.NAME}.md": (targets.NAME, targets.page),
    "two-tiers.md": ("two-tiers", two_tiers.page),
    "whole-subnets.md": ("whole-subnets", whole_subnets.page),
}
"""File -> the record it is made from, and the function that renders it."""


def rendered(name: str) -> str:
    """The text of a file, from its record."""
    record, render = FILES[name]
    return render(read_record(record))


if __name__ == "__main__":
    for each in FILES:
        write_page(each, rendered(each))
