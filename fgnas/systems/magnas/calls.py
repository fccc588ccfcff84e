"""The starts of kernels that vision GNNs need: which steps are one, and its sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fgnas.networks.vision import steps
from fgnas.networks.vision.vig import Backbone


@dataclass(frozen=True)
class Call:
    """The sizes of one start of a kernel.

    Attributes:
        nodes: rows of features.
        widths: features between the maps, from the input to the output; one map more is one layer more.
        neighbours: rows that every row of the first layer receives from; 1 is the row itself alone, as in all further
            layers.
        aggregation: how they are combined; None with one neighbour, where every way is the same.
    """

    nodes: int
    widths: tuple[int, ...]
    neighbours: int = 1
    aggregation: str | None = None


Names = tuple[str, ...]
"""The kinds of consecutive steps."""


def calls(backbone: Backbone) -> dict[Names, Call]:
    """Each step that is one start of a kernel, and each run of steps that is one; max-relative is none.

    Between the steps of a run the processor has nothing to do: a post follows GIN alone, whose sum it maps again, and
    no run goes beyond a shortcut or before nearest neighbours.
    """
    nodes, d = backbone.nodes, backbone.features
    found: dict[Names, Call] = {
        (steps.STEM,): Call(nodes, (backbone.channels * backbone.patch**2, d)),
        (steps.PRE,): Call(nodes, (d, d)),
        (steps.POST,): Call(nodes, (2 * d, d)),
        (steps.HEAD,): Call(1, (d, 2 * d, backbone.classes)),
    }
    for count in sorted({*backbone.neighbours}):
        for operator, outputs, aggregation in (("edgeconv", 2 * d, "max"), ("sage", d, "max"), ("gin", 2 * d, "add")):
            found[(steps.operator_step(operator, count),)] = Call(nodes, (d, outputs), count, aggregation)
        found[(steps.operator_step("gin", count), steps.POST)] = Call(nodes, (d, 2 * d, d), count, "add")
    for width in backbone.widths:
        widening, narrowing = steps.ffn_steps(width)
        found |= {
            (widening,): Call(nodes, (d, width)),
            (narrowing,): Call(nodes, (width, d)),
            (widening, narrowing): Call(nodes, (d, width, d)),
        }
    return found


def covering(names: Names, known: Mapping[Names, Call], runs: Callable[[Call], bool]) -> list[Names] | None:
    """Consecutive steps as starts of a kernel that `runs` some calls: each the longest that there is from its place.

    None where it runs none from some place on.
    """
    found: list[Names] = []
    while sum(map(len, found)) < len(names):
        place = sum(map(len, found))
        one = _longest(names[place:], known, runs)
        if one is None:
            return None
        found.append(one)
    return found


def _longest(names: Sequence[str], known: Mapping[Names, Call], runs: Callable[[Call], bool]) -> Names | None:
    for count in range(len(names), 0, -1):
        call = known.get(tuple(names[:count]))
        if call is not None and runs(call):
            return tuple(names[:count])
    return None
