"""``@dataclass`` as that of the standard library, but a class is made more quickly.

The standard library writes and compiles a text for each method of each class. The shortest
program needs more than a hundred classes, which took a third of its time. Here only ``__init__``
is compiled; the functions that compare, hash, show and protect objects look at the fields.

>>> from dataclasses import replace
>>> @dataclass(frozen=True, slots=True)
... class Point:
...     x: int
...     y: int = 0
>>> replace(Point(1), y=2)
Point(x=1, y=2)
>>> Point(1) == Point(1, 0), {Point(1), Point(1)}
(True, {Point(x=1, y=0)})
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

_Method = Callable[..., Any]
_Fields = Sequence[Field[Any]]


class _Factory:
    """Stands for the default of a field that is made anew for each object."""

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
    """The class with the methods of a dataclass; without a class, the function that adds them."""

    def made(cls: Any) -> Any:
        if order or any(map(dataclasses.is_dataclass, cls.__mro__)):  # rare, and left to Python
            known = {"frozen": frozen, "slots": slots, "eq": eq, "order": order}
            return dataclasses.dataclass(**known)(cls)
        own = {name for name, value in cls.__dict__.items() if value is not None}
        plain: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
        plain.__dataclass_params__.frozen = frozen
        for method in _methods(plain, frozen=frozen, slots=slots, eq=eq):
            if method.__name__ not in own:
                method.__qualname__ = f"{cls.__qualname__}.{method.__name__}"
                setattr(plain, method.__name__, method)
        if eq and not frozen and "__hash__" not in own:
            plain.__hash__ = None  # equal objects may become different ones
        return plain

    return made if cls is None else made(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = quick_dataclass


def _methods(cls: Any, *, frozen: bool, slots: bool, eq: bool) -> Iterator[_Method]:
    """What is added to a class."""
    fields: _Fields = dataclasses.fields(cls)
    yield _init(cls, fields, frozen)
    yield _repr([field.name for field in fields if field.repr])
    if eq:
        compared = _values([field.name for field in fields if field.compare])
        yield _eq(compared)
        if frozen:
            yield _hash(compared)
    if frozen:
        yield from _protecting(cls, frozenset(field.name for field in fields))
        if slots:
            yield from _travelling([field.name for field in fields])


def _init(cls: type, fields: _Fields, frozen: bool) -> _Method:
    """``__init__``: the only method that is written out, because it is called most."""
    scope: dict[str, Any] = {"_factory": _Factory(), "_set": object.__setattr__}
    scope["__name__"] = cls.__module__
    parameters, lines = ["self"], []
    for field in fields:
        if field.kw_only or field.hash is not None:
            raise TypeError(f"{cls.__name__}.{field.name}: this kind of field is not known here")
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
    exec(f"def __init__({', '.join(parameters)}):\n    {body}", scope)
    method: _Method = scope["__init__"]
    types = {field.name: field.type for field in fields if field.init}
    method.__annotations__ = {**types, "return": None}
    return method


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The function that gives the values of some fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _repr(names: Sequence[str]) -> _Method:
    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    return __repr__


def _eq(compared: Callable[[Any], tuple[Any, ...]]) -> _Method:
    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compared(self) == compared(other)

    return __eq__


def _hash(compared: Callable[[Any], tuple[Any, ...]]) -> _Method:
    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(compared(self))

    return __hash__


def _protecting(cls: Any, names: frozenset[str]) -> Iterator[_Method]:
    """What keeps fields from being changed."""

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    yield __setattr__
    yield __delattr__


def _travelling(names: Sequence[str]) -> Iterator[_Method]:
    """How objects that cannot be changed are copied and sent to other processes."""

    def __getstate__(self: Any) -> list[Any]:  # noqa: N807
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: Sequence[Any]) -> None:  # noqa: N807
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    yield __getstate__
    yield __setstate__
