"""The array's RTL: clean for the linters, logits of the integer reference, phases as long as predicted."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from arrays import (
    SCORED,
    SCORES_OF_ALL_KINDS,
    few_bits,
    random_array,
    random_data,
    random_source,
    random_source_of,
    wide_source,
    write_array,
)
from levels import quick
from support import random_design, random_graph, random_network

from fgnas.backends.array import write_project, write_rtl
from fgnas.cli import main
from fgnas.design import VECTORS, Array, Design
from fgnas.errors import CheckFailed, UserError
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.cycles import phase_cycles, phase_names
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.programme import PORT_WIDTHS
from fgnas.hardware.kind import Wanted
from fgnas.hardware.kinds import ARRAY, PIPELINE, find_kind, kind_of
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.network import Network
from fgnas.networks.calibration import calibrated, tied
from fgnas.networks.quantised import quantised_accuracy
from fgnas.networks.training import Recipe, train
from fgnas.tasks.nodes import GraphData, build
from fgnas.tools.csim import run_csim
from fgnas.tools.lint import lint
from fgnas.tools.simulate import run_simulation


@pytest.mark.parametrize(
    ("seed", "attentions"),
    [*((seed, ("gcn", "constant")) for seed in range(6)), (1, ("gat",)), (5, ("gat",)), (4, ("gat-sym", "linear")),
     (2, ("cos",)), (4, ("cos", "gat-sym")), (2, ("gene-linear",)), (4, ("gene-linear", "gat-sym"))],
)
def test_no_warning(seed: int, attentions: tuple[str, ...], tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    write_rtl(random_array(rng, random_source(rng, 1 + seed % 3, data, attentions=attentions), data), tmp_path)
    long = [f"{path.name}: {line}" for path in (tmp_path / "rtl").iterdir() for line in path.read_text().splitlines()
            if len(line) > 120]  # fmt: skip
    assert not long
    # The packages state the whole interface, also what no module of this kernel reads.
    found = [line for line in lint(tmp_path / "rtl").splitlines() if re.search("warning:|error:|%", line)]
    assert [line for line in found if "unused package" not in line] == []


@pytest.mark.parametrize("attention", ["gcn", "gat", "cos"])
def test_no_warning_of_wide_numbers(attention: str, tmp_path: Path) -> None:
    """Scores of 10 bits beside weights of 16 bits, and numbers of 16 bits without scores."""
    rng = np.random.default_rng(3)
    data = random_data(rng)
    numbers = {"ai": 3, "af": 12 if attention == "gcn" else 6, "wi": 3, "wf": 12, "t_out": 1}
    scored = {"attention": attention, "t_attn": 1 if attention == "gat" else None, **numbers}
    design = random_design(rng, 2, (scored | {"d": 8, "k": 1, "aggregation": "add"}, scored | {"k": 1}))
    write_rtl(fit(random_source_of(rng, design, data), data, Arrangement(2)), tmp_path)
    found = [line for line in lint(tmp_path / "rtl").splitlines() if re.search("warning:|error:|%", line)]
    assert [line for line in found if "unused package" not in line] == []


def assert_exact(array: ArrayAccelerator, data: GraphData, folder: Path, **options: int) -> dict:
    write_project(array, data, folder)
    report = run_simulation(folder, **options)
    assert (report["mismatches"], report["status"], report["protocol_errors"]) == (0, 0, 0), report
    return report


def test_a_random_network_runs_twice(tmp_path: Path) -> None:
    """Logits and the cycles of every phase; a second run without a reset gives the same."""
    rng = np.random.default_rng(1)
    data = random_data(rng)
    array = random_array(rng, random_source(rng, 2, data), data)
    report = assert_exact(array, data, tmp_path / "p", runs=2)
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report


@pytest.mark.parametrize("seed", [2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 3, 4, 5, 7))])
def test_random_networks_of_wide_numbers(seed: int, tmp_path: Path) -> None:
    """Numbers of up to 16 bits, entries of 31: in RTL, twice, and in C++."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    array = random_array(rng, wide_source(rng, 1 + seed % 3, data), data)
    assert array.engine.wide
    report = assert_exact(array, data, tmp_path / "p", runs=2)
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    cpp = run_csim(tmp_path / "p", quick())
    assert (cpp["mismatches"], cpp["failed_checks"]) == (0, 0), cpp
    assert (tmp_path / "p" / "build" / "csim" / "compile.log").read_text() == ""


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["gat", "cos", "gene-linear"])
def test_scores_beside_wide_numbers(attention: str, tmp_path: Path) -> None:
    """Features of 10 bits with scores, weights of 16 bits, means; and a layer of 16 bits."""
    rng = np.random.default_rng(3)
    data = random_graph(rng, 40, 12, 5, 100)
    narrow, wide = {"ai": 3, "af": 6, "wi": 3, "wf": 12, "t_out": 1}, {"ai": 3, "af": 12, "wi": 3, "wf": 12, "t_out": 1}
    scored = {"attention": attention, "t_attn": 1 if attention == "gat" else None, **narrow, **few_bits(attention)}
    source = random_source_of(rng, random_design(rng, 3, (
        scored | {"d": 8, "k": 2, "aggregation": "mean"},
        {"attention": "gcn", "t_attn": None, "aggregation": "add", "d": 12, "k": 1, **wide},
        scored | {"aggregation": "add", "k": 1})), data)  # fmt: skip
    report = assert_exact(fit(source, data, Arrangement(4, (2, 1), beat_bits=256)), data, tmp_path / "p", runs=2)
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    cpp = run_csim(tmp_path / "p", quick())
    assert (cpp["mismatches"], cpp["failed_checks"]) == (0, 0), cpp


