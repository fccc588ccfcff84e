"""An integer network as an ONNX model that gives the same integers: to look at in Netron, and to run anywhere.

Each step is one node of the domain "fgnas", or a few, and each of their kinds is a function of standard operators
(`operations.txt`), so that any runtime of ONNX runs the model. Codes are int64 throughout.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.fixedpoint import Codes, FixedPoint
from fgnas.hardware import wire
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.add import Add
from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.attend import Attend
from fgnas.hardware.integer.combine import Combine
from fgnas.hardware.integer.concatenate import Concatenate
from fgnas.hardware.integer.edges import EdgeProducts, Fivefold
from fgnas.hardware.integer.gather import Gather, readout_fraction
from fgnas.hardware.integer.graph import IntegerGraph
from fgnas.hardware.integer.heads import MeanOfHeads
from fgnas.hardware.integer.merge import Merge
from fgnas.hardware.integer.neighbourhood import Neighbourhood
from fgnas.hardware.integer.network import FEATURES, IntegerNetwork, Step
from fgnas.hardware.integer.operation import Operation
from fgnas.hardware.integer.positions import Positions
from fgnas.hardware.integer.rescale import Rescale
from fgnas.hardware.integer.sample import INDEX_BITS, Sample
from fgnas.hardware.integer.scores.function import FunctionScores
from fgnas.hardware.integer.scores.nodes import NodeScores
from fgnas.hardware.integer.scores.pair import PairScores
from fgnas.hardware.integer.scores.product import ProductScores
from fgnas.hardware.integer.spread import Spread
from fgnas.tasks.neighbours import hashed_neighbours

if TYPE_CHECKING:
    from onnx import FunctionProto, ModelProto, ValueInfoProto

DOMAIN = "fgnas"
OPSET, IR_VERSION = 21, 10
"""Versions that onnx 1.16 writes and onnxruntime 1.18 runs, the first with every operator that is used."""
LEAST = -(1 << 62)
"""Initial value of a maximum, below every code of a network; its negative starts a minimum."""
CODES, LOGITS, CLASSES = "codes", "logits", "classes"
"""Names of the results: codes as the hardware gives them, their values, and the classes."""
Arrays = dict[str, NDArray[Any]]


def model_of(integers: IntegerNetwork, graphs: Sequence[IntegerGraph], name: str) -> ModelProto:
    """The model of a network; `graphs` are those that its steps name, one for all or one for each place.

    Its inputs are those of `inputs_of`, its outputs codes [rows, columns], logits (the values of the codes) and classes
    [rows]. Means over a readout are exact for graphs whose smallest has as many nodes as the smallest in `graphs`.
    """
    from onnx import TensorProto, helper

    writer = _Writer(integers, graphs)
    for step in integers.steps:
        writer.step(step)
    writer.results()
    columns = integers.output.columns
    outputs = [
        helper.make_tensor_value_info(CODES, TensorProto.INT64, ["rows", columns]),
        helper.make_tensor_value_info(LOGITS, TensorProto.FLOAT, ["rows", columns]),
        helper.make_tensor_value_info(CLASSES, TensorProto.INT64, ["rows"]),
    ]
    graph = helper.make_graph(
        writer.nodes, name, writer.inputs(), outputs, list(writer.constants.values()), value_info=writer.described
    )
    used = _used({node.op_type for node in writer.nodes if node.domain == DOMAIN})
    versions = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(
        graph, functions=used, opset_imports=versions, ir_version=IR_VERSION, producer_name="fgnas",
        doc_string="An integer network of fgnas: every value is a code, int64; its format is with its name.",
    )  # fmt: skip


def inputs_of(integers: IntegerNetwork, graphs: Sequence[IntegerGraph]) -> Arrays:
    """Inputs of a model for these graphs: features [rows, width_in] as float32, and the arrays of each graph it reads.

    These arrays are sources [E], targets [E] and coefficients [E], in the order of the graph's edges, and degrees [N].
    """
    writer = _Writer(integers, graphs)
    for step in integers.steps:
        writer.step(step)
    features = graphs[0].features
    found: Arrays = {FEATURES: np.asarray(integers.number.value(features.toarray()), np.float32)}
    return found | {name: np.asarray(value, np.int64) for name, value in writer.graph_inputs.items()}


class _Writer:
    """Collects the nodes of a model, step by step."""

    def __init__(self, integers: IntegerNetwork, graphs: Sequence[IntegerGraph]) -> None:
        self.integers, self.graphs = integers, graphs
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.graph_inputs: Arrays = {}
        self.described: list[ValueInfoProto] = []
        self.different = list({id(graph): graph for graph in graphs}.values())
        self.at = ""
        """The name of the step whose nodes are written."""
        self.graph = graphs[0]
        number = integers.number
        self._node("Quantise", [FEATURES], _value(FEATURES), scale=2.0**number.fraction_bits, **_bounds(number))

    def step(self, step: Step) -> None:
        """Append the nodes of a step. Raises UserError for an operation that has none."""
        self.at, self.graph = step.name, self.graphs[step.graph if len(self.graphs) > 1 else 0]
        _write(step.operation, self, [_value(name) for name in step.inputs], self.readout(step))
        self._describe(step)

    def readout(self, step: Step) -> bool:
        """Whether a step reads other rows than its graph has."""
        return self._rows[step.inputs[0]] != self.graph.nodes

    @functools.cached_property
    def _rows(self) -> dict[str, int]:
        """Rows of every value."""
        rows = {FEATURES: self.graphs[0].features.shape[0]}
        for step in self.integers.steps:
            graph = self.graphs[step.graph if len(self.graphs) > 1 else 0]
            makes = isinstance(step.operation, Gather | Spread | Attend)
            rows[step.name] = graph.nodes if makes else rows[step.inputs[0]]
        return rows

    def results(self) -> None:
        """Append the nodes of the results."""
        self._plain("Identity", [_value(self.integers.steps[-1].name)], CODES)
        self._node("Dequantise", [CODES], LOGITS, scale=self.integers.output.number.step)
        self._node("Classes", [CODES], CLASSES)

    def inputs(self) -> list[ValueInfoProto]:
        """The inputs of the model, with their shapes."""
        from onnx import TensorProto, helper

        shape: list[str | int | None] = ["rows", self.integers.width_in]
        found = [helper.make_tensor_value_info(FEATURES, TensorProto.FLOAT, shape)]
        for name in self.graph_inputs:
            graph, _, part = name.rpartition(".")
            size = f"{graph}.{'nodes' if part == 'degrees' else 'edges'}"
            found.append(helper.make_tensor_value_info(name, TensorProto.INT64, [size]))
        return found

    def add(self, kind: str, given: Sequence[str], part: str = "", **attributes: Any) -> str:
        """Append a function's node, the last of the step or the named part of it; returns the name of its value."""
        name = f"{self.at}/{part}" if part else _value(self.at)
        self._node(kind, given, name, **attributes)
        return name

    def plain(self, kind: str, given: Sequence[str], part: str = "", **attributes: Any) -> str:
        """Append a standard operator's node, as `add` does."""
        name = f"{self.at}/{part}" if part else _value(self.at)
        self._plain(kind, given, name, **attributes)
        return name

    def constant(self, part: str, value: Any) -> str:
        """The name of an array of the step."""
        from onnx import numpy_helper

        name = f"{self.at}/{part}"
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value, np.int64), name)
        return name

    def of_graph(self, *parts: str) -> list[str]:
        """The names of arrays of the step's graph, each an input of the model."""
        place = [id(one) for one in self.different].index(id(self.graph))
        label = "graph" if len(self.different) == 1 else f"graph{place}"
        arrays = {"sources": self.graph.sources, "targets": self.graph.targets, "coefficients": self.graph.gcn,
                  "degrees": self.graph.degrees}  # fmt: skip
        names = [f"{label}.{part}" for part in parts]
        self.graph_inputs |= {name: arrays[part] for name, part in zip(names, parts, strict=True)}
        return names

    def columns(self, value: str) -> int:
        """Columns of a step's value."""
        return next(one.columns for name, one in self.integers.values.items() if _value(name) == value)

    def _describe(self, step: Step) -> None:
        from onnx import TensorProto, helper

        value = self.integers.values[step.name]
        number = f"{value.number.width} bits, {value.number.fraction_bits} of them behind the point"
        text = number if value.saturated else f"a sum with {value.number.fraction_bits} bits behind the point"
        shape = [None, value.columns]
        made = helper.make_tensor_value_info(_value(step.name), TensorProto.INT64, shape, doc_string=text)
        self.described.append(made)

    def _node(self, kind: str, given: Sequence[str], name: str, **attributes: Any) -> None:
        self._plain(kind, given, name, domain=DOMAIN, **attributes)

    def _plain(self, kind: str, given: Sequence[str], name: str, domain: str = "", **attributes: Any) -> None:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, list(given), [name], name=name, domain=domain, **attributes))


