"""Immutable classes behave as frozen dataclasses do."""

import inspect
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


def refusal(made: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> str:
    with pytest.raises(TypeError) as refused:
        made(*positional, **named)
    return str(refused.value)


def test_they_are_made_as_dataclasses_are() -> None:
    def decorated(decorate: Any) -> Any:
        @decorate
        class Made:
            name: str
            parts: list[str] = field(default_factory=list)
            note: str | None = None
            _set: int = 0
            later: int = field(default=1, kw_only=True)
            account: str = field(kw_only=True)

            def __post_init__(self) -> None:
                if not self.name:
                    raise ValueError("name")

        return Made

    ours, theirs = decorated(frozen), decorated(dataclass(frozen=True))
    for named in ({"name": "a"}, {"name": "a", "parts": ["b"], "_set": 2}, {"name": "a", "later": 3, "note": ""}):
        one, other = (each(account="x", **named) for each in (ours, theirs))
        assert vars(one) == vars(other)
    assert ours("a", account="x").parts is not ours("a", account="x").parts
    for positional, named in (((), {}), (("a",), {}), (("a", [], "", 0, 1), {"account": "x"}), (("a",), {"account": "x", "b": 1})):
        assert refusal(ours, positional, named) == refusal(theirs, positional, named)
    with pytest.raises(ValueError, match="name"):
        ours("", account="x")


def test_a_class_that_extends_another_one_has_the_fields_of_both() -> None:
    @frozen
    class Extended(Ours):
        more: int = 5

    class Undecorated(Ours):
        pass

    assert vars(Extended("a", 1, more=2)) == {"name": "a", "amount": 1, "note": "", "secret": "", "more": 2}
    assert vars(Undecorated("a")) == vars(Ours("a"))
    assert Ours("a") != Undecorated("a")


def test_a_class_with_an_own_way_to_be_made_keeps_it() -> None:
    @frozen
    class Made:
        name: str

        def __init__(self, number: int) -> None:
            object.__setattr__(self, "name", str(number))

    assert Made(5).name == "5"  # type: ignore[call-arg]


def test_their_signature_is_known_before_one_is_made() -> None:
    @frozen
    class Made:
        """It has a docstring, which a dataclass would else make of the signature."""

        name: str
        amount: int = 0

    assert list(inspect.signature(Made).parameters) == ["name", "amount"]
