"""The options of the command line, in groups that commands combine.

Help texts, the parser and completion all read these tables, so an option is written once.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from math import inf, nan
from textwrap import shorten
from typing import Any

from dpasp.cluster.pools import checked_cluster
from dpasp.dataclass import dataclass
from dpasp.errors import UsageError
from dpasp.language.ast import Logic, Probability
from dpasp.language.statements.engines import ENGINES
from dpasp.language.statements.options import CHAINS, LARGEST_INTEGER
from dpasp.limits import MOST_THREADS

LOGICS = tuple(logic.value for logic in Logic)
PROBABILITIES = tuple(probability.value for probability in Probability)


@dataclass(frozen=True, slots=True)
class Flag:
    """An option or, with a name without dashes, a positional argument.

    ``value`` is the placeholder in help texts; an option without one is a switch. ``read``
    turns the text into a value and raises :class:`argparse.ArgumentTypeError` if it cannot;
    ``count`` is argparse's ``nargs``.
    """

    names: tuple[str, ...]
    help: str
    value: str | None = None
    read: Callable[[str], object] = str
    default: Any = None
    choices: Collection[str] | None = None
    repeatable: bool = False
    negatable: bool = False  # whether a switch also has the form --no-…
    dest: str | None = None  # the name of the result, if it differs from the option
    count: str | None = None
    required: bool = False

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        settings: dict[str, Any] = {"help": self.help}
        if self.dest is not None:
            settings["dest"] = self.dest
        if self.negatable:
            settings |= {"action": argparse.BooleanOptionalAction, "default": self.default}
        elif self.value is None and self.choices is None:
            settings |= {"action": "store_true"}
        else:
            read = _not_empty if self.read is str and self.choices is None else self.read
            settings |= {"metavar": self.value, "type": read, "choices": self.choices}
            settings["default"] = self.default
        if self.repeatable:
            settings |= {"action": "append", "default": []}
        if self.count is not None:
            settings["nargs"] = self.count
        if self.required:
            settings["required"] = True
        parser.add_argument(*self.names, **settings)


@dataclass(frozen=True, slots=True)
class OptionGroup:
    """Options under one title; those without a title come first."""

    title: str
    options: tuple[Flag, ...]

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        group = parser.add_argument_group(self.title) if self.title else parser
        for option in self.options:
            option.add_to(group)


# --- how values are read -----------------------------------------------------------------------


def _not_empty(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("it is empty; has a variable of the shell no value?")
    return text


def _number(words: str, holds: Callable[[float], bool]) -> Callable[[str], float]:
    """A reader of numbers with a property, which the words name."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = nan
        if not holds(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not {words}")
        return value

    return read


positive = _number("a positive number", lambda value: 0 < value < inf)
share = _number("a number from 0 to 1", lambda value: 0 <= value <= 1)


def whole_number(text: str) -> int:
    """Read a whole number, 0 or more, that native code can hold."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(LARGEST_INTEGER)) or int(digits) > LARGEST_INTEGER:
        raise argparse.ArgumentTypeError(f"{shorten(text, 40)} is more than {LARGEST_INTEGER}")
    return int(digits)


def _whole(words: str, holds: Callable[[int], bool]) -> Callable[[str], int]:
    """A reader of whole numbers with a property, which the words name."""

    def read(text: str) -> int:
        value = whole_number(text)
        if not holds(value):
            raise argparse.ArgumentTypeError(f"{value} is not {words}")
        return value

    return read


count = _whole("a whole number above 0", lambda value: value > 0)
threads = _whole(
    f"a number of threads from 1 to {MOST_THREADS}", lambda value: 0 < value <= MOST_THREADS
)
chains = _whole(CHAINS.words, CHAINS.holds)


def cluster(text: str) -> str:
    """Read the name of a cluster: local, a number of processes, or an address."""
    try:
        return checked_cluster(text)
    except UsageError as error:
        problem = error.diagnostics[0]
        raise argparse.ArgumentTypeError(f"{problem.message}; {problem.help}") from None


def constant(text: str) -> tuple[str, str]:
    """Read ``NAME=VALUE``."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name.isidentifier() and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE, such as n=5")
    return name, value


