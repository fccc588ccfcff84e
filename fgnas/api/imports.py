"""Models of the user's as networks of operations on an array: import, price, write."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fgnas.api.data import Data, collection_of
from fgnas.api.designs import Design, one_thread
from fgnas.api.projects import Project
from fgnas.errors import UserError
from fgnas.files import replace_file
from fgnas.fixedpoint import Codes
from fgnas.hardware import wire
from fgnas.hardware.array.built import with_room_within
from fgnas.hardware.array.calls import CalledArray
from fgnas.hardware.array.chains import ChainArray
from fgnas.hardware.array.choosing import Room, deliverable_operations
from fgnas.hardware.array.engine import LANES, check_may_pair, dsps_of
from fgnas.hardware.array.kind import LIMITED
from fgnas.hardware.array.layers import Described
from fgnas.hardware.array.operations import OperationNetwork
from fgnas.hardware.integer import interpreter, stored
from fgnas.hardware.specification import Specification
from fgnas.plain import IMPORTED_BITS, check_bits
from fgnas.progress import step
from fgnas.tasks.collection import METRICS, Collection

if TYPE_CHECKING:
    from torch.nn import Module

    from fgnas.networks.imported.importing import Imported

KIND = "network of operations"
"""The `kind` that a file of an imported network declares."""


@dataclass(frozen=True, eq=False, repr=False)
class ImportedNetwork:
    """A model as a network of operations, with the graph that it was imported for.

    Attributes:
        source: the network.
        content: what its file says beside it: model, layers, accuracy, multipliers.
        label: a short name, for folders.
    """

    source: OperationNetwork
    content: dict[str, Any]
    label: str

    @classmethod
    def of(cls, found: Imported, data: Collection, model: str, label: str, dsp: int, bits: int) -> ImportedNetwork:
        """The network that an import made, with its accuracy, layers and places as the content."""
        integers, graphs = found.network.integers, found.network.graphs
        content = {
            "kind": KIND, "model": model, "dataset": data.name, "fingerprint": data.fingerprint, "bits": bits,
            "dsp": dsp, "targets": data.kind, "rows": "nodes" if data.graph is None else "graphs",
            **found.accuracy, "layers": [vars(one) for one in found.layers],
            "places": found.places, "edges": int(data.edge_index.shape[1]),
        }  # fmt: skip
        return cls(_source(label, content, integers, graphs, found.rules), content, label)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ImportedNetwork:
        """Read a file that `save` wrote. Raises UserError where it is none, or damaged."""
        path = Path(path)
        content = _content(path)
        if content.get("kind") != KIND:
            raise UserError(f"{path} holds no imported network")
        missing = [name for name in ("weights", "sha256", "dataset", "edges", "places", "dsp") if name not in content]
        if missing:
            raise UserError(f"{path} has no {missing[0]}: import the model again")
        held = stored.load(path.parent / content["weights"], content["sha256"])
        return cls(_source(path.stem, content, *held), content, path.stem)

    def __repr__(self) -> str:
        """In a line, since the content is long and the network has matrices."""
        measure = METRICS[self.content.get("targets", "classes")]
        test = (f", {kind} test {measure} {self.content[kind]['test']:.4f}" for kind in ("float", "quantised")
                if "test" in self.content.get(kind, {}))  # fmt: skip
        count = len({one.layer for one in self.source.integers.steps})
        operations = f"{count} operations of {self.content.get('bits')} bits"
        return f"<ImportedNetwork {self.label} for {self.source.dataset}: {operations}{''.join(test)}>"

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that name the network."""
        return self.source.design.hash

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file, and the network beside it."""
        path = Path(path)
        weights = path.with_suffix(".npz")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            digest = stored.save(weights, self.source.integers, self.source.graphs, self.source.rules)
            content = {**self.content, "weights": weights.name, "sha256": digest, "network_hash": self.hash}
            replace_file(path, json.dumps(content, indent=2) + "\n")
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from None
        return path

    def check_data(self, data: Collection) -> None:
        """Raise UserError where data is not what the network was imported for."""
        if data.fingerprint != self.content["fingerprint"]:
            raise UserError(f"{data.name} is not the data that {self.label} was imported for, which was "
                            f"{self.source.dataset} (fingerprint differs): import the model on it")  # fmt: skip

    def logits(self) -> Codes:
        """[rows, outputs] results as codes, equal to the hardware's; one step is `logit_step`."""
        return interpreter.run(self.source.integers, self.source.graphs)

    @property
    def logit_step(self) -> float:
        """The value of one step of a result's code."""
        return self.source.logit_format.step

    def fitted(
        self, specification: Specification | None = None, multipliers: int | None = None, beat_bits: int | None = None,
        bram36: float | None = None, flexible: bool = False, paired: bool = False,
    ) -> ChainArray | CalledArray:  # fmt: skip
        """The network on the fastest array for it, whole or as calls, within limits and multipliers: by default those
        of its DSP budget; with room for other networks where it is to be `flexible`. `paired` as of `Room.within`."""
        wanted = specification or Specification()
        limits = wanted.limits()
        if bram36 is not None:
            limits["bram36"] = bram36
        kept = {name: limit for name, limit in limits.items() if name in LIMITED}
        room = Room.within(
            self.content["dsp"], multipliers, beat_bits or wire.BEAT_BITS, kept, wanted.family, paired
        )  # fmt: skip
        with step("choose an array"):
            found = deliverable_operations(self.source, room)
            if paired:
                check_may_pair(found.engine)
            return found.on(with_room_within(found.engine, room)) if flexible else found

    def price(self, **limits: Any) -> dict[str, Any]:
        """Cycles of every phase, the number of calls and the resources of the fastest array; `limits` as
        `specification` takes them."""
        from fgnas.api.pricing import specification

        return self._priced(specification(**limits))

    @functools.lru_cache(maxsize=2)  # noqa: B019 - a network is as long-lived as its price
    def _priced(self, wanted: Specification) -> dict[str, Any]:
        from fgnas.backends.array import price_imported

        return price_imported(self.fitted(wanted), wanted)

    def write(
        self, directory: str | os.PathLike[str], fpga: str | None = None, clock_mhz: float | None = None,
        multipliers: int | None = None, beat_bits: int | None = None, bram36: float | None = None,
        flexible: bool = False, paired: bool = False, specification: Specification | None = None,
    ) -> Project:  # fmt: skip
        """Write the project, whole or not at all: C++, RTL, vectors, driver, reports; see `fitted`.

        A device and a clock given here replace those of a `specification`.
        """
        from fgnas.backends.array import write_imported
        from fgnas.hardware.devices import specified

        wanted = specified(specification or Specification(), fpga, clock_mhz)
        found = self.fitted(wanted, multipliers, beat_bits, bram36, flexible, paired)
        with step("write the project"):
            write_imported(found, Path(directory), wanted)
        return Project(Path(directory))


