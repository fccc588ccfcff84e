"""The HTML: well-formed, self-contained, escaped, small, and the same each time."""

import dataclasses
import json
import re
import shutil
from html.parser import HTMLParser

import pytest

from fgnas.engine.store import RunStore
from fgnas.errors import UserError
from fgnas.report.design import design_page
from fgnas.report.make import report_project, report_run
from fgnas.report.page import project_html, run_html
from fgnas.report.record import PipelineRecord
from fgnas.report.run import run_page

VOID = {"meta", "link", "input", "br", "circle", "rect", "path"}
HOSTILE = "<script>alert('x')</script> & \"quoted\" <img src=x onerror=alert(1)>"


class Markup(HTMLParser):
    """Checks nesting; collects elements as (tag, attributes), text and the texts of scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"<{tag}> names an attribute twice: {names}"
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] == "script" else self.text).append(data)

    def attributes(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def pages(small_run, make_run, project) -> dict[str, str]:
    record = PipelineRecord.read(project)
    unfinished = make_run(20, finished=False)
    infeasible = [dataclasses.replace(trial, feasible=False) for trial in unfinished.trials]
    chance = {"0.attention": [0.2, 0.3, 0.5]}
    return {
        "run": run_html(run_page(small_run, chance)),
        "unfinished": run_html(run_page(unfinished)),
        "empty": run_html(run_page(dataclasses.replace(unfinished, trials=[]))),
        "infeasible": run_html(run_page(dataclasses.replace(unfinished, trials=infeasible))),
        "design": project_html(design_page(record)),
    }


PAGES = ("run", "unfinished", "empty", "infeasible", "design")


@pytest.mark.parametrize("name", PAGES)
def test_well_formed(pages, name: str) -> None:
    found = Markup(pages[name])
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in found.elements:
        for reference in ("aria-labelledby", "aria-describedby"):
            for wanted in attributes.get(reference, "").split():
                assert wanted in ids, f"<{tag}> speaks of #{wanted}"
        if attributes.get("href", "").startswith("#"):
            assert attributes["href"][1:] in ids
    assert [attributes["lang"] for attributes in found.attributes("html")] == ["en"]


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_fetched(pages, name: str) -> None:
    found = Markup(pages[name])
    assert all(not {"src", "srcset", "data", "poster"} & attributes.keys() for _, attributes in found.elements)
    hrefs = [attributes["href"] for _, attributes in found.elements if "href" in attributes]
    assert all(href.startswith("#") or href == "data:," for href in hrefs)
    assert not re.search(r"url\(|@import|https?:", pages[name])
    policies = [a["content"] for a in found.attributes("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1 and policies[0].startswith("default-src 'none';")


@pytest.mark.parametrize("name", PAGES)
def test_every_picture_and_control_has_a_name(pages, name: str) -> None:
    found = Markup(pages[name])
    for attributes in found.attributes("svg"):
        assert "aria-label" in attributes or "aria-labelledby" in attributes
    controls = len(found.attributes("select")) + len(found.attributes("input"))
    assert len(found.attributes("label")) == controls
    for tag, attributes in found.elements:
        if "tabindex" in attributes:
            assert "aria-label" in attributes or "aria-labelledby" in attributes, f"<{tag}> takes the focus unnamed"


def test_numbers_are_on_the_page(pages, small_run) -> None:
    text = " ".join("".join(Markup(pages["run"]).text).split())
    for wanted in ("80.8 %", "81.25 %", "1.23 %", "300 designs drawn", small_run.best["design_hash"], "fgnas search"):
        assert wanted in text, wanted
    assert "fgnas search --run made-up --resume" in "".join(Markup(pages["unfinished"]).text)


def test_every_design_is_a_point_in_both_charts(pages, small_run) -> None:
    designs = len({trial.design_hash for trial in small_run.trials})
    rings = delivered = 2
    circles = Markup(pages["run"]).attributes("circle")
    assert len(circles) == 2 * designs + rings
    assert pages["run"].count(">delivered</text>") == delivered
    data = json.loads(Markup(pages["run"]).scripts[0])
    assert len(data["rows"]) == designs


def test_names_are_text(make_run, project) -> None:
    """Names of runs, datasets and folders come from the user: none of them becomes markup or script."""
    run = make_run(30, name=HOSTILE)
    run = dataclasses.replace(run, config={**run.config, "label": HOSTILE, "system": HOSTILE})
    best = {**run.best, "dataset": HOSTILE}
    record = PipelineRecord.read(project)
    summary = {**record.summary, "dataset": HOSTILE}
    record = dataclasses.replace(record, directory=HOSTILE, summary=summary, part=HOSTILE)
    for html in (run_html(run_page(dataclasses.replace(run, best=best))), project_html(design_page(record))):
        found = Markup(html)
        assert HOSTILE in "".join(found.text)
        assert "alert" not in "".join(found.scripts)
        assert not found.attributes("img")
        assert all(not name.startswith("on") for _, attributes in found.elements for name in attributes)


def test_data_cannot_end_its_script(make_run) -> None:
    run = make_run(30)
    trials = [dataclasses.replace(trial, design_hash=f"</script>{trial.design_hash}") for trial in run.trials]
    run = dataclasses.replace(run, trials=trials, leaders=[], best=None)
    html = run_html(run_page(run))
    assert json.loads(Markup(html).scripts[0])["rows"][0][0].startswith("</script>")


def test_the_same_run_has_the_same_page(small_run) -> None:
    assert run_html(run_page(small_run)) == run_html(run_page(small_run))


def test_two_thousand_trials_stay_small(make_run) -> None:
    run = make_run(2000)
    html = run_html(run_page(run))
    Markup(html)
    assert len(html.encode()) < 6_000_000


def test_pages_are_written_beside_what_they_show(make_run, four_nodes, project, tmp_path) -> None:
    run = make_run(30)
    store = RunStore.create(tmp_path, "mine", run.config)
    store.commit(run.trials, {})
    store.write_json("leaders.json", run.leaders)
    store.write_json("best.json", run.best)
    page = report_run(store, data=four_nodes)
    assert page == tmp_path / "mine" / "report.html"
    assert "feasible by chance" in page.read_text(encoding="utf-8")
    # Without the data the page lacks what needs it, and nothing else.
    assert "feasible by chance" not in report_run(store, tmp_path / "other" / "page.html").read_text(encoding="utf-8")
    accelerator = report_project(project, tmp_path / "a.html", four_nodes)
    assert "the logits in vectors/ compared with the labels" in accelerator.read_text(encoding="utf-8")


def test_a_run_that_was_killed_in_a_line_has_a_page(make_run, tmp_path) -> None:
    run = make_run(30, finished=False)
    store = RunStore.create(tmp_path, "cut", run.config)
    store.commit(run.trials, {})
    with (store.folder / "trials.jsonl").open("a") as file:
        file.write('{"trial": 30, "va')
    assert "30 of 30 trials" in report_run(store).read_text(encoding="utf-8")
    (store.folder / "trials.jsonl").write_text('{"trial": 0\n{"trial": 1}\n')
    with pytest.raises(UserError, match="cannot read .*trials.jsonl"):
        report_run(store)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("accelerator", lambda content: content["layers"][0]["geometry"].pop("t_in")),
        ("accelerator", lambda content: content["shape"].update(colour="red")),
        ("price", lambda content: content.pop("latency_cycles")),
    ],
)
def test_a_project_of_another_version_is_one_line(project, tmp_path, name: str, change) -> None:
    shutil.copytree(project, tmp_path / "p")
    path = tmp_path / "p" / "report" / f"{name}.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match="made by another version"):
        report_project(tmp_path / "p")
    assert not (tmp_path / "p" / "report.html").exists()
