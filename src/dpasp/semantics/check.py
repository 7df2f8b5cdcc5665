"""What a program may not say under its semantics, found in its text alone."""

from __future__ import annotations

from collections.abc import Iterator

from dpasp.errors import Diagnostic
from dpasp.language.ast import (
    Annotated,
    Evidence,
    Interval,
    Literal,
    Logic,
    Map,
    Mode,
    Probability,
    Program,
    Query,
    Semantics,
    Statement,
)

DEFAULT = (Logic.STABLE, Probability.CREDAL)


def semantics_of(program: Program) -> tuple[Logic, Probability]:
    """The semantics that a program asks for; stable and credal where it does not say."""
    logic, probability = DEFAULT
    for statement in program.statements:
        if isinstance(statement, Semantics):
            logic = statement.logic or logic
            probability = statement.probability or probability
    return logic, probability


def check(program: Program, logic: Logic, probability: Probability) -> Iterator[Diagnostic]:
    """What the program says that has no meaning under the semantics."""
    for statement in program.statements:
        if not logic.three_valued:
            for literal in _literals(statement):
                if literal.mode is Mode.UNDEFINED:
                    yield Diagnostic(
                        "undef-two-valued",
                        f"no atom is ever undefined under the {logic.value} semantics",
                        literal.span,
                        help="leave the literal out, or choose #semantics partial, lstable, "
                        "smproblog or wellfounded",
                    )
        if probability is Probability.MAXENT and isinstance(statement, Annotated):
            for head in statement.heads:
                if isinstance(head.weight, Interval):
                    yield Diagnostic(
                        "credal-maxent",
                        "an interval of probabilities has no meaning under maxent",
                        head.weight.span,
                        help="give one probability, or choose #semantics credal",
                    )


def _literals(statement: Statement) -> tuple[Literal, ...]:
    match statement:
        case Query(literals=literals, evidence=evidence):
            return literals + evidence
        case Map(evidence=evidence) | Evidence(literals=evidence):
            return evidence
    return ()
