"""The system g-cos: its space, prices that are those of the project, and whole searches, killed and resumed."""

import importlib
import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from arrays import right
from killing import killed, lines, same
from support import random_graph, random_network

import fgnas
from fgnas import systems
from fgnas.activations import NAMES
from fgnas.api.rankings import correlations, rank
from fgnas.backends.array import price
from fgnas.cli import main
from fgnas.costs import feasible
from fgnas.design import Aggregation
from fgnas.engine.jobs import process_pool
from fgnas.engine.store import RunStore
from fgnas.errors import UserError
from fgnas.hardware.array import reference
from fgnas.hardware.array.designs import BUILDABLE, array_of
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.networks.calibration import tied
from fgnas.networks.quantised import quantised_accuracy
from fgnas.systems.gcos.space import READERS, find_space, most_columns
from fgnas.systems.gcos.target import ArrayTarget
from fgnas.tasks.sampling import layer_graphs

SMALL: dict[str, Any] = {
    "dataset": "graph.npz", "updates": 25, "paths": 4, "children": 45, "leaders": 3, "retrain_seeds": 2,
    "retrain_epochs": 6, "seed": 3, "bram36": 80,
}  # fmt: skip
FILES = ("trials.jsonl", "leaders.json", "best.json", "cheapest.json", "pareto.json", "supernet.npz")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a small graph whose classes show in features and neighbours."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    x = (rng.random((150, 24)) < np.where(np.arange(24) % 3 == y[:, None], 0.35, 0.1)).astype(np.float32)
    ends = rng.integers(0, 150, (2, 900))
    alike = (y[ends[0]] == y[ends[1]]) | (rng.random(900) < 0.2)
    part = np.arange(150) % 3
    masks = {f"{name}_mask": part == place for place, name in enumerate(("train", "val", "test"))}
    np.savez(tmp_path / "graph.npz", x=x, y=y, edge_index=ends[:, alike], **masks)
    return tmp_path


def test_columns_are_those_that_an_array_can_have() -> None:
    """By hand: 12 units make groups of 4 at most, and 16 features are two words."""
    found = most_columns(np.array([12, 12, 5, 8]), np.array([256, 16, 256, 17]))
    assert found.tolist() == [4, 2, 1, 2]
    space = find_space("g-cos", 128, 512)
    rows = space.draw(500, np.random.default_rng(0))
    assert np.array_equal(space.repaired(rows), rows)
    values = space.columns(rows)
    assert (values["columns"][0] <= most_columns(values["units"][0], values["d"][0])).all()
    for place, decision in enumerate(space.decisions):
        assert set(rows[:, place].tolist()) == set(range(len(decision.options))), decision.name


def test_the_named_spaces_leave_one_side_free() -> None:
    baseline, engine = find_space("gcn-16", 12, 512), find_space("one-engine", 12, 256)
    rng = np.random.default_rng(1)
    designs = [baseline.candidate(row) for row in baseline.draw(60, rng)]
    assert len({design.training_key for design in designs}) == 1 and len({design.array for design in designs}) > 20
    designs = [engine.candidate(row) for row in engine.draw(60, rng)]
    assert len({design.training_key for design in designs}) > 20
    assert {(design.array.units, design.array.beat_bits) for design in designs if design.array} == {(12, 256)}


@pytest.mark.parametrize("given, told", [
    ({"dsp": 7}, "8 multipliers at least"), ({"beat_bits": 64}, "128, 256, 512 bits"),
    ({"results": 3}, "1, 2, 4 words of H a cycle"), ({"space": "all"}, "one-engine"),
])  # fmt: skip
def test_what_cannot_be_is_said(given: dict[str, Any], told: str) -> None:
    module = systems.find("g-cos")
    with pytest.raises(UserError, match=told):
        module.compose(module.Options(**given))


