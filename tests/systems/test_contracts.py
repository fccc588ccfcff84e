"""The contracts are enough: a system with exactly their methods runs through search, kill, resume, front and page."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import fgnas
from fgnas import searchers, systems
from fgnas.cli import main
from fgnas.engine import early, survey
from fgnas.errors import UserError
from fgnas.systems.fgnas import space, target
from fgnas.systems.fgnas.target import PipelineTarget

ROOT = Path(__file__).parents[2]
FILES = ("trials.jsonl", "leaders.json", "best.json", "pareto.json")


@pytest.fixture
def shelves(monkeypatch, tmp_path):
    """The toy system under its name: one module, one line in the registry."""
    monkeypatch.setitem(systems.SYSTEMS, "shelves", "shelves")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def hill_climber(monkeypatch, tmp_path):
    """The page's searcher as a module of the package: one file."""
    page = (ROOT / "docs" / "extending.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "hillclimber.py").write_text(next(block for block in blocks if "class HillClimber" in block))
    monkeypatch.setattr(searchers, "__path__", [*searchers.__path__, str(folder)])
    yield
    sys.modules.pop("fgnas.searchers.hillclimber", None)


def test_the_page_shows_the_system_that_runs_here():
    assert (ROOT / "tests" / "shelves.py").read_text() in (ROOT / "docs" / "extending.md").read_text()


@pytest.mark.parametrize("method, controller", [
    ("random", None), ("reinforce", "warm"), ("reinforce", "masked"), ("reinforce", "paper"), ("hillclimber", None),
    ("evolution", None), ("distinct", None), ("pool", None), ("nsga2", None),
])  # fmt: skip
def test_every_searcher_runs_a_system_it_does_not_know(shelves, hill_climber, method, controller):
    options = {"method": method, "controller": controller, "children": 30, "leaders": 4, "seed": 2}
    run = fgnas.search(system="shelves", workers=1, **options)
    assert run.folder.name == "shelves-1" and len(run.trials()) == 30
    assert all(trial.costs["grams"] <= 4000 for trial in run.trials())
    assert set(run.best["delivered"]["loaded"]) == {"val", "test"}
    front = json.loads((run.folder / "pareto.json").read_text())["grams"]
    weights = [row["costs"]["grams"] for row in front]
    assert weights == sorted(weights, reverse=True) and len(set(weights)) == len(weights)
    page = run.report().read_text(encoding="utf-8")
    assert "fgnas hls" not in page
    assert "Weight" in page and "oak" in page and "LUT" not in page.split("</style>")[1].split("<script>")[0]


def test_the_command_line_takes_the_options_of_the_system(shelves, capsys):
    command = ["search", "--system", "shelves", "--method", "random", "--children", "12", "--workers", "1"]
    assert main([*command, "--grams", "2000", "--json", "--quiet"]) == 0
    best = json.loads(capsys.readouterr().out)
    assert best["run"] == "shelves-1" and best["costs"]["grams"] <= 2000
    assert main(["search", "--resume", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out) == best
    assert main(["hls", "shelves-1"]) == 2
    assert "no back end" in capsys.readouterr().err
    assert main([*command, "--lut", "9"]) == 2
    assert "--lut" in capsys.readouterr().err
    assert main([*command, "--grams", "100"]) == 2
    assert "is over" not in (told := capsys.readouterr().err) and "g are over 100 g" in told
    assert main(["search", "--system", "nothing"]) == 2
    assert "known: fgnas, g-cos, hgnas, magnas, shelves" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options", [{"method": "distinct"}, {"method": "evolution"}, {"method": "pool"}, {"distinct": True}]
)
def test_a_seen_candidate_is_never_a_child_again(shelves, options):
    """The search ends when every shelf that fits has been a child."""
    run = fgnas.search(system="shelves", grams=2000, children=500, leaders=2, workers=1, **options)
    parts = systems.find("shelves").compose(systems.find("shelves").Options(grams=2000))
    every = np.array(list(np.ndindex(*(len(decision.options) for decision in parts.space.decisions))), np.int16)
    children = [trial.row for trial in run.trials()]
    assert len(children) == len(set(children))
    assert set(children) == set(map(tuple, every[parts.feasible(every)].tolist()))


@pytest.mark.parametrize("method", ["random", "reinforce", "evolution", "distinct", "pool"])
def test_a_finished_run_continues_with_more_children(shelves, method):
    """The bytes of a run that had asked for them from the start; the batches of no searcher divide 33."""
    options = {"system": "shelves", "method": method, "leaders": 3, "workers": 1, "seed": 4}
    whole = fgnas.search(run="whole", children=70, **options)
    fgnas.search(run="cut", children=33, **options)
    longer = fgnas.search(run="cut", children=70, resume=True, workers=1)
    assert len(longer.trials()) == 70
    for name in (*FILES, "config.json"):
        assert (whole.folder / name).read_bytes() == (longer.folder / name).read_bytes(), name
    assert fgnas.search(run="cut", children=70, resume=True, workers=1).best == longer.best
    with pytest.raises(UserError, match=r"options\.children is 70 there and 40 now"):
        fgnas.search(run="cut", children=40, resume=True, workers=1)


def test_a_finished_run_continues_with_more_trainings(shelves):
    options = {"system": "shelves", "method": "random", "children": 90, "workers": 1}
    whole = fgnas.search(run="whole", trainings=41, **options)
    fgnas.search(run="cut", trainings=17, **options)
    longer = fgnas.search(run="cut", trainings=41, resume=True, workers=1)
    assert sum(trial.trained for trial in longer.trials()) == 41
    for name in (*FILES, "config.json"):
        assert (whole.folder / name).read_bytes() == (longer.folder / name).read_bytes(), name


def test_a_searcher_that_plans_its_children_is_not_given_more(shelves):
    run = fgnas.search(system="shelves", method="nsga2", children=30, workers=1, run="small")
    best = run.best
    assert fgnas.search(run="small", children=60, resume=True, workers=1).best["trial"] >= 0  # the same population
    with pytest.raises(UserError, match="--method nsga2 plans its children from the start: with 500 of them instead"):
        fgnas.search(run="small", children=500, resume=True, workers=1)
    assert best and fgnas.Run.find("small").best, "a refusal leaves the run as it was"


def test_a_stopped_search_offers_its_best_so_far(shelves, monkeypatch, capsys):
    """Ctrl-C at any time after the first design; the search that is continued ends as if it had never been stopped."""
    command = ["search", "--system", "shelves", "--method", "random", "--children", "60", "--workers", "1", "--seed"]
    assert main([*command, "1", "--run", "whole"]) == 0
    told = capsys.readouterr().err
    assert "from now on Ctrl-C may stop the search" in told and told.count("is ready") <= 3
    assert not Path("runs/whole/early.json").exists()
    update, lengths = early.Early.update, []

    def stopped(self, children, leaders):
        update(self, children, leaders)
        lengths.append(children)
        if children > 30:
            raise KeyboardInterrupt

    monkeypatch.setattr(early.Early, "update", stopped)
    assert main([*command, "1", "--run", "cut"]) == 130
    assert "fgnas: interrupted; continue with: fgnas search --run cut --resume" in capsys.readouterr().err
    run = fgnas.Run.find("cut")
    entry, trials = run.store.leaders()[0], run.trials()
    assert run.best == {} and len(run.store.leaders()) == 1
    best = max((trial for trial in trials[: lengths[1]]), key=lambda trial: trial.scores["strength"])
    assert entry["trial"] in {best.trial, *range(lengths[0])} and entry["retrained_val"]["values"]
    monkeypatch.undo()
    monkeypatch.setitem(systems.SYSTEMS, "shelves", "shelves")
    monkeypatch.chdir(shelves)
    assert main(["search", "--run", "cut", "--resume", "--quiet"]) == 0
    for name in FILES:
        assert Path("runs/whole", name).read_bytes() == Path("runs/cut", name).read_bytes(), name
    assert not Path("runs/cut/early.json").exists()


def test_a_search_killed_before_its_first_design_has_it_soon_after(shelves, monkeypatch):
    """The continued search makes it deliverable before it draws another batch."""
    update, options = early.Early.update, {"run": "cut", "workers": 1}

    def killed(self, children, leaders):
        raise KeyboardInterrupt

    def stopped(self, children, leaders):
        update(self, children, leaders)
        raise KeyboardInterrupt

    monkeypatch.setattr(early.Early, "update", killed)
    with pytest.raises(KeyboardInterrupt):
        fgnas.search(system="shelves", method="random", children=60, **options)
    with pytest.raises(UserError, match="not finished"):
        fgnas.Run.find("cut")
    monkeypatch.setattr(early.Early, "update", stopped)
    with pytest.raises(KeyboardInterrupt):
        fgnas.search(resume=True, **options)
    run = fgnas.Run.find("cut")
    assert 0 < len(run.trials()) < 60 and len(run.store.leaders()) == 1


def test_a_stopped_search_for_a_design_can_be_built(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(survey, "SURVEY_DRAWS", 2_000)
    update = early.Early.update

    def stopped(self, children, leaders):
        update(self, children, leaders)
        raise KeyboardInterrupt

    monkeypatch.setattr(early.Early, "update", stopped)
    command = ["search", "--method", "random", "--target", "pipeline", "--epochs", "2", "--workers", "1", "--run", "d"]
    assert main(command) == 130
    told = capsys.readouterr().err
    assert "its best design so far is built by: fgnas hls d; continue with: fgnas search --run d --resume" in told
    assert main(["hls", "latest", "--design", "best", "--json"]) == 0
    out, told = capsys.readouterr()
    entry = json.loads(Path("runs/d/early.json").read_text())
    assert json.loads(out)["design_hash"] == entry["design_hash"] and "the run d is not finished" in told
    assert "delivered" not in entry, "nothing of the test split is told before the end"
    assert Path("hls/best/README.md").is_file()


PROGRAM = """
import sys, time
from pathlib import Path

sys.path.insert(0, sys.argv[1])
import fgnas
from fgnas import systems
import shelves

systems.SYSTEMS["shelves"] = "shelves"
carries = shelves.Workbench.carries
shelves.Workbench.carries = lambda *given: time.sleep(0.01) or carries(*given)
name, begun = sys.argv[2], (Path("runs") / sys.argv[2] / "config.json").is_file()
new = {} if begun else {"system": "shelves", "method": sys.argv[3]}
fgnas.search(children=80, leaders=3, run=name, resume=begun, workers=1, **new)
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["reinforce", "evolution", "pool", "nsga2"])
def test_killed_and_resumed_it_gives_the_same_bytes(shelves, method):
    command = [sys.executable, "-c", PROGRAM, str(ROOT / "tests")]
    subprocess.run([*command, "whole", method], check=True)
    trials = Path("runs/cut/trials.jsonl")
    for wanted in (10, 60):
        process = subprocess.Popen([*command, "cut", method])
        while process.poll() is None and (not trials.is_file() or trials.read_bytes().count(b"\n") < wanted):
            time.sleep(0.01)
        assert process.poll() is None, "it ended before it could be killed"
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([*command, "cut", method], check=True)
    for name in FILES:
        assert Path("runs/whole", name).read_bytes() == Path("runs/cut", name).read_bytes(), name


def test_a_searcher_is_one_file(hill_climber):
    assert "hillclimber" in searchers.methods()
    assert searchers.find("hillclimber").__name__ == "searcher"


def test_a_space_is_one_name_in_one_file(monkeypatch, capsys):
    monkeypatch.setitem(space.SPACES, "plain", lambda layers, dsp: space.fgnas_space(layers, dsp).restrict(k=(1,)))
    assert main(["sample", "--space", "plain", "-n", "5"]) == 0
    designs = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {layer["k"] for design in designs for layer in design["layers"]} == {1}


class Halved(PipelineTarget):
    """A target of another speed."""

    def price(self, rows):
        costs = dict(super().price(rows))
        return {**costs, "latency_cycles": np.ceil(costs["latency_cycles"] / 2)}


def test_the_back_end_writes_what_a_run_delivered(monkeypatch, tmp_path):
    """The same project as `fgnas hls` writes, byte for byte."""
    monkeypatch.chdir(tmp_path)
    options = {"method": "random", "children": 2, "leaders": 1, "retrain_seeds": 1, "epochs": 2, "workers": 1}
    run = fgnas.search("digits", **options)
    assert "fgnas hls" in run.report().read_text(encoding="utf-8")
    back_end = systems.find("fgnas").back_end
    delivered = back_end.open(run.store.leaders()[0], run.folder)
    files = back_end.write(delivered, fgnas.load("digits"), tmp_path / "direct")
    assert main(["hls", "latest", "--out", "command", "--quiet"]) == 0
    names = {path.relative_to(tmp_path / "direct") for path in files}
    found = (path for path in Path("command").rglob("*") if path.is_file())
    assert names == {path.relative_to("command") for path in found}
    for name in names:
        assert Path("direct", name).read_bytes() == Path("command", name).read_bytes(), name


def test_a_target_is_one_name_in_one_file(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(target.TARGETS, "halved", Halved)
    options = {"method": "random", "children": 3, "leaders": 1, "retrain_seeds": 1, "epochs": 2, "workers": 1}
    run = fgnas.search("digits", target="halved", **options)
    price = run.design().price("digits")
    assert run.best["costs"]["latency_cycles"] == -(-price["latency_cycles"] // 2)
