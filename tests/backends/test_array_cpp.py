"""The array's C++ against the integer reference: random networks, several on a build, and streams that it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import cpp
import numpy as np
import pytest
from arrays import SCORED, SCORES_OF_ALL_KINDS, random_array, random_data, random_source, random_source_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from levels import quick
from support import random_design, random_graph

from fgnas.backends import array as back_end
from fgnas.backends.array import write_project, write_vectors
from fgnas.backends.project import Request, write
from fgnas.errors import UserError
from fgnas.hardware.array import programme
from fgnas.hardware.array.arrangement import Arrangement
from fgnas.hardware.array.encoded import EncodedArray
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import Engine, Mode, joined, table_banks
from fgnas.hardware.array.kind import FittedArray
from fgnas.hardware.array.lowering import ArrayAccelerator, default_columns, lower
from fgnas.hardware.array.placing import fit
from fgnas.hardware.array.programme import STATUS_BITS, Attention, Descriptor, Operation, Target, entry_beats
from fgnas.hardware.kind import Wanted
from fgnas.hardware.specification import Specification
from fgnas.hardware.wire import Layout
from fgnas.network import Network
from fgnas.tasks.nodes import GraphData, build
from fgnas.tools.csim import run_bench, run_csim

Case = tuple[ArrayAccelerator, GraphData]
PLAIN = ("gcn", "constant")
"""Attentions without scores."""


@dataclass(frozen=True)
class Built:
    """A project whose C++ is compiled; other networks run on its engine."""

    folder: Path
    array: ArrayAccelerator
    data: GraphData

    def run(self, encoded: EncodedArray, name: str = "other") -> dict:
        """Run other vectors on the same build."""
        write_vectors(encoded, self.folder / name)
        work = self.folder / "build" / "csim"
        before = (work / "csim").stat().st_mtime_ns
        report = run_bench(self.folder, quick(), work, vectors=self.folder / name)
        assert (work / "csim").stat().st_mtime_ns == before, "compiled again"
        return report


def compiled(array: ArrayAccelerator, data: GraphData, folder: Path) -> Built:
    """Write a project, compile it without a warning, and run its own network."""
    write_project(array, data, folder)
    assert_right(run_csim(folder, quick()), data)
    assert (folder / "build" / "csim" / "compile.log").read_text() == ""
    return Built(folder, array, data)


def assert_right(report: dict, data: GraphData) -> None:
    assert (report["mismatches"], report["failed_checks"]) == (0, 0), report
    assert report["logits"] == data.nodes * data.classes


def on_one_engine(cases: list[Case]) -> list[Case]:
    """The cases on the engine that runs them all."""
    engine = joined([array.engine for array, _ in cases])
    return [(array.on(engine), data) for array, data in cases]


def random_cases(
    rng: np.random.Generator, units: int, beat_bits: int, count: int, attentions: tuple[str, ...] = PLAIN
) -> Iterator[Case]:
    """Random networks of one to three layers, in any passes, each on a graph of its own; any words of H a cycle."""
    aggregations = ("add", "max", "mean")
    for number in range(count):
        data = random_data(rng)
        source = random_source(rng, 1 + number % 3, data, aggregations, attentions, (1, 2, 4))
        widest = [default_columns(layer, units) for layer in source.layers[:-1]]
        last = source.layers[-1]
        split = 1 if last.maximum or last.attends else int(rng.choice([1, 2])) if units % 2 == 0 else 1
        columns = [max(1, n // int(rng.integers(1, 3))) for n in widest]
        first = fit(source, data, Arrangement(units, columns, split=split, beat_bits=beat_bits)).plans[0]
        held = first.tiles // (first.head_tiles if first.attends else 1) if columns else 1
        passes = int(rng.choice([one for one in range(1, held + 1) if held % one == 0]))
        results = int(rng.choice([one for one in (1, 2, 4) if one <= table_banks(beat_bits)]))
        yield (
            fit(
                source,
                data,
                Arrangement(units, columns, split=split, beat_bits=beat_bits, passes=passes, results=results),
            ),
            data,
        )


def fitting(
    rng: np.random.Generator, units: int, beat_bits: int, attentions: tuple[str, ...] = PLAIN
) -> list[Case]:
    """Four random networks, or as many of them as one engine has modes and shifts for."""
    kept: list[Case] = []
    for case in random_cases(rng, units, beat_bits, 4, attentions):
        try:
            joined([array.engine for array, _ in [*kept, case]])
        except UserError:
            continue
        kept.append(case)
    return on_one_engine(kept)


SIZES = [(4, 128), (3, 512), (1, 256), (8, 256), (12, 512), (16, 128), (6, 512), (32, 512), (5, 128), (2, 256)]
QUICK = [(6, 512)]


@pytest.mark.parametrize(
    ("units", "beat_bits"), [pytest.param(*one, marks=() if one in QUICK else pytest.mark.slow) for one in SIZES]
)
def test_random_networks_share_a_build(units: int, beat_bits: int, tmp_path: Path) -> None:
    """Networks of several depths and widths, each with weights and a graph of its own, on one compiled engine."""
    cases = fitting(np.random.default_rng([units, beat_bits]), units, beat_bits)
    built = compiled(*cases[0], tmp_path / "p")
    for number, (array, data) in enumerate(cases[1:]):
        assert_right(built.run(encode_array(array, data), f"other{number}"), data)


ATTENDING = [(4, 256, SCORED), (4, 128, SCORES_OF_ALL_KINDS), (3, 128, SCORED), (8, 512, SCORED),
             (3, 128, SCORES_OF_ALL_KINDS), (8, 512, SCORES_OF_ALL_KINDS)]  # fmt: skip


@pytest.mark.parametrize(
    ("units", "beat_bits", "attentions"),
    [ATTENDING[1], *(pytest.param(*one, marks=pytest.mark.slow) for one in ATTENDING if one != ATTENDING[1])],
)
def test_networks_with_attention_share_a_build(
    units: int, beat_bits: int, attentions: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most layers have scores, of formats of their own, whose differences the engine's one table takes."""
    cases = fitting(np.random.default_rng([units, beat_bits, 1]), units, beat_bits, attentions)
    assert sum(plan.attends for array, _ in cases for plan in array.plans) > 1
    built = compiled(*cases[0], tmp_path / "p")
    for number, (array, data) in enumerate(cases[1:]):
        assert_right(built.run(encode_array(array, data), f"other{number}"), data)
    if attentions == SCORED:
        attending = next(case for case in cases if any(plan.attends for plan in case[0].plans))
        encoded = encode_array(*attending)
        golden = back_end.reference.run_region(encoded)
        monkeypatch.setattr(back_end.reference, "run_region", lambda _: golden)
        for field in ("symmetric", "dot", "pair"):
            assert_other_scores_are_refused(built, encoded, field)
    if (units, beat_bits, attentions) == ATTENDING[1]:
        encoded = encode_array(*next(case for case in cases if any(plan.dot for plan in case[0].plans)))
        golden = back_end.reference.run_region(encoded)
        monkeypatch.setattr(back_end.reference, "run_region", lambda _: golden)
        assert_bad_scores_of_edges_are_refused(built, encoded)


