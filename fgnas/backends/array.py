"""An array as a project folder: HLS C++, RTL, programme, streams, golden logits and reports."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fgnas.backends.project import (
    BUILT,
    CALL_LIST,
    CALLS,
    DEFAULT_COMPILER,
    MARK,
    SPECIFICATION,
    Request,
    clock_and_part,
    replace_project,
    write_driver,
    write_json,
)
from fgnas.backends.render import render, render_folder
from fgnas.backends.rtl import KERNEL, TOP, write_package
from fgnas.backends.standalone import write_standalone
from fgnas.costs import violations
from fgnas.errors import UserError
from fgnas.hardware import wire
from fgnas.hardware.array import cycles, preparing, programme, reference
from fgnas.hardware.array.calls import CalledArray, EncodedCall, Source
from fgnas.hardware.array.chains import ChainArray, preparation_of
from fgnas.hardware.array.encoded import Encoded, EncodedArray
from fgnas.hardware.array.encoding import encode_array
from fgnas.hardware.array.engine import BANK_WORDS, HEADS, LANES, MOST_PLACES, Engine, in_block_ram
from fgnas.hardware.array.kind import FittedArray
from fgnas.hardware.array.lowering import ArrayAccelerator
from fgnas.hardware.array.points.encoded import EncodedPoints, PointArray
from fgnas.hardware.array.programme import beats_per_slot_row
from fgnas.hardware.array.resources import engine_resources
from fgnas.hardware.pipeline.memories import reader_buffer
from fgnas.hardware.ports import longest_burst, ports_of
from fgnas.hardware.specification import RESOURCES, Specification
from fgnas.network import Network
from fgnas.paths import templates_directory
from fgnas.tasks.nodes import GraphData

PACKAGE = "array_pkg"
ORDER = "order.bin"
SHARED = (
    "fgnas_block_ram", "fgnas_control", "fgnas_distributed_ram", "fgnas_fifo", "fgnas_multiplier",
    "fgnas_multiplier_dsp", "fgnas_multiplier_fabric", "fgnas_reader", "fgnas_writer",
)  # fmt: skip
"""Modules that the array shares with the pipeline."""
MULTIPLIERS = ("fgnas_multiplier", "fgnas_multiplier_dsp", "fgnas_multiplier_fabric")
"""Those of them that an array does not have whose slices hold two products, or a product's sum."""
SHARED_OF_SOFTMAX = ("fgnas_divider",)
"""Modules that it shares with the pipeline where it has attention."""
RENDERED = ("array_issue", "array_sequencer", "array_unit", "array_unit_sums", "array_writeback")
"""The modules that are rendered: those of an engine without an option contain no logic for it."""
RENDERED_OF_SOFTMAX = ("array_exponential", "array_coefficient")
"""The modules that are rendered for an engine with attention, which alone has them."""
OPTIONAL: dict[str, Callable[[Engine], bool]] = {
    "array_table": lambda engine: engine.shared > 1,
    "array_unit_partial": lambda engine: engine.partial_words > 0,
    "array_unit_rows": lambda engine: engine.partial_words > 0,
    "array_unit_parts": lambda engine: engine.parts > 1,
    "array_unit_collect": lambda engine: engine.parts > 1,
    "array_unit_residual": lambda engine: engine.residual,
    "array_chain": lambda engine: engine.neighbours is not None,
    "array_distance": lambda engine: engine.neighbours is not None,
    "array_root": lambda engine: engine.neighbours is not None and engine.neighbours.root,
    "array_neighbours": lambda engine: engine.neighbours is not None,
    "array_multiplier_pair": lambda engine: engine.paired,
    "array_multiplier_sum": lambda engine: engine.sliced,
}
"""Modules that not every engine has, and which do."""
OF_NEIGHBOURS = ("neighbours.h",)
"""Headers of the C++ that an engine without nearest points does not have."""
SHARED_HEADERS = ("count.h", "fixed.h", "multiply.h", "packing.h")
"""Headers of the C++ that it shares with the pipeline's."""
REGIONS = tuple(one.name for one in programme.ARGUMENT_REGISTERS if one.bits == wire.ADDRESS_BITS)
OnEngine = ArrayAccelerator | CalledArray
"""A network of layers with the engine that runs it."""
AnyOnEngine = OnEngine | PointArray
"""Any network with the engine that runs it."""
VENDOR_FILES, VIVADO_FILES = ("run_hls.tcl", "hls_config.cfg"), ("package_rtl.tcl", "block_design.tcl")


