"""Several runs side by side: fronts, deltas and what differs, by hand; the command and the function."""

import dataclasses
import json
from pathlib import Path

import pytest

import fgnas
from fgnas.cli import main
from fgnas.engine.store import RunStore
from fgnas.errors import UserError
from fgnas.report.compare import compared_page, shares
from fgnas.report.page import compared_html
from fgnas.report.record import RunRecord
from tests.report.test_any_system import chairs


def beside(name: str = "stools") -> RunRecord:
    """The chairs again, another design delivered, under another name."""
    first = chairs()
    assert first.best is not None
    best = {**first.best, "costs": {"mass": 1000, "price": 12}, "delivered": {"wooden": {"val": 0.5, "test": 0.5}}}
    config = {**first.config, "options": {**first.config["options"], "seed": 1, "extra": True}}
    return dataclasses.replace(first, name=name, best=best, config=config)


def stored(folder: Path, run: RunRecord) -> RunStore:
    store = RunStore.create(folder, run.name, run.config)
    store.commit(run.trials, {})
    store.write_json("leaders.json", run.leaders)
    store.write_json("best.json", run.best)
    return store


def test_deltas_by_hand() -> None:
    page = compared_page([chairs(), beside()])
    found = {row.label: row for row in page.best}
    test, mass = found["Test accuracy, delivered"], found["Mass (kg)"]
    assert [one.value for one in test.values] == [0.4375, 0.5] and test.best == {1}
    assert test.values[0].delta is None and test.values[1].delta == pytest.approx(0.0625)
    assert [one.value for one in mass.values] == [1250, 1000] and mass.best == {1}
    assert mass.values[1].delta == pytest.approx(-0.2)
    assert found["Comfort, mean over seeds"].best == set(), "both are the same"
    assert page.cheapest == [] and page.same_data
    assert [(one.name, one.values) for one in page.differences] == [("seed", [0, 1]), ("extra", [None, True])]
    html = compared_html(page)
    for wanted in ("+6.25 points", "−20.0 %", "1.25", "seats, stools", "the fronts of seats, stools"):
        assert wanted in html, wanted


def test_fronts_by_hand() -> None:
    """Equal fronts beat no member of each other; a better trial beats a whole front."""
    one, other = chairs(), beside()
    score, cost = one.scores[0], one.costs[0]
    front = [trial for trial in one.trials if trial.feasible][:1]
    better = [dataclasses.replace(front[0], scores={"comfort": 99.0}, costs={"mass": 1, "price": 1})]
    assert shares([front, better], score, cost) == [(1, 0), (1, 1)]
    page = compared_page([one, other])
    assert [fronts.cost.name for fronts in page.fronts] == ["mass", "price"]
    assert page.fronts[0].runs[0] == page.fronts[0].runs[1]
    assert [members for members, _ in page.fronts[0].shares] == [len(run.members) for run in page.fronts[0].runs]


def test_an_unfinished_run_has_curves_and_a_front() -> None:
    page = compared_page([chairs(), dataclasses.replace(beside(), best=None, leaders=[])])
    assert page.best[0].values[1].value is None and "not finished" in compared_html(page)
    both = [dataclasses.replace(one, best=None, leaders=[]) for one in (chairs(), beside())]
    assert 'id="delivered"' not in compared_html(compared_page(both))


def test_what_cannot_be_compared() -> None:
    first, other = chairs(), beside()
    empty = dataclasses.replace(other, trials=[])
    speed = [{**score, "name": "speed", "label": "Speed"} for score in other.config["scores"]]
    fast = dataclasses.replace(other, config={**other.config, "scores": speed})
    for runs, told in (
        ([first], "2 to 5 runs"), ([first] * 6, "2 to 5 runs"), ([first, first], "seats is named twice"),
        ([first, empty], "stools has no feasible trial"),
        ([first, fast], "seats is scored by comfort and stools by speed"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=told):
            compared_page(runs)


def test_the_command_and_the_function(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    for run in (chairs(), beside()):
        stored(Path("runs"), run)
    assert main(["report", "seats", "stools", "--quiet"]) == 0
    assert capsys.readouterr().out == "runs/compared.html\n" and Path("runs/compared.html").is_file()
    assert main(["report", "seats", "stools", "--json", "--out", "both.html", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == fgnas.compare(["seats", "stools"], Path("both.html"))
    assert told["best"]["Mass (kg)"] == {"seats": 1250, "stools": 1000}
    assert main(["report", "seats", "stools", "--dataset", "digits"]) == 2
    assert "--dataset is for one run or project" in capsys.readouterr().err
    assert main(["report", "seats", "nothing"]) == 2
