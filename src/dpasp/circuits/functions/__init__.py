"""A circuit as a function in another system: NumPy, JAX, ONNX or C.

- ``arithmetic``: the form that all of them share: sums of two products, level by level
- ``on_numpy``, ``on_jax``: that form as a function, whose code is also written into files
- ``files``: that form as a file in C, and as a model of ONNX

>>> from dpasp import loads
>>> f = loads("0.3::a. 0.5::b. c :- a. c :- b. #semantics maxent.").to_numpy("a | c")
>>> f.names, round(float(f.prob()), 6), round(float(f.prob({"a": 0.5})), 6)
(('a', 'b'), 0.461538, 0.666667)
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dpasp.circuits.functions.arithmetic import Arithmetic
from dpasp.dataclass import dataclass
from dpasp.errors import Diagnostic, UsageError
from dpasp.language.arguments import text_given
from dpasp.version import __version__
from dpasp.writing import check_ending, write_aside, write_text

if TYPE_CHECKING:
    from dpasp.circuits.functions.on_jax import JaxFunction
    from dpasp.circuits.functions.on_numpy import Function


@dataclass(frozen=True, slots=True)
class Target:
    """A system that functions are written for: the suffix of its files, and the function."""

    ending: str
    write: Callable[[Arithmetic, Path], None]


def write_function(form: Arithmetic, target: str, path: str | Path) -> None:
    """Write a function to a file for a target of the table.

    Raises :class:`UsageError` for a path with another ending, or if a package is missing.
    """
    if text_given(target, "a target") not in TARGETS:
        known = ", ".join(TARGETS)
        raise UsageError(f"a function is written for {known}, not {target!r}")
    chosen = TARGETS[target]
    check_ending(path, f"a function for {target}", (chosen.ending,))
    chosen.write(form, Path(path))


def numpy_function(form: Arithmetic) -> Function:
    from dpasp.circuits.functions.on_numpy import Function

    return Function(_tables(form), _refused)


def jax_function(form: Arithmetic) -> JaxFunction:
    """The function in JAX; raises :class:`UsageError` if that is missing or in low precision."""
    _need("jax", "jax")
    from dpasp.circuits.functions.on_jax import JaxFunction

    return JaxFunction(_tables(form), _refused)


def _tables(form: Arithmetic) -> Mapping[str, Any]:
    return {field.name: getattr(form, field.name) for field in fields(form)}


def _refused(message: str, help: str) -> UsageError:
    return UsageError(Diagnostic("export-weights", message, help=help))


def _need(package: str, extra: str) -> None:
    if find_spec(package) is None:
        message = f"this needs {package}, which is not installed"
        help = f"pip install 'dpasp[{extra}]'"
        raise UsageError(Diagnostic("export-missing", message, help=help))


# --- files ---------------------------------------------------------------------------------------

HEAD = '''"""Probabilities of a program as a function of its weights, {how}.

Queries: {queries}
Weights: {count}; FUNCTION.names are their names. Written by dPASP {version}.

    from {module} import FUNCTION
    FUNCTION.prob({{{name!r}: 0.5}})          # the others are worth what the program says
    FUNCTION.log_prob(...), FUNCTION.gradient(...)
"""
'''
WIDTH = 96  # characters of the tables in a line


def _write_numpy(form: Arithmetic, path: Path) -> None:
    from dpasp.circuits.functions import on_numpy

    write_text(path, _python(form, path, "with NumPy alone", [on_numpy], "Function"))


def _write_jax(form: Arithmetic, path: Path) -> None:
    _need("jax", "jax")
    from dpasp.circuits.functions import on_jax, on_numpy

    write_text(path, _python(form, path, "in JAX", [on_numpy, on_jax], "JaxFunction"))


def _write_onnx(form: Arithmetic, path: Path) -> None:
    _need("onnx", "onnx")
    from dpasp.circuits.functions.files import onnx_model

    model = onnx_model(form).SerializeToString()
    write_aside(path, lambda aside: aside.write_bytes(model))


def _write_c(form: Arithmetic, path: Path) -> None:
    from dpasp.circuits.functions.files import c_source

    write_text(path, c_source(form, path.stem))


def _python(form: Arithmetic, path: Path, how: str, modules: list[ModuleType], kind: str) -> str:
    """A standalone module: the code of some of our modules, and the tables."""
    from dpasp.circuits.functions.on_numpy import packed

    head = HEAD.format(
        how=how,
        queries=_shown(form.queries),
        count=len(form.names),
        version=__version__,
        module=re.sub(r"\W", "_", path.stem),
        name=next(iter(form.names), "name"),
    )
    code = "".join(map(_code, modules))
    tables = packed(_tables(form))
    lines = "".join(f'\n    "{tables[i : i + WIDTH]}"' for i in range(0, len(tables), WIDTH))
    made = f"TABLES = (  # fmt: skip{lines}\n)\nFUNCTION = {kind}(unpacked(TABLES))\n"
    return f"{head}\nfrom __future__ import annotations\n{code}\n\n{made}"


def _code(module: ModuleType) -> str:
    """The code of a module, without its docstring and without imports of our modules."""
    text = inspect.getsource(module)
    text = text.split("from __future__ import annotations\n", 1)[1]
    return re.sub(r"from dpasp[\w.]* import (\([^)]*\)|[^\n]*)\n", "", text)


def _shown(texts: tuple[str, ...], most: int = 20) -> str:
    """Texts for a docstring: a few of them, without what would end it."""
    more = f", … ({len(texts)} in all)" if len(texts) > most else ""
    shown = "; ".join(texts[:most]) + more
    return shown.replace("\\", "\\\\").replace('"', "'")


TARGETS = {
    "jax": Target(".py", _write_jax),
    "onnx": Target(".onnx", _write_onnx),
    "c": Target(".c", _write_c),
    "numpy": Target(".py", _write_numpy),
}