@pytest.mark.slow
def test_gcn_of_16_bits_on_cora(cora: GraphData, tmp_path: Path) -> None:
    """Two layers of gcn with 16 hidden features, trained, on 64 multipliers; relu takes no table."""
    gcn = {"attention": "gcn", "aggregation": "add", "k": 1, "t_in": 1, "t_out": 1, "t_attn": None, "t_aggr": 1,
           "ai": 3, "af": 12, "wi": 3, "wf": 12}  # fmt: skip
    design = Design.from_dict({"schema": 1, "dsp": 64, "layers": [
        {**gcn, "d": 16, "activation": "relu", "t_act": 1}, {**gcn, "d": None, "activation": None, "t_act": None}]})
    network = calibrated(design, train(cora, design.architecture(), 1, Recipe(epochs=100)).network, cora)
    source = array_network(design, network, GraphShape.of(cora), cora.name)
    write_array(source, cora, tmp_path, multipliers=64, beat_bits=256)
    written = json.loads((tmp_path / "report" / "accelerator.json").read_text())["engine"]
    assert (written["bits"], written["activation_words"]) == (16, 0)
    report = run_simulation(tmp_path)
    assert (report["mismatches"], report["cycle_difference"], report["phase_differences"]) == (0, 0, 0), report
    report = run_csim(tmp_path, quick())
    assert (report["mismatches"], report["failed_checks"]) == (0, 0), report


def test_activations_with_and_without_a_table(tmp_path: Path) -> None:
    """The results of one layer are its sums, those of the other come from a table."""
    rng = np.random.default_rng(3)
    data = random_graph(rng, 30, 12, 5, 80)
    plain = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1, "d": 12}
    design = random_design(rng, 3, (plain | {"activation": "linear"}, plain | {"activation": "softplus"},
                                    plain | {"d": None}))  # fmt: skip
    source = array_network(design, tied(design, random_network(rng, design, data)), GraphShape.of(data))
    array = fit(source, data, Arrangement(4))
    assert [plan.activation.name for plan in array.plans] == ["NONE", "TABLE", "NONE"]
    report = assert_exact(array, data, tmp_path / "p")
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    cpp = run_csim(tmp_path / "p", quick())
    assert (cpp["mismatches"], cpp["failed_checks"]) == (0, 0), cpp