def _value(name: str) -> str:
    """The name of a step's codes in the model. The plain name would be ambiguous: `logits` names values, not codes."""
    return f"{name}.codes"


def _bounds(number: FixedPoint) -> dict[str, Any]:
    return {"minimum": number.minimum, "maximum": number.maximum}


def _reduction(reduce: str) -> dict[str, Any]:
    """The reduction of messages by its name in ScatterND, and its initial value."""
    return {"reduce": reduce, "initial": {"add": 0, "max": LEAST, "min": -LEAST}[reduce]}


@functools.singledispatch
def _write(operation: Operation, writer: _Writer, given: list[str], readout: bool) -> None:
    """Append the nodes of an operation that reads the given values; `readout`: its graph has other rows than they."""
    raise UserError(f"{type(operation).__name__} has no ONNX: it is none of the operations of fgnas")


@_write.register
def _(one: Combine, writer: _Writer, given: list[str], readout: bool) -> None:
    writer.add("Combine", [*given, writer.constant("weight", one.weight)], shift=one.shift, **_bounds(one.output))


@_write.register
def _(one: Merge, writer: _Writer, given: list[str], readout: bool) -> None:
    products = [
        writer.plain("MatMul", [value, writer.constant(f"weight{place}", weight)], f"product{place}")
        for place, (value, weight) in enumerate(zip(given, one.weights, strict=True))
    ]
    total = products[0]
    for place, product in enumerate(products[1:], 1):
        total = writer.plain("Add", [total, product], f"sum{place}")
    writer.add("ShiftRightEven", [total], shift=one.shift)


