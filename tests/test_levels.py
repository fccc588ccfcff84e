"""Random designs on random graphs: PyTorch, integer reference, C++ and RTL give the same integers."""

import dataclasses
import functools
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from levels import (
    PARTS,
    Case,
    Stages,
    cases,
    check_everything,
    check_part,
    check_software,
    of_reference,
    quick,
    sources,
    without_padding,
)
from support import random_accelerator, random_design, random_graph, random_network

from fgnas.backends.pipeline import write_project
from fgnas.cli import main
from fgnas.design import Design
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.reference import stages
from fgnas.hardware.pipeline.stages import traced_values
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData
from fgnas.tools.trace import first_mismatch, trace_cpp, trace_rtl

QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large)


@settings(max_examples=100, deadline=None, suppress_health_check=QUIET)
@given(cases())
def test_pytorch_and_the_reference(case: Case) -> None:
    check_software(case)


def test_a_part_depends_on_what_it_runs() -> None:
    """And on nothing else: a change elsewhere does not repeat four hours."""
    root = Path(__file__).parents[1]
    found = {path.relative_to(root).as_posix() for path in sources()}
    assert found > {"tests/levels.py", "tests/support.py", "fgnas/hardware/pipeline/reference.py",
                    "fgnas/networks/quantised.py", "fgnas/tools/csim.py", "sim/bench.sv",
                    "templates/rtl/fgnas_aggregate.sv"}  # fmt: skip
    elsewhere = ("fgnas/hardware/array/", "fgnas/report/", "fgnas/searchers/", "fgnas/networks/imported/",
                 "templates/rtl/array/")  # fmt: skip
    assert not [one for one in found if one.startswith(elsewhere)]


def fixed_case(number: int, layers: int = 2) -> Case:
    """One case per number, the same on every machine, and small enough to build in seconds."""
    small = {"d": 12, "k": 2}
    design = random_design(np.random.default_rng(number), layers, (small,) * (layers - 1))
    return Case(design, 25, 14, 5, 40, number)


@pytest.mark.parametrize("number, layers", [(0, 3), pytest.param(1, 2, marks=pytest.mark.slow)])
def test_all_levels(number: int, layers: int) -> None:
    check_everything(fixed_case(number, layers))


@pytest.mark.slow
@pytest.mark.parametrize("names, scale", [
    (("linear", "softplus"), 0), (("relu6", "leaky_relu"), 1), (("softplus", "linear"), 2),
])  # fmt: skip
def test_all_levels_of_further_activations(names: tuple[str, ...], scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results in the format of the arguments, where linear needs no table, and in another."""
    def network(self: Case, data: GraphData) -> Network:
        given = random_network(np.random.default_rng(self.seed + 1), self.design, data)
        layers = [dataclasses.replace(one, output_scale=one.value_scale + scale) for one in given.layers]
        return Network(tuple(layers), given.input_scale)

    monkeypatch.setattr(Case, "network", network)
    layers = tuple({"d": 8, "k": 2, "activation": name} for name in names)
    design = random_design(np.random.default_rng(scale), 3, layers)
    check_everything(Case(design, 25, 14, 5, 40, scale))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_all_levels_on_many_designs(part: int) -> None:
    check_part(part)


def test_a_case_comes_back_from_its_file(tmp_path: Path) -> None:
    case = fixed_case(3)
    path = tmp_path / "case.json"
    path.write_text(case.to_json())
    assert Case.load(path) == case
    assert Design.load(path) == case.design


def test_the_first_mismatch_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A reference that is off by one at one place of the second layer."""
    def wrong(accelerator, graph):
        found = stages(accelerator, graph)
        found["1.linear"][3, -1] += 1
        return found

    monkeypatch.setenv("FGNAS_FAILURES", str(tmp_path))
    monkeypatch.setattr("fgnas.hardware.pipeline.reference.stages", wrong)
    case = fixed_case(4)
    layers = [layer.model_copy(update={"attention": "gcn", "t_attn": None, "k": 1}) for layer in case.design.layers]
    case = dataclasses.replace(case, design=Design(schema=1, layers=tuple(layers), dsp=3))
    with pytest.raises(AssertionError, match="differ in stage 1.linear at node 3, feature") as caught:
        check_software(case)
    file = re.search(r"again: python tests/levels.py (.*)$", str(caught.value))
    assert file is not None and Case.load(Path(file[1])) == case
    assert case.design.to_json() in str(caught.value)


def gat_project(folder: Path, **gat: int) -> tuple[Accelerator, GraphData]:
    """Write a project that has every stage: its first layer is gat. Returns its accelerator and graph."""
    rng = np.random.default_rng(6)
    first = {"attention": "gat", "t_attn": 2, "d": 4, "k": 2, "aggregation": "add", "activation": "tanh"} | gat
    data = random_graph(rng, 12, 9, 5, 20)
    design = random_design(rng, 2, (first, {"attention": "gcn", "t_attn": None, "k": 1}))
    accelerator = random_accelerator(rng, design, data)
    write_project(accelerator, data, folder)
    return accelerator, data


@pytest.mark.parametrize("trace", [
    pytest.param(functools.partial(trace_cpp, options=("-O0",)), id="cpp", marks=pytest.mark.slow),
    pytest.param(trace_rtl, id="rtl"),
])  # fmt: skip
def test_every_stage_is_traced(trace: Callable[[Path], Stages], tmp_path: Path) -> None:
    """The trace has the reference's order and numbers, with several head groups and tiles that do not divide evenly."""
    accelerator, data = gat_project(tmp_path / "p", k=4, d=12, t_out=5, t_aggr=8)
    found, expected = without_padding(accelerator, trace(tmp_path / "p")), of_reference(accelerator, data)
    assert [*found, "logits"] == list(expected)
    assert {name.split(".")[1] for name in found} == set(traced_values())
    for stage, codes in found.items():
        np.testing.assert_array_equal(codes, expected[stage], stage)


def other_parameter(instance: str, name: str) -> Callable[[str], str]:
    """A fault in the top: one instance's parameter, plus one."""

    def change(text: str) -> str:
        place = text.rindex(f".{name}(", 0, text.index(f"  ) {instance} ("))
        return text[:place] + re.sub(r"\((-?\d+)\)", lambda match: f"({int(match[1]) + 1})", text[place:], count=1)

    return change


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


Fault = tuple[str, str, Callable[[str], str]]
FAULTS: list[Fault] = [
    ("0.linear", "fgnas_kernel.sv", other_parameter("u_layer_0", "LinearShift")),
    ("0.target_scores", "fgnas_kernel.sv", other_parameter("u_layer_0", "ScoreShift")),
    ("0.row_maximum", "fgnas_row_maximum.sv", replaced("z + (z <<< 2)", "z + (z <<< 1)")),
    ("0.aggregate", "fgnas_exponential_0.sv", replaced("9'd256;", "9'd128;")),
    ("0.activate", "fgnas_kernel.sv", replaced(".u_i(u0_tile[t])", ".u_i(u0_tile[t] + 1'b1)")),
    ("1.linear", "fgnas_kernel.sv", other_parameter("u_layer_1", "LinearShift")),
    ("1.aggregate", "fgnas_kernel.sv", other_parameter("u_layer_1", "AggregateShift")),
    ("1.head_mean", "fgnas_pkg.sv", replaced("LogitExtraBits = 4;", "LogitExtraBits = 5;")),
]
"""The stage that must be named, and the file of the RTL with the change that brings the fault in."""


def bring_in(fault: Fault, folder: Path) -> None:
    path = folder / "rtl" / fault[1]
    before = path.read_text()
    path.write_text(fault[2](before))
    assert path.read_text() != before


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Stages]:
    """A project, and what its stages produce."""
    folder = tmp_path_factory.mktemp("sound") / "p"
    gat_project(folder)
    return folder, trace_cpp(folder, quick())


