"""Immutable classes behave as frozen dataclasses do."""

from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any, ClassVar

import pytest

from chalicelib.base.frozen import frozen


@frozen
class Ours:
    name: str
    amount: int = 0
    note: str = field(default="", compare=False)
    secret: str = field(default="", repr=False)


@dataclass(frozen=True)
class Theirs:
    name: str
    amount: int = 0
    note: str = field(default="", compare=False)
    secret: str = field(default="", repr=False)


@frozen
class Other:
    name: str
    amount: int = 0
    note: str = field(default="", compare=False)
    secret: str = field(default="", repr=False)


ARGUMENTS: list[tuple[Any, ...]] = [("a",), ("a", 1), ("a", 1, "n"), ("a", 1, "n", "s"), ("b", 1), ("a", 0, "m"), ("a", 0, "", "t")]


def test_they_are_equal_and_hashed_as_dataclasses_are() -> None:
    for one in ARGUMENTS:
        assert repr(Ours(*one)) == repr(Theirs(*one)).replace("Theirs", "Ours")
        for other in ARGUMENTS:
            assert (Ours(*one) == Ours(*other)) == (Theirs(*one) == Theirs(*other))
            assert (hash(Ours(*one)) == hash(Ours(*other))) == (hash(Theirs(*one)) == hash(Theirs(*other)))
    assert Ours("a") != Other("a") and Ours("a") != "a"


def test_class_variables_do_not_count_and_methods_of_a_class_stay() -> None:
    @frozen
    class Counted:
        known: ClassVar[list[str]] = []
        name: str

        def __repr__(self) -> str:
            return "counted"

    assert (repr(Counted("a")), Counted("a"), hash(Counted("a"))) == ("counted", Counted("a"), hash(Counted("a")))
    assert Counted("a") != Counted("b")


def test_objects_of_other_classes_decide_themselves_whether_they_are_equal() -> None:
    class EqualToAll:
        def __eq__(self, other: object) -> bool:
            return True

    assert Ours("a") == EqualToAll()


def test_they_are_decorated_without_a_comparison_of_their_own() -> None:
    @frozen
    class Early:
        name: str

    assert (Early("a") == Early("a"), Early("a") == Early("b"), hash(Early("a")) == hash(Early("a"))) == (True, False, True)
    assert repr(Early("a")).endswith("Early(name='a')")
    assert (Early.__eq__, Early.__hash__, Early.__repr__) == (Ours.__eq__, Ours.__hash__, Ours.__repr__)


def test_they_are_dataclasses_that_cannot_be_changed() -> None:
    @frozen
    class Ours:
        name: str
        amount: int = 0

    made = Ours("a", 1)
    with pytest.raises(FrozenInstanceError):
        made.amount = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del made.name
    assert replace(made, amount=2) == Ours("a", 2)
    assert [each.name for each in fields(made)] == ["name", "amount"]
