"""The cocotb test that `fgnas sim` runs: one graph through the kernel's AXI ports, whatever its size.

Python only writes registers and waits for the interrupt; the bench's memory serves the kernel. The job is a JSON
file (environment variable FGNAS_SIM_JOB): a list of runs, each with registers and settings, and the region to dump.
"""

import json
import os
import time
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import First, ReadOnly, RisingEdge, Timer

PERIOD_NS = 10


class Bench:
    """Drives clock, reset and the control port."""

    def __init__(self, dut):
        self.dut = dut
        for name in ("AWVALID", "WVALID", "BREADY", "ARVALID", "RREADY"):
            getattr(dut, f"s_axi_control_{name}").value = 0
        dut.dump_i.value = 0
        dut.blank_i.value = 0
        dut.stall_seed_i.value = 0
        dut.coupling_i.value = 0
        Clock(dut.ap_clk, PERIOD_NS, unit="ns", impl="gpi").start()

    async def reset(self):
        """Hold the reset for some cycles."""
        self.dut.ap_rst_n.value = 0
        for _ in range(8):
            await RisingEdge(self.dut.ap_clk)
        self.dut.ap_rst_n.value = 1
        await RisingEdge(self.dut.ap_clk)

    async def _until(self, *signals):
        """Wait until each signal was high at a clock edge; returns after the last of those edges."""
        waiting = set(signals)
        while waiting:
            await ReadOnly()
            seen = {name for name in waiting if int(getattr(self.dut, name).value)}
            await RisingEdge(self.dut.ap_clk)
            for name in seen:
                if name.endswith("READY"):
                    getattr(self.dut, name.replace("READY", "VALID")).value = 0
            waiting -= seen

    async def write(self, address, value):
        """Write a 32-bit register."""
        dut = self.dut
        dut.s_axi_control_AWADDR.value = address
        dut.s_axi_control_WDATA.value = value
        dut.s_axi_control_WSTRB.value = 15
        dut.s_axi_control_AWVALID.value = 1
        dut.s_axi_control_WVALID.value = 1
        dut.s_axi_control_BREADY.value = 1
        await self._until("s_axi_control_AWREADY", "s_axi_control_WREADY")
        await self._until("s_axi_control_BVALID")
        dut.s_axi_control_BREADY.value = 0

    async def read(self, address):
        """Read a 32-bit register."""
        dut = self.dut
        dut.s_axi_control_ARADDR.value = address
        dut.s_axi_control_ARVALID.value = 1
        await self._until("s_axi_control_ARREADY")
        while True:
            await ReadOnly()
            if int(dut.s_axi_control_RVALID.value):
                break
            await RisingEdge(dut.ap_clk)
        value = int(dut.s_axi_control_RDATA.value)
        await RisingEdge(dut.ap_clk)
        dut.s_axi_control_RREADY.value = 1
        await RisingEdge(dut.ap_clk)
        dut.s_axi_control_RREADY.value = 0
        return value

    def phase_cycles(self):
        """The cycle of each phase's first read."""
        cycles = int(self.dut.phase_cycles_o.value)
        return [cycles >> (64 * phase) & (2**64 - 1) for phase in range(int(self.dut.phases_o.value))]

    async def pulse(self, signal):
        """Set a signal for one clock edge."""
        signal.value = 1
        await RisingEdge(self.dut.ap_clk)
        await RisingEdge(self.dut.ap_clk)
        signal.value = 0
        await RisingEdge(self.dut.ap_clk)

    async def dump(self, job):
        """Write the kernel's result to a file."""
        self.dut.dump_first_i.value, self.dut.dump_last_i.value = job["dump"]
        await self.pulse(self.dut.dump_i)

    async def run(self, job):
        """Start the kernel and wait for its interrupt; returns the bench's counts, or {"timeout": True}."""
        dut = self.dut
        await self.pulse(dut.blank_i)
        dut.read_latency_i.value = job["read_latency"]
        dut.write_latency_i.value = job["write_latency"]
        dut.beat_pace_i.value = job["beat_pace"]
        unused = [2**32 - 1] * (8 - len(job["regions"]))
        dut.regions_i.value = sum(beat << (32 * place) for place, beat in enumerate([*job["regions"], *unused]))
        for address, value in job["registers"]:
            await self.write(address, value)
        control = job["control"]
        await self.write(control["global_interrupt_enable"], 1)
        await self.write(control["interrupt_enable"], 1)
        interrupt = RisingEdge(dut.interrupt_o)
        limit = Timer(PERIOD_NS * job["limit_cycles"], unit="ns")
        begun = time.process_time()
        await self.write(control["control"], job["start"])
        if not int(dut.interrupt_o.value) and await First(interrupt, limit) is limit:
            return {"timeout": True}
        seconds = time.process_time() - begun
        for _ in range(4):
            await RisingEdge(dut.ap_clk)
        result = {
            "timeout": False,
            "seconds": seconds,
            "cycles": int(dut.cycles_o.value),
            "phase_cycles": self.phase_cycles(),
            "beats_read": int(dut.beats_read_o.value),
            "beats_written": int(dut.beats_written_o.value),
            "protocol_errors": int(dut.protocol_errors_o.value),
            "status": await self.read(job["status_register"]),
            "control": await self.read(control["control"]),
        }
        await self.write(control["interrupt_status"], 1)
        return result


@cocotb.test()
async def whole_graph(dut):
    """Do every run of the job, dump the output region, and write the results."""
    job = json.loads(Path(os.environ["FGNAS_SIM_JOB"]).read_text())
    bench = Bench(dut)
    results = []
    for number, run in enumerate(job["runs"]):
        dut.stall_seed_i.value = run["stall_seed"]
        dut.coupling_i.value = run["coupling"]
        if number == 0 or run["reset_before"]:
            await bench.reset()
        results.append(await bench.run(run))
        if results[-1]["timeout"]:
            break
        await bench.dump(job)
        os.replace(job["dump_file"], f"{job['dump_file']}.{number}")
    Path(job["result"]).write_text(json.dumps(results))
