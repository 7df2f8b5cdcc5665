"""Pictures made of boxes, strokes and lines of text, as SVG, PNG or PDF.

Colours are named after their purpose.

>>> picture = Picture(40, 20, (Box(0, 0, 40, 20, fill="paper"), TextLine(20, 14, "a & b")))
>>> "a &amp; b" in picture.svg
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

from dpasp.dataclass import dataclass
from dpasp.errors import needed
from dpasp.writing import check_ending, markup, write_aside, write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Pages with a dark theme override these colours by the classes f-… and s-….
COLOURS = {
    "paper": "#ffffff",
    "ink": "#1f2430",
    "faint": "#646d80",
    "rule": "#d9dee8",
    "line": "#7d879c",
    "accent": "#2f5bd0",
    "accent_soft": "#e9effd",
    "second": "#0b7a6f",
    "second_soft": "#e2f4f1",
    "warm": "#b3450c",
    "warm_soft": "#fdf0e4",
    "loop": "#9a2f83",
    "loop_soft": "#faecf7",
    "none": "none",
}
FONT = "Helvetica, Arial, sans-serif"
NARROW, WIDE = frozenset("iljtfrI.,:;'|!()[]{} /-\"`"), frozenset("mwMW@%ℙ—…")
PIXELS_PER_INCH = 96.0
POINTS = 0.75  # of a pixel
ALIGN = {"start": "left", "middle": "center", "end": "right"}
FORMATS = (".svg", ".png", ".pdf", ".jpg")

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle from its upper left corner, with rounded corners where it has a radius."""

    x: float
    y: float
    width: float
    height: float
    fill: str = "none"
    stroke: str = "none"
    thick: float = 1.0
    radius: float = 0.0
    title: str = ""  # the tooltip

    def element(self) -> str:
        round_ = f' rx="{_n(self.radius)}"' if self.radius else ""
        attributes = (
            f'x="{_n(self.x)}" y="{_n(self.y)}" width="{_n(self.width)}" '
            f'height="{_n(self.height)}"{round_} {_paint(self.fill, self.stroke, self.thick)}'
        )
        if not self.title:
            return f"<rect {attributes}/>"
        return f"<rect {attributes}><title>{markup(self.title)}</title></rect>"


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line through points: straight, or Bézier curves with three more points each."""

    points: tuple[Point, ...]
    stroke: str = "line"
    thick: float = 1.2
    dashed: bool = False
    curved: bool = False
    fill: str = "none"  # any other: a closed shape

    def element(self) -> str:
        (x, y), *rest = self.points
        places = " ".join(f"{_n(a)},{_n(b)}" for a, b in rest)
        close = " Z" if self.fill != "none" else ""
        dash = ' stroke-dasharray="5 4"' if self.dashed else ""
        return (
            f'<path d="M{_n(x)},{_n(y)} {"C" if self.curved else "L"}{places}{close}" '
            f"{_paint(self.fill, self.stroke, self.thick)}{dash}/>"
        )


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of text at its baseline; ``anchor`` is start, middle or end."""

    x: float
    y: float
    text: str
    size: float = 13.0
    anchor: str = "middle"
    fill: str = "ink"
    bold: bool = False

    def element(self) -> str:
        """The element in SVG; it names its font, for viewers without style sheets."""
        weight = ' font-weight="bold"' if self.bold else ""
        return (
            f'<text x="{_n(self.x)}" y="{_n(self.y)}" font-family="{FONT}" '
            f'font-size="{_n(self.size)}"{weight} text-anchor="{self.anchor}" '
            f'fill="{COLOURS[self.fill]}" class="f-{self.fill}">{markup(self.text, False)}</text>'
        )


PlacedShape = Box | Stroke | TextLine


