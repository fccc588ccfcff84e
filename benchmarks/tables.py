"""Tables III and IV of the FGNAS paper, with random and disjoint search beside ours; resumable, by rows."""

from __future__ import annotations

import argparse
import functools
import hashlib
import itertools
from textwrap import wrap
from typing import Any

import numpy as np
from common import BLOCK, RESULTS, Record, behaviour, run
from figures import svg
from memory import Sharing

from fgnas.engine.loop import survey
from fgnas.engine.run import SearchConfig
from fgnas.engine.statistics import difference
from fgnas.errors import UserError
from fgnas.hardware.pipeline.pricing import Pricer, Prices, Specification
from fgnas.space import find_space
from fgnas.tasks.nodes import load

TABLE_IV = [
    ("cora", Specification(latency, area, area, dsp))
    for latency, area, dsp in itertools.product((0.8, 0.9, 1.0), (10_000, 100_000), (10, 100))
]
CITESEER = ("citeseer", Specification(1.0, 100_000, 100_000, 1000))
"""Of Table III, whose row of Cora is Table IV's last."""
ROWS = [*TABLE_IV, CITESEER]
PAPER = (66.2, 62.9, 67.8, 68.7, 68.1, 69.2, 68.8, 70.2, 68.1, 70.1, 68.8, 71.5, 72.4)
"""Test accuracy of the paper's joint search in each row, per cent."""
FIGURE = "tables-learning.svg"
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
    allowed = hashlib.sha256()
    for prices in uniform_prices(dataset, specification.dsp):
        allowed.update(prices.feasible(specification).tobytes())
    return {"survey": found, "set": allowed.hexdigest(), "empty": False}


