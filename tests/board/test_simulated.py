"""A simulated board that dies says why, in one line."""

import re
import sys
from pathlib import Path

import pytest

from fgnas.board.platform import connect
from fgnas.board.sdram import CAS_LATENCY, EARLIER, Chip, controller, refresh_cycles
from fgnas.board.simulated import serving
from fgnas.errors import CheckFailed

LISTENS = """#!{python}
import os, socket, signal, sys
server = socket.create_server(("127.0.0.1", 0))
print("port", server.getsockname()[1], flush=True)
line, _ = server.accept()
line.recv(1)
{end}
"""
ASSERTION = "[42] %Error: board_chip.sv:88: Assertion failed in TOP.u_chip.refreshed_in_time: SDRAM: too few refreshes"
ENDS = {
    "assertion": (f"print({ASSERTION!r}); line.close(); os._exit(1)", "SDRAM: too few refreshes .*refreshed_in_time"),
    "signal": ("os.kill(os.getpid(), signal.SIGKILL)", "ended early by SIGKILL"),
    "message": ("sys.exit('a byte without a stop bit')", "ended early with exit code 1: a byte without a stop bit"),
}  # fmt: skip


def program(folder: Path, text: str) -> Path:
    """A simulator that is none."""
    (folder / "obj").mkdir()
    path = folder / "obj" / "board_line"
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("end", ENDS)
def test_a_death_names_its_cause(end: str, tmp_path: Path) -> None:
    """Whatever the host was doing, and though the line goes first."""
    text, message = ENDS[end]
    simulator = program(tmp_path, LISTENS.format(python=sys.executable, end=text))
    with pytest.raises(CheckFailed, match=message) as caught, serving(simulator, 1) as port, connect(port, 1_000_000):
        pass
    assert "\n" not in str(caught.value)


def test_a_simulator_that_does_not_start(tmp_path: Path) -> None:
    simulator = program(tmp_path, f"#!{sys.executable}\nimport sys\nsys.exit('cannot listen')\n")
    with pytest.raises(CheckFailed, match="with exit code 1: cannot listen"), serving(simulator, 1):
        pass


def test_what_is_right_until_its_end_stays(tmp_path: Path) -> None:
    """A simulator that runs is told to end; what happened to its user is what is raised."""
    simulator = program(tmp_path, LISTENS.format(python=sys.executable, end="line.recv(1)"))
    with serving(simulator, 1) as port:
        assert port.startswith("socket://")
    with pytest.raises(KeyError), serving(simulator, 1):
        raise KeyError


@pytest.mark.parametrize("clock_hz", [25_000_000, 48_000_000, 50_000_000, 64_000_000, 99_000_000])
def test_refreshes_come_in_time(clock_hz: int) -> None:
    """Each row in 64 ms, and with a reset in between that starts the chip up again."""
    litedram = pytest.importorskip("litedram.modules")
    from litedram.common import PhySettings
    from litedram.init import get_sdr_phy_init_sequence

    facts = litedram.MT48LC16M16(clock_hz, "1:1")
    pins = PhySettings(
        phytype="GENSDRPHY", memtype="SDR", databits=16, dfi_databits=16, nranks=1, nphases=1, rdphase=0, wrphase=0,
        cl=CAS_LATENCY, read_latency=CAS_LATENCY + 1, write_latency=0,
    )  # fmt: skip
    steps, _ = get_sdr_phy_init_sequence(pins, facts.timing_settings)
    start_up = sum(cycles for *_, cycles in steps)
    period = refresh_cycles(facts, clock_hz)
    assert facts.nrows * period + start_up < 0.064 * clock_hz
    assert facts.nrows * EARLIER > start_up
    text = controller(Chip("MT48LC16M16"), clock_hz, 128)
    assert re.search(rf"timer_count\d* <= \d+'d{period - 1};", text)
    assert not re.search(r"\d{4}-\d\d-\d\d", text), "an equal system is equal at every time"
