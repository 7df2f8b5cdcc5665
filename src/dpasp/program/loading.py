"""Programs from files and texts.

>>> program = loads("0.3::a. #query a.")
>>> print(program.query())
ℙ(a) = 0.300000
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpasp.errors import tell
from dpasp.ground.checking import program_of_texts
from dpasp.ground.python import caller_objects
from dpasp.language.arguments import path_given, text_given
from dpasp.language.text.source import Reach, load_text
from dpasp.program.program import Program


def _read(
    texts: list[tuple[str, str]], reaches: Mapping[str, Reach] | None = None, **keywords: Any
) -> Program:
    """The program of named texts, with the objects that the caller passed by keyword."""
    source = program_of_texts(texts, reaches)
    groups = {name: keywords.pop(name) for name in ("networks", "data", "functions")}
    program = Program(source, objects=caller_objects(source, groups), **keywords)
    program._texts = tuple(texts)
    tell(source.warnings, program._told)
    return program


def load(
    *paths: str | Path,
    python: bool = True,
    constants: Mapping[str, object] | None = None,
    networks: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    functions: Mapping[str, Any] | None = None,
    semantics: str | None = None,
) -> Program:
    """Return the program in some files.

    A file that you name may run its Python; a text may not, unless you say so. It runs when the
    program is asked, and not at all if ``python`` is false. The files may include and read what
    the user may read.

    ``constants`` win over the program's ``#const``. ``networks``, ``data`` and ``functions`` are
    objects of the calling program by the names after ``@``: modules, or functions that make
    them; tensors, arrays or lists of rows; functions. They win over what ``#python`` defines,
    and need no ``python=True``. ``semantics`` (as ``"lstable, maxent"``) win over the program's
    in all that it is asked.

    Raises :class:`ProgramError` with every mistake in the files.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "coin.plp").write_text("#const p = 0.5. p::heads. #query heads.")
    ...     program = load(f"{folder}/coin.plp", constants={"p": 0.6})
    >>> print(program.query())
    ℙ(heads) = 0.600000
    """
    texts = [(name, load_text(name)) for name in map(path_given, paths)]
    return _read(
        texts,
        python=python,
        constants=constants,
        networks=networks,
        data=data,
        functions=functions,
        semantics=semantics,
    )


# More than six parameters: they are the keywords of the public interface.
def loads(
    text: str,
    *,
    file: str = "<program>",
    python: bool = False,
    folder: str | Path | None = None,
    constants: Mapping[str, object] | None = None,
    networks: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    functions: Mapping[str, Any] | None = None,
    semantics: str | None = None,
) -> Program:
    """Return the program in a text, which may come from anywhere.

    A file that you name may run its Python; a text may not, unless you say so: its Python runs
    only if ``python`` is true, which says that the text is trusted. It reads
    files (``#include``, data, observations) only inside ``folder``, from where their names are
    taken; a trusted text without a folder reads any. The other arguments are those of
    :func:`load`.

    >>> program = loads("p(@f(3)). #query p(6).", functions={"f": lambda n: 2 * n})
    >>> print(program.query())
    ℙ(p(6)) = 1.000000
    """
    inside = None if folder is None else Path(path_given(folder))
    return _read(
        [(file, text_given(text, "a program"))],
        {file: Reach(inside, anywhere=python and inside is None)},
        python=python,
        constants=constants,
        networks=networks,
        data=data,
        functions=functions,
        semantics=semantics,
    )


def parse(source: str | Path, from_str: bool = False, *, python: bool | None = None) -> Program:
    """Return the program in a file, as :func:`load` does, or with ``from_str`` in a text.

    >>> parse("0.3::a. #query a.", from_str=True)()
    ℙ(a) = 0.300000
    array([[0.3, 0.3]])
    """
    if from_str:
        return loads(text_given(source, "a program"), python=bool(python))
    return load(source, python=python is not False)
