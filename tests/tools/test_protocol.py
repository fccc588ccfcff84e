"""The kernel on a bus that misbehaves: right logits or the documented status, and always an end.

One kernel of two layers is built once; the runs of a test follow each other in one simulation, most without a reset.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bus import PAGE, BusRun, assert_right, placed, run_all
from support import random_design, random_graph, random_network

from fgnas.backends.rtl import write_rtl
from fgnas.design import Design
from fgnas.hardware import wire
from fgnas.hardware.pipeline import reference
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.encoding import edge_beats, encode, feature_beats, logit_rows, parameter_region
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData
from fgnas.tools.simulate import COUPLINGS
from fgnas.tools.verilator import QUICK, build, read_sources

WIDTH_IN, CLASSES = 9, 11


@dataclass(frozen=True, kw_only=True)
class Run(BusRun):
    """One start of the kernel.

    Attributes:
        nodes, feature_beats, edge_beats: values of the registers.
    """

    REGISTERS = wire.ARGUMENT_REGISTERS

    nodes: int
    feature_beats: int
    edge_beats: int


def run_of(accelerator: Accelerator, data: GraphData) -> Run:
    """The plain run of a graph."""
    graph = encode(accelerator, data)
    regions = {
        "parameters": parameter_region(accelerator).tobytes(),
        "features": feature_beats(accelerator, graph).tobytes(),
        "edges": edge_beats(graph).tobytes(),
    }
    expected = logit_rows(accelerator, reference.run(accelerator, graph)).tobytes()
    beats = {f"{name[:-1]}_beats": len(regions[name]) // wire.BEAT_BYTES for name in ("features", "edges")}
    return Run(regions=regions, expected=expected, places=placed(regions), nodes=data.nodes, **beats)


class Bench:
    """A kernel that is built once, and its runs."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(7)
        gat = {"d": 4, "k": 2, "attention": "gat", "aggregation": "mean", "t_attn": 2, "t_aggr": 8, "af": 4}
        gcn = {"k": 2, "attention": "gcn", "aggregation": "add", "t_attn": None, "af": 4}
        self.folder = folder
        self.design: Design = random_design(rng, 2, (gat, gcn))
        self.data = random_graph(rng, 40, WIDTH_IN, CLASSES, 90)
        self.network: Network = random_network(rng, self.design, self.data)
        self.shape = GraphShape.of(self.data)
        self.accelerator = self.lowered(self.network)
        self.plain = run_of(self.accelerator, self.data)
        write_rtl(self.accelerator, folder)
        self.build()

    def build(self) -> None:
        """Build the simulator of the RTL as it is in the folder now."""
        build(read_sources(self.folder / "rtl" / "files.f"), self.folder / "build", {}, "face", QUICK)

    def lowered(self, network: Network) -> Accelerator:
        """The accelerator with other weights: the same hardware."""
        return lower(self.design, network, self.shape)

    def run(self, *runs: Run) -> list[dict[str, Any]]:
        """Run one after the other in one simulation; one result each."""
        return run_all(self.folder, runs)


def assert_refused(result: dict[str, Any], name: str) -> None:
    assert result["ended"], "the watchdog bit"
    assert result["status"] == 1 << wire.STATUS_BITS[name]
    assert result["touched"] == [], "a kernel that refuses writes nothing"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("protocol"))


def test_stalls_on_all_channels(bench: Bench) -> None:
    _stalls(bench, range(3))


@pytest.mark.slow
def test_stalls_on_all_channels_with_many_seeds(bench: Bench) -> None:
    _stalls(bench, range(50))


def _stalls(bench: Bench, seeds: Sequence[int]) -> None:
    """Short and long rests, and regions at every place within a page."""
    shares = (0.2, 0.5, 0.8)
    runs = [
        replace(bench.plain, stall_seed=seed + 1, stall_share=shares[seed % 3]).at(wire.BEAT_BYTES * (37 * seed % 256))
        for seed in seeds
    ]
    for run, result in zip(runs, bench.run(*runs), strict=True):
        assert_right(run, result)


COUPLED = COUPLINGS[1:4]
"""The couplings of AW and W, which cocotbext-axi can do; sim/bench.sv has all."""


def test_coupled_write_channels(bench: Bench) -> None:
    """The memory accepts an address only with or after data, in every way that AXI allows."""
    runs = [
        replace(bench.plain, coupling=coupling, stall_seed=seed + 1, stall_share=0.3 * seed).at(16 * (101 * seed % 256))
        for coupling in COUPLED for seed in range(3)
    ]  # fmt: skip
    for run, result in zip(runs, bench.run(*runs), strict=True):
        assert_right(run, result)


