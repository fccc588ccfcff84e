"""A measured device as a folder: what it is, which networks were measured, what that gave, and its predictors."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from fgnas.errors import UserError
from fgnas.files import canonical_json, replace_file
from fgnas.hardware.measured import predictors
from fgnas.hardware.measured.features import Floats
from fgnas.hardware.measured.judge import Judged
from fgnas.hardware.measured.memory import live
from fgnas.hardware.measured.predictors import Predictor
from fgnas.hardware.measured.record import Line, Measured, gathered, read_lines
from fgnas.networks.points.operations import PointNetwork, Tail
from fgnas.networks.points.work import Cloud

DEVICE, NETWORKS, RECORD, FITTED, JUDGED = (
    "device.json", "networks.jsonl", "record.jsonl", "predictor.npz", "judged.json"
)  # fmt: skip
REFERENCE = "dgcnn-fused"
"""The baseline that all times are related to."""
LATENCY, MEMORY = "latency", "memory"
"""Quantities that are predicted."""
LEARNED = {LATENCY: "latency", MEMORY: "memory of live"}
"""The ratio that predictors of a quantity learn. The names of a predictor's arrays in the file begin with it."""


def bases(what: str, networks: Sequence[PointNetwork], cloud: Cloud) -> Floats:
    """[n] the value of a quantity where a predictor gives 1: latency is measured as a ratio, memory is `live` bytes."""
    return np.array([float(live(one, cloud)) for one in networks]) if what == MEMORY else np.ones(len(networks))


@dataclass(frozen=True)
class Device:
    """A device and the conditions of its measurement: the content of device.json.

    Attributes:
        processor, threads, versions: of the measured device and its software.
        dataset, fingerprint: the data whose first validation cloud is the input of every network.
        cloud, tail: the clouds that the networks read, and their last layers.
        seed, networks, rounds: how many networks are drawn from which seed, and how often each is timed.
        memory: whether memory is measured, too.
    """

    processor: str
    threads: int
    versions: Mapping[str, str]
    dataset: str
    fingerprint: str
    cloud: Cloud
    tail: Tail
    seed: int
    networks: int
    rounds: int
    memory: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dict(json.loads(canonical_json(asdict(self))))

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Device:
        """The device of plain values."""
        return cls(**{**content, "cloud": Cloud(**content["cloud"]), "tail": Tail.from_dict(content["tail"])})


@dataclass(frozen=True)
class Verdict:
    """The evaluation of the fitted predictors: the content of judged.json.

    Attributes:
        reference_ms: the reference's time, the median over all blocks.
        chosen: the best predictor on the networks that choose, by what it predicts.
        validation, held_out: errors by what is predicted, then by predictor.
        floor: half of the rounds against the others.
        estimates: errors of the estimates of memory on the same networks.
    """

    reference_ms: float
    chosen: Mapping[str, str]
    validation: Mapping[str, Mapping[str, Judged]]
    held_out: Mapping[str, Mapping[str, Judged]]
    floor: Judged | None = None
    estimates: Mapping[str, Judged] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Verdict:
        """The verdict of plain values."""
        def each(found: dict[str, Any]) -> dict[str, Judged]:
            return {name: _judged(one) for name, one in found.items()}

        floor = content["floor"]
        return cls(
            content["reference_ms"], content["chosen"],
            {what: each(found) for what, found in content["validation"].items()},
            {what: each(found) for what, found in content["held_out"].items()},
            None if floor is None else _judged(floor), each(content["estimates"]),
        )  # fmt: skip


def _judged(content: dict[str, Any]) -> Judged:
    return Judged(**{**content, "within": tuple(content["within"])})


