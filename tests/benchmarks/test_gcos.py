"""The page of G-CoS, from a record by hand, and the arithmetic of its figures on small cases."""

import argparse
import importlib
from pathlib import Path

import numpy as np
import pytest

from fgnas.systems.gcos.composition import composed
from fgnas.systems.gcos.options import Options
from fgnas.systems.gcos.space import find_space

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def path(monkeypatch):
    pytest.importorskip("diskcache", reason="needs diskcache: pip install 'fgnas[dev]'")
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.fixture
def figures():
    return importlib.import_module("gcos_figures")


@pytest.fixture
def beside():
    return importlib.import_module("gcos_beside")


@pytest.fixture
def gcos_page():
    return importlib.import_module("gcos_page")


# --- Figure 1 ---


def test_variance_of_a_product_has_no_part_of_both(figures) -> None:
    networks, arrays = np.array([1.0, 2.0, np.nan]), np.array([1.0, 4.0])
    found = figures.shares(np.log(networks[:, None] * arrays))
    assert found["networks"] == 2
    # The logarithms differ by log 2 and by 2 log 2: variances of 1 and of 4 parts.
    assert [found[name] for name in ("network", "array", "both")] == pytest.approx([0.2, 0.8, 0.0])


def test_variance_of_a_swap_is_of_both(figures) -> None:
    assert figures.shares(np.array([[0.0, 1.0], [1.0, 0.0]]))["both"] == pytest.approx(1.0)


def test_one_array_for_all_costs_more(figures) -> None:
    costs = np.array([[1.0, 2.0, np.inf], [16.0, 4.0, 1.0], [np.inf] * 3, [2.0, 2.0, 1.0]])
    found = figures.one_for_all(costs)
    # The third array does not run all three networks that have one; the second takes 2, 4 and 2 times as many.
    assert (found["networks"], found["arrays"]) == (3, 2)
    assert found["worst"] == pytest.approx(4.0) and found["own"] == 0.0
    assert found["mean"] == pytest.approx(16 ** (1 / 3))


def test_pairs_that_are_fast_and_accurate(figures, monkeypatch) -> None:
    monkeypatch.setattr(figures, "SPEEDY", 0.5)
    found = figures.sparse(np.array([0.8, 0.6]), np.array([[5.0, 20.0], [1.0, 10.0]]))
    assert found == {"count": 1, "cycles": 10.0}


def test_pairs_cross_distinct_networks_with_distinct_arrays(figures) -> None:
    space = find_space("g-cos", 128, 512)
    networks, rows = figures.crossed(space, 20, np.random.default_rng(0))
    assert rows.shape == (20, 20, len(space.decisions))
    assert len({one.training_key for one in networks}) == 20
    assert {layer.ai + layer.af + 1 for one in networks for layer in one.layers} == {8}
    hardware = [one.kind == "hardware" for one in space.decisions]
    assert (rows[:, :, hardware] == rows[0, :, hardware].T).all()
    assert len(np.unique(rows[0][:, hardware], axis=0)) == 20


# --- engines ---


def test_the_fastest_engine_beats_every_other(figures) -> None:
    searches = importlib.import_module("gcos_searches")
    design = figures.handmade("gcn", "add", 16)
    made, costs = searches.fastest("digits", design, dsp=32)
    assert made.architecture() == design.architecture() and made.score_key == design.score_key
    parts = composed(Options(dataset="digits", dsp=32))
    rows = searches.on_every_engine(parts, design)
    cycles = parts.target.price(rows)["latency_cycles"]
    # 1, 2, 3 or 4 units, three ports, and two arrangements where their number is even.
    assert len(rows) == 3 * (1 + 2 + 1 + 2)
    assert costs["latency_cycles"] == cycles[parts.feasible(rows)].min()


# --- ways to search ---


def test_hypervolume_by_hand(beside) -> None:
    limit = beside.CYCLES
    assert beside.volume([[0.9, limit / 2], [0.7, limit / 4], [0.4, 1], [0.95, 2 * limit]]) == pytest.approx(0.25)
    assert beside.volume([]) == 0.0


def test_evaluations_that_are_affordable(beside) -> None:
    def one(supernet: float, search: float, children: int = 600) -> dict:
        return {"supernet_s": supernet, "search_s": search, "children": children}

    record = {f"{beside.OURS} | 0": one(9.0, 1.0), f"{beside.SHORT} | 0": one(0.0, 5.0), "random | 0": one(9.0, 2.0),
              "one engine | 0": one(9.0, 10.0, 432)}  # fmt: skip
    assert beside.affordable(record, beside.OURS) == 600
    assert beside.affordable(record, beside.SHORT) == 1200
    assert beside.affordable(record, "random") == 300
    # It found all of its 432 designs, and then spent nine seconds on looking for more.
    assert beside.affordable(record, "one engine") == 600


# --- the page ---