@_write.register
def _(one: Apply, writer: _Writer, given: list[str], readout: bool) -> None:
    inputs = [*given, writer.constant("bias", one.bias)]
    kind = "Bias"
    if one.table is not None:
        inputs, kind = [*inputs, writer.constant(one.function, one.table)], "Activate"
    writer.add(kind, inputs, shift=one.bias_shift, **_bounds(one.argument))


@_write.register
def _(one: Add, writer: _Writer, given: list[str], readout: bool) -> None:
    writer.add("AddRows", given, shift=one.shift, sign=-1 if one.minus else 1, **_bounds(one.output))


@_write.register
def _(one: Rescale, writer: _Writer, given: list[str], readout: bool) -> None:
    writer.add("ShiftRightEven", given, shift=one.shift)


@_write.register
def _(one: Concatenate, writer: _Writer, given: list[str], readout: bool) -> None:
    writer.plain("Concat", given, axis=1)


@_write.register
def _(one: MeanOfHeads, writer: _Writer, given: list[str], readout: bool) -> None:
    writer.add("MeanOfHeads", given, heads=one.heads, shift=one.heads.bit_length() - 1)


@_write.register
def _(one: Gather, writer: _Writer, given: list[str], readout: bool) -> None:
    sources, targets, degrees = writer.of_graph("sources", "targets", "degrees")
    shift = one.shift
    if one.mean == "rounded":
        fraction = readout_fraction(writer.graph.degrees) if readout else wire.COEFFICIENT_FRACTION_BITS
        shift += fraction - wire.COEFFICIENT_FRACTION_BITS
        c = writer.add(
            "MeanCoefficients", [sources, targets, degrees], "coefficients", scale=2.0**fraction, gcn=int(one.gcn)
        )
        sent = writer.add("Messages", [*given, sources, c], "messages")
    elif one.gcn:
        sent = writer.add("Messages", [*given, sources, *writer.of_graph("coefficients")], "messages")
    else:
        sent = writer.plain("Gather", [*given, sources], "messages")
    total = writer.add("Reduce", [sent, targets, degrees], "total", **_reduction(one.reduce))
    if one.heads > 1:
        total = writer.add("SumOfHeads", [total], "heads", heads=one.heads)
    if one.mean == "divided":
        writer.add("Mean", [total, degrees], shift=shift)
    else:
        writer.add("ShiftRightEven", [total], shift=shift)


