"""axe-core on a page of every kind, light and dark, wide and narrow: no serious finding, nothing wider than the screen.

With FGNAS_RECORD=1 the findings become docs/results/pages.md.
"""

import os
import shutil
from pathlib import Path

import pytest

from tests.report.test_kinds import KINDS

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'fgnas[dev]'")

pytestmark = pytest.mark.slow

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ROOT = Path(__file__).parents[2]
AXE = ROOT / "build" / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS, THEMES = (1280, 390), ("light", "dark")
IMPACTS = ("critical", "serious", "moderate", "minor")
PAGE = ROOT / "docs" / "results" / "pages.md"
HEAD = """# Pages

axe-core {version} on a page of every kind, in both themes at {widths} pixels: the number of findings by impact. The
test also fails where a page is wider than the screen. `tests/report/kinds.py` makes the pages.

    npm install --prefix build axe-core
    FGNAS_RECORD=1 python -m pytest -m slow tests/report/test_accessible.py

| page | rules passed | {impacts} |
|---|---|{dashes}
"""


@pytest.fixture(scope="module")
def browser():
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("needs a Chromium on PATH: sudo apt-get install chromium")
    if not AXE.is_file():
        pytest.skip("needs axe-core: npm install --prefix build axe-core")
    options = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's own sandbox refuses to run as root
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=options)
        yield opened
        opened.close()


def looked_at(browser, path: Path, width: int, theme: str) -> dict:
    """The result of axe-core, and by how much the page is wider than the screen."""
    # The page's policy allows no script but its own, so axe-core comes past it.
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme,
                                  reduced_motion="reduce", bypass_csp=True)  # fmt: skip
    page = context.new_page()
    page.goto(path.as_uri())
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document)")
    context.close()
    return {"wide": wide, **found}


def test_axe_finds_nothing_serious(browser, every_page: dict[str, Path]) -> None:
    lines, serious, version = [], [], ""
    for kind in KINDS:
        counts, passed = dict.fromkeys(IMPACTS, 0), []
        for width in WIDTHS:
            for theme in THEMES:
                found = looked_at(browser, every_page[kind], width, theme)
                version = found["testEngine"]["version"]
                passed.append(len(found["passes"]))
                for one in found["violations"]:
                    counts[one["impact"]] += len(one["nodes"])
                    if one["impact"] in ("critical", "serious"):
                        serious.append((kind, width, theme, one["id"], one["nodes"][0]["html"]))
                if found["wide"] > 0:
                    serious.append((kind, width, theme, f"{found['wide']} pixels too wide", ""))
        lines.append(f"| {kind} | {min(passed)} | " + " | ".join(str(counts[impact]) for impact in IMPACTS) + " |\n")
    assert not serious
    if os.environ.get("FGNAS_RECORD"):
        head = HEAD.format(version=version, widths=" and ".join(f"{width:,}" for width in WIDTHS),
                           impacts=" | ".join(IMPACTS), dashes="---|" * len(IMPACTS))  # fmt: skip
        PAGE.write_text(head + "".join(lines), encoding="utf-8")
