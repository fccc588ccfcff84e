"""The command `measure`: a device from measurements of this processor."""

from __future__ import annotations

import argparse
from pathlib import Path

from fgnas.commands import show
from fgnas.commands.arguments import Command, add_json
from fgnas.options import add_arguments, chosen


def _add_measure(sub: argparse.ArgumentParser) -> None:
    from fgnas.systems.hgnas.options import MeasureOptions

    add_arguments(sub, MeasureOptions)
    sub.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="the device's folder")
    about = "another device's folder, whose predictors are continued"
    sub.add_argument("--from", dest="start", type=Path, metavar="FOLDER", help=about)
    sub.add_argument("--resume", action="store_true", help="continue the folder --out")
    add_json(sub)


def _measure(options: argparse.Namespace) -> int:
    from fgnas import api
    from fgnas.hardware.measured.judge import NOISE_FLOOR
    from fgnas.systems.hgnas.options import MeasureOptions

    given = chosen(options, MeasureOptions)
    folder = api.measure(options.out, start=options.start, resume=options.resume, **given)
    verdict = folder.verdict()
    if options.json:
        show.json_object({"device": str(folder.path), **verdict.to_dict()})
        return 0
    for what, held in verdict.held_out.items():
        rows = [
            (f"{name} *" if name == verdict.chosen[what] else name, f"{one.mape:.2%}",
             *(f"{share:.1%}" for share in one.within)) for name, one in held.items()
        ]  # fmt: skip
        if what == "latency" and verdict.floor is not None:
            rows.append((NOISE_FLOOR, f"{verdict.floor.mape:.2%}",
                         *(f"{share:.1%}" for share in verdict.floor.within)))  # fmt: skip
        title = f"Predicted {what} of {next(iter(held.values())).samples} networks held out; * is the default"
        show.table(title, ("", "mean error", "within 1 %", "5 %", "10 %"), rows)
    print(f"fused DGCNN takes {verdict.reference_ms:.3f} ms")
    print(folder.path)
    print(folder.path / "report.html")
    return 0


COMMANDS = (Command("measure", _measure, _add_measure, "time random networks here and fit predictors of their time"),)
