"""Measure this processor for networks of the space: the job of `fgnas measure`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fgnas.costs import plain
from fgnas.engine.run import cpu_name, versions
from fgnas.errors import UserError
from fgnas.hardware.measured.device import Device, DeviceFolder, differences
from fgnas.hardware.measured.measure import check_data, check_enough, measure, time_now
from fgnas.networks.points.operations import LARGEST_WIDTH, TAILS, PointNetwork, Tail
from fgnas.networks.points.work import multiplications, widest
from fgnas.options import made
from fgnas.systems.hgnas.composition import cloud_of, tail_of
from fgnas.systems.hgnas.options import MeasureOptions
from fgnas.systems.hgnas.space import OPERATIONS, PointSpace, point_space
from fgnas.systems.hgnas.target import MeasuredTarget
from fgnas.tasks.points import GraphSet, load_graphs

DRAWN_AT_ONCE = 500
ROUNDS_NOW = 5
"""How often a network is timed when its price is measured, too."""
FRUITLESS = 20
"""Draws without a new network before there are no more."""


def measure_device(
    given: dict[str, Any], out: Path, start: Path | None = None, resume: bool = False
) -> DeviceFolder:
    """Measure this processor into a folder, from the start or on from where it stopped.

    `given`: options by name; those that are not given have their defaults, or the values that the folder began with.
    Raises UserError for a folder that holds a device already, or to continue one that was measured otherwise.
    """
    folder = DeviceFolder(out)
    if folder.begun and not resume:
        raise UserError(f"{out} holds a device already: continue it with --resume, or give another --out")
    options = made(MeasureOptions, _begun_with(folder.device()) | given if resume else given)
    data = load_graphs(options.dataset)
    asked = device_of(options, data)
    before = None if start is None else DeviceFolder(start)
    if before is not None:
        before.verdict()
    if resume:
        if found := differences(folder.device(), asked):
            raise UserError(f"cannot continue {out}: {found[0]}; measure another with another --out")
    else:
        check_enough(asked)
        space = point_space(asked.cloud, asked.tail)
        folder.begin(asked, distinct(space, asked.networks, options.seed))
    measure(folder, data, before)
    return folder


def _begun_with(device: Device) -> dict[str, Any]:
    """The options that a device was begun with."""
    names = ("dataset", "threads", "networks", "rounds", "seed")
    tail = next(name for name, one in TAILS.items() if one == device.tail)
    return {name: getattr(device, name) for name in names} | {"tail": tail, "memory": device.memory or None}


def device_of(options: MeasureOptions, data: GraphSet) -> Device:
    """This processor, for networks on these data."""
    known = {name: value for name, value in versions().items() if name in ("python", "torch")}
    return Device(
        cpu_name(), options.threads, known, data.name, data.fingerprint, cloud_of(data), tail_of(options.tail, data),
        options.seed, options.networks, options.rounds, bool(options.memory),
    )  # fmt: skip


def distinct(space: PointSpace, count: int, seed: int) -> list[PointNetwork]:
    """Networks of uniform rows, none twice, in the order of drawing. Raises UserError where the space has too few."""
    rng, found, fruitless = np.random.default_rng(seed), dict[str, PointNetwork](), 0
    while len(found) < count and fruitless < FRUITLESS:
        before = len(found)
        for row in space.draw(DRAWN_AT_ONCE, rng):
            network = space.candidate(row).network
            if widest(network.operations, space.cloud.width) <= LARGEST_WIDTH:
                found.setdefault(network.hash, network)
        fruitless = 0 if len(found) > before else fruitless + 1
    if len(found) < count:
        raise UserError(f"the space has only {len(found)} networks within its limits: give a smaller --networks")
    return list(found.values())[:count]


def data_here(folder: DeviceFolder, tail: Tail, fix: str) -> GraphSet:
    """A device's data, to time networks with this tail on it now. Raises UserError, with a fix, on another processor,
    and where data or tail are others."""
    device = folder.device()
    if device.processor != cpu_name():
        raise UserError(f"{folder.path} is {device.processor}, and this is {cpu_name()}: {fix}")
    data = load_graphs(device.dataset)
    check_data(folder.path, device, data, tail)
    return data


def priced(network: PointNetwork, folder: DeviceFolder, measured: bool) -> dict[str, Any]:
    """The costs of a network on a device: predicted and, with `measured`, also timed on this processor.

    Raises UserError to time on another processor than the device's, or without the device's data.
    """
    device = folder.device()
    target = MeasuredTarget(point_space(device.cloud, device.tail), folder)
    found: dict[str, Any] = {"network": network.hash, "device": str(folder.path), "predictor": target.latency.NAME}
    # Predictors know the operations of the space; those of some baselines are others.
    if all(one.KIND in OPERATIONS for one in network.operations):
        found |= plain(target.of([network]), 0)
    elif not measured:
        raise UserError("no predictor knows this network's operations: time it with --measure")
    else:
        found["products"] = multiplications(network, device.cloud)
    if measured:
        data = data_here(folder, device.tail, "leave out --measure")
        share, milliseconds = time_now(network, device, data, ROUNDS_NOW)
        found |= {"measured_share": share, "measured_ms": milliseconds}
    return found
