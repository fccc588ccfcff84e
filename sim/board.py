"""The cocotb test for the driver's tests: a project's own driver.py on a simulated board.

The driver runs in a thread and believes in PYNQ: its register accesses become AXI transactions of the kernel's control
port, its buffers are in the memory that the kernel reads and writes. A buffer has a cache as on a board: what is not
flushed does not reach the kernel, what is not invalidated does not come back. The job is a JSON file (environment
variable FGNAS_BOARD_JOB): the driver, and calls of `Kernel.run`, each with its arrays and a place for its answer.
"""

import importlib.util
import json
import os
import sys
import types
from pathlib import Path

import cocotb
import numpy as np
from cocotb.task import bridge, resume
from protocol import Kernel

PAGE = 4096
NAME = "fgnas_top_0"


class Buffer(np.ndarray):
    """A buffer as `pynq.allocate` returns it."""

    def flush(self):
        """Write the cache back."""
        self.board.memory[self.device_address : self.device_address + self.nbytes] = self.tobytes()

    def invalidate(self):
        """Invalidate the cache."""
        content = self.board.memory[self.device_address : self.device_address + self.nbytes]
        self[...] = np.frombuffer(bytes(content), self.dtype).reshape(self.shape)

    def freebuffer(self):
        """Free the memory."""
        self.board.live.remove(self.device_address)


class Board:
    """Memory and one kernel, with PYNQ's interface."""

    def __init__(self, kernel):
        self.memory, self.live, self.place = kernel.memory, [], PAGE

        @resume
        async def write(offset, value):
            await kernel.host.write_dword(offset, value)

        @resume
        async def read(offset):
            return await kernel.host.read_dword(offset)

        registers = types.SimpleNamespace(write=write, read=read)
        self.pynq = types.ModuleType("pynq")
        self.pynq.Overlay = lambda bitstream: types.SimpleNamespace(**{NAME: registers})
        self.pynq.allocate = self.allocate

    def allocate(self, shape, dtype):
        """A buffer on a new page, never one that was used before."""
        buffer = np.full(shape, 0x5A, dtype).view(Buffer)
        buffer.board, buffer.device_address = self, self.place
        self.live.append(self.place)
        self.place += -(-buffer.nbytes // PAGE) * PAGE
        assert self.place <= len(self.memory)
        return buffer


def load_driver(path):
    """The driver as a module."""
    spec = importlib.util.spec_from_file_location("driver", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def host(board, job):
    """Run the board's program: every call of the job, with the result of each."""
    sys.modules["pynq"] = board.pynq
    driver = load_driver(job["driver"])
    kernel = driver.Kernel("design.bit")
    outcomes = []
    for call in job["calls"]:
        with np.load(call["graph"]) as graph:
            arguments = dict(graph)
        try:
            logits = kernel.run(**arguments, timeout_s=call["timeout_s"])
        except (driver.KernelError, TimeoutError) as error:
            outcomes.append({"error": type(error).__name__, "message": str(error)})
            assert kernel.idle, "a run that was given up has stopped"
        else:
            np.save(call["answer"], logits)
            outcomes.append({"error": None})
        assert len(board.live) == len(kernel._kept), "only the driver's own buffers stay"
    kernel.close()
    assert not board.live
    return outcomes


@cocotb.test()
async def board(dut):
    """Run the driver and report."""
    job = json.loads(Path(os.environ["FGNAS_BOARD_JOB"]).read_text())
    kernel = Kernel(dut, job["memory_bytes"])
    await kernel.reset()
    outcomes = await bridge(host)(Board(kernel), job)
    Path(job["result"]).write_text(json.dumps(outcomes))
