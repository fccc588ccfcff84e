"""PubMed's path, on a graph of its exact shape that the test writes in Planetoid's raw format."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from support import random_accelerator, random_design

from fgnas.hardware.pipeline import reference
from fgnas.hardware.pipeline.encoding import encode
from fgnas.hardware.pipeline.pricing import Pricer
from fgnas.systems.fgnas.space import fgnas_space
from fgnas.tasks import nodes as datasets
from fgnas.tasks.nodes import GraphData

NODES, FEATURES, CLASSES, EDGES, TRAIN, TEST = 19_717, 500, 3, 44_324, 60, 1_000
NON_ZEROS = 988_031


@pytest.fixture(scope="module")
def pubmed(tmp_path_factory: pytest.TempPathFactory) -> GraphData:
    """Random features, labels and edges in PubMed's numbers, through the loader."""
    root = tmp_path_factory.mktemp("data")
    raw = root / "Planetoid" / "PubMed" / "raw"
    raw.mkdir(parents=True)
    rng = np.random.default_rng(0)
    x = sp.random_array((NODES, FEATURES), density=NON_ZEROS / (NODES * FEATURES), rng=rng, dtype=np.float32)
    x = sp.csr_matrix(x)
    labels = np.eye(CLASSES, dtype=np.int32)[rng.integers(0, CLASSES, NODES)]
    graph: dict[int, list[int]] = {node: [] for node in range(NODES)}
    for a, b in rng.integers(0, NODES, (EDGES, 2)).tolist():
        graph[a].append(b)
        graph[b].append(a)
    known = NODES - TEST
    parts = {"x": x[:TRAIN], "y": labels[:TRAIN], "tx": x[known:], "ty": labels[known:],
             "allx": x[:known], "ally": labels[:known], "graph": graph}  # fmt: skip
    for name, part in parts.items():
        (raw / f"ind.pubmed.{name}").write_bytes(pickle.dumps(part, protocol=2))
    (raw / "ind.pubmed.test.index").write_text("".join(f"{node}\n" for node in range(known, NODES)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FGNAS_DATA_ROOT", str(root))
        datasets._built_in.cache_clear()
        loaded = datasets.load("pubmed")
        datasets._built_in.cache_clear()
    return loaded


def test_shape(pubmed: GraphData) -> None:
    assert (pubmed.nodes, pubmed.width_in, pubmed.classes) == (NODES, FEATURES, CLASSES)
    assert (pubmed.train.sum(), pubmed.val.sum(), pubmed.test.sum()) == (TRAIN, 500, TEST)
    assert abs(pubmed.features.nnz - NON_ZEROS) <= 1
    assert (pubmed.sources[pubmed.indptr[:-1]] <= np.arange(NODES)).all()


def test_every_level_takes_it(pubmed: GraphData) -> None:
    """Priced in arrays, lowered, and run by the reference: 59,151 logits."""
    space = fgnas_space()
    rng = np.random.default_rng(1)
    prices = Pricer(pubmed).price(space.columns(space.draw(200, rng)), 100)
    assert (prices.latency_cycles > 50_000).all()
    accelerator = random_accelerator(rng, random_design(rng, 2, ({"d": 8, "k": 1}, {"k": 1})), pubmed)
    assert accelerator.shape.node_capacity == 20_480
    assert reference.run(accelerator, encode(accelerator, pubmed)).shape == (NODES, CLASSES)


@pytest.mark.slow
def test_cpp_and_rtl_of_the_whole_graph(pubmed: GraphData, tmp_path: Path) -> None:
    from fgnas.backends.pipeline import write_project
    from fgnas.tools.csim import run_csim
    from fgnas.tools.simulate import run_simulation

    rng = np.random.default_rng(2)
    fast = {"d": 4, "k": 1, "t_in": 5, "t_out": 4, "t_aggr": 4, "attention": "gcn", "t_attn": None}
    last = {"k": 1, "t_in": 4, "t_out": 3, "t_aggr": 4, "attention": "constant", "t_attn": None}
    write_project(random_accelerator(rng, random_design(rng, 2, (fast, last)), pubmed), pubmed, tmp_path / "p")
    csim, sim = run_csim(tmp_path / "p"), run_simulation(tmp_path / "p")
    assert csim["mismatches"] == sim["mismatches"] == 0
    assert sim["logits"] == NODES * CLASSES
    assert sim["cycles"] == sim["predicted_cycles"]
