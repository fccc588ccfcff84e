"""Kernels as units: what they run, in how many cycles, and what a platform charges for a call."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from fgnas import api
from fgnas.cli import main
from fgnas.errors import UserError
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.reference import run_region
from fgnas.hardware.pipeline.encoding import edge_beats, encode, feature_beats
from fgnas.hardware.pipeline.pricing import price_accelerator
from fgnas.mapping.platform import find_platform
from fgnas.networks.vision.vig import Backbone
from fgnas.systems.magnas.array import ArrayBuild, Facts, LoadedArray
from fgnas.systems.magnas.build import Sizes, graph_of
from fgnas.systems.magnas.calls import Call, calls
from fgnas.systems.magnas.host import Host, flat
from fgnas.systems.magnas.kernels import Kernel, load_kernel
from fgnas.systems.magnas.measure import samples
from fgnas.systems.magnas.parts import split
from fgnas.systems.magnas.power import Power, stated_power
from fgnas.systems.magnas.programme import calibrated, floats
from fgnas.tasks.images import load_images
from tests.systems.kernels import ARRAY, HIDDEN, LAYER, kernel_file

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    return Backbone.of(load_images("digit-images"))


@pytest.fixture(scope="module")
def kernels(backbone, tmp_path_factory) -> dict[str, Kernel]:
    folder = tmp_path_factory.mktemp("kernels")
    return {name: load_kernel(kernel_file(folder, name), backbone) for name in ("dense", "graph", "ffn", "array")}


def test_what_each_kernel_runs(backbone, kernels):
    """A sum runs dense maps and GIN, a maximum dense maps, EdgeConv and GraphSAGE, two layers an FFN and the head.

    An array runs all of these, and GIN with the map behind it.
    """
    runs = {
        name: {"+".join(names) for names, call in calls(backbone).items() if kernel.runs(call)}
        for name, kernel in kernels.items()
    }
    maps = {"stem", "pre", "post", *(f"{one}-{width}" for one in ("fc1", "fc2") for width in (9, 19, 32))}
    assert runs["dense"] == maps | {f"gin-{count}" for count in (3, 4, 5, 6)}
    assert runs["graph"] == maps | {f"{one}-{count}" for one in ("edgeconv", "sage") for count in (3, 4, 5, 6)}
    assert runs["ffn"] == {"head", *(f"fc1-{width}+fc2-{width}" for width in (9, 19, 32))}
    behind = {f"gin-{count}+post" for count in (3, 4, 5, 6)}
    assert runs["array"] == runs["dense"] | runs["graph"] | runs["ffn"] | behind == {*map("+".join, calls(backbone))}


@pytest.mark.parametrize(("call", "why"), [
    (Call(16, (65, 8)), "it has 64 inputs, not 65"), (Call(16, (8, 65)), "it has 64 outputs, not 65"),
    (Call(1025, (8, 8)), "it has 1024 nodes, not 1025"), (Call(16, (8, 8), 9, "add"), "it has 8 neighbours, not 9"),
    (Call(16, (8, 8), 3, "max"), "it aggregates by add, not by max"), (Call(16, (8, 8, 8)), "it has 1 layers, not 2"),
    (Call(1024, (64, 64), 8, "add"), None),
])  # fmt: skip
def test_why_a_call_is_refused(kernels, call, why):
    assert kernels["dense"].build.refusal(call) == why


@pytest.mark.parametrize(("call", "why"), [
    (Call(16, (65, 8)), "it has 64 inputs, not 65"), (Call(16, (8, 65)), "it has 64 outputs, not 65"),
    (Call(16, (8, 65, 8)), "it has 64 outputs, not 65"), (Call(17, (8, 8)), "it has 16 nodes, not 17"),
    (Call(16, (8, 8), 7, "max"), "it has 6 neighbours, not 7"),
    (Call(16, (8, 8, 8, 8)), "it runs 2 layers, not 3"), (Call(16, (64, 64, 64), 6, "max"), None),
    (Call(1, (1, 1, 1)), None),
])  # fmt: skip
def test_why_an_array_refuses_a_call(kernels, call, why):
    assert kernels["array"].build.refusal(call) == why
    if why is None:
        assert kernels["array"].build.cycles(call) > 0


@pytest.mark.parametrize("seed", range(6))
def test_an_array_holds_every_call_within_its_sizes(seed):
    """Any number of units and widths, and the largest of everything: its engine is made from the sizes alone."""
    rng = np.random.default_rng(seed)
    inputs, outputs, nodes, neighbours = (int(rng.integers(1, most + 1)) for most in (80, 64, 40, 9))
    units, beat_bits = int(rng.choice([1, 2, 3, 6, 8, 16])), (128, 256, 512)[seed % 3]
    facts = Facts(units=units, beat_bits=beat_bits, ai=2, af=5, wi=1, wf=6)
    build = ArrayBuild(facts, Sizes(inputs, outputs, nodes, neighbours))
    for layers in (1, 1, 2, 2, 2):
        widths = (int(rng.integers(1, inputs + 1)), *rng.integers(1, outputs + 1, layers).tolist())
        count = int(rng.integers(1, neighbours + 1))
        call = Call(int(rng.integers(1, nodes + 1)), widths, count, str(rng.choice(["add", "max"])))
        assert build.refusal(call) is None and build.cycles(call) > 0


def test_the_width_between_two_layers(kernels):
    assert kernels["ffn"].build.refusal(Call(16, (8, 64, 8))) is None
    assert kernels["ffn"].build.refusal(Call(16, (8, 65, 8))) == "it has 64 features, not 65"


def test_every_step_on_every_kernel(backbone, kernels):
    """Both parts of a split step make the step; the kernel's integers are near; its cycles are the lowered ones.

    If another layer follows a sum, each message is rounded to the hidden format, and the error is larger.
    """
    tried = set()
    with torch.no_grad():
        for sample in samples(backbone):
            call = calls(backbone).get(sample.names)
            for kernel in kernels.values():
                if call is None or not kernel.runs(call):
                    continue
                tried.add(call)
                part = split(sample.chain)
                rows, index = flat(*part.before(sample.x))
                wanted = floats(call, part.maps, rows, index)[-1][1]
                joined = part.after(sample.x, sample.entered, torch.from_numpy(wanted)[None])
                torch.testing.assert_close(joined, sample.run(), rtol=1e-3, atol=1e-4)
                found = calibrated(kernel, call, part.maps, rows, index)
                error = np.sqrt(np.square(found.outputs(rows, index) - wanted).mean())
                assert error < 0.025 * len(part.maps) * np.sqrt(np.square(wanted).mean())
                assert cycles_of(found.loaded, rows, index) == kernel.build.cycles(call)
    assert tried == {*calls(backbone).values()}


def cycles_of(loaded, rows, index):
    """Those of the models on the lowered network and its very graph."""
    if isinstance(loaded, LoadedArray):
        return total_cycles(loaded.encoded(rows, index))
    return price_accelerator(loaded.source, graph_of(rows, index, loaded.source.shape)).latency_cycles[0]


def test_one_bitstream_serves_every_step(backbone, kernels):
    """The steps of a kernel differ in parameters and in the meaning of their codes, and in nothing that is built."""
    seen = []
    with torch.no_grad():
        for sample in samples(backbone):
            call = calls(backbone).get(sample.names)
            if call is not None and kernels["ffn"].runs(call):
                host = Host.of(kernels["ffn"], call, split(sample.chain), sample.x)
                layers = host.programme.loaded.source.layers
                assert [layer.linear_shift for layer in layers] == [8, 8]
                seen.append([(vars(one.geometry), one.aggregate_shift, one.activation_table) for one in layers])
    assert len(seen) == 4
    for other in seen[1:]:
        for one, two in zip(seen[0], other, strict=True):
            assert one[:2] == two[:2] and np.array_equal(one[2], two[2])


@pytest.mark.parametrize(("name", "names"), [
    ("graph", ("edgeconv-4",)), ("array", ("edgeconv-4",)), ("array", ("gin-5", "post")), ("array", ("head",)),
])  # fmt: skip
def test_the_host_sends_what_the_encoder_makes(backbone, kernels, name, names):
    with torch.no_grad():
        sample = next(one for one in samples(backbone) if one.names == names)
        host = Host.of(kernels[name], calls(backbone)[names], split(sample.chain), sample.x)
        other = sample.x.flip(1) * 0.9
        rows, index = flat(*host.part.before(other))
        loaded = host.programme.loaded
        if isinstance(loaded, LoadedArray):
            wanted = loaded.encoded(rows, index).regions
        else:
            graph = encode(loaded.source, host.programme.graph(rows, index))
            wanted = {"features": feature_beats(loaded.source, graph), "edges": edge_beats(graph)}
        features, edges = host.send(other)
        np.testing.assert_array_equal(features, wanted["features"])
        assert (edges is None) == (index is None)
        if edges is not None:
            np.testing.assert_array_equal(edges, wanted["edges"])
        assert host.around(other, other).shape == sample.run().shape


def test_the_host_reads_what_the_array_writes(backbone, kernels):
    with torch.no_grad():
        sample = next(one for one in samples(backbone) if one.names == ("gin-5", "post"))
        host = Host.of(kernels["array"], calls(backbone)[sample.names], split(sample.chain), sample.x)
        rows, index = flat(*host.part.before(sample.x))
        region = run_region(host.programme.loaded.encoded(rows, index))
        found = host.receive(sample.x, sample.entered, region.tobytes())
        outputs = torch.from_numpy(host.programme.outputs(rows, index))[None]
        assert torch.equal(found, sample.entered + outputs)


def test_the_energy_of_a_span_by_hand():
    """One unit works, and the others wait: 10 ns at 3 W + 0.5 W, or at 2 W + 1 W."""
    power = Power({"cpu": (3.0, 1.0), "kernel": (2.0, 0.5)})
    assert power.nanojoules(10, "cpu") == 35 and power.nanojoules(10, "kernel") == 30


def test_power_is_stated_for_every_unit_or_for_none(kernels):
    assert stated_power("cpu", None, None, [*kernels.values()]) is None
    assert stated_power("cpu", 2.0, None, []) == Power({"cpu": (2.0, 0.0)})
    with pytest.raises(UserError, match=r"--idle-watts is missing"):
        stated_power("cpu", 2.0, None, [*kernels.values()])
    with pytest.raises(UserError, match=r"the field watts of dense.json is missing"):
        stated_power("cpu", 2.0, 1.0, [*kernels.values()])


def test_a_platform_of_a_processor_and_kernels(tmp_path, capsys):
    """Every part of a cost has its source, and an FFN is one call of a kernel with two layers."""
    files = [kernel_file(tmp_path, name, watts=1.5, idle_watts=0.25) for name in ("dense", "ffn")]
    out = tmp_path / "board.toml"
    command = ["platform", "--cpu", "--out", str(out), "--runs", "2", "--watts", "4", "--idle-watts", "1", "--json"]
    assert main([*command, *(word for file in files for word in ("--kernel", str(file)))]) == 0
    spent = json.loads(capsys.readouterr().out)["nanoseconds"]
    platform = find_platform(str(out))
    assert platform.units == ["cpu", "dense", "ffn"] and platform.states_energy
    kinds = {name: source.kind for name, source in platform.sources.items()}
    assert kinds == {
        "stopwatch": "measured", "around": "measured", "call": "assumed", "dense-cycles": "exact",
        "ffn-cycles": "exact", "watts": "assumed", "nothing": "exact",
    }  # fmt: skip
    parts = {part.source: part.cost for part in platform.steps["post"].on["dense"]}
    kernel = Kernel.of("dense", platform.builds["dense"])
    cycles = kernel.build.cycles(Call(16, (64, 32)))
    assert parts["call"] == (7000, 0) and parts["dense-cycles"] == (10 * cycles, 0)
    # The processor at 4 W beside two waiting kernels, then one kernel at 1.5 W beside the others.
    energy = sum(round(parts[name][0] * 4.5) for name in ("around", "call")) + round(10 * cycles * 2.75)
    assert parts["watts"] == (0, energy)
    assert sum(time for time, _ in parts.values()) == spent["post"]["dense"]
    model = [{"block": "ffn", "shortcut": True, "steps": ["fc1-9", "fc2-9"]}]
    chain = platform.with_model("net", "an FFN", model).chain("net")
    assert chain.supported.tolist() == [[True, True, True]]
    assert chain.cost[0, 2, 0] == spent["fc1-9+fc2-9"]["ffn"]
    assert chain.cost[0, 1, 0] == spent["fc1-9"]["dense"] + spent["fc2-9"]["dense"]


def test_an_array_is_charged_for_runs(tmp_path, capsys):
    """Each block that it runs in fewer starts than steps is the sum of its starts; the others are not stated twice."""
    files = [kernel_file(tmp_path, name) for name in ("array", "dense")]
    out = tmp_path / "board.toml"
    command = ["platform", "--out", str(out), "--runs", "1", "--json"]
    assert main([*command, *(word for file in files for word in ("--kernel", str(file)))]) == 0
    spent = json.loads(capsys.readouterr().out)["nanoseconds"]
    platform = find_platform(str(out))
    grapher = {(*pre, f"gin-{count}", "post") for pre in ((), ("pre",)) for count in (3, 4, 5, 6)}
    assert {one.steps: [*one.on] for one in platform.together} == dict.fromkeys(
        grapher | {(f"fc1-{width}", f"fc2-{width}") for width in (9, 19, 32)}, ["array"]
    )
    assert "the array's model" in platform.sources["array-cycles"].about
    build = Kernel.of("array", platform.builds["array"]).build
    pre, run = build.cycles(Call(16, (32, 32))), build.cycles(Call(16, (32, 64, 32), 4, "add"))
    whole = next(one for one in platform.together if one.steps == ("pre", "gin-4", "post")).on["array"]
    parts = {part.source: part.cost for part in whole}
    assert [*parts] == ["around", "call", "array-cycles"]
    assert parts["call"] == (14000, 0) and parts["array-cycles"] == (10 * (pre + run), 0)
    model = [{"block": "grapher", "steps": ["pre", "gin-4", "post"]}]
    blocks = platform.with_model("net", "a Grapher", model).chain("net")
    layers = platform.with_model("net", "a Grapher", model).chain("net", "layer")
    assert blocks.cost[0, :, 0].tolist() == [
        spent["pre"]["array"] + spent["gin-4+post"]["array"],
        sum(spent[name]["dense"] for name in ("pre", "gin-4", "post")),
    ]
    assert layers.cost[:, 0, 0].tolist() == [spent[name]["array"] for name in ("pre", "gin-4", "post")]


@pytest.mark.parametrize(("facts", "layers", "message"), [
    ({"lanes": 3}, None, "unknown field 'lanes'; a kernel has design, inputs, outputs"),
    ({"inputs": 0}, None, "inputs must be a whole number above zero, not 0"),
    ({"watts": "two"}, None, "watts must be a number above zero, not 'two'"),
    ({}, [{**LAYER, "attention": "gcn"}], "layer 0: attention must be constant"),
    ({}, [{**LAYER, "k": 2}], "layer 0: k must be 1"),
    ({}, [{**HIDDEN, "activation": "tanh"}, LAYER], "layer 0: activation must be relu"),
    ({"array": ARRAY}, None, "name a design or an array, not both"),
    ({"inputs": 3, "outputs": 2}, None, "it can run no step of these networks; stem: it has 3 inputs, not 4"),
])  # fmt: skip
def test_a_wrong_kernel_is_refused_in_one_line(backbone, tmp_path, facts, layers, message):
    with pytest.raises(UserError) as caught:
        load_kernel(kernel_file(tmp_path, "dense", layers, **facts), backbone)
    assert message in str(caught.value)


@pytest.mark.parametrize(("facts", "message"), [
    ({"array": {**ARRAY, "units": 0}}, "array.units: Input should be greater than or equal to 1"),
    ({"array": {**ARRAY, "beat_bits": 64}}, "array.beat_bits: Input should be 128, 256 or 512"),
    ({"array": {**ARRAY, "lanes": 8}}, "array.lanes: Extra inputs are not permitted"),
    ({"array": {**ARRAY, "af": 15}}, "array: ai + af must be 1 to 15"), ({"array": 8}, "array: Input should be"),
    ({"outputs": 72}, "engine: tiles must be 1 to 8"),
    ({"nodes": 4096}, "engine: a table has 2 to 16,384 words"),
    ({"inputs": 3, "outputs": 2}, "it can run no step of these networks; stem: it has 3 inputs, not 4"),
])  # fmt: skip
def test_a_wrong_array_is_refused_in_one_line(backbone, tmp_path, facts, message):
    with pytest.raises(UserError) as caught:
        load_kernel(kernel_file(tmp_path, "array", **facts), backbone)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_design_of_an_array_is_no_pipeline(backbone, tmp_path):
    path = kernel_file(tmp_path, "dense")
    content = json.loads(path.read_text())
    content["design"]["array"] = {"units": 8, "columns": [], "beat_bits": 128}
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match="the design is for a multiplier array"):
        load_kernel(path, backbone)


def test_the_page_s_kernels_and_those_of_the_benchmark(backbone, tmp_path):
    """Each file in the docs and in benchmarks/kernels is a kernel with its power."""
    text = (ROOT / "docs" / "mapping.md").read_text(encoding="utf-8")
    found = re.findall(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert ["array" in json.loads(one) for one in found] == [False, True]
    for place, content in enumerate(found):
        (tmp_path / f"page-{place}.json").write_text(content, encoding="utf-8")
    files = [*sorted(tmp_path.iterdir()), *sorted((ROOT / "benchmarks" / "kernels").glob("*.json"))]
    assert [path.stem for path in files] == ["page-0", "page-1", "ffn", "max", "sum"]
    for path in files:
        kernel = load_kernel(path, backbone)
        assert kernel.watts == 0.9 and any(kernel.runs(call) for call in calls(backbone).values())
        assert Kernel.of(kernel.name, json.loads(json.dumps(kernel.to_dict()))) == kernel


def test_two_units_of_one_name(tmp_path):
    (tmp_path / "other").mkdir()
    files = [kernel_file(tmp_path, "dense"), kernel_file(tmp_path / "other", "dense")]
    with pytest.raises(UserError, match="two units are named 'dense'"):
        api.measure_platform(tmp_path / "board.toml", kernels=files, runs=1)
