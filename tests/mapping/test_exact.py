"""The exact front: two steps by hand, then brute force over every mapping of random chains."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fgnas.mapping.chain import NO_SHORTCUT, Chain, transitions
from fgnas.mapping.exact import Limits, exact_front, front_of, within


def chain_of(cost: object, send: object, receive: object, shortcut: object = None, offset: object = (0, 0)) -> Chain:
    """A chain that supports every step on every unit."""
    cost = np.asarray(cost, np.int64)
    n, m, _ = cost.shape
    links = np.full(n, NO_SHORTCUT) if shortcut is None else np.asarray(shortcut)
    return Chain(
        tuple(map(str, range(n))), tuple("abc"[:m]), cost, np.ones((n, m), bool),
        np.broadcast_to(np.asarray(send, np.int64), cost.shape),
        np.broadcast_to(np.asarray(receive, np.int64), cost.shape), links, np.asarray(offset, np.int64),
    )  # fmt: skip


def test_two_steps_by_hand() -> None:
    """Unit a is fast, b thrifty; a change of unit costs (1 + 2, 1 + 0)."""
    chain = chain_of([[[1, 9], [5, 2]], [[2, 8], [6, 1]]], (1, 1), (2, 0), offset=(10, 20))
    front = exact_front(chain)
    # aa = 3, 17; ab = 1 + 3 + 6, 9 + 1 + 1; ba = 5 + 3 + 2, 2 + 1 + 8; bb = 11, 3.
    assert front.costs.tolist() == [[13, 37], [20, 31], [21, 23]]
    assert front.mappings[[0, 2]].tolist() == [[0, 0], [1, 1]]


def test_a_shortcut_by_hand() -> None:
    """Step 2 reads step 0's output again: free on the units that hold it, received elsewhere, sent once."""
    chain = chain_of(np.zeros((3, 3, 2)), (1, 0), (10, 0), [NO_SHORTCUT, NO_SHORTCUT, 0])
    every = np.array(list(itertools.product(range(3), repeat=3)))
    times = {"".join("abc"[u] for u in one): time for one, (time, _) in zip(every, chain.costs(every), strict=True)}
    assert times["aaa"] == 0
    assert times["aab"] == 11 + 1 + 10  # step 1's output, and step 0's, which had not been sent
    assert times["aba"] == 11 + 11  # its maker still holds it
    assert times["abb"] == 11  # received for step 1 already
    assert times["abc"] == 11 + 11 + 10  # sent for step 1 already


def test_front_of_rows() -> None:
    rows = np.array([[3, 1], [1, 5], [2, 5], [1, 4], [3, 0], [2, 4]])
    assert rows[front_of(rows)].tolist() == [[1, 4], [3, 0]]
    assert front_of(np.empty((0, 2), np.int64)).tolist() == []


def random_chain(rng: np.random.Generator, n: int, m: int) -> Chain:
    """Costs of either sign, absent units, and shortcuts that do not overlap."""
    supported = rng.random((n, m)) > 0.2
    supported[np.arange(n), rng.integers(m, size=n)] = True
    shortcut, place = np.full(n, NO_SHORTCUT), 0
    while place < n - 2:
        if rng.random() < 0.5:
            reader = int(rng.integers(place + 2, n))
            shortcut[reader], place = place, reader
        else:
            place += 1
    cost = rng.integers(-5, 30, (n, m, 2)) * supported[:, :, None]
    send, receive = rng.integers(0, 9, (2, n, m, 2))
    names, units = tuple(map(str, range(n))), tuple("abc"[:m])
    return Chain(names, units, cost, supported, send, receive, shortcut, np.array([400, 400]))


def every_mapping(chain: Chain) -> np.ndarray:
    units = [np.flatnonzero(row) for row in chain.supported]
    return np.array(list(itertools.product(*units)), np.int8)


def limits_of(chain: Chain, mappings: np.ndarray, rng: np.random.Generator) -> list[Limits]:
    """No limit, each limit alone where it cuts, and all together."""
    costs = chain.costs(mappings)
    time, energy = (int(np.quantile(costs[:, which], rng.uniform(0, 1))) for which in (0, 1))
    ratio = rng.choice(len(costs))
    power = Fraction(int(costs[ratio, 1]), int(costs[ratio, 0]))
    most = int(rng.integers(0, 4))
    return [
        Limits(), Limits(time=time), Limits(energy=energy), Limits(power=power), Limits(transitions=most),
        Limits(time, energy, power, most),
    ]  # fmt: skip


def compare_with_brute_force(seed: int, n: int, m: int) -> None:
    """The exact front within limits is the front of all mappings within them."""
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, n, m)
    mappings = every_mapping(chain)
    for limits in limits_of(chain, mappings, rng):
        found, expected = exact_front(chain, limits), within(chain, mappings, limits)
        np.testing.assert_array_equal(found.costs, expected.costs)
        np.testing.assert_array_equal(chain.costs(found.mappings), found.costs)
        assert limits.kept(found.costs, transitions(found.mappings)).all()
        assert chain.supported[np.arange(n), found.mappings].all()


CHAINS = given(st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 3))


@settings(max_examples=60, deadline=None)
@CHAINS
def test_every_mapping_of_random_chains(seed: int, n: int, m: int) -> None:
    compare_with_brute_force(seed, n, m)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@CHAINS
def test_every_mapping_of_500_random_chains(seed: int, n: int, m: int) -> None:
    compare_with_brute_force(seed, n, m)


def test_a_power_limit_is_not_a_filter_of_the_front() -> None:
    """(10, 20) dominates (20, 21), but only the latter keeps a power of 3/2."""
    chain = chain_of([[[10, 20], [20, 21]]], (0, 0), (0, 0))
    assert exact_front(chain).costs.tolist() == [[10, 20]]
    assert exact_front(chain, Limits(power=Fraction(3, 2))).costs.tolist() == [[20, 21]]


def test_nothing_within_the_limits() -> None:
    chain = chain_of([[[10, 20], [20, 21]]], (0, 0), (0, 0))
    front = exact_front(chain, Limits(time=9))
    assert front.costs.shape == (0, 2) and front.mappings.shape == (0, 1)


@pytest.mark.parametrize(("most", "times"), [(0, [20]), (1, [14]), (2, [6])])
def test_a_limit_on_transitions(most: int, times: list[int]) -> None:
    """Unit a is fast in the outer steps, b in the middle; a change of unit takes 1."""
    cost = [[[1, 0], [10, 0]], [[18, 0], [2, 0]], [[1, 0], [10, 0]]]
    chain = chain_of(cost, (1, 0), (0, 0))
    assert exact_front(chain, Limits(transitions=most)).costs[:, 0].tolist() == times
