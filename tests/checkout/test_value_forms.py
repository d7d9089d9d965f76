"""The forms in which values of transactions are written, and which front ends read them."""

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.payments.transactions import transaction_answer
from chalicelib.platform.settings import ValueForm
from tests.checkout.test_pay_kinds import EOA, pay, payout
from tests.docs.documents import DOCS, named
from tests.fakes.world import WALLET
from tests.oracles import node
from tests.payments.links.multicalls.test_api import PATH as MULTICALLS
from tests.support.api import Configured
from tests.support.client import Shop, item
from tests.support.items import native, tron
from tests.support.node import Node
from tests.support.stored_transfers import paid_by, store_payment

FORMS: tuple[ValueForm, ...] = ("plain", "mixed", "bignumber")
HALF_A_COIN = 5 * 10**17


def big(text: str) -> dict[str, str]:
    return {"type": "BigNumber", "hex": text}


@pytest.mark.parametrize(
    ("form", "units", "written"),
    [
        ("plain", 0, 0),
        ("plain", HALF_A_COIN, "0x6f05b59d3b20000"),
        ("mixed", 0, 0),
        ("mixed", HALF_A_COIN, big("0x06f05b59d3b20000")),
        ("mixed", 1, big("0x01")),
        ("mixed", 256, big("0x0100")),
        ("bignumber", 0, big("0x00")),
        ("bignumber", HALF_A_COIN, big("0x06f05b59d3b20000")),
    ],
)
def test_zero_and_other_values_are_written_in_the_form_of_the_setting(form: ValueForm, units: int, written: Any) -> None:
    answer = transaction_answer(Transaction(to=EOA, data="0x", value=units), form)
    assert answer.value == written
    assert type(answer.value) is type(written)


def transactions_in(body: Any) -> Iterator[dict[str, Any]]:
    """Every transaction to sign in a response, wherever it stands."""
    if isinstance(body, list):
        for each in body:
            yield from transactions_in(each)
    elif isinstance(body, dict) and {"to", "data", "value"} <= body.keys() and "operation" not in body:
        yield body
    elif isinstance(body, dict):
        for name, each in body.items():
            if name != "calls" and not name.endswith("xplanation"):  # wallet_sendCalls takes hexadecimal values alone
                yield from transactions_in(each)


def responses(shop: Shop, node: Node) -> dict[str, Any]:
    """A response of each kind that has transactions."""
    children = [payout(shop), payout(shop)]
    multicall = shop.send("POST", MULTICALLS, {"childTokens": children}).json["token"]
    found = {
        "single": pay(shop, shop.link(), wallet=WALLET),
        "coin": pay(shop, shop.link(native())),
        "batch": pay(shop, shop.link(item(), item())),
        "batch with coins": pay(shop, shop.link(item(), native()), wallet=WALLET),
        "multicall": pay(shop, multicall, wallet=WALLET),
        "smart account": pay(shop, shop.link(), wallet=EOA, eoaWallet=WALLET),
        "tron": pay(shop, shop.link(tron())),
    }
    node.contracts = {WALLET.lower()}
    found["safe"] = pay(shop, shop.link(native()), wallet=WALLET, isSafe="true")
    overpaid = shop.link()
    store_payment(overpaid, 20_000_000)
    paid_by(node, WALLET, 20_000_000)
    found["refund"] = shop.get(f"/v2/secure-payments/{overpaid}/transfers").json
    return found


@pytest.mark.parametrize("form", FORMS)
def test_every_response_with_transactions_follows_the_setting(
    new_shop: Shop, node: Node, configured: Configured, form: ValueForm
) -> None:
    with configured(TRANSACTION_VALUE_FORM=form):
        found = responses(new_shop, node)
    zero = big("0x00") if form == "bignumber" else 0
    coins = hex(HALF_A_COIN) if form == "plain" else big("0x06f05b59d3b20000")
    with_coins = {"coin", "batch with coins", "safe"}
    for kind, body in found.items():
        values = [each["value"] for each in transactions_in(body)]
        assert values, kind
        assert all(value in (zero, coins) for value in values), kind
        assert (coins in values) is (kind in with_coins), kind
    assert found["safe"]["safeTransaction"]["value"] == "0", "the form of Safe's own libraries, decimal text"


def test_the_front_ends_that_the_documents_name_for_each_form_send_the_right_quantity(
    shop: Shop, configured: Configured
) -> None:
    """Whatever form it is in, ethers 5 reads a value; the others read those that the table says."""
    asked, forms = [], []
    for form in FORMS:
        with configured(TRANSACTION_VALUE_FORM=form):
            asked += pay(shop, shop.link())["transactions"][:1] + pay(shop, shop.link(native()))["transactions"]
            forms.append(form)
    answers = node.run("values.js", asked)
    expected = ["0x0", hex(HALF_A_COIN)]
    able: dict[str, set[str]] = {}
    for form, pair in zip(forms, zip(answers[::2], answers[1::2], strict=True), strict=True):
        for reader in pair[0]:
            quantities = [each[reader] for each in pair]
            assert all(found in (None, right) for found, right in zip(quantities, expected, strict=True)), reader
            able.setdefault(reader, set())
            if quantities == expected:
                able[reader].add(form)
    documented = {row[0]: set(named(row[1])) for row in DOCS["operations"].rows("Front end", "Forms it reads")}
    assert able == documented


def test_links_requests_and_payouts_each_have_their_published_form_by_default(new_shop: Shop) -> None:
    shop = new_shop
    assert [each["value"] for each in pay(shop, shop.link(native()))["transactions"]] == [hex(HALF_A_COIN)]
    created = shop.send("POST", "/v2/request", native()).json
    owed = shop.get(f"/v2/request/{created['requestId']}/pay").json
    assert [each["value"] for each in owed["transactions"]] == [big("0x06f05b59d3b20000")]
    payout = shop.send("POST", "/v2/payouts", item()).json
    assert [each["value"] for each in payout["transactions"]] == [big("0x00"), big("0x00")]
    batch = shop.send("POST", "/v2/payouts/batch", {"requests": [item(), native()]}).json
    assert [each["value"] for each in batch["ERC20ApprovalTransactions"]] == [0]
    assert batch["batchPaymentTransaction"]["value"] == big("0x06f05b59d3b20000")
    assert batch["transactions"] == [*batch["ERC20ApprovalTransactions"], batch["batchPaymentTransaction"]]
