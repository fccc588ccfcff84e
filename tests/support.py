"""Helpers of several test packages: random graphs, designs and weights, and a plain layer."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fgnas.design import VECTORS, Design, Layer
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.timeline import Timeline
from fgnas.network import ATTENTION_VECTORS, LayerParameters, Network, SecondProduct
from fgnas.systems.fgnas.space import fgnas_space
from fgnas.tasks.nodes import GraphData, build
from fgnas.tools.find import find_verilator
from fgnas.tools.verilator import tools_on_path

Choices = dict[str, Any]
SPACE_OPTIONS: Choices = {"attention": ("constant", "gat", "gcn")}


def random_graph(rng: np.random.Generator, nodes: int, width_in: int, classes: int, edges: int) -> GraphData:
    """A random graph with repeated edges, isolated nodes and nodes without a feature."""
    features = rng.random((nodes, width_in)) * (rng.random((nodes, width_in)) < 0.3)
    features[0] = 0
    ends = rng.integers(0, max(1, 3 * nodes // 4), (2, edges))
    ends = np.concatenate([ends, ends[:, : edges // 4]], axis=1)
    labels = rng.integers(0, classes, nodes)
    everyone = np.ones(nodes, bool)
    return build("random", features, ends, labels, everyone, everyone, everyone, classes)


def random_design(rng: np.random.Generator, layers: int, overrides: tuple[Choices, ...] = ()) -> Design:
    """A random design of the paper's space, with some choices of some layers fixed."""
    space = fgnas_space(layers).restrict(**SPACE_OPTIONS)
    drawn = space.design(space.draw(1, rng)[0], int(rng.integers(0, 40)))
    fixed = [*overrides, *[{}] * (layers - len(overrides))]
    made = [Layer(**{**layer.model_dump(), **own}) for layer, own in zip(drawn.layers, fixed, strict=True)]
    return Design(schema=1, layers=tuple(made), dsp=drawn.dsp)


def random_network(rng: np.random.Generator, design: Design, data: GraphData) -> Network:
    """Normal weights and random scales, so that shifts go both ways."""
    width, layers = data.width_in, []
    for layer in design.layers:
        d = layer.d or data.classes
        weight = rng.normal(size=(width, layer.k, d)).astype(np.float32)
        bias = rng.normal(size=layer.k * d if layer.d or layer.mlp else d).astype(np.float32)
        count = VECTORS.get(layer.attention, 0)
        attention = [rng.normal(size=(layer.k, d)).astype(np.float32) for _ in range(max(2, count))]
        vectors: dict[str, Any] = dict(zip(ATTENTION_VECTORS, attention[:count], strict=False))
        names = ("weight_scale", "value_scale", "output_scale")
        scales: dict[str, Any] = dict(zip(names, rng.integers(-2, 4, 3).tolist(), strict=True))
        scales["score_scale"] = int(rng.integers(-3, 1)) if layer.dot else None
        scales["pair_scale"] = int(rng.integers(-2, 4)) if layer.pair else None
        scales["gathered_scale"] = int(rng.integers(-2, 4)) if layer.gathers_first else None
        made = LayerParameters(weight, bias, **vectors, **scales)
        width = layer.k * d
        layers.append(replace(made, mlp=random_second(rng, width, width if layer.d else d)) if layer.mlp else made)
    return Network(tuple(layers), int(rng.integers(0, 4)))


def random_second(rng: np.random.Generator, inner: int, outer: int) -> SecondProduct:
    """A second product with normal weights and random scales."""
    weight, bias = (rng.normal(size=shape).astype(np.float32) for shape in ((inner, outer), outer))
    return SecondProduct(weight, bias, *rng.integers(-2, 4, 2).tolist())


def random_accelerator(rng: np.random.Generator, design: Design, data: GraphData) -> Accelerator:
    """The design with random weights, lowered for the graph."""
    return lower(design, random_network(rng, design, data), GraphShape.of(data), data.name)


def plain_layer(**choices: Any) -> Layer:
    """A one-headed layer that sums its messages, with a step of one half."""
    plain = Layer(
        d=2, attention="constant", aggregation="add", k=1, activation="relu", t_in=2, t_out=2, t_attn=None,
        t_aggr=2, t_act=1, ai=5, af=1, wi=3, wf=0,
    )  # fmt: skip
    return plain.model_copy(update=choices)


def run_on_face(test_module: str, folder: Path, **environment: str) -> None:
    """Run a cocotb module of sim/ on the kernel's interface that is built in `folder`/build; its log goes to run.log.

    A failed test ends the runner; the module's result is then missing.
    """
    from cocotb_tools.runner import get_runner

    with tools_on_path(find_verilator().path), suppress(SystemExit, RuntimeError):
        get_runner("verilator").test(
            test_module=test_module,
            hdl_toplevel_lang="verilog",
            hdl_toplevel="face",
            build_dir=folder / "build",
            test_dir=folder / "build",
            extra_env=environment,
            log_file=folder / "run.log",
            results_xml=str(folder / "results.xml"),
        )


def late_rows(project: Path, modelled: Timeline) -> str:
    """The first row that the last simulation saw a stage take in another cycle than the model's; "" without one."""
    with np.load(project / "report" / "sim_rows.npz") as rows:
        for phase in modelled.phases:
            for name, stage in phase.recorded.items():
                late = rows[name].astype(int) + 1 - stage.finishes
                if late.any():
                    row = int(late.nonzero()[0][0])
                    return f"{name} took in row {row} {late[row]} cycles late"
    return ""
