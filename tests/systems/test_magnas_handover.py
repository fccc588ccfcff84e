"""A mapped subnet in integers, the accelerators that are written for it, and every step of them in RTL."""

import hashlib
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

import fgnas
from fgnas.api.projects import Project, passed
from fgnas.backends.array import write_rtl as write_array
from fgnas.backends.rtl import write_rtl
from fgnas.cli import main
from fgnas.engine.store import RunStore
from fgnas.errors import UserError
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.reference import run_region
from fgnas.hardware.pipeline import reference
from fgnas.hardware.pipeline.encoding import encode, logit_rows
from fgnas.networks.vision.steps import steps_of
from fgnas.networks.vision.subnet import Subnet, Superblock
from fgnas.networks.vision.vig import Backbone, Vig
from fgnas.systems.magnas import back_end
from fgnas.systems.magnas.array import LoadedArray
from fgnas.systems.magnas.delivery import vectors_of
from fgnas.systems.magnas.kernels import Kernel, load_kernel
from fgnas.systems.magnas.mapped import input_of, mapped_subnet
from fgnas.systems.magnas.target import Mapping
from fgnas.systems.magnas.trainer import opened
from fgnas.tasks.images import load_images
from tests.systems.kernels import kernel_file

SUBNET = Subnet((
    Superblock(1, "gin", True, True, 9), Superblock(1, "max-relative", False, False, None),
    Superblock(1, "edgeconv", False, True, 32), Superblock(1, "sage", True, False, None),
))  # fmt: skip
PARTS = (1, 3, 2, 2, 2, 1, 1, 3, 1)
"""The steps of each block, and the second FFN step by step."""
MAPPING = Mapping("default", (
    "dense", *["dense"] * 3, *["ffn"] * 2, *["cpu"] * 2, *["graph"] * 2, *["dense"] * 2, *["graph"] * 3, "ffn",
), PARTS)  # fmt: skip
"""A sum, a maximum, dense maps, FFNs as one call and as two, and steps of the processor."""
CALLS = (
    "01-stem", "02-pre", "03-gin-3", "04-post", "05-fc1-9-fc2-9", "09-edgeconv-5", "10-post", "11-fc1-32", "12-fc2-32",
    "13-pre", "14-sage-6", "15-post", "16-head",
)  # fmt: skip
ON_ARRAY = Mapping("default", tuple("cpu" if unit == "cpu" else "array" for unit in MAPPING.units), PARTS)
"""The same on one array, which runs GIN and the map behind it as one call."""
RUNS = (*CALLS[:2], "03-gin-3-post", *CALLS[4:])
COUNT = len(MAPPING.units)


@pytest.fixture(scope="module")
def data():
    return load_images("digit-images")


@pytest.fixture(scope="module")
def model(data) -> Vig:
    torch.manual_seed(0)
    return Vig(Backbone.of(data)).eval()


@pytest.fixture(scope="module")
def kernels(data, tmp_path_factory) -> dict[str, Kernel]:
    folder, backbone = tmp_path_factory.mktemp("kernels"), Backbone.of(data)
    return {name: load_kernel(kernel_file(folder, name), backbone) for name in ("dense", "graph", "ffn", "array")}


@pytest.fixture(scope="module", params=[(MAPPING, CALLS), (ON_ARRAY, RUNS)], ids=["pipelines", "array"])
def mapped(request):
    """A mapping, and the starts that it needs."""
    return request.param


@pytest.fixture(scope="module")
def names(mapped):
    return [*mapped[1]]


@pytest.fixture(scope="module")
def delivered(mapped, model, data, kernels, tmp_path_factory):
    """An entry of leaders.json, opened."""
    folder = tmp_path_factory.mktemp("run")
    torch.save({"model": model.state_dict()}, folder / "supernet.pt")
    digest = hashlib.sha256((folder / "supernet.pt").read_bytes()).hexdigest()
    entry = {
        "design": SUBNET.to_dict(), "mapping": asdict(mapped[0]), "weights": "supernet.pt",
        "sha256": digest, "dataset": data.name, "fingerprint": data.fingerprint,
        "kernels": {name: kernel.to_dict() for name, kernel in kernels.items()},
    }  # fmt: skip
    return back_end.open(json.loads(json.dumps(entry)), folder)


