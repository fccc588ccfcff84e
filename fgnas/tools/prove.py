"""Prove the rules of the hand-written modules that touch a bus or keep data: `python -m fgnas.tools.prove`.

Yosys reads a module with its rules (sim/rules), which are the assertions that every simulation checks, and tries
whether the rules of a cycle imply those of the next (induction). If not, ABC, which comes with Yosys, looks for an
inductive invariant that implies every rule (PDR: induction whose hypothesis the tool strengthens by itself). Rules for
which it finds none in time are checked by bounded model checking, cycle by cycle from the reset. Labels that begin with
`reach_` are the opposite of rules: states that a proof must be able to reach, because assumptions that exclude them
would prove anything.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from fgnas.backends import array
from fgnas.backends.render import render
from fgnas.backends.rtl import package_text
from fgnas.errors import UserError
from fgnas.extras import require
from fgnas.hardware import wire
from fgnas.hardware.array import programme
from fgnas.paths import sim_directory, templates_directory
from fgnas.tools.synth import run_yosys

CYCLES = 40
"""Depth of the bounded check of what induction leaves open."""
INDUCTION_CYCLES = 1
"""Cycles whose rules an induction supposes."""
SECONDS = 600
"""Time limit of each attempt on a module."""
SMALL_BUS: Mapping[str, int] = {
    "BeatBits": 8, "BeatBytes": 128, "AlignBits": 7, "AddressBits": 20, "RegisterBits": 10,
}  # fmt: skip
"""Constants of the package for modules that count beats: a page has 32 beats, a region up to 1,023."""


@dataclass(frozen=True)
class Proof:
    """A module with its parameters, and the modules that it instantiates.

    Attributes:
        module: name of the module, of its file and of the file of its rules.
        below: modules that it instantiates; their rules are proven too, those of their user included.
        parameters: {parameter: value} of the module.
        package: constants of the package that differ from the kernel's.
        kernel: whose registers a module has that reads them, and those of its arguments; None for the pipeline's.
        induction_only: whether its states are too many or too far from the reset for ABC. The same module must be there
            with smaller sizes, because nothing shows here that its states can be reached.
    """

    module: str
    below: tuple[str, ...] = ()
    parameters: Mapping[str, int] = field(default_factory=dict)
    package: Mapping[str, int] = field(default_factory=dict)
    kernel: tuple[str, tuple[wire.Register, ...]] | None = None
    induction_only: bool = False

    @property
    def of_array(self) -> bool:
        """Whether it is a module of the multiplier array, without nearest points and scores."""
        return _of_array(self.module)

    @property
    def title(self) -> str:
        """The module with the kind of its kernel and everything that is smaller than in it."""
        sizes = [f"{name} {value}" for name, value in {**self.parameters, **self.package}.items()]
        about = ", ".join([*(self.kernel[:1] if self.kernel else ()), *sizes])
        return f"{self.module}{f' ({about})' if about else ''}"


def _of_array(module: str) -> bool:
    return module.startswith("array_")


PROOFS: tuple[Proof, ...] = (
    Proof("fgnas_fifo", parameters={"Depth": 8, "Width": 2}),
    Proof("fgnas_row_buffer", parameters={
        "Bits": 1, "Features": 4, "WriteLanes": 3, "ReadLanes": 2, "SkipLanes": 2, "Rows": 3}),
    Proof("fgnas_row_buffer", parameters={
        "Bits": 1, "Features": 5, "WriteLanes": 2, "ReadLanes": 4, "SkipLanes": 4, "Rows": 2}),
    Proof("fgnas_row_buffer", parameters={
        "Bits": 1, "Features": 6, "WriteLanes": 4, "ReadLanes": 3, "SkipLanes": 1, "Rows": 2, "Rewinds": 1}),
    Proof("fgnas_control", kernel=("of a pipeline", wire.ARGUMENT_REGISTERS)),
    Proof("fgnas_control", kernel=("of an array", programme.ARGUMENT_REGISTERS)),
    Proof("array_gather", parameters={"Units": 4, "Modes": 2, "LogK": 0x12, "LogN": 0x10, "SumBits": 2}),
    Proof("array_issue", parameters={
        "Units": 8, "Modes": 2, "LogK": 0x10, "LogN": 0x10, "WordBits": 4, "Together": 2, "Banks": 1, "Parts": 2}),
    Proof("array_table", ("fgnas_block_ram", "array_unit_bank"), {
        "WordBits": 1, "TableWords": 8, "Readers": 2, "Banks": 4, "Written": 2}),
    Proof("array_writeback", parameters={
        "Units": 4, "Modes": 2, "M": 0b010_100, "LogK": 0x10, "LogN": 0x00, "Bits": 2, "QueueWords": 16, "Results": 2,
        "Banks": 2, "TableWords": 16}),
    Proof("array_sequencer", parameters={"Programme": 4}),
    Proof("array_multiplier_pair", parameters={"LeftBits": 4, "RightBits": 5, "PortBits": 11}),
    Proof("fgnas_reader", ("fgnas_fifo",), {"BufferBeats": 64}, SMALL_BUS),
    Proof("fgnas_writer", package=SMALL_BUS),
    Proof("fgnas_reader", ("fgnas_fifo",), package={"BeatBits": 1}, induction_only=True),
    Proof("fgnas_writer", induction_only=True),
)  # fmt: skip


@dataclass(frozen=True)
class Result:
    """The result for one rule.

    Attributes:
        name: path and label of the assertion.
        proven: whether an inductive invariant implies it.
        bound: cycles from the reset in which it was found to hold, where it is not proven.
        fails_in: the cycle in which it fails, None where none was found.
    """

    name: str
    proven: bool = False
    bound: int = 0
    fails_in: int | None = None

    @property
    def must_fail(self) -> bool:
        """Whether it is a state that must be reachable."""
        return self.name.rsplit(".", 1)[-1].startswith("reach_")

    @property
    def right(self) -> bool:
        """Whether nothing is wrong: a rule holds, or a state is reached."""
        return (self.fails_in is not None) == self.must_fail

    def __str__(self) -> str:
        if self.fails_in is not None:
            return f"{'reached' if self.must_fail else 'FAILS'} in cycle {self.fails_in}"
        if self.must_fail:
            return f"NOT REACHED in {self.bound} cycles"
        return "proven by induction" if self.proven else f"holds for {self.bound} cycles"


def prove(
    proof: Proof,
    folder: Path,
    seconds: int = SECONDS,
    change: Callable[[str], str] = lambda text: text,
) -> list[Result]:
    """Prove the rules of a module; `folder` takes the files in between.

    `change` is applied to the module's text, for tests with a faulty one. Raises UserError without Yosys.
    """
    require("pyosys", "synth")
    macro = proof.module.removeprefix("fgnas_").upper()
    job = {
        "files": _sources(proof, folder, change), "top": proof.module, "parameters": dict(proof.parameters),
        "defines": ["FORMAL", f"PROVE_{macro}"],
    }  # fmt: skip
    written = {"kind": "graphs", "outputs": {"rules": "rules.aig", "reach": "reach.aig"}}
    names = run_yosys(job | written, folder, folder / "graphs.log")["names"]
    rules = folder / "rules.aig"
    reached: list[Result] = []
    if not proof.induction_only:
        # A short bounded check finds most faults at once, with the name of the rule.
        shallow = _bounded(rules, names["rules"], max(1, seconds // 4), CYCLES // 4)
        if any(result.fails_in is not None for result in shallow):
            return shallow
        reached = _bounded(folder / "reach.aig", names["reach"], seconds)
    induction = {"kind": "induction", "cycles": INDUCTION_CYCLES, "seconds": seconds}
    if run_yosys(job | induction, folder, folder / "induction.log")["inductive"] or _has_invariant(rules, seconds):
        return [Result(name, proven=True) for name in names["rules"]] + reached
    return _bounded(rules, names["rules"], seconds) + reached


def _sources(proof: Proof, folder: Path, change: Callable[[str], str]) -> list[str]:
    """Write the package and the module, and name every file of the proof in compile order."""
    package = package_text(arguments=proof.kernel[1] if proof.kernel else None)
    for name, value in proof.package.items():
        package, found = re.subn(rf"(int unsigned {name} = )\d+", rf"\g<1>{value}", package)
        if found != 1:
            raise UserError(f"the package has no constant {name}")
    rtl, rules = templates_directory() / "rtl", sim_directory() / "rules"
    if proof.of_array:
        package += array.package_text(wire.BEAT_BITS)
    (folder / "package.sv").write_text(package, encoding="utf-8")
    (folder / "module.sv").write_text(change(_module_text(proof)), encoding="utf-8")
    named = (rules / f"{name}.sv" for name in (*proof.below, proof.module))
    bound = [rules / "axi.sv", *(path for path in named if path.is_file())]
    below = (rtl / ("array" if _of_array(name) else "") / f"{name}.sv" for name in proof.below)
    files = [folder / "package.sv", *below, folder / "module.sv", *bound]
    return [str(path) for path in files]


def _module_text(proof: Proof) -> str:
    """The module that is proven; of an array's that of a plain engine."""
    place = Path("rtl") / ("array" if proof.of_array else "") / f"{proof.module}.sv"
    if (templates_directory() / place).is_file():
        return (templates_directory() / place).read_text(encoding="utf-8")
    return render(f"{place.as_posix()}.j2", softmax=None, neighbours=False)


