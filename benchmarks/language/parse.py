"""How long reading takes: 10,000 statements of several kinds, in seconds of CPU.

python -m benchmarks.language.parse [STATEMENTS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from dpasp.language import check, parse
from dpasp.language.ast import to_text

REPEAT = 5


def facts(count: int) -> str:
    """Probabilistic facts."""
    return "\n".join(f"0.{i % 9 + 1}::edge({i},{i + 1})." for i in range(count))


def mixed(count: int) -> str:
    """Probabilistic facts, rules and disjunctions, and rules of clingo's."""
    lines: list[str] = []
    for i in range(count // 4):
        lines.append(f"0.{i % 9 + 1}::edge({i},{i + 1}).")
        lines.append(f"0.3::a({i}); 0.5::b({i},X) :- edge({i},X), not c(X).")
        lines.append(f"path({i},X) :- edge({i},Y), path(Y,X), X != {i}.")
        lines.append(f"{i % 7}/10::f({i}) :- #count {{ X : edge({i},X) }} > 1.")
    return "\n".join(lines)


def rules(count: int) -> str:
    """Rules of clingo's alone."""
    return "\n".join(f"p({i},X) :- q({i},X), not r(X), X < {i}." for i in range(count))


def queries(count: int) -> str:
    """Questions."""
    return "\n".join(f"#query a({i}), not b({i},X) | c({i})." for i in range(count))


def seconds(work: Callable[[], object]) -> float:
    """The least CPU time of several runs."""
    times = []
    for _ in range(REPEAT):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main(count: int = 10_000) -> None:
    """Print a table of times."""
    print(f"{'statements':>10}  {'kind':8}  {'parse':>6}  {'check':>6}  {'print':>6}   (s of CPU)")
    for make in (facts, mixed, rules, queries):
        text = make(count)
        program = parse(text)
        times = (
            seconds(lambda text=text: parse(text)),  # type: ignore[misc]
            seconds(lambda program=program: check(program)),  # type: ignore[misc]
            seconds(lambda program=program: to_text(program)),  # type: ignore[misc]
        )
        shown = "  ".join(f"{value:6.2f}" for value in times)
        print(f"{len(program.statements):>10}  {make.__name__:8}  {shown}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
