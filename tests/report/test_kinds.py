"""Faults that a page of any kind may have: digits without meaning, Python's words, values without units or names."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.report.test_page import Markup

KINDS = (
    "run-fgnas", "run-g-cos", "run-magnas", "run-hgnas", "compared", "device", "pipeline", "array", "points",
    "imported", "board", "mapped",
)  # fmt: skip
WHOLE = re.compile(r"\d\.0{3,}(?!\d)")
DIGITS = re.compile(r"[1-9]\d*\.\d{5,}|\b0\.0*[1-9]\d{6,}")
PYTHON = re.compile(r"\b(?:True|False|None|nan|inf)\b|[\[({]'|\bdict_|\d, *\)|e[+-]\d\d\b")
NOUNS = "seeds|fresh seeds|designs|trials|trainings|starts|steps|calls|layers|units|sorted places|neighbours"
PLURAL = re.compile(rf"(?<![\d.,])\b1 (?:{NOUNS})\b")
PLACEHOLDERS = re.compile(r"–, –|· ·|× ×|: *,")


class Labelled(HTMLParser):
    """Collects the texts of <dt> with their <dd>, and of column and row headings."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.pairs: list[list[str]] = []
        self.headings: list[str] = []
        self.now: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        if tag == "dt":
            self.pairs.append(["", ""])
        if tag == "th":
            self.headings.append("")
        if tag in ("dt", "dd", "th"):
            self.now.append(tag)

    def handle_endtag(self, tag):
        if self.now and self.now[-1] == tag:
            self.now.pop()

    def handle_data(self, data):
        if self.now:
            if self.now[-1] == "th":
                self.headings[-1] += data
            else:
                self.pairs[-1][self.now[-1] == "dd"] += data


def test_faults_by_hand() -> None:
    assert WHOLE.search("498,816.000 bytes") and not WHOLE.search("1.0002 and 67.500")
    assert DIGITS.search("10.299998441394157") and not DIGITS.search("1.0234 and 0.002516")
    for text in ("3 · edgeconv · False · True", "{'cpu': 3}", "('cpu',)", "1e+06", "None"):
        assert PYTHON.search(text), text
    assert not PYTHON.search("Nonesuch (3 of 4) informs")
    assert PLURAL.search("Retrained with 1 fresh seeds") and not PLURAL.search("11 seeds, 1 seed, 2.1 designs")
    assert PLACEHOLDERS.search("–, –, –, –")
    found = Labelled("<dl><dt>Latency</dt><dd>3 <small>ms</small></dd></dl><th>Latency (ms)</th>")
    assert found.pairs == [["Latency", "3 ms"]] and found.headings == ["Latency (ms)"]


@pytest.fixture(scope="module")
def texts(every_page: dict[str, Path]) -> dict[str, str]:
    """The HTML of each page."""
    assert set(every_page) == set(KINDS)
    return {kind: path.read_text(encoding="utf-8") for kind, path in every_page.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_page_says(texts: dict[str, str], kind: str) -> None:
    """Every fault is searched for in what is shown, which styles and scripts are not."""
    shown = re.sub(r"<(style|script|pre)\b.*?</\1>", "", texts[kind], flags=re.DOTALL)
    text = " ".join(" ".join(Markup(shown).text).split())
    for fault in (WHOLE, DIGITS, PYTHON, PLURAL, PLACEHOLDERS):
        found = fault.search(text)
        assert found is None, text[max(0, found.start() - 60) : found.end() + 60]


@pytest.mark.parametrize("kind", KINDS)
def test_latencies_have_units(texts: dict[str, str], kind: str) -> None:
    found = Labelled(texts[kind])
    for label, value in found.pairs:
        if label.startswith("Latency"):
            assert "cycles" in label or re.search(r"\b(?:ms|us|s)\b", value), (label, value)
    for heading in found.headings:
        if heading.strip().startswith("Latency"):
            assert re.search(r"\((?:ms|cycles)\)", heading), heading


@pytest.mark.parametrize("kind", KINDS)
def test_every_drawing_has_a_text(texts: dict[str, str], kind: str) -> None:
    """A drawing without a text of its own is hidden from readers of screens or named by a heading."""
    found = Markup(texts[kind])
    ids = {attributes["id"] for _, attributes in found.elements if "id" in attributes}
    for attributes in found.attributes("svg"):
        named = attributes.get("aria-label", "").strip() or attributes.get("aria-labelledby") in ids
        assert named and attributes.get("role") in ("img", "group", "application"), attributes


@pytest.mark.parametrize("kind", KINDS)
def test_headings_skip_no_level(texts: dict[str, str], kind: str) -> None:
    levels = [int(tag[1]) for tag, _ in Markup(texts[kind]).elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False)), levels


def test_commands_are_named_only_where_they_work(texts: dict[str, str]) -> None:
    """The made-up run of MaGNAS has no accelerator and trains nothing again."""
    assert "fgnas hls made-up</code> makes its accelerator" in texts["run-fgnas"]
    assert "fgnas hls" not in texts["run-magnas"].split("<body>")[1]
    assert "fresh seed" in texts["run-g-cos"] and "fresh seed" not in texts["run-magnas"]
    assert "scored once more" in texts["run-magnas"]


def test_what_each_kind_shows_of_its_own(texts: dict[str, str]) -> None:
    for kind, wanted in {
        "run-g-cos": "aggregation</span>", "run-magnas": "no pre-processing", "compared": "beaten by no other run",
        "array": "<h3>units</h3>", "points": "sorted places", "board": "24.61 MHz as routed", "imported": "SAGEConv",
        "mapped": 'href="dense/report.html"', "device": "Spearman",
    }.items():  # fmt: skip
        assert wanted in texts[kind], kind
