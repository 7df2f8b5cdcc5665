"""Plant faults in a copy of the code, one at a time, and see whether the tests notice.

    python -m tests.stress.mutants 200 [SEED]        (make mutants)

A fault is one small change: a comparison, an operator, a number, a condition or a returned
value. It is drawn at random from ``semantics/``, ``inference/``, ``learning/`` and ``neural/``,
and the tests of that folder are run, and those of whole programs, until one fails. What
survives is printed with its place: it is either a change that makes no difference, or something
that no test looks at.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
COPY = ROOT / "build" / "mutants"
FOLDERS = ("semantics", "inference", "learning", "neural")
# The quick and telling first; the first failure ends a run.
TESTS = {
    "semantics": ("tests/semantics", "tests/test_cases.py", "tests/oracle", "tests/inference"),
    "inference": ("tests/inference", "tests/test_cases.py", "tests/cli", "tests/test_program.py"),
    "learning": ("tests/learning", "tests/test_shapes.py", "tests/test_program.py"),
    "neural": ("tests/neural", "tests/learning", "tests/test_shapes.py"),
}
LONGEST = 900.0  # seconds for the tests of one fault; what hangs is noticed too
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

    file: Path
    line: int
    before: str
    after: str
    text: str  # of the whole file with the change


def fault(file: Path, number: int) -> Fault:
    """One fault of a file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    node, change = list(_places(tree))[number]
    before = ast.unparse(node)
    change()
    return Fault(file, getattr(node, "lineno", 0), before, ast.unparse(node), ast.unparse(tree))


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
    return "TYPE_CHECKING" in ast.dump(test)


def draw(count: int, seed: int) -> list[Fault]:
    """Faults at random: every file as often as it has places for them."""
    places = [
        (file, number)
        for folder in FOLDERS
        for file in sorted((ROOT / "src" / "dpasp" / folder).rglob("*.py"))
        for number, _ in enumerate(_places(ast.parse(file.read_text(encoding="utf-8"))))
    ]
    return [fault(*place) for place in random.Random(seed).sample(places, min(count, len(places)))]


def noticed(planted: Fault) -> bool:
    """Whether the tests fail with a fault."""
    name = planted.file.relative_to(ROOT / "src")
    target = COPY / name
    target.write_text(planted.text, encoding="utf-8")
    words = ["-S", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *TESTS[name.parts[1]]]
    paths = os.pathsep.join([str(COPY), sysconfig.get_path("purelib")])
    try:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": paths, "DPASP_RANDOM": "300"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        shutil.copy(planted.file, target)
    return done.returncode != 0


def main(count: int, seed: int = 1) -> int:
    """Try faults; fail if less than 90 % of them are noticed."""
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(ROOT / "src", COPY)
    result, started = Counter[bool](), time.monotonic()
    for planted in draw(count, seed):
        caught = noticed(planted)
        result[caught] += 1
        if not caught:
            place = f"{planted.file.relative_to(ROOT)}:{planted.line}"
            print(f"not noticed: {place}: {planted.before!r} became {planted.after!r}", flush=True)
    share = result[True] / max(1, result.total())
    took = time.monotonic() - started
    print(f"{result.total()} faults, {result[True]} noticed ({share:.0%}), {took:.0f} s")
    return int(share < 0.9)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
