"""Time against size, one panel for each family and semantics."""

from __future__ import annotations

import math
from pathlib import Path

from benchmarks.inference.records import RESOLUTION
from benchmarks.inference.report import Report, kinds, used

COLOURS = {
    "dPASP": "#1b6ca8",
    "problog": "#d1495b",
    "aspmc": "#8d6cab",
    "plingo": "#e0a030",
    "enumeration": "#888888",
}
COLUMNS = 4


def draw(report: Report, path: Path) -> None:
    """Write the plot; a cross at the limit is a system that gave up."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    groups = kinds(report)
    rows = math.ceil(len(groups) / COLUMNS)
    figure, axes = plt.subplots(
        rows, COLUMNS, figsize=(3.1 * COLUMNS, 2.3 * rows), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[len(groups) :]:
        axis.axis("off")
    lines = {}
    for axis, (family, semantics, records) in zip(axes.flat, groups, strict=False):
        for name in used(report, records):
            own = [record for record in records if record.system == name]
            done = [record for record in own if record.answered]
            colour = COLOURS.get(name)
            (lines[name],) = axis.plot(
                [record.size for record in done],
                [max(record.seconds, RESOLUTION / 3) for record in done],
                "o-", color=colour, markersize=3, linewidth=1.2, label=name,
            )  # fmt: skip
            lost = [record.size for record in own if not record.answered]
            axis.plot(lost, [report.limits.seconds] * len(lost), "x", color=colour)
        axis.set(xscale="log", yscale="log", ylim=(RESOLUTION / 4, 2 * report.limits.seconds))
        sizes = sorted({record.size for record in records})
        axis.set_xticks(sizes, [str(size) for size in sizes], fontsize=7)
        axis.minorticks_off()
        axis.tick_params(axis="y", labelsize=7)
        axis.set_title(f"{family} ({semantics})", fontsize=8)
        axis.grid(alpha=0.25, linewidth=0.5)
    figure.supylabel("CPU seconds, start-up aside", fontsize=9)
    figure.legend(lines.values(), lines.keys(), loc="outside upper center", ncols=5, frameon=False)
    figure.savefig(path, dpi=72, metadata={"Software": None})
    plt.close(figure)
