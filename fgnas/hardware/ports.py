"""The kernel's ports as data: two AXI4 managers, an AXI4-Lite subordinate, clock, reset and interrupt.

The SystemVerilog kernel, its Verilog wrapper and the script that packages both are made from this list. The names are
those that Vitis HLS gives to the ports of the C++ kernel, so that benches, block designs and drivers take either.
"""

from __future__ import annotations

from dataclasses import dataclass

from fgnas.hardware import wire

CLOCK, RESET, INTERRUPT = "ap_clk", "ap_rst_n", "interrupt"
CONTROL = "s_axi_control"
READ, WRITE = "m_axi_gmem_read", "m_axi_gmem_write"


@dataclass(frozen=True)
class Port:
    """One port of the kernel.

    Attributes:
        name: the port's name.
        output: whether the kernel drives it.
        bits: its width; None for a single wire, where 1 is a vector of one bit.
        width: `bits` in SystemVerilog: a constant of the package, or a number that AXI fixes.
        interface: the bus that it belongs to, and `signal`, its name on that bus; both empty outside a bus.
    """

    name: str
    output: bool
    bits: int | None = None
    width: str = ""
    interface: str = ""
    signal: str = ""

    def range(self, named: bool = True) -> str:
        """The packed dimension, such as [63:0] or, named, [fgnas_pkg::AddressBits-1:0]; empty for a single wire."""
        if self.bits is None:
            return ""
        return f"[{self.width}-1:0]" if named and not self.width.isdigit() else f"[{self.bits - 1}:0]"


@dataclass(frozen=True)
class Manager:
    """An AXI4 interface on which the kernel accesses memory, in one direction."""

    name: str
    reads: bool

    @property
    def mode(self) -> str:
        """The value of the interface's parameter READ_WRITE_MODE."""
        return "READ_ONLY" if self.reads else "WRITE_ONLY"


PAGE_BYTES = 4096
"""No burst crosses a page."""

MANAGERS = (Manager(READ, reads=True), Manager(WRITE, reads=False))

_Signal = tuple[str, bool, str]
"""Name, whether the manager drives it, and width: a name of _WIDTHS, a number, or "" for a single wire."""
_WIDTHS = {
    "AddressBits": wire.ADDRESS_BITS,
    "RegisterBits": wire.REGISTER_BITS,
    "RegisterBytes": wire.REGISTER_BITS // 8,
    "RegisterAddressBits": wire.REGISTER_ADDRESS_BITS,
}
_BEAT_WIDTHS = {"BeatBits": 1, "BeatBytes": 8}
"""Widths that follow from the memory port: the bits of a beat by what they are divided by."""
_ADDRESS: tuple[_Signal, ...] = (
    ("ADDR", True, "AddressBits"), ("ID", True, "1"), ("LEN", True, "8"), ("SIZE", True, "3"), ("BURST", True, "2"),
    ("LOCK", True, "2"), ("CACHE", True, "4"), ("PROT", True, "3"), ("QOS", True, "4"), ("REGION", True, "4"),
    ("USER", True, "1"), ("VALID", True, ""), ("READY", False, ""),
)  # fmt: skip
_FULL: tuple[_Signal, ...] = (
    *((f"AW{name}", drives, width) for name, drives, width in _ADDRESS),
    ("WDATA", True, "BeatBits"), ("WSTRB", True, "BeatBytes"), ("WLAST", True, ""), ("WID", True, "1"),
    ("WUSER", True, "1"), ("WVALID", True, ""), ("WREADY", False, ""),
    ("BRESP", False, "2"), ("BID", False, "1"), ("BUSER", False, "1"), ("BVALID", False, ""), ("BREADY", True, ""),
    *((f"AR{name}", drives, width) for name, drives, width in _ADDRESS),
    ("RDATA", False, "BeatBits"), ("RRESP", False, "2"), ("RLAST", False, ""), ("RID", False, "1"),
    ("RUSER", False, "1"), ("RVALID", False, ""), ("RREADY", True, ""),
)  # fmt: skip
_LITE: tuple[_Signal, ...] = (
    ("AWADDR", True, "RegisterAddressBits"), ("AWVALID", True, ""), ("AWREADY", False, ""),
    ("WDATA", True, "RegisterBits"), ("WSTRB", True, "RegisterBytes"), ("WVALID", True, ""), ("WREADY", False, ""),
    ("BRESP", False, "2"), ("BVALID", False, ""), ("BREADY", True, ""),
    ("ARADDR", True, "RegisterAddressBits"), ("ARVALID", True, ""), ("ARREADY", False, ""),
    ("RDATA", False, "RegisterBits"), ("RRESP", False, "2"), ("RVALID", False, ""), ("RREADY", True, ""),
)  # fmt: skip


def _bus(interface: str, signals: tuple[_Signal, ...], manager: bool, beat_bits: int) -> tuple[Port, ...]:
    """The ports of a bus on which the kernel is the manager or the subordinate."""
    named = {*_WIDTHS, *_BEAT_WIDTHS}
    return tuple(
        Port(
            f"{interface}_{signal}", drives == manager, _bits(width, beat_bits),
            f"fgnas_pkg::{width}" if width in named else width, interface, signal,
        )
        for signal, drives, width in signals
    )  # fmt: skip


def _bits(width: str, beat_bits: int) -> int | None:
    if width in _BEAT_WIDTHS:
        return beat_bits // _BEAT_WIDTHS[width]
    return _WIDTHS.get(width, int(width) if width.isdigit() else None)


def ports_of(beat_bits: int) -> tuple[Port, ...]:
    """Every port of a kernel with memory ports of so many bits, in order."""
    return (
        Port(CLOCK, False),
        Port(RESET, False),
        *(port for manager in MANAGERS for port in _bus(manager.name, _FULL, True, beat_bits)),
        *_bus(CONTROL, _LITE, False, beat_bits),
        Port(INTERRUPT, True),
    )


PORTS = ports_of(wire.BEAT_BITS)
"""Every port of the pipeline's kernel, in order."""


def longest_burst(beat_bits: int) -> int:
    """Beats of the longest burst: a page; with beats of 128 bits also what AXI4 allows."""
    return PAGE_BYTES * 8 // beat_bits


def manager_of(register: wire.Register) -> str:
    """The manager that accesses the region of an address register; empty for other registers."""
    reads = register.name != wire.OUTPUT_REGION
    addresses = register.bits == wire.ADDRESS_BITS
    return next((manager.name for manager in MANAGERS if addresses and manager.reads == reads), "")
