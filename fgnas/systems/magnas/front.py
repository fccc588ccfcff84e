"""Result of a search: the front of accuracy, latency and energy over all scored subnets and all their mappings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from fgnas import pareto
from fgnas.engine.trial import Trial
from fgnas.mapping.study import Answer, Point
from fgnas.networks.vision.subnet import Subnet
from fgnas.systems.magnas.target import MappedTarget, Mapping


def front_of_mappings(target: MappedTarget, trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """The members as plain JSON values, the most accurate first, of equals the fastest.

    Each has its subnet, the setting, its validation accuracy with the supernet's floats, latency and energy, the unit
    of every step, and as `chain` the unit and the costs of all that is mapped as one. A mapping that breaks a limit is
    none.
    """
    scored = {trial.design_hash: trial for trial in reversed(trials)}
    found, objectives = [], []
    for trial in scored.values():
        subnet = Subnet.from_dict(trial.design)
        answer = target.mapped(subnet)
        for point in answer.points:
            found.append((trial, answer, point, target.mapping_of(subnet, answer, point)))
            objectives.append((trial.scores["val"], -point.time, -point.energy))
    if not found:
        return []
    order = np.lexsort(np.array(objectives, np.float64).T[::-1] * -1)
    members = pareto.front(np.array(objectives, np.float64)[order])
    return [_plain(*found[place]) for place in order[members].tolist()]


def _plain(trial: Trial, answer: Answer, point: Point, mapping: Mapping) -> dict[str, Any]:
    chain = answer.chains[point.setting]
    return {
        "design": trial.design, "design_hash": trial.design_hash, "val": trial.scores["val"], "setting": point.setting,
        "latency_ms": answer.milliseconds(point.time), "energy_mj": answer.millijoules(point.energy),
        "mapping": asdict(mapping),
        "chain": [
            {
                "step": step, "unit": chain.units[unit], "latency_ms": answer.milliseconds(time),
                "energy_mj": answer.millijoules(energy),
            }
            for step, unit, time, energy in chain.spans(point.mapping)
        ],
    }  # fmt: skip
