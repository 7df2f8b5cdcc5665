"""Plant faults in a copy of the code, one at a time, and see whether the tests notice.

    python -m tests.stress.mutants 200 [SEED]        (make mutants)

A fault is one small change: a comparison, an operator, a number, a condition or a truth value.
It is drawn at random from ``semantics/``, ``inference/`` and ``learning/``. The
tests that run its line, by the record of ``tests.stress.lines``, are then run until one fails,
up to five minutes of them. What survives is printed with its place: it is either a change that
makes no difference, or something that no test looks at. A second call goes on where the first
was stopped (``build/mutants.jsonl``).
"""

from __future__ import annotations

import ast
import compileall
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from py_compile import PycInvalidationMode
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "dpasp"
COPY = ROOT / "build" / "mutants"
LINES = ROOT / "build" / "lines.json"
DONE = ROOT / "build" / "mutants.jsonl"
FAILED = COPY / "failed"  # the name of the test that noticed a fault
FOLDERS = ("semantics", "inference", "learning")
HEAVY = ("numpy", "clingo", "pandas", "torch")  # loaded once, not for each fault
ENOUGH = 300.0  # seconds of tests for one fault, as they take without it
FEW = 8
LONGEST = 900.0  # seconds for them with it; what hangs is noticed too
OURS = (3, 5)  # exit codes of pytest: a plugin is wrong, no test was found
# The copy comes first on the path, but a hook of an editable install would come before it.
NO_HOOKS = """import sys
sys.meta_path[:] = [find for find in sys.meta_path if "Redirect" not in type(find).__name__]
"""
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Fault:
    """One change of one file."""

    file: str  # below ``src/dpasp``
    line: int
    column: int
    before: str
    after: str
    text: str  # of the whole file with the change
    runs: frozenset[int]  # lines that are run where the change can be felt

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.before!r} became {self.after!r}"


def fault(file: str, number: int) -> Fault:
    """One fault of a file."""
    tree = ast.parse((SOURCE / file).read_text(encoding="utf-8"))
    node, change = list(_places(tree))[number]
    place = getattr(node, "lineno", 0), getattr(node, "col_offset", 0) + 1
    before, runs = ast.unparse(node), _felt(tree, node)
    change()
    return Fault(file, *place, before, ast.unparse(node), ast.unparse(tree), runs)


def _felt(tree: ast.AST, node: ast.AST) -> frozenset[int]:
    """The lines of a node inside a function; else those of the function that it is a default
    of; else, because a module is run once for all tests, those of all its functions."""
    part = node.test if isinstance(node, ast.If) else node
    inside: set[int] = set()
    every: set[int] = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        body = function.body if isinstance(function.body, list) else [function.body]
        lines = {line for statement in body for line in _span(statement)}
        every |= lines
        if any(child is node for statement in body for child in ast.walk(statement)):
            inside = _span(part)
        elif any(child is node for child in ast.walk(function.args)):
            inside = lines
    return frozenset(inside or every)


def _span(node: ast.AST) -> set[int]:
    first = getattr(node, "lineno", 0)
    return set(range(first, (getattr(node, "end_lineno", first) or first) + 1))


def _places(tree: ast.AST) -> Iterator[tuple[ast.AST, Callable[[], object]]]:
    """The nodes that can be changed, each with what changes it; annotations are left alone."""
    for node in _walk(tree):
        match node:
            case ast.Compare(ops=[operator]) if type(operator) in SWAPS:
                yield node, lambda n=node, o=operator: n.ops.__setitem__(0, SWAPS[type(o)]())
            case ast.BinOp(op=operator) if type(operator) in SWAPS and not _is_text(node):
                yield node, lambda n=node, o=operator: setattr(n, "op", SWAPS[type(o)]())
            case ast.BoolOp(op=operator):
                yield node, lambda n=node, o=operator: setattr(n, "op", SWAPS[type(o)]())
            case ast.If(test=test) | ast.IfExp(test=test) if not _is_typing(test):
                yield (
                    node,
                    lambda n=node, t=test: setattr(n, "test", ast.UnaryOp(ast.Not(), t)),
                )
            case ast.Constant(value=bool() as value):
                yield node, lambda n=node, v=value: setattr(n, "value", not v)
            case ast.Constant(value=int() | float() as value):
                yield node, lambda n=node, v=value: setattr(n, "value", v * 10 if v else 1)


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child
                yield from _walk(child)


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )


