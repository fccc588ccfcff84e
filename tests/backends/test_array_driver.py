"""The array's PYNQ driver: on a simulated board, and alone with inputs that it must refuse."""

import itertools
import shutil
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
from fgnas.errors import UserError
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
from fgnas.tools.simulate import Vectors
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


class Recorder:
    """A board whose kernel finishes immediately; it remembers how many descriptors each start has.

    Attributes:
        words: what the registers hold.
        descriptors: those of each start.
        live: addresses of the buffers that are not freed; a new one has the lowest that is free.
        left: registers that are read before the host is interrupted, if it is.
    """

    def __init__(self, driver: Any) -> None:
        self.arguments = driver.ARGUMENTS
        self.words, self.descriptors, self.live = dict[int, int](), list[int](), list[int]()
        self.status = 0
        self.left: int | None = None

    def write(self, offset: int, value: int) -> None:
        assert type(value) is int  # as PYNQ's registers require
        self.words[offset] = value
        if offset == 0:
            self.descriptors.append(self.words[self.arguments["descriptors"][0]])

    def read(self, offset: int) -> int:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
        return {0: 0b110, self.arguments["status"][0]: self.status}.get(offset, self.words.get(offset, 0))

    def Overlay(self, bitstream: str) -> Any:  # noqa: N802 (PYNQ's name)
        return types.SimpleNamespace(fgnas_top_0=self)

    def allocate(self, shape: tuple[int, ...], dtype: Any) -> "Buffer":
        buffer = np.zeros(shape, dtype).view(Buffer)
        place = next(at for at in range(4096, 1 << 20, 4096) if at not in self.live)
        self.live.append(place)
        buffer.device_address, buffer.live = place, self.live
        return buffer


def test_what_is_loaded_already_is_left_out(project: Path) -> None:
    """In a run behind one that ended well, with the same loads and the same parameters."""
    driver = loaded(project)
    registers = Recorder(driver)
    kernel, given = driver.Kernel("x.bit", platform=registers), driver.regions(project / "vectors")
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


def test_what_is_loaded_is_brought_again_behind_others(project: Path, tmp_path: Path) -> None:
    """Behind a run of another object and after the bitstream was loaded again, the array holds something else."""
    driver = loaded(project)
    board, given = Recorder(driver), driver.regions(project / "vectors")
    np.savez(tmp_path / "given.npz", **given)
    first, second = (driver.Kernel("x.bit", platform=board) for _ in range(2))
    with np.load(tmp_path / "given.npz") as kept:
        for kernel in (first, first, second, first, first, second, second):
            kernel.run(**kept)
        board.words.clear()
        second.run(**kept)
        second.run(**kept)
    whole, rest = given["descriptors"], given["descriptors"] - given["loads"]
    assert board.descriptors == [whole, rest, whole, whole, rest, whole, rest, whole, rest]
    first.close()
    second.close()
    assert not board.live


def test_what_is_loaded_is_brought_again_behind_a_close(project: Path) -> None:
    """Another object may have had the same addresses since."""
    driver = loaded(project)
    board, given = Recorder(driver), driver.regions(project / "vectors")
    first, second = (driver.Kernel("x.bit", platform=board) for _ in range(2))
    first.run(**given)
    first.close()
    second.run(**given | {"parameters": given["parameters"][::-1].copy()})
    second.close()
    first.run(**given)
    assert board.descriptors == [given["descriptors"]] * 3


def test_what_is_loaded_is_brought_again_behind_an_interruption(project: Path) -> None:
    """After whatever register the host was interrupted in a run with other weights."""
    driver = loaded(project)
    board, given = Recorder(driver), driver.regions(project / "vectors")
    turned = given | {"parameters": given["parameters"][::-1].copy()}
    for left in itertools.count():
        kernel = driver.Kernel("x.bit", platform=board)
        kernel.run(**given)
        board.left = left
        try:
            kernel.run(**turned)
        except KeyboardInterrupt:
            board.left, started = None, len(board.descriptors)
            kernel.run(**turned)
            assert board.descriptors[started:] == [given["descriptors"]]
            kernel.close()
        else:
            break
    assert left > 10


@pytest.mark.parametrize("name", ["programme", "parameters", "features", "edges", "order", "logits"])
def test_a_file_that_was_cut_is_refused(project: Path, tmp_path: Path, name: str) -> None:
    driver, vectors = loaded(project), tmp_path / "cut" / "vectors"
    shutil.copytree(project, tmp_path / "cut")
    path = vectors / f"{name}.bin"
    path.write_bytes(path.read_bytes()[:-32])
    with pytest.raises(ValueError, match=rf"{name}.bin has [0-9]+ bytes, vectors.json says [0-9]+: copy the folder"):
        driver.golden(vectors)
    if name != "order":  # simulations compare the region as it is
        with pytest.raises(UserError, match=rf"{name}.bin has [0-9,]+ bytes, vectors.json says [0-9,]+: write the"):
            Vectors.read(tmp_path / "cut")


def test_a_buffer_that_cannot_be_filled_is_freed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = loaded(project)
    board, flush = Recorder(driver), Buffer.flush
    kernel, given = driver.Kernel("x.bit", platform=board), driver.regions(project / "vectors")
    for fails in range(5):
        left = iter([True] * fails)
        monkeypatch.setattr(Buffer, "flush", lambda self, left=left: None if next(left, False) else 1 / 0)
        with pytest.raises(ZeroDivisionError):
            kernel.run(**given)
        assert len(board.live) == len(kernel._kept)
    monkeypatch.setattr(Buffer, "flush", flush)
    kernel.run(**given)
    kernel.close()
    assert not board.live and len(board.descriptors) == 1


class Buffer(np.ndarray):
    device_address = 4096
    live: list[int]

    def flush(self) -> None:
        pass

    def invalidate(self) -> None:
        pass

    def freebuffer(self) -> None:
        if hasattr(self, "live"):
            self.live.remove(self.device_address)


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
    "features cut": ({"features": lambda r: r[:-1]}, ValueError, "features has .* beats, the programme reads"),
    "parameters cut": ({"parameters": lambda r: r[:-1]}, ValueError, "parameters has .* beats, the programme reads"),
    "edges cut": ({"edges": lambda r: r[:-1]}, ValueError, "edges has .* beats, the programme reads"),
    "loads beyond": ({"loads": lambda n: 99}, ValueError, "loads is 99, the programme has"),
    "half a load": ({"loads": lambda n: 1.5}, TypeError, "integer"),
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
