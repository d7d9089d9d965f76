"""A commerce payment at the dashboard: captured in part, voided and refunded by the wallet that operates it; and the
timeline, from the payment to what webhooks heard of it."""

from typing import Any

import pytest
from playwright.sync_api import expect

from chalicelib.platform.access.idempotency.rules import RESPONSE_LOST, STILL_RUNNING
from chalicelib.platform.access.people.records import Role
from chalicelib.webhooks import publisher
from chalicelib.webhooks import store as event_store
from chalicelib.webhooks.deliveries import reading as delivery_reading
from chalicelib.webhooks.deliveries import store as delivery_store
from chalicelib.webhooks.deliveries.flows import deliver, fail
from tests.fakes.world import PAYEE
from tests.onchain.ledger import Ledger
from tests.onchain.payer import FUSDC
from tests.pages.conftest import NewVisitor
from tests.pages.dashboard.conftest import NewPerson, Person, StoredEvents
from tests.pages.dashboard.test_roles import give_role
from tests.pages.dashboard.test_use import receiver
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings
from tests.support.client import ORIGIN, item
from tests.support.running import running

pytestmark = pytest.mark.xdist_group("browser")
ROOT = "/v2/commerce-payments"


@pytest.fixture
def operator(stack: Stack) -> Purse:
    return Purse(stack.chain, "Operator")


def authorized(stack: Stack, person: Person, operator: Purse, payer: Purse) -> str:
    """The id of a payment of 100 fUSDC of the person's account, which are held; its operator is that wallet."""
    client = {"label": "escrow", "allowedDomains": [ORIGIN], "operatorWalletAddress": operator.address}
    headers = {"x-client-id": person.call("POST", "/v1/client-ids", client, 201)["clientId"], "origin": ORIGIN}

    def asked(method: str, path: str, body: Any = None) -> Any:
        reply = stack.shop.api.request(method, path, body, headers)
        assert reply.status in (200, 201), reply.json
        return reply.json

    body = {"merchantId": "shop", "merchantAddress": PAYEE, "amount": "100000000", "paymentCurrency": "fUSDC-sepolia"}
    made = asked("POST", f"{ROOT}/authorize/calldata", {**body, "buyerAddress": payer.address})
    for purse, transactions in (
        (payer, made["transactions"]),
        (operator, asked("POST", f"{ROOT}/{made['requestId']}/authorize/calldata", {})["transactions"]),
    ):
        for each in transactions:
            purse.send({"from": purse.address, "to": each["to"], "data": each["data"], "value": "0x0"})
    stack.settle()
    return str(made["requestId"])


def operates(stack: Stack, person: Person, name: str, amount: str | None = None) -> None:
    """Has the operator's wallet do it, and the service sees it."""
    person.page.get_by_role("button", name=name, exact=True).click()
    dialog = person.page.get_by_role("dialog")
    if amount is not None:
        person.fill("Amount", amount)
    dialog.get_by_role("button", name=name, exact=True).click()
    person.click("Use Operator").sees("It was sent.").click("Close")
    stack.settle()


def test_what_is_held_is_captured_in_part_voided_and_refunded_by_its_operator(
    stack: Stack, purse: Purse, operator: Purse, new_person: NewPerson
) -> None:
    person, ledger = new_person(operator).register(), Ledger(stack.chain, [FUSDC], [purse.address, PAYEE])
    request_id = authorized(stack, person, operator, purse)
    person.at(f"/request/{request_id}").sees("Held in escrow").sees("100 fUSDC-sepolia").sees("Put into escrow")
    expect(person.page.get_by_role("button", name="Change the note")).to_be_visible()
    expect(person.page.get_by_role("button", name="Cancel the link")).to_have_count(0)
    person.click("Capture").sees(f"from {purse.address[:8]}").sees("At most 100 fUSDC-sepolia, until ")
    assert axe_findings(person.page) == []
    for wrong in ("100.000001", "0", "1,000", "1.0000001"):
        person.fill("Amount", wrong)
        person.page.get_by_role("dialog").get_by_role("button", name="Capture", exact=True).click()
        person.sees("Write an amount above 0 and at most 100 fUSDC-sepolia, with at most 6 decimals.")
    person.click("Close")
    assert operator.asked.count("eth_sendTransaction") == 0
    operates(stack, person, "Capture", "60,5")
    expect(person.page.locator("section[aria-labelledby=held]")).to_contain_text("39.5 fUSDC-sepolia")
    operates(stack, person, "Void")
    expect(person.page.get_by_role("button", name="Void")).to_have_count(0)
    person.sees("Voided")
    operates(stack, person, "Refund", "0.5")
    person.sees("Partly refunded").sees("0.5 fUSDC-sepolia")
    assert ledger.moved() == {FUSDC: [-60_000_000, 60_500_000]}, "the operator refunds with tokens of its own"
    status = person.call("GET", f"{ROOT}/{request_id}/status")
    assert (status["capturedAmount"], status["voidedAmount"], status["refundedAmount"]) == ("60500000", "39500000", "500000")


