"""The model of a run's page: designs, fronts, curves and the numbers that it states."""

import dataclasses
import shlex

import numpy as np
import pytest

from fgnas.cli import parser
from fgnas.engine import choice
from fgnas.report import run as report
from fgnas.report.page import run_html
from fgnas.report.run import run_page
from fgnas.systems.fgnas import Options


def test_a_point_for_each_distinct_design(small_run) -> None:
    page = run_page(small_run)
    hashes = [trial.design_hash for trial in small_run.trials]
    assert [design.trial.design_hash for design in page.designs] == list(dict.fromkeys(hashes))
    assert sum(design.times for design in page.designs) == 100
    assert [design.times for design in page.designs if design.trial.trial == 5] == [2]
    for scatter in page.scatters:
        assert len(scatter.points) == len(page.designs) == len(page.payload["rows"])


def test_points_are_ordered_as_their_values(small_run) -> None:
    page = run_page(small_run)
    for scatter in page.scatters:
        # A drawing's y grows downwards, and keeps a tenth of its unit.
        costs = [design.trial.costs[scatter.cost.name] for design in page.designs]
        scores = [design.trial.scores["val"] for design in page.designs]
        for values, coordinate, sign in ((costs, 0, 1), (scores, 1, -1)):
            places = sign * np.array([point[coordinate] for point in scatter.points])
            assert (np.diff(places[np.argsort(values)]) >= 0).all()


def test_fronts_and_leaders_name_designs_by_place(small_run) -> None:
    page = run_page(small_run)
    best = max(trial.scores["val"] for trial in small_run.trials if trial.feasible)
    for front in page.fronts.values():
        assert page.designs[front[0]].trial.scores["val"] == best
        assert all(page.designs[i].trial.feasible for i in front)
    assert [page.designs[entry["index"]].trial.design_hash for entry in page.leaders] == [
        entry["design_hash"] for entry in small_run.leaders
    ]
    assert page.delivered == page.leaders[0]["index"]


def test_what_the_script_is_told_gives_the_designs_back(small_run) -> None:
    page = run_page(small_run)
    for row, design in zip(page.payload["rows"], page.designs, strict=True):
        trial = design.trial
        assert row[:3] == [trial.design_hash, trial.trial, design.times]
        assert row[3:5] == [list(trial.scores.values()), list(trial.costs.values())]
        for index, (layer, label, kind, options), column in zip(
            row[-1], page.payload["columns"], page.columns, strict=True
        ):
            value = trial.design["layers"][layer][column.decision.choice]
            assert value == (None if index < 0 else options[index])
            assert (label, kind) == (column.decision.label, column.decision.kind)


def test_the_curve_looks_back_over_its_window() -> None:
    values = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    assert report.moving_mean(values, 2) == pytest.approx([0, 0.5, 1, 0.5, 0.5])
    feasible, draws = np.array([True, True, False, True]), np.array([1, 5, 6, 16])
    assert report.moving_share(feasible, draws, 2) == pytest.approx([1 / 1, 2 / 5, 1 / 5, 1 / 11])


def test_counts(small_run) -> None:
    counts = run_page(small_run).counts
    feasible = sum(trial.feasible for trial in small_run.trials)
    assert counts["drawn"] == 300 and counts["trials"] == 100
    assert counts["feasible"] == feasible and counts["share"] == pytest.approx(feasible / 300)


def test_constraints_are_drawn_or_named(small_run) -> None:
    latency, lut = run_page(small_run).scatters
    assert latency.limit.label == "limit 0.004 ms"
    frame = latency.frame
    if latency.limit.inside:
        assert latency.limit.place == frame.across(frame.x.place(0.004))
    without = dataclasses.replace(small_run, config={**small_run.config, "limits": {"latency_cycles": 400.0}})
    assert run_page(without).scatters[1].limit is None


def test_the_command_is_one_that_the_program_understands(small_run) -> None:
    options = parser().parse_args(shlex.split(report.command(small_run))[1:])
    given = {name: value for name, value in small_run.config["options"].items() if value is not None}
    assert {name: getattr(options, name) for name in given} == given
    assert (options.dataset, options.children, options.latency_ms) == ("digits", 100, 0.004)


@pytest.mark.parametrize(("part", "fpga"), [("xc7z020clg400-1", "xc7z020clg400-1"), ("of-my-own", None)])
def test_the_command_names_a_known_device(small_run, part: str, fpga: str | None) -> None:
    given = Options.unresolved({**small_run.config["options"], "part": part})
    assert parser().parse_args(shlex.split(report.command(small_run, given))[1:]).fpga == fpga


def test_an_unfinished_run_and_one_without_trials(make_run) -> None:
    page = run_page(make_run(30, finished=False))
    assert not page.finished and page.leaders == [] and page.delivered is None and page.curve is not None
    empty = run_page(dataclasses.replace(make_run(30, finished=False), trials=[]))
    assert empty.curve is None and empty.scatters == [] and empty.designs == []


def test_a_run_without_a_feasible_design(make_run) -> None:
    run = make_run(30, finished=False)
    trials = [dataclasses.replace(trial, feasible=False) for trial in run.trials]
    page = run_page(dataclasses.replace(run, trials=trials))
    assert page.counts["best"] is None and page.curve.best == page.curve.shares == ""
    assert set(page.fronts) and not any(page.fronts.values())
    assert len(page.scatters[0].points) == len(page.designs)


def test_gauges_hold_use_against_limits(small_run) -> None:
    page = run_page(small_run)
    shares = {gauge.label: gauge.share for gauge in page.gauges}
    costs = small_run.best["costs"]
    assert shares["Latency"] == pytest.approx(costs["latency_cycles"] / 400)
    assert shares["DSP"] == costs["dsp"] / 30
    assert shares["FF"] is None


def test_a_finished_run_offers_the_best_the_cheapest_and_their_front(small_run) -> None:
    cheapest = {**small_run.leaders[2], "saved": "latency_cycles"}
    page = run_page(dataclasses.replace(small_run, cheapest=cheapest))
    offered = {offer.names: offer.entry["rank"] for offer in page.offers}
    front = choice.front(small_run.leaders, ["latency_cycles", "lut"])
    assert set(offered.values()) == {1, 3} | {entry["rank"] for entry in front}
    assert offered["best", "1"] == 1 and offered["cheapest", "3"] == 3
    for offer in page.offers:
        assert page.designs[offer.index].trial.design_hash == offer.entry["design_hash"]
    html = run_html(page)
    assert "best, 1" in html and "cheapest, 3" in html and "cheapest in latency" in html
    assert "cheapest" not in run_html(run_page(small_run)).split("<script>")[0]


def test_a_cheapest_with_hardware_of_its_own_is_offered_beside_its_leader(small_run) -> None:
    leader = small_run.leaders[1]
    costs = {name: value / 2 for name, value in leader["costs"].items()}
    cheapest = {**leader, "design_hash": "other", "costs": costs, "saved": "lut"}
    page = run_page(dataclasses.replace(small_run, cheapest=cheapest))
    first = page.offers[0]
    assert first.names == ("cheapest",) and first.entry["costs"] == costs
    assert page.designs[first.index].trial.design_hash == leader["design_hash"]
    html = run_html(page)
    assert "cheapest in lut" in html and "the models of the leader of rank 2 on smaller hardware" in html