@_write.register
def _(one: Spread, writer: _Writer, given: list[str], readout: bool) -> None:
    rows = writer.plain("Concat", given, "rows", axis=0) if len(given) > 1 else given[0]
    sources, targets, c, degrees = writer.of_graph("sources", "targets", "coefficients", "degrees")
    sent = writer.add("Messages", [rows, sources, c], "messages")
    total = writer.add("Reduce", [sent, targets, degrees], "total", **_reduction(one.reduce))
    writer.add("ShiftRightEven", [total], shift=one.shift)


@_write.register
def _(one: Attend, writer: _Writer, given: list[str], readout: bool) -> None:
    h, scores = given
    heads = writer.columns(scores)
    sources, targets, degrees = writer.of_graph("sources", "targets", "degrees")
    table = writer.constant("exponentials", one.table)
    c = writer.add("Exponentials", [scores, table, targets, degrees], "coefficients")
    writer.add(
        "Attend", [h, c, sources, targets, degrees], heads=heads, mean=int(one.mean), shift=one.shift,
        **_reduction(one.reduce),
    )  # fmt: skip


@_write.register
def _(one: NodeScores, writer: _Writer, given: list[str], readout: bool) -> None:
    vectors = [writer.constant("source", one.source), writer.constant("target", one.target)]
    writer.add(
        "NodeScores", [*given, *vectors, *writer.of_graph("sources", "targets")], heads=len(one.source),
        shift=one.number.fraction_bits, symmetric=int(one.symmetric), **_bounds(one.output),
    )  # fmt: skip


@_write.register
def _(one: FunctionScores, writer: _Writer, given: list[str], readout: bool) -> None:
    arrays = [writer.constant("source", one.source), writer.constant("table", one.table)]
    writer.add(
        "FunctionScores", [*given, *arrays, *writer.of_graph("sources")], heads=len(one.source),
        shift=one.number.fraction_bits, **_bounds(one.argument),
    )  # fmt: skip


@_write.register
def _(one: PairScores, writer: _Writer, given: list[str], readout: bool) -> None:
    arrays = [writer.constant(name, getattr(one, name)) for name in ("source", "target", "table")]
    functions = writer.add(
        "PairFunctions", [*given, *arrays, *writer.of_graph("sources", "targets")], "functions",
        heads=len(one.source), shift=one.pair_shift, **_bounds(one.pair),
    )  # fmt: skip
    factor = writer.constant("factor", one.factor)
    writer.add("PairScores", [functions, factor], shift=one.shift, **_bounds(one.output))


@_write.register
def _(one: ProductScores, writer: _Writer, given: list[str], readout: bool) -> None:
    heads = len(one.source)
    queries = writer.add(
        "Queries", [*given, writer.constant("source", one.source)], "queries", heads=heads,
        shift=one.number.fraction_bits, **_bounds(one.query),
    )  # fmt: skip
    inputs = [*given, queries, *writer.of_graph("sources", "targets")]
    writer.add("ProductScores", inputs, heads=heads, shift=one.shift, **_bounds(one.output))


