"""Which options a policy may take, given the choices before: all that fixed choices or bounds on prices leave."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fgnas.hardware.pipeline.pricing import Pricer, Specification
from fgnas.space import Decision, Indices, Space

Mask = Callable[[Indices, int], NDArray[np.bool_]]
"""(samples [n, decisions], column) -> [n, options] what may be chosen there; looks only at the columns before it."""

PARALLELISM = ("t_in", "t_out", "t_attn", "t_aggr", "t_act")


class Fixed:
    """Some decisions made beforehand, the others free."""

    def __init__(self, space: Space, options: dict[int, int]) -> None:
        self.sizes = [len(decision.choice.options) for decision in space.decisions]
        self.options = options

    def __call__(self, samples: Indices, column: int) -> NDArray[np.bool_]:
        """The fixed option alone, or all."""
        allowed = np.ones((len(samples), self.sizes[column]), bool)
        if column in self.options:
            allowed[:] = False
            allowed[:, self.options[column]] = True
        return allowed


class Bounds:
    """Options after which every constraint, taken by itself, can still hold.

    Latency is bounded from below by the fastest completion (most parallel, narrowest), area by the smallest one
    (least parallel, narrowest). Prices are monotone in these choices but for rounding, so a design right at a limit may
    be lost; and two bounds that hold apart may not hold together, so redrawing goes on behind the mask. What was
    asked once is remembered: a policy that learns comes back to the same choices, and learns from what it has drawn.
    """

    def __init__(self, space: Space, pricer: Pricer, specification: Specification, dsp: int) -> None:
        self.space, self.pricer, self.specification, self.dsp = space, pricer, specification, dsp
        self.fastest = np.array([_best(decision, fastest=True) for decision in space.decisions], np.int8)
        self.known: dict[bytes, NDArray[np.bool_]] = {}
        self.smallest = np.array([_best(decision, fastest=False) for decision in space.decisions], np.int8)

    def __call__(self, samples: Indices, column: int) -> NDArray[np.bool_]:
        """All options where none is allowed: redrawing throws such a sample away."""
        names = [row.tobytes() for row in samples[:, :column]]
        missing = {name: row for row, name in enumerate(names) if name not in self.known}
        if missing:
            found = self._allowed(samples[list(missing.values()), :column], column, samples.shape[1])
            self.known.update(zip(missing, found, strict=True))
        return np.stack([self.known[name] for name in names])

    def _allowed(self, prefixes: Indices, column: int, width: int) -> NDArray[np.bool_]:
        """[prefixes, options] the same for distinct beginnings of samples."""
        count = len(self.space.decisions[column].choice.options)
        tried = np.empty((len(prefixes) * count, width), np.int8)
        tried[:, :column] = np.repeat(prefixes, count, axis=0)
        tried[:, column] = np.tile(np.arange(count), len(prefixes))
        allowed = self._holds(tried, column, self.fastest, True) & self._holds(tried, column, self.smallest, False)
        allowed = allowed.reshape(len(prefixes), count)
        allowed[~allowed.any(axis=1)] = True
        return allowed

    def _holds(self, tried: Indices, column: int, rest: NDArray[np.int8], latency: bool) -> NDArray[np.bool_]:
        """[n] whether latency, or else everything but latency, holds with the later columns as in `rest`."""
        completed = tried.copy()
        for later in range(column + 1, len(rest)):
            completed[:, later] = np.where(self.space.offered(completed, later), rest[later], -1)
        prices = self.pricer.price(self.space.columns(completed), self.dsp)
        excess = prices.excess(self.specification)
        held = [values <= 1 for name, values in excess.items() if (name == "latency_cycles") == latency]
        return np.logical_and.reduce(held) if held else np.ones(len(tried), bool)


def _best(decision: Decision, fastest: bool) -> int:
    """The option of the fastest or of the smallest completion."""
    options = decision.choice.options
    if decision.choice.name in PARALLELISM:
        return int(np.argmax(options) if fastest else np.argmin(options))
    if decision.choice.kind == "architecture" and not isinstance(options[0], int):
        simplest = [name for name in ("constant", "add", "relu") if name in options]
        return options.index(simplest[0]) if simplest else 0
    return int(np.argmin(options))
