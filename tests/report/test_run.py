"""The model of a run's page: designs, fronts, curves and the numbers that it states."""

import dataclasses
import shlex

import numpy as np
import pytest

from fgnas.cli import parser
from fgnas.report import run as report
from fgnas.report.run import run_page


def test_a_point_for_each_distinct_design(small_run) -> None:
    page = run_page(small_run)
    hashes = [trial["design_hash"] for trial in small_run.trials]
    assert [design["design_hash"] for design in page.designs] == list(dict.fromkeys(hashes))
    assert sum(design["times"] for design in page.designs) == 100
    assert [design["times"] for design in page.designs if design["trial"] == 5] == [2]
    for scatter in page.scatters:
        assert len(scatter.points) == len(page.designs) == len(page.payload["rows"])


def test_points_are_ordered_as_their_values(small_run) -> None:
    page = run_page(small_run)
    for scatter in page.scatters:
        # A drawing's y grows downwards, and keeps a tenth of its unit.
        for name, coordinate, sign in ((scatter.key, 0, 1), ("val", 1, -1)):
            values = np.array([design[name] for design in page.designs])
            places = sign * np.array([point[coordinate] for point in scatter.points])
            assert (np.diff(places[np.argsort(values)]) >= 0).all()


def test_fronts_and_leaders_name_designs_by_place(small_run) -> None:
    page = run_page(small_run)
    best = max(trial["val"] for trial in small_run.trials if trial["feasible"])
    for front in page.fronts.values():
        assert page.designs[front[0]]["val"] == best
        assert all(page.designs[i]["feasible"] for i in front)
    assert [page.designs[entry["index"]]["design_hash"] for entry in page.leaders] == [
        entry["design_hash"] for entry in small_run.leaders
    ]
    assert page.delivered == page.leaders[0]["index"]


def test_what_the_script_is_told_gives_the_designs_back(small_run) -> None:
    page = run_page(small_run)
    for row, design in zip(page.payload["rows"], page.designs, strict=True):
        assert row[:6] == [design[name] for name in (
            "design_hash", "trial", "times", "val", "float_val", "latency_cycles",
        )]  # fmt: skip
        for index, (layer, name, options) in zip(row[-1], page.payload["columns"], strict=True):
            value = design["design"]["layers"][layer][name]
            assert value == (None if index < 0 else options[index])


def test_the_curve_looks_back_over_its_window() -> None:
    values = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    assert report.moving_mean(values, 2) == pytest.approx([0, 0.5, 1, 0.5, 0.5])
    feasible, draws = np.array([True, True, False, True]), np.array([1, 5, 6, 16])
    assert report.moving_share(feasible, draws, 2) == pytest.approx([1 / 1, 2 / 5, 1 / 5, 1 / 11])


def test_counts(small_run) -> None:
    counts = run_page(small_run).counts
    feasible = sum(trial["feasible"] for trial in small_run.trials)
    assert counts["drawn"] == 300 and counts["trials"] == 100
    assert counts["feasible"] == feasible and counts["share"] == pytest.approx(feasible / 300)


def test_constraints_are_drawn_or_named(small_run) -> None:
    latency, lut = run_page(small_run).scatters
    assert latency.limit.label == "limit 0.004 ms"
    frame = latency.frame
    if latency.limit.inside:
        assert latency.limit.place == frame.across(frame.x.place(0.004))
    without = dataclasses.replace(small_run, config={**small_run.config, "specification": {
        **small_run.config["specification"], "lut": None,
    }})  # fmt: skip
    assert run_page(without).scatters[1].limit is None


def test_the_command_is_one_that_the_program_understands(small_run) -> None:
    options = parser().parse_args(shlex.split(report.command(small_run))[1:])
    given = {**small_run.config["specification"], "fpga": None}
    assert given.pop("part") is None
    assert {name: getattr(options, name) for name in given} == given
    assert (options.dataset, options.children, options.seed) == ("digits", 100, 0)
    assert (options.method, options.controller) == ("reinforce", small_run.config["controller"])


@pytest.mark.parametrize(("part", "fpga"), [("xc7z020clg400-1", "xc7z020clg400-1"), ("of-my-own", None)])
def test_the_command_names_a_known_device(small_run, part: str, fpga: str | None) -> None:
    specification = {**small_run.config["specification"], "part": part}
    run = dataclasses.replace(small_run, config={**small_run.config, "specification": specification})
    assert parser().parse_args(shlex.split(report.command(run))[1:]).fpga == fpga


def test_an_unfinished_run_and_one_without_trials(make_run) -> None:
    page = run_page(make_run(30, finished=False))
    assert not page.finished and page.leaders == [] and page.delivered is None and page.curve is not None
    empty = run_page(dataclasses.replace(make_run(30, finished=False), trials=[]))
    assert empty.curve is None and empty.scatters == [] and empty.designs == []


def test_a_run_without_a_feasible_design(make_run) -> None:
    run = make_run(30, finished=False)
    page = run_page(dataclasses.replace(run, trials=[{**trial, "feasible": False} for trial in run.trials]))
    assert page.counts["best"] is None and page.curve.best == page.curve.shares == ""
    assert set(page.fronts) and not any(page.fronts.values())
    assert len(page.scatters[0].points) == len(page.designs)


def test_gauges_hold_use_against_limits(small_run) -> None:
    page = run_page(small_run)
    shares = {gauge.label: gauge.share for gauge in page.gauges}
    prices = small_run.best["prices"]
    assert shares["Latency at 100 MHz"] == pytest.approx(prices["latency_cycles"] / 400)
    assert shares["DSP"] == prices["dsp"] / 30
    assert shares["FF"] is None
