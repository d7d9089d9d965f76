"""POST and DELETE /v2/secure-payments/{token}/intent, and what everybody hears while the link waits."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction, LinkAnnouncements
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning.records import Cursor
from tests.support.browser import BY_PAGE
from tests.support.client import Reply, Shop, item
from tests.support.node import Node
from tests.support.running import running
from tests.support.stored_links import TX_HASH, complete, expire

SAFE = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
HASH, OTHER_HASH = "0x" + "ab" * 32, "0x" + "cd" * 32
CONTRACT = "0x" + "22" * 20
BODY = {"safeTxHash": HASH, "chain": "SEPOLIA", "token": "USDC"}
DEADLINE = 4_000_000_000


@pytest.fixture(autouse=True)
def scanned(shop: Shop, node: Node) -> None:
    """Detection has begun on sepolia, and of two contracts there one is a Safe."""
    node.contracts |= {SAFE.lower(), CONTRACT}
    node.safes.add(SAFE.lower())
    if running().store.get(Cursor, Cursor.KEY.of(network="sepolia")) is None:
        running().store.write(Cursor("sepolia", 100, (), 2000))


def announce(shop: Shop, link: str, /, **changes: Any) -> Reply:
    body = {name: value for name, value in {**BODY, **changes}.items() if value is not None}
    return shop.send("POST", f"/v2/secure-payments/{link}/intent", body)


def request_id(shop: Shop, token: str) -> str:
    found: str = shop.get(f"/v2/secure-payments/{token}").json["requestIds"][0]
    return found


def stored(token: str) -> LinkAnnouncements | None:
    return running().store.get(LinkAnnouncements, LinkAnnouncements.KEY.of(link_token=token))


def announced_of(token: str) -> AnnouncedTransaction | None:
    found = stored(token)
    return found.first if found is not None else None


def test_it_answers_with_what_was_sent_and_nothing_else(shop: Shop) -> None:
    token = shop.link()
    reply = announce(shop, token, safePaymentDeadline=DEADLINE, payerAddress=SAFE.lower())
    assert reply.status == 200
    body = reply.json
    kept = announced_of(token)
    assert kept is not None
    assert body == {
        "intentId": kept.announced_id,
        "paymentReference": body["paymentReference"],
        "txHash": None,
        "safeTxHash": HASH,
        "safePaymentDeadline": DEADLINE,
        "isListening": True,
        "payerAddress": SAFE,
    }
    assert len(body["paymentReference"]) == 18 and body["paymentReference"].startswith("0x")
    least = announce(shop, shop.link()).json
    assert set(least) == {"intentId", "paymentReference", "txHash", "safeTxHash", "isListening"}


def test_an_api_key_may_announce_too(shop: Shop) -> None:
    path = f"/v2/secure-payments/{shop.link()}/intent"
    assert shop.api.request("POST", path, BODY, shop.by_key).status == 200


@pytest.mark.parametrize("rest", ["", "/pay"])
@pytest.mark.parametrize("deadline", [None, DEADLINE])
def test_what_payers_read_of_a_link_that_waits_is_423_with_its_facts(shop: Shop, rest: str, deadline: int | None) -> None:
    token = shop.link()
    id = request_id(shop, token)
    assert announce(shop, token, safePaymentDeadline=deadline).status == 200
    reply = shop.get(f"/v2/secure-payments/{token}{rest}")
    facts = {"requestId": id, "hasBeenPaid": False, "safeTxHash": HASH, "chainId": 11155111}
    deadlines = {"safePaymentDeadline": deadline} if deadline else {}
    assert reply.status == 423
    assert reply.json == {
        "statusCode": 423,
        "message": "Secure payment is in progress",
        "error": "Locked",
        "status": "pending",
        "branding": None,
        "redirectUrl": None,
        "redirectLabel": None,
        "requestStatuses": [{**facts, **deadlines}],
    }


def test_the_same_transaction_is_reused_and_another_one_is_waited_for_too(shop: Shop) -> None:
    token = shop.link()
    first = announce(shop, token, safeTxHash=HASH.upper().replace("0X", "0x"))
    assert first.json["safeTxHash"] == HASH
    assert announce(shop, token).json == first.json
    other = announce(shop, token, safeTxHash=OTHER_HASH)
    assert (other.status, other.json["intentId"] == first.json["intentId"]) == (200, False)
    assert shop.get(f"/v2/secure-payments/{token}").json["requestStatuses"][0]["safeTxHash"] == HASH, "the first one"


def test_a_link_is_readable_and_announced_for_again_when_the_transaction_failed(shop: Shop) -> None:
    token = shop.link()
    announce(shop, token)
    pending = stored(token)
    assert pending is not None
    running().store.write(replace(pending, first=replace(pending.first, status=AnnouncedStatus.FAILED)))
    assert shop.get(f"/v2/secure-payments/{token}/pay").status == 200
    again = announce(shop, token)
    assert (again.status, again.message) == (
        400,
        "This multisig transaction was executed or replaced already: propose a new one",
    )
    assert announce(shop, token, safeTxHash=OTHER_HASH).status == 200


def sent(shop: Shop, node: Node, link: str, **facts: str) -> str:
    """Puts a transaction among those that the node has, which pays the link unless `facts` are others; its hash."""
    reference = running_reference(link)
    data = "0xc219a14d" + reference[2:].ljust(64, "0")
    tx_hash = f"0x{len(node.transactions) + 1:064x}"
    fields = {"hash": tx_hash, "from": SAFE, "to": address_of(ERC20_FEE_PROXY, "sepolia"), "input": data, "nonce": "0x5"}
    node.transactions[tx_hash] = {**fields, **facts}
    return tx_hash


def running_reference(token: str) -> str:
    found = running().store.get(Request, Request.KEY.of(payable_id=token, position=0))
    assert found is not None
    return found.payment_reference


def announce_sent(shop: Shop, link: str, tx_hash: str, **changes: str) -> Reply:
    return announce(shop, link, safeTxHash=None, txHash=tx_hash, **changes)


def test_a_transaction_that_was_sent_is_announced_and_the_link_waits_for_it(shop: Shop, node: Node) -> None:
    token = shop.link()
    id, tx_hash = request_id(shop, token), sent(shop, node, token)
    reply = announce_sent(shop, token, tx_hash.upper().replace("0X", "0x"), payerAddress=SAFE)
    kept = announced_of(token)
    assert kept is not None
    assert (reply.status, reply.json) == (200, {
        "intentId": kept.announced_id,
        "paymentReference": running_reference(token),
        "txHash": tx_hash,
        "isListening": True,
        "payerAddress": SAFE,
    })
    assert announce_sent(shop, token, tx_hash).json == reply.json
    for rest in ("", "/pay"):
        reply = shop.get(f"/v2/secure-payments/{token}{rest}")
        assert (reply.status, reply.message) == (423, "Secure payment is in progress")
        status = {"requestId": id, "hasBeenPaid": False, "txHash": tx_hash, "chainId": 11155111}
        assert reply.json["requestStatuses"] == [status]
    assert withdraw(shop, token).status == 200
    assert shop.get(f"/v2/secure-payments/{token}/pay").status == 200


def test_a_hash_that_the_node_does_not_have_yet_is_accepted(shop: Shop) -> None:
    token = shop.link()
    reply = announce_sent(shop, token, HASH)
    assert (reply.status, set(reply.json)) == (200, {"intentId", "paymentReference", "txHash", "isListening"})
    assert shop.get(f"/v2/secure-payments/{token}/pay").status == 423


def test_a_transaction_that_does_not_pay_the_link_is_400_with_the_reason(shop: Shop, node: Node) -> None:
    token = shop.link()
    for facts in ({"to": CONTRACT}, {"input": "0x095ea7b3"}, {"to": None}):
        reply = announce_sent(shop, token, sent(shop, node, token, **facts))  # type: ignore[arg-type]
        assert (reply.status, reply.message) == (
            400, "This transaction does not pay this link: announce the payment, not an approval",
        )
    assert announced_of(token) is None


@pytest.mark.parametrize("odd", [{"input": "0xzz"}, {"hash": HASH}, {"nonce": "1"}, {"from": None}], ids=str)
def test_a_node_that_gives_something_else_for_a_transaction_is_503(shop: Shop, node: Node, odd: dict[str, Any]) -> None:
    token = shop.link()
    assert announce_sent(shop, token, sent(shop, node, token, **odd)).status == 503
    assert announced_of(token) is None


def withdraw(shop: Shop, link: str) -> Reply:
    return shop.api.request("DELETE", f"/v2/secure-payments/{link}/intent", None, shop.by_key)


def test_the_owner_withdraws_what_is_pending_and_the_link_is_free(shop: Shop) -> None:
    token = shop.link()
    first = announce(shop, token).json
    reply = withdraw(shop, token)
    assert (reply.status, reply.json) == (200, {"intentId": first["intentId"], "status": "lapsed"})
    assert shop.get(f"/v2/secure-payments/{token}/pay").status == 200
    for link in (token, shop.link()):
        reply = withdraw(shop, link)
        assert (reply.status, reply.message) == (404, "No announced transaction is pending for this link")


def test_payers_and_other_owners_withdraw_nothing(shop: Shop) -> None:
    token, other = shop.link(), Shop(shop.api)
    announce(shop, token)
    assert shop.send("DELETE", f"/v2/secure-payments/{token}/intent").status == 403
    for reply in (withdraw(other, token), withdraw(shop, "01M00000000000000000000000")):
        assert (reply.status, reply.message) == (404, "Secure payment not found")
    assert shop.get(f"/v2/secure-payments/{token}").status == 423


def test_the_transfers_of_a_completed_link_are_listed_though_its_announced_transaction_was_not_looked_at_yet(shop: Shop) -> None:
    token = shop.link()
    announce(shop, token)
    complete(token)
    assert shop.get(f"/v2/secure-payments/{token}/transfers").status == 200


def test_a_completed_link_is_409_also_for_the_transaction_that_paid_it(shop: Shop) -> None:
    token = shop.link()
    id = request_id(shop, token)
    announce(shop, token)
    complete(token)
    for safe_tx_hash in (HASH, OTHER_HASH):
        reply = announce(shop, token, safeTxHash=safe_tx_hash)
        assert reply.json == {
            "statusCode": 409,
            "message": "Secure payment has already been completed",
            "error": "Conflict",
            "status": "completed",
            "branding": None,
            "redirectUrl": None,
            "redirectLabel": None,
            "requestStatuses": [{"requestId": id, "hasBeenPaid": True, "txHash": TX_HASH}],
        }


def test_an_expired_link_is_403_unless_it_waits(shop: Shop) -> None:
    expired, waiting = shop.link(), shop.link()
    announce(shop, waiting)
    expire(expired)
    expire(waiting)
    refused = announce(shop, expired)
    assert (refused.status, refused.message) == (403, "Secure payment token expired or invalid status")
    assert shop.get(f"/v2/secure-payments/{waiting}").status == 423


def test_a_link_of_somebody_else_is_as_unknown_as_none(shop: Shop) -> None:
    token, other = shop.link(), Shop(shop.api)
    for reply in (announce(other, token), announce(shop, "01M00000000000000000000000")):
        assert (reply.status, reply.message) == (404, "Secure payment not found")


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"safeTxHash": None}, "Give exactly one of txHash and safeTxHash"),
        ({"txHash": HASH}, "Give exactly one of txHash and safeTxHash"),
        (
            {"safeTxHash": None, "txHash": HASH, "safePaymentDeadline": DEADLINE},
            "safePaymentDeadline can only be given with safeTxHash",
        ),
        ({"safePaymentDeadline": 1_700_000_000}, "safePaymentDeadline must be in the future"),
        ({"safePaymentDeadline": 0}, "safePaymentDeadline must be greater than 0"),
        ({"safePaymentDeadline": 10**20}, "safePaymentDeadline must be at most 253402300799"),
        ({"safePaymentDeadline": "4000000000"}, "safePaymentDeadline must be a whole number"),
        ({"safePaymentDeadline": True}, "safePaymentDeadline must be a whole number"),
        ({"safePaymentDeadline": 4e9 + 0.5}, "safePaymentDeadline must be a whole number"),
        ({"chain": None}, "chain is required"),
        ({"token": None}, "token is required"),
        ({"token": "x" * 21}, "token must have at most 20 characters"),
        (
            {"chain": "BASE"},
            "Unsupported crosschain configuration: this link is paid in fUSDC-sepolia on SEPOLIA, and not from USDC on BASE: fUSDC is not supported in crosschain payment.",
        ),
        (
            {"token": "USDT"},
            "Unsupported crosschain configuration: this link is paid in fUSDC-sepolia on SEPOLIA, and not from USDT on SEPOLIA",
        ),
        ({"payerAddress": "0x12"}, "payerAddress: Invalid Ethereum address"),
        (
            {"payerAddress": "0x" + "11" * 20},
            "payerAddress is not a contract on SEPOLIA: give the address of the Safe",
        ),
        ({"payerAddress": CONTRACT}, "payerAddress is not a Safe on SEPOLIA: give the address of the Safe"),
    ],
    ids=str,
)
def test_what_cannot_be_waited_for_is_400_with_the_reason(shop: Shop, changes: dict[str, Any], message: str) -> None:
    reply = announce(shop, shop.link(), **changes)
    assert (reply.status, reply.message) == (400, message)


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize("safe_tx_hash", ["", "0x", "0x" + "zz" * 32, "0x" + "ab" * 31, "0x" + "ab" * 33, "ab" * 33])
def test_a_hash_of_another_form_is_400(shop: Shop, safe_tx_hash: str) -> None:
    reply = announce(shop, shop.link(), safeTxHash=safe_tx_hash)
    assert (reply.status, reply.message) == (400, "safeTxHash must match the pattern ^0x[a-fA-F0-9]{64}$")


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize("chain", ["SOLANA", "sepolia", 5])
def test_a_chain_that_is_none_of_the_interfaces_is_400(shop: Shop, chain: Any) -> None:
    assert announce(shop, shop.link(), chain=chain).message.startswith("chain must be one of 'BASE'")


@pytest.mark.usefixtures("refused")
def test_a_node_that_does_not_answer_is_503_and_nothing_is_written(shop: Shop, node: Node) -> None:
    token = shop.link()
    node.status = 500
    assert announce(shop, token, payerAddress=SAFE).status == 503


def test_the_payment_page_says_what_to_do_once_it_has_announced_three_times_in_vain(shop: Shop) -> None:
    token = shop.link()

    def announce_by_page(safe_tx_hash: str) -> Reply:
        body = {**BODY, "safeTxHash": safe_tx_hash, "payerAddress": SAFE}
        return shop.api.request("POST", f"/v2/secure-payments/{token}/intent", body, BY_PAGE)

    for number in range(3):
        assert announce_by_page(f"0x{number:064x}").status == 200
        withdraw(shop, token)
    reply = announce_by_page(HASH)
    assert (reply.status, "execute yours, its payment is detected all the same" in reply.message) == (400, True)
    assert shop.get(f"/v2/secure-payments/{token}/pay").status == 200
    path = f"/v2/secure-payments/{token}/intent"
    assert announce(shop, token).status == 400, "a shop's client id is public, too"
    assert shop.api.request("POST", path, BODY, shop.by_key).status == 200


def test_what_one_link_waits_for_holds_no_other_one(shop: Shop) -> None:
    token, other = shop.link(), shop.link(item(amount="1"))
    announce(shop, token)
    assert announce(shop, other).status == 200
    third = shop.link()
    assert shop.get(f"/v2/secure-payments/{third}/pay").status == 200


@pytest.fixture
def refused() -> Iterator[None]:
    """No announced transaction is stored by the test."""
    began = time.time()
    yield
    items = running().store.client.scan(TableName="payment-requests-local-payments")["Items"]
    made = [entry for entry in items if entry["sk"]["S"] == "ANNOUNCED"]
    assert all(int(entry["created_at"]["N"]) < began * 1000 for entry in made)