@pytest.fixture(scope="module")
def written(delivered, tmp_path_factory):
    directory = tmp_path_factory.mktemp("project") / "best"
    back_end.write(delivered, None, directory)
    return directory


def subnet_of(delivered):
    data, model = opened(delivered.source)
    return mapped_subnet(model, delivered.subnet, data, delivered.mapping, delivered.kernels)


def test_without_kernels_a_mapped_subnet_is_the_supernet_s(model, data, kernels):
    images = torch.from_numpy(data.split("val")[0][:9])
    found = mapped_subnet(model, SUBNET, data, Mapping("default", ("cpu",) * COUNT, (1,) * COUNT), kernels)
    with torch.no_grad():
        assert torch.equal(found.logits(images), model(images, SUBNET))


def test_one_image_and_many_give_the_same_integers(mapped, names, model, data, kernels):
    """A kernel's result for the first image does not depend on the others of its batch; logits stay near floats."""
    found = mapped_subnet(model, SUBNET, data, mapped[0], kernels)
    assert [piece.name for piece in found.pieces if piece.programme] == names
    images = torch.from_numpy(data.split("val")[0][:60])
    together = found.logits(images)
    with torch.no_grad():
        wanted = model(images, SUBNET)
    assert (together - wanted).square().mean() < 0.05 * wanted.square().mean()
    piece, x, _, _ = next(found.steps(images))
    many = piece.programme.outputs(*input_of(piece, x))
    one = piece.programme.outputs(*input_of(piece, x[:1]))
    np.testing.assert_array_equal(many[: len(one)], one)


def test_vectors_are_what_the_quantised_subnet_computes(delivered, written):
    """Every step's folder has its own parameters and the image's activations; the reference made its outputs."""
    data, _ = opened(delivered.source)
    for vector in vectors_of(subnet_of(delivered), data):
        place = written / vector.programme.kernel.name / "steps" / vector.piece.name
        assert (place / "vectors" / "logits.bin").read_bytes() == logits_of(vector)
        assert json.loads((place / "report" / "price.json").read_text())["latency_cycles"] == vector.cycles
        assert vector.data.features.nnz == vector.programme.call.nodes * vector.programme.call.widths[0]


def logits_of(vector):
    """The region that a step's integers make."""
    loaded = vector.programme.loaded
    if isinstance(loaded, LoadedArray):
        further = loaded.further(vector.data)
        return run_region(encode_array(loaded.accelerator, vector.data, further)).tobytes()
    return logit_rows(loaded.source, reference.run(loaded.source, encode(loaded.source, vector.data))).tobytes()


def test_the_project_lists_every_start(mapped, names, written):
    listed = json.loads((written / "mapping.json").read_text())
    assert 0 <= listed["val"] <= 1 and listed["units"] == [*mapped[0].units]
    assert [call["step"] for call in listed["calls"]] == names
    steps = [name for item in steps_of(SUBNET, Backbone.of(load_images("digit-images")))
             for name in (item["steps"] if isinstance(item, dict) else [item])]  # fmt: skip
    assert len(steps) == COUNT == sum(PARTS)
    text = (written / "README.md").read_text()
    assert all(name in text for name in names)


def test_every_step_of_a_kernel_has_the_same_rtl(delivered, written, tmp_path):
    """Only comments differ, which name the format of the codes."""
    data, _ = opened(delivered.source)
    for place, vector in enumerate(vectors_of(subnet_of(delivered), data)):
        loaded = vector.programme.loaded
        if isinstance(loaded, LoadedArray):
            write_array(loaded.accelerator, tmp_path / str(place))
        else:
            write_rtl(loaded.source, tmp_path / str(place))
        rtl = written / vector.programme.kernel.name / "rtl"
        for path in sorted(rtl.iterdir()):
            assert code_of(path) == code_of(tmp_path / str(place) / "rtl" / path.name), path


