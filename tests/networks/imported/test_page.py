"""docs/import.md: its table of layers is what the code makes of them."""

from pathlib import Path

import torch
from pyg_models import LAYERS, OF_EDGES, random_given, settled

from fgnas.networks.imported.fusing import fused
from fgnas.networks.imported.importing import said
from fgnas.networks.imported.nodes import ordered
from fgnas.networks.imported.tracing import trace_module

PAGE = Path(__file__).parents[3] / "docs" / "import.md"


def rows() -> list[str]:
    """The table's rows: each layer alone, from 12 numbers of a node to 4."""
    torch.manual_seed(0)
    found = []
    for name, make in (LAYERS | OF_EDGES).items():
        traced = trace_module(settled(make(12, 4), 1), random_given(1))
        found.append(f"| `{name}` | {said(ordered(fused(traced.output))[1:])} |")
    return found


def test_the_table_of_layers() -> None:
    page, wanted = PAGE.read_text(encoding="utf-8").splitlines(), rows()
    assert [row for row in page if row in wanted] == wanted, "\n".join(wanted)
