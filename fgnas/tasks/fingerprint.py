"""A short name for the content of arrays, which identifies data in a run's configuration."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fingerprint_of(arrays: Iterable[NDArray[Any]]) -> str:
    """Shortened SHA-256 over kinds, shapes and contents, in order."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str((array.dtype.kind, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
