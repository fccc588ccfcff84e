"""Import of a trained PyG model as a design with weights; unsupported layers are reported by name.

The model runs once on the data, which shows its convolutions, their order, and the functions between them. The imported
network must reproduce the logits of the model; otherwise the import is refused.
"""

from __future__ import annotations

import copy
import difflib
import importlib
import inspect
import logging
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv, MessagePassing, SAGEConv

from fgnas.design import Design
from fgnas.errors import UserError
from fgnas.network import LayerParameters, Network
from fgnas.networks.calibration import calibrated
from fgnas.networks.model import ACTIVATIONS, Architecture, Field
from fgnas.networks.narrowing import narrowest
from fgnas.networks.quantised import quantised_accuracy
from fgnas.networks.training import float_accuracy, input_scale, restored
from fgnas.plain import BITS, check_bits, design_of
from fgnas.tasks.files import quiet
from fgnas.tasks.nodes import GraphData

CONVOLUTIONS = (GCNConv, GATConv, SAGEConv)
AGGREGATIONS = {"add": "add", "sum": "add", "mean": "mean", "max": "max"}
LAYERS = range(2, 5)
NEGATIVE_SLOPE = 0.2
HARMLESS = (
    nn.Dropout, nn.Identity, nn.ReLU, nn.Tanh, nn.Sigmoid, nn.ELU, nn.Softplus, nn.LeakyReLU, nn.ReLU6, nn.Softmax,
    nn.LogSoftmax,
)  # fmt: skip
"""Allowed modules between convolutions: their effect is visible in the values, or they only act in training."""
KNOWN = {name: function for name, function in ACTIVATIONS.items() if name != "linear"}
"""The activations between convolutions; that there is none is more likely a fault of the model."""
HARMLESS_OPERATIONS = ("dropout", "log_softmax", "softmax", "detach", "clone", "alias", "contiguous")
TOLERANCE = 1e-4
"""Tolerance for float logits, relative to the largest, because float32 sums may have another order."""


@dataclass(frozen=True, eq=False)
class Imported:
    """A model as a design.

    Attributes:
        design: layers, formats and parallelism.
        network: weights with the scales that calibration chose.
        accuracy: "float" and "quantised", each on "val" and "test", 0 to 1.
    """

    design: Design
    network: Network
    accuracy: dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False)
class Traced:
    """A model's run on the data.

    Attributes:
        convolutions: name and module of each, in the order in which they ran.
        activations: the function after each convolution except the last.
        looped: for each convolution, whether its edges included exactly one self-loop for every node.
        output: [N, classes] the model's output.
    """

    convolutions: list[tuple[str, MessagePassing]]
    activations: list[str]
    looped: list[bool]
    output: Tensor


def import_model(source: str, data: GraphData, weights: Path | None = None, bits: int = 10, dsp: int = 100) -> Imported:
    """The design of MODEL.pt2, or of `module:factory` with the state in `weights`.

    Every number gets `bits` bits. Raises UserError with the name of an unsupported layer and the reason.
    """
    check_bits(bits)
    if source.endswith(".pt2"):
        if weights is not None:
            raise UserError("--weights is for module:factory: a .pt2 file contains its own")
        model: Any = read_program(Path(source))
    else:
        model = load_module(source, weights)
    return of_model(model, data, bits, dsp)


def of_model(model: Any, data: GraphData, bits: int, dsp: int, loss: float | None = None) -> Imported:
    """The design of a module, or of an exported program; `loss` as in `of_trace`."""
    trace = trace_module if isinstance(model, nn.Module) else trace_export
    return of_trace(trace(model, data), data, bits, dsp, loss)


