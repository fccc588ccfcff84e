"""Runs of a kernel on the bus of sim/protocol.py, for the tests of every accelerator."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

from support import run_on_face

from fgnas.hardware import wire
from fgnas.tools.simulate import COUPLINGS

PAGE = 4096
MEMORY_BYTES = 1 << 18
UNTOUCHED = 0x5A
LIMIT_CYCLES = 60_000
"""The watchdog: many times the slowest run."""


@dataclass(frozen=True, kw_only=True)
class BusRun:
    """One start of a kernel: its regions, their addresses, and the behaviour of the memory.

    A subclass names the registers of its kernel, and has a field for each argument that is no address.

    Attributes:
        regions: bytes of every region that the kernel reads.
        expected: bytes of the right logits.
        places: address of each region, and of the logits.
        bad_reads, bad_writes: addresses that answer SLVERR.
        stall_seed, stall_share: when, and for which share of time, the memory's channels rest.
        coupling: how the memory's write channels wait for each other, as in `COUPLINGS`.
        limit_cycles: cycle at which the watchdog fires.
        stop_after: cycles from the start to the host's stop; None for a host that stops no run.
        rewrites: seed of a host that writes into arguments of a run at random, as often as the port allows; None for
            one that writes none.
    """

    REGISTERS: ClassVar[Sequence[wire.Register]]

    regions: dict[str, bytes]
    expected: bytes
    places: dict[str, int]
    bad_reads: range = range(0)
    bad_writes: range = range(0)
    stall_seed: int = 0
    stall_share: float = 0.0
    coupling: str = COUPLINGS[0]
    reset_before: bool = False
    limit_cycles: int = LIMIT_CYCLES
    stop_after: int | None = None
    rewrites: int | None = None

    def at(self, offset: int) -> Self:
        """The same regions, each so many bytes into a page of its own."""
        return replace(self, places=placed(self.regions, offset))

    def image(self) -> bytes:
        """Main memory before the run."""
        memory = bytearray([UNTOUCHED]) * MEMORY_BYTES
        for name, content in self.regions.items():
            memory[self.places[name] : self.places[name] + len(content)] = content
        return bytes(memory)

    def values(self) -> dict[str, int]:
        """Values of the arguments, by name, beside other attributes."""
        return vars(self) | self.places

    def registers(self) -> list[tuple[int, int]]:
        """(offset, value) of every argument."""
        values = self.values()
        return [
            (register.offset + 4 * word, values[register.name] >> (32 * word) & 0xFFFFFFFF)
            for register in self.REGISTERS if register.access == "w" for word in range(register.bits // 32)
        ]  # fmt: skip

    def job(self, image: Path) -> dict[str, Any]:
        """The run as sim/protocol.py reads it."""
        image.write_bytes(self.image())
        first = self.places["logits"]
        return {
            "image": str(image),
            "registers": self.registers(),
            "status_register": next(one.offset for one in self.REGISTERS if one.name == "status"),
            "control": wire.CONTROL_OFFSETS,
            "start": wire.START,
            "stop": wire.STOP,
            "stop_after": self.stop_after,
            "rewrites": self.rewrites,
            "bad_reads": [self.bad_reads.start, self.bad_reads.stop],
            "bad_writes": [self.bad_writes.start, self.bad_writes.stop],
            "stall_seed": self.stall_seed,
            "stall_share": self.stall_share,
            "coupling": self.coupling,
            "reset_before": self.reset_before,
            "limit_cycles": self.limit_cycles,
            "result": [first, first + len(self.expected)],
        }


def placed(regions: dict[str, bytes], offset: int = 0) -> dict[str, int]:
    """An address for every region, the logits last, each so many bytes into a page of its own."""
    places, page = {}, PAGE
    for name, content in [*regions.items(), ("logits", b"")]:
        places[name] = page + offset
        page += -(-(offset + len(content)) // PAGE) * PAGE
    return places


def run_all(folder: Path, runs: Sequence[BusRun]) -> list[dict[str, Any]]:
    """Run one after the other in one simulation of the kernel that is built in `folder`/build; one result each."""
    jobs = [run.job(folder / f"{number}.bin") for number, run in enumerate(runs)]
    results, listing = folder / "results.json", folder / "jobs.json"
    results.unlink(missing_ok=True)
    listing.write_text(json.dumps({"runs": jobs, "memory_bytes": MEMORY_BYTES, "results": str(results)}))
    run_on_face("protocol", folder, FGNAS_PROTOCOL_JOBS=str(listing))
    assert results.is_file(), f"the memory model found a fault: see {folder / 'run.log'}"
    found: list[dict[str, Any]] = json.loads(results.read_text())
    for run, result in zip(runs, found, strict=True):
        assert_orderly(run, result)
    return found


def assert_orderly(run: BusRun, result: dict[str, Any]) -> None:
    """Invariants of every run that ended: done is read once, idle after, and no write strays."""
    if not result["ended"]:
        return
    first, second = result["control"]
    assert (first & 0b110, second & 0b110) == (0b110, 0b100)
    assert result["interrupt"] == 0, "acknowledged, and still there"
    assert result["stray"] == 0
    region = range(run.places["logits"], run.places["logits"] + len(run.expected), wire.BEAT_BYTES)
    assert set(result["touched"]) <= set(region)


def assert_right(run: BusRun, result: dict[str, Any]) -> None:
    assert result["ended"], "the watchdog bit"
    assert result["status"] == 0
    assert result["memory"] == run.expected.hex()