def write(fitted: FittedArray, data: GraphData, directory: Path, request: Request) -> list[Path]:
    """The project of a design on an array, or as calls of one; returns the files."""
    if request.compiler != DEFAULT_COMPILER:
        raise UserError(f"an array's C++ is for {DEFAULT_COMPILER} alone, not for {request.compiler}")
    if isinstance(fitted.made, CalledArray):
        return write_calls(fitted.made, directory, request.specification, fitted.network)
    return write_encoded(fitted.encoded(data), directory, request.specification, fitted.network)


def write_project(
    accelerator: ArrayAccelerator,
    data: GraphData,
    directory: Path,
    specification: Specification | None = None,
    network: Network | None = None,
    further: Sequence[GraphData] = (),
) -> list[Path]:
    """Write the project of a network on an array to `directory`, whole or not at all; returns the files.

    With `network` its float weights are written too; `further` as in `encode_array`. An existing project is replaced.
    """
    return write_encoded(encode_array(accelerator, data, further), directory, specification, network)


def write_encoded(
    encoded: EncodedArray, directory: Path, specification: Specification | None = None, network: Network | None = None
) -> list[Path]:
    """`write_project` of what is encoded already."""
    given = specification or Specification()
    predicted = price(encoded, given)
    return replace_project(
        directory, lambda built: _fill(encoded.accelerator, encoded, predicted, built, given, network)
    )


def write_points(
    encoded: EncodedPoints, directory: Path, specification: Specification, facts: dict[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, int]]:
    """The C++, the RTL, the vectors of clouds and the reports of a network of points, into a new folder; its price and
    the sizes of its vectors. `facts` are further ones about the network."""
    write_rtl(encoded.accelerator, directory)
    predicted, counts = write_points_step(encoded, directory, specification, facts)
    write_cpp(encoded, directory, specification, counts)
    return predicted, counts


def write_points_step(
    encoded: EncodedPoints, folder: Path, specification: Specification, facts: dict[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, int]]:
    """Write one more programme for a project's hardware below it, with clouds: vectors and reports; returns as
    `write_points`."""
    counts = write_vectors(encoded, folder / "vectors")
    write_json(folder / "report" / "accelerator.json", summary(encoded.accelerator) | (facts or {}))
    predicted = price_points(encoded, specification)
    write_json(folder / "report" / "price.json", predicted)
    return predicted, counts


def price_points(encoded: EncodedPoints, specification: Specification) -> dict[str, Any]:
    """`price` of a network of points, with the limits that it breaks."""
    names, needed = zip(*encoded.phases, strict=True)
    phases = _phases(encoded, names, needed)
    found = _priced(encoded.engine, phases, sum(needed), specification)
    costs = {name: np.array([found[name]]) for name in ("latency_cycles", *RESOURCES)}
    return found | {"violations": violations(costs, specification.bounds(), 0)}


def write_calls(
    called: CalledArray, directory: Path, specification: Specification | None = None, network: Network | None = None
) -> list[Path]:
    """`write_project` of a network as calls: a folder of vectors for each, and of the project those of the last one,
    whose results are the logits."""
    given = specification or Specification()
    return replace_project(directory, lambda built: _fill_calls(called, built, given, network))


def _fill_calls(called: CalledArray, built: Path, specification: Specification, network: Network | None) -> None:
    """Write all files of the project and of its calls into the new folder `built`."""
    last, predicted = _write_calls(called, built, specification)
    _fill(called, last, predicted, built, specification, network)


