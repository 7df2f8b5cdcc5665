"""Whether saved parameters belong to a program: its learnable rules and networks, by name.

Parameters are saved as numbers in the order of the program's rules. Two programs of the same
shape would exchange them without a word, so a file also says which rules they are of.

>>> import dpasp
>>> model = dpasp.loads("?::a(X) :- X = 1..2. ?::b.").module()
>>> described(model)
{'rules': ['?::a(X) :- X = (1..2).', '?::b.'], 'free': [2, 2], 'networks': []}
>>> check_belongs(model, {"program": {"rules": ["?::c."]}}, "learned.safetensors")
Traceback (most recent call last):
dpasp.errors.DataError: error: learned.safetensors was learned by another program: ...
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dpasp.errors import DataError, Diagnostic, UsageError
from dpasp.language import ast
from dpasp.language.ast import statement_text
from dpasp.neural.module import ProgramModule
from dpasp.neural.parameters import LearnedIntervals

SHOWN = 3  # differences, at most
LOGITS = "probabilities.logits"


def described(model: ProgramModule) -> dict[str, Any]:
    """What a file says about the program whose parameters it holds."""
    return {
        "rules": rules(model),
        "free": model.probabilities.free.sum(dim=1).tolist() if rules(model) else [],
        "networks": [_network(net.statement) for net in model.nets],
    }


def rules(model: ProgramModule) -> list[str]:
    """The rule of each parameter; of one rule with several, also what they are for."""
    texts = []
    for parameter in model.ground.parameters:
        text = statement_text(model.ground.program.statements[parameter.statement])
        key = ", ".join(f"{name} = {value}" for name, value in parameter.key)
        texts.append(f"{text} with {key}" if key else text)
    return texts


def _network(statement: ast.Neural) -> str:
    return f"{statement.name} as @{statement.network.factory.function}"


def check_belongs(model: ProgramModule, facts: Mapping[str, Any], path: str | Path) -> None:
    """Raise :class:`DataError` with the difference if a file is of another program."""
    saved, here = facts.get("program", {}), described(model)
    lines = []
    for kind in ("rules", "networks"):
        lines += _differences(saved.get(kind, []), here[kind])
    if not lines:
        return
    more = [f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    message = f"{path} was learned by another program: {'; '.join(lines[:SHOWN] + more)}"
    help = (
        "load what this program saved; --force, or restore(path, force=True), takes the numbers in "
        "their order; by rule: --rule '?::a. from ?::b.' or restore(path, rules={'?::a.': '?::b.'})"
    )
    raise DataError(Diagnostic("checkpoint-other", message, help=help))


def _differences(saved: list[str], here: list[str]) -> list[str]:
    """What differs, in words, place by place."""
    lines = [
        f"it has '{old}' where this program has '{new}'"
        for old, new in zip(saved, here, strict=False)
        if old != new
    ]
    lines += [f"it has '{old}', and this program has not" for old in saved[len(here) :]]
    return lines + [f"it has no '{new}'" for new in here[len(saved) :]]


def by_rule(
    model: ProgramModule,
    tensors: Mapping[str, Tensor],
    facts: Mapping[str, Any],
    wanted: Mapping[str, str],
) -> dict[str, Tensor]:
    """The tensors with the learned probabilities of each rule from the rule of the file.

    ``wanted`` says from which where the names differ.
    """
    here, saved = described(model), facts.get("program", {})
    names, sizes = saved.get("rules", []), saved.get("free", [])
    parts = dict(zip(names, torch.split(tensors[LOGITS], sizes), strict=True))
    _check_names(wanted, here["rules"], names)
    logits = []
    for rule, size in zip(here["rules"], here["free"], strict=True):
        part = parts.get(wanted.get(rule, rule))
        if part is None or len(part) != size:
            message = f"the file has no parameters for the rule '{rule}'"
            help = f"it has: {'; '.join(names)}"
            raise DataError(Diagnostic("checkpoint-other", message, help=help))
        logits.append(part)
    return {**tensors, LOGITS: torch.cat(logits)}


def intervals_by_rule(
    model: ProgramModule, facts: Mapping[str, Any], wanted: Mapping[str, str]
) -> LearnedIntervals | None:
    """The learned intervals of a file, as :func:`by_rule` has the numbers; None if it has none."""
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
        raise DataError(Diagnostic("checkpoint-other", message, help=help))
    return LearnedIntervals(lower, upper)


def _check_names(wanted: Mapping[str, str], here: list[str], saved: list[str]) -> None:
    for names, known, where in (
        (wanted.keys(), here, "the program"),
        (wanted.values(), saved, "the file"),
    ):
        for name in names:
            if name not in known:
                raise UsageError(
                    f"{where} has no learnable rule '{name}'", help=f"it has: {'; '.join(known)}"
                )