def of_trace(traced: Traced, data: GraphData, bits: int, dsp: int, loss: float | None = None) -> Imported:
    """The design of a traced model, checked against the model's output; with `loss` every layer has the fewest bits
    with which the accuracy on the validation nodes is so many points below the float one at most."""
    convolutions = traced.convolutions
    if len(convolutions) not in LAYERS:
        few, many = LAYERS.start, LAYERS.stop - 1
        raise UserError(f"the model has {len(convolutions)} convolutions; {few} to {many} are supported")
    architecture: Architecture = []
    layers: list[LayerParameters] = []
    for index, (name, module) in enumerate(convolutions):
        last = index == len(convolutions) - 1
        choices, parameters = _layer(f"layer {name} ({type(module).__name__})", module, traced.looped[index], last)
        choices["activation"] = None if last else traced.activations[index]
        choices["d"] = None if last else choices["d"]
        architecture.append(choices)
        layers.append(parameters)
    width, classes = len(layers[0].weight), layers[-1].weight.shape[2]
    if (width, classes) != (data.width_in, data.classes):
        raise UserError(
            f"the model has {width} features and {classes} classes, but {data.label} has "
            f"{data.width_in} and {data.classes}"
        )
    network = Network(tuple(layers), input_scale(data))
    _prove(architecture, network, data, traced)
    exact = float_accuracy(architecture, network, data)
    widths = [bits] * len(architecture)
    if loss is not None:
        widths = list(_narrowest(architecture, network, data, bits, exact["val"] - loss / 100))
    design = design_of(architecture, widths, dsp, "the model")
    network = calibrated(design, network, data)
    return Imported(design, network, {"float": exact, "quantised": quantised_accuracy(design, network, data)})


def _narrowest(
    architecture: Architecture, network: Network, data: GraphData, bits: int, least: float
) -> tuple[int, ...]:
    """The bits of every layer. Raises UserError where the widest numbers have less than the least accuracy."""
    def accuracy(widths: Sequence[int]) -> float:
        design = design_of(architecture, widths, 0, "the model")
        return quantised_accuracy(design, calibrated(design, network, data), data)["val"]

    found = narrowest(len(architecture), range(BITS.start, bits + 1), lambda widths: accuracy(widths) >= least)
    if found is None:
        raise UserError(f"--loss asks for an accuracy of {least:.2%} on the validation nodes, but {bits} bits "
                        f"have {accuracy([bits] * len(architecture)):.2%}: allow more, or more --bits")  # fmt: skip
    return found


@torch.no_grad()
def _prove(architecture: Architecture, network: Network, data: GraphData, traced: Traced) -> None:
    """Raise UserError unless the network's float logits are the model's, up to rounding."""
    child = restored(architecture, network, data)
    logits = child(Field(data, np.arange(data.nodes), len(architecture)))
    answers = (logits, logits.log_softmax(1), logits.softmax(1))
    if traced.output.shape != logits.shape:
        raise UserError(f"the model returns the shape {list(traced.output.shape)}, not {list(logits.shape)}")
    scale = traced.output.abs().max().clamp(min=1e-30)
    apart = min(float((answer - traced.output).abs().max() / scale) for answer in answers)
    if not apart < TOLERANCE:
        raise UserError(
            f"the model does more than its convolutions: its logits differ by {apart:.1%} from those of "
            f"{', '.join(name for name, _ in traced.convolutions)} alone"
        )


# a convolution as a layer of a design


def _layer(name: str, module: MessagePassing, looped: bool, last: bool) -> tuple[dict[str, Any], LayerParameters]:
    """The choices and parameters of a convolution. Raises UserError where it is not supported."""
    if module.flow != "source_to_target":
        raise UserError(f"{name}: flow is {module.flow}; only source_to_target is supported")
    aggregation = AGGREGATIONS.get(module.aggr) if isinstance(module.aggr, str) else None
    if aggregation is None:
        raise UserError(f"{name}: aggr is {module.aggr}; add, mean and max are supported")
    make = {GCNConv: _gcn, GATConv: _gat, SAGEConv: _sage}[type(module)]
    choices, parameters = make(name, module, last)
    if not (looped or getattr(module, "add_self_loops", False)):
        raise UserError(
            f"{name}: its neighbourhoods lack the node itself, which the accelerator always includes; "
            "train with self-loops added to the edges (torch_geometric.transforms.AddSelfLoops)"
        )
    return {**choices, "aggregation": aggregation}, parameters


