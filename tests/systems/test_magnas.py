"""The system magnas: platforms of this machine, mapped costs, and whole searches on a supernet of one epoch."""

import itertools
import json

import numpy as np
import pytest
import torch

import fgnas
from fgnas import systems
from fgnas.cli import main
from fgnas.errors import UserError
from fgnas.mapping.options import MapOptions
from fgnas.mapping.platform import find_platform
from fgnas.networks.vision.steps import elements, steps_of
from fgnas.networks.vision.subnet import Subnet
from fgnas.networks.vision.supernet import vig_space
from fgnas.networks.vision.vig import Backbone
from fgnas.systems.magnas.kernels import load_kernel
from fgnas.systems.magnas.measure import measured, samples
from fgnas.systems.magnas.target import MappedTarget, Mapping
from fgnas.systems.magnas.trainer import Job, MappedJob, Source, run_job, run_mapped
from fgnas.tasks.images import load_images
from tests.systems.kernels import PLATFORM_HEAD, kernel_file


@pytest.fixture(scope="module")
def backbone():
    return Backbone.of(load_images("digit-images"))


@pytest.fixture(scope="module")
def board(backbone, tmp_path_factory):
    """Two units: the operators and the head run only on the processor, all else also on a kernel of one layer.

    The kernel is best for the stem, so every subnet needs both.
    """
    rng, path = np.random.default_rng(4), tmp_path_factory.mktemp("board") / "board.toml"
    text = PLATFORM_HEAD
    kernel = load_kernel(kernel_file(path.parent, "dense"), backbone)
    for name, count in elements(backbone).items():
        cpu, there = rng.integers(20, 90, 2).tolist(), [*rng.integers(5, 40, 1).tolist(), 90]
        text += f'[steps.{name}]\nelements = {count}\non.cpu = {{source = "invented", cost = {cpu}}}\n'
        there = [5, 1] if name == "stem" else there
        if name != "head" and ("-" not in name or name.startswith("fc")):
            text += f'on.kernel = {{source = "invented", cost = {there}}}\n'
    text += "[builds.kernel]\n" + "".join(f"{name} = {json.dumps(fact)}\n" for name, fact in kernel.to_dict().items())
    path.write_text(text)
    return path


def test_every_step_runs_alone_and_is_timed(backbone):
    found = measured(backbone, runs=3).to_dict()
    assert [*found] == [*elements(backbone)] and min(on["cpu"] for on in found.values()) > 0
    with torch.no_grad():
        sizes = {one.names[0]: one.run().numel() for one in samples(backbone) if len(one.names) == 1}
    assert sizes == elements(backbone)


def test_the_measured_platform_maps_every_subnet(backbone, tmp_path, capsys):
    path = tmp_path / "this.toml"
    assert main(["platform", "--out", str(path), "--runs", "3", "--watts", "2.5", "--json"]) == 0
    spent = json.loads(capsys.readouterr().out)["nanoseconds"]
    platform = find_platform(str(path))
    assert platform.sources["stopwatch"].kind == "measured"
    assert platform.sources["watts"].kind == "assumed" and "cpu 2.5 W" in platform.sources["watts"].about
    space = vig_space(backbone)
    for row in space.draw(20, np.random.default_rng(1)):
        items = steps_of(space.candidate(row), backbone)
        steps = [name for item in items for name in ([item] if isinstance(item, str) else item["steps"])]
        chain = platform.with_model("net", "a subnet", items).chain("net")
        time, energy = chain.alone()[0].tolist()
        assert time == sum(spent[name]["cpu"] for name in steps)
        assert energy == sum(round(2.5 * spent[name]["cpu"]) for name in steps)


def test_a_price_is_the_preferred_mapping_of_all(backbone, board):
    """Against every mapping of a small subnet: the least product; with a limit the least energy within it."""
    space, platform = vig_space(backbone), find_platform(str(board))
    rows = space.draw(400, np.random.default_rng(2))
    row = min(rows, key=lambda row: len(steps_of(space.candidate(row), backbone)))
    chain = platform.with_model("net", "a subnet", steps_of(space.candidate(row), backbone)).chain("net")
    choices = [np.flatnonzero(one) for one in chain.without_shortcuts().supported]
    costs = chain.without_shortcuts().costs(np.array([*itertools.product(*choices)], np.int8))
    best = costs[np.argmin(costs.prod(axis=1))]
    found = MappedTarget(space, backbone, platform, MapOptions()).price(row[None])
    assert found["latency_ms"][0] * found["energy_mj"][0] == pytest.approx(best.prod() / 1e6)
    fast = costs[costs[:, 0] <= 1000 * found["latency_ms"][0]]
    limited = MappedTarget(space, backbone, platform, MapOptions(latency_ms=float(found["latency_ms"][0])))
    assert limited.price(row[None])["energy_mj"][0] == pytest.approx(fast[:, 1].min() / 1e3)


