"""Work in forked processes, which start with the parent's imported modules and do not change the parent."""

import os
import pickle
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkstemp
from typing import Any


@dataclass(frozen=True)
class Task:
    key: int
    work: Callable[[], Any]
    seconds: float


@dataclass
class _Running:
    task: Task
    result: Path
    deadline: float


class TooLong(Exception):
    """The work did not end within its time limit."""


def results(tasks: Iterable[Task], at_once: int) -> Iterator[tuple[int, Any]]:
    """Yields the key of each task with its result, or its exception, in the order in which tasks end."""
    waiting, running = iter(tasks), dict[int, _Running]()
    try:
        while True:
            while len(running) < at_once and (task := next(waiting, None)):
                pid, result = _start(task.work)
                running[pid] = _Running(task, result, time.monotonic() + task.seconds)
            if not running:
                return
            for pid in _ended(running):
                ended = running.pop(pid)
                _end_group(pid)
                yield ended.task.key, _read(ended)
    finally:
        for pid, left in running.items():
            _end_group(pid)
            os.waitpid(pid, 0)
            left.result.unlink(missing_ok=True)


def result_of(work: Callable[[], Any]) -> Any:
    """Runs `work` in a forked process; returns its result or raises its exception."""
    ((_, result),) = results([Task(0, work, 3600)], 1)
    if isinstance(result, BaseException):
        raise result
    return result


def _start(work: Callable[[], Any]) -> tuple[int, Path]:
    handle, name = mkstemp(prefix="mutant-")
    os.close(handle)
    if pid := os.fork():
        return pid, Path(name)
    os.setsid()  # so that its child processes are ended with it
    try:
        result = work()
    except BaseException as error:  # any exception is returned to the parent
        result = error
    try:
        Path(name).write_bytes(pickle.dumps(result))
    except Exception as error:
        Path(name).write_bytes(pickle.dumps(RuntimeError(f"{error}: {result!r}")))
    finally:
        os._exit(0)


def _ended(running: dict[int, _Running]) -> list[int]:
    while True:
        ended = [pid for pid in running if os.waitpid(pid, os.WNOHANG)[0]]
        late = [pid for pid, each in running.items() if pid not in ended and time.monotonic() > each.deadline]
        for pid in late:
            _end_group(pid)
            os.waitpid(pid, 0)
        if ended or late:
            return ended + late
        time.sleep(0.003)


def _end_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _read(ended: _Running) -> Any:
    content = ended.result.read_bytes()
    ended.result.unlink()
    return pickle.loads(content) if content else TooLong(f"{ended.task.seconds:.0f} s")
