"""The controller of an SDR SDRAM, from LiteDRAM: an AXI4 port for the memory's pins, as Verilog.

LiteDRAM brings the chips' timings, the controller with its refresh, the conversion of widths and the AXI port. Its own
start-up is a program for a processor in the chip; here the same commands, which LiteDRAM lists, are played by a
counter. The registers of the pins are not part of it: they are cells of a part.
"""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

from fgnas.extras import require

MODULE = "board_litedram"
LEAST_WAIT = 16
"""Cycles between two commands of the start-up, at least: more than a refresh or a mode register takes."""
CAS_LATENCY = 2
EARLIER = 4
"""Cycles by which a refresh comes before its time: as many rows of them are longer than the start-up after a reset."""


@dataclass(frozen=True)
class Chip:
    """A memory chip on a board.

    Attributes:
        module: its name in LiteDRAM.
        data_bits: pins of data.
        row_bits: pins of addresses.
    """

    module: str
    data_bits: int = 16
    row_bits: int = 13

    @property
    def bytes(self) -> int:
        """Its size."""
        geometry = _library().module(self.module)
        return geometry.nbanks * geometry.nrows * geometry.ncols * self.data_bits // 8


def controller(chip: Chip, clock_hz: int, beat_bits: int) -> str:
    """The Verilog of the controller at a clock, with an AXI port of so many bits. Raises UserError without LiteDRAM."""
    from migen.fhdl.structure import ClockDomain, Signal

    library = _library()
    core = library.build(chip, clock_hz, beat_bits)
    ports: set[Any] = {signal for signal in core.ports if isinstance(signal, Signal)}
    core.clock_domains.cd_sys = ClockDomain("sys")
    ports |= {core.cd_sys.clk, core.cd_sys.rst}
    from litex.gen.fhdl import verilog

    with redirect_stdout(io.StringIO()):
        text = str(verilog.convert(core, ios=ports, name=MODULE))
    # Without what differs every time, so that an equal system is not built again.
    return re.sub(r"(?m)^//.*(Date|LiteX sha1|LiteX on).*\n", "", text)


def refresh_cycles(facts: Any, clock_hz: int) -> int:
    """Cycles from one refresh to the next. LiteDRAM rounds this time up as it does the others, but it is a limit."""
    return int(facts.get("tREFI").ns * clock_hz // 1_000_000_000) - EARLIER


class _Library:
    """LiteDRAM, imported when it is needed."""

    def module(self, name: str) -> Any:
        """A chip's class."""
        from litedram import modules

        return getattr(modules, name)

    def build(self, chip: Chip, clock_hz: int, beat_bits: int) -> Any:
        """The controller with its ports."""
        from litedram.common import PhySettings
        from litedram.core import LiteDRAMCore
        from litedram.frontend.axi import LiteDRAMAXI2Native, LiteDRAMAXIPort
        from litedram.init import get_sdr_phy_init_sequence
        from litedram.phy.dfi import Interface
        from migen import Case, Cat, If, Module, Signal

        facts = self.module(chip.module)(clock_hz, "1:1")
        facts.timing_settings.tREFI = refresh_cycles(facts, clock_hz)
        core = Module()

        class Pins(Module):
            """The interface of GENSDRPHY without its registers, which a board's top puts into its pins."""

            def __init__(self) -> None:
                self.settings = PhySettings(
                    phytype="GENSDRPHY", memtype="SDR", databits=chip.data_bits, dfi_databits=chip.data_bits, nranks=1,
                    nphases=1, rdphase=0, wrphase=0, cl=CAS_LATENCY, read_latency=CAS_LATENCY + 1, write_latency=0,
                )  # fmt: skip
                self.dfi = Interface(chip.row_bits, 2, 1, chip.data_bits)
                one = self.dfi.p0
                driven = {
                    "a": one.address, "ba": one.bank, "cs_n": one.cs_n, "ras_n": one.ras_n, "cas_n": one.cas_n,
                    "we_n": one.we_n, "cke": one.cke, "dq_o": one.wrdata, "dq_oe": one.wrdata_en,
                    "dm": Cat(*(one.wrdata_en & bit for bit in one.wrdata_mask)),
                }  # fmt: skip
                self.ports = [Signal(len(source), name=f"sdram_{name}") for name, source in driven.items()]
                self.comb += [port.eq(source) for port, source in zip(self.ports, driven.values(), strict=True)]
                into = Signal(chip.data_bits, name="sdram_dq_i")
                enabled = Signal(self.settings.read_latency)
                self.sync += [enabled.eq(Cat(one.rddata_en, enabled)), one.rddata_valid.eq(enabled[-1])]
                self.comb += one.rddata.eq(into)
                self.ports.append(into)

        core.submodules.pins = pins = Pins()
        core.submodules.dram = dram = LiteDRAMCore(pins, facts.geom_settings, facts.timing_settings, clock_hz)
        axi = LiteDRAMAXIPort(data_width=beat_bits, address_width=32, id_width=1)
        core.submodules.axi = LiteDRAMAXI2Native(axi, dram.crossbar.get_port(data_width=beat_bits))

        # The start-up: each command for a cycle, then its wait.
        steps, _ = get_sdr_phy_init_sequence(pins.settings, facts.timing_settings)
        place, wait = Signal(max=len(steps) + 1), Signal(16)
        ready, issues = Signal(name="ready"), Signal()
        outside = dram.dfii.ext_dfi.p0
        core.comb += [
            ready.eq(place == len(steps)), dram.dfii.ext_dfi_sel.eq(~ready), issues.eq(wait == 0),
            outside.cke.eq(1), outside.cs_n.eq(1), outside.ras_n.eq(1), outside.cas_n.eq(1),
            outside.we_n.eq(1), outside.wrdata_en.eq(0), outside.rddata_en.eq(0),
        ]  # fmt: skip
        cases = {}
        waits = {}
        for number, (_, address, bank, command, cycles) in enumerate(steps):
            chosen = [outside.address.eq(address), outside.bank.eq(bank)]
            if "DFII_COMMAND" in command:
                chosen += [
                    If(issues, outside.cs_n.eq(0), *(
                        getattr(outside, f"{name.lower()}_n").eq(0) for name in ("RAS", "CAS", "WE")
                        if f"DFII_COMMAND_{name}" in command
                    ))
                ]  # fmt: skip
            cases[number] = chosen
            waits[number] = wait.eq(max(cycles, LEAST_WAIT))
        # The step's command goes out with its number; behind it its wait.
        core.comb += Case(place, cases)
        going = Signal()
        core.sync += [
            If(~ready,
                If(issues & ~going, Case(place, waits), going.eq(1)),
                If(~issues, wait.eq(wait - 1), If(wait == 1, going.eq(0), place.eq(place + 1))),
            ),
        ]  # fmt: skip

        ports = [ready]
        for channel, names in (
            ("aw", "addr burst len size id"), ("w", "data strb"), ("b", "resp id"), ("ar", "addr burst len size id"),
            ("r", "data resp id"),
        ):
            record = getattr(axi, channel)
            signals = {"valid": record.valid, "ready": record.ready}
            signals |= {name: getattr(record, name) for name in names.split()}
            if channel in ("w", "r"):
                signals["last"] = record.last
            for name, signal in signals.items():
                signal.name_override = f"{channel}{name}"
                ports.append(signal)
        core.ports = [*ports, *pins.ports]
        return core


def _library() -> _Library:
    require("litedram", "board")
    return _Library()
