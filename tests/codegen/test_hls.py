"""The generated C++ against the integer reference: by hand, on random small graphs, on the whole of Cora."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fgnas.codegen.project import write_project
from fgnas.data import GraphData, build
from fgnas.design import Design, Layer
from fgnas.hardware import reference
from fgnas.hardware.accelerator import STATUS_BITS, Accelerator
from fgnas.hardware.encoding import encode
from fgnas.hardware.geometry import GraphShape
from fgnas.hardware.lowering import lower
from fgnas.network import LayerParameters, Network
from fgnas.space import fgnas_space
from fgnas.tools.csim import run_csim

Choices = dict[str, Any]
WITHOUT_GAT = fgnas_space().restrict(attention=("constant", "gcn"))


def random_graph(rng: np.random.Generator, nodes: int, width_in: int, classes: int, edges: int) -> GraphData:
    """A graph with repeated edges, isolated nodes and nodes without a feature, as chance has it."""
    features = rng.random((nodes, width_in)) * (rng.random((nodes, width_in)) < 0.3)
    features[0] = 0
    ends = rng.integers(0, max(1, 3 * nodes // 4), (2, edges))
    ends = np.concatenate([ends, ends[:, : edges // 4]], axis=1)
    labels = rng.integers(0, classes, nodes)
    everyone = np.ones(nodes, bool)
    return build("random", features, ends, labels, everyone, everyone, everyone, classes)


def random_design(rng: np.random.Generator, layers: int, overrides: tuple[Choices, ...] = ()) -> Design:
    """A design of the paper's space without gat, and with some choices of some layers fixed."""
    space = fgnas_space(layers).restrict(attention=("constant", "gcn"))
    drawn = space.design(space.draw(1, rng)[0], int(rng.integers(0, 40)))
    fixed = [*overrides, *[{}] * (layers - len(overrides))]
    made = [Layer(**{**layer.model_dump(), **own}) for layer, own in zip(drawn.layers, fixed, strict=True)]
    return Design(schema=1, layers=tuple(made), dsp=drawn.dsp)


def random_accelerator(rng: np.random.Generator, design: Design, data: GraphData) -> Accelerator:
    """The design with random weights and random scales, which make shifts to either side."""
    width, layers = data.width_in, []
    for layer in design.layers:
        d = layer.d or data.classes
        biases = layer.k * d if layer.d else d
        weight = rng.normal(size=(width, layer.k, d)).astype(np.float32)
        bias = rng.normal(size=biases).astype(np.float32)
        scales = rng.integers(-2, 4, 3).tolist()
        layers.append(LayerParameters(weight, bias, None, None, *scales))
        width = layer.k * d
    network = Network(tuple(layers), int(rng.integers(0, 4)))
    return lower(design, network, GraphShape.of(data), data.name)


def assert_equal_everywhere(accelerator: Accelerator, data: GraphData, folder: Path) -> None:
    """Generate, compile without a warning, run; every logit must be the reference's."""
    write_project(accelerator, data, folder)
    report = run_csim(folder)
    assert (report["mismatches"], report["failed_checks"]) == (0, 0), report
    assert report["logits"] == data.nodes * data.classes
    assert (folder / "build" / "csim" / "compile.log").read_text() == ""


def plain_layer(**choices: Any) -> Layer:
    """A one-headed layer that adds what it hears, with a step of one half."""
    plain = Layer(
        d=2, attention="constant", aggregation="add", k=1, activation="relu", t_in=2, t_out=2, t_attn=None,
        t_aggr=2, t_act=1, ai=5, af=1, wi=3, wf=0,
    )  # fmt: skip
    return plain.model_copy(update=choices)


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
    return {"aggregation": aggregation, "attention": attention, **more}


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
    "one layer": ((25, 13, 10, 60), 1, (kinds("mean", "gcn", k=4, t_aggr=2),)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
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


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))])
def test_whole_cora(cora: GraphData, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    accelerator = random_accelerator(rng, WITHOUT_GAT.design(WITHOUT_GAT.draw(1, rng)[0], 100), cora)
    assert_equal_everywhere(accelerator, cora, tmp_path / "cora")


def test_refusals_have_their_documented_status(four_nodes: GraphData, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    accelerator = random_accelerator(rng, random_design(rng, 2, ({"d": 4, "k": 1},)), four_nodes)
    assert_equal_everywhere(accelerator, four_nodes, tmp_path / "project")
    log = (tmp_path / "project" / "build" / "csim" / "csim.log").read_text()
    expected = {
        "no nodes": 0,
        "too many nodes": 1 << STATUS_BITS["nodes_over_capacity"],
        "a column beyond the input": 1 << STATUS_BITS["column_out_of_range"],
        "a source beyond the graph": 1 << STATUS_BITS["source_out_of_range"],
        "a row that is too long": 1 << STATUS_BITS["degree_over_capacity"],
        "features that end early": 1 << STATUS_BITS["stream_too_short"],
        "edges that end early": 1 << STATUS_BITS["stream_too_short"],
    }
    for what, status in expected.items():
        assert f"{what}: status {status:#x}, logits untouched\n" in log
