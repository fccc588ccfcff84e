"""Memory: estimates by hand, the tensors that our networks really hold, and what a forked process needs."""

import weakref
from typing import Any

import numpy as np
import pytest
import torch
from hardware_measured_networks import TAIL, drawn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from fgnas.hardware.measured.memory import MAPPED_FROM, forked, fresh, live, printed
from fgnas.networks.points.baselines import BASELINES, baseline
from fgnas.networks.points.graphs import Batch
from fgnas.networks.points.model import PointModel
from fgnas.networks.points.operations import Aggregate, Combine, PointNetwork, Sample
from fgnas.networks.points.work import Cloud

CLOUD = Cloud(points=256, width=3, neighbours=16, classes=10)


class Alive(TorchDispatchMode):
    """Counts the bytes of the storages that are alive, and the most of them."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes, self.now, self.peak = dict[int, int](), 0, 0

    def __torch_dispatch__(self, function: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        found = function(*given, **(named or {}))
        for tensor in tree_iter(found):
            if isinstance(tensor, torch.Tensor):
                self._see(tensor.untyped_storage())
        return found

    def _see(self, storage: torch.UntypedStorage) -> None:
        if storage._cdata in self.sizes or not storage.nbytes():
            return
        self.sizes[storage._cdata] = storage.nbytes()
        self.now += storage.nbytes()
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._free, storage._cdata)

    def _free(self, key: int) -> None:
        self.now -= self.sizes.pop(key, 0)


def held(network: PointNetwork) -> int:
    """Bytes of tensors that a run really holds at its worst moment."""
    model = PointModel(network, CLOUD.width, CLOUD.classes).eval()
    x, batch = torch.randn(CLOUD.points, CLOUD.width), Batch((CLOUD.points,), CLOUD.neighbours)
    with torch.inference_mode():
        model(x, batch)
        with Alive() as alive:
            model(x, batch)
    return alive.peak


def test_live_by_hand() -> None:
    """Two combines: the second's linear map and norm beside the first's output. A graph: distances in 4 bytes and
    keys in 8 for each pair, and values and places of the nearest."""
    small = Cloud(points=10, width=3, neighbours=4, classes=2)
    assert live(PointNetwork((Combine(256), Combine(256)), TAIL), small) == 4 * 10 * 3 * 256
    found = live(PointNetwork((Sample("nearest"), Aggregate("max", "source")), TAIL), Cloud(100, 3, 4, 2))
    assert found == 100 * 100 * 12 + 4 * 100 + 2 * 8 * 400


def test_printed_by_hand() -> None:
    """Equations 6 to 10: indices of both ends, messages of both widths, features, all of them kept."""
    small = Cloud(points=10, width=3, neighbours=4, classes=2)
    network = PointNetwork((Sample("random"), Aggregate("max", "full"), Combine(8)), TAIL)
    graph, start = 2 * 8 * 40, 4 * 10 * 3
    assert printed(network, small) == max(start + graph + 4 * 40 * 13, start + graph + 4 * 10 * 10 + 4 * 10 * 8)


def test_live_is_what_our_networks_hold() -> None:
    """Random networks and the baselines; what is left out are scalars and rows of indices."""
    networks = [*drawn(60, 3, CLOUD), *(baseline(name, TAIL) for name in BASELINES)]
    pairs = np.array([(live(one, CLOUD), held(one)) for one in networks], float)
    ratio = pairs[:, 0] / pairs[:, 1]
    assert ratio.min() > 0.97 and ratio.max() < 1.1
    assert np.median(np.abs(ratio - 1)) < 0.01


def added(megabytes: int) -> int:
    """Bytes of memory that a run needs to fill so many megabytes."""
    return forked(lambda: np.ones(megabytes * 125_000))


@pytest.mark.parametrize("megabytes", [2, 40])
def test_what_a_fork_needs(megabytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MAPPED_FROM, raising=False)
    with fresh() as call:
        assert call(added, megabytes) == pytest.approx(1e6 * megabytes, rel=0.1)


def added_among_holes() -> int:
    """Bytes of memory that a run needs to fill one megabyte, free it and fill two, in a heap with a hole for each."""
    blocks: list[object] = [np.ones(60_000, np.uint8) for _ in range(1000)]
    for place in range(1000):
        if place % 60 not in (0, 20):
            blocks[place] = None
    return forked(lambda: [np.ones(megabytes * 125_000).sum() for megabytes in (1, 2)])


def test_holes_of_the_heap_are_not_used() -> None:
    """A freed block in a hole of the heap would stay resident, and the run would seem to need three megabytes."""
    with fresh() as call:
        assert call(added_among_holes) == pytest.approx(2e6, rel=0.1)
