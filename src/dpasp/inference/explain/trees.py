"""Why a literal holds in a model, and why not, as a tree of plain sentences.

>>> leaf = Tree("a", True, "fact", "a: a fact (line 1)")
>>> [tree.literal for tree in Tree("b", True, "rule", "b: by line 2", below=(leaf,)).walk()]
['b', 'a']
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpasp.dataclass import dataclass
from dpasp.errors import Span
from dpasp.pictures.picture import Picture, drawn
from dpasp.shown import display


@dataclass(frozen=True, slots=True)
class Tree:
    """A literal with its value in a model, and the reasons below it.

    ``words`` is the sentence that people read. ``kind`` is the kind of reason: ``fact``,
    ``rule``, ``choice`` (a value of a choice), ``free`` (a choice rule leaves it open), ``none``
    (nothing gives it), ``blocked`` (a rule that does not give it), ``undefined``, ``loop`` (it is
    explained above, and goes round), ``again`` (it is explained elsewhere), ``condition`` (not an
    atom) or ``all`` (several literals). ``rule`` is the text of the rule, ``span`` its place. The
    top of a tree says what is ``chosen`` in the model that it is about.
    """

    literal: str
    value: bool | str | None  # True, False or "undef"; None for what is no literal
    kind: str
    words: str
    rule: str = ""
    span: Span | None = None
    below: tuple[Tree, ...] = ()
    chosen: tuple[str, ...] = ()

    @property
    def line(self) -> int | None:
        """The line of the rule."""
        return None if self.span is None else self.span.line

    def walk(self) -> Iterator[Tree]:
        """This and everything below."""
        yield self
        for tree in self.below:
            yield from tree.walk()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        fields: dict[str, Any] = {
            "literal": self.literal,
            "value": self.value,
            "kind": self.kind,
            "words": self.words,
        }
        if self.span is not None:
            fields |= {"rule": self.rule, "file": self.span.file, "line": self.span.line}
        if self.chosen:
            fields["chosen"] = list(self.chosen)
        return fields | {"below": [tree.to_dict() for tree in self.below]}

    def plot(self, path: str | Path | None = None) -> Picture:
        """The tree as a picture; saved if there is a path."""
        return drawn(display("why_picture.tree_picture")(self), path)

    def __str__(self) -> str:
        return str(display("explain.tree_text")(self))

    def _repr_html_(self) -> str:
        return str(display("why.tree_html")(self))
