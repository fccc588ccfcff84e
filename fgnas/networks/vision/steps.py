"""A subnet as a chain of named steps, in the order and the groups in which they run.

A name says everything that a step's cost depends on within one backbone: the operator and its neighbours, or the width
of an FFN. This module knows no costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fgnas.networks.vision.subnet import OPERATORS, Subnet, Superblock
from fgnas.networks.vision.vig import Backbone

STEM, PRE, POST, HEAD = "stem", "pre", "post", "head"

Items = list[str | dict[str, Any]]
"""Names of steps, and groups: {"block": name, "shortcut": true, "steps": names}, as in a platform's file."""


def operator_step(operator: str, neighbours: int) -> str:
    """Neighbours of every patch by `nearest`, and an operator on them."""
    return f"{operator}-{neighbours}"


def widening_step(width: int) -> str:
    """The first map of an FFN."""
    return f"fc1-{width}"


def narrowing_step(width: int) -> str:
    """The second map of an FFN."""
    return f"fc2-{width}"


def steps_of(subnet: Subnet, backbone: Backbone) -> Items:
    """The steps of a subnet. A Grapher and an FFN are blocks, and their last step reads their input again."""
    items: Items = [STEM]
    number = 0
    for choice, neighbours in zip(subnet.superblocks, backbone.neighbours, strict=True):
        for _ in range(choice.depth):
            number += 1
            items += _block(choice, neighbours, number)
    return [*items, HEAD]


def _block(choice: Superblock, neighbours: int, number: int) -> Iterator[dict[str, Any]]:
    """Numbered, because consecutive groups of one name would be one block."""
    grapher = [operator_step(choice.operator, neighbours), POST]
    yield {"block": f"grapher {number}", "shortcut": True, "steps": [PRE, *grapher] if choice.pre else grapher}
    if choice.width is not None:
        yield {"block": f"ffn {number}", "shortcut": True, "steps": [*ffn_steps(choice.width)]}


def ffn_steps(width: int) -> tuple[str, str]:
    """The steps of an FFN."""
    return widening_step(width), narrowing_step(width)


def blocks(backbone: Backbone) -> Iterator[tuple[str, ...]]:
    """The steps of every Grapher and every FFN that a subnet of the backbone can have."""
    for count in sorted({*backbone.neighbours}):
        for operator in OPERATORS:
            grapher = (operator_step(operator, count), POST)
            yield from (grapher, (PRE, *grapher))
    yield from (ffn_steps(width) for width in backbone.widths)


def elements(backbone: Backbone) -> dict[str, int]:
    """Every step that a subnet of the backbone can have, and the numbers in its output for one image."""
    plain, double = backbone.nodes * backbone.features, backbone.nodes * 2 * backbone.features
    found = {STEM: plain, PRE: plain}
    found |= {operator_step(name, count): double for name in OPERATORS for count in sorted({*backbone.neighbours})}
    found[POST] = plain
    for width in backbone.widths:
        found |= {widening_step(width): backbone.nodes * width, narrowing_step(width): plain}
    return found | {HEAD: backbone.classes}
