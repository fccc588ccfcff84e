"""Whole vision subnets on the array: accuracy of their integers, logits in reference and RTL, cycles, and their latency
beside that of the best mapping of their steps.

Run by `make bench-whole`. The supernets are trained first, one for each metric of nearest patches, and stay in the
folder; every result is kept as soon as it is there, so that an interrupted run continues.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pages import RESULTS, render, write_page, write_record

from fgnas import api
from fgnas.backends.array import write_points
from fgnas.hardware.array import reference
from fgnas.hardware.array.cycles import total_cycles
from fgnas.hardware.array.points.encoded import EncodedPoints, PointSource, lowered
from fgnas.hardware.integer import interpreter
from fgnas.hardware.integer.network import IntegerNetwork
from fgnas.hardware.specification import Specification
from fgnas.mapping.options import MapOptions
from fgnas.mapping.platform import Platform, find_platform
from fgnas.mapping.study import solve
from fgnas.networks.scaled import logits
from fgnas.networks.vision import supernet
from fgnas.networks.vision.steps import steps_of
from fgnas.networks.vision.subnet import Subnet
from fgnas.networks.vision.vig import METRICS, Backbone, Vig
from fgnas.systems.magnas import whole
from fgnas.tasks.images import ImageData, load_images
from fgnas.tools.simulate import run_simulation

SEED, EPOCHS, RUNS = 20261125, 60, 24
UNITS, BEAT_BITS, CLOCK_MHZ = 16, 512, 100
COMMAND = "make bench-whole"
KERNELS: dict[str, dict[str, Any]] = {
    "steps": {"array": {"units": UNITS, "beat_bits": BEAT_BITS, "ai": 3, "af": 4, "wi": 1, "wf": 6}},
    "whole": {"whole": {"units": UNITS, "beat_bits": BEAT_BITS}},
}
"""As many multipliers of as many bits for single steps as for whole subnets."""


def trained(data: ImageData, metric: str, folder: Path, epochs: int) -> Vig:
    """The supernet of a metric."""
    recipe = supernet.Recipe(epochs, metric=metric)
    return supernet.train(data, recipe, 0, folder / f"{metric}.pt",
                          lambda epoch: print(f"{metric}: {epoch}/{epochs} epochs", file=sys.stderr))  # fmt: skip


def subnets(backbone: Backbone, count: int) -> list[Subnet]:
    """The largest and the smallest with some operator, and random ones."""
    space = supernet.vig_space(backbone)
    ends = [supernet.extreme(backbone, large, operator) for large, operator in ((True, "sage"), (False, "gin"))]
    return ends + [space.candidate(row) for row in space.draw(count, np.random.default_rng(SEED))]


def encoded_of(integers: IntegerNetwork, backbone: Backbone, name: str) -> EncodedPoints:
    """The programme of a subnet."""
    return lowered(PointSource(integers, backbone.nodes, name, "digit-images"), UNITS, BEAT_BITS)


def judged(model: Vig, subnet: Subnet, data: ImageData) -> dict[str, Any]:
    """Accuracies in floats and in integers, and every logit of the test images in the reference."""
    found: dict[str, Any] = {"subnet": subnet.to_dict(), "hash": subnet.hash}
    found["float"] = [supernet.accuracy(model, subnet, data, split) for split in ("val", "test")]
    integers = whole.network_of(model, subnet, data)
    encoded = encoded_of(integers, model.backbone, subnet.hash)
    images, labels = data.split("test")
    clouds = whole.points(model, images)
    wanted = logits(integers, clouds)
    given = [reference.run(encoded.with_cloud(integers.number.quantise(cloud)))[0] for cloud in clouds]
    found["integers"] = [whole.accuracy(integers, model, data, "val"),
                         float((interpreter.predict(wanted) == labels).mean())]  # fmt: skip
    found |= {"logits": wanted.size, "mismatches": int((np.array(given) != wanted).sum()),
              "descriptors": len(encoded.programme), "table_words": encoded.engine.table_words,
              "cycles": total_cycles(encoded)}  # fmt: skip
    return found


def simulated(model: Vig, subnet: Subnet, data: ImageData, images: int) -> dict[str, Any]:
    """Some test images in RTL."""
    integers = whole.network_of(model, subnet, data)
    encoded = encoded_of(integers, model.backbone, subnet.hash)
    total = {"images": 0, "logits": 0, "mismatches": 0, "cycle_difference": 0, "cycles": 0, "status": 0}
    with tempfile.TemporaryDirectory() as folder:
        for number, cloud in enumerate(whole.points(model, data.split("test")[0][:images])):
            place = Path(folder) / str(number)
            write_points(encoded.with_cloud(integers.number.quantise(cloud)), place, Specification())
            report = run_simulation(place)
            total["images"] += 1
            total |= {name: total[name] + abs(report[name]) for name in ("logits", "mismatches", "cycle_difference")}
            total |= {"cycles": report["cycles"], "status": total["status"] | report["status"]}
    return total


def board(folder: Path) -> Platform:
    """This processor, today's array for single steps, and the array for whole subnets."""
    path = folder / "board.toml"
    if not path.is_file():
        kernels = []
        for name, content in KERNELS.items():
            kernels.append(folder / f"{name}.json")
            kernels[-1].write_text(json.dumps(content | {"clock_mhz": CLOCK_MHZ}), encoding="utf-8")
        api.measure_platform(path, kernels=kernels, metric=whole.METRIC, runs=RUNS)
    return find_platform(str(path))


