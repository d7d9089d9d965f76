"""The decorator of all immutable classes: a frozen dataclass that compiles nothing before its first object is made.

`dataclass` compiles `__init__` and five more methods for every class, which takes a third of the time in which a worker
starts, and a message needs objects of few of the classes that are loaded.
"""

from collections.abc import Callable, Iterator
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Makes a class a frozen dataclass in less time than `dataclass(frozen=True)`. Objects are equal, and have the same
    hash, if class and fields are."""
    for name, method in {"__init__": _LazyInit(cls), **_METHODS}.items():
        if name not in vars(cls):
            setattr(cls, name, method)
    return dataclass(init=False, eq=False, repr=False)(cls)


class _LazyInit:
    """Stands for the `__init__` of a class: compiles it when it is looked up first, and puts it in its own place."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def __get__(self, made: object, owner: type) -> Any:
        self._cls.__init__ = compiled = _compile_init(self._cls)
        return compiled.__get__(made, owner)


def _compile_init(cls: Any) -> Any:
    """The `__init__` of the fields of a class, as `dataclass` writes it."""
    known: dict[str, Any] = {"__set": object.__setattr__, "__unset": MISSING}
    lines, positional, by_name = list[str](), ["__self"], list[str]()
    for each in fields(cls):
        name, value, default = each.name, each.name, ""
        if each.default_factory is not MISSING:
            known[f"__make_{name}"] = each.default_factory
            value, default = f"__make_{name}() if {name} is __unset else {name}", "=__unset"
        elif each.default is not MISSING:
            known[f"__default_{name}"] = each.default
            default = f"=__default_{name}"
        lines.append(f" __set(__self, {name!r}, {value})")
        (by_name if each.kw_only else positional).append(name + default)
    lines += [" __self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    parameters = ", ".join([*positional, *(["*", *by_name] if by_name else [])])
    exec("\n".join([f"def __init__({parameters}):", *(lines or [" pass"])]), known)
    init = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def make_from(kind: type[T], source: object, /, **others: Any) -> T:
    """An object of a frozen class with `others`; its other fields without a default are those of `source`."""
    described: Any = kind
    needed = (each for each in fields(described) if each.default is MISSING and each.default_factory is MISSING)
    return kind(**{each.name: getattr(source, each.name) for each in needed if each.name not in others}, **others)


def _eq(self: Any, other: object) -> Any:
    if self.__class__ is not other.__class__:
        return NotImplemented
    return all(value == getattr(other, name) for name, value in _iterate_fields(self))


def _hash(self: Any) -> int:
    return hash(tuple(value for _, value in _iterate_fields(self)))


def _repr(self: Any) -> str:
    shown = (each for each in fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(f'{each.name}={getattr(self, each.name)!r}' for each in shown)})"


def _setattr(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


_METHODS: dict[str, Callable[..., Any]] = {
    "__eq__": _eq, "__hash__": _hash, "__repr__": _repr, "__setattr__": _setattr, "__delattr__": _delattr,
}


def _iterate_fields(self: Any) -> Iterator[tuple[str, Any]]:
    return ((each.name, getattr(self, each.name)) for each in fields(self) if each.compare)
