"""Every command of every guide runs, in the order of the page and in an empty folder.

A guide is a page below *Guides* in mkdocs.yml. A block that is not run gives the reason in a comment before it. The
Python files of a guide lie in that folder.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from page_files import write_files

ROOT = Path(__file__).parents[1]
SECTION = re.compile(r"^  - Guides:\n((?:      - .*\n)+)", re.MULTILINE)
BLOCK = re.compile(r"(?:^<!-- not run: (?P<why>[^\n]+) -->\n)?^```sh\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)


def guides() -> list[Path]:
    """The pages, in the order of the navigation."""
    section = SECTION.search((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert section is not None
    return [ROOT / "docs" / line.rpartition(": ")[2] for line in section[1].splitlines()]


def blocks(text: str) -> list[tuple[str, str | None]]:
    """(commands, why they are not run) of each block of a page."""
    return [(found["text"], found["why"]) for found in BLOCK.finditer(text)]


def test_blocks_by_hand() -> None:
    page = "```sh\na\n```\n\n<!-- not run: no board -->\n```sh\nb\nc\n```\n```text\nd\n```\n"
    assert blocks(page) == [("a\n", None), ("b\nc\n", "no board")]


def test_every_system_has_a_guide() -> None:
    """And every guide has commands that run."""
    pages = {page: page.read_text(encoding="utf-8") for page in guides()}
    assert len(pages) == 6
    for system in ("g-cos", "magnas", "hgnas"):
        assert any(f"--system {system}" in text for text in pages.values())
    for page, text in pages.items():
        assert any(why is None for _, why in blocks(text)), page


def test_files_by_hand(tmp_path: Path) -> None:
    write_files("```python\n# a.py\nx = 1\n```\n\n```python\nprint(2)\n```\n", tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.py": "# a.py\nx = 1\n"}


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("page", guides(), ids=lambda page: page.stem)
def test_the_commands_of_a_guide_run(page: Path, tmp_path: Path) -> None:
    """With `fgnas` and `python` from this environment, and this source."""
    guide = page.read_text(encoding="utf-8")
    if "cora" in guide and not os.environ.get("FGNAS_DATA_ROOT"):
        pytest.skip("needs FGNAS_DATA_ROOT: tests never download")
    programs, folder = tmp_path / "bin", tmp_path / "guide"
    programs.mkdir()
    for name, options in {"fgnas": " -m fgnas.cli", "python": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{options} "$@"\n')
        (programs / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    folder.mkdir()
    write_files(guide, folder)
    for text, why in blocks(guide):
        if why is None:
            done = subprocess.run(["bash", "-ec", text], cwd=folder, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, f"{text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_notebook_runs(tmp_path: Path) -> None:
    """Every cell, in an empty folder; it is stored without results."""
    nbclient = pytest.importorskip("nbclient", reason="needs pip install 'fgnas[notebook]'")
    pytest.importorskip("ipykernel", reason="needs pip install 'fgnas[notebook]'")
    import nbformat

    notebook = nbformat.read(ROOT / "docs" / "guide.ipynb", as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)
    nbclient.NotebookClient(notebook, timeout=3600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert (tmp_path / "runs" / "notebook" / "report.html").is_file()
    assert (tmp_path / "hls" / "notebook" / "report.html").is_file() and all(cell.outputs for cell in cells)
