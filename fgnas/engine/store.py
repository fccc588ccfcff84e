"""A run on disk: every trial, appended and synced before the searcher's state moves on."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fgnas.engine.trial import Trial
from fgnas.errors import UserError
from fgnas.files import canonical_json, replace_file, torch_bytes

LATEST = "latest"
EARLY = "early.json"
FINISHED = ("best.json", "cheapest.json", "leaders.json")
"""Files that only a finished run contains."""


class RunStore:
    """The folder of one run.

    A batch is committed by appending its trials and syncing, then replacing `state.pt`, which holds how many bytes
    of `trials.jsonl` belong to it. Any later bytes come from an unfinished batch; `resume` cuts them off. The last
    batches of a search may be short, because no more children are wanted; a longer search would not have them, so the
    state of the last whole batch is kept beside that of a short one, and `lengthen` goes back to it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.children, self.trainings = folder / "children", folder / "trainings"
        self._whole: dict[str, Any] | None = None

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
        store.write_json("config.json", config)
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
        found = self._read_json("config.json")
        if not isinstance(found, dict):
            raise UserError(f"{self.folder / 'config.json'} is damaged: it holds no table")
        return found

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
        """The retrained designs, best first; of a run that is not finished the best so far alone."""
        if (self.folder / "leaders.json").is_file():
            return self._read_json("leaders.json")
        if (early := self.early()) is None:
            raise UserError(
                f"the run {self.name} is not finished: continue with `fgnas search --run {self.name} --resume`"
            )
        return [early]

    def early(self) -> dict[str, Any] | None:
        """The entry of the best design so far, of a run that is not finished and has one."""
        return self._read_json(EARLY) if (self.folder / EARLY).is_file() else None

    def deliver_early(self, entry: dict[str, Any]) -> None:
        """Replace the best design so far by another, whose model is stored."""
        before = self.early()
        self.write_json(EARLY, entry)
        if before is not None and before["design_hash"] != entry["design_hash"]:
            self._remove_model(before)

    def end_early(self) -> None:
        """Remove the best design so far: the leaders take its place."""
        if (entry := self.early()) is not None:
            (self.folder / EARLY).unlink()
            self._remove_model(entry)

    def end_trainings(self) -> None:
        """Remove the results that a killed run would have continued with (`fgnas.engine.kept`)."""
        shutil.rmtree(self.trainings, ignore_errors=True)

    def _remove_model(self, entry: dict[str, Any]) -> None:
        """Remove the file of an entry's model, unless it belongs to others, too."""
        path = self.folder / entry.get("weights", "")
        if path.stem == model_name(entry["design_hash"], entry["repetition"]):
            path.unlink(missing_ok=True)

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

    def commit(self, trials: Sequence[Trial], state: dict[str, Any], whole: bool = True) -> None:
        """Append a batch, then replace the state. `whole`: a search for more children has the same batch."""
        with (self.folder / "trials.jsonl").open("ab") as file:
            for trial in trials:
                file.write(canonical_json(trial.to_dict()).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
            offset = file.tell()
        committed = {"offset": offset, "state": _packed(state)}
        if whole:
            self._whole = committed
        self._save(committed | {"whole": self._whole})

    def _save(self, content: dict[str, Any]) -> None:
        replace_file(self.folder / "state.pt", torch_bytes(content))

    def _saved(self) -> dict[str, Any] | None:
        """The content of state.pt: the last committed batch, and the last whole one; None if nothing was committed."""
        path = self.folder / "state.pt"
        if not path.is_file():
            return None
        import torch

        try:
            return dict(torch.load(path, weights_only=True))
        except Exception as error:  # a damaged pickle can raise almost any exception
            raise UserError(f"cannot read {path} ({type(error).__name__}): start a new run") from None

    def lengthen(self, config: dict[str, Any]) -> None:
        """Make it a run of this configuration, whose only difference is that it wants more children or trainings.

        It is then unfinished, at the last batch that a run with the new configuration has, too. Killed in between, it
        is still a run of its former configuration.
        """
        for name in FINISHED:
            (self.folder / name).unlink(missing_ok=True)
        if (saved := self._saved()) is not None:
            if "whole" not in saved:
                raise UserError(f"the run {self.name} is of an earlier version of fgnas: start a new run")
            if (whole := saved["whole"]) is None:
                (self.folder / "state.pt").unlink()
            else:
                self._save(whole | {"whole": whole})
        self.write_json("config.json", config)

    def resume(self) -> dict[str, Any] | None:
        """The state of the last committed batch, with the trials cut back to it; None if nothing was committed."""
        offset, state = 0, None
        self.children.mkdir(exist_ok=True)
        if (saved := self._saved()) is not None:
            offset, state, self._whole = saved["offset"], _unpacked(saved["state"]), saved.get("whole")
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
        """Remove all models but the named ones and that of the best design so far."""
        kept = {f"{name}.npz" for name in names}
        if (early := self.early()) is not None:
            kept.add(Path(early.get("weights", "")).name)
        for path in self.children.iterdir():
            if path.name not in kept:
                path.unlink()

    def write_json(self, name: str, content: Any) -> None:
        """A readable JSON file, replaced whole."""
        replace_file(self.folder / name, json.dumps(content, indent=2, sort_keys=True).encode() + b"\n")


ARRAY, INTEGER = "array of NumPy", "integer of any size"
"""Keys for values that torch's safe loader refuses: NumPy arrays, and the 128-bit integers of a random state."""


def _packed(value: Any) -> Any:
    """A copy of a searcher's state, in types that torch loads without running code."""
    import torch

    if isinstance(value, dict):
        return {key: _packed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(item) for item in value]
    if isinstance(value, torch.Tensor):
        return value.clone()
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


def model_name(design_hash: str, repetition: int) -> str:
    """The name of a leader's model, which the retraining of this number made."""
    return f"{design_hash}-{repetition}"


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


TOLD_FIRST = ("limits.", "options.")


def compare(stored: Any, current: Any) -> str | None:
    """The most informative field in which two configurations differ, with both values; None if they are equal.

    That is the first with a plain value in both, among limits and options if there is one: all else, such as the list
    of costs, mostly follows from these.
    """

    def unclear(one: tuple[str, Any, Any]) -> tuple[bool, bool]:
        return any(value is None or isinstance(value, list) for value in one[1:]), not one[0].startswith(TOLD_FIRST)

    if not (found := list(_differences(stored, current))):
        return None
    field, there, now = min(found, key=unclear)
    return f"{field} is {json.dumps(there)} there and {json.dumps(now)} now"


def _differences(stored: Any, current: Any, field: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Each field in which they differ, with both values; None for one that is missing."""
    if isinstance(stored, dict) and isinstance(current, dict):
        for name in sorted(stored.keys() | current.keys()):
            yield from _differences(stored.get(name), current.get(name), f"{field}.{name}" if field else name)
    elif stored != current:
        yield field, stored, current