def test_table_ii_has_more_operators_and_leaves_the_first_space_as_it_is() -> None:
    found, first = find_space("table-ii", 12, 512), find_space("g-cos", 12, 512)
    options, before = ({one.name: one.options for one in space.choices} for space in (found, first))
    assert before["activation"] == ("relu", "sigmoid", "tanh", "elu") and options["activation"] == NAMES
    assert before["aggregation"] == ("add", "mean", "max") and options["aggregation"] == get_args(Aggregation)
    designs = [found.candidate(row) for row in found.draw(100, np.random.default_rng(2))]
    assert {design.layers[0].activation for design in designs} == set(NAMES)
    assert {design.rates for design in designs} == set(itertools.product((1.0, 0.5, 0.1), repeat=2))
    attentions = {design.layers[0].attention for design in designs}
    assert before["attention"] == ("constant", "gcn") and attentions == {"constant", "gcn", "gat"}
    assert "sampling" not in before and not any(
        first.candidate(row).sampling for row in first.draw(20, np.random.default_rng(2))
    )


def test_units_share_tables_in_a_space_of_its_own() -> None:
    """As many as hold the same columns, in every layer; the other spaces have the choices and draws that they had."""
    found, first = find_space("shared-tables", 96, 512), find_space("g-cos", 96, 512)
    assert set(found.choices) - set(first.choices) == {READERS} and set(first.choices) < set(found.choices)
    designs = [found.candidate(row) for row in found.draw(300, np.random.default_rng(5))]
    arrays = [design.array for design in designs if design.array is not None]
    assert {array.shared for array in arrays} == {1, 2, 4, 8, 16}
    assert all(array.shared == 1 or array.units % (array.shared * max(array.columns)) == 0 for array in arrays)
    for name in ("g-cos", "table-ii", "gcn-16", "one-engine"):
        space = find_space(name, 96, 512)
        assert all("shared" not in space.candidate(row).to_json() for row in space.draw(20, np.random.default_rng(5)))


def test_pairs_of_products_lie_beyond_the_budget() -> None:
    """Where numbers are narrow enough and messages have no scores; others take a DSP a multiplier, as before."""
    module = systems.find("g-cos")
    given = {"dataset": "digits", "space": "table-ii", "dsp": 96, "updates": 1}
    found, first = (module.compose(module.Options(**given, paired=paired)).space for paired in (True, None))
    designs = [found.candidate(row) for row in found.draw(400, np.random.default_rng(6))]
    kinds = set()
    for design in designs:
        assert design.array is not None
        narrow = not any(layer.ai + layer.af > 7 or layer.attends for layer in design.layers)
        pairs = design.array.units > 12 and narrow
        assert design.array.products == 1 + pairs and design.dsp == 8 * design.array.units // (1 + pairs)
        kinds.add((design.array.units > 12, narrow))
    assert len(kinds) == 4 and max(design.array.units for design in designs if design.array) == 24
    assert max(design.array.units for row in first.draw(400, np.random.default_rng(6))
               if (design := first.candidate(row)).array) == 12  # fmt: skip


def test_heads_are_as_many_as_features_and_units_allow() -> None:
    """A head has at least four features; a unit holds at most four heads, and no head is split."""
    space = find_space("table-ii", 12, 512)
    designs = [space.candidate(row) for row in space.draw(400, np.random.default_rng(4))]
    heads = set()
    for design in designs:
        layer, array = design.layers[0], design.array
        assert array is not None and layer.d is not None
        assert layer.k == 1 or (layer.attention == "gat" and layer.d >= 4)
        if layer.attention == "gat":
            heads.add(layer.k)
            assert array.columns[0] <= layer.k <= 4 * array.columns[0] and array.units % array.columns[0] == 0
    assert heads == {1, 2, 4, 8}
    assert {design.layers[1].attention for design in designs} == {"constant", "gcn", "gat"}


