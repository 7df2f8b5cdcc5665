"""A tour of the examples: each program, what it shows, and its answers. Run by `make demo`."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

import dpasp
from dpasp.display.diagnostics import render

HERE = Path(__file__).parent
STOPS = ["smokers", "earthquake", "prisoners", "fault_tree", "credal", "barber", "game"]
WIDTH = 20  # cells of a bar that stands for the probabilities from 0 to 1

MISTAKES = """\
0.6::rain; 0.7::sun.
wet(X) :- rain, not dry(X).
#qery rain.
"""


def main() -> None:
    """Print the tour."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    console = Console(highlight=False)
    started = time.perf_counter()
    for number, name in enumerate(STOPS, 1):
        stop(console, number, HERE / f"{name}.plp")
    mistakes(console, len(STOPS) + 1)
    seconds = time.perf_counter() - started
    console.print(
        f"\nThat was {len(STOPS)} of the programs in examples/, answered in {seconds:.1f} s. "
        "Try one yourself:\n\n"
        "    .venv/bin/dpasp examples/smokers.plp\n"
        '    .venv/bin/dpasp examples/smokers.plp --query "smokes(anna) | smokes(carl)"\n'
        "    .venv/bin/dpasp --help\n"
    )


def stop(console: Console, number: int, path: Path) -> None:
    """Show one example: what it is about, its text, its answers."""
    about, code = split(path.read_text(encoding="utf-8"))
    answers = dpasp.load(path).query()
    console.rule(f"[bold]{number}  {path.name}")
    console.print(Text(about), end="\n\n")
    console.print(
        Syntax(code, "prolog", theme="ansi_dark", background_color="default", word_wrap=True)
    )
    console.print(f"\n[bold green]answers[/] under {answers.logic}, {answers.probability}:")
    for answer in answers:
        for line in str(answer).splitlines():
            console.print(bar(answer), Text(line))
    console.print()


def split(text: str) -> tuple[str, str]:
    """The sentences a program opens with, and the program without its comments at the top."""
    lines = text.splitlines()
    top = next(i for i, line in enumerate(lines) if not line.startswith("%"))
    about = " ".join(line[1:].strip() for line in lines[:top]).split("source:")[0]
    return about.strip(), "\n".join(lines[top:]).strip()


def bar(answer: object) -> Text:
    """A picture of a probability or of an interval of them."""
    numbers = [float(number) for number in getattr(answer, "numbers", ())]
    if not numbers:
        return Text()
    low, high = round(min(numbers) * WIDTH), round(max(numbers) * WIDTH)
    if len(numbers) == 1:
        return Text.assemble("━" * high, ("─" * (WIDTH - high), "dim"))
    middle = max(1, high - low)
    low = min(low, WIDTH - middle)
    rest = WIDTH - low - middle
    return Text.assemble(("─" * low, "dim"), "━" * middle, ("─" * rest, "dim"))


def mistakes(console: Console, number: int) -> None:
    """Show what a program with mistakes gets to hear."""
    console.rule(f"[bold]{number}  a program with mistakes")
    try:
        dpasp.loads(MISTAKES, file="mistakes.plp").query()
    except dpasp.Error as error:
        sources = {"mistakes.plp": MISTAKES}.get
        text = render(error.diagnostics, sources, colour=console.is_terminal)
        console.print(Text.from_ansi(text), soft_wrap=True)


if __name__ == "__main__":
    main()
