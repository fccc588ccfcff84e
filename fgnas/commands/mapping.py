"""Commands of mapped networks: `map`, `platform`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fgnas import systems
from fgnas.commands import show
from fgnas.commands.arguments import Command, add_json
from fgnas.options import add_arguments, chosen, option_fields, refuse
from fgnas.progress import step

if TYPE_CHECKING:
    from fgnas.mapping.study import Answer, Point


def _add_map(sub: argparse.ArgumentParser) -> None:
    from fgnas.mapping.options import MapOptions, shipped
    from fgnas.systems.hgnas.options import CutOptions

    about = f"{', '.join(shipped())}, a file of your own, or the folder of a measured device with an array behind it"
    sub.add_argument("platform", metavar="PLATFORM|FILE.toml|FOLDER", help=about)
    about = "a model of the platform; for a device a network of operations (.json), or the name of a baseline"
    sub.add_argument("model", help=about)
    add_arguments(sub, MapOptions)
    add_arguments(sub, CutOptions)
    about = "with a device: write the project of the fastest way's array there"
    sub.add_argument("--out", type=Path, metavar="DIR", help=about)
    add_json(sub)


def _map(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.mapping.options import MapOptions
    from fgnas.systems.hgnas.options import CutOptions

    if Path(options.platform).is_dir():
        return _map_cuts(options)
    refuse(options, (*_names(CutOptions), "out"), "is for a measured device with an array: give its FOLDER")
    answer = api.map_network(options.platform, options.model, **chosen(options, MapOptions))
    if options.json:
        show.json_object(answer.to_dict())
    else:
        _show_mappings(answer)
    return 0 if answer.points else 1


def _names(cls: type[Any]) -> list[str]:
    return [one.name for one in option_fields(cls)]


def _map_cuts(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.mapping.options import MapOptions
    from fgnas.systems.hgnas.options import CutOptions

    refuse(options, _names(MapOptions), "is for a platform of steps, not for a measured device")
    with step("time every part"):
        found = api.map_cuts(options.platform, options.model, out=options.out, **chosen(options, CutOptions))
    if options.json:
        show.json_object({"ways": [one.to_dict() for one in found.ways], "best": found.best.operations,
                          "refused": {str(place): why for place, why in found.refused.items()}})  # fmt: skip
        return 0
    rows = [
        ("*" if one is found.best else "", "all" if one.operations is None else str(one.operations),
         *(f"{value:,.1f}" for value in (one.total, one.processor, one.encode + one.handover, one.array)),
         *(f"{value:,.10g}" for value in (one.cycles, one.resources["lut"], one.resources["bram36"])))
        for one in found.ways
    ]  # fmt: skip
    header = ("", "behind", "us", "processor", "between", "array", "cycles", "LUT", "BRAM36")
    show.table("One cloud, in us, cut behind so many operations; * is fastest", header, rows)
    for place, why in found.refused.items():
        print(f"behind {place} operations: {why}")
    if options.out is not None:
        print(options.out)
    return 0


def _show_mappings(answer: Answer) -> None:
    """The front, the chosen mapping step by step, and the sources of the numbers."""
    if answer.nearest is not None:
        print(f"no mapping keeps every limit; the nearest one is over {', '.join(answer.broken(answer.nearest))}")
    header = ("", "setting", "ms", "mJ", "W", "transitions", *answer.platform.units)
    rows = [_mapping_row(answer, unit, point) for unit, point in answer.alone()]
    show.table("Everything on one unit", header, rows)
    point = answer.nearest or answer.points[answer.chosen()]
    if answer.points:
        shown = every_few(len(answer.points), answer.chosen())
        rows = [_mapping_row(answer, "*" if place == answer.chosen() else "", answer.points[place]) for place in shown]
        kind = "Exact front" if answer.options.method == "exact" else f"Front found by {answer.options.method}"
        rest = "" if len(shown) == len(answer.points) else f", {len(shown)} of them shown"
        show.table(f"{kind}: {len(answer.points)} mappings{rest}", header, rows)
    title = "The nearest mapping" if answer.nearest else "Mapping *"
    columns = ("step", "unit", *(f"on {unit} (ms, mJ)" for unit in answer.platform.units))
    if rows := _move_rows(answer, point):
        show.table(f"{title}: each step, and the change if it alone moved", columns, rows)
    else:
        print(f"{title}: everything in one start of {answer.platform.units[int(point.mapping[0])]}")
    for name, source in answer.sources().items():
        print(f"{name} ({source.kind}): {source.about}")


ROWS_SHOWN = 24


def every_few(count: int, chosen: int) -> list[int]:
    """At most ROWS_SHOWN places of `count`, spread evenly, with the first, the last and the chosen one."""
    if count <= ROWS_SHOWN:
        return list(range(count))
    steps = ROWS_SHOWN - 2
    return sorted({chosen, *(round(place * (count - 1) / steps) for place in range(steps + 1))})


def _mapping_row(answer: Answer, name: str, point: Point) -> tuple[str, ...]:
    share = [f"{float((point.mapping == unit).mean()):.0%}" for unit in range(len(answer.platform.units))]
    return (
        name, point.setting, f"{answer.milliseconds(point.time):.3f}", f"{answer.millijoules(point.energy):.3f}",
        f"{answer.watts(point):.2f}", str(point.transitions), *share,
    )  # fmt: skip


def _move_rows(answer: Answer, point: Point) -> list[tuple[str, ...]]:
    """Each step, its unit, and for every other unit the change of the whole if this step alone moved there."""
    units, rows = answer.platform.units, []
    for move in answer.moves(point):
        cells = ["-"] * len(units)
        cells[move.unit] = ""
        for unit, time, energy, broken in move.others:
            over = f" over {' and '.join(broken)}" if broken else ""
            cells[unit] = f"{answer.milliseconds(time):+.3f} {answer.millijoules(energy):+.3f}{over}"
        rows.append((answer.chains[point.setting].steps[move.place], units[move.unit], *cells))
    return rows


def _add_platform(sub: argparse.ArgumentParser) -> None:
    from fgnas.systems.magnas.options import PlatformOptions

    add_arguments(sub, systems.find("magnas").Options, ("dataset", "metric"))
    sub.add_argument("--cpu", action="store_true", help="this processor as a unit; the default if no kernel is named")
    about = "an accelerator as a unit, named after its file; may be repeated"
    sub.add_argument("--kernel", type=Path, action="append", default=[], metavar="FILE.json", help=about)
    sub.add_argument("--out", type=Path, required=True, metavar="FILE.toml", help="the platform to write")
    add_arguments(sub, PlatformOptions)
    add_json(sub)


def _platform(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.systems.magnas.options import PlatformOptions

    cpu = options.cpu or not options.kernel
    with step("time every step"):
        found = api.measure_platform(
            options.out, options.dataset, kernels=options.kernel, cpu=cpu, metric=options.metric or "cosine",
            **chosen(options, PlatformOptions),
        ).to_dict()
    if options.json:
        show.json_object({"platform": str(options.out), "nanoseconds": found})
        return 0
    units = list(dict.fromkeys(unit for on in found.values() for unit in on))
    rows = [
        (name, *(f"{on[unit] / 1000:,.1f}" if unit in on else "-" for unit in units)) for name, on in found.items()
    ]
    show.table("Steps for one image, in us", ("step", *units), rows)
    print(options.out)
    return 0


COMMANDS = (
    Command("map", _map, _add_map, "map a network's steps to unlike units: the exact front of latency and energy"),
    Command("platform", _platform, _add_platform, "time a vision GNN's steps here, price kernels, write a platform"),
)