def _bounded(graph: Path, names: Sequence[str], seconds: int, cycles: int = CYCLES) -> list[Result]:
    """Check every assertion for so many cycles, or as many as the time allows."""
    if not names:
        return []
    text = _abc(graph, f"fold; bmc3 -a -F {cycles} -T {seconds}")
    found = re.findall(r"Output +(\d+) was asserted in frame +(\d+)", text)
    failing = {int(index): int(cycle) for index, cycle in found}
    # The last frame that was finished, or all where the text does not say otherwise.
    reached = [int(number) for number in re.findall(r"(?:in|after) +(\d+) frames", text)]
    bound = min(reached, default=0)
    return [Result(name, bound=bound, fails_in=failing.get(number)) for number, name in enumerate(names)]


def _has_invariant(graph: Path, seconds: int) -> bool:
    """Whether an inductive invariant implies all assertions together."""
    return "Property proved" in _abc(graph, f"fold; orpos; pdr -T {seconds}")


def _abc(graph: Path, commands: str) -> str:
    """The output of commands of ABC on a graph."""
    spec = find_spec("pyosys")
    places = list(spec.submodule_search_locations or []) if spec else []
    run = subprocess.run(
        [str(Path(places[0]) / "yosys-abc"), "-c", f"read_aiger {graph.name}; {commands}"],
        cwd=graph.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    # It may crash at its end, after it has written what it found.
    if run.returncode != 0 and "asserted in frame" not in run.stdout:
        raise UserError(f"ABC failed on {graph}: {run.stdout.strip().splitlines()[-1:]}")
    return run.stdout


def main() -> int:
    """Prove every module and print a line for each rule; returns 1 where one fails."""
    parser = argparse.ArgumentParser(prog="make prove", description=__doc__)
    parser.add_argument("--seconds", type=int, default=SECONDS, help="limit of each attempt; default: %(default)s")
    options = parser.parse_args()
    wrong = 0
    for proof in PROOFS:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            results = prove(proof, Path(folder), options.seconds)
        print(f"{proof.title}: {time.monotonic() - begun:.0f} s")
        for result in results:
            print(f"  {result.name}: {result}", flush=True)
        wrong += sum(not result.right for result in results)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        print(f"make prove: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