def test_heads_of_the_last_layer(tmp_path: Path) -> None:
    """Rows of two words, then of one, two of which go to the tables in a cycle; units that share a row."""
    rng = np.random.default_rng(14)
    for classes, heads, results in ((10, 4, 1), (7, 2, 2)):
        data = random_graph(rng, 40, 12, classes, 90)
        plain = {"attention": "gcn", "t_attn": None}
        source = random_source_of(rng, random_design(rng, 2, (
            plain | {"d": 8, "k": 2, "aggregation": "add"}, plain | {"k": heads, "aggregation": "mean"})), data)
        array = fit(source, data, Arrangement(4, (1,), split=2, beat_bits=256, results=results))
        report = assert_exact(array, data, tmp_path / str(classes), runs=2)
        assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    names = [phase["name"] for phase in json.loads((tmp_path / "7" / "report" / "price.json").read_text())["phases"]]
    assert names[-3:] == ["combine 1, head 1", "combine 1, head 2", "aggregate 1"]
    cpp = run_csim(tmp_path / "7", quick())
    assert (cpp["mismatches"], cpp["failed_checks"]) == (0, 0), cpp


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attention", "aggregation"), [("gat", "add"), ("gcn", "max"), ("gat-sym", "mean")]
)  # fmt: skip
def test_heads_of_the_last_layer_with_sums_of_their_own(attention: str, aggregation: str, tmp_path: Path) -> None:
    """Eight heads on two units side by side, or in eight words of one; a second run changes nothing."""
    rng = np.random.default_rng(19)
    data = random_graph(rng, 40, 12, 5, 90)
    scores = {"attention": attention, "t_attn": 1 if attention == "gat" else None, "aggregation": aggregation}
    gcn = {"attention": "gcn", "t_attn": None, "aggregation": "add", "k": 1, "d": 8}
    formats = {"ai": 2, "af": 3, "wi": 1, "wf": 4}
    source = random_source_of(rng, random_design(rng, 2, (gcn, scores | {"k": 8} | formats)), data)
    array = fit(source, data, Arrangement(4, (1,), split=2, beat_bits=256))
    report = assert_exact(array, data, tmp_path / "p", runs=2)
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    cpp = run_csim(tmp_path / "p", quick())
    assert (cpp["mismatches"], cpp["failed_checks"]) == (0, 0), cpp


@pytest.mark.slow
def test_a_graph_beyond_the_tables_comes_in_blocks(tmp_path: Path) -> None:
    """17,000 nodes, where a table has 16,384 words: `--target array` writes blocks, of a second product, too."""
    rng = np.random.default_rng(6)
    data = random_graph(rng, 17_000, 9, 5, 30_000)
    gcn = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}
    source = random_source_of(rng, random_design(rng, 2, (gcn | {"d": 8}, gcn | {"aggregation": "mlp"})), data)
    write_array(source, data, tmp_path / "p", multipliers=32)
    names = [phase["name"] for phase in json.loads((tmp_path / "p" / "report" / "price.json").read_text())["phases"]]
    assert names[-1] == "return 1, block 2"
    report = run_simulation(tmp_path / "p")
    assert (report["mismatches"], report["cycle_difference"], report["phase_differences"]) == (0, 0, 0), report
    cpp = run_csim(tmp_path / "p", quick())
    assert (cpp["mismatches"], cpp["failed_checks"]) == (0, 0), cpp


@pytest.mark.parametrize("attention", ["gcn", pytest.param("gat", marks=pytest.mark.slow)])
def test_second_products(attention: str, tmp_path: Path) -> None:
    """In a hidden layer on two units side by side, then in the last one; a second run changes nothing."""
    rng = np.random.default_rng(17)
    data = random_graph(rng, 40, 12, 5, 90)
    mlp = {"attention": attention, "t_attn": 1 if attention == "gat" else None, "aggregation": "mlp", "k": 2}
    source = random_source_of(rng, random_design(rng, 2, (mlp | {"d": 8, "activation": "elu"}, mlp)), data)
    array = fit(source, data, Arrangement(4, (2,), beat_bits=256, results=2))
    assert [plan.aggregate.n for plan in array.plans] == [2, 2, 1, 1]
    report = assert_exact(array, data, tmp_path / "p", runs=2)
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    cpp = run_csim(tmp_path / "p", quick())
    assert (cpp["mismatches"], cpp["failed_checks"]) == (0, 0), cpp


