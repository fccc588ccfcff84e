"""Every layer that is imported: its own float results, close integers, and the same integers on the array."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from pyg_models import LAYERS, MIXED, OF_EDGES, Two, models, random_given, seen, settled
from torch import nn
from torch_geometric.nn import GCNConv, SAGEConv

from fgnas.backends.array import write_calls, write_use_in_calls
from fgnas.errors import UserError
from fgnas.hardware.array.built import operations_on, with_room_within
from fgnas.hardware.array.calls import CalledArray, calls_engine
from fgnas.hardware.array.choosing import Room, fastest_operations
from fgnas.hardware.array.engine import Engine
from fgnas.hardware.array.layers import Described
from fgnas.hardware.array.operations import OperationNetwork, halves_of_operations
from fgnas.hardware.array.parts import most_rows, parts_of
from fgnas.hardware.integer.interpreter import run
from fgnas.hardware.specification import Specification
from fgnas.networks.imported.fusing import fused
from fgnas.networks.imported.inputs import Given
from fgnas.networks.imported.nodes import Input, Merge, Spread, evaluated, ordered
from fgnas.networks.imported.quantising import Quantised, built, first_formats
from fgnas.networks.imported.tracing import Traced, reals_of, trace_module, trace_program
from fgnas.tools.csim import run_csim
from fgnas.tools.simulate import run_calls

WIDTH, CLASSES = 12, 4


def apart(traced: Traced, found: np.ndarray) -> float:
    """The largest difference from the model's own results, relative to these."""
    own = reals_of(traced.result)
    if traced.finals:
        found = torch.from_numpy(found).log_softmax(1).numpy()
    return float(np.abs(found - own).max() / np.abs(own).max())


def source_of(network: Quantised, given: Given) -> OperationNetwork:
    edges = given.edge_index.shape[1]
    return OperationNetwork("net", "random", Described("0", {}), network.integers, network.graphs, edges)


def array_of(network: Quantised, given: Given, units: int = 3, tiles: int = 2) -> CalledArray:
    source = source_of(network, given)
    halves = halves_of_operations(source)
    parts = parts_of(halves, tiles, most_rows(halves, units))
    return CalledArray(source, calls_engine(source, parts, units, 128), parts, source.edges)


@pytest.mark.parametrize("name", models())
def test_a_model_is_proven_and_quantised(name: str) -> None:
    """Float results are the model's own, integers of 10 bits are close, and the array's machine gives these."""
    torch.manual_seed(0)
    given = random_given(1)
    model = settled(models()[name](WIDTH, CLASSES), 2)
    traced = trace_module(model, given)
    one = seen(traced, given)
    assert apart(traced, one.output) < 1e-5
    network = built(one, first_formats(one, 10), 10)
    assert apart(traced, network.values()) < 0.05
    np.testing.assert_array_equal(array_of(network, given).logits(), network.logits())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["GINConv", "GATConv", "TransformerConv", "EdgeConv", "PNAConv", "GAT, pooled", "edge weights", *OF_EDGES]
)
def test_in_hardware(name: str, tmp_path) -> None:
    """C++ and RTL give the integers, and the RTL takes the cycles that are predicted."""
    torch.manual_seed(3)
    given = random_given(4)
    one = seen(trace_module(settled(models()[name](WIDTH, CLASSES), 5), given), given)
    write_calls(array_of(built(one, first_formats(one, 8), 8), given), tmp_path / "p")
    cpp, rtl = run_csim(tmp_path / "p", ("-O0",)), run_calls(tmp_path / "p")
    assert (cpp["mismatches"], cpp["failed_checks"]) == (0, 0)
    assert (rtl["mismatches"], rtl["protocol_errors"], rtl["cycles"]) == (0, 0, rtl["predicted_cycles"])


@pytest.mark.parametrize("name", ["GCNConv", "GATConv", "TransformerConv", "EdgeConv"])
def test_an_exported_program_becomes_the_same(name: str) -> None:
    torch.manual_seed(0)
    given = random_given(6)
    model = settled(Two(LAYERS[name], WIDTH, 8, CLASSES), 7)
    program = torch.export.export(model, (given.x, given.edge_index))
    found, expected = trace_program(program, given), trace_module(model, given)
    assert apart(found, seen(found, given).output) < 1e-5
    kinds = [[type(node).__name__ for node in ordered(fused(one.output))] for one in (found, expected)]
    assert kinds[0] == kinds[1]
    assert list(found.places.items()) == list(expected.places.items())


def test_a_product_stands_before_the_sum_where_rows_become_shorter() -> None:
    """And behind it where they become longer."""
    given = random_given(8)
    for out, kinds in ((3, [Merge, Spread]), (30, [Spread, Merge])):
        nodes = ordered(fused(trace_module(GCNConv(WIDTH, out), given).output))
        assert [type(node) for node in nodes[1:]] == kinds


def test_messages_are_summed_before_a_product_of_fewer_rows() -> None:
    """GINE's messages are rows of edges: their sum and the node itself, so many rows as nodes, meet the weights."""
    given = random_given(8)
    nodes = ordered(fused(trace_module(settled(models()["GINEConv"](WIDTH, CLASSES), 1), given).output))
    own = [node for node in nodes if isinstance(node, Merge) and node.place.startswith("layer second")]
    rows = [node.rows for node in own if not isinstance(node.given[0], Input)]
    assert set(rows) == {len(given.x)}


