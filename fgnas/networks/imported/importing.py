"""Import of a trained model as an integer network: run once, proven against the model's own results, quantised."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch

from fgnas.errors import UserError
from fgnas.hardware.integer.rules import Rules
from fgnas.networks.imported.fusing import fused
from fgnas.networks.imported.improving import PASSES, quantised
from fgnas.networks.imported.inputs import Given, without_unread
from fgnas.networks.imported.nodes import Attend, EdgeProducts, Input, Ints, Merge, Node, Reals, Spread, ordered
from fgnas.networks.imported.probing import are_codes_of, are_those_of, is_linear, on_graphs, probe_of, rules_of
from fgnas.networks.imported.quantising import (
    Bits,
    Quantised,
    Seen,
    bits_of,
    built,
    formats_for,
    formats_in_order,
)
from fgnas.networks.imported.tracing import Traced, reals_of
from fgnas.networks.narrowing import narrowest
from fgnas.plain import IMPORTED_BITS, LARGEST, check_bits
from fgnas.tasks.collection import Collection, Kind, metric, scores

Kept = int | str | Sequence[int]
"""The graphs that a network holds: how many that test, their places in the data, or LARGEST."""
KEPT = 64
"""Graphs that a network holds, unless others are asked for."""
CALIBRATED_ON = 256
"""Graphs that choose formats."""
JUDGED_ON = 1024
"""Graphs that judge bits."""
TOGETHER = 512
"""Graphs that a model runs on at once."""
TOLERANCE = 1e-4
"""Tolerance for results, relative to the largest: the model computes in single precision, in another order."""


@dataclass(frozen=True)
class LayerRow:
    """A module of the model, and the operations that replace it.

    Attributes:
        layer: its name. kind: its class. becomes: the operations in words, in order.
        bits: of its weights and results; None where it has none of its own.
    """

    layer: str
    kind: str
    becomes: str
    bits: int | None


@dataclass(frozen=True, eq=False)
class Imported:
    """A model as an integer network.

    Attributes:
        network: with the graphs that it works on.
        places: the module of each step, by the step's name.
        layers: each module, and the operations that replace it.
        accuracy: "float" and "quantised", each on "val" and "test".
        apart: largest difference of the float results from the model's own, relative to the largest of these.
        rules: of the matrices of its sums, where the graphs' neighbourhoods determine them: see `probing`.
    """

    network: Quantised
    places: dict[str, str]
    layers: tuple[LayerRow, ...]
    accuracy: dict[str, dict[str, float]]
    apart: float
    rules: Rules | None = None


def given_of(data: Collection) -> Given:
    """The data as arguments for a model: tensors of features, edges, weights, graphs and features of edges."""
    further = (data.edge_weight, data.graph, data.edge_features)
    return Given(
        torch.from_numpy(data.features.toarray()), torch.from_numpy(data.edge_index),
        *(None if one is None else torch.from_numpy(one) for one in further),
    )  # fmt: skip


Run = Callable[[Given], Traced]
"""Runs the model on its arguments."""
Form = Callable[[Node], Node]
"""Another way of computing a node's value, which hardware prefers."""


def imported(
    run: Run, data: Collection, bits: int, kept: Kept = KEPT, loss: float | None = None, form: Form = fused
) -> Imported:
    """The integer network of a model on the data; of graphs it holds the first `kept` that test, or those in these
    places. Its nodes are put into a `form`.

    With `loss` every module has the fewest bits, up to `bits`, with which the validation part loses so much at most.

    Raises UserError where the model cannot be imported, or is not the same network.
    """
    check_bits(bits, IMPORTED_BITS)
    if data.graph is not None:
        return _of_graphs(run, data, bits, kept, loss, form)
    traced, seen, apart = proven(run, data, form)
    own: Reals = reals_of(traced.result)
    chosen = Chosen(bits)
    if loss is not None:
        rows = np.flatnonzero(data.val)
        goal = Goal(data.label, data.kind, data.targets[rows], own[rows], loss)
        chosen = narrowest_bits(
            goal, seen, bits, lambda one: quantised(seen, one.bits, data.kind, one.passes)[0].values()[rows]
        )
    found, _ = quantised(seen, chosen.bits, data.kind, chosen.passes)
    accuracy = {"float": scores(data, own), "quantised": scores(data, found.values())}
    return Imported(found, _places(seen, found), tuple(_layers(seen, traced, chosen.bits)), accuracy, apart)


