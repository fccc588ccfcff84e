"""A graph by its sizes: the price of the graph itself, and one line for a faulty file."""

from pathlib import Path

import numpy as np
import pytest

from fgnas import api
from fgnas.cli import main
from fgnas.errors import UserError
from fgnas.tasks import nodes
from fgnas.tasks.degrees import Degrees

DESIGNS = 40


def write(path: Path, **fields: object) -> Path:
    given = {"degrees": np.array([1, 0, 3]), "features": 8, "classes": 2} | fields
    np.savez(path, **{name: value for name, value in given.items() if value is not None})
    return path


@pytest.mark.parametrize("name", ["digits", "cora"])
def test_a_price_by_sizes_is_that_of_the_graph(name: str, tmp_path: Path) -> None:
    graph = nodes.load(name)
    path = write(tmp_path / "sizes.npz", degrees=graph.degrees - 1, features=graph.width_in, classes=graph.classes,
                 non_zeros=graph.non_zeros)  # fmt: skip
    designs = list(api.sample(DESIGNS, seed=8))
    assert api.prices(designs, Degrees.read(path)) == api.prices(designs, graph)


def test_every_node_has_every_feature_by_default(tmp_path: Path) -> None:
    found = Degrees.read(write(tmp_path / "sizes.npz"))
    assert found.degrees.tolist() == [2, 1, 4]  # each with its loop
    assert found.non_zeros.tolist() == [8, 8, 8]


def test_the_command_prices_by_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, design = write(tmp_path / "sizes.npz"), next(api.sample(1, seed=3)).save(tmp_path / "design.json")
    assert main(["price", str(design), "--degrees", str(path), "--json"]) == 0
    assert '"latency_cycles"' in capsys.readouterr().out
    for more in (["--dataset", "cora"], ["--target", "array"]):
        assert main(["price", str(design), "--degrees", str(path), *more]) == 2
        assert capsys.readouterr().err.startswith("fgnas: --degrees is a graph by its sizes")


def test_an_array_needs_the_edges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "sizes.npz")
    assert main(["sample", "--target", "array"]) == 0
    designs = tmp_path / "designs.jsonl"
    designs.write_text(capsys.readouterr().out)
    assert main(["price", str(designs), "--degrees", str(path)]) == 2
    assert "an array's cycles follow from its edges" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"classes": None}, "there is no classes"),
        ({"degrees": np.array([0.5])}, "degrees is float64"),
        ({"degrees": np.array([2, -1])}, r"degrees\[1\] is -1"),
        ({"degrees": np.zeros(0, int)}, "degrees has 0 nodes"),
        ({"features": np.array([3, 4])}, "features is not a whole number"),
        ({"features": 20_000}, "features is 20000; the kernel takes up to 16384"),
        ({"classes": 1}, "classes is not a whole number from 2 on"),
        ({"non_zeros": np.array([1, 9, 1])}, r"non_zeros\[1\] is 9, not 0 to 8"),
        ({"non_zeros": np.array([1])}, "non_zeros has 1 nodes, and degrees 3"),
    ],
)
def test_a_fault_is_one_line(tmp_path: Path, fields: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words) as found:
        Degrees.read(write(tmp_path / "sizes.npz", **fields))
    assert "\n" not in str(found.value)
