"""A network with buffer re-purposing off: RTL and C++ run every call on one build, each as long as predicted."""

import json
from pathlib import Path

import numpy as np
import pytest
from arrays import random_data, random_source, random_source_of, write_array
from levels import quick
from support import Choices, random_design, random_graph, random_network

from fgnas.api import Project
from fgnas.backends.array import write_calls
from fgnas.cli import main
from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.hardware.array import reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.calls import fit_calls
from fgnas.hardware.array.choosing import Room, deliverable, fastest, fastest_calls
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.layers import ArrayNetwork, array_network
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.resources import engine_resources
from fgnas.hardware.kind import Wanted
from fgnas.hardware.kinds import PIPELINE
from fgnas.hardware.shape import GraphShape
from fgnas.network import Network
from fgnas.networks.calibration import tied
from fgnas.report.record import ArrayRecord
from fgnas.tasks.nodes import GraphData
from fgnas.tools.csim import run_csim


def write(
    source: ArrayNetwork, data: GraphData, folder: Path, multipliers: int, beat_bits: int, bram36: int | None = None
) -> dict:
    """A project with re-purposing off; returns its price."""
    sizes = {"multipliers": multipliers, "beat_bits": beat_bits, "bram36": bram36}
    write_array(source, data, folder, **sizes, repurposing=False)
    return json.loads((folder / "report" / "price.json").read_text())


