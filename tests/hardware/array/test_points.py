"""Networks of points by hand: what vision networks have beside those of operations, against the interpreter."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from fgnas.backends.array import write_points
from fgnas.errors import UserError
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.array import reference
from fgnas.hardware.array.engine import MOST_BIASES, MOST_TABLE_WORDS
from fgnas.hardware.array.points.encoded import EncodedPoints, PointSource, lowered
from fgnas.hardware.array.programme import Operation, Target
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.add import Add
from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.integer.gather import Gather
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.neighbourhood import Neighbourhood
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork, Step
from fgnas.hardware.integer.operation import Operation as IntegerOperation
from fgnas.hardware.integer.positions import Positions
from fgnas.hardware.integer.rescale import Rescale
from fgnas.hardware.integer.sample import Sample
from fgnas.hardware.integer.tables import activation_table
from fgnas.hardware.integer.value import EXACT_BITS
from fgnas.hardware.specification import Specification
from fgnas.tools.simulate import run_simulation

BYTE = FixedPoint(8, 3)
CLOUDS, READOUT = 0, 1


@dataclass
class Steps:
    """Steps with random weights, one after the other; every value has the format BYTE."""

    rng: np.random.Generator
    points: int
    steps: list[Step] = field(default_factory=list)

    def add(self, name: str, operation: IntegerOperation, *inputs: str, graph: int = CLOUDS) -> str:
        """Append a step."""
        self.steps.append(Step(name, operation, inputs, graph, graph))
        return name

    def dense(self, name: str, at: str, shape: tuple[int, int], relu: bool, graph: int = CLOUDS) -> str:
        """Append a dense layer."""
        weight = self.rng.integers(-60, 61, shape)
        self.add(f"{name}.product", Combine(weight, FixedPoint(8, 6), 6, FixedPoint(EXACT_BITS, 3)), at, graph=graph)
        function, table = ("relu", activation_table("relu", BYTE, BYTE)) if relu else ("linear", None)
        bias = self.rng.integers(-40, 41, shape[1])
        return self.add(name, Apply(bias, 0, BYTE, function, table, BYTE), f"{name}.product", graph=graph)

    def rounded(self, name: str, at: str, columns: int, graph: int = CLOUDS) -> str:
        """Append a saturation."""
        return self.add(name, Apply(np.zeros(columns, np.int64), 0, BYTE, "linear", None, BYTE), at, graph=graph)

    def tail(self, at: str, columns: int, classes: int) -> IntegerNetwork:
        """The mean of every cloud, a dense layer, logits."""
        mean = Gather(mean="rounded", shift=wire.COEFFICIENT_FRACTION_BITS)
        self.rounded("read", self.add("read.exact", mean, at, graph=READOUT), columns, READOUT)
        self.dense("hidden", "read", (columns, 24), True, READOUT)
        weight, extra = self.rng.integers(-60, 61, (24, classes)), wire.logit_extra_bits(8)
        self.add("logits.product", Combine(weight, FixedPoint(8, 6), 6, BYTE), "hidden", graph=READOUT)
        self.add("logits.shifted", Rescale(-extra), "logits.product", graph=READOUT)
        logit = FixedPoint(wire.LOGIT_BITS, 3 + extra)
        bias = self.rng.integers(-40, 41, classes)
        self.add("logits", Apply(bias, extra, logit, "linear", None, logit), "logits.shifted", graph=READOUT)
        return IntegerNetwork(5, BYTE, tuple(self.steps))


def residuals(seed: int, points: int, blocks: int, width: int = 20) -> IntegerNetwork:
    """A dense layer and positions, blocks with a sum of nearest points and a shortcut around two dense layers."""
    rng = np.random.default_rng(seed)
    made = Steps(rng, points)
    made.add("positions", Positions(rng.integers(-90, 91, (points, width)), BYTE), FEATURES)
    made.dense("stem", FEATURES, (5, width), False)
    x = made.add("x", Add(0, BYTE), "stem", "positions")
    for block in range(blocks):
        name = f"b{block}"
        near = made.add(f"{name}.near", Sample("nearest", points, min(points, 3)), x)
        made.add(f"{name}.exact", Neighbourhood(points, "sum", "source"), x, near)
        made.rounded(f"{name}.sum", f"{name}.exact", width)
        made.dense(f"{name}.wide", f"{name}.sum", (width, 2 * width + 1), True)
        made.dense(f"{name}.narrow", f"{name}.wide", (2 * width + 1, width), False)
        x = made.add(f"{name}.x", Add(0, BYTE), f"{name}.narrow", x)
    return made.tail(x, width, 10)


def graphs(network: IntegerNetwork, cloud: Codes) -> tuple[IntegerGraph, IntegerGraph]:
    """The graphs of one cloud, of which the first has its features."""
    points = len(cloud)
    own, one = np.arange(points), np.ones(points, np.int64)
    none = sp.csr_matrix((1, network.width_in), dtype=np.int64)
    whole = IntegerGraph(none, np.array([0, points]), own, one)
    return IntegerGraph(sp.csr_matrix(cloud), np.arange(points + 1), own, one), whole


def checked(network: IntegerNetwork, points: int, units: int, beat_bits: int = 128) -> EncodedPoints:
    """The programme of a random cloud, whose reference has the interpreter's logits."""
    encoded = lowered(PointSource(network, points, "made", "made"), units, beat_bits)
    for seed in range(2):
        cloud = np.random.default_rng(seed).integers(-20, 21, (points, network.width_in))
        encoded = encoded.with_cloud(cloud)
        assert np.array_equal(reference.run(encoded), interpreter.run(network, graphs(network, cloud)))
    return encoded


