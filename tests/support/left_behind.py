"""A pytest plugin: no test leaves the process in another state than it found, as those after it would depend on it.

After each test, and after the last one of a file, these are as before: the environment; the attributes of our modules
and classes, and of `WATCHED`; what module-level lists, dicts and sets hold, but for `MEMOS`; the clock of the app's
services; the handlers of their client of DynamoDB. A cache of the product that was filled meanwhile, and has no
arguments, holds what it would compute now. What differs fails the test, and is the state that the next one begins with.
What a test writes into a module's `__dict__` itself is found at the end of its file.

A fixture of a file or of all tests may change all this as long as it lives; what one of all tests (`scope="session"`)
does while a file runs is not charged to that file.
"""

import enum
import functools
import os
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import ModuleType
from typing import Any

import pytest

OURS = ("app.", "chalicelib.", "infra.", "tests.fakes.", "tests.support.")
WATCHED = ("time", "random", "secrets", "socket", "ssl", "subprocess", "http.client", "urllib.request", "requests.sessions", "os")
"""Modules of others that tests patch."""
MEMOS = {
    "chalicelib.platform.http.operation.OPERATIONS": "every operation, as its module is imported",
    "chalicelib.platform.storage.codec._PLANS": "how records of a class are stored",
    "infra.documents.event_models._PAYLOADS": "the models of events, as they are made",
    "infra.local.process._reserved": "ports that this process has chosen",
    "tests.support.running._kept": "the app's services, which tests replace; `_clock` compares what matters",
}
"""What is filled when it is needed, and holds the same for every test."""
_CONTAINERS = (list, dict, set, Counter, defaultdict, deque)
_SHORT = 500
"""Of longer lists, dicts and sets only the length is compared."""
_ABSENT = object()


class Noted(ModuleType):
    """A module of ours that notes the first value of each attribute that is set or deleted: to compare the attributes of
    a thousand modules after each test takes longer the more of them there are."""

    def __setattr__(self, name: str, value: Any) -> None:
        _note(self, name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        _note(self, name)
        super().__delattr__(name)


def _note(module: ModuleType, name: str) -> None:
    _places.noted.setdefault((module, name), vars(module).get(name, _ABSENT))


@dataclass
class Places:
    """What of this process is compared."""

    modules: dict[str, Any] = field(default_factory=dict)
    """Those that were imported when it was last looked for places."""
    spaces: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """The attributes of modules and classes."""
    containers: dict[str, Any] = field(default_factory=dict)
    caches: dict[str, Any] = field(default_factory=dict)
    """Functions with a cache that are checked."""
    noted: dict[tuple[ModuleType, str], Any] = field(default_factory=dict)
    """What attributes of our modules were before a test set or deleted them."""

    def find(self) -> None:
        """Adds what modules have that were imported since; of one that was imported anew, what it has now."""
        if len(sys.modules) == len(self.modules):
            return
        modules = dict(sys.modules)
        if not self.modules.keys() <= modules.keys():
            self.modules, self.spaces, self.containers, self.caches = {}, {}, {}, {}
        for name, module in modules.items():
            is_new = self.modules.get(name) is not module and isinstance(module, ModuleType)
            if is_new and name in WATCHED:
                self._add(name, vars(module), False)
            elif is_new and f"{name}.".startswith(OURS):
                module.__class__ = Noted
                self._add(name, vars(module), True)
        self.modules = modules

    def _add(self, name: str, space: Mapping[str, Any], is_ours: bool) -> None:
        self.spaces[name] = space
        for attribute, value in list(space.items()) if is_ours else ():
            full = f"{name}.{attribute}"
            if attribute.startswith("__"):
                continue
            if type(value) in _CONTAINERS and full not in MEMOS:
                self.containers[full] = value
            elif isinstance(value, type) and value.__module__ == name and not _is_plain(value):
                self._add(full, value.__dict__, is_ours)
            elif isinstance(value, functools._lru_cache_wrapper) and value.__module__ == name and _is_checked(value):
                self.caches[full] = value


_places = Places()


@dataclass
class Process:
    """How the places of this process were when they were last looked at."""

    compares_modules: bool
    """Whether all attributes of our modules are compared; else those that were set or deleted as attributes are."""
    modules: Mapping[str, Any] | None = None
    """Those of its places."""
    spaces: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)
    """Those of all of them, one after the other: to compare these takes half as long as by their names."""
    containers: dict[str, Any] = field(default_factory=dict)
    caches: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)
    session_fixtures: int = 0
    """How many fixtures of all tests were made."""
    is_known: bool = False
    """Whether all of it was as it had been when it was last compared, and nothing was run since."""

    def look(self) -> None:
        """Takes what is now as the state to compare with."""
        _places.find()
        if self.modules is not _places.modules:
            self.modules = _places.modules
            self.containers, self.caches = dict(_places.containers), dict(_places.caches)
            every = _places.spaces.items()
            self.spaces = {name: each for name, each in every if self.compares_modules or not _is_noted(name)}
        elif self.is_known:
            return
        if not self.compares_modules:
            _places.noted.clear()
        values = self._values()
        if values != self.values:
            self.seen.update({name: dict(space) for name, space in self.spaces.items() if self.seen.get(name) != space})
            self.values = values
        for name, container in self.containers.items():
            if self.seen.get(name) != _content(container):
                self.seen[name] = _copied(container)
        self.seen.update(_rest(), **self._misses())

    def changes(self) -> list[str]:
        """What is not as it was when it was looked at, a line for each. Modules that were imported since are left out."""
        known, rest, misses = self.seen, _rest(), self._misses()
        is_same = self._values() == self.values
        spaces = [] if is_same else [(name, space) for name, space in self.spaces.items() if known[name] != space]
        found = [name for name, each in self.containers.items() if known[name] != _content(each)]
        if not self.compares_modules:
            noted = [(module, name, old, vars(module).get(name, _ABSENT)) for (module, name), old in _places.noted.items()]
            found += [f"{module.__name__}.{name}" for module, name, old, new in noted if _is_changed(name, old, new)]
            _places.noted.clear()
        self.is_known = is_same and not found and all(known[name] == each for name, each in {**rest, **misses}.items())
        for name, space in spaces:
            hidden = "_" if name in WATCHED else "__"  # what others keep for themselves is theirs
            found += [f"{name}.{each}" for each in _changed(known[name], space) if not each.startswith(hidden)]
        for name, value in rest.items():
            if isinstance(value, dict):
                found += [f"{name} {each}" for each in _changed(known[name], value)]
            elif value != known[name] and None not in (value, known[name]):
                found.append(name)
        stale = (name for name, each in self.caches.items() if misses[name] != known[name] and _is_stale(each))
        return [*found, *(f"{name}() is cached, and was computed from something that is no more" for name in stale)]

    def _values(self) -> list[Any]:
        return [*chain.from_iterable([space.values() for space in self.spaces.values()])]

    def _misses(self) -> dict[str, int]:
        return {name: each.cache_info().misses for name, each in self.caches.items()}


