"""The networks behind neural statements: where they come from and what their outputs mean.

A network is built once for each statement that names it, runs on whole batches, and returns
probabilities [rows, outcomes, values], checked, renormalised and in float64.

On a CPU, convolutions run faster with the channels last in memory (a step of learning takes up to
15 % less time), so the weights of a ``Sequential`` of torch's own layers are laid out that way (a
custom ``forward`` may rely on the usual layout). On a GPU, they return the same bits on every run
within :func:`repeatable`.

For ``torch.compile``, checking the outputs is one operator, which identifies the network by a
number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import count
from pathlib import Path
from typing import Any, Self
from weakref import WeakValueDictionary

import torch
from torch import Tensor, nn

from dpasp.errors import DataError
from dpasp.ground.program import GroundNetwork, GroundProgram
from dpasp.ground.python import ProgramPython, guarded
from dpasp.language import ast
from dpasp.writing import counted

TOLERANCE = 1e-4  # how far from 1 the outputs for one row may sum, in single precision


def tolerance(dtype: torch.dtype) -> float:
    """How far from 1 the outputs for one row may sum, by the precision that they come in."""
    return max(TOLERANCE, 8 * torch.finfo(dtype).eps) if dtype.is_floating_point else TOLERANCE


class OnDevice:
    """A dataclass whose tensors, and parts with tensors, can move to a device."""

    __slots__ = ()

    def to(self, device: torch.device) -> Self:
        parts = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        moved = {name: _moved(part, device) for name, part in parts.items()}
        changed = any(moved[name] is not part for name, part in parts.items())
        return replace(self, **moved) if changed else self  # type: ignore[type-var]


def _moved(part: Any, device: torch.device) -> Any:
    if isinstance(part, tuple) and part and hasattr(part[0], "to"):
        return tuple(each.to(device) for each in part)
    return part.to(device) if hasattr(part, "to") else part


_MODULES: WeakValueDictionary[int, Any] = WeakValueDictionary()  # modules by number
_NUMBERS = count(1)


def register(module: nn.Module) -> int:
    """Give a module a number, by which operators find it."""
    number = next(_NUMBERS)
    _MODULES[number] = module
    return number


def registered(number: int) -> Any:
    return _MODULES[number]


@torch.library.custom_op("dpasp::checked", mutates_args=())
def checked(outputs: Tensor, number: int) -> Tensor:
    """The outputs of a network, checked to be probabilities."""
    registered(number).check(outputs)
    return outputs.clone()


@checked.register_fake
def _(outputs: Tensor, number: int) -> Tensor:
    return torch.empty_like(outputs)


checked.register_autograd(
    lambda ctx, up: (up, None), setup_context=lambda ctx, inputs, output: None
)


class OutputReader(nn.Module):
    """Runs a network and reads its outputs: one distribution for each row and outcome."""

    def __init__(
        self, module: nn.Module, statement: ast.Neural | ast.Factor, use: GroundNetwork
    ) -> None:
        super().__init__()
        self.module = module
        self.statement = statement
        self.outcomes = max(1, len(use.outcomes))
        self.in_body = False
        if isinstance(statement, ast.Neural):
            self.in_body = bool(use.outcomes) and not statement.outcomes
        self.boolean = not use.values
        self.values = max(1, len(use.values))
        # A factor w has the weights w / (1 + w) and 1 / (1 + w): its logarithm is a logit.
        is_factor = isinstance(statement, ast.Factor)
        told = {option.name: option.value for option in statement.options}
        self.logits = is_factor or bool(told.get("logits"))
        last = module
        while isinstance(last, nn.Sequential) and len(last):
            last = last[-1]
        if told.get("logits") and isinstance(last, nn.Softmax | nn.Sigmoid):
            what = f"ends in a {type(last).__name__}, which gives probabilities and not logits"
            raise self._error("network-simplex", what, "leave out that layer, or 'with logits'")
        self.frozen = not statement.learnable
        self.dtype = torch.get_default_dtype()  # of the last output
        self._checked = False
        self.number = register(self)
        self._convolutions = convolve_channels_last(module)
        watch_convolutions(module)
        if self.frozen:
            module.requires_grad_(False)
            module.eval()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy, with its own number."""
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self.number = register(self)

    def train(self, mode: bool = True) -> OutputReader:
        """Set the training mode; a frozen network stays in evaluation mode."""
        super().train(mode and not self.frozen)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> OutputReader:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        lay_out_weights(self._convolutions)  # it may have moved to another device
        return self

    def forward(self, *inputs: Tensor) -> Tensor:
        """The probabilities [rows, outcomes, values] for a batch of rows.

        A Boolean network has two values, true and false. For logits, the results are logarithms, so
        that tiny probabilities keep their digits.
        """
        name, span = self.statement.name, self.statement.span
        with guarded(f"the network of {name}", None, span, inputs):
            output = self.module(*inputs)
        raw = self._shaped(output, len(inputs[0]))
        if self.logits:
            if self.boolean:
                return nn.functional.logsigmoid(torch.cat([raw, -raw], dim=-1))
            return torch.log_softmax(raw, dim=-1)
        if torch.compiler.is_compiling():
            raw = checked(raw, self.number)
        else:
            self.check(raw.detach())
        if self.boolean:
            true = raw.clamp(0.0, 1.0)
            return torch.cat([true, 1.0 - true], dim=-1)
        positive = raw.clamp(min=0.0)
        return positive / positive.sum(dim=-1, keepdim=True)

    def _shaped(self, output: object, rows: int) -> Tensor:
        """The output as [rows, outcomes, values] in float64."""
        if not isinstance(output, Tensor):
            raise self._error(
                "network-output", f"gives a {type(output).__name__}, not a tensor", ""
            )
        shape = (rows, self.outcomes, self.values)
        allowed = {shape, (rows * self.outcomes, self.values)}
        if self.outcomes == 1:
            allowed.add((rows, self.values))
        if self.values == 1:
            allowed |= {(rows, self.outcomes), (rows * self.outcomes,)}
        alike = {(rows, self.values)} | ({(rows,)} if self.values == 1 else set())
        if self.in_body and tuple(output.shape) in alike:  # one row for all outcomes
            self.dtype = output.dtype
            return output.double().reshape(rows, 1, self.values).expand(shape)
        if tuple(output.shape) not in allowed:
            seen = " × ".join(map(str, output.shape))
            want = "one probability" if self.boolean else f"{self.values} probabilities"
            if isinstance(self.statement, ast.Factor):
                want = "the logarithm of one factor"
            each = " for each outcome" if self.outcomes > 1 else ""
            what = f"gives an output of shape {seen} for {counted(rows, 'row')}"
            help = f"{self.statement.name} needs {want} a row{each}: {self._wanted(rows)}"
            raise self._error("network-size", what, help)
        self.dtype = output.dtype
        return output.reshape(shape).double()

    def _wanted(self, rows: int) -> str:
        """The shapes that fit, in words."""
        shape = (rows, self.outcomes, self.values)
        if self.outcomes == 1 or self.boolean:
            shape = (rows, self.outcomes * self.values)  # type: ignore[assignment]
        text = " × ".join(map(str, shape))
        return f"{text}, or {rows} × {self.values} to use for every outcome" * self.in_body or text

    def check(self, raw: Tensor) -> None:
        """Raise :class:`DataError` if outputs [rows, outcomes, values] are not probabilities.

        Inspecting numbers makes a GPU wait, so there only the first batch is checked.
        """
        if raw.device.type != "cpu" and self._checked:
            return
        self._checked = True
        slack = tolerance(self.dtype)
        if self.boolean:
            off = ~((raw >= -slack) & (raw <= 1 + slack))
            what = "is not a probability"
        else:
            total = raw.sum(dim=-1, keepdim=True)
            off = ~((raw >= -slack).all(-1, keepdim=True) & ((total - 1).abs() <= slack))
            what = "is not a distribution"
        if bool(off.any()):
            row = int(off.flatten(1).any(1).nonzero()[0])
            shown = ", ".join(f"{x:.4g}" for x in raw[row].flatten()[:5].tolist())
            more = ", …" if raw[row].numel() > 5 else ""
            what = f"gives ({shown}{more}) for row {row} of a batch, which {what}"
            help = "end the network with a softmax (a sigmoid for a neural fact), "
            help += "or say that it gives logits: as @net with logits"
            raise self._error("network-simplex", what, help)

    def _error(self, code: str, what: str, help: str) -> DataError:
        message = f"the network of {self.statement.name} {what}"
        return DataError.at(code, message, self.statement.span, help)


