"""Formats that are changed as long as the results of integers come closer to those in real numbers.

The squared error of a value alone says little about what it costs the results: a few nodes with many neighbours, or a
few large graphs, have values so far from all others that the scale which is best for them rounds the others away, and
every bias beside them. Hence each scale is tried finer and coarser by its effect on the results, pass by pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fgnas.hardware.integer.apply import Apply
from fgnas.hardware.integer.network import Step
from fgnas.hardware.integer.operation import Given, dense
from fgnas.networks.imported.nodes import Node, Reals
from fgnas.networks.imported.quantising import (
    DISTANCES,
    Bits,
    Builder,
    Formats,
    Part,
    Quantised,
    Seen,
    begun,
    built,
    features_of,
    first_formats,
    move,
    settle,
)
from fgnas.tasks.collection import Kind

PASSES = 4
"""Passes over all values at most; a pass that changes no scale is the last."""
MOVES = (1, -1, 2, -2)
"""Fraction bits that a scale is moved by. One that a few large numbers have made too coarse for all others may be worse
a bit finer, and better two bits finer."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """Formats, with the integers that they give.

    Attributes:
        formats: of nodes.
        parts: what each node but the features became, by id, in order.
        codes: [rows, columns] the results of each node, by id.
    """

    formats: Formats
    parts: dict[int, Part]
    codes: dict[int, Given]

    @property
    def values(self) -> Reals:
        """[rows, columns] the results of the last one."""
        last, part = list(self.parts.items())[-1]
        behind = part.steps[-1].operation
        assert isinstance(behind, Apply)
        return behind.output.value(dense(self.codes[last]))

    def add(self, builder: Builder, node: Node, last: bool, known: Attempt | None) -> None:
        """Append a node to both, from a known attempt as far as its formats and what it reads are the same."""
        old = None if known is None else known.parts[id(node)]
        if old is None or old.formats != self.formats.around(node):
            part = builder.node(node, last)
        else:
            part = builder.again(node, old)
        self.parts[id(node)] = part
        same = part is old and all(known and self.codes[id(one)] is known.codes[id(one)] for one in node.inputs)
        if known is not None and same:
            self.codes[id(node)] = known.codes[id(node)]
            return
        self.codes[id(node)] = ran(part.steps, builder, node, self.codes)


def quantised(seen: Seen, bits: Bits, kind: Kind, passes: int = PASSES) -> tuple[Quantised, Formats]:
    """The integers of nodes in formats of so many bits, and the formats: scales are changed in so many passes at most,
    and biases behind them, as long as that brings the results closer. `kind`: of the targets, by which closeness is
    measured. Without passes scales have the smallest squared errors of their values."""
    apart = DISTANCES[kind]
    best = attempted(seen, first_formats(seen, bits), bits)
    least = apart(best.values, seen.output)
    for _ in range(passes):
        before = best
        for node in seen.nodes[:-1]:
            for one in _moved(seen, best, node, bits):
                if (now := apart(one.values, seen.output)) < least:
                    best, least = one, now
        if best is before:
            break
    found = built(seen, best.formats, bits)
    if not passes:
        return found, best.formats
    formats = centred_biases(seen, best.formats, bits)
    centred = built(seen, formats, bits)
    return (centred, formats) if apart(centred.values(), seen.output) < least else (found, best.formats)


def _moved(seen: Seen, best: Attempt, node: Node, bits: Bits) -> Iterator[Attempt]:
    """Attempts whose scale of a node is moved, as far as others let it."""
    for step in MOVES:
        formats = best.formats.copy()
        move(formats, node, step)
        settle(seen.nodes, formats)
        yield attempted(seen, formats, bits, best)


def attempted(seen: Seen, formats: Formats, bits: Bits, known: Attempt | None = None) -> Attempt:
    """The integers of formats; what these share with a known attempt is not computed again."""
    builder, features = begun(seen, formats, bits), features_of(seen)
    found = Attempt(formats, {}, {id(features): builder.graphs[0].features})
    if known is not None and known.formats.results[id(features)] == formats.results[id(features)]:
        found.codes[id(features)] = known.codes[id(features)]
    for node in seen.nodes:
        if node is not features:
            found.add(builder, node, node is seen.nodes[-1], known)
    return found


def centred_biases(seen: Seen, formats: Formats, bits: Bits) -> Formats:
    """The same formats with biases that make up for what integers in front of them change, in the median of rows.

    A bias is rounded once for all rows, so that its error does not average out as others do. Those that follow can make
    up for it. The median, since a few rows saturate by far more than all others differ.
    """
    found = formats.copy()
    builder, features = begun(seen, found, bits), features_of(seen)
    codes: dict[int, Given] = {id(features): builder.graphs[0].features}
    for node in seen.nodes:
        if node is features:
            continue
        last = node is seen.nodes[-1]
        *before, behind = builder.node(node, last).steps
        sums, own = ran(before, builder, node, codes), behind.operation
        assert isinstance(own, Apply)
        if node.bias is not None:
            errors = seen.arguments[id(node)] - own.argument.value(dense(sums))
            found.biases[id(node)] = np.median(errors, axis=0)
            own = builder.behind(node, last)
        codes[id(node)] = own.run([dense(sums)], builder.graphs[0])
    return found


def ran(steps: Sequence[Step], builder: Builder, node: Node, codes: Mapping[int, Given]) -> Given:
    """[rows, columns] what the last of a node's steps makes of the codes of its inputs, by id."""
    values = {builder.name(one): codes[id(one)] for one in node.inputs}
    for step in steps:
        values[step.name] = step.operation.run([values[name] for name in step.inputs], builder.graphs[step.graph])
    return values[steps[-1].name]