def _write_calls(
    called: CalledArray, built: Path, specification: Specification
) -> tuple[EncodedCall, dict[str, Any]]:
    """Write the vectors and reports of every call, and their list, below `built`; returns the last call and the price
    of all."""
    listed, phases, described = [], list[dict[str, Any]](), summary(called)
    digits = max(2, len(str(called.count)))
    for number, (call, _) in enumerate(called.chain(), 1):
        place, predicted = f"{CALLS}/{number:0{digits}}", price_calls([call], specification)
        write_vectors(call, built / place / "vectors")
        write_json(built / place / "report" / "accelerator.json", {**described, "calls": [call.part.name]})
        write_json(built / place / "report" / "price.json", predicted)
        listed.append({"call": call.part.name, "folder": place, "cycles": predicted["latency_cycles"],
                       "bytes_read": call.bytes_read, "bytes_written": call.bytes_written, **_logits_of(call)})
        phases += call_phases(call)
    write_json(built / CALL_LIST, {"calls": listed})
    needed = sum(phase["multiplications"] for phase in phases)
    predicted = _priced(called.engine, phases, needed, specification)
    return call, {"repurposing": False, "calls": len(listed), **predicted}


def _logits_of(call: EncodedCall) -> dict[str, Any]:
    """Which logits the results of a call are: its rows, and the first of its columns; nothing of a call before."""
    here = call.part.chunk.here
    if not call.part.half.last:
        return {}
    return {"logits": {"rows": [here.start, here.stop], "column": int(call.part.columns[0])}}


def _fill(
    accelerator: OnEngine, encoded: Encoded, predicted: dict[str, Any], built: Path, specification: Specification,
    network: Network | None,
) -> None:  # fmt: skip
    """Write all files of the project into the new folder `built`."""
    write_rtl(accelerator, built)
    counts = write_vectors(encoded, built / "vectors")
    write_cpp(encoded, built, specification, counts)
    prepared = _write_preparation(encoded, built)
    values: dict[str, Any] = {"a": accelerator.source, "engine": accelerator.engine, "p": programme, "price": predicted,
              "counts": counts, "weights": network is not None, "several": isinstance(accelerator, CalledArray),
              "design_hash": accelerator.source.design.hash, "specification": specification, "prepared": prepared,
              **clock_and_part(specification)}  # fmt: skip
    (built / "README.md").write_text(render("array/README.md.j2", **values), encoding="utf-8")
    values |= {"beat_bits": accelerator.engine.beat_bits, "arguments": programme.ARGUMENT_REGISTERS}
    write_driver(built, "array", regions=REGIONS, status_bits=programme.STATUS_BITS, **values)
    for name in VIVADO_FILES:
        (built / name).write_text(render(f"project/{name}.j2", **values), encoding="utf-8")
    write_standalone(built, programme.ARGUMENT_REGISTERS, accelerator.engine.beat_bits)
    write_json(built / MARK, accelerator.source.design.to_dict())
    write_json(built / "report" / "accelerator.json", summary(accelerator))
    write_json(built / SPECIFICATION, specification.to_dict())
    write_json(built / "report" / "price.json", predicted)
    if network is not None:
        network.save(built / "weights.npz")


def write_step(
    accelerator: ArrayAccelerator, data: GraphData, folder: Path, specification: Specification, network: Network,
    further: Sequence[GraphData] = (),
) -> None:  # fmt: skip
    """Write one more use of a project's hardware below it: another programme and graph, as test vectors."""
    write_encoded_step(encode_array(accelerator, data, further), folder, specification, network)


def write_encoded_step(
    encoded: EncodedArray, folder: Path, specification: Specification, network: Network | None = None
) -> None:
    """`write_step` of what is encoded already."""
    write_vectors(encoded, folder / "vectors")
    _write_preparation(encoded, folder)
    _write_reports(encoded.accelerator, price(encoded, specification), folder, network)


def _write_preparation(encoded: Encoded, folder: Path) -> bool:
    """Write what makes further graphs ready, where there is such a thing; returns whether."""
    found = preparation_of(encoded)
    if found is not None:
        found.save(folder / preparing.FILE)
    return found is not None


