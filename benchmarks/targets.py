"""Tables III and IV of the FGNAS paper by hardware: the pipeline, the multiplier array, and the better of both.

Two parts. `prices`: uniform architectures, each with its solved hardware, without a training. `searches`: the default
search with each target. Resumable, row by row and search by search.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from common import Record, behaviour, options_of, run
from memory import Sharing, digest
from methods import DEFAULT, Wanted
from numpy.typing import NDArray
from pages import read_record, render, write_page
from tables import ROWS, key_of, name_of, rows_of, statistics_of

from fgnas.costs import Costs
from fgnas.design import Design
from fgnas.engine.contracts import Composition
from fgnas.hardware.array.designs import attends
from fgnas.hardware.array.engine import LANES
from fgnas.hardware.array.kind import MultiplierArray
from fgnas.systems.fgnas import Options, compose

NAME = "targets"
HARDWARE: dict[str, dict[str, Any]] = {
    "pipeline": {"target": "solved-cycles"},
    "array": {"target": "array"},
    "either": {"target": "any"},
    "array, 256 bits": {"target": "array", "beat_bits": 256},
    "array, 512 bits": {"target": "array", "beat_bits": 512},
}
"""Kinds of hardware, each by the options that choose it; the port of the first three has 128 bits."""
PIPELINE, ARRAY, EITHER, *WIDER = HARDWARE
SEARCHED = (ARRAY, EITHER, PIPELINE)
"""Those that are searched for."""
DRAWS = 2_000
"""Uniform architectures of a row that are priced."""
TRAININGS, SEEDS = 300, 1
MOST_CHILDREN = 5_000
PARTS = ("prices", "searches")
ORDER = (4, 8, 12, 13, 3, 7, 11, 2, 6, 10, 1, 5, 9)
"""Rows in the order in which they are searched: those with most room first."""
SHARES = {"cycles": "latency_cycles", "LUTs": "lut", "block RAM": "bram36"}
"""Costs of which the page shows the array's over the pipeline's."""
INTEGERS = ("hardware/integer", "hardware/arithmetic.py")
"""Code of the integers of every kind of hardware."""


def version() -> str:
    """A digest of all that these searches depend on; of both models of hardware, their prices."""
    found = hashlib.sha256(f"{behaviour()} {digest(INTEGERS)} {MultiplierArray.rounding}".encode())
    for dataset, specification in (ROWS[11], ROWS[12]):
        target = compose(options_of(dataset, specification, **HARDWARE[ARRAY])).target
        prices = target.price(target.space.draw(100, np.random.default_rng(0)))
        for name in sorted(prices):
            found.update(prices[name].tobytes())
    return found.hexdigest()[:12]


def composed(number: int, kind: str) -> Composition:
    """A row's search for a kind of hardware."""
    dataset, specification = ROWS[number - 1]
    return compose(options_of(dataset, specification, **HARDWARE[kind]))


def prices_of(number: int) -> dict[str, Any]:
    """Feasible shares of uniform architectures, and the hardware of each in comparison."""
    parts = {kind: composed(number, kind) for kind in HARDWARE}
    rows = np.unique(parts[PIPELINE].space.draw(DRAWS, np.random.default_rng(1)), axis=0)
    costs = {kind: one.target.price(rows) for kind, one in parts.items()}
    kept = {kind: one.feasible(rows) for kind, one in parts.items()}
    cycles = {kind: np.where(kept[kind], costs[kind]["latency_cycles"], np.inf) for kind in HARDWARE}
    best = np.minimum(cycles[PIPELINE], cycles[ARRAY])
    scored = np.any(attends(parts[PIPELINE].space.columns(rows)), axis=0)
    return {
        "architectures": len(rows),
        "share": {kind: float(ok.mean()) for kind, ok in kept.items()},
        "fewest": {kind: int(one.min()) if kept[kind].any() else None for kind, one in cycles.items()},
        "either_is_best": bool((cycles[EITHER] == best).all()),
        "beside": {
            kind: compared(costs[kind], costs[PIPELINE], kept[kind] & kept[PIPELINE], scored)
            for kind in (ARRAY, *WIDER)
        },
    }


