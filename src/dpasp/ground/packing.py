"""Values as bytes, from one process of ours to another.

clingo's symbols, which are numbers in its memory, travel as their texts. Only what is ours, and
plain values and arrays, is made again: bytes that name anything else are refused.

>>> from clingo import Function, Number
>>> unpacked(packed([Number(1), Function("f", [Number(2)])]))
[Number(1), Function('f', [Number(2)], True)]
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any

from clingo import Symbol, parse_term

from dpasp.errors import UsageError
from dpasp.language.collector import collector_paused

OURS = "dpasp"
PLAIN = {
    "builtins": {"complex", "set", "frozenset", "bytearray", "range", "slice"},
    "collections": {"OrderedDict", "Counter", "defaultdict"},
    "numpy": {"ndarray", "dtype"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy.core.numeric": {"_frombuffer"},
    "pathlib": {"Path", "PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"},
}


def packed(value: object) -> bytes:
    """A value as bytes; raises :class:`UsageError` for one that cannot travel."""
    texts: dict[str, int] = {}
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = {
        Symbol: lambda symbol: (_symbol, (texts.setdefault(str(symbol), len(texts)),))
    }
    try:
        with collector_paused():
            pickler.dump(value)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise UsageError(f"a value cannot be sent to another process: {error}") from error
    text = f"({','.join(texts)},)" if texts else "()"
    return pickle.dumps((text, buffer.getvalue()))


def unpacked(data: bytes) -> Any:
    """The value; all symbols are read at once, which is many times faster than one by one."""
    text, rest = _Unpickler(data, ()).load()
    with collector_paused():
        return _Unpickler(rest, parse_term(text).arguments).load()


def _symbol(number: int) -> Symbol:
    """Stands for the symbol of this number; the reader puts its own list in this place."""
    raise LookupError(number)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, symbols: Sequence[Symbol]) -> None:
        super().__init__(io.BytesIO(data))
        self._symbols = symbols

    def find_class(self, module: str, name: str) -> Any:
        if module == __name__ and name == _symbol.__name__:
            return self._symbols.__getitem__
        ours = module == OURS or module.startswith(f"{OURS}.")
        value = super().find_class(module, name) if ours else None
        # What a module of ours has only imported is not ours.
        if ours and str(getattr(value, "__module__", "")).partition(".")[0] == OURS:
            return value
        if name in PLAIN.get(module, ()):
            return super().find_class(module, name)
        raise UsageError(f"{module}.{name} is not what dPASP sends from process to process")
