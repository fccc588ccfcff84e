"""Projects of imported chains: the interpreter's integers in C++ and RTL, and further starts without the loads."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from board import Simulated, loaded
from chains import ChainOfGraphs, imported_chain, random_graphs, random_operations
from pyg_models import settled

from fgnas.api import Project, UserError
from fgnas.backends.array import write_imported, write_imported_use
from fgnas.hardware.array.built import imported_on, with_room
from fgnas.hardware.array.chains import ChainArray
from fgnas.hardware.array.choosing import Room, deliverable_operations, fastest_operations
from fgnas.hardware.integer import interpreter
from fgnas.hardware.specification import Specification
from fgnas.tools.csim import run_csim
from fgnas.tools.verilator import QUICK

SEEDS = [pytest.param(seed, marks=[pytest.mark.slow] * (seed > 1)) for seed in range(1, 7)]


def exact(report: dict[str, Any]) -> tuple[int, int]:
    return report["mismatches"], report["cycles"] - report["predicted_cycles"]


@pytest.mark.parametrize("seed", SEEDS)
def test_in_hardware(seed: int, tmp_path: Path) -> None:
    """Of one to four layers, with terms, rectangular matrices and rows without entries."""
    source = random_operations(seed, 4 + seed, 1 + seed % 4, rows=12, widest=20)
    found = deliverable_operations(source, Room(16 * seed, (128, 256, 512)[seed % 3]))
    assert isinstance(found, ChainArray)
    write_imported(found, tmp_path / "p", Specification())
    cpp = run_csim(tmp_path / "p", ("-O0",))
    assert (cpp["mismatches"], cpp["failed_checks"]) == (0, 0)
    rtl = Project(tmp_path / "p").simulate(again=True)
    assert exact(rtl) == exact(rtl["again"]) == (0, 0) and rtl["phase_differences"] == 0
    assert rtl["again"]["cycles"] < rtl["cycles"]


@pytest.mark.slow
def test_another_chain_on_its_hardware(tmp_path: Path) -> None:
    host = deliverable_operations(random_operations(2, 8, 3, rows=12, widest=20), Room(32))
    write_imported(host.on(with_room(host.engine)), tmp_path / "p", Specification())
    other = imported_on(with_room(host.engine), random_operations(9, 7, 2, rows=10, widest=20))
    assert isinstance(other, ChainArray)
    write_imported_use(other, "../p", tmp_path / "use", Specification())
    assert run_csim(tmp_path / "use", ("-O0",), project=tmp_path / "p")["mismatches"] == 0
    rtl = Project(tmp_path / "use").simulate(again=True)
    assert exact(rtl) == exact(rtl["again"]) == (0, 0)


def test_what_is_loaded_again_is_said(tmp_path: Path) -> None:
    """Calls load other words each time."""
    source = random_operations(3, 8, 2, rows=12, widest=20)
    write_imported(fastest_operations(source, Room(16)), tmp_path / "p", Specification())
    with pytest.raises(UserError, match="--again starts an array that holds its network whole"):
        Project(tmp_path / "p").simulate(again=True)


def test_graphs_that_the_host_makes_ready(tmp_path: Path) -> None:
    """One start after the other in the RTL, the weights in the array from the first on."""
    data, model = random_graphs(6), settled(ChainOfGraphs(["GCN", "SAGE"], "mean", 6, 8, 2), 6)
    largest, rows = np.argsort(np.bincount(data.graph))[-4:], [[1], [4, 9], [17, 21, 30]]
    found = deliverable_operations(imported_chain(model, data, 8, largest), Room(32, 256))
    assert isinstance(found, ChainArray)
    write_imported(found, tmp_path / "p", Specification())
    assert "prepare(x, edge_index)" in (tmp_path / "p" / "README.md").read_text(encoding="utf-8")
    prepare = Project(tmp_path / "p").preparation()
    parts = [data.part(np.array(one)) for one in rows]
    starts = [prepare(part.features.toarray(), part.edge_index, part.graph) for part in parts]
    first = loaded(tmp_path / "p").regions(tmp_path / "p" / "vectors")
    answers = Simulated(tmp_path, QUICK, BeatBytes=32).run(first, *starts)
    np.testing.assert_array_equal(answers[0], found.logits())
    for one, answer in zip(rows, answers[1:], strict=True):
        network = imported_chain(model, data, 8, one)
        np.testing.assert_array_equal(answer, interpreter.run(network.integers, network.graphs))


def test_a_project_without_a_preparation_is_said(tmp_path: Path) -> None:
    write_imported(deliverable_operations(random_operations(3, 8, 2), Room(16)), tmp_path / "p", Specification())
    with pytest.raises(UserError, match=r"has no preparation.npz: encode further graphs"):
        Project(tmp_path / "p").preparation()
