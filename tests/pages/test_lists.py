"""The page's own lists of networks, tokens and contracts: as the catalogue has them, and with room for more networks."""

import gzip
import subprocess
from pathlib import Path

import pytest

from chalicelib.pages.assets import JOINED, assets, scripts
from infra.documents import page
from infra.page_hash import hashes
from tests.pages.growth import MORE, with_more_networks

GROWING = {
    "authorize.js": 1_900,
    "contracts.js": 1_900,
    "identity.js": 4_300,
    "outcomes.js": 3_600,
    "sources.js": 2_350,
}
"""The most bytes of each script that has an entry for each network, compressed, once there are four more networks."""


@pytest.mark.parametrize("script", page.PARTS)
def test_what_a_script_knows_by_itself_is_what_the_catalogue_has(script: str) -> None:
    assert (page.FOLDER / script).read_text() == page.text_of(script), "`make docs` writes it anew; read the difference"


def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for script in page.PARTS:
        (tmp_path / script).write_bytes((page.FOLDER / script).read_bytes())
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    monkeypatch.setattr("sys.argv", ["page"])
    return tmp_path


def test_a_changed_address_is_written_back_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = copied(tmp_path, monkeypatch) / "contracts.js"
    honest = script.read_text()
    script.write_text(honest.replace("0x1892196E80C4c17ea5100Da765Ab48c1fE2Fb814", "0x" + "66" * 20) + "// by hand\n")
    assert page.main() == 0
    assert script.read_text() == honest + "// by hand\n"


def test_a_script_without_the_marks_of_a_part_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = copied(tmp_path, monkeypatch) / "sources.js"
    script.write_text(script.read_text().replace(f"{page.END}\n", ""))
    with pytest.raises(
        ValueError, match=r"sources\.js has the lines .*bridges' and '// Up to here\.' 0 times, not once"
    ):
        page.main()


def test_the_make_target_writes_them() -> None:
    planned = subprocess.run(
        ["make", "--dry-run", "docs"], cwd=page.FOLDER.parents[2], capture_output=True, text=True, check=True
    )
    assert "-m infra.documents.page\n" in planned.stdout


def test_the_hashes_of_the_page_are_those_of_the_scripts_with_their_lists() -> None:
    files = {part: file for file, parts in JOINED.items() for part in parts}
    with_lists = {assets()[files.get(script, script)].path for script in page.PARTS}
    assert {f"/pages/{path}" for path in with_lists} <= hashes().keys()


@pytest.mark.parametrize("script", scripts())
def test_a_script_stays_small_with_four_more_networks(script: str) -> None:
    grown = with_more_networks(scripts()[script])
    lists = grown.count("\n") > scripts()[script].count("\n")
    assert lists == (script in GROWING), "a script with an entry for each network has a budget of its own"
    if lists:
        assert len(gzip.compress(grown.encode())) <= GROWING[script]


def test_the_networks_that_are_added_are_as_many_as_the_budget_has_room_for() -> None:
    lines = {"authorize.js": 1, "contracts.js": 4, "identity.js": 7, "outcomes.js": 1, "sources.js": 4}
    added = {
        script: with_more_networks(scripts()[script]).count("\n") - scripts()[script].count("\n") for script in GROWING
    }
    assert added == {script: MORE * count for script, count in lines.items()}