def build_networks(ground: GroundProgram, python: ProgramPython) -> list[OutputReader]:
    networks = []
    for use in ground.networks:
        statement = ground.program.statements[use.statement]
        assert isinstance(statement, ast.Neural | ast.Factor)
        assert statement.network is not None
        networks.append(OutputReader(make_network(statement.network, python), statement, use))
    return networks


def make_network(network: ast.Network, python: ProgramPython) -> nn.Module:
    if network.repository is not None:
        made: object = _from_hub(network, python)
    else:
        value = python.function(network.factory.function, network.factory.span)
        made = value if isinstance(value, nn.Module) else python.call(network.factory)
    if isinstance(made, nn.Module):
        return made
    message = f"@{network.factory.function} returns a {type(made).__name__}, not a torch.nn.Module"
    help = f"def {network.factory.function}(): return torch.nn.Sequential(…)"
    raise DataError.at("network-type", message, network.span, help)


def _from_hub(network: ast.Network, python: ProgramPython) -> object:
    """Load a network from a PyTorch Hub repository: a folder, or one on GitHub."""
    if not python.allowed:
        raise python.refusal("a hub repository runs Python", network.span)
    assert network.repository is not None
    source, where = "github", network.repository
    if network.host is None:
        source = "local"
        where = str(_folder(network))
    name = network.factory.function
    arguments = python.arguments(network.factory)
    with guarded(f"loading {name} from {network.repository}", None, network.span):
        # torch.hub asks before it runs a repository that it does not trust yet.
        return torch.hub.load(where, name, *arguments, source=source, trust_repo="check")  # type: ignore[no-untyped-call]


