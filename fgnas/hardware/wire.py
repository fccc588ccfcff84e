"""The kernel's interface to host and memory, as data: beats, fields, words, registers and status bits.

Host, C++ and RTL must agree about these facts bit by bit, so each is stated here and nowhere else. The SystemVerilog
package, the C++ header, the encoder, the driver, the test benches and the tables of the documentation come from them.
Readers name them through the module (`wire.EDGE`), so that a changed fact reaches all of them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Beats = NDArray[np.uint8]
"""[beats, bytes] of a region, little-endian within a beat."""
BEAT_BYTES = 16
"""Bytes of one transfer on the memory bus, the least significant at the lowest address."""
BEAT_BITS = 8 * BEAT_BYTES
WORD_BITS = 16
"""Bits of a word of attention vectors, biases and logits, sign-extended."""
BEAT_WORDS = BEAT_BITS // WORD_BITS
MEMORY_WORD_BITS = 64
"""Bits that a memory word of weights has in a beat: it fills them from the lowest, as it is stored in its memory."""
WEIGHT_WORDS = BEAT_BITS // MEMORY_WORD_BITS
"""Memory words of weights in a beat: as many as the memories of the first layer have ports."""

ADDRESS_BITS = 64
"""Bits of an address in main memory."""
REGISTER_BITS = 32
"""Bits of a word of the control port."""
REGISTER_ADDRESS_BITS = 7
"""Bits of an address on the control port, in bytes."""

COEFFICIENT_FRACTION_BITS = 8
"""A coefficient is an integer from 0 to 256 that represents 0 to 1."""
COEFFICIENT_BITS = COEFFICIENT_FRACTION_BITS + 1
LOGIT_BITS = 16
"""Bits that a logit saturates to; its word has WORD_BITS."""
LOGIT_EXTRA_BITS = 4
"""Fraction bits that logits have beyond those of their layer, so that they do not tie; see `logit_extra_bits`."""


def logit_extra_bits(width: int) -> int:
    """Fraction bits that logits have beyond those of a last layer whose values have so many bits: LOGIT_EXTRA_BITS, but
    none where a word does not hold both. Such values hardly tie."""
    return LOGIT_EXTRA_BITS if width + LOGIT_EXTRA_BITS <= WORD_BITS else 0


@dataclass(frozen=True)
class Field:
    """Bits with a name; `about` says in a few words what they hold."""

    name: str
    bits: int
    about: str


@dataclass(frozen=True)
class Layout:
    """Fields side by side, the first in the lowest bits, from bit `at` of a beat."""

    fields: tuple[Field, ...]
    at: int = 0

    @property
    def bits(self) -> int:
        """Bits of all fields together."""
        return sum(field.bits for field in self.fields)

    def place(self, name: str) -> tuple[int, int]:
        """First bit of a field, counted from the layout's own first bit, and how many bits it has."""
        return self.places[name]

    @functools.cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """`place` of every field by name."""
        starts = itertools.accumulate((field.bits for field in self.fields), initial=0)
        return {field.name: (start, field.bits) for field, start in zip(self.fields, starts, strict=False)}

    def pack(self, **values: NDArray[np.integer]) -> NDArray[np.uint64]:
        """[n] fields as [n] integers; of a value only the bits that its field has count."""
        if set(values) != {field.name for field in self.fields}:
            raise KeyError(f"a layout of {[field.name for field in self.fields]} is not filled by {list(values)}")
        packed = np.zeros(np.broadcast_shapes(*(np.shape(value) for value in values.values())), np.uint64)
        for name, value in values.items():
            start, bits = self.place(name)
            packed |= (np.asarray(value) & ((1 << bits) - 1)).astype(np.uint64) << np.uint64(start)
        return packed


EDGE = Layout((
    Field("source", 20, "the node whose features are gathered"),
    Field("coefficient", COEFFICIENT_BITS, "0 to 256, represents 0 to 1"),
    Field("last", 1, "the row ends here"),
))  # fmt: skip
"""One edge. A beat holds EDGES_PER_BEAT of them from bit 0; rows are sorted by target."""
EDGES_PER_BEAT = 4

FEATURE = Layout((
    Field("column", 14, "the feature's index"),
    Field("value", 10, "its code, sign-extended"),
))  # fmt: skip
"""One non-zero feature. A beat holds up to t_in of them from bit 0."""
FEATURE_TAIL = Layout((
    Field("count", 3, "lanes that hold a feature"),
    Field("last", 1, "a row ends here"),
    Field("split", 3, "where a row ends, the lanes from it on belong to the next row; else the count"),
), at=120)  # fmt: skip
"""The last byte of a beat of features."""


@dataclass(frozen=True)
class Register:
    """A word or a pair of words of the s_axilite interface."""

    name: str
    offset: int
    bits: int
    access: str
    about: str

    @property
    def vendor_name(self) -> str:
        """The name that Vitis gives to the register in an IP's register map."""
        return VENDOR_NAMES.get(self.name, self.name)


