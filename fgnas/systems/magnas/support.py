"""The part of the space of subnets that a platform can run: options whose steps no unit supports are left out."""

from __future__ import annotations

from collections.abc import Iterable

from fgnas.errors import UserError
from fgnas.mapping.platform import Platform
from fgnas.networks.vision import steps
from fgnas.networks.vision.subnet import OPERATORS
from fgnas.networks.vision.supernet import VigSpace, vig_space
from fgnas.networks.vision.vig import Backbone

PRE_OPTIONS = ((False, True), (False,), (True,))
"""From the most to the least; an operator must be supported with all of them."""


def supported_space(backbone: Backbone, platform: Platform, granularity: str) -> VigSpace:
    """The subnets of which some unit runs every block, or with the granularity "layer" every step.

    Raises UserError where the platform runs none. A platform whose numbers identify no further network is not looked
    at: mapping refuses it with its reason.
    """
    space = vig_space(backbone)
    if not platform.complete or platform.starts:  # what runs whole subnets runs all of them
        return space

    def runs(names: Iterable[str]) -> bool:
        whole = tuple(names)
        parts = [whole] if granularity == "block" else [(name,) for name in whole]
        return all(platform.supports(part) for part in parts)

    def grapher(operator: str, pre: bool) -> bool:
        own = [(steps.operator_step(operator, count), steps.POST) for count in sorted({*backbone.neighbours})]
        return all(runs((steps.PRE, *one) if pre else one) for one in own)

    if missing := [name for name in (steps.STEM, steps.HEAD) if not runs((name,))]:
        raise UserError(f"no unit of the platform supports {missing[0]!r}, which every subnet has")
    widths = tuple(width for width in backbone.widths if runs(steps.ffn_steps(width)))
    for pre in PRE_OPTIONS:
        operators = tuple(name for name in OPERATORS if all(grapher(name, one) for one in pre))
        if operators:
            kept = {"operator": operators, "pre": pre, "ffn": (False, True) if widths else (False,)}
            return space.restrict(**kept, width=widths or backbone.widths)
    raise UserError(f"no unit of the platform supports a whole Grapher: one of {', '.join(OPERATORS)}, and post")
