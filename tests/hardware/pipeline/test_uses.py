"""Operators: those that the model adds up are those that the RTL instantiates."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fgnas.backends.rtl import TOP, write_rtl
from fgnas.design import Design
from fgnas.hardware.pipeline.binding import bind_multipliers
from fgnas.hardware.pipeline.geometry import GraphShape, geometry
from fgnas.hardware.pipeline.uses import uses
from fgnas.space import columns_of, fgnas_space
from fgnas.tools.characterise import random_accelerator
from fgnas.tools.find import find_verilator

SHAPE = GraphShape(50, 3, 1024, 16)
MODULES = ("linear_sparse", "linear_dense", "row_buffer", "store", "aggregate", "activate", "head_mean",
           "aggregate_gat", "head_mean_gat", "score", "row_maximum")  # fmt: skip
DEPTH = 20_000
"""Of recursion: a table of a function is a deep tree."""


def used(design: Design) -> list[tuple[str, dict[str, int]]]:
    """(module, parameters) of every operator of one design, each as often as it occurs."""
    layers = geometry(columns_of([design]), SHAPE)
    found = []
    for use in uses(layers, bind_multipliers(layers, np.array([design.dsp])), SHAPE):
        values = {name: int(np.broadcast_to(value, (1,))[0]) for name, value in use.parameters.items()}
        found += [(use.module.removeprefix("fgnas_"), values)] * int(use.count[0])
    return found


def elaborated(folder: Path) -> list[tuple[str, dict[str, int]]]:
    """(module, all its parameters) of every instance below the top, as Verilator elaborates the RTL."""
    command = [
        str(find_verilator().path), "--json-only", "--top-module", TOP, "-Wno-fatal", "-f", "files.f",
        "--json-only-output", "tree.json", "--json-only-meta-output", "meta.json",
    ]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    modules = {module["addr"]: module for module in json.loads((folder / "tree.json").read_text())["modulesp"]}
    top = next(module for module in modules.values() if module["name"] == TOP)
    found: list[tuple[str, dict[str, int]]] = []
    waiting = [top]
    while waiting:
        for cell in nodes(waiting.pop(), "CELL"):
            module = modules[cell["modp"]]
            parameters = [node for node in module["stmtsp"] if node["type"] == "VAR" and node["varType"] == "GPARAM"]
            values = {node["origName"]: number(node["valuep"][0]["name"]) for node in parameters}
            found.append((module["origName"].removeprefix("fgnas_"), values))
            waiting.append(module)
    return found


@pytest.fixture
def deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(DEPTH)
    yield
    sys.setrecursionlimit(before)


def nodes(tree: Any, kind: str) -> Iterator[dict[str, Any]]:
    """The nodes of a kind in a part of Verilator's syntax tree."""
    if isinstance(tree, list):
        for part in tree:
            yield from nodes(part, kind)
    elif isinstance(tree, dict):
        if tree.get("type") == kind:
            yield tree
        for part in tree.values():
            yield from nodes(part, kind)


def number(text: str) -> int:
    """A Verilog constant, such as 32'h1f or 32'sh3."""
    bits, digits = re.fullmatch(r"(\d+)'s?h([0-9a-f]+)", text).groups()
    value = int(digits, 16)
    return value - (1 << int(bits)) if "s" in text and value >> (int(bits) - 1) else value


@pytest.mark.parametrize("seed", range(12))
def test_parameters_are_those_of_the_rtl(seed: int, tmp_path: Path, deep_recursion: None) -> None:
    """Every operator of the model is an instance of the RTL with the same parameters, and there is no other."""
    space = fgnas_space().restrict(d=(4, 8, 12), k=(1, 2, 4))
    design = space.design(space.draw(1, np.random.default_rng(seed))[0], 7)
    write_rtl(random_accelerator(design, SHAPE, seed), tmp_path)
    there = [(module, values) for module, values in elaborated(tmp_path / "rtl") if module in MODULES]
    for module, values in used(design):
        if module in MODULES:
            match = next((one for one in there if one[0] == module and values.items() <= one[1].items()), None)
            assert match, f"{module} with {values} is not in the RTL: {[v for name, v in there if name == module]}"
            there.remove(match)
    assert not there
