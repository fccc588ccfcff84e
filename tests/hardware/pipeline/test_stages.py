"""The pipeline's stage graphs, and the readers that take names and order from them."""

import re

import networkx as nx
import numpy as np
import pytest
from support import random_accelerator, random_design, random_graph

from fgnas.backends.pipeline import write_project
from fgnas.hardware.pipeline import reference
from fgnas.hardware.pipeline.encoding import encode
from fgnas.hardware.pipeline.latency import Workload, timeline
from fgnas.hardware.pipeline.stages import (
    first_graph,
    hidden_graph,
    output_graph,
    phase_graph,
    placed_stages,
    traced_values,
)


def test_the_graphs_of_all_phases() -> None:
    assert list(nx.edge_dfs(first_graph(False).graph)) == [("linear", "store")]
    assert list(nx.edge_dfs(first_graph(True).graph)) == [("linear", "store"), ("linear", "score")]
    kept = [("aggregate", "activate"), ("activate", "linear"), ("linear", "store")]
    assert list(nx.edge_dfs(hidden_graph(False, False).graph)) == kept
    assert list(nx.edge_dfs(hidden_graph(True, True).graph)) == [
        ("row maximum", "aggregate"), *kept, ("linear", "score"),
    ]  # fmt: skip
    assert list(nx.edge_dfs(output_graph(False).graph)) == [("aggregate", "head mean"), ("head mean", "write")]
    assert output_graph(True).order == ("row maximum", "aggregate", "head mean", "write")
    assert [graph.items_reader for graph in (output_graph(True), output_graph(False))] == [1, None]


def test_a_topology_has_one_graph() -> None:
    """A stage graph is built once, however many designs are priced."""
    assert phase_graph(1, 3, True, False) is phase_graph(2, 3, True, False) is hidden_graph(True, False)


@pytest.mark.parametrize("seed", range(6))
def test_names_and_order_of_traces_and_records(seed: int, tmp_path) -> None:
    """The reference's trace, the probes of the test bench and the time line name the same stages."""
    rng = np.random.default_rng(seed)
    data = random_graph(rng, 9, 8, 4, 14)
    accelerator = random_accelerator(rng, random_design(rng, 1 + seed % 3), data)
    layers = [layer.geometry for layer in accelerator.layers]
    stages = placed_stages(layers)
    values = [f"{one.layer}.{value}" for one in stages for value in one.stage.values]
    trace = reference.Trace()
    reference.run(accelerator, encode(accelerator, data), trace)
    assert list(trace.stages) == values
    assert {value.split(".")[1] for value in values} <= set(traced_values())

    write_project(accelerator, data, tmp_path / "p")
    probes = {
        kind: re.findall(r"^bind fgnas_kernel \w+ #\(\.Name\(\"([\w.]+)\"", text.read_text(), re.MULTILINE)
        for kind in ("rows", "trace") for text in [tmp_path / "p" / "tb" / f"fgnas_{kind}.sv"]
    }  # fmt: skip
    assert probes["trace"] == values
    recorded = [name for phase in timeline(layers, Workload.of(data)).phases for name in phase.recorded]
    assert probes["rows"] == recorded == [one.row_name for one in stages]
