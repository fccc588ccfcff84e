"""Projects from Python: the folder that a back end wrote, its checks and its page."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fgnas.api.data import Data, data_of
from fgnas.backends.project import MAPPING, MARK, built_project, check_own
from fgnas.errors import UserError
from fgnas.hardware.kinds import described_kind
from fgnas.tools.calls import calls_of

if TYPE_CHECKING:
    from fgnas.board.assembly import System
    from fgnas.board.boards import Board
    from fgnas.hardware.array.preparing import Preparation
    from fgnas.tools.doctor import Need


@dataclass(frozen=True, eq=False)
class Project:
    """A folder that `write` made."""

    directory: Path
    keeps: object = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "directory", Path(self.directory))

    def csim(self) -> dict[str, Any]:
        """Compile the C++ and compare every logit with the reference; returns nodes, logits, mismatches, …"""
        from fgnas.tools.csim import run_csim

        self._needs_one()
        return run_csim(self.directory, project=built_project(self.directory))

    def simulate(self, rtl: Path | None = None, again: bool = False) -> dict[str, Any]:
        """Simulate the RTL, or other RTL with the same interface; returns mismatches, cycles, predicted_cycles, …

        With `again` an array is started once more without the weights, which are still there. Simulates every step on
        every accelerator of a mapped network, and every call of a network in several calls.
        If logits of the project's own RTL are wrong, `first_wrong_stage` names the stage and the node.
        """
        from fgnas.tools.simulate import run_calls, run_other_rtl, run_simulation, run_steps

        self._needs_folder()
        if again and (rtl is not None or self._is_mapped or self._is_called):
            raise UserError("--again starts an array that holds its network whole, on its own RTL")
        if self._is_mapped:
            if rtl is not None:
                raise UserError(f"--rtl replaces one accelerator: name it, such as {self._accelerators()}")
            return run_steps(self.directory)
        if self._is_called:
            if rtl is not None:
                raise UserError(f"--rtl runs a network that is one call; {self.directory} has buffer re-purposing off")
            return run_calls(self.directory, built_project(self.directory))
        if rtl is not None:
            return run_other_rtl(self.directory, rtl)
        report = run_simulation(self.directory, project=built_project(self.directory), again=again)
        if report["mismatches"] and self._traces:
            from fgnas.tools.trace import mismatch_of_rtl

            report["first_wrong_stage"] = mismatch_of_rtl(self.directory)
        return report

    def preparation(self) -> Preparation:
        """What makes further graphs ready for the network in this folder in microseconds: called with features, edges
        and the graph of each node, it returns the arguments of `Kernel.run` of `driver.py`.

        Raises UserError where the folder has none: of networks of many graphs that an array holds whole, those have it
        whose matrices the neighbourhoods of nodes and the sizes of graphs determine.
        """
        from fgnas.hardware.array.preparing import FILE, Preparation

        self._needs_folder()
        if not (self.directory / FILE).is_file():
            raise UserError(f"{self.directory} has no {FILE}: encode further graphs with `fgnas import --graphs` and "
                            f"`fgnas encode --on` (docs/import.md says which networks have one)")  # fmt: skip
        return Preparation.load(self.directory / FILE)

    def couplings(self, seeds: int) -> dict[str, Any]:
        """Simulate the RTL on every memory that AXI allows, with `seeds` stall seeds each; returns mismatches, hangs, …

        Every run begins with a reset, and all its logits are compared.
        """
        from fgnas.tools.simulate import run_couplings

        self._needs_own()
        if self._is_called:
            raise UserError(f"--couplings runs a network that is one call; {self.directory} has buffer re-purposing "
                            f"off")  # fmt: skip
        return run_couplings(self.directory, seeds)

    def simulate_bambu(self) -> dict[str, Any]:
        """Compile the C++ with bambu and simulate its Verilog; returns mismatches, status, cycles, …

        The project must have been written for it (`Accelerator.write(..., compiler="bambu")`).
        """
        from fgnas.tools.bambu import run_bambu

        self._needs_own()
        return run_bambu(self.directory)

    def synthesise(self, family: str | None = None, fpga: str | None = None) -> dict[str, Any]:
        """Synthesise with Yosys; returns total and predicted LUT, FF, DSP and block RAM, and those of every instance.

        With a device, by name or file, or with the project's own limits, it also returns the available resources
        (`available`) and the names of those that are exceeded (`over`).
        """
        from fgnas.hardware.devices import find_device, limits_of
        from fgnas.tools.synth import run_synthesis

        self._needs_own()
        device = find_device(fpga) if fpga else None
        if device is not None:
            family = limits_of(device, {"family": family})["family"]
        return run_synthesis(self.directory, family, device)

    def timing(self, seeds: int | None = None, speed: int | None = None) -> dict[str, Any]:
        """Place and route on an ECP5 with nextpnr, from up to `seeds` seeds; returns fmax_mhz, critical_path, …

        `speed` is the part's grade: 6, the slowest and the default, to 8.
        """
        from fgnas.tools.timing import SEEDS, SPEEDS, run_timing

        self._needs_own()
        return run_timing(self.directory, seeds or SEEDS, speed or SPEEDS[0])

    def vitis(self, step: str = "csynth", progress: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
        """Run csim, csynth, cosim or impl in Vitis HLS; returns all figures so far and the predicted ones."""
        from fgnas.tools.vitis import run_vitis

        self._needs_own()
        return run_vitis(self.directory, step, progress)

    def board(
        self, board: str = "ulx3s-85f", clock_mhz: float | None = None, memory_kb: int | None = None,
        sdram: bool = False, seed: int = 1,
    ) -> dict[str, Any]:
        """Build a bitstream for a board, board/NAME/design.bit below the project; returns routed_mhz, used, …

        Main memory is on the chip, or with `sdram` the board's. Raises CheckFailed where the clock is not reached.
        """
        from fgnas.board.bitstream import build_bitstream

        return build_bitstream(self.directory, *self._system(board, clock_mhz, memory_kb, sdram), seed)

    def simulate_board(
        self, board: str = "ulx3s-85f", clock_mhz: float | None = None, memory_kb: int | None = None,
        sdram: bool = False, netlist: bool = False,
    ) -> dict[str, Any]:
        """Run the vectors on the whole system of a board in Verilator, over its serial line; returns mismatches, …

        With `netlist` it is the netlist of the bitstream instead of the RTL.
        """
        from fgnas.board.assembly import System
        from fgnas.board.run import run_netlist, run_simulated
        from fgnas.board.simulated import QUICK_CYCLES_OF_A_BIT

        if netlist and sdram:
            raise UserError("a netlist is simulated with its memory on the chip: leave out --sdram")
        known, system = self._system(board, clock_mhz, memory_kb, sdram)
        if netlist:
            return run_netlist(self.directory, system, known)
        quick = System(system.clock_hz, system.clock_hz // QUICK_CYCLES_OF_A_BIT, system.memory)
        return run_simulated(self.directory, quick, known.baud)

    def run(self, port: str, baud: int | None = None, vectors: Path | None = None) -> dict[str, Any]:
        """Run the vectors, or those in another folder, on the board at a serial port or socket://HOST:PORT."""
        from fgnas.board.boards import find_board
        from fgnas.board.platform import connect, driver_of
        from fgnas.board.run import run_project

        self._needs_own()
        driver_of(self.directory)
        if vectors is not None and not (vectors / "vectors.json").is_file():
            raise UserError(f"{vectors} has no vectors.json: name a folder like {self.directory / 'vectors'}")
        speed = baud or find_board("ulx3s-85f").baud
        with connect(port, speed) as board:
            return run_project(board, self.directory, speed, vectors)

    def _system(
        self, name: str, clock_mhz: float | None, memory_kb: int | None, sdram: bool
    ) -> tuple[Board, System]:
        """A board by name, and the system of this project on it."""
        from fgnas.board.assembly import system_for
        from fgnas.board.boards import find_board

        self._needs_own()
        board = find_board(name)
        return board, system_for(self.directory, board, clock_mhz, memory_kb, sdram)

    @property
    def _traces(self) -> bool:
        """Whether every stage of the project's hardware can be traced."""
        try:
            summary = json.loads((self.directory / "report" / "accelerator.json").read_text(encoding="utf-8"))
            return described_kind(summary).traces
        except (OSError, ValueError, AttributeError):
            return True

    def _needs_own(self) -> None:
        """Raise UserError where the folder holds several accelerators, or none of its own."""
        self._needs_one()
        check_own(self.directory)

    def _needs_folder(self) -> None:
        """Raise UserError where a file, such as a design, is in place of the folder."""
        if self.directory.is_file():
            raise UserError(f"{self.directory} is a file, not a project: write one with `fgnas hls {self.directory}`")

    def _needs_one(self) -> None:
        """Raise UserError where the folder holds several accelerators."""
        self._needs_folder()
        if self._is_mapped:
            raise UserError(f"{self.directory} holds several accelerators: name one, such as {self._accelerators()}")

    @property
    def _is_mapped(self) -> bool:
        """Whether the folder is of a mapped network, and holds a project for each of its accelerators."""
        return (self.directory / MAPPING).is_file()

    @property
    def _is_called(self) -> bool:
        """Whether the project runs its network in several calls."""
        return bool(calls_of(self.directory))

    def _accelerators(self) -> str:
        """The folders of a mapped network's accelerators."""
        return " or ".join(str(path.parent) for path in sorted(self.directory.glob(f"*/{MARK}")))

    @property
    def exists(self) -> bool:
        """Whether the folder holds a project."""
        return (self.directory / MARK).is_file()

    def report(self, page: Path | None = None, data: Data | None = None, fpga: str | None = None) -> Path:
        """Write the page, to report.html in the folder or to `page`; returns where.

        `data` is needed for accuracies if the project was made from a file. Resources are compared with `fpga`, a
        device's name or file, or else with the part that the project was written for. The page of a mapped network
        leads to those of its accelerators.
        """
        from fgnas.hardware.devices import find_device
        from fgnas.report.make import report_project

        device = find_device(fpga) if fpga else None
        return report_project(self.directory, page, None if data is None else data_of(data), device)


