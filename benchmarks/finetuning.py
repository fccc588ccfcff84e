"""What quantisation-aware fine-tuning would gain: leaders of a search, trained on with rounding in the forward pass."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from common import RESULTS, Silent
from memory import Sharing
from torch import Tensor

from fgnas.child.calibration import calibrated, quantised
from fgnas.child.model import ACTIVATIONS, Child, Field, SparseProduct, keep_mask
from fgnas.child.quantised import quantised_accuracy
from fgnas.child.train import Trained, restored, to_network
from fgnas.data import GraphData, load
from fgnas.design import Design
from fgnas.fixedpoint import FixedPoint
from fgnas.hardware.pricing import Specification
from fgnas.network import Network
from fgnas.search.evaluator import CoDesign
from fgnas.search.run import SearchConfig, search
from fgnas.search.store import RunStore
from fgnas.space import find_space

SPECIFICATIONS = {
    "cora": Specification(1.0, 100_000, 100_000, 100),
    "citeseer": Specification(1.0, 100_000, 100_000, 1000),
}
EPOCHS = 60
RATES = (1e-3, 5e-3)


def straight_through(values: Tensor, number: FixedPoint) -> Tensor:
    """Rounded values, whose gradient is that of clipping alone."""
    clipped = values.clamp(number.minimum * number.step, number.maximum * number.step)
    return clipped + (quantised(values, number) - clipped).detach()


def logits(
    design: Design, network: Network, child: Child, field: Field, rng: np.random.Generator | None, dropout: float
) -> Tensor:
    """[targets, classes] rounded where the hardware rounds; the field's features are rounded already."""
    x = field.features if rng is None else field.dropped(rng, dropout)
    z = y = bias = torch.empty(0)
    for index, (layer, block, parameters) in enumerate(zip(design.layers, field.blocks, network.layers, strict=True)):
        weight, value = layer.weight_format(parameters.weight_scale), layer.value_format(parameters.value_scale)
        rounded = straight_through(child.weights[index], weight)
        h = straight_through(SparseProduct.apply(rounded, x) if index == 0 else z @ rounded, value)
        bias = straight_through(child.biases[index], value)
        if (pair := child.attention[index]) is None:
            y = block.aggregate(h, layer.attention, layer.aggregation)
        else:
            source, target = (straight_through(vector, weight) for vector in pair)
            y = block.attend(h, source, target, layer.aggregation)
        if layer.activation is not None:
            active = ACTIVATIONS[layer.activation](straight_through(y + bias, value))
            z = straight_through(active, layer.value_format(parameters.output_scale))
            if rng is not None:
                z = z * torch.from_numpy(keep_mask(rng, tuple(z.shape), dropout))
    return y.view(len(y), design.layers[-1].k, -1).mean(1) + bias


def fine_tuned(
    design: Design, network: Network, data: GraphData, seed: int, rate: float, dropout: float, decay: float
) -> Network:
    """The network of the epoch with the best rounded validation accuracy; that it began with is among them."""
    number = design.layers[0].value_format(network.input_scale)
    features = data.features.copy()
    features.data = quantised(torch.from_numpy(features.data), number).numpy()
    coarse = dataclasses.replace(data, features=sp.csr_matrix(features))
    nodes = {split: np.flatnonzero(getattr(data, split)) for split in ("train", "val")}
    fields = {split: Field(coarse, nodes[split], len(design.layers)) for split in nodes}
    labels = {split: torch.from_numpy(data.labels[nodes[split]]) for split in nodes}
    child, rng = restored(design.architecture(), network, data), np.random.default_rng(seed)
    optimiser = torch.optim.Adam(child.parameters(), lr=rate, weight_decay=decay, fused=True)
    best, kept = -1, network
    for _ in range(EPOCHS + 1):
        with torch.no_grad():
            found = logits(design, network, child, fields["val"], None, dropout).argmax(1)
            if (right := int((found == labels["val"]).sum())) > best:
                best, kept = right, with_scales(to_network(child, data), network)
        optimiser.zero_grad()
        answer = logits(design, network, child, fields["train"], rng, dropout)
        torch.nn.functional.cross_entropy(answer, labels["train"]).backward()
        optimiser.step()
    return kept