def _write_reports(accelerator: OnEngine, predicted: dict[str, Any], folder: Path, network: Network | None) -> None:
    write_json(folder / "report" / "accelerator.json", summary(accelerator))
    write_json(folder / "report" / "price.json", predicted)
    if network is not None:
        network.save(folder / "weights.npz")


def write_use(
    fitted: FittedArray, data: GraphData, built: str, directory: Path, specification: Specification
) -> list[Path]:
    """Write a design on the array of the project at `built`, a path from `directory`, to that folder: vectors, reports
    and weights, without hardware; whole or not at all. Returns the files."""
    if isinstance(fitted.made, CalledArray):
        return write_use_in_calls(fitted.made, built, directory, specification, fitted.network)
    return _write_use(fitted.source, built, directory, specification, lambda folder: write_encoded_step(
        fitted.encoded(data), folder, specification, fitted.network
    ))  # fmt: skip


def write_use_in_calls(
    called: CalledArray, built: str, directory: Path, specification: Specification, network: Network | None = None
) -> list[Path]:
    """`write_use` of a network as calls."""
    def fill(folder: Path) -> None:
        last, predicted = _write_calls(called, folder, specification)
        write_vectors(last, folder / "vectors")
        _write_reports(called, predicted, folder, network)

    return _write_use(called.source, built, directory, specification, fill)


def write_imported(found: ChainArray | CalledArray, directory: Path, specification: Specification) -> list[Path]:
    """The project of an imported network, whole or as calls of an array; returns the files."""
    if isinstance(found, CalledArray):
        return write_calls(found, directory, specification)
    return write_encoded(found.encoded, directory, specification)


def write_imported_use(
    found: ChainArray | CalledArray, built: str, directory: Path, specification: Specification
) -> list[Path]:
    """`write_use` of an imported network, whole or as calls."""
    if isinstance(found, CalledArray):
        return write_use_in_calls(found, built, directory, specification)
    return _write_use(found.source, built, directory, specification,
                      lambda folder: write_encoded_step(found.encoded, folder, specification))  # fmt: skip


def price_imported(found: ChainArray | CalledArray, specification: Specification) -> dict[str, Any]:
    """`price` of an imported network, whole or as calls, with the number of these."""
    if isinstance(found, CalledArray):
        return {"calls": found.count, **price_calls(list(found.laid_out()), specification)}
    return {"calls": found.count, **price(found.encoded, specification)}


def _write_use(
    source: Source, built: str, directory: Path, specification: Specification, fill: Callable[[Path], None]
) -> list[Path]:
    def whole(folder: Path) -> None:
        fill(folder)
        write_json(folder / MARK, source.design.to_dict())
        write_json(folder / SPECIFICATION, specification.to_dict())
        write_json(folder / BUILT, {"project": built})

    return replace_project(directory, whole)


def write_cpp(encoded: Encoded, directory: Path, specification: Specification, counts: dict[str, int]) -> None:
    """Write `src/` and `tb/` below `directory`, and the files that Vitis reads; `counts` are those of the vectors.

    The hardware depends on the engine alone: of the network and the graph the source names only sizes, for reports and
    co-simulations.
    """
    engine, pipeline = encoded.engine, templates_directory() / "hls"
    steps = [one.count * max(1, one.entries) * one.tiles for one in encoded.programme]
    values: dict[str, Any] = {
        "engine": engine, "p": programme, "heads": HEADS, "counts": counts, "regions": REGIONS,
        "rtl_status": wire.RTL_STATUS,
        "parts": longest_slot_row(engine), "most_left": most_left(engine), "burst": longest_burst(engine.beat_bits),
        "own_storage": _storage(engine.own_words), "partial_storage": _storage(engine.partial_words),
        "most_beats": max([1, *(one.beats for one in encoded.programme)]), "most_steps": max([1, *steps]),
        "neighbours": engine.neighbours is not None,
        **clock_and_part(specification),
    }  # fmt: skip
    skip = () if engine.neighbours else OF_NEIGHBOURS
    for folder in ("src", "tb"):
        render_folder(f"array/{folder}", directory / folder, skip, **values)
    for name in SHARED_HEADERS:
        shutil.copyfile(pipeline / "src" / name, directory / "src" / name)
    shutil.copyfile(pipeline / "pragmas" / f"{DEFAULT_COMPILER}.h", directory / "src" / "pragmas.h")
    for name in VENDOR_FILES:
        (directory / name).write_text(render(f"hls/{name}.j2", **values), encoding="utf-8")


