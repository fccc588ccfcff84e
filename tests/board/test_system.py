"""A whole system in Verilator with the driver at the other end of its line: logits, cycles, faults, resets."""

import json
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from bridges import Faults, FaultyLine
from support import random_design, random_graph, random_network

from fgnas.backends import array as array_project
from fgnas.backends import pipeline as pipeline_project
from fgnas.board import protocol
from fgnas.board.assembly import SYSTEM, OnChip, System, design_of, needed_bytes, on_chip
from fgnas.board.boards import find_board
from fgnas.board.line import LineError, Link, Request, open_line
from fgnas.board.platform import Connection, Platform, Registers, connect
from fgnas.board.run import run_project
from fgnas.board.simulated import build_system, serving
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.array.lowering import lower
from fgnas.hardware.array.placing import fit
from fgnas.hardware.pipeline.lowering import lower as lower_pipeline
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.tools import lint

LAST = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}
CLOCK_HZ = 50_000_000
PATIENT_S, FAULTY_S = 60.0, 1.0
"""Seconds for an answer on a good line and on a bad one."""


def array(folder: Path, beat_bits: int) -> None:
    """The project of a small network on an array, below it another graph and another network for the same array."""
    rng = np.random.default_rng(5)
    data = random_graph(rng, 40, 9, 11, 90)
    design = random_design(rng, 2, (LAST | {"k": 2, "d": 8, "activation": "tanh"}, LAST))
    network = random_network(rng, design, data)
    made = fit(array_network(design, network, GraphShape.of(data)), data, Arrangement(4, beat_bits=beat_bits))
    array_project.write_project(made, data, folder)
    other = random_graph(np.random.default_rng(8), 17, 9, 11, 30)
    array_project.write_step(made, other, folder / "graph", Specification(), network)
    turned = replace(network, layers=tuple(replace(layer, weight=-layer.weight) for layer in network.layers))
    again = lower(array_network(design, turned, made.source.shape), made.engine)
    array_project.write_step(again, data, folder / "network", Specification(), turned)


def pipeline(folder: Path) -> None:
    """The project of a small pipeline with attention."""
    rng = np.random.default_rng(7)
    gat = {"d": 4, "k": 2, "attention": "gat", "aggregation": "mean", "t_attn": 2, "t_aggr": 8}
    design = random_design(rng, 2, (gat, {"k": 2, "attention": "gcn", "aggregation": "add", "t_attn": None}))
    data = random_graph(rng, 40, 9, 11, 90)
    made = lower_pipeline(design, random_network(rng, design, data), GraphShape.of(data))
    pipeline_project.write_project(made, data, folder)


@dataclass
class Simulated:
    """A running board of a project."""

    project: Path
    system: System
    port: str
    program: Path

    def connect(self, timeout_s: float = PATIENT_S) -> Connection:
        return connect(self.port, self.system.baud, timeout_s)

    def faulty(self, down: Faults, up: Faults) -> Connection:
        """A connection whose line is greeted first and bad then."""
        line = FaultyLine(open_line(self.port, self.system.baud), lambda content: content, lambda content: content)
        found = Connection(Platform(Link(line, self.system.baud, FAULTY_S)))
        line.down, line.up = down, up
        return found


