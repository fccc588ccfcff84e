"""This project's accelerators as compute units: a kernel is hardware with its clock and its power, in a file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from fgnas.errors import UserError
from fgnas.files import read_text
from fgnas.networks.vision.subnet import Subnet
from fgnas.networks.vision.vig import Backbone
from fgnas.systems.magnas.array import ArrayBuild
from fgnas.systems.magnas.build import Build, Sizes
from fgnas.systems.magnas.calls import Call, calls
from fgnas.systems.magnas.pipeline import PipelineBuild
from fgnas.systems.magnas.whole_build import WholeBuild

CLOCK_MHZ = 100.0

AnyBuild = TypeVar("AnyBuild", Build, WholeBuild)


@dataclass(frozen=True)
class Unit(Generic[AnyBuild]):
    """Hardware as a unit.

    Attributes:
        name: of the unit.
        build: the hardware.
        watts, idle_watts: its power while it computes and while it waits, as the user states it.
    """

    name: str
    build: AnyBuild
    clock_mhz: float = CLOCK_MHZ
    watts: float | None = None
    idle_watts: float | None = None
    BUILDS: ClassVar[dict[str, Any]]
    """By the field of a kernel's file."""

    def _nanoseconds(self, cycles: int) -> int:
        """The time of cycles, rounded up."""
        return int(np.ceil(cycles * 1000 / self.clock_mhz))

    def to_dict(self) -> dict[str, Any]:
        """Plain values from which `of` makes the kernel again; the build is one line of JSON."""
        own = {name: getattr(self, name) for name in OWN if getattr(self, name) is not None}
        return {self.build.FIELD: self.build.to_json(), **asdict(self.build.sizes), **own}

    @classmethod
    def of(cls, name: str, content: Mapping[str, Any]) -> Self:
        """The kernel of plain values. Raises UserError for a damaged one."""
        try:
            field = next(one for one in cls.BUILDS if one in content)
            sizes = Sizes(**{size: content[size] for size in SIZES})
            own = {one: value for one, value in content.items() if one not in (field, *SIZES)}
            return cls(name, cls.BUILDS[field].of(content[field], sizes, f"the kernel {name}"), **own)
        except (StopIteration, KeyError, TypeError, json.JSONDecodeError) as error:
            raise UserError(f"the kernel {name} is damaged ({error!r}): write the platform again") from None


@dataclass(frozen=True)
class Kernel(Unit[Build]):
    """An accelerator that runs steps, and runs of them."""

    BUILDS: ClassVar[dict[str, type[Build]]] = {one.FIELD: one for one in (PipelineBuild, ArrayBuild)}

    def runs(self, call: Call) -> bool:
        """Whether the build runs a call."""
        return self.build.refusal(call) is None

    def nanoseconds(self, call: Call) -> int:
        """The time of a call's cycles, rounded up."""
        return self._nanoseconds(self.build.cycles(call))


@dataclass(frozen=True)
class WholeKernel(Unit[WholeBuild]):
    """An accelerator that runs whole subnets, and nothing else."""

    BUILDS: ClassVar[dict[str, type[WholeBuild]]] = {WholeBuild.FIELD: WholeBuild}

    def nanoseconds(self, subnet: Subnet, backbone: Backbone) -> int:
        """The time of a subnet's cycles, rounded up."""
        return self._nanoseconds(self.build.cycles(subnet, backbone))


AnyKernel = Kernel | WholeKernel
KINDS: tuple[type[AnyKernel], ...] = (Kernel, WholeKernel)


def kernel_of(name: str, content: Mapping[str, Any]) -> AnyKernel:
    """The kernel of plain values, of either kind. Raises UserError for a damaged one."""
    kind = next((one for one in KINDS if any(field in content for field in one.BUILDS)), Kernel)
    return kind.of(name, content)


SIZES = tuple(one.name for one in fields(Sizes))
OWN = tuple(one.name for one in fields(Unit) if one.name not in ("name", "build"))
"""Fields of a kernel's file beside its build and its sizes."""


def load_kernel(path: Path, backbone: Backbone) -> AnyKernel:
    """The kernel in a .json file: {"design": …, "inputs": …}, {"array": …, …} or {"whole": …}, or a design alone.

    Sizes that are left out fit every call of the backbone. Raises UserError for a file that is none, and for hardware
    that can run no call, or not every whole subnet.
    """
    field, content, given = _read(path)
    if not re.fullmatch(r"[A-Za-z0-9_-]+", path.stem):
        raise UserError(f"{path}: a unit is named after the file: use letters, digits, - and _ alone")
    known = calls(backbone)
    sizes = Sizes(**{
        "inputs": max(call.widths[0] for call in known.values()),
        "outputs": max(width for call in known.values() for width in call.widths[1:]),
        "nodes": backbone.nodes,
        "neighbours": max(call.neighbours for call in known.values()),
    } | {name: given.pop(name) for name in SIZES if name in given})  # fmt: skip
    if field in WholeKernel.BUILDS:
        return _load_whole(path, WholeKernel(path.stem, WholeBuild.of(content, sizes, str(path)), **given), backbone)
    kernel = Kernel(path.stem, Kernel.BUILDS[field].of(content, sizes, str(path)), **given)
    refused = {name: kernel.build.refusal(call) for name, call in known.items()}
    if all(refused.values()):
        name, why = next(iter(refused.items()))
        raise UserError(f"{path}: it can run no step of these networks; {' and '.join(name)}: {why}")
    return kernel


def _load_whole(path: Path, kernel: WholeKernel, backbone: Backbone) -> WholeKernel:
    try:
        kernel.build.check(backbone)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    return kernel


def _read(path: Path) -> tuple[str, Any, dict[str, Any]]:
    """The field of the build, its content, and the checked other fields of a kernel's file."""
    try:
        content = json.loads(read_text(path, "kernel"))
    except json.JSONDecodeError as error:
        raise UserError(f"{path}: not JSON ({error})") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: a kernel is a JSON object with a design or an array")
    if "layers" in content:
        content = {PipelineBuild.FIELD: content}
    found = [name for kind in KINDS for name in kind.BUILDS if name in content]
    if len(found) != 1:
        raise UserError(f"{path}: name a design or an array, not {'both' if found else 'neither'}; an array for whole "
                        f"subnets is a whole")  # fmt: skip
    given = {name: value for name, value in content.items() if name != found[0]}
    if unknown := sorted({*given} - {*SIZES, *OWN}):
        raise UserError(f"{path}: unknown field {unknown[0]!r}; a kernel has {found[0]}, {', '.join((*SIZES, *OWN))}")
    for name, value in given.items():
        _check(path, name, value)
    return found[0], content[found[0]], given


def _check(path: Path, name: str, value: Any) -> None:
    """Raise UserError where a field of a kernel's file does not hold what it must."""
    watts = name in OWN
    least = 0.0 if name == "idle_watts" else 1e-9 if watts else 1
    if isinstance(value, bool) or not isinstance(value, (int, float) if watts else int) or value < least:
        kind = "a number" if watts else "a whole number"
        raise UserError(f"{path}: {name} must be {kind}{'' if name == 'idle_watts' else ' above zero'}, not {value!r}")


def check_distinct(kernels: Sequence[AnyKernel], taken: str) -> None:
    """Raise UserError where two units have one name."""
    names = [taken, *(kernel.name for kernel in kernels)]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two units are named {name!r}: a kernel is named after its file, so rename one")
