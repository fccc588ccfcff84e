"""The cocotb test for the protocol tests: many runs of one kernel against an independent memory model.

Main memory and the control port's master come from cocotbext-axi, which checks bursts and WLAST on its own. The jobs
are a JSON file (environment variable FGNAS_PROTOCOL_JOBS), run one after the other without a reset between them unless
one asks for it; `tests/tools/test_protocol.py` writes them and says what must come back.
"""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, First, RisingEdge
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiRamRead, AxiRamWrite, AxiReadBus, AxiWriteBus

PERIOD_NS = 10


class Reads(AxiRamRead):
    """Answers SLVERR within `bad` and outside the memory."""

    bad = range(0)

    async def _read(self, address, length):
        if address in self.bad or address + length > self.size:
            raise OSError("no such memory")
        return await super()._read(address, length)


class Writes(AxiRamWrite):
    """Answers SLVERR within `bad` and outside the memory; records the addresses written."""

    bad = range(0)
    touched = set()

    async def _write(self, address, data):
        self.touched.update(range(address, address + len(data), 16))
        if address in self.bad or address + len(data) > self.size:
            raise OSError("no such memory")
        await super()._write(address, data)


def pauses(seed, share):
    """Pauses of a channel, cycle by cycle: at random times, for random durations."""
    chance = random.Random(seed)
    while True:
        rests = chance.random() < share
        for _ in range(chance.randint(1, 6)):
            yield rests


