"""A project's own driver.py on a simulated board, for tests of every target."""

import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from support import run_on_face

from fgnas.tools.verilator import Effort, build, read_sources

SPARE_BYTES = 4_000_000
"""Size of the simulated memory: it holds logits, weights, and the rest of pages."""
AMPLE_S = 3_000.0
Call = Mapping[str, Any]


def loaded(folder: Path) -> Any:
    """A project's driver as a module."""
    spec = importlib.util.spec_from_file_location("driver", folder / "driver.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Simulated:
    """A board with the kernel of the project in `folder`/p."""

    def __init__(self, folder: Path, effort: Effort, **parameters: int) -> None:
        self.folder = folder
        build(read_sources(folder / "p" / "rtl" / "files.f"), folder / "build", parameters, "face", effort)

    def run(self, *calls: Call, timeouts_s: Sequence[float] = ()) -> list[Any]:
        """The answer of each call of the driver's `Kernel.run`: logits, or the error's name and message.

        The first calls have the timeouts that are given, further ones ample time.
        """
        listed = []
        timeouts = [*timeouts_s, *[AMPLE_S] * len(calls)]
        for number, (call, timeout_s) in enumerate(zip(calls, timeouts, strict=False)):
            np.savez(self.folder / f"{number}.npz", **call)
            answer = self.folder / f"{number}.npy"
            listed.append({"graph": f"{self.folder / str(number)}.npz", "answer": str(answer), "timeout_s": timeout_s})
        result, job = self.folder / "result.json", self.folder / "job.json"
        result.unlink(missing_ok=True)
        taken = sum(array.nbytes for call in calls for array in map(np.asarray, call.values()))
        size = 1 << (taken + SPARE_BYTES).bit_length()
        driver = str(self.folder / "p" / "driver.py")
        job.write_text(json.dumps({"driver": driver, "calls": listed, "memory_bytes": size, "result": str(result)}))
        run_on_face("board", self.folder, FGNAS_BOARD_JOB=str(job))
        assert result.is_file(), f"the driver failed on the board: see {self.folder / 'run.log'}"
        outcomes = json.loads(result.read_text())
        return [
            (outcome["error"], outcome["message"]) if outcome["error"] else np.load(self.folder / f"{number}.npy")
            for number, outcome in enumerate(outcomes)
        ]