def assert_right(folder: Path, data: GraphData, capsys: pytest.CaptureFixture[str]) -> dict:
    """Every result of every call in RTL and C++, and the cycles of every phase; returns what `fgnas sim` says."""
    assert main(["sim", str(folder), "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    faults = ("mismatches", "protocol_errors", "status", "cycle_difference", "phase_differences")
    assert [found[name] for name in faults] == [0] * 5, found
    price = json.loads((folder / "report" / "price.json").read_text())
    listed = json.loads((folder / "report" / "calls.json").read_text())["calls"]
    assert found["cycles"] == price["latency_cycles"] == sum(one["cycles"] for one in listed)
    assert [one["name"] for one in found["phases"]] == [one["name"] for one in price["phases"]]
    assert sorted(found["by_call"]) == sorted(one["call"] for one in listed)
    assert found["logits"] == data.nodes * data.classes
    report = run_csim(folder, quick())
    assert (report["mismatches"], report["failed_checks"]) == (0, 0), report
    assert (report["calls"], report["results"]) == (found["calls"], found["results"]) == (len(listed), sum(
        one["logits"] for one in found["by_call"].values()))  # fmt: skip
    return found


@pytest.mark.slow
def test_two_products_in_a_slice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """32 multipliers in 16 DSPs."""
    rng = np.random.default_rng(5)
    data = random_data(rng)
    source = random_source(rng, 2, data, ("add", "mean", "max"))
    write_array(source, data, tmp_path / "p", multipliers=32, beat_bits=256, repurposing=False, paired=True)
    price = json.loads((tmp_path / "p" / "report" / "price.json").read_text())
    assert (price["multipliers"], price["dsp"]) == (32, 16)
    assert_right(tmp_path / "p", data, capsys)


def test_a_random_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two layers, some heads; the simulator is built once, and the page has the logits and the phases of all calls."""
    rng = np.random.default_rng(5)
    data = random_data(rng)
    source = random_source(rng, 2, data, ("add", "mean", "max"), heads=(1, 2, 4))
    write(source, data, tmp_path / "p", 32, 256)
    found = assert_right(tmp_path / "p", data, capsys)
    built = (tmp_path / "p" / "build" / "sim" / "built").stat().st_mtime_ns
    assert main(["sim", str(tmp_path / "p"), "--quiet"]) == 0
    assert "aggregate 1" in capsys.readouterr().out
    assert (tmp_path / "p" / "build" / "sim" / "built").stat().st_mtime_ns == built
    record = ArrayRecord.read(tmp_path / "p")
    assert np.array_equal(record.logits, reference.run(encode_array(fit(source, data, Arrangement(4)), data)))
    assert record.has_graph(data)
    assert main(["report", str(tmp_path / "p"), "--quiet"]) == 0
    page = (tmp_path / "p" / "report.html").read_text()
    assert "aggregate 0: load bias" in page and f"{found['cycles']:,} cycles, as predicted" in page


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "multipliers", "beat_bits"), [(0, 8, 512), (1, 24, 128), (2, 128, 512), (3, 40, 256)])
def test_random_networks_on_engines_of_all_sizes(
    seed: int, multipliers: int, beat_bits: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows in parts of their columns, graphs of a few nodes, and one, two and three layers."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_source(rng, 1 + seed % 3, data, ("add", "mean", "max"), heads=(1, 2, 4))
    write(source, data, tmp_path / "p", multipliers, beat_bits)
    assert_right(tmp_path / "p", data, capsys)


SCORES = ("gat", "gat-sym", "linear", "cos", "gene-linear")


@pytest.mark.slow
@pytest.mark.parametrize("attention", SCORES)
def test_scores_in_calls_of_a_few_rows(attention: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two heads behind a port of 128 bits, in tables so small that rows are divided; five units, two layers: logits are
    those of all calls of the last half, and one build serves all."""
    rng = np.random.default_rng(SCORES.index(attention))
    data = random_graph(rng, 70, 12, 11, 160)
    kind: Choices = {"attention": attention, "aggregation": "max" if attention == "gat" else "mean",
                     "t_attn": 1 if attention == "gat" else None, "ai": 2, "af": 5}  # fmt: skip
    design = random_design(rng, 2, (kind | {"k": 2, "d": 12}, kind | {"k": 1}))
    source = random_source_of(rng, design, data)
    array = fit_calls(source, data, 5, 2, 128, words=160)
    assert len(array.parts[-1]) > 1
    write_calls(array, tmp_path / "p")
    assert_right(tmp_path / "p", data, capsys)
    record = ArrayRecord.read(tmp_path / "p")
    assert np.array_equal(record.logits, reference.run(encode_array(fit(source, data, Arrangement(4)), data)))
    assert record.has_graph(data) and not record.has_graph(random_graph(rng, 70, 12, 11, 160))


def test_what_does_not_fit_on_the_chip_is_delivered_as_calls(tmp_path: Path) -> None:
    """More heads than one unit's scores, and more block RAM than is allowed; what no array keeps is named."""
    rng = np.random.default_rng(3)
    data = random_graph(rng, 900, 40, 5, 2000)
    design = random_design(rng, 2, ({"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1, "d": 16},
                                    {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 64}))  # fmt: skip
    source = random_source_of(rng, design, data)
    with pytest.raises(UserError, match="an array averages 32 heads at most"):
        fastest(source, data, Room(16))
    write_array(source, data, tmp_path / "p", multipliers=16)
    price = json.loads((tmp_path / "p" / "report" / "price.json").read_text())
    calls = json.loads((tmp_path / "p" / "report" / "calls.json").read_text())["calls"]
    assert (price["repurposing"], price["calls"]) == (False, len(calls)) and len(calls) > 4
    record = ArrayRecord.read(tmp_path / "p")
    assert np.array_equal(record.logits, fit_calls(source, data, 2).logits()) and record.has_graph(data)
    with pytest.raises(UserError, match=r"the limit of 2 block RAM: .* takes [\d.]+, [\d.]+ more; allow as many"):
        write_array(source, data, tmp_path / "q", multipliers=16, bram36=2)


def test_what_fits_on_the_chip_is_not_divided() -> None:
    rng = np.random.default_rng(3)
    data = random_graph(rng, 60, 20, 5, 200)
    source = random_source(rng, 2, data, ("add",), ("gat", "gcn"))
    found = deliverable(source, data, Room(32))
    assert isinstance(found, ArrayAccelerator)
    assert found.engine == fastest(source, data, Room(32)).engine


@pytest.mark.slow
def test_calls_of_units_that_share_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four units read one table; a factor of Z that is 0 reads none."""
    rng = np.random.default_rng(6)
    data = random_graph(rng, 60, 20, 6, 150)
    source = random_source(rng, 2, data, ("add", "max"))
    write_calls(fit_calls(source, data, 8, 1, 512, shared=4), tmp_path / "p")
    assert_right(tmp_path / "p", data, capsys)


@pytest.mark.parametrize("beat_bits", [pytest.param(128, marks=pytest.mark.slow), 512])
def test_calls_of_units_that_work_together(beat_bits: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sixteen units on five rows, two of them on each; their sums meet in front of the epilogue."""
    rng = np.random.default_rng(12)
    data = random_graph(rng, 5, 30, 9, 8)
    source = random_source(rng, 2, data, ("add", "max"))
    array = fit_calls(source, data, 16, 2, beat_bits).in_groups()
    assert {mode.k for mode in array.engine.modes} == {1, 2}
    write_calls(array, tmp_path / "p")
    assert_right(tmp_path / "p", data, capsys)


def test_what_runs_one_call_alone_is_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    data = random_graph(rng, 12, 6, 3, 20)
    source = random_source(rng, 2, data, ("add",), ("constant",))
    write(source, data, tmp_path / "p", 8, 128)
    project = Project(tmp_path / "p")
    for wrong in (lambda: project.simulate(tmp_path), lambda: project.couplings(1)):
        with pytest.raises(UserError, match="runs a network that is one call; .* has buffer re-purposing off"):
            wrong()
    (tmp_path / "p" / "report" / "calls.json").write_text("{}")
    with pytest.raises(UserError, match="is damaged: write the project again"):
        project.simulate()
    with pytest.raises(UserError, match="--repurposing is for --target array"):
        PIPELINE.fit(source.design, Network(()), data, Wanted(repurposing=False))


def test_the_fastest_calls() -> None:
    """The fastest over all units and parts: with a limit it needs fewer block RAMs, and too low a limit is refused."""
    rng = np.random.default_rng(2)
    data = random_graph(rng, 900, 300, 5, 2000)
    source = random_source(rng, 2, data, ("add",), ("gcn",))
    best = fastest_calls(source, data, Room(64, 512))
    taken = engine_resources(best.engine)["bram36"]
    fewer = fastest_calls(source, data, Room(64, 512, {"bram36": taken - 1}))
    assert engine_resources(fewer.engine)["bram36"] < taken
    cycles = [sum(map(total_cycles, one.laid_out())) for one in (best, fewer)]
    assert cycles[0] <= cycles[1] and (best.engine.shared, fewer.engine.shared) == (1, 2)
    with pytest.raises(UserError, match=r"the limit of 1 block RAM: .* takes [\d.]+, [\d.]+ more; allow"):
        fastest_calls(source, data, Room(64, 512, {"bram36": 1}))


TABLE = [
    ("cora", 64, (23_338, 119.5, 277_312, 43_520), (26_165, 71.5, 818_624, 260_992)),
    ("cora", 128, (12_222, 215.5, 328_128, 43_520), (14_850, 135.5, 820_160, 261_120)),
    ("citeseer", 64, (38_792, 151.5, 486_336, 53_376), (42_650, 71.5, 1_345_984, 319_872)),
    ("citeseer", 128, (20_135, 279.5, 581_312, 53_504), (24_248, 135.5, 1_348_736, 320_256)),
]
"""Cycles, block RAMs, and bytes that are read and written, with re-purposing and without: a table of
docs/results/array-points.md."""


def two_layers(data: GraphData) -> ArrayNetwork:
    """Two layers of gcn with 16 hidden features in 8 bits."""
    gcn = {"attention": "gcn", "aggregation": "add", "k": 1, "t_in": 1, "t_out": 1, "t_attn": None, "t_aggr": 1,
           "ai": 3, "af": 4, "wi": 1, "wf": 6}  # fmt: skip
    layers = [{**gcn, "d": 16, "activation": "relu", "t_act": 1}, {**gcn, "d": None, "activation": None, "t_act": None}]
    design = Design.from_dict({"schema": 1, "dsp": 128, "layers": layers})
    network = tied(design, random_network(np.random.default_rng(1), design, data))
    return array_network(design, network, GraphShape.of(data), data.name)


@pytest.mark.parametrize(("name", "multipliers", "on", "off"), TABLE)
def test_prices_on_whole_graphs(
    name: str, multipliers: int, on: tuple, off: tuple, request: pytest.FixtureRequest
) -> None:
    data = request.getfixturevalue(name)
    source, room = two_layers(data), Room(multipliers, 512)
    whole, calls = encode_array(fastest(source, data, room), data), fastest_calls(source, data, room)
    each = list(calls.laid_out())
    found = [
        (total_cycles(whole), engine_resources(whole.engine)["bram36"], whole.bytes_read, whole.bytes_written),
        (sum(map(total_cycles, each)), engine_resources(calls.engine)["bram36"], sum(one.bytes_read for one in each),
         sum(one.bytes_written for one in each)),
    ]  # fmt: skip
    assert found == [on, off]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "multipliers"), [row[:2] for row in TABLE])
def test_whole_graphs(
    name: str, multipliers: int, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every H, Z and logit of two layers of gcn, in RTL and C++."""
    data = request.getfixturevalue(name)
    write(two_layers(data), data, tmp_path / "p", multipliers, 512)
    assert_right(tmp_path / "p", data, capsys)
