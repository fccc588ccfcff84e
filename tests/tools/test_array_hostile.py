"""The array in the hands of a host that flips bits of programmes, rewrites arguments of a run and stops runs.

Never wrong logits with status 0, never a write outside the logits, always an end, and the run behind is right. A long
test prints what it counted: `pytest -s`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from array_bus import Bench, Run
from bus import assert_right

from fgnas.hardware.array.programme import STATUS_BITS

WRONG, STOPPED = (1 << STATUS_BITS[name] for name in ("wrong_programme_or_engine", "stopped"))
TOGETHER = 250
"""Runs of one simulation."""
PARTS = 12
"""Parts of the long tests; each can run alone, as `-k part0`."""
in_parts = pytest.mark.parametrize("part", [pytest.param(part, id=f"part{part}") for part in range(PARTS)])


@pytest.fixture(
    scope="module", params=[(512, False), pytest.param((128, False), marks=pytest.mark.slow),
                            pytest.param((256, True), marks=pytest.mark.slow)],
    ids=["512", "128", "attention"],
)  # fmt: skip
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("hostile"), *request.param)


def answers(bench: Bench, runs: Sequence[Run]) -> Iterator[tuple[Run, dict[str, Any]]]:
    """Every run with its result; each simulation ends with a plain run, which must be right."""
    for first in range(0, len(runs), TOGETHER):
        some = runs[first : first + TOGETHER]
        *found, last = bench.run(*some, bench.plain)
        assert_right(bench.plain, last)
        yield from zip(some, found, strict=True)


def check(bench: Bench) -> int:
    """The check of the plain run."""
    return bench.plain.values()["check"]


def flipped(bench: Bench, bits: Sequence[int]) -> Run:
    """The run with some bits of the programme flipped, and the check that it had before."""
    programme = bytearray(bench.plain.regions["programme"])
    for bit in bits:
        programme[bit // 8] ^= 1 << bit % 8
    return replace(bench.plain, regions=bench.plain.regions | {"programme": bytes(programme)}, check=check(bench))


def covered(bench: Bench) -> np.ndarray:
    """The bits of the programme's region that are a descriptor's."""
    bits = np.arange(8 * len(bench.plain.regions["programme"]))
    return bits[bits % max(256, bench.beat_bits) < 256]


def flips(bench: Bench, runs: int, seed: int = 0) -> dict[str, int]:
    """Run programmes with one to eight flipped bits; how many were refused, which all must be."""
    rng, places = np.random.default_rng([4, seed]), covered(bench)
    wanted = [flipped(bench, rng.choice(places, min(1 + number % 12, 8), replace=False)) for number in range(runs)]
    counts = {"refused": 0}
    for _, result in answers(bench, wanted):
        assert result["ended"] and result["status"] == WRONG and result["touched"] == []
        counts["refused"] += 1
    return counts


def test_flipped_programmes(bench: Bench) -> None:
    flips(bench, 40)


@pytest.mark.slow
@in_parts
def test_many_flipped_programmes(bench: Bench, part: int) -> None:
    """3,000 in all."""
    print(f"{bench.beat_bits} bits, flipped: {flips(bench, 3_000 // PARTS, part)}")


def test_other_programmes_and_engines(bench: Bench) -> None:
    """A programme that was encoded for another engine, one that misses a step, has one twice or none, and other checks.
    What no array reads may be anything."""
    steps, plain = len(bench.encoded.programme), replace(bench.plain, check=check(bench))
    wrong = [replace(plain, descriptors=count) for count in (0, 1, steps - 1)]
    wrong += [replace(plain, check=check(bench) ^ 1 << bit) for bit in range(32)]
    wrong += [replace(bench.plain, engine=bench.plain.engine ^ 1 << bit) for bit in range(0, 32, 5)]
    size = len(plain.regions["programme"]) // steps
    content = plain.regions["programme"]
    for changed in (content[size:] + content[:size], content[:size] + content[:-size], bytes(len(content))):
        wrong.append(replace(plain, regions=plain.regions | {"programme": changed}))
    for _, result in answers(bench, wrong):
        assert result["ended"] and result["status"] == WRONG and result["touched"] == []
    further = plain.regions | {"programme": content + bytes(range(bench.beat_bytes))}
    assert_right(plain, bench.run(replace(plain, regions=further))[0])


def rewritten(bench: Bench, seeds: range) -> None:
    """Runs whose arguments are rewritten are right, and so are the next ones, whose arguments the host sets again."""
    runs = [replace(bench.plain, rewrites=seed, stall_seed=seed, stall_share=(0.0, 0.4)[seed % 2]) for seed in seeds]
    for run, result in answers(bench, runs):
        assert_right(run, result)


def test_rewritten_arguments(bench: Bench) -> None:
    rewritten(bench, range(4))


@pytest.mark.slow
@in_parts
def test_many_rewritten_arguments(bench: Bench, part: int) -> None:
    """204 runs in all."""
    rewritten(bench, range(17 * part, 17 * (part + 1)))


def stops(bench: Bench, times: Sequence[int], every: int = 1) -> dict[str, int]:
    """Stop runs after so many cycles, with and without a resting memory, and a plain one behind `every` of them; how
    many stopped, and the cycles it took."""
    runs = []
    for number, cycles in enumerate(times):
        share = (0.0, 0.5)[number % 2]
        runs.append(replace(bench.plain, stop_after=cycles, stall_seed=number, stall_share=share))
        runs += [bench.plain] * (number % every == 0)
    stopped = longest = 0
    for run, result in answers(bench, runs):
        if run.stop_after is None or result["status"] == 0:
            assert_right(run, result)
        else:
            assert result["ended"] and result["status"] == STOPPED
            stopped, longest = stopped + 1, max(longest, result["cycles_to_stop"])
    return {"stopped": stopped, "longest": longest}


def test_stopped_runs(bench: Bench) -> None:
    assert stops(bench, range(0, 1100, 100), every=4)["stopped"] > 5


@pytest.mark.slow
@in_parts
def test_many_stopped_runs(bench: Bench, part: int) -> None:
    """204 in all, at cycles of their own."""
    print(f"{bench.beat_bits} bits, stopped: {stops(bench, range(5 * part, 1020, 5 * PARTS), every=4)}")


def test_a_stop_of_nothing(bench: Bench) -> None:
    """A stop behind a run is forgotten."""
    late = replace(bench.plain, stop_after=4_000)
    for result in bench.run(late, bench.plain):
        assert_right(bench.plain, result)
