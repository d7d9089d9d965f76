"""What is installed and shipped is pinned, down to the last dependency, with the hashes of the files that may be taken."""

import re

import pytest

from infra.configuration import ROOT

SHIPPED = "infra/packaging/requirements.lock"
PINNED = {"requirements.txt": SHIPPED} | {
    f"{name}.txt": f"{name}.lock" for name in ("tests/requirements", "infra/local/requirements", "infra/local/node", "tests/load/requirements")
}
PIN = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?==([^\s;]+)", re.MULTILINE)


def pins(file: str) -> dict[str, str]:
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in PIN.findall((ROOT / file).read_text())}


@pytest.mark.parametrize("wants", PINNED)
def test_every_wanted_package_is_pinned_to_the_wanted_version(wants: str) -> None:
    wanted, locked = pins(wants), pins(PINNED[wants])
    assert wanted
    assert {package: locked.get(package) for package in wanted} == wanted, "run `make lock`"


@pytest.mark.parametrize("lock", PINNED.values())
def test_every_pinned_package_has_hashes(lock: str) -> None:
    text = re.sub(r"^#.*\n", "", (ROOT / lock).read_text(), flags=re.MULTILINE)
    entries = re.split(r"\n(?=\S)", text.strip())
    assert len(entries) == len(PIN.findall(text)), "a package may have a version for each Python"
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_tests_run_with_the_versions_that_are_shipped() -> None:
    installed = pins("tests/requirements.lock")
    assert {name: installed.get(name) for name in pins(SHIPPED)} == pins(SHIPPED)


def test_setup_installs_nothing_without_its_hash() -> None:
    source = (ROOT / "infra" / "local" / "setup.py").read_text()
    installed = re.findall(r"pip\(\w+, (.*?)\)\)", source)
    assert len(installed) == 3
    assert all(re.fullmatch(r'"--require-hashes", "-r", "[\w/]+\.lock"', each) for each in installed)
