"""The project folder: whole or untouched, explained, and free of gaps."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from jinja2 import UndefinedError

from fgnas.backends import pipeline, project, render
from fgnas.backends.pipeline import write_project
from fgnas.design import Design, Layer
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.network import LayerParameters, Network
from fgnas.tasks.nodes import GraphData

HIDDEN = Layer(
    d=4, attention="gcn", aggregation="mean", k=2, activation="elu", t_in=3, t_out=3, t_attn=None, t_aggr=4,
    t_act=2, ai=2, af=3, wi=1, wf=4,
)  # fmt: skip
LAST = HIDDEN.model_copy(update={"d": None, "activation": None, "t_act": None})


def network_of(data: GraphData) -> Network:
    rng = np.random.default_rng(0)
    shapes = ((data.width_in, 2, 4), (8, 2, data.classes))
    biases = (8, data.classes)
    return Network(tuple(
        LayerParameters(rng.normal(size=shape).astype(np.float32), rng.normal(size=width).astype(np.float32))
        for shape, width in zip(shapes, biases, strict=True)
    ))  # fmt: skip


@pytest.fixture(scope="module")
def accelerator(four_nodes: GraphData) -> Accelerator:
    design = Design(schema=1, layers=(HIDDEN, LAST), dsp=7)
    return lower(design, network_of(four_nodes), GraphShape.of(four_nodes), "four")


def test_files(accelerator: Accelerator, four_nodes: GraphData, tmp_path: Path) -> None:
    specification = Specification(latency_ms=1e-4, part="xc7z020clg400-1", clock_mhz=125)
    files = write_project(accelerator, four_nodes, tmp_path / "p", specification, network_of(four_nodes))
    names = {path.relative_to(tmp_path / "p").as_posix() for path in files}
    assert {
        "README.md", "design.json", "hls_config.cfg", "run_hls.tcl", "weights.npz", "src/fgnas_top.cpp",
        "src/fgnas_top.h", "src/parameters.h", "src/activation_0.h", "src/linear.h", "tb/testbench.cpp",
        "vectors/vectors.json", "vectors/logits.bin", "report/accelerator.json", "report/price.json",
        "report/specification.json",
        "rtl/fgnas_top.v", "rtl/fgnas_kernel.sv", "rtl/files.f",
    } <= names  # fmt: skip
    assert not [name for name in names if name.endswith(".j2")]
    assert Design.load(tmp_path / "p" / "design.json") == accelerator.design
    assert Network.load(tmp_path / "p" / "weights.npz").layers[0].weight.shape == (3, 2, 4)
    config = (tmp_path / "p" / "hls_config.cfg").read_text()
    ran_in = tmp_path / "p" / "build" / "vitis" / "hls" / "csim" / "build"
    for line in (line for line in config.splitlines() if ".argv=" in line):
        assert Path(os.path.normpath(ran_in / line.split("=")[1])) == tmp_path / "p" / "vectors"
    assert config.count("argv=") == 2 and "tb.file=vectors" not in config
    assert config.index("part=xc7z020clg400-1") < config.index("[hls]") < config.index("clock=8ns")
    price = json.loads((tmp_path / "p" / "report" / "price.json").read_text())
    assert price["latency_ms"] == pytest.approx(price["latency_cycles"] / 125_000) and len(price["violations"]) == 1


def test_generated_text_names_its_design(accelerator: Accelerator, four_nodes: GraphData, tmp_path: Path) -> None:
    write_project(accelerator, four_nodes, tmp_path / "p")
    for name in ("README.md", "src/fgnas_top.cpp", "src/fgnas_top.h", "src/parameters.h", "src/activation_0.h"):
        assert accelerator.design.hash in (tmp_path / "p" / name).read_text()


def test_kernel_arguments_are_in_register_order(
    accelerator: Accelerator, four_nodes: GraphData, tmp_path: Path
) -> None:
    write_project(accelerator, four_nodes, tmp_path / "p")
    header = (tmp_path / "p" / "src" / "fgnas_top.h").read_text()
    arguments = header[header.index("fgnas_top(") :].split(")")[0].split(",")
    assert [text.split()[-1] for text in arguments] == [register.name for register in wire.ARGUMENT_REGISTERS]


def test_readme_has_whole_tables(accelerator: Accelerator, four_nodes: GraphData, tmp_path: Path) -> None:
    write_project(accelerator, four_nodes, tmp_path / "p")
    text = (tmp_path / "p" / "README.md").read_text()
    for block in text.split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in rows}) <= 1, block
        assert not rows or set(rows[1]) <= set("|-"), block


def test_equal_designs_give_equal_files(accelerator: Accelerator, four_nodes: GraphData, tmp_path: Path) -> None:
    first = write_project(accelerator, four_nodes, tmp_path / "a")
    second = write_project(accelerator, four_nodes, tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_project_is_replaced_whole(accelerator: Accelerator, four_nodes: GraphData, tmp_path: Path) -> None:
    write_project(accelerator, four_nodes, tmp_path / "p")
    (tmp_path / "p" / "left_over").touch()
    write_project(accelerator, four_nodes, tmp_path / "p")
    assert not (tmp_path / "p" / "left_over").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["p"]


def test_a_failure_leaves_the_old_project(
    accelerator: Accelerator, four_nodes: GraphData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_project(accelerator, four_nodes, tmp_path / "p")
    before = [path.read_bytes() for path in files]

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pipeline, "write_json", fail)
    with pytest.raises(UserError, match="No space left"):
        write_project(accelerator, four_nodes, tmp_path / "p")
    assert [path.read_bytes() for path in files] == before
    assert [path.name for path in tmp_path.iterdir()] == ["p"]


def test_a_failing_swap_puts_the_old_project_back(
    accelerator: Accelerator, four_nodes: GraphData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_project(accelerator, four_nodes, tmp_path / "p")
    real = project.os.replace

    def fail_on_new(source: Path, target: Path) -> None:
        if Path(source).name == "new":
            raise OSError(5, "Input/output error")
        real(source, target)

    monkeypatch.setattr(project.os, "replace", fail_on_new)
    with pytest.raises(UserError, match="Input/output error"):
        write_project(accelerator, four_nodes, tmp_path / "p")
    assert all(path.is_file() for path in files)


def test_nothing_of_the_users_is_deleted(accelerator: Accelerator, four_nodes: GraphData, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="is not a project"):
        write_project(accelerator, four_nodes, tmp_path)
    with pytest.raises(UserError, match="is not a folder"):
        write_project(accelerator, four_nodes, tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_gat_has_its_table_of_exponentials(four_nodes: GraphData, tmp_path: Path) -> None:
    design = Design(schema=1, layers=(HIDDEN.model_copy(update={"attention": "gat", "t_attn": 2}), LAST), dsp=7)
    network = network_of(four_nodes)
    vectors = {name: np.ones((2, 4), np.float32) for name in ("attention_source", "attention_target")}
    first = LayerParameters(network.layers[0].weight, network.layers[0].bias, **vectors)
    lowered = lower(design, Network((first, network.layers[1])), GraphShape.of(four_nodes))
    files = {path.name: path for path in write_project(lowered, four_nodes, tmp_path / "p")}
    assert "exponential_1.h" not in files
    # D steps by an eighth of a fifth: 256, 256 exp(-1 / 40), 256 exp(-2 / 40), …
    assert "256, 250, 244, 238, 232," in files["exponential_0.h"].read_text()
    assert "Exponential0" in files["processes.h"].read_text()


def test_a_graph_that_does_not_fit_is_refused(
    accelerator: Accelerator, four_nodes: GraphData, cora: GraphData, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="features a node"):
        write_project(accelerator, cora, tmp_path / "p")


def test_an_unknown_name_in_a_template_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render.environment().from_string("{{ nothing }}").render()


def test_vitis_passes_the_vectors_to_the_test_bench(
    accelerator: Accelerator, four_nodes: GraphData, tmp_path: Path
) -> None:
    """Both forms name the folder as the argument of the test bench, from wherever the tool runs it."""
    write_project(accelerator, four_nodes, tmp_path / "p")
    config = (tmp_path / "p" / "hls_config.cfg").read_text()
    runs_in = tmp_path / "p" / "build" / "vitis" / "hls" / "csim" / "build"
    runs_in.mkdir(parents=True)
    given = [line.partition("=")[2] for line in config.splitlines() if ".argv=" in line]
    assert len(given) == 2 and all((runs_in / one / "vectors.json").is_file() for one in given)
    script = (tmp_path / "p" / "run_hls.tcl").read_text()
    assert "csim_design -argv $vectors" in script and "-rtl verilog -argv $vectors" in script
