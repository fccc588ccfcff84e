"""The page of a run knows costs, scores and decisions from the run's configuration alone."""

import dataclasses
import json

import numpy as np
import pytest

from fgnas.costs import Quantity
from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial
from fgnas.report.make import report_run
from fgnas.report.page import run_html
from fgnas.report.record import RunRecord
from fgnas.report.run import run_page
from fgnas.space import Decision

DECISIONS = (
    Decision("material", "material", None, ("oak", "steel"), "frame", label="material"),
    Decision("legs", "legs", None, (3, 4), "frame"),
    Decision("gloss", "gloss", None, (0.5, 0.75), "finish"),
)
SCORES = (Quantity("comfort", "Comfort", "points", lower_is_better=False),)
COSTS = (Quantity("mass", "Mass", "g", scale=0.001, shown_unit="kg"), Quantity("price", "Price", "coins"))


def chairs(fronts=(("mass",), ("mass", "price"))) -> RunRecord:
    """Forty chairs of a system that is not installed."""
    rng, trials = np.random.default_rng(4), []
    for i in range(40):
        row = tuple(int(rng.integers(0, 2)) for _ in DECISIONS)
        mass, comfort = 1000 * (1 + row[0]) + 250 * row[1], 3.5 + row[1] + row[2] / 2
        trials.append(Trial(
            i, 2 * i + 2, row, {"row": list(row)}, "".join(map(str, row)), "x", "x", mass <= 2000,
            {"comfort": comfort}, {"mass": mass, "price": 10 + row[2]}, i == 0, False,
        ))  # fmt: skip
    config = {
        "system": "carpenter", "label": "chairs", "options": {"method": "random", "seed": 0, "children": 40},
        "space": {"name": "chairs", "decisions": [decision.to_dict() for decision in DECISIONS]},
        "costs": [cost.to_dict() for cost in COSTS], "scores": [score.to_dict() for score in SCORES],
        "limits": {"mass": 2000}, "objectives": ["comfort"], "fronts": [list(names) for names in fronts],
        "identity": {"workshop": "north"}, "versions": {"python": "3"},
    }  # fmt: skip
    leader = next(trial for trial in trials if trial.row == (0, 1, 1))
    spread = {"mean": 5.0, "std": 0.0, "values": [5.0]}
    entry = {
        "rank": 1, "design": leader.design, "design_hash": leader.design_hash, "trial": leader.trial, "searched": 5.0,
        "retrained_val": spread, "costs": leader.costs,
    }  # fmt: skip
    best = {
        **entry, "delivered": {"wooden": {"val": 0.5, "test": 0.4375}},
        "retrained": {"seeds": [1], "wooden": {"val": spread, "test": spread}},
    }  # fmt: skip
    return RunRecord("seats", json.loads(json.dumps(config)), trials, [entry], best)


def test_the_page_speaks_of_its_own_system() -> None:
    html = run_html(run_page(chairs()))
    for wanted in (
        "carpenter, random on <b>chairs</b>", "Comfort (points)", "Mass (kg)", "Price (coins)", "oak · 4",
        "material · legs", "Comfort against Mass and Price", "43.8 %", "limit 2 kg", "Workshop", "north",
        "--children 40",
    ):  # fmt: skip
        assert wanted in html, wanted
    for foreign in ("attention", "LUT", "lut", "latency", "Layer 0", "fgnas hls"):
        assert foreign not in html.split("<script>")[0].split("</style>")[1], foreign


def test_values_are_shown_in_their_units() -> None:
    page = run_page(chairs())
    assert [(gauge.label, gauge.used, gauge.available, gauge.unit) for gauge in page.gauges] == [
        ("Mass", 1.25, 2.0, "kg"), ("Price", 11, None, "coins"), ("Mass in g", 1250, None, ""),
    ]  # fmt: skip
    assert [scatter.cost.name for scatter in page.scatters] == ["mass", "price"]
    assert list(page.fronts) == ["Mass", "Mass and Price"]
    # One design is the most comfortable of those within the limit; lighter ones are on the front too.
    assert [page.designs[i].trial.row for i in page.fronts["Mass"]][0] == (0, 1, 1)


def test_only_names_filter_and_colour() -> None:
    page = run_page(chairs())
    assert [page.columns[i].decision.name for i in page.filters] == ["material"] == [
        page.columns[i].decision.name for i in page.colours
    ]
    numbers = dataclasses.replace(chairs(), config={**chairs().config, "space": {
        "name": "legs", "decisions": [dataclasses.replace(one, options=(1, 2)).to_dict() for one in DECISIONS],
    }})  # fmt: skip
    page = run_page(numbers)
    assert [page.columns[i].decision.name for i in page.filters] == ["material", "legs"]


def test_without_fronts_there_are_no_charts_of_costs() -> None:
    page = run_page(chairs(fronts=()))
    assert page.scatters == [] and page.fronts == {}
    html = run_html(page)
    assert "Price (coins)" in html and 'id="pareto"' not in html


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_of_a_system_that_is_not_installed_has_a_page(tmp_path, finished: bool) -> None:
    run = chairs()
    store = RunStore.create(tmp_path, "seats", run.config)
    store.commit(run.trials, {})
    if finished:
        store.write_json("leaders.json", run.leaders)
        store.write_json("best.json", run.best)
    html = report_run(store).read_text(encoding="utf-8")
    assert ("The delivered design" in html) == finished and "oak" in html
