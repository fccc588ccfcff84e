"""Node sampling: the same edges on every machine, as many as the rate says, and networks that see no others."""

import hashlib
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from arrays import weighed, write_array
from levels import quick
from support import random_design, random_graph

from fgnas.api import designs as api
from fgnas.backends.project import Request, write
from fgnas.design import Array, Design
from fgnas.designs import read_tables
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array import reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.choosing import Room, fastest
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.designs import ArrayDesignPricer
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.array.placing import fit
from fgnas.hardware.kind import Wanted
from fgnas.hardware.kinds import PIPELINE
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.networks.calibration import calibrated
from fgnas.networks.finetuning import fine_tuned
from fgnas.networks.quantised import fake_quantised_logits, quantised_logits
from fgnas.networks.training import Recipe, float_accuracy, train, train_many
from fgnas.report.record import ArrayRecord
from fgnas.tasks.nodes import GraphData
from fgnas.tasks.sampling import layer_graphs, sampled, shares
from fgnas.tools.csim import run_csim
from fgnas.tools.simulate import run_simulation

MASK = (1 << 64) - 1


def mixed(word: int) -> int:
    """SplitMix64's mixing in Python's integers."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ word >> 27) * 0x94D049BB133111EB & MASK
    return word ^ word >> 31


def test_shares_are_those_of_plain_integers() -> None:
    targets, sources = np.array([0, 1, 2, 70_000, 3]), np.array([0, 5, 1, 12, 1_000_000])
    digest = hashlib.sha256(b"4/1").digest()
    first, second = (int.from_bytes(digest[at : at + 8], "little") for at in (0, 8))
    wanted = [
        (mixed((mixed((i << 32 | j) ^ first) + second) & MASK) >> 11) * 2.0**-53
        for i, j in zip(targets.tolist(), sources.tolist(), strict=True)
    ]
    assert shares(4, 1, targets, sources).tolist() == wanted
    # The same on every machine.
    assert shares(0, 0, np.array([1]), np.array([2])).tolist() == [FIRST_SHARE]


FIRST_SHARE = 0.1876423836056912


def test_rates_layers_and_seeds_choose_edges_and_every_node_keeps_itself() -> None:
    rng = np.random.default_rng(0)
    data = random_graph(rng, 2000, 4, 3, 40_000)
    others = data.sources != data.targets
    kept = []
    for layer, rate, seed in ((0, 0.5, 0), (0, 0.1, 0), (1, 0.5, 0), (0, 0.5, 1)):
        found = sampled(data, layer, rate, seed)
        pairs = set(zip(found.targets.tolist(), found.sources.tolist(), strict=True))
        assert all((node, node) in pairs for node in range(data.nodes))
        share = (len(found.sources) - data.nodes) / others.sum()
        assert share == pytest.approx(rate, abs=0.02)
        kept.append(pairs)
    assert kept[1] < kept[0], "a lower rate keeps a part of them"
    loops = {(node, node) for node in range(data.nodes)}
    for other in kept[2:]:
        assert len((kept[0] & other) - loops) / len(kept[0] - loops) == pytest.approx(0.5, abs=0.03)


def test_every_edge_is_the_graph_itself() -> None:
    data = random_graph(np.random.default_rng(1), 20, 4, 3, 30)
    first, second = layer_graphs(data, (1.0, 0.5))
    assert first is data and second is sampled(data, 1, 0.5, 0)


def test_a_million_edges_take_less_than_a_second() -> None:
    rng = np.random.default_rng(2)
    ends = rng.integers(0, 1 << 20, (2, 1_000_000))
    begun = time.monotonic()
    shares(0, 0, *ends)
    assert time.monotonic() - begun < 1


GCN = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1, "ai": 2, "af": 5, "wi": 1, "wf": 5}
GAT = GCN | {"attention": "gat", "t_attn": 1}


def design_of(first: dict[str, object], rates: tuple[float, ...] | None, **array: object) -> Design:
    own = Array.model_validate({"units": 4, "columns": (1,), "beat_bits": 256} | array)
    made = random_design(np.random.default_rng(3), 2, (first | {"d": 8, "activation": "relu"}, GCN))
    return made.model_copy(update={"sampling": rates, "array": own})


@pytest.fixture(scope="module")
def data() -> GraphData:
    return random_graph(np.random.default_rng(4), 80, 12, 5, 500)


@pytest.mark.parametrize("first", [GCN | {"aggregation": "max"}, GAT])
def test_every_level_sees_the_sampled_graphs(data: GraphData, first: dict[str, object]) -> None:
    """Training in a batch, in float and in fake-quantised float64, and the integers of both references."""
    design, whole = (design_of(first, rates) for rates in ((0.5, 0.1), None))
    recipe = Recipe(epochs=4, learning_rate=0.1)
    alone = train(data, design.architecture(), 5, recipe, 9)
    both = train_many(data, [whole.architecture(), design.architecture()], [6, 5], recipe, 9)
    assert both[1].network.to_bytes() == alone.network.to_bytes() and both[1].val == alone.val
    assert both[0].network.to_bytes() == train(data, whole.architecture(), 6, recipe, 9).network.to_bytes()
    graphs = layer_graphs(data, design.rates)
    assert len({len(one.sources) for one in (data, *graphs)}) == 3
    network = fine_tuned(design, calibrated(design, alone.network, data), data, 5, recipe)
    exact = fake_quantised_logits(design, network, data)
    codes = (exact * 2.0 ** (GCN["af"] + network.layers[-1].value_scale + wire.LOGIT_EXTRA_BITS)).numpy()
    logits = quantised_logits(design, network, data)
    assert np.array_equal(logits, codes)
    assert not np.array_equal(logits, quantised_logits(whole, network, data))
    source = array_network(design, network, GraphShape.of(data))
    made = fit(source, graphs[0], Arrangement(4, (1,)), graphs[1:])
    assert np.array_equal(reference.run(encode_array(made, graphs[0], graphs[1:])), logits)
    lowered = api.Design(design, network).lower(data)
    assert np.array_equal(lowered.logits(), logits)
    assert lowered.regions()["descriptors"] == len(encode_array(lowered.hardware.made, graphs[0], graphs[1:]).programme)
    with pytest.raises(UserError, match="a pipeline reads one graph for all layers"):
        api.Design(design, network).lower(data, "pipeline").regions()
    assert set(float_accuracy(design.architecture(), network, data)) == {"val", "test"}


@pytest.mark.parametrize("first", [GCN, pytest.param(GAT, marks=pytest.mark.slow)])
def test_an_array_runs_the_sampled_graphs(data: GraphData, first: dict[str, object], tmp_path: Path) -> None:
    """As `fgnas hls` writes it, in RTL and C++; the price is that of fewer edges, and a pipeline refuses."""
    design = design_of(first, (0.5, 0.1))
    network = train(data, design.architecture(), 5, Recipe(epochs=1), 9).network
    source = array_network(design, network, GraphShape.of(data))
    write_array(source, data, tmp_path / "p")
    report = run_simulation(tmp_path / "p")
    assert (report["mismatches"], report["status"], report["protocol_errors"]) == (0, 0, 0), report
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    cpp = run_csim(tmp_path / "p", quick())
    assert (cpp["mismatches"], cpp["failed_checks"]) == (0, 0), cpp
    assert ArrayRecord.read(tmp_path / "p").has_graph(data), "its report knows the data again"
    cycles = json.loads((tmp_path / "p" / "report" / "price.json").read_text())["latency_cycles"]
    write_array(replace(source, design=design_of(first, None)), data, tmp_path / "q")
    assert cycles < json.loads((tmp_path / "q" / "report" / "price.json").read_text())["latency_cycles"]
    with pytest.raises(UserError, match="a pipeline reads one graph for all layers"):
        write(PIPELINE.fit(design, network, data, Wanted()), data, tmp_path / "r", Request(Specification()))
    graphs = layer_graphs(data, design.rates)
    best = fastest(source, graphs[0], Room(64), graphs[1:])
    for units in (1, 2, 4, 8):
        other = fit(source, graphs[0], Arrangement(units), graphs[1:])
        assert weighed(best, *split(graphs)) <= weighed(other, *split(graphs))


def split(graphs: tuple[GraphData, ...]) -> tuple[GraphData, tuple[GraphData, ...]]:
    return graphs[0], graphs[1:]


def test_designs_of_a_file_are_priced_on_their_graphs(data: GraphData, tmp_path: Path) -> None:
    """Each with the cycles of its own project; a pipeline with sampling is refused by its place."""
    rates = [None, (0.5, 1.0), (1.0, 0.1), (0.5, 1.0), None]
    designs = [design_of(GCN, one, units=units) for one, units in zip(rates, (4, 2, 4, 8, 1), strict=True)]
    path = tmp_path / "designs.jsonl"
    path.write_text("".join(f"{design.to_json()}\n" for design in designs))
    tables = read_tables(path)
    assert sorted(table.sampling for table in tables) == [(), (0.5, 1.0), (1.0, 0.1)]
    pricer = ArrayDesignPricer(data)
    for table in tables:
        assert table.array is not None
        found = pricer.price(table.columns(), table.array, table.sampling)
        for place, cycles in zip(table.places.tolist(), found.cycles.tolist(), strict=True):
            design = designs[place]
            network = train(data, design.architecture(), 5, Recipe(epochs=1), 9).network
            source = array_network(design, network, GraphShape.of(data))
            assert design.array is not None
            first, further = split(layer_graphs(data, design.rates))
            made = fit(source, first, Arrangement(design.array.units, (1,), beat_bits=256), further)
            assert cycles == total_cycles(encode_array(made, first, further))
    without = designs[1].model_copy(update={"array": None})
    path.write_text(f"{designs[0].model_copy(update={'array': None}).to_json()}\n{without.to_json()}\n")
    price = PIPELINE.pricer(data, Specification())
    plain, sampling = sorted(read_tables(path), key=lambda table: table.sampling)
    assert price(plain).rows(Specification())
    with pytest.raises(UserError, match="^design 2: a pipeline reads one graph for all layers"):
        price(sampling)
