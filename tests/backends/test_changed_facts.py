"""A fact that is changed in its one home reaches every reader: C++, RTL, encoder, reference, models and driver."""

import dataclasses
import importlib.util
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arrays import random_source
from elaboration import elaborated
from levels import quick
from support import plain_layer, random_graph, random_network

from fgnas.backends import array
from fgnas.backends.pipeline import write_project
from fgnas.backends.rtl import KERNEL
from fgnas.design import Design
from fgnas.engine.contracts import Composition
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array import choosing, engine, programme
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.designs import ArrayDesignPricer, ArrayDesignPrices
from fgnas.hardware.array.engine import Mode
from fgnas.hardware.array.lowering import BLOCK_WORDS, ArrayAccelerator, own_depth
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.resources import engine_resources
from fgnas.hardware.numbers import ceil_div
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.hardware.wire import Field, Layout
from fgnas.laboratory.array import CONSTANT
from fgnas.systems.gcos.composition import composed
from fgnas.systems.gcos.options import Options
from fgnas.tasks.nodes import GraphData
from fgnas.tools.csim import run_csim
from fgnas.tools.find import find_verilator
from fgnas.tools.simulate import run_simulation

NUMBERS = {"ai": 3, "af": 5, "wi": 2, "wf": 4}
LAYERS = (
    plain_layer(d=8, k=2, attention="gat", t_attn=4, activation="tanh", t_in=3, t_out=4, t_aggr=4, t_act=2, **NUMBERS),
    plain_layer(
        d=None, attention="gcn", aggregation="add", activation=None, t_act=None, t_in=2, t_out=3, t_aggr=4, **NUMBERS
    ),
)


@pytest.fixture(scope="module")
def data() -> GraphData:
    return random_graph(np.random.default_rng(3), 24, 30, 5, 80)


def accelerator_for(data: GraphData) -> Accelerator:
    design = Design(schema=1, layers=LAYERS, dsp=16)
    network = random_network(np.random.default_rng(4), design, data)
    return lower(design, network, GraphShape.of(data), data.name)


def check(accelerator: Accelerator, data: GraphData, folder: Path) -> dict[str, Any]:
    """Run both back ends on the graph: logits must equal the reference, cycles the prediction. Returns the price."""
    write_project(accelerator, data, folder)
    assert run_csim(folder, quick()).items() >= {"mismatches": 0, "failed_checks": 0}.items()
    found = run_simulation(folder)
    price: dict[str, Any] = json.loads((folder / "report" / "price.json").read_text())
    assert (found["mismatches"], found["cycles"]) == (0, price["latency_cycles"])
    return price


