"""The search spaces of FGNAS designs, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fgnas.design import Design, Layer
from fgnas.errors import UserError
from fgnas.hardware.wire import BEAT_BITS
from fgnas.space import Choice, Rows, Space

UNLIMITED_DSP = 1 << 20
"""The DSP budget of a design that no specification limits."""
FRACTION_BITS = (0, 1, 2, 3, 4, 5, 6)

TABLE_II = (
    Choice("attention", ("constant", "gat", "gcn"), "architecture", fastest="constant", smallest="constant"),
    Choice("aggregation", ("add", "max", "mean"), "architecture", fastest="add", smallest="add"),
    Choice("k", (1, 2, 4, 8, 16), "architecture", label="heads"),
    Choice("d", (4, 8, 12, 16, 32, 64), "architecture", where="hidden", label="features"),
    Choice(
        "activation", ("relu", "tanh", "sigmoid", "elu"), "architecture", where="hidden", fastest="relu",
        smallest="relu",
    ),
    Choice("t_in", (1, 2, 3, 4, 5), "hardware", fastest="most", label="lanes in"),
    Choice("t_out", (1, 2, 3, 4, 5), "hardware", fastest="most", label="lanes out"),
    Choice(
        "t_attn", (1, 2, 4, 8), "hardware", only_if=("attention", "gat"), fastest="most", label="attention lanes"
    ),
    Choice("t_aggr", (1, 2, 4, 8), "hardware", fastest="most", label="aggregation lanes"),
    Choice("t_act", (1, 2, 3, 4, 5), "hardware", where="hidden", fastest="most", label="activation lanes"),
    Choice("ai", (1, 2, 3), "precision", label="feature integer bits"),
    Choice("af", FRACTION_BITS, "precision", label="feature fraction bits"),
    Choice("wi", (1, 2, 3), "precision", label="weight integer bits"),
    Choice("wf", FRACTION_BITS, "precision", label="weight fraction bits"),
)  # fmt: skip
"""The FGNAS paper's Table II; attn, aggr and act are spelt out."""


@dataclass(frozen=True)
class DesignSpace(Space):
    """Spaces whose candidates are designs.

    Attributes:
        dsp: the DSP budget of each design's multipliers.
        beat_bits: width of the memory port of each design's array; a pipeline's is always the default.
        paired: whether arrays beyond the budget have two products in a DSP slice.
    """

    dsp: int = UNLIMITED_DSP
    beat_bits: int = BEAT_BITS
    paired: bool = False

    def candidate(self, row: NDArray[np.int16]) -> Design:
        """The design of one row."""
        return self.design(row, self.dsp)

    def design(self, row: NDArray[np.int16], dsp: int) -> Design:
        """The design of one row with another DSP budget."""
        layers: list[dict[str, Any]] = [dict.fromkeys(Layer.model_fields) for _ in range(self.layers)]
        for index, decision in zip(row.tolist(), self.decisions, strict=True):
            if index >= 0 and decision.position is not None:
                layers[decision.position][decision.choice] = decision.options[index]
        return Design(schema=1, layers=tuple(Layer(**layer) for layer in layers), dsp=dsp)

    def widest(self, rows: Rows) -> int:
        """The largest k * d of a hidden layer among the rows; of a network with one layer, its k."""
        columns = self.columns(rows)
        widths = [k * d for k, d in zip(columns["k"][:-1], columns["d"][:-1], strict=True)]
        return int(np.max(np.stack(widths or [columns["k"][0]])))


def fgnas_space(layers: int = 2, dsp: int = UNLIMITED_DSP) -> DesignSpace:
    """The paper's space; the paper keeps it at two layers."""
    return DesignSpace("fgnas", layers, TABLE_II, dsp)


SPACES: dict[str, Callable[[int, int], DesignSpace]] = {"fgnas": fgnas_space}
"""Name -> function of the number of layers and the DSP budget."""


def find_space(name: str, layers: int = 2, dsp: int = UNLIMITED_DSP) -> DesignSpace:
    """A space by name, or UserError."""
    if name not in SPACES:
        raise UserError(f"unknown space {name!r}; known: {', '.join(sorted(SPACES))}")
    return SPACES[name](layers, dsp)
