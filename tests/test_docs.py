"""The documentation is true: its code runs, its commands parse, its targets exist, its links resolve."""

import argparse
import functools
import importlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from page_files import write_files

import fgnas
from fgnas import searchers, systems
from fgnas.cli import _system_of, parser
from fgnas.design import Design
from fgnas.options import table
from fgnas.systems.fgnas import Options
from fgnas.systems.fgnas import target as targets

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^```python\n[^`]*^```\n\n```text\n([^`]*)^```", re.MULTILINE)
COMMAND = re.compile(r"(?:\.venv/bin/)?fgnas ([a-z].*)")
TARGET = re.compile(r"\bmake ([a-z-]+)")


def blocks(page: Path, language: str) -> list[str]:
    """The page's fenced blocks of a language."""
    return [text for name, text in FENCE.findall(page.read_text(encoding="utf-8")) if name == language]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def with_blocks(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


PROGRAMS = [
    pytest.param(page, marks=pytest.mark.slow if page.name == "README.md" else ())
    for page in with_blocks("python")
    if page.name != "api.md"
]
"""tests/test_api.py runs api.md, which searches and simulates; the README's program builds two simulators."""


@pytest.mark.parametrize("page", PROGRAMS, ids=name)
def test_python_blocks_run_in_order(page: Path, tmp_path: Path) -> None:
    """The blocks of a page are one program, run in a folder with the files that the page names; a text block right
    behind one is its output."""
    write_files(page.read_text(encoding="utf-8"), tmp_path)
    program = "\n".join(blocks(page, "python"))
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = OUTPUT.findall(page.read_text(encoding="utf-8"))
    assert not shown or done.stdout == "".join(shown)


def test_the_cycles_in_the_readme_are_those_of_its_design() -> None:
    """The slow test above also simulates them."""
    (program,) = blocks(ROOT / "README.md", "python")
    seed = re.search(r"sample\(1, seed=(\d+)\)", program)
    (shown,) = OUTPUT.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert seed
    cycles = next(fgnas.sample(1, seed=int(seed[1]))).price("digits")["latency_cycles"]
    assert f"{cycles:,} cycles predicted, {cycles:,} simulated" in shown


@pytest.mark.parametrize("page", with_blocks("json"), ids=name)
def test_json_blocks_are_designs(page: Path) -> None:
    """But for the kernel that is an array, which tests/systems/test_magnas_kernels.py loads."""
    for text in blocks(page, "json"):
        if [*json.loads(text)][0] != "array":
            Design.from_json(text, name(page))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_parse(page: Path) -> None:
    """Every command of a shell block is one that the command line takes."""
    for block in blocks(page, "sh"):
        for line in block.splitlines():
            if match := COMMAND.match(line.split("#")[0].strip()):
                words = shlex.split(match[1])
                parser(_system_of(words)).parse_args(words)


def test_the_table_of_commands_is_the_parser() -> None:
    """docs/commands.md lists every command with its options, neither more nor less, and explains each option."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    head, data, limits, rest, _ = re.split(r"^(?:\*Data\*|\*Limits\*|## Other|## Exit)", text, flags=re.MULTILINE)
    groups = {"*data*": options_in(data), "*limits*": options_in(limits)}
    rows = re.findall(r"^\| `fgnas ([a-z]+).*\|(.*)\|$", head, re.MULTILINE)
    listed = {
        command: options_in(cell).union(*(names for group, names in groups.items() if group in cell))
        for command, cell in rows
    }
    (commands,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    everywhere = {"--help", "--quiet", "--json"}
    taken = {
        command: {action.option_strings[-1] for action in sub._actions if action.option_strings} - everywhere
        for command, sub in commands.choices.items()
    }
    assert listed == taken
    assert options_in(rest) | set().union(*groups.values()) == set().union(*listed.values())


def test_the_table_of_search_options_is_the_dataclass() -> None:
    assert table(Options) in (ROOT / "docs" / "search.md").read_text(encoding="utf-8")
    assert table(systems.find("g-cos").Options) in (ROOT / "docs" / "gcos.md").read_text(encoding="utf-8")
    assert table(systems.find("hgnas").Options) in (ROOT / "docs" / "hgnas.md").read_text(encoding="utf-8")
    assert table(systems.find("magnas").Options) in (ROOT / "docs" / "mapping.md").read_text(encoding="utf-8")


def options_in(text: str) -> set[str]:
    """The options that a piece of Markdown names in code."""
    return set(re.findall(r"`(--?[a-z][a-z0-9-]*)", text))


def test_links_of_the_readme_resolve() -> None:
    """The site checks the links of its pages; the README is not one of them."""
    for target in re.findall(r"\]\(([^)#\s]+)", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert target.startswith("https://") or (ROOT / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_make_targets_exist(page: Path) -> None:
    makefiles = (ROOT / "Makefile", *(ROOT / "templates" / "project").glob("Makefile*"))
    targets = {name for file in makefiles for name in re.findall(r"^([a-z-]+):", file.read_text(), re.MULTILINE)}
    text = page.read_text(encoding="utf-8")
    code = [*blocks(page, "sh"), *re.findall(r"`([^`\n]+)`", text)]
    named = {target for piece in code for target in TARGET.findall(piece)}
    assert named <= targets, f"{name(page)} names {sorted(named - targets)}"


def test_site_builds_without_a_broken_link(tmp_path: Path) -> None:
    for part in ("mkdocs.yml", "docs", "fgnas"):
        (tmp_path / part).symlink_to(ROOT / part)
    zensical = shutil.which("zensical", path=str(Path(sys.executable).parent))
    assert zensical, "zensical is missing: pip install 'fgnas[dev]'"
    done = subprocess.run([zensical, "build", "--strict"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = "".join(page.read_text(encoding="utf-8") for page in (tmp_path / "build" / "site").rglob("*.html"))
    assert not re.search(r'<(?:script|img|link)[^>]*(?:src|href)="https?://', pages), "a page fetches from elsewhere"


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert f" {page.relative_to(ROOT / 'docs')}\n" in navigation, f"mkdocs.yml does not list {page.name}"


def claims(readme: str) -> list[tuple[str, list[str], list[str]]]:
    """(text, pages, figures) of every cell, item and paragraph before the commands that cites a page of docs/."""
    before = readme.split("\n## Two commands")[0]
    pieces = [" ".join(piece.split()) for piece in re.split(r"\n\n|\n(?=- )|\n(?=\|)", before)]
    cells = [cell for piece in pieces for cell in (piece.split(" | ") if piece.startswith("|") else [piece])]
    found = []
    for cell in cells:
        if pages := re.findall(r"\]\((docs/[^)#]+\.md)", cell):
            plain = re.sub(r"\]\([^)]*\)", "]", cell)
            found.append((plain, pages, re.findall(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-])", plain)))
    return found


def holds(content: str, figure: str) -> bool:
    """Whether a text has a figure, and not only as a part of a longer one."""
    return re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d|[.,]\d)", content) is not None


def test_a_figure_by_hand() -> None:
    assert holds("from 0.70 to 1,000", "0.70") and holds("from 0.70 to 1,000", "1,000")
    assert not holds("from 0.70 to 1,000", "0.7") and not holds("from 0.70 to 1,000", "000")
    assert claims("| a | [0 of 12 differ](docs/x.md) |\n\n## Two commands\n[9](docs/y.md)") == [
        ("[0 of 12 differ] |", ["docs/x.md"], ["0", "12"])
    ]


def test_figures_of_the_readme_are_on_the_pages_that_it_cites() -> None:
    found = claims((ROOT / "README.md").read_text(encoding="utf-8"))
    assert sum(len(figures) for *_, figures in found) > 10
    for text, pages, figures in found:
        content = " ".join((ROOT / page).read_text(encoding="utf-8") for page in pages)
        missing = [figure for figure in figures if not holds(content, figure)]
        assert not missing, f"{text}: {missing} is not in {pages}"


PLACES = re.compile(r"(?:fgnas|tests|benchmarks|docs|templates|scripts|sim)/[\w./-]*\w/?")
NAMES = re.compile(r"fgnas(?:\.[A-Za-z_]\w*)+")
FOREIGN = {"--lint-only", "--grams"}
"""Options of other programs that pages name, and of the system that docs/extending.md adds."""
MADE = {"fgnas/searchers/hillclimber.py", "sim/report/fgnas_top_cosim.rpt", "fgnas.hwh"}
"""Files that docs/extending.md adds, and that Vitis and Vivado write."""


def spans(page: Path) -> list[str]:
    """The page's code in lines, without its blocks."""
    return re.findall(r"`([^`\n]+)`", FENCE.sub("", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_that_pages_name_exist(page: Path) -> None:
    named = {span for span in spans(page) if PLACES.fullmatch(span)}
    assert {one for one in named - MADE if not (ROOT / one).exists()} == set()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_names_of_python_that_pages_name_exist(page: Path) -> None:
    """Modules, classes and functions, and groups of entry points; a call is named by what is called."""
    groups = {searchers.GROUP, systems.GROUP, targets.GROUP}
    for span in spans(page):
        found = NAMES.match(span)
        if found is None or span[found.end() : found.end() + 1] not in ("", "(") or found[0] in groups | MADE:
            continue
        value, parts = fgnas, found[0].split(".")[1:]
        for place, part in enumerate(parts, 1):
            if not hasattr(value, part):
                importlib.import_module(".".join(["fgnas", *parts[:place]]))
            value = getattr(value, part)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_options_that_pages_name_exist(page: Path) -> None:
    """Each is one of some command of fgnas, of whatever system, or of a benchmark."""
    taken = {option for module in systems.SYSTEMS for option in every_option(module)} | FOREIGN
    programs = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "benchmarks").glob("*.py")))
    named = {option for span in spans(page) for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", span)}
    assert {one for one in named - taken if f'"{one}"' not in programs} == set()


@functools.cache
def every_option(system: str) -> frozenset[str]:
    """The options of every command of the command line, with those of a system for its search."""
    (commands,) = (action for action in parser(system)._actions if isinstance(action, argparse._SubParsersAction))
    return frozenset(
        option for sub in commands.choices.values() for action in sub._actions for option in action.option_strings
    )


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_extras_that_pages_name_exist(page: Path) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = re.findall(r"pip install '(?:fgnas|\.)\[([\w,]+)\]'", page.read_text(encoding="utf-8"))
    assert {extra for group in named for extra in group.split(",")} <= set(extras)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_rows_of_tables_have_as_many_cells_as_their_headings(page: Path) -> None:
    """A bar within a cell is escaped, in code too."""
    wanted = 0
    for line in FENCE.sub("", page.read_text(encoding="utf-8")).splitlines():
        bars = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        wanted = bars if bars and not wanted else wanted if bars else 0
        assert bars == wanted, line
