"""A run of each system is continued only as what it is: another system, data set or requirement is refused."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from point_clouds import write_clouds

import fgnas
from fgnas import options as named
from fgnas import systems
from fgnas.cli import main
from fgnas.engine.run import configuration
from fgnas.engine.store import RunStore
from fgnas.errors import UserError

NODES = np.arange(40)


def graph(folder: Path) -> Path:
    """A ring of 40 nodes."""
    ring = np.stack([NODES, np.roll(NODES, 1)])
    masks = {"train_mask": NODES < 20, "val_mask": (NODES >= 20) & (NODES < 30), "test_mask": NODES >= 30}
    features = np.eye(5, dtype=np.float32)[NODES % 5]
    np.savez(folder / "ring.npz", x=features, edge_index=np.hstack([ring, ring[::-1]]), y=NODES % 2, **masks)
    return folder / "ring.npz"


def images(folder: Path) -> Path:
    """Images of the size of the digits, in noise."""
    masks = {"train_mask": NODES < 20, "val_mask": (NODES >= 20) & (NODES < 30), "test_mask": NODES >= 30}
    pixels = np.random.default_rng(0).random((40, 8, 8)).astype(np.float32)
    np.savez(folder / "noise.npz", x=pixels, y=NODES % 10, **masks)
    return folder / "noise.npz"


def processor(folder: Path) -> Path:
    """A platform of this processor alone."""
    assert main(["platform", "--cpu", "--runs", "1", "--out", str(folder / "here.toml"), "--quiet"]) == 0
    return folder / "here.toml"


SYSTEMS = {
    "fgnas": (graph, {"lut": 50_000}, {"latency_ms": 1.5}, {"target": "array"}),
    "g-cos": (graph, {"lut": 50_000}, {"updates": 3}, {"scoring": "training"}),
    "magnas": (images, {"latency_ms": 3.0}, {"granularity": "layer"}, {"epochs": 2}),
    "hgnas": (write_clouds, {"products": 2.0}, {"weight": 0.1}, {"supernet": "aligned"}),
}


@pytest.fixture(params=SYSTEMS)
def begun(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path]:
    """The name of a system, and a folder with a run of it that has not drawn a candidate yet."""
    system = request.param
    monkeypatch.chdir(tmp_path)
    given = {"platform": str(processor(tmp_path))} if system == "magnas" else {}
    module = systems.find(system)
    chosen = named.made(module.Options, module.Options.resolved(given))
    RunStore.create(tmp_path / "runs", "run", configuration(system, asdict(chosen), module.compose(chosen)))
    return system, tmp_path


def test_it_is_not_continued_as_another(begun: tuple[str, Path]) -> None:
    system, folder = begun
    other_data, *changes = SYSTEMS[system]
    config = (folder / "runs" / "run" / "config.json").read_bytes()
    for change in [{"dataset": str(other_data(folder))}, {"seed": 7}, {"children": 3}, *changes]:
        name = next(iter(change)).removesuffix("_ms")  # a limit is told in cycles
        with pytest.raises(UserError, match=f"cannot continue the run run: .*{name}.* there and .* now") as caught:
            fgnas.search(run="run", resume=True, **change)
        assert "\n" not in str(caught.value)
    for another in SYSTEMS.keys() - {system}:
        with pytest.raises(UserError, match=f"is of --system {system}, not of {another}"):
            fgnas.search(system=another, run="run", resume=True)
    assert (folder / "runs" / "run" / "config.json").read_bytes() == config


def test_the_command_line_knows_the_options_of_the_run(
    begun: tuple[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own options need no --system beside --resume."""
    change = SYSTEMS[begun[0]][-1]
    words = [word for name, value in change.items() for word in (named.spelt(name), str(value))]
    assert main(["search", "--run", "run", "--resume", *words]) == 2
    assert f"{next(iter(change))} is " in capsys.readouterr().err
