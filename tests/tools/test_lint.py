"""slang finds faults that Verilator accepts, and every other fault too."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support import random_accelerator, random_design, random_graph

from fgnas.backends.rtl import write_rtl
from fgnas.errors import UserError
from fgnas.tools.lint import lint, lint_with_slang


@pytest.fixture
def rtl(tmp_path: Path) -> Path:
    """The RTL of a random design with two layers."""
    rng = np.random.default_rng(1)
    write_rtl(random_accelerator(rng, random_design(rng, 2), random_graph(rng, 20, 9, 5, 40)), tmp_path)
    return tmp_path / "rtl"


def test_clean(rtl: Path) -> None:
    assert lint(rtl) == ""


def test_both_front_ends_report(rtl: Path) -> None:
    replaced("fgnas_store.sv", "endmodule", "")(rtl)
    assert "%Error: fgnas_store.sv:" in lint(rtl) and "fgnas_store.sv:" in lint_with_slang(rtl)


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return change


def add_module(folder: Path) -> None:
    (folder / "spare.sv").write_text("module spare;\nendmodule\n")
    with (folder / "files.f").open("a") as listing:
        listing.write("spare.sv\n")


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (replaced("fgnas_dual_read_ram.sv", "  always @(", "  always_ff @("), "multiple-always-assigns"),
        (add_module, "unused-def"),
        (replaced("fgnas_store.sv", "endmodule", ""), "error: "),
        (replaced("files.f", "fgnas_store.sv\n", ""), "error: unknown module 'fgnas_store'"),
        (replaced("fgnas_top.v", ".ap_clk(ap_clk),", ""), "ap_clk"),
    ],
)
def test_faults(rtl: Path, fault: Callable[[Path], None], found: str) -> None:
    fault(rtl)
    assert found in lint_with_slang(rtl)


def test_a_missing_file(rtl: Path) -> None:
    replaced("files.f", "fgnas_store.sv", "gone.sv")(rtl)
    with pytest.raises(UserError, match="gone.sv, which does not exist"):
        lint_with_slang(rtl)