@pytest.mark.slow
def test_a_writer_whose_data_wait_for_awready_hangs(bench: Bench) -> None:
    """The mutation is what the writer once did: it counted a burst as open when its address was accepted."""
    source, listing = bench.folder / "rtl" / "fgnas_writer.sv", bench.folder / "rtl" / "files.f"
    text, rule, names = source.read_text(), "assign present = awvalid_o && !presented_q;", listing.read_text()
    assert rule in text
    # Under another name, because the writer's own rules would end the simulation before it hangs.
    (source.parent / "other_writer.sv").write_text(text.replace(rule, "assign present = asked;"))
    listing.write_text(names.replace(source.name, "other_writer.sv"))
    try:
        bench.build()
        runs = [replace(bench.plain, coupling=coupling, limit_cycles=20_000) for coupling in (*COUPLED, COUPLINGS[0])]
        *hung, plain = bench.run(*runs)
    finally:
        listing.write_text(names)
        bench.build()
    assert hung == [{"ended": False}] * len(COUPLED)
    assert_right(bench.plain, plain)


def test_bursts_that_would_cross_a_page(bench: Bench) -> None:
    """Regions that begin a beat, two beats, half a page before a page ends. The memory model checks every burst."""
    runs = [bench.plain.at(offset) for offset in (PAGE - 16, PAGE - 32, PAGE // 2, 16)]
    assert len(bench.plain.expected) > PAGE // 4, "the logits cross a page too"
    for run, result in zip(runs, bench.run(*runs), strict=True):
        assert_right(run, result)


def test_read_errors(bench: Bench) -> None:
    """In the first, a middle and the last beat of each region; the run after each is right."""
    runs = []
    for region, content in bench.plain.regions.items():
        beats = len(content) // wire.BEAT_BYTES
        for beat in (0, beats // 2, beats - 1):
            address = bench.plain.places[region] + wire.BEAT_BYTES * beat
            runs += [replace(bench.plain, bad_reads=range(address, address + 1)), bench.plain]
    found = bench.run(*runs)
    for bad, again in zip(found[::2], found[1::2], strict=True):
        assert_refused(bad, "read_error")
        assert_right(bench.plain, again)


def test_write_errors(bench: Bench) -> None:
    """A kernel learns of them when it has written; it says so, and the next run is right."""
    start, end = bench.plain.places["logits"], bench.plain.places["logits"] + len(bench.plain.expected)
    middle = (start + end) // 2 // wire.BEAT_BYTES * wire.BEAT_BYTES
    runs = []
    for share in (0.0, 0.5):
        for beat in (start, middle, end - wire.BEAT_BYTES):
            bad = replace(bench.plain, bad_writes=range(beat, beat + 1), stall_share=share, stall_seed=3)
            runs += [bad, bench.plain]
    found = bench.run(*runs)
    for bad_result, again in zip(found[::2], found[1::2], strict=True):
        assert bad_result["ended"] and bad_result["status"] == 1 << wire.STATUS_BITS["write_error"]
        assert_right(bench.plain, again)


def _with_bits(region: bytes, beat: int, first: int, count: int, value: int) -> bytes:
    """A region in which `count` bits of a beat hold `value`."""
    start = beat * wire.BEAT_BYTES
    word = int.from_bytes(region[start : start + wire.BEAT_BYTES], "little")
    word = word & ~(((1 << count) - 1) << first) | value << first
    return region[:start] + word.to_bytes(wire.BEAT_BYTES, "little") + region[start + wire.BEAT_BYTES :]


def _changed(run: Run, name: str, change: Callable[[bytes], bytes]) -> Run:
    return replace(run, regions=run.regions | {name: change(run.regions[name])})


def refusals(run: Run, capacity: int) -> dict[str, tuple[str, Run]]:
    """Error -> the status bit it must set, and the run."""
    holds_features = next(
        beat for beat in range(run.feature_beats) if run.regions["features"][16 * beat + 15] & 7
    )
    endless = run.regions["edges"]
    for beat in range(run.edge_beats):
        for slot in range(4):
            endless = _with_bits(endless, beat, 30 * slot + 29, 1, 0)
    found = {
        "nodes over capacity": ("nodes_over_capacity", replace(run, nodes=capacity + 1)),
        "many more nodes": ("nodes_over_capacity", replace(run, nodes=2**32 - 1)),
        "short features": ("stream_too_short", replace(run, feature_beats=run.feature_beats - 1)),
        "no features": ("stream_too_short", replace(run, feature_beats=0)),
        "short edges": ("stream_too_short", replace(run, edge_beats=run.edge_beats - 3)),
        "no edges": ("stream_too_short", replace(run, edge_beats=0)),
        "column": ("column_out_of_range", _changed(run, "features", functools.partial(
            _with_bits, beat=holds_features, first=0, count=14, value=WIDTH_IN))),
        "source": ("source_out_of_range", _changed(run, "edges", functools.partial(
            _with_bits, beat=run.edge_beats // 2, first=30, count=20, value=run.nodes))),
        "source beyond all capacity": ("source_out_of_range", _changed(run, "edges", functools.partial(
            _with_bits, beat=0, first=0, count=20, value=2**20 - 1))),
        "a row without an end": ("degree_over_capacity", replace(run, regions=run.regions | {"edges": endless})),
    }  # fmt: skip
    for name in run.places:
        for bytes_off in (1, 8):
            moved = run.places | {name: run.places[name] + bytes_off}
            found[f"{name} {bytes_off} off"] = ("unaligned_address", replace(run, places=moved))
    return found


@pytest.mark.parametrize("share", [0.4, pytest.param(0.0, marks=pytest.mark.slow)])
def test_refusals(share: float, bench: Bench) -> None:
    """Each followed by a right run, on a memory that stalls and on a quick one."""
    plain = replace(bench.plain, stall_share=share, stall_seed=5)
    wanted = refusals(plain, bench.shape.node_capacity)
    found = bench.run(*(run for _, bad in wanted.values() for run in (bad, plain)))
    for number, (what, (bit, _)) in enumerate(wanted.items()):
        refused, again = found[2 * number : 2 * number + 2]
        assert refused["ended"], what
        assert (refused["status"], refused["touched"]) == (1 << wire.STATUS_BITS[bit], []), what
        assert_right(plain, again)


@pytest.mark.parametrize("share", [0.5, pytest.param(0.0, marks=pytest.mark.slow)])
def test_reset_in_mid_run(share: float, bench: Bench) -> None:
    """The watchdog ends a run after some cycles, which resets the kernel wherever it is; the next run is right."""
    run = replace(bench.plain, stall_share=share, stall_seed=9)
    runs = [part for cycles in range(5, 2000, 133) for part in (replace(run, limit_cycles=cycles), run)]
    found = bench.run(*runs)
    assert sum(not result["ended"] for result in found[::2]) > 5
    for result in found[1::2]:
        assert_right(run, result)


def test_other_graphs_and_other_weights(bench: Bench) -> None:
    """Nothing of a run is left for the next, larger or smaller."""
    rng = np.random.default_rng(8)
    shapes = ((70, 60), (1, 0), (13, 60), (40, 10))
    graphs = [random_graph(rng, nodes, WIDTH_IN, CLASSES, edges) for nodes, edges in shapes]
    layers = tuple(dataclasses.replace(p, weight=-p.weight, bias=p.bias[::-1]) for p in bench.network.layers)
    other = bench.lowered(Network(layers, bench.network.input_scale))
    runs = [run_of(accelerator, data) for data in graphs for accelerator in (bench.accelerator, other)]
    for run, result in zip(runs, bench.run(*runs), strict=True):
        assert_right(run, result)


def test_no_node(bench: Bench) -> None:
    """An empty graph ends at once, whatever the other registers say."""
    empty = replace(bench.plain, nodes=0, feature_beats=0, edge_beats=0)
    for result in bench.run(empty, replace(bench.plain, nodes=0), bench.plain)[:2]:
        assert (result["ended"], result["status"], result["touched"]) == (True, 0, [])


def test_more_beats_than_rows(bench: Bench) -> None:
    """Data after the last row of a region is ignored."""
    run = bench.plain
    longer = _changed(_changed(run, "features", lambda region: region * 2), "edges", lambda region: region * 3)
    longer = replace(longer, feature_beats=2 * run.feature_beats, edge_beats=3 * run.edge_beats).at(0)
    # Four thousand million beats, nearly all of which lie outside the memory: they are not asked for. Those that are
    # hold columns and sources that there are not.
    endless = replace(run, feature_beats=2**32 - 1, edge_beats=2**32 - 1)
    stalling = replace(endless, stall_share=0.5, stall_seed=4)
    for checked, result in zip((longer, endless, stalling), bench.run(longer, endless, stalling), strict=True):
        assert_right(checked, result)


def test_the_watchdog(bench: Bench) -> None:
    """A memory that never answers is distinguished from a kernel that ends; the kernel recovers by its reset."""
    hung, again = bench.run(replace(bench.plain, stall_share=1.0, limit_cycles=5000), bench.plain)
    assert hung == {"ended": False}
    assert_right(bench.plain, again)
