"""Networks cut between a processor and an array: the first operations here, the rest and the logits there.

A network can be cut behind an operation where nothing but the features crosses: no graph, no features before the last
change, no count of random graphs. The rest is a network of its own, whose clouds are the features at the cut.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fgnas.backends.points import write_project
from fgnas.errors import UserError
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.array.encoded import image_beats
from fgnas.hardware.array.engine import Engine
from fgnas.hardware.array.resources import resources_of
from fgnas.hardware.measured import timing
from fgnas.hardware.measured.device import REFERENCE, Device, DeviceFolder
from fgnas.hardware.measured.measure import first_cloud
from fgnas.hardware.measured.timing import Block, Work
from fgnas.hardware.specification import RESOURCES
from fgnas.networks.points.baselines import baseline
from fgnas.networks.points.canonical import changes
from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import Aggregate, Connect, EdgeConv, Join, Operation, PointNetwork, Sample, widths
from fgnas.networks.points.training import graphs_of
from fgnas.networks.points.work import Cloud
from fgnas.systems.hgnas.arrays import ArraySize, OnEngine, on_engine
from fgnas.systems.hgnas.delivery import Delivered, on_array
from fgnas.systems.hgnas.measuring import data_here
from fgnas.tasks.points import GraphSet

ROUNDS = 5
"""How often each part of a network is timed."""
READERS = (Aggregate, EdgeConv)
"""Operations that read a graph."""


def places(operations: Sequence[Operation]) -> tuple[int, ...]:
    """How many operations a processor can work before an array takes the rest; 0 is among them."""
    return tuple(place for place in range(len(operations) + 1) if place == 0 or _crosses_nothing(operations, place))


def _crosses_nothing(operations: Sequence[Operation], place: int) -> bool:
    before, behind = operations[:place], operations[place:]
    first = next((one for one in behind if changes(one)), None)
    if isinstance(first, Connect):
        return False  # it adds the features before the last change
    reader = next((at for at, one in enumerate(behind) if isinstance(one, READERS)), None)
    sample = next((at for at, one in enumerate(behind) if isinstance(one, Sample)), None)
    if reader is not None and (sample is None or reader < sample):
        return False  # it reads a graph of earlier features
    drawn = [any(one == Sample("random") for one in part) for part in (before, behind)]
    joined = any(isinstance(one, Join) for one in behind) and any(isinstance(one, EdgeConv) for one in before)
    return not all(drawn) and not joined


def rest(network: PointNetwork, place: int) -> PointNetwork:
    """The network without its first `place` operations."""
    return PointNetwork(network.operations[place:], network.tail)


def cloud_behind(network: PointNetwork, cloud: Cloud, place: int) -> Cloud:
    """The clouds behind so many operations: as many points, of other features."""
    return replace(cloud, width=[cloud.width, *widths(network.operations, cloud.width)][place])


def first_part(model: PointModel, place: int) -> PointModel:
    """A model whose `rows` are those behind so many of the operations, with the same modules."""
    part = copy.copy(model)  # which shares its modules
    part.network = PointNetwork(model.network.operations[:place], model.network.tail)
    return part


def last_part(model: PointModel, place: int, cloud: Cloud) -> PointModel:
    """The model of what is left behind so many operations, with the same weights; `cloud`: that at the cut."""
    part = PointModel(rest(model.network, place), cloud.width, cloud.classes)
    part.layers = torch.nn.ModuleDict({
        str(int(at) - place): layer for at, layer in model.layers.items() if int(at) >= place
    })  # fmt: skip
    part.tail = model.tail
    return part.eval()


def behind(delivered: Delivered, data: GraphSet, place: int) -> tuple[Delivered, GraphSet]:
    """A trained network without its first `place` operations, and the data with the features that these compute.

    Raises UserError for a place where the network cannot be cut.
    """
    network = delivered.network
    if place not in (known := places(network.operations)):
        raise UserError(f"{delivered.label} cannot be cut behind {place} operations: more than features would cross; "
                        f"it can be behind {', '.join(map(str, known))}")  # fmt: skip
    model = delivered.model(data)
    cloud = Cloud(data.points or 0, data.width_in, data.neighbours, data.classes)
    part = last_part(model, place, cloud_behind(network, cloud, place))
    name = data.name if place == 0 else f"{data.label}-behind-{place}"
    given = replace(data, name=name, features=rows_before(model, data, place))
    label = delivered.label if place == 0 else f"{delivered.label}-behind-{place}"
    return replace(delivered, network=part.network, weights=part.state_dict(), dataset=given.name,
                   fingerprint=given.fingerprint, label=label), given  # fmt: skip


def rows_before(model: PointModel, data: GraphSet, place: int) -> NDArray[np.float32]:
    """[n, C] the features of all points behind so many operations, in floats."""
    part, found = first_part(model, place), list[NDArray[np.float32]]()
    with torch.no_grad():
        for graph in range(len(data.labels)):  # one cloud at a time: as a processor in front of an array works
            x, batch, _ = graphs_of(data, np.array([graph]))
            found.append(part.rows(x, batch).numpy())
    return np.concatenate(found).astype(np.float32)


@dataclass(frozen=True)
class Host:
    """Time of the processor around a run of the array, in microseconds: assumed, as on a mapped platform."""

    start_us: float
    interrupt_us: float


@dataclass(frozen=True)
class Way:
    """A network on processor and array, one cloud; microseconds.

    Attributes:
        operations: worked by the processor; None: all of them and the tail, without an array.
        processor: the operations before the cut, in floats.
        encode: making codes and beats of the features at the cut.
        handover: start and interrupt.
        array: cycles, at the clock.
        cycles: of the array, exact.
        resources: of the array.
    """

    operations: int | None
    processor: float
    encode: float
    handover: float
    array: float
    cycles: int
    resources: dict[str, float]

    @property
    def total(self) -> float:
        """Microseconds from the points to the logits."""
        return self.processor + self.encode + self.handover + self.array

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self) | {"total": self.total}


@dataclass(frozen=True)
class Ways:
    """Every way to work a network on processor and array, by where it is cut.

    Attributes:
        refused: places whose rest no array of the size holds, with the reason.
    """

    ways: tuple[Way, ...]
    refused: dict[int, str]

    @property
    def best(self) -> Way:
        """The fastest; of equal ones the one with the most on the array."""
        return min(self.ways, key=lambda way: way.total)


def ways(delivered: Delivered, folder: DeviceFolder, host: Host) -> Ways:
    """Time every first part of a network on this processor, and price every rest: exact cycles of the smallest array.

    Raises UserError on another processor than the device's, and without the device's data.
    """
    network, specification, device = delivered.network, delivered.specification, folder.device()
    data = data_here(folder, network.tail, "parts are timed here, so measure this one")
    arrays, refused = _arrays(network, device.cloud, delivered.size)
    spent = _timed(network, device, data, arrays, FixedPoint(delivered.size.bits, delivered.size.bits // 2))
    found = []
    for place, (cycles, engine) in arrays.items():
        costs = {name: float(value[0]) for name, value in resources_of([engine], specification.family).items()}
        found.append(Way(place, spent[place], spent[f"encode {place}"], host.start_us + host.interrupt_us,
                         cycles / specification.clock_mhz, cycles, costs))  # fmt: skip
    alone = Way(None, spent[None], 0.0, 0.0, 0.0, 0, dict.fromkeys(RESOURCES, 0.0))
    return Ways((*found, alone), refused)


def write(delivered: Delivered, way: Way, directory: Path) -> list[Path]:
    """Write the project of what the array works; its driver takes the features at the cut. A network without weights is
    trained first. Raises UserError for a way without an array."""
    if way.operations is None:
        raise UserError("the processor alone is fastest: there is no array to write a project of; leave out --out")
    ready = delivered.trained()
    part, given = behind(ready, ready.data(), way.operations)
    return write_project(on_array(part, given).project(), directory, part.specification)


def _arrays(
    network: PointNetwork, cloud: Cloud, size: ArraySize
) -> tuple[dict[int, OnEngine], dict[int, str]]:
    """For each place of a cut, the smallest array of a size that runs the operations after it, or the reason why none
    does."""
    found, refused = dict[int, OnEngine](), dict[int, str]()
    for place in places(network.operations):
        try:
            found[place] = on_engine(rest(network, place), cloud_behind(network, cloud, place), size)
        except UserError as error:
            refused[place] = str(error)
    return found, refused


def _timed(
    network: PointNetwork, device: Device, data: GraphSet, arrays: dict[int, OnEngine], number: FixedPoint
) -> dict[Any, float]:
    """Microseconds of each part that the processor works: None for everything, a place for the operations before it,
    "encode" and a place for what the array is sent, in a format."""
    one = first_cloud(data, device.cloud)
    torch.manual_seed(0)
    model = PointModel(network, device.cloud.width, device.cloud.classes).eval()
    works: dict[Any, Work] = {None: lambda: model(one.x, one.batch)}
    for place, there in arrays.items():
        part = first_part(model, place)
        if place:
            works[place] = _rows(part, one.x, one.batch)
        with torch.no_grad():
            works[f"encode {place}"] = _encoding(part.rows(one.x, one.batch).numpy(), number, there.engine)
    with timing.quiet(device.threads):
        reference = one.work(baseline(REFERENCE, device.tail))
        spans = timing.spans(list(works.values()), reference, Block(), ROUNDS)
    return {0: 0.0} | {name: span / 1000 for name, span in zip(works, spans, strict=True)}


def _rows(part: PointModel, x: torch.Tensor, batch: Batch) -> Work:
    return lambda: part.rows(x, batch)


def _encoding(rows: NDArray[np.float32], number: FixedPoint, engine: Engine) -> Work:
    """Numbers of a cloud to the beats that the array is sent."""
    missing = -rows.shape[1] % engine.lanes

    def work() -> Any:
        padded = np.pad(number.quantise(rows), ((0, 0), (0, missing)))
        return image_beats(padded.reshape(1, -1, engine.lanes), engine)

    return work
