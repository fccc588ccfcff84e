"""The folder of a device: what comes back, and what is wrong with one."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hardware_measured_networks import CLOUD, TAIL, drawn, made_times

from fgnas.errors import UserError
from fgnas.hardware.measured.device import (
    DEVICE,
    FITTED,
    JUDGED,
    LATENCY,
    MEMORY,
    NETWORKS,
    Device,
    DeviceFolder,
    Verdict,
    bases,
    differences,
)
from fgnas.hardware.measured.judge import judged
from fgnas.hardware.measured.memory import live
from fgnas.hardware.measured.predictors.table import Table

ONE = Device("a processor", 1, {"torch": "2"}, "digit-points", "abc", CLOUD, TAIL, 0, 30, 3, False)


def finished(path: Path) -> DeviceFolder:
    """A device with a table."""
    folder, networks = DeviceFolder(path), drawn(30)
    folder.begin(ONE, networks)
    values = made_times(networks)
    table = Table.fit(networks, values, CLOUD, 0)
    errors = {LATENCY: {"table": judged(table.values(networks), values)}}
    folder.finish(Verdict(0.6, {LATENCY: "table"}, errors, errors), {LATENCY: {"table": table}})
    return folder


def test_everything_comes_back(tmp_path: Path) -> None:
    folder = finished(tmp_path / "here")
    assert folder.begun and folder.device() == ONE and folder.networks() == drawn(30)
    verdict = folder.verdict()
    assert verdict.reference_ms == 0.6 and verdict.held_out[LATENCY]["table"].samples == 30
    assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict
    networks = drawn(30)
    own = Table.fit(networks, made_times(networks), CLOUD, 0)
    assert np.array_equal(folder.predictor(LATENCY).values(networks), own.values(networks))


@pytest.mark.parametrize(("name", "asked"), [
    (DEVICE, lambda folder: folder.device()), (NETWORKS, lambda folder: folder.networks()),
    (JUDGED, lambda folder: folder.verdict()), (FITTED, lambda folder: folder.predictor(LATENCY)),
])  # fmt: skip
@pytest.mark.parametrize("content", [b"", b"{}", b"\x00no"])
def test_damaged_files_are_named(name: str, asked: object, content: bytes, tmp_path: Path) -> None:
    folder = finished(tmp_path / "here")
    (folder.path / name).write_bytes(content)
    if name == NETWORKS and not content:
        return  # no line is no network
    with pytest.raises(UserError, match=f"{name} is damaged"):
        asked(folder)  # type: ignore[operator]


def test_predictors_of_bytes_are_fitted_again(tmp_path: Path) -> None:
    folder, networks = finished(tmp_path / "here"), drawn(30)
    table = Table.fit(networks, made_times(networks), CLOUD, 0)
    errors = {MEMORY: {"table": judged(table.values(networks), made_times(networks))}}
    folder.finish(Verdict(0.6, {MEMORY: "table"}, errors, errors), {MEMORY: {"table": table}})
    assert np.array_equal(folder.predictor(MEMORY).values(networks), table.values(networks))
    np.savez(folder.path / FITTED, **{f"memory.table.{key}": value for key, value in table.arrays().items()})
    with pytest.raises(UserError, match=f"delete {JUDGED}, and `fgnas measure --resume` makes both"):
        folder.predictor(MEMORY)


def test_the_base_of_each_quantity() -> None:
    networks = drawn(3)
    assert bases(LATENCY, networks, CLOUD).tolist() == [1, 1, 1]
    assert bases(MEMORY, networks, CLOUD).tolist() == [live(one, CLOUD) for one in networks]


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no measured device: make one with `fgnas measure --out"):
        DeviceFolder(tmp_path / "none").device()
    folder = finished(tmp_path / "here")
    with pytest.raises(UserError, match="has no memory: measure it with `fgnas measure --memory`"):
        folder.predictor(MEMORY)
    (folder.path / JUDGED).unlink()
    with pytest.raises(UserError, match="was measured 0 times of 90: .*`fgnas measure --out .* --resume"):
        folder.verdict()


def test_differences_are_told() -> None:
    assert differences(ONE, ONE) == []
    assert differences(ONE, replace(ONE, threads=2)) == ["threads is 1 there and 2 here"]
