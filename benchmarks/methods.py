"""Tables III and IV of the FGNAS paper by ways to search, at equal distinct trainings; resumable, search by search."""

from __future__ import annotations

import argparse
import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import Record, behaviour, options_of, processor_seconds, run
from memory import Sharing
from moocore import hypervolume
from pages import render, write_page
from recipe import split
from tables import PAPER, ROWS, Row, key_of, name_of, statistics_of

from fgnas.engine.statistics import difference
from fgnas.systems.fgnas import Options
from fgnas.tasks.nodes import GraphData, load

METHODS: dict[str, dict[str, Any]] = {
    "random designs": {"method": "random", "target": "pipeline"},
    "random architectures": {"method": "distinct", "target": "solved-cycles"},
    "evolution": {"method": "evolution", "target": "solved-cycles"},
    "reinforce": {"method": "reinforce", "target": "solved-cycles", "distinct": True},
    "nsga2, accuracy and cycles": {"method": "nsga2", "target": "solved-cycles", "objectives": "val,latency_cycles"},
    "reinforce, designs": {"method": "reinforce", "target": "pipeline"},
}
"""Ways to search, each by the options that make it."""
BASELINE, ARCHITECTURES, DEFAULT = tuple(METHODS)[:3]
SEEDS = {1: 10, 6: 10, 12: 10, 13: 10}
"""Search seeds of the rows that all methods are compared on."""
OTHER_SEEDS = 3
"""Those of the other rows, which the default and the baseline search."""
TRAININGS = 300
FEWER = (100, 200)
"""Trainings after which the default is judged, too."""
MANY = 1_000
"""Children of the random designs that fewer trainings are to reach."""
MOST_CHILDREN = 5_000
LEAST_ACCURACY = 0.5
"""The hypervolume is of the accuracy above this, and of the cycles below the limit as shares of the latter."""
CHEAPEST = {"lut": "LUTs", "ff": "FFs", "dsp": "DSPs", "latency_cycles": "cycles"}
"""Costs of the cheapest design that the page shows, with their names."""
TIMED, STEP = 12, 50
"""The row on which processor time is measured, and the step to which trainings of equal time are rounded."""
SPLITS, SPLIT_ROW = 10, 12
FILES = Path(__file__).parent.parent / "build" / "splits"


@dataclass(frozen=True)
class Wanted:
    """One search.

    Attributes:
        number: of its row, from 1.
        trainings: distinct ones at most; None for MANY children, whatever their trainings.
        part: number of the random split; None for the public one.
    """

    number: int
    method: str
    seed: int
    trainings: int | None = TRAININGS
    part: int | None = None

    @property
    def key(self) -> str:
        """Its name in the record."""
        name = name_of(ROWS[self.number - 1]) + (f", split {self.part}" if self.part is not None else "")
        return key_of(name, self.method, self.seed, self.trainings or f"{MANY} children")

    def options(self) -> Options:
        """The options that make it."""
        size = {"children": MOST_CHILDREN, "trainings": self.trainings} if self.trainings else {"children": MANY}
        dataset, specification = ROWS[self.number - 1]
        where = dataset if self.part is None else str(split_file(dataset, self.part))
        return options_of(where, specification, **METHODS[self.method], **size, seed=self.seed)


def split_file(dataset: str, part: int) -> Path:
    """A file of a dataset with a random split that leaves out the public test nodes, written once."""
    path = FILES / f"{dataset}-{part}.npz"
    if not path.is_file():
        FILES.mkdir(parents=True, exist_ok=True)
        write_graph(path, split(load(dataset), part))
    return path


def write_graph(path: Path, data: GraphData) -> None:
    """A graph with its split as the file of a user's own data; self-loops are made when it is read."""
    features = data.features.tocsr()
    sources, targets = data.sources, np.repeat(np.arange(data.nodes), data.degrees)
    apart = sources != targets
    np.savez(
        path, x_data=features.data, x_indices=features.indices, x_indptr=features.indptr, x_shape=features.shape,
        edge_index=np.stack([sources[apart], targets[apart]]), y=data.labels,
        train_mask=data.train, val_mask=data.val, test_mask=data.test,
    )  # fmt: skip