def with_scales(network: Network, scaled: Network) -> Network:
    """Parameters of one network with the scales of another."""
    names = ("weight_scale", "value_scale", "output_scale")
    pairs = zip(network.layers, scaled.layers, strict=True)
    layers = [dataclasses.replace(layer, **{name: getattr(other, name) for name in names}) for layer, other in pairs]
    return Network(tuple(layers), scaled.input_scale)


def leaders_of(dataset: str, children: int, sharing: Sharing) -> list[tuple[Design, list[Trained]]]:
    """The leaders of a search, each with the networks of its retraining."""
    config = SearchConfig.of(dataset, specification=SPECIFICATIONS[dataset], children=children)
    data = load(dataset)
    with TemporaryDirectory() as folder:
        store = RunStore.create(Path(folder), "run", {})
        search(config, data, lambda: store, lambda: sharing, Silent())
        designs = [Design.from_dict(entry["design"]) for entry in store.leaders()]
    evaluator = CoDesign(data, find_space("fgnas"), config.specification, config.seed, config.recipe, lambda jobs: [])
    found = []
    for design in designs:
        jobs = [evaluator.job([design], repetition + 1) for repetition in range(config.retrain_seeds)]
        found.append((design, [trained for job in jobs if (trained := sharing.memory.trained(job))]))
    return found


def measure(dataset: str, options: argparse.Namespace, sharing: Sharing) -> dict[str, Any]:
    """[designs x seeds] validation and test accuracy before, and after fine-tuning by each rate."""
    data, config = load(dataset), SearchConfig.of(dataset, specification=SPECIFICATIONS[dataset])
    rows = []
    for design, networks in leaders_of(dataset, options.children, sharing)[: options.designs]:
        for seed, trained in enumerate(networks[: options.seeds]):
            network = calibrated(design, trained.network, data)
            row = [quantised_accuracy(design, network, data)]
            for rate in RATES:
                arguments = (seed, rate, config.recipe.dropout, config.recipe.weight_decay)
                row.append(quantised_accuracy(design, fine_tuned(design, network, data, *arguments), data))
            rows.append({"design": design.hash, "before": row[0], "after": row[1:]})
            print(dataset, seed, row, flush=True)
    return {"rows": rows}


def page(results: dict[str, Any], command: str) -> str:
    """The table; a design's seeds are averaged first, for they share a design."""
    lines = []
    for dataset, result in results.items():
        for place, rate in enumerate(RATES):
            cells = []
            for split in ("val", "test"):
                gains: dict[str, list[float]] = {}
                for row in result["rows"]:
                    gains.setdefault(row["design"], []).append(row["after"][place][split] - row["before"][split])
                means = np.array([np.mean(values) for values in gains.values()])
                before = np.mean([row["before"][split] for row in result["rows"]])
                cells += [f"{before:.1%}", f"{means.mean():+.2%} ± {means.std(ddof=1) / len(means) ** 0.5:.2%}"]
            lines.append(f"| {dataset} | {len(means)} | {rate} | {' | '.join(cells)} |")
    body = "\n".join(lines)
    return f"""# Quantisation-aware fine-tuning

The best leaders of a search at 1.0 ms, 100,000 LUT and FF (Cora 100, CiteSeer 1,000 DSP), each trained with fresh seeds
and calibrated, then trained on for {EPOCHS} epochs by Adam with every rounding of the hardware in the forward pass, its
gradient passed straight through; dropout and weight decay as before. Kept is the epoch with the best rounded validation
accuracy, the one before the first among them: validation accuracy can only rise, so test accuracy is what counts.
Gain: mean over designs ± its standard error.

| dataset | designs | rate | validation | gain | test | gain |
|---|---|---|---|---|---|---|
{body}

Made by `{command}`.
"""


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--children", type=int, default=300)
    parser.add_argument("--designs", type=int, default=10, help="of the leaders, best first")
    parser.add_argument("--seeds", type=int, default=3, help="of their five")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with Sharing(options.workers) as sharing:
        results = {name: measure(name, options, sharing) for name in SPECIFICATIONS}
    (RESULTS / "finetuning.json").write_text(json.dumps(results, indent=1) + "\n")
    numbers = f"--children {options.children} --designs {options.designs} --seeds {options.seeds}"
    command = f"python benchmarks/finetuning.py {numbers}"
    (RESULTS / "finetuning.md").write_text(text := page(results, command))
    print(text)


if __name__ == "__main__":
    main()
