"""The Python files of the project as trees: each is parsed once, for all tests that look into the code."""

import ast
from functools import cache
from pathlib import Path

import pytest

reads_code = pytest.mark.xdist_group("code")
"""For a test that looks through all files: they are on one process, as to parse them takes longer than to look."""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file, as `ast.walk` gives them, which takes twenty times as long again."""
    return tuple(ast.walk(tree_of(path)))
