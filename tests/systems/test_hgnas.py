"""The system hgnas: rows and networks, prices, scores of a supernet, and whole searches on small clouds."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from killing import killed, lines, same
from point_clouds import write_clouds

import fgnas
from fgnas.api.rankings import rank
from fgnas.cli import main
from fgnas.engine.jobs import process_pool
from fgnas.errors import UserError
from fgnas.networks.norm import Norm
from fgnas.networks.points import training
from fgnas.networks.points.canonical import canonical
from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.model import Dense, PointModel, started, step
from fgnas.networks.points.operations import TAILS, Aggregate, Combine, Connect, PointNetwork, Sample, widths
from fgnas.networks.points.supernet import Aligned, Sliced, accuracy, parts_behind
from fgnas.networks.points.training import graphs_of
from fgnas.networks.points.work import Cloud, multiplications
from fgnas.systems.hgnas import Options, compose
from fgnas.systems.hgnas.space import POSITIONS, PointSpace, point_space
from fgnas.systems.hgnas.target import ProductTarget
from fgnas.systems.hgnas.trainer import PointTrainer
from fgnas.tasks.points import GraphSet, load_graphs

CLOUD = Cloud(points=10, width=3, neighbours=4, classes=2)
SPACE = point_space(CLOUD, TAILS["small"])


@pytest.fixture(scope="module")
def clouds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clouds(tmp_path_factory.mktemp("clouds"))


def row_of(space: PointSpace, **values: object) -> np.typing.NDArray[np.int16]:
    """A row of identities but for the decisions that are given."""
    row = np.full(len(space.decisions), 0, np.int16)
    names = {one.name: place for place, one in enumerate(space.decisions)}
    row[names["supernet"]] = -1
    row[names["upper_connect"]] = row[names["lower_connect"]] = 1
    for name, value in values.items():
        place = names[name.replace("at", "", 1) + ".operation" if name.startswith("at") else name]
        row[place] = space.decisions[place].options.index(value)
    return row


def test_the_space_has_23_decisions() -> None:
    """12 operations, 5 functions of each half, and the supernet that no draw decides (HGNAS, Table 2)."""
    assert len(SPACE.decisions) == 23
    rows = SPACE.draw(200, np.random.default_rng(0))
    column = [one.name for one in SPACE.decisions].index("supernet")
    assert (rows[:, column] == -1).all() and (np.delete(rows, column, axis=1) >= 0).all()


def test_halves_have_their_own_functions() -> None:
    row = row_of(SPACE, at0="combine", at5="sample", at6="aggregate", at7="combine", upper_width=16, lower_width=64,
                 upper_sample="random", lower_reducer="mean", lower_message="full")  # fmt: skip
    assert SPACE.candidate(row).network.operations == (
        Combine(16), Sample("random"), Aggregate("mean", "full"), Combine(64),
    )  # fmt: skip


def test_a_row_that_asks_for_own_weights_has_another_score() -> None:
    row = row_of(SPACE, at0="combine")
    shared = SPACE.candidate(row)
    row[[one.name for one in SPACE.decisions].index("supernet")] = 0
    own = SPACE.candidate(row)
    assert own.hash == shared.hash and own.score_key != shared.score_key
    assert own.functions[3] == 8 and shared.functions == () and shared.supernet == "shared"


def test_rows_and_canonical_networks_compute_the_same() -> None:
    """Random rows of the space as they are drawn, and their canonical form, with the same weights."""
    rng = np.random.default_rng(5)
    for seed, row in enumerate(SPACE.draw(120, rng)):
        listed, short = SPACE.operations(row), SPACE.candidate(row).network.operations
        if max(widths(short, 3), default=0) > 512:
            continue
        torch.manual_seed(seed)
        after = PointModel(PointNetwork(short, TAILS["small"]), 3, 2).eval()
        before = PointModel(PointNetwork((), TAILS["small"]), 3, 2).eval()
        combines = [place for place, one in enumerate(listed) if isinstance(one, Combine)]
        before.network, before.tail = PointNetwork(listed, TAILS["small"]), after.tail
        before.layers = torch.nn.ModuleDict(zip(map(str, combines), after.layers.values(), strict=True))
        x = torch.randn(20, 3)
        with torch.no_grad():
            assert torch.equal(before(x, Batch((10, 10), 4)), after(x, Batch((10, 10), 4)))


def test_products_by_hand() -> None:
    network = PointNetwork((Sample("nearest"), Aggregate("max", "full"), Combine(8), Connect("skip")), TAILS["small"])
    distances, combine, embedding, tail = 10 * 10 * 3, 10 * 10 * 8, 10 * 8 * 64, 128 * 64 + 64 * 2
    assert multiplications(network, CLOUD) == distances + combine + embedding + tail
    target = ProductTarget(SPACE)
    row = row_of(SPACE, at0="sample", at1="aggregate", at2="combine", upper_reducer="max", upper_message="full")
    found = target.price(row[None])
    assert found["products"][0] == distances + combine + embedding + tail and found["width"][0] == 10
    assert found["share"][0] == found["products"][0] / target.reference


def test_a_path_is_the_final_network(clouds: Path) -> None:
    """The supernet's slices, in a network of their own with the path's statistics, give the same logits."""
    torch.manual_seed(1)
    data = load_graphs(clouds)
    network = PointNetwork((Sample("nearest"), Aggregate("mean", "source-relative"), Aggregate("max", "full"),
                            Combine(16), Combine(8)), TAILS["small"])  # fmt: skip
    model = Sliced(POSITIONS, CLOUD, TAILS["small"]).eval()
    x, batch, _ = graphs_of(data, np.flatnonzero(data.train))
    model.measure(x, batch, network)
    alone = PointModel(network, 3, 2).eval()
    layers = [one for one in alone.modules() if isinstance(one, Dense)]
    parts = parts_behind(Aggregate("max", "full"), parts_behind(Aggregate("mean", "source-relative"), (3,)))
    assert parts == (3,) * 6 + (1,)
    given = [(model.layers[0], parts), (model.layers[1], (16,)), (model.embedding, (8,))]
    for dense, (sliced, widths_of) in zip(layers, given, strict=False):
        outputs = dense.linear.out_features
        blocks = [sliced.weight[:outputs, place % 4, :width] for place, width in enumerate(widths_of)]
        dense.linear.weight.data = torch.cat(blocks, dim=1).detach()
        copy_statistics(dense, sliced.norm, outputs)
    for dense, linear, norm in zip(layers[3:], model.hidden, model.norms, strict=True):
        dense.linear.weight.data = linear.weight.detach()
        copy_statistics(dense, norm, dense.linear.out_features)
    alone.tail.logits.load_state_dict(model.logits.state_dict())
    with torch.no_grad():
        assert torch.allclose(model(x, batch, network), alone(x, batch), atol=1e-5)
    assert 0 <= accuracy(model, network, data) <= 1


def test_an_aligned_path_by_hand(clouds: Path) -> None:
    """Entry, each operation, and the map to one width behind those that change features' number."""
    torch.manual_seed(1)
    data = load_graphs(clouds)
    network = PointNetwork((Sample("nearest"), Aggregate("max", "full"), Combine(16)), TAILS["small"])
    model = Aligned(POSITIONS, CLOUD, TAILS["small"]).eval()
    x, batch, _ = graphs_of(data, np.flatnonzero(data.train))
    model.measure(x, batch, network)
    with torch.no_grad():
        state = started(model.entry(x), batch)
        step(state, network.operations[0])
        step(state, network.operations[1])
        assert state.x.shape[1] == 3 * 64 + 1
        behind = model.positions[1]["full"].align(state.x)
        dense = model.positions[2]["16"]
        features = dense.align(torch.relu(dense.norm(dense.linear(behind))))
        found = model.embedding(features, (64,), 64)
        assert torch.equal(found, model.embedded(started(x, batch), network))
    assert 0 <= accuracy(model, network, data) <= 1