class Checked(ABC):
    """Hardware that can be written as a project. Its checks use a temporary project."""

    @abstractmethod
    def write(self, directory: str | os.PathLike[str]) -> Project:
        """Write the project."""

    @functools.cached_property
    def _project(self) -> Project:
        """A temporary project for the checks below, deleted with the accelerator."""
        folder = tempfile.TemporaryDirectory(prefix="fgnas-")
        project = self.write(Path(folder.name) / "project")
        object.__setattr__(project, "keeps", folder)
        return project

    def csim(self) -> dict[str, Any]:
        """As `Project.csim`."""
        return self._project.csim()

    def simulate(self) -> dict[str, Any]:
        """As `Project.simulate`."""
        return self._project.simulate()

    def synthesise(self, family: str | None = None, fpga: str | None = None) -> dict[str, Any]:
        """As `Project.synthesise`."""
        return self._project.synthesise(family, fpga)


FAULTS = (
    "mismatches", "hangs", "failed_checks", "protocol_errors", "status", "cycle_difference", "phase_differences",
)  # fmt: skip
"""Fields of a check's report that must be zero."""


def passed(result: dict[str, Any]) -> bool:
    """Whether a check found no difference."""
    return not any(result.get(name) for name in FAULTS) and ("again" not in result or passed(result["again"]))


def doctor() -> list[Need]:
    """The external tools: installed or missing, the effect of a missing one, and the command that installs it."""
    from fgnas.tools.doctor import examine

    return examine()
