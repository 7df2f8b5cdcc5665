"""Files of learned parameters and of unfinished learning: safetensors with JSON in the header.

A file replaces the old one only once it is complete, so a crash leaves one or the other. A checksum
reveals damage. Parameters are numbers in the order of the program's rules; the file names the
rules, so that another program of the same shape does not load them. Resumed learning gives the same
bits as uninterrupted learning.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialized
from torch import Tensor

from dpasp.dataclass import dataclass
from dpasp.errors import DataError, UsageError
from dpasp.language import ast
from dpasp.language.ast import statement_text
from dpasp.learning.ascents import Ascent
from dpasp.learning.history import ASCENT_WORDS, Record
from dpasp.learning.module import ProgramModule
from dpasp.learning.weights import LearnedIntervals
from dpasp.version import __version__
from dpasp.writing import write_aside

if TYPE_CHECKING:
    from dpasp.learning.train import Loop

FORMAT = "dpasp-2"
SHOWN = 3  # differences that a message shows
LOGITS = "probabilities.logits"


def own(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies as safetensors needs them: on the CPU, none sharing memory with another."""
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}


def write_checkpoint(
    path: str | Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]
) -> None:
    """Write tensors and facts (as JSON) to a file, all or nothing."""
    path = Path(path)
    if not os.path.isdir(path.parent):
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
    if os.path.isdir(path):
        raise UsageError(f"cannot write {path}: Is a directory", help="name a file in it")
    copies = own(tensors)
    facts_text = json.dumps(dict(facts))
    header = {"format": FORMAT, "version": __version__, "facts": facts_text}
    header["checksum"] = checksum(copies, facts_text)
    # Not save_file: after a kill, it would leave a temporary file of its own behind.
    data = serialized(copies, metadata=header)
    write_aside(path, lambda aside: aside.write_bytes(data))


