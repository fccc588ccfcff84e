"""Measured devices, and the times of networks of operations on them, for Python."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fgnas.errors import UserError
from fgnas.files import read_text

if TYPE_CHECKING:
    from fgnas.hardware.measured.device import DeviceFolder
    from fgnas.networks.points.operations import PointNetwork


def measure(
    out: str | os.PathLike[str], *, start: str | os.PathLike[str] | None = None, resume: bool = False, **options: Any
) -> DeviceFolder:
    """Time random networks on this processor, fit predictors, and write both and a page to the folder `out`.

    `start` is another device's folder, whose predictors are continued. Options are those of `fgnas measure`: dataset,
    tail, threads, networks, rounds, memory, seed. With `resume` a measurement continues where it stopped; an
    interrupted one raises KeyboardInterrupt with the command that continues it.
    """
    from fgnas.hardware.measured.device import DeviceFolder
    from fgnas.report.make import report_device
    from fgnas.systems.hgnas.measuring import measure_device

    if not resume:
        _check_free(Path(out))
    try:
        folder = measure_device(options, Path(out), None if start is None else Path(start), resume)
    except KeyboardInterrupt:
        command = f"; continue with: fgnas measure --out {os.fspath(out)} --resume"
        raise KeyboardInterrupt(command if DeviceFolder(Path(out)).begun else "") from None
    report_device(folder)
    return folder


def _check_free(out: Path) -> None:
    """Raise UserError for a folder with files that are not of a device, which would lie among them."""
    from fgnas.hardware.measured.device import NETWORKS, DeviceFolder

    if DeviceFolder(out).begun or not out.is_dir():
        return
    # A measurement that was killed at its very beginning left no more than its networks.
    others = sorted(path.name for path in out.iterdir() if path.name != NETWORKS and not path.name.startswith("."))
    if others:
        raise UserError(f"{out} holds {others[0]}, and a device has a folder of its own: give another --out")


def price_network(
    network: str | os.PathLike[str], device: str | os.PathLike[str], *, measured: bool = False
) -> dict[str, Any]:
    """The predicted time of a network on a measured device, its memory and its multiplications.

    `network` is a .json file with operations, such as a run's best.json, or a baseline's name. `measured`: time it on
    this processor, too. Baselines with operations that no space has are timed alone.
    """
    from fgnas.hardware.measured.device import DeviceFolder
    from fgnas.networks.points.baselines import BASELINES, baseline
    from fgnas.systems.hgnas.measuring import priced

    folder, name = DeviceFolder(Path(device)), os.fspath(network)
    known = name in BASELINES
    return priced(baseline(name, folder.device().tail) if known else read_network(Path(name)), folder, measured)


def price_on_array(
    network: str | os.PathLike[str], dataset: str | None = None, *, multipliers: int | None = None,
    beat_bits: int | None = None, bits: int | None = None, **limits: Any,
) -> dict[str, Any]:  # fmt: skip
    """Cycles and resources of a network on the smallest array of a size, and the limits that it breaks.

    `network` as in `price_network`; by default it is for the clouds and the array of its file, or for digit-points, 64
    multipliers, a port of 512 bits and numbers of 8. `limits` as `specification` takes them. Raises UserError where no
    array of the size holds it.
    """
    from fgnas.api.pricing import specification
    from fgnas.networks.points.baselines import BASELINES, baseline
    from fgnas.systems.hgnas.composition import tail_of
    from fgnas.systems.hgnas.delivery import Delivered, priced, read
    from fgnas.tasks.points import EMBEDDED, load_graphs

    name = os.fspath(network)
    data = dataset or EMBEDDED
    known = Delivered(baseline(name, tail_of(None, load_graphs(data)))) if name in BASELINES else read(Path(name))
    found = known if dataset is None else replace(known, dataset=dataset)
    size = found.size.changed(multipliers=multipliers, beat_bits=beat_bits, bits=bits)
    return priced(found, size, specification(**limits))


def read_network(path: Path) -> PointNetwork:
    """A network from its file, or from a run's best.json. Raises UserError where it holds none."""
    from fgnas.networks.points.operations import PointNetwork

    try:
        content = json.loads(read_text(path, "network"))
        return PointNetwork.from_dict(content.get("design", content))
    except (AttributeError, ValueError, UserError) as error:
        raise UserError(f"{path} holds no network of operations ({error}): give the best.json of a run of --system "
                        "hgnas, or a baseline's name") from None  # fmt: skip
