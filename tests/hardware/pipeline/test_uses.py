"""Operators: the model adds up exactly those that the RTL instantiates."""

from pathlib import Path

import numpy as np
import pytest
from elaboration import elaborated

from fgnas.backends.rtl import write_rtl
from fgnas.design import Design, columns_of
from fgnas.hardware.pipeline.binding import bind_multipliers
from fgnas.hardware.pipeline.geometry import geometry
from fgnas.hardware.pipeline.uses import uses
from fgnas.hardware.shape import GraphShape
from fgnas.systems.fgnas.space import fgnas_space
from fgnas.tools.characterise import random_accelerator

SHAPE = GraphShape(50, 3, 1024, 16)
MODULES = ("linear_sparse", "linear_dense", "row_buffer", "store", "aggregate", "activate", "head_mean",
           "aggregate_gat", "head_mean_gat", "score", "row_maximum")  # fmt: skip


def used(design: Design) -> list[tuple[str, dict[str, int]]]:
    """(module, parameters) of every operator of one design, each as often as it occurs."""
    layers = geometry(columns_of([design]), SHAPE)
    found = []
    for use in uses(layers, bind_multipliers(layers, np.array([design.dsp])), SHAPE):
        values = {name: int(np.broadcast_to(value, (1,))[0]) for name, value in use.parameters.items()}
        found += [(use.module.removeprefix("fgnas_"), values)] * int(use.count[0])
    return found


@pytest.mark.parametrize("seed", range(12))
def test_parameters_are_those_of_the_rtl(seed: int, tmp_path: Path) -> None:
    """The model's operators and the RTL's instances are the same, with the same parameters."""
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
