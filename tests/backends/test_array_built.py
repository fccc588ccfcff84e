"""Further networks on an array that is built: arranged on its engine, run by its RTL, C++ and driver; or refused."""

import functools
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from board import Simulated, loaded
from pyg_models import models, settled
from support import random_design, random_graph, random_network

import fgnas
from fgnas.api.encoding import fitted_on
from fgnas.cli import main
from fgnas.errors import UserError
from fgnas.hardware.array.built import check_holds, fastest_on, with_room
from fgnas.hardware.array.choosing import Room, fastest
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import joined
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.shape import GraphShape
from fgnas.tasks.nodes import GraphData
from fgnas.tools.calls import calls_of
from fgnas.tools.csim import run_csim
from fgnas.tools.verilator import QUICK

FORMATS = {"ai": 3, "af": 4, "wi": 2, "wf": 5}
GCN = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1} | FORMATS
MEAN = {"attention": "constant", "aggregation": "mean", "t_attn": None} | FORMATS
LARGEST = {"attention": "constant", "aggregation": "max", "t_attn": None} | FORMATS
NETWORKS = {
    "gcn": (GCN | {"d": 8, "activation": "relu"}, GCN),
    "mean": (MEAN | {"k": 2, "d": 6, "activation": "tanh"}, MEAN | {"k": 1}),
    "max": (LARGEST | {"k": 1, "d": 12, "activation": "relu"}, LARGEST | {"k": 1}),
    "deep": (GCN | {"d": 8, "activation": "relu"}, MEAN | {"k": 1, "d": 8, "activation": "relu"}, GCN),
}
"""Four networks of different kinds: the project is made for the first."""


def graph() -> GraphData:
    return random_graph(np.random.default_rng(5), 40, 9, 11, 90)


@functools.cache
def trained(name: str) -> fgnas.Design:
    """With the scales of a calibration: shifts are those of real networks."""
    rng = np.random.default_rng(len(name))
    design = random_design(rng, len(NETWORKS[name]), NETWORKS[name])
    return replace(fgnas.Design(design, label=name).train(graph()), dataset=None, fingerprint=None)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, data = tmp_path_factory.mktemp("built"), graph()
    trained("gcn").lower(data, "array").write(folder / "p", target="array", multipliers=32, flexible=True)
    return folder


def test_a_network_on_its_own_engine_takes_its_own_cycles() -> None:
    data = graph()
    design = trained("gcn")
    assert design.network is not None
    source = array_network(design.choices, design.network, GraphShape.of(data))
    own = fastest(source, data, Room(32))
    found = fastest_on(own.engine, source, data)
    assert total_cycles(found) == total_cycles(encode_array(own, data))
    wider = with_room(own.engine)
    assert joined([wider, own.engine]) == wider
    assert total_cycles(fastest_on(wider, source, data)) <= total_cycles(found)


@pytest.mark.parametrize(
    ("change", "lacks"),
    [({"maximum": True}, "maximum of True"), ({"shifts": (-3, 40)}, "shifts of"), ({"bits": 10}, "bits of 10")],
)
def test_what_an_engine_lacks_is_named(change: dict[str, object], lacks: str) -> None:
    data = graph()
    design = trained("gcn")
    assert design.network is not None
    engine = fastest(array_network(design.choices, design.network, GraphShape.of(data)), data, Room(32)).engine
    engine = replace(engine, maximum=False, bits=8)
    check_holds(engine, engine)
    with pytest.raises(UserError, match=lacks):
        check_holds(engine, replace(engine, **change))  # type: ignore[arg-type]


