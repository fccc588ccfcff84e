"""A network of operations becomes a project: from a file, from Python, from a run; its driver and its page."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from board import Simulated
from point_clouds import write_clouds

import fgnas
from fgnas import cli
from fgnas.errors import UserError
from fgnas.networks.points.operations import TAILS, Aggregate, Combine, PointNetwork, Sample
from fgnas.networks.points.training import Recipe, train
from fgnas.systems.hgnas.delivery import Delivered, saved
from fgnas.tasks.points import load_graphs
from fgnas.tools.verilator import QUICK

NETWORK = PointNetwork((Sample("nearest"), Aggregate("max", "target-relative"), Combine(16)), TAILS["small"])


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a trained network for small clouds."""
    folder = tmp_path_factory.mktemp("network")
    data = load_graphs(write_clouds(folder))
    model = train(NETWORK, data, Recipe(4), 0)
    saved(Delivered(NETWORK, model.state_dict(), data.name, data.fingerprint), folder / "net.json")
    return folder / "net.json"


@pytest.fixture(scope="module")
def project(network: Path) -> Path:
    """Its project for four units."""
    words = ["hls", str(network), "--multipliers", "32", "--beat-bits", "128", "--out", str(network.parent / "p")]
    assert cli.main([*words, "-q"]) == 0
    return network.parent / "p"