QUICK_FAULTS = ("0.row_maximum",)


@pytest.mark.parametrize("fault", [
    pytest.param(fault, marks=[] if fault[0] in QUICK_FAULTS else pytest.mark.slow, id=fault[0]) for fault in FAULTS
])  # fmt: skip
def test_a_fault_in_the_rtl_is_named(fault: Fault, sound: tuple[Path, Stages], tmp_path: Path) -> None:
    project, expected = sound
    copy = Path(shutil.copytree(project, tmp_path / "p"))
    bring_in(fault, copy)
    mismatch = first_mismatch(trace_rtl(copy), expected)
    assert mismatch is not None and mismatch.stage == fault[0]
    codes = expected[mismatch.stage]
    assert codes[mismatch.node, mismatch.feature] == mismatch.expected != mismatch.found


@pytest.mark.slow
def test_the_command_names_stage_and_node(
    sound: tuple[Path, Stages], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(sound[0], tmp_path / "p"))
    bring_in(FAULTS[-1], copy)
    assert main(["sim", str(copy)]) == 1
    out = capsys.readouterr().out
    assert re.search(r"^first wrong stage: stage 1\.head_mean at node \d+, feature \d+: -?\d+, not -?\d+; ", out, re.M)


@pytest.mark.slow
def test_a_fault_in_the_rtl_gives_a_case_that_reproduces_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The message names the design's file, and running that file by hand fails with the same message."""
    fault = ("1.linear", "fgnas_kernel.sv", other_parameter("u_layer_1", "LinearShift"))

    def write_faulty(accelerator: Accelerator, data: GraphData, folder: Path) -> None:
        write_project(accelerator, data, folder)
        bring_in(fault, folder)

    monkeypatch.setenv("FGNAS_FAILURES", str(tmp_path))
    monkeypatch.setattr("levels.write_project", write_faulty)
    case = fixed_case(4)
    with pytest.raises(AssertionError, match="RTL and the integer reference differ in stage 1.linear at") as caught:
        check_everything(case)
    design = re.search(r"^design: (.*)$", str(caught.value), re.MULTILINE)
    assert design is not None and Design.from_json(design[1], "message") == case.design
    file = re.search(r"again: python tests/levels.py (.*)$", str(caught.value))
    assert file is not None
    with pytest.raises(AssertionError) as again:
        check_everything(Case.load(Path(file[1])))
    assert str(again.value) == str(caught.value)