class Chosen(NamedTuple):
    """The bits of numbers, and the passes that improve their scales."""

    bits: Bits
    passes: int = PASSES


@dataclass(frozen=True, eq=False)
class Goal:
    """How good integers must be: they lose `loss` points at most of what the float model's results [rows, columns]
    are worth against targets [rows, T]; of numbers, per cent of their error."""

    label: str
    kind: Kind
    targets: Reals
    own: Reals
    loss: float

    def lost(self, found: Reals) -> float:
        """The loss of results against the model's own: in points of the metric, or in percent of an RMSE."""
        exact, now = metric(self.kind, self.targets, self.own), metric(self.kind, self.targets, found)
        return 100 * ((now - exact) / max(exact, 1e-12) if self.kind == "values" else exact - now)


def narrowest_bits(goal: Goal, seen: Seen, bits: int, values: Callable[[Chosen], Reals]) -> Chosen:
    """The bits of every module, the features among them, with which the results `values` reach the goal; scales are
    improved where that keeps it.

    Raises UserError where numbers of `bits` bits do not.
    """
    if not len(goal.targets):
        raise UserError(f"--loss is measured on the validation part, and {goal.label} has none: give --split")
    places = list(dict.fromkeys(node.place for node in seen.nodes))
    named = lambda widths: dict(zip(places, widths, strict=True))  # noqa: E731
    lost = lambda widths: goal.lost(values(Chosen(named(widths), 0)))  # noqa: E731
    found = narrowest(len(places), range(IMPORTED_BITS.start, bits + 1), lambda widths: lost(widths) <= goal.loss)
    if found is None:
        raise UserError(f"--loss is {goal.loss:g}, but numbers of {bits} bits lose {lost([bits] * len(places)):.2f}: "
                        f"allow more, or more --bits")  # fmt: skip
    improved = Chosen(named(found))
    return improved if goal.lost(values(improved)) <= goal.loss else Chosen(named(found), 0)


def _of_graphs(
    run: Run, data: Collection, bits: int, kept: Kept, loss: float | None, form: Form
) -> Imported:  # fmt: skip
    """The integer network of a model of graphs: formats come from graphs that train, figures from all others."""
    for name in ("train", "test"):
        if not getattr(data, name).any():
            raise UserError(f"no graph of {data.label} is in its {name} part: give masks or --split that have some")
    places = _held(data, kept)
    calibrated = data.part(calibrated_on(data))
    _, calibrating, first = proven(run, calibrated, form)
    chosen = Chosen(bits) if loss is None else _judged(run, data, calibrating, bits, loss, form)
    known = formats_in_order(calibrating.nodes, quantised(calibrating, chosen.bits, data.kind, chosen.passes)[1])
    results = {kind: np.full((data.rows, data.outputs), np.nan) for kind in ("float", "quantised")}
    for rows, seen, own in _parts(run, data, np.flatnonzero(data.val | data.test), form):
        results["float"][rows] = own
        results["quantised"][rows] = built(seen, formats_for(seen.nodes, known), chosen.bits).values()
    held = data.part(places)
    traced, seen, apart = proven(run, held, form)
    rules = None if traced.parts else _rules(run, data, form, calibrating, calibrated)
    if rules is not None and len(seen.nodes) != len(calibrating.nodes):  # a matrix that changes nothing is no node
        seen = Seen.of(on_graphs(rules, calibrating.nodes[-1], held), seen.features)
        apart = _checked(seen, traced)
    found = built(seen, formats_for(seen.nodes, known), chosen.bits)
    accuracy = {kind: scores(data, values) for kind, values in results.items()}
    if rules is not None and not (are_those_of(rules, seen.nodes[-1], held) and are_codes_of(rules, found, held)):
        rules = None
    return Imported(found, _places(seen, found), tuple(_layers(seen, traced, chosen.bits)), accuracy,
                    max(first, apart), rules)  # fmt: skip


