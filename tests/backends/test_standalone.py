"""Projects on a machine without fgnas: make, g++ and Verilator alone check them, and find what is wrong."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from arrays import random_source
from point_clouds import write_clouds
from support import random_accelerator, random_design, random_graph, random_network

from fgnas.backends import standalone
from fgnas.backends.array import write_calls
from fgnas.backends.array import write_project as write_array
from fgnas.backends.pipeline import write_project as write_pipeline
from fgnas.cli import main
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.calls import fit_calls
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.array.placing import fit
from fgnas.hardware.shape import GraphShape
from fgnas.networks.points.operations import TAILS, Aggregate, Combine, PointNetwork, Sample
from fgnas.networks.points.training import Recipe, train
from fgnas.systems.hgnas.delivery import Delivered, saved
from fgnas.tasks.points import load_graphs
from fgnas.tools.find import find_verilator


def project(kind: str, folder: Path) -> Path:
    """A project of a small random design; it is moved, so that no path of its making stays in it."""
    rng = np.random.default_rng(3)
    data = random_graph(rng, 24, 8, 3, 60)
    choices = {"d": 4, "k": 2, "attention": "gat", "t_attn": 2}, {"attention": "gcn", "t_attn": None, "k": 1}
    design = random_design(rng, 2, choices)
    if kind == "pipeline":
        write_pipeline(random_accelerator(rng, design, data), data, folder / "made")
    else:
        source = array_network(design, random_network(rng, design, data), GraphShape.of(data))
        write_array(fit(source, data, Arrangement(4)), data, folder / "made")
    shutil.move(folder / "made", folder / "moved")
    return folder / "moved"


def make(project: Path, target: str, *variables: str) -> subprocess.CompletedProcess[str]:
    """Make a target with g++, Verilator and nothing else in the environment: no Python module is found."""
    tools = project.parent / "tools"
    tools.mkdir(exist_ok=True)
    verilator = tools / "verilator"
    if not verilator.exists():
        # Verilator finds its own files beside its program, or by this variable.
        verilator.write_text(f'#!/bin/sh\nexec "{find_verilator().path.resolve()}" "$@"\n')
        verilator.chmod(0o755)
    environment = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(project.parent)}
    environment |= {name: os.environ[name] for name in ("OBJCACHE", "VERILATOR_ROOT") if name in os.environ}
    command = ["make", target, *variables]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", ["pipeline", pytest.param("array", marks=pytest.mark.slow)])
def test_a_project_is_checked_without_fgnas(kind: str, tmp_path: Path) -> None:
    """All logits in C++ and RTL, the predicted cycles; a wrong logit and a wrong prediction are found."""
    here = project(kind, tmp_path)
    cpp = make(here, "csim")
    assert cpp.returncode == 0, cpp.stdout + cpp.stderr
    assert "mismatches 0 failed_checks 0" in cpp.stdout
    rtl = make(here, "sim")
    assert rtl.returncode == 0, rtl.stdout + rtl.stderr
    assert "mismatches 0 status 0x0 protocol_errors 0" in rtl.stdout
    shutil.copytree(here / "vectors", here / "other" / "vectors")
    shutil.copytree(here / "report", here / "other" / "report")
    logits = bytearray((here / "vectors" / "logits.bin").read_bytes())
    logits[4] ^= 1
    (here / "other" / "vectors" / "logits.bin").write_bytes(logits)
    for target in ("csim", "sim"):
        wrong = make(here, target, "VECTORS=other/vectors")
        assert wrong.returncode != 0 and "mismatches 1 " in wrong.stdout, wrong.stdout + wrong.stderr
    shutil.copy(here / "vectors" / "logits.bin", here / "other" / "vectors")
    price = here / "other" / "report" / "price.json"
    price.write_text(price.read_text().replace('"latency_cycles": ', '"latency_cycles": 1'))
    late = make(here, "sim", "VECTORS=other/vectors")
    assert late.returncode != 0 and "mismatches 0 " in late.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["calls", "points"])
def test_other_projects_are_checked_without_fgnas(kind: str, tmp_path: Path) -> None:
    """A network that runs in several calls, each with vectors of its own, and one for points."""
    if kind == "calls":
        rng = np.random.default_rng(6)
        data = random_graph(rng, 60, 20, 6, 150)
        source = random_source(rng, 2, data, ("add", "max"))
        write_calls(fit_calls(source, data, 4, 1, 128), tmp_path / "made")
        starts = len(list((tmp_path / "made" / "calls").iterdir()))
        assert starts > 1
    else:
        network = PointNetwork((Sample("nearest"), Aggregate("max", "target-relative"), Combine(16)), TAILS["small"])
        data, starts = load_graphs(write_clouds(tmp_path)), 1
        model = train(network, data, Recipe(4), 0)
        saved(Delivered(network, model.state_dict(), data.name, data.fingerprint), tmp_path / "net.json")
        words = ["--multipliers", "32", "--beat-bits", "128", "--out", str(tmp_path / "made"), "-q"]
        assert main(["hls", str(tmp_path / "net.json"), *words]) == 0
    here = Path(shutil.move(tmp_path / "made", tmp_path / "moved"))
    right = {"csim": "mismatches 0 failed_checks 0", "sim": "mismatches 0 status 0x0 protocol_errors 0"}
    for target, found in right.items():
        done = make(here, target)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count(found) == starts


def test_without_headers_make_asks_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standalone, "open_headers", lambda: None)
    here = project("pipeline", tmp_path)
    assert not (here / "include").exists()
    done = make(here, "csim")
    assert done.returncode != 0 and "give its folder: make csim AP_TYPES=" in done.stderr