@pytest.mark.parametrize(
    ("seed", "attentions"), [(2, SCORES_OF_ALL_KINDS), *(
        pytest.param(seed, attentions, marks=pytest.mark.slow)
        for seed in (2, 5, 8, 11, 14, 17)
        for attentions in (SCORED, SCORES_OF_ALL_KINDS, ("cos", "gat"), ("gene-linear", "cos"))
        if (seed, attentions) != (2, SCORES_OF_ALL_KINDS)
    )]
)  # fmt: skip
def test_random_networks_with_attention(seed: int, attentions: tuple[str, ...], tmp_path: Path) -> None:
    """Most of three layers have scores; a second run without a reset gives the same."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    array = random_array(rng, random_source(rng, 1 + seed % 3, data, attentions=attentions), data)
    assert array.engine.softmax is not None
    report = assert_exact(array, data, tmp_path / "p", runs=2)
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report


@pytest.mark.slow
@pytest.mark.parametrize("attention", [
    name for name in VECTORS if name != "gat"
])  # fmt: skip
def test_scores_of_each_kind(attention: str, tmp_path: Path) -> None:
    """Beside gat and gcn, of two heads in two units; a second run without a reset gives the same."""
    rng = np.random.default_rng(41)
    data = random_graph(rng, 50, 12, 5, 120)
    scored = {"attention": attention, "t_attn": None, "aggregation": "add"}
    layers = (scored | {"k": 2, "d": 12}, {"attention": "gat", "t_attn": 1, "aggregation": "max", "k": 1, "d": 9},
              {"attention": "gcn", "t_attn": None, "k": 1}, scored | {"k": 1})  # fmt: skip
    array = fit(random_source_of(rng, random_design(rng, 4, layers), data), data, Arrangement(4, (2, 1, 1)))
    report = assert_exact(array, data, tmp_path / "p", runs=2)
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report


@pytest.mark.slow
@pytest.mark.parametrize("level", ["rtl", "cpp"])
def test_gene_linear_on_cora(level: str, cora: GraphData, tmp_path: Path) -> None:
    """Eight heads of eight features and then one head, trained, on 64 multipliers: the functions of all edges fit the
    own rows in two passes. Calibration gives the functions' arguments and the scores scales of their own."""
    one = {"attention": "gene-linear", "aggregation": "add", "t_in": 1, "t_out": 1, "t_attn": None, "t_aggr": 1,
           "ai": 2, "af": 5, "wi": 2, "wf": 5}  # fmt: skip
    design = Design.from_dict({"schema": 1, "dsp": 64, "layers": [
        {**one, "d": 8, "k": 8, "activation": "relu", "t_act": 1},
        {**one, "d": None, "k": 1, "activation": None, "t_act": None}]})  # fmt: skip
    network = calibrated(design, train(cora, design.architecture(), 1, Recipe(epochs=60)).network, cora)
    assert all(None not in (layer.pair_scale, layer.score_scale) for layer in network.layers)
    assert quantised_accuracy(design, network, cora)["test"] > 0.75
    source = array_network(design, network, GraphShape.of(cora), cora.name)
    write_array(source, cora, tmp_path, multipliers=64)
    if level == "cpp":
        report = run_csim(tmp_path, quick())
        assert (report["mismatches"], report["failed_checks"]) == (0, 0), report
        return
    report = run_simulation(tmp_path)
    assert (report["mismatches"], report["cycle_difference"], report["phase_differences"]) == (0, 0, 0), report
    assert {"pair 0, pass 2", "score 0, pass 2", "maximum 1"} <= {phase["name"] for phase in report["phases"]}


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["gat", "cos", "gene-linear"])
def test_means_of_an_attention(attention: str, tmp_path: Path) -> None:
    """A hub of 300 entries, after a maximum whose first entries are repeated; in RTL and C++."""
    rng = np.random.default_rng(23)
    data = with_edges(random_graph(rng, 40, 20, 7, 40), np.stack([rng.integers(0, 40, 300), np.zeros(300, np.int64)]))
    scored = {"attention": attention, "t_attn": 1 if attention == "gat" else None, **few_bits(attention)}
    source = random_source_of(rng, random_design(rng, 3, (
        scored | {"d": 8, "k": 2, "aggregation": "mean"}, scored | {"d": 16, "k": 1, "aggregation": "max"},
        scored | {"k": 1, "aggregation": "mean"})), data)  # fmt: skip
    array = fit(source, data, Arrangement(4, (2, 1)))
    report = assert_exact(array, data, tmp_path / "p")
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    found = [line for line in lint(tmp_path / "p" / "rtl").splitlines() if re.search("warning:|error:|%", line)]
    assert [line for line in found if "unused package" not in line] == []
    cpp = run_csim(tmp_path / "p", quick())
    assert (cpp["mismatches"], cpp["failed_checks"]) == (0, 0), cpp
    assert (tmp_path / "p" / "build" / "csim" / "compile.log").read_text() == ""


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["gat", "gat-sym", "cos", "gene-linear"])
def test_attention_of_four_heads_with_a_hub_on_a_stalling_memory(attention: str, tmp_path: Path) -> None:
    """Two heads of a word in each of two units, then one of two words; sums of 1,000 coefficients are divided."""
    rng = np.random.default_rng(22)
    data = with_edges(random_graph(rng, 60, 20, 7, 40), np.stack([rng.integers(0, 60, 1000), np.zeros(1000, np.int64)]))
    scored = {"attention": attention, "t_attn": 1 if attention == "gat" else None, **few_bits(attention)}
    source = random_source_of(rng, random_design(rng, 3, (
        scored | {"d": 8, "k": 4, "aggregation": "add"}, scored | {"d": 16, "k": 1, "aggregation": "max"},
        scored | {"k": 1, "aggregation": "add"})), data)  # fmt: skip
    array = fit(source, data, Arrangement(4, (2, 1), beat_bits=256))
    assert [plan.tiles for plan in array.plans] == [2, 2, 1]
    report = assert_exact(array, data, tmp_path / "p")
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    assert assert_exact(array, data, tmp_path / "p", stall_seed=5)["cycles"] > report["cycles"]


