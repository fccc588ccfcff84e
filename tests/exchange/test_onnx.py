"""ONNX models of integer networks: two runtimes give the interpreter's integers, for whatever a network may hold."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from arrays import SCORES_OF_ALL_KINDS, few_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from point_clouds import integers_of, tied_clouds
from pyg_models import models, random_given, seen, settled
from support import random_design, random_graph, random_network

import fgnas
from fgnas.cli import main
from fgnas.errors import UserError
from fgnas.exchange import onnx as exchange
from fgnas.fixedpoint import FixedPoint, shift_right_even
from fgnas.hardware.arithmetic import Arithmetic
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.add import Add
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.integer.designs import network_of
from fgnas.hardware.integer.graph import IntegerGraph, integer_graph, rows_alone
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork, Step
from fgnas.hardware.integer.operation import Operation
from fgnas.hardware.integer.positions import Positions
from fgnas.hardware.integer.rescale import Rescale
from fgnas.networks import scaled
from fgnas.networks.imported.quantising import built, first_formats
from fgnas.networks.imported.tracing import trace_module
from fgnas.networks.points.operations import LARGEST_WIDTH, TAILS
from fgnas.networks.points.work import Cloud, widest
from fgnas.systems.hgnas.space import point_space

onnx = pytest.importorskip("onnx", reason="needs onnx: pip install 'fgnas[onnx]'")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'fgnas[onnx]'")
evaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator


def check(integers: IntegerNetwork, graphs: Sequence[IntegerGraph], reference: bool = False) -> None:
    """The model is valid, and a runtime gives the interpreter's codes with their values and classes."""
    model = exchange.model_of(integers, graphs, "network")
    onnx.checker.check_model(model, full_check=True)
    inputs = exchange.inputs_of(integers, graphs)
    wanted = interpreter.run(integers, graphs)
    runs = [onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)]
    if reference:
        runs.append(evaluator(model).run(None, inputs))
    for codes, logits, classes in runs:
        np.testing.assert_array_equal(codes, wanted)
        np.testing.assert_array_equal(logits, integers.output.number.value(wanted).astype(np.float32))
        np.testing.assert_array_equal(classes, interpreter.predict(wanted))


def of_operation(operation: Operation, width: int, rows: int, rng: np.random.Generator) -> tuple[IntegerNetwork, list]:
    """A network of one operation behind a product, on random codes."""
    number = FixedPoint(9, 3)

    codes = sp.csr_matrix(rng.integers(number.minimum, number.maximum + 1, (rows, width)))
    own = np.arange(rows)
    graph = rows_alone(IntegerGraph(codes, np.arange(rows + 1), own, np.ones(rows, np.int64)))
    first = Combine(rng.integers(-20, 21, (width, width)), FixedPoint(6, 4), 2, FixedPoint(12, 5))
    steps = (Step("first", first, (FEATURES,)), Step("only", operation, ("first",)))
    return IntegerNetwork(width, number, steps), [graph]


@given(st.integers(-1 << 40, 1 << 40), st.integers(-12, 20))
@settings(max_examples=60, deadline=None)
def test_a_shift_rounds_to_even(code: int, shift: int) -> None:
    """Codes around every tie, in the reference evaluator."""
    from onnx import TensorProto, helper

    node = helper.make_node("ShiftRightEven", ["x"], ["y"], domain=exchange.DOMAIN, shift=shift)
    ends = [helper.make_tensor_value_info(name, TensorProto.INT64, [None]) for name in "xy"]
    model = helper.make_model(
        helper.make_graph([node], "g", ends[:1], ends[1:]), functions=exchange._used({"ShiftRightEven"}),
        opset_imports=[helper.make_opsetid("", exchange.OPSET), helper.make_opsetid(exchange.DOMAIN, 1)],
    )  # fmt: skip
    x = np.array([code, (code << max(shift, 0)) + (1 << max(shift - 1, 0)), -code, 0])
    x = np.clip(x, -(1 << 45), 1 << 45)
    found = evaluator(model).run(None, {"x": x})[0]
    np.testing.assert_array_equal(found, shift_right_even(x, shift))


