"""Measure networks on this processor, round by round, and fit predictors: what `fgnas measure` does.

Every block is one line of the record, so that a killed measurement continues after the last one. Each round has an
order of its own, fixed by the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
import torch
from torch import Tensor

from fgnas import progress
from fgnas.errors import UserError
from fgnas.hardware.measured import memory, predictors, timing
from fgnas.hardware.measured.device import LATENCY, MEMORY, REFERENCE, Device, DeviceFolder, Verdict, bases
from fgnas.hardware.measured.features import Floats
from fgnas.hardware.measured.judge import Judged, judged, noise_floor
from fgnas.hardware.measured.predictors import PREDICTORS, Predictor
from fgnas.hardware.measured.record import Line, Measured
from fgnas.hardware.measured.timing import Block, Work
from fgnas.networks.points.baselines import baseline
from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import PointNetwork
from fgnas.networks.points.training import graphs_of
from fgnas.networks.points.work import Cloud
from fgnas.tasks.points import GraphSet, load_graphs

FEWEST = 20
"""Networks from which predictors can be fitted."""
WEIGHT_SEED = 0


@dataclass(frozen=True, eq=False)
class One:
    """One cloud, ready for a network."""

    x: Tensor
    batch: Batch
    cloud: Cloud

    def work(self, network: PointNetwork) -> Work:
        """A run of a network with random weights."""
        torch.manual_seed(WEIGHT_SEED)
        model = PointModel(network, self.cloud.width, self.cloud.classes).eval()
        return lambda: model(self.x, self.batch)


def first_cloud(data: GraphSet, cloud: Cloud) -> One:
    """The first validation cloud of the data."""
    x, batch, _ = graphs_of(data, np.flatnonzero(data.val)[:1])
    return One(x, batch, cloud)


def measure(
    folder: DeviceFolder, data: GraphSet, start: DeviceFolder | None = None, block: Block | None = None
) -> None:
    """Measure what is missing, fit the predictors, judge them. `start`: a device whose predictors are continued."""
    device, networks = folder.device(), folder.networks()
    with folder.record().open("a", encoding="utf-8") as record:
        _time(folder, device, networks, first_cloud(data, device.cloud), record, block or Block())
        if device.memory:
            _weigh(folder, device, networks, record)
    _fit(folder, device, folder.measured(), start)


def _time(
    folder: DeviceFolder, device: Device, networks: Sequence[PointNetwork], one: One, record: TextIO, block: Block
) -> None:
    done = {(line.round, line.place) for line in folder.lines() if line.round is not None}
    plan = [pair for pair in ordered(device) if pair not in done]
    reference = one.work(baseline(REFERENCE, device.tail))
    makes = [_make(one, networks[place]) for _, place in plan]
    total, nearby = device.networks * device.rounds, timing.nearby_of(device.rounds)
    with progress.counted("time networks", total, "blocks") as bar, timing.quiet(device.threads):
        for number, ((turn, place), found) in enumerate(
            zip(plan, timing.ratios(makes, reference, block, nearby), strict=True), len(done) + 1
        ):
            _append(record, Line(place, turn, found.ratio, found.nanoseconds / 1e6))
            bar.show(number)


def ordered(device: Device) -> list[tuple[int, int]]:
    """(round, place) of every block, in the order of measuring."""
    orders = [np.random.default_rng([device.seed, turn]).permutation(device.networks) for turn in range(device.rounds)]
    return [(turn, int(place)) for turn, order in enumerate(orders) for place in order]


def _make(one: One, network: PointNetwork) -> Callable[[], Work]:
    return lambda: one.work(network)


def _weigh(folder: DeviceFolder, device: Device, networks: Sequence[PointNetwork], record: TextIO) -> None:
    done = {line.place for line in folder.lines() if line.memory is not None}
    plan = [place for place in range(device.networks) if place not in done]
    with progress.counted("measure memory", device.networks, "networks") as bar, memory.fresh() as call:
        for number, place in enumerate(plan, len(done) + 1):
            _append(record, Line(place, memory=call(weigh, device.dataset, device.cloud, networks[place])))
            bar.show(number)


def weigh(dataset: str, cloud: Cloud, network: PointNetwork) -> int:
    """Bytes that a run of a network needs, in forks of this process."""
    with timing.quiet(1):
        return memory.forked(first_cloud(load_graphs(dataset), cloud).work(network))


def _append(record: TextIO, line: Line) -> None:
    record.write(line.to_json() + "\n")
    record.flush()


def _fit(folder: DeviceFolder, device: Device, measured: Sequence[Measured], start: DeviceFolder | None) -> None:
    """Fit every predictor to what was measured, and judge them on networks that they have not seen."""
    networks = [one.network for one in measured]
    labels = {LATENCY: np.array([one.ratio for one in measured])}
    if device.memory:
        labels[MEMORY] = np.array([float(one.memory or 0) for one in measured])
    fitted, validation, held_out = dict[str, dict[str, Predictor]](), {}, {}
    with progress.counted("fit predictors", len(labels) * len(PREDICTORS), "predictors") as bar:
        for what, values in labels.items():
            begun = {name: start.predictor(what, name) for name in PREDICTORS} if start is not None else {}
            base = bases(what, networks, device.cloud)
            fitted[what] = fit(networks, values / base, device, begun, _counting(bar, len(fitted) * len(PREDICTORS)))
            validation[what], held_out[what] = _judge(networks, values, base, fitted[what])
    chosen = {what: min(found, key=lambda name: found[name].mape) for what, found in validation.items()}
    reference_ms = float(np.median([one.milliseconds / one.ratio for one in measured]))
    held = measured[-len(predictors.split(len(measured))[2]) :]
    verdict = Verdict(reference_ms, chosen, validation, held_out, noise_floor(held), _estimates(held, device))
    folder.finish(verdict, fitted)


def _counting(bar: progress.Count, before: int) -> Callable[[int], None]:
    return lambda done: bar.show(before + done)


def fit(
    networks: Sequence[PointNetwork], values: Floats, device: Device, begun: Mapping[str, Predictor],
    on_fitted: Callable[[int], None] = lambda done: None,
) -> dict[str, Predictor]:  # fmt: skip
    """Every predictor, fitted to the first seven tenths of the networks, by name."""
    places = predictors.split(len(networks))[0]
    found = dict[str, Predictor]()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for name in PREDICTORS:
            mine = [networks[place] for place in places]
            found[name] = predictors.find(name).fit(mine, values[places], device.cloud, device.seed, begun.get(name))
            on_fitted(len(found))
    finally:
        torch.set_num_threads(before)
    return found


def _judge(
    networks: Sequence[PointNetwork], values: Floats, base: Floats, fitted: Mapping[str, Predictor]
) -> tuple[dict[str, Judged], dict[str, Judged]]:
    """The errors of each predictor, relative to `base`, on the networks that choose, and on those held out."""
    _, choosing, held = predictors.split(len(networks))
    return tuple(  # type: ignore[return-value]
        {name: judged(base[places] * one.values([networks[place] for place in places]), values[places])
         for name, one in fitted.items()}
        for places in (choosing, held)
    )  # fmt: skip


def _estimates(held: Sequence[Measured], device: Device) -> dict[str, Judged]:
    """The errors of the estimates of memory, where it was measured."""
    if not device.memory:
        return {}
    values = np.array([float(one.memory or 0) for one in held])
    return {
        name: judged(np.array([float(estimate(one.network, device.cloud)) for one in held]), values)
        for name, estimate in memory.ESTIMATES.items()
    }


def time_now(
    network: PointNetwork, device: Device, data: GraphSet, rounds: int, block: Block | None = None
) -> tuple[float, float]:
    """The ratio of a network to the reference on this processor now, and its milliseconds: medians over rounds."""
    ratios, milliseconds = zip(*times_now([network] * rounds, device, data, block), strict=True)
    return float(np.median(ratios)), float(np.median(milliseconds))


def times_now(
    networks: Sequence[PointNetwork], device: Device, data: GraphSet, block: Block | None = None
) -> list[tuple[float, float]]:
    """The ratios of networks to the reference on this processor now, and their milliseconds: a block of each."""
    one = first_cloud(data, device.cloud)
    reference = one.work(baseline(REFERENCE, device.tail))
    with timing.quiet(device.threads):
        found = timing.ratios([_make(one, network) for network in networks], reference, block or Block())
        return [(each.ratio, each.nanoseconds / 1e6) for each in found]


def check_enough(device: Device) -> None:
    """Raise UserError where predictors cannot be fitted to so few networks."""
    if device.networks < FEWEST:
        raise UserError(f"{device.networks} networks are too few to fit a predictor: give --networks {FEWEST} or more")


def check_data(folder: Path, device: Device, data: GraphSet, tail: object) -> None:
    """Raise UserError where a device was measured for other data or another tail."""
    if device.fingerprint != data.fingerprint:
        fix = "measure another with --dataset"
        raise UserError(f"{folder} was measured for {device.dataset}, and this is {data.name}: {fix}")
    if device.tail != tail:
        raise UserError(f"{folder} was measured with another --tail: give the one of `fgnas measure`")