def _rules(run: Run, data: Collection, form: Form, known: Seen, part: Collection) -> Rules | None:
    """The rules of a model's matrices, which hold on a part of the data; None where there are none."""
    probe = probe_of(data) if is_linear(known.nodes) else None
    if probe is None:
        return None
    with contextlib.suppress(UserError):  # a model that does not run on graphs that are made has none
        rules = rules_of(form(run(given_of(probe)).output), probe)
        if rules is not None and are_those_of(rules, known.nodes[-1], part):
            return rules
    return None


def _held(data: Collection, kept: Kept) -> Ints:
    """The places of the graphs that a network holds. Raises UserError where there are none such."""
    assert data.graph is not None
    if isinstance(kept, int):
        return np.flatnonzero(data.test)[:kept]
    if isinstance(kept, str):
        if kept != LARGEST:
            raise UserError(f"graphs is {kept!r}: give {LARGEST!r}, a number, or places")
        return np.array([np.bincount(data.graph).argmax()])
    places = np.asarray(kept, np.int64)
    if not len(places) or places.min() < 0 or places.max() >= data.rows or len(np.unique(places)) < len(places):
        raise UserError(f"--graphs names graphs by their places in {data.label}, 0 to {data.rows - 1:,}, each once: "
                        f"these are {list(kept)[:8]}")  # fmt: skip
    return places


def calibrated_on(data: Collection, count: int = CALIBRATED_ON) -> Ints:
    """The graphs that choose formats, in order: of those that train as many of each size as there are, the smallest
    and the largest among them. Sums grow with a graph, and those of large ones must not saturate."""
    assert data.graph is not None
    rows = np.flatnonzero(data.train)
    by_size = rows[np.argsort(np.bincount(data.graph, minlength=data.rows)[rows], kind="stable")]
    return np.sort(by_size[np.unique(np.linspace(0, len(rows) - 1, count).round().astype(np.int64))])


def _judged(run: Run, data: Collection, calibrating: Seen, bits: int, loss: float, form: Form) -> Chosen:
    """The fewest bits of every module by the first graphs that validate."""
    parts = list(_parts(run, data, np.flatnonzero(data.val)[:JUDGED_ON], form))
    rows = np.concatenate([part[0] for part in parts]) if parts else np.zeros(0, np.int64)
    own = np.concatenate([part[2] for part in parts]) if parts else np.zeros((0, data.outputs))

    def values(chosen: Chosen) -> Reals:
        known = formats_in_order(calibrating.nodes, quantised(calibrating, chosen.bits, data.kind, chosen.passes)[1])
        each = [built(seen, formats_for(seen.nodes, known), chosen.bits) for _, seen, _ in parts]
        return np.concatenate([one.values() for one in each])

    return narrowest_bits(Goal(data.label, data.kind, data.targets[rows], own, loss), calibrating, bits, values)


