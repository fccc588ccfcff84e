"""The pages in a real browser: no errors, no requests, filters, hovering, keys, a phone, dark mode and print.

Screenshots of every page stay in build/report/, to be looked at.
"""

import os
import re
import shutil
from pathlib import Path

import pytest

from fgnas.report.design import design_page
from fgnas.report.page import project_html, run_html
from fgnas.report.record import PipelineRecord
from fgnas.report.run import run_page

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'fgnas[dev]'")
expect = sync_api.expect

pytestmark = pytest.mark.slow

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SCREENSHOTS = Path(__file__).parents[2] / "build" / "report"
DESKTOP, TABLET, PHONE = ({"width": width, "height": 900} for width in (1280, 820, 375))


@pytest.fixture(scope="module")
def browser():
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("needs a Chromium on PATH: sudo apt-get install chromium")
    # Chromium's own sandbox refuses to run as root, as containers do.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=options)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def files(make_run, project, four_nodes, tmp_path_factory) -> dict[str, Path]:
    """The page of a run of 2,000 trials, and that of a project."""
    folder = tmp_path_factory.mktemp("pages")
    chance = {"0.attention": [0.2, 0.3, 0.5]}
    design = design_page(PipelineRecord.read(project), four_nodes, {"val": 1.0, "test": 1.0})
    made = {"run": run_html(run_page(make_run(2000), chance)), "design": project_html(design)}
    for name, html in made.items():
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made}


@pytest.fixture
def open_page(browser, files):
    """Opens a page; at the end of the test nothing may have been fetched, logged or raised."""
    contexts, faults = [], []

    def open_it(name: str, viewport: dict = DESKTOP, **options):
        context = browser.new_context(viewport=viewport, reduced_motion="reduce", offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: faults.append(request.url) if request.url != address else None)
        address = files[name].as_uri()
        page.goto(address)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert faults == []


def keep(page, name: str, whole: bool = True) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=whole)


def shown(page) -> int:
    """The number of designs that pass the filters, as the page states it."""
    return int(re.match(r"[\d,]+", page.locator("#shown").inner_text())[0].replace(",", ""))


def visible_points(page, chart: int = 0) -> int:
    return page.locator("svg.points").nth(chart).locator(".marks circle:not(.off)").count()


@pytest.mark.parametrize("name", ["run", "design"])
@pytest.mark.parametrize("look", ["light", "dark", "tablet", "phone", "phone-dark", "print"])
def test_every_look(open_page, name: str, look: str) -> None:
    dark = "dark" if "dark" in look else "light"
    viewport = PHONE if "phone" in look else TABLET if look == "tablet" else DESKTOP
    page = open_page(name, viewport, color_scheme=dark)
    if look == "print":
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 760, "height": 1000})
        expect(page.locator("nav")).not_to_be_visible()
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.pdf(path=SCREENSHOTS / f"{name}.pdf", format="A4", print_background=True)
    page.locator("h1").wait_for()
    width = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width[0] <= width[1], "the page scrolls sideways"
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == (dark == "dark")
    keep(page, f"{name}-{look}")


def test_letters_in_charts_are_readable_on_a_phone(open_page) -> None:
    page = open_page("run", PHONE)
    heights = page.evaluate(
        "[...document.querySelectorAll('svg.chart text')].map((text) => text.getBoundingClientRect().height)"
    )
    assert min(height for height in heights if height) >= 10


def test_filters_hold_for_points_and_tables(open_page) -> None:
    page = open_page("run")
    everything = shown(page)
    assert everything == visible_points(page) == visible_points(page, 1)
    page.get_by_label("Attention, layer 0", exact=True).select_option(label="gat")
    left = shown(page)
    assert 0 < left < everything
    assert left == visible_points(page) == visible_points(page, 1)
    designs = page.locator("#table tbody tr .what span:first-child").all_inner_texts()
    assert designs and all(text.startswith("gat ·") for text in designs)
    leaders = page.locator("section[aria-labelledby=leaders] tbody tr:not([hidden]) .what span:first-child")
    assert all(text.startswith("gat ·") for text in leaders.all_inner_texts())
    page.get_by_label("Validation accuracy at least", exact=True).fill("80")
    assert shown(page) < left
    values = page.locator("#table tbody tr td:nth-child(3)").all_inner_texts()
    assert all(float(value.split()[0]) >= 80 for value in values)
    page.get_by_label("Pareto fronts only", exact=True).check()
    assert shown(page) < 20
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".marks circle:not(.off)")).to_have_count(2 * everything)
    assert shown(page) == everything


