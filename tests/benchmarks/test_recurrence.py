"""The measurement of recurrences: loops whose longest chain is known, and the shim's integers against the vendor's."""

from __future__ import annotations

import ctypes
import importlib
import math
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from arrays import random_source_of
from point_clouds import integers_of, tied_clouds
from support import random_design, random_graph

from fgnas.backends.array import write_points, write_project
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.points.encoded import PointSource, lowered
from fgnas.hardware.devices import FAMILIES
from fgnas.hardware.specification import Specification
from fgnas.networks.points.operations import TAILS, Aggregate, Combine, PointNetwork, Sample
from fgnas.paths import templates_directory
from fgnas.tools.find import find_ap_types, find_compiler

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
LOOP = """
#include <ap_int.h>
#include <hls_stream.h>
#include "pragmas.h"
void stage(hls::stream<ap_uint<16> >& in, hls::stream<ap_uint<16> >& out) {
    ap_uint<16> sum = 0, sums[8];
    %(array)s
    ap_uint<3> at = 0;
    bool more = true;
    while (more) {
        HLS_PIPELINE
        const ap_uint<16> x = in.read();
        %(body)s
        out.write(sum);
        ++at;
        more = x != 0;
    }
}
"""
ADDS = {"array": "", "body": "sum = sum + x;"}
MEMORY = {
    "array": "HLS_STORAGE(sums, ram_s2p, lutram) HLS_RETURNS_AFTER_TWO(sums)",
    "body": "sum = sums[at] + x; sums[at] = sum;",
}
VALUES = (0, 1, 2, 5, 100, 1023, 1024, 2047, 4095, 70000, (1 << 40) + 12345, -1, -2, -77, -2048, -70001)
EXPRESSIONS = (
    "ap_int<11>(a) + ap_uint<13>(b)", "ap_uint<9>(a) - ap_uint<16>(b)", "ap_int<7>(a) * ap_uint<9>(b)",
    "-ap_int<8>(a)",
    "ap_int<8>(a) & ap_uint<8>(b)", "ap_uint<5>(a) | ap_int<9>(b)", "ap_uint<6>(a) ^ 3", "~ap_uint<10>(a)",
    "ap_uint<16>(ap_uint<16>(a) << 3)", "ap_int<12>(a) >> 2", "ap_uint<16>(a) >> 2", "ap_int<9>(ap_int<20>(a))",
    "ap_uint<9>(ap_int<20>(a))", "ap_int<30>(ap_uint<8>(a))", "ap_int<8>(a) < ap_uint<8>(b)",
    "ap_uint<8>(a) >= ap_uint<5>(b)",
    "ap_int<9>(a) == ap_int<14>(b)", "ap_int<9>(a) > 4", "ap_uint<30>(a).range(11, 4).to_uint()",
    "ap_uint<16>(a)[3] ? 1 : 2",
    "(ap_uint<4>(a) + 1) * (ap_int<5>(b) - 1)", "ap_int<34>(a) + ap_int<34>(b)", "ap_uint<60>(a) + ap_uint<60>(b)",
)  # fmt: skip


