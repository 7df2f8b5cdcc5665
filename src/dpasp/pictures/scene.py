"""What a picture is made of: boxes, strokes and texts, each in a colour that has a meaning.

>>> scene = Scene(40, 20, (Box(0, 0, 40, 20, fill="paper"), TextLine(20, 14, "a & b")))
>>> print(scene.svg().splitlines()[-2])
<text x="20" y="14" font-family="Helvetica, Arial, sans-serif" font-size="13" \
text-anchor="middle" fill="#1f2430" class="f-ink">a &amp; b</text>
"""

from __future__ import annotations

from dataclasses import replace
from unicodedata import east_asian_width

from dpasp.dataclass import dataclass
from dpasp.shown import markup

# Every colour has a name; pages with a dark theme replace them by the classes f-… and s-….
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
    title: str = ""  # what a pointer over it says

    def svg(self) -> str:
        """The element."""
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
    """A line through points: straight, or Bézier curves of three more points each.

    One with a ``fill`` is a closed shape.
    """

    points: tuple[Point, ...]
    stroke: str = "line"
    thick: float = 1.2
    dashed: bool = False
    curved: bool = False
    fill: str = "none"

    def svg(self) -> str:
        """The element."""
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

    def svg(self) -> str:
        """The element; the font is named in it, for readers that know no style sheets."""
        weight = ' font-weight="bold"' if self.bold else ""
        return (
            f'<text x="{_n(self.x)}" y="{_n(self.y)}" font-family="{FONT}" '
            f'font-size="{_n(self.size)}"{weight} text-anchor="{self.anchor}" '
            f'fill="{COLOURS[self.fill]}" class="f-{self.fill}">{markup(self.text, False)}</text>'
        )


PlacedShape = Box | Stroke | TextLine


def moved(shape: PlacedShape, right: float, down: float) -> PlacedShape:
    """The shape elsewhere."""
    if isinstance(shape, Stroke):
        return replace(shape, points=tuple((x + right, y + down) for x, y in shape.points))
    return replace(shape, x=shape.x + right, y=shape.y + down)


@dataclass(frozen=True, slots=True)
class Scene:
    """Shapes on a sheet of some size, later ones above earlier ones."""

    width: float
    height: float
    shapes: tuple[PlacedShape, ...]
    title: str = ""

    def svg(self) -> str:
        """The picture as an SVG document that every reader shows."""
        label = f' role="img" aria-label="{markup(self.title)}"' if self.title else ""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(self.width)}" '
            f'height="{_n(self.height)}" viewBox="0 0 {_n(self.width)} {_n(self.height)}"{label}>'
        )
        title = [f"<title>{markup(self.title, False)}</title>"] if self.title else []
        sheet = Box(0, 0, self.width, self.height, fill="paper").svg()
        shapes = [shape.svg() for shape in self.shapes]
        return "\n".join([head, *title, sheet, *shapes, "</svg>"]) + "\n"


def text_width(text: str, size: float = 13.0) -> float:
    """About how wide a text is in the usual sans serif fonts, rather too much than too little."""
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
