"""Measured devices: every predictor against how many networks it learns from, other devices, and memory.

Devices are measured into build/devices, or continued there; `fgnas measure` makes the same folders. Resumable.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from common import Record, interval
from memory import PACKAGE, digest
from pages import read_record, render, write_page

import fgnas
from fgnas.hardware.measured.device import JUDGED, LATENCY, DeviceFolder
from fgnas.hardware.measured.features import Floats
from fgnas.hardware.measured.judge import NOISE_FLOOR, judged
from fgnas.hardware.measured.predictors import PREDICTORS, Predictor, find, split
from fgnas.hardware.measured.predictors.ours import Ours
from fgnas.networks.points.operations import PointNetwork
from fgnas.networks.points.work import Cloud

NAME = "predictors"
FOLDER = PACKAGE.parent / "build" / "devices"
DEVICES: dict[str, dict[str, Any]] = {
    "one-thread": {},
    "two-threads": {"threads": 2},
    "shapes-256": {"dataset": "shapes", "networks": 1000},
    "shapes-1024": {"dataset": "shapes-1024", "networks": 800, "memory": True},
    "quick": {"networks": 500, "rounds": 1},
}
"""Options of `fgnas measure`."""
FIRST, SECOND, MIDDLE, LARGE, QUICK = DEVICES
SIZES = (100, 200, 500, 1000, 2000)
FEW = 100
SEEDS = 5
PARTS = ("devices", "sizes", "continued")
CODE = ("hardware/measured", "networks/points")


def device(name: str) -> DeviceFolder:
    """A device, measured as far as it is not."""
    folder = DeviceFolder(FOLDER / name)
    if not (folder.path / JUDGED).is_file():
        given = {} if folder.begun else DEVICES[name]
        fgnas.measure(folder.path, resume=folder.begun, **given)
    return folder


def described(name: str) -> dict[str, Any]:
    """The description of a device, and the verdict on its predictors."""
    folder = device(name)
    return {"device": folder.device().to_dict(), **folder.verdict().to_dict()}


class Samples(NamedTuple):
    """Networks of a device to learn from and those held out, each with their ratios; and their clouds."""

    networks: list[PointNetwork]
    values: Floats
    unseen: list[PointNetwork]
    wanted: Floats
    cloud: Cloud


def samples(name: str, size: int, seed: int) -> Samples:
    """`size` random networks of a device that are not held out, and those that are."""
    folder = device(name)
    measured = folder.measured()
    *known, held = split(len(measured))
    places = np.random.default_rng([seed, size]).permutation(np.concatenate(known))[:size]
    values, networks = np.array([one.ratio for one in measured]), [one.network for one in measured]
    mine, unseen = [networks[place] for place in places], [networks[place] for place in held]
    return Samples(mine, values[places], unseen, values[held], folder.device().cloud)


def learned_from(name: str, size: int, seed: int) -> dict[str, Any]:
    """Errors of every predictor on the networks held out, from `size` random others."""
    given = samples(name, size, seed)
    return {kind: error(find(kind), given, seed) for kind in PREDICTORS}


def continued(seed: int) -> dict[str, Any]:
    """Errors on the second device from few of its networks: continued from the first device's predictor, and not."""
    given, start = samples(SECOND, FEW, seed), device(FIRST).predictor(LATENCY, Ours.NAME)
    return {name: error(Ours, given, seed, before) for name, before in (("continued", start), ("from nothing", None))}


def error(kind: type[Predictor], given: Samples, seed: int, start: Predictor | None = None) -> dict[str, Any]:
    """Errors of a predictor on the networks held out."""
    fitted = kind.fit(given.networks, given.values, given.cloud, seed, start)
    return asdict(judged(fitted.values(given.unseen), given.wanted))


def over(found: Sequence[dict[str, Any]], name: str, what: str = "mape") -> str:
    """Mean and 95 % interval of a predictor's error, or of its share within 10 %, over the seeds, in per cent."""
    return interval([one[name]["mape"] if what == "mape" else one[name]["within"][2] for one in found])


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    def starting(prefix: str) -> list[dict[str, Any]]:
        return [value for key, value in record.items() if key.startswith(prefix)]

    return render(
        f"{NAME}.md", devices={name: record[f"device {name}"] for name in DEVICES if f"device {name}" in record},
        sizes={size: found for size in SIZES if (found := starting(f"from {FIRST} {size:04} "))},
        continued=starting("continued "), predictors=tuple(PREDICTORS), over=over, few=FEW, first=FIRST, second=SECOND,
        noise_floor=NOISE_FLOOR,
    )  # fmt: skip


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--rows", default=",".join(DEVICES), help="devices; default: all")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="default: %(default)s")
    options = parser.parse_args()
    record, parts = Record(NAME, digest(CODE)), options.only.split(",")
    for name in options.rows.split(",") if "devices" in parts else ():
        record.fill(f"device {name}", lambda name=name: described(name))  # type: ignore[misc]
    for seed in range(options.seeds):
        for size in SIZES if "sizes" in parts else ():
            record.fill(f"from {FIRST} {size:04} {seed}", lambda s=size, t=seed: learned_from(FIRST, s, t))  # type: ignore[misc]
            write_page(f"{NAME}.md", page(record.results))
        if "continued" in parts:
            record.fill(f"continued {seed}", lambda t=seed: continued(t))  # type: ignore[misc]
    write_page(f"{NAME}.md", page(read_record(NAME)))


if __name__ == "__main__":
    main()
