"""The page's wallets.js, sessions.js and tron.js among fake wallets: several, refusing, hanging, lying, changing under its hands."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.node import run

PAGES = Path(__file__).parents[2] / "chalicelib/pages/payment"
DRIVER = str(Path(__file__).parent / "wallets_driver.js")
ME, OTHER = "0x627306090abab3a6e1400e9345bc60c78a8bef57", "0xf17f52151EbEF6C7334FAD080c5704D77216b732"
HASH, TX_ID = "0x" + "ab" * 32, "cd" * 32
OWNER, PROXY = "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7", "TCUDPYnS9dH3WvFEaE7wN7vnDa51J4R4fd"
CALL = {"to": OTHER, "data": "0xc219a14d", "value": "0x0"}
SWITCH = ["wallet_switchEthereumChain", [{"chainId": "0x2105"}]]
ICON = "data:image/png;base64,AAAA"

Found = dict[str, Any]


@pytest.fixture(scope="module")
def found() -> Found:
    """What came of every scenario, by name: all in one process."""
    outcomes: Found = run(DRIVER)
    return outcomes


# --- found ---


def test_several_wallets_announced_at_once_are_all_listed_and_each_only_once(found: Found) -> None:
    outcome = found["two announced at once"]
    names = [["evm:io.one", "One", "evm"], ["evm:io.two", "Two", "evm"], ["evm:io.three", "Three", "evm"]]
    assert outcome == {"list": names, "before": True, "after": True, "stopped": True}


def test_an_announcement_is_believed_only_in_its_form_and_bounded(found: Found) -> None:
    long = ("<b>Long</b> " + "x" * 500)[:40]
    assert found["odd announcements"] == [
        ["evm:a.d", long, ICON],
        ["evm:a.e", "Web icon", None],
        ["evm:a.f", "Big icon", None],
        ["evm:some-uuid", "No rdns", ICON],
    ]


def test_window_ethereum_is_offered_only_while_nobody_is_announced(found: Found) -> None:
    outcome = found["window.ethereum when nobody is announced"]
    assert outcome == {"alone": ["evm:injected"], "same": True, "with": ["evm:io.one"]}


def test_a_wallet_that_comes_after_the_page_is_found(found: Found) -> None:
    assert found["a wallet that comes late"] == {"told": 1, "list": ["evm:injected"]}


# --- connected ---


def test_connecting_gives_the_address_and_resuming_asks_for_nothing(found: Found) -> None:
    assert found["connects"] == {"address": ME, "family": "evm"}
    assert found["resumes without a prompt"] == {"address": ME, "asked": [["eth_accounts", []]]}


@pytest.mark.parametrize(
    ("scenario", "code"),
    [
        ("connection refused", "rejected"),
        ("no account", "rejected"),
        ("connection busy", "busy"),
        ("connection hangs", "timeout"),
        ("accounts of another type", "lied"),
        ("an address of another type", "lied"),
        ("an address too short", "lied"),
        ("tron: an address of another family", "lied"),
    ],
)
def test_a_connection_that_does_not_come_says_why(found: Found, scenario: str, code: str) -> None:
    assert found[scenario] == {"code": code}


def test_a_wallet_that_cannot_be_resumed_is_none(found: Found) -> None:
    assert found["nothing to resume"] is None
    assert found["resuming fails"] is None


def test_changes_of_account_and_chain_are_told_until_nobody_listens(found: Found) -> None:
    heard = ["account", "disconnect", "disconnect", "chain", "disconnect"]
    assert found["changes are told"] == {"heard": heard, "left": []}


# --- sent to ---


def test_a_transaction_is_sent_as_it_is_and_without_gas(found: Found) -> None:
    assert found["sends"] == {"outcome": HASH, "sent": [[{"from": ME, **CALL, "chainId": "0x2105"}]]}
    assert found["sends coins"]["sent"] == [[{"from": ME, **CALL, "value": hex(10**18), "chainId": "0x2105"}]]


@pytest.mark.parametrize(
    ("scenario", "code"),
    [
        ("sending refused", "rejected"),
        ("sending refused in words", "rejected"),
        ("sending fails", "poor"),
        ("sending hangs", "timeout"),
        ("a hash of another type", "lied"),
        ("a hash too short", "lied"),
        ("a list of hashes", "lied"),
    ],
)
def test_what_comes_back_instead_of_a_hash_is_told(found: Found, scenario: str, code: str) -> None:
    assert found[scenario] == {"outcome": {"code": code}, "sent": [[{"from": ME, **CALL, "chainId": "0x2105"}]]}


@pytest.mark.parametrize(
    ("scenario", "code"),
    [
        ("another account before sending", "account"),
        ("no account before sending", "account"),
        ("another chain before sending", "wrong-chain"),
        ("a chain of another type before sending", "lied"),
        ("a chain that is no whole number before sending", "lied"),
        ("another chain as a number", "wrong-chain"),
        ("a chain in words before sending", "lied"),
        ("the chain hangs before sending", "timeout"),
    ],
)
def test_nothing_is_asked_for_when_the_account_or_the_chain_is_not_the_one(
    found: Found, scenario: str, code: str
) -> None:
    assert found[scenario] == {"outcome": {"code": code}, "sent": []}


# --- its chain ---


@pytest.mark.parametrize("scenario", ["the chain as a number", "the chain as decimal text"])
def test_the_chain_is_known_in_every_spelling(found: Found, scenario: str) -> None:
    assert found[scenario] == {"outcome": HASH, "sent": [[{"from": ME, **CALL, "chainId": "0x2105"}]]}


def test_the_chain_is_switched_only_when_it_is_another(found: Found) -> None:
    assert found["already there"] == {"outcome": "there", "asked": []}
    assert found["switches"] == {"outcome": "there", "asked": [SWITCH]}
    assert found["switches late"] == {"outcome": "there", "asked": [SWITCH]}


@pytest.mark.parametrize(
    ("scenario", "code"),
    [
        ("says it has switched", "wrong-chain"),
        ("switching refused", "wrong-chain"),
        ("switching hangs", "timeout"),
    ],
)
def test_a_wallet_that_does_not_switch_is_not_believed(found: Found, scenario: str, code: str) -> None:
    assert found[scenario] == {"outcome": {"code": code}, "asked": [SWITCH]}


def test_a_chain_that_the_wallet_does_not_know_is_added(found: Found) -> None:
    chain = {
        "chainId": "0x2105",
        "chainName": "Base",
        "rpcUrls": ["https://mainnet.base.org"],
        "nativeCurrency": {"name": "Ether", "symbol": "ETH", "decimals": 18},
        "blockExplorerUrls": ["https://basescan.org"],
    }
    add = ["wallet_addEthereumChain", [chain]]
    assert found["adds the chain"] == {"outcome": "there", "asked": [SWITCH, add]}
    assert found["adds the chain and switches"] == {"outcome": "there", "asked": [SWITCH, add, SWITCH]}
    for refusal in ("an inner error alone", "the code within data", "the code within data, as text", "no method to switch"):
        assert found[f"adds the chain after {refusal}"] == {"outcome": "there", "asked": [SWITCH, add]}
    by_hand = {"outcome": {"code": "wrong-chain"}, "asked": [SWITCH, add, SWITCH]}
    assert found["adds the chain and cannot switch"] == by_hand, "the page names the network to choose"
    assert found["switching unknown"] == {"outcome": {"code": "add-chain-refused"}, "asked": [SWITCH, add]}
    assert found["adding refused"] == {"outcome": {"code": "add-chain-refused"}, "asked": [SWITCH, add]}


# --- what became of it ---


def test_receipts_count_confirmations_with_their_own_block(found: Found) -> None:
    assert found["a receipt"] == {"status": "success", "block": 100, "confirmations": 3}
    assert found["a failed receipt ahead of its block"] == {"status": "failed", "block": 100, "confirmations": 1}


def test_odd_receipts_are_not_believed_and_another_chain_is_not_asked(found: Found) -> None:
    assert found["odd receipts"] == [{"code": "lied"}, {"code": "lied"}, {"code": "lied"}, None, None]
    assert found["a receipt of another chain"] == {"code": "wrong-chain"}


def test_nonces_and_calls_are_read_and_checked(found: Found) -> None:
    outcome = found["reads"]
    assert outcome["nonces"] == [7, 8, {"code": "lied"}]
    assert outcome["blocks"] == ["latest", "pending", "latest"]
    assert outcome["calls"] == ["0x05", {"code": "lied"}, {"code": "lied"}]


# --- Tron ---

BUILD = ["build", PROXY, "", {"input": "c219a14d", "callValue": 0, "feeLimit": 1000}, OWNER]
SEND = ["send", TX_ID]


def test_on_tron_a_transaction_is_built_signed_and_sent(found: Found) -> None:
    assert found["tron: sends"] == {"outcome": TX_ID, "sent": [BUILD, SEND]}
    assert found["tron: the payer's clock is slow"] == {"outcome": TX_ID, "sent": [BUILD, SEND]}
    assert found["tron: the network by its first block"] == {"outcome": TX_ID, "sent": [BUILD, SEND]}
    assert found["tron: the node has it already"] == {"outcome": TX_ID, "sent": [BUILD]}


@pytest.mark.parametrize(
    ("scenario", "error"),
    [
        ("tron: another transaction is built", {"code": "lied"}),
        ("tron: another transaction is signed", {"code": "lied"}),
        ("tron: a higher fee limit is signed", {"code": "lied"}),
        ("tron: tokens are to go with it", {"code": "lied"}),
        ("tron: it is valid for a day", {"code": "lied"}),
        ("tron: it never expires", {"code": "lied"}),
        ("tron: it is signed for a day", {"code": "lied"}),
        ("tron: another id", {"code": "lied"}),
        ("tron: bytes of another call are signed", {"code": "lied"}),
        ("tron: bytes that go elsewhere are signed", {"code": "lied"}),
        ("tron: bytes with coins are signed", {"code": "lied"}),
        ("tron: bytes with a higher fee limit are signed", {"code": "lied"}),
        ("tron: bytes that are valid for a day are signed", {"code": "lied"}),
        ("tron: signing refused", {"code": "rejected"}),
        ("tron: signing hangs", {"code": "timeout"}),
        ("tron: the node refuses", {"code": "failed", "hash": TX_ID}),
        ("tron: the node refuses what it did not answer before", {"code": "timeout", "hash": TX_ID}),
        ("tron: the node is away", {"code": "timeout", "hash": TX_ID}),
    ],
)
def test_on_tron_what_goes_wrong_is_told_with_the_id_when_it_may_be_on_its_way(
    found: Found, scenario: str, error: dict[str, str]
) -> None:
    assert found[scenario] == {"outcome": error, "sent": [BUILD]}


def test_on_tron_nothing_is_built_for_another_network_or_account(found: Found) -> None:
    assert found["tron: another network"] == {"outcome": {"code": "wrong-chain"}, "sent": []}
    assert found["tron: another account before sending"] == {"code": "account"}
    assert found["tron: locked before sending"] == {"code": "account"}


def test_on_tron_a_receipt_is_confirmed_when_its_block_is_final(found: Found) -> None:
    outcome = found["tron: receipts"]
    in_block, final = ({"status": "success", "block": 7, "confirmations": each} for each in (0, 1))
    failed = {"status": "failed", "block": 7, "confirmations": 0}
    assert outcome["outcomes"] == [None, in_block, failed, {"code": "lied"}, final]
    assert (outcome["nonce"], outcome["call"]) == (None, f"0x{5:064x}")


def test_the_older_ways_of_tron_wallets_are_understood(found: Found) -> None:
    assert found["tron: TronLink as it was"] == {
        "id": "tron:injected",
        "refused": [None, {"code": "rejected"}, {"code": "busy"}],
        "address": OWNER,
        "chain": 728126428,
        "heard": ["chain", "account"],
        "resumed": PROXY,
    }
    assert found["tron: a bare tronWeb"] == {"address": OWNER, "there": True, "elsewhere": {"code": "wrong-chain"}}


# --- Safe ---


def test_a_safe_that_frames_the_page_is_sent_all_transactions_at_once(found: Found) -> None:
    outcome = found["safe: found and sent to"]
    transactions = [{**CALL, "value": "16"}, {**CALL, "value": "0"}]
    assert outcome["answer"] == {"safeTxHash": HASH}
    assert outcome["address"] == ME
    assert outcome["last"] == ["sendTransactions", {"txs": transactions}, "https://app.safe.global", "string"]
    assert found["safe: reads"] == {"call": "0x05", "nonce": None}


def test_a_safe_that_refuses_lies_or_is_on_another_chain_is_told(found: Found) -> None:
    assert found["safe: refused"] == {"code": "rejected"}
    assert found["safe: a hash of another type"] == {"code": "lied"}
    assert found["safe: another chain"] == [{"code": "wrong-chain"}, {"code": "wrong-chain"}]


def test_only_the_window_and_the_origin_that_answered_first_are_heard(found: Found) -> None:
    assert found["safe: nobody answers"] == found["safe: somebody else answers"] == "0 wallets"
    assert found["safe: an odd answer"] == "0 wallets"
    assert found["safe: another origin answers later"] == {"code": "timeout"}


def test_it_stays_small() -> None:
    assert sum(len(gzip.compress((PAGES / name).read_bytes())) for name in ("wallets.js", "sessions.js")) <= 10 * 1024
