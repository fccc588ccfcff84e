"""Random programmes on engines that offer more than networks take: RTL and C++ against the integer reference, and the
cycles of every phase of the RTL as predicted."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from arrays import random_data, random_source, shared_array
from levels import quick
from programmes import random_network, with_attention, with_long_sums, with_partial_sums, with_residuals
from readouts import engine_for, readout_network

from fgnas.backends.array import write_encoded, write_vectors
from fgnas.errors import UserError
from fgnas.hardware.array import reference
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.encoded import EncodedArray
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.placing import fit, readout
from fgnas.hardware.array.programme import (
    PORT_WIDTHS,
    STATUS_BITS,
    Descriptor,
    Operation,
    Region,
    Target,
    programme_beats,
)
from fgnas.tools.csim import run_bench, run_csim
from fgnas.tools.lint import lint
from fgnas.tools.simulate import run_simulation


def residuals(seed: int) -> EncodedArray:
    """Rows that add own rows."""
    rng = np.random.default_rng(seed)
    encoded = random_network(rng, 2 + seed % 2, residual=True)
    found = with_residuals(encoded, rng)
    assert any(one.residual for one in found.programme)
    return found


def partial_sums(seed: int) -> EncodedArray:
    """Phases that continue from partial sums; every other engine also adds own rows."""
    rng = np.random.default_rng(seed)
    encoded = random_network(rng, 2 + seed % 2, residual=bool(seed % 2))
    found = with_partial_sums(with_residuals(encoded, rng) if seed % 2 else encoded, rng)
    assert sum(one.accumulate for one in found.programme) > 1
    return found


def attention(seed: int) -> EncodedArray:
    """Scores and quotients on an engine that keeps partial sums, and adds own rows."""
    rng = np.random.default_rng(seed)
    return with_partial_sums(with_attention(rng, 2 + seed % 2, residual=True), rng)


def readouts(seed: int) -> EncodedArray:
    """Logits of a batch of graphs: sums, maxima and means."""
    aggregation = ("add", "max", "mean")[seed % 3]
    _, data, graphs = readout_network(seed, aggregation)
    array = engine_for(seed, aggregation, (4, 6, 2)[seed % 3], PORT_WIDTHS[seed % 3])
    return encode_array(array, data, (readout(data, graphs),))


def shared_tables(seed: int) -> EncodedArray:
    """Units that share tables: 2 to 16 of them one."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    found = encode_array(shared_array(rng, random_source(rng, 2, data, heads=(1, 2)), data), data)
    assert found.accelerator.engine.shared > 1
    return found


KINDS = {"readout": readouts, "residual": residuals, "partial": partial_sums, "attention": attention,
         "shared": shared_tables}  # fmt: skip
"""Programmes by what their engines offer."""
Programme = Callable[[int], EncodedArray]


def programmes(quickest: dict[str, int], others: dict[str, tuple[int, ...]]) -> list[object]:
    """Quick cases, and slow ones; those of partial sums and of shared tables run where theirs are refused."""
    cases = [pytest.param(KINDS[kind], seed, id=f"{kind}-{seed}") for kind, seed in quickest.items()]
    slow = [(kind, seed) for kind, seeds in others.items() for seed in seeds]
    return cases + [pytest.param(KINDS[kind], seed, id=f"{kind}-{seed}", marks=pytest.mark.slow) for kind, seed in slow]


CASES = programmes(
    {"attention": 0, "readout": 1},
    {"readout": (0, 2, 5), "residual": (0, 2, 3, 6, 7), "partial": (0, 1, 2, 4, 5, 7), "attention": (1, 2, 3, 4),
     "shared": (0, 3, 4, 5, 10, 12, 13, 15)},
)  # fmt: skip


@pytest.mark.parametrize(("programme", "seed"), CASES)
def test_a_random_programme_runs_twice(programme: Programme, seed: int, tmp_path: Path) -> None:
    check_runs(programme(seed), tmp_path)


def check_runs(encoded: EncodedArray, folder: Path) -> None:
    """In RTL without a warning of the linters, again without a reset, and on a memory that stalls; in C++ without a
    warning of the compiler."""
    assert len(np.unique(reference.run(encoded))) > 2
    write_encoded(encoded, folder)
    found = [line for line in lint(folder / "rtl").splitlines() if re.search("warning:|error:|%", line)]
    assert [line for line in found if "unused package" not in line] == []
    report = run_simulation(folder, runs=2)
    assert (report["mismatches"], report["status"], report["protocol_errors"]) == (0, 0, 0), report
    assert (report["cycle_difference"], report["phase_differences"]) == (0, 0), report
    assert report["logits"] == encoded.outputs * encoded.accelerator.source.shape.classes
    stalled = run_simulation(folder, stall_seed=5)
    assert (stalled["mismatches"], stalled["status"], stalled["protocol_errors"]) == (0, 0, 0), stalled
    report = run_csim(folder, quick())
    assert (report["mismatches"], report["failed_checks"]) == (0, 0), report
    assert (folder / "build" / "csim" / "compile.log").read_text() == ""


