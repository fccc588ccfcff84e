"""The options of a search for mapped vision GNNs, and of the platforms that it maps to."""

from __future__ import annotations

from dataclasses import dataclass

from fgnas.options import ABOVE_ZERO, NOT_NEGATIVE, POSITIVE, TEXT, SearchOptions, option


@dataclass(frozen=True)
class Options(SearchOptions):
    """Options of `fgnas search --system magnas`."""

    SHAPES = ("dataset", "platform", "metric", "granularity")

    method: str = option("nsga2", "the searcher: nsga2, random, or any other", TEXT, "NAME")
    leaders: int = option(10, "distinct subnets that are compared at the end", POSITIVE, "N")
    retrain_seeds: int = option(1, "scores of each of them; the supernet gives the same each time", POSITIVE, "N")
    dataset: str = option("digit-images", "digit-images, mnist-test, cifar10, or an .npz file", TEXT, "NAME|PATH")
    platform: str | None = option(None, "the platform to map to, a file that `fgnas platform` wrote", TEXT, "FILE.toml")
    metric: str = option(
        "cosine", "how near patches are: cosine or distance; arrays for whole subnets compare distances", TEXT, "NAME",
        ("cosine", "distance"),
    )
    granularity: str = option("block", "what is mapped as one: block or layer", TEXT, "NAME", ("block", "layer"))
    latency_ms: float | None = option(None, "latency of one image", ABOVE_ZERO, "F")
    energy_mj: float | None = option(None, "energy of one image", ABOVE_ZERO, "F")
    power_w: float | None = option(None, "mean power: energy over latency", ABOVE_ZERO, "F")
    epochs: int = option(60, "epochs of the supernet's training", POSITIVE, "N")


@dataclass(frozen=True)
class PlatformOptions:
    """Options of `fgnas platform` beside its files."""

    runs: int = option(200, "timed runs of each step", POSITIVE, "N")
    watts: float | None = option(
        None, "the processor's power while it computes; without it there is no energy", ABOVE_ZERO, "F"
    )
    idle_watts: float | None = option(None, "its power while it waits for a kernel", NOT_NEGATIVE, "F")
    start_us: float = option(2.0, "time to start a kernel: assumed, a dozen writes to registers", NOT_NEGATIVE, "F")
    interrupt_us: float = option(5.0, "time from a kernel's interrupt to the program: assumed", NOT_NEGATIVE, "F")