def test_the_shim_has_every_macro_of_the_stages() -> None:
    """Needs no clang: a macro that the shim lacks stops the measurement of every design."""
    shim, vitis = (
        set(re.findall(r"^#define (HLS_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
        for path in (BENCHMARKS / "shim" / "pragmas.h", templates_directory() / "hls" / "pragmas" / "vitis.h")
    )
    assert shim == vitis - {"HLS_PRAGMA"}, "HLS_PRAGMA spells the others"


@pytest.fixture
def recurrence(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("ziglang", reason="needs clang: pip install 'fgnas[clang]'")
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("recurrence")


@pytest.fixture
def measure(recurrence: ModuleType, tmp_path: Path) -> Callable:
    """The recurrence of the hand-made loop with other parts, on 7 series."""

    def measured(parts: dict[str, str]):
        source = tmp_path / "stage.cpp"
        source.write_text(LOOP % parts)
        (one,) = recurrence.measure(recurrence.compile_ir(source), recurrence.Delays.of("xc7"))
        return one

    return measured


def test_an_accumulator(recurrence: ModuleType, measure: Callable) -> None:
    """The sum is a register behind an adder of its width; its input multiplexer sets the first value."""
    delays = recurrence.Delays.of("xc7")
    found = measure(ADDS)
    wanted = delays.operator("add", 16) + delays.operator("select", 1)
    read = delays.accesses["stream_read"]
    # The read of an iteration waits for the end condition of the one before, which compares what that one read.
    ends = read + delays.operator("compare", 16) + delays.operator("select", 1)
    assert found.ns == pytest.approx(max(wanted, ends)) and found.iterations == 1
    assert found.function == "stage" and found.file == "stage.cpp" and found.line == 10


def test_a_longer_chain_is_found(measure: Callable) -> None:
    """Additions that each wait for the sum before make the recurrence longer, and are named."""
    body = "sum = ((sum ^ x) + x) ^ 5; sum = (sum | x) + 77; sum = (sum ^ x) + x;"
    short, long = measure(ADDS), measure(ADDS | {"body": body})
    assert long.ns > short.ns
    added = [step for step in long.path if step.startswith("add ")]
    assert len(added) == 3 and all("(stage.cpp:" in step for step in added)


def test_a_memory_takes_its_own_clock(recurrence: ModuleType, measure: Callable) -> None:
    """With a distance of two, read, addition and write share the one cycle that the read's clock leaves."""
    delays = recurrence.Delays.of("xc7")
    access = delays.accesses["memory_read"] + delays.accesses["memory_write"]
    assert measure(MEMORY).ns == pytest.approx(access + delays.operator("add", 16))


def test_a_memory_without_a_distance_has_no_schedule(measure: Callable) -> None:
    found = measure(MEMORY | {"array": "HLS_STORAGE(sums, ram_s2p, lutram)"})
    assert math.isinf(found.ns)


def test_an_argument_whose_elements_do_not_meet(recurrence: ModuleType, tmp_path: Path) -> None:
    """Without the mark a store and the next load are a recurrence; with it they are not."""
    source = LOOP % ADDS
    stage = source.replace("stage(", "stage(ap_uint<16> table[8], ").replace("sum + x", "table[x & 7]; table[at] = sum")
    found = []
    for body in (stage, stage.replace("bool more", "HLS_INDEPENDENT(table) bool more")):
        (tmp_path / "unit.cpp").write_text(body)
        (loop,) = recurrence.measure(recurrence.compile_ir(tmp_path / "unit.cpp"), recurrence.Delays.of("xc7"))
        found.append(loop.ns)
    assert found[0] == math.inf and found[1] < 10


Parts = dict[str, Any]
ARRAYS: dict[str, tuple[Parts, Parts]] = {
    "plain": ({"aggregation": "max", "d": 24, "k": 2}, {"results": 2}),
    "gat": ({"attention": "gat", "t_attn": 1, "aggregation": "mean", "d": 8, "k": 2}, {"results": 2}),
    "gat-sym": ({"attention": "gat-sym", "aggregation": "mean", "d": 8, "k": 2}, {"results": 2}),
    "cos": ({"attention": "cos", "aggregation": "add", "d": 8, "k": 2}, {"results": 2}),
    "gene-linear": ({"attention": "gene-linear", "aggregation": "add", "d": 8, "k": 2}, {}),
    "partial sums": ({"aggregation": "mean", "d": 24, "k": 2}, {"slices": 2, "split": 1}),
    "shared tables": ({"aggregation": "max", "d": 24, "k": 1}, {"shared": 2, "columns": (1,), "split": 1}),
}
"""A hidden layer, and how the engine of four units is built; it has three tiles or two modes, and activation tables."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if name != "plain" else [])
                                  for name in ARRAYS])  # fmt: skip
def test_the_loops_of_an_array_fit_the_clock(name: str, recurrence: ModuleType, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    data = random_graph(rng, 30, 12, 19, 60)
    layer, built = ARRAYS[name]
    plain = {"attention": "gcn", "t_attn": None}
    hidden = {**plain, "activation": "tanh", **layer}
    design = random_design(rng, 2, (hidden, {**plain, "aggregation": "add", "k": 1}))
    built = {"columns": (2,), "split": 2, "beat_bits": 512, **built}
    array = fit(random_source_of(rng, design, data), data, Arrangement(4, **built))
    write_project(array, data, tmp_path / "p")
    loops = recurrence.pipelined_loops(recurrence.optimised(recurrence.project_ir(tmp_path / "p")))
    check_loops(recurrence, loops)


LOOPS = {
    "fetch", "read_beats", "issue_load", "issue_sparse", "issue_dense", "issue_scores", "load", "compute", "drop",
    "fill", "write_beats",
}  # fmt: skip
"""The pipelined loops of an array's C++, by their functions."""


def check_loops(recurrence: ModuleType, loops: list[Any], further: tuple[str, ...] = ()) -> None:
    """Whether an iteration can begin in each cycle, in all of the loops."""
    budget = importlib.import_module("initiation_interval").BUDGET
    for family in FAMILIES:
        delays = recurrence.Delays.of(family)
        worst = {one.function: one.ns for one in (recurrence.worst_recurrence(loop, delays) for loop in loops)}
        assert worst.keys() == {*LOOPS, *further}
        assert max(worst.values()) <= budget, worst


@pytest.mark.slow
def test_the_loops_of_an_array_of_points_fit_the_clock(recurrence: ModuleType, tmp_path: Path) -> None:
    """With a chain, distances and several modes."""
    data = tied_clouds(np.random.default_rng(3), 12, 3, 4)
    network = PointNetwork((Sample("nearest"), Aggregate("max", "full"), Combine(16)), TAILS["small"])
    encoded = lowered(PointSource(integers_of(network, data), 12), 2)
    given = encoded.with_cloud(np.zeros((12, 3), np.int64))
    write_points(given, tmp_path, Specification())
    loops = recurrence.pipelined_loops(recurrence.optimised(recurrence.project_ir(tmp_path)))
    check_loops(recurrence, loops, ("issue_gather",))




def test_a_loop_that_is_not_unrolled_is_refused(recurrence: ModuleType, measure: Callable) -> None:
    body = "for (int lane = 0; lane < x; ++lane) { HLS_UNROLL sum = sum * 3 + 1; out.write(sum); }"
    with pytest.raises(recurrence.MeasurementError, match="unrolled"):
        measure(ADDS | {"body": body})


def test_delays_between_and_beyond_the_table(recurrence: ModuleType) -> None:
    delays = recurrence.Delays({"add": {8: 1.0, 16: 2.0, 32: 3.0}}, {})
    assert [delays.operator("add", width) for width in (8, 12, 32, 64, 128)] == [1.0, 1.5, 3.0, 4.0, 5.0]


def test_the_shim_computes_as_the_vendors_headers(recurrence: ModuleType, tmp_path: Path) -> None:
    cases = "\n".join(f"    case {at}: return (long long)({one});" for at, one in enumerate(EXPRESSIONS))
    source = tmp_path / "expressions.cpp"
    source.write_text(
        "#include <ap_int.h>\n"
        'extern "C" long long value(int which, long long a, long long b) {\n'
        f"    switch (which) {{\n{cases}\n    }}\n    return 0;\n}}\n"
    )
    library = tmp_path / "vendor.so"
    flags = ("-std=c++17", "-w", "-shared", "-fPIC", "-isystem", find_ap_types())
    subprocess.run([find_compiler(), *flags, source, "-o", library], check=True)
    wanted = ctypes.CDLL(str(library)).value
    wanted.restype, wanted.argtypes = ctypes.c_longlong, (ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong)
    llvm = recurrence.llvm
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(recurrence.compile_ir(source)), recurrence.target_machine())
    engine.finalize_object()
    found = ctypes.CFUNCTYPE(ctypes.c_longlong, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong)(
        engine.get_function_address("value")
    )
    for which, expression in enumerate(EXPRESSIONS):
        for a in VALUES:
            for b in VALUES:
                assert found(which, a, b) == wanted(which, a, b), (re.sub(r"\s+", " ", expression), a, b)
