"""The options of a search for mapped vision GNNs."""

from __future__ import annotations

from dataclasses import dataclass

from fgnas.options import ABOVE_ZERO, POSITIVE, TEXT, SearchOptions, option


@dataclass(frozen=True)
class Options(SearchOptions):
    """Options of `fgnas search --system magnas`."""

    method: str = option("nsga2", "the searcher: nsga2, random, or any other", TEXT, "NAME")
    leaders: int = option(10, "distinct subnets that are compared at the end", POSITIVE, "N")
    retrain_seeds: int = option(1, "scores of each of them; the supernet gives the same each time", POSITIVE, "N")
    dataset: str = option("digit-images", "digit-images, mnist-test, cifar10, or an .npz file", TEXT, "NAME|PATH")
    platform: str | None = option(None, "the platform to map to, a file that `fgnas platform` wrote", TEXT, "FILE.toml")
    granularity: str = option("block", "what is mapped as one: block or layer", TEXT, "NAME", ("block", "layer"))
    latency_ms: float | None = option(None, "latency of one image", ABOVE_ZERO, "F")
    energy_mj: float | None = option(None, "energy of one image", ABOVE_ZERO, "F")
    power_w: float | None = option(None, "mean power: energy over latency", ABOVE_ZERO, "F")
    epochs: int = option(40, "epochs of the supernet's training", POSITIVE, "N")