def _is_typing(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def draw(count: int, seed: int) -> list[Fault]:
    """Faults at random: every file as often as it has places for them."""
    places = [
        (file.relative_to(SOURCE).as_posix(), number)
        for folder in FOLDERS
        for file in sorted((SOURCE / folder).rglob("*.py"))
        for number, _ in enumerate(_places(ast.parse(file.read_text(encoding="utf-8"))))
    ]
    return [fault(*place) for place in random.Random(seed).sample(places, min(count, len(places)))]


def telling(planted: Fault, record: dict[str, Any]) -> list[str]:
    """The tests that run the place of a fault, those that are likely to notice it first.

    That is: of the file and then of the folder that are named alike; the quickest of each
    file, then the second of each, and so on.
    """
    lines: dict[str, list[int]] = record["lines"].get(planted.file, {})
    numbers = {test for line in planted.runs for test in lines.get(str(line), ())}
    files: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for name, seconds in (record["tests"][number] for number in numbers):
        files[name.partition("::")[0]].append((seconds, name))
    place = PurePosixPath(planted.file)

    def rank(item: tuple[int, str]) -> tuple[bool, bool, int]:
        turn, file = item
        test = PurePosixPath(file)
        return place.stem not in test.stem, place.parts[0] not in test.parts, turn

    turns = {
        (turn, file): test
        for file, tests in files.items()
        for turn, test in enumerate(sorted(tests))
    }
    chosen, total = [], 0.0
    for item in sorted(turns, key=rank):
        seconds, name = turns[item]
        if total + seconds <= ENOUGH:
            chosen.append(name)
            total += seconds
    return chosen


@dataclass(frozen=True)
class Only:
    """A plugin of pytest: these tests, in this order; the first that fails is written down."""

    names: tuple[str, ...]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        place = {name: index for index, name in enumerate(self.names)}
        items[:] = sorted(
            (item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            FAILED.write_text(report.nodeid, encoding="utf-8")


def _run(names: list[str]) -> None:
    """In a process of its own: run tests on the copy, and end with their exit code."""
    os.setsid()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    sys.path.insert(0, str(COPY))
    exec(NO_HOOKS)
    files = sorted({name.partition("::")[0] for name in names})
    words = ["-x", "-q", "-p", "no:cacheprovider", *files]
    os._exit(pytest.main(words, plugins=[Only(tuple(names))]))


def noticed(planted: Fault, tests: list[str]) -> str | None:
    """Which test fails with a fault; None if no one does."""
    if not tests:
        return None
    target = COPY / "dpasp" / planted.file
    whole = target.read_text(encoding="utf-8")
    target.write_text(planted.text, encoding="utf-8")
    FAILED.unlink(missing_ok=True)
    process = multiprocessing.get_context("fork").Process(target=_run, args=(tests,))
    process.start()
    try:
        process.join(LONGEST)
        if process.exitcode is None:
            return "(no end)"
        if process.exitcode == 0:
            return None
        assert process.exitcode not in OURS, tests
        return FAILED.read_text(encoding="utf-8") if FAILED.exists() else "(nothing can be run)"
    finally:
        if process.is_alive() and process.pid is not None:
            os.killpg(process.pid, signal.SIGKILL)
            process.join()
        target.write_text(whole, encoding="utf-8")


def judged(planted: Fault, record: dict[str, Any]) -> str | None:
    """Which of the tests that run the place of a fault notices it; None if no one does."""
    tests = telling(planted, record)
    # most faults are noticed by the first few, and other files take time to load
    return noticed(planted, tests[:FEW]) or noticed(planted, tests[FEW:])


def fails_anyway(tests: Iterable[str | None]) -> str | None:
    """A test that fails without any fault."""
    text = (SOURCE / "__init__.py").read_text(encoding="utf-8")
    nothing = Fault("__init__.py", 0, 0, "", "", text, frozenset())
    return noticed(nothing, sorted({test for test in tests if test and "::" in test}))


def prepare() -> None:
    """The copy, whose compiled files are checked by their contents, and what is slow to load."""
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(ROOT / "src", COPY, ignore=shutil.ignore_patterns("__pycache__"))
    (COPY / "sitecustomize.py").write_text(NO_HOOKS)
    compileall.compile_dir(COPY, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    sys.dont_write_bytecode = True
    os.environ |= {
        "PYTHONPATH": str(COPY),
        "PYTHONDONTWRITEBYTECODE": "1",
        "DPASP_RANDOM": "300",
        "OMP_NUM_THREADS": "1",
    }
    for name in HEAVY:
        __import__(name)


def main(count: int, seed: int = 1) -> int:
    """Try faults; fail if less than 90 % of them are noticed."""
    record = json.loads(LINES.read_text(encoding="utf-8"))
    known: dict[str, str | None] = {}
    if DONE.exists():
        known = dict(map(json.loads, DONE.read_text(encoding="utf-8").splitlines()))
    prepare()
    result, started = Counter[bool](), time.monotonic()
    for planted in draw(count, seed):
        if planted.name not in known:
            known[planted.name] = judged(planted, record)
            with DONE.open("a", encoding="utf-8") as log:
                log.write(json.dumps([planted.name, known[planted.name]]) + "\n")
        result[known[planted.name] is not None] += 1
        if known[planted.name] is None:
            print(f"not noticed: {planted.name}", flush=True)
    if broken := fails_anyway(known.values()):
        sys.exit(f"{broken} fails without a fault")
    share = result[True] / max(1, result.total())
    took = time.monotonic() - started
    print(f"{result.total()} faults, {result[True]} noticed ({share:.0%}), {took:.0f} s")
    return int(share < 0.9)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
