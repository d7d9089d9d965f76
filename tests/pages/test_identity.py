"""What networks and tokens are called, the page knows by itself: answers that call them otherwise are not paid."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.tokens import Token, find_tokens
from chalicelib.payments.links.schemas import chain_answer
from tests.oracles.node import run
from tests.pages.conftest import NewVisitor
from tests.pages.purse import REJECTS, UNKNOWN_CHAIN, Purse
from tests.pages.stack import Stack
from tests.pages.test_answers import Change, forge
from tests.support.items import native
from tests.support.rehearsed import few

DRIVER, QUOTE_DRIVER = (str(Path(__file__).parent / f"{name}_driver.js") for name in ("identity", "quote"))

THIEF = "https://evil.example/"
Json = dict[str, Any]


def link(*tokens: Token) -> Json:
    """As page.js reads it."""
    chain = next(each for each in ALL_NETWORKS if each.name == tokens[0].network)
    payments = [
        {
            "id": each.id,
            "token": None if each.is_native else each.address,
            "tokenDecimals": each.decimals,
            "tokenSymbol": chain.coin.symbol if each.is_native else each.symbol,
        }
        for each in tokens
    ]
    return {
        "network": chain.name,
        "chain": chain_answer(chain.name, {}).model_dump(),
        "payments": payments,
    }


def test_the_table_is_that_of_the_service() -> None:
    wanted = {}
    for chain in ALL_NETWORKS:
        tokens = find_tokens(chain.name)
        coin = next((each.id for each in tokens if each.is_native), None)
        names = [(each.id.removesuffix(f"-{chain.name}"), each) for each in tokens if not each.is_native]
        listed = [f"{name} {each.decimals} {each.address}" for name, each in names]
        facts = [chain.coin.name, chain.coin.symbol, chain.coin.decimals]
        known = [chain.confirmations, chain.explorer_url, *chain.public_rpc_urls]
        wanted[chain.name] = [chain.chain_id, chain.title, facts, coin, known, *listed]
    assert run(DRIVER, [])["networks"] == wanted


def test_every_token_of_the_catalogue_is_known() -> None:
    links = [link(*find_tokens(chain.name)) for chain in ALL_NETWORKS]
    lower = link(*find_tokens("mainnet", "USDC"))
    lower["payments"][0]["token"] = lower["payments"][0]["token"].lower()
    assert run(DRIVER, [*links, lower])["answers"] == [True] * (len(links) + 1)


def test_whatever_is_called_otherwise_is_not_known() -> None:
    usdc, coin = link(*find_tokens("base", "USDC")), link(next(each for each in find_tokens("base") if each.is_native))
    tron = link(*find_tokens("tron", "USDT"))
    changes: list[tuple[Json, tuple[Any, ...], Any]] = [
        (usdc, ("network",), "constructor"),
        (usdc, ("network",), "matic"),
        (usdc, ("chain", "chainId"), 10),
        (usdc, ("chain", "name"), "Ethereum"),
        (usdc, ("chain", "nativeCurrency", "symbol"), "POL"),
        (usdc, ("chain", "nativeCurrency", "name"), "POL"),
        (usdc, ("chain", "nativeCurrency", "decimals"), 6),
        (usdc, ("payments", 0, "tokenDecimals"), 8),
        (usdc, ("payments", 0, "id"), "DAI-base"),
        (usdc, ("payments", 0, "id"), "USDC"),
        (usdc, ("payments", 0, "token"), "0x" + "66" * 20),
        (usdc, ("payments", 0, "token"), None),
        (coin, ("payments", 0, "id"), "USDC-base"),
        (coin, ("payments", 0, "tokenDecimals"), 6),
        (tron, ("payments", 0, "token"), None),
        (tron, ("payments", 0, "token"), tron["payments"][0]["token"].lower()),
    ]
    forged = []
    for honest, (*way, name), value in changes:
        forged.append(deepcopy(honest))
        place: Any = forged[-1]
        for step in way:
            place = place[step]
        place[name] = value
    assert run(DRIVER, [usdc, coin, tron, *forged])["answers"] == [True] * 3 + [False] * len(forged)


def test_networks_are_told_as_the_service_tells_them() -> None:
    links = [link(*find_tokens(chain.name)) for chain in ALL_NETWORKS]
    listed = [each["chain"] | {"depth": each["chain"]["confirmations"]} for each in links]
    assert run(DRIVER, links)["chains"] == listed


def test_a_network_is_told_as_it_is_whatever_an_answer_says_and_is_not_deep_before_its_time() -> None:
    honest = link(*find_tokens("base", "USDC"))
    forged, patient, nowhere = deepcopy(honest), deepcopy(honest), deepcopy(honest)
    evil = {"chainId": 1, "name": "Ethereum", "explorerUrl": THIEF, "publicRpcUrls": [THIEF]}
    forged["chain"] |= evil | {"confirmations": 0, "nativeCurrency": {"name": "x", "symbol": "x", "decimals": 1}}
    patient["chain"]["confirmations"] = 30
    nowhere["network"] = "constructor"
    known, waits, unknown = run(DRIVER, [forged, patient, nowhere])["chains"]
    assert known == honest["chain"] | {"confirmations": 0, "depth": 10}
    assert waits == honest["chain"] | {"confirmations": 30, "depth": 30}
    assert (unknown["explorerUrl"], unknown["publicRpcUrls"]) == (None, [])


# --- whether what was checked is still asked for ---


def owing(*references: str) -> Json:
    """A link that owes one payment for each reference."""
    known = link(*find_tokens("base", "USDC") * len(references))
    due = {"payee": "0x" + "11" * 20, "left": "5", "fee": "0", "feeAddress": None}
    payments = [each | due | {"reference": name} for each, name in zip(known["payments"], references, strict=True)]
    return known | {"kind": "multicall", "blocked": [], "payments": payments}


def test_what_was_checked_is_signed_only_while_the_link_asks_for_just_that() -> None:
    first, second = "0x" + "aa" * 8, "0x" + "bb" * 8
    now, pay_all, pay_second = owing(first, second), [{"payments": [0, 1]}], [{"payments": [1]}]

    def then(place: int, **changes: Any) -> Json:
        changed = deepcopy(now)
        changed["payments"][place] |= changes
        return changed

    stopped = now | {"blocked": [{"paymentReference": first}]}
    cases: dict[str, tuple[Json, list[Json], bool]] = {
        "as it was": (now, pay_all, True),
        "one is blocked": (stopped, pay_all, False),
        "one is blocked that was paid by a step before": (stopped | {"payments": [now["payments"][1]]}, pay_second, True),
        "less is left": (then(1, left="4"), pay_all, False),
        "another payee": (then(1, payee="0x" + "22" * 20), pay_all, False),
        "one is paid": (then(0, left="0"), pay_all, False),
        "one is paid by a step before": (then(0, left="0"), pay_second, True),
        "another name for the network": (now | {"chain": now["chain"] | {"chainId": 10}}, pay_all, False),
    }
    asked = [{"link": now, "then": changed, "steps": steps} for changed, steps, _ in cases.values()]
    found = dict(zip(cases, run(QUOTE_DRIVER, asked), strict=True))
    assert found == {name: wanted for name, (_, _, wanted) in cases.items()}


def fewer_decimals(body: Json) -> None:
    body["decimals"] = 8


def another_symbol(body: Json) -> None:
    body["paymentCurrency"] = body["invoiceCurrency"] = "FAU-sepolia"


def another_chain(body: Json) -> None:
    body["chain"]["chainId"] = 10


def another_coin(body: Json) -> None:
    body["chain"]["nativeCurrency"]["symbol"] = "POL"


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(
    "change", few([fewer_decimals], [fewer_decimals, another_symbol, another_chain, another_coin])
)
def test_an_answer_that_calls_it_otherwise_is_never_paid(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, change: Change
) -> None:
    visitor = new_visitor(purse)
    forge(visitor, "", change)
    visitor.open(stack.shop.link(native()) if change is another_coin else stack.shop.link())
    visitor.connect(purse, "unsafe").shows("is not what it is called here")
    assert not visitor.can_pay() and purse.sent == []


@pytest.mark.xdist_group("browser")
def test_a_wallet_is_taught_the_network_as_it_is_whatever_an_answer_says(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    taught = []

    def added(asked: Json) -> Json:
        taught.append(asked)
        return REJECTS

    def another_node(body: Json) -> None:
        if "chain" in body:
            body["chain"] |= {"publicRpcUrls": [THIEF], "explorerUrl": THIEF, "label": "Ethereum"}

    purse.chain_id = 1
    purse.says = {"wallet_switchEthereumChain": UNKNOWN_CHAIN, "wallet_addEthereumChain": added}
    visitor = new_visitor(purse)
    forge(visitor, "", another_node)
    visitor.open(stack.shop.link(native())).connect(purse).pay("network")
    known = next(each for each in ALL_NETWORKS if each.name == "sepolia")
    [listed] = taught
    assert (listed["chainName"], listed["rpcUrls"]) == (known.title, [*known.public_rpc_urls])
    assert listed["blockExplorerUrls"] == ["https://sepolia.etherscan.io"]
    assert visitor.page.locator("#network-rpc").input_value() == known.public_rpc_urls[0]


@pytest.mark.xdist_group("browser")
def test_an_answer_that_changes_its_mind_after_it_was_checked_is_never_paid(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    visitor = new_visitor(purse).open(stack.shop.link(native())).connect(purse)
    forge(visitor, "", another_chain)
    visitor.pay("unsafe")
    assert purse.sent == []