@pytest.mark.slow
def test_passes_over_the_columns(tmp_path: Path) -> None:
    """Six words of a row in three passes of two, behind a port of each width."""
    rng = np.random.default_rng(8)
    data = random_graph(rng, 40, 25, 5, 120)
    last = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}
    source = random_source_of(rng, random_design(rng, 2, (last | {"k": 2, "d": 24}, last)), data)
    for beat_bits in PORT_WIDTHS:
        array = fit(source, data, Arrangement(4, (1,), beat_bits=beat_bits, passes=3))
        assert (array.plans[0].tiles, array.plans[0].row_tiles) == (2, 6)
        report = assert_exact(array, data, tmp_path / str(beat_bits), runs=2)
        assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    with pytest.raises(UserError, match="layer 0: a unit holds 6 words of a row, not in 4 passes"):
        fit(source, data, Arrangement(4, (1,), beat_bits=beat_bits, passes=4))


def test_several_words_of_h_in_a_cycle(tmp_path: Path) -> None:
    """Eight groups with short rows: their results bound the combinations, until the issue does."""
    rng = np.random.default_rng(10)
    data = random_graph(rng, 200, 4, 7, 300)
    plain = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}
    source = random_source_of(rng, random_design(rng, 2, (plain | {"d": 4, "activation": "relu"}, plain)), data)
    found = []
    for results in (1, 2, 4):
        array = fit(source, data, Arrangement(8, (1,), beat_bits=512, results=results))
        if results == 4:
            report = assert_exact(array, data, tmp_path / str(results))
            assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
        encoded = encode_array(array, data)
        phases = dict(zip(phase_names(encoded), phase_cycles(encoded), strict=True))
        found.append([phases["combine 0"], phases["combine 1"]])
    one, two, four = found
    assert one[0] >= 200 > two[0] >= 100 > four[0] >= 50
    # The issue of 200 rows of four elements takes eight groups 100 cycles.
    assert one[1] >= 200 > two[1] >= 100 and four[1] >= 100


@pytest.mark.slow
@pytest.mark.parametrize("slices", [3, 7])
def test_a_layer_in_slices(slices: int, tmp_path: Path) -> None:
    """Loads between parts of a row's entries, in two passes; rows without a feature in a slice keep their sums."""
    rng = np.random.default_rng(slices)
    data = random_graph(rng, 40, 31, 5, 90)
    gcn = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}
    source = random_source_of(rng, random_design(rng, 2, (gcn | {"d": 32}, gcn)), data)
    array = fit(source, data, Arrangement(4, (2,), beat_bits=256, passes=2, results=2, slices=slices))
    report = assert_exact(array, data, tmp_path / "p", runs=2)
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    names = [phase["name"] for phase in report["phases"]]
    assert f"combine 0, slice {slices}, pass 2" in names and f"load table 0, slice {slices}, pass 1" in names
    report = run_csim(tmp_path / "p", quick())
    assert (report["mismatches"], report["failed_checks"]) == (0, 0), report


@pytest.mark.parametrize(
    ("finished", "attentions"), [(1, ("gcn",)), *(
        pytest.param(finished, attentions, marks=pytest.mark.slow)
        for finished in (1, 2, 4) for attentions in (("gcn", "constant"), SCORED, ("cos",), ("gene-linear",))
    )]
)  # fmt: skip
def test_lanes_are_finished_in_parts(finished: int, attentions: tuple[str, ...], tmp_path: Path) -> None:
    """Eight short rows wait for the epilogue of their unit; a second run without a reset gives the same."""
    rng = np.random.default_rng(12)
    data = random_data(rng)
    whole = random_array(rng, random_source(rng, 3, data, attentions=attentions), data)
    array = whole.on(replace(whole.engine, finished=finished))
    report = assert_exact(array, data, tmp_path / "p", runs=2)
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    assert sum(phase_cycles(encode_array(array, data))) > sum(phase_cycles(encode_array(whole, data)))


