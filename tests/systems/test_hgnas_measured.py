"""HGNAS on a measured device: measure, search, price, pages, and what is refused."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from killing import killed, lines
from point_clouds import write_clouds

import fgnas
from fgnas.cli import main
from fgnas.hardware.measured.device import LATENCY, MEMORY, DeviceFolder
from fgnas.hardware.measured.judge import judged
from fgnas.hardware.measured.measure import ordered
from fgnas.hardware.measured.memory import live
from fgnas.hardware.measured.predictors import PREDICTORS, split, steady
from fgnas.networks.points.operations import LARGEST_WIDTH, TAILS
from fgnas.networks.points.work import widest
from fgnas.systems.hgnas.composition import cloud_of
from fgnas.systems.hgnas.space import point_space
from fgnas.systems.hgnas.target import MeasuredTarget
from fgnas.tasks.points import load_graphs

SMALL = ["--networks", "24", "--rounds", "2", "--quiet"]


@pytest.fixture(scope="module")
def clouds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clouds(tmp_path_factory.mktemp("clouds"))


@pytest.fixture(scope="module")
def device(clouds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A device measured with few networks, memory among it."""
    out = tmp_path_factory.mktemp("devices") / "here"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fgnas.hardware.measured.predictors.paper.EPOCHS", 3)
        assert main(["measure", "--dataset", str(clouds), "--out", str(out), "--memory", "--tail", "small",
                     *SMALL]) == 0  # fmt: skip
    return out


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of a command that cannot run."""
    assert main(arguments) == 2
    text = capsys.readouterr().err
    assert text.startswith("fgnas: ") and text.count("\n") == 1
    return text


def test_a_device_is_whole(device: Path) -> None:
    folder = DeviceFolder(device)
    networks = folder.networks()
    assert len({one.hash for one in networks}) == 24
    assert max(widest(one.operations, 3) for one in networks) <= LARGEST_WIDTH
    found = folder.lines()
    assert [(one.round, one.place) for one in found[:48]] == ordered(folder.device())
    assert sorted(one.place for one in found[48:]) == list(range(24))
    assert all(one.memory is not None and one.memory > 0 for one in found[48:])
    verdict = folder.verdict()
    assert set(verdict.chosen) == {"latency", "memory"} and set(verdict.estimates) == {"live", "printed"}
    best = min(one.mape for one in verdict.validation[LATENCY].values())
    assert verdict.validation[LATENCY][verdict.chosen[LATENCY]].mape == best
    page = (device / "report.html").read_text()
    assert "Predicted latency" in page and "Predicted memory" in page and "estimate: printed" in page


def test_memory_is_predicted_relative_to_the_bytes_alive(device: Path) -> None:
    folder = DeviceFolder(device)
    verdict, measured = folder.verdict(), folder.measured()
    held = [measured[place] for place in split(len(measured))[2]]
    networks, cloud = [one.network for one in held], folder.device().cloud
    wanted = np.array([float(one.memory or 0) for one in held])
    alive = np.array([float(live(one, cloud)) for one in networks])
    for name in PREDICTORS:
        ratios = folder.predictor(MEMORY, name).values(networks)
        assert verdict.held_out[MEMORY][name].mape == pytest.approx(judged(alive * ratios, wanted).mape)


def test_prices_are_those_of_the_predictor(device: Path, clouds: Path) -> None:
    folder = DeviceFolder(device)
    space = point_space(cloud_of(load_graphs(clouds)), TAILS["small"])
    target = MeasuredTarget(space, folder, "table")
    rows = space.draw(50, np.random.default_rng(3))
    networks = [space.candidate(row).network for row in rows]
    costs = target.price(rows)
    table = folder.predictor(LATENCY, "table")
    assert np.array_equal(costs["share"], steady(table.values(networks)))
    assert np.array_equal(costs["latency"], costs["share"] * folder.verdict().reference_ms)
    assert all(bytes_ >= live(one, space.cloud) for bytes_, one in zip(costs["memory"], networks, strict=True))


@pytest.mark.parametrize("name", PREDICTORS)
def test_a_price_does_not_depend_on_what_is_priced_with_it(name: str, device: Path, clouds: Path) -> None:
    space = point_space(cloud_of(load_graphs(clouds)), TAILS["small"])
    target = MeasuredTarget(space, DeviceFolder(device), name)
    rows = space.draw(300, np.random.default_rng(4))
    together = target.price(rows)
    for place in range(0, 300, 7):
        alone = target.price(rows[place : place + 1])
        assert all(alone[cost][0] == together[cost][place] for cost in together)


def test_a_search_on_it(
    device: Path, clouds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every trial keeps the limits, and the best network's price is the one that `fgnas price` tells."""
    monkeypatch.chdir(tmp_path)
    limit = DeviceFolder(device).verdict().reference_ms / 3
    assert main(["search", "--system", "hgnas", "--dataset", str(clouds), "--target", str(device), "--tail", "small",
                 "--latency-ms", f"{limit:.6f}", "--memory-mb", "0.05", "--epochs", "2", "--own-epochs", "1",
                 "--children", "48", "--leaders", "2", "--retrain-seeds", "1", "--retrain-epochs", "1", "--workers",
                 "1", "--quiet"]) == 0  # fmt: skip
    run = Path("runs/clouds-1")
    trials = [json.loads(line) for line in (run / "trials.jsonl").read_text().splitlines()]
    assert len(trials) == 48
    assert max(one["costs"]["latency"] for one in trials) <= limit
    assert max(one["costs"]["memory"] for one in trials) <= 50_000
    assert (run / "report.html").is_file()
    capsys.readouterr()
    assert main(["price", str(run / "best.json"), "--target", str(device), "--measure", "--json"]) == 0
    price = json.loads(capsys.readouterr().out)
    best = json.loads((run / "best.json").read_text())
    assert all(price[name] == best["costs"][name] for name in ("latency", "memory", "products", "share", "width"))
    assert price["measured_ms"] > 0 and price["measured_share"] > 0