@functools.cache
def uniform_prices(dataset: str, dsp: int) -> list[Prices]:
    """Of many uniform draws, in parts."""
    space, pricer, rng = find_space("fgnas"), Pricer(load(dataset)), np.random.default_rng(1)
    return [pricer.price(space.columns(space.draw(SAMPLES // 10, rng)), dsp) for _ in range(10)]


def twins(rows: list[Row], sets: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Row -> the first row of the same dataset with an equal feasible set."""
    first: dict[tuple[str, str], str] = {}
    return {name_of(row): first.setdefault((row[0], sets[name_of(row)]["set"]), name_of(row)) for row in rows}


def page(rows: list[Row], record: Record, twin: dict[str, str], options: argparse.Namespace) -> str:
    """The tables as far as they are filled."""
    found = {name_of(row): {m: found_of(record, twin[name_of(row)], m, options) for m in METHODS} for row in rows}
    lines = [
        "# Tables III and IV",
        "",
        *wrap(
            f"`make bench-tables CHILDREN={options.children}`: {options.children} valid children a search (the paper: "
            f"2,000) and {options.seeds} search seeds. Accuracy is the quantised test accuracy of the delivered "
            "design, which was retrained with 5 fresh seeds: mean over search seeds and retrainings ± standard "
            "deviation over all of them; then how many searches; float: the same networks before quantisation. Designs "
            "were chosen by validation accuracy alone. "
            "Random and disjoint search had as many valid children, the same trainer and the same retraining. "
            "Differences carry 95 % bootstrap intervals over search seeds and retrainings. A row without numbers has "
            "not been run.",
            120,
        ),
        "",
        "Rows 1 to 12 are Table IV (Cora), row 12 is Cora in Table III as well; row 13 is CiteSeer in Table III.",
        "PubMed's column of Table III is missing: its data was not at hand.",
        "",
        *table(rows, record, twin, found),
        "", "## Learning", "",
        "Mean quantised validation accuracy of children, over the seeds.", "",
        *learning_table(rows, twin, found),
        "", f"![Learning curves]({FIGURE})", "",
        *added(found), "",
    ]  # fmt: skip
    lines += ["## Feasible sets", ""]
    for number, row in enumerate(rows, 1):
        lines.append(f"{number}. {name_of(row)}: {record.results['set | ' + name_of(row)]['survey']}")
    return "\n".join(lines) + "\n"


Found = dict[str, dict[str, list[dict[str, Any]]]]
"""By row and by method: the results of its searches."""


def table(rows: list[Row], record: Record, twin: dict[str, str], found: Found) -> list[str]:
    """Accuracy by row, beside the paper's."""
    lines = [
        "| row | specification | paper | search | float | random | disjoint | search - random | search - disjoint |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for number, (row, paper) in enumerate(zip(rows, PAPER, strict=True), 1):
        if record.results[f"set | {name_of(row)}"]["empty"]:
            lines.append(f"| {number} | {name_of(row)} | {paper:.1f}% | no feasible design | | | | | |")
            continue
        results = found[name_of(row)]
        cells = [f"{paper:.1f}%", *(accuracy(results[method]) for method in METHODS)]
        cells.insert(2, accuracy(results["reinforce"], "float_test"))
        cells += [gap(results["reinforce"], results[method]) for method in METHODS[1:]]
        same = twin[name_of(row)]
        note = "" if same == name_of(row) else f" (feasible set of: {same}; run once)"
        lines.append(f"| {number} | {name_of(row)}{note} | {' | '.join(cells)} |")
    return lines


def learning_table(rows: list[Row], twin: dict[str, str], found: Found) -> list[str]:
    """Where children begin and end, by distinct row."""
    lines = [
        "| row | random, all | search, first 50 | search, last fifth | last fifth - random | float trainings |",
        "|---|---|---|---|---|---|",
    ]
    for number, row in enumerate(rows, 1):
        if twin[name_of(row)] == name_of(row) and (cells := learning(found[name_of(row)])):
            lines.append(f"| {number} | {' | '.join(cells)} |")
    return lines


def figure(rows: list[Row], record: Record, twin: dict[str, str], options: argparse.Namespace) -> str:
    """Learning curves of the distinct rows that have been run."""
    charts = {}
    for number, row in enumerate(rows, 1):
        name = name_of(row)
        lines = {}
        for label, method in (("search", "reinforce"), ("random", "random")):
            results = found_of(record, name, method, options)
            lines[label] = averaged([result["blocks"] for result in results if result["children"]])
        if twin[name] == name and any(lines.values()):
            charts[f"{number}. {name}"] = {label: points for label, points in lines.items() if points}
    return svg(charts, options.children)


def averaged(curves: list[list[float]]) -> list[tuple[float, float]]:
    """The mean of curves of equal length, each value in the middle of its block."""
    return [((place + 0.5) * BLOCK, float(np.mean(values))) for place, values in enumerate(zip(*curves, strict=True))]


def found_of(record: Record, name: str, method: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The results of a row that are there."""
    keys = (key_of(name, method, seed, options.children) for seed in range(options.seeds))
    return [record.results[key] for key in keys if key in record.results]


def key_of(name: str, method: str, seed: int, children: int) -> str:
    """Of a run in the record."""
    return f"{name} | {method} | {seed} | {children}"


def accuracy(results: list[dict[str, Any]], field: str = "test") -> str:
    """Mean and spread, and of how many searches."""
    values = [value for result in results for value in result.get(field, [])]
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


def added(found: Found) -> list[str]:
    """What the search adds to random and to disjoint search, over all rows of Cora that all three have run."""
    rows = [results for name, results in found.items() if name.startswith("cora") and all(results.values())]
    if not rows:
        return []
    lines = [
        "## What the search adds", "",
        *wrap(
            f"Over the {len(rows)} rows of Cora that have been run: means over rows and seeds ± standard deviation; of "
            "the differences, intervals as above, with rows in the place of retrainings. Rows are no independent "
            "trials: with one seed they draw much the same and share their trainings.",
            120,
        ), "",
        "| method | best child, validation | delivered design, test | search - method | searches that found nothing "
        "| float trainings a search |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    tests = {method: by_seed(rows, method) for method in METHODS}
    for method in (one for one in METHODS if sum(map(len, tests[one])) > 1):
        results = [result for row in rows for result in row[method]]
        best = [result["best"] for result in results if "test" in result]
        test = [value for values in tests[method] for value in values]
        gap = difference(tests["reinforce"], tests[method])
        apart = f"{gap['difference']:+.1%} [{gap['low']:+.1%}, {gap['high']:+.1%}]" if method != "reinforce" else "-"
        lines.append(
            f"| {method} | {np.mean(best):.1%} ± {np.std(best, ddof=1):.1%} "
            f"| {np.mean(test):.1%} ± {np.std(test, ddof=1):.1%} | {apart} "
            f"| {sum('error' in result for result in results)} of {len(results)} "
            f"| {np.mean([result['trainings'] for result in results]):.0f} |"
        )
    return lines


def by_seed(rows: list[dict[str, list[dict[str, Any]]]], method: str) -> list[list[float]]:
    """[seeds][rows] mean test accuracy of what was delivered, without the searches that found nothing."""
    seeds = zip(*(row[method] for row in rows), strict=False)  # as many as every row has
    found = [[float(np.mean(result["test"])) for result in results if "test" in result] for results in seeds]
    return [values for values in found if values]


def learning(results: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Where the search's children begin and end, beside random's."""
    ours, theirs = ([r for r in results[method] if r.get("children")] for method in ("reinforce", "random"))
    if not ours:
        return []
    first, last = (float(np.mean([result[field] for result in ours])) for field in ("first_50", "last_fifth"))
    trainings = f"{np.mean([result['trainings'] for result in ours]):.0f}"
    if not theirs:
        return ["-", f"{first:.1%}", f"{last:.1%}", "-", trainings]
    beside = float(np.mean([result["mean"] for result in theirs]))
    trainings += f"; random {np.mean([result['trainings'] for result in theirs]):.0f}"
    return [f"{beside:.1%}", f"{first:.1%}", f"{last:.1%}", f"{last - beside:+.1%}", trainings]


def main() -> None:
    """Run what is missing, and write after each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", metavar="N,N", help="1 to 12: Table IV; 13: CiteSeer of Table III; default: all")
    parser.add_argument("--children", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    record = Record("tables.json", behaviour())
    for row in ROWS:
        record.fill(f"set | {name_of(row)}", lambda row=row: feasible_set(row))
    twin = twins(ROWS, {name_of(row): record.results[f"set | {name_of(row)}"] for row in ROWS})
    asked = [row for row in rows_of(options.rows) if not record.results[f"set | {name_of(row)}"]["empty"]]
    with Sharing(options.workers) as sharing:
        for seed, row, method in itertools.product(range(options.seeds), asked, METHODS):
            dataset, specification = next(one for one in ROWS if name_of(one) == twin[name_of(row)])
            config = SearchConfig.of(
                dataset, specification=specification, method=method, children=options.children, seed=seed
            )
            key = key_of(twin[name_of(row)], method, seed, options.children)
            record.fill(key, lambda config=config: run(config, sharing))
            (RESULTS / "tables.md").write_text(page(ROWS, record, twin, options))
            (RESULTS / FIGURE).write_text(figure(ROWS, record, twin, options))


if __name__ == "__main__":
    main()