def _parts(run: Run, data: Collection, rows: Ints, form: Form) -> Iterator[tuple[Ints, Seen, Reals]]:
    """Batches of graphs that a model runs on together, each with the values of its nodes, and the model's results."""
    for part in np.array_split(rows, max(1, -(-len(rows) // TOGETHER))):
        if len(part):
            traced, seen, _ = proven(run, data.part(part), form)
            yield part, seen, reals_of(traced.result)


def proven(run: Run, data: Collection, form: Form = fused) -> tuple[Traced, Seen, float]:
    """A model's run, its nodes in a form, and how far these are from its own results. Raises UserError where they are
    not its."""
    given = given_of(data)
    traced = run(given)
    own = reals_of(traced.result)
    _check_shape(list(traced.result.shape), own, data)
    last, features = form(traced.output), sp.csr_matrix(data.features, dtype=np.float64)
    if traced.parts:
        features = without_unread(given.matrix(traced.parts), ordered(last))
    seen = Seen.of(last, features)
    return traced, seen, _checked(seen, traced)


def _checked(seen: Seen, traced: Traced) -> float:
    """How far the results of nodes are from a model's own. Raises UserError where they are not its."""
    apart = _apart(seen.output, reals_of(traced.result), traced.finals)
    if not apart < TOLERANCE:
        raise UserError(f"the model does more than was seen while it ran: its results differ by {apart:.1%} from those "
                        f"of its operations")  # fmt: skip
    return apart


def _check_shape(shape: list[int], own: Reals, data: Collection) -> None:
    """Raise UserError where results are not those of the data."""
    wanted = [data.rows, data.outputs]
    if list(own.shape) == wanted:
        return
    what = "graphs" if data.graph is not None else "nodes"
    if data.graph is None and own.shape[0] == 1 and data.rows > 1:
        raise UserError(f"the model returns the shape {shape}, one row for the whole graph, but {data.label} has a "
                        f"class for each of its {data.rows:,} nodes: leave out the pooling, or give graphs with "
                        f"targets of their own (docs/data.md)")  # fmt: skip
    if own.shape[0] == data.rows:
        raise UserError(f"the model returns {own.shape[1]} numbers for each row, but {data.label} has {data.outputs} "
                        f"{'classes' if data.kind == 'classes' else 'targets'}: give the data that the "
                        f"model was trained on with --dataset, or the model's last layer as many")  # fmt: skip
    raise UserError(f"the model returns the shape {shape}, not {wanted}: a row for each of the {data.rows:,} {what} of "
                    f"{data.label}")  # fmt: skip


def _apart(found: Reals, own: Reals, finals: bool) -> float:
    """The largest difference of results from the model's own, relative to the largest; of a model that a softmax ends
    behind that, or its logarithm."""
    answers = [found]
    if finals:
        shifted = found - found.max(axis=1, keepdims=True)
        logarithm = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        answers = [logarithm, np.exp(logarithm)]
    scale = max(float(np.abs(own).max(initial=0.0)), 1e-30)
    return min(float(np.abs(one - own).max(initial=0.0)) / scale for one in answers)


def _places(seen: Seen, found: Quantised) -> dict[str, str]:
    """The module of each step, by the step's name."""
    computed = [node for node in seen.nodes if not isinstance(node, Input)]
    return {step.name: _short(computed[step.layer]) for step in found.integers.steps}


def _short(node: Node) -> str:
    """A module's name without its class."""
    return node.place.removeprefix("layer ").partition(" (")[0]


def _layers(seen: Seen, traced: Traced, widths: Bits) -> list[LayerRow]:
    """A row for each module; one that was folded into its neighbours has no operations, and its row says so."""
    nodes = [node for node in seen.nodes if not isinstance(node, Input)]
    found: dict[str, list[Node]] = {}
    for place, own in itertools.groupby(nodes, key=lambda one: one.place):
        found.setdefault(place, []).extend(own)
    rows = []
    for place in dict.fromkeys([f"layer {name} ({kind})" for name, kind in traced.places.items()] + list(found)):
        name, _, kind = place.removeprefix("layer ").partition(" (")
        bits = bits_of(widths, found[place][0]) if place in found else None
        rows.append(LayerRow(name, kind.removesuffix(")"), said(found.get(place, [])), bits))
    return rows


def said(nodes: list[Node]) -> str:
    """Nodes in words; a product and the bias and function behind its rows are one."""
    if not nodes:
        return "folded into its neighbours"
    whole: list[Node] = []
    for node in nodes:
        alone = isinstance(node, Spread) and node.is_copy and whole and isinstance(whole[-1], Merge)
        if alone and node.inputs == (whole[-1],):
            whole[-1] = replace(whole[-1], function=node.function)
        else:
            whole.append(node)
    counts = Counter(_words(node) for node in whole)
    return ", ".join(one if count == 1 else f"{count} {several}" for (one, several), count in counts.items())


def _words(node: Node) -> tuple[str, str]:
    """A node in words, and several of them."""
    names = {Merge: ("product", "products"), EdgeProducts: ("product of edges", "products of edges"),
             Attend: ("softmax of neighbours", "softmaxes of neighbours")}  # fmt: skip
    one, several = names.get(type(node), ("sum of rows", "sums of rows"))
    if isinstance(node, Spread) and node.reduce == "max":
        one, several = "maximum of rows", "maxima of rows"
    behind = "" if node.function is None else f" with {node.function.name}"
    return one + behind, several + behind