def moved(shape: PlacedShape, right: float, down: float) -> PlacedShape:
    if isinstance(shape, Stroke):
        return replace(shape, points=tuple((x + right, y + down) for x, y in shape.points))
    return replace(shape, x=shape.x + right, y=shape.y + down)


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing; every ``plot()`` returns one, and notebooks show it.

    Later shapes cover earlier ones. ``picture.save("p.svg")`` writes it; .png and .pdf need
    matplotlib.
    """

    width: float
    height: float
    shapes: tuple[PlacedShape, ...] = field(repr=False)
    title: str = ""

    @property
    def svg(self) -> str:
        """The picture as an SVG document."""
        label = f' role="img" aria-label="{markup(self.title)}"' if self.title else ""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(self.width)}" '
            f'height="{_n(self.height)}" viewBox="0 0 {_n(self.width)} {_n(self.height)}"{label}>'
        )
        title = [f"<title>{markup(self.title, False)}</title>"] if self.title else []
        sheet = Box(0, 0, self.width, self.height, fill="paper").element()
        shapes = [shape.element() for shape in self.shapes]
        return "\n".join([head, *title, sheet, *shapes, "</svg>"]) + "\n"

    def save(self, path: str | Path) -> None:
        """Write the picture in the format given by the file's ending."""
        check_ending(path, "a picture", FORMATS)
        if Path(path).suffix == ".svg":
            write_text(path, self.svg)
        else:
            write_aside(path, lambda file: _write_raster(self, file))

    def saved(self, path: str | Path | None) -> Picture:
        """This picture, after saving it if there is a path."""
        if path is not None:
            self.save(path)
        return self

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        size = f"{self.width:.0f} × {self.height:.0f}"
        return f"a picture of {size} pixels{': ' * bool(self.title)}{self.title}"


def titled(title: str, left: float, top: float) -> list[TextLine]:
    """A title in its place, if there is one."""
    return [TextLine(left, top, title, 15, "start", bold=True)] if title else []


def above(pictures: Sequence[Picture], title: str) -> Picture:
    """Stack pictures, the first at the top."""
    shapes: list[PlacedShape] = []
    down = 0.0
    for picture in pictures:
        shapes += (moved(shape, 0, down) for shape in picture.shapes)
        down += picture.height
    return Picture(max(p.width for p in pictures), down, tuple(shapes), title)


def text_width(text: str, size: float = 13.0) -> float:
    """The approximate width of a text in the usual sans serif fonts, rounded up."""
    return size * sum(map(_character, text))


def shortened(text: str, width: float, size: float = 13.0) -> str:
    """The text, cut with … where it would be wider."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text + "…"


def _character(character: str) -> float:
    if character in NARROW:
        return 0.34
    if character in WIDE or east_asian_width(character) in "WF":
        return 0.95 if character in WIDE else 1.05
    return 0.7 if character.isupper() else 0.58


def _paint(fill: str, stroke: str, thick: float) -> str:
    line = f' stroke-width="{_n(thick)}"' if stroke != "none" else ""
    classes = " ".join(f"{k}-{c}" for k, c in (("f", fill), ("s", stroke)) if c != "none")
    return f'fill="{COLOURS[fill]}" stroke="{COLOURS[stroke]}"{line} class="{classes}"'


def _n(number: float) -> str:
    """A number with at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")


# --- PNG and PDF, drawn by matplotlib -----------------------------------------------------------


def _write_raster(picture: Picture, path: Path) -> None:
    help = "write .svg, or pip install 'dpasp[plot]'"
    plots = needed("matplotlib.figure", "plot-missing", "a picture other than .svg", help)
    figure = plots.Figure(
        figsize=(picture.width / PIXELS_PER_INCH, picture.height / PIXELS_PER_INCH)
    )
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, picture.width)
    axes.set_ylim(picture.height, 0)
    for level, shape in enumerate(picture.shapes):
        _add(axes, shape, level)
    figure.savefig(path, dpi=2 * PIXELS_PER_INCH)


def _add(axes: Axes, shape: PlacedShape, level: int) -> None:
    """Draw a shape above all lower levels."""
    from matplotlib import patches
    from matplotlib.path import Path as Line

    if isinstance(shape, TextLine):
        axes.text(
            shape.x,
            shape.y,
            shape.text,
            fontsize=shape.size * POINTS,
            fontweight="bold" if shape.bold else "normal",
            color=COLOURS[shape.fill],
            horizontalalignment=ALIGN[shape.anchor],
            verticalalignment="baseline",
            parse_math=False,  # no mathematics between dollar signs
            zorder=level,
        )
        return
    style: dict[str, Any] = {
        "facecolor": COLOURS[shape.fill],
        "edgecolor": COLOURS[shape.stroke],
        "linewidth": shape.thick * POINTS,
        "zorder": level,
    }
    if isinstance(shape, Box):
        radius = min(shape.radius, shape.width / 2, shape.height / 2)
        corners = f"round,pad=0,rounding_size={radius}" if radius else "square,pad=0"
        size = shape.width, shape.height
        axes.add_patch(patches.FancyBboxPatch((shape.x, shape.y), *size, corners, **style))
    else:
        rest = len(shape.points) - 1
        codes = [Line.MOVETO, *[Line.CURVE4 if shape.curved else Line.LINETO] * rest]
        dashes = (0, (4, 3)) if shape.dashed else "solid"
        axes.add_patch(patches.PathPatch(Line(shape.points, codes), linestyle=dashes, **style))