def test_after_a_lost_answer_the_service_is_asked_by_the_same_key_and_support_is_offered_nothing(
    stack: Stack, purse: Purse, operator: Purse, new_person: NewPerson
) -> None:
    """The answer of an operation that the service executes is made here: the stack has no account of its own."""
    person = new_person(operator).register()
    request_id = authorized(stack, person, operator, purse)
    asked, keys = list[Any](), list[str]()
    changes = {"isServiceOperator": True, "canRefund": True, "capturedAmount": "60000000", "feeAmount": "1500000", "refundedAmount": "500000"}
    person.page.route(f"**{ROOT}/*/status", lambda route: route.fulfill(json={**route.fetch().json(), **changes}))

    def execute(route: Any) -> None:
        asked.append(route.request.post_data_json)
        keys.append(route.request.headers["idempotency-key"])
        refusal = {"statusCode": 409, "message": "Only 100000000 are held", "error": "Conflict"}
        if len(asked) == 1:
            route.fulfill(status=409, json=refusal)
        else:
            route.abort() if len(asked) == 2 else route.fulfill(json={"status": "CAPTURING"})

    person.page.route(f"**{ROOT}/*/capture", execute)
    person.at(f"/request/{request_id}").sees("This service").click("Capture").fill("Amount", "12.5")
    capture = person.page.get_by_role("dialog").get_by_role("button", name="Capture", exact=True)
    capture.click()
    person.sees("Only 100000000 are held")
    expect(person.page.get_by_label("Amount", exact=True)).to_have_value("12.5")
    capture.click()
    person.sees("could not be reached")
    capture.click()
    expect(person.page.get_by_role("dialog")).to_have_count(0)
    assert asked == [{"captureAmount": "12500000"}] * 3
    assert keys[0] != keys[1] and keys[1] == keys[2], "a refusal has done nothing, a lost answer maybe"
    assert all("Idempotency-Key" in each for each in (RESPONSE_LOST, STILL_RUNNING)), "by which these 409 are told apart"
    person.click("Capture").fill("Amount", "12.5")
    capture.click()
    expect(person.page.get_by_role("dialog")).to_have_count(0)
    assert asked[3] == asked[2] and keys[3] != keys[2], "it is another part"
    person.click("Refund").sees("At most 58 fUSDC-sepolia")  # what the merchant has had, without the fees
    give_role(stack, person, Role.SUPPORT)
    person.at(f"/request/{request_id}").sees("Held in escrow").sees("This service")
    for name in ("Capture", "Void", "Refund"):
        expect(person.page.get_by_role("button", name=name, exact=True)).to_have_count(0)


def test_the_timeline_tells_what_each_webhook_heard_and_sends_it_again(
    stack: Stack, purse: Purse, new_person: NewPerson, new_visitor: NewVisitor
) -> None:
    with receiver(500, 200) as url:
        person = new_person().register()
        person.call("POST", "/v1/webhook", {"url": url, "events": ["payment.confirmed"]}, 201)
        made = person.call("POST", "/v2/secure-payments", {"requests": [item()]}, 201)
        other = person.call("POST", "/v2/secure-payments", {"requests": [item()]}, 201)
        visitor = new_visitor(purse).open(made["token"]).connect(purse).pay("confirming")
        stack.settle()
        visitor.reach("completed")
        request_id = made["requestIds"][0]
        (event,) = person.call("GET", f"/v1/webhook/events?requestId={request_id}")["events"]
        assert person.call("GET", f"/v1/webhook/events?requestId={other['requestIds'][0]}")["events"] == []
        person.at(f"/request/{request_id}").sees("Paid in full").sees("Webhooks were not told of it yet.")
        with stack.lock:  # what the queues would do, up to the last attempt
            publisher.publish_events(running(), [event["id"]])
            (delivery,) = deliveries_of(event["id"])
            deliver(running(), delivery, 0, in_slow_lane=False)
            attempted = delivery_store.find_delivery(running().store, delivery)
            assert attempted is not None and fail(running(), attempted)
        person.sees("payment.confirmed")
        row = person.page.locator(".timeline .delivery")
        expect(row).to_contain_text(url)
        expect(row).to_contain_text("Failed")
        expect(row).to_contain_text(" 500 ")
        link = person.page.locator(".timeline a[href^='https://sepolia.etherscan.io/tx/0x']").first
        assert link.get_attribute("rel") == "noopener noreferrer"
        row.get_by_role("button", name="Send it again").click()
        expect(row).to_contain_text("Waiting to be sent")
        with stack.lock:
            deliver(running(), delivery, 0, in_slow_lane=True)
        expect(row).to_contain_text("Delivered")  # without reloading
        person.page.evaluate("scrollTo(0, 0)")
        assert axe_findings(person.page) == []


def deliveries_of(event_id: str) -> list[str]:
    """The ids of the deliveries of an event."""
    event = event_store.event(running().store, event_id)
    assert event is not None
    return [each.delivery_id for each, _ in delivery_reading.of_event(running(), event.account_id, event_id)]


def test_a_timeline_says_that_there_are_more_events_and_reads_them_for_who_asks(stack: Stack, new_person: NewPerson) -> None:
    person = new_person().register()
    (request_id,) = person.call("POST", "/v2/secure-payments", {"requests": [item()]}, 201)["requestIds"]
    events = StoredEvents(stack, person)
    for _ in range(21):
        events.of("payment.partial", requestId=request_id)
    listed = person.at(f"/request/{request_id}").page.locator(".timeline li", has_text="payment.partial")
    person.sees("Of its events the newest 20 are listed.")
    expect(listed).to_have_count(20)
    person.page.locator("section", has=person.page.locator(".timeline")).get_by_role("button", name="Show more").click()
    expect(listed).to_have_count(21)
    expect(person.page.get_by_text("Of its events the newest")).to_have_count(0)