def _folder(network: ast.Network) -> Path:
    """The folder of a local repository, looked for beside the program."""
    assert network.repository is not None
    path = Path(network.repository).expanduser()
    if not path.is_absolute():
        path = Path(network.span.file).parent / path
    if not (path / "hubconf.py").is_file():
        message = f"there is no hubconf.py in {network.repository}"
        help = f'for a repository on GitHub write: on "{network.repository}" at "github"'
        raise DataError.at("hub-folder", message, network.span, help)
    return path


def trainable(networks: Sequence[OutputReader]) -> list[OutputReader]:
    """The networks that learn, each module once."""
    by_module: dict[int, OutputReader] = {}
    for network in networks:
        if not network.frozen:
            by_module.setdefault(id(network.module), network)
    return list(by_module.values())


def convolve_channels_last(module: nn.Module) -> list[nn.Sequential]:
    """Run the convolutions of a module with the channels last, where that is safe.

    Returns the parts that do; :func:`lay_out_weights` adapts them to another device.
    """
    parts = islands(module)
    for island in parts:
        island.register_forward_pre_hook(_channels_last)
        island.register_forward_hook(_contiguous)
    lay_out_weights(parts)
    return parts


def lay_out_weights(parts: Iterable[nn.Sequential]) -> None:
    """Lay out the weights of such parts in the order that is fastest on their device."""
    for part in parts:
        on_cpu = next(part.parameters()).device.type == "cpu"
        order = torch.channels_last if on_cpu else torch.contiguous_format
        # Not contiguous(): with one channel it keeps the old strides, which torch goes by.
        part.to(memory_format=order)  # type: ignore[call-overload]


def islands(module: nn.Module) -> list[nn.Sequential]:
    """The outermost sequences of torch's own layers that hold a convolution."""
    parts = list(module.modules())
    plain = all(type(part).__module__.startswith("torch.nn.") for part in parts)
    if isinstance(module, nn.Sequential) and plain:
        return [module] if any(isinstance(part, nn.Conv2d) for part in parts) else []
    return [island for child in module.children() for island in islands(child)]


def _channels_last(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        x.contiguous(memory_format=torch.channels_last)
        if _is_images(x) and x.device.type == "cpu"
        else x
        for x in inputs
    )


def _contiguous(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Any:
    return output.contiguous() if _is_images(output) else output


def _is_images(value: object) -> bool:
    return isinstance(value, Tensor) and value.ndim == 4


cudnn = torch.backends.cudnn


@contextmanager
def repeatable(device: torch.device) -> Iterator[None]:
    """Make convolutions on a GPU return the same bits on every run."""
    before = cudnn.deterministic
    cudnn.deterministic = before or device.type == "cuda"
    try:
        yield
    finally:
        cudnn.deterministic = before


def watch_convolutions(module: nn.Module) -> None:
    """Use the faster repeatable algorithm for a network's convolutions over one channel."""
    for part in module.modules():
        if isinstance(part, nn.Conv2d) and part.in_channels == 1:
            part.register_forward_hook(_full_precision_back)


def _full_precision_back(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
    if isinstance(output, Tensor) and output.grad_fn is not None and output.is_cuda:
        full = _FullPrecision()
        output.grad_fn.register_prehook(full.enter)
        output.grad_fn.register_hook(full.leave)


class _FullPrecision:
    """Hooks around the gradient of one convolution."""

    def __init__(self) -> None:
        self.before: bool | None = None

    def enter(self, gradients: object) -> None:
        try:
            self.before = cudnn.allow_tf32 if cudnn.deterministic else None
        except RuntimeError:  # the precision was set by torch's newer switches
            self.before = None
        if self.before:
            cudnn.allow_tf32 = False

    def leave(self, gradients: object, before: object) -> None:
        if self.before:
            cudnn.allow_tf32 = True