@pytest.mark.parametrize(
    ("seed", "name"), [(0, "g-cos"), (1, "g-cos"), (2, "g-cos"), (3, "table-ii"), (4, "shared-tables")]
)
def test_costs_are_those_of_the_project(seed: int, name: str) -> None:
    """Every cost of random rows against the lowered and encoded array, and what is feasible can be built."""
    rng = np.random.default_rng(seed)
    data = random_graph(rng, 80, 30, 5, 200)
    space = find_space(name, 24, 512, (1, 2, 4, 1, 2)[seed], 12 if seed % 2 else None)
    target = ArrayTarget(space, data, "xc7", 100.0)
    rows = space.draw(25, rng)
    costs = target.price(rows)
    for place in np.flatnonzero(feasible(costs, BUILDABLE)):
        design = space.candidate(rows[place])
        network = tied(design, random_network(rng, design, data))
        assert design.array is not None
        source = array_network(design, network, GraphShape.of(data), "random")
        array = design.array
        assert array.results == min(space.results, array.beat_bits // 128)
        first, *further = layer_graphs(data, design.rates)
        encoded = encode_array(array_of(source, first, further), first, further)
        found = price(encoded, Specification())
        # A table of exponentials depends on the scale of the values, which a price does not know.
        attends = any(layer.attends for layer in design.layers)
        for name in ("latency_cycles", "dsp", *(() if attends else ("bram36",))):
            assert costs[name][place] == found[name], name
        moved = [*encoded.regions.values(), reference.run_region(encoded)]
        read = sum(len(region) for name, region in encoded.regions.items() if name != "programme")
        again = sum(one.beats for one in encoded.programme) - read  # attention reads the edges twice
        assert costs["memory_bytes"][place] == sum(region.size for region in moved) + again * array.beat_bits // 8
        logits = reference.run(encoded)
        share = float((logits.argmax(axis=1) == data.labels)[data.val].mean())
        assert quantised_accuracy(design, network, data, ("val",)) == {"val": share}


def test_a_search_delivers_arrays_and_resumes_to_the_same_bytes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = fgnas.search(system="g-cos", workers=1, run="whole", **SMALL)
    trials = whole.trials()
    assert len({trial.row for trial in trials}) == 45 and not any(trial.trained for trial in trials)
    assert all(trial.costs["dsp"] <= 100 and trial.costs["bram36"] <= 80 for trial in trials)
    assert set(whole.best["delivered"]) == {"float", "quantised"}
    assert whole.report().is_file()
    stopped = begun(whole.folder, folder / "runs" / "cut")
    fgnas.search(run="cut", resume=True, workers=2)
    for name in FILES:
        assert (whole.folder / name).read_bytes() == (stopped / name).read_bytes(), name
    assert main(["hls", "whole", "--design", "cheapest", "--out", "built", "--quiet"]) == 0
    cheapest = whole.cheapest
    assert cheapest is not None
    predicted = json.loads(Path("built/report/price.json").read_text())
    for name in ("latency_cycles", "dsp", "bram36"):
        assert predicted[name] == cheapest["costs"][name]
    design = whole.design("cheapest")
    assert design.network is not None
    accuracy = quantised_accuracy(design.choices, design.network, fgnas.load("graph.npz"))
    assert accuracy == cheapest["delivered"]["quantised"]
    assert main(["hls", "runs/whole/best.json", "--out", "again", "--quiet"]) == 0
    assert json.loads(Path("again/design.json").read_text()) == whole.best["design"]
    assert_ranked(capsys)
    assert main(["price", "runs/whole/best.json", "--json"]) == 0
    row, costs = json.loads(capsys.readouterr().out), whole.best["costs"]
    for name in ("latency_cycles", "lut", "ff", "dsp", "bram36", "memory_bytes"):
        assert row[name] == costs[name], "the price of the search"


def assert_ranked(capsys: pytest.CaptureFixture[str]) -> None:
    """Measured once, a part of the networks at a time; another call repeats nothing."""
    capsys.readouterr()
    assert main(["rank", "whole", "--networks", "4", "--workers", "1", "--json", "--quiet"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["networks"] == 4 and first["trainings"] == 8 and abs(first["tau"]) <= 1
    lines = Path("runs/whole/rank.jsonl").read_text().splitlines()
    assert main(["rank", "whole", "--networks", "4", "--workers", "1", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert Path("runs/whole/rank.jsonl").read_text().splitlines() == lines and len(lines) == 4
    assert_trainings_are_taken(lines)
    assert main(["rank", "whole", "--seeds", "1"]) == 2
    assert "two seeds at least" in capsys.readouterr().err


def assert_trainings_are_taken(lines: list[str]) -> None:
    """Of a run that ranked the same networks with as many seeds; scores are those of the run itself."""
    ranked, other = (RunStore(Path("runs") / name) for name in ("whole", "cut"))
    changed = [json.loads(line) | {"alone": [0.5, place / 8]} for place, line in enumerate(lines)]
    place = ranked.folder / "rank.jsonl"
    place.write_text("".join(f"{json.dumps(one | {'score': 9.0})}\n" for one in changed))
    rank(other, process_pool(1), 4, 2, ranked)
    assert [json.loads(line) for line in (other.folder / "rank.jsonl").read_text().splitlines()] == changed
    place.write_text("".join(f"{line}\n" for line in lines))


def test_tau_by_hand() -> None:
    """Four networks form six pairs. One pair in the wrong order gives a tau of 4/6, three give 0, and so do ties."""
    alone = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 4.0, 3.0, 2.0]])
    found = correlations(np.array([1.0, 3.0, 2.0, 4.0]), np.array([[1.0, 2.0, 3.0, 4.0]] * 2))
    assert found["tau"] == pytest.approx(4 / 6) and found["seeds_tau"] == 1
    assert found["tau_better_half"] == 1
    assert correlations(np.ones(4), alone)["tau"] == 0
    assert correlations(np.ones(4), alone)["seeds_tau"] == 0


def begun(folder: Path, copy: Path) -> Path:
    """A copy of a run as if it had been killed after the supernet's training."""
    (copy / "children").mkdir(parents=True)
    for name in ("config.json", "supernet.npz"):
        shutil.copy(folder / name, copy / name)
    (copy / "trials.jsonl").touch()
    return copy


def test_networks_can_be_trained_alone(folder: Path) -> None:
    options = SMALL | {"children": 6, "leaders": 2, "retrain_seeds": 1}
    run = fgnas.search(system="g-cos", workers=1, scoring="training", epochs=3, **options)
    trained = [trial.training_key for trial in run.trials() if trial.trained]
    assert len(set(trained)) == len(trained) > 1 and not (run.folder / "supernet.npz").exists()


@pytest.mark.slow
def test_a_search_of_more_operators(folder: Path) -> None:
    """One supernet has trained them all; the accuracy that is delivered is that of the array."""
    options = SMALL | {"children": 20, "leaders": 2, "retrain_seeds": 1}
    run = fgnas.search(system="g-cos", workers=1, space="table-ii", **options)
    found = {trial.design["layers"][0]["activation"] for trial in run.trials()}
    assert len({tuple(trial.design.get("sampling", ())) for trial in run.trials()}) > 4
    assert found - {"relu", "tanh", "sigmoid", "elu"} and (run.folder / "supernet.npz").is_file()
    assert "mlp" in {layer["aggregation"] for trial in run.trials() for layer in trial.design["layers"]}
    design = run.design("best")
    assert design.network is not None
    accuracy = quantised_accuracy(design.choices, design.network, fgnas.load("graph.npz"))
    assert accuracy == run.best["delivered"]["quantised"]


@pytest.mark.slow
@pytest.mark.parametrize("space", ["g-cos", "table-ii", "shared-tables"])
def test_the_rtl_of_a_search_is_right(folder: Path, space: str) -> None:
    run = fgnas.search(system="g-cos", workers=1, space=space, **SMALL)
    result = run.design("best").lower().write(folder / "built").simulate()
    assert result["mismatches"] == result["cycle_difference"] == result["phase_differences"] == 0
    assert result["cycles"] == run.best["costs"]["latency_cycles"]


BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A made graph of 17,000 nodes, whose H no table of 16,384 words holds."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    made = importlib.import_module("large_graph").Made(nodes=17_000, pairs=9_000, width=24)
    return made.write(folder / "large.npz", seed=2)


def test_a_made_graph_has_the_sizes_that_it_says(large: Path) -> None:
    """Both ways, none twice, none to itself, a few nodes with many; the same bytes of the same seed."""
    with np.load(large) as file:
        source, target = file["edge_index"]
        pairs = set(zip(source.tolist(), target.tolist(), strict=True))
        assert len(pairs) == len(source) == 18_000 and pairs == {(b, a) for a, b in pairs}
        assert not np.any(source == target) and file["x"].shape == (17_000, 24)
        degrees = np.bincount(source, minlength=17_000)
        assert degrees.max() > 20 * degrees.mean()
        alike = float((file["y"][source] == file["y"][target]).mean())
        assert 0.75 < alike < 0.95 and 0.1 < (file["x"] != 0).mean() < 0.5
        masks = sum(file[f"{name}_mask"].astype(int) for name in ("train", "val", "test"))
        assert np.all(masks == 1)


def test_prices_of_a_graph_that_no_array_holds_whole(large: Path) -> None:
    """Most designs are divided; each of some that are feasible is as it is priced, and computes what it should."""
    rng = np.random.default_rng(5)
    data = fgnas.load("large.npz")
    space = find_space("g-cos", 12, 512)
    rows = space.draw(60, rng)
    costs = ArrayTarget(space, data, "xc7", 100.0).price(rows)
    kept = np.flatnonzero(feasible(costs, BUILDABLE))
    assert len(kept) > 15
    aggregations = set()
    for place in kept[:12]:
        design = space.candidate(rows[place])
        source = array_network(design, tied(design, random_network(rng, design, data)), GraphShape.of(data), "large")
        encoded = encode_array(array_of(source, data), data)
        found = price(encoded, Specification())
        assert encoded.accelerator.plans[0].blocks > 1
        for name in ("latency_cycles", "dsp", "bram36"):
            assert costs[name][place] == found[name], name
        assert costs["memory_bytes"][place] == encoded.bytes_read + encoded.bytes_written
        aggregations |= {layer.aggregation for layer in design.layers}
        if all(layer.aggregation != "mean" for layer in design.layers):
            wanted = right(source, data)
            assert np.array_equal(reference.run(encoded), wanted)
    assert aggregations == {"add", "mean", "max"}


@pytest.mark.slow
def test_a_search_on_a_graph_that_no_array_holds_whole(large: Path, folder: Path) -> None:
    """It ends with a best design, whose project is right in C++ and in RTL, its cycles those of the price."""
    options = SMALL | {"dataset": "large.npz", "updates": 5, "children": 20, "leaders": 2, "retrain_seeds": 1}
    options |= {"bram36": None, "dsp": 40, "retrain_epochs": 3}
    run = fgnas.search(system="g-cos", workers=1, run="large", **options)
    assert len(run.trials()) == 20
    assert main(["hls", "large", "--out", "built", "--quiet"]) == 0
    project = fgnas.Project(folder / "built")
    layers = json.loads((folder / "built/report/accelerator.json").read_text())["layers"]
    assert layers[0]["blocks"] > 1
    cpp, rtl = project.csim(), project.simulate()
    assert cpp["mismatches"] == cpp["failed_checks"] == 0
    assert rtl["mismatches"] == rtl["cycle_difference"] == rtl["phase_differences"] == 0
    assert rtl["cycles"] == run.best["costs"]["latency_cycles"]
    design = run.design("best")
    assert design.network is not None
    accuracy = quantised_accuracy(design.choices, design.network, fgnas.load("large.npz"))
    assert accuracy == run.best["delivered"]["quantised"]


PROGRAM = """
import sys
from pathlib import Path

import fgnas

if __name__ == "__main__":
    begun = (Path("runs") / sys.argv[1] / "config.json").is_file()
    given = {} if begun else {
        "system": "g-cos", "dataset": "graph.npz", "updates": 200, "paths": 4, "children": 160, "leaders": 2,
        "retrain_seeds": 2, "retrain_epochs": 20, "bram36": 80, "seed": 1,
    }
    fgnas.search(run=sys.argv[1], resume=begun, workers=int(sys.argv[2]), **given)
"""


@pytest.mark.slow
def test_killed_three_times_it_gives_the_same_bytes_on_two_workers(folder: Path) -> None:
    """In the supernet's training, and twice in the search; against an undisturbed run on one worker."""
    (folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, "program.py"]
    subprocess.run([*command, "whole", "1"], check=True)
    cut = folder / "runs" / "cut"
    trials = cut / "trials.jsonl"
    killed([*command, "cut", "2"], cut, (cut / "supernet.npz").is_file)
    assert lines(trials) == 0
    for count in (20, 100):
        killed([*command, "cut", "2"], cut, lambda count=count: lines(trials) >= count)
    subprocess.run([*command, "cut", "2"], check=True)
    same(cut, folder / "runs" / "whole", FILES)
