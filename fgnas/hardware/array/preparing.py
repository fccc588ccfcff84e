"""Graphs that a host makes ready for a chain on an array while it runs: the arguments of a start, in microseconds."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.hardware import wire
from fgnas.hardware.array.encoded import EncodedArray
from fgnas.hardware.array.lowering import LayerPlan
from fgnas.hardware.array.placing import rows_ahead
from fgnas.hardware.array.programme import (
    DESCRIPTOR,
    Descriptor,
    Target,
    entries_per_beat,
    entry_of,
    programme_beats,
)
from fgnas.hardware.array.starting import (
    DEGREE,
    NO_NUMBER,
    OWN,
    SIZE,
    SUM,
    TABLE,
    VARIED,
    Facts,
    Layers,
    Network,
    Programme,
    started,
)
from fgnas.hardware.integer.rules import (
    BETWEEN,
    FINE,
    NO_NODE,
    NOT_IN_ORDER,
    ONE_WAY,
    SELF_LOOP,
    TWICE,
    Ints,
    Rules,
)
from fgnas.hardware.wire import Beats

FILE = "preparation.npz"
"""Name of the file in a project."""
PARTS: dict[str, Any] = {"layers": Layers, "facts": Facts, "programme": Programme, "rules": Rules}
"""The types of a `Network`'s parts."""
PROBLEMS = {
    NO_NUMBER: "x has a number that is none (NaN)",
    NO_NODE: "edge_index names a node that x does not have",
    SELF_LOOP: "the graph has an edge from a node to itself: leave such edges out, the model adds its own",
    TWICE: "the graph has an edge twice: give each once",
    ONE_WAY: "the graph has an edge without the one in the other direction: give both",
    BETWEEN: "an edge connects nodes of two graphs",
    NOT_IN_ORDER: "batch does not number the graphs 0, 1, 2, ... in the order of their nodes, each with one at least",
    DEGREE: "a node has more neighbours than any in the data that the network was imported on",
    SIZE: "a graph has more nodes than any in the data that the network was imported on",
    SUM: "the sums of the array do not hold a row of the graphs: give smaller ones, or build it for larger ones",
    TABLE: "the tables of the array do not hold the graphs: give fewer or smaller ones, or build it for larger ones",
    OWN: "the rows of the array do not hold the graphs: give fewer or smaller ones, or build it for larger ones",
}
"""What is said of graphs that cannot be prepared."""


