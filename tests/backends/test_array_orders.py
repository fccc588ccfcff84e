"""Layers that gather first, in C++ and in RTL: the interpreter's logits, and as many cycles as predicted."""

from pathlib import Path

import numpy as np
import pytest
from levels import quick
from support import random_design, random_graph, random_network

from fgnas.backends.array import write_project
from fgnas.design import Design
from fgnas.hardware.array import reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.kind import MultiplierArray
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.placing import fit
from fgnas.hardware.integer.quantised import integer_logits
from fgnas.hardware.shape import GraphShape
from fgnas.networks.calibration import tied
from fgnas.tasks.nodes import GraphData
from fgnas.tools.csim import run_csim
from fgnas.tools.simulate import run_simulation


def gathering(seed: int) -> tuple[ArrayAccelerator, GraphData]:
    """A hidden layer that widens and a last one whose heads are averaged, of both coefficients; the machine's logits
    are the interpreter's."""
    rng = np.random.default_rng(seed)
    data = random_graph(rng, int(rng.integers(20, 50)), 12, 3 + seed, 90)
    of_last, aggregation = ("gcn", "constant")[seed % 2], ("add", "mean")[seed // 2 % 2]
    design = random_design(rng, 3, (
        {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1, "d": 8},
        {"attention": "gcn", "aggregation": "mean", "t_attn": None, "k": 2, "d": 12},
        {"attention": of_last, "aggregation": aggregation, "t_attn": None, "k": 4}))  # fmt: skip
    first, *others = design.layers
    gathered = (first, *(one.model_copy(update={"order": "gather-first"}) for one in others))
    design = Design.from_dict(design.model_copy(update={"layers": gathered}).to_dict())
    network = tied(design, random_network(rng, design, data))
    array = fit(
        array_network(design, network, GraphShape.of(data)), data, Arrangement((2, 4)[seed % 2], (1, 2), beat_bits=128)
    )
    wanted = integer_logits(design, network, data, MultiplierArray.rounding)
    assert np.array_equal(reference.run(encode_array(array, data)), wanted)
    return array, data


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_cpp(seed: int, tmp_path: Path) -> None:
    array, data = gathering(seed)
    write_project(array, data, tmp_path / "p")
    found = run_csim(tmp_path / "p", quick())
    assert (found["mismatches"], found["failed_checks"]) == (0, 0), found


def test_rtl(tmp_path: Path) -> None:
    array, data = gathering(1)
    write_project(array, data, tmp_path / "p")
    found = run_simulation(tmp_path / "p", runs=2)
    assert (found["mismatches"], found["status"], found["protocol_errors"]) == (0, 0, 0), found
    assert (found["cycle_difference"], found["phase_differences"]) == (0, 0), found