VENDOR_NAMES = {
    "control": "CTRL", "global_interrupt_enable": "GIER", "interrupt_enable": "IP_IER", "interrupt_status": "IP_ISR",
}  # fmt: skip
ACCESS = {"rw": "read-write", "w": "write-only", "r": "read-only"}
"""A register's access, as IP-XACT spells it."""
CONTROL_REGISTERS = (
    Register("control", 0x00, REGISTER_BITS, "rw",
             "bit 0 ap_start, 1 ap_done (cleared on read), 2 ap_idle, 3 ap_ready, 8 stop"),
    Register("global_interrupt_enable", 0x04, REGISTER_BITS, "rw", "bit 0"),
    Register("interrupt_enable", 0x08, REGISTER_BITS, "rw", "bit 0 ap_done, bit 1 ap_ready"),
    Register("interrupt_status", 0x0C, REGISTER_BITS, "rw", "bit 0 ap_done, bit 1 ap_ready; writing 1 toggles"),
)  # fmt: skip
CONTROL_OFFSETS = {register.name: register.offset for register in CONTROL_REGISTERS}
START, DONE, IDLE = 1 << 0, 1 << 1, 1 << 2
"""Bits of the control register, as Vitis HLS defines them."""
STOP = 1 << 8
"""Bit of the control register that ends a run early: beats that were asked for arrive, no further byte is written.
The kernels of Vitis HLS, which have no such bit, ignore it."""
ARGUMENTS_AT = 0x10


def assigned(*arguments: tuple[str, int, str, str]) -> tuple[Register, ...]:
    """Kernel arguments (name, bits, access, about) as registers, at the offsets that Vitis HLS assigns in their order.

    An argument's words are followed by one that holds no argument: reserved, or the valid bit of an output.
    """
    registers, offset = [], ARGUMENTS_AT
    for name, bits, access, about in arguments:
        registers.append(Register(name, offset, bits, access, about))
        offset += bits // 8 + 4
    return tuple(registers)


ARGUMENT_REGISTERS = assigned(
    ("nodes", REGISTER_BITS, "w", "N, 0 to the capacity"),
    ("feature_beats", REGISTER_BITS, "w", "beats of the feature region"),
    ("edge_beats", REGISTER_BITS, "w", "beats of the graph region"),
    ("parameters", ADDRESS_BITS, "w", "address of the parameter region, 16-byte aligned"),
    ("features", ADDRESS_BITS, "w", "address of the feature region, 16-byte aligned"),
    ("edges", ADDRESS_BITS, "w", "address of the graph region, 16-byte aligned"),
    ("logits", ADDRESS_BITS, "w", "address of the logit region, 16-byte aligned"),
    ("status", REGISTER_BITS, "r", "bits that say why the kernel refused or failed; 0 after a right run"),
)


def written(arguments: Sequence[Register]) -> list[Register]:
    """Those of a kernel's arguments that the host writes, in their order."""
    return [register for register in arguments if register.access == "w"]


def argument_offsets(arguments: Sequence[Register]) -> list[int]:
    """The offset of every word that the host writes of a kernel's arguments, in their order."""
    return [one.offset + at for one in written(arguments) for at in range(0, one.bits // 8, REGISTER_BITS // 8)]


OUTPUT_REGION = "logits"
"""The region that the kernel writes; it reads those of the other address registers."""

STATUS_BITS = {
    "nodes_over_capacity": 0,
    "unaligned_address": 1,
    "degree_over_capacity": 2,
    "stream_too_short": 3,
    "read_error": 4,
    "write_error": 5,
    "source_out_of_range": 6,
    "column_out_of_range": 7,
    "stopped": 8,
}
"""Bits of the status register. Sizes and addresses are checked before anything runs, rows while they stream; a kernel
that refuses writes nothing."""
RTL_STATUS = ("unaligned_address", "read_error", "write_error", "stopped")
"""Bits that only the RTL sets: C++ sees neither the low bits of a pointer nor a response of the bus, and no host during
a run."""


def markdown(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace("| --- |", "|---|").replace(" --- |", "---|")


def field_list(layout: Layout) -> str:
    """The fields in words: {source 20, coefficient 9, last 1}."""
    return "{" + ", ".join(f"{field.name} {field.bits}" for field in layout.fields) + "}"


def register_table(arguments: tuple[Register, ...] = ARGUMENT_REGISTERS) -> list[tuple[str, str, str, str]]:
    """Offsets, name, access and meaning of every register of a kernel with these arguments."""
    rows = []
    for register in CONTROL_REGISTERS + arguments:
        offsets = ", ".join(f"0x{register.offset + 4 * word:02X}" for word in range(register.bits // REGISTER_BITS))
        rows.append((offsets, f"`{register.name}`", register.access, register.about))
    return rows


def status_table() -> list[tuple[str, str]]:
    """Bit and meaning of every status bit."""
    return [
        (str(bit), name.replace("_", " ") + (" (RTL only)" if name in RTL_STATUS else ""))
        for name, bit in sorted(STATUS_BITS.items(), key=lambda item: item[1])
    ]


def region_table(lanes: str = "`t_in`") -> list[tuple[str, str]]:
    """The four regions of main memory and the layout of their beats; `lanes` counts the features in a beat."""
    tail = "; ".join(
        f"{field.name} at bit {FEATURE_TAIL.at + FEATURE_TAIL.place(field.name)[0]} "
        f"({field.bits} bit{'s' if field.bits > 1 else ''}): {field.about}"
        for field in FEATURE_TAIL.fields
    )
    return [
        ("parameters", f"by layer: weights, {WEIGHT_WORDS} memory words a beat, each in {MEMORY_WORD_BITS} bits; then "
                       f"attention vectors and biases, {WORD_BITS} bits each, a memory word a beat"),
        ("features", f"{lanes} × {field_list(FEATURE)} from bit 0; {tail}"),
        ("edges", f"{EDGES_PER_BEAT} × {field_list(EDGE)} from bit 0; rows by target, self-loops included"),
        ("logits", f"{WORD_BITS}-bit words, the row of each node padded to whole beats"),
    ]  # fmt: skip
