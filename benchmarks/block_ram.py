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

from fgnas.backends.rtl import write_rtl
from fgnas.design import Design
from fgnas.hardware.devices import FAMILIES
from fgnas.hardware.pipeline.accelerator import Accelerator
from fgnas.hardware.pipeline.geometry import GraphShape
from fgnas.hardware.pipeline.lowering import lower
from fgnas.hardware.pipeline.pricing import accelerator_resources
from fgnas.systems.fgnas.space import fgnas_space
from fgnas.tools.characterise import code_digest, random_network
from fgnas.tools.synth import TOP, count_block_rams, count_cells, instance_totals, synthesise

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
        result = synthesise(["-f", "files.f"], TOP, family, Path(scratch) / "rtl", place.with_suffix(".log"))
    total = instance_totals(result["modules"], TOP)[TOP]["bram36"]
    kept = {"rtl": digest, "bram36": total, "tool": result["version"]}
    place.write_text(json.dumps(kept), encoding="utf-8")
    return kept


def compare(designs: list[Design], counts: list[Count], family: str) -> list[dict[str, Any]]:
    """A row for each design: what was built, what the model says, and the instances with block RAM."""
    return [
        {
            "design": design.to_dict(), "family": family, "rtl": count["rtl"], "built": count["bram36"],
            "predicted": accelerator_resources(lowered(design), family)["bram36"], "instances": count["instances"],
        }
        for design, count in zip(designs, counts, strict=True)
    ]  # fmt: skip


def page(rows: list[dict[str, Any]], checks: list[dict[str, Any]], tool: str) -> str:
    """The page of the results."""
    attentions = Counter(layer["attention"] for row in rows for layer in row["design"]["layers"])
    lines = [
        "# Block RAM, built and predicted", "",
        f"`{COMMAND}` wrote this page. {len({row['rtl'] for row in rows})} uniform draws from the whole space for",
        "Cora, with random weights and scales and a DSP budget of 0 to 99, none of them used to fit the model.",
        f"Each design's top is mapped with {tool} up to and including memory mapping, which decides the number of",
        "block RAMs. A RAMB18 counts as half a BRAM36.", "",
        "| family | designs | exact | BRAM36: median | most |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for family in dict.fromkeys(row["family"] for row in rows):
        own = [row for row in rows if row["family"] == family]
        built = [row["built"] for row in own]
        exact = sum(row["built"] == row["predicted"] for row in own)
        lines.append(f"| {family} | {len(own)} | {exact} | {np.median(built):g} | {max(built):g} |")
    layers = ", ".join(f"{count} {name}" for name, count in sorted(attentions.items()))
    tables = sum(bool(tables_in(row)) for row in rows)
    lines += ["", f"Attention of the layers: {layers}. In {tables} of {len(rows)} counts a table of an activation or",
              "of the exponential is in block RAM.", ""]  # fmt: skip
    if checks:
        lines += [
            "A full synthesis builds the same number:", "", "| design | family | up to memory mapping | full |",
            "|---|---|---|---|",
        ]  # fmt: skip
        lines += [f"| `{row['design']}` | {row['family']} | {row['built']:g} | {row['full']:g} |" for row in checks]
    return "\n".join([*lines, ""])


def tables_in(row: dict[str, Any]) -> list[str]:
    """The instances of tables that are in block RAM."""
    return [path for path in row["instances"] if path.endswith("u_table")]


def main() -> None:
    """Count, then write docs/results/block-ram.{md,json}; exit code 1 where a prediction is not exact."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=DESIGNS)
    parser.add_argument("--checked", type=int, default=CHECKED, help="designs that are also synthesised in full")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    parser.add_argument("--folder", type=Path, default=Path("build/block-ram"))
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    designs = random_designs(options.count)
    rows: list[dict[str, Any]] = []
    for family in options.families:
        rows += compare(designs, counted(designs, family, options.folder / f"{family}.jsonl"), family)
    checks, tool = [], "Yosys"
    for number, design in enumerate(designs[: options.checked]):
        family = options.families[number % len(options.families)]
        full = fully_synthesised(design, family, options.folder / f"{design.hash}-{family}.json")
        built = next(row["built"] for row in rows if row["rtl"] == full["rtl"] and row["family"] == family)
        checks.append({"design": design.hash, "family": family, "built": built, "full": full["bram36"]})
        tool = full["tool"]
    text = page(rows, checks, tool)
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / "block-ram.md").write_text(text, encoding="utf-8")
    document = {"command": COMMAND, "seed": SEED, "tool": tool, "designs": rows, "full": checks}
    (options.results / "block-ram.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(text)
    wrong = [row for row in rows if row["built"] != row["predicted"]]
    wrong += [row for row in checks if row["built"] != row["full"]]
    for row in wrong:
        print(row)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