Wrong = tuple[str, Callable[[Descriptor], bool], dict[str, int]]
"""A bit of the status, whether a descriptor can be the wrong one, and its wrong fields."""


def sums(d: Descriptor) -> bool:
    """Rows of a stream that stay with their unit."""
    return d.operation == Operation.SPARSE and d.target == Target.OWN


def goes_on(d: Descriptor) -> bool:
    """Rows that are not finished."""
    return d.target == Target.PARTIAL


def refusals(encoded: EncodedArray) -> dict[str, Wrong]:
    """Descriptors that are each wrong in one way."""
    engine, bad, over = encoded.accelerator.engine, "bad_descriptor", "memory_over_capacity"
    rows = {"residual": 1}
    return {
        "a residual of a shift that is not offered": (bad, sums, rows | {"residual_shift": len(engine.shifts)}),
        "a residual of rows for the tables": (bad, lambda d: d.target == Target.TABLE and d.operation > 1, rows),
        "own rows that are not there": (over, sums, rows | {"own_base": engine.own_words}),
        "scores of partial sums": (bad, goes_on, {"operation": Operation.ATTEND}),
        "a load of partial sums": (bad, lambda d: d.operation == Operation.LOAD, {"target": Target.PARTIAL}),
        "a load that goes on": (bad, lambda d: d.operation == Operation.LOAD, {"accumulate": 1}),
        "a pair": (bad, sums, {"pair": 1}), "spare bits": (bad, sums, {"spare_high": 8}),
        "nearest points of no chain": (bad, sums, {"region": Region.NEIGHBOURS}),
        # Bits in which engines with nearest points have further fields.
        **{f"spare bit {bit}": (bad, sums, {"spare_high": 1 << bit}) for bit in range(3)},
        "spare bits beside a residual": (bad, sums, rows | {"spare_high": 2}),
    }  # fmt: skip


def wrong_programmes(encoded: EncodedArray) -> dict[str, tuple[int, EncodedArray]]:
    """The status that each must have, and the programme."""
    found = {}
    for what, (bit, chosen, fields) in refusals(encoded).items():
        place = next(number for number, one in enumerate(encoded.programme) if chosen(one))
        steps = list(encoded.programme)
        steps[place] = replace(steps[place], **fields)
        beats = programme_beats(steps, encoded.accelerator.engine.beat_bits)
        regions = encoded.regions | {"programme": beats}
        found[what] = 1 << STATUS_BITS[bit], replace(encoded, programme=tuple(steps), regions=regions)
    found["partial sums that are not there"] = 1 << STATUS_BITS["memory_over_capacity"], with_long_sums(encoded)
    return found


def test_what_an_engine_cannot_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In RTL and in C++, in a build that runs the right programme."""
    encoded = partial_sums(3)
    check_runs(encoded, tmp_path)
    golden = reference.run_region(encoded)
    monkeypatch.setattr(reference, "run_region", lambda _: golden)
    for number, (what, (status, wrong)) in enumerate(wrong_programmes(encoded).items()):
        write_vectors(wrong, tmp_path / str(number))
        found = run_bench(tmp_path, quick(), tmp_path / "build" / "csim", vectors=tmp_path / str(number))
        assert found["first_mismatch"] == f"first run: refused with status {status:#x}", what
        write_vectors(wrong, tmp_path / "vectors")
        with pytest.raises(UserError, match=f"refused the graph: status {status:#x};"):
            run_simulation(tmp_path)


def test_a_bank_that_is_asked_for_two_words_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The streams of the same network on units that share no table: in RTL and in C++ the schedule is broken."""
    encoded = shared_tables(7)
    array, data = encoded.accelerator, random_data(np.random.default_rng(7))
    plans, engine = array.plans, array.engine
    alone = fit(
        array.source,
        data,
        Arrangement(
            engine.units,
            [plans[0].aggregate.n],
            split=plans[-1].aggregate.k,
            beat_bits=engine.beat_bits,
            passes=plans[0].passes,
            results=engine.results,
        ),
    )
    other = encode_array(alone, data)
    wrong = replace(encoded, programme=other.programme, regions=other.regions)
    with pytest.raises(AssertionError, match="no bank is asked for two words"):
        reference.run_region(wrong)
    check_runs(encoded, tmp_path)
    golden, status = reference.run_region(encoded), 1 << STATUS_BITS["schedule_broken"]
    monkeypatch.setattr(reference, "run_region", lambda _: golden)
    write_vectors(wrong, tmp_path / "vectors")
    found = run_bench(tmp_path, quick(), tmp_path / "build" / "csim", vectors=tmp_path / "vectors")
    assert found["first_mismatch"] == f"first run: refused with status {status:#x}"
    with pytest.raises(UserError, match=f"refused the graph: status {status:#x};"):
        run_simulation(tmp_path)
