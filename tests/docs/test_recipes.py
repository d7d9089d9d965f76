"""The recipes name every file in which something that is added has to be written by hand."""

import re
import subprocess
from functools import cache

import pytest

from chalicelib.chains.catalogue.data import path_of
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.tokens import find_tokens
from chalicelib.platform.http.operation import OPERATIONS
from chalicelib.webhooks.kinds import CORE, KINDS
from infra.documents import page
from tests.docs.documents import DOCS, ROOT

GENERATED = {
    *(f"docs/{name}" for name in ("openapi.json", "data.md")),
    *((page.FOLDER / script).relative_to(ROOT).as_posix() for script in page.PARTS),
}
MOST_FILES_OF_A_NETWORK, MOST_FILES_OF_AN_EVENT = 6, 3
FORMULAS = {"chalicelib/base/money.py", "chalicelib/pages/payment/link.js"}
"""Where a fee is computed: by the service, and by the payment page, which checks the service."""
MEASURED = {"docs/benchmarks.json", "docs/capacity.md"}
"""Written by `make bench` from what was measured."""
VECTORS = ("tests/chains/catalogue/vectors/", "tests/chains/calldata/vectors/")
"""What other implementations made, not by network."""


@cache
def files() -> dict[str, str]:
    """The texts of all files that are written by hand, by their paths."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    kept = (name for name in listed if name not in GENERATED and not name.startswith(VECTORS) and (ROOT / name).is_file())
    return {name: (ROOT / name).read_text(errors="ignore") for name in kept}


def recipe(title: str) -> str:
    (found,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", DOCS["recipes"].text, re.MULTILINE | re.DOTALL)
    return str(found)


def named_in(title: str) -> set[str]:
    """The files that a recipe names, also by a link."""
    text = recipe(title)
    links = {(ROOT / "docs" / target).resolve().relative_to(ROOT).as_posix() for target in re.findall(r"\]\(([^)]+)\)", text)}
    return {path for path in re.findall(r"`([\w./-]+\.\w+)`", text) if (ROOT / path).is_file()} | links


def with_all_of(words: set[str]) -> set[str]:
    """The files in which every one of these words occurs in code or data, so as entries of a list."""
    patterns = [re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])") for word in words]
    return {name for name, text in files().items() if all(pattern.search(text) for pattern in patterns)}


def test_a_network_is_written_where_its_recipe_says() -> None:
    """By the networks that are called nothing else: whatever lists them all has to list the next one."""
    listed = with_all_of({each.name for each in ALL_NETWORKS} - {"base", "tron", "mainnet"}) - MEASURED
    lists = {name for name in listed if not name.startswith("tests/") or "catalogue" in name or "deploy" in name}
    tokens = {path_of("tokens"), *(f"tests/chains/catalogue/{name}.json" for name in ("request_token_list", "coingecko_ids"))}
    by_hand = {path_of("networks"), "tests/chains/catalogue/reviewed_networks.py", "docs/links.md", "infra/documents/wallet_apps.json"}
    some = {"tests/chains/catalogue/test_tokens.py"}  # the networks of one symbol
    assert lists - tokens - some <= by_hand, "derive these from networks.json, or name them in docs/recipes.md"
    assert by_hand | {"CHANGELOG.md"} <= named_in("A network") | {"CHANGELOG.md"}
    assert len(by_hand | {"CHANGELOG.md"}) <= MOST_FILES_OF_A_NETWORK


def test_a_token_is_written_where_its_recipe_says() -> None:
    addresses = {each.address for symbol in ("USDC", "DAI") for each in find_tokens("bsc", symbol)}
    written = {name for name, text in files().items() if all(each.lower() in text.lower() for each in addresses)}
    assert path_of("tokens") in written
    assert written <= named_in("A token")


def test_a_kind_of_event_is_written_where_its_recipe_says() -> None:
    """Whatever lists all kinds, in whatever language, has to list the next one, beside the rule that decides it."""
    lists = with_all_of({kind.name for kind in CORE}) - {"docs/webhooks.md"}  # its tables are written by `make docs`
    assert "chalicelib/webhooks/kinds.py" in lists
    assert lists | {"chalicelib/webhooks/fields.py", "CHANGELOG.md"} <= named_in("A kind of event")
    assert len(lists | {"the rule that decides it", "CHANGELOG.md"}) <= MOST_FILES_OF_AN_EVENT
    assert set(KINDS) >= {kind.name for kind in CORE}


def test_an_operation_is_written_where_its_recipe_says() -> None:
    views = {view.replace(".", "/") for view in OPERATIONS.values()}
    assert {f"{view}.py" for view in views} <= files().keys()
    assert {f"chalicelib/{view.split('/')[1]}/routes.py" for view in views} <= files().keys()
    by_hand = {"tests/support/examples.py", "infra/documents/descriptions.py", "docs/api.md", "app.py"}
    assert {*by_hand, "docs/operations/payments.toml"} <= named_in("An operation")


def test_one_formula_computes_a_fee() -> None:
    """On what is paid; a commerce payment captures by basis points, which its own rule computes."""
    formula = re.compile(r"\bdef fee_of\(|import .*\bfee_of\b|money\.fee_of|function feeOf\(")
    users = {name for name, text in files().items() if name.startswith("chalicelib/") and formula.search(text)}
    own = "chalicelib/checkout/requests/"  # a rule of the same name that says whose fee wins
    assert {name for name in users if not name.startswith(own)} <= {*FORMULAS, "chalicelib/payments/links/records.py"}
    assert named_in("A fee model") >= FORMULAS


@pytest.mark.parametrize("words", ["/v1/quote", "/bank-accounts/"])
def test_only_its_client_knows_a_provider(words: str) -> None:
    knows = {name for name, text in files().items() if (name.startswith("chalicelib/") and f'"{words}' in text) or f"{words}{{" in text}
    assert {name for name in knows if name.startswith("chalicelib/")} <= {
        "chalicelib/platform/outbound/lifi.py",
        "chalicelib/platform/outbound/compliance.py",
        *(name for name in knows if name.endswith("routes.py")),
    }
    assert {"chalicelib/platform/outbound/lifi.py", "chalicelib/platform/services.py"} <= named_in("A provider")