def compared(ours: Costs, theirs: Costs, both: NDArray[np.bool_], scored: NDArray[np.bool_]) -> dict[str, Any]:
    """How many run on both kinds of hardware, how many with at most as many cycles, how many of the others are scored,
    and least, median and most of each cost over the other's; None where no architecture runs on both."""
    shares = {
        name: np.quantile(ours[cost][both] / theirs[cost][both], [0, 0.5, 1]).tolist() if both.any() else None
        for name, cost in SHARES.items()
    }
    at_most = both & (ours["latency_cycles"] <= theirs["latency_cycles"])
    counts = {"both": both, "at_most": at_most, "with_scores": both & ~at_most & scored}
    return {name: int(mask.sum()) for name, mask in counts.items()} | {"shares": shares}


def searches(
    numbers: list[int], kinds: list[str], seeds: int, trainings: int
) -> Iterator[tuple[str, int, Options]]:
    """The key, the row and the options of every search, seed by seed."""
    size = {"children": MOST_CHILDREN, "trainings": trainings}
    for seed, number, kind in itertools.product(range(seeds), numbers, kinds):
        dataset, specification = ROWS[number - 1]
        options = options_of(dataset, specification, **HARDWARE[kind], **size, seed=seed)
        yield search_key(number, kind, seed, trainings), number, options


def search_key(number: int, kind: str, seed: int, trainings: int) -> str:
    """The name of a search in the record."""
    return key_of(name_of(ROWS[number - 1]), kind, seed, trainings)


def price_key(number: int) -> str:
    """The name of a row's prices in the record."""
    return f"prices | {name_of(ROWS[number - 1])}"


def known_key(number: int) -> str:
    """The name of a pipeline's search of another record in this one."""
    return f"known | {name_of(ROWS[number - 1])}"


def known(number: int) -> dict[str, Any] | None:
    """The pipeline's search of a row with seed 0 in the record of ways to search, which has code of its own."""
    found = read_record("methods").get(Wanted(number, DEFAULT, 0).key)
    return None if found is None else with_others(found, number)


def with_others(result: dict[str, Any], number: int) -> dict[str, Any]:
    """A search's result with the cycles that its network takes on each kind of hardware; None where it does not fit."""
    if "design" not in result:
        return result
    design = Design.from_dict(result["design"])
    return result | {"cycles": {kind: cycles_on(number, kind, design) for kind in (PIPELINE, ARRAY, EITHER)}}


def cycles_on(number: int, kind: str, design: Design) -> int | None:
    """Cycles of a design's architecture on hardware that is solved for it; None if it does not keep the limits."""
    parts = composed(number, kind)
    row = row_of(parts, design)
    if not parts.feasible(row)[0]:
        return None
    return int(parts.target.price(row)["latency_cycles"][0])


def row_of(parts: Composition, design: Design) -> NDArray[np.int16]:
    """[1, decisions] the architecture of a design in the space that is searched."""
    chosen = [
        decision.options.index(getattr(design.layers[decision.position], decision.choice))
        for decision in parts.space.decisions
    ]
    return np.array([chosen], np.int16)


def results_of(record: dict[str, Any], number: int, kind: str) -> tuple[list[dict[str, Any]], bool]:
    """The searches of a row for a kind of hardware, seed by seed, and whether they are this record's own."""
    options = record["options"]
    keys = [search_key(number, kind, seed, options["trainings"]) for seed in range(options["seeds"])]
    found = [record[key] for key in keys if key in record]
    if not found and kind == PIPELINE and known_key(number) in record:
        return [record[known_key(number)]], False
    return found, True