def test_four_networks_on_one_build(project: Path) -> None:
    """C++, RTL and the driver on a simulated board: every logit and cycle; nothing is built again."""
    data, given, answers = graph(), [], []
    for name in ("gcn", "mean", "max", "deep"):
        found = fgnas.encode(trained(name), project / "p", project / name, data)
        use = fgnas.Project(project / name)
        rtl = use.simulate()
        assert (rtl["mismatches"], rtl["cycle_difference"], rtl["phase_differences"]) == (0, 0, 0)
        assert rtl["cycles"] == found["cycles"] and found["new_cycles"] <= found["cycles"]
        given.append(project / name / "vectors")
        fitted, _ = fitted_on(trained(name), project / "p", data)
        answers.append(fitted.logits(data))
    assert fgnas.Project(project / "deep").csim()["mismatches"] == 0
    assert len(list((project / "p" / "build" / "sim").glob("built*"))) == 1
    driver = loaded(project / "p")
    board = Simulated(project, QUICK, BeatBytes=16)
    for answer, wanted in zip(board.run(*map(driver.regions, given)), answers, strict=True):
        np.testing.assert_array_equal(answer, wanted)


def test_an_imported_model_on_a_build_for_designs(project: Path, tmp_path: Path) -> None:
    """C++ and RTL, on the project's own build."""
    rng, mask = np.random.default_rng(3), np.arange(30) % 3
    np.savez(tmp_path / "g.npz", x=rng.random((30, 6)).astype(np.float32), edge_index=rng.integers(0, 30, (2, 80)),
             y=np.arange(30) % 3, train_mask=mask == 0, val_mask=mask == 1, test_mask=mask == 2)  # fmt: skip
    torch.manual_seed(4)
    maxima = settled(models()["SAGEConv, max"](6, 3), 4)  # the pipeline does not run it
    model = fgnas.import_model(maxima, tmp_path / "g.npz", bits=8, dsp=32)
    found = fgnas.encode(model, project / "p", project / "model")
    assert found["calls"] > 1 and found["new_cycles"] <= found["cycles"] and "network_hash" in found
    use = fgnas.Project(project / "model")
    cpp, rtl = use.csim(), use.simulate()
    assert (cpp["mismatches"], rtl["mismatches"], rtl["cycle_difference"]) == (0, 0, 0)
    assert rtl["cycles"] == found["cycles"]
    assert len(list((project / "p" / "build" / "sim").glob("built*"))) == 1
    with pytest.raises(UserError, match="does not run two: an imported network runs on an array"):
        trained("gcn").lower(graph()).write(tmp_path / "pipeline")
        fgnas.encode(model, tmp_path / "pipeline")


