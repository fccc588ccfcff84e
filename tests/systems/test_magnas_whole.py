"""Whole subnets in integers, and on the array: against the float network, the interpreter, and the RTL."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import fgnas
from fgnas import api
from fgnas.backends.array import write_points
from fgnas.errors import UserError
from fgnas.hardware.array import reference
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.points.encoded import EncodedPoints, PointSource, lowered
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.hardware.specification import Specification
from fgnas.mapping.platform import find_platform
from fgnas.networks.scaled import logits
from fgnas.networks.vision.subnet import OPERATORS, Subnet, Superblock
from fgnas.networks.vision.supernet import SUPERBLOCKS, vig_space
from fgnas.networks.vision.vig import Backbone, EdgeConv, Vig
from fgnas.systems.magnas import whole
from fgnas.systems.magnas.host import WholeHost
from fgnas.systems.magnas.kernels import WholeKernel, kernel_of, load_kernel
from fgnas.tasks.images import ImageData, load_images
from fgnas.tools.simulate import run_simulation, run_steps


@pytest.fixture(scope="module")
def data() -> ImageData:
    """Real images."""
    return load_images("digit-images")


@pytest.fixture(scope="module")
def model(data: ImageData) -> Vig:
    """A supernet of random weights, in which every norm scales and shifts, some columns of EdgeConv below zero."""
    torch.manual_seed(0)
    made = Vig(Backbone.of(data, whole.METRIC)).eval()
    for name, weight in made.named_parameters():
        if name.endswith("norm.weight"):
            weight.data.uniform_(0.5, 1.5)
        elif name.endswith("norm.bias"):
            weight.data.normal_(0, 0.5)
    return made


def uniform(operator: str, pre: bool = True, width: int | None = 19, depth: int = 1) -> Subnet:
    """The same choices in every superblock."""
    return Subnet((Superblock(depth, operator, pre, width is not None, width),) * SUPERBLOCKS)


def close(model: Vig, subnet: Subnet, data: ImageData, bits: int) -> float:
    """The share of images of which no logit is further from the float network's than a hundredth of the largest. Where
    two patches are nearly as near, a rounding may choose the other one: such images are far."""
    integers = whole.network_of(model, subnet, data, bits, passes=0)
    images = data.split("train")[0][: whole.CALIBRATED_ON]
    found = integers.output.number.value(logits(integers, whole.points(model, images)))
    with torch.no_grad():
        wanted = model(torch.from_numpy(images), subnet).numpy()
    return float((np.abs(found - wanted).max(axis=1) < 0.01 * np.abs(wanted).max()).mean())


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(("pre", "width"), [(False, None), (True, 9)])
def test_integers_of_16_bits_are_the_float_network(
    operator: str, pre: bool, width: int | None, model: Vig, data: ImageData
) -> None:
    assert close(model, uniform(operator, pre, width), data, 16) > 0.8


def test_norms_of_edge_convolutions_below_zero(model: Vig, data: ImageData) -> None:
    """Some columns, and all: their maxima become minima."""
    for place, one in enumerate(each for each in model.modules() if isinstance(each, EdgeConv)):
        one.own.norm.weight.data[: 5 if place % 2 else None] *= -1
    try:
        subnet = uniform("edgeconv")
        assert close(model, subnet, data, 16) > 0.8
        check(model, subnet, data, 8)
    finally:
        for one in model.modules():
            if isinstance(one, EdgeConv):
                one.own.norm.weight.data.abs_()


def check(model: Vig, subnet: Subnet, data: ImageData, units: int, beat_bits: int = 128) -> EncodedPoints:
    """Whether the reference has the interpreter's logits of some test images, to the bit; returns the programme of the
    last."""
    integers = whole.network_of(model, subnet, data, 8, passes=0)
    encoded = lowered(PointSource(integers, model.backbone.nodes, subnet.hash, data.name), units, beat_bits)
    given = whole.points(model, data.split("test")[0][:3])
    for cloud, row in zip(given, logits(integers, given), strict=True):
        encoded = encoded.with_cloud(integers.number.quantise(cloud))
        assert np.array_equal(reference.run(encoded)[0], row)
    return encoded


@pytest.mark.parametrize("seed", range(3))
def test_random_subnets_in_the_reference(seed: int, model: Vig, data: ImageData) -> None:
    """Subnets come from the whole space, and arrays are random."""
    rng = np.random.default_rng(seed)
    space = vig_space(model.backbone)
    subnet = space.candidate(space.draw(1, rng)[0])
    check(model, subnet, data, int(rng.choice([3, 8, 12, 16])), int(rng.choice([128, 256, 512])))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_subnets_in_rtl(seed: int, model: Vig, data: ImageData, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed + 100)
    space = vig_space(model.backbone)
    subnet = space.candidate(space.draw(1, rng)[0])
    write_points(check(model, subnet, data, int(rng.choice([4, 8, 16])), 512), tmp_path, Specification())
    found = run_simulation(tmp_path)
    assert found["mismatches"] == found["cycle_difference"] == found["status"] == 0


def test_more_bits_are_closer(model: Vig, data: ImageData) -> None:
    assert close(model, uniform("gin"), data, 16) > close(model, uniform("gin"), data, 8)


def test_changed_scales_bring_the_classes_closer(model: Vig, data: ImageData) -> None:
    subnet = uniform("sage", False, None)
    clouds = whole.points(model, data.split("train")[0][: whole.CALIBRATED_ON])
    model.measure(torch.from_numpy(data.split("train")[0][:500]), subnet)
    with torch.no_grad():
        wanted = torch.softmax(model(torch.from_numpy(data.split("train")[0][: whole.CALIBRATED_ON]), subnet), dim=1)

    def entropy(integers: IntegerNetwork) -> float:
        found = torch.from_numpy(integers.output.number.value(logits(integers, clouds)))
        return float(-(wanted * torch.log_softmax(found, dim=1)).sum())

    plain, changed = (entropy(whole.network_of(model, subnet, data, 6, passes)) for passes in (0, 1))
    assert changed < plain


def test_patches_by_cosine_are_refused(model: Vig, data: ImageData) -> None:
    other = Vig(replace(model.backbone, metric="cosine"))
    with pytest.raises(UserError, match="--metric distance"):
        whole.network_of(other, uniform("gin"), data)


@pytest.fixture(scope="module")
def kernel(data: ImageData, tmp_path_factory: pytest.TempPathFactory) -> WholeKernel:
    """An array for whole subnets, from its file."""
    path = tmp_path_factory.mktemp("whole") / "eye.json"
    path.write_text('{"whole": {"units": 16, "beat_bits": 512}, "watts": 2, "idle_watts": 0.5}')
    found = load_kernel(path, Backbone.of(data, whole.METRIC))
    assert isinstance(found, WholeKernel) and kernel_of("eye", found.to_dict()) == found
    return found


@pytest.mark.parametrize("seed", range(3))
def test_the_cycles_of_a_subnet_are_those_of_its_programme(
    seed: int, kernel: WholeKernel, model: Vig, data: ImageData
) -> None:
    """Whatever its weights."""
    space = vig_space(model.backbone)
    subnet = space.candidate(space.draw(1, np.random.default_rng(seed + 50))[0])
    integers = whole.network_of(model, subnet, data, 8, passes=0)
    encoded = kernel.build.lowered(integers, model.backbone, "", "")
    assert kernel.build.cycles(subnet, model.backbone) == total_cycles(encoded)
    host = WholeHost(encoded, model.backbone)
    image = data.split("val")[0][:1]
    cloud = integers.number.quantise(whole.points(model, image))[0]
    given = encoded.with_cloud(cloud)
    assert np.array_equal(host.send(image[0]), given.regions["features"])
    answer = reference.run_region(given)
    assert np.array_equal(host.receive(answer.view("<i2").ravel()), given.read_logits(answer)[0])


@pytest.mark.parametrize(("content", "message"), [
    ('{"whole": {"units": 0}}', "whole.units"), ('{"whole": {"units": 8, "bits": 10}}', "whole.bits"),
    ('{"whole": {"units": 8}, "array": {}}', "not both"), ('{"whole": {"units": 8}, "design": 1}', "not both"),
])  # fmt: skip
def test_wrong_kernels(content: str, message: str, data: ImageData, tmp_path: Path) -> None:
    path = tmp_path / "eye.json"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        load_kernel(path, Backbone.of(data, whole.METRIC))


def test_a_kernel_for_patches_by_cosine_is_refused(data: ImageData, tmp_path: Path) -> None:
    path = tmp_path / "eye.json"
    path.write_text('{"whole": {"units": 8}}')
    with pytest.raises(UserError, match="add --metric distance"):
        load_kernel(path, Backbone.of(data))


@pytest.mark.parametrize("simulated", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_search_whose_units_run_whole_subnets(
    simulated: bool, kernel: WholeKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a platform of a processor and an array to a project, whose logits are the scored ones."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "eye.json"
    path.write_text('{"whole": {"units": 16, "beat_bits": 512}, "watts": 2, "idle_watts": 0.5}')
    measured = api.measure_platform("board.toml", kernels=[path], metric="distance", runs=3, watts=5, idle_watts=1)
    start = find_platform("board.toml").starts["eye"]
    assert start.power == 3_000_000 and "around a whole subnet" in measured.to_dict()
    with pytest.raises(UserError, match="add --metric distance"):
        fgnas.search(system="magnas", platform="board.toml", epochs=1)
    options = {"platform": "board.toml", "metric": "distance", "epochs": 1, "children": 4, "leaders": 1, "workers": 1}
    run = fgnas.search(system="magnas", run="eye", **options)
    best = json.loads((run.folder / "leaders.json").read_text())[0]
    assert set(best["mapping"]["units"]) == {"eye"}
    backbone = Backbone.of(load_images("digit-images"), whole.METRIC)
    cycles = kernel.build.cycles(Subnet.from_dict(best["design"]), backbone)
    fixed = sum(part.cost[0] for part in start.parts if part.cost is not None)
    trial = next(one for one in run.trials() if one.design_hash == Subnet.from_dict(best["design"]).hash)
    assert trial.costs["latency_ms"] == pytest.approx((fixed + 10 * cycles) / 1e6)
    run.write("project", 1)
    listed = json.loads(Path("project/mapping.json").read_text())
    assert [(one["unit"], one["cycles"]) for one in listed["calls"]] == [("eye", cycles)]
    assert 0 <= listed["val"] <= 1 and (Path("project") / "eye" / "steps" / "everything" / "vectors").is_dir()
    found = json.loads((Path("project") / "eye" / "report" / "price.json").read_text())
    assert found["latency_cycles"] == cycles
    if simulated:
        report = run_steps(Path("project"))
        assert report["mismatches"] == report["cycle_difference"] == 0 and report["cycles"] == cycles