def read_checkpoint(path: str | Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the facts in a file; :class:`DataError` if it is not one of ours."""
    try:
        with safe_open(str(path), framework="pt") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise ValueError("this version of dPASP did not write it")
            # copied, so that overwriting the file does not change what was read
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        if checksum(tensors, header["facts"]) != header["checksum"]:
            raise ValueError("it was damaged after it was written")
        return tensors, json.loads(header["facts"])
    except FileNotFoundError as error:
        raise DataError.at("checkpoint-file", f"there is no file {path}") from error
    except (SafetensorError, ValueError, KeyError, OSError) as error:
        message = f"{path} holds no learned parameters: {error}"
        raise DataError.at("checkpoint-file", message) from error


def checksum(tensors: Mapping[str, Tensor], facts: str) -> str:
    digest = hashlib.sha256(facts.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def pack_optimiser(prefix: str, state: object, tensors: dict[str, Tensor]) -> str:
    """The state of an optimiser as JSON; its tensors go into ``tensors`` under names."""

    def moved(tensor: Tensor) -> dict[str, str]:
        name = f"{prefix}.{len(tensors)}"
        tensors[name] = tensor
        return {"tensor": name}

    return json.dumps(state, default=moved)


def unpack_optimiser(packed: str, tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """The state that :func:`pack_optimiser` packed."""

    def back(read: dict[str, Any]) -> Any:
        return tensors[read["tensor"]] if "tensor" in read else read

    state: dict[str, Any] = json.loads(packed, object_hook=back)
    by_number = {int(number): each for number, each in state["state"].items()}
    return {**state, "state": by_number}


def under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The entries with a prefix, by the rest of their names."""
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def load_state(module: torch.nn.Module, tensors: Mapping[str, Tensor], path: str | Path) -> None:
    """Load the tensors of a file into a module; :class:`DataError` if they do not fit."""
    state = module.state_dict()
    missing, extra = sorted(state.keys() - tensors.keys()), sorted(tensors.keys() - state.keys())
    wrong = [n for n in state.keys() & tensors.keys() if state[n].shape != tensors[n].shape]
    if missing or extra or wrong:
        names = ", ".join([*missing, *extra, *sorted(wrong)][:3])
        message = f"{path} was learned by another program: {names} differ"
        help = "load what this program saved, or learn again"
        raise DataError.at("checkpoint-other", message, help=help)
    module.load_state_dict(dict(tensors))


def described(model: ProgramModule) -> dict[str, Any]:
    """What a file says about the program whose parameters it holds."""
    texts, networks = rules(model), []
    for statement in (net.statement for net in model.nets):
        made = f"#factor {statement.name}"
        if isinstance(statement, ast.Neural):
            made = f"{statement.name} as @{statement.network.factory.function}"
        networks.append(made)
    free = model.probabilities.free.sum(dim=1).tolist() if texts else []
    return {"rules": texts, "free": free, "networks": networks}


def rules(model: ProgramModule) -> list[str]:
    """The rule of each parameter, with its key if the rule has several."""
    texts = []
    for parameter in model.ground.parameters:
        text = statement_text(model.ground.program.statements[parameter.statement])
        key = ", ".join(f"{name} = {value}" for name, value in parameter.key)
        texts.append(f"{text} with {key}" if key else text)
    return texts


def check_belongs(model: ProgramModule, facts: Mapping[str, Any], path: str | Path) -> None:
    """Raise a :class:`DataError` that shows the difference if a file belongs to another program."""
    program, lines = described(model), []
    for kind in ("rules", "networks"):
        saved, here = facts.get("program", {}).get(kind, []), program[kind]
        lines += [
            f"it has '{old}' where this program has '{new}'"
            for old, new in zip(saved, here, strict=False)
            if old != new
        ]
        lines += [f"it has '{old}', which this program lacks" for old in saved[len(here) :]]
        lines += [f"it lacks '{new}'" for new in here[len(saved) :]]
    if not lines:
        return
    more = [f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    message = f"{path} was learned by another program: {'; '.join(lines[:SHOWN] + more)}"
    help = (
        "load what this program saved; --force, or restore(path, force=True), takes the numbers in "
        "their order; by rule: --rule '?::a. from ?::b.' or restore(path, rules={'?::a.': '?::b.'})"
    )
    raise DataError.at("checkpoint-other", message, help=help)


def by_rule(
    model: ProgramModule,
    tensors: Mapping[str, Tensor],
    facts: Mapping[str, Any],
    wanted: Mapping[str, str],
) -> dict[str, Tensor]:
    """The tensors, with each rule's learned probabilities taken from a rule of the file.

    ``wanted`` names the rule of the file where the two differ.
    """
    here, saved = described(model), facts.get("program", {})
    names, sizes = saved.get("rules", []), saved.get("free", [])
    parts = dict(zip(names, torch.split(tensors[LOGITS], sizes), strict=True))
    for texts, known, where in (
        (wanted.keys(), here["rules"], "the program"),
        (wanted.values(), names, "the file"),
    ):
        for text in texts:
            if text not in known:
                message = f"{where} has no learnable rule '{text}'"
                raise UsageError(message, help=f"it has: {'; '.join(known)}")
    logits = []
    for rule, size in zip(here["rules"], here["free"], strict=True):
        part = parts.get(wanted.get(rule, rule))
        if part is None or len(part) != size:
            message = f"the file has no parameters for the rule '{rule}'"
            help = f"it has: {'; '.join(names)}"
            raise DataError.at("checkpoint-other", message, help=help)
        logits.append(part)
    return {**tensors, LOGITS: torch.cat(logits)}


def intervals_by_rule(
    model: ProgramModule, facts: Mapping[str, Any], wanted: Mapping[str, str]
) -> LearnedIntervals | None:
    """The learned intervals of a file, assigned as by :func:`by_rule`; None if it has none."""
    tables = facts.get("intervals")
    if tables is None:
        return None
    order = list(range(len(tables[0])))
    if wanted:
        saved = facts.get("program", {}).get("rules", [])
        order = [saved.index(wanted.get(rule, rule)) for rule in rules(model)]
    lower, upper = (tuple(tuple(table[place]) for place in order) for table in tables)
    if [*map(len, lower)] != [len(parameter.initial) for parameter in model.ground.parameters]:
        message = "the file has learned intervals for rules with other numbers of heads"
        help = "learn again with imprecise, or save without it"
        raise DataError.at("checkpoint-other", message, help=help)
    return LearnedIntervals(lower, upper)


@dataclass(slots=True)
class Position:
    """How far learning has come."""

    iteration: int = 0  # finished ones
    step: int = 0  # finished batches of the next iteration
    total: float = 0.0  # their log-likelihood
    best: float = -inf
    waited: int = 0
    records: tuple[Record, ...] = ()


def save(run: Loop, path: Path) -> None:
    """Write everything needed to continue a run."""
    tensors: dict[str, Tensor] = {
        f"{whose}.{name}": value
        for whose, state in (("model", run.model.state_dict()), ("best", run.best))
        for name, value in state.items()
    }
    tensors["velocity"] = run.learner.velocity
    if run.learner.average is not None:
        tensors |= run.learner.average.tensors()
    tensors["random"] = torch.get_rng_state()
    if run.device.type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state(run.device)
    packed = [
        pack_optimiser(f"optimiser.{i}", optimiser.state_dict(), tensors)
        for i, optimiser in enumerate(run.learner.optimisers)
    ]
    position, ascent = run.position, run.learner.ascent
    facts = {
        "kind": "checkpoint",
        "program": described(run.model),
        "options": asdict(run.options),
        "rule": run.learner.rule,
        "examples": len(run.learner.ids),
        **asdict(position),
        "optimisers": packed,
        "ascent": [ascent.kind, [] if ascent.source is None else ascent.source.state],
        "gap": None if run.learner.gap is None else float(run.learner.gap),
    }
    write_checkpoint(path, tensors, facts)


def restore(run: Loop, path: Path) -> None:
    tensors, facts = read_checkpoint(path)
    _check_same(run, path, facts)
    if not run.how.force:
        check_belongs(run.model, facts, path)
    load_state(run.model, under(tensors, "model."), path)
    run.best = {name: it.to(run.device) for name, it in under(tensors, "best.").items()}
    run.learner.velocity = tensors["velocity"].to(run.device)
    if run.learner.average is not None:
        run.learner.average.restore(tensors)
    torch.set_rng_state(tensors["random"])
    if "random.cuda" in tensors and run.device.type == "cuda":
        torch.cuda.set_rng_state(tensors["random.cuda"], run.device)
    for optimiser, packed in zip(run.learner.optimisers, facts["optimisers"], strict=True):
        optimiser.load_state_dict(unpack_optimiser(packed, tensors))
    _restore_ascent(run, path, facts)
    run.position = Position(**{field.name: facts[field.name] for field in fields(Position)})
    run.position.records = tuple(Record(**record) for record in facts["records"])


def _restore_ascent(run: Loop, path: Path, facts: dict[str, Any]) -> None:
    """Restore the bound, or the worlds that are drawn."""
    learner, (kind, state) = run.learner, facts["ascent"]
    if kind != learner.ascent.kind:
        message = f"{path} was learned by the {ASCENT_WORDS[kind]}, and this is the "
        message += ASCENT_WORDS[learner.ascent.kind]
        help = f'say likelihood = "{kind}", or start anew without --resume'
        raise DataError.at("checkpoint-other", message, help=help)
    if (source := learner.ascent.source) is not None:
        learner.ascent = Ascent.by(source.restored(state), run.device)
    gap = facts["gap"]
    learner.gap = None if gap is None else torch.tensor(gap, dtype=torch.float64).to(run.device)


def _check_same(run: Loop, path: Path, facts: dict[str, Any]) -> None:
    if facts.get("kind") != "checkpoint":
        message = f"{path} holds learned parameters, not unfinished learning"
        help = "read them with --load"
        raise DataError.at("checkpoint-other", message, help=help)
    # and the number of iterations, unless the learning rates depend on it
    free = {"display": "none", "device": ""}
    if run.options.schedule == "constant" and not run.options.warmup:
        free["niters"] = ""
    mine = asdict(run.options) | free
    past = facts["options"] | free
    differ = sorted(name for name in mine if mine[name] != past.get(name))
    if facts["examples"] != len(run.learner.ids):
        differ.append("the number of examples")
    if differ or facts["rule"] != run.learner.rule:
        message = f"{path} was learned otherwise: {', '.join(differ) or 'by another rule'}"
        help = "say the same as then, or start anew without --resume"
        raise DataError.at("checkpoint-other", message, help=help)
