"""The host program for acceleration platforms: every project's own, with a stand-in for XRT whose kernel is its C++."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from point_clouds import integers_of, tied_clouds
from support import random_accelerator, random_design, random_graph, random_network

from fgnas.backends import array as array_project
from fgnas.backends import pipeline as pipeline_project
from fgnas.backends.points import PointProject, write_project
from fgnas.hardware import wire
from fgnas.hardware.array import programme
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.points.encoded import PointSource, lowered
from fgnas.hardware.shape import GraphShape
from fgnas.hardware.specification import Specification
from fgnas.networks.points.operations import TAILS, Aggregate, Combine, PointNetwork, Sample
from fgnas.tools.find import find_ap_types, find_compiler

FAKE = Path(__file__).parent.parent / "xrt"
KERNELS = {"pipeline": wire.ARGUMENT_REGISTERS, "array": programme.ARGUMENT_REGISTERS,
           "points": programme.ARGUMENT_REGISTERS}  # fmt: skip


def pipeline(folder: Path) -> None:
    rng = np.random.default_rng(3)
    data, design = random_graph(rng, 30, 7, 5, 60), random_design(rng, 2)
    pipeline_project.write_project(random_accelerator(rng, design, data), data, folder)


def array(folder: Path, sign: int = 1) -> None:
    rng = np.random.default_rng(5)
    data = random_graph(rng, 40, 9, 11, 90)
    last = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}
    design = random_design(rng, 2, (last | {"d": 8, "activation": "relu"}, last))
    network = random_network(rng, design, data)
    network = replace(network, layers=tuple(replace(layer, weight=sign * layer.weight) for layer in network.layers))
    source = array_network(design, network, GraphShape.of(data))
    array_project.write_project(fit(source, data, Arrangement(4)), data, folder)


def points(folder: Path) -> None:
    data = tied_clouds(np.random.default_rng(2), 12, 3, 4)
    network = PointNetwork((Sample("nearest"), Aggregate("max", "relative"), Combine(8)), TAILS["small"])
    integers = integers_of(network, data)
    encoded = lowered(PointSource(integers, 12, "made", "made"), 4, 128)
    clouds, _ = data.clouds("val")
    accuracies = {kind: {"val": 0.5, "test": 0.5} for kind in ("float", "quantised")}
    write_project(PointProject(encoded.with_cloud(integers.number.quantise(clouds[0])), network.to_dict(), accuracies,
                               b"", clouds[:1], integers.number), folder, Specification())  # fmt: skip


def glue(arguments: Sequence[wire.Register]) -> str:
    """C++ that runs the kernel on the buffers of the stand-in."""
    lines, given = [], []
    for place, one in enumerate(arguments):
        if one.bits == wire.ADDRESS_BITS:
            lines.append(f"    std::vector<Beat> {one.name} = beats(values[{place}]);")
            given.append(f"{one.name}.data()")
        elif one.access == "w":
            given.append(f"values[{place}].given ? values[{place}].number : ~0u")
        else:
            given.append("&status")
    out = next(place for place, one in enumerate(arguments) if one.name == wire.OUTPUT_REGION)
    status = next(one.offset for one in arguments if one.access == "r")
    return f"""
#include "xrt/fake.h"
#include "src/fgnas_top.h"
const unsigned fake::status_at = {status};
const int fake::arguments = {len(arguments)};
int fake::group_of(int argument) {{ return 3 + argument; }}
static const int BYTES = Beat::width / 8;
static std::vector<Beat> beats(const fake::Value& value) {{
    const std::vector<char>& bytes = value.memory->device;
    std::vector<Beat> found(bytes.size() / BYTES);
    for (std::size_t at = 0; at < found.size() * BYTES; ++at) {{
        found[at / BYTES].range(at % BYTES * 8 + 7, at % BYTES * 8) = (unsigned char)bytes[at];
    }}
    return found;
}}
std::uint32_t fake::run(std::vector<fake::Value>& values) {{
    ap_uint<32> status = 0;
{chr(10).join(lines)}
    fgnas_top({", ".join(given)});
    for (std::size_t at = 0; at < logits.size() * BYTES; ++at) {{
        values[{out}].memory->device[at] = (char)logits[at / BYTES].range(at % BYTES * 8 + 7, at % BYTES * 8).to_uint();
    }}
    return status;
}}
"""


@pytest.fixture(scope="module", params=KERNELS)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with its host program, compiled against the stand-in."""
    folder = tmp_path_factory.mktemp("xrt") / request.param
    globals()[request.param](folder)
    (folder / "glue.cpp").write_text(glue(KERNELS[request.param]))
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-uninitialized",
             "-Wno-maybe-uninitialized"]  # fmt: skip
    sources = ["xrt.cpp", "glue.cpp", "src/fgnas_top.cpp"]
    subprocess.run([find_compiler(), *flags, "-I", FAKE, "-I", folder, "-isystem", find_ap_types(), *sources,
                    "-o", "xrt_host"], cwd=folder, check=True)  # fmt: skip
    return folder