@pytest.mark.parametrize("shift", [-3, 0, 1, 5])
def test_a_rescale_by_hand(shift: int) -> None:
    check(*of_operation(Rescale(shift), 4, 9, np.random.default_rng(0)), reference=True)


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 40))])
@pytest.mark.parametrize("rounding", [Arithmetic(True, False), Arithmetic(False, True)], ids=["pipeline", "array"])
def test_designs(seed: int, rounding: Arithmetic) -> None:
    """Designs have any attention and aggregation and may sample, with the arithmetic of both kinds of hardware."""
    rng = np.random.default_rng(seed)
    data = random_graph(rng, int(rng.integers(1, 50)), int(rng.integers(3, 30)), int(rng.integers(2, 9)), 120)
    layers, overrides = 1 + seed % 3, []
    for place in range(layers):
        attention = str(rng.choice([*SCORES_OF_ALL_KINDS, "constant"]))
        found = {"attention": attention, "aggregation": str(rng.choice(("add", "mean", "max", "mlp"))),
                 "k": int(rng.choice([1, 2, 4])), "t_attn": 2 if attention == "gat" else None,
                 **few_bits(attention, rng), "ai": 1, "af": 4}  # fmt: skip
        overrides.append(found | ({"d": int(rng.choice([3, 4, 8]))} if place < layers - 1 else {}))
    design = random_design(rng, layers, tuple(overrides))
    network = random_network(rng, design, data)
    integers = network_of(design, network, data.width_in, data.classes, rounding)
    own = integer_graph(data, integers.number)
    check(integers, [own] * layers, reference=seed < 3)
    other = random_graph(rng, data.nodes, data.width_in, data.classes, 60)
    check(integers, [own, *[integer_graph(other, integers.number)] * (layers - 1)])


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 20))])
def test_networks_of_points(seed: int) -> None:
    """Random networks of HGNAS's space on clouds with many equal distances."""
    rng = np.random.default_rng(seed)
    points, width = int(rng.choice([16, 29, 64])), int(rng.integers(1, 7))
    data = tied_clouds(rng, points, width, int(rng.integers(1, min(points, 24) + 1)))
    space = point_space(Cloud(points, width, data.neighbours, 3), TAILS[str(rng.choice(["small", "middle"]))])
    while True:
        network = space.candidate(space.draw(1, rng)[0]).network
        if widest(network.operations, width) <= LARGEST_WIDTH:
            break
    integers = integers_of(network, data)
    check(integers, scaled.graphs(integers, data.clouds("test")[0][:3]))


@pytest.mark.parametrize("name", models())
def test_models_of_pyg(name: str) -> None:
    torch.manual_seed(0)
    drawn = random_given(1)
    traced = trace_module(settled(models()[name](12, 4), 2), drawn)
    one = seen(traced, drawn)
    network = built(one, first_formats(one, 10), 10)
    check(network.integers, network.graphs)


def test_positions_and_a_difference_by_hand() -> None:
    """Operations that only vision networks use."""
    rng = np.random.default_rng(3)
    number = FixedPoint(9, 3)
    integers, graphs = of_operation(Rescale(0), 2, 8, rng)
    codes = rng.integers(number.minimum, number.maximum + 1, (4, 2))
    steps = (
        Step("places", Positions(codes, number), (FEATURES,)),
        Step("less", Add(0, FixedPoint(9, 3), minus=True), (FEATURES, "places")),
    )
    check(IntegerNetwork(2, number, steps), graphs, reference=True)


def test_every_operation_of_the_package_has_nodes() -> None:
    """A new operation is not forgotten."""
    def leaves(kind: type) -> set[type]:
        below = kind.__subclasses__()
        return set().union(*map(leaves, below)) if below else {kind}

    known = set(exchange._write.registry)
    missing = {one.__name__ for one in leaves(Operation) if one.__module__.startswith("fgnas.")
               and one not in known}  # fmt: skip
    assert not missing


def test_what_is_written_and_what_is_refused(tmp_path: Path) -> None:
    integers, graphs = of_operation(Rescale(2), 3, 5, np.random.default_rng(1))
    codes = exchange.write(tmp_path / "deep" / "net.onnx", integers, graphs, "net")
    with np.load(tmp_path / "deep" / "net.npz") as beside:
        given = {name: beside[name] for name in beside.files if name != exchange.CODES}
        np.testing.assert_array_equal(beside[exchange.CODES], codes)
    session = onnxruntime.InferenceSession(str(tmp_path / "deep" / "net.onnx"))
    np.testing.assert_array_equal(session.run([exchange.CODES], given)[0], codes)
    assert {one.name for one in session.get_inputs()} == set(given)

    class Unknown(Rescale):
        pass

    unknown, _ = of_operation(Unknown(1), 3, 5, np.random.default_rng(1))
    exchange.model_of(unknown, graphs, "subclass of a known one")
    with pytest.raises(UserError, match="none of the operations"):
        exchange._write(object(), None, [], False)


@pytest.mark.parametrize("target", ["pipeline", pytest.param("array", marks=pytest.mark.slow)])
def test_the_command(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The codes are those of the accelerator, in the arithmetic of either hardware."""
    rng = np.random.default_rng(5)
    data = random_graph(rng, 30, 8, 3, 60)
    path = tmp_path / "graph.npz"
    ends = np.stack([data.sources, data.targets])
    masks = {f"{name}_mask": np.arange(30) % 3 == place for place, name in enumerate(("train", "val", "test"))}
    np.savez(path, x=data.features.toarray(), edge_index=ends, y=data.labels, **masks)
    loaded = fgnas.load(path)
    choices = random_design(rng, 2)
    design = fgnas.Design(choices, random_network(rng, choices, loaded), loaded.name, loaded.fingerprint)
    design.save(tmp_path / "design.json")
    out = tmp_path / "x.onnx"
    assert main(["onnx", str(tmp_path / "design.json"), "--target", target, "--out", str(out), "-q"]) == 0
    assert capsys.readouterr().out.split() == [str(out), str(out.with_suffix(".npz"))]
    beside, wanted = dict(np.load(out.with_suffix(".npz"))), design.lower(loaded, target).logits()
    np.testing.assert_array_equal(beside.pop("codes"), wanted)
    (codes,) = onnxruntime.InferenceSession(str(out)).run(["codes"], beside)
    np.testing.assert_array_equal(codes, wanted)
    with pytest.raises(UserError, match=r"ends with \.onnx"):
        fgnas.to_onnx(design, tmp_path / "x.pb")