def loaded(folder: Path) -> Any:
    """A project's driver as a module."""
    spec = importlib.util.spec_from_file_location("driver", folder / "driver.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_project_holds_what_a_board_needs(project: Path) -> None:
    summary = json.loads((project / "report" / "accelerator.json").read_text())
    assert summary["target"] == "points" and summary["engine"]["units"] == 4
    assert PointNetwork.from_dict(json.loads((project / "design.json").read_text())) == NETWORK
    assert set(summary["accuracies"]) == {"float", "quantised"}
    price = json.loads((project / "report" / "price.json").read_text())
    assert price["dsp"] == price["multipliers"] == 32 and price["violations"] == []
    assert sum(phase["cycles"] for phase in price["phases"]) == price["latency_cycles"]


def test_the_readme_gives_the_format_of_every_value(network: Path, project: Path) -> None:
    lowered = fgnas.PointDesign.load(network).lower(multipliers=32, beat_bits=128)
    text = (project / "README.md").read_text(encoding="utf-8")
    values = lowered.hardware.integers.values
    for name, value in values.items():
        bits = value.number.width if value.saturated else "exact"
        assert re.search(rf"^\| {re.escape(name)} \| .* \| {value.columns} \| {bits} \| 2\^", text, re.MULTILINE)
    assert len(values) > 3 and "| logits | apply |" in text


def test_the_driver_encodes_clouds_as_the_vectors_have_them(project: Path) -> None:
    driver = loaded(project)
    given = driver.regions(project / "vectors")
    sent = driver.encoded(given["clouds"][0], given["fraction_bits"])
    assert np.array_equal(sent, driver.read_region(project / "vectors" / "features.bin"))
    assert driver.golden(project / "vectors").shape == (1, given["classes"])
    accelerator = fgnas.PointDesign.load(project.parent / "net.json").lower(multipliers=32, beat_bits=128)
    clouds = accelerator.data.clouds("test")[0][:5]
    several = accelerator.hardware.encoded.with_clouds(accelerator.hardware.codes(clouds))
    changed = driver.for_clouds(given["programme"], given["clouds_descriptor"], 5)
    assert np.array_equal(changed, several.regions["programme"])
    assert driver.check_of(given["programme"], given["descriptors"]) == given["check"]
    assert driver.check_of(changed, given["descriptors"]) == several.check != given["check"]
    for wrong, message in (
        (np.zeros((2, 3)), "has the shape"), (np.full((1, given["points"], given["width"]), np.nan), "not finite"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            driver.checked(wrong, given["points"], given["width"])
    with pytest.raises(TypeError, match="no NumPy array"):
        driver.checked([[0.0]], given["points"], given["width"])
    with pytest.raises(ValueError, match="parameters has .* beats, the programme reads"):
        driver.Kernel.run(None, **given | {"parameters": given["parameters"][:-1]})


def test_python_gives_the_answers_of_the_hardware(network: Path, project: Path) -> None:
    accelerator = fgnas.PointDesign.load(network).lower(multipliers=32, beat_bits=128)
    clouds, labels = accelerator.data.clouds("val")
    assert np.array_equal(accelerator.logits(clouds[:1]), loaded(project).golden(project / "vectors"))
    right = float((accelerator.predict(clouds) == labels).mean())
    assert accelerator.accuracy()["quantised"]["val"] == right
    price = json.loads((project / "report" / "price.json").read_text())
    assert accelerator.price() == price
    assert accelerator.price(latency_ms=0.00001, dsp=1)["violations"][-1] == "dsp 32 is over 1"


def test_the_page_shows_operations_phases_and_memories(project: Path) -> None:
    page = fgnas.Project(project).report().read_text()
    for shown in ("Network of points", "target-relative", "max and mean of the points", "indices of nearest points"):
        assert shown in page
    with pytest.raises(UserError, match="holds its accuracies"):
        fgnas.Project(project).report(data="digits")


def test_a_network_without_weights_is_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fgnas.networks.points.training.recipe_of", lambda data: Recipe(1))
    (tmp_path / "plain.json").write_text(json.dumps(NETWORK.to_dict()))
    design = fgnas.PointDesign.load(tmp_path / "plain.json").train(write_clouds(tmp_path))
    assert design.hash == NETWORK.hash and design.lower(multipliers=16).accuracy()["quantised"]["test"] > 0
    again = fgnas.PointDesign.load(design.save(tmp_path / "trained.json"))
    assert np.array_equal(again.lower(multipliers=16).logits(), design.lower(multipliers=16).logits())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--compiler", "bambu"], "--compiler is for designs of layers"),
        (["--bram36", "3"], "--bram36 is for designs of layers"),
        (["--target", "pipeline"], "runs on an array alone"),
        (["--multipliers", "12"], "whole units of 8"),
        (["--beat-bits", "100"], "memory port of an array has one of"),
        (["--dataset", "digit-points"], "fingerprint differs"),
        (["--bits", "16"], "2 to 9 bits"),
    ],
)
def test_what_no_array_can_be_asked(
    network: Path, words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["hls", str(network), "--out", str(tmp_path / "p"), "-q", *words]) == 2
    told = capsys.readouterr().err
    assert message in told and told.count("\n") == 1 and not (tmp_path / "p").exists()


def test_damaged_weights_are_named(network: Path, tmp_path: Path) -> None:
    content = json.loads(network.read_text())
    (tmp_path / "net.json").write_text(json.dumps(content))
    (tmp_path / content["weights"]).write_bytes(b"other")
    with pytest.raises(UserError, match="damaged"):
        fgnas.PointDesign.load(tmp_path / "net.json")


@pytest.mark.slow
def test_the_driver_on_a_simulated_board(network: Path, project: Path, tmp_path: Path) -> None:
    """Two clouds in one call, another network on the same bitstream, and a programme that the array refuses."""
    assert fgnas.Project(project).simulate()["cycle_difference"] == 0
    (tmp_path / "p").symlink_to(project)
    accelerator = fgnas.PointDesign.load(network).lower(multipliers=32, beat_bits=128)
    driver, board = loaded(project), Simulated(tmp_path, QUICK, BeatBytes=16)
    clouds, _ = accelerator.data.clouds("test")
    given = driver.regions(project / "vectors")
    programme = np.full_like(given["programme"], 255)
    wrong = given | {"programme": programme, "check": driver.check_of(programme, given["descriptors"])}
    with pytest.raises(ValueError, match="its check belongs to"):
        driver.Kernel.run(None, **given | {"programme": programme})
    answers = board.run(given, given | {"clouds": clouds[:3]}, wrong, given)
    assert np.array_equal(answers[0], driver.golden(project / "vectors"))
    assert np.array_equal(answers[1], accelerator.logits(clouds[:3]))
    assert answers[2][0] == "KernelError" and "bad descriptor" in answers[2][1]
    assert np.array_equal(answers[3], answers[0])
