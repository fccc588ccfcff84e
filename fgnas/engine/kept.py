"""Results of long jobs in a run's folder until the run ends, so that a killed run continues with those that it had."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from fgnas.engine.jobs import Workers
from fgnas.errors import UserError
from fgnas.files import replace_file, torch_bytes


class Named(Protocol):
    """A job whose name says all that its result depends on, and names a file."""

    @property
    def name(self) -> str:
        """The name."""


class Kept:
    """Runs jobs and keeps each result in a file as soon as the job ends; without a folder it keeps nothing.

    Results are what torch's safe loader reads: numbers, tensors, and tuples, lists and dicts of them.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def run(self, workers: Workers, jobs: Sequence[Named], function: Callable[[Any], Any]) -> list[Any]:
        """The results in the order of the jobs; those that are kept do not run again.

        They come from the files in any case, so that what a continued run stores has the same bytes. Raises UserError
        for a damaged file.
        """
        if self.folder is None:
            return workers.run(jobs, function)
        self.folder.mkdir(exist_ok=True)
        paths = [self.folder / f"{function.__name__}-{job.name}.pt" for job in jobs]
        left = [place for place, path in enumerate(paths) if not path.is_file()]

        def ended(at: int, result: Any) -> None:
            replace_file(paths[left[at]], torch_bytes(result))

        workers.run([jobs[place] for place in left], function, ended)
        return [_read(path) for path in paths]


def _read(path: Path) -> Any:
    try:
        return torch.load(path, weights_only=True)
    except Exception as error:  # a damaged pickle can raise almost any exception
        raise UserError(f"cannot read {path} ({type(error).__name__}): delete it, and continue with --resume") from None
