"""Mappings of a network's steps to a platform's units, and platforms of this machine, for Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fgnas.mapping.options import MapOptions
from fgnas.mapping.platform import find_platform
from fgnas.mapping.study import Answer, solve


def map_network(platform: str, model: str, **options: Any) -> Answer:
    """The exact front of mappings of a platform's model.

    `platform` names a shipped platform or a .toml file. Options are those of `fgnas map`, with underscores:
    latency_ms, energy_mj, power_w, transitions, setting, granularity, shortcuts, method, evaluations, seed.
    Raises UserError for an unknown or wrong platform, model or setting.
    """
    return solve(find_platform(platform), model, MapOptions(**options))


def measure_platform(
    out: str | os.PathLike[str], dataset: str | None = None, *, runs: int = 200, watts: float | None = None
) -> dict[str, int]:
    """Time every step of a vision GNN for these images on this processor, and write a platform to the .toml file `out`.

    Without a dataset the images are those of a search. Returns the nanoseconds of each step: the median of `runs`, on
    one image, in one thread. `watts` is the processor's power while it computes; without it the platform states no
    energy.
    """
    from fgnas.networks.vision.vig import Backbone
    from fgnas.systems.magnas.measure import write_platform
    from fgnas.systems.magnas.options import Options
    from fgnas.tasks.images import load_images

    data = load_images(dataset or Options.dataset)
    about = f"this machine's processor, for vision GNNs on {data.label}"
    return write_platform(Backbone.of(data), about, Path(out), runs, watts)
