"""fgnas: search for a graph neural network and the FPGA accelerator that runs it, together.

    import fgnas

    run = fgnas.search("digits", latency_ms=2.0, children=50)
    accelerator = run.design().lower()
    accelerator.predict()
    accelerator.write("hls/best").simulate()

`fgnas.api` says what there is; docs/api.md shows it. Nothing heavy is imported before it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fgnas.errors import UserError

if TYPE_CHECKING:
    from fgnas.api import (
        Accelerator,
        Degrees,
        Design,
        GraphData,
        PointAccelerator,
        PointDesign,
        Project,
        Run,
        candidates,
        compare,
        doctor,
        encode,
        import_model,
        load,
        measure,
        price_network,
        price_on_array,
        prices,
        read_designs,
        sample,
        search,
        to_onnx,
    )

__all__ = [
    "Accelerator", "Degrees", "Design", "GraphData", "PointAccelerator", "PointDesign", "Project", "Run", "UserError",
    "candidates", "compare", "doctor", "encode", "import_model", "load", "measure", "price_network", "price_on_array",
    "prices", "read_designs", "sample", "search", "to_onnx",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("fgnas.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
