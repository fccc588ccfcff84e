"""Files with which a project is checked without fgnas: headers for g++, and a bench in C++ for Verilator."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from fgnas.backends.render import render_folder
from fgnas.hardware.pipeline.latency import READ_LATENCY, WRITE_LATENCY
from fgnas.hardware.port import STEPS
from fgnas.hardware.wire import Register
from fgnas.paths import open_headers, sim_directory, templates_directory

BENCH, HEADERS = "sim", "include"


def write_standalone(project: Path, arguments: Sequence[Register], beat_bits: int) -> None:
    """Write the Makefile, `sim/` (the bench) and `include/` (the open headers of ap_int) into a project.

    The headers are those of the package hls4ml; without it `include/` is left out, and `make csim` asks for a folder.
    """
    shutil.copyfile(templates_directory() / "project" / "Makefile", project / "Makefile")
    render_folder(
        "standalone", project / BENCH, arguments=tuple(arguments), beat_bits=beat_bits, read_latency=READ_LATENCY,
        write_latency=WRITE_LATENCY, pace_steps=STEPS,
    )  # fmt: skip
    shutil.copyfile(sim_directory() / "bench.sv", project / BENCH / "bench.sv")
    if (headers := open_headers()) is not None:
        shutil.copytree(headers, project / HEADERS)