@pytest.mark.slow
def test_h_in_blocks(tmp_path: Path) -> None:
    """Combinations and aggregations take turns in every layer, in passes, too."""
    rng = np.random.default_rng(12)
    data = random_graph(rng, 70, 31, 5, 190)
    gcn = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}
    source = random_source_of(rng, random_design(rng, 2, (gcn | {"d": 32}, gcn)), data)
    array = fit(source, data, Arrangement(4, (2,), split=2, beat_bits=256, passes=2, results=2, blocks=3))
    report = assert_exact(array, data, tmp_path / "p", runs=2)
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    names = [phase["name"] for phase in report["phases"]]
    assert {"combine 0, block 3, pass 2", "aggregate 0, block 1, pass 1", "aggregate 1, block 3"} <= set(names)
    report = run_csim(tmp_path / "p", quick())
    assert (report["mismatches"], report["failed_checks"]) == (0, 0), report


@pytest.mark.parametrize("shared", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_a_maximum_in_blocks(shared: int, tmp_path: Path) -> None:
    """Rows without an entry in a block name the least row, with and without coefficients, in RTL and C++."""
    rng = np.random.default_rng(13)
    data = random_graph(rng, 70, 31, 5, 90)
    largest = {"aggregation": "max", "t_attn": None, "k": 1}
    layers = (largest | {"attention": "gcn", "d": 16}, largest | {"attention": "constant"})
    source = random_source_of(rng, random_design(rng, 2, layers), data)
    array = fit(source, data, Arrangement(4, (1,), beat_bits=256, passes=2, results=2, blocks=3, shared=shared))
    report = assert_exact(array, data, tmp_path / "p", runs=2)
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    report = run_csim(tmp_path / "p", quick())
    assert (report["mismatches"], report["failed_checks"]) == (0, 0), report


@pytest.mark.slow
def test_more_columns_of_x_than_a_table_has_words(tmp_path: Path) -> None:
    """17,000, for tables of 16,384 words: `--target array` writes the network in slices."""
    rng = np.random.default_rng(6)
    data = random_graph(rng, 20, 17_000, 5, 30)
    gcn = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}
    source = random_source_of(rng, random_design(rng, 2, (gcn | {"d": 16}, gcn)), data)
    write_array(source, data, tmp_path, multipliers=16)
    written = json.loads((tmp_path / "report" / "accelerator.json").read_text())
    assert written["layers"][0]["slices"] > 1 and written["engine"]["partial_words"]
    report = run_simulation(tmp_path)
    assert (report["mismatches"], report["cycle_difference"], report["phase_differences"]) == (0, 0, 0), report
    report = run_csim(tmp_path, quick())
    assert (report["mismatches"], report["failed_checks"]) == (0, 0), report


def test_a_result_for_another_bank_is_found(tmp_path: Path) -> None:
    """Rows of two words that leave two at a time, as only rows of one word may: a rule of the unit says so."""
    rng = np.random.default_rng(9)
    data = random_graph(rng, 40, 25, 5, 120)
    last = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}
    source = random_source_of(rng, random_design(rng, 2, (last | {"d": 16}, last)), data)
    write_project(fit(source, data, Arrangement(4, (1,), beat_bits=256, results=2)), data, tmp_path)
    path = tmp_path / "rtl" / "array_writeback.sv"
    text = path.read_text(encoding="utf-8")
    assert text.count("(Even && side_by_side) ? Here") == 1
    path.write_text(text.replace("(Even && side_by_side) ? Here", "Even ? Here"), encoding="utf-8")
    with pytest.raises(CheckFailed, match="a result is not for the banks that may take it"):
        run_simulation(tmp_path)


@pytest.mark.slow
def test_a_hub_on_a_stalling_memory(tmp_path: Path) -> None:
    """The other units wait for the row of 1,000 entries; a memory that stalls changes no logit."""
    rng = np.random.default_rng(21)
    data = random_graph(rng, 60, 20, 7, 40)
    ends = np.stack([rng.integers(0, 60, 1000), np.zeros(1000, np.int64)])
    data = with_edges(data, ends)
    array = fit(random_source(rng, 2, data, ("add",)), data, Arrangement(8, beat_bits=512))
    report = assert_exact(array, data, tmp_path / "p")
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    assert assert_exact(array, data, tmp_path / "p", stall_seed=5)["cycles"] > report["cycles"]


