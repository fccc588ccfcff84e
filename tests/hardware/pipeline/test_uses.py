"""Operators: what a design uses is what its RTL instantiates."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fgnas.backends.rtl import write_rtl
from fgnas.design import Design
from fgnas.hardware.pipeline.binding import bind_multipliers
from fgnas.hardware.pipeline.geometry import GraphShape, geometry
from fgnas.hardware.pipeline.uses import uses
from fgnas.space import columns_of, fgnas_space
from fgnas.tools.characterise import random_accelerator

SHAPE = GraphShape(50, 3, 1024, 16)
IN_TOP = ("linear_sparse", "linear_dense", "row_buffer", "store", "aggregate", "activate", "head_mean", "aggregate_gat",
          "head_mean_gat", "score", "row_maximum")  # fmt: skip


def used(design: Design) -> list[tuple[str, dict[str, int]]]:
    """(module, parameters) of every operator of one design, each as often as it occurs."""
    layers = geometry(columns_of([design]), SHAPE)
    found = []
    for use in uses(layers, bind_multipliers(layers, np.array([design.dsp])), SHAPE):
        values = {name: int(np.broadcast_to(value, (1,))[0]) for name, value in use.parameters.items()}
        found += [(use.module.removeprefix("fgnas_"), values)] * int(use.count[0])
    return found


def instantiated(top: str) -> list[tuple[str, dict[str, int]]]:
    """(module, parameters) of every instance in the text of a top whose parameters are numbers."""
    top = top.replace("NodeCapacity", str(SHAPE.node_capacity)).replace("Classes", str(SHAPE.classes))
    found = []
    for module, settings in re.findall(r"fgnas_(\w+) #\(\n(.*?)\n  \) u_", top, re.DOTALL):
        numbers = re.findall(r"\.(\w+)\((?:1'b)?(-?\d+)\)", settings)
        found.append((module, {name: int(value) for name, value in numbers}))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_parameters_are_those_of_the_rtl(seed: int, tmp_path: Path) -> None:
    """Every parameter that the model gives an operator stands so in the generated top."""
    space = fgnas_space().restrict(d=(4, 8, 12), k=(1, 2, 4))
    design = space.design(space.draw(1, np.random.default_rng(seed))[0], 7)
    write_rtl(random_accelerator(design, SHAPE, seed), tmp_path)
    there = instantiated((tmp_path / "rtl" / "fgnas_top.sv").read_text())
    expected = [(module, values) for module, values in used(design) if module in IN_TOP]
    assert Counter(module for module, _ in expected) == Counter(module for module, _ in there if module in IN_TOP)
    for module, values in expected:
        # Defaults are not written out, and one derived parameter is not given at all.
        matches = [
            settings for name, settings in there
            if name == module and all(settings.get(key, value) == value for key, value in values.items())
        ]  # fmt: skip
        assert matches, f"{module} with {values} is not in the top"
