"""Helpers of the array's tests: random networks that it runs, and engines of random modes for them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from support import Choices, random_design, random_graph, random_network

from fgnas.backends.project import Request, write
from fgnas.design import PAIRS, VECTORS, Design
from fgnas.fixedpoint import Codes
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.choosing import LARGER
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import table_banks
from fgnas.hardware.array.kind import FittedArray
from fgnas.hardware.array.layers import ArrayNetwork, array_network
from fgnas.hardware.array.lowering import ArrayAccelerator, default_columns
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.programme import PORT_WIDTHS
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.graph import integer_graph
from fgnas.hardware.kind import Wanted
from fgnas.hardware.shape import GraphShape
from fgnas.network import Network
from fgnas.networks.calibration import tied
from fgnas.tasks.nodes import GraphData

EXACT = ("add", "max")
"""Aggregations whose integers are those of the pipeline; a mean is rounded into the coefficients."""
SCORED = ("gat", "gat", "gcn", "constant")
"""Attentions of networks most of whose layers have scores."""
SCORES_OF_ALL_KINDS = (*VECTORS, "gcn")
"""Attentions of networks whose layers have scores of different kinds."""


def right(source: ArrayNetwork, data: GraphData, further: Sequence[GraphData] = ()) -> Codes:
    """[N, classes] the logits that the interpreter gives; `further` as in `encode_array`."""
    graphs = [integer_graph(one, source.integers.number) for one in (data, *further)]
    return interpreter.run(source.integers, graphs)


def random_source_of(rng: np.random.Generator, design: Design, data: GraphData) -> ArrayNetwork:
    """The design with random weights, in the array's layers."""
    return array_network(design, random_network(rng, design, data), GraphShape.of(data), data.name)


def write_array(source: ArrayNetwork, data: GraphData, folder: Path, **wanted: Any) -> list[Path]:
    """The project of a quantised network on an array, as `fgnas hls --target array` writes it, without weights."""
    asked = Wanted(**wanted)
    return write(FittedArray(source, Network(()), data, asked), data, folder, Request(asked.specification))


def few_bits(attention: str, rng: np.random.Generator | None = None) -> Choices:
    """Formats of features of 8 bits, or of as many at most: an engine holds activation tables of 2,048 numbers, and
    every layer with gene-linear has one more of as many as its features have values."""
    if attention not in PAIRS:
        return {}
    return {"ai": 2, "af": 5} if rng is None else {"ai": int(rng.integers(0, 3)), "af": int(rng.integers(2, 6))}


def random_source(
    rng: np.random.Generator, layers: int, data: GraphData, aggregations: tuple[str, ...] = EXACT,
    attentions: tuple[str, ...] = ("gcn", "constant"), heads: tuple[int, ...] = (1,),
) -> ArrayNetwork:  # fmt: skip
    """A quantised network of operators that the array runs; `heads` are those of the last layer."""

    def plain() -> Choices:
        attention, aggregation = str(rng.choice(attentions)), str(rng.choice(aggregations))
        found = {"attention": attention, "aggregation": aggregation, "t_attn": 2 if attention == "gat" else None}
        return found | few_bits(attention, rng)

    hidden = [
        {**plain(), "d": int(rng.choice([3, 4, 8, 12, 16, 24])), "k": int(rng.choice([1, 2]))}
        for _ in range(layers - 1)
    ]
    last = {**plain(), "k": 1}
    if heads != (1,) and last["attention"] not in VECTORS and last["aggregation"] != "max":
        last["k"] = int(rng.choice(heads))
    return random_source_of(rng, random_design(rng, layers, (*hidden, last)), data)


def wide_choices(rng: np.random.Generator) -> Choices:
    """Formats of a layer's numbers, some of more bits than a pipeline carries, and lanes that go with them."""
    value, weight = int(rng.integers(11, 17)), int(rng.integers(2, 17))
    ai, wi = int(rng.integers(0, 5)), int(rng.integers(0, min(4, weight - 1) + 1))
    return {"ai": ai, "af": value - 1 - ai, "wi": wi, "wf": weight - 1 - wi, "t_out": 1}


