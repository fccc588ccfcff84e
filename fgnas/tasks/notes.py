"""Notes about the conversion of a graph, shown once: later commands on the same graph do not repeat them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from fgnas.tasks.nodes import GraphData


def untold(data: GraphData) -> tuple[str, ...]:
    """The notes about a graph that no earlier call has returned; a graph is known by its content and its notes.

    An empty file in the cache marks a graph whose notes were shown. If the cache cannot be written, the notes are
    returned each time.
    """
    if not data.remarks:
        return ()
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fgnas" / "notes"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # Files that differ in what is converted, such as self-loops, may give the same graph.
        notes = hashlib.sha256("\n".join(data.remarks).encode()).hexdigest()[:8]
        (cache / f"{data.fingerprint}-{notes}").touch(exist_ok=False)
    except FileExistsError:
        return ()
    except OSError:
        pass
    return data.remarks
