"""A model that runs once: every operation that depends on features is recorded, whatever module it is in.

Modules and exported programs run in the same way, since both are torch's operations in the end. The rest, which depends
on the graph alone, just runs.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch_geometric.data import Data

from fgnas.errors import UserError
from fgnas.networks.imported import operations as families
from fgnas.networks.imported.expressions import Affine, Workshop
from fgnas.networks.imported.inputs import PLAIN, Given, Inputs, Part
from fgnas.networks.imported.nodes import Node, Reals
from fgnas.networks.imported.operations import functions, linear, rows, shapes
from fgnas.networks.imported.operations.common import affine
from fgnas.networks.imported.symbols import TABLE, Call, Final, Symbol

FAMILIES = (functions, linear, rows, shapes)
assert families and all(FAMILIES), "each has registered its operations"

CONSTANT = ("new_zeros", "new_ones", "new_full", "new_empty", "zeros_like", "ones_like", "full_like", "empty_like",
            "sym_size", "sym_numel", "_assert_tensor_metadata", "numel", "is_nonzero")  # fmt: skip
"""Operations whose result depends on the shape of a tensor alone."""
INSTEAD = {
    "native_layer_norm": "a norm over the columns of a row: use BatchNorm1d",
    "linalg_vector_norm": "a norm of rows: normalise the features before, or leave normalize=False",
    "lstm": "an LSTM: use JumpingKnowledge('cat') or ('max')",
    "var": "a norm of rows: use BatchNorm1d",
    "sort": "rows that are sorted: use add, mean or max", "topk": "pooling that drops nodes: use a global pooling",
    "_local_scalar_dense": "a decision that depends on features",
    "bmm": "a product of two matrices that depend on features",
    "cumsum": "a running sum", "native_group_norm": "a norm over the columns of a row: use BatchNorm1d",
}  # fmt: skip
"""Operations of torch that cannot be imported: a description of each, with an alternative if there is one."""

REPLACED = {
    "BatchNorm1d": ("LayerNorm", "GraphNorm", "InstanceNorm", "PairNorm", "MeanSubtractionNorm", "DiffGroupNorm",
                    "GroupNorm", "RMSNorm"),
    "a layer without gates, such as GraphConv or GATv2Conv": (
        "GatedGraphConv", "ResGatedGraphConv", "CGConv", "FiLMConv", "GRUCell", "GRU", "LSTMCell", "LSTM"),
    "TAGConv or ChebConv": ("ARMAConv",),
    "GATv2Conv": ("SuperGATConv", "AGNNConv", "FeaStConv", "EGConv"),
    "GraphConv": ("MFConv",),
    "TransformerConv": ("MultiheadAttention", "GPSConv"),
    "a global pooling, such as global_mean_pool": ("TopKPooling", "SAGPooling", "ASAPooling", "EdgePooling", "Set2Set"),
}  # fmt: skip
"""Layers that cannot be imported, by what to use instead of them."""


@dataclass(frozen=True, eq=False)
class Traced:
    """A model's run.

    Attributes:
        output: the node of its results. result: [rows, columns] the results themselves.
        finals: whether a softmax of classes ends it.
        places: the modules that ran, in order, with the class of each.
        parts: its input is `Given.matrix` of these; the features of nodes alone where there are none.
    """

    output: Node
    result: Tensor
    finals: bool
    places: dict[str, str] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()


class Recorder(TorchDispatchMode):
    """Keeps what every tensor is that depends on features; these are one input where its `parts` are known."""

    def __init__(self, given: Given, parts: Sequence[Part] = ()) -> None:
        super().__init__()
        self.workshop = Workshop()
        self.where = "the model"
        self.width = given.x.shape[1]
        self.inputs = Inputs(self.workshop, given, parts)
        tensors = ((given.x, PLAIN), (given.edge_features, Part(edges=True)))
        self.known: dict[int, tuple[Tensor, Symbol]] = {
            id(one): (one, self.inputs.of(part)) for one, part in tensors
            if one is not None and (not parts or part in parts)
        }  # fmt: skip

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        depends = any(isinstance(one, Tensor) and id(one) in self.known for one in tree_leaves((args, kwargs)))
        # A constant that changes in place is seen as it was.
        before = [args[0].clone(), *args[1:]] if depends and self._changes_constant(function, args) else args
        result = function(*args, **kwargs)
        if depends:
            self._record(function, before, kwargs, result)
        return result

    def _changes_constant(self, function: Any, args: Any) -> bool:
        """Whether an operation writes into a tensor that did not depend on features."""
        name = function.name().partition(".")[0]
        return name.endswith("_") and isinstance(args[0], Tensor) and id(args[0]) not in self.known

    def _record(self, function: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        name = function.name().removeprefix("aten::").partition(".")[0]
        if name in CONSTANT:
            return
        plain = name if name in TABLE else name.removesuffix("_")
        if plain not in TABLE:
            why = INSTEAD.get(plain, f"{plain} of values that depend on features")
            raise UserError(f"{self.where}: {why}" + ("" if ":" in why else " is not supported"))
        call = Call(plain, self._symbols(args), self._symbols(kwargs), result, self.where, self.workshop,
                    self.inputs)  # fmt: skip
        found = TABLE[plain](call)
        several = isinstance(result, tuple | list)
        for tensor, symbol in zip(result, found, strict=True) if several else [(result, found)]:
            if isinstance(tensor, Tensor) and symbol is not None:
                self.known[id(tensor)] = (tensor, symbol)

    def _symbols(self, given: Any) -> Any:
        known = self.known
        return tree_map(lambda one: known[id(one)][1] if isinstance(one, Tensor) and id(one) in known else one, given)

    def of(self, result: Tensor) -> tuple[Node, bool]:
        """The node of a result, and whether a softmax of classes makes it."""
        if id(result) not in self.known:
            raise UserError("the model returns what does not depend on the features")
        symbol = self.known[id(result)][1]
        ends = isinstance(symbol, Final)
        call = Call("the result", (), {}, result, "the model", self.workshop, self.inputs)
        one = symbol.of if isinstance(symbol, Final) else affine(call, symbol)
        return self.workshop.made(one if isinstance(one, Affine) else affine(call, one)), ends


@torch.no_grad()
def trace_module(model: nn.Module, given: Given, parts: tuple[Part, ...] = ()) -> Traced:
    """Run a module; once more with all parts in one input, where it reads others than the features of nodes.

    Raises UserError with the name of the module that cannot be imported.
    """
    model = copy.deepcopy(model).cpu().float().eval()
    recorder, places, stack = Recorder(given, parts), dict[str, str](), list[tuple[str, nn.Module]]()
    for name, module in model.named_modules():
        if name:
            module.register_forward_pre_hook(_entering(name, stack, recorder, places))
            module.register_forward_hook(_leaving(stack, recorder, places))
    result = _run(recorder, lambda: model(*_arguments(model, given)))
    node, ends = recorder.of(result)
    if not parts and (read := recorder.inputs.read(node)):
        return trace_module(model, given, read)
    return Traced(node, result, ends, places, parts)


def _entering(
    name: str, stack: list[tuple[str, nn.Module]], recorder: Recorder, places: dict[str, str]
) -> Callable[..., None]:
    def entered(module: nn.Module, _: Any) -> None:
        stack.append((name, module))
        recorder.where = _place([(at, type(one)) for at, one in stack], places)

    return entered


def _leaving(
    stack: list[tuple[str, nn.Module]], recorder: Recorder, places: dict[str, str]
) -> Callable[..., None]:
    def left(*_: Any) -> None:
        stack.pop()
        recorder.where = _place([(at, type(one)) for at, one in stack], places)

    return left


def _place(stack: Sequence[tuple[str, type]], places: dict[str, str]) -> str:
    """The outermost module of a library's own, or else the innermost of all."""
    if not stack:
        return "the model"
    own = [(name, kind) for name, kind in stack if _is_layer(kind.__module__, kind.__name__)]
    name, kind = own[0] if own else stack[-1]
    places.setdefault(name, kind.__name__)
    return f"layer {name} ({kind.__name__})"


