"""The PYNQ driver on a simulated board, and the project's Makefile with stand-ins for Vivado and Vitis."""

import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from board import Simulated
from support import random_accelerator, random_design, random_graph, random_network

import fgnas
from fgnas.backends.pipeline import write_project
from fgnas.hardware import wire
from fgnas.hardware.pipeline import reference
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.encoding import edge_beats, encode, feature_beats
from fgnas.hardware.pipeline.kind import FittedPipeline
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData
from fgnas.tools.verilator import QUICK, THOROUGH, Effort

WIDTH_IN, CLASSES = 9, 11


def regions(accelerator: Accelerator, data: GraphData) -> dict[str, Any]:
    """The driver's arguments for a graph."""
    graph = encode(accelerator, data)
    return {"nodes": graph.nodes, "features": feature_beats(accelerator, graph), "edges": edge_beats(graph)}


class Pipeline(Simulated):
    """A pipeline's project whose driver runs on a simulated board."""

    def __init__(self, accelerator: Accelerator, data: GraphData, folder: Path, effort: Effort) -> None:
        self.accelerator, self.data = accelerator, data
        write_project(accelerator, data, folder / "p")
        super().__init__(folder, effort)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """A gat layer and a gcn layer on a random graph."""
    rng = np.random.default_rng(7)
    gat = {"d": 4, "k": 2, "attention": "gat", "aggregation": "mean", "t_attn": 2, "t_aggr": 8}
    design = random_design(rng, 2, (gat, {"k": 2, "attention": "gcn", "aggregation": "add", "t_attn": None}))
    data = random_graph(rng, 40, WIDTH_IN, CLASSES, 90)
    accelerator = lower(design, random_network(rng, design, data), GraphShape.of(data))
    return Pipeline(accelerator, data, tmp_path_factory.mktemp("board"), QUICK)


def expected(accelerator: Accelerator, data: GraphData) -> Any:
    return reference.run(accelerator, encode(accelerator, data))


def test_the_driver_on_a_simulated_board(small: Pipeline) -> None:
    """Logits are right for several graphs and runs; status codes raise errors; the kernel works after an error."""
    graph = regions(small.accelerator, small.data)
    other = random_graph(np.random.default_rng(8), 17, WIDTH_IN, CLASSES, 30)
    nothing = {"nodes": 0, "features": np.zeros((0, 16), np.uint8), "edges": np.zeros((0, 16), np.uint8)}
    far = graph | {"edges": np.full_like(graph["edges"], 255)}
    short = graph | {"features": graph["features"][:20]}
    answers = small.run(graph, regions(small.accelerator, other), nothing, far, graph, short, graph)
    np.testing.assert_array_equal(answers[0], expected(small.accelerator, small.data))
    np.testing.assert_array_equal(answers[1], expected(small.accelerator, other))
    assert answers[0].dtype == np.int16 and answers[2].shape == (0, CLASSES)
    assert answers[3][0] == "KernelError" and "source out of range" in answers[3][1]
    assert answers[5][0] == "KernelError" and "stream too short" in answers[5][1]
    np.testing.assert_array_equal(answers[4], answers[0])
    np.testing.assert_array_equal(answers[6], answers[0])


def test_a_kernel_that_does_not_end(small: Pipeline) -> None:
    """It is stopped, so that its buffers may be freed (sim/board.py asserts it), and the run behind it is right."""
    graph = regions(small.accelerator, small.data)
    answer, logits = small.run(graph, graph, timeouts_s=[0.0])
    assert answer == ("TimeoutError", "the kernel did not end within 0.0 s: it was stopped")
    np.testing.assert_array_equal(logits, expected(small.accelerator, small.data))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_whole_cora_on_a_simulated_board(cora: GraphData, tmp_path: Path) -> None:
    rng = np.random.default_rng(15)
    first = {"d": 8, "k": 1, "attention": "gcn", "aggregation": "add", "t_in": 5, "t_out": 4, "t_aggr": 8, "t_act": 4,
             "t_attn": None}  # fmt: skip
    last = {"k": 1, "attention": "gcn", "aggregation": "mean", "t_in": 4, "t_out": 4, "t_aggr": 8, "t_attn": None}
    accelerator = random_accelerator(rng, random_design(rng, 2, (first, last)), cora)
    board = Pipeline(accelerator, cora, tmp_path, THOROUGH)
    (logits,) = board.run(regions(accelerator, cora))
    assert logits.shape == (2708, 7)
    np.testing.assert_array_equal(logits, expected(accelerator, cora))


# the driver alone


class Registers:
    """A kernel that finishes immediately and returns a status."""

    status = 0

    def write(self, offset: int, value: int) -> None:
        pass

    def read(self, offset: int) -> int:
        return self.status if offset == 0x58 else 0b110