def test_a_filter_that_nothing_passes_says_so(open_page) -> None:
    page = open_page("run")
    page.get_by_label("Validation accuracy at least", exact=True).fill("99")
    page.get_by_label("Attention, layer 0", exact=True).select_option(label="gat")
    page.get_by_label("Aggregation, layer 0", exact=True).select_option(label="max")
    page.get_by_label("Attention, layer 1", exact=True).select_option(label="gat")
    page.get_by_label("Aggregation, layer 1", exact=True).select_option(label="max")
    page.get_by_label("Activation, layer 0", exact=True).select_option(label="elu")
    assert shown(page) == 0
    expect(page.get_by_text("No design passes the filters.")).to_be_visible()


def test_hovering_shows_the_design(open_page) -> None:
    page = open_page("run")
    card = page.locator("#card")
    expect(card).not_to_be_visible()
    point = page.locator("svg.points").first.locator(".marks circle.on-front").first
    point.scroll_into_view_if_needed()
    point.hover(force=True)
    expect(card).to_be_visible()
    row = page.locator("#table tbody tr.lit, section[aria-labelledby=pareto] tr.lit").first
    accuracy = row.locator("td.n").first.inner_text()
    assert card.locator(".value").inner_text() == accuracy
    assert page.locator(".ring.here").count() == 2
    keep(page, "run-hover", whole=False)
    page.mouse.move(5, 5)
    expect(card).not_to_be_visible()


def test_a_click_keeps_the_card_and_escape_closes_it(open_page) -> None:
    page = open_page("run")
    point = page.locator("svg.points").nth(1).locator(".marks circle.on-front").first
    point.scroll_into_view_if_needed()
    point.click(force=True)
    page.mouse.move(5, 5)
    expect(page.locator("#card.pinned")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#card")).not_to_be_visible()


def test_keys_walk_through_the_points(open_page) -> None:
    page = open_page("run")
    chart = page.locator("svg.points").first
    page.locator("#filters button").focus()
    page.keyboard.press("Tab")
    assert chart.evaluate("(svg) => svg === document.activeElement")
    places = [float(chart.locator(".ring").get_attribute("cx"))]
    texts = [page.locator("#card").inner_text()]
    for key in ("ArrowRight", "ArrowRight", "End"):
        page.keyboard.press(key)
        places.append(float(chart.locator(".ring").get_attribute("cx")))
        texts.append(page.locator("#card").inner_text())
    assert places == sorted(places) and places[-1] > places[0]
    assert len(set(texts)) == 4
    outline = chart.evaluate("(svg) => getComputedStyle(svg).outlineStyle")
    assert outline != "none"
    page.keyboard.press("Home")
    assert float(chart.locator(".ring").get_attribute("cx")) == places[0]


def test_colours_follow_the_choice(open_page) -> None:
    page = open_page("run")
    assert page.locator("#legend li").all_inner_texts() == ["constant", "gat", "gcn"]
    page.get_by_label("Colour by", exact=True).select_option(label="part of the search")
    assert page.locator("#legend li").first.inner_text() == "first fifth"
    fills = page.evaluate("[...document.querySelectorAll('.marks circle')].map((c) => getComputedStyle(c).fill)")
    assert len(set(fills)) == 5


def test_the_table_sorts_and_grows(open_page) -> None:
    page = open_page("run")
    table = page.locator("#table")
    assert table.locator("tbody tr").count() == 25
    table.get_by_role("button", name="LUT").click()
    luts = [int(text.replace(",", "")) for text in table.locator("tbody td:nth-child(7)").all_inner_texts()]
    assert luts == sorted(luts)
    assert table.locator("th[aria-sort]").inner_text().startswith("LUT")
    page.get_by_role("button", name="More rows").click()
    assert table.locator("tbody tr").count() == 125


def test_touching_a_point_opens_its_card_at_the_foot_of_a_phone(open_page) -> None:
    page = open_page("run", PHONE, has_touch=True, is_mobile=True)
    point = page.locator("svg.points").first.locator(".marks circle.on-front").first
    point.scroll_into_view_if_needed()
    point.tap(force=True)
    box = page.locator("#card").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 375
    assert box["y"] + box["height"] <= 900


def test_the_page_works_without_script(browser, files) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(files["run"].as_uri())
    assert page.locator("#table tbody tr").count() == 25
    expect(page.locator(".marks circle").first).to_be_visible()
    context.close()
