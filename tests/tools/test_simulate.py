"""The RTL against the integer reference and the latency model: small graphs first, then the whole of Cora."""

import io
import json
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from support import Choices, late_rows, random_accelerator, random_design, random_graph

from fgnas import progress
from fgnas.backends.pipeline import price as project_price
from fgnas.backends.pipeline import write_project
from fgnas.cli import main
from fgnas.errors import UserError
from fgnas.hardware.devices import find_device, limits_of
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.latency import ASK_CYCLES, Workload, timeline
from fgnas.hardware.specification import Specification
from fgnas.hardware.timeline import Timeline
from fgnas.tasks.nodes import GraphData
from fgnas.tools import simulate
from fgnas.tools.simulate import COUPLINGS, run_couplings, run_other_rtl, run_simulation
from fgnas.tools.verilator import read_sources

CASES: list[tuple[Choices, Choices]] = [
    ({"d": 12, "k": 2, "attention": "gcn", "aggregation": "add", "t_in": 5, "t_out": 3, "t_aggr": 4, "t_act": 5},
     {"k": 4, "attention": "constant", "aggregation": "mean", "t_in": 3, "t_out": 5, "t_aggr": 2}),
    ({"d": 4, "k": 1, "attention": "constant", "aggregation": "max", "t_in": 1, "t_out": 5, "t_aggr": 8, "t_act": 1,
      "activation": "tanh"},
     {"k": 1, "attention": "gcn", "aggregation": "mean", "t_in": 5, "t_out": 1, "t_aggr": 8}),
    ({"d": 4, "k": 16, "attention": "gcn", "aggregation": "mean", "t_in": 2, "t_out": 4, "t_aggr": 1, "t_act": 3},
     {"k": 16, "attention": "gcn", "aggregation": "max", "t_in": 4, "t_out": 2, "t_aggr": 4}),
]  # fmt: skip


def assert_right(accelerator, data: GraphData, folder: Path, **options: int) -> dict:
    write_project(accelerator, data, folder)
    report = run_simulation(folder, **options)
    assert report["mismatches"] == 0, report
    assert report["protocol_errors"] == 0
    assert report["logits"] == data.nodes * data.classes
    return report


def times_of(accelerator, data: GraphData, beat_cycles: float = 1.0) -> Timeline:
    layers = [layer.geometry for layer in accelerator.layers]
    return timeline(layers, Workload.of(data), beat_cycles=beat_cycles)


def assert_as_predicted(report: dict, accelerator, data: GraphData, folder: Path) -> None:
    """Starts of phases, rows entering each stage and the end all happen in the predicted cycle."""
    times = times_of(accelerator, data)
    assert report["cycles"] == report["predicted_cycles"] == times.cycles
    assert report["phase_cycles"] == [phase.begin + ASK_CYCLES for phase in times.phases]
    assert late_rows(folder, times) == ""


@pytest.mark.parametrize("case", [0, *(pytest.param(case, marks=pytest.mark.slow) for case in range(1, len(CASES)))])
def test_small_graphs(case: int, tmp_path: Path) -> None:
    """Logits and cycles are exact; a second run without a reset gives the same."""
    rng = np.random.default_rng(case)
    data = random_graph(rng, 40, 50, 11 - 3 * case, 120)
    accelerator = random_accelerator(rng, random_design(rng, 2, tuple(c | {"t_attn": None} for c in CASES[case])), data)
    report = assert_right(accelerator, data, tmp_path / "p", runs=2)
    assert_as_predicted(report, accelerator, data, tmp_path / "p")


def _three_layers() -> tuple[Accelerator, GraphData]:
    rng = np.random.default_rng(11)
    data = random_graph(rng, 30, 20, 3, 70)
    return random_accelerator(rng, random_design(rng, 3), data), data


def test_three_layers_and_a_stalling_memory(tmp_path: Path) -> None:
    accelerator, data = _three_layers()
    exact = assert_right(accelerator, data, tmp_path / "p")
    assert_as_predicted(exact, accelerator, data, tmp_path / "p")
    assert assert_right(accelerator, data, tmp_path / "p", stall_seed=5)["cycles"] > exact["cycles"]
    assert late_rows(tmp_path / "p", times_of(accelerator, data)).endswith("cycles late")
    assert "cycle_difference" not in json.loads((tmp_path / "p" / "report" / "sim.json").read_text())