class Kernel:
    """The kernel with its memory and its host."""

    def __init__(self, dut, size):
        self.dut = dut
        dut.ap_rst_n.value = 0
        Clock(dut.ap_clk, PERIOD_NS, unit="ns", impl="gpi").start()
        reset = {"clock": dut.ap_clk, "reset": dut.ap_rst_n, "reset_active_level": False}
        self.memory = bytearray(size)
        self.reads = Reads(AxiReadBus.from_prefix(dut, "m_axi_gmem_read"), size=size, mem=self.memory, **reset)
        self.writes = Writes(AxiWriteBus.from_prefix(dut, "m_axi_gmem_write"), size=size, mem=self.memory, **reset)
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), **reset)
        for slave in (self.reads, self.writes, self.host.read_if, self.host.write_if):
            slave.log.setLevel("ERROR")
        cocotb.start_soon(self.count_writes())

    async def reset(self):
        """Hold the reset for some cycles."""
        self.dut.ap_rst_n.value = 0
        self.asked = self.ended = 0
        self.within = False  # a burst, some of whose beats were accepted
        await ClockCycles(self.dut.ap_clk, 8)
        self.dut.ap_rst_n.value = 1
        await ClockCycles(self.dut.ap_clk, 2)

    async def count_writes(self):
        """Count the addresses that the memory accepted, and the bursts of which it accepted the last beat."""
        bus = self.dut
        while True:
            await FallingEdge(bus.ap_clk)  # all signals are settled: what is high now is accepted at the next edge
            self.asked += int(bus.m_axi_gmem_write_AWVALID.value) & int(bus.m_axi_gmem_write_AWREADY.value)
            if int(bus.m_axi_gmem_write_WVALID.value) & int(bus.m_axi_gmem_write_WREADY.value):
                self.within = not int(bus.m_axi_gmem_write_WLAST.value)
                self.ended += not self.within

    def waits(self, coupling):
        """(whether AWREADY waits, whether WREADY waits) in a memory that couples the two; see bench.sv."""
        address, data = (int(getattr(self.dut, f"m_axi_gmem_write_{name}").value) for name in ("AWVALID", "WVALID"))
        if coupling == "address_after_data":
            return not data, self.asked == self.ended
        if coupling == "data_first":
            return self.asked >= self.ended, False
        if coupling == "together":
            apart = not (address and data)
            return apart or self.within, apart and not self.within and self.asked == self.ended
        return False, False

    def stall(self, seed, share, coupling):
        """Pause all five channels of the memory at random, independently, and those of writes as they are coupled."""
        channels = (
            self.reads.ar_channel, self.reads.r_channel,
            self.writes.b_channel, self.writes.aw_channel, self.writes.w_channel,
        )  # fmt: skip

        def coupled(rests, place):
            for rest in rests:
                yield rest or self.waits(coupling)[place]

        # By default it keeps two beats that precede their address.
        self.writes.w_channel.queue_occupancy_limit = -1 if coupling == "data_first" else 2
        for number, channel in enumerate(channels):
            rests = pauses(f"{seed}.{number}", share)
            if coupling != "address_first" and number >= 3:
                rests = coupled(rests, number - 3)
                channel.pause = True
            elif not share:
                rests = None
            channel.set_pause_generator(rests)
            if rests is None:
                channel.pause = False

    async def meddle(self, job):
        """What a host does during a run that it should not: write into arguments, as often as the port allows."""
        chance = random.Random(job["rewrites"])
        await ClockCycles(self.dut.ap_clk, 1 + chance.randrange(4))
        while self.running:
            offset, _ = chance.choice(job["registers"])
            await self.host.write_dword(offset, chance.getrandbits(32))

    async def stop(self, job):
        """Stop the run after some cycles."""
        await ClockCycles(self.dut.ap_clk, 1 + job["stop_after"])
        await self.host.write_dword(job["control"]["control"], job["stop"])
        self.stopped_at = get_sim_time("ns")

    async def run(self, job):
        """Run from one start to one interrupt; returns the view of the host and of the memory."""
        image = Path(job["image"]).read_bytes()
        self.memory[: len(image)] = image
        self.reads.bad, self.writes.bad = range(*job["bad_reads"]), range(*job["bad_writes"])
        self.writes.touched = set()
        self.stall(job["stall_seed"], job["stall_share"], job["coupling"])
        if job["reset_before"]:
            await self.reset()
        for address, value in job["registers"]:
            await self.host.write_dword(address, value)
        control, pending = job["control"]["control"], job["control"]["interrupt_status"]
        await self.host.write_dword(job["control"]["global_interrupt_enable"], 1)
        await self.host.write_dword(job["control"]["interrupt_enable"], 1)
        finished = RisingEdge(self.dut.interrupt)
        limit = ClockCycles(self.dut.ap_clk, job["limit_cycles"])
        await self.host.write_dword(control, job["start"])
        self.running, self.stopped_at = True, None
        asked = {"rewrites": self.meddle, "stop_after": self.stop}
        others = [cocotb.start_soon(other(job)) for name, other in asked.items() if job[name] is not None]
        ended = int(self.dut.interrupt.value) or await First(finished, limit) is not limit
        end, self.running = get_sim_time("ns"), False
        for other in others:
            await other
        if not ended:
            return {"ended": False}
        result = {
            "ended": True,
            "cycles_to_stop": None if self.stopped_at is None else round((end - self.stopped_at) / PERIOD_NS),
            "status": await self.host.read_dword(job["status_register"]),
            "control": [await self.host.read_dword(control) for _ in range(2)],
            "stray": int(self.dut.stray.value),
            "touched": sorted(self.writes.touched),
            "memory": self.memory[slice(*job["result"])].hex(),
        }
        await self.host.write_dword(pending, await self.host.read_dword(pending))
        result["interrupt"] = int(self.dut.interrupt.value)
        return result


@cocotb.test()
async def protocol(dut):
    """Run every job and report."""
    jobs = json.loads(Path(os.environ["FGNAS_PROTOCOL_JOBS"]).read_text())
    kernel = Kernel(dut, jobs["memory_bytes"])
    await kernel.reset()
    results = []
    for job in jobs["runs"]:
        results.append(await kernel.run(job))
        if not results[-1]["ended"]:
            kernel.stall(0, 0, "address_first")
            await kernel.reset()
    Path(jobs["results"]).write_text(json.dumps(results))
