"""The resource model: its invariants, and a comparison with synthesis of a whole top."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import random_design

from fgnas.backends.rtl import KERNEL, write_rtl
from fgnas.design import Design, columns_of
from fgnas.errors import UserError
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.binding import bind_multipliers
from fgnas.hardware.pipeline.geometry import geometry
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.pipeline.pricing import accelerator_resources, design_resources
from fgnas.hardware.pipeline.resources import UNITS, characterisation, resources
from fgnas.hardware.shape import GraphShape
from fgnas.laboratory.networks import random_accelerator, random_network
from fgnas.systems.fgnas.space import fgnas_space
from fgnas.tools.synth import count_block_rams, count_cells, instance_totals, synthesise

SHAPE = GraphShape(200, 7, 1024, 64)
FAMILIES = ("xc7", "xcup")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_design_costs_the_same_alone_and_in_an_array(family: str) -> None:
    designs = [random_design(np.random.default_rng(seed), 2) for seed in range(20)]
    layers = geometry(columns_of(designs), SHAPE)
    budget = np.array([design.dsp for design in designs])
    together = resources(layers, bind_multipliers(layers, budget), SHAPE, family)
    for index, design in enumerate(designs):
        alone = design_resources(design, SHAPE, family)
        assert alone == {name: float(values[index]) for name, values in vars(together).items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_dsp_slice_saves_the_luts_of_one_product(family: str) -> None:
    """10 x 10 bits: 200 LUTs and more in fabric."""
    space = fgnas_space().restrict(attention=("constant",), ai=(3,), af=(6,), wi=(3,), wf=(6,), t_in=(5,), t_out=(5,))
    row = space.draw(1, np.random.default_rng(0))[0]
    without, with_one = (design_resources(space.design(row, dsp), SHAPE, family) for dsp in (0, 1))
    assert (without["dsp"], with_one["dsp"]) == (0, 1)
    assert 200 <= without["lut"] - with_one["lut"] <= 300


def test_multipliers_are_tables_of_what_was_measured() -> None:
    """8 x 8 bits in LUTs: 16 flip-flops less the product's redundant one."""
    weights = characterisation("xc7").weights["fgnas_multiplier_fabric"].by_name
    lut, ff = (weights["1"] + weights["by 11 * left bits + right bits"][:, 8 * 11 + 8]) / UNITS
    assert 100 <= lut <= 140
    assert 15 <= ff <= 16.5


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(UserError, match="there are xc7, xcup"):
        characterisation("virtex2")


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", [1, 2])
def test_whole_tops_take_what_is_predicted(seed: int, family: str, tmp_path: Path) -> None:
    """DSPs and block RAMs are exact; LUTs and FFs are within 15 %."""
    pytest.importorskip("pyosys")
    design = random_design(np.random.default_rng(seed), 2)
    write_rtl(random_accelerator(design, SHAPE, seed), tmp_path)
    result = synthesise(["-f", "files.f"], KERNEL, family, tmp_path / "rtl", tmp_path / "log")
    used = instance_totals(result["modules"], KERNEL)[KERNEL]
    predicted = design_resources(design, SHAPE, family)
    assert {name: used[name] for name in ("dsp", "bram36")} == {name: predicted[name] for name in ("dsp", "bram36")}
    for name in ("lut", "ff"):
        assert abs(predicted[name] - used[name]) <= 0.15 * used[name]


NAMED = {
    "schema": 1, "dsp": 20, "layers": [
        {"d": 16, "attention": "gcn", "aggregation": "add", "k": 4, "activation": "relu", "t_in": 5, "t_out": 2,
         "t_attn": None, "t_aggr": 2, "t_act": 1, "ai": 3, "af": 6, "wi": 1, "wf": 1},
        {"d": None, "attention": "constant", "aggregation": "max", "k": 8, "activation": None, "t_in": 5, "t_out": 5,
         "t_attn": None, "t_aggr": 1, "t_act": None, "ai": 1, "af": 0, "wi": 3, "wf": 5},
    ],
}  # fmt: skip
"""A scaled relu of ten bits needs a table, and synthesis puts that table into block RAM."""


def scaled(design: Design, shape: GraphShape, scale: int) -> Accelerator:
    """A design with random weights and the same scale for every output."""
    network = random_network(design, shape, 0)
    layers = tuple(replace(layer, output_scale=scale) for layer in network.layers)
    return lower(design, replace(network, layers=layers), shape)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_block_rams_of_lowered_designs_are_exact(family: str, tmp_path: Path) -> None:
    """Includes tables of scaled activations; the first design once lacked half a block in the model."""
    pytest.importorskip("pyosys")
    cora = GraphShape(1433, 7, 3072, 256)
    named = Design.model_validate(NAMED)
    made = {f"named_{scale}": scaled(named, cora, scale) for scale in (0, 1)}
    for seed, choices in enumerate(({"attention": "gat", "t_attn": 4}, {"activation": "sigmoid", "ai": 3, "af": 6})):
        design = random_design(np.random.default_rng(seed), 2, (choices, {}))
        made[f"random_{seed}"] = scaled(design, SHAPE, 3)
    folders = {name: tmp_path / name for name in made}
    for name, accelerator in made.items():
        write_rtl(accelerator, folders[name])
    rtl = {name: folder / "rtl" for name, folder in folders.items()}
    built = {
        name: sum(count_cells(cells)["bram36"] for cells in blocks.values())
        for name, blocks in count_block_rams(rtl, family, tmp_path / "log").items()
    }
    assert built == {name: accelerator_resources(accelerator, family)["bram36"] for name, accelerator in made.items()}
    assert (built["named_0"], built["named_1"]) == (104.5, 105)
