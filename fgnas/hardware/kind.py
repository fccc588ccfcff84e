"""The interface of a kind of hardware that runs designs: other packages get every fact about it here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from fgnas.design import Design
from fgnas.designs import DesignTable
from fgnas.fixedpoint import Codes
from fgnas.hardware.arithmetic import Arithmetic
from fgnas.hardware.prices import Priced
from fgnas.hardware.shape import Sized
from fgnas.hardware.specification import Specification
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData

TablePricer = Callable[[DesignTable], Priced]
"""Prices designs that were made for one kind of hardware, as many layers each. Another process can have it."""


@dataclass(frozen=True)
class Wanted:
    """Requirements on the hardware that a design does not state.

    Attributes:
        specification: limits, clock and part.
        multipliers: the most that an array may have; None for the design's own array, else for its DSP budget.
        beat_bits: width of the memory port; None for that of the design's own array, else for the pipeline's.
        bram36: the most block RAMs of an array; None for the design's own array, else for the specification's limit.
        repurposing: whether values between layers stay on the chip; else a network is several calls.
        flexible: whether an array has room for other networks.
        paired: whether an array of more multipliers than its DSP budget has two products in a slice.
    """

    specification: Specification = Specification()
    multipliers: int | None = None
    beat_bits: int | None = None
    bram36: float | None = None
    repurposing: bool = True
    flexible: bool = False
    paired: bool = False

    @property
    def sized(self) -> bool:
        """Whether other hardware is asked for than the design itself says."""
        asked = (self.multipliers, self.beat_bits, self.bram36, self.repurposing, self.paired)
        return asked != (None, None, None, True, False)


class Fitted(Protocol):
    """A design with its weights on hardware that was made for it and a graph."""

    @property
    def kind(self) -> Kind:
        """The kind of hardware."""

    @property
    def logit_step(self) -> float:
        """The value of one step of a logit code."""

    def logits(self, data: GraphData) -> Codes:
        """[N, classes] the codes that the hardware gives for a graph. Raises UserError where it does not hold it."""

    def regions(self, data: GraphData) -> dict[str, Any]:
        """The arguments of `Kernel.run` of the board's driver for a graph. Raises UserError where it does not fit."""

    def summary(self) -> dict[str, Any]:
        """The network on its hardware as plain JSON values, without weights."""


class Built(Fitted, Protocol):
    """A design on hardware that was built for another one."""

    @property
    def calls(self) -> int:
        """Times that the hardware is started for a graph."""

    def cycles(self) -> int:
        """Cycles on the graph that it was fitted with."""

    def cycles_afresh(self) -> int:
        """Cycles of the fastest hardware of the same size that is made for the design and the graph."""


class Described(Protocol):
    """Hardware that the report/accelerator.json of a project describes.

    Attributes:
        name: as that file names it.
        traces: whether the results of every stage of a project can be compared.
        page: the module of its projects' pages: RECORD, whose `read(directory)` returns what a project holds, and PAGE,
            the page of that, of the data or None, of the float accuracy or None, and of a device or None.
    """

    name: str
    traces: bool
    page: str

    def resources(self, summary: dict[str, Any], family: str) -> dict[str, float]:
        """Resources by name, as the model counts them for the hardware that a summary describes."""


class Kind(Described, Protocol):
    """One kind of hardware for designs.

    Attributes:
        name: as `--target` has it, too.
        rounding: where it rounds what designs leave open.
        ties: whether a plain activation needs no table, and no LUT, where results keep the scale of arguments.
        backend: the module that writes its projects: `write(fitted, data, directory, request)`.
    """

    rounding: Arithmetic
    ties: bool
    backend: str

    def made_for(self, design: Design | DesignTable) -> bool:
        """Whether a design, or each of a table, names this kind."""

    def check(self, design: Design) -> None:
        """Raise UserError where it has no hardware for a design's layers."""

    def pricer(self, data: Sized, specification: Specification) -> TablePricer:
        """Prices of designs on a graph. Raises UserError where they need more than its sizes, and there is no more."""

    def fit(self, design: Design, network: Network, data: GraphData, wanted: Wanted) -> Fitted:
        """A design with its weights on hardware for a graph. Raises UserError for what it cannot be asked."""

    def fit_built(self, summary: dict[str, Any], design: Design, network: Network, data: GraphData) -> Built:
        """A design with its weights on the hardware that `Fitted.summary` described. Raises UserError where that does
        not run it."""