@pytest.mark.slow
def test_every_coupling_of_the_write_channels(tmp_path: Path) -> None:
    accelerator, data = _three_layers()
    write_project(accelerator, data, tmp_path / "p")
    coupled = run_couplings(tmp_path / "p", 1)
    assert (coupled["runs"], coupled["mismatches"], coupled["hangs"]) == (len(COUPLINGS), 0, 0)
    assert coupled == json.loads((tmp_path / "p" / "report" / "sim_couplings.json").read_text())
    by_name = coupled["couplings"]
    assert len({found["most_cycles"] for found in by_name.values()}) > 3, "the memories behave alike"
    assert by_name["slow_reads"]["least_cycles"] > by_name["address_first"]["most_cycles"]


def _tiny_project(folder: Path) -> Path:
    rng = np.random.default_rng(17)
    data = random_graph(rng, 6, 8, 3, 9)
    write_project(random_accelerator(rng, random_design(rng, 2, ({"d": 4, "k": 1},)), data), data, folder)
    return folder


def test_couplings_reach_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hang or a mismatch on any memory ends with exit code 1."""
    monkeypatch.setattr("fgnas.tools.simulate.COUPLINGS", COUPLINGS[:3])
    project = _tiny_project(tmp_path / "p")
    assert main(["sim", str(project), "--couplings", "1"]) == 0
    assert "data first: runs 1, mismatches 0, hangs 0" in capsys.readouterr().out
    golden = project / "vectors" / "logits.bin"
    golden.write_bytes(bytes([golden.read_bytes()[0] ^ 1]) + golden.read_bytes()[1:])
    assert main(["sim", str(project), "--couplings", "1", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["mismatches"] == 3
    assert main(["sim", str(project), "--couplings", "1", "--rtl", "x"]) == 2


def test_a_broken_bus_rule_fails_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A WLAST in the wrong place: exit code 1, one line that names the rule, and no report of an earlier run."""
    project = _tiny_project(tmp_path / "p")
    (project / "report" / "sim.json").write_text("{}")
    writer = project / "rtl" / "fgnas_writer.sv"
    right = "wlast_o     <= last;"
    assert right in writer.read_text()
    writer.write_text(writer.read_text().replace(right, "wlast_o     <= last || place_q == 8'd3;"))
    assert main(["sim", str(project)]) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("fgnas: an assertion failed: AXI: WLAST is not on the last beat (")
    assert not (project / "report" / "sim.json").exists()


def test_a_narrow_port(tmp_path: Path) -> None:
    """Several bursts through PYNQ-Z2's 64-bit port, a faster kernel, a slow clock and a byte: every row is exact."""
    rng = np.random.default_rng(19)
    data = random_graph(rng, 100, 60, 11, 2000)
    first = {"d": 4, "k": 1, "t_in": 2, "t_out": 5, "t_aggr": 8, "attention": "gcn", "t_attn": None}
    accelerator = random_accelerator(rng, random_design(rng, 2, (first, {"k": 1, "t_aggr": 8})), data)
    project, cycles = tmp_path / "p", []
    board = limits_of(find_device("pynq-z2"), {})
    write_project(accelerator, data, project, Specification(**board))
    for wanted in (
        Specification(**board), Specification(**board, clock_mhz=200.0), Specification(port_bits=128, port_mhz=80.0),
        Specification(port_bits=8), Specification(),
    ):  # fmt: skip
        price = project_price(accelerator, data, wanted)
        (project / "report" / "price.json").write_text(json.dumps(price))
        report = run_simulation(project)
        times = times_of(accelerator, data, wanted.beat_cycles)
        assert (report["mismatches"], report["beat_cycles"]) == (0, wanted.beat_cycles)
        assert report["cycles"] == report["predicted_cycles"] == times.cycles
        assert report["phase_cycles"] == [phase.begin + ASK_CYCLES for phase in times.phases]
        assert late_rows(project, times) == ""
        cycles.append((wanted.beat_cycles, report["cycles"]))
    assert [pace for pace, _ in cycles] == [2, 2731 / 1024, 1.25, 16, 1]
    assert [pace for pace, _ in sorted(cycles, key=lambda pair: pair[1])] == [1, 1.25, 2, 2731 / 1024, 16]


