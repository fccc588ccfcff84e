"""Mappings of a network's steps to a platform's units, for Python."""

from __future__ import annotations

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
