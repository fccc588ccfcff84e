"""Block RAM: the model against memory mapping by Yosys, on random designs of the whole space and both families.

Run by `make bench-memory`. Synthesis stops after memory mapping, which decides the count; on a few designs the count is
compared with a full synthesis. Each count is kept with a digest of its RTL, so that an interrupted run continues.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pages import render, write_page, write_record

from fgnas.backends.rtl import KERNEL, write_rtl
from fgnas.design import Design
from fgnas.hardware.devices import FAMILIES
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.pipeline.pricing import accelerator_resources
from fgnas.hardware.shape import GraphShape
from fgnas.systems.fgnas.space import fgnas_space
from fgnas.tools.characterise import code_digest, random_network
from fgnas.tools.synth import count_block_rams, count_cells, instance_totals, synthesise

SEED = 2718
SHAPE = GraphShape(1433, 7, 3072, 256)
"""Cora."""
DESIGNS, CHECKED = 200, 3
BATCH = 20
"""Designs that one run of Yosys maps: reading the library and its templates takes longer than a design."""
SCALES = ("weight_scale", "value_scale", "output_scale")
COMMAND = "make bench-memory"

Count = dict[str, Any]
"""`rtl`, the digest of the design's RTL; `bram36`; and `instances`, {path: BRAM36}."""


def random_designs(count: int) -> list[Design]:
    """The first of the uniform draws from the whole space, each with a DSP budget of its own."""
    space = fgnas_space()
    rows = space.draw(DESIGNS, np.random.default_rng(SEED))
    budgets = np.random.default_rng([SEED, 1]).integers(0, 100, DESIGNS).tolist()
    return [space.design(row, budget) for row, budget in zip(rows[:count], budgets[:count], strict=True)]


def lowered(design: Design) -> Accelerator:
    """A design with random weights and, as training chooses them, scales: they decide what the tables hold."""
    rng = np.random.default_rng(int(design.hash, 16))
    plain = random_network(design, SHAPE, SEED)
    layers = [
        replace(layer, **dict(zip(SCALES, rng.integers(-2, 4, len(SCALES)).tolist(), strict=True)))
        for layer in plain.layers
    ]
    return lower(design, replace(plain, layers=tuple(layers)), SHAPE)


def write(design: Design, folder: Path) -> str:
    """Write the RTL of a design; returns its digest."""
    files = write_rtl(lowered(design), folder)
    return code_digest(path.read_text(encoding="utf-8") for path in files if path.suffix == ".sv")


def counted(designs: list[Design], family: str, place: Path) -> list[Count]:
    """The block RAM of each design as Yosys builds it; counts of today's RTL in the file `place` are used again."""
    known: dict[str, Count] = {}
    if place.is_file():
        known = {count["rtl"]: count for count in map(json.loads, place.read_text(encoding="utf-8").splitlines())}
    found: list[Count] = []
    for start in range(0, len(designs), BATCH):
        with tempfile.TemporaryDirectory() as scratch:
            folders = [Path(scratch) / f"design_{number}" for number in range(start, min(start + BATCH, len(designs)))]
            digests = [write(design, folder) for design, folder in zip(designs[start:], folders, strict=False)]
            places = {digest: folder / "rtl" for digest, folder in zip(digests, folders, strict=True)}
            missing = {digest: folder for digest, folder in places.items() if digest not in known}
            built = count_block_rams(missing, family, place.parent / f"{family}.log") if missing else {}
        with place.open("a", encoding="utf-8") as output:
            for digest, blocks in built.items():
                instances = {path: count_cells(cells)["bram36"] for path, cells in sorted(blocks.items())}
                known[digest] = {"rtl": digest, "bram36": sum(instances.values()), "instances": instances}
                output.write(json.dumps(known[digest]) + "\n")
        found += [known[digest] for digest in digests]
        print(f"\r{family} {len(found)}/{len(designs)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def fully_synthesised(design: Design, family: str, place: Path) -> dict[str, Any]:
    """The block RAM of a design after a full synthesis; a result of today's RTL in the file `place` is used again."""
    with tempfile.TemporaryDirectory() as scratch:
        digest = write(design, Path(scratch))
        if place.is_file() and (kept := json.loads(place.read_text(encoding="utf-8")))["rtl"] == digest:
            return dict(kept)
        result = synthesise(["-f", "files.f"], KERNEL, family, Path(scratch) / "rtl", place.with_suffix(".log"))
    total = instance_totals(result["modules"], KERNEL)[KERNEL]["bram36"]
    kept = {"rtl": digest, "bram36": total, "tool": result["version"]}
    place.write_text(json.dumps(kept), encoding="utf-8")
    return kept


def compare(designs: list[Design], counts: list[Count], family: str) -> list[dict[str, Any]]:
    """A row for each design: the block RAM that was built, the model's, and the instances of tables in block RAM."""
    return [
        {
            "design": design.hash,
            "attentions": [layer.attention for layer in design.layers],
            "family": family,
            "rtl": count["rtl"],
            "built": count["bram36"],
            "predicted": accelerator_resources(lowered(design), family)["bram36"],
            "tables": sum(path.endswith("u_table") for path in count["instances"]),
        }
        for design, count in zip(designs, counts, strict=True)
    ]


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    rows = record["designs"]
    names = list(dict.fromkeys(row["family"] for row in rows))
    families = []
    for name in names:
        own = [row for row in rows if row["family"] == name]
        built = [row["built"] for row in own]
        exact = sum(row["built"] == row["predicted"] for row in own)
        families.append({
            "name": name, "designs": len(own), "exact": exact, "median": float(np.median(built)), "most": max(built),
        })  # fmt: skip
    first = [row for row in rows if row["family"] == names[0]]
    attentions = Counter(attention for row in first for attention in row["attentions"])
    return render(
        "block-ram.md", designs=len(first), families=families, attentions=sorted(attentions.items()),
        tables=sum(row["tables"] > 0 for row in first), checks=record["full"], tool=record["tool"],
    )  # fmt: skip


def main() -> None:
    """Count, then write docs/results/block-ram.{md,json}; exit code 1 where a prediction is not exact."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=DESIGNS)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    parser.add_argument("--folder", type=Path, default=Path("build/block-ram"), help="of the counts; %(default)s")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    designs = random_designs(options.count)
    rows: list[dict[str, Any]] = []
    for family in options.families:
        rows += compare(designs, counted(designs, family, options.folder / f"{family}.jsonl"), family)
    checks = []
    for number, design in enumerate(designs[:CHECKED]):
        family = options.families[number % len(options.families)]
        full = fully_synthesised(design, family, options.folder / f"{design.hash}-{family}.json")
        built = next(row["built"] for row in rows if row["rtl"] == full["rtl"] and row["family"] == family)
        checks.append({"design": design.hash, "family": family, "built": built, "full": full["bram36"]})
    tool = full["tool"]
    record = {"command": COMMAND, "seed": SEED, "tool": tool, "full": checks, "designs": rows}
    write_record("block-ram", record)
    write_page("block-ram.md", page(record))
    wrong = [row for row in rows if row["built"] != row["predicted"]]
    wrong += [row for row in checks if row["built"] != row["full"]]
    for row in wrong:
        print(row)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
