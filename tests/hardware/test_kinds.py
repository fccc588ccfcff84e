"""Every public number of every kind of hardware against the golden vectors of its project."""

from pathlib import Path

import numpy as np
import pytest
from support import random_graph, random_network

import fgnas
from fgnas import api
from fgnas.backends.array import REGIONS
from fgnas.design import Array, Design
from fgnas.errors import UserError
from fgnas.hardware.kinds import KINDS, find_kind, kind_of
from fgnas.network import Network
from fgnas.networks.calibration import calibrated, tied
from fgnas.networks.training import Recipe, train
from fgnas.tasks.nodes import GraphData

ATTENTIONS = {"pipeline": ("constant", "gcn", "gat"), "array": (
    "constant", "gcn", "gat", "linear", "gat-sym", "cos", "gene-linear")}  # fmt: skip
AGGREGATIONS = {"pipeline": ("add", "mean", "max"), "array": ("add", "mean", "max", "mlp")}
CASES = [
    (kind, attention, aggregation, bits)
    for kind, attentions in ATTENTIONS.items() for attention in attentions for aggregation in AGGREGATIONS[kind]
    for bits in (6, 8, 10, 16) if bits <= 10 or (kind == "array" and attention in ("constant", "gcn"))
]  # fmt: skip


def design_of(kind: str, attention: str, aggregation: str, bits: int) -> Design:
    """Two layers of a kind of messages, with two heads in both; scores of one head where they are of wide features."""
    formats = {"ai": 1, "af": bits - 2, "wi": 1, "wf": bits - 2}
    wide = attention in ("gat", "linear", "gat-sym", "cos", "gene-linear") and bits > 6
    layer = {"attention": attention, "aggregation": aggregation, "t_in": 1, "t_out": 1, "t_aggr": 1,
             "t_attn": 1 if attention == "gat" else None, **formats}  # fmt: skip
    hidden = layer | {"d": 4, "k": 2, "activation": "relu", "t_act": 1}
    last = layer | {"d": None, "k": 1 if wide or aggregation == "max" else 2, "activation": None, "t_act": None}
    array = None if kind == "pipeline" else Array(units=2, columns=(1,), beat_bits=128)
    return Design.from_dict({"schema": 1, "dsp": 16, "layers": [hidden, last]}).model_copy(update={"array": array})


@pytest.fixture(scope="module")
def data() -> GraphData:
    return random_graph(np.random.default_rng(8), 40, 10, 5, 160)


def golden(folder: Path, kind: str, classes: int) -> np.ndarray:
    """[N, classes] the logits in a project's vectors, read as its driver reads them."""
    space: dict = {"__name__": "driver"}
    exec(compile((folder / "driver.py").read_text(), "driver.py", "exec"), space)
    return np.asarray(space["golden"](folder / "vectors"))[:, :classes]


@pytest.mark.parametrize(("kind", "attention", "aggregation", "bits"), CASES)
def test_public_numbers_are_the_hardwares(
    kind: str, attention: str, aggregation: str, bits: int, data: GraphData, tmp_path: Path
) -> None:
    """Logits, classes, accuracies and regions: those of the vectors that C++ and RTL are compared with."""
    design = design_of(kind, attention, aggregation, bits)
    network = tied(design, random_network(np.random.default_rng(bits), design, data))
    made = api.Design(design, network, data.name, data.fingerprint)
    accelerator = made.lower(data)
    assert accelerator.hardware.kind is not None and kind_of(design).name == kind
    folder = accelerator.write(tmp_path / "p").directory
    right = golden(folder, kind, data.classes)
    assert np.array_equal(accelerator.logits(), right)
    assert np.array_equal(accelerator.predict(), right.argmax(axis=1))
    quantised = made.accuracy(data)["quantised"]
    assert quantised == {
        split: float((right.argmax(axis=1) == data.labels)[getattr(data, split)].mean()) for split in ("val", "test")
    }
    regions = accelerator.regions()
    for name in ("features", "edges", *(one for one in REGIONS if one != "logits" and one in regions)):
        assert regions[name].tobytes() == (folder / "vectors" / f"{name}.bin").read_bytes(), name


def test_a_design_may_be_lowered_for_other_hardware(data: GraphData) -> None:
    """The same weights on both kinds: a mean rounds in other places, and each has the numbers of its own vectors."""
    design = design_of("pipeline", "gcn", "mean", 6)
    made = api.Design(design, random_network(np.random.default_rng(1), design, data))
    pipeline, array = made.lower(data), made.lower(data, "array")
    assert (pipeline.hardware.kind.name, array.hardware.kind.name) == ("pipeline", "array")
    assert not np.array_equal(pipeline.logits(), array.logits())


def test_calibration_ties_what_an_array_needs_no_table_for(data: GraphData) -> None:
    for kind, ties in (("pipeline", False), ("array", True)):
        design = design_of(kind, "gcn", "add", 8)
        trained = train(data, design.architecture(), 1, Recipe(epochs=20)).network
        # A far scale of the results, which calibration would keep where it may.
        first = calibrated(design, Network(trained.layers, trained.input_scale), data).layers[0]
        assert find_kind(kind).ties is ties
        if ties:
            assert first.output_scale == first.value_scale


def test_a_graph_that_the_hardware_does_not_hold_is_refused(data: GraphData) -> None:
    large = random_graph(np.random.default_rng(9), 2000, 10, 5, 9000)
    for kind in KINDS:
        design = design_of(kind, "gcn", "add", 8)
        accelerator = api.Design(design, random_network(np.random.default_rng(2), design, data)).lower(data)
        for ask in (accelerator.logits, accelerator.predict, accelerator.regions):
            with pytest.raises(UserError, match="the graph"):
                ask(large)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(fgnas.UserError, match="unknown target 'gpu'; known: array, pipeline"):
        find_kind("gpu")
