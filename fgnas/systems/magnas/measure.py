"""A platform of this processor and of kernels: every step that a backbone's subnets can have, on one image."""

from __future__ import annotations

import copy
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fgnas.backends.render import render
from fgnas.engine.run import cpu_name
from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.hardware.measured import timing
from fgnas.hardware.measured.timing import Block
from fgnas.networks.vision import steps
from fgnas.networks.vision.stages import Stage, run, stages
from fgnas.networks.vision.subnet import OPERATORS, Subnet, Superblock
from fgnas.networks.vision.supernet import extreme
from fgnas.networks.vision.vig import DEPTHS, SUPERBLOCKS, Backbone, Vig, with_own_statistics
from fgnas.systems.magnas.calls import Call, Names, calls, covering
from fgnas.systems.magnas.host import Host, WholeHost
from fgnas.systems.magnas.kernels import AnyKernel, Kernel, WholeKernel
from fgnas.systems.magnas.parts import split
from fgnas.systems.magnas.power import Power
from fgnas.systems.magnas.whole import shaped

WARM_UP, ROUNDS = 10, 3
SEEN = 8
"""Images that batch norms take their statistics from; of one alone those of the head would have no variance."""
CPU = "cpu"
AROUND_WHOLE = "around a whole subnet"

Parts = list[tuple[str, int, int]]
"""Parts of a unit's cost: (source, nanoseconds, nanojoules). The cost is their sum."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A step, or a run of steps, ready to run once on one image."""

    chain: tuple[Stage, ...]
    x: Tensor
    entered: Tensor

    @property
    def names(self) -> Names:
        """The kinds of its steps."""
        return tuple(stage.name for stage in self.chain)

    def run(self) -> Tensor:
        """The output, on the processor alone."""
        found = self.x
        for stage in self.chain:
            found = stage.run(found, self.entered)
        return found


@dataclass(frozen=True)
class Overhead:
    """Time of the processor for a call apart from its data, assumed, not measured."""

    start_us: float
    interrupt_us: float

    @property
    def nanoseconds(self) -> int:
        """The time of both."""
        return round(1000 * (self.start_us + self.interrupt_us))