def test_powers_of_a_matrix_are_worked_one_by_one() -> None:
    """TAGConv's sum of powers takes as many sums of rows as its highest power."""
    given = random_given(9)
    nodes = ordered(fused(trace_module(settled(LAYERS["TAGConv"](WIDTH, CLASSES), 1), given).output))
    assert sum(isinstance(node, Spread) for node in nodes) == 3


def test_the_values_of_a_layer_by_hand() -> None:
    """SAGE with its mean and its root weight, of two nodes with one edge."""
    layer = SAGEConv(1, 1, bias=False)
    layer.lin_l.weight.data.fill_(2.0), layer.lin_r.weight.data.fill_(3.0)
    given = Given(torch.tensor([[1.0], [10.0]]), torch.tensor([[0], [1]]))
    nodes = ordered(fused(trace_module(layer, given).output))
    assert evaluated(nodes, given.x.double().numpy())[id(nodes[-1])].tolist() == [[3.0], [32.0]]


class Gated(nn.Module):
    def forward(self, x, edge_index):
        return x * torch.sigmoid(x[:, :1])


class Sorted(nn.Module):
    def forward(self, x, edge_index):
        return x.sort(dim=0)[0]


class Choosing(nn.Module):
    def forward(self, x, edge_index):
        return x if x.sum() > 0 else -x


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x, edge_index):
        return self.norm(x)


class Masked(nn.Module):
    """A mask of other numbers than those that it replaces."""

    def forward(self, x, edge_index):
        return x.masked_fill(2 * x > 1, 0.0)


class Looking(nn.Module):
    def forward(self, x, edge_index, time):
        return x


@pytest.mark.parametrize(("model", "message"), [
    (Normed(), r"layer norm \(LayerNorm\): a norm over the columns of a row: use BatchNorm"),
    (Sorted(), "rows that are sorted: use add, mean or max"),
    (Gated(), "the product of two values that depend on features"),
    (Choosing(), "the model"),
    (Masked(), "a mask is supported where it compares the very numbers that it replaces with a constant"),
    (Looking(), r"forward\(\) needs time"),
    (SAGEConv(WIDTH, 4, normalize=True), "a norm of rows: normalise the features before, or leave normalize=False"),
    (SAGEConv(WIDTH, 4, aggr="median"), "rows that are sorted: use add, mean or max"),
    (SAGEConv(9, 4), "does not run on this data"),
    (nn.BatchNorm1d(WIDTH, track_running_stats=False), "."),
])  # fmt: skip
def test_what_cannot_be_imported_is_named(model: nn.Module, message: str) -> None:
    with pytest.raises(UserError, match=message):
        trace_module(model, random_given(1))


def test_all_models_have_names_that_differ() -> None:
    assert len(models()) == len(LAYERS) + len(MIXED) == 30


HOSTS = ("SAGEConv", "GATConv")
"""Models that arrays with room for others are built for: without and with attention."""


def source(name: str, bits: int = 8) -> OperationNetwork:
    """A model on its graph, which differs from model to model."""
    torch.manual_seed(0)
    given = random_given(len(name))
    one = seen(trace_module(settled(models()[name](WIDTH, CLASSES), 2), given), given)
    return source_of(built(one, first_formats(one, bits), bits), given)


def roomy(name: str, bits: int = 8) -> Engine:
    return with_room_within(fastest_operations(source(name, bits), Room(32)).engine, Room(32))


def test_one_array_runs_every_model() -> None:
    """An array that one model was built for gives the others' integers, or says that it has no attention."""
    plain, attending = map(roomy, HOSTS)
    for name in models():
        network = source(name)
        found = operations_on(attending, network)
        expected = run(network.integers, network.graphs)
        np.testing.assert_array_equal(found.logits(), expected)
        if network.softmax is None:
            np.testing.assert_array_equal(operations_on(plain, network).logits(), expected)
        else:
            with pytest.raises(UserError, match="the network needs (softmax|bits) of"):
                operations_on(plain, network)


@pytest.mark.parametrize("bits", [3, 12, 16])
def test_numbers_of_any_width_have_room(bits: int) -> None:
    """Those of more than 11 bits have no tables of activations."""
    network = source("GIN, pooled", bits)
    expected = run(network.integers, network.graphs)
    np.testing.assert_array_equal(operations_on(roomy("SAGEConv", bits), network).logits(), expected)


@pytest.mark.slow
def test_one_build_runs_many_models(tmp_path: Path) -> None:
    """In C++ and RTL, which an attention's model was built for; the tables of exponentials have room."""
    host = fastest_operations(source("GATConv"), Room(32))
    engine, project = with_room_within(host.engine, Room(32)), tmp_path / "p"
    write_calls(host.on(engine), project)
    for name in ("GATv2Conv", "GAT, pooled", "EdgeConv", "GIN, pooled"):
        use = tmp_path / name
        write_use_in_calls(operations_on(engine, source(name)), "../p", use, Specification())
        cpp, rtl = run_csim(use, ("-O0",), project=project), run_calls(use, project=project)
        assert (cpp["mismatches"], cpp["failed_checks"]) == (0, 0)
        assert (rtl["mismatches"], rtl["protocol_errors"], rtl["cycles"]) == (0, 0, rtl["predicted_cycles"])


def test_shifts_that_an_array_does_not_have_are_named() -> None:
    network, engine = source("SAGEConv"), roomy("SAGEConv")
    few = replace(engine, shifts=tuple(range(20, 36)))
    with pytest.raises(UserError, match=r"needs shifts of .*, the engine has 20, 21"):
        operations_on(few, network)
