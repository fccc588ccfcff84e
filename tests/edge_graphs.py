"""Sets of small graphs with edges of their own, whose targets follow from them."""

from pathlib import Path

import numpy as np

GRAPHS, WIDTH = 48, 4


def write_graphs(folder: Path, kind: str = "values") -> Path:
    """Rings of three to nine nodes with chords, whose target is a sum over neighbours, a class, or two labels of it."""
    rng = np.random.default_rng(20)
    sizes = rng.integers(3, 10, GRAPHS)
    graph = np.repeat(np.arange(GRAPHS), sizes)
    starts = np.cumsum(sizes) - sizes
    x = rng.integers(0, 3, (len(graph), WIDTH)).astype(np.float32)
    edges = []
    for start, size in zip(starts, sizes, strict=True):
        one = start + np.arange(size)
        edges += [np.stack([one, np.roll(one, 1)]), np.stack([np.roll(one, 1), one])]
        edges.append(start + rng.integers(0, size, (2, 2)))
    edge_index = np.concatenate(edges, axis=1)
    total = np.zeros(GRAPHS)
    np.add.at(total, graph[edge_index[1]], x[edge_index[0], 0])
    y = {"values": 0.5 * total, "classes": (total > np.median(total)).astype(np.int64),
         "labels": np.stack([total > np.median(total), np.where(np.arange(GRAPHS) % 5, total > 9, np.nan)], 1)}[kind]
    part = np.arange(GRAPHS) % 4
    path = folder / f"{kind}.npz"
    np.savez(path, x=x, y=y, graph=graph, edge_index=edge_index, train_mask=part < 2, val_mask=part == 2,
             test_mask=part == 3)  # fmt: skip
    return path