def _content(container: Any) -> Any:
    return container if len(container) <= _SHORT else len(container)


def _copied(container: Any) -> Any:
    return container.copy() if len(container) <= _SHORT else len(container)


def _is_plain(kind: type) -> bool:
    """Whether it is a kind of values, of which there are a thousand; tests replace methods of what does something."""
    is_record = any(hasattr(kind, name) for name in ("__dataclass_fields__", "__pydantic_fields__", "_fields"))
    return is_record or issubclass(kind, enum.Enum | BaseException)


def _is_checked(function: Any) -> bool:
    """Those of the product without arguments: others may take long, or need the cloud of a test."""
    code = function.__wrapped__.__code__
    return bool(function.__module__.startswith("chalicelib") and not code.co_argcount and not code.co_kwonlyargcount)


def _is_stale(function: Any) -> bool:
    """Whether a cached value is not what would be computed now; of values that are compared by identity nothing is said."""
    kept = function() if function.cache_info().currsize else _ABSENT
    return kept is not _ABSENT and type(kept).__eq__ is not object.__eq__ and kept != function.__wrapped__()


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names whose values differ."""
    names = [*before, *(name for name in now if name not in before)]
    return [name for name in names if _is_changed(name, before.get(name, _ABSENT), now.get(name, _ABSENT))]


def _is_changed(name: str, old: Any, new: Any) -> bool:
    """Whether a value differs; a submodule becomes an attribute of its package when it is imported."""
    return old is not new and not name.startswith("__") and old != new and not isinstance(new, ModuleType)


def _is_noted(name: str) -> bool:
    return type(sys.modules.get(name)) is Noted


def _rest() -> dict[str, Any]:
    """What is no attribute: the environment, the clock of the app's services, the handlers of their client. None is
    what this process has not made, or does not have any more."""
    running = sys.modules.get("tests.support.running")
    kept = running._kept if running else ()
    return {
        "environment variable": {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"},
        "the clock of the app's services": _clock(kept[0]) if kept else None,
        "the handlers of the client of the app's services": _handlers(kept[0]) if kept else None,
    }


def _clock(services: Any) -> Any:
    """The kind of clock: a file that stops it may have each of its tests begin at another time."""
    is_of_machine = getattr(services.clock, "__module__", "") == "chalicelib.platform.services"
    return "that of this machine" if is_of_machine else type(services.clock)


def _handlers(services: Any) -> int | None:
    """How many there are, of a client in memory (tests/fakes/memory_dynamodb.py)."""
    client = vars(services.store).get("client")
    return len(client.meta.events.handlers) if hasattr(client, "lock") else None


_test, _file = Process(compares_modules=False), Process(compares_modules=True)


def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> None:
    _file.session_fixtures += fixturedef.scope in ("session", "package")
    _note_a_run(fixturedef)


def pytest_fixture_post_finalizer(fixturedef: pytest.FixtureDef[Any]) -> None:
    _note_a_run(fixturedef)


def _note_a_run(fixturedef: pytest.FixtureDef[Any]) -> None:
    """What a fixture of more than one test changes is no test's: it is looked at again before the next one."""
    if fixturedef.scope != "function":
        _test.is_known = _file.is_known = False


def expect_changes_beyond_file() -> None:
    """Says that what lives longer than a file begins or ends now, which is not charged to the file."""
    _file.session_fixtures += 1


@pytest.fixture(scope="module", autouse=True)
def file_leaves_nothing_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    _file.look()
    before = _file.session_fixtures
    yield
    if before == _file.session_fixtures and (changes := _file.changes()):
        pytest.fail(f"{request.node.nodeid} leaves behind: {'; '.join(changes)}", pytrace=False)


@pytest.fixture(autouse=True)
def test_leaves_nothing_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """It is made before, and ends after, all others of one test."""
    _test.look()
    yield
    if changes := _test.changes():
        pytest.fail(f"{request.node.nodeid} leaves behind: {'; '.join(changes)}", pytrace=False)