def _is_layer(module: str, name: str) -> bool:
    """Whether a class is a layer of torch or PyG, and no container of others."""
    if module.startswith("torch.nn.modules"):
        return not module.endswith("container")
    return module.startswith("torch_geometric.nn.") and not module.startswith(
        ("torch_geometric.nn.models.basic", "torch_geometric.nn.models.mlp", "torch_geometric.nn.sequential")
    )


def _arguments(model: nn.Module, given: Given) -> tuple[Any, ...]:
    """The arguments of `forward`, chosen by the names of its parameters; a single required parameter of
    another name gets a PyG `Data`."""
    by_name = given.by_name
    parameters = [
        one for one in inspect.signature(model.forward).parameters.values()
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]  # fmt: skip
    needed = [one for one in parameters if one.default is one.empty]
    if len(needed) == 1 and needed[0].name not in by_name:
        return (Data(**{name: value for name, value in by_name.items() if value is not None}),)
    # Weights are no features: a layer that takes features if there are some does not take these.
    takes = given.edge_features is not None and getattr(model, "edge_dim", 0) is not None
    return _named(parameters, by_name, by_name if takes else {**by_name, "edge_attr": None})


def _named(
    parameters: Sequence[inspect.Parameter], by_name: Mapping[str, Any], optional: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Arguments by name, up to the last that is needed or given; others get their defaults."""
    found, unnamed = list[Any](), iter(("x", "edge_index"))
    for one in parameters:
        usual = next(unnamed, None)
        name = one.name if one.name in by_name else usual if one.default is one.empty else None
        value = (by_name if one.default is one.empty else optional).get(name) if name else None
        if value is None and one.default is one.empty:
            fix = {"batch": "the data has no graphs: give data whose nodes belong to graphs",
                   "edge_weight": "the data has no edge_weight", "edge_attr": "the data has no edge_attr"}  # fmt: skip
            raise UserError(f"the model's forward() needs {one.name}; "
                            f"{fix.get(one.name, 'x, edge_index, edge_weight, batch and data are known')}")  # fmt: skip
        found.append(one.default if value is None else value)
    return tuple(found)


def _run(recorder: Recorder, run: Callable[[], Any]) -> Tensor:
    """The result of a model that is recorded."""
    try:
        with recorder:
            result = run()
    except UserError as error:
        raise _with_instead(error, recorder.where) from None
    except Exception as error:  # the user's code can raise anything
        reason = " ".join(str(error).partition("While executing")[0].split())
        if "Guard failed" in reason:
            raise UserError(f"the exported program takes other shapes ({reason[:200]}): export it on this data, or "
                            f"with dynamic shapes") from None  # fmt: skip
        if (taken := _width_taken(reason, recorder.width)) is not None:
            raise UserError(f"{recorder.where} does not run on this data: it takes {taken:,} features, and the data "
                            f"has {recorder.width:,}; give the data that the model was trained on with "
                            f"--dataset (by default digits)") from None  # fmt: skip
        why = f"{type(error).__name__}: {reason[:300]}"
        raise UserError(f"{recorder.where} does not run on this data ({why})") from None
    if not isinstance(result, Tensor):
        raise UserError(f"the model returns a {type(result).__name__}, not a tensor")
    return result


def _with_instead(error: UserError, where: str) -> UserError:
    """An error with what to use instead of the layer that it names, where it does not say so itself."""
    kind = where.rpartition("(")[2].removesuffix(")")
    instead = next((one for one, kinds in REPLACED.items() if kind in kinds), None)
    return error if instead is None or "use " in str(error) else UserError(f"{error}; use {instead}")


def _width_taken(reason: str, width: int) -> int | None:
    """The features that a layer takes, where torch's reason is that the data has another number of them."""
    product = re.search(r"shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)", reason)
    norm = re.search(r"running_mean should contain (\d+) elements not (\d+)", reason)
    data, layer = (product[1], product[2]) if product else (norm[1], norm[2]) if norm else (0, 0)
    return int(layer) if int(data) == width else None


@torch.no_grad()
def trace_program(program: Any, given: Given, parts: tuple[Part, ...] = ()) -> Traced:
    """Run an exported program, as `trace_module` does a module."""
    recorder, places = Recorder(given, parts), dict[str, str]()
    module = program.module()

    class Interpreter(torch.fx.Interpreter):
        def run_node(self, n: Any) -> Any:
            stack = [(str(at), str(kind)) for at, kind in (n.meta.get("nn_module_stack") or {}).values() if at]
            recorder.where = _exported_place(stack, places)
            return super().run_node(n)

    names = [str(node.target) for node in module.graph.nodes if node.op == "placeholder"]
    result = _run(recorder, lambda: Interpreter(module).run(*_in_place(names, given)))
    node, ends = recorder.of(result)
    if not parts and (read := recorder.inputs.read(node)):
        return trace_program(program, given, read)
    return Traced(node, result, ends, places, parts)


def _in_place(names: Sequence[str], given: Given) -> list[Tensor]:
    """The arguments of an exported program: those that its inputs name; the others get what is left, in the usual
    order, but no features of edges."""
    by_name = {name: one for name, one in given.by_name.items() if one is not None}
    left = iter([name for name in by_name if name not in (*names, "edge_attr")])
    taken = [name if name in by_name else next(left, None) for name in names]
    return [by_name[name] for name in taken if name is not None]


def _exported_place(stack: Sequence[tuple[str, str]], places: dict[str, str]) -> str:
    """As `_place`, of the names that an exported program has kept."""
    if not stack:
        return "the model"
    split = [(name, *kind.rpartition(".")[::2]) for name, kind in stack]
    own = [(name, kind) for name, module, kind in split if _is_layer(module, kind)]
    name, kind = own[0] if own else (split[-1][0], split[-1][2])
    places.setdefault(name, kind)
    return f"layer {name} ({kind})"


def reals_of(result: Tensor) -> Reals:
    """[rows, columns] a result in double precision."""
    found: Reals = result.detach().double().numpy()
    return found.reshape(len(found), -1) if found.ndim else found.reshape(1, 1)
