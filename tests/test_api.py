"""The Python interface: its documentation runs, and its results equal those of the layers below."""

import dataclasses
import gc
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fgnas
from fgnas import api
from fgnas.cli import main

DOCS = Path(__file__).parent.parent / "docs"


def test_importing_it_is_cheap():
    code = "import sys, fgnas; print(*{'numpy', 'torch', 'scipy', 'pydantic', 'rich', 'jinja2'} & {*sys.modules})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""


def test_every_public_name_is_there():
    for name in fgnas.__all__:
        assert getattr(fgnas, name) is not None
    assert set(fgnas.__all__) <= set(dir(fgnas))
    with pytest.raises(AttributeError, match="nothing"):
        _ = fgnas.nothing


def test_the_doctor_says_what_is_there():
    parts = {part.name: part for part in fgnas.doctor()}
    assert parts["numpy"].found == np.__version__ and parts["numpy"].required


@pytest.mark.slow
def test_the_documentation_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", (DOCS / "api.md").read_text(), re.DOTALL | re.MULTILINE)
    # A file, so that worker processes find a __main__ that they can import.
    body = "".join(f"    {line}\n" if line else "\n" for block in blocks for line in block.splitlines())
    Path("session.py").write_text(f'if __name__ == "__main__":\n{body}')
    run = subprocess.run([sys.executable, "session.py"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert len(blocks) >= 5 and run.stdout.count("\n") == 6
    assert run.stdout.endswith("runs/digits-1/report.html hls/best/report.html\n")

    # The command line finds the files of the Python session.
    found = fgnas.Run.find()
    assert found.folder == Path("runs/digits-1") and found.best["rank"] == 1
    assert len(found.trials()) == 6 and found.designs[0].hash == found.design("best").hash
    with pytest.raises(fgnas.UserError, match="give `best`, `cheapest` or a rank"):
        found.design(99)
    golden = np.fromfile("hls/best/vectors/logits.bin", "<i2").reshape(1797, -1)[:, :10]
    np.testing.assert_array_equal(found.design().lower().logits(), golden)
    # It is written for the limits of its search, or for those given instead.
    assert json.loads(Path("hls/best/report/specification.json").read_text()) == found.best["specification"]
    assert main(["hls", "latest", "--fpga", "pynq-z2", "--clock-mhz", "125", "--out", "hls/pynq"]) == 0
    config = Path("hls/pynq/hls_config.cfg").read_text()
    assert "part=xc7z020" in config and "clock=8ns" in config
    written = json.loads(Path("hls/pynq/report/specification.json").read_text())
    assert (written["lut"], written["latency_ms"]) == (53_200, found.best["specification"]["latency_ms"])
    assert main(["hls", "best.json", "--out", "hls/again"]) == 0
    assert Path("hls/again/vectors/logits.bin").read_bytes() == Path("hls/best/vectors/logits.bin").read_bytes()


def test_prices_are_those_of_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    designs = list(fgnas.sample(3, seed=4))
    Path("some.jsonl").write_text("".join(json.dumps(design.to_dict()) + "\n" for design in designs))
    assert main(["price", "some.jsonl", "--latency-ms", "0.5"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows == fgnas.prices(designs, "digits", latency_ms=0.5)
    assert rows[1] == fgnas.read_designs("some.jsonl")[1].price("digits", latency_ms=0.5)


def test_data_that_workers_cannot_load(four_nodes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for data in (four_nodes, dataclasses.replace(four_nodes, name="digits")):
        with pytest.raises(fgnas.UserError, match="save it to a file"):
            fgnas.search(data)
    assert not list(tmp_path.iterdir())


def test_a_design_without_weights(tmp_path):
    (design,) = fgnas.sample(1, seed=2)
    with pytest.raises(fgnas.UserError, match="has no weights yet"):
        design.accuracy("digits")
    path = design.save(tmp_path / "bare.json")
    assert fgnas.Design.load(path).network is None and [p.name for p in tmp_path.iterdir()] == ["bare.json"]


def test_weights_stay_with_their_data(four_nodes, tmp_path):
    """A design that names weights is lowered for the data they were trained on, and for no other."""
    (design,) = fgnas.sample(1, seed=2)
    trained = design.train(four_nodes)
    accelerator = trained.lower(four_nodes)
    assert accelerator.predict().shape == (4,)
    assert accelerator.logit_step == 2.0 ** -accelerator.hardware.accelerator.logit_format.fraction_bits
    assert accelerator.price() == design.price(four_nodes)
    with pytest.raises(fgnas.UserError, match="fingerprint differs"):
        trained.lower("digits")
    loaded = fgnas.Design.load(trained.save(tmp_path / "a.json"))
    assert loaded.network.to_bytes() == trained.network.to_bytes()
    assert (loaded.dataset, loaded.fingerprint) == ("four", four_nodes.fingerprint)


def test_checks_without_a_folder(four_nodes):
    (design,) = fgnas.sample(1, seed=2)
    accelerator = design.train(four_nodes).lower(four_nodes)
    assert accelerator.csim()["mismatches"] == 0
    folder = accelerator._project.directory
    assert folder.is_dir()
    del accelerator
    gc.collect()
    assert not folder.exists()


def test_a_device_sets_what_a_specification_leaves_open():
    wanted = api.specification("ultra96", lut=1000, latency_ms=None)
    assert (wanted.family, wanted.lut, wanted.ff, wanted.bram36, wanted.latency_ms) == ("xcup", 1000, 141120, 216, None)
    with pytest.raises(fgnas.UserError, match="--dsp 361 is more than the 360 of Ultra96"):
        api.specification("ultra96", dsp=361)
