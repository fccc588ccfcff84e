"""Mappings of a network's steps to a platform's units, and platforms of this machine, for Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fgnas.mapping.options import MapOptions
from fgnas.mapping.platform import find_platform
from fgnas.mapping.study import Answer, solve

if TYPE_CHECKING:
    from fgnas.systems.hgnas.cuts import Ways
    from fgnas.systems.magnas.measure import Measured


def map_network(platform: str, model: str, **options: Any) -> Answer:
    """The exact front of mappings of a platform's model.

    `platform` names a shipped platform or a .toml file. Options are those of `fgnas map`, with underscores:
    latency_ms, energy_mj, power_w, transitions, setting, granularity, shortcuts, method, evaluations, seed.
    Raises UserError for an unknown or wrong platform, model or setting.
    """
    return solve(find_platform(platform), model, MapOptions(**options))


def measure_platform(
    out: str | os.PathLike[str], dataset: str | None = None, *, kernels: Sequence[str | os.PathLike[str]] = (),
    cpu: bool = True, metric: str = "cosine", **options: Any,
) -> Measured:  # fmt: skip
    """Time every step of a vision GNN for these images on this processor, price kernels, write a platform to `out`.

    Without a dataset the images are those of a search. `kernels` are .json files (docs/mapping.md); with `cpu` the
    processor is a unit beside them. `metric` says how near patches are: cosine, or distance. Options are those of
    `fgnas platform`: runs, watts, idle_watts, start_us, interrupt_us. Returns the cost of each step on each unit that
    can run it.
    """
    from fgnas.networks.vision.vig import Backbone
    from fgnas.options import made
    from fgnas.systems.magnas.kernels import check_distinct, load_kernel
    from fgnas.systems.magnas.measure import CPU, Overhead, write_platform
    from fgnas.systems.magnas.options import Options, PlatformOptions
    from fgnas.systems.magnas.power import stated_power
    from fgnas.tasks.images import load_images

    given = made(PlatformOptions, options)
    data = load_images(dataset or Options.dataset)
    backbone = Backbone.of(data, metric)
    found = [load_kernel(Path(kernel), backbone) for kernel in kernels]
    check_distinct(found, CPU)
    power = stated_power(CPU, given.watts, given.idle_watts, found)
    units = [*["this machine's processor"][:cpu], *(f"the kernel {kernel.name}" for kernel in found)]
    about = f"{', '.join(units)}, for vision GNNs on {data.label}"
    overhead = Overhead(given.start_us, given.interrupt_us)
    return write_platform(backbone, about, Path(out), given.runs, found, cpu, power, overhead)


def map_cuts(
    device: str | os.PathLike[str], network: str | os.PathLike[str], *, out: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Ways:  # fmt: skip
    """Every way to work a network of operations on a measured device and an array behind it, with its time.

    The device is this processor, on which the first parts are timed now; cycles of the rest are exact. `network` is a
    .json file with operations, such as a run's best.json, or a baseline's name. Options are those of `fgnas map`:
    multipliers, beat_bits, bits, clock_mhz, start_us, interrupt_us. `out`: a folder for the project of the fastest
    way's array; a network without weights is trained first. Raises UserError where the processor alone is fastest,
    then.
    """
    from dataclasses import replace

    from fgnas.hardware.measured.device import DeviceFolder
    from fgnas.networks.points.baselines import BASELINES, baseline
    from fgnas.options import made
    from fgnas.systems.hgnas.cuts import Host, ways, write
    from fgnas.systems.hgnas.delivery import Delivered, read
    from fgnas.systems.hgnas.options import CutOptions

    given, folder, name = made(CutOptions, options), DeviceFolder(Path(device)), os.fspath(network)
    there = folder.device()
    found = Delivered(baseline(name, there.tail), dataset=there.dataset) if name in BASELINES else read(Path(name))
    size = found.size.changed(multipliers=given.multipliers, beat_bits=given.beat_bits, bits=given.bits)
    found = replace(found, size=size, specification=replace(found.specification, clock_mhz=given.clock_mhz))
    answer = ways(found, folder, Host(given.start_us, given.interrupt_us))
    if out is not None:
        write(found, answer.best, Path(out))
    return answer
