"""A scene as PNG or PDF, drawn by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpasp.errors import Diagnostic, UsageError
from dpasp.pictures.scene import COLOURS, Box, Scene, Stroke, TextLine

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INCH = 96.0  # pixels
POINTS = 0.75  # of a pixel
ALIGN = {"start": "left", "middle": "center", "end": "right"}


def write_raster(scene: Scene, path: Path) -> None:
    """Draw the scene to a file, in the format that its name says."""
    figure = _figure()(figsize=(scene.width / INCH, scene.height / INCH))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, scene.width)
    axes.set_ylim(scene.height, 0)
    for level, shape in enumerate(scene.shapes):
        match shape:
            case Box():
                _box(axes, shape, level)
            case Stroke():
                _stroke(axes, shape, level)
            case TextLine():
                _text(axes, shape, level)
    figure.savefig(path, dpi=2 * INCH)


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        message = "a picture other than .svg needs matplotlib, which is not installed"
        help = "write .svg, or pip install 'dpasp[plot]'"
        raise UsageError(Diagnostic("plot-missing", message, help=help)) from error
    return Figure


def _box(axes: Axes, box: Box, level: int) -> None:
    from matplotlib.patches import FancyBboxPatch

    radius = min(box.radius, box.width / 2, box.height / 2)
    axes.add_patch(
        FancyBboxPatch(
            (box.x, box.y),
            box.width,
            box.height,
            boxstyle=f"round,pad=0,rounding_size={radius}" if radius else "square,pad=0",
            facecolor=COLOURS[box.fill],
            edgecolor=COLOURS[box.stroke],
            linewidth=box.thick * POINTS,
            zorder=level,
        )
    )


def _stroke(axes: Axes, stroke: Stroke, level: int) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Line

    rest = len(stroke.points) - 1
    codes = [Line.MOVETO, *[Line.CURVE4 if stroke.curved else Line.LINETO] * rest]
    axes.add_patch(
        PathPatch(
            Line(stroke.points, codes),
            facecolor=COLOURS[stroke.fill],
            edgecolor=COLOURS[stroke.stroke],
            linewidth=stroke.thick * POINTS,
            linestyle=(0, (4, 3)) if stroke.dashed else "solid",
            zorder=level,
        )
    )


def _text(axes: Axes, text: TextLine, level: int) -> None:
    axes.text(
        text.x,
        text.y,
        text.text,
        fontsize=text.size * POINTS,
        fontweight="bold" if text.bold else "normal",
        color=COLOURS[text.fill],
        horizontalalignment=ALIGN[text.anchor],
        verticalalignment="baseline",
        parse_math=False,  # a dollar sign is a dollar sign
        zorder=level,
    )
