r"""Learning from interpretations: ProbLog's examples as observations.

A file of examples has ``evidence(…)`` facts, with lines of dashes between the examples.

>>> read = read_examples("evidence(a). evidence(b, false).\n---\nevidence(\\+a).", "e.ev")
>>> [[literal.negative for literal in example] for example in read]
[[False, True], [True]]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dpasp.converters.prolog import Clause, Compound, Term, read_clauses, variable_names
from dpasp.converters.rules import Literal
from dpasp.errors import Diagnostic, ProgramError
from dpasp.language.text import SourceFile

DASHES = re.compile(r"^[ \t]*---.*$", re.M)
FORM = "write evidence(atom, true) or evidence(atom, false); lines of dashes end an example"
Example = tuple[Literal, ...]


def read_examples(text: str, file: str) -> list[Example]:
    """The examples of a file; those without evidence are left out."""
    breaks = [match.start() for match in DASHES.finditer(text)]
    blank = DASHES.sub(lambda match: " " * len(match[0]), text)
    examples: list[list[Literal]] = [[] for _ in range(len(breaks) + 1)]
    source, problems = SourceFile(file, text), list[Diagnostic]()
    for item in read_clauses(blank, file):
        if not isinstance(item, Clause):
            continue
        literal = _observed(item.term)
        if literal is None:
            span = source.span(*item.at)
            problems.append(Diagnostic("no-counterpart", "this is not evidence", span, FORM))
            continue
        mine = examples[sum(at < item.at[0] for at in breaks)]
        if Literal(literal.atom, not literal.negative) in mine:
            message = "the same atom is true and false in one example"
            problems.append(Diagnostic("no-counterpart", message, source.span(*item.at)))
        if literal not in mine:
            mine.append(literal)
    if problems:
        raise ProgramError(problems)
    return [tuple(example) for example in examples if example]


def _observed(term: Term) -> Literal | None:
    """The literal of an evidence fact; None if it is something else."""
    match term:
        case Compound("evidence", (atom,)):
            negative = False
        case Compound("evidence", (atom, Compound("true" | "false" as value, ()))):
            negative = value == "false"
        case _:
            return None
    while isinstance(atom, Compound) and atom.name in ("\\+", "not") and len(atom.args) == 1:
        negative, atom = not negative, atom.args[0]
    if not isinstance(atom, Compound) or not is_plain(atom.name) or variable_names(atom):
        return None
    return Literal(atom, negative)


def is_plain(name: str) -> bool:
    """Whether a name is a word, not an operator."""
    return name[0].isalpha() or name[0] == "_"


def asked_atoms(examples: Iterable[Example]) -> list[Compound]:
    """The atoms that the examples are about."""
    return list(dict.fromkeys(literal.atom for example in examples for literal in example))


def examples_text(examples: Sequence[Sequence[str]]) -> str:
    """Observations as a function of a program, and the statement that learns from them."""
    lines = [f"        {list(example)!r}," for example in examples]
    return "\n".join(
        [
            "",
            "#python",
            "def examples():",
            "    return [",
            *lines,
            "    ]",
            "#end.",
            "#learn @examples.",
            "",
        ]
    )
