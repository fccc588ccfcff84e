"""Shared data: a four-node graph that can be checked by hand, and Cora where its raw files are."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings

from fgnas.tasks.nodes import GraphData, build, load

torch.set_num_threads(1)
# A busy machine is no reason to fail.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def four_nodes() -> GraphData:
    """0 - 1, 1 - 2 twice over, 3 alone; three features, two classes."""
    features = np.array([[1, 0, 1], [0, 2, 2], [4, 0, 0], [0, 0, 0]], np.float32)
    edges = np.array([[0, 1, 1, 2, 1, 2], [1, 0, 2, 1, 2, 1]])
    yes, no = True, False
    return build(
        "four", features, edges, np.array([0, 1, 1, 0]),
        np.array([yes, yes, no, no]), np.array([no, no, yes, no]), np.array([no, no, no, yes]),
    )  # fmt: skip


@pytest.fixture(scope="session")
def cora() -> GraphData:
    """Cora, if FGNAS_DATA_ROOT holds it; tests never download."""
    root = os.environ.get("FGNAS_DATA_ROOT")
    if not root or not (Path(root) / "Planetoid" / "Cora" / "raw" / "ind.cora.graph").is_file():
        pytest.skip("FGNAS_DATA_ROOT names no folder that holds Planetoid/Cora/raw")
    return load("cora")