def latencies(platform: Platform, subnet: Subnet, backbone: Backbone, cycles: int) -> dict[str, Any]:
    """Milliseconds of an image: on the processor alone, by the fastest mapping of single steps, with as many steps as
    possible on the array for these, and whole."""
    answer = solve(platform.with_model("net", "net", steps_of(subnet, backbone)), "net", MapOptions())
    fastest = min(answer.points, key=lambda point: point.time)
    chain = answer.chains[fastest.setting]
    kernel, processor = chain.units.index("steps"), chain.units.index("cpu")
    most = np.where(chain.supported[:, kernel], kernel, processor)
    start = platform.starts["whole"]
    spent = sum(part.cost[0] for part in start.parts if part.cost is not None)
    alone = {unit: point.time for unit, point in answer.alone()}
    named = {
        "processor": alone["cpu"], "mapped": fastest.time, "steps": int(chain.costs(most[None])[0, 0]),
        "whole": spent + cycles * 1000 // CLOCK_MHZ,
    }  # fmt: skip
    return {name: time / 1e6 for name, time in named.items()} | {
        "kernel_starts": int((most == kernel).sum()), "on_kernel": float((fastest.mapping == kernel).mean()),
    }  # fmt: skip


def metrics(models: dict[str, Vig], data: ImageData, chosen: list[Subnet]) -> list[dict[str, Any]]:
    """Validation accuracies of the subnets of each supernet with each metric, on the mean."""
    found = []
    for trained_with, model in models.items():
        for metric in METRICS:
            other = Vig(Backbone.of(data, metric)).eval()
            other.load_state_dict(model.state_dict())
            scores = [supernet.accuracy(other, subnet, data) for subnet in chosen]
            found.append({"trained": trained_with, "metric": metric, "mean": float(np.mean(scores)),
                          "least": float(np.min(scores)), "subnets": len(scores)})  # fmt: skip
    return found


def named(subnet: dict[str, Any]) -> str:
    """The superblocks in short: depth, operator, pre, width of the FFN."""
    return ", ".join(f"{one['depth']} {one['operator']}{' pre' if one['pre'] else ''}"
                     f"{'' if one['width'] is None else ' ' + str(one['width'])}" for one in subnet["superblocks"])


def page(record: dict[str, Any]) -> str:
    """The page of a record."""
    rows = [row for name, row in record.items() if name.startswith("subnet ")]
    return render("whole-subnets.md", rows=rows, named=named, metrics=record["metrics"], platform=record["platform"],
                  command=record["command"], multipliers=8 * UNITS, beat_bits=BEAT_BITS, clock=CLOCK_MHZ)  # fmt: skip


def main() -> None:
    """Judge, simulate and price, then write docs/results/whole-subnets.{md,json}; exit code 1 where a logit or a cycle
    differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=6, help="random subnets; %(default)s")
    parser.add_argument("--simulated", type=int, default=4, help="subnets in RTL; %(default)s")
    parser.add_argument("--images", type=int, default=2, help="of each of them in RTL; %(default)s")
    parser.add_argument("--scored", type=int, default=20, help="subnets that metrics are compared on; %(default)s")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--folder", type=Path, default=Path("build/whole-subnets"), help="of supernets and results")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    data = load_images("digit-images")
    models = {metric: trained(data, metric, options.folder, options.epochs) for metric in METRICS}
    model, kept = models[whole.METRIC], options.folder / "results.json"
    record: dict[str, Any] = json.loads(kept.read_text()) if kept.is_file() else {"command": COMMAND, "seed": SEED}

    def once(name: str, made: Any) -> Any:
        if name not in record:
            record[name] = made()
            kept.write_text(json.dumps(record), encoding="utf-8")
            print(name, file=sys.stderr)
        return record[name]

    platform = board(options.folder)
    start = [part.cost[0] / 1000 for part in platform.starts["whole"].parts if part.cost is not None]
    once("platform", lambda: {"around_us": start[0], "call_us": start[1],
                              "processor": platform.sources["stopwatch"].about,
                              "load": round(os.getloadavg()[1], 1), "cores": os.cpu_count()})  # fmt: skip
    for number, subnet in enumerate(subnets(model.backbone, options.count)):
        row = once(f"subnet {number}", lambda subnet=subnet: judged(model, subnet, data))
        row["ms"] = latencies(platform, subnet, model.backbone, row["cycles"])
        if number < options.simulated:
            row["rtl"] = once(f"rtl {number}", lambda subnet=subnet: simulated(model, subnet, data, options.images))
    chosen = subnets(model.backbone, options.scored - 2)
    once("metrics", lambda: metrics(models, data, chosen))
    RESULTS.mkdir(exist_ok=True)
    write_record("whole-subnets", record)
    write_page("whole-subnets.md", page(record))
    rows = [row for name, row in record.items() if name.startswith("subnet ")]
    wrong = [row for row in rows if row["mismatches"] or any(row.get("rtl", {}).get(name) for name in
                                                             ("mismatches", "cycle_difference", "status"))]  # fmt: skip
    for row in wrong:
        print(row)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