@dataclass(frozen=True)
class DeviceFolder:
    """The files of a device."""

    path: Path

    @property
    def begun(self) -> bool:
        """Whether there is a device."""
        return (self.path / DEVICE).is_file()

    def begin(self, device: Device, networks: Sequence[PointNetwork]) -> None:
        """Write what the device is, and the networks in the order in which they are measured."""
        self.path.mkdir(parents=True, exist_ok=True)
        replace_file(self.path / NETWORKS, "".join(canonical_json(one.to_dict()) + "\n" for one in networks))
        replace_file(self.path / DEVICE, json.dumps(device.to_dict(), indent=1) + "\n")

    def device(self) -> Device:
        """The device. Raises UserError where there is none, or a damaged one."""
        if not self.begun:
            raise UserError(f"{self.path} is no measured device: make one with `fgnas measure --out {self.path}`")
        try:
            return Device.from_dict(json.loads((self.path / DEVICE).read_text(encoding="utf-8")))
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{self.path / DEVICE} is damaged ({error}): measure again, with another --out") from None

    def networks(self) -> list[PointNetwork]:
        """The networks, in the order of measuring. Raises UserError where their file is damaged."""
        try:
            lines = (self.path / NETWORKS).read_text(encoding="utf-8").splitlines()
            return [PointNetwork.from_dict(json.loads(line)) for line in lines]
        except (OSError, ValueError, UserError) as error:
            raise UserError(f"{self.path / NETWORKS} is damaged ({error}): measure again, with another --out") from None

    def lines(self) -> list[Line]:
        """The measurements so far."""
        return read_lines(self.path / RECORD, self.device().networks)

    def record(self) -> Path:
        """The file that measurements are appended to."""
        return self.path / RECORD

    def measured(self) -> list[Measured]:
        """The networks that were measured, with their measurements."""
        return gathered(self.networks(), self.lines())

    def finish(self, verdict: Verdict, fitted: Mapping[str, Mapping[str, Predictor]]) -> None:
        """Write predictors, by what they predict and by name, and then the verdict on them."""
        arrays = {
            f"{LEARNED[what]}.{name}.{key}": value for what, by_name in fitted.items() for name, one in by_name.items()
            for key, value in one.arrays().items()
        }  # fmt: skip
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        replace_file(self.path / FITTED, buffer.getvalue())
        replace_file(self.path / JUDGED, json.dumps(verdict.to_dict(), indent=1) + "\n")

    def verdict(self) -> Verdict:
        """The verdict. Raises UserError where the measurement is not finished, or the file damaged."""
        device, path = self.device(), self.path / JUDGED
        if not path.is_file():
            fix = f"continue it with `fgnas measure --out {self.path} --resume`"
            raise UserError(f"{self.path} was measured {len(self.lines()):,} times of "
                            f"{device.networks * device.rounds:,}: {fix}")  # fmt: skip
        try:
            return Verdict.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{path} is damaged ({error}): delete it, and `fgnas measure --resume` makes it") from None

    def predictor(self, what: str, name: str | None = None) -> Predictor:
        """A predictor of latency or memory by name, relative to `bases`; None: the best. Raises UserError where there
        is none."""
        verdict = self.verdict()
        if what not in verdict.chosen:
            raise UserError(f"{self.path} has no {what}: measure it with `fgnas measure --memory`")
        name = name or verdict.chosen[what]
        prefix = f"{LEARNED[what]}.{name}."
        try:
            with np.load(self.path / FITTED, allow_pickle=False) as file:
                arrays: dict[str, NDArray[Any]] = {
                    key.removeprefix(prefix): file[key] for key in file.files if key.startswith(prefix)
                }
            return predictors.find(name).of(arrays, self.device().cloud)
        except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
            path = self.path / FITTED
            raise UserError(f"{path} is damaged ({error}): delete {JUDGED}, and `fgnas measure --resume` makes both"
                            ) from None  # fmt: skip


def differences(begun: Device, asked: Device) -> list[str]:
    """The differences between the device of a folder and the one that a continued measurement needs, in words."""
    pairs = zip(begun.to_dict().items(), asked.to_dict().items(), strict=True)
    return [f"{name} is {old!r} there and {new!r} here" for (name, old), (_, new) in pairs if old != new]