def _storage(words: int) -> str:
    """The storage of a memory of so many words in HLS: block RAM or LUT RAM."""
    return "bram" if in_block_ram(words) else "lutram"


def price(encoded: EncodedArray, specification: Specification) -> dict[str, Any]:
    """Cycles of every phase and of the whole, multipliers and their use, and resources; cycles of a further start,
    which leaves out the loads, where they are fewer."""
    phases = _phases(encoded, cycles.phase_names(encoded), cycles.multiplications_by_phase(encoded))
    again = {"cycles_again": cycles.total_cycles(encoded.without_loads())} if encoded.loads else {}
    return _priced(encoded.engine, phases, cycles.multiplications(encoded), specification) | again


def price_calls(calls: Sequence[EncodedCall], specification: Specification) -> dict[str, Any]:
    """`price` of calls one after the other; of several the phases have the names of their calls."""
    phases = [phase for call in calls for phase in call_phases(call, len(calls) > 1)]
    needed = sum(phase["multiplications"] for phase in phases)
    return _priced(calls[-1].engine, phases, needed, specification)


def call_phases(call: EncodedCall, several: bool = True) -> list[dict[str, Any]]:
    """The phases of a call; of one of `several` with its name."""
    names = [f"{call.part.name}: {name}" if several and name != call.part.name else name for name in call.phase_names]
    return _phases(call, names, call.multiplications)


def _phases(encoded: Encoded, names: Sequence[str], needed: Sequence[int]) -> list[dict[str, Any]]:
    return [
        {"name": name, "cycles": taken, "multiplications": used}
        for name, taken, used in zip(names, cycles.phase_cycles(encoded), needed, strict=True)
    ]


def _priced(
    engine: Engine, phases: list[dict[str, Any]], multiplications: int, specification: Specification
) -> dict[str, Any]:
    timed = _timed(engine, phases, multiplications, specification)
    return {**timed, **engine_resources(engine, specification.family)}


def _timed(
    engine: Engine, phases: list[dict[str, Any]], multiplications: int, specification: Specification
) -> dict[str, Any]:
    total = sum(phase["cycles"] for phase in phases)
    return {
        "latency_cycles": total,
        "latency_ms": specification.milliseconds(total),
        "phases": phases,
        "multipliers": engine.multipliers,
        "multiplications": multiplications,
        "busy": multiplications / (engine.multipliers * total),
    }


def write_rtl(accelerator: AnyOnEngine, directory: Path) -> list[Path]:
    """Write `rtl/` below `directory`: the files in compile order, which files.f lists."""
    target = directory / "rtl"
    target.mkdir(parents=True, exist_ok=True)
    templates = templates_directory() / "rtl"
    beat_bits = accelerator.engine.beat_bits
    files = [write_package(target, beat_bits, programme.ARGUMENT_REGISTERS), target / f"{PACKAGE}.sv"]
    softmax, neighbours = accelerator.engine.softmax, accelerator.engine.neighbours is not None
    paired, sliced = accelerator.engine.paired, accelerator.engine.sliced
    package = package_text(beat_bits, accelerator.engine.bits, neighbours)
    files[-1].write_text(package, encoding="utf-8")
    left = {name for name, has in OPTIONAL.items() if not has(accelerator.engine)}
    own = sorted(source for source in (templates / "array").glob("*.sv") if source.stem not in left)
    shared = (*SHARED, *SHARED_OF_SOFTMAX) if softmax else SHARED
    kept = [name for name in shared if not ((paired or sliced) and name in MULTIPLIERS)]
    for source in [*(templates / f"{name}.sv" for name in kept), *own]:
        files.append(target / source.name)
        shutil.copyfile(source, files[-1])
    for name in (*RENDERED, *(RENDERED_OF_SOFTMAX if softmax else ())):
        files.append(target / f"{name}.sv")
        text = render(f"rtl/array/{name}.sv.j2", softmax=softmax, neighbours=neighbours, paired=paired,
                      sliced=sliced)  # fmt: skip
        files[-1].write_text(text, encoding="utf-8")
    files += [target / f"{KERNEL}.sv", target / f"{TOP}.v"]
    files[-2].write_text(_kernel(accelerator), encoding="utf-8")
    top = render(f"rtl/{TOP}.v.j2", accelerator=accelerator.source, kernel_ports=ports_of(beat_bits))
    files[-1].write_text(top, encoding="utf-8")
    listing = target / "files.f"
    listing.write_text("".join(f"{path.name}\n" for path in files), encoding="utf-8")
    return [*files, listing]


