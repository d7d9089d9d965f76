"""What survivors.toml lists is in the code."""

from tests.mutants.__main__ import LISTED, mutants_of, unknown_entries
from tests.mutants.rooms import ROOT


def test_each_listed_survivor_is_a_mutant_of_its_module() -> None:
    assert unknown_entries([mutant for name in LISTED for mutant in mutants_of(ROOT / "chalicelib" / name)]) == []
