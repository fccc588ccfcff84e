"""Random designs on random graphs: PyTorch, integer reference, C++ and RTL give the same integers."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from levels import Case, cases, check_everything, check_software, of_cpp, of_reference
from support import random_design

from fgnas.codegen.project import write_project
from fgnas.design import Design
from fgnas.hardware.geometry import GraphShape
from fgnas.hardware.lowering import lower
from fgnas.hardware.reference import linear

PARTS, EXAMPLES = 20, 11
"""Of the long version; the parts run beside each other, and each draws its smallest example first."""
QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large)


@settings(max_examples=100, deadline=None, suppress_health_check=QUIET)
@given(cases())
def test_pytorch_and_the_reference(case: Case) -> None:
    check_software(case)


def fixed_case(number: int, layers: int = 2) -> Case:
    """A case of its own for each number, the same on every machine, and small enough to build in seconds."""
    small = {"d": 12, "k": 2}
    design = random_design(np.random.default_rng(number), layers, (small,) * (layers - 1))
    return Case(design, 25, 14, 5, 40, number)


@pytest.mark.parametrize("number, layers", [(0, 3), (1, 2)])
def test_all_levels(number: int, layers: int) -> None:
    check_everything(fixed_case(number, layers))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_all_levels_on_many_designs(part: int) -> None:
    @seed(part)
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=QUIET,
        phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    @given(cases())
    def agree(case: Case) -> None:
        check_everything(case)

    agree()


def test_a_case_comes_back_from_its_file(tmp_path: Path) -> None:
    case = fixed_case(3)
    path = tmp_path / "case.json"
    path.write_text(case.to_json())
    assert Case.load(path) == case
    assert Design.load(path) == case.design


def test_a_parting_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A reference that is off by one at one place of the second layer."""
    def wrong(layer, x):
        h = linear(layer, x).copy()
        h[3, -1] += layer.index == 1
        return h

    monkeypatch.setenv("FGNAS_FAILURES", str(tmp_path))
    monkeypatch.setattr("fgnas.hardware.reference.linear", wrong)
    case = fixed_case(4)
    layers = [layer.model_copy(update={"attention": "gcn", "t_attn": None, "k": 1}) for layer in case.design.layers]
    case = dataclasses.replace(case, design=Design(schema=1, layers=tuple(layers), dsp=3))
    with pytest.raises(AssertionError, match="part in stage 1.linear at node 3, feature") as caught:
        check_software(case)
    file = re.search(r"again: python tests/levels.py (.*)$", str(caught.value))
    assert file is not None and Case.load(Path(file[1])) == case
    assert case.design.to_json() in str(caught.value)


def test_the_stages_of_the_cpp(tmp_path: Path) -> None:
    case = fixed_case(5)
    data = case.data()
    accelerator = lower(case.design, case.network(data), GraphShape.of(data), data.name)
    write_project(accelerator, data, tmp_path / "p")
    found, expected = of_cpp(accelerator, tmp_path / "p", data), of_reference(accelerator, data)
    assert set(found) == set(expected) - {"logits"}
    for stage, codes in found.items():
        np.testing.assert_array_equal(codes, expected[stage], stage)