class Buffer(np.ndarray):
    device_address = 4096

    def flush(self) -> None:
        pass

    def invalidate(self) -> None:
        pass

    def freebuffer(self) -> None:
        pass


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Accelerator, GraphData]:
    rng = np.random.default_rng(3)
    data = random_graph(rng, 12, WIDTH_IN, CLASSES, 20)
    accelerator = random_accelerator(rng, random_design(rng, 2), data)
    folder = tmp_path_factory.mktemp("driver") / "p"
    write_project(accelerator, data, folder)
    return folder, accelerator, data


@pytest.fixture
def driver(project, monkeypatch) -> Any:
    pynq: Any = types.ModuleType("pynq")
    pynq.Overlay = lambda bitstream: types.SimpleNamespace(fgnas_top_0=Registers())
    pynq.allocate = lambda shape, dtype: np.zeros(shape, dtype).view(Buffer)
    monkeypatch.setitem(sys.modules, "pynq", pynq)
    spec = importlib.util.spec_from_file_location("driver", project[0] / "driver.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WRONG = {
    "dtype of features": ({"features": lambda r: r.astype(np.int8)}, TypeError, "features is int8, not uint8"),
    "dtype of edges": ({"edges": lambda r: r.astype(float)}, TypeError, "edges is float64"),
    "a list": ({"features": lambda r: r.tolist()}, TypeError, "features is a list"),
    "words": ({"features": lambda r: r.view(np.uint16)}, TypeError, "uint16"),
    "flat": ({"features": lambda r: r.ravel()}, ValueError, r"not \[beats, 16\]"),
    "too few edges": ({"edges": lambda r: r[:1]}, ValueError, "edges has 1 beats, not at least"),
    "too many nodes": ({"nodes": lambda n: 1025}, ValueError, "nodes is 1025, the kernel takes 0 to 1024"),
    "below zero": ({"nodes": lambda n: -1}, ValueError, "nodes is -1"),
    "half a node": ({"nodes": lambda n: 1.5}, TypeError, "integer"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_sizes_and_dtypes_are_refused(project, driver, case) -> None:
    change, kind, message = WRONG[case]
    kernel, arguments = driver.Kernel("x.bit"), driver.regions(project[0] / "vectors")
    with pytest.raises(kind, match=message):
        kernel.run(**{name: change.get(name, lambda value: value)(value) for name, value in arguments.items()})


@pytest.mark.parametrize("weights", [np.zeros((3, 16), np.uint8), np.zeros((3, 8), np.int16), "weights.npz"])
def test_wrong_weights_are_refused(driver, weights) -> None:
    with pytest.raises((ValueError, TypeError), match="weights"):
        driver.Kernel("x.bit", weights=weights)


@pytest.mark.parametrize("name", wire.STATUS_BITS)
def test_every_status_is_raised_by_name(project, driver, monkeypatch, name) -> None:
    monkeypatch.setattr(Registers, "status", 1 << wire.STATUS_BITS[name])
    kernel = driver.Kernel("x.bit")
    with pytest.raises(driver.KernelError, match=name.replace("_", " ")) as caught:
        kernel.run(**driver.regions(project[0] / "vectors"))
    assert caught.value.status == 1 << wire.STATUS_BITS[name]


class Hung(Registers):
    """A kernel that is idle until it is started, and then never again."""

    def __init__(self) -> None:
        self.written: list[tuple[int, int]] = []

    def write(self, offset: int, value: int) -> None:
        self.written.append((offset, value))

    def read(self, offset: int) -> int:
        return 0 if (0, wire.START) in self.written else wire.IDLE


def test_the_buffers_of_a_kernel_that_does_not_stop_are_kept(project, driver, monkeypatch) -> None:
    """The driver tells it to stop, and frees nothing, neither then nor when it is closed."""
    freed = []
    monkeypatch.setattr(Buffer, "freebuffer", lambda self: freed.append(self))
    monkeypatch.setattr(driver, "STOPS_WITHIN_S", 0.0)
    kernel = driver.Kernel("x.bit")
    kernel._registers = Hung()
    with pytest.raises(TimeoutError, match="does not stop, either, and its buffers are kept"):
        kernel.run(**driver.regions(project[0] / "vectors"), timeout_s=0.0)
    assert (0, wire.STOP) in kernel._registers.written
    with pytest.raises(TimeoutError, match="load the bitstream again"):
        kernel.close(0.0)
    assert freed == []


def test_a_kernel_at_work_is_left_alone(project, driver, monkeypatch) -> None:
    monkeypatch.setattr(Registers, "read", lambda self, offset: 0)
    with pytest.raises(RuntimeError, match="one run at a time"):
        driver.Kernel("x.bit").run(**driver.regions(project[0] / "vectors"))


def test_regions_of_the_api_are_those_of_the_vectors(project, driver) -> None:
    folder, accelerator, data = project
    fitted = FittedPipeline(accelerator, Network(()))
    made = fgnas.Accelerator(fgnas.Design(accelerator.design), fitted, data).regions()
    np.savez(folder.parent / "graph.npz", **made)
    found = driver.regions(folder / "vectors")
    with np.load(folder.parent / "graph.npz") as saved:
        assert set(saved.files) == set(found)
        for name in saved.files:
            np.testing.assert_array_equal(saved[name], found[name])
        driver.Kernel("x.bit").run(**saved)


def test_the_driver_without_a_bitstream_says_how_to_call_it(project) -> None:
    run = subprocess.run([sys.executable, str(project[0] / "driver.py")], capture_output=True, text=True, check=False)
    assert run.returncode == 2 and run.stderr.startswith("usage: driver.py BITSTREAM")


# the Makefile

STANDS_IN = """#!/usr/bin/env python3
import pathlib, re, sys
config = pathlib.Path(sys.argv[sys.argv.index("--config") + 1]).read_text()
pathlib.Path("called.txt").write_text(" ".join(sys.argv[1:]) + "\\n" + config)
target = re.findall(r"^package.output.file=(.*)$", config, re.M)
if "broken" not in pathlib.Path.cwd().name:
    pathlib.Path(target[-1]).write_text("made")
"""


def make(folder: Path, target: str, path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(["make", target], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def stand_in(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("target, file", [("xo", "fgnas_top.xo"), ("ip", "fgnas_top.zip")])
def test_kernel_object_and_ip_from_the_rtl(project, tmp_path, target, file) -> None:
    folder, _, _ = project
    stand_in(tmp_path, "vivado", f'#!/bin/sh\necho "$@" >called.txt\necho made >build/rtl/{file}\n')
    assert make(folder, "clean", tmp_path).returncode == 0
    run = make(folder, target, tmp_path)
    assert run.returncode == 0, run.stderr
    called = (folder / "called.txt").read_text().split()
    assert called[-4:] == ["-source", "package_rtl.tcl", "-tclargs", target] and "-mode batch" in " ".join(called)
    assert "is up to date" in make(folder, f"build/rtl/{file}", tmp_path).stdout
    stand_in(tmp_path, "vivado", "#!/bin/sh\nexit 0\n")
    (folder / "build" / "rtl" / file).unlink()
    assert make(folder, target, tmp_path).returncode == 2, "a tool that makes nothing has failed"


@pytest.mark.parametrize("target, file", [("xo", "fgnas_top.xo"), ("ip", "fgnas_top.zip")])
def test_kernel_object_and_ip_from_the_cpp(project, tmp_path, target, file) -> None:
    folder, _, _ = project
    for tool in ("v++", "vitis-run"):
        stand_in(tmp_path, tool, STANDS_IN)
    assert make(folder, "clean", tmp_path).returncode == 0
    run = make(folder, f"{target}-hls", tmp_path)
    assert run.returncode == 0, run.stderr
    assert (folder / "build" / "hls" / file).read_text() == "made"
    called = (folder / "called.txt").read_text().splitlines()
    assert called[0].startswith("-c --mode hls --config ")
    own = (folder / "hls_config.cfg").read_text().splitlines()
    changed = {
        "xo": {"flow_target=vitis", "package.output.format=xo"}, "ip": {"flow_target=vivado"},
    }[target]  # fmt: skip
    added = {"package.output.syn=true", f"package.output.file={folder}/build/hls/{file}"}
    assert changed <= set(called[1:]) and set(called[1:]) - set(own) <= changed | added
    assert added <= set(called[1:])
    assert "is up to date" in make(folder, f"build/hls/{file}", tmp_path).stdout


@pytest.mark.parametrize("target, tool", [("xo", "vivado"), ("ip", "vivado"), ("xo-hls", "v++"), ("ip-hls", "v++")])
def test_without_the_tool_make_says_what_is_missing(project, tmp_path, target, tool) -> None:
    assert make(project[0], "clean", tmp_path).returncode == 0
    run = make(project[0], target, tmp_path)
    assert run.returncode == 2 and run.stderr.startswith(tool) and "source settings64.sh" in run.stderr


def test_the_older_tool_makes_the_ip(project, tmp_path) -> None:
    (tmp_path / "vitis_hls").write_text(
        '#!/bin/sh\ntest "$FGNAS_STEP" = csynth || exit 1\n'
        "mkdir -p build_vitis/solution/impl && echo ip >build_vitis/solution/impl/export.zip\n"
    )
    (tmp_path / "vitis_hls").chmod(0o755)
    assert make(project[0], "clean", tmp_path).returncode == 0
    assert make(project[0], "ip-hls", tmp_path).returncode == 0
    assert (project[0] / "build" / "hls" / "fgnas_top.zip").read_text() == "ip\n"