def seeded(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Every seed of rows with its row, seed by seed."""
    for seed, number in itertools.product(range(max(SEEDS.values())), numbers):
        if seed < SEEDS.get(number, OTHER_SEEDS):
            yield seed, number


def rows(methods: Sequence[str] | None, numbers: Sequence[int]) -> Iterator[Wanted]:
    """Every method with equal trainings, seed by seed; on most rows the default and the baseline alone."""
    for seed, number in seeded(numbers):
        few = number not in SEEDS
        yield from (Wanted(number, one, seed) for one in methods or ((DEFAULT, BASELINE) if few else METHODS))


def reached(numbers: Sequence[int]) -> Iterator[Wanted]:
    """Random designs of MANY children, and the default after fewer trainings."""
    for seed, number in seeded([one for one in numbers if one in SEEDS]):
        yield Wanted(number, BASELINE, seed, None)
        yield from (Wanted(number, DEFAULT, seed, trainings) for trainings in FEWER)


def equal_time(record: dict[str, Any], numbers: Sequence[int]) -> Iterator[Wanted]:
    """Random designs with as much processor time as the default."""
    trainings = trainings_of_equal_time(record)[BASELINE]
    for seed, number in seeded([one for one in numbers if one in SEEDS]):
        yield Wanted(number, BASELINE, seed, trainings)


def on_splits() -> Iterator[Wanted]:
    """The default and the baseline on random splits, one seed each."""
    for part in range(SPLITS):
        yield from (Wanted(SPLIT_ROW, method, part, part=part) for method in (DEFAULT, BASELINE))


def timed_key(method: str) -> str:
    """The name of a method's processor time in the record."""
    return f"timed | {name_of(ROWS[TIMED - 1])} | {method}"


def trainings_of_equal_time(record: dict[str, Any]) -> dict[str, int]:
    """Distinct trainings of the three methods in the processor time of the default's, rounded to steps."""
    found = {method: record[timed_key(method)] for method in (BASELINE, ARCHITECTURES, DEFAULT)}
    whole = found[DEFAULT]["seconds"]
    return {
        method: round(whole / one["seconds"] * one["trainings"] / STEP) * STEP for method, one in found.items()
    }  # fmt: skip


def volume(result: dict[str, Any], row: Row) -> float:
    """Hypervolume of the leaders' retrained accuracy and cycles, each a share; 0 where nothing was found."""
    limit = row[1].limits()["latency_cycles"]
    points = [
        [-np.mean(values), costs["latency_cycles"] / limit] for values, costs in result.get("leaders", [])
        if np.mean(values) > LEAST_ACCURACY
    ]  # fmt: skip
    return float(hypervolume(np.array(points), ref=[-LEAST_ACCURACY, 1.0])) if points else 0.0


def share_of_best(result: dict[str, Any], cost: str) -> float:
    """A cost of the cheapest design within one standard error, as a share of the best design's."""
    return float(result["cheapest"]["prices"][cost] / result["prices"][cost])


def found_of(record: dict[str, Any], wanted: Wanted) -> list[dict[str, Any]]:
    """The results of a search with every seed of its row, as far as they are there."""
    keys = [Wanted(number, wanted.method, seed, wanted.trainings).key for seed, number in seeded([wanted.number])]
    return [record[key] for key in keys if key in record]


def tests_of(found: Sequence[dict[str, Any]]) -> list[list[float]]:
    """[searches][retrainings] test accuracies, without the searches that found nothing."""
    return [result["test"] for result in found if "test" in result]


def gain(ours: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]]) -> dict[str, float] | None:
    """The difference in test accuracy, with its interval; None where one has no results."""
    pair = tests_of(ours), tests_of(theirs)
    return difference(*pair) if all(pair) else None


def summary(record: dict[str, Any], wanted: Wanted) -> dict[str, Any]:
    """The accuracies of a search over its seeds, and its trainings."""
    found = found_of(record, wanted)
    return {
        "searches": len(found), "failed": len(found) - len(tests_of(found)),
        "test": statistics_of([float(np.mean(values)) for values in tests_of(found)]),
        "trainings": np.mean([result["trainings"] for result in found]) if found else None,
    }


