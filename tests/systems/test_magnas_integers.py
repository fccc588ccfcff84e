"""Calls as integer networks: by hand, and against the networks that their hardware is lowered from."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from fgnas.design import Array
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.array import reference as machine
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.integer.gather import Gather
from fgnas.hardware.integer.graph import integer_graph
from fgnas.hardware.shape import GraphShape
from fgnas.network import LayerParameters, Network
from fgnas.networks.vision.vig import Backbone
from fgnas.systems.magnas.array import LoadedArray
from fgnas.systems.magnas.build import graph_of
from fgnas.systems.magnas.calls import calls
from fgnas.systems.magnas.dressing import dressed
from fgnas.systems.magnas.integers import Product, codes_of, integer_bits, network_of
from fgnas.systems.magnas.kernels import load_kernel
from fgnas.systems.magnas.pipeline import LoadedPipeline
from fgnas.systems.magnas.programme import programme
from fgnas.tasks.images import load_images
from tests.systems.kernels import LAYERS, kernel_file

FORMAT = FixedPoint.of(3, 2)


def test_a_call_by_hand() -> None:
    """Two maps behind the larger of two rows; the second sees each row alone, and its codes are sixteenths."""
    products = (Product(1, FORMAT, FORMAT, "max"), Product(2, FORMAT, FORMAT))
    one = LayerParameters(np.array([[[2.0]], [[-1.0]]], np.float32), np.array([-0.5], np.float32))
    two = LayerParameters(np.array([[[1.0, -1.0]]], np.float32), np.array([0.0, 0.25], np.float32))
    integers = network_of(products, 2, Network((one, two)))
    names = ["0.linear", "0.aggregate", "0.activate", "1.linear", "1.aggregate", "1.logits"]
    assert [step.name for step in integers.steps] == names
    rows = np.array([[1.0, 0.5], [0.25, 2.0], [1.5, 1.0]], np.float32)
    data = graph_of(rows, np.array([[0, 1], [1, 1], [2, 0]]), GraphShape(2, 2, 1024, 2))
    # H is 1.5, -1.5 and 2; the larger of both, less 0.5, is 1, -2 and 1.5, and relu makes 0 of -2.
    hidden = np.array([1.0, 0.0, 1.5])
    assert codes_of(integers, data).tolist() == np.stack([64 * hidden, 64 * (0.25 - hidden)], axis=1).tolist()
    assert integers.output.number.fraction_bits == 6 and integer_bits(FORMAT) == 3


@pytest.mark.parametrize("name", [*LAYERS, "array"])
def test_the_hardware_of_a_call_has_its_integers(name: str, tmp_path: Path) -> None:
    """Every call that a kernel runs: the values of what is lowered, and the rows that the array makes."""
    backbone = Backbone.of(load_images("digit-images"))
    kernel, rng, seen = load_kernel(kernel_file(tmp_path, name), backbone), np.random.default_rng(1), 0
    for call in (one for one in calls(backbone).values() if kernel.runs(one)):
        maps = [(rng.normal(0, 0.4, shape).astype(np.float32), rng.normal(0, 0.3, shape[1]).astype(np.float32))
                for shape in itertools.pairwise(call.widths)]  # fmt: skip
        rows = rng.normal(0, 1.7, (call.nodes, call.widths[0])).astype(np.float32)
        alone = call.neighbours == 1
        index = None if alone else rng.integers(0, call.nodes, (call.nodes, call.neighbours))
        made = programme(kernel, call, maps, (1, *(-1 for _ in maps)))
        found, data, loaded = codes_of(made.integers, made.graph(rows, index)), made.graph(rows, index), made.loaded
        if isinstance(loaded, LoadedArray):
            assert np.array_equal(found, machine.run(loaded.encoded(rows, index)))
            source = loaded.accelerator.source
        else:
            assert isinstance(loaded, LoadedPipeline)
            source = loaded.source
        if alone or len(maps) == 1:
            graph = integer_graph(data, source.integers.number)
            assert np.array_equal(found, interpreter.run(source.integers, [graph]))
            values = interpreter.values(made.integers, [graph])
            for key, value in interpreter.values(source.integers, [graph]).items():
                assert np.array_equal(values[key], value), key
        assert source.integers.values == made.integers.values
        seen += 1
    assert seen > 3


def test_the_dress_keeps_formats_and_widths() -> None:
    """The source for the array's lowering has the integers of the call, and a last layer although all are equal."""
    same = Product(4, FORMAT, FixedPoint.of(1, 3))
    network = Network(tuple(
        LayerParameters(np.ones((4, 1, 4), np.float32), np.zeros(4, np.float32), weight_scale=1, value_scale=2,
                        output_scale=3)
        for _ in range(2)
    ))  # fmt: skip
    array = Array(units=2, columns=(1,), beat_bits=128)
    source = dressed((same, same), array, network, GraphShape(4, 4, 1024, 2), "k")
    own = network_of((same, same), 4, network)
    assert source.integers.values == own.values and source.design.dsp == 16 and source.name == "k"
    for mine, other in zip(own.steps, source.integers.steps, strict=True):
        assert (mine.name, mine.inputs, type(mine.operation)) == (other.name, other.inputs, type(other.operation))
        if isinstance(mine.operation, Combine) and isinstance(other.operation, Combine):
            assert mine.operation.shift == other.operation.shift
        if isinstance(mine.operation, Gather):
            assert mine.operation == other.operation