def test_baselines_are_timed(device: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = fgnas.price_network("dgcnn", device, measured=True)
    assert found["measured_share"] > 1 and "latency" not in found
    assert "time it with --measure" in said(["price", "dgcnn", "--target", str(device)], capsys)
    assert fgnas.price_network("pointnet", device)["latency"] > 0


def test_a_measurement_continues(device: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From any prefix of its record: every block once, in the planned order; what was measured stays."""
    monkeypatch.setattr("fgnas.hardware.measured.predictors.paper.EPOCHS", 2)
    whole = DeviceFolder(device)
    cut = DeviceFolder(tmp_path / "cut")
    cut.begin(whole.device(), whole.networks())
    kept = (device / "record.jsonl").read_bytes()[:1000]
    (tmp_path / "cut" / "record.jsonl").write_bytes(kept)
    fgnas.measure(tmp_path / "cut", resume=True)
    assert [(one.round, one.place) for one in cut.lines()[:48]] == ordered(whole.device())
    before = kept[: kept.rfind(b"\n") + 1]
    assert (tmp_path / "cut" / "record.jsonl").read_bytes().startswith(before)
    assert len(cut.lines()) == 72
    for name in ("device.json", "networks.jsonl"):
        assert (tmp_path / "cut" / name).read_bytes() == (device / name).read_bytes()


def test_another_device_starts_from_it(device: Path, clouds: Path, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fgnas.hardware.measured.predictors.paper.EPOCHS", 2)
        found = fgnas.measure(tmp_path / "two", start=device, dataset=str(clouds), tail="small", networks=20, rounds=1,
                              threads=2)  # fmt: skip
    assert found.device().threads == 2 and found.verdict().floor is None


def test_an_interrupted_measurement_says_how_to_continue(
    clouds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fgnas.systems.hgnas.measuring.measure", interrupted)
    out = str(tmp_path / "here")
    assert main(["measure", "--dataset", str(clouds), "--tail", "small", "--out", out, *SMALL]) == 130
    assert f"continue with: fgnas measure --out {out} --resume" in capsys.readouterr().err


def test_what_is_refused(device: Path, clouds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    search = ["search", "--system", "hgnas", "--dataset", str(clouds), "--tail", "small"]
    measured = ["measure", "--dataset", str(clouds), "--tail", "small", "--out"]
    cases = [
        ([*search, "--latency-ms", "1"], "--latency-ms needs a device: give --target FOLDER"),
        ([*search, "--target", str(tmp_path)], "is no measured device"),
        ([*search, "--dataset", "digit-points", "--target", str(device)], "was measured for"),
        ([*search, "--tail", "middle", "--target", str(device)], "another --tail"),
        ([*search, "--target", str(device), "--latency-ms", "1e-6"], "no feasible design"),
        ([*measured, str(device)], "holds a device already: continue it with --resume"),
        ([*measured, str(device), "--resume", "--threads", "2"], "threads is 1 there and 2 here"),
        ([*measured, str(clouds.parent)], "and a device has a folder of its own: give another --out"),
        ([*measured, str(tmp_path / "few"), "--networks", "5"], "too few"),
        ([*measured, str(tmp_path / "new"), "--resume"], "is no measured device"),
        ([*measured, str(tmp_path / "from"), "--from", str(tmp_path)], "is no measured device"),
        (["price", str(clouds), "--target", str(device)], "cannot read the network"),
        (["price", str(device / "judged.json"), "--target", str(device)], "holds no network of operations"),
        (["price", "x.json", "--measure"], "--measure times a network of operations"),
    ]
    for arguments, text in cases:
        assert text in said([*arguments, "--quiet"], capsys)


PROGRAM = """
import sys
from pathlib import Path

import fgnas

if __name__ == "__main__":
    out = Path(sys.argv[1])
    begun = (out / "device.json").is_file()
    given = {} if begun else {"dataset": sys.argv[2], "tail": "small", "networks": 30, "rounds": 3}
    fgnas.measure(out, resume=begun, **given)
"""


@pytest.mark.slow
def test_killed_twice(clouds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is that of an undisturbed measurement; what was measured before a kill is kept to the byte."""
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text(PROGRAM)
    cut, record = Path("cut"), Path("cut/record.jsonl")
    command = [sys.executable, "program.py", "cut", str(clouds)]
    kept = b""
    for least in (10, 40):
        killed(command, cut, lambda least=least: lines(record) >= least)  # type: ignore[misc]
        content = record.read_bytes()
        assert content.startswith(kept)
        kept = content[: content.rfind(b"\n") + 1]
    subprocess.run(command, check=True)
    assert record.read_bytes().startswith(kept)
    subprocess.run([sys.executable, "program.py", "whole", str(clouds)], check=True)
    plans = [[(one.round, one.place) for one in DeviceFolder(Path(name)).lines()] for name in ("cut", "whole")]
    assert plans[0] == plans[1]
    for name in ("device.json", "networks.jsonl"):
        assert (cut / name).read_bytes() == Path("whole", name).read_bytes()


def test_every_cut_is_priced_and_the_best_is_written(
    device: Path, clouds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    operations = [{"operation": "combine", "features": 16}, {"operation": "sample", "function": "nearest"},
                  {"operation": "aggregate", "reducer": "max", "message": "relative"},
                  {"operation": "combine", "features": 8}]  # fmt: skip
    network = tmp_path / "network.json"
    network.write_text(json.dumps({"operations": operations, "tail": {"embedding": 64, "hidden": [64]},
                                   "dataset": str(clouds)}))  # fmt: skip
    sized = ["--multipliers", "32", "--beat-bits", "128", "--quiet"]
    assert main(["map", str(device), str(network), *sized, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    ways = {one["operations"]: one for one in found["ways"]}
    assert set(ways) == {0, 1, 3, 4, None} and not found["refused"]
    whole = fgnas.price_on_array(network, clouds, multipliers=32, beat_bits=128)
    assert ways[0]["cycles"] == whole["latency_cycles"] and ways[0]["processor"] == 0
    assert ways[0]["resources"]["lut"] == whole["lut"]
    assert ways[0]["cycles"] > ways[3]["cycles"] > ways[4]["cycles"] > ways[None]["cycles"] == 0
    for one in ways.values():
        assert one["array"] == one["cycles"] / 100
        assert one["total"] == one["processor"] + one["encode"] + one["handover"] + one["array"]
    assert found["best"] == min(found["ways"], key=lambda one: one["total"])["operations"]

    # A clock that the array always wins at, and one that it never does.
    out = tmp_path / "project"
    fast = ["--clock-mhz", "1e6", "--start-us", "0", "--interrupt-us", "0"]
    assert main(["map", str(device), str(network), *sized, *fast, "--out", str(out)]) == 0
    assert "cut behind so many operations" in capsys.readouterr().out and (out / "driver.py").is_file()
    assert "the processor alone is fastest" in said(
        ["map", str(device), str(network), *sized, "--clock-mhz", "0.01", "--out", str(tmp_path / "none")], capsys)
    assert "--seed is for a platform of steps" in said(["map", str(device), str(network), "--seed", "1"], capsys)
    assert "--multipliers is for a measured device" in said(["map", "xavier", "b0", "--multipliers", "8"], capsys)
    assert "is no measured device" in said(["map", str(tmp_path), str(network)], capsys)