@_write.register
def _(one: Fivefold, writer: _Writer, given: list[str], readout: bool) -> None:
    writer.add("Fivefold", given)


@_write.register
def _(one: EdgeProducts, writer: _Writer, given: list[str], readout: bool) -> None:
    writer.add("EdgeProducts", [*given, *writer.of_graph("sources")], heads=one.heads, shift=one.shift)


@_write.register
def _(one: Positions, writer: _Writer, given: list[str], readout: bool) -> None:
    writer.add("Positions", [*given, writer.constant("codes", one.codes)])


@_write.register
def _(one: Sample, writer: _Writer, given: list[str], readout: bool) -> None:
    if one.function == "random":
        drawn = hashed_neighbours(one.points, one.neighbours, one.seed, one.ordinal)
        writer.add("Positions", [*given, writer.constant("drawn", drawn)])
        return
    writer.add("Nearest", given, points=one.points, neighbours=one.neighbours, index_bits=INDEX_BITS)


@_write.register
def _(one: Neighbourhood, writer: _Writer, given: list[str], readout: bool) -> None:
    x, places = given
    k = writer.columns(places)
    if one.part == "target":
        writer.add("Scaled", [x], factor=k if one.reducer == "sum" else 1, shift=one.shift)
        return
    sent = writer.add("NeighbourRows", [x, places], "rows", points=one.points)
    centred = one.part == "relative" and one.reducer == "mean"
    if one.part != "source" and not centred:
        sent = writer.add("Relative", [sent, x], "relative")
    if one.part == "distance":
        sent = writer.add("Distances", [sent], "distances")
    kind = {"max": "LargestOfNeighbours", "min": "SmallestOfNeighbours"}.get(one.reducer, "SumOfNeighbours")
    total = writer.add(kind, [sent], "reduced")
    if one.reducer != "mean":
        writer.add("ShiftRightEven", [total], shift=one.shift)
        return
    fraction = readout_fraction(np.array([k]))
    factors = {"factor": round(2**fraction / k), "shift": fraction + one.shift}
    if not centred:
        writer.add("Scaled", [total], **factors)
        return
    writer.plain("Sub", [writer.add("Scaled", [total], "mean", **factors), x])


@functools.cache
def _library() -> dict[str, FunctionProto]:
    """The functions of the domain by name, in an order in which each calls those before it."""
    from onnx import parser

    text = Path(__file__).with_name("operations.txt").read_text(encoding="utf-8")
    head = f'<domain: "{DOMAIN}", opset_import: ["" : {OPSET}, "{DOMAIN}" : 1]>\n'
    found = [parser.parse_function(head + one) for one in text.strip().split("\n\n")]
    return {one.name: one for one in found}


def _used(kinds: set[str]) -> list[FunctionProto]:
    """The functions of these names, and those that they call."""
    library, wanted = _library(), set(kinds)
    for function in reversed(library.values()):
        if function.name in wanted:
            wanted |= {node.op_type for node in function.node if node.domain == DOMAIN}
    return [function for name, function in library.items() if name in wanted]


def write(path: Path, integers: IntegerNetwork, graphs: Sequence[IntegerGraph], name: str) -> Codes:
    """Write the model, and beside it an .npz with its inputs for the graphs and the codes that it gives for them.

    Returns those codes [rows, columns], which the interpreter made.
    """
    import onnx

    from fgnas.files import replace_file

    codes = interpreter.run(integers, graphs)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, model_of(integers, graphs, name).SerializeToString())
    onnx.checker.check_model(str(path))
    beside: dict[str, Any] = {CODES: codes, **inputs_of(integers, graphs)}
    np.savez_compressed(path.with_suffix(".npz"), **beside)
    return codes
