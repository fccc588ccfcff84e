"""The page of an imported network: of nodes and of graphs, before and after its C++ has run."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import torch
from pyg_models import LAYERS, Pooled, Two, settled

from fgnas.api import ImportedNetwork, UserError, import_model
from fgnas.hardware.kinds import described_kind
from fgnas.report.record import ImportedRecord

NODES, WIDTH = 24, 6


def data_file(folder: Path, graphs: bool) -> Path:
    """A random graph whose nodes have classes, or six small ones that have numbers."""
    rng = np.random.default_rng(0)
    place = np.arange(6 if graphs else NODES) % 3
    graph = np.repeat(np.arange(6), NODES // 6)
    ends = rng.integers(0, 4, (2, 50)) + 4 * rng.integers(0, 6, 50)
    masks = {"train_mask": place < 1, "val_mask": place == 1, "test_mask": place == 2}
    of = {"graph": graph, "y": rng.random(6)} if graphs else {"y": np.arange(NODES) % 3}
    np.savez(folder / "d.npz", x=rng.random((NODES, WIDTH)).astype(np.float32), edge_index=ends, **of, **masks)
    return folder / "d.npz"


@pytest.mark.parametrize("graphs", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_page_says_what_became_of_the_model(graphs: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = settled(Pooled(LAYERS["GINConv"], WIDTH, 1) if graphs else Two(LAYERS["SAGEConv"], WIDTH, 8, 3), 1)
    network = import_model(model, data_file(tmp_path, graphs), dsp=16)
    assert isinstance(network, ImportedNetwork)
    again = ImportedNetwork.load(network.save(tmp_path / "n.json"))
    project = again.write(tmp_path / "project", multipliers=16)
    before = text_of(project.report())
    assert "not run" in before and network.content["layers"][0]["becomes"] in before
    found = project.csim()
    after = text_of(project.report())
    rows = 2 if graphs else NODES
    assert found["mismatches"] == 0 and f"{rows * (1 if graphs else 3)} logits equal" in after
    assert f"for each of {rows} {'graphs' if graphs else 'nodes'}" in after
    assert f"The {'RMSE' if graphs else 'accuracy'} ladder" in after
    test = network.content["quantised"]["test"]
    shown = f"{test:,.4f}" if graphs else f"{100 * test:.1f} %"
    # A project of graphs contains only the first test graphs, so the compared levels show no accuracy of all.
    assert after.count(shown) - before.count(shown) == (0 if graphs else 1)
    record = ImportedRecord.read(tmp_path / "project")
    assert described_kind(record.summary).name == "operations"
    assert np.array_equal(record.logits, again.logits())
    with pytest.raises(UserError, match="leave out the data"):
        project.report(data="digits")


def text_of(page: Path) -> str:
    """The text of a page, without tags."""
    body = page.read_text(encoding="utf-8").partition("<body")[2]
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", body)))
