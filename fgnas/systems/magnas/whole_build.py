"""A kernel that is an array for whole subnets: an image enters, its patches find each other, logits leave.

The array is the smallest for the subnet that it is delivered with. Cycles follow from a subnet's shapes alone.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from fgnas.errors import UserError
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.engine import LANES, LARGEST_UNITS
from fgnas.hardware.array.points.encoded import EncodedPoints, PointSource, lowered
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.networks.vision.subnet import OPERATORS, Subnet
from fgnas.networks.vision.supernet import extreme
from fgnas.networks.vision.vig import Backbone
from fgnas.systems.magnas.build import Sizes, facts_of
from fgnas.systems.magnas.whole import METRIC, shaped


class WholeFacts(BaseModel):
    """Fields of a kernel's file for an array that runs whole subnets: units, memory port, and bits of all numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    units: int = Field(ge=1, le=LARGEST_UNITS, description=f"units of {LANES} multipliers")
    beat_bits: Literal[128, 256, 512] = Field(default=128, description="width of the memory port")
    bits: int = Field(default=8, ge=4, le=9, description="of all values and weights, with the sign")


@dataclass(frozen=True)
class WholeBuild:
    """An array that runs a whole subnet in one start; it runs no step alone."""

    facts: WholeFacts
    sizes: Sizes
    FIELD: ClassVar[str] = "whole"

    @classmethod
    def of(cls, content: object, sizes: Sizes, source: str) -> WholeBuild:
        """The array of its facts."""
        return cls(facts_of(WholeFacts, content, cls.FIELD, source), sizes)

    def to_json(self) -> str:
        """The facts."""
        return self.facts.model_dump_json()

    def check(self, backbone: Backbone) -> None:
        """Raise UserError where a subnet of a backbone has no room: those that need the most of each are the largest
        with one operator."""
        if backbone.metric != METRIC:
            raise UserError(f"it finds nearest patches by {METRIC}, not by {backbone.metric}: add --metric {METRIC}")
        for operator in OPERATORS:
            self.cycles(extreme(backbone, True, operator), backbone)

    def cycles(self, subnet: Subnet, backbone: Backbone) -> int:
        """From the accepted start write to the interrupt, with the reference memory: exact. Raises UserError for a
        subnet without room."""
        return _cycles(self, subnet, backbone)

    def lowered(self, integers: IntegerNetwork, backbone: Backbone, name: str, dataset: str) -> EncodedPoints:
        """The programme of a subnet's integers on the smallest array."""
        source = PointSource(integers, backbone.nodes, name, dataset)
        return lowered(source, self.facts.units, self.facts.beat_bits)


@functools.cache
def _cycles(build: WholeBuild, subnet: Subnet, backbone: Backbone) -> int:
    integers = shaped(subnet, backbone, build.facts.bits)
    return total_cycles(build.lowered(integers, backbone, "", ""))
