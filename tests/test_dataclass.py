"""Our ``dataclass`` beside the standard library's: what one does, the other does."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from dpasp.dataclass import quick_dataclass

Maker = Callable[..., Any]
T = TypeVar("T")


def shapes(maker: Maker) -> dict[str, Any]:
    """The same classes, made by one or by the other."""

    @maker(frozen=True, slots=True)
    class Frozen:
        """Compares some of its fields and shows others."""

        a: int
        b: str = "b"
        c: tuple[int, ...] = field(default=(), compare=False)
        d: list[int] = field(default_factory=list, compare=False, repr=False)
        total: ClassVar[int] = 3

        @property
        def twice(self) -> int:
            return 2 * self.a

    @maker(frozen=True)
    class Cached:
        """Has a dictionary, for a cached property."""

        a: int

        @cached_property
        def square(self) -> int:
            return self.a**2

    @maker(slots=True)
    class Changing:
        """Can be changed."""

        a: int
        rest: list[int] = field(default_factory=list)
        half: float = field(init=False)
        one: int = field(init=False, default=1)
        made: dict[str, int] = field(init=False, default_factory=dict)

        def __post_init__(self) -> None:
            self.half = self.a / 2

    @maker
    class Plain:
        """Has nothing special."""

        a: Any = None

    @maker(frozen=True, eq=False)
    class Same:
        """Is equal to itself alone."""

        a: int = 0

    @maker(frozen=True, slots=True)
    class Own(Generic[T]):
        """Has methods of its own."""

        a: T

        def __repr__(self) -> str:
            return f"<{self.a}>"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    @maker(frozen=True, slots=True)
    class Near:
        """Compares in its own way, so that Python takes its hash away."""

        a: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Near) and abs(self.a - other.a) < 2

    @maker(frozen=True, slots=True)
    class Empty:
        """Has no fields."""

    @maker(order=True, slots=True)
    class Ordered:
        """Has an order."""

        a: int

    classes = (Frozen, Cached, Changing, Plain, Same, Own, Near, Empty, Ordered)
    return {cls.__name__: cls for cls in classes}


OURS, PYTHONS = shapes(quick_dataclass), shapes(dataclasses.dataclass)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Frozen", (1,), {}),
    ("Frozen", (1, "x", (2,), [3]), {}),
    ("Frozen", (), {"a": 1, "c": (5,)}),
    ("Cached", (4,), {}),
    ("Changing", (3,), {}),
    ("Changing", (3, [1]), {}),
    ("Plain", (), {}),
    ("Same", (), {"a": 2}),
    ("Own", (2,), {}),
    ("Near", (2,), {}),
    ("Empty", (), {}),
    ("Ordered", (2,), {}),
]


@pytest.mark.parametrize("name", OURS)
def test_classes_look_the_same(name: str) -> None:
    ours, pythons = OURS[name], PYTHONS[name]
    assert str(inspect.signature(ours)) == str(inspect.signature(pythons))
    assert ours.__match_args__ == pythons.__match_args__
    assert ours.__doc__ == pythons.__doc__
    assert getattr(ours, "__slots__", None) == getattr(pythons, "__slots__", None)
    assert (ours.__hash__ is None) == (pythons.__hash__ is None)
    described = [
        [(f.name, f.type, f.default, f.init, f.compare) for f in dataclasses.fields(cls)]
        for cls in (ours, pythons)
    ]
    assert described[0] == described[1]
    assert ours.__init__.__qualname__ == pythons.__init__.__qualname__


@pytest.mark.parametrize(("name", "values", "named"), CALLS)
def test_objects_behave_the_same(name: str, values: tuple[Any, ...], named: dict[str, Any]) -> None:
    def seen(cls: Any) -> list[Any]:
        one, two = cls(*values, **named), cls(*values, **named)
        hashed = "unhashable" if cls.__hash__ is None else hash(one) == hash(two)
        sorts = (one < two, one <= two) if name == "Ordered" else None
        shown = (repr(one), dataclasses.asdict(one), repr(dataclasses.replace(one)))
        return [*shown, one == two, one == 3, one != two, hashed, copy.copy(one) == one, sorts]

    assert seen(OURS[name]) == seen(PYTHONS[name])


@pytest.mark.parametrize("classes", [OURS, PYTHONS], ids=["ours", "python's"])
def test_frozen_objects_cannot_be_changed(classes: dict[str, Any]) -> None:
    frozen, cached = classes["Frozen"](1), classes["Cached"](3)
    assert (frozen.twice, cached.square, cached.square) == (2, 9, 9)
    for change in (
        lambda: setattr(frozen, "a", 2),
        lambda: delattr(frozen, "a"),
        lambda: setattr(cached, "other", 2),
        lambda: delattr(cached, "a"),
    ):
        with pytest.raises(FrozenInstanceError, match=r"cannot (assign to|delete) field"):
            change()
    changing = classes["Changing"](1)
    changing.a = 5
    assert changing.a == 5
    assert changing.rest is not classes["Changing"](1).rest


@pytest.mark.parametrize("classes", [OURS, PYTHONS], ids=["ours", "python's"])
@pytest.mark.parametrize("values", [(), (1, 2, 3, 4, 5)])
def test_wrong_arguments_are_refused(classes: dict[str, Any], values: tuple[int, ...]) -> None:
    with pytest.raises(TypeError, match=r"Frozen\.__init__\(\)"):
        classes["Frozen"](*values)


def test_a_class_that_inherits_is_left_to_python() -> None:
    @quick_dataclass(frozen=True)
    class Child(OURS["Cached"]):  # type: ignore[misc]
        """Adds a field."""

        b: int = 2

    assert repr(Child(1)).endswith("Child(a=1, b=2)")
    with pytest.raises(FrozenInstanceError):
        Child(1).b = 3


def test_objects_that_hold_themselves_are_shown() -> None:
    first = OURS["Plain"]()
    first.a = first
    assert repr(first).endswith("Plain(a=...)")


def test_arrays_are_compared_as_python_does() -> None:
    """By identity first: two objects with the same array are equal."""
    array = __import__("numpy").zeros(3)
    assert OURS["Plain"](array) == OURS["Plain"](array)


@pytest.mark.parametrize("special", [{"kw_only": True}, {"hash": True}])
def test_fields_that_we_do_not_have_are_refused(special: dict[str, bool]) -> None:
    with pytest.raises(TypeError, match="this kind of field is not supported"):

        @quick_dataclass
        class Special:
            """Has a field that only Python's knows."""

            a: int = field(**special)  # type: ignore[call-overload]


@quick_dataclass(frozen=True, slots=True)
class Sent:
    """At the top of a module, as classes must be that travel."""

    a: int
    b: list[int] = field(default_factory=list)


def test_frozen_objects_travel() -> None:
    sent = Sent(1, [2])
    for again in (pickle.loads(pickle.dumps(sent)), copy.deepcopy(sent)):
        assert again == sent
        assert again.b is not sent.b