def test_the_interface(data: GraphData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields in another order, shorter logits and swapped status bits, all in one change."""
    before = accelerator_for(data)
    write_project(before, data, tmp_path / "before")
    golden = np.fromfile(tmp_path / "before" / "vectors" / "logits.bin", "<i2")
    edge = Layout((Field("last", 1, ""), Field("source", 18, ""), Field("coefficient", 9, "")))
    monkeypatch.setattr(wire, "EDGE", edge)
    monkeypatch.setattr(wire, "FEATURE", Layout((Field("value", 10, ""), Field("column", 13, ""))))
    tail = Layout((Field("split", 3, ""), Field("count", 3, ""), Field("last", 1, "")), at=119)
    monkeypatch.setattr(wire, "FEATURE_TAIL", tail)
    width = int(abs(golden.astype(int)).max()).bit_length()
    monkeypatch.setattr(wire, "LOGIT_BITS", width)
    bits = wire.STATUS_BITS
    swapped = {"stream_too_short": bits["source_out_of_range"], "source_out_of_range": bits["stream_too_short"]}
    monkeypatch.setattr(wire, "STATUS_BITS", bits | swapped)

    folder = tmp_path / "after"
    check(accelerator_for(data), data, folder)
    regions = {name: (folder / "vectors" / f"{name}.bin").read_bytes() for name in ("edges", "features", "logits")}
    assert all(regions[name] != (tmp_path / "before" / "vectors" / f"{name}.bin").read_bytes() for name in regions)
    logits = np.frombuffer(regions["logits"], "<i2")
    limit = 1 << (width - 1)
    assert np.array_equal(logits, np.clip(golden, -limit, limit - 1)), "the largest logit saturates"

    sizes = json.loads((folder / "vectors" / "vectors.json").read_text())
    (folder / "vectors" / "vectors.json").write_text(json.dumps(sizes | {"edge_beats": sizes["edge_beats"] - 1}))
    (folder / "vectors" / "edges.bin").write_bytes(regions["edges"][: -wire.BEAT_BYTES])
    status = 1 << bits["source_out_of_range"]
    with pytest.raises(UserError, match=f"status {status:#x}"):
        run_simulation(folder)
    driver = importlib.util.spec_from_file_location("changed_driver", folder / "driver.py")
    module = importlib.util.module_from_spec(driver)
    driver.loader.exec_module(module)
    assert "stream too short" in str(module.KernelError(status))


@pytest.mark.slow
def test_the_lowered_accelerator(data: GraphData, tmp_path: Path) -> None:
    """Buffer rows, lanes of H and DSP slices, changed on one lowered layer; the design does not contain them."""
    plain = accelerator_for(data)
    first = plain.layers[0]
    g = first.geometry
    lanes = 2 * g.h_lanes
    geometry = dataclasses.replace(
        g, store_rows=2, aggr_rows=2, act_rows=3, score_rows=2, maximum_rows=2, h_lanes=lanes,
        h_words=ceil_div(g.features, lanes),
    )  # fmt: skip
    assert geometry.h_words < g.h_words and first.linear_dsp > 1 and first.aggregate_dsp > 1
    layer = dataclasses.replace(first, geometry=geometry, linear_dsp=first.linear_dsp - 1, aggregate_dsp=1)
    changed = dataclasses.replace(plain, layers=(layer, *plain.layers[1:]))

    before = check(plain, data, tmp_path / "before")
    after = check(changed, data, tmp_path / "after")
    assert after["latency_cycles"] != before["latency_cycles"]
    assert before["dsp"] - after["dsp"] == 1 + (first.aggregate_dsp - 1)
    for name, price in (("before", before), ("after", after)):
        slices = [module for module, _ in elaborated(tmp_path / name / "rtl") if module == "multiplier_dsp"]
        assert len(slices) == price["dsp"]
    header = (tmp_path / "after" / "src" / "parameters.h").read_text()
    assert f"LINEAR_DSP = {first.linear_dsp - 1};" in header and "AGGREGATE_DSP = 1;" in header
    assert f"H_LANES = {lanes};" in header and f"STORE_FIFO = {2 * geometry.h_words};" in header


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        ("geometry", {"h_lanes": 16}, "h_words is"),
        ("geometry", {"h_lanes": 2, "h_words": 8}, "no multiple of t_aggr"),
        ("geometry", {"t_out": 8}, "out_tiles is"),
        ("geometry", {"value_bits": 8}, "value_bits is 8"),
        ("geometry", {"aggr_rows": 0}, "aggr_rows is 0"),
        ("layer", {"linear_dsp": 13}, "linear has 12 multipliers"),
        ("layer", {"weight": np.zeros((3, 3), np.int64)}, "weights are"),
    ],
)
def test_a_contradiction_is_refused(data: GraphData, part: str, changes: dict[str, Any], message: str) -> None:
    layer = accelerator_for(data).layers[0]
    with pytest.raises(ValueError, match=message):
        if part == "geometry":
            changes = {"geometry": dataclasses.replace(layer.geometry, **changes)}
        dataclasses.replace(layer, **changes)


def swapped(arguments: tuple[wire.Register, ...]) -> tuple[wire.Register, ...]:
    """The arguments with the first one in the last place before the status, at the offsets that follow."""
    first, *others, status = arguments
    return wire.assigned(*((one.name, one.bits, one.access, one.about) for one in (*others, first, status)))


def test_the_registers_of_a_pipeline(data: GraphData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nodes' register moves behind all others: the slave, the host and the summary follow."""
    monkeypatch.setattr(wire, "ARGUMENT_REGISTERS", swapped(wire.ARGUMENT_REGISTERS))
    write_project(accelerator_for(data), data, tmp_path)
    found = run_simulation(tmp_path)
    assert (found["mismatches"], found["cycle_difference"]) == (0, 0)


def array_for(data: GraphData) -> ArrayAccelerator:
    return fit(random_source(np.random.default_rng(5), 2, data), data, Arrangement(2))


def test_the_registers_of_an_array(data: GraphData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of descriptors moves behind all others: the slave, the host and the summary follow."""
    arguments = swapped(programme.ARGUMENT_REGISTERS)
    monkeypatch.setattr(programme, "ARGUMENT_REGISTERS", arguments)
    monkeypatch.setattr(programme, "REGISTERS", wire.CONTROL_REGISTERS + arguments)
    array.write_project(array_for(data), data, tmp_path)
    found = run_simulation(tmp_path)
    assert (found["mismatches"], found["cycle_difference"]) == (0, 0)


def row_memories(built: ArrayAccelerator, folder: Path) -> tuple[int, int]:
    """Memories of own rows that the RTL has in LUTRAM and in block RAM."""
    array.write_rtl(built, folder)
    depths = [(module, values.get("Depth")) for module, values in elaborated(folder / "rtl")]
    words = built.engine.own_words
    return depths.count(("distributed_ram", words)), depths.count(("block_ram", words))


def test_the_rows_that_lutram_holds(data: GraphData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many rows as LUTRAM holds stay there; where it holds one fewer, RTL, C++ and models build block RAM."""
    plain = array_for(data)
    most = engine.OWN_WORDS_LUTRAM
    full = dataclasses.replace(plain.engine, own_words=most, table_words=1024)
    built = dataclasses.replace(plain, engine=full)
    before = engine_resources(full)
    assert row_memories(built, tmp_path / "before") == (full.units, 0)
    assert (array._storage(most), own_depth(np.array(most))) == ("lutram", most)

    monkeypatch.setattr(engine, "OWN_WORDS_LUTRAM", most - 1)
    after = engine_resources(full)
    assert row_memories(built, tmp_path / "after") == (0, full.units)
    assert (array._storage(most), own_depth(np.array(most))) == ("bram", BLOCK_WORDS)
    assert after["bram36"] > before["bram36"] and after["lut"] < before["lut"]


def test_the_slices_of_a_multiplier(data: GraphData, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every count of an array's DSP slices follows, and so does the array that a number of them allows."""
    options = Options(dataset="cora", dsp=64)
    built, search = array_for(data), composed(options, data)
    rows = search.space.draw(3, np.random.default_rng(1))
    columns, arrays = search.space.designs(rows)
    prices = ArrayDesignPrices(ArrayDesignPricer(data).price(columns, arrays), arrays.beat_bits)

    def counted() -> dict[str, Any]:
        return {
            "an engine": engine_resources(built.engine)["dsp"],
            "prices": prices.columns(Specification())["dsp"],
            "limits": prices.named()["dsp"],
            "a search": search.target.price(rows)["dsp"],
            "designs": [search.space.candidate(row).dsp for row in rows],
        }

    def most_units(own: Composition) -> int:
        return max(own.space.candidate(row).array.units for row in own.space.draw(200, np.random.default_rng(2)))

    def chosen() -> int:
        return choosing.fastest(built.source, data, choosing.Room(16, 128, {"dsp": 16})).engine.multipliers

    before, many, most = counted(), most_units(search), chosen()
    monkeypatch.setattr(engine, "DSPS_OF_MULTIPLIER", 2)
    after, few, fewer = counted(), most_units(composed(options, data)), chosen()
    for name, count in before.items():
        assert np.array_equal(np.asarray(after[name]), 2 * np.asarray(count)), name
    assert (many, few) == (8, 4) and (most, fewer) == (16, 8)


def test_numbers_of_units_have_the_bits_that_they_need(data: GraphData, tmp_path: Path) -> None:
    """256 groups are more than the eight bits say that a kernel once gave them: they were none."""
    plain, modes = array_for(data), (Mode(256, 1, 1), Mode(2, 8, 16))
    wide = dataclasses.replace(plain.engine)
    for name, value in (("units", 256), ("modes", modes)):  # more units than an engine may have
        object.__setattr__(wide, name, value)
    array.write_rtl(dataclasses.replace(plain, engine=wide), tmp_path)
    constants = CONSTANT.findall((tmp_path / "rtl" / f"{KERNEL}.sv").read_text())
    checks = [
        f"if (32'(M[{place}]) != {mode.m} || LogK[{place}] != {mode.k.bit_length() - 1} || "
        f"LogN[{place}] != {mode.n.bit_length() - 1}) $error(\"mode {place}\");"
        for place, mode in enumerate(modes)
    ]
    text = "\n".join(["module top;", "import array_pkg::*;", *constants, *checks, "endmodule", ""])
    (tmp_path / "rtl" / "top.sv").write_text(text)
    command = [str(find_verilator().path), "--lint-only", "--top-module", "top"]
    command += ["fgnas_pkg.sv", "array_pkg.sv", "top.sv"]
    run = subprocess.run(command, cwd=tmp_path / "rtl", check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
