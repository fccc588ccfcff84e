"""Projects from Python: the folder that a back end wrote, its checks and its page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fgnas.api.data import Data, data_of
from fgnas.backends.project import MARK

if TYPE_CHECKING:
    from fgnas.tools.doctor import Part


@dataclass(frozen=True, eq=False)
class Project:
    """A folder that `write` made."""

    directory: Path
    keeps: object = None

    def csim(self) -> dict[str, Any]:
        """Compile the C++ and hold every logit against the reference: nodes, logits, mismatches, …"""
        from fgnas.tools.csim import run_csim

        return run_csim(self.directory)

    def simulate(self, rtl: Path | None = None) -> dict[str, Any]:
        """Simulate the RTL, or any with its face: mismatches, cycles, predicted_cycles, …

        Where logits of the project's own RTL are wrong, `first_wrong_stage` says in which stage, and at which node.
        """
        from fgnas.tools.simulate import run_other_rtl, run_simulation

        if rtl is not None:
            return run_other_rtl(self.directory, rtl)
        report = run_simulation(self.directory)
        if report["mismatches"]:
            from fgnas.tools.trace import mismatch_of_rtl

            report["first_wrong_stage"] = mismatch_of_rtl(self.directory)
        return report

    def synthesise(self, family: str | None = None, fpga: str | None = None) -> dict[str, Any]:
        """Synthesise with Yosys: total and predicted LUT, FF, DSP, block RAM, and every instance's.

        With a device, by name or file, or with the limits that the project was written for, also what there is, and
        what of that does not suffice (`over`).
        """
        from fgnas.hardware.devices import find_device, limits_of
        from fgnas.tools.synth import run_synthesis

        device = find_device(fpga) if fpga else None
        if device is not None:
            family = limits_of(device, {"family": family})["family"]
        return run_synthesis(self.directory, family, device)

    def timing(self, seeds: int | None = None, speed: int | None = None) -> dict[str, Any]:
        """Place and route on an ECP5 with nextpnr, from so many seeds at most: fmax_mhz, critical_path, …

        `speed` is the part's grade: 6, the slowest and the default, to 8.
        """
        from fgnas.tools.timing import SEEDS, SPEEDS, run_timing

        return run_timing(self.directory, seeds or SEEDS, speed or SPEEDS[0])

    def vitis(self, step: str = "csynth", progress: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
        """Run csim, csynth, cosim or impl in Vitis HLS: the figures of every step so far, beside the predicted."""
        from fgnas.tools.vitis import run_vitis

        return run_vitis(self.directory, step, progress)

    @property
    def exists(self) -> bool:
        """Whether the folder holds a project."""
        return (self.directory / MARK).is_file()

    def report(self, page: Path | None = None, data: Data | None = None, fpga: str | None = None) -> Path:
        """Write the page, to report.html in the folder or to `page`; returns where.

        `data` is needed for accuracies where the project was made from a file. Resources are held against `fpga`, a
        device's name or file, or else against the part that the project was written for.
        """
        from fgnas.hardware.devices import find_device
        from fgnas.report.make import report_project

        device = find_device(fpga) if fpga else None
        return report_project(self.directory, page, None if data is None else data_of(data), device)


FAULTS = ("mismatches", "failed_checks", "protocol_errors", "status", "cycle_difference")
"""Counts and codes in what a check returns that must be zero."""


def passed(result: dict[str, Any]) -> bool:
    """Whether a check found everything equal."""
    return not any(result.get(name) for name in FAULTS)


def doctor() -> list[Part]:
    """What is installed around fgnas, what is missing, what that costs, and the command that installs it."""
    from fgnas.tools.doctor import examine

    return examine()
