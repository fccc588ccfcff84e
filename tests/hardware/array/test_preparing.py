"""Graphs that a host makes ready: the arguments of a start, byte by byte those that are encoded."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from chains import LAYERS, POOLS, ChainOfGraphs, imported_chain, random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from pyg_models import settled

from fgnas.errors import UserError
from fgnas.hardware.array.chains import ChainArray, chain_of, preparation_of
from fgnas.hardware.array.choosing import Room, deliverable_operations
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.operations import OperationNetwork
from fgnas.hardware.array.preparing import Preparation
from fgnas.tasks.collection import Collection


def prepared(source: OperationNetwork, room: Room) -> tuple[ChainArray, Preparation]:
    """The fastest array for a chain, and what makes graphs ready for it."""
    array = deliverable_operations(source, room)
    assert isinstance(array, ChainArray)
    found = preparation_of(array.encoded)
    assert found is not None
    return array, found


def encoded(array: ChainArray, other: OperationNetwork, most_entries: int) -> dict[str, Any]:
    """The arguments of a start for the graphs of another import of the same model."""
    chain = chain_of(other)
    assert chain is not None
    roomy = replace(chain, shape=replace(chain.shape, degree_capacity=most_entries))
    first, *further = chain.graphs
    made = ArrayAccelerator(roomy, array.engine, array.accelerator.plans)
    return encode_array(made, first, further).arguments()


def arguments(prepare: Preparation, data: Collection) -> dict[str, Any]:
    return prepare(data.features.toarray(), data.edge_index, data.graph)


def same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, name)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1 << 20), kinds=st.lists(st.sampled_from(sorted(LAYERS)), min_size=1, max_size=3),
    pool=st.sampled_from(sorted(POOLS)), bits=st.integers(4, 10), multipliers=st.sampled_from([8, 32, 64, 256]),
    beat_bits=st.sampled_from([128, 256, 512]),
)  # fmt: skip
def test_the_same_as_encoded(
    seed: int, kinds: list[str], pool: str, bits: int, multipliers: int, beat_bits: int
) -> None:
    rng, data = np.random.default_rng(seed), random_graphs(seed)
    torch.manual_seed(seed)
    model = settled(ChainOfGraphs(kinds, pool, 6, int(rng.integers(3, 20)), 2), seed)
    largest = np.sort(np.argsort(np.bincount(data.graph))[-6:])
    array, prepare = prepared(imported_chain(model, data, bits, largest), Room(multipliers, beat_bits))
    same(arguments(prepare, data.part(largest)), array.encoded.arguments())
    for count in (1, 3, 12):
        rows = np.sort(rng.choice(40, count, replace=False))
        other = imported_chain(model, data, bits, rows)
        try:
            wanted = encoded(array, other, prepare.network.facts.most_entries)
        except UserError as error:
            assert "the graph needs" in str(error)
            with pytest.raises(UserError, match="of the array do not hold the graphs"):
                arguments(prepare, data.part(rows))
            continue
        same(arguments(prepare, data.part(rows)), wanted)


@pytest.fixture(scope="module")
def small() -> tuple[Collection, Preparation]:
    data = random_graphs(3)
    torch.manual_seed(3)
    model = settled(ChainOfGraphs(["GCN", "SAGE"], "mean", 6, 8, 2), 3)
    largest = np.argsort(np.bincount(data.graph))[-6:]
    return data, prepared(imported_chain(model, data, 8, largest), Room(16))[1]


def test_a_file_keeps_it(small: tuple[Collection, Preparation], tmp_path: Path) -> None:
    data, prepare = small
    prepare.save(tmp_path / "p.npz")
    part = data.part(np.array([5]))
    same(arguments(Preparation.load(tmp_path / "p.npz"), part), arguments(prepare, part))
    content = (tmp_path / "p.npz").read_bytes()
    (tmp_path / "p.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match="is damaged, or of another version"):
        Preparation.load(tmp_path / "p.npz")
    with pytest.raises(UserError, match=r"cannot read .*: No such file"):
        Preparation.load(tmp_path / "none.npz")


def test_without_a_batch_all_are_one_graph(small: tuple[Collection, Preparation]) -> None:
    data, prepare = small
    one = data.part(np.array([7]))
    x = torch.from_numpy(one.features.toarray())
    same(prepare(x, torch.from_numpy(one.edge_index)), arguments(prepare, one))


X, EDGES = np.ones((4, 6), np.float32), np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
STAR = np.array([[0, one] for one in range(1, 14)] + [[one, 0] for one in range(1, 14)]).T
WRONG = {
    "features": ((X[:, :5], EDGES), r"x has the shape \[4, 5\], not \[nodes, 6\]"),
    "nothing": ((X[:0], EDGES[:, :0]), r"x has the shape \[0, 6\]"),
    "edges": ((X, EDGES[0]), r"edge_index has the shape \[4\], not \[2, edges\]"),
    "batch": ((X, EDGES, np.zeros(3)), r"batch has the shape \[3\], not \[4\]"),
    "no number": ((np.where(X, np.nan, X), EDGES), "x has a number that is none"),
    "no node": ((X, EDGES + 2), "edge_index names a node that x does not have"),
    "before the first": ((X, EDGES - 1), "edge_index names a node that x does not have"),
    "loop": ((X, np.array([[0, 1, 2], [1, 0, 2]])), "an edge from a node to itself"),
    "twice": ((X, np.concatenate([EDGES, EDGES], axis=1)), "the graph has an edge twice"),
    "one way": ((X, EDGES[:, :3]), "without the one in the other direction"),
    "between": ((X, EDGES, np.array([0, 0, 1, 1])), "an edge connects nodes of two graphs"),
    "order": ((X, EDGES[:, :2], np.array([0, 0, 2, 2])), "batch does not number the graphs"),
    "later": ((X, EDGES[:, :2], np.array([1, 1, 2, 2])), "batch does not number the graphs"),
    "degree": ((np.ones((14, 6)), STAR), "a node has more neighbours than any in the data"),
    "size": ((np.ones((30, 6)), EDGES[:, :2]), "a graph has more nodes than any in the data"),
    "memory": ((np.ones((6000, 6)), EDGES[:, :0], np.arange(6000)), "of the array do not hold the graphs"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_graphs_are_refused(small: tuple[Collection, Preparation], case: str) -> None:
    given, message = WRONG[case]
    with pytest.raises(UserError, match=message):
        small[1](*given)


def test_sums_that_are_too_narrow_are_said() -> None:
    """On an array that is built for graphs of one and of two nodes, a graph of twelve."""
    data = random_graphs(3)
    sizes = np.bincount(data.graph)
    model = settled(ChainOfGraphs(["GraphConv"], "add", 6, 8, 2), 3)
    small = np.concatenate([np.flatnonzero(sizes == 1)[:1], np.flatnonzero(sizes == 2)[:1]])
    prepare = prepared(imported_chain(model, data, 8, small), Room(16))[1]
    with pytest.raises(UserError, match="the sums of the array do not hold a row of the graphs"):
        arguments(prepare, data.part(np.flatnonzero(sizes == 12)[:1]))
