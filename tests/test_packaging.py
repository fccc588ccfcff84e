"""The package as users get it: built, installed in a new environment, used from an empty folder."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_extras_have_their_names() -> None:
    named = {"sim", "synth", "timing", "report", "distributed", "clang", "board", "molecules", "tables", "onnx",
             "tracking", "notebook", "dev"}  # fmt: skip
    assert set(PROJECT["optional-dependencies"]) == named


def test_what_is_tested_together_is_pinned() -> None:
    """Every requirement, of every extra, is in constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {line.split("==")[0].lower() for line in lines if "==" in line}
    extras = PROJECT["optional-dependencies"].values()
    for requirement in [*PROJECT["dependencies"], *(item for extra in extras for item in extra)]:
        assert re.split(r"[\[>]", requirement)[0].lower() in pinned, requirement


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


def shipped() -> set[str]:
    """The package's files other than Python: every template, every file of the bench."""
    return {
        str(path.relative_to(ROOT)) for folder in ("templates", "sim") for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }  # fmt: skip


@pytest.mark.slow
def test_wheel_and_sdist_hold_what_they_need(built: Path) -> None:
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "fgnas").rglob("*.py")}
    assert modules <= names and {f"fgnas/{name}" for name in shipped()} <= names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"fgnas"}, "nothing beside the package"
    assert any(name.endswith("LICENSE") for name in names)
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert modules | shipped() | {"README.md", "LICENSE", "pyproject.toml"} <= inside


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment that has the wheel and also sees this environment's packages."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    (wheel,) = built.glob("*.whl")
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True)
    own = next((folder / "lib").glob("python*/site-packages"))
    # A plain path behind its own packages: an editable fgnas of this environment is not seen through it.
    (own / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "fgnas"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_installed_it_works_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "FGNAS_DATA_ROOT")}
    environment["PATH"] = f"{sysconfig.get_path('scripts')}{os.pathsep}{environment['PATH']}"

    def call(*arguments: str) -> Any:
        command = [installed, *arguments, "--json"]
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    code = "import fgnas.paths; print(fgnas.__file__, fgnas.paths.templates_directory())"
    place = subprocess.run(
        [installed.parent / "python", "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert all(path.startswith(str(installed.parent.parent)) for path in place.stdout.split())
    best = call("search", "--dataset", "digits", "--children", "6", "--workers", "2")
    assert best["run"] == "digits-1"
    assert call("hls", "latest")["directory"] == "hls/best"
    assert call("csim", "hls/best")["mismatches"] == 0
    report = call("sim", "hls/best")
    assert report["mismatches"] == 0 and report["cycles"] == best["costs"]["latency_cycles"]
    assert Path(call("report", "latest")["page"]).name == Path(call("report", "hls/best")["page"]).name == "report.html"
    assert all(part["found"] for part in call("doctor").values() if part["required"])
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "hls"}
