"""A picture that a notebook shows and that can be saved: what every ``plot()`` gives back."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from dpasp.dataclass import dataclass
from dpasp.pictures.raster import write_raster
from dpasp.pictures.scene import Scene
from dpasp.writing import check_ending, write_aside, write_text

RASTER = (".png", ".pdf", ".jpg")
FORMATS = (".svg", *RASTER)


@dataclass(frozen=True)
class Picture:
    """A drawing; ``picture.save("p.svg")`` writes it, also as .png or .pdf (by matplotlib)."""

    scene: Scene = field(repr=False)

    @property
    def svg(self) -> str:
        """The picture as SVG."""
        return self.scene.svg()

    def save(self, path: str | Path) -> None:
        """Write the picture in the format that the file's name says."""
        check_ending(path, "a picture", FORMATS)
        if Path(path).suffix == ".svg":
            write_text(path, self.svg)
        else:
            write_aside(path, lambda file: write_raster(self.scene, file))

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        size = f"{self.scene.width:.0f} × {self.scene.height:.0f}"
        return f"a picture of {size} pixels{': ' * bool(self.scene.title)}{self.scene.title}"


def drawn(scene: Scene, path: str | Path | None = None) -> Picture:
    """The picture of a scene, saved where a path says."""
    picture = Picture(scene)
    if path is not None:
        picture.save(path)
    return picture
