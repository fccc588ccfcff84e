"""The options of a search for networks with multiplier arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fgnas.options import ABOVE_ZERO, FLAG, NATURAL, PERCENTAGE, POSITIVE, TEXT, SearchOptions, option

SCORINGS = ("supernet", "training")
"""Ways to score a candidate: with weights of the supernet, or after its own training; the first is the default."""


@dataclass(frozen=True)
class Options(SearchOptions):
    """Options of `fgnas search --system g-cos`."""

    SHAPES = (*SearchOptions.SHAPES, "results", "paired")

    method: str = option("pool", "the searcher: pool, random, evolution, or any other", TEXT, "NAME")
    children: int = option(1500, "valid samples to evaluate", POSITIVE, "N")
    dataset: str = option(
        "digits", "digits, cora, citeseer, pubmed, esol, tox21, hiv, tu:NAME, or a .pt or .npz file", TEXT, "NAME|PATH"
    )
    split: str | None = option(
        None, "masks for a file without: per cent to train, validate and test, such as 60/20/20", TEXT, "T/V/T"
    )
    normalise: bool | None = option(None, "scale the rows of a file's features to sum to 1", FLAG)
    graphs: int | None = option(None, "graphs in a start, of data of many graphs; default: 64", POSITIVE, "N")
    space: str = option(
        "g-cos",
        "g-cos; table-ii: more operators; shared-tables: units share tables; gcn-16: one network, every array; "
        "or one-engine: every network, one array",
        TEXT, "NAME",
    )
    objectives: str = option("val,latency_cycles", "scores and costs to search for", TEXT, "NAMES")
    scoring: str = option(
        SCORINGS[0], "how candidates are scored: with weights of one supernet, or each by a training", TEXT, "NAME",
        SCORINGS,
    )
    updates: int = option(600, "updates of the supernet", POSITIVE, "N")
    paths: int = option(16, "uniform networks that share each update", POSITIVE, "N")
    epochs: int = option(200, "epochs of a training of its own", POSITIVE, "N")
    retrain_epochs: int = option(400, "epochs of each retraining", POSITIVE, "N")
    latency_ms: float | None = option(None, "latency of the whole graph", ABOVE_ZERO, "F")
    lut: int | None = option(None, "at most this many LUTs", NATURAL, "N")
    ff: int | None = option(None, "at most this many flip-flops", NATURAL, "N")
    dsp: int = option(100, "at most this many DSP slices", NATURAL, "N")
    bram36: int | None = option(None, "at most this many block RAMs of 36 Kbit", NATURAL, "N")
    beat_bits: int = option(512, "the widest memory port: 128, 256 or 512", POSITIVE, "N")
    results: int = option(1, "words of H that an array writes a cycle: 1, 2 or 4", POSITIVE, "N")
    paired: bool | None = option(
        None, "two products in a DSP slice of arrays beyond the budget, where numbers have 8 bits at most", FLAG
    )
    clock_mhz: float = option(100.0, "clock of the kernel", ABOVE_ZERO, "F")
    family: str = option("xc7", "family of devices: xc7 or xcup", TEXT, "NAME", ("xc7", "xcup"))
    guard_band: float = option(
        0.0, "per cent of the limits on LUTs and FFs to leave free for the error of their model", PERCENTAGE, "PERCENT"
    )

    @classmethod
    def resolved(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Options with one reference to the data."""
        from fgnas.tasks.pooled import referenced

        return referenced(super().resolved(given), cls.dataset)