@dataclass(frozen=True, eq=False)
class Preparation:
    """Makes graphs ready for a chain on an array: a call returns the arguments of `Kernel.run` of the board's driver.

    Attributes:
        network: all that streams and programmes depend on.
        parameters: the region with the weights.
        sizes: arguments that are the same for every graph.
        width_in: features of a node.
    """

    network: Network
    parameters: Beats
    sizes: dict[str, int]
    width_in: int

    @classmethod
    def of(cls, encoded: EncodedArray, rules: Rules, coefficient_bits: Ints) -> Preparation | None:
        """That of a chain with a graph, whose matrices have these rules and coefficients of so many fraction bits; None
        where its streams are made in another way: in slices or blocks, or for units that share tables."""
        accelerator, engine = encoded.accelerator, encoded.engine
        plans = accelerator.plans
        if engine.shared > 1 or any(max(one.slices, one.blocks) > 1 for one in plans):
            return None
        first, number, entry = plans[0], plans[0].layer.number, entry_of(engine.bits)
        value_at, value_bits = entry.place("value")
        facts = Facts(
            groups=first.combine.m, k=first.combine.k, write_tiles=first.write_tiles,
            scale=2.0**number.fraction_bits, smallest=number.minimum, largest=number.maximum,
            ordered=rows_ahead(plans[-1], engine.queue_words), room=entries_per_beat(engine.beat_bits, engine.bits),
            entry_bits=entry.bits, value_at=value_at, value_bits=value_bits, last_at=entry.place("last")[0],
            beat_bytes=engine.beat_bits // 8, results_base=accelerator.results_base, table_words=engine.table_words,
            own_words=engine.own_words, most_entries=min(most_entries(one, engine.sum_bits) for one in plans),
            words_together=encoded.words_together, engine=engine.digest, loads=encoded.loads,
        )  # fmt: skip
        arguments = encoded.arguments()
        kept = ("descriptors", "classes", "row_words", "beat_words", "engine", "loads")
        network = Network(_layers(plans, coefficient_bits), facts, _programme(encoded), rules)
        return cls(network, encoded.regions["parameters"], {name: int(arguments[name]) for name in kept},
                   accelerator.source.shape.width_in)  # fmt: skip

    def __call__(self, x: ArrayLike, edge_index: ArrayLike, batch: ArrayLike | None = None) -> dict[str, Any]:
        """The arguments of a start for features x [N, F], edges [2, E] in both directions, and the graph [N] of each
        node, from 0 on; without it all nodes are those of one graph.

        Raises UserError for what is no such graph, and for graphs that the array does not hold.
        """
        features, edges = np.ascontiguousarray(x, np.float32), np.ascontiguousarray(edge_index, np.int64)
        nodes = len(features)
        graph = np.zeros(nodes, np.int64) if batch is None else np.ascontiguousarray(batch, np.int64)
        if features.ndim != 2 or features.shape[1] != self.width_in or not nodes:
            raise UserError(f"x has the shape {list(features.shape)}, not [nodes, {self.width_in}]")
        if edges.ndim != 2 or len(edges) != 2:
            raise UserError(f"edge_index has the shape {list(edges.shape)}, not [2, edges]")
        if graph.shape != (nodes,):
            raise UserError(f"batch has the shape {list(graph.shape)}, not [{nodes}], one for each row of x")
        found = started(self.network, features, edges, graph)
        if found.problem != FINE:
            raise UserError(PROBLEMS[found.problem])
        return self.sizes | {
            "logits_beats": found.logits_beats, "check": found.check, "check_again": found.check_again,
            "order": found.order, "programme": found.programme, "parameters": self.parameters,
            "features": found.features, "edges": found.edges,
        }  # fmt: skip

    def save(self, path: Path) -> None:
        """Write a file, which `load` reads."""
        named: dict[str, Any] = {"parameters": self.parameters, "width_in": self.width_in}
        named |= {f"sizes.{name}": value for name, value in self.sizes.items()}
        for part, held in self.network._asdict().items():
            named |= {f"{part}.{name}": value for name, value in held._asdict().items()}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **named)
        replace_file(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> Preparation:
        """Read a file. Raises UserError where there is none, or it is damaged."""
        try:
            with np.load(path, allow_pickle=False) as archive:
                held = {name: archive[name] for name in archive.files}
            held = {name: one if one.ndim else one.item() for name, one in held.items()}
            parts = [kind(*(held[f"{part}.{name}"] for name in kind._fields)) for part, kind in PARTS.items()]
            sizes = {name.removeprefix("sizes."): one for name, one in held.items() if name.startswith("sizes.")}
            return cls(Network(*parts), held["parameters"], sizes, held["width_in"])
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror or error}") from None
        except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise UserError(f"{path} is damaged, or of another version ({error}): write the project again") from None


def most_entries(plan: LayerPlan, sum_bits: int) -> int:
    """The most entries of a row that a sum of so many bits holds."""
    return 1 << max(0, sum_bits - wire.COEFFICIENT_BITS - plan.layer.value_format.width)


def _layers(plans: Sequence[LayerPlan], coefficient_bits: Ints) -> Layers:
    of_each = lambda value: np.array([value(one) for one in plans], np.int64)  # noqa: E731
    return Layers(
        of_each(lambda one: one.aggregate.m), of_each(lambda one: one.aggregate.k), of_each(lambda one: one.pitch),
        of_each(lambda one: one.row_tiles), of_each(lambda one: one.products), coefficient_bits,
    )  # fmt: skip


def _programme(encoded: EncodedArray) -> Programme:
    """The programme with zeros where numbers depend on the graph."""
    plain, layers, products = list[Descriptor](), list[int](), list[int]()
    for layer, one in zip(encoded.layers, encoded.programme, strict=True):
        fixed: tuple[str, ...]
        if not one.computes:
            fixed, product = VARIED, -1
        elif one.target == Target.TABLE:  # a combination; an aggregation follows those of its layer
            fixed, product = ("limit",), products[-1] + 1 if layers[-1] == layer else 0
        else:
            fixed, product = ("target_base",), -1
        varied = {name: 0 for name in VARIED if name not in fixed}
        plain.append(replace(one, **varied))
        layers.append(layer if one.computes else -1)
        products.append(product)
    content = programme_beats(plain, encoded.engine.beat_bits).reshape(len(plain), -1).copy()
    places = np.array([DESCRIPTOR.place(name) for name in VARIED])
    return Programme(content, np.array(layers), np.array(products), places)