def _gcn(name: str, module: Any, last: bool) -> tuple[dict[str, Any], LayerParameters]:
    _must(name, module, normalize=True, improved=False)
    weight = module.lin.weight
    return _choices("gcn", 1, len(weight)), _parameters(weight, 1, module.bias)


def _gat(name: str, module: Any, last: bool) -> tuple[dict[str, Any], LayerParameters]:
    _must(name, module, negative_slope=NEGATIVE_SLOPE, edge_dim=None, residual=False)
    k, d = module.heads, module.out_channels
    if k & (k - 1):
        raise UserError(f"{name}: heads is {k}; 1, 2, 4, 8, … are supported")
    if k > 1 and module.concat == last:
        place, wanted = ("the last layer", False) if last else ("a hidden layer", True)
        raise UserError(f"{name}: concat is {module.concat} in {place}; only concat={wanted} is supported there")
    if module.lin is None:
        raise UserError(f"{name}: in_channels is a pair; only one number is supported")
    vectors = (_array(vector).reshape(k, d) for vector in (module.att_src, module.att_dst))
    return _choices("gat", k, d), _parameters(module.lin.weight, k, module.bias, *vectors)


def _sage(name: str, module: Any, last: bool) -> tuple[dict[str, Any], LayerParameters]:
    _must(name, module, root_weight=False, project=False, normalize=False)
    if module.aggr == "max":
        raise UserError(f"{name}: takes the maximum before its weights, the accelerator after them; mean is supported")
    return _choices("constant", 1, len(module.lin_l.weight)), _parameters(module.lin_l.weight, 1, module.lin_l.bias)


def _must(name: str, module: Any, **wanted: Any) -> None:
    for option, value in wanted.items():
        if (found := getattr(module, option, value)) != value:
            raise UserError(f"{name}: {option} is {found}; only {option}={value} is supported")


def _choices(attention: str, k: int, d: int) -> dict[str, Any]:
    return {"attention": attention, "k": k, "d": d}


def _parameters(
    weight: Tensor,
    k: int,
    bias: Tensor | None,
    source: NDArray[np.float32] | None = None,
    target: NDArray[np.float32] | None = None,
) -> LayerParameters:
    """The parameters of a layer from the weight [k * d, width_in] of a Linear."""
    turned = _array(weight).T.reshape(weight.shape[1], k, -1).copy()
    zeros = np.zeros(len(weight), np.float32)
    return LayerParameters(turned, zeros if bias is None else _array(bias), source, target)


def _array(parameter: Tensor) -> NDArray[np.float32]:
    return parameter.detach().cpu().numpy().astype(np.float32)


# running a model


def _inputs(data: GraphData) -> tuple[Tensor, Tensor]:
    """x [N, F] and edge_index [2, E] for a PyG model; with self-loops only where the original data has them."""
    keep = np.ones(len(data.sources), bool) if data.looped else data.sources != data.targets
    edges = torch.from_numpy(np.stack([data.sources[keep], data.targets[keep]]))
    return torch.from_numpy(data.features.toarray()), edges


def load_module(source: str, weights: Path | None) -> nn.Module:
    """The module that `module:factory` returns, with the state of a file. Raises UserError where either fails."""
    place, _, factory_name = source.partition(":")
    if not place or not factory_name:
        raise UserError(f"{source!r} is neither a .pt2 file nor module:factory, such as models:make_gcn")
    if place.endswith(".py"):
        raise UserError(f"{source} names a file: give its module, {Path(place).stem}:{factory_name}")
    sys.path.insert(0, "")  # also modules in the current folder, as with `python -m`
    try:
        model = _made(source, _factory(place, factory_name))
    except UserError:
        raise
    except Exception as error:  # the user's code can raise anything
        raise UserError(f"{source} does not return a model ({type(error).__name__}: {error})") from None
    finally:
        sys.path.remove("")
    if not isinstance(model, nn.Module):
        raise UserError(f"{source} returns a {type(model).__name__}, not a torch.nn.Module")
    if weights is not None:
        _load_state(model, weights)
    return model