def assert_bad_scores_of_edges_are_refused(built: Built, encoded: EncodedArray) -> None:
    """Each in one field of the first descriptor of its step."""
    engine = built.array.engine
    bad, over = "bad_descriptor", "memory_over_capacity"
    changes: list[tuple[str, Attention, dict[str, int]]] = [
        (bad, Attention.QUERIES, {"target": Target.TABLE}), (bad, Attention.QUERIES, {"reduce": 1}),
        (bad, Attention.QUERIES, {"dot": 0}), (over, Attention.QUERIES, {"own_base": engine.own_words}),
        (bad, Attention.SCORES, {"target": Target.TABLE}), (bad, Attention.SCORES, {"entries": 0}),
        (bad, Attention.SCORES, {"entries": engine.tiles + 1}), (bad, Attention.SCORES, {"reduce": 1}),
        (bad, Attention.SCORES, {"tiles": 2, "target_tiles": 2}), (bad, Attention.MAXIMA, {"reduce": 0}),
        (over, Attention.MAXIMA, {"own_base": engine.own_words}), (bad, Attention.MESSAGES, {"head_tiles": 0}),
        (over, Attention.MESSAGES, {"own_base": engine.own_words}),
        *((bad, step, {"pair": 1}) for step in (Attention.SCORES, Attention.MAXIMA, Attention.MESSAGES)),
        (over, Attention.QUERIES, {"pair": 1, "own_base": engine.own_words - 1, "tiles": 1, "target_tiles": 1}),
    ]  # fmt: skip
    for number, (bit, step, changed) in enumerate(changes):
        steps = list(encoded.programme)
        place = next(place for place, one in enumerate(steps) if one.dot and one.is_step(step))
        steps[place] = replace(steps[place], **changed)
        regions = {"programme": programme.programme_beats(steps, engine.beat_bits)}
        wrong = replace(encoded, programme=tuple(steps), regions=encoded.regions | regions)
        report = built.run(wrong, f"edges{number}")
        wanted = f"first run: refused with status {1 << STATUS_BITS[bit]:#x}"
        assert report["first_mismatch"] == wanted, (step, changed)