def copy_statistics(dense: Dense, norm: Norm, outputs: int) -> None:
    """A measured norm's leading features, as those of a network that trained alone."""
    assert norm.mean is not None and norm.variance is not None
    dense.norm.running_mean, dense.norm.running_var = norm.mean.clone(), norm.variance.clone()
    dense.norm.weight.data, dense.norm.bias.data = norm.weight[:outputs].detach(), norm.bias[:outputs].detach()


def test_a_whole_search(clouds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both stages; leaders are trained alone, and their weights are those of the accuracy."""
    monkeypatch.chdir(tmp_path)
    assert main(["search", "--system", "hgnas", "--dataset", str(clouds), "--epochs", "2", "--own-epochs", "1",
                 "--children", "72", "--leaders", "2", "--retrain-seeds", "1", "--retrain-epochs", "2", "--products",
                 "0.05", "--tail", "small", "--workers", "1", "--quiet"]) == 0  # fmt: skip
    run = Path("runs/clouds-1")
    trials = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    assert len(trials) == 72 and max(one["costs"]["products"] for one in trials) <= 50_000
    assert sum(not one["score_key"].endswith("shared") for one in trials) == 48
    best = json.loads((run / "best.json").read_text())
    network = PointNetwork.from_dict(best["design"])
    data = load_graphs(clouds)
    model = PointModel(network, 3, 2).eval()
    model.load_state_dict(torch.load(run / best["weights"], weights_only=True))
    assert share_right(model, data) == best["delivered"]["float"]["test"]
    assert (run / "report.html").is_file()
    again = canonical(network.operations, 3)
    assert again == network.operations
    page = (run / "report.html").read_text()
    assert "trained again with a fresh seed and ranked by that score less 0.05 times share" in page
    assert "have no other" not in page


def share_right(model: PointModel, data: GraphSet) -> float:
    """Accuracy on the test split."""
    x, batch, labels = graphs_of(data, np.flatnonzero(data.test))
    with torch.no_grad():
        return float((model(x, batch).argmax(dim=1) == labels).float().mean())


def test_a_search_with_an_aligned_supernet(clouds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = fgnas.search(system="hgnas", dataset=str(clouds), supernet="aligned", epochs=1, own_epochs=1, children=24,
                       leaders=1, retrain_seeds=1, retrain_epochs=1, workers=1)  # fmt: skip
    assert len(run.trials()) == 24 and list((tmp_path / "runs").glob("*/supernet-[0-9a-f]*.pt"))


def test_other_searchers_take_the_same_space(clouds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = fgnas.search(system="hgnas", dataset=str(clouds), method="random", epochs=1, children=12, leaders=1,
                       retrain_seeds=1, retrain_epochs=1, workers=1)  # fmt: skip
    assert len(run.trials()) == 12 and not list((tmp_path / "runs").glob("*/supernet-[0-9a-f]*.pt"))


def test_short_trainings_score_and_folds_judge(clouds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A score is the accuracy of a training of so many epochs, folds are trainings without a part; both by hand."""
    monkeypatch.chdir(tmp_path)
    counted, judge = list[object](), PointTrainer.judge
    monkeypatch.setattr(PointTrainer, "judge", lambda self, *given: counted.append(given) or judge(self, *given))
    run = fgnas.search(system="hgnas", dataset=str(clouds), scoring="training", score_epochs=2, folds=4, children=24,
                       leaders=3, finalists=1, retrain_seeds=1, retrain_epochs=3, workers=1, seed=7)  # fmt: skip
    trials, data = run.trials(), load_graphs(clouds)
    assert not list(run.folder.glob("supernet-*.pt")) and not any(one.score_key[13:] != "shared" for one in trials)
    assert sum(one.trained for one in trials) == len({one.score_key for one in trials})
    assert len(counted) == 1, "leaders alone are judged, once"
    recipe = replace(training.recipe_of(data), epochs=2)
    model = training.train(PointNetwork.from_dict(trials[3].design), data, recipe, 7)
    assert trials[3].scores["val"] == training.accuracy(model, data, "val")
    judged = [one["folds"]["values"] for one in run.store.leaders() if "folds" in one]
    assert [len(one) for one in judged] == [4, 4]
    part = data.held_out(2, 4, 7)
    model = training.train(PointNetwork.from_dict(run.best["design"]), part, replace(recipe, epochs=3), 10)
    assert run.best["folds"]["values"][2] == training.accuracy(model, part, "val")
    assert main(["report", "latest"]) == 0
    assert "ranked by the mean over 4 parts that were held out in turn" in (run.folder / "report.html").read_text()


def test_without_a_weight_the_searcher_is_told_accuracy_alone(clouds: Path) -> None:
    told = [compose(Options(dataset=str(clouds), weight=weight)).objectives for weight in (0.0, 0.05)]
    assert told == [("val",), ("val", "share")]


def test_more_folds_than_clouds(clouds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="--folds 41 are more than the 40 graphs for training and validation: give fe"):
        fgnas.search(system="hgnas", dataset=str(clouds), folds=41)


def test_ranking_leaves_no_trainings_behind(clouds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = fgnas.search(
        system="hgnas", dataset=str(clouds), epochs=1, own_epochs=1, method="random", children=4, leaders=1,
        retrain_seeds=1, retrain_epochs=1, workers=1,
    )  # fmt: skip
    assert rank(run.store, process_pool(1), 2, 2)["trainings"] == 4
    assert not run.store.trainings.exists() and lines(run.folder / "rank.jsonl") == 2


FILES = ("trials.jsonl", "leaders.json", "best.json", "supernet-shared.pt")
PROGRAM = """
import sys
from pathlib import Path

import fgnas

if __name__ == "__main__":
    begun = (Path("runs") / sys.argv[1] / "config.json").is_file()
    given = {} if begun else {
        "system": "hgnas", "dataset": sys.argv[3], "epochs": 6, "own_epochs": 6, "children": 120, "leaders": 2,
        "retrain_seeds": 1, "retrain_epochs": 2, "seed": 1,
    }
    fgnas.search(run=sys.argv[1], resume=begun, workers=int(sys.argv[2]), **given)
"""


def epochs_of(path: Path) -> int:
    """Whole epochs of a supernet's checkpoint; 0 where there is none yet."""
    try:
        return int(torch.load(path, weights_only=True)["epochs"])
    except (OSError, RuntimeError, EOFError):
        return 0


@pytest.mark.slow
def test_killed_twice_in_the_supernet_and_in_both_stages(
    clouds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes as of an undisturbed run on one worker; the supernet of the best functions is killed, too."""
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(PROGRAM)
    command = [sys.executable, "program.py"]
    subprocess.run([*command, "whole", "1", str(clouds)], check=True)
    cut = Path("runs", "cut")
    trials, shared = cut / "trials.jsonl", cut / "supernet-shared.pt"
    killed([*command, "cut", "2", str(clouds)], cut, shared.is_file)
    killed([*command, "cut", "2", str(clouds)], cut, lambda: epochs_of(shared) >= 3)
    assert lines(trials) == 0
    for least in (8, 24):
        killed([*command, "cut", "2", str(clouds)], cut, lambda least=least: lines(trials) >= least)  # type: ignore[misc]
    killed([*command, "cut", "2", str(clouds)], cut, lambda: any(cut.glob("supernet-[0-9a-f]*.pt")))
    for least in (60, 100):
        killed([*command, "cut", "2", str(clouds)], cut, lambda least=least: lines(trials) >= least)  # type: ignore[misc]
    subprocess.run([*command, "cut", "2", str(clouds)], check=True)
    same(cut, Path("runs", "whole"), FILES)


TRAININGS = """
import sys
from pathlib import Path

import fgnas

if __name__ == "__main__":
    begun = (Path("runs") / sys.argv[1] / "config.json").is_file()
    given = {} if begun else {
        "system": "hgnas", "dataset": sys.argv[3], "scoring": "training", "method": "random", "score_epochs": 4,
        "children": 20, "leaders": 6, "folds": 4, "finalists": 2, "retrain_seeds": 2, "retrain_epochs": 8, "seed": 1,
    }
    fgnas.search(run=sys.argv[1], resume=begun, workers=int(sys.argv[2]), **given)
"""


@pytest.mark.slow
def test_trainings_that_ended_before_a_kill_are_not_repeated(
    clouds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed among the scores, the retrainings and the folds: the same bytes, and no file of a training is replaced."""
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(TRAININGS)
    command = [sys.executable, "program.py"]
    subprocess.run([*command, "whole", "1", str(clouds)], check=True)
    cut, whole, seen = Path("runs", "cut"), Path("runs", "whole"), dict[str, int]()

    def kept(pattern: str) -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in (cut / "trainings").glob(pattern)}

    for pattern, least in (("run_judged-*", 3), ("run_alone-*", 2), ("run_judged-*", 22)):
        killed([*command, "cut", "2", str(clouds)], cut, lambda at=(pattern, least): len(kept(at[0])) >= at[1])  # type: ignore[misc]
        assert seen.items() <= kept("*.pt").items()
        seen = kept("*.pt")
    subprocess.run([*command, "cut", "2", str(clouds)], check=True)
    same(cut, whole, ("trials.jsonl", "leaders.json", "best.json"))
    assert not (cut / "trainings").exists() and not (whole / "trainings").exists()