def _factory(place: str, name: str) -> Any:
    """What a module calls by this name. Raises UserError where either does not exist."""
    try:
        module = importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{place}.".startswith(f"{error.name}."):
            raise UserError(f"the module {place} imports {error.name}, which is not installed here") from None
        near = difflib.get_close_matches(place, [path.stem for path in Path().glob("*.py")], 1, 0.75)
        fix = f"did you mean {near[0]}?" if near else f"run the command in the folder of {place.partition('.')[0]}.py"
        raise UserError(f"No module named {place} here: {fix}") from None
    if hasattr(module, name):
        return getattr(module, name)
    own = [key for key, value in vars(module).items() if isinstance(value, nn.Module) or (
        callable(value) and getattr(value, "__module__", "") == module.__name__ and key[0] != "_")]  # fmt: skip
    has = ", ".join(difflib.get_close_matches(name, own) or own[:8]) or "neither a function nor a class"
    raise UserError(f"module {place} has no attribute {name}; it has {has}")


def _made(source: str, factory: Any) -> Any:
    """The model that a factory returns, or a module itself. Raises UserError where the factory needs arguments."""
    if isinstance(factory, nn.Module):
        return factory
    try:
        inspect.signature(factory).bind()
    except ValueError:
        pass  # some functions of C have no signature
    except TypeError as error:
        if callable(factory):
            raise UserError(f"{source} needs arguments ({error}): name a function without arguments that returns the "
                            f"model") from None  # fmt: skip
    return factory()