def external(text: str) -> tuple[str, str]:
    """Read ``ATOM=VALUE``."""
    atom, equals, value = text.rpartition("=")
    if not (atom.strip() and equals and value.strip() in ("true", "false", "free")):
        form = "sensor(1)=true (or false, or free)"
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form {form}")
    return atom.strip(), value.strip()


def device(text: str) -> str:
    """Read a device: ``cpu``, ``auto``, or an accelerator with or without its number."""
    if not re.fullmatch(r"cpu|auto|(cuda|mps|xpu|hpu)(:\d+)?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a device: cpu, cuda, cuda:1 or auto")
    return text


def rule_pair(text: str) -> tuple[str, str]:
    """Read a rule of the program and the rule of a file that it takes its probabilities from."""
    rule, word, source = (part.strip() for part in text.partition(" from "))
    if not (rule and word and source):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form '?::a. from ?::b.'")
    return rule, source


# --- the options -------------------------------------------------------------------------------

FILES = Flag(("files",), "a program (.plp); - is standard input", "FILE", count="+")

CONSTANT = Flag(
    ("-c", "--const"),
    "set a #const of the program (repeatable)",
    "NAME=VALUE",
    constant,
    repeatable=True,
    dest="constants",
)
EXTERNAL = Flag(
    ("--external",),
    "set an atom that #external declares: true, false or free (repeatable)",
    "ATOM=VALUE",
    external,
    repeatable=True,
    dest="externals",
)
SEMANTICS = (
    Flag(
        ("--semantics",),
        f"override the program's #semantics: {', '.join(LOGICS)}; {', '.join(PROBABILITIES)}",
        "LOGIC,PROB",
        str.strip,
    ),
    Flag(("-s", "--sem"), "override only the logic part", choices=LOGICS, dest="logic"),
    Flag(
        ("-p", "--psem"),
        "override only the probabilistic part",
        choices=PROBABILITIES,
        dest="probability",
    ),
)
QUESTIONS = OptionGroup(
    "questions",
    (
        Flag(
            ("--query",),
            'ask this too, such as "a, not b | c" (repeatable)',
            "Q",
            repeatable=True,
            dest="queries",
        ),
        Flag(
            ("--evidence",),
            "add this to the evidence of every query (repeatable)",
            "E",
            str.strip,  # nothing may be observed
            repeatable=True,
        ),
        *SEMANTICS,
        CONSTANT,
        EXTERNAL,
    ),
)
MEANING = OptionGroup(
    "which models",
    (
        Flag(
            ("--given",),
            "only models in which this and the evidence hold (repeatable)",
            "LITERALS",
            str.strip,  # nothing may be given
            repeatable=True,
        ),
        *SEMANTICS,
        CONSTANT,
        EXTERNAL,
    ),
)
CLUSTER = Flag(
    ("--cluster",),
    "share the work: local (one process per core), a number of processes, or the address "
    "of a Ray cluster; the answers stay the same",
    "local|N|ADDRESS",
    cluster,
)
ENGINE = OptionGroup(
    "how to answer",
    (
        Flag(
            ("--engine",),
            "how to compute the answers; auto is exact unless it reaches a limit "
            "(default: the program's #inference, or auto)",
            choices=ENGINES.keys(),
        ),
        Flag(("--samples",), "how many samples --engine sample draws (default: 10000)", "N", count),
        Flag(
            ("--gap",),
            "for bounds (default: 0.01) and sample: stop when the bounds are this close",
            "G",
            share,
        ),
        Flag(("--chains",), "sample with 2 to 16 chains, for rare evidence", "N", chains),
        Flag(("--nmodels",), "for bounds: look at this many total choices at most", "N", count),
        Flag(
            ("--exact",),
            "fail at a limit (exit 124, 125) instead of answering, or learning, with bounds",
        ),
        CLUSTER,
        Flag(
            ("--inconsistent",),
            "condition on consistent total choices, or fail if some have no model "
            "(default: normalize)",
            choices=("normalize", "error"),
            default="normalize",
        ),
    ),
)