def wide_source(rng: np.random.Generator, layers: int, data: GraphData, heads: tuple[int, ...] = (1,)) -> ArrayNetwork:
    """A quantised network without scores of wide numbers; half of them have plain activations without a table."""
    hidden = [
        {"attention": str(rng.choice(["gcn", "constant"])), "aggregation": str(rng.choice(EXACT)), "t_attn": None,
         "d": int(rng.choice([3, 8, 12, 24])), "k": int(rng.choice([1, 2])), **wide_choices(rng)}
        for _ in range(layers - 1)
    ]  # fmt: skip
    k = int(rng.choice(heads))  # a mean of heads with coefficients is rounded as the pipeline's is not
    last = {"attention": "gcn" if k == 1 else "constant", "aggregation": "add", "t_attn": None, "k": k,
            **wide_choices(rng)}  # fmt: skip
    design = random_design(rng, layers, (*hidden, last))
    network = random_network(rng, design, data)
    return array_network(design, tied(design, network) if rng.integers(2) else network, GraphShape.of(data), data.name)


def weighed(array: ArrayAccelerator, data: GraphData, further: Sequence[GraphData] = ()) -> float:
    """Cycles of an array that shares no table, more by LARGER for each doubling of what its arrangement costs;
    `further` as in `encode_array`."""
    engine = array.engine
    doublings = (engine.results * engine.finished).bit_length() - 1
    return total_cycles(encode_array(array, data, further)) * (1 + LARGER) ** doublings


def random_data(rng: np.random.Generator) -> GraphData:
    """A small graph, sometimes of a single node, with repeated edges and rows without a feature."""
    nodes, edges = int(rng.integers(1, 60)), int(rng.integers(0, 150))
    return random_graph(rng, nodes, int(rng.integers(3, 40)), int(rng.integers(2, 20)), edges)


def random_array(rng: np.random.Generator, source: ArrayNetwork, data: GraphData) -> ArrayAccelerator:
    """The network on 1 to 16 units, with as many columns side by side as fit, or half of them, in any passes and
    with any words of H a cycle."""
    units = int(rng.choice([1, 2, 3, 4, 6, 8, 12, 16]))
    widest = [default_columns(layer, units) for layer in source.layers if not layer.second][:-1]
    columns = tuple(max(1, n // int(rng.integers(1, 3))) for n in widest)
    last = source.layers[-1]
    split = 1 if last.maximum or last.attends else int(rng.choice([1, 2, 4]))
    beat_bits = int(rng.choice(PORT_WIDTHS))
    whole = fit(source, data, Arrangement(units, columns, split=min(split, units & -units), beat_bits=beat_bits))
    first = whole.plans[0]
    held = 1 if first.last else first.tiles // (first.head_tiles if first.attends else 1)
    passes = int(rng.choice([one for one in range(1, held + 1) if held % one == 0]))
    results = int(rng.choice([one for one in (1, 2, 4) if one <= table_banks(beat_bits)]))
    return fit(
        source,
        data,
        Arrangement(
            units, columns, split=min(split, units & -units), beat_bits=beat_bits, passes=passes, results=results
        ),
    )


def paired_array(rng: np.random.Generator, layers: int) -> tuple[ArrayAccelerator, GraphData]:
    """A random network of narrow numbers without scores on a random array with two products in a DSP slice."""
    while True:
        data = random_data(rng)
        array = random_array(rng, random_source(rng, layers, data), data)
        if array.engine.may_pair:
            return array.on(replace(array.engine, paired=True)), data


def shared_array(rng: np.random.Generator, source: ArrayNetwork, data: GraphData) -> ArrayAccelerator:
    """The network on units that share tables: 2 to 16 of them one, with as many columns side by side as leave so many;
    in any passes and with any words of H a cycle."""
    shared = int(rng.choice([2, 4, 8, 16]))
    side = int(rng.choice([1, 2, 4]))
    units = shared * side * int(rng.choice([1, 1, 2, 3] if shared * side < 16 else [1]))
    columns = tuple(min(side, default_columns(layer, units)) for layer in source.layers if not layer.second)[:-1]
    split = 1 if source.layers[-1].maximum else int(rng.choice([one for one in (1, 2, 4) if one <= side]))
    beat_bits = int(rng.choice(PORT_WIDTHS))
    held = fit(source, data, Arrangement(units, columns, split=split, beat_bits=beat_bits)).plans[0]
    passes = 1 if held.last else int(rng.choice([one for one in range(1, held.tiles + 1) if held.tiles % one == 0]))
    results = int(rng.choice([one for one in (1, 2, 4) if one <= table_banks(beat_bits)]))
    return fit(
        source,
        data,
        Arrangement(units, columns, split=split, beat_bits=beat_bits, passes=passes, results=results, shared=shared),
    )
