"""Refunds at the dashboard: signed by the payee's wallet, on Tron too, or proposed to a Safe; in part, and of what was
paid twice."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import requests
from playwright.sync_api import expect

from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.safe import bundle
from chalicelib.chains.nodes.safes.service import SafeService
from infra.local.safe import SafeTransaction
from infra.local.safe_service import SafeTransactionService
from tests.pages.conftest import NewVisitor
from tests.pages.dashboard.conftest import NewPerson, Person
from tests.pages.purse import OK, REJECTS, Purse, SafePurse, TronPurse
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings
from tests.support.client import item
from tests.support.items import tron
from tests.support.patience import patience
from tests.support.rehearsed import rehearsed
from tests.support.running import run_on, running

pytestmark = pytest.mark.xdist_group("browser")


def pay(stack: Stack, purse: Purse, new_visitor: NewVisitor, made: Any) -> None:
    visitor = new_visitor(purse).open(made["token"]).connect(purse)
    visitor.pay("approve" if visitor.state == "approve" else "confirming")
    if visitor.state == "approve":
        visitor.pay("confirming")
    stack.settle()
    visitor.reach("completed")


def pay_again(stack: Stack, purse: Purse) -> None:
    """The same transactions once more, as a wallet sends them that a payer has pressed twice."""
    for found in [purse.chain.rpc("eth_getTransactionByHash", each) for each in purse.sent]:
        purse.send({"from": purse.address, "to": found["to"], "data": found["input"], "value": found["value"]})
    stack.settle()


@pytest.fixture
def payee(stack: Stack) -> Purse:
    return Purse(stack.chain, "Shop <i>wallet</i>")


def paid(stack: Stack, purse: Purse, person: Person, payee: Purse, new_visitor: NewVisitor) -> str:
    """A request that was paid to the payee; its id."""
    made = person.register().call("POST", "/v2/secure-payments", {"requests": [item(payee=payee.address)]}, 201)
    pay(stack, purse, new_visitor, made)
    return str(made["requestIds"][0])


def test_a_part_of_a_payment_is_refunded_by_the_wallet_that_received_it(
    stack: Stack, purse: Purse, payee: Purse, new_person: NewPerson, new_visitor: NewVisitor
) -> None:
    other = Purse(stack.chain, "Another wallet")
    person = new_person(payee, other)
    person.at(f"/request/{paid(stack, purse, person, payee, new_visitor)}").click("Refund").fill("Amount", "100").click("Go on")
    person.sees("can be refunded").fill("Amount", "1,000").click("Go on").sees("Write an amount such as")
    person.fill("Amount", "2,5").click("Go on").sees(f"{purse.address[:8]}…")
    expect(person.page.get_by_role("dialog").locator(".big")).to_have_text("2.5 fUSDC-sepolia")
    person.page.get_by_role("button", name="Use Another wallet").wait_for()
    assert axe_findings(person.page) == []
    person.click("Use Another wallet").sees("in your wallet: no other one can sign this")
    assert other.sent == []
    payee.says["eth_sendTransaction"] = REJECTS
    person.click("Use Shop <i>wallet</i>").sees("The wallet did not sign.")
    del payee.says["eth_sendTransaction"]
    person.click("Use Shop <i>wallet</i>").sees("It was sent.").page.reload()
    person.click("Refund").fill("Amount", "2.5").click("Go on").sees("This browser has sent such a refund already")
    expect(person.page.get_by_role("dialog").locator(".note.bad code")).to_have_attribute("title", payee.sent[-1])
    person.click("Close")
    stack.settle()
    person.sees("Refunded").sees("2.5 fUSDC-sepolia")
    assert person.call("GET", f"/v2/request/{person.page.url.rpartition('/')[2]}")["refundedAmount"] == "2.5"


@rehearsed
def test_what_was_paid_twice_is_refunded_from_the_timeline(
    stack: Stack, purse: Purse, payee: Purse, new_person: NewPerson, new_visitor: NewVisitor
) -> None:
    person = new_person(payee)
    request_id = paid(stack, purse, person, payee, new_visitor)
    pay_again(stack, purse)
    person.at("/mispayments").sees("Paid twice").page.locator("tbody a").first.click()
    person.heading("12.5 fUSDC-sepolia").sees("A refund is offered")
    person.page.locator(".timeline").get_by_role("button", name="Refund").click()
    person.sees("Signed by the payee's wallet").click("Use Shop <i>wallet</i>").sees("It was sent.").click("Close")
    person.page.locator(".timeline").get_by_role("button", name="Refund").click()
    person.sees("This browser has sent such a refund already").click("Close")
    stack.settle()
    expect(person.page.locator(".timeline").get_by_role("button", name="Refund")).to_have_count(0)
    found = person.call("GET", f"/v2/request/{request_id}/transfers")["transfers"]
    assert [each["refund"]["status"] for each in found if each["refund"]] == ["sent"]


@rehearsed
def test_a_refund_of_a_safe_is_proposed_with_a_file_and_executed_by_its_owners(
    stack: Stack, purse: Purse, new_person: NewPerson, new_visitor: NewVisitor
) -> None:
    person, shop = new_person(), SafePurse(stack.chain)
    request_id = paid(stack, purse, person, shop, new_visitor)
    person.at(f"/request/{request_id}").click("Refund").click("Go on").sees("Signed by the payee's wallet")
    person.page.get_by_text("It belongs to a Safe").click()
    person.sees("Or import this file in its Transaction Builder.")
    assert axe_findings(person.page) == []
    with person.page.expect_download() as download:
        person.click("Download for Safe")
    batch = json.loads(download.value.path().read_text())
    assert (batch["version"], batch["chainId"]) == ("1.0", str(stack.chain.chain_id))
    assert batch["meta"]["createdFromSafeAddress"] == shop.address
    calls = tuple(Transaction(each["to"], each["data"], int(each["value"])) for each in batch["transactions"])
    shop.safe.execute(shop.safe.transaction(vars(bundle(stack.chain.network, calls))))
    stack.settle()
    assert person.call("GET", f"/v2/request/{request_id}")["refundedAmount"] == "12.5"


@pytest.fixture
def safes(stack: Stack) -> Iterator[SafeTransactionService]:
    """The Safe Transaction Service of the chain, in the settings of the service."""
    with SafeTransactionService({"sepolia": stack.chain}) as service:
        with stack.lock:
            before = running()
            run_on(replace(before, safes=SafeService(service.urls)))
        yield service
        with stack.lock:
            run_on(before)


def test_an_owner_proposes_a_refund_to_the_safe_that_the_other_owner_confirms(
    stack: Stack, purse: Purse, new_person: NewPerson, new_visitor: NewVisitor, safes: SafeTransactionService
) -> None:
    owner, other, stranger = (Purse(stack.chain, name) for name in ("Owner <b>", "Other owner", "Stranger"))
    for each in (owner, other, stranger):
        each.signs_typed_data()
    shop = SafePurse(stack.chain, (owner.private_key.hex(), other.private_key.hex()))
    person = new_person(owner, stranger)
    request_id = paid(stack, purse, person, shop, new_visitor)
    person.at(f"/request/{request_id}").click("Refund").click("Go on").sees("Signed by the payee's wallet")
    person.page.get_by_text("It belongs to a Safe").click()
    person.click("Propose with Stranger").sees(f"{stranger.address} is not an owner of the Safe")
    owner.chain_id = 1
    owner.says["wallet_switchEthereumChain"] = OK
    person.click("Propose with Owner <b>").sees("The wallet is on another network.")
    del owner.says["wallet_switchEthereumChain"]
    signs, owner.says["eth_signTypedData_v4"] = owner.says["eth_signTypedData_v4"], REJECTS
    person.click("Propose with Owner <b>").sees("The wallet did not sign.")
    owner.says["eth_signTypedData_v4"] = signs
    assert axe_findings(person.page) == []
    person.click("Propose with Owner <b>").sees("Proposed with nonce 0. The other owners confirm it")
    person.page.reload()
    person.click("Refund").click("Go on").sees("This browser has sent such a refund already")
    person.page.get_by_text("It belongs to a Safe").click()
    person.click("Propose with Owner <b>").sees("This was proposed to the Safe already, with nonce 0")
    queue = requests.get(f"{safes.urls['sepolia']}/api/v1/safes/{shop.address}/multisig-transactions/", timeout=patience()).json()
    (proposed,) = queue["results"]
    assert [each["owner"] for each in proposed["confirmations"]] == [owner.address]
    made = SafeTransaction(proposed["to"], proposed["data"], 0, operation=proposed["operation"])
    confirmed = [bytes.fromhex(proposed["confirmations"][0]["signature"][2:]), other.sign_hash(proposed["safeTxHash"])]
    in_order = [each for _, each in sorted(zip((owner.address.lower(), other.address.lower()), confirmed, strict=True))]
    purse.send({"from": purse.address, "to": shop.address, "data": "0x" + made.call(b"".join(in_order)).hex(), "value": "0x0"})
    stack.settle()
    assert person.call("GET", f"/v2/request/{request_id}")["refundedAmount"] == "12.5"


@rehearsed
def test_a_refund_of_a_safe_where_the_service_knows_no_safes_says_so(
    stack: Stack, purse: Purse, new_person: NewPerson, new_visitor: NewVisitor
) -> None:
    owner, shop = Purse(stack.chain, "Owner"), SafePurse(stack.chain)
    person = new_person(owner)
    person.at(f"/request/{paid(stack, purse, person, shop, new_visitor)}").click("Refund").click("Go on")
    person.page.get_by_text("It belongs to a Safe").click()
    person.click("Propose with Owner").sees("this deployment has no Safe Transaction Service of sepolia")
    person.page.get_by_role("button", name="Download for Safe").wait_for()
    refusal = {"statusCode": 503, "message": "The Safe Transaction Service allows no more requests for now", "code": "safe_service_unavailable"}
    person.page.route("**/v2/safe-proposals", lambda route: route.fulfill(status=503, json=refusal))
    person.click("Propose with Owner").sees("The Safe Transaction Service allows no more requests for now")


@rehearsed
def test_a_payment_on_tron_is_refunded_by_the_wallet_of_the_payee(
    stack: Stack, tron_purse: TronPurse, new_person: NewPerson, new_visitor: NewVisitor
) -> None:
    shop, other = TronPurse(stack.tron, "Shop on Tron"), TronPurse(stack.tron, "Another wallet")
    person = new_person(other).register()
    made = person.call("POST", "/v2/secure-payments", {"requests": [tron(payee=shop.address)]}, 201)
    visitor = new_visitor(tron_purse).open(made["token"]).connect(tron_purse).pay("confirming")
    stack.settle("tron")
    visitor.reach("completed")
    path = f"/request/{made['requestIds'][0]}"
    person.at(path).click("Refund").fill("Amount", "2.5").click("Go on").sees("2.5 USDT-tron")
    person.click("Use Another wallet").sees("in your wallet: no other one can sign this")
    signer = new_person(shop)
    signer.email = person.email
    signer.sign_in().at(path).click("Refund").fill("Amount", "2.5").click("Go on")
    assert signer.page.get_by_text("It belongs to a Safe").count() == 0
    signer.click("Use Shop on Tron").sees("It was sent.").click("Close")
    stack.settle("tron")
    signer.sees("Refunded").sees("2.5 USDT-tron")
    assert person.call("GET", f"/v2/request/{made['requestIds'][0]}")["refundedAmount"] == "2.5"
