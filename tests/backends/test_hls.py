"""The generated C++ against the integer reference: by hand, on random small graphs, on the whole of Cora."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from levels import quick
from support import Choices, plain_layer, random_accelerator, random_design, random_graph

from fgnas.backends.pipeline import write_project
from fgnas.design import Design
from fgnas.hardware import wire
from fgnas.hardware.pipeline import reference
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.encoding import encode
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.network import LayerParameters, Network
from fgnas.tasks.nodes import GraphData
from fgnas.tools.csim import run_csim


def assert_equal_everywhere(accelerator: Accelerator, data: GraphData, folder: Path, small: bool = True) -> None:
    """Generate, compile without a warning, run; every logit must be the reference's."""
    write_project(accelerator, data, folder)
    report = run_csim(folder, quick() if small else ())
    assert (report["mismatches"], report["failed_checks"]) == (0, 0), report
    assert report["logits"] == data.nodes * data.classes
    assert (folder / "build" / "csim" / "compile.log").read_text() == ""


def test_four_nodes_by_hand(four_nodes: GraphData, tmp_path: Path) -> None:
    """Features are halves: node 0 has (1, 0, 1), node 1 (0, 1, 1), node 2 (2, 0, 0), node 3 nothing."""
    design = Design(schema=1, dsp=0, layers=(plain_layer(), plain_layer(d=None, activation=None, t_act=None)))
    first = LayerParameters(np.float32([[1, 0], [0, 1], [1, 1]])[:, None], np.float32([0, -0.5]))
    # H = (2, 1), (1, 2), (2, 0), (0, 0); Y adds 0 1, 0 1 2 2, 1 1 2, 3 = (3, 3), (7, 3), (4, 4), (0, 0);
    # the bias takes 1 off the second: Z = (3, 2), (7, 2), (4, 3), (0, 0).
    second = LayerParameters(np.float32([[1, -1], [0, 1]])[:, None], np.float32([0, 0.5]))
    # H = (3, -1), (7, -5), (4, -1), (0, 0); Y = (10, -6), (18, -8), (18, -11), (0, 0). A logit counts in
    # thirty-seconds, 16 a half, and the bias adds one half to the second.
    expected = [[160, -80], [288, -112], [288, -160], [0, 16]]
    accelerator = lower(design, Network((first, second)), GraphShape.of(four_nodes), "four")
    logits = reference.run(accelerator, encode(accelerator, four_nodes))
    np.testing.assert_array_equal(logits, expected)
    assert_equal_everywhere(accelerator, four_nodes, tmp_path / "four")
    rows = np.frombuffer((tmp_path / "four" / "vectors" / "logits.bin").read_bytes(), "<i2").reshape(4, 8)
    np.testing.assert_array_equal(rows[:, :2], expected)


def kinds(aggregation: str, attention: str, **more: Any) -> Choices:
    return {"aggregation": aggregation, "attention": attention, "t_attn": None, **more}


def gat(aggregation: str, t_attn: int, **more: Any) -> Choices:
    return {"aggregation": aggregation, "attention": "gat", "t_attn": t_attn, **more}