NO_OVERHEAD = Overhead(0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Measured:
    """The costs of every step, and of the blocks that a kernel runs in fewer starts than steps, by names and unit.

    Attributes:
        starts: {unit that runs whole subnets: costs of a start apart from the unit's own time}.
    """

    costs: dict[Names, dict[str, Parts]]
    starts: dict[str, Parts]

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Nanoseconds by step and unit; the steps of a block are joined by +."""
        spent = self.costs | ({(AROUND_WHOLE,): self.starts} if self.starts else {})
        return {
            "+".join(names): {unit: sum(spent for _, spent, _ in parts) for unit, parts in on.items()}
            for names, on in spent.items()
        }


def write_platform(
    backbone: Backbone, about: str, path: Path, runs: int, kernels: Sequence[AnyKernel], cpu: bool, power: Power | None,
    overhead: Overhead,
) -> Measured:  # fmt: skip
    """Time and price every step, and write the platform. Raises UserError for a bad path.

    Without `power` energy is 0. With `cpu` the processor is a unit, too; it serves the kernels in any case.
    """
    if path.suffix != ".toml":
        raise UserError(f"--out {path}: a platform is a .toml file")
    found = measured(backbone, runs, kernels, cpu, power, overhead)
    elements = steps.elements(backbone)
    text = render(
        "mapping/platform.toml.j2", about=about, units=[*[CPU][:cpu], *(kernel.name for kernel in kernels)],
        sources=_sources(runs, kernels, power, overhead), transition="nothing",
        steps={name: {"elements": elements[name], "on": found.costs.get((name,), {})} for name in elements},
        together={names: on for names, on in found.costs.items() if len(names) > 1},
        builds={kernel.name: kernel.to_dict() for kernel in kernels},
        starts={name: {"parts": parts, "power": 0 if power is None else round(1e6 * power.working(name)),
                       "source": f"{name}-cycles"} for name, parts in found.starts.items()},
    )  # fmt: skip
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
    return found


def _sources(
    runs: int, kernels: Sequence[AnyKernel], power: Power | None, overhead: Overhead
) -> dict[str, dict[str, Any]]:
    how = (f"first fifth of {runs} runs on one image in the median of {ROUNDS} rounds, between runs of the first step, "
           f"eager torch {torch.__version__}, one thread, {cpu_name()}")  # fmt: skip
    found = {"stopwatch": ("measured", how)}
    if kernels:
        around = "what the processor does around a call: rest of the step, features to beats, results back"
        found["around"] = ("measured", f"{around}; {how}")
        stated = f"{overhead.start_us:g} us to start a kernel, {overhead.interrupt_us:g} us for its interrupt"
        found["call"] = ("assumed", stated)
    for kernel in kernels:
        clock = f"at {kernel.clock_mhz:g} MHz, behind a memory of a beat a cycle"
        about = f"cycles of the {kernel.build.FIELD}'s model, which the RTL takes, {clock}"
        found[f"{kernel.name}-cycles"] = ("exact", about)
    if power is not None:
        found["watts"] = ("assumed", f"energy, from the power that the user states: {power}")
    found["nothing"] = ("exact", "a step begins and ends in the processor's memory, and is charged for that itself")
    return {name: {"kind": kind, "about": about} for name, (kind, about) in found.items()}


def measured(
    backbone: Backbone, runs: int, units: Sequence[AnyKernel] = (), cpu: bool = True, power: Power | None = None,
    overhead: Overhead = NO_OVERHEAD,
) -> Measured:  # fmt: skip
    """The cost of every step on the processor and on each kernel that can run it, in the order of `steps.elements`, and
    what a start of a kernel for whole subnets costs."""
    kernels = [one for one in units if isinstance(one, Kernel)]
    wholes = {one.name: _around_whole(one, backbone) for one in units if isinstance(one, WholeKernel)}
    starts: dict[Names, dict[str, Parts]] = {}
    with timing.quiet(1):
        found = list(samples(backbone))
        hosts = {(one.names, kernel.name): host for one in found for kernel in kernels
                 if (host := _host(one, kernel, backbone)) is not None}  # fmt: skip
        around: dict[tuple[Names, str], Callable[[], object]] = {
            ((AROUND_WHOLE,), name): work for name, work in wholes.items()
        }
        spent = _timed(found if cpu else [], {**hosts, **around}, found[0].run, runs)
    for sample in found:
        on: dict[str, Parts] = {}
        if (sample.names, CPU) in spent:
            on[CPU] = _charged([("stopwatch", spent[sample.names, CPU], CPU)], power)
        for kernel in kernels:
            if (sample.names, kernel.name) in hosts:
                span = spent[sample.names, kernel.name]
                on[kernel.name] = _called(kernel, calls(backbone)[sample.names], span, power, overhead)
        starts[sample.names] = on
    order = [(name,) for name in steps.elements(backbone)]
    each = {names: starts[names] for names in order if starts[names]}
    whole = {name: _charged([("around", spent[(AROUND_WHOLE,), name], CPU), ("call", overhead.nanoseconds, CPU)], power)
             for name in wholes}  # fmt: skip
    return Measured(each | _blocks(backbone, kernels, starts), whole)


def _around_whole(kernel: WholeKernel, backbone: Backbone) -> Callable[[], object]:
    """The processor's work around a start that runs a whole subnet: it turns patches into codes and beats, and reads
    the logits from the region that the kernel writes. This work is the same for every subnet."""
    subnet = extreme(backbone, False, OPERATORS[0])
    encoded = kernel.build.lowered(shaped(subnet, backbone, kernel.build.facts.bits), backbone, "", "")
    host, generator = WholeHost(encoded, backbone), np.random.default_rng(0)
    image = generator.standard_normal((backbone.channels, backbone.size, backbone.size)).astype(np.float32)
    return lambda: host.around(image)


def _host(sample: Sample, kernel: Kernel, backbone: Backbone) -> Callable[[], Tensor] | None:
    """The processor's work around a start of a kernel on this sample; None if the kernel cannot run it."""
    call = calls(backbone).get(sample.names)
    if call is None or not kernel.runs(call):
        return None
    host = Host.of(kernel, call, split(sample.chain), sample.x)
    return lambda: host.around(sample.x, sample.entered)


def _timed(
    alone: Sequence[Sample], hosts: Mapping[tuple[Names, str], Callable[[], object]], first: Callable[[], object],
    runs: int,
) -> dict[tuple[Names, str], int]:  # fmt: skip
    """Nanoseconds of single steps on the processor, and of what it does around starts, each by names and unit."""
    works: dict[tuple[Names, str], Callable[[], object]] = {
        (one.names, CPU): one.run for one in alone if len(one.names) == 1
    } | dict(hosts)
    block = Block(WARM_UP, -(-runs // ROUNDS), 0)
    spent = timing.spans(list(works.values()), first, block, ROUNDS) if works else []
    return {name: round(one) for name, one in zip(works, spent, strict=True)}


def _blocks(
    backbone: Backbone, kernels: Sequence[Kernel], starts: dict[Names, dict[str, Parts]]
) -> dict[Names, dict[str, Parts]]:
    """The cost of each block on the kernels that run it in fewer starts than it has steps."""
    known, found = calls(backbone), dict[Names, dict[str, Parts]]()
    for block in steps.blocks(backbone):
        for kernel in kernels:
            runs = covering(block, known, kernel.runs)
            if runs is not None and len(runs) < len(block):
                found.setdefault(block, {})[kernel.name] = _sum([starts[one][kernel.name] for one in runs])
    return found


def _sum(costs: Sequence[Parts]) -> Parts:
    """The parts of several costs, those of a source added up."""
    found: dict[str, tuple[int, int]] = {}
    for source, time_ns, energy in (part for parts in costs for part in parts):
        spent = found.get(source, (0, 0))
        found[source] = spent[0] + time_ns, spent[1] + energy
    return [(source, *spent) for source, spent in found.items()]


def _called(kernel: Kernel, call: Call, around: int, power: Power | None, overhead: Overhead) -> Parts:
    """The cost of one start of a kernel, around which the processor works for so many nanoseconds."""
    return _charged([
        ("around", around, CPU), ("call", overhead.nanoseconds, CPU),
        (f"{kernel.name}-cycles", kernel.nanoseconds(call), kernel.name),
    ], power)  # fmt: skip


def _charged(spans: Sequence[tuple[str, int, str]], power: Power | None) -> Parts:
    """Spans of time (source, nanoseconds, the unit that works) as parts, with their energy as the last of them."""
    parts = [(source, spent, 0) for source, spent, _ in spans]
    if power is not None:
        parts.append(("watts", 0, sum(power.nanojoules(spent, unit) for _, spent, unit in spans)))
    return parts


def samples(backbone: Backbone) -> Iterator[Sample]:
    """Every step, and every run of `calls`, once, with the inputs of one random image in a random network."""
    generator = torch.Generator().manual_seed(0)
    weights = Vig(backbone).eval()
    images = torch.randn(SEEN, backbone.channels, backbone.size, backbone.size, generator=generator)
    seen: set[Names] = set()
    for place, operator in enumerate(OPERATORS):
        width = backbone.widths[place % len(backbone.widths)]
        model = copy.deepcopy(weights)  # each keeps its own statistics
        chain = stages(model, Subnet((Superblock(DEPTHS[0], operator, True, True, width),) * SUPERBLOCKS))
        with_own_statistics(model, lambda chain=chain: run(chain, images))  # type: ignore[misc]
        for sample in _along(chain, images[:1], calls(backbone)):
            if sample.names not in seen:
                seen.add(sample.names)
                yield sample


def _along(chain: Sequence[Stage], image: Tensor, known: Container[Names]) -> Iterator[Sample]:
    """The steps of a network one by one, and the runs that are known."""
    x = entered = image
    for place, stage in enumerate(chain):
        entered = x if stage.opens else entered
        for end in range(place + 1, len(chain) + 1):
            sample = Sample(tuple(chain[place:end]), x, entered)
            if len(sample.chain) == 1 or sample.names in known:
                yield sample
        x = stage.run(x, entered)
