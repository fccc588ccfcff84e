"""A run on disk: every trial, appended and synced before the searcher's state moves on."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fgnas.engine.trial import Trial
from fgnas.errors import UserError
from fgnas.files import canonical_json, replace_file

LATEST = "latest"


class RunStore:
    """The folder of one run.

    A batch is committed by appending its trials and syncing, then replacing `state.pt`, which holds how many bytes
    of `trials.jsonl` belong to it. Any later bytes come from an unfinished batch; `resume` cuts them off.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.children = folder / "children"

    @property
    def name(self) -> str:
        """The run's name."""
        return self.folder.name

    @classmethod
    def create(cls, root: Path, name: str, config: dict[str, Any]) -> RunStore:
        """A new run; refuses a name that is taken."""
        check_name(root, name)
        store = cls(root / name)
        try:
            store.children.mkdir(parents=True)
        except OSError as error:
            raise UserError(f"cannot create the run {store.folder}: {error.strerror}") from None
        (store.folder / "trials.jsonl").touch()
        replace_file(store.folder / "config.json", json.dumps(config, indent=2, sort_keys=True).encode() + b"\n")
        replace_file(root / LATEST, name.encode() + b"\n")
        return store

    @classmethod
    def find(cls, root: Path, name: str) -> RunStore:
        """A run by name or path, or the latest."""
        if name == LATEST:
            try:
                name = (root / LATEST).read_text().strip()
            except OSError:
                raise UserError(f"there is no latest run in {root}: start one with `fgnas search`") from None
        for folder in (root / name, Path(name)):
            if (folder / "config.json").is_file():
                return cls(folder)
        known = sorted(path.parent.name for path in root.glob("*/config.json"))
        have = f"there are {', '.join(known)}" if known else "there are none yet: start one with `fgnas search`"
        raise UserError(f"no run {name!r} in {root}; {have}")

    def config(self) -> dict[str, Any]:
        """The configuration: everything that determines the run."""
        return self._read_json("config.json")

    def best(self) -> dict[str, Any] | None:
        """The delivered design, once the run is finished."""
        return self._read_json("best.json") if (self.folder / "best.json").is_file() else None

    def cheapest(self) -> dict[str, Any] | None:
        """The cheapest leader within one standard error of the best, if the run is finished and has costs."""
        return self._read_json("cheapest.json") if (self.folder / "cheapest.json").is_file() else None

    def result(self, name: str) -> Any:
        """A further file of a finished search (`Composition.results`); None if it has none of that name."""
        return self._read_json(name) if (self.folder / name).is_file() else None

    def leaders(self) -> list[dict[str, Any]]:
        """The retrained designs, best first."""
        if not (self.folder / "leaders.json").is_file():
            raise UserError(
                f"the run {self.name} is not finished: continue with `fgnas search --run {self.name} --resume`"
            )
        return self._read_json("leaders.json")

    def _read_json(self, name: str) -> Any:
        path = self.folder / name
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"cannot read {path}: {error}") from None

    def trials(self) -> list[Trial]:
        """Every trial, in order; an incomplete last line is ignored."""
        path = self.folder / "trials.jsonl"
        try:
            lines = path.read_text(encoding="utf-8").split("\n")[:-1]
            contents = [json.loads(line) for line in lines]
        except (OSError, ValueError) as error:
            raise UserError(f"cannot read {path}: {error}") from None
        return [Trial.from_dict(content, str(path)) for content in contents]

    def commit(self, trials: Sequence[Trial], state: dict[str, Any]) -> None:
        """Append a batch, then replace the state."""
        with (self.folder / "trials.jsonl").open("ab") as file:
            for trial in trials:
                file.write(canonical_json(trial.to_dict()).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
            offset = file.tell()
        buffer = io.BytesIO()
        torch.save({"offset": offset, "state": _packed(state)}, buffer)
        replace_file(self.folder / "state.pt", buffer.getvalue())

    def resume(self) -> dict[str, Any] | None:
        """The state of the last committed batch, with the trials cut back to it; None if nothing was committed."""
        path, offset, state = self.folder / "state.pt", 0, None
        if path.is_file():
            try:
                saved = torch.load(path, weights_only=True)
            except Exception as error:  # a damaged pickle can raise almost any exception
                raise UserError(f"cannot read {path} ({type(error).__name__}): start a new run") from None
            offset, state = saved["offset"], _unpacked(saved["state"])
        with (self.folder / "trials.jsonl").open("ab") as file:
            if file.tell() < offset:
                raise UserError(f"{self.folder / 'trials.jsonl'} lost trials that were committed: start a new run")
            file.truncate(offset)
        return state

    def record_timing(self, timing: dict[str, Any]) -> None:
        """Append the duration of a batch; no other file of a run depends on a clock."""
        with (self.folder / "timings.jsonl").open("a", encoding="utf-8") as file:
            file.write(canonical_json(timing) + "\n")

    def model_path(self, name: str) -> Path:
        """The file of a model, below children/."""
        return self.children / f"{name}.npz"

    def keep_models(self, names: Iterable[str]) -> None:
        """Remove all models but the named ones."""
        kept = {f"{name}.npz" for name in names}
        for path in self.children.iterdir():
            if path.name not in kept:
                path.unlink()

    def write_json(self, name: str, content: Any) -> None:
        """A readable JSON file, replaced whole."""
        replace_file(self.folder / name, json.dumps(content, indent=2, sort_keys=True).encode() + b"\n")


ARRAY, INTEGER = "array of NumPy", "integer of any size"
"""Keys for values that torch's safe loader refuses: NumPy arrays, and the 128-bit integers of a random state."""


def _packed(value: Any) -> Any:
    """A searcher's state in types that torch loads without running code."""
    if isinstance(value, dict):
        return {key: _packed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(item) for item in value]
    if isinstance(value, np.ndarray):
        return {ARRAY: torch.from_numpy(value.copy())}
    if isinstance(value, np.generic):
        return _packed(value.item())
    if isinstance(value, int) and value.bit_length() > 63:
        return {INTEGER: str(value)}
    return value


def _unpacked(value: Any) -> Any:
    """The inverse of packing; tuples become lists."""
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {ARRAY}:
        return value[ARRAY].numpy()
    if value.keys() == {INTEGER}:
        return int(value[INTEGER])
    return {key: _unpacked(item) for key, item in value.items()}


def check_name(root: Path, name: str) -> None:
    """Raise UserError unless a new run can have this name."""
    if "/" in name or name in ("", ".", "..", LATEST):
        raise UserError(f"a run cannot be called {name!r}: give --run a plain folder name")
    if (root / name).exists():
        raise UserError(f"the run {root / name} exists; continue with --run {name} --resume, or give another name")


def next_name(root: Path, dataset: str) -> str:
    """`<dataset>-<n>` with the first free n after the highest one taken."""
    taken = [path.name.removeprefix(f"{dataset}-") for path in root.glob(f"{dataset}-*")]
    return f"{dataset}-{max((int(n) for n in taken if n.isdecimal()), default=0) + 1}"


def compare(stored: Any, current: Any, field: str = "") -> str | None:
    """The first field in which two configurations differ, with both values; None if they are equal."""
    if isinstance(stored, dict) and isinstance(current, dict):
        for name in sorted(stored.keys() | current.keys()):
            place = f"{field}.{name}" if field else name
            if difference := compare(stored.get(name), current.get(name), place):
                return difference
        return None
    if stored != current:
        return f"{field} is {json.dumps(stored)} there and {json.dumps(current)} now"
    return None
