"""One runner for every kind of hardware: it synthesises points that are missing, and writes the tables of the families.

A `Bench` says what is measured of the modules of one kind. Measured points are kept in a working folder, a file for
each module, a point a line, so that an interrupted run continues.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

Point = TypeVar("Point")
Progress = Callable[[int, int], None]
"""Called with the number of finished batches and the total."""

FIRST_FAMILY = "xc7"
"""The family that is fitted by itself; other families keep its coefficients where their points say little."""
TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|(\w+|[^\w\s])", re.DOTALL)
"""A comment of SystemVerilog, or in the group a token."""
SIMULATED = re.compile(r"^`ifndef SYNTHESIS\n.*?(?:^`else\n(.*?))?^`endif\n", re.DOTALL | re.MULTILINE)
"""What only a simulation sees, and in the group what only synthesis sees in its place."""
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
DECLARATION = re.compile(r"^  (?=localparam|typedef|function)", re.MULTILINE)
"""Where a declaration of a package begins."""
DECLARED = re.compile(
    r"^localparam[^=]*?(\w+) =|^typedef.*?(\w+);\s*(?:endpackage.*)?\Z|^function[^(]*?(\w+)\(", re.DOTALL
)
"""Its name."""


@dataclass(frozen=True)
class Batch(Generic[Point]):
    """Points of one module that one run of Yosys measures."""

    module: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Bench(Generic[Point]):
    """The modules of one kind of hardware: what is measured of them, and how.

    Attributes:
        name: of the kind; of the working folder's, too.
        command: what a table says that it is made with.
        tables: the folder of the package with a table for each family.
        digest: of the code that a module's size depends on.
        record: what a line of the working folder says of a point beside its size, as plain JSON values.
        waiting: (family, folder, most) to the batches that neither the folder nor the table holds yet, at most so many
            points of a module.
        synthesised: (batch, family, scratch) to the sizes of its points.
        fitted: (family, folder) to what the table says of the modules.
    """

    name: str
    command: str
    tables: Path
    digest: Callable[[str], str]
    record: Callable[[Point], dict[str, Any]]
    waiting: Callable[[str, Path, int | None], Iterable[Batch[Point]]]
    synthesised: Callable[[Batch[Point], str, Path], Sequence[dict[str, Any]]]
    fitted: Callable[[str, Path], dict[str, Any]]

    def characterise(
        self, family: str, folder: Path, workers: int = 1, progress: Progress = lambda done, total: None,
        most: int | None = None,
    ) -> Path:  # fmt: skip
        """Measure the missing points, at most `most` of a module, fit, and write the family's table.

        Returns the table's path.
        """
        folder.mkdir(parents=True, exist_ok=True)
        batches = [*self.waiting(family, folder, most)]
        measure_all(batches, lambda batch: self.measure(batch, family, folder), workers, progress)
        return self.write_table(family, folder)

    def measure(self, batch: Batch[Point], family: str, folder: Path) -> None:
        """Synthesise a batch and append its sizes to the module's file."""
        with tempfile.TemporaryDirectory() as scratch:
            sizes = self.synthesised(batch, family, Path(scratch))
        rows = [self.record(point) | size for point, size in zip(batch.points, sizes, strict=True)]
        place = self.place_of(batch.module, family, folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("a", encoding="utf-8") as output:
            output.writelines(json.dumps(row) + "\n" for row in rows)

    def measured(self, module: str, family: str, folder: Path) -> list[dict[str, Any]]:
        """The measured points of a module: what `record` says of each, with its size; none where there is no file."""
        place = self.place_of(module, family, folder)
        if not place.is_file():
            return []
        return [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]

    def place_of(self, module: str, family: str, folder: Path) -> Path:
        """The file of a module's sizes; a changed source, which the digest names, has a file of its own."""
        return folder / family / f"{module}-{self.digest(module)}.jsonl"

    def shipped(self, family: str) -> dict[str, Any]:
        """The family's table as the package has it; empty if there is none."""
        place = self.tables / f"{family}.json"
        return json.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}

    def write_table(self, family: str, folder: Path) -> Path:
        """Fit what was measured and write the family's table; returns its path."""
        content = {
            "family": family,
            "tool": f"Yosys (pyosys {version('pyosys')})",
            "date": datetime.date.today().isoformat(),
            "command": self.command,
            **self.fitted(family, folder),
        }
        self.tables.mkdir(exist_ok=True)
        place = self.tables / f"{family}.json"
        place.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        return place


def measure_all(
    batches: Sequence[Batch[Point]], measure: Callable[[Batch[Point]], None], workers: int, progress: Progress
) -> None:
    """Measure batches in so many threads; the first error ends it."""
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(measure, batch) for batch in batches]
        for done, future in enumerate(as_completed(futures), 1):
            if future.exception():
                pool.shutdown(cancel_futures=True)
            future.result()
            progress(done, len(batches))


def code_digest(texts: Iterable[str]) -> str:
    """Twelve hexadecimal digits of SystemVerilog as synthesis sees it; comments and white space do not count."""
    digest = hashlib.sha256()
    for text in texts:
        for token in TOKEN.finditer(SIMULATED.sub(r"\1", text)):
            if token[1]:
                digest.update("".join(token[1].split()).encode() + b"\n")
    return digest.hexdigest()[:12]


def named_of(packages: Sequence[str], code: Sequence[str]) -> list[str]:
    """The declarations of packages that code names, and those that these name, in their order."""
    declared = [one for text in packages for one in DECLARATION.split(COMMENT.sub("", text))[1:]]
    names = [next(name for name in DECLARED.search(one).groups() if name) for one in declared]  # type: ignore[union-attr]
    used, texts, taken = set[str](), [COMMENT.sub("", text) for text in code], set[int]()
    while texts:
        used |= set(re.findall(r"\w+", texts.pop()))
        new = {place for place, name in enumerate(names) if name in used} - taken
        taken |= new
        texts += [declared[place] for place in new]
    return [declared[place] for place in sorted(taken)]
