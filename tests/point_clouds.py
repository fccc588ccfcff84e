"""Small clouds of points for tests of HGNAS."""

from pathlib import Path

import numpy as np


def write_clouds(folder: Path) -> Path:
    """A file of balls and flat discs, 60 of 10 points, a third of them in each split."""
    rng, place = np.random.default_rng(0), folder / "clouds.npz"
    y = np.arange(60) % 2
    points = rng.normal(size=(60, 10, 3)) * np.where(y[:, None, None] == 1, [1, 1, 0.2], 1)
    masks = {f"{split}_mask": np.arange(60) // 20 == one for one, split in enumerate(("train", "val", "test"))}
    np.savez(place, points=points, y=y, **masks)
    return place