def served(project: Path, folder: Path, system: System) -> Iterator[Simulated]:
    folder.mkdir()
    program = build_system(project, folder, system)
    with serving(program, system.bit_step) as port:
        yield Simulated(project, system, port, program)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulated]:
    folder = tmp_path_factory.mktemp("system")
    array(folder / "p", 128)
    # One bank more than the graph takes, so that a byte outside the buffers can be seen.
    memory = OnChip(on_chip(folder / "p").banks + 1, 16)
    yield from served(folder / "p", folder / "board", System(CLOCK_HZ, CLOCK_HZ // 4, memory))


def right(found: dict[str, object]) -> bool:
    return found["mismatches"] == found["cycle_difference"] == 0 and bool(found["logits"])


def test_two_graphs_and_two_networks_on_one_bitstream(small: Simulated) -> None:
    """Logits, and the cycles of the model, over the line."""
    with small.connect() as board:
        assert board.platform.facts["memory_bytes"] == small.system.memory.bytes
        found = [run_project(board, small.project, small.system.baud, vectors) for vectors in (
            None, small.project / "graph" / "vectors", small.project / "network" / "vectors", None)]  # fmt: skip
    assert all(map(right, found)) and found[0]["cycles"] == found[3]["cycles"] != found[1]["cycles"]
    regions = sum(path.stat().st_size for path in (small.project / "vectors").glob("*.bin"))
    assert found[0]["line_bytes"] > regions - 4 * 40 and found[0]["repeated_frames"] == 0


def test_refusals_reach_the_host_as_on_pynq(small: Simulated, tmp_path: Path) -> None:
    with small.connect() as board:
        driver, kernel = board.driver(small.project), board.kernel(small.project)
        given = driver.regions(small.project / "vectors")
        with pytest.raises(Exception, match="wrong programme or engine") as caught:
            kernel.run(**given | {"programme": np.full_like(given["programme"], 255)})
        assert type(caught.value).__name__ == "KernelError"
        shutil.copytree(small.project / "vectors", tmp_path / "refused")
        size = (tmp_path / "refused" / "programme.bin").stat().st_size
        (tmp_path / "refused" / "programme.bin").write_bytes(b"\xff" * size)
        with pytest.raises(UserError, match="does not run .*wrong programme or engine"):
            run_project(board, small.project, small.system.baud, tmp_path / "refused")
        (tmp_path / "refused" / "edges.bin").write_bytes(b"")
        with pytest.raises(UserError, match="edges.bin has 0 bytes, vectors.json says"):
            run_project(board, small.project, small.system.baud, tmp_path / "refused")
        (tmp_path / "refused" / "vectors.json").write_text("{}")
        with pytest.raises(UserError, match="refused lacks 'programme_beats'"):
            run_project(board, small.project, small.system.baud, tmp_path / "refused")
        with pytest.raises(UserError, match="cannot read .*nowhere"):
            run_project(board, small.project, small.system.baud, tmp_path / "nowhere")
        assert (kernel.run(**given) == driver.golden(small.project / "vectors")).all()


def test_what_the_line_may_not_write(small: Simulated) -> None:
    with small.connect() as board:
        platform, size = board.platform, small.system.memory.bytes
        for address, length in ((size, 16), (size - 16, 32), (8, 16), (0, 8), (2**32 - 16, 16)):
            with pytest.raises(LineError, match="outside the memory"):
                platform.write(address, bytes(length))
        for offset in (4, 8, 12, protocol.OFFSETS["state"], 0x80, 2**31):
            with pytest.raises(LineError, match="outside the memory or the registers"):
                platform.write_register(offset, 1)
        assert platform.register("state") == protocol.READY | protocol.TIMED


def test_another_kernel_is_refused(small: Simulated, tmp_path: Path) -> None:
    array(tmp_path / "p", 256)
    assert design_of(tmp_path / "p") != design_of(small.project)
    with small.connect() as board:
        with pytest.raises(UserError, match="load the bitstream"):
            run_project(board, tmp_path / "p", 1)
        with pytest.raises(UserError, match="load the bitstream"):
            board.kernel(tmp_path / "p")


def test_two_networks_in_turn(small: Simulated) -> None:
    """Each by an object of its own, which leaves out what the array holds already, and that alone."""
    with small.connect() as board:
        driver, kernels = board.driver(small.project), [board.kernel(small.project) for _ in range(2)]
        folders = [small.project / "vectors", small.project / "network" / "vectors"]
        given = [driver.regions(folder) for folder in folders]
        cycles = []
        for turn in (0, 0, 1, 0, 1, 1):
            assert (kernels[turn].run(**given[turn]) == driver.golden(folders[turn])).all()
            cycles.append(board.platform.cycles)
        assert cycles[1] < cycles[0] == cycles[3] and cycles[5] < cycles[2] == cycles[4]


class AtWork(Registers):
    """Registers that tell a run at work until it is stopped: the run is shorter than two questions on the line."""

    asked = True

    def read(self, offset: int) -> int:
        return super().read(offset) if self.asked or offset else 0

    def write(self, offset: int, value: int) -> None:
        self.asked = offset != 0 or value != wire.START
        super().write(offset, value)


def test_a_run_is_stopped(small: Simulated) -> None:
    """It is given no time; the next one is right."""
    with small.connect() as board:
        driver, kernel = board.driver(small.project), board.kernel(small.project)
        given = driver.regions(small.project / "vectors")
        kernel.run(**given)
        registers, kernel._registers = kernel._registers, AtWork(board.platform)
        with pytest.raises(TimeoutError, match="within 0.0 s: it was stopped"):
            kernel.run(**given, timeout_s=0.0)
        assert board.platform.cycles == 0 and not kernel._held
        kernel._registers = registers
        assert (kernel.run(**given) == driver.golden(small.project / "vectors")).all()


def assert_survives(small: Simulated, faults: int, seed: int) -> None:
    """So many faults on the line while memory and registers are written and read: all is as if there were none."""
    down, up = Faults(2 * seed, 0.3), Faults(2 * seed + 1, 0.1)
    chance, size = random.Random(seed), small.system.memory.bytes
    expected = bytearray(chance.randbytes(1024))
    with small.connect() as board:
        board.platform.write(size - 4096, bytes(4096))
        board.platform.write(size - 2048, bytes(expected))
    with small.faulty(down, up) as board:
        while down.count + up.count < faults:
            length = 16 * chance.randrange(1, 5)
            address = 16 * chance.randrange((1024 - length) // 16)
            content = chance.randbytes(length)
            board.platform.write(size - 2048 + address, content)
            expected[address : address + length] = content
            board.platform.write_register(0x10, chance.randrange(2**32))
            assert board.platform.read(size - 2048 + address, length) == content
    with small.connect() as board:
        assert board.platform.read(size - 4096, 4096) == bytes(2048) + expected + bytes(1024)
        assert board.platform.register("damaged")
        assert right(run_project(board, small.project, small.system.baud))


def test_faults_on_the_line(small: Simulated) -> None:
    assert_survives(small, 25, 1)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_faults_on_the_line(small: Simulated, seed: int) -> None:
    """1,000 a seed."""
    assert_survives(small, 1000, 10 + seed)


def test_a_frame_without_room_leaves_those_that_wait(small: Simulated) -> None:
    """While a long answer leaves, a frame waits in the other half of the buffer, and those behind it are dropped: what
    waits is not changed by them, and is executed."""
    size, beat = protocol.PAYLOAD_BYTES, 16
    place = small.system.memory.bytes - size
    requests = [Request(protocol.READ, place, length=size)]
    requests += [Request(protocol.WRITE, place + beat * at, bytes([at + 1]) * beat) for at in range(3)]
    with small.connect() as board:
        platform = board.platform
        platform.write(place, bytes(size))
        for number, request in enumerate(requests, platform.link._number):
            platform.link._send(request.frame(number))
        while platform.link._receive(2.0):  # the simulation is slower than the line
            pass
    with small.connect() as board:
        assert board.platform.register("dropped")
        assert board.platform.read(place, size) == bytes([1]) * beat + bytes(size - beat)


def test_a_reset_in_the_middle_of_a_run(small: Simulated) -> None:
    """The reset comes right behind the start, before the run would end."""
    reset = Request(protocol.RESET)
    with small.connect() as board:
        platform = board.platform
        assert right(found := run_project(board, small.project, small.system.baud))
        assert found["cycles"] > 10 * 4 * len(reset.frame(0)) + 100  # 10 bits of 4 cycles each
        start = Request(protocol.WRITE_REGISTER, 0, wire.START.to_bytes(4, "little"))
        platform.link.ask([start, reset], window=2)
        assert platform.cycles == 0 and platform.register("state") == protocol.READY | protocol.TIMED
        assert platform.read_register(0) & wire.IDLE
        assert right(run_project(board, small.project, small.system.baud))


def test_a_simulator_ends_with_the_process_that_started_it(small: Simulated, tmp_path: Path) -> None:
    (tmp_path / "obj").mkdir()
    own = shutil.copy(small.program, tmp_path / "obj")
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom fgnas.board.simulated import serving\n"
        "with serving(Path(sys.argv[1]), 16384) as port:\n    print(port, flush=True)\n    time.sleep(600)\n"
    )
    command = [sys.executable, "-c", program, str(own)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        port = host.stdout.readline().strip()
        open_line(port, 0).close()
        host.kill()
    assert _closes(port)


def _closes(port: str) -> bool:
    """Whether nobody listens at a port any more, after a minute at most."""
    for _ in range(600):
        try:
            open_line(port, 0).close()
        except UserError:
            return True
        time.sleep(0.1)
    return False


def test_the_rtl_is_clean(small: Simulated, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verilator and slang have nothing to say about the board's modules."""
    monkeypatch.setattr(lint, "TOP", SYSTEM)
    folder = small.project.parent / "board" / "rtl"
    found = lint.lint_with_verilator(folder) + lint.lint_with_slang(folder)
    assert not re.findall(r"board_\w+\.sv.*", found)


def test_sizes_and_clocks_that_cannot_be(small: Simulated) -> None:
    assert needed_bytes(small.project) <= on_chip(small.project).bytes < needed_bytes(small.project) + 16 * 1024
    with pytest.raises(UserError, match="too little"):
        on_chip(small.project, 1)
    with pytest.raises(UserError, match="at least 12 MHz"):
        System(5_000_000, 3_000_000, OnChip(1, 16)).check()
    assert System(48_000_000, 3_000_000, OnChip(1, 16)).bit_step == 4096
    assert find_board("ulx3s-85f").baud == 3_000_000


@pytest.mark.slow
@pytest.mark.parametrize("beat_bits", [256, 512])
def test_wide_beats(beat_bits: int, tmp_path: Path) -> None:
    array(tmp_path / "p", beat_bits)
    system = System(CLOCK_HZ, CLOCK_HZ // 4, on_chip(tmp_path / "p"))
    for board in served(tmp_path / "p", tmp_path / "board", system):
        with board.connect() as open_board:
            assert right(run_project(open_board, tmp_path / "p", system.baud))


@pytest.mark.slow
def test_a_pipeline_at_the_boards_own_speed(tmp_path: Path) -> None:
    """50 MHz and 3 Mbaud: a bit does not last a whole number of cycles."""
    pipeline(tmp_path / "p")
    system = System(CLOCK_HZ, 3_000_000, on_chip(tmp_path / "p"))
    for board in served(tmp_path / "p", tmp_path / "board", system):
        with board.connect() as open_board:
            assert right(run_project(open_board, tmp_path / "p", system.baud))


@pytest.mark.slow
@pytest.mark.parametrize("beat_bits", [128, 512])
def test_the_boards_sdram(beat_bits: int, tmp_path: Path) -> None:
    """LiteDRAM's controller and a chip that asserts its data sheet: logits right, cycles those that they take."""
    pytest.importorskip("litedram")
    from fgnas.board.assembly import off_chip

    array(tmp_path / "p", beat_bits)
    system = System(CLOCK_HZ, CLOCK_HZ // 4, off_chip(tmp_path / "p", find_board("ulx3s-85f")))
    for board in served(tmp_path / "p", tmp_path / "board", system):
        with board.connect() as open_board:
            found = run_project(open_board, tmp_path / "p", system.baud)
    assert found["mismatches"] == 0 and found["cycles"] > found["predicted_cycles"]
    assert json.loads((tmp_path / "p" / "report" / "price.json").read_text())["latency_cycles"]