def package_text(beat_bits: int, bits: int = programme.NARROW_BITS, neighbours: bool = False) -> str:
    """The SystemVerilog package of the array; it is the same for every engine with beats of this width, and with
    entries for numbers of so many bits, with or without nearest points."""
    return render(f"rtl/array/{PACKAGE}.sv.j2", p=programme, lanes=LANES, heads=HEADS, bank_words=BANK_WORDS,
                  beat_bits=beat_bits, bits=bits, neighbours=neighbours, most_places=MOST_PLACES)  # fmt: skip


def _kernel(accelerator: AnyOnEngine) -> str:
    engine = accelerator.engine
    return render(
        "rtl/array/array_kernel.sv.j2",
        accelerator=accelerator.source,
        engine=engine,
        parts=longest_slot_row(engine),
        most_left=most_left(engine),
        own_block=in_block_ram(engine.own_words),
        partial_block=in_block_ram(engine.partial_words),
        arguments=[register.name for register in wire.written(programme.ARGUMENT_REGISTERS)],
        reader=reader_buffer().of(0),
        kernel_ports=ports_of(engine.beat_bits),
    )


def longest_slot_row(engine: Engine) -> int:
    """Beats of the longest slot row of any mode."""
    return max(beats_per_slot_row(mode.takers, engine.beat_bits, engine.bits) for mode in engine.modes)


def most_left(engine: Engine) -> int:
    """The largest left shift."""
    return max(0, -min(engine.shifts))


def write_vectors(encoded: Encoded, folder: Path) -> dict[str, int]:
    """Write the regions, the golden logits, order.bin and vectors.json into `folder`; returns the sizes that it holds.

    order.bin has for each node, or for each graph of a readout, the row of the logit region that holds its logits.
    """
    regions = {**encoded.regions, wire.OUTPUT_REGION: reference.run_region(encoded)}
    sizes = {
        "nodes": encoded.outputs,
        "edges": encoded.edges,
        "classes": encoded.leaving.width,
        "rows": encoded.logit_rows,
        "descriptors": len(encoded.programme),
        "row_words": encoded.leaving.tiles,
        "beat_words": encoded.words_together,
        "beat_bytes": encoded.engine.beat_bits // 8,
        "engine": encoded.engine.digest,
        "check": encoded.check,
        **encoded.again,
        **{f"{name}_beats": len(beats) for name, beats in regions.items()},
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, region in regions.items():
        (folder / f"{name}.bin").write_bytes(region.tobytes())
    (folder / ORDER).write_bytes(encoded.leaving.deal.position.astype("<i4").tobytes())
    (folder / "vectors.json").write_text(json.dumps(sizes, indent=2) + "\n", encoding="utf-8")
    return sizes


def summary(accelerator: AnyOnEngine) -> dict[str, Any]:
    """The accelerator and its kernel interface as plain JSON values."""
    return {
        **accelerator.summary(),
        "registers": [vars(register) for register in programme.REGISTERS],
        "status_bits": programme.STATUS_BITS,
    }