def test_vectors_of_another_engine_are_refused(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By every tool and by the driver, in one line: the array would run them, with wrong logits."""
    data = graph()
    fgnas.encode(trained("mean"), project / "p", project / "alien", data)
    shutil.copytree(project, tmp_path / "copy", ignore=shutil.ignore_patterns("build"))
    trained("gcn").lower(data, "array").write(tmp_path / "copy" / "p", target="array", multipliers=64)
    for command in ("sim", "csim"):
        assert main([command, str(tmp_path / "copy" / "alien")]) == 2
        told = capsys.readouterr().err.strip().splitlines()
        assert len(told) == 1 and "which is another one now" in told[0]
    assert main(["synth", str(project / "alien")]) == 2
    assert "has no hardware of its own" in capsys.readouterr().err
    driver = loaded(tmp_path / "copy" / "p")
    kernel = driver.Kernel.__new__(driver.Kernel)
    with pytest.raises(ValueError, match="was encoded for the array"):
        kernel.run(**driver.regions(tmp_path / "copy" / "alien" / "vectors"))
    shutil.rmtree(tmp_path / "copy" / "p")
    assert main(["sim", str(tmp_path / "copy" / "alien")]) == 2
    assert "is no project now" in capsys.readouterr().err


def test_a_programme_of_more_logits_than_their_region_is_refused(project: Path) -> None:
    driver = loaded(project / "p")
    kernel, given = driver.Kernel.__new__(driver.Kernel), driver.regions(project / "p" / "vectors")
    with pytest.raises(ValueError, match="the programme writes"):
        kernel.run(**given | {"logits_beats": given["logits_beats"] - 1, "order": given["order"] * 0})
    with pytest.raises(ValueError, match="too few for"):
        kernel.run(**given | {"programme": given["programme"][:1]})


def test_what_does_not_run_on_a_project_is_refused_in_a_line(project: Path, tmp_path: Path) -> None:
    data = graph()
    gat = {"attention": "gat", "aggregation": "add", "t_attn": 2, "k": 1}
    rng = np.random.default_rng(2)
    design = random_design(rng, 2, (gat | {"d": 4, "activation": "relu"}, gat))
    scored = fgnas.Design(design, random_network(rng, design, data), label="scored")
    lacks = "does not run scored: whole, .*attention with scores.*as several calls, .*softmax"
    with pytest.raises(UserError, match=lacks):
        fgnas.encode(scored, project / "p", tmp_path / "x", data)
    assert not (tmp_path / "x").exists()
    with pytest.raises(UserError, match="is no project"):
        fgnas.encode(trained("gcn"), tmp_path, data=data)
    trained("gcn").lower(data).write(tmp_path / "pipeline")
    with pytest.raises(UserError, match="runs the one network that it was built for"):
        fgnas.encode(trained("gcn"), tmp_path / "pipeline", data=data)


def test_a_network_replaces_no_hardware(project: Path, tmp_path: Path) -> None:
    """Neither that which it is for, nor another; and what it is for has hardware."""
    data, network = graph(), trained("gcn")
    trained("gcn").lower(data).write(tmp_path / "other")
    before = {path: path.read_bytes() for path in (project / "p").rglob("*") if path.is_file()}
    for place, told in (
        (project / "p", "or one is inside the other"), (project / "p" / "sub", "or one is inside the other"),
        (project, "or one is inside the other"), (tmp_path / "other", "hardware of its own, which would be lost"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=told):
            fgnas.encode(network, project / "p", place, data)
    assert before == {path: path.read_bytes() for path in (project / "p").rglob("*") if path.is_file()}
    use = project / "use"
    fgnas.encode(network, project / "p", use, data)
    with pytest.raises(UserError, match=f"use has no hardware of its own: name {project / 'p'}"):
        fgnas.encode(network, use, tmp_path / "y", data)
    for told, run in (
        ("no hardware of its own", fgnas.Project(use).run), ("has no driver.py", fgnas.Project(tmp_path / "no").run),
        ("has no vectors.json", functools.partial(fgnas.Project(project / "p").run, vectors=tmp_path)),
    ):  # fmt: skip
        with pytest.raises(UserError, match=told):
            run("socket://127.0.0.1:1")
    with pytest.raises(UserError, match="no hardware of its own"):
        fgnas.Project(use).simulate_board()
    (use / "built.json").write_text('{"project": 5}')
    with pytest.raises(UserError, match="which is no project now"):
        fgnas.Project(use).csim()


def test_a_lost_list_of_calls_is_told(tmp_path: Path) -> None:
    (tmp_path / "calls").mkdir()
    with pytest.raises(UserError, match="calls.json is missing"):
        calls_of(tmp_path)


@pytest.mark.slow
def test_a_wide_network_runs_as_calls(project: Path) -> None:
    """Where its tables hold it in parts alone."""
    data = random_graph(np.random.default_rng(6), 700, 300, 5, 3_000)
    wide = (GCN | {"d": 64, "activation": "relu"}, GCN)
    rng = np.random.default_rng(2)
    design = random_design(rng, 2, wide)
    made = fgnas.Design(design, random_network(rng, design, data), label="wide")
    found = fgnas.encode(made, project / "p", project / "wide", data)
    assert found["calls"] > 1
    listed = json.loads((project / "wide" / "report" / "calls.json").read_text())["calls"]
    assert len(listed) == found["calls"] and sum(one["cycles"] for one in listed) == found["cycles"]
    assert run_csim(project / "wide", project=project / "p")["mismatches"] == 0
    fitted, _ = fitted_on(made, project / "p", data)
    assert fitted.calls == found["calls"]
