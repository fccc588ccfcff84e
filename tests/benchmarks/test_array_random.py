"""The benchmark of arrays at random sizes: what it draws, and some of its builds with three networks each."""

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fgnas.activations import NAMES
from fgnas.design import VECTORS
from fgnas.errors import UserError
from fgnas.hardware.array import reference
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.programme import Operation, Target

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def arrays(monkeypatch):
    pytest.importorskip("diskcache", reason="needs diskcache: pip install 'fgnas[dev]'")
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("array_random")


@pytest.fixture
def drawing(arrays):
    return importlib.import_module("array_networks")


@pytest.mark.parametrize("number", [2, 4, 12, 37])
def test_what_is_drawn(arrays, drawing, number: int) -> None:
    """One engine takes all networks as they were arranged; a seed gives the same ones again."""
    engine, cases = arrays.cases_of(number)
    assert {case.array.engine for case in cases} == {engine}
    assert engine.units == drawing.UNITS[number % 10] and engine.bits in drawing.ANY_BITS
    of_name = {case.data.name: case.data for case in cases}
    assert list(of_name) == ["sparse", "dense", "hub", "few rows", "one node"]
    assert of_name["few rows"].nodes < engine.units and of_name["one node"].nodes == 1
    assert of_name["hub"].nodes > arrays.HUB
    assert (of_name["sparse"].non_zeros == 0).any() and of_name["sparse"].degrees.min() == 1
    if number < drawing.PLAIN_ENGINES:
        assert of_name["hub"].degrees.max() > arrays.HUB
    again = arrays.cases_of(number)[1]
    for one, other in zip(cases, again, strict=True):
        assert one.array.source.design == other.array.source.design and one.array.engine == other.array.engine
        assert one.data.fingerprint == other.data.fingerprint
        assert all(np.array_equal(a.weight, b.weight)
                   for a, b in zip(one.network.layers, other.network.layers, strict=True))  # fmt: skip


@pytest.mark.parametrize("number", [1, *(pytest.param(one, marks=pytest.mark.slow) for one in (5, 11, 28, 37))])
def test_networks_share_a_build(arrays, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All logits in RTL and C++, all phases, of plain engines and of others; and a logit that is wrong is found in
    both."""
    engine = arrays.measured(number, tmp_path, networks=3)
    assert engine["warnings"] == {"rtl": 0, "cpp": 0}
    page = arrays.page({"shown": ["engine"], "engine": engine})
    assert "| warnings of Verilator and slang; of g++ | 0 | 0 |" in page and "| graph: hub | 1 |" in page
    found = engine["networks"]
    assert [one["graph"] for one in found] == ["sparse", "dense", "hub"]
    assert [one["built"] for one in found] == [True, False, False]
    right = {"rtl_mismatches": 0, "protocol_errors": 0, "cycle_difference": 0, "phase_differences": 0,
             "cpp_mismatches": 0, "failed_checks": 0}  # fmt: skip
    for one in found:
        assert {name: one[name] for name in right} == right
        assert one["logits"] >= 2 * (one["graphs"] or one["nodes"]) and one["different_logits"] >= 10

    case = arrays.cases_of(number, 3)[1][1]
    run = arrays.reference.run_region

    def wrong(encoded) -> np.ndarray:
        region = run(encoded)
        region[0, 0] ^= 1
        return region

    monkeypatch.setattr(arrays.reference, "run_region", wrong)
    changed = arrays.ran(case, tmp_path, tmp_path / "wrong")
    assert (changed["rtl_mismatches"], changed["cpp_mismatches"], changed["built"]) == (1, 1, False)


@pytest.mark.slow
def test_everything_is_drawn(arrays) -> None:
    """Each operator and each option of an engine occurs in at least four networks among those of all engines."""
    engines = []
    for number in range(arrays.ENGINES):
        engine, cases = arrays.cases_of(number)
        networks = [arrays.described(case, case.encoded()) for case in cases]
        engines.append({name: getattr(engine, name) for name in ("bits", "beat_bits", "shared", "finished")}
                       | {"networks": networks})  # fmt: skip
    found = arrays.drawn(engines)
    both = ("linear",)
    names = [one for one in (*VECTORS, *NAMES, "constant", "gcn", "add", "mean", "max", "mlp") if one not in both]
    names += [f"{kind} {one}" for one in both for kind in ("attention", "activation")]
    names += [f"numbers of {bits} bits" for bits in (6, 8, 10, 16)]
    names += [f"{count} units share a table" for count in (2, 4, 8, 16)]
    names += [f"lanes finished in a cycle: {count}" for count in (1, 2, 4)]
    names += ["node sampling", "slices of W", "blocks of H", "several passes", "a readout of several graphs",
              "rows that add own rows", "heads of the last layer, averaged by its sum",
              "heads of the last layer, each with its own softmax or maximum"]  # fmt: skip
    assert {name: found.get(name, 0) for name in names if found.get(name, 0) < 4} == {}
    plain = arrays.drawn(engines[:10])
    assert not {*VECTORS, "mlp", "node sampling", "slices of W"} & set(plain)


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_are_added_are_defined(drawing, seed: int) -> None:
    """Without them the programme gives the network's logits; with them others, whatever the memory held before."""
    rng = np.random.default_rng(seed)
    size = drawing.Size(4, 256, 8, 2, scores=("gat", "gene-linear"), residual=True, plain=False)
    case = None
    while case is None or case.adds is None:
        try:
            case = drawing.random_case(size, drawing.dense(rng, 4), rng)
        except UserError:
            continue
    plain = encode_array(case.array, case.data, case.further)
    found = case.encoded()
    added = [one for one in found.programme if one.residual]
    quiet = replace(found, programme=tuple(replace(one, residual=0) for one in found.programme))
    assert np.array_equal(reference.run(quiet), reference.run(plain))
    for one in added:
        assert one.operation == Operation.SPARSE and one.target in (Target.OWN, Target.LOGITS)
    machine = reference.Machine(found.accelerator.engine)
    machine.own += 1
    logits = machine.execute(found.programme, found.regions)
    assert np.array_equal(found.logit_region(logits), reference.run_region(found))
