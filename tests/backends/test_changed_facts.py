"""A fact that is changed in its one home reaches every reader: C++, RTL, encoder, reference, models and driver."""

import dataclasses
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elaboration import elaborated
from levels import quick
from support import plain_layer, random_graph, random_network

from fgnas.backends.pipeline import write_project
from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.numbers import ceil_div
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.wire import Field, Layout
from fgnas.tasks.nodes import GraphData
from fgnas.tools.csim import run_csim
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
    status = 1 << bits["source_out_of_range"]
    with pytest.raises(UserError, match=f"status {status:#x}"):
        run_simulation(folder)
    driver = importlib.util.spec_from_file_location("changed_driver", folder / "driver.py")
    module = importlib.util.module_from_spec(driver)
    driver.loader.exec_module(module)
    assert "stream too short" in str(module.KernelError(status))


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
