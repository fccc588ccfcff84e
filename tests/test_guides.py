"""Every command of every guide runs, in the order of the page and in an empty folder.

A guide is a page below *Guides* in mkdocs.yml. A block that is not run gives the reason in a comment before it. The
Python of a guide is run by tests/test_docs.py.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

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
    """And every guide has commands that run, or a program."""
    pages = {page: page.read_text(encoding="utf-8") for page in guides()}
    assert len(pages) == 6
    for system in ("g-cos", "magnas", "hgnas"):
        assert any(f"--system {system}" in text for text in pages.values())
    for page, text in pages.items():
        assert "```python" in text or any(why is None for _, why in blocks(text)), page


def with_commands() -> list[Path]:
    return [page for page in guides() if "```python" not in page.read_text(encoding="utf-8")]


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("page", with_commands(), ids=lambda page: page.stem)
def test_the_commands_of_a_guide_run(page: Path, tmp_path: Path) -> None:
    """With `fgnas` from this environment and this source."""
    if "cora" in page.read_text(encoding="utf-8") and not os.environ.get("FGNAS_DATA_ROOT"):
        pytest.skip("needs FGNAS_DATA_ROOT: tests never download")
    program = tmp_path / "bin" / "fgnas"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m fgnas.cli "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
                   "PYTHONPATH": str(ROOT)}  # fmt: skip
    folder = tmp_path / "guide"
    folder.mkdir()
    for text, why in blocks(page.read_text(encoding="utf-8")):
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
