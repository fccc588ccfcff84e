"""The array's PYNQ driver: on a simulated board, and alone with inputs that it must refuse."""

import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from board import Simulated, loaded
from support import random_design, random_graph, random_network

from fgnas.backends.array import write_project, write_vectors
from fgnas.hardware.array import reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.encoded import EncodedArray
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.layers import array_network
from fgnas.hardware.array.lowering import ArrayAccelerator, lower
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.programme import PORT_WIDTHS
from fgnas.hardware.shape import GraphShape
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData
from fgnas.tools.verilator import QUICK

LAST = {"attention": "gcn", "aggregation": "add", "t_attn": None, "k": 1}


def made(folder: Path, beat_bits: int) -> tuple[ArrayAccelerator, Network, GraphData]:
    """The project of a network of two layers, whose rows of logits have two words; its array and the parameters."""
    rng = np.random.default_rng(5)
    data = random_graph(rng, 40, 9, 11, 90)
    design = random_design(rng, 2, (LAST | {"k": 2, "d": 8, "activation": "tanh"}, LAST))
    network = random_network(rng, design, data)
    array = fit(array_network(design, network, GraphShape.of(data)), data, Arrangement(4, beat_bits=beat_bits))
    write_project(array, data, folder)
    return array, network, data


def logits(encoded: EncodedArray) -> Any:
    return encoded.read_logits(reference.run_region(encoded))


PORTS = [bits if bits == PORT_WIDTHS[-1] else pytest.param(bits, marks=pytest.mark.slow) for bits in PORT_WIDTHS]


@pytest.mark.parametrize("beat_bits", PORTS)
def test_the_driver_on_a_simulated_board(beat_bits: int, tmp_path: Path) -> None:
    """Two graphs and two networks on one bitstream, between them a programme that the array refuses."""
    array, network, data = made(tmp_path / "p", beat_bits)
    other = random_graph(np.random.default_rng(8), 17, 9, 11, 30)
    turned = replace(network, layers=tuple(replace(layer, weight=-layer.weight) for layer in network.layers))
    again = encode_array(lower(array_network(array.source.design, turned, array.source.shape), array.engine), data)
    write_vectors(encode_array(array, other), tmp_path / "other")
    write_vectors(again, tmp_path / "again")
    driver, board = loaded(tmp_path / "p"), Simulated(tmp_path, QUICK, BeatBytes=beat_bits // 8)
    first = driver.regions(tmp_path / "p" / "vectors")
    short = first | {"features": first["features"][:1], "programme": np.full_like(first["programme"], 255)}
    further = driver.regions(tmp_path / "other")  # the same weights, which the second and third start leave out
    assert first["loads"] == 3 and first["check"] != first["check_again"]
    answers = board.run(first, further, further, short, driver.regions(tmp_path / "again"), first)
    np.testing.assert_array_equal(answers.pop(2), answers[1])
    np.testing.assert_array_equal(answers[0], logits(encode_array(array, data)))
    np.testing.assert_array_equal(answers[1], logits(encode_array(array, other)))
    assert answers[2][0] == "KernelError" and "wrong programme or engine" in answers[2][1]
    np.testing.assert_array_equal(answers[3], logits(again))
    np.testing.assert_array_equal(answers[4], answers[0])
    assert answers[0].dtype == np.int16 and (driver.golden(tmp_path / "p" / "vectors") == answers[0]).all()


class Registers:
    """A kernel that finishes immediately."""

    def write(self, offset: int, value: int) -> None:
        pass

    def read(self, offset: int) -> int:
        return 0b110 if offset == 0 else 0


class Recorder(Registers):
    """It remembers how many descriptors each start has."""

    def __init__(self, offset: int) -> None:
        self.offset, self.descriptors, self.status = offset, list[int](), 0

    def write(self, offset: int, value: int) -> None:
        if offset == self.offset:
            self.descriptors.append(value)

    def read(self, offset: int) -> int:
        return 0b110 if offset == 0 else self.status


def test_what_is_loaded_already_is_left_out(project: Path) -> None:
    """In a run behind one that ended well, with the same loads and the same parameters."""
    driver = loaded(project)
    registers = Recorder(driver.ARGUMENTS["descriptors"][0])
    board: Any = types.SimpleNamespace(
        Overlay=lambda bitstream: types.SimpleNamespace(fgnas_top_0=registers),
        allocate=lambda shape, dtype: np.zeros(shape, dtype).view(Buffer),
    )
    kernel, given = driver.Kernel("x.bit", platform=board), driver.regions(project / "vectors")
    turned = given | {"parameters": given["parameters"][::-1].copy()}
    for one in (given, given, given, turned, turned, given):
        kernel.run(**one)
    registers.status = 1
    with pytest.raises(driver.KernelError):
        kernel.run(**given)
    registers.status = 0
    kernel.run(**given)
    kernel.run(**given | {"loads": 0})
    kernel.run(**given)
    whole, rest = given["descriptors"], given["descriptors"] - given["loads"]
    assert given["loads"] == 3
    assert registers.descriptors == [whole, rest, rest, whole, rest, whole, rest, whole, whole, whole]


class Buffer(np.ndarray):
    device_address = 4096

    def flush(self) -> None:
        pass

    invalidate = freebuffer = flush


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("array") / "p"
    made(folder, 256)
    return folder


WRONG = {
    "dtype": ({"features": lambda r: r.astype(np.int8)}, TypeError, "features is int8, not uint8"),
    "beats": ({"edges": lambda r: r[:, :16]}, ValueError, r"edges has the shape .*, not \[beats, 32\]"),
    "descriptors": ({"descriptors": lambda n: 10_000}, ValueError, "descriptors is 10000, the array takes 0 to"),
    "another engine": ({"engine": lambda n: n ^ 1}, ValueError, "encoded for the array [0-9a-f]{8}, this is"),
    "half a check": ({"check": lambda n: 1.5}, TypeError, "integer"),
    "loads beyond": ({"loads": lambda n: 99}, ValueError, "loads is 99, the programme has"),
    "half a descriptor": ({"descriptors": lambda n: 1.5}, TypeError, "integer"),
    "order of floats": ({"order": lambda o: o / 2}, TypeError, "order is not an array of whole numbers"),
    "order beyond": ({"order": lambda o: o + 1_000}, ValueError, "order names rows"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    pynq: Any = types.ModuleType("pynq")
    pynq.Overlay = lambda bitstream: types.SimpleNamespace(fgnas_top_0=Registers())
    pynq.allocate = lambda shape, dtype: np.zeros(shape, dtype).view(Buffer)
    monkeypatch.setitem(sys.modules, "pynq", pynq)
    driver, (change, kind, message) = loaded(project), WRONG[case]
    kernel, arguments = driver.Kernel("x.bit"), driver.regions(project / "vectors")
    assert kernel.run(**arguments).shape == (40, 11)
    with pytest.raises(kind, match=message):
        kernel.run(**{name: change.get(name, lambda value: value)(value) for name, value in arguments.items()})
