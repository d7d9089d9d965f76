"""The zip files of the functions: the same bytes wherever, whenever and by whom they are built, and none that nobody pinned."""

import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.markers import Marker

from chalicelib.platform.http.documents import FILES, FOLDER
from infra.configuration import ROOT
from infra.local.pythons import HERE, VERSIONS
from infra.packaging.bundle import write_layer
from infra.packaging.package import LOCK
from infra.stack import DeploymentStopped

BUILDS = 10
ROOMS = ("base", "webhooks")
"""So much of the code that ten builds take a few seconds."""
BUILD = """
import os, sys
from pathlib import Path
os.umask(int(sys.argv[3], 8))
from infra.local.pythons import HERE
from infra.packaging.bundle import write_code
write_code(Path(sys.argv[1]), Path(sys.argv[2]), HERE)
"""
ZONES = ("UTC", "Asia/Tokyo", "America/St_Johns", "Pacific/Kiritimati", "Europe/Berlin")


def test_ten_builds_elsewhere_give_one_hash(tmp_path: Path) -> None:
    """Under another path, user, time zone, umask, hash seed, order and time of the files."""
    order, digests = random.Random(1), set[str]()
    for number in range(BUILDS):
        project = tmp_path / ("x" * number + f"build {number}")
        copy_in_disorder(project, order)
        environment = {
            **os.environ,
            "TZ": ZONES[number % len(ZONES)],
            "USER": f"user{number}",
            "LOGNAME": f"user{number}",
            "HOME": str(project),
            "PYTHONHASHSEED": str(number),
            "PYTHONPATH": str(ROOT),
        }
        umask = ("022", "077", "002", "027")[number % 4]
        out = project / "code.zip"
        subprocess.run(
            [sys.executable, "-c", BUILD, str(project), str(out), umask], cwd=project, env=environment, check=True
        )
        digests.add(hashlib.sha256(out.read_bytes()).hexdigest())
    assert len(digests) == 1


def copy_in_disorder(project: Path, order: random.Random) -> None:
    """Some rooms of the code, made in another order, with other times, modes and leftovers of Python."""
    documents = (FOLDER / name for name in FILES)
    files = [ROOT / "app.py", *documents, *(file for room in ROOMS for file in (ROOT / "chalicelib" / room).rglob("*.*"))]
    order.shuffle(files)
    for file in files:
        if "__pycache__" not in file.parts:
            to = project / file.relative_to(ROOT)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, to)
            to.chmod(order.choice((0o600, 0o644, 0o755)))
            os.utime(to, (order.randrange(2 * 10**9),) * 2)
    leftover = project / "chalicelib" / "base" / "__pycache__" / "gone.cpython-311.pyc"
    leftover.parent.mkdir(exist_ok=True)
    leftover.write_bytes(b"of this machine")


def test_two_builds_of_a_layer_give_one_hash(tmp_path: Path) -> None:
    """Of one package with scripts and one with binary code; the whole of it is compared by `make verify`."""
    lock = part_of_the_lock(tmp_path, "coincurve", "segno")
    layers = [tmp_path / "first.zip", tmp_path / "second.zip"]
    for layer in layers:
        write_layer(lock, "x86_64", layer, HERE)
    first, second = (layer.read_bytes() for layer in layers)
    assert first == second
    assert b"/bin/" not in first


def test_a_package_with_another_hash_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    lock = part_of_the_lock(tmp_path, "segno")
    lock.write_text(re.sub(r"sha256:[0-9a-f]{4}", "sha256:0000", lock.read_text()))
    with pytest.raises(DeploymentStopped, match="pip download did not succeed"):
        write_layer(lock, "x86_64", tmp_path / "layer.zip", HERE)


def test_what_is_pinned_for_the_functions_is_the_same_on_every_python() -> None:
    """pip of this Python fetches for another one, and decides by its own version which lines hold."""
    markers = {line.partition(" ; ")[2].rstrip(" \\") for line in LOCK.read_text().splitlines() if "==" in line}
    for marker in filter(None, markers):
        met = {Marker(marker).evaluate({"python_version": each, "python_full_version": f"{each}.0"}) for each in VERSIONS}
        assert len(met) == 1, marker


def part_of_the_lock(folder: Path, *names: str) -> Path:
    """The lines of requirements.lock about some packages."""
    entries = re.split(r"\n(?=\S)", LOCK.read_text())
    wanted = [entry for entry in entries if entry.split("==")[0] in names]
    assert len(wanted) == len(names)
    lock = folder / "requirements.lock"
    lock.write_text("\n".join(wanted) + "\n")
    return lock
