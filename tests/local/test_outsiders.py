"""The demo's payers and merchant are outsiders: they could run on another machine."""

import ast
import sys
from pathlib import Path

import pytest

from tests.local.copies import ROOT

OUTSIDERS = sorted((ROOT / "infra" / "local" / "outsiders").glob("*.py"))
LIBRARIES = {"requests", "eth_abi", "eth_account", "eth_utils", "tronpy", "ens", "web3", "playwright"}
ALLOWED = {*LIBRARIES, *(file.stem for file in OUTSIDERS), *sys.stdlib_module_names}


@pytest.mark.parametrize("file", OUTSIDERS, ids=lambda file: file.name)
def test_an_outsider_imports_nothing_of_the_service(file: Path) -> None:
    imported = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(str(node.module).split(".")[0])
    assert imported <= ALLOWED
