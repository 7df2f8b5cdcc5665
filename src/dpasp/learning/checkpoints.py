"""Files of learned parameters and of unfinished learning: safetensors with JSON in the header.

Every file is written aside and then moved into its place, so a crash leaves the old one or
the new one, never half of one; and it has a checksum, so that a damaged one is not read.

>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     write_checkpoint(Path(folder) / "x", {"weights": torch.ones(2)}, {"rules": ["?::a."]})
...     print(read_checkpoint(Path(folder) / "x"))
({'weights': tensor([1., 1.])}, {'rules': ['?::a.']})
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialized
from torch import Tensor

from dpasp.errors import DataError, Diagnostic, UsageError
from dpasp.version import __version__
from dpasp.writing import write_aside

FORMAT = "dpasp-2"


def write_checkpoint(
    path: str | Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]
) -> None:
    """Write tensors and JSON facts to a file, all or nothing."""
    path = Path(path)
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
    if path.is_dir():
        raise UsageError(f"cannot write {path}: Is a directory", help="name a file in it")
    copies = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    facts_text = json.dumps(dict(facts))
    header = {"format": FORMAT, "version": __version__, "facts": facts_text}
    header["checksum"] = checksum(copies, facts_text)
    # Not by save_file: it writes a file of its own aside, which nobody would remove after a kill.
    data = serialized(copies, metadata=header)
    write_aside(path, lambda aside: aside.write_bytes(data))


def read_checkpoint(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the facts in a file; :class:`DataError` if it is not one of ours."""
    try:
        with safe_open(str(path), framework="pt") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise ValueError("this version of dPASP did not write it")
            # copies: who writes over the file must not change, or end, what was read
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        if checksum(tensors, header["facts"]) != header["checksum"]:
            raise ValueError("it was damaged after it was written")
        return tensors, json.loads(header["facts"])
    except FileNotFoundError as error:
        raise DataError(Diagnostic("checkpoint-file", f"there is no file {path}")) from error
    except (SafetensorError, ValueError, KeyError, OSError) as error:
        message = f"{path} holds no learned parameters: {error}"
        raise DataError(Diagnostic("checkpoint-file", message)) from error


def checksum(tensors: Mapping[str, Tensor], facts: str) -> str:
    """A hash of all that a file says."""
    digest = hashlib.sha256(facts.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def pack_optimiser(prefix: str, state: Mapping[str, Any], tensors: dict[str, Tensor]) -> Any:
    """The state of an optimiser as JSON, its tensors moved into ``tensors`` under names."""

    def pack(value: Any, name: str) -> Any:
        if isinstance(value, Tensor):
            tensors[name] = value
            return {"tensor": name}
        if isinstance(value, Mapping):
            return {"map": [[key, pack(item, f"{name}.{key}")] for key, item in value.items()]}
        if isinstance(value, list | tuple):
            kind = "tuple" if isinstance(value, tuple) else "list"
            return {kind: [pack(item, f"{name}.{i}") for i, item in enumerate(value)]}
        return {"value": value}

    return pack(state, prefix)


def unpack_optimiser(packed: Any, tensors: Mapping[str, Tensor]) -> Any:
    """The state that :func:`pack_optimiser` packed."""
    ((kind, value),) = packed.items()
    match kind:
        case "tensor":
            return tensors[value]
        case "map":
            return {key: unpack_optimiser(item, tensors) for key, item in value}
        case "list":
            return [unpack_optimiser(item, tensors) for item in value]
        case "tuple":
            return tuple(unpack_optimiser(item, tensors) for item in value)
    return value


def load_state(module: torch.nn.Module, tensors: Mapping[str, Tensor], path: str | Path) -> None:
    """Give a module the tensors of a file; :class:`DataError` when they belong to another."""
    state = module.state_dict()
    missing, extra = sorted(state.keys() - tensors.keys()), sorted(tensors.keys() - state.keys())
    wrong = [n for n in state.keys() & tensors.keys() if state[n].shape != tensors[n].shape]
    if missing or extra or wrong:
        names = ", ".join([*missing, *extra, *sorted(wrong)][:3])
        message = f"{path} was learned by another program: {names} differ"
        help = "load what this program saved, or learn again"
        raise DataError(Diagnostic("checkpoint-other", message, help=help))
    module.load_state_dict(dict(tensors))
