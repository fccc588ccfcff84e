"""Commands of the search: `search`, `sample`, `rank`, `trials`."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fgnas import systems
from fgnas.commands import show
from fgnas.commands.arguments import Command, add_json, add_number
from fgnas.exchange.trackers import TRACKERS
from fgnas.files import canonical_json
from fgnas.options import NATURAL, POSITIVE, add_arguments, chosen
from fgnas.paths import RUNS

if TYPE_CHECKING:
    from fgnas.api import Run


def _add_search(sub: argparse.ArgumentParser) -> None:
    _add_system(sub)
    add_arguments(sub, _options_of(sub))
    add_number(sub, "--workers", POSITIVE, "processes that train; default: one per core")
    sub.add_argument("--executor", choices=("processes", "dask"), default="processes", help="default: %(default)s")
    sub.add_argument("--scheduler", metavar="ADDRESS", help="address of a running dask.distributed cluster")
    sub.add_argument(
        "--track", action="append", choices=tuple(TRACKERS), help="log the search there, too; may be repeated"
    )
    sub.add_argument("--run", dest="name", metavar="NAME", help="folder under runs/; default: DATASET-N")
    sub.add_argument("--resume", action="store_true", help="continue --run, or the latest run")
    add_json(sub)


def _search(options: argparse.Namespace) -> int:
    from fgnas import api

    given = chosen(options, systems.find(options.searched).Options)
    # These alone choose how a search runs; they never change its results.
    running = {name: getattr(options, name) for name in ("workers", "executor", "scheduler", "resume")}
    run = api.search(**given, **running, system=options.system, run=options.name, track=options.track or ())
    return _show_best(run, run.report(), options.json)


def _show_best(run: Run, page: Path, as_json: bool) -> int:
    best = run.best
    if as_json:
        show.json_object({"run": run.folder.name, "page": str(page), **best})
        return 0
    config = run.store.config()
    show.costs(config["costs"], config["limits"], best["costs"])
    rows: list[tuple[str, ...]] = []
    seeds = len(best["retrained"]["seeds"])
    for kind, splits in best["delivered"].items():
        for split, value in splits.items():
            over = best["retrained"][kind][split]
            spread = (f"{over['mean']:.2%}", f"{over['std']:.2%}") if seeds > 1 else ()
            rows.append((f"{kind} {split}", f"{value:.2%}", *spread))
            if "deviation" in best:
                error = best["deviation"] * math.sqrt(1 - value)
                rows.append((f"{kind} {split}, RMSE", f"{error:.4g}", *("" for _ in spread)))
    title = config["scores"][0]["label"].removeprefix("Validation ")
    several = (f"mean of {seeds} seeds", "std") if seeds > 1 else ()
    show.table(title[0].upper() + title[1:], ("", "delivered", *several), rows)
    if (cheapest := run.cheapest) is not None and cheapest["design_hash"] != best["design_hash"]:
        _show_cheapest(config["costs"], best, cheapest)
    print(run.folder / "best.json")
    print(page)
    return 0


def _show_cheapest(quantities: Sequence[dict[str, Any]], best: dict[str, Any], cheapest: dict[str, Any]) -> None:
    """The cheapest design within one standard error of the best, beside it."""
    score = [(f"{entry['retrained_val']['mean']:.2%}") for entry in (best, cheapest)]
    rows = [("Retrained validation", *score, "")]
    for cost in quantities:
        values = [entry["costs"][cost["name"]] for entry in (best, cheapest)]
        share = f"{values[1] / values[0]:.1%}" if values[0] else "-"
        rows.append((cost["label"], *(show.amount(value, cost) for value in values), share))
    title = f"Within one standard error: --design cheapest (rank {cheapest['rank']})"
    show.table(title, ("", "best", "cheapest", "of the best"), rows)


def _add_sample(sub: argparse.ArgumentParser) -> None:
    _add_system(sub)
    own = _options_of(sub)
    add_arguments(sub, own, own.SHAPES)
    add_number(sub, "--seed", NATURAL, "of the draws", 0)
    add_number(sub, "-n", POSITIVE, "how many", 1)


def _options_of(sub: argparse.ArgumentParser) -> Any:
    """The options of the system that the parser is for."""
    return systems.find(sub.get_default("searched")).Options


def _add_system(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--system", metavar="NAME", help=f"{', '.join(systems.names())}; default: {systems.DEFAULT}")


def _sample(options: argparse.Namespace) -> int:
    from fgnas import api

    own = systems.find(options.system or systems.DEFAULT).Options
    given = chosen(options, own, own.SHAPES)
    for candidate in api.candidates(options.n, options.seed, options.system, **given):
        print(canonical_json(candidate.to_dict()))
    return 0


def _add_rank(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("source", metavar="RUN", nargs="?", default="latest", help="a run's name; default: %(default)s")
    add_number(sub, "--networks", POSITIVE, "uniform networks within the run's limits", 100)
    add_number(sub, "--seeds", POSITIVE, "trainings of each", 2)
    add_number(sub, "--workers", POSITIVE, "processes that train; default: one per core")
    add_json(sub)


def _rank(options: argparse.Namespace) -> int:
    from fgnas import api

    found = api.Run.find(options.source).rank(options.networks, options.seeds, options.workers)
    if options.json:
        show.json_object(found)
        return 0
    rows = [
        ("its scores against trained alone", found["tau"], found["tau_better_half"]),
        ("one seed against another", found["seeds_tau"], found["seeds_tau_better_half"]),
    ]
    title = f"Kendall's tau over {found['networks']} networks of {found['run']}, {found['trainings']} trainings"
    show.table(title, ("", "all", "better half"), [(name, f"{a:.3f}", f"{b:.3f}") for name, a, b in rows])
    return 0


def _add_trials(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("source", metavar="RUN", nargs="?", default="latest", help="a run's name; default: %(default)s")
    about = "the table, by its ending CSV or Parquet; default: CSV on the standard output"
    sub.add_argument("--out", type=Path, metavar="FILE.csv|FILE.parquet", help=about)


def _trials(options: argparse.Namespace) -> int:
    from fgnas.engine.store import RunStore
    from fgnas.exchange import tables

    columns = tables.columns_of(RunStore.find(RUNS, options.source))
    if options.out is None:
        sys.stdout.write(tables.csv_of(columns))
        return 0
    tables.write(columns, options.out)
    print(options.out)
    return 0


COMMANDS = (
    Command("search", _search, _add_search, "search for a design that keeps to a specification"),
    Command("sample", _sample, _add_sample, "write random candidates, one per line"),
    Command("rank", _rank, _add_rank, "measure how well a run's scores rank networks that are trained alone"),
    Command("trials", _trials, _add_trials, "write the trials of a run as a table: CSV or Parquet"),
)