def run(folder: Path, *given: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run([folder / "xrt_host", *given], cwd=folder, env=environment, capture_output=True, text=True,
                          check=False)  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_every_word_of_the_logits_is_compared(project: Path, tmp_path: Path) -> None:
    words = (project / "vectors" / "logits.bin").stat().st_size // 2
    code, said = run(project, "kernel.xclbin")
    assert code == 0 and said.startswith(f"vectors: words {words} mismatches 0; ")
    shutil.copytree(project / "vectors", tmp_path / "wrong")
    logits = np.fromfile(tmp_path / "wrong" / "logits.bin", "<i2")
    logits[[0, -1]] += 1
    logits.tofile(tmp_path / "wrong" / "logits.bin")
    code, said = run(project, "kernel.xclbin", str(tmp_path / "wrong"), "vectors")
    assert code == 1 and "mismatches 2;" in said.splitlines()[0] and "mismatches 0;" in said.splitlines()[1]


def sizes_of(folder: Path) -> dict[str, int]:
    """Bytes of the regions of a folder of vectors."""
    return {path.stem: path.stat().st_size for path in folder.glob("*.bin")}


def copied(said: str) -> list[int]:
    return [int(line.rsplit("ms, ", 1)[1].split()[0]) for line in said.splitlines()]


@pytest.mark.parametrize("project", ["pipeline", "points"], indirect=True)
def test_what_is_the_same_stays_on_the_device(project: Path) -> None:
    code, said = run(project, "kernel.xclbin", *["vectors"] * 3)
    sizes = sizes_of(project / "vectors")
    sizes.pop("order", None)
    assert code == 0 and said.count(" mismatches 0;") == 3
    assert copied(said) == [sum(sizes.values()), sizes["logits"], sizes["logits"]]


@pytest.mark.parametrize("project", ["array"], indirect=True)
def test_what_is_loaded_stays_in_the_array(project: Path, tmp_path: Path) -> None:
    array(tmp_path / "turned", -1)
    other = str(tmp_path / "turned" / "vectors")
    code, said = run(project, "kernel.xclbin", "vectors", "vectors", "vectors", other, other, "vectors")
    sizes, vectors = sizes_of(project / "vectors"), json.loads((project / "vectors" / "vectors.json").read_text())
    loads = vectors["loads"] * max(32, Arrangement(4).beat_bits // 8)
    assert vectors["loads"] > 0 and code == 0 and said.count(" mismatches 0;") == 6
    network, rest = sizes["programme"] + sizes["parameters"], sizes["programme"] - loads
    graph = sizes["features"] + sizes["edges"]
    assert copied(said) == [sizes["logits"] + one for one in (network + graph, rest, 0, network, rest, network)]


@pytest.mark.parametrize("project", ["array"], indirect=True)
def test_a_refusal_ends_the_runs(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "vectors", tmp_path / "refused")
    sizes = json.loads((tmp_path / "refused" / "vectors.json").read_text())
    wrong = sizes | {name: sizes[name] ^ 1 for name in ("check", "check_again")}
    (tmp_path / "refused" / "vectors.json").write_text(json.dumps(wrong))
    code, said = run(project, "kernel.xclbin", "vectors", str(tmp_path / "refused"), "vectors")
    assert code == 1 and said.count("mismatches 0;") == 1 and "status 0x" in said.splitlines()[1]


def test_a_refusal_is_told_by_name(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "vectors", tmp_path / "refused")
    name = "programme" if (project / "vectors" / "programme.bin").is_file() else "edges"
    path = tmp_path / "refused" / f"{name}.bin"
    path.write_bytes(b"\xff" * path.stat().st_size)
    code, said = run(project, "kernel.xclbin", str(tmp_path / "refused"))
    assert code == 1 and said.startswith("xrt_host: status 0x") and "unknown" not in said and said.count("\n") == 1


def test_what_cannot_run_is_told_in_a_line(project: Path, tmp_path: Path) -> None:
    for given in ((), ("--seconds",), ("kernel.xclbin", "--seconds", "-1"), ("kernel.xclbin", "--seconds", "1e9"),
                  ("kernel.xclbin", "--seconds", "0"),
                  ("kernel.xclbin", "--device", "x"), ("kernel.xclbin", "--folder", "vectors")):  # fmt: skip
        code, said = run(project, *given)
        assert code == 2 and said.startswith("usage: xrt_host KERNEL.xclbin") and said.count("\n") == 1
    for given, cause in ((("other.xclbin",), "failed to open"), (("kernel.xclbin", "nowhere"), "cannot open nowhere"),
                         (("kernel.xclbin", "--device", "1"), "no such device")):  # fmt: skip
        code, said = run(project, *given)
        assert code == 2 and said.startswith("xrt_host: ") and cause in said and said.count("\n") == 1
    late = "xrt_host: the kernel did not end within 7 s"
    for hangs, told in (("1", ": it was stopped"), ("for ever", ", and does not stop: reset the device")):
        assert run(project, "kernel.xclbin", "--seconds", "7", FAKE_HANG=hangs) == (2, f"{late}{told}\n")
    if (project / "vectors" / "programme.bin").is_file():
        shutil.copytree(project / "vectors", tmp_path / "other")
        sizes = json.loads((tmp_path / "other" / "vectors.json").read_text())
        (tmp_path / "other" / "vectors.json").write_text(json.dumps(sizes | {"engine": sizes["engine"] ^ 1}))
        code, said = run(project, "kernel.xclbin", str(tmp_path / "other"))
        assert code == 2 and "encoded for another array" in said


def test_a_folder_that_was_cut_is_refused(project: Path, tmp_path: Path) -> None:
    for name in sizes_of(project / "vectors").keys() - {"order"}:
        folder = tmp_path / name
        shutil.copytree(project / "vectors", folder)
        path = folder / f"{name}.bin"
        content = path.read_bytes()
        for cut in (content[:-2], content[: len(content) // 2], b"", content + bytes(64)):
            if cut == content:
                continue
            path.write_bytes(cut)
            code, said = run(project, "kernel.xclbin", "vectors", str(folder))
            assert code == 2 and f"{name}.bin has {len(cut)} bytes, vectors.json says {len(content)}" in said, said
            assert said.count("\n") == 1


@pytest.mark.parametrize("project", ["pipeline"], indirect=True)
def test_vectors_of_another_kernel_are_refused(project: Path, tmp_path: Path) -> None:
    for name in ("logit_beats", "parameter_beats"):
        shutil.copytree(project / "vectors", tmp_path / name)
        sizes = json.loads((tmp_path / name / "vectors.json").read_text())
        (tmp_path / name / "vectors.json").write_text(json.dumps(sizes | {name: sizes[name] + 1}))
        code, said = run(project, "kernel.xclbin", str(tmp_path / name))
        assert code == 2 and "was encoded for another kernel" in said


@pytest.mark.parametrize("project", ["array"], indirect=True)
def test_another_network_runs_on_the_same_kernel(project: Path, tmp_path: Path) -> None:
    array(tmp_path / "turned", -1)
    engines = [json.loads((folder / "vectors" / "vectors.json").read_text())["engine"]
               for folder in (project, tmp_path / "turned")]  # fmt: skip
    assert engines[0] == engines[1]
    assert run(project, "kernel.xclbin", str(tmp_path / "turned" / "vectors"))[0] == 0
