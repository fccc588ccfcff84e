"""Searches in processes of their own, killed at chosen moments."""

import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path


def lines(path: Path) -> int:
    """Lines of a file; 0 where there is none."""
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def killed(command: Sequence[str | Path], folder: Path, reached: Callable[[], bool]) -> None:
    """Run a search whose run is in `folder` until a moment is reached, and kill it there; it must not have ended."""
    process = subprocess.Popen(command)
    while process.poll() is None and not reached():
        time.sleep(0.01)
    assert process.poll() is None, "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (folder / "best.json").exists()


def same(one: Path, other: Path, names: Sequence[str]) -> None:
    """Assert that two runs wrote the same bytes into these files."""
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