def import_model(
    source: str | os.PathLike[str] | Module, data: Data | Collection, weights: str | os.PathLike[str] | None = None,
    bits: int = 10, dsp: int = 100, graphs: int | str | Sequence[int] | None = None, loss: float | None = None,
) -> Design | ImportedNetwork:  # fmt: skip
    """A trained PyG model (docs/import.md) as a design, where the pipeline runs it, or else as a network of operations
    on an array.

    `source` is MODEL.pt2, `module:factory`, or a module; `data` is a name, a file, or what `fgnas.load` returns. Of
    data of many graphs the network holds the first `graphs` that test, those in these places, or the "largest"; its
    formats are the same whichever it holds. With `loss` every layer has the fewest bits, up to `bits`, with which the
    validation part loses so many points at most; of numbers, per cent of their error. Raises UserError with the name of
    the module that cannot be imported, and where the loss cannot be kept.
    """
    check_bits(bits, IMPORTED_BITS)
    found = collection_of(data)
    source = os.fspath(source) if isinstance(source, os.PathLike) else source
    with step("load PyTorch and the model"):
        from fgnas.networks import pyg
        from fgnas.networks.imported.chaining import chained
        from fgnas.networks.imported.importing import KEPT, imported
        from fgnas.networks.imported.reading import read_model, traced

        model = read_model(source, None if weights is None else Path(weights))
        one_thread()
    label, said = _names(source)
    with step("import the model"):
        if found.nodes is not None:
            with contextlib.suppress(UserError):
                taken = pyg.of_model(model, found.nodes, bits, dsp, loss)
                return Design(taken.design, taken.network, found.name, found.fingerprint, label)
        if dsp < (least := dsps_of(LANES)):
            raise UserError(f"--dsp is {dsp}, but this model runs on a multiplier array, which takes {least} DSP "
                            f"slices at least: give --dsp {least} or more")  # fmt: skip
        run = functools.partial(traced, model)
        kept = KEPT if graphs is None else graphs
        network = imported(run, found, bits, kept, loss, chained)
        return ImportedNetwork.of(network, found, said, label, dsp, bits)


def _names(source: Any) -> tuple[str, str]:
    """A short name of a model, for files, and what it was made from."""
    if not isinstance(source, str):
        return type(source).__name__.lower(), type(source).__name__
    return Path(source).stem if source.endswith(".pt2") else source.rpartition(":")[2], source


def is_imported(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds an imported network, and no design."""
    try:
        return _content(Path(path)).get("kind") == KIND
    except UserError:
        return False


def _content(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} holds no imported network")
    return found


def _source(label: str, content: dict[str, Any], integers: Any, graphs: Any, rules: Any) -> OperationNetwork:
    """The network by what a file says of it."""
    digest = hashlib.sha256()
    for one in integers.steps:
        digest.update(repr((one.name, type(one.operation).__name__, one.inputs)).encode())
        digest.update(b"".join(part.tobytes() for part in getattr(one.operation, "weights", ())))
    described = {
        "schema": 1, "kind": KIND, "model": content["model"], "layers": content["layers"],
        "bits": content.get("bits"), "targets": content.get("targets", "classes"),
        "metrics": {kind: content[kind] for kind in ("float", "quantised") if kind in content},
        "rows": content.get("rows", "nodes"),
    }  # fmt: skip
    design = Described(digest.hexdigest()[:12], described)
    return OperationNetwork(label, content["dataset"], design, integers, tuple(graphs), content["edges"],
                            content["places"], rules)  # fmt: skip
