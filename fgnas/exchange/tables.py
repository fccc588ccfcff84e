"""The trials of a run as a table: CSV, Parquet, or a pandas DataFrame."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fgnas.engine.store import RunStore
from fgnas.engine.trial import Trial
from fgnas.errors import UserError
from fgnas.extras import require
from fgnas.files import replace_file

if TYPE_CHECKING:
    from pandas import DataFrame

Columns = dict[str, list[Any]]
"""The values of every trial by the column's name."""
EXTRA = "tables"
"""The extra that installs what is missing."""
OWN = ("trial", "draws", "design_hash", "training_key", "feasible", "trained", "cached")
"""The facts of a trial that are columns as they are."""


def columns_of(store: RunStore) -> Columns:
    """A run as columns: `OWN`, scores and costs by name, the option of every decision, and the rank of leaders.

    A decision without effect, and the rank of a trial that is no leader, are None. Shares are 0 to 1, costs have the
    units of the run's config.json. An unfinished run has no leaders yet.
    """
    config, trials = store.config(), store.trials()
    columns: Columns = {name: [getattr(trial, name) for trial in trials] for name in OWN}
    columns |= _named(trials, lambda trial: trial.scores)
    columns |= _named(trials, lambda trial: trial.costs)
    for place, decision in enumerate(config["space"]["decisions"]):
        options = decision["options"]
        drawn = [trial.row[place] for trial in trials]
        columns[decision["name"]] = [None if option < 0 else _flat(options[option]) for option in drawn]
    ranks = {entry["trial"]: entry["rank"] for entry in store.result("leaders.json") or ()}
    columns["leader"] = [ranks.get(trial.trial) for trial in trials]
    return columns


def _named(trials: Sequence[Trial], values_of: Callable[[Trial], Mapping[str, Any]]) -> Columns:
    """Columns of values by name; a trial without one of them has None."""
    names = dict.fromkeys(name for trial in trials for name in values_of(trial))
    return {name: [values_of(trial).get(name) for trial in trials] for name in names}


def _flat(option: Any) -> Any:
    """An option as one cell."""
    return option if isinstance(option, str | int | float | bool | None) else " ".join(map(str, option))


def frame(columns: Columns) -> DataFrame:
    """The columns as a DataFrame, whose index is the number of the trial. Raises UserError without pandas."""
    require("pandas", EXTRA)
    import pandas

    # Whole numbers stay whole beside missing ones.
    return pandas.DataFrame(columns).convert_dtypes().set_index("trial")


def write(columns: Columns, path: Path) -> None:
    """Write a table whole or not at all, by the ending of the path: .csv or .parquet.

    Raises UserError for another ending, or where pyarrow is missing for Parquet.
    """
    if (made := WRITERS.get(path.suffix)) is None:
        raise UserError(f"--out is {path}: give a name that ends with {' or '.join(WRITERS)}")
    content = made(columns)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None


def csv_of(columns: Columns) -> str:
    """The columns as comma-separated values with a header; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _parquet_of(columns: Columns) -> bytes:
    require("pyarrow", EXTRA)
    import pyarrow
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table({name: _one_kind(values) for name, values in columns.items()}), buffer)
    return buffer.getvalue()


def _one_kind(values: list[Any]) -> list[Any]:
    """Values that a column of Parquet can hold: text where some are text and others are not."""
    kinds = {type(value) for value in values if value is not None}
    return [None if value is None else str(value) for value in values] if str in kinds and len(kinds) > 1 else values


WRITERS: dict[str, Callable[[Columns], str | bytes]] = {".csv": csv_of, ".parquet": _parquet_of}
"""Functions that encode columns as the content of a file, by its suffix."""
