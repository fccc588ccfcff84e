"""The C++ simulation finds every error, and reports in one line why it cannot run."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from fgnas.backends.pipeline import write_project
from fgnas.design import Design, Layer
from fgnas.errors import UserError
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.network import LayerParameters, Network
from fgnas.tasks.nodes import GraphData
from fgnas.tools.csim import run_csim


@pytest.fixture(scope="module")
def compiled(four_nodes: GraphData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of one layer on four nodes, simulated once."""
    layer = Layer(
        d=None, attention="constant", aggregation="add", k=1, activation=None, t_in=1, t_out=2, t_attn=None,
        t_aggr=2, t_act=None, ai=3, af=2, wi=2, wf=2,
    )  # fmt: skip
    weights = LayerParameters(np.ones((3, 1, 2), np.float32), np.zeros(2, np.float32))
    accelerator = lower(Design(schema=1, layers=(layer,), dsp=0), Network((weights,)), GraphShape.of(four_nodes))
    folder = tmp_path_factory.mktemp("csim") / "project"
    write_project(accelerator, four_nodes, folder)
    run_csim(folder)
    return folder


@pytest.fixture
def project(compiled: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may damage; its binary is still good."""
    return Path(shutil.copytree(compiled, tmp_path / "project"))


def test_report(project: Path) -> None:
    before = (project / "build" / "csim" / "csim").stat().st_mtime_ns
    report = run_csim(project)
    assert (report["nodes"], report["logits"], report["mismatches"], report["failed_checks"]) == (4, 8, 0, 0)
    assert report["first_mismatch"] is None
    assert json.loads((project / "report" / "csim.json").read_text()) == report
    assert (project / "build" / "csim" / "csim").stat().st_mtime_ns == before, "compiled again"


def test_a_wrong_golden_logit_is_found_and_named(project: Path) -> None:
    path = project / "vectors" / "logits.bin"
    logits = np.frombuffer(path.read_bytes(), "<i2").reshape(4, 8).copy()
    logits[2, 1] += 1
    path.write_bytes(logits.tobytes())
    report = run_csim(project)
    assert report["mismatches"] == 1
    assert "node 2 class 1" in report["first_mismatch"]


def test_a_wrong_input_is_found(project: Path) -> None:
    path = project / "vectors" / "edges.bin"
    data = bytearray(path.read_bytes())
    data[0] = 3  # node 0 hears from node 3 in place of itself
    path.write_bytes(bytes(data))
    assert run_csim(project)["mismatches"] > 0


def test_changed_source_is_compiled_again(project: Path) -> None:
    path = project / "src" / "head_mean.h"
    path.write_text(path.read_text().replace("+ offset)", "+ offset + 1)"))
    assert run_csim(project)["mismatches"] == 8


@pytest.mark.parametrize("name", ["vectors.json", "parameters.bin", "features.bin", "edges.bin", "logits.bin"])
def test_a_missing_vector_file(project: Path, name: str) -> None:
    (project / "vectors" / name).unlink()
    with pytest.raises(UserError, match=f"{name} is missing; write the project again"):
        run_csim(project)


def test_a_short_vector_file(project: Path) -> None:
    path = project / "vectors" / "logits.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match=r"logits.bin holds 63 bytes, not 64"):
        run_csim(project)


def test_no_project(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a generated project"):
        run_csim(tmp_path)


def test_no_compiler(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match=r"g\+\+ is not on PATH"):
        run_csim(project)


def test_code_that_does_not_compile(project: Path) -> None:
    (project / "src" / "types.h").write_text("#error damaged\n")
    with pytest.raises(UserError, match="does not compile .*compile.log"):
        run_csim(project)


def test_a_crash_names_the_log(project: Path) -> None:
    path = project / "tb" / "testbench.cpp"
    path.write_text("#include <cstdlib>\nint main() { std::abort(); }\n")
    with pytest.raises(UserError, match=r"crashed \(exit code -6\); see .*csim.log"):
        run_csim(project)
