"""Tables III and IV of the FGNAS paper, with random and disjoint search beside ours; resumable, by rows."""

from __future__ import annotations

import argparse
import hashlib
import itertools
from typing import Any

import numpy as np
from common import RESULTS, Record, run

from fgnas.data import load
from fgnas.errors import UserError
from fgnas.hardware.pricing import Pricer, Specification
from fgnas.search.loop import survey
from fgnas.search.run import SearchConfig
from fgnas.search.statistics import difference
from fgnas.space import find_space

TABLE_IV = [
    ("cora", Specification(latency, area, area, dsp))
    for latency, area, dsp in itertools.product((0.8, 0.9, 1.0), (10_000, 100_000), (10, 100))
]
CITESEER = ("citeseer", Specification(1.0, 100_000, 100_000, 1000))
"""Of Table III, whose row of Cora is Table IV's last."""
ROWS = [*TABLE_IV, CITESEER]
PAPER = (66.2, 62.9, 67.8, 68.7, 68.1, 69.2, 68.8, 70.2, 68.1, 70.1, 68.8, 71.5, 72.4)
"""Test accuracy of the paper's joint search in each row, per cent."""
METHODS = ("reinforce", "random", "disjoint")
SAMPLES = 200_000
"""Uniform draws by which feasible sets are compared."""

Row = tuple[str, Specification]


def rows_of(text: str | None) -> list[Row]:
    """All rows, or those whose numbers are named: 1 to 12 are Table IV's, 13 is CiteSeer's of Table III."""
    return ROWS if text is None else [ROWS[int(number) - 1] for number in text.split(",")]


def name_of(row: Row) -> str:
    """Dataset, latency, area and DSPs."""
    dataset, specification = row
    return f"{dataset}, {specification.latency_ms} ms, {specification.lut:,} LUT and FF, {specification.dsp} DSP"


def feasible_set(row: Row) -> dict[str, Any]:
    """What a survey says of a row, and which of many uniform draws it allows, as a checksum."""
    dataset, specification = row
    space, pricer = find_space("fgnas"), Pricer(load(dataset))
    try:
        found = str(survey(space, pricer, specification, specification.dsp))
    except UserError as error:
        return {"survey": str(error), "set": "", "empty": True}
    rng, allowed = np.random.default_rng(1), hashlib.sha256()
    for _ in range(10):
        columns = space.columns(space.draw(SAMPLES // 10, rng))
        allowed.update(pricer.price(columns, specification.dsp).feasible(specification).tobytes())
    return {"survey": found, "set": allowed.hexdigest(), "empty": False}


def twins(rows: list[Row], sets: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Row -> the first row of the same dataset with an equal feasible set."""
    first: dict[tuple[str, str], str] = {}
    return {name_of(row): first.setdefault((row[0], sets[name_of(row)]["set"]), name_of(row)) for row in rows}


def page(rows: list[Row], record: Record, twin: dict[str, str], options: argparse.Namespace) -> str:
    """The tables as far as they are filled."""
    lines = [
        "# Tables III and IV",
        "",
        f"`make bench-tables` with {options.children} valid children a search and {options.seeds} search seeds (the",
        "paper: 2,000 children). Accuracy is the quantised test accuracy of the delivered design, retrained with 5",
        "fresh seeds: mean over search seeds and retrainings ± standard deviation over all of them. Designs were",
        "chosen by validation accuracy alone. Differences carry 95 % bootstrap intervals over search seeds and",
        "retrainings. Last fifth, first 50: mean quantised validation accuracy of children. Rows without numbers have",
        "not been run; PubMed's column is missing because its data was not at hand.",
        "Last fifth stands before (random search's mean; first 50).",
        "",
        "| row | paper | ours | random | disjoint | ours - random | ours - disjoint | last fifth |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row, paper in zip(rows, PAPER, strict=True):
        name = twin[name_of(row)]
        results = {method: found_of(record, name, method, options) for method in METHODS}
        cells = [f"{paper:.1f}%"]
        cells += [accuracy(results[method]) for method in METHODS]
        cells += [gap(results["reinforce"], results[method]) for method in METHODS[1:]]
        cells.append(learning(results))
        note = "" if name == name_of(row) else f" (feasible set of: {name}; run once)"
        lines.append(f"| {name_of(row)}{note} | {' | '.join(cells)} |")
    lines += ["", "## Feasible sets", ""]
    lines += [f"- {name_of(row)}: {record.results['set | ' + name_of(row)]['survey']}" for row in rows]
    return "\n".join(lines) + "\n"


def found_of(record: Record, name: str, method: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The results of a row that are there."""
    keys = (key_of(name, method, seed, options.children) for seed in range(options.seeds))
    return [record.results[key] for key in keys if key in record.results]


def key_of(name: str, method: str, seed: int, children: int) -> str:
    """Of a run in the record."""
    return f"{name} | {method} | {seed} | {children}"


def accuracy(results: list[dict[str, Any]]) -> str:
    """Mean and spread, and of how many searches."""
    values = [value for result in results for value in result.get("test", [])]
    failed = sum("error" in result for result in results)
    text = f"{np.mean(values):.1%} ± {np.std(values, ddof=1):.1%} ({len(results) - failed})" if values else "-"
    return text + (f"; {failed} found nothing" if failed else "")


def gap(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> str:
    """Difference of two methods with its interval."""
    pair = [[result["test"] for result in results if "test" in result] for results in (ours, theirs)]
    if not all(pair):
        return "-"
    found = difference(*pair)
    return f"{found['difference']:+.1%} [{found['low']:+.1%}, {found['high']:+.1%}]"


def learning(results: dict[str, list[dict[str, Any]]]) -> str:
    """Where the search's children end, beside where they began and random's."""
    ours, theirs = ([r for r in results[method] if r.get("children")] for method in ("reinforce", "random"))
    if not ours:
        return "-"
    last, first = (np.mean([result[field] for result in ours]) for field in ("last_fifth", "first_50"))
    beside = f"{np.mean([result['mean'] for result in theirs]):.1%}" if theirs else "-"
    return f"{last:.1%} ({beside}; {first:.1%})"


def main() -> None:
    """Run what is missing, and write after each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", metavar="N,N", help="1 to 12: Table IV; 13: CiteSeer of Table III; default: all")
    parser.add_argument("--children", type=int, default=2_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    record = Record("tables.json")
    for row in ROWS:
        record.fill(f"set | {name_of(row)}", lambda row=row: feasible_set(row))
    twin = twins(ROWS, {name_of(row): record.results[f"set | {name_of(row)}"] for row in ROWS})
    asked = [row for row in rows_of(options.rows) if not record.results[f"set | {name_of(row)}"]["empty"]]
    for seed, row, method in itertools.product(range(options.seeds), asked, METHODS):
        dataset, specification = next(one for one in ROWS if name_of(one) == twin[name_of(row)])
        config = SearchConfig.of(
            dataset, specification=specification, method=method, children=options.children, seed=seed
        )
        key = key_of(twin[name_of(row)], method, seed, options.children)
        record.fill(key, lambda config=config: run(config, options.workers))
        (RESULTS / "tables.md").write_text(page(ROWS, record, twin, options))


if __name__ == "__main__":
    main()