def test_one_node(tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    data = random_graph(rng, 1, 5, 4, 0)
    accelerator = random_accelerator(rng, random_design(rng, 2), data)
    assert_as_predicted(assert_right(accelerator, data, tmp_path / "p"), accelerator, data, tmp_path / "p")


def test_a_wrong_golden_logit_is_found(tmp_path: Path) -> None:
    rng = np.random.default_rng(13)
    data = random_graph(rng, 9, 12, 5, 20)
    write_project(random_accelerator(rng, random_design(rng, 2), data), data, tmp_path / "p")
    golden = tmp_path / "p" / "vectors" / "logits.bin"
    words = np.fromfile(golden, "<i2")
    words[8 * 3 + 2] += 1
    words.tofile(golden)
    report = run_simulation(tmp_path / "p")
    assert report["mismatches"] == 1
    assert (report["first_mismatch"]["node"], report["first_mismatch"]["class"]) == (3, 2)


def test_cycles_other_than_predicted_fail_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`fgnas sim` ends with exit code 1, and its report says by how much; other RTL may take as long as it likes."""
    rng = np.random.default_rng(17)
    data = random_graph(rng, 6, 8, 3, 9)
    project = tmp_path / "p"
    write_project(random_accelerator(rng, random_design(rng, 2, ({"d": 4, "k": 1},)), data), data, project)
    assert main(["sim", str(project), "--json"]) == 0
    exact = json.loads(capsys.readouterr().out)
    assert exact["cycle_difference"] == 0
    price = json.loads((project / "report" / "price.json").read_text())
    price["latency_cycles"] -= 8
    (project / "report" / "price.json").write_text(json.dumps(price))
    assert main(["sim", str(project), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["mismatches"], report["cycles"], report["cycle_difference"]) == (0, exact["cycles"], 8)
    assert main(["sim", str(project), "--rtl", str(project / "rtl" / "files.f"), "--json"]) == 0
    assert "cycle_difference" not in json.loads(capsys.readouterr().out)


def test_other_rtl_with_the_same_face(tmp_path: Path) -> None:
    """A folder, and a list with memory contents beside the files; the report of our own RTL is left alone."""
    rng = np.random.default_rng(16)
    data = random_graph(rng, 6, 8, 3, 9)
    write_project(random_accelerator(rng, random_design(rng, 2, ({"d": 4, "k": 1},)), data), data, tmp_path / "p")
    other = Path(shutil.copytree(tmp_path / "p" / "rtl", tmp_path / "other"))
    (other / "table.dat").write_text("0\n")
    listing = tmp_path / "list.f"
    listing.write_text("".join(f"other/{name}\n" for name in (other / "files.f").read_text().split()))
    assert [path.name for path in read_sources(listing)][-2:] == ["fgnas_top.v", "table.dat"]
    assert run_other_rtl(tmp_path / "p", listing)["mismatches"] == 0
    assert (tmp_path / "p" / "build" / "sim_rtl" / "table.dat").is_file()
    assert json.loads((tmp_path / "p" / "report" / "sim_rtl.json").read_text())["logits"] == 18
    assert not (tmp_path / "p" / "report" / "sim.json").exists()


@pytest.mark.parametrize("content, message", [
    (None, "does not exist"), ("gone.sv\n", "gone.sv, which does not exist"), ("", "contains no .v or .sv file"),
])  # fmt: skip
def test_other_rtl_that_is_not_there(content: str | None, message: str, tmp_path: Path) -> None:
    listing = tmp_path / "list.f"
    if content is not None:
        listing.write_text(content)
    with pytest.raises(UserError, match=message):
        read_sources(listing)


def test_no_project(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no fgnas project"):
        run_simulation(tmp_path)


def test_vectors_that_were_cut_are_refused(tmp_path: Path) -> None:
    accelerator, data = _three_layers()
    write_project(accelerator, data, tmp_path / "p")
    sizes = json.loads((tmp_path / "p" / "vectors" / "vectors.json").read_text())
    for path in (tmp_path / "p" / "vectors").glob("*.bin"):
        content = path.read_bytes()
        for cut in (content[:-1], content[: len(content) // 2], content + bytes(16), b""):
            path.write_bytes(cut)
            message = f"{path.name} has {len(cut):,} bytes, vectors.json says {len(content):,}"
            with pytest.raises(UserError, match=message):
                run_simulation(tmp_path / "p")
        path.write_bytes(content)
    without = {name: size for name, size in sizes.items() if name != "edge_beats"}
    for place, content in (
        ("vectors/vectors.json", without), ("vectors/vectors.json", []),
        ("vectors/vectors.json", sizes | {"nodes": "x"}),
        ("vectors/vectors.json", sizes | {"classes": 0}), ("vectors/vectors.json", sizes | {"classes": -1}),
        ("vectors/vectors.json", sizes | {"classes": 10**6}), ("report/price.json", []),
        ("report/price.json", {"latency_cycles": float("nan")}), ("report/price.json", {"latency_cycles": "x"}),
        ("report/accelerator.json", []), ("report/accelerator.json", {"registers": 5}),
        ("report/accelerator.json", {"registers": []}),
    ):  # fmt: skip
        path = tmp_path / "p" / place
        before = path.read_text()
        path.write_text(json.dumps(content))
        with pytest.raises(UserError, match="damaged .*: write the project again"):
            run_simulation(tmp_path / "p")
        path.write_text(before)


def test_a_build_that_fails_names_its_log(tmp_path: Path) -> None:
    rng = np.random.default_rng(14)
    data = random_graph(rng, 4, 6, 2, 5)
    write_project(random_accelerator(rng, random_design(rng, 2), data), data, tmp_path / "p")
    (tmp_path / "p" / "rtl" / "fgnas_store.sv").write_text("module broken")
    with pytest.raises(UserError, match=r"see .*build\.log"):
        run_simulation(tmp_path / "p")


def test_whole_cora(cora: GraphData, tmp_path: Path) -> None:
    rng = np.random.default_rng(15)
    first = {"d": 8, "k": 1, "attention": "gcn", "aggregation": "add", "t_in": 5, "t_out": 4, "t_aggr": 8, "t_act": 4,
             "t_attn": None}  # fmt: skip
    last = {"k": 1, "attention": "gcn", "aggregation": "mean", "t_in": 4, "t_out": 4, "t_aggr": 8, "t_attn": None}
    accelerator = random_accelerator(rng, random_design(rng, 2, (first, last)), cora)
    report = assert_right(accelerator, cora, tmp_path / "p")
    assert report["logits"] == 18_956
    assert_as_predicted(report, accelerator, cora, tmp_path / "p")
    assert json.loads((tmp_path / "p" / "report" / "sim.json").read_text()) == report


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_whole_cora_through_a_64_bit_port(seed: int, cora: GraphData, tmp_path: Path) -> None:
    """A design like Cora's best, and random ones, at PYNQ-Z2's memory port."""
    rng = np.random.default_rng(100 + seed)
    first = {"d": 4, "k": 1, "attention": "gcn", "aggregation": "add", "t_in": 5, "t_out": 4, "t_aggr": 8}
    best = (first | {"t_attn": None}, {"k": 1, "attention": "gcn", "aggregation": "mean", "t_aggr": 8, "t_attn": None})
    accelerator = random_accelerator(rng, random_design(rng, 2, best if seed == 0 else ()), cora)
    board = Specification(**limits_of(find_device("pynq-z2"), {}))
    write_project(accelerator, cora, tmp_path / "p", board)
    report = run_simulation(tmp_path / "p")
    times = times_of(accelerator, cora, 2.0)
    assert (report["mismatches"], report["beat_cycles"]) == (0, 2)
    assert report["cycles"] == report["predicted_cycles"] == times.cycles
    assert late_rows(tmp_path / "p", times) == ""


def test_calls_are_counted_behind_the_build(tmp_path, monkeypatch):
    """The build is a step of its own, and its seconds are in the report."""
    stream = io.StringIO()
    calls = [{"call": name, "folder": tmp_path, "cycles": 5, "logits": {"rows": [0, 2]}} for name in ("one", "two")]
    found = {"nodes": 2, "logits": 6, "mismatches": 0, "cycles": 5, "predicted_cycles": 5, "cycle_difference": 0,
             "build_seconds": 0.0}  # fmt: skip

    def slow_build(*_, **__):
        while "build the simulator" not in stream.getvalue():
            time.sleep(0.01)

    monkeypatch.setattr(progress, "QUIET_S", 0.01)
    monkeypatch.setattr(simulate, "calls_of", lambda _: calls)
    monkeypatch.setattr(simulate.Vectors, "read", lambda _: simulate.Vectors(tmp_path, {}, (), 5, 1.0, {}, 8, 16))
    monkeypatch.setattr(simulate, "own_sources", lambda _: [])
    monkeypatch.setattr(simulate, "build", slow_build)
    monkeypatch.setattr(simulate, "run_simulation", lambda *_, **__: found)
    monkeypatch.setattr(simulate, "multiplier_use", lambda *_: {})
    (tmp_path / "report").mkdir()
    with progress.shown(stream):
        report = simulate.run_calls(tmp_path)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "build the simulator: 0 s"
    assert lines[-2:] == ["simulate: 0/2 calls, one", "simulate: 2/2 calls"]
    assert report["build_seconds"] > 0 and report["cycles"] == 10
