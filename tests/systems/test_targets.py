"""A search target of another package, from the page alone: found, run, killed, resumed, shown."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from killing import killed, lines, same

from fgnas.errors import UserError
from fgnas.systems.fgnas import Options, compose, target
from fgnas.systems.fgnas.target import find_target

ROOT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("fgnas")
SEARCH = ("search", "--target", "frugal", "--objectives", "val,lut_ms", "--dataset", "digits", "--epochs", "2",
          "--children", "40", "--leaders", "2", "--retrain-seeds", "1", "--retrain-epochs", "2", "--latency-ms", "20",
          "--seed", "4", "--quiet")  # fmt: skip


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The page's module with its entry point, as an installed package has it."""
    page = (ROOT / "docs" / "extending.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    entry = re.search(r'^\[project\.entry-points\."(fgnas\.targets)"\]\n(frugal) = "(\S+)"$', page, re.MULTILINE)
    assert entry is not None
    site = tmp_path / "site"
    facts = site / "frugal-1.0.dist-info"
    facts.mkdir(parents=True)
    (site / "frugal.py").write_text(next(block for block in blocks if "class Frugal" in block))
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: frugal\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[{entry[1]}]\n{entry[2]} = {entry[3]}\n")
    return site


def test_an_installed_target_is_found_by_its_name(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="unknown target 'frugal'; known: any, array,"):
        find_target("frugal")
    monkeypatch.syspath_prepend(package)
    assert "frugal" in target.names() and find_target("frugal").__name__ == "Frugal"
    sys.modules.pop("frugal", None)


def test_it_runs_is_killed_resumed_and_shown(package: Path, tmp_path: Path) -> None:
    """Twice the same bytes, once of a run that was killed; every candidate has 8 bits, and the cost is on the page."""
    environment = {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}

    def fgnas(*words: str) -> subprocess.CompletedProcess[str]:
        command = [PROGRAM, *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)

    fgnas(*SEARCH, "--run", "whole", "--workers", "1")
    whole, cut = tmp_path / "runs" / "whole", tmp_path / "runs" / "cut"
    # `env` hands the environment to a process that is killed itself, not through a shell.
    command = ["env", "-C", str(tmp_path), f"PYTHONPATH={environment['PYTHONPATH']}", "OMP_NUM_THREADS=1",
               PROGRAM, *SEARCH, "--run", "cut", "--workers", "1"]  # fmt: skip
    killed(command, cut, lambda: lines(cut / "trials.jsonl") >= 10)
    fgnas("search", "--run", "cut", "--resume", "--workers", "2", "--quiet")
    same(cut, whole, ("trials.jsonl", "leaders.json", "best.json", "pareto.json"))
    best = json.loads((whole / "best.json").read_text())
    assert {layer["af"] for layer in best["design"]["layers"]} == {5}
    costs = best["costs"]
    assert costs["lut_ms"] == pytest.approx(costs["lut"] * costs["latency_cycles"] / 1e5)
    trials = [json.loads(line) for line in (whole / "trials.jsonl").read_text().splitlines()]
    assert len(trials) == 40 and all(np.isfinite(trial["costs"]["lut_ms"]) for trial in trials)
    fgnas("report", "whole")
    assert "LUTs times milliseconds" in (whole / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ("array", "array-lut", "any"))
def test_an_array_is_priced_in_all_that_limits_it(name: str) -> None:
    """Each limit is on a cost that the target tells, and prices of architectures judge it."""
    parts = compose(Options(dataset="digits", target=name, dsp=64, latency_ms=20.0))
    assert {limit.cost for limit in parts.limits} <= {cost.name for cost in parts.target.costs}
    rows = parts.space.draw(20, np.random.default_rng(0))
    assert set(parts.target.price(rows)) == {cost.name for cost in parts.target.costs}
    assert parts.feasible(rows).any()