def assert_other_scores_are_refused(built: Built, encoded: EncodedArray, field: str) -> None:
    """By an engine that runs gat alone."""
    attend = Operation.ATTEND
    steps = tuple(replace(one, **{field: int(one.operation == attend)}) for one in encoded.programme)
    assert any(getattr(one, field) for one in steps)
    regions = {"programme": programme.programme_beats(steps, built.array.engine.beat_bits)}
    report = built.run(replace(encoded, programme=steps, regions=encoded.regions | regions), field)
    assert report["first_mismatch"] == f"first run: refused with status {1 << STATUS_BITS['bad_descriptor']:#x}"


def wide_engine() -> Engine:
    """Four units with every mode, and with the shifts that networks of 8 bits need."""
    modes = [Mode(m, k, 4 // m // k) for m in (1, 2, 4) for k in (1, 2, 4) if 4 % (m * k) == 0]
    return Engine(
        units=4, bits=10, modes=tuple(modes), tiles=8, table_words=2048, own_words=512, bias_words=32,
        activation_words=256, shifts=tuple(range(-3, 13)), maximum=True, sum_bits=32, beat_bits=256,
        results=2,
    )  # fmt: skip


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """An engine that runs most small networks, compiled once."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        data = random_data(rng)
        try:
            array = lower(random_source(rng, 2, data), wide_engine())
        except UserError:
            continue
        if set(shifts_of(array)) <= set(array.engine.shifts):
            return compiled(array, data, tmp_path_factory.mktemp("wide") / "p")
    raise AssertionError("no network fits")


def shifts_of(array: ArrayAccelerator) -> list[int]:
    return [shift for plan in array.plans for shift in (plan.layer.linear_shift, plan.aggregate_shift)]


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), layers=st.integers(1, 3), split=st.sampled_from((1, 2, 4)))
def test_any_network_on_any_graph(wide: Built, seed: int, layers: int, split: int) -> None:
    """One build: networks, weights, modes and graphs are data."""
    rng = np.random.default_rng(seed)
    data = random_data(rng)
    source = random_source(rng, layers, data, ("add", "max", "mean"))
    columns = [int(rng.choice([1, 2, 4])) for _ in range(layers - 1)]
    try:
        array = lower(source, wide.array.engine, Arrangement(1, tuple(columns), split=split))
        encoded = encode_array(array, data)
    except UserError:
        assume(False)
    assert_right(wide.run(encoded), data)


def graphs(rng: np.random.Generator) -> dict[str, GraphData]:
    """Graphs at the ends of what an engine is given; all have 9 features and 11 classes."""
    sixty = random_graph(rng, 60, 9, 11, 40)
    hub = np.stack([rng.integers(0, 60, 1000), np.zeros(1000, np.int64)])
    ends = np.concatenate([np.stack([sixty.sources, sixty.targets]), hub], axis=1)
    empty = np.zeros((30, 9), np.float32)
    return {
        "a node of 1,000 neighbours": build(
            "hub", sixty.features, ends, sixty.labels, sixty.train, sixty.val, sixty.test, 11),
        "one node": random_graph(rng, 1, 9, 11, 0),
        "fewer rows than units": random_graph(rng, 3, 9, 11, 2),
        "no feature at all": build(
            "empty", empty, rng.integers(0, 30, (2, 40)), np.arange(30) % 11, *[np.ones(30, bool)] * 3, 11),
        "no edge": random_graph(rng, 25, 9, 11, 0),
    }  # fmt: skip


def test_graphs_at_the_ends(tmp_path: Path) -> None:
    """One build of 8 units runs them all, and a programme without a descriptor."""
    rng = np.random.default_rng(21)
    cases = []
    for data in graphs(rng).values():
        plain = {"attention": "gcn", "aggregation": "add", "t_attn": None, "ai": 3, "af": 4, "wi": 1, "wf": 4}
        design = random_design(rng, 2, ({**plain, "d": 16, "k": 1, "activation": "tanh"}, {**plain, "k": 1}))
        cases.append((fit(random_source_of(rng, design, data), data, Arrangement(8, (2,), beat_bits=512)), data))
    cases = on_one_engine(cases)
    built = compiled(*cases[0], tmp_path / "p")
    for number, (array, data) in enumerate(cases[1:]):
        assert_right(built.run(encode_array(array, data), f"other{number}"), data)
    array, data = cases[0]
    nothing = replace(encode_array(array, data), programme=())
    (built.folder / "nothing").mkdir()
    assert built.run(nothing, "nothing")["failed_checks"] == 0


def test_refusals_have_their_documented_status(wide: Built) -> None:
    """Each wrong in one way; between them and after them right runs, which the report counts."""
    run_csim(wide.folder, quick())
    log = (wide.folder / "build" / "csim" / "csim.log").read_text()
    untouched = {
        "no descriptors": None, "too many descriptors": "programme_over_capacity", "operation": "bad_descriptor",
        "region": "bad_descriptor", "no slot row": "bad_descriptor", "no tile": "bad_descriptor",
        "tiles": "bad_descriptor", "target": "bad_descriptor", "no row width": "bad_descriptor",
        "accumulate": "bad_descriptor", "pair": "bad_descriptor", "residual": "bad_descriptor",
        "spare bits": "bad_descriptor", "activation": "bad_descriptor", "bits": "bad_descriptor",
        "mode": "bad_descriptor", "no beat of logits": "bad_descriptor", "a load of logits": "bad_descriptor",
        "no beats to load": "stream_too_short", "a stream that ends early": "stream_too_short",
        "an index beyond the limit": "index_out_of_range", "results beyond the table": "memory_over_capacity",
        "entries beyond the table": "memory_over_capacity",
    }  # fmt: skip
    for what, bit in untouched.items():
        assert f"\n{what}: status {1 << STATUS_BITS[bit] if bit else 0:#x}, logits untouched\n" in log, what
    for what in ("a beat of logits too many", "a beat of logits too few"):
        assert f"{what}: status {1 << STATUS_BITS['schedule_broken']:#x}" in log


def with_descriptor(encoded: EncodedArray, place: int, **fields: int) -> EncodedArray:
    """A descriptor with other fields."""
    steps = list(encoded.programme)
    steps[place] = replace(steps[place], **fields)
    beats = programme.programme_beats(steps, encoded.accelerator.engine.beat_bits)
    return replace(encoded, programme=tuple(steps), regions=encoded.regions | {"programme": beats})


def test_words_behind_the_end_of_full_memories_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memories have as many words as an address has values, and the word behind the last one is not the first: of
    results for the tables, as the bench checks, of results for the own rows, and of own rows that are added."""
    rng = np.random.default_rng(5)
    data = random_data(rng)
    array = random_array(rng, random_source(rng, 2, data), data)
    array = array.on(replace(array.engine, table_words=1 << 14, own_words=1 << 14, residual=True))
    built, encoded = compiled(array, data, tmp_path / "p"), encode_array(array, data)
    golden = back_end.reference.run_region(encoded)
    monkeypatch.setattr(back_end.reference, "run_region", lambda _: golden)
    place = next(number for number, one in enumerate(encoded.programme)
                 if one.operation == Operation.SPARSE and one.target == Target.OWN)  # fmt: skip
    behind, wanted = (1 << 14) - 1, 1 << STATUS_BITS["memory_over_capacity"]
    for fields in ({"target_base": behind}, {"residual": 1, "own_base": behind}):
        report = built.run(with_descriptor(encoded, place, **fields), "behind")
        assert report["first_mismatch"] == f"first run: refused with status {wanted:#x}", fields


def with_last_stream(encoded: EncodedArray, ends: np.ndarray) -> EncodedArray:
    """The last descriptor reads a stream of its own, [slot rows, takers]: where rows end; all entries are 0."""
    engine, last = encoded.accelerator.engine, encoded.programme[-1]
    nothing = np.zeros_like(ends)
    beats = entry_beats(nothing, nothing, ends, engine.modes[last.mode].takers, engine.beat_bits)
    edges = encoded.regions["edges"]
    changed = replace(last, offset=len(edges), beats=len(beats), count=len(ends))
    steps = (*encoded.programme[:-1], changed)
    regions = encoded.regions | {
        "edges": np.concatenate([edges, beats]), "programme": programme.programme_beats(steps, engine.beat_bits),
    }  # fmt: skip
    return replace(encoded, programme=steps, regions=regions)


def broken_schedules(last: Descriptor, takers: int, rows: int) -> dict[str, np.ndarray]:
    """Streams that no queue, or no order, of `rows` rows a group can carry."""
    ahead = np.ones((100, takers), np.int64)
    ahead[:, 0] = 0
    ahead[-1, 0] = 1
    whole = np.ones((rows, takers), np.int64)
    missing = whole.copy()
    missing[-1, 0] = 0
    return {
        "a group runs ahead": ahead, "a row never ends": missing, "no row ends": 0 * whole,
        "a row too many": np.ones((rows + 1, takers), np.int64),
    }  # fmt: skip


def test_broken_schedules_are_refused(wide: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel ends, and its status says why."""
    encoded = encode_array(wide.array, wide.data)
    last = encoded.programme[-1]
    mode = wide.array.engine.modes[last.mode]
    golden = back_end.reference.run_region(encoded)
    monkeypatch.setattr(back_end.reference, "run_region", lambda _: golden)
    rows = encoded.logit_rows // mode.m
    for what, ends in broken_schedules(last, mode.takers, rows).items():
        report = wide.run(with_last_stream(encoded, ends), "broken")
        wanted = f"first run: refused with status {1 << STATUS_BITS['schedule_broken']:#x}"
        assert report["first_mismatch"] == wanted, what


def test_facts_come_from_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields in another order and other status bits: encoder, reference and C++ follow together."""
    rng = np.random.default_rng(8)
    data = random_data(rng)
    array = random_array(rng, random_source(rng, 2, data), data)
    before = encode_array(array, data).regions
    monkeypatch.setattr(programme, "ENTRY", Layout(programme.ENTRY.fields[::-1]))
    plain, every = programme.stored_fields(False), programme.DESCRIPTOR.fields
    # The fields of attention stay above the others: this engine does not store them.
    monkeypatch.setattr(programme, "DESCRIPTOR", Layout((*plain[::-1], *every[len(plain) :])))
    turned = dict(zip(STATUS_BITS, reversed(STATUS_BITS.values()), strict=True))
    monkeypatch.setattr(programme, "STATUS_BITS", turned)
    after = encode_array(array, data).regions
    assert any(not np.array_equal(before[name], after[name]) for name in ("features", "edges"))
    compiled(array, data, tmp_path / "p")


def test_a_wrong_golden_logit_is_found(wide: Built, tmp_path: Path) -> None:
    encoded = encode_array(wide.array, wide.data)
    write_vectors(encoded, wide.folder / "wrong")
    path = wide.folder / "wrong" / "logits.bin"
    words = np.frombuffer(path.read_bytes(), "<i2").copy()
    words[11] += 1
    path.write_bytes(words.tobytes())
    report = run_bench(wide.folder, quick(), wide.folder / "build" / "csim", vectors=wide.folder / "wrong")
    assert report["mismatches"] == 1 and "beat 0 word 11" in report["first_mismatch"]


def test_vectors_of_another_engine(wide: Built) -> None:
    encoded = encode_array(wide.array, wide.data)
    sizes = write_vectors(encoded, wide.folder / "alien")
    place = wide.folder / "alien" / "vectors.json"
    place.write_text(place.read_text().replace(f'"beat_bytes": {sizes["beat_bytes"]}', '"beat_bytes": 64'))
    with pytest.raises(UserError, match="the vectors belong to another engine"):
        run_bench(wide.folder, quick(), wide.folder / "build" / "csim", vectors=wide.folder / "alien")


def test_an_array_is_for_vitis_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(31)
    data = random_graph(rng, 20, 9, 4, 30)
    fitted = FittedArray(random_source(rng, 2, data), Network(()), data, Wanted(multipliers=16))
    with pytest.raises(UserError, match="an array's C\\+\\+ is for vitis alone, not for bambu"):
        write(fitted, data, tmp_path / "p", Request(Specification(), "bambu"))


# ---- Pragmas


@pytest.fixture(scope="module")
def sources(wide: Built) -> dict[str, str]:
    """The C++ as the compiler sees it."""
    return cpp.expanded({path.name: path.read_text() for path in sorted((wide.folder / "src").iterdir())})


def test_every_loop_is_a_pipeline_or_unrolled(sources: dict[str, str]) -> None:
    """An iteration a cycle, or all in one; only the loops over descriptors follow each other."""
    names = set().union(*map(cpp.constant_names, sources.values()))
    kinds = set()
    for file, source in sources.items():
        for name, function in cpp.functions(source).items():
            if function.constant:
                continue
            constants = cpp.Constants(function, names)
            pipelines = 0
            for loop in cpp.loops(function.body):
                pipeline, unrolled = loop.pragma("PIPELINE"), loop.pragma("UNROLL")
                where = f"{file}: {name}: {loop.condition}"
                assert (pipeline is None) != (unrolled is None), where
                if unrolled:
                    assert constants.bound(loop), f"{where} is not constant"
                    continue
                pipelines += 1
                kinds.add((name, tuple(pipeline.options.items())))
                inside = cpp.loops(loop.node)
                assert all(one.pragma("UNROLL") for one in inside), where
                assert loop.pragma("LOOP_TRIPCOUNT").options["max"], where
            assert pipelines <= 1, name
    sequential = {name for name, given in kinds if given != (("II", "1"),)}
    assert sequential == {"read_memory", "issue", "units", "write_logits"}


def test_a_function_is_inlined_or_apart(sources: dict[str, str]) -> None:
    """One that a loop's body calls has no control of its own; or a tool schedules it once, since it takes numbers and
    packed words alone, in each cycle, and keeps nothing."""
    apart = dict[str, cpp.Function]()
    for file, source in sources.items():
        for name, function in cpp.functions(source).items():
            pragmas = {pragma.name: pragma.options for pragma in function.pragmas}
            if "off" in pragmas.get("INLINE", {}):
                assert pragmas["PIPELINE"] == {"II": "1"}, f"{file}: {name}"
                apart[name] = function
            else:
                assert "PIPELINE" not in pragmas, f"{file}: {name}"
    assert set(apart) == {"rounded", "joined", "number_at", "coefficient"}
    for name, function in apart.items():
        head = cpp.text(function.body.parent).partition("{")[0]
        kinds = set(re.findall(r"const ([\w<> +]+)&", head))
        assert len(kinds) > 1 and kinds <= {
            "Descriptor", "Sum", "Divisor", "Number", "Result", "Lane", "Head", "Packed<NumberWord>"
        }, name  # fmt: skip
        assert not {"TableMemory", "OwnMemory", "Stream"} & set(re.findall(r"\w+", cpp.text(function.body))), name


def test_every_memory_is_named(sources: dict[str, str]) -> None:
    """An array is registers or a memory of a kind; one that a pipeline writes and reads says how far apart."""
    found = set()
    for file, source in sources.items():
        for name, function in cpp.functions(source).items():
            given: dict[str, set[str]] = {}
            for node in cpp.walk(function.body):
                if node.type == "preproc_call" and "variable" in (pragma := cpp.pragma_of(node)).options:
                    given.setdefault(pragma.options["variable"], set()).add(pragma.name)
            for array in cpp.arrays(function.body):
                if array not in function.streams:
                    assert given.get(array, set()) & {"ARRAY_PARTITION", "BIND_STORAGE"}, f"{file}: {name}: {array}"
            found |= {array for array, pragmas in given.items() if "DEPENDENCE" in pragmas}
    assert found == {"queue", "sums", "divisors", "table", "own", "partial"}


def test_every_argument_is_a_register(wide: Built, sources: dict[str, str]) -> None:
    """Addresses are also ports to main memory, as deep as the vectors beside the source."""
    top = cpp.functions(sources["fgnas_top.cpp"])["fgnas_top"]
    ports = [pragma.options for pragma in top.pragmas if pragma.name == "INTERFACE"]
    names = [register.name for register in programme.ARGUMENT_REGISTERS]
    assert list(top.arguments) == names
    assert [one["port"] for one in ports if "s_axilite" in one] == [*names, "return"]
    beats = {one["port"]: int(one["depth"]) for one in ports if "m_axi" in one}
    here = wide.folder / "vectors"
    size = wide.array.engine.beat_bits // 8
    assert beats == {name: max(1, (here / f"{name}.bin").stat().st_size // size) for name in back_end.REGIONS}


def test_the_hardware_depends_on_the_engine_alone(wide: Built, tmp_path: Path) -> None:
    """The sources of another network on the same engine differ only in sizes for reports and co-simulation."""
    rng = np.random.default_rng(77)
    while True:
        data = random_data(rng)
        try:
            array = lower(random_source(rng, 1, data), wide.array.engine)
            write_project(array, data, tmp_path / "p")
            break
        except UserError:
            continue
    for path in sorted((tmp_path / "p" / "src").iterdir()):
        mine, other = (one.read_text().splitlines() for one in (path, wide.folder / "src" / path.name))
        assert len(mine) == len(other)
        differs = [line for line, second in zip(mine, other, strict=True) if line != second]
        assert all(re.search(r"_DEPTH =|MOST_(BEATS|STEPS) =|HLS_(READ|WRITE)_PORT", line) for line in differs)
