"""The pages in docs/results are what their templates make of the recorded numbers."""

import importlib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PAGES = (
    "array-clock.md", "array-pairs.md", "array-parts.md", "array-space.md", "bambu.md", "block-ram.md",
    "calibration.md", "controllers.md", "efficiency.md", "every-design.md", "finetuning.md", "first-search.md",
    "gcos.md", "gcos-frontier.svg", "gcos-pairs.svg", "hardware-model.md", "hardware-model.svg", "hgnas.md",
    "hgnas-array.md", "imports.md", "imports-trained.md", "initiation-interval.md", "large-calls.md", "mapping.md",
    "methods.md", "molecule-designs.md", "molecule-search.md",
    "multiplier-array-area.md", "multiplier-array-area.svg", "multiplier-array-cpp.md", "multiplier-array-random.md",
    "multiplier-array.md", "neighbours.md", "points-array.md", "predictors.md", "recipe.md", "search-throughput.md",
    "side-by-side.md", "tables.md", "tables-learning.svg", "targets.md", "two-tiers.md", "whole-subnets.md",
)  # fmt: skip


@pytest.fixture
def render(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("render")


def test_every_file_is_listed(render) -> None:
    assert sorted(render.FILES) == sorted(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_follows_from_its_record(render, name: str) -> None:
    text = render.rendered(name)
    assert text == (BENCHMARKS.parent / "docs" / "results" / name).read_text(encoding="utf-8")
    if name.endswith(".svg"):
        ElementTree.fromstring(text)
    else:
        assert text.splitlines()[2].startswith(("`make ", "`python benchmarks/")), "a page begins with its command"


def test_a_missing_value_is_an_error(render) -> None:
    pages = importlib.import_module("pages")
    with pytest.raises(Exception, match="machine"):
        pages.render("search-throughput.md", command="make", search={"method": "random", "workers": 2})
