"""The options of `fgnas map`, and the names behind them: all that the command line needs before it maps anything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fgnas.options import ABOVE_ZERO, FLAG, NATURAL, POSITIVE, TEXT, option

EXACT = "exact"
BASELINES = ("nsga2", "random")
"""Methods that are compared with the exact one."""
MAPPINGS = "mappings.json"
"""The file of a run that maps its candidates: the front over all their mappings."""
SHIPPED = Path(__file__).with_name("platforms")


def shipped() -> list[str]:
    """The names of the platforms that the package contains."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


@dataclass(frozen=True)
class MapOptions:
    """Options of a mapping, for the command line, Python and the docs."""

    granularity: str = option("block", "what is mapped as one: block or layer", TEXT, "NAME", ("block", "layer"))
    setting: str | None = option(
        None, "one of the platform's settings, such as clocks; default: all of them", TEXT, "NAME"
    )
    latency_ms: float | None = option(None, "limit on latency", ABOVE_ZERO, "N")
    energy_mj: float | None = option(None, "limit on energy", ABOVE_ZERO, "N")
    power_w: float | None = option(None, "limit on mean power: energy over latency", ABOVE_ZERO, "N")
    transitions: int | None = option(None, "limit on changes of unit", NATURAL, "N")
    shortcuts: bool = option(False, "charge tensors that a later step reads again on another unit", FLAG)
    method: str = option(EXACT, f"{EXACT}, or a baseline: {', '.join(BASELINES)}", TEXT, "NAME", (EXACT, *BASELINES))
    evaluations: int = option(5000, "mappings that a baseline evaluates, for each setting", POSITIVE, "N")
    seed: int = option(0, "seed of a baseline", NATURAL, "N")