def record(beside) -> dict:
    """Three searches of Algorithm 1 that beat three of random, and a frontier of two designs."""

    def search(volume: float) -> dict:
        return {
            "points": [[0.8, 15_000]], "volume": volume, "searched": 0.1, "children": 600, "search_s": 2.0,
            "supernet_s": 26.0,
        }  # fmt: skip

    def design(cycles: int, val: float, test: float) -> dict:
        return {
            "layers": "gcn add 16 relu 8 bit; gcn add 8 bit", "cycles": cycles, "bram36": 10.0, "val": [val, val],
            "test": [test, test],
        }  # fmt: skip

    methods = {f"{beside.OURS} | {seed}": search(0.2) for seed in range(3)}
    methods |= {f"random | {seed}": search(0.1) for seed in range(3)}
    return {
        "options": {"networks": 100, "seeds": 3}, "machine": "a processor", "compared": methods,
        "figure 7": {
            "cora | λ = 0": design(100, 0.8, 0.81), "cora | λ = 1": design(50, 0.7, 0.72),
            "cora | GCN, 16": design(75, 0.69, 0.70), "cora | GCN, 64": design(40, 0.9, 0.9),
        },
    }  # fmt: skip


def test_who_wins_is_said(gcos_page, beside) -> None:
    searches, everything = record(beside)["compared"], {str(seed): 0.2 for seed in range(3)}
    found = gcos_page.compared(searches, everything)
    assert found["leaders"] == {"beaten": ["random"], "even": [], "better": []}
    assert found["searched"] == {"beaten": [], "even": ["random"], "better": []}
    assert found["lines"][0]["gap"]["difference"] == pytest.approx(0.1)
    assert found["lines"][0]["share"] == pytest.approx(0.5)
    swapped = {key: one | {"volume": 0.3 - one["volume"]} for key, one in searches.items()}
    assert gcos_page.compared(swapped, {})["leaders"]["better"] == ["random"]


def test_the_fullest_group_is_set_against_the_mean() -> None:
    choices = importlib.import_module("gcos_choices")
    loads = np.array([[4, 1], [2, 1], [2, 1], [0, 1]])
    assert choices.over_mean(loads, 1) == [0.0, 0.0]
    # Rows of 4 | 2, 2 entries; the fourth row goes to the group with fewer rows.
    assert choices.over_mean(loads, 2) == [0.0, 0.0]
    assert choices.over_mean(np.array([[3, 1], [1, 1]]), 2) == [0.5, 0.0]


def test_choices_that_were_not_taken_are_on_the_page(gcos_page, beside) -> None:
    measured = {
        "paths | cora": {"16 | 600": 0.66, "1 | 600": 0.4}, "groups | cora": {"2": [0.001, 0.002]},
        "bits | cora": {"float": {"val": [0.8, 0.82]}, "6": {"val": [0.78, 0.8], "cycles": 15_755.0}},
    }  # fmt: skip
    text = gcos_page.page(record(beside) | {"choices": measured})
    assert gcos_page.page(record(beside) | {"choices": measured}) == text  # the record stays as it is
    rows = (
        "| 1 | 600 | 0.400 |", "| 2 | 0.10%, 0.20% |", "| cora | float | 81.00% ± 1.41% | – |",
        "| cora | 6 bits | 79.00% ± 1.41% | 15,755 |",
    )  # fmt: skip
    for row in rows:
        assert row in text, row


def test_searches_of_a_seed_share_their_luck(gcos_page) -> None:
    lucky = {"0": 0.1, "1": 0.3, "2": 0.2}
    found = gcos_page.gain({seed: volume + 0.01 for seed, volume in lucky.items()} | {"3": 9.0}, lucky)
    assert found["low"] == pytest.approx(0.01) and found["high"] == pytest.approx(0.01)
    assert gcos_page.gain(lucky, {}) is None


def test_ours_are_chosen_by_validation(gcos_page, beside) -> None:
    rows = {row["name"]: row for row in gcos_page.frontier(gcos_page.points(record(beside), "cora"))}
    small, large = rows["GCN, 16"], rows["GCN, 64"]
    assert small["gain"] == pytest.approx(0.02) and small["faster"] == pytest.approx(1.5)
    assert "gain" not in large and "faster" not in large and "gain" not in rows["λ = 0"]


def test_the_page_has_what_was_run(gcos_page, beside) -> None:
    text = gcos_page.page(record(beside))
    assert text.splitlines()[2].startswith("`make bench-gcos`")
    headings = ("## Beside other ways, at equal evaluations", "## Figure 7")
    for wanted in (*headings, "has more than: random.", "2.54 ×", "accuracy than: GCN, 16."):
        assert wanted in text, wanted
    for missing in ("## Figure 1", "## Figure 8", "## What is delivered", "in equal processor seconds"):
        assert missing not in text, missing


def test_a_part_that_other_code_made_is_dropped(monkeypatch) -> None:
    gcos = importlib.import_module("gcos")

    class Notes:
        results: dict = {"codes": {"figure 8": "old", "ranked": "kept"}, "figure 8": {"a": 1}, "ranked": {"b": 2}}

        def note(self, **facts) -> None:
            self.results = self.results | facts

    monkeypatch.setattr(gcos, "version", lambda code: "new")
    monkeypatch.setattr(gcos, "tasks", lambda *given: [("c", lambda: 3), ("other", lambda: 4)])
    notes = Notes()
    gcos.run_part(notes, "figure 8", argparse.Namespace(only="c"))
    assert notes.results["figure 8"] == {"c": 3} and notes.results["ranked"] == {"b": 2}
    assert notes.results["codes"] == {"figure 8": "new", "ranked": "kept"}