def compared(number: int, record: dict[str, Any]) -> list[dict[str, Any]]:
    """One line of a row's table for each method that has been run on it."""
    row, lines = ROWS[number - 1], []
    found = {method: found_of(record, Wanted(number, method, 0)) for method in METHODS}
    volumes = {method: [[volume(result, row)] for result in results] for method, results in found.items()}
    for method, results in found.items():
        ended = [result for result in results if "test" in result]
        if not ended:
            continue
        gains = {
            base: difference(volumes[method], volumes[base]) if volumes[base] and base != method else None
            for base in (BASELINE, ARCHITECTURES)
        }
        lines.append(summary(record, Wanted(number, method, 0)) | {
            "method": method,
            "children": np.mean([result["children"] for result in results]),
            "cycles": np.mean([result["prices"]["latency_cycles"] for result in ended]),
            "volume": np.mean(volumes[method]),
            "gap": gain(results, found[BASELINE]) if method != BASELINE else None,
            "volume_gaps": gains,
        })  # fmt: skip
    return lines


def cheapest(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The savings of the default's cheapest design, and its accuracy beside the best's, for each row that has one."""
    lines = []
    for number in SEEDS:
        found = [one for one in found_of(record, Wanted(number, DEFAULT, 0)) if "saved" in (one.get("cheapest") or {})]
        if found:
            validated = [(one["cheapest"]["val"], max(np.mean(each) for each, _ in one["leaders"])) for one in found]
            tested = [(one["cheapest"]["test"], one["delivered_test"]) for one in found]
            lines.append({
                "number": number, "searches": len(found),
                "shares": [np.mean([share_of_best(one, name) for one in found]) for name in CHEAPEST],
                "least": min(share_of_best(one, "lut") for one in found),
                "val": np.mean(np.subtract(*np.transpose(validated))),
                "test": difference([[ours] for ours, _ in tested], [[theirs] for _, theirs in tested]),
            })  # fmt: skip
    return lines


def together(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The default's gain over a method on all rows of ten seeds: means over the rows, seed by seed."""
    lines = []
    for base in (BASELINE, ARCHITECTURES):
        gains = [_gains(record, base, seed) for seed in range(max(SEEDS.values()))]
        whole = [one for one in gains if one is not None]
        if whole:
            accuracy, volumes = ([[one[place]] for one in whole] for place in (0, 1))
            none = [[0.0]] * len(whole)
            lines.append({
                "base": base, "seeds": len(whole), "gap": difference(accuracy, none),
                "volume_gap": difference(volumes, none),
            })  # fmt: skip
    return lines


def _gains(record: dict[str, Any], base: str, seed: int) -> tuple[float, float] | None:
    """The mean gains of a seed in accuracy and in hypervolume; None where a search is missing or found nothing."""
    found = []
    for number in SEEDS:
        pair = [record.get(Wanted(number, method, seed).key, {}) for method in (DEFAULT, base)]
        if any("test" not in one for one in pair):
            return None
        accuracies = [float(np.mean(one["test"])) for one in pair]
        volumes = [volume(one, ROWS[number - 1]) for one in pair]
        found.append((accuracies[0] - accuracies[1], volumes[0] - volumes[1]))
    means = np.mean(found, axis=0)
    return float(means[0]), float(means[1])


def all_rows(record: dict[str, Any]) -> list[dict[str, Any]]:
    """One line of Tables III and IV for each row that the default has searched."""
    lines = []
    for number, (row, paper) in enumerate(zip(ROWS, PAPER, strict=True), 1):
        ours, theirs = (Wanted(number, method, 0) for method in (DEFAULT, BASELINE))
        lines.append({
            "number": number, "name": name_of(row), "paper": paper,
            "default": summary(record, ours), "baseline": summary(record, theirs),
            "gap": gain(found_of(record, ours), found_of(record, theirs)),
        })  # fmt: skip
    return [line for line in lines if line["default"]["searches"]]


def fewer(record: dict[str, Any]) -> list[dict[str, Any]]:
    """For each row with ten seeds: random designs of MANY children, and the default after fewer trainings."""
    lines = []
    for number in SEEDS:
        theirs = Wanted(number, BASELINE, 0, None)
        if found_of(record, theirs):
            ours = [Wanted(number, DEFAULT, 0, trainings) for trainings in (*FEWER, TRAININGS)]
            lines.append({
                "number": number, "baseline": summary(record, theirs),
                "default": [summary(record, one) for one in ours],
                "gaps": [gain(found_of(record, one), found_of(record, theirs)) for one in ours],
            })  # fmt: skip
    return lines


def times(record: dict[str, Any]) -> dict[str, Any] | None:
    """Processor seconds of the methods, and what the default gains on random designs in equal time; None unmeasured."""
    if any(timed_key(method) not in record for method in (BASELINE, ARCHITECTURES, DEFAULT)):
        return None
    equal = trainings_of_equal_time(record)
    lines = []
    for number in SEEDS:
        ours, theirs = Wanted(number, DEFAULT, 0), Wanted(number, BASELINE, 0, equal[BASELINE])
        if found_of(record, theirs):
            lines.append({
                "number": number, "baseline": summary(record, theirs), "default": summary(record, ours),
                "gap": gain(found_of(record, ours), found_of(record, theirs)),
            })  # fmt: skip
    methods = [record[timed_key(method)] | {"method": method, "equal": equal[method]} for method in equal]
    return {"methods": methods, "rows": lines, "row": TIMED}


def splits(record: dict[str, Any]) -> dict[str, Any] | None:
    """The default and the baseline on the random splits that both have searched, pair by pair; None without any."""
    pairs = [[record.get(Wanted(SPLIT_ROW, method, part, part=part).key) for method in (DEFAULT, BASELINE)]
             for part in range(SPLITS)]  # fmt: skip
    tests = np.array([[np.mean(one["test"]) for one in pair] for pair in pairs if all(pair)])  # type: ignore[index]
    if not len(tests):
        return None
    gaps = difference([[value] for value in tests[:, 0] - tests[:, 1]], [[0.0]] * len(tests))
    means = [statistics_of(column) for column in tests.T.tolist()]
    return {"count": len(tests), "row": SPLIT_ROW, "default": means[0], "baseline": means[1], "gap": gaps}


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    tables = [{"number": number, "name": name_of(ROWS[number - 1]), "lines": compared(number, record)}
              for number in SEEDS]  # fmt: skip
    return render(
        "methods.md", tables=[table for table in tables if table["lines"]], rows=all_rows(record),
        together=together(record), fewer=fewer(record), times=times(record), splits=splits(record),
        least=LEAST_ACCURACY, trainings=TRAININGS, steps=FEWER, many=MANY, default=DEFAULT, baseline=BASELINE,
        architectures=ARCHITECTURES, cheapest=cheapest(record), costs=list(CHEAPEST.values()),
    )  # fmt: skip


PARTS = ("rows", "reached", "timed", "splits")


def main() -> None:
    """Run what is missing, and write after each search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", help=f"of 1 to {len(ROWS)}; default: all", metavar="N,N")
    parser.add_argument("--methods", help=f"of 1 to {len(METHODS)}; default: all", metavar="N,N")
    parser.add_argument("--only", help=f"of {', '.join(PARTS)}; default: all", metavar="PART,PART")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    record = Record("methods", behaviour())
    numbers = [int(number) for number in options.rows.split(",")] if options.rows else range(1, len(ROWS) + 1)
    methods = [list(METHODS)[int(number) - 1] for number in options.methods.split(",")] if options.methods else None
    asked = options.only.split(",") if options.only else PARTS
    with Sharing(options.workers) as sharing:

        def fill(searches: Iterator[Wanted]) -> None:
            for wanted in searches:
                record.fill(wanted.key, lambda wanted=wanted: run(wanted.options(), sharing))  # type: ignore[misc]
                write_page("methods.md", page(record.results))

        if "rows" in asked:
            fill(rows(methods, numbers))
        if "reached" in asked:
            fill(reached(numbers))
        if "timed" in asked:
            for method in (BASELINE, ARCHITECTURES, DEFAULT):
                seconds = functools.partial(processor_seconds, Wanted(TIMED, method, 0).options())
                record.fill(timed_key(method), seconds)
            fill(equal_time(record.results, numbers))
        if "splits" in asked:
            fill(on_splits())


if __name__ == "__main__":
    main()