def loads(encoded: EncodedPoints, target: Target) -> int:
    """How often words are loaded for a memory."""
    return sum(one.operation == Operation.LOAD and one.target == target for one in encoded.programme)


@pytest.mark.parametrize("units", [1, 2, 3, 4, 8, 12, 16])
def test_shortcuts_positions_and_a_single_readout(units: int) -> None:
    checked(residuals(units, 13, 1), 13, units)


def test_biases_are_loaded_as_often_as_their_memory_is_full() -> None:
    """Nine words of biases a block."""
    encoded = checked(residuals(0, 13, 9), 13, 8, 512)
    assert len(encoded.programme) > 64  # more than an array without neighbours holds
    assert loads(encoded, Target.BIAS) == 2 and encoded.engine.bias_words <= MOST_BIASES
    assert loads(checked(residuals(0, 13, 2), 13, 8), Target.BIAS) == 1


def test_weights_are_loaded_as_often_as_their_memory_is_full() -> None:
    """A block of 56 and 113 numbers has 1,631 words of weights: twelve have no room."""
    encoded = checked(residuals(0, 9, 12, 56), 9, 8, 512)
    assert loads(encoded, Target.TABLE) > 3 and encoded.engine.table_words <= MOST_TABLE_WORDS


@pytest.mark.parametrize(("blocks", "width"), [(1, 20), pytest.param(9, 20, marks=pytest.mark.slow)])
def test_in_rtl(blocks: int, width: int, tmp_path: Path) -> None:
    write_points(checked(residuals(0, 13, blocks, width), 13, 8), tmp_path, Specification())
    found = run_simulation(tmp_path)
    assert found["mismatches"] == found["cycle_difference"] == found["status"] == 0


def test_rows_of_a_readout_that_are_read_elsewhere_are_refused() -> None:
    network = residuals(0, 13, 1)
    steps = list(network.steps)
    place = next(at for at, step in enumerate(steps) if step.name == "read.exact")
    steps.insert(place, Step("again", Sample("nearest", 13, 2), ("b0.x",), 0, 0))
    with pytest.raises(UserError, match="nowhere else"):
        lowered(PointSource(IntegerNetwork(5, BYTE, tuple(steps)), 13), 8)