def read_state(path: Path) -> Any:
    """The content of a file of weights, of which nothing is executed. Raises UserError where it has other content."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise UserError(f"cannot read the weights {path}: {error.strerror}; "
                        f"torch.save(model.state_dict(), '{path}') writes them") from None  # fmt: skip
    except Exception as error:  # a damaged or hostile pickle can raise nearly anything
        # torch names what it refuses to execute, such as the class of a model that was saved whole.
        stranger = re.search(r"(?:GLOBAL|global:?) (?!GLOBAL)([\w.]+)", str(error))
        what = (f"but the object {stranger[1]}, and nothing in a file is executed" if stranger
                else f"({type(error).__name__})")  # fmt: skip
        raise UserError(f"{path} contains no plain state_dict {what}: torch.save(model.state_dict(), 'net.pt') writes "
                        f"one") from None  # fmt: skip


def _load_state(model: nn.Module, weights: Path) -> None:
    state = read_state(weights)
    try:
        model.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).partition(":")[2].split())[:240] or str(error)[:240]
        raise UserError(f"the weights {weights} are not this model's: {reason}") from None


@torch.no_grad()
def trace_module(model: nn.Module, data: GraphData) -> Traced:
    """Run a module and record the arguments and results of its convolutions."""
    model = copy.deepcopy(model).cpu().float().eval()
    runs: list[tuple[str, nn.Module, Tensor, Tensor, Tensor]] = []
    strangers: list[tuple[str, nn.Module]] = []
    for name, module in model.named_modules():
        if isinstance(module, MessagePassing):
            module.register_forward_hook(_recorder(name, runs), with_kwargs=True)
    inside = tuple(f"{name}." for name, module in model.named_modules() if isinstance(module, MessagePassing))
    for name, module in model.named_modules():
        if not (list(module.children()) or name.startswith(inside) or isinstance(module, (*HARMLESS, MessagePassing))):
            module.register_forward_hook(lambda m, _, __, name=name: strangers.append((name, m)))
    x, edge_index = _inputs(data)
    output = _run(model, x, edge_index)
    _refuse_strangers([(name, type(module).__name__) for name, module in strangers])
    for name, module, *_ in runs:
        if type(module) not in CONVOLUTIONS:
            raise UserError(f"layer {name} ({type(module).__name__}): GCNConv, GATConv and SAGEConv are supported")
    activations = [_activation(before[0], before[4], after[0], after[2]) for before, after in pairwise(runs)]
    if runs and not torch.equal(runs[0][2], x):
        raise UserError(f"layer {runs[0][0]} does not read the unchanged features")
    looped = [_is_looped(edges, data) for _, _, _, edges, _ in runs]
    return Traced([(name, module) for name, module, *_ in runs], activations, looped, output)


def _recorder(name: str, runs: list[Any]) -> Callable[..., None]:
    def record(module: nn.Module, positional: Any, named: Any, output: Any) -> None:
        try:
            given = inspect.signature(module.forward).bind(*positional, **named).arguments
        except TypeError as error:
            raise UserError(f"layer {name}: {error}") from None
        x, edge_index = given.get("x"), given.get("edge_index")
        if not all(isinstance(value, Tensor) for value in (x, edge_index, output)):
            raise UserError(f"layer {name} ({type(module).__name__}): only x and edge_index are supported")
        extra = sorted(name for name, value in given.items() if name not in ("x", "edge_index") and value is not None)
        if extra:
            raise UserError(f"layer {name} ({type(module).__name__}): {extra[0]} of edges is not supported")
        runs.append((name, module, x, edge_index, output))

    return record


def _run(model: nn.Module, x: Tensor, edge_index: Tensor) -> Tensor:
    """The result of forward(x, edge_index), or of forward(data) where it takes one argument."""
    parameters = inspect.signature(model.forward).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    arguments = (Data(x=x, edge_index=edge_index),) if len(needed) == 1 else (x, edge_index)
    try:
        output = model(*arguments)
    except UserError:
        raise
    except Exception as error:  # the user's code can raise anything
        raise UserError(f"the model does not run on this data ({type(error).__name__}: {error})") from None
    if not isinstance(output, Tensor):
        raise UserError(f"the model returns a {type(output).__name__}, not a tensor")
    return output


def _activation(before: str, given: Tensor, after: str, taken: Tensor) -> str:
    """The activation between the result of one convolution and the argument of the next."""
    if given.shape == taken.shape:
        for name, function in KNOWN.items():
            if torch.allclose(function(given), taken, rtol=1e-5, atol=1e-6):
                return name
        if torch.equal(given, taken):
            raise UserError(f"there is no activation between the layers {before} and {after}: {_known()}")
    raise UserError(f"unsupported function between the layers {before} and {after}: {_known()}")


def _known() -> str:
    return ", ".join(KNOWN) + " are supported"


def _refuse_strangers(strangers: list[tuple[str, str]]) -> None:
    if strangers:
        name, kind = strangers[0]
        raise UserError(f"layer {name} ({kind}) is not supported: only convolutions, and {_known()}")


def _is_looped(edge_index: Tensor, data: GraphData) -> bool:
    """Whether the edges include exactly one self-loop for every node."""
    if edge_index.shape != (2, len(data.sources)):
        return False
    found, wanted = (np.sort(s * data.nodes + t) for s, t in (edge_index.numpy(), (data.sources, data.targets)))
    return np.array_equal(found, wanted)


def read_program(path: Path) -> Any:
    """Load a program that torch.export.save wrote. Raises UserError, in one line, if the file contains none."""
    if not path.is_file():
        raise UserError(f"the model {path} does not exist")
    log = logging.getLogger("torch.export")
    log_level = log.level
    log.setLevel(logging.CRITICAL)  # for a damaged file it logs the traceback of the error reported below
    try:
        with quiet():
            return torch.export.load(path)
    except Exception as error:  # a damaged archive can raise nearly anything
        reason = next((line for line in str(error).splitlines() if line.strip()), "")
        raise UserError(f"{path} was not saved by torch.export.save ({type(error).__name__}: {reason[:160]})") from None
    finally:
        log.setLevel(log_level)


def trace_export(program: Any, data: GraphData) -> Traced:
    """Run an exported program; its convolutions are rebuilt from their parameters."""
    x, edge_index = _inputs(data)
    names: dict[str, str] = {}
    how: defaultdict[str, str] = defaultdict(lambda: "other")
    activations: list[str] = []
    strangers: list[tuple[str, str]] = []
    for node in program.graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        stack = list((node.meta.get("nn_module_stack") or {}).values())
        inside = next(((at, str(kind)) for at, kind in stack if ".nn.conv." in str(kind)), None)
        operation = node.target.name().removeprefix("aten::").partition(".")[0].rstrip("_")
        if inside is not None:
            names.setdefault(*inside)
            for _, part in stack:
                if found := re.search(r"\.(Sum|Mean|Max)Aggregation$", str(part)):
                    how[inside[0]] = found[1].lower()
        elif operation in KNOWN:
            activations.append(operation)
        elif operation not in HARMLESS_OPERATIONS and not operation.startswith(("_assert", "sym_")):
            at, kind = stack[-1] if stack else ("", "")
            strangers.append((str(at) or operation, str(kind).rpartition(".")[2] if at else operation))
    _refuse_strangers(strangers)
    if len(activations) < len(names) - 1:
        raise UserError(f"{len(names)} convolutions with {len(activations)} activations between them: {_known()}")
    convolutions = [(name, _rebuilt(name, kind, how[name], program.state_dict)) for name, kind in names.items()]
    output = _run_export(program, x, edge_index)
    return Traced(convolutions, activations, [data.looped] * len(convolutions), output)


@torch.no_grad()
def _run_export(program: Any, x: Tensor, edge_index: Tensor) -> Tensor:
    try:
        output = program.module()(x, edge_index)
    except Exception as error:  # mostly shapes that were fixed in the export
        raise UserError(
            f"the exported model does not take x {list(x.shape)} and edge_index {list(edge_index.shape)} "
            f"({str(error).splitlines()[0]}); export it on this data, with its self-loops unchanged"
        ) from None
    if not isinstance(output, Tensor):
        raise UserError(f"the model returns a {type(output).__name__}, not a tensor")
    return output


def _rebuilt(name: str, kind: str, aggregation: str, state: dict[str, Tensor]) -> MessagePassing:
    """A convolution with its parameters; options that do not show in the parameters have PyG's defaults."""
    own = {key.removeprefix(f"{name}."): value for key, value in state.items() if key.startswith(f"{name}.")}
    kind = kind.rpartition(".")[2]
    bias = "bias" in own or "lin_l.bias" in own
    module: MessagePassing
    if kind == "GCNConv":
        out, width = own["lin.weight"].shape
        module = GCNConv(width, out, bias=bias)
    elif kind == "GATConv" and "lin.weight" in own:
        heads, d = own["att_src"].shape[1:]
        concat = len(own["bias"]) == heads * d if bias else True
        module = GATConv(own["lin.weight"].shape[1], d, heads, concat, bias=bias, residual="res.weight" in own)
    elif kind == "SAGEConv":
        out, width = own["lin_l.weight"].shape
        options = {"root_weight": "lin_r.weight" in own, "project": "lin.weight" in own}
        module = SAGEConv(width, out, bias=bias, **options)
    else:
        raise UserError(f"layer {name} ({kind}): GCNConv, GATConv and SAGEConv are supported")
    module.load_state_dict(own, strict=False)
    module.aggr = aggregation
    return module.eval()
