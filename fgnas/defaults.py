"""What holds where nothing else is said."""

from pathlib import Path
from typing import Any

RUNS = Path("runs")
"""Where searches are kept."""
PROJECTS = Path("hls")
"""Where generated projects go."""

DEFAULTS: dict[str, Any] = {
    "dataset": "digits", "method": "reinforce", "controller": "warm",
    "latency_ms": 2.0, "lut": 100_000, "ff": 100_000, "dsp": 100, "clock_mhz": 100.0, "bram36": None, "family": "xc7",
    "guard_band": 0.0, "part": None,
    "children": 500, "seed": 0, "device": "cpu",
}  # fmt: skip
"""Of a search; a few minutes on two cores."""
SPECIFICATION = ("latency_ms", "lut", "ff", "dsp", "clock_mhz", "bram36", "family", "guard_band")