THREADS = Flag(
    ("--threads",),
    "threads for the compiler (default: 1), and for rows of tables and networks (default: all); "
    "the answers stay the same",
    "N",
    threads,
)

LEARNING = OptionGroup(
    "learning",
    (
        Flag(("--no-learn",), "ignore #learn"),
        Flag(("--save",), "save what was learned to a file", "F"),
        Flag(("--learned",), "write the program with the learned numbers", "F.plp"),
        Flag(("--load",), "answer with a saved file instead of learning", "F"),
        Flag(
            ("--likelihood",),
            "what learning maximises: auto (exact if it fits, else a lower bound), exact, bound or "
            "sampled (default: the program's #learn, or auto)",
            choices=("auto", "exact", "bound", "sampled"),
        ),
        Flag(("--resume",), "continue learning that was interrupted", "F"),
        Flag(("--force",), "load or resume another program's file, matching rules by order"),
        Flag(
            ("--rule",),
            "with --load: the first rule takes what the second learned in the file, others what "
            "the identical rule learned (repeatable)",
            '"RULE from RULE"',
            rule_pair,
            repeatable=True,
            dest="rules",
        ),
        Flag(("--seed",), "the seed of everything random", "N", whole_number),
        THREADS,
        Flag(("--device",), "where to learn and to answer rows: cpu, cuda, auto", "DEVICE", device),
    ),
)

LIMITS = OptionGroup(
    "limits",
    (
        Flag(("--time-limit",), "stop after this many seconds (exit 124)", "S", positive),
        Flag(("--memory-limit",), "stop above this much memory (exit 125)", "MB", positive),
    ),
)

PYTHON = OptionGroup(
    "safety",
    (
        Flag(
            ("--python",),
            "allow or forbid the program's Python (default: allowed for files, not for standard "
            "input)",
            negatable=True,
        ),
    ),
)

PLOT = Flag(("--plot",), "draw the answers: .svg, or (with dpasp[plot]) .png or .pdf", "F")
OTHER_QUESTIONS = OptionGroup(
    "other questions, and tables of evidence",
    (
        Flag(("--marginals",), "instead of the queries, give the probability of every shown atom"),
        Flag(
            ("--log-partition",),
            "instead of the queries, give the log of the total weight of all models (weighted)",
        ),
        Flag(
            ("--criterion",),
            "under credal, decide by maximin, maximax, interval-dominance, maximality or "
            "E-admissibility",
            "C",
        ),
        Flag(
            ("--rows",),
            "answer for every row of a table of evidence: column smoke, value yes is smoke(yes)",
            "F.csv",
        ),
        Flag(
            ("-o", "--output"),
            "with --rows: write a line for each row, with a column for each answer",
            "OUT.csv",
        ),
    ),
)
FILES_WRITTEN = OptionGroup(
    "files",
    (
        Flag(("--csv",), "write the answers as a table: .csv or .parquet", "F"),
        PLOT,
        Flag(("--report",), "write a page with the program, answers and explanations", "F.html"),
    ),
)


def drawing(what: str) -> Flag:
    """The ``--plot`` option with another help text."""
    return replace(PLOT, help=PLOT.help.replace("the answers", what))


OUTPUT = OptionGroup(
    "output",
    (
        Flag(("--json",), "print one JSON object"),
        Flag(("-q", "--quiet"), "print no warnings and no progress"),
        Flag(("-v", "--verbose"), "print more about what was done"),
    ),
)
