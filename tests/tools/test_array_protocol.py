"""The array on a bus that misbehaves and with programmes it cannot run: right logits or a status, and always an end.

One kernel is built once; the runs of a test follow each other in one simulation, most without a reset.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from array_bus import Bench, Run
from bus import assert_right, placed
from support import random_graph

from fgnas.design import OF_EDGES, PAIRS
from fgnas.hardware.array.programme import STATUS_BITS, Target, entry_beats
from fgnas.network import LayerParameters, Network

LAST = -1
"""The descriptor that writes the logits."""


@pytest.fixture(
    scope="module",
    params=[pytest.param((128, False), marks=pytest.mark.slow), (512, False),
            pytest.param((256, True), marks=pytest.mark.slow)],
    ids=["128", "512", "attention"],
)  # fmt: skip
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("array"), *request.param)


def test_stalls_on_all_channels(bench: Bench) -> None:
    _stalls(bench, range(4))


@pytest.mark.slow
def test_stalls_on_all_channels_with_many_seeds(bench: Bench) -> None:
    _stalls(bench, range(50))


def _stalls(bench: Bench, seeds: Sequence[int]) -> None:
    """Short and long rests, and regions at every place within a page."""
    runs = []
    for seed in seeds:
        stalling = replace(bench.plain, stall_seed=seed + 1, stall_share=(0.2, 0.5, 0.8)[seed % 3])
        runs.append(stalling.at(bench.beat_bytes * (37 * seed % (4096 // bench.beat_bytes))))
    for run, result in zip(runs, bench.run(*runs), strict=True):
        assert_right(run, result)


def test_errors_of_the_bus(bench: Bench) -> None:
    """A read error in each region, write errors at both ends; the run after each is right."""
    bad = []
    for region in bench.plain.regions:
        beats = len(bench.plain.regions[region]) // bench.beat_bytes
        middle = bench.plain.places[region] + beats // 2 * bench.beat_bytes
        bad.append(("read_error", replace(bench.plain, bad_reads=range(middle, middle + 1))))
    start = bench.plain.places["logits"]
    for beat in (start, start + len(bench.plain.expected) - bench.beat_bytes):
        bad.append(("write_error", replace(bench.plain, bad_writes=range(beat, beat + 1))))
    found = bench.run(*(run for _, one in bad for run in (one, bench.plain)))
    for (name, _), result, again in zip(bad, found[::2], found[1::2], strict=True):
        assert result["ended"] and result["status"] == 1 << STATUS_BITS[name], (name, result["status"])
        assert_right(bench.plain, again)


def refusals(bench: Bench) -> dict[str, tuple[str, Run]]:
    """Error -> the status bit it must set, and the run."""
    plain, engine = bench.plain, bench.array.engine
    loads = [place for place, one in enumerate(bench.encoded.programme) if not one.operation]
    first = len(loads)
    found = {
        "a long programme": ("programme_over_capacity", replace(plain, descriptors=engine.programme + 1)),
        "a very long programme": ("programme_over_capacity", replace(plain, descriptors=2**32 - 1)),
    }
    for name in plain.places:
        moved = plain.places | {name: plain.places[name] + 8}
        found[f"{name} 8 off"] = ("unaligned_address", replace(plain, places=moved))
    wrong: dict[str, dict[str, int]] = {
        "operation": {"operation": 3}, "mode": {"mode": len(engine.modes)}, "no tile": {"tiles": 0},
        "tiles": {"tiles": engine.tiles + 1}, "region": {"region": 3}, "no slot": {"count": 0},
        "shift": {"shift": len(engine.shifts)}, "maximum": {"reduce": 1}, "bits": {"bits": 17},
        "target": {"target": Target.BIAS}, "no row width": {"target_tiles": 0}, "accumulate": {"accumulate": 1},
        "pair": {"pair": 1}, "residual": {"residual": 1},
        **{f"spare bit {bit}": {"spare_high": 1 << bit} for bit in range(4)},
        "function": {"activation": 3},
    }  # fmt: skip
    if bench.scored:
        del wrong["maximum"]  # attention looks for the largest score
    for name, fields in wrong.items():
        found[name] = ("bad_descriptor", bench.changed(first, lambda d, f=fields: replace(d, **f)))
    found["a row wider than its place"] = ("bad_descriptor", bench.changed(
        first, lambda d: replace(d, tiles=engine.tiles, target_columns=1, target_tiles=1)))
    narrow = {"tiles": engine.tiles, "target_tiles": engine.tiles - 1}
    messages = first + 1 + 2 * bench.scored
    found["rows of less than a pass"] = ("bad_descriptor", bench.changed(messages, lambda d: replace(d, **narrow)))
    for name, (place, fields) in (bad_steps(first) if bench.scored else {}).items():
        found[name] = ("bad_descriptor", bench.changed(place, lambda d, f=fields: replace(d, **f)))
    found["a load of logits"] = ("bad_descriptor", bench.changed(0, lambda d: replace(d, target=Target.LOGITS)))
    found["no beat of logits"] = ("bad_descriptor", bench.changed(LAST, lambda d: replace(d, result_beats=0)))
    found["fewer beats"] = ("stream_too_short", bench.changed(first, lambda d: replace(d, beats=d.beats - 1)))
    found["no beats"] = ("stream_too_short", bench.changed(0, lambda d: replace(d, beats=0)))
    found["index"] = ("index_out_of_range", bench.changed(first, lambda d: replace(d, limit=3)))
    highest = int(bench.encoded.dealt.combined(1).position.max())  # every node is a source
    pitch = bench.encoded.programme[LAST].tiles + bench.scored
    found["words behind the limit"] = (
        "index_out_of_range", bench.changed(LAST, lambda d: replace(d, limit=(highest + 1) * pitch - 1)))
    found["table"] = ("memory_over_capacity", bench.changed(first, lambda d: replace(d, target_base=(1 << 14) - 8)))
    behind = engine.table_words - engine.banks  # in the first bank, where loads begin
    found["load"] = ("memory_over_capacity", bench.changed(0, lambda d: replace(d, target_base=behind)))
    if engine.banks > 1:
        found["second bank"] = ("bad_descriptor", bench.changed(0, lambda d: replace(d, target_base=1)))
    found["more beats of logits"] = (
        "schedule_broken", bench.changed(LAST, lambda d: replace(d, result_beats=d.result_beats + 1)))
    found["fewer beats of logits"] = (
        "schedule_broken", bench.changed(LAST, lambda d: replace(d, result_beats=d.result_beats - 1)))
    for what, ends in broken_schedules(bench).items():
        found[what] = ("schedule_broken", with_last_stream(bench, ends))
    return found


def bad_steps(first: int) -> dict[str, tuple[int, dict[str, int]]]:
    """Steps of an attention that none is: the place of the descriptor, behind the first combination, and the fields."""
    scores, maxima, messages = range(first + 1, first + 4)
    return {
        "no step": (scores, {"attention": 3}), "no head": (messages, {"head_tiles": 0}),
        "scores of two tiles": (scores, {"tiles": 2}), "scores in own rows": (scores, {"target": Target.OWN}),
        "vectors of the sources alone": (scores, {"entries": 3}), "no vectors": (scores, {"entries": 0}),
        "the largest product": (scores, {"reduce": 1}), "the sum of scores": (maxima, {"reduce": 0}),
        "the largest scores in tables": (maxima, {"target": Target.TABLE}),
        "the largest of two tiles": (maxima, {"tiles": 2, "target_tiles": 2}),
        "symmetric maxima": (maxima, {"symmetric": 1}), "symmetric messages": (messages, {"symmetric": 1}),
        "queries": (scores, {"attention": 3, "dot": 1, "target": Target.OWN}), "scores of edges": (scores, {"dot": 1}),
        "the largest of edges": (maxima, {"dot": 1}), "messages by edges": (messages, {"dot": 1}),
        "messages in tables": (messages, {"target": Target.TABLE}), "pairs of scores": (scores, {"pair": 1}),
    }  # fmt: skip


def bad_steps_of_edges(first: int, pair: bool) -> dict[str, tuple[int, dict[str, int]]]:
    """As `bad_steps`, where edges have scores of their own, of queries of two nodes or not."""
    queries, scores, maxima, messages = range(first + 1, first + 5)
    other = {"pairs for scores of nodes": (queries, {"dot": 0})} if pair else {"pairs": (queries, {"pair": 1})}
    return other | {
        "pairs of scores": (scores, {"pair": 1}), "the largest of pairs": (maxima, {"pair": 1}),
        "messages by pairs": (messages, {"pair": 1}),
        "queries in tables": (queries, {"target": Target.TABLE}), "the largest query": (queries, {"reduce": 1}),
        "queries for scores of nodes": (queries, {"dot": 0}), "no head of a query": (queries, {"head_tiles": 0}),
        "scores in tables": (scores, {"target": Target.TABLE}), "no word of a query": (scores, {"entries": 0}),
        "a query of too many words": (scores, {"entries": 9}), "the largest product": (scores, {"reduce": 1}),
        "scores of two words": (scores, {"tiles": 2, "target_tiles": 2}),
        "the sum of scores": (maxima, {"reduce": 0}), "the largest in tables": (maxima, {"target": Target.TABLE}),
        "messages in tables": (messages, {"target": Target.TABLE}),
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("attention", OF_EDGES)
def test_wrong_scores_of_edges(attention: str, tmp_path: Path) -> None:
    """Each refused, and followed by a right run."""
    bench = Bench(tmp_path, 256, True, attention)
    first = sum(not one.operation for one in bench.encoded.programme)
    steps = bad_steps_of_edges(first, attention in PAIRS)
    bad = [bench.changed(place, lambda d, f=fields: replace(d, **f)) for place, fields in steps.values()]
    over = bench.changed(first + 2, lambda d: replace(d, target_base=bench.array.engine.own_words - 1))
    found = bench.run(*(run for one in (*bad, over) for run in (one, bench.plain)))
    wanted = [*(["bad_descriptor"] * len(bad)), "memory_over_capacity"]
    for what, bit, refused, again in zip([*steps, "scores beyond"], wanted, found[::2], found[1::2], strict=True):
        assert refused["ended"] and refused["status"] == 1 << STATUS_BITS[bit], (what, refused["status"])
        assert refused["touched"] == [], what
        assert_right(bench.plain, again)


def broken_schedules(bench: Bench) -> dict[str, np.ndarray]:
    """[slot rows, takers] where rows end: too many of one group for its queue, or groups that do not come out even."""
    takers = bench.array.engine.modes[bench.encoded.programme[LAST].mode].takers
    ahead = np.ones((100, takers), np.int64)
    ahead[:, 0] = 0
    ahead[LAST, 0] = 1
    whole = np.ones((bench.encoded.logit_rows // takers, takers), np.int64)
    missing = whole.copy()
    missing[LAST, 0] = 0
    return {"a group runs ahead": ahead, "a row never ends": missing, "no row ends": 0 * whole}


def with_last_stream(bench: Bench, ends: np.ndarray) -> Run:
    """The descriptor of the logits reads a stream of its own, whose entries are 0."""
    last = bench.encoded.programme[LAST]
    nothing = np.zeros_like(ends)
    beats = entry_beats(nothing, nothing, ends, bench.array.engine.modes[last.mode].takers, bench.beat_bits)
    edges = bench.plain.regions["edges"]
    first = len(edges) // bench.beat_bytes
    run = bench.changed(LAST, lambda d: replace(d, offset=first, beats=len(beats), count=len(ends)))
    regions = run.regions | {"edges": edges + beats.tobytes()}
    return replace(run, regions=regions, places=placed(regions))


@pytest.mark.parametrize("share", [0.4, pytest.param(0.0, marks=pytest.mark.slow)])
def test_refusals(share: float, bench: Bench) -> None:
    """Each followed by a right run, on a memory that stalls and on a quick one."""
    wanted = {name: (bit, replace(run, stall_share=share, stall_seed=5))
              for name, (bit, run) in refusals(bench).items()}  # fmt: skip
    plain = replace(bench.plain, stall_share=share, stall_seed=5)
    found = bench.run(*(run for _, bad in wanted.values() for run in (bad, plain)))
    for number, (what, (bit, _)) in enumerate(wanted.items()):
        refused, again = found[2 * number : 2 * number + 2]
        assert refused["ended"], what
        assert refused["status"] == 1 << STATUS_BITS[bit], (what, refused["status"])
        if bit not in ("schedule_broken", "write_error") and what != "words behind the limit":
            assert refused["touched"] == [], f"{what}: a kernel that refuses writes nothing"
        assert_right(plain, again)


def test_reset_in_mid_run(bench: Bench) -> None:
    """The watchdog ends a run after some cycles, which resets the kernel wherever it is; the next run is right."""
    runs = [
        part for cycles in range(5, 1500, 133)
        for part in (replace(bench.plain, limit_cycles=cycles), bench.plain)
    ]  # fmt: skip
    found = bench.run(*runs)
    assert sum(not result["ended"] for result in found[::2]) > 5
    for result in found[1::2]:
        assert_right(bench.plain, result)


def test_other_graphs_other_weights_and_no_node(bench: Bench) -> None:
    """Nothing of a run is left for the next; a single node, fewer rows than units, and a programme without steps."""
    rng = np.random.default_rng(8)
    graphs = [random_graph(rng, nodes, 9, 11, edges) for nodes, edges in ((80, 60), (1, 0), (3, 2), (40, 10))]
    turned = Network(
        tuple(replace_weights(layer) for layer in bench.network.layers), bench.network.input_scale
    )
    runs = [bench.other(network, data) for data in graphs for network in (bench.network, turned)]
    nothing = replace(bench.plain, descriptors=0)
    found = bench.run(*runs, nothing, bench.plain)
    for run, result in zip([*runs, bench.plain], [*found[:-2], found[-1]], strict=True):
        assert_right(run, result)
    assert (found[-2]["ended"], found[-2]["status"], found[-2]["touched"]) == (True, 0, [])


def replace_weights(layer: LayerParameters) -> LayerParameters:
    return replace(layer, weight=-layer.weight, bias=layer.bias[::-1])
