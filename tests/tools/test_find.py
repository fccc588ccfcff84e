"""The finders name the tool they found, prefer the user's choice, and name the fix when they fail."""

import importlib.util
import os
import re
import sys
import sysconfig
from pathlib import Path

import pytest

from fgnas.errors import UserError
from fgnas.tools.find import Verilator, find_ap_types, find_compiler, find_make, find_verilator


def executable(path: Path, script: str = "exit 0") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def verilator(path: Path, version: str) -> Path:
    return executable(path, f"echo 'Verilator {version} 2026-01-01 rev v{version}'")


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without tools; returns the one folder of its PATH."""
    for variable in ("FGNAS_VERILATOR", "XILINX_HLS", "XILINX_VITIS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "environment"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    return tmp_path / "path"


def package(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Create a package in `folder` with nothing to import."""
    spec = importlib.util.spec_from_file_location(
        "package", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == folder.name else None)


@pytest.mark.parametrize(("find", "tool"), [(find_compiler, "g++"), (find_make, "make")])
def test_a_tool_on_path_is_found_and_a_missing_one_named(find, tool, bare):
    with pytest.raises(UserError, match=rf"{re.escape(tool)} is not on PATH; fix: sudo apt-get"):
        find()
    path = executable(bare / tool)
    assert find() == path


def test_no_verilator(bare):
    with pytest.raises(UserError, match=r"5\.036 or newer is needed, found: none; fix: make setup"):
        find_verilator()


@pytest.mark.parametrize("version", ["5.036", "5.052", "6.000"])
def test_verilator_on_path(bare, version):
    major, minor = version.split(".")
    path = verilator(bare / "verilator", version)
    assert find_verilator() == Verilator(path, (int(major), int(minor)))


def test_an_old_verilator_is_named(bare):
    path = verilator(bare / "verilator", "5.006")
    with pytest.raises(UserError, match=rf"found: {path} is 5\.006; fix"):
        find_verilator()


def test_a_new_verilator_on_path_wins_over_the_environment(bare):
    path = verilator(bare / "verilator", "5.040")
    verilator(bare.parent / "environment" / "verilator", "5.052")
    assert find_verilator().path == path


def test_the_environment_helps_out_when_path_has_an_old_one(bare):
    verilator(bare / "verilator", "5.006")
    path = verilator(bare.parent / "environment" / "verilator", "5.052")
    assert find_verilator().path == path


def test_the_wheel_helps_out_when_it_is_not_linked(bare, monkeypatch):
    path = verilator(bare.parent / "site" / "verilator" / "bin" / "verilator", "5.052")
    package(monkeypatch, bare.parent / "site" / "verilator")
    assert find_verilator().path == path


def test_what_the_user_names_is_taken_or_refused_but_not_replaced(bare, monkeypatch):
    verilator(bare / "verilator", "5.052")
    mine = verilator(bare.parent / "mine", "5.044")
    monkeypatch.setenv("FGNAS_VERILATOR", str(mine))
    assert find_verilator().path == mine
    monkeypatch.setenv("FGNAS_VERILATOR", str(bare.parent / "nowhere"))
    with pytest.raises(UserError, match=r"nowhere does not run \(.*No such file.*; fix: set"):
        find_verilator()


def test_a_broken_verilator_says_why(bare):
    executable(bare / "verilator", "echo 'no Pod/Usage.pm' >&2; exit 2")
    with pytest.raises(UserError, match=r"does not run \(no Pod/Usage\.pm\)"):
        find_verilator()


def headers(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in ("ap_int.h", "ap_fixed.h", "hls_stream.h"):
        (folder / name).touch()
    return folder


def test_ap_types_of_vitis_win_over_those_of_hls4ml(bare, monkeypatch, tmp_path):
    with pytest.raises(UserError, match="fix: make setup"):
        find_ap_types()
    copied = headers(tmp_path / "hls4ml" / "templates" / "vivado" / "ap_types")
    package(monkeypatch, tmp_path / "hls4ml")
    assert find_ap_types() == copied
    monkeypatch.setenv("XILINX_HLS", str(tmp_path / "vitis"))
    assert find_ap_types() == copied, "a Vitis without headers is passed over"
    vendor = headers(tmp_path / "vitis" / "include")
    assert find_ap_types() == vendor


def test_this_machine_is_complete():
    """The promise of `make setup`; and hls4ml is only looked up, never imported."""
    assert find_compiler().name == "g++"
    assert os.access(find_verilator().path, os.X_OK)
    assert (find_ap_types() / "ap_fixed.h").is_file()
    assert "hls4ml" not in sys.modules