# Shape of the graph (nodes, width_in, classes, edges), layers, and the choices that the case is about.
CASES: dict[str, tuple[tuple[int, int, int, int], int, tuple[Choices, ...]]] = {
    "tiles that divide nothing": (
        (37, 23, 7, 90), 2,
        (kinds("mean", "gcn", k=2, d=12, t_in=5, t_out=5, t_aggr=8, t_act=5),
         kinds("max", "gcn", t_in=5, t_out=3, t_aggr=4)),
    ),
    "sixteen heads": (
        (20, 9, 3, 40), 2,
        (kinds("add", "gcn", k=16, d=4, t_out=3, t_aggr=2), kinds("mean", "constant", k=16, t_aggr=2)),
    ),
    "a class in a tile": (
        (33, 11, 9, 70), 2, (kinds("max", "constant", t_out=5, t_aggr=1), kinds("add", "gcn", k=2, t_aggr=8)),
    ),
    "one node": ((1, 6, 4, 0), 2, (kinds("mean", "constant", d=4), kinds("mean", "gcn", k=4))),
    "three layers": (
        (41, 17, 5, 100), 3,
        (kinds("max", "gcn", d=8, k=1, af=5), kinds("mean", "gcn", d=4, k=2, af=5), kinds("add", "constant", af=4)),
    ),
    "heads side by side": (
        (30, 12, 3, 80), 2,
        (gat("add", 8, k=16, d=4, t_out=3, t_aggr=8), gat("mean", 4, k=8, t_aggr=8)),
    ),
    "gat in tiles that divide nothing": (
        (33, 14, 7, 90), 2, (gat("max", 8, k=2, d=12, t_out=5, t_aggr=8), gat("max", 1, k=4, t_aggr=2)),
    ),
    "one head": ((28, 9, 5, 60), 2, (gat("mean", 2, k=1, d=4, t_aggr=8), gat("add", 8, k=1, t_aggr=8))),
    "more classes than lanes": ((21, 8, 11, 50), 2, (kinds("add", "gcn"), gat("mean", 4, k=16, t_aggr=4))),
    "all attentions": (
        (35, 10, 6, 90), 3,
        (gat("max", 4, k=2, d=16, af=4), kinds("mean", "constant", d=8, k=2, af=4), gat("add", 2, k=2, af=5)),
    ),
    "gat on one node": ((1, 6, 4, 0), 2, (gat("mean", 2, d=4), gat("max", 4, k=2))),
    "one layer of gat": ((25, 13, 10, 60), 1, (gat("max", 4, k=4, t_aggr=2),)),
    "one layer": ((25, 13, 10, 60), 1, (kinds("mean", "gcn", k=4, t_aggr=2),)),
}  # fmt: skip


QUICK = {
    "all attentions", "gat in tiles that divide nothing", "one node", "a class in a tile",
}  # fmt: skip
"""Cases that together reach every stage; the others are slow."""
MARKED = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]


@pytest.mark.parametrize("name", MARKED)
def test_small_graphs(name: str, tmp_path: Path) -> None:
    (nodes, width_in, classes, edges), layers, overrides = CASES[name]
    rng = np.random.default_rng(sorted(CASES).index(name))
    data = random_graph(rng, nodes, width_in, classes, edges)
    accelerator = random_accelerator(rng, random_design(rng, layers, overrides), data)
    assert_equal_everywhere(accelerator, data, tmp_path / "project")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_random_designs_on_random_graphs(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(1000 + seed)
    nodes, width_in, classes = (int(rng.integers(1, limit)) for limit in (80, 60, 18))
    data = random_graph(rng, nodes, width_in, classes, int(rng.integers(0, 4 * nodes)))
    design = random_design(rng, int(rng.integers(1, 4)))
    assert_equal_everywhere(random_accelerator(rng, design, data), data, tmp_path / "project")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_whole_cora(cora: GraphData, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    accelerator = random_accelerator(rng, random_design(rng, 2), cora)
    assert_equal_everywhere(accelerator, cora, tmp_path / "cora", small=False)


def test_refusals_have_their_documented_status(four_nodes: GraphData, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    accelerator = random_accelerator(rng, random_design(rng, 2, ({"d": 4, "k": 1},)), four_nodes)
    assert_equal_everywhere(accelerator, four_nodes, tmp_path / "project")
    log = (tmp_path / "project" / "build" / "csim" / "csim.log").read_text()
    expected = {
        "no nodes": 0,
        "too many nodes": 1 << wire.STATUS_BITS["nodes_over_capacity"],
        "a column beyond the input": 1 << wire.STATUS_BITS["column_out_of_range"],
        "a source beyond the graph": 1 << wire.STATUS_BITS["source_out_of_range"],
        "a row that is too long": 1 << wire.STATUS_BITS["degree_over_capacity"],
        "features that end early": 1 << wire.STATUS_BITS["stream_too_short"],
        "edges that end early": 1 << wire.STATUS_BITS["stream_too_short"],
    }
    for what, status in expected.items():
        assert f"{what}: status {status:#x}, logits untouched\n" in log