def code_of(path):
    """The lines of a source file that are no comments."""
    return [line for line in path.read_text().splitlines() if not line.startswith("//")]


def test_what_cannot_be_built_is_said_in_one_line(delivered, written, model, data, kernels, tmp_path):
    alone = replace(delivered, mapping=replace(MAPPING, units=("cpu",) * COUNT), kernels={})
    with pytest.raises(UserError, match="the subnet runs on cpu alone and needs no accelerator"):
        back_end.write(alone, None, tmp_path / "none")
    for check in (Project.synthesise, Project.csim, Project.vitis, Project.timing):
        with pytest.raises(UserError, match=r"holds several accelerators: name one, such as .*best/"):
            check(Project(written))
    wrong = replace(MAPPING, units=(*MAPPING.units[:-1], "dense"))
    with pytest.raises(UserError, match="says that dense runs head, but it cannot: it has 1 layers, not 2"):
        mapped_subnet(model, SUBNET, data, wrong, kernels)
    wrong = replace(MAPPING, units=(*MAPPING.units[:4], "ffn", "ffn", "array", "array", *MAPPING.units[8:]))
    with pytest.raises(UserError, match="array runs max-relative-4 and post, but it cannot: max-relative-4: no kernel"):
        mapped_subnet(model, SUBNET, data, wrong, kernels)


def test_the_page_leads_to_those_of_the_accelerators(written, names):
    page = Project(written).report()
    text = page.read_text(encoding="utf-8")
    units = {call["unit"] for call in json.loads((written / "mapping.json").read_text())["calls"]}
    for unit in units:
        assert f'href="{unit}/report.html"' in text and (written / unit / "report.html").is_file()
    assert all(f'<th scope="row">{name}</th>' in text for name in names)


def test_a_mapping_of_another_version_is_refused_in_one_line():
    content = {name: value for name, value in asdict(MAPPING).items() if name != "parts"}
    with pytest.raises(UserError, match="the run's mapping has no 'parts'.*: search again"):
        Mapping.of(content)


def test_steps_that_are_mapped_alone_run_alone(model, data, kernels):
    """As the platform charges them: layer by layer, no two steps are one start. The integers are the pipelines'."""
    alone = replace(ON_ARRAY, units=(*ON_ARRAY.units[:4], *["cpu"] * (COUNT - 4)), parts=(1,) * COUNT)
    found = mapped_subnet(model, SUBNET, data, alone, kernels)
    assert [piece.name for piece in found.pieces if piece.programme] == [*CALLS[:4]]
    other = mapped_subnet(model, SUBNET, data, replace(alone, units=("dense",) * 4 + alone.units[4:]), kernels)
    images = torch.from_numpy(data.split("val")[0][:60])
    assert torch.equal(found.logits(images), other.logits(images))


@pytest.mark.parametrize(("option", "value"), [("--compiler", "bambu"), ("--clock-mhz", "50"), ("--dataset", "cora")])
def test_options_of_single_designs_are_refused(tmp_path, monkeypatch, capsys, option, value):
    monkeypatch.chdir(tmp_path)
    store = RunStore.create(tmp_path / "runs", "mapped", {"system": "magnas"})
    store.write_json("leaders.json", [{}])
    assert main(["hls", "mapped", option, value]) == 2
    assert f"{option} is for runs of single designs" in capsys.readouterr().err


@pytest.mark.slow
def test_every_step_in_rtl(names, written):
    """Dense maps, FFNs, a sum and maxima, and a run: equal outputs and the predicted cycles."""
    report = fgnas.Project(written).simulate()
    assert passed(report) and report["steps"] == len(names)
    assert report["cycles"] == report["predicted_cycles"] > 0
    assert [*report["by_step"]] == names
    shown = json.loads((written / "report" / "sim.json").read_text())
    assert shown["mismatches"] == 0 and shown["by_step"][names[2]]["unit"] in ("dense", "array")
