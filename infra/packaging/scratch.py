"""Temporary folders in `.local`, of which those of killed commands are removed by the next one."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.configuration import ROOT

_SCRATCH = "chalice-"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary directory in `.local`; those of processes that were killed are removed."""
    (ROOT / ".local").mkdir(exist_ok=True)
    for left in (ROOT / ".local").glob(f"{_SCRATCH}*-*"):
        if not _runs(int(left.name.removeprefix(_SCRATCH).partition("-")[0])):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{_SCRATCH}{os.getpid()}-", dir=ROOT / ".local") as name:
        yield Path(name)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        return True
    return True
