"""The ``@dataclass`` of the standard library, except that classes are created faster.

The standard library generates and compiles source text for every method of every class. The
shortest program needs more than a hundred classes, which took a third of its time. Here only
``__init__`` is compiled; comparing, hashing, printing and freezing use functions that loop over the
fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

_Method = Callable[..., Any]
_Fields = Sequence[Field[Any]]


class _Factory:
    """Marks a field whose default is created anew for each object."""

    def __repr__(self) -> str:
        return "<factory>"


def quick_dataclass(
    cls: type | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    order: bool = False,
) -> Any:
    """Add the methods of a dataclass to a class; without a class, return the decorator."""

    def made(cls: Any) -> Any:
        if order or any(map(dataclasses.is_dataclass, cls.__mro__)):  # rare, and left to Python
            known = {"frozen": frozen, "slots": slots, "eq": eq, "order": order}
            return dataclasses.dataclass(**known)(cls)
        own = {name for name, value in cls.__dict__.items() if value is not None}
        plain: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
        plain.__dataclass_params__.frozen = frozen
        fields: _Fields = dataclasses.fields(plain)
        plain._compared = _values([field.name for field in fields if field.compare])
        methods = [_init(plain, fields, frozen), _repr, *((_eq, _hash) if eq else ())]
        if frozen:
            methods += (_setattr, _delattr, *((_setstate,) if slots else ()))
        for method in methods:
            name = f"__{method.__name__.strip('_')}__"
            if name not in own:
                setattr(plain, name, method)
        if eq and not frozen and "__hash__" not in own:
            plain.__hash__ = None  # equal objects may become different later
        return plain

    return made if cls is None else made(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = quick_dataclass


def _init(cls: type, fields: _Fields, frozen: bool) -> _Method:
    """``__init__``: the only method that is written out, because it is called most."""
    scope: dict[str, Any] = {"_factory": _Factory(), "_set": object.__setattr__}
    scope["__name__"] = cls.__module__
    parameters, lines = ["self"], []
    for field in fields:
        if field.kw_only or field.hash is not None:
            raise TypeError(f"{cls.__name__}.{field.name}: this kind of field is not supported")
        name, value = field.name, field.name
        if field.default_factory is not MISSING:
            scope[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}()"
            if field.init:
                value = f"{value} if {name} is _factory else {name}"
                parameters.append(f"{name}=_factory")
        elif field.default is not MISSING:
            scope[f"_default_{name}"] = field.default
            value = name if field.init else f"_default_{name}"
            parameters += [f"{name}=_default_{name}"] if field.init else []
        elif field.init:
            parameters.append(name)
        else:
            continue  # __post_init__ sets it
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n    ".join(lines or ["pass"])
    text = f"def __init__({', '.join(parameters)}):\n    {body}"
    # compiled before: Python takes a Ctrl-C inside ``exec`` of a text for one that nobody handles
    exec(compile(text, "<dataclass>", "exec"), scope)
    method: _Method = scope["__init__"]
    method.__qualname__ = f"{cls.__qualname__}.__init__"
    types = {field.name: field.type for field in fields if field.init}
    method.__annotations__ = {**types, "return": None}
    return method


def _values(names: Sequence[str]) -> Any:
    """A function that returns the values of some fields as a tuple."""
    if len(names) > 1:
        return staticmethod(attrgetter(*names))
    return staticmethod(lambda self: tuple(getattr(self, name) for name in names))


@recursive_repr()
def _repr(self: Any) -> str:
    names = (field.name for field in dataclasses.fields(self) if field.repr)
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self._compared(self) == self._compared(other)


def _hash(self: Any) -> int:
    return hash(self._compared(self))


def _setattr(self: Any, name: str, value: Any) -> None:
    if "_compared" in type(self).__dict__ or name in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delattr(self: Any, name: str) -> None:
    if "_compared" in type(self).__dict__ or name in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _setstate(self: Any, state: tuple[None, dict[str, Any]]) -> None:
    for name, value in state[1].items():
        object.__setattr__(self, name, value)