def with_edges(data: GraphData, ends: np.ndarray) -> GraphData:
    """The graph with further edges, [2, E] sources and targets."""
    given = np.stack([data.sources, data.targets])
    return build(
        data.name, data.features, np.concatenate([given, ends], axis=1), data.labels, data.train, data.val, data.test,
        data.classes,
    )  # fmt: skip


@pytest.mark.slow
def test_few_block_rams_on_citeseer(citeseer: GraphData, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """64 hidden features in 6 bits and 80 block RAMs: too few for these arrays, of which one unit holds no weights and
    two take two passes; enough for four passes."""
    gcn = {"attention": "gcn", "aggregation": "add", "k": 1, "t_in": 1, "t_out": 1, "t_attn": None, "t_aggr": 1,
           "ai": 1, "af": 4, "wi": 1, "wf": 4}  # fmt: skip
    layers = [{**gcn, "d": 64, "activation": "relu", "t_act": 1}, {**gcn, "d": None, "activation": None, "t_act": None}]
    design = {"schema": 1, "layers": layers, "dsp": 16}
    named = [{"units": units, "columns": [n], "beat_bits": 128} for units, n in ((1, 1), (2, 1), (2, 2))]
    lines = [json.dumps(design | {"array": array}) for array in named]
    (tmp_path / "named.jsonl").write_text("\n".join(lines))
    (tmp_path / "design.json").write_text(json.dumps(design))
    assert main(["price", str(tmp_path / "named.jsonl"), "--dataset", "citeseer", "--bram36", "80"]) == 0
    for row in map(json.loads, capsys.readouterr().out.splitlines()):
        assert not row["feasible"] and row["violations"][0] == f"bram36 {row['bram36']} is over 80"

    project = str(tmp_path / "p")
    sized = ["--target", "array", "--multipliers", "16", "--bram36", "80", "--out", project]
    assert main(["hls", str(tmp_path / "design.json"), "--dataset", "citeseer", *sized, "--quiet"]) == 0
    price = json.loads((tmp_path / "p" / "report" / "price.json").read_text())
    written = json.loads((tmp_path / "p" / "report" / "accelerator.json").read_text())
    assert (price["bram36"], written["layers"][0]["passes"]) == (62, 4)
    capsys.readouterr()
    assert main(["sim", project, "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["mismatches"], found["cycle_difference"], found["phase_differences"]) == (0, 0, 0)
    assert found["logits"] == citeseer.nodes * citeseer.classes and found["cycles"] == price["latency_cycles"]


@pytest.mark.slow
def test_shared_tables_on_cora(cora: GraphData, tmp_path: Path) -> None:
    """Two layers of gcn with 16 hidden features on 128 multipliers behind 512 bits: in 60 block RAMs, where eight units
    share a table, instead of 215.5; in RTL and in C++."""
    gcn = {"attention": "gcn", "aggregation": "add", "k": 1, "t_in": 1, "t_out": 1, "t_attn": None, "t_aggr": 1,
           "ai": 3, "af": 4, "wi": 1, "wf": 6}  # fmt: skip
    layers = ({**gcn, "d": 16, "activation": "relu", "t_act": 1}, {**gcn, "d": None, "activation": None, "t_act": None})
    design = Design.from_dict({"schema": 1, "dsp": 128, "layers": list(layers)})
    network = random_network(np.random.default_rng(1), design, cora)
    source = array_network(design, network, GraphShape.of(cora), cora.name)
    write_array(source, cora, tmp_path, multipliers=128, beat_bits=512, bram36=60)
    engine = json.loads((tmp_path / "report" / "accelerator.json").read_text())["engine"]
    price = json.loads((tmp_path / "report" / "price.json").read_text())
    assert (engine["shared"], engine["units"], price["bram36"], price["latency_cycles"]) == (8, 16, 55.5, 12_315)
    assert price["lut"] > 128 * 100 and price["ff"] > 128 * 50
    report = run_simulation(tmp_path)
    assert (report["mismatches"], report["cycle_difference"], report["phase_differences"]) == (0, 0, 0), report
    report = run_csim(tmp_path, quick())
    assert (report["mismatches"], report["failed_checks"]) == (0, 0), report


def test_a_design_is_written_for_the_array(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """The fastest array within the budget; what an array's project does not have is refused in a line."""
    rng = np.random.default_rng(31)
    data = random_graph(rng, 20, 9, 4, 30)
    source = random_source(rng, 2, data, ("add",))
    project = tmp_path / "p"
    write_array(source, data, project, multipliers=20)
    price = json.loads((project / "report" / "price.json").read_text())
    assert price["multipliers"] <= 20 and price["dsp"] == price["multipliers"]
    assert price["busy"] == price["multiplications"] / (price["multipliers"] * price["latency_cycles"])
    assert sum(phase["cycles"] for phase in price["phases"]) == price["latency_cycles"]
    with pytest.raises(UserError, match="--multipliers is for --target array"):
        PIPELINE.fit(source.design, Network(()), data, Wanted(multipliers=20))
    with pytest.raises(UserError, match="--beat-bits is for --target array"):
        PIPELINE.fit(source.design, Network(()), data, Wanted(beat_bits=512))
    with pytest.raises(UserError, match="--bram36 is for --target array"):
        PIPELINE.fit(source.design, Network(()), data, Wanted(bram36=20))
    with pytest.raises(UserError, match=r"no array keeps the limit of 2 block RAM: .* takes [\d.]+, [\d.]+ more"):
        write_array(source, data, tmp_path / "q", multipliers=20, bram36=2)
    with pytest.raises(UserError, match="port has 128, 256, 512 bits, not 10"):
        write_array(source, data, tmp_path / "q", multipliers=20, beat_bits=10)
    with pytest.raises(UserError, match="unknown target 'none'; known: array, pipeline"):
        find_kind("none")


def test_a_design_with_attention_is_written_for_the_array(tmp_path: Path) -> None:
    """Within limits on LUTs and flip-flops, too; dividers take many, so few of them are built where LUTs are few."""
    rng = np.random.default_rng(33)
    data = random_graph(rng, 20, 9, 4, 30)
    source = random_source(rng, 2, data, ("add",), ("gat",))
    project = tmp_path / "p"
    write_array(source, data, project, multipliers=20)
    price = json.loads((project / "report" / "price.json").read_text())
    assert price["dsp"] == price["multipliers"] <= 20 and price["lut"] > 9_000
    assert [phase["name"] for phase in price["phases"]][-4:] == ["combine 1", "score 1", "maximum 1", "aggregate 1"]
    limits = Specification(lut=7_000, ff=100_000)
    write_array(source, data, tmp_path / "q", specification=limits, multipliers=8)
    few = json.loads((tmp_path / "q" / "report" / "price.json").read_text())
    assert few["lut"] <= 7_000 < price["lut"]


def test_a_design_with_an_array_is_written_for_it(tmp_path: Path) -> None:
    """Its own array, though others are faster; a size or another port asks for the fastest one."""
    rng = np.random.default_rng(32)
    data = random_graph(rng, 20, 9, 4, 30)
    source = random_source(rng, 2, data, ("add",))
    own = Array.model_validate({"units": 3, "columns": (1,), "beat_bits": 256})
    design = source.design.model_copy(update={"array": own, "dsp": 100})
    source = replace(source, design=design)
    assert kind_of(design) is ARRAY and kind_of(design.model_copy(update={"array": None})) is PIPELINE
    for request, units, beat_bits in (({}, 3, 256), ({"multipliers": 8}, 1, 256), ({"beat_bits": 512}, None, 512)):
        project = tmp_path / f"{units}"
        write_array(source, data, project, **request)
        engine = json.loads((project / "report" / "accelerator.json").read_text())["engine"]
        assert engine["beat_bits"] == beat_bits and engine["units"] in ([units] if units else range(4, 13))
    assert "results" not in design.to_dict()["array"], "one word of H a cycle goes without saying"
    for results in (2, 4):
        other = design.model_copy(update={"array": own.model_copy(update={"results": results})})
        assert other == type(design).from_dict(other.to_dict()) and other.hash != design.hash
        changed = replace(source, design=other)
        if results == 4:
            with pytest.raises(UserError, match="results must be 1, 2 or 4, at most 2 behind a port of 256 bits"):
                write_array(changed, data, project)
            continue
        write_array(changed, data, project)
        engine = json.loads((project / "report" / "accelerator.json").read_text())["engine"]
        assert engine["results"] == results
