"""Learning to read digits from their sums, shown in the terminal. Run by `make demo`.

    python examples/learn_digits.py [PICTURE.png]

With a name (and matplotlib) the learning curve and the test digits are also drawn to a file.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

import dpasp
from dpasp.learning.history import Moment

PROGRAM = Path(__file__).parent / "digits_add.plp"
SHOWN = 4  # test pairs that are drawn
SHADES = " ░▒▓█"


class Curve:
    """Watches learning: a bar, and the accuracy of the test sums after every iteration."""

    def __init__(self, program: dpasp.Program, labels: list[str], progress: Progress) -> None:
        self.program, self.labels = program, labels
        self.progress = progress
        self.task = progress.add_task("learning", total=None, told="")
        self.points: list[float] = []

    def __call__(self, moment: Moment) -> None:
        """Note where learning is."""
        if moment.finished is not None:
            self.points.append(self.program.accuracy("sum(X)", self.labels))
        done = (moment.iteration - 1) * moment.examples + moment.done
        speed = done / max(moment.seconds, 1e-9)
        told = (
            f"iteration {moment.iteration}/{moment.iterations}  "
            f"log-likelihood {moment.log_likelihood:.3f}  {speed:,.0f} pairs/s"
        )
        total = moment.iterations * moment.examples
        self.progress.update(self.task, completed=done, total=total, told=told)


def main() -> None:
    """Learn, and show what was learned."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    torch.set_num_threads(1)  # the network is small
    console = Console(highlight=False)
    console.rule("[bold]digits_add.plp: learning to read digits from sums")
    text = PROGRAM.read_text(encoding="utf-8")
    console.print(Text(text[text.index("#end.") + 5 :].strip()), end="\n\n")
    started = time.perf_counter()
    program = dpasp.load(PROGRAM)
    own = program.functions
    columns = (BarColumn(), TextColumn("{task.fields[told]}"), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        curve = Curve(program, own["test_sums"](), progress)
        program.learn(watcher=curve)
    console.print("\n[bold green]test sums that are right[/], by iteration:")
    console.print(chart(curve.points), end="\n\n")
    digits = read_digits(program, own)
    right = (digits == own["labels"][own["test"]]).double().mean()
    console.print(
        f"It was never told a digit, only {len(own['train']):,} sums. Of the test digits it reads\n"
        f"[bold]{100 * right:.1f} %[/] right, and of the test sums "
        f"[bold]{100 * curve.points[-1]:.1f} %[/]."
    )
    console.print(pictures(own, digits))
    if len(sys.argv) > 1:
        draw(sys.argv[1], curve.points, own, digits)
        console.print(f"The same as a picture: {sys.argv[1]}")
    console.print(f"\nThat took {time.perf_counter() - started:.0f} s.")


@torch.no_grad()
def read_digits(program: dpasp.Program, own: Mapping[str, Any]) -> torch.Tensor:
    """What the network reads in the test images, [pairs, 2]."""
    net = program.module().nets[0]
    return torch.stack([net(own["test_images"](i))[:, 0].argmax(1) for i in (0, 1)], 1)


def chart(points: list[float], height: int = 8) -> Text:
    """A curve of shares as columns of blocks."""
    rows = []
    for level in range(height, 0, -1):
        cells = []
        for point in points:
            eighths = round(point * height * 8) - (level - 1) * 8
            cells.append(" ▁▂▃▄▅▆▇█"[max(0, min(8, eighths))] * 2)
        mark = {height: "100 %", height // 2 + 1: " 50 %"}.get(level, "     ")
        rows.append(f"{mark} │{' '.join(cells)}")
    rows.append(f"  0 % └{'─' * (3 * len(points))}")
    return Text("\n".join(rows), style="cyan")


def pictures(own: Mapping[str, Any], digits: torch.Tensor) -> Text:
    """Some test pairs, drawn, with what was read in them."""
    shown = Text("\n")
    for first in range(0, SHOWN, 2):
        pairs = range(first, first + 2)
        for row in range(8):
            line = "     ".join(
                " ".join(drawn(own["pictures"][int(own["test"][p, i])], row) for i in (0, 1))
                for p in pairs
            )
            shown.append(f"  {line}\n")
        for pair in pairs:
            a, b = digits[pair].tolist()
            good = a + b == int(own["labels"][own["test"][pair]].sum())
            shown.append(f"  {f'{a} + {b} = {a + b}':^33}   ", style="green" if good else "red")
        shown.append("\n\n")
    return shown


def drawn(picture: torch.Tensor, row: int) -> str:
    """One row of an image as shades."""
    pixels = (picture.reshape(8, 8)[row] + 1) / 2
    return "".join(SHADES[min(4, int(p * 5))] * 2 for p in pixels.tolist())


def draw(path: str, points: list[float], own: Mapping[str, Any], digits: torch.Tensor) -> None:
    """The learning curve and test digits as a picture."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(9, 5.5), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[1.2, 1])
    axes = above.subplots()
    axes.plot(range(1, len(points) + 1), [100 * point for point in points], marker="o")
    axes.set(xlabel="iteration", ylabel="test sums right (%)", ylim=(0, 100))
    grid = below.subplots(2, 10)
    for pair in range(10):
        for i in (0, 1):
            cell = grid[i][pair]
            picture = own["pictures"][int(own["test"][pair, i])]
            cell.imshow(picture.reshape(8, 8).numpy(), cmap="gray_r")
            right = int(digits[pair, i]) == int(own["labels"][own["test"][pair, i]])
            cell.set_title(int(digits[pair, i]), color="green" if right else "red")
            cell.axis("off")
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
