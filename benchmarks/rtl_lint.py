"""Lint the RTL of the random designs of every_design.py with Verilator and slang; any message is an error.

Weights change no module but its constants, so random ones serve here.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from every_design import COUNT, DATASET, SEED

from fgnas import api
from fgnas.backends.rtl import write_rtl
from fgnas.hardware.shape import GraphShape
from fgnas.tasks.nodes import load
from fgnas.tools.characterise import random_accelerator
from fgnas.tools.lint import lint


def main() -> int:
    """Lint every design; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="number of designs; default: %(default)s")
    count = parser.parse_args().count
    shape, wrong = GraphShape.of(load(DATASET)), 0
    for number, design in enumerate(api.sample(count, SEED)):
        with tempfile.TemporaryDirectory() as scratch:
            write_rtl(random_accelerator(design.choices, shape, number), Path(scratch))
            found = lint(Path(scratch) / "rtl")
        if found:
            wrong += 1
            print(f"{design.hash}:\n{found}")
    print(f"{count} designs of seed {SEED}, {wrong} with messages of Verilator or slang")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