def searched(record: dict[str, Any]) -> list[dict[str, Any]]:
    """A line for every row and kind of hardware that was searched."""
    lines = []
    for number, kind in itertools.product(range(1, len(ROWS) + 1), (PIPELINE, ARRAY, EITHER)):
        results, own = results_of(record, number, kind)
        if not results:
            continue
        ended = [one for one in results if "error" not in one]
        theirs = [one for one in results_of(record, number, PIPELINE)[0] if "error" not in one]
        lines.append({
            "number": number, "kind": kind, "own": own, "searches": len(results), "failed": len(results) - len(ended),
            "test": statistics_of([float(np.mean(one["test"])) for one in ended]),
            **{cost: statistics_of([one["prices"][cost] for one in ended])["mean"] for cost in SHARES.values()},
            "same": {other: mean_of([one["cycles"][other] for one in ended]) for other in (PIPELINE, ARRAY, EITHER)},
            "as_good": fewest_as_good(ended, theirs),
            "arrays": sum(one["design"].get("array") is not None for one in ended),
        })  # fmt: skip
    return lines


def fewest_as_good(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> int | None:
    """Fewest cycles of a leader that is in validation at least as good as the best leader of the others' searches."""
    levels = [np.mean(values) for one in theirs for values, _ in one["leaders"]]
    cycles = [
        int(costs["latency_cycles"]) for one in ours for values, costs in one["leaders"]
        if levels and np.mean(values) >= max(levels)
    ]  # fmt: skip
    return min(cycles, default=None)


def moved(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows whose network, delivered for a pipeline, runs on an array, too, and the array's share of its cycles."""
    return [
        {"number": line["number"], "share": line["same"][ARRAY] / line["same"][PIPELINE]}
        for line in lines if line["kind"] == PIPELINE and None not in (line["same"][ARRAY], line["same"][PIPELINE])
    ]  # fmt: skip


def mean_of(values: list[int | None]) -> float | None:
    """The mean; None if one of the values is missing, or all are."""
    whole = [value for value in values if value is not None]
    return float(np.mean(whole)) if whole and len(whole) == len(values) else None


def page(record: dict[str, Any]) -> str:
    """The page of a record, as far as it is filled."""
    priced = [
        record[price_key(number)] | {"number": number, "name": name_of(ROWS[number - 1])}
        for number in range(1, len(ROWS) + 1) if price_key(number) in record
    ]  # fmt: skip
    lines = searched(record)
    missing = [str(number) for number in range(1, len(ROWS) + 1)
               if sum(line["number"] == number and line["own"] for line in lines) < len(SEARCHED)]  # fmt: skip
    return render(
        f"{NAME}.md", priced=priced, searched=lines, moved=moved(lines), missing=missing, draws=DRAWS, lanes=LANES,
        hardware=tuple(HARDWARE), pipeline=PIPELINE, array=ARRAY, either=EITHER, wider=WIDER, shares=tuple(SHARES),
        **record["options"],
    )  # fmt: skip


def main() -> None:
    """Run what is missing, and write after each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", metavar="N,N", help="1 to 12: Table IV; 13: CiteSeer of Table III; default: all")
    parser.add_argument("--only", metavar="PART", choices=PARTS, help="prices or searches; default: both")
    parser.add_argument("--methods", metavar="KIND,KIND", help=f"of {', '.join(SEARCHED)}; default: all")
    parser.add_argument("--trainings", type=int, default=TRAININGS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    kinds = [kind for kind in SEARCHED if options.methods is None or kind in options.methods.split(",")]
    record = Record(NAME, version())
    record.note(options={"trainings": options.trainings, "seeds": options.seeds})
    asked = rows_of(options.rows)
    numbers = [number for number in ORDER if ROWS[number - 1] in asked]
    if options.only in (None, "prices"):
        for number in numbers:
            record.fill(price_key(number), lambda number=number: prices_of(number))
            write_page(f"{NAME}.md", page(record.results))
    if options.only in (None, "searches"):
        for number in numbers:
            if known_key(number) not in record.results and (found := known(number)) is not None:
                record.note(**{known_key(number): found})
        with Sharing(options.workers) as sharing:
            for key, number, wanted in searches(numbers, kinds, options.seeds, options.trainings):
                record.fill(key, lambda number=number, wanted=wanted: with_others(run(wanted, sharing), number))
                write_page(f"{NAME}.md", page(record.results))


if __name__ == "__main__":
    main()