def test_without_power_energy_is_no_objective(backbone, tmp_path):
    path = tmp_path / "this.toml"
    fgnas.api.measure_platform(path, runs=1)
    module = systems.find("magnas")
    parts = module.compose(module.Options(platform=str(path)))
    assert parts.objectives == ("val", "latency_ms")
    with pytest.raises(UserError, match=r"--energy-mj: .*this\.toml states no energy"):
        module.compose(module.Options(platform=str(path), energy_mj=1.0))


def test_a_search_delivers_a_subnet_and_resumes_to_the_same_bytes(board, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {"platform": str(board), "epochs": 1, "children": 14, "leaders": 2, "seed": 5, "latency_ms": 2.1}
    whole = fgnas.search(system="magnas", workers=1, run="whole", **options)
    trials = whole.trials()
    assert len({trial.design_hash for trial in trials}) == 14
    assert all(trial.costs["latency_ms"] <= 2.1 for trial in trials)
    assert_scored_as_mapped(whole, board)
    assert whole.report().is_file()
    assert_front_of_mappings(json.loads((whole.folder / "mappings.json").read_text()), trials, board)
    assert_a_mapping_of_the_front_is_built(whole, tmp_path / "project")
    stopped = begun(whole.folder, tmp_path / "runs" / "cut")
    assert fgnas.search(run="cut", resume=True, workers=2).folder.name == stopped.name
    for name in ("trials.jsonl", "leaders.json", "best.json", "supernet.pt"):
        assert (whole.folder / name).read_bytes() == (stopped / name).read_bytes(), name


def assert_scored_as_mapped(run, board):
    """The leaders' accuracies count their steps on the kernel in integers; the supernet's own stay beside them."""
    leaders = run.store.leaders()
    assert [entry["retrained_val"]["mean"] for entry in leaders] == sorted(
        (entry["retrained_val"]["mean"] for entry in leaders), reverse=True
    )
    best = run.best
    assert best["delivered"]["mapped"]["val"] == best["retrained_val"]["mean"]
    assert best["delivered"]["supernet"]["val"] == best["searched"]
    assert {*best["mapping"]["units"]} == {"cpu", "kernel"} and [*best["kernels"]] == ["kernel"]
    data = load_images("digit-images")
    source = Source(data.name, data.fingerprint, str(run.folder / "supernet.pt"), best["sha256"])
    subnet = Subnet.from_dict(best["design"])
    count = len(best["mapping"]["units"])
    job = MappedJob(source, subnet, Mapping("default", ("cpu",) * count, (1,) * count), ())
    assert run_mapped(job)[0] == run_job(Job(source, (subnet,)))[0] == best["searched"]


def assert_a_mapping_of_the_front_is_built(run, directory):
    """The last one on the front that has steps on the kernel."""
    front = json.loads((run.folder / "mappings.json").read_text())
    number = max(place for place, one in enumerate(front) if "kernel" in one["mapping"]["units"])
    run.write(directory, f"mapping-{number}")
    listed = json.loads((directory / "mapping.json").read_text())
    assert listed["units"] == front[number]["mapping"]["units"]
    assert {call["unit"] for call in listed["calls"]} == {"kernel"}
    with pytest.raises(UserError, match=rf"has mapping-0 to mapping-{len(front) - 1}"):
        run.write(directory, f"mapping-{len(front)}")
    with pytest.raises(UserError, match="or a rank from 1 to 2"):
        run.write(directory, "first")
    with pytest.raises(UserError, match="delivers no single design"):
        run.design()


def assert_front_of_mappings(front, trials, board):
    """Every member beats every mapping of every subnet somewhere, and the front has the best of each objective."""
    target = systems.find("magnas").compose(systems.find("magnas").Options(platform=str(board), latency_ms=2.1)).target
    every = []
    for trial in trials:
        answer = target.mapped(Subnet.from_dict(trial.design))
        every += [(-trial.scores["val"], answer.milliseconds(one.time), answer.millijoules(one.energy))
                  for one in answer.points]  # fmt: skip
    every = np.array(sorted(set(every)))
    kept = [row for row in every if not ((every <= row).all(axis=1) & (every < row).any(axis=1)).any()]
    assert [(-one["val"], one["latency_ms"], one["energy_mj"]) for one in front] == [tuple(row) for row in kept]
    assert {step["unit"] for one in front for step in one["chain"]} == {"cpu", "kernel"}
    assert [step["step"] for step in front[0]["chain"]][:2] == ["stem", "grapher 1"]


def begun(folder, copy):
    """A copy of a run as if it had been killed after the training: its configuration and its supernet."""
    copy.mkdir()
    (copy / "children").mkdir()
    for name in ("config.json", "supernet.pt"):
        (copy / name).write_bytes((folder / name).read_bytes())
    (copy / "trials.jsonl").touch()
    return copy


def test_what_is_missing_is_said_in_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["search", "--system", "magnas"]) == 2
    assert "--platform FILE.toml is missing: write one with `fgnas platform" in capsys.readouterr().err
    assert main(["search", "--system", "magnas", "--platform", "xavier"]) == 2
    assert "identify no other networks than b0" in capsys.readouterr().err
    assert main(["platform", "--out", "board.json", "--runs", "1"]) == 2
    assert "a platform is a .toml file" in capsys.readouterr().err
