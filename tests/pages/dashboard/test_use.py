"""A merchant at the dashboard and a payer at the payment page: from the first link to the export."""

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import boto3
import pytest
from playwright.sync_api import Route, expect

from chalicelib.mail import store as mail_store
from chalicelib.mail.rules import owner_of
from chalicelib.webhooks.deliveries import store as delivery_store
from chalicelib.webhooks.deliveries.flows import deliver, fail
from tests.fakes.world import PAYEE, PREFIX, WALLET
from tests.pages.conftest import NewVisitor
from tests.pages.dashboard.conftest import PASSWORD, NewPerson, Person
from tests.pages.dashboard.test_sign_in import fill_payment, signing
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings
from tests.support.client import item
from tests.support.running import restart, running

pytestmark = pytest.mark.xdist_group("browser")


@contextmanager
def receiver(*statuses: int) -> Iterator[str]:
    """A receiver of webhooks that answers with these statuses, then with the last one."""
    left = list(statuses)

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(left.pop(0) if len(left) > 1 else left[0])
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hook"
        server.shutdown()


def link_of(person: Person, **changes: Any) -> Any:
    return person.call("POST", "/v2/secure-payments", {"requests": [item()], **changes}, 201)


def test_a_link_is_created_paid_by_somebody_else_seen_and_exported(
    stack: Stack, purse: Purse, new_person: NewPerson, new_visitor: NewVisitor
) -> None:
    person = fill_payment(new_person().register().at().click("Create a link", "link").heading("Create a link"))
    person.sees("12.5 fUSDC").sees("The payer pays").click("Create link").sees("The link is ready")
    expect(person.page.get_by_alt_text("QR code of the link")).to_be_visible()
    person.page.get_by_alt_text("QR code of the link").evaluate("image => image.decode()")
    url = str(person.page.get_by_role("link", name="Open as the payer sees it").get_attribute("href"))
    person.click("Follow it", "link").heading("12.5 fUSDC-sepolia").sees("Open")
    visitor = new_visitor(purse).open(url.partition("token=")[2]).connect(purse)
    visitor.pay("approve" if visitor.state == "approve" else "confirming")
    stack.settle()
    visitor.reach("completed")
    person.sees("Paid in full").sees("Transfer of 12.5 fUSDC-sepolia")  # without reloading
    person.click("Payments", "link").heading("Payments").sees("Sum of the 1 shown: 12.5 fUSDC-sepolia")
    with person.page.expect_download() as download:
        person.click("Download CSV")
    (line,) = csv.DictReader(io.StringIO(download.value.path().read_text()))
    assert (line["reference"], line["amount"], line["payee"]) == ("INV-7", "12.5", PAYEE)
    person.click("Home", "link").heading("Home").sees("at most 12.5 fUSDC-sepolia").sees("INV-7")


def test_problems_are_said_beside_their_fields_and_nothing_is_created(new_person: NewPerson) -> None:
    person = new_person().register().at("/create").choose("Kind", "batch").choose("Token", "fUSDC-sepolia")
    person.click("Add a payment")
    payees, amounts = person.page.get_by_label("Payee", exact=True), person.page.get_by_label("Amount", exact=True)
    payees.nth(0).fill("TJRabPrwbZy45sbavfcjinPJC18kjpRTv8")
    payees.nth(1).fill("0x12")
    amounts.nth(0).fill("1,000")
    amounts.nth(1).fill("1.234.567")
    person.click("Create link").sees("Nothing was created")
    described = [str(each.get_attribute("aria-describedby")) for each in (payees.nth(0), payees.nth(1), amounts.nth(0), amounts.nth(1))]
    said = [person.page.locator(f"#{each.split()[-1]}").inner_text() for each in described]
    assert [each[:20] for each in said] == ["This is a Tron addre", "This is no address: ", "Write an amount such", "Write an amount such"]
    payees.nth(0).fill(PAYEE)
    payees.nth(1).fill(PAYEE)
    amounts.nth(0).fill("1000,5")
    amounts.nth(1).fill("2")
    person.click("Create link").sees("The link is ready")
    (made,) = person.call("GET", "/v2/secure-payments")["securePayments"]
    requests = person.call("GET", "/v2/request?cursor=")["requests"]
    assert made["paymentType"] == "batch" and sorted(each["amount"] for each in requests) == ["1000.5", "2"]


def test_what_the_api_refuses_is_said_and_the_form_stays(new_person: NewPerson) -> None:
    """No response, too many calls, a conflict, a failure: the second attempt creates one link, by the same key."""
    person = fill_payment(new_person().register().at("/create"))
    keys: list[str] = []
    answers = iter([
        (0, {}, {}, "The service could not be reached"),
        (429, {"retry-after": "17"}, {}, "Try again in 17 seconds"),
        (409, {}, {}, "It is so"),
        (409, {}, {"code": "changed_meanwhile"}, "Somebody changed it at the same moment"),
        (503, {"x-request-id": "req-9"}, {}, "tell the operator this number: req-9"),
        (504, {}, {}, "if it stays, tell the operator."),
    ])  # fmt: skip
    now: list[Any] = []

    def answer(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        if not now:
            return route.continue_()
        status, headers, more, _ = now[0]
        body = json.dumps({"statusCode": status, "message": "It is so", "error": "x", **more})
        return route.fulfill(status=status, headers=headers, body=body, content_type="application/json") if status else route.abort()

    person.page.route("**/v2/secure-payments", answer)
    for expected in answers:
        now[:] = [expected]
        person.click("Create link").sees(expected[-1])
        assert person.page.get_by_label("Reference", exact=True).input_value() == "INV-7"
    now.clear()
    person.click("Create link").sees("The link is ready")
    assert len(set(keys)) == 1 and len(keys) == 7


def test_a_list_opens_page_by_page_and_its_filters_stand_in_the_url(new_person: NewPerson) -> None:
    person = new_person().register()
    for number in range(27):
        link_of(person, reference=f"INV-{number}")
    person.at("/requests").sees("INV-26")
    rows = person.page.locator("tbody tr")
    expect(rows).to_have_count(25)
    person.click("Show more")
    expect(rows).to_have_count(27)
    person.page.locator("details.filter summary").click()
    person.choose("State", "paid").click("Show").sees("Nothing matches")
    assert person.page.url.endswith("/dashboard/requests?status=paid")
    person.page.go_back()
    expect(rows).to_have_count(25)
    person.page.go_forward()
    person.click("Show all", "link")
    expect(rows).to_have_count(25)
    person.at("/links?reference=INV-4")
    expect(rows).to_have_count(1)


def test_what_does_not_exist_or_belongs_to_another_account_is_said(new_person: NewPerson) -> None:
    other = link_of(new_person().register())["requestIds"][0]
    person = new_person().register()
    for path, text in (("/no-such-view", "There is nothing here"), (f"/request/{other}", "not found"), ("/request/%zz", "request"), ("/webhook/x", "no such webhook")):
        person.at(path).page.wait_for_load_state("networkidle")
        assert text.lower() in person.page.inner_text("main").lower(), path


def test_a_colleague_is_invited_and_joins_with_the_role(new_person: NewPerson) -> None:
    owner = new_person().register().at("/team").click("Invite")
    owner.fill("E-mail address or wallet", "bob@dashboard.example").choose("Role", "support")
    owner.page.get_by_role("dialog").get_by_role("button", name="Invite", exact=True).click()
    owner.sees("It is shown only this once")
    link = owner.page.locator("dialog code").inner_text()
    bob = new_person()
    bob.page.goto(link)
    bob.heading("Invitation").sees("invites bob@dashboard.example as Support").click("I am new here")
    bob.fill("Password", PASSWORD).click("Create an account").heading("Home")
    assert bob.call("GET", "/v1/auth/me")["role"] == "support"
    bob.at("/keys").heading("Not for your role")
    assert bob.page.get_by_role("link", name="API keys").count() == 0
    owner.click("Close").sees("bob@dashboard.example")
    owner.page.get_by_label("Role of bob@dashboard.example").select_option("developer")
    owner.page.get_by_role("row", name="bob@dashboard.example").get_by_role("button", name="Save").click()
    expect(owner.page.get_by_label("Role of bob@dashboard.example")).to_have_value("developer")
    bob.at("/keys").heading("API keys")
    owner.click("Leave").page.get_by_role("dialog").get_by_role("button", name="Leave").click()
    owner.sees("owner").click("Close").click("End sessions").page.get_by_role("dialog").get_by_role("button", name="End sessions").click()
    expect(owner.page.get_by_role("dialog")).to_have_count(0)
    assert bob.call("GET", "/v1/auth/me", expected=401)
    bob.at().heading("Sign in").fill("E-mail address", "bob@dashboard.example").fill("Password", PASSWORD).click("Sign in").heading("Home")
    bob.at("/team").click("Leave").page.get_by_role("dialog").get_by_role("button", name="Leave").click()
    bob.heading("Sign in")
    assert [each["role"] for each in owner.call("GET", "/v1/members")] == ["owner"]


def test_a_webhook_is_made_tested_and_a_failed_delivery_sent_again(stack: Stack, new_person: NewPerson) -> None:
    with receiver(500) as url:
        person = new_person().register().at("/webhooks").sees("No webhooks yet").click("New webhook")
        person.fill("URL", url).click("Create webhook").sees("It is shown only this once")
        assert len(person.page.locator("dialog code").inner_text()) > 20
        person.click("Close").click(url, "link").heading(url)
        person.click("Send a test")
        row = person.page.locator(".deliveries li").first
        expect(row).to_contain_text("payment.confirmed")
        webhook_id = person.page.url.rpartition("/")[2]
        (delivery,) = person.call("GET", f"/v1/webhook/{webhook_id}/deliveries")["deliveries"]
        with stack.lock:  # what takes it from the queue, and the last attempt
            deliver(running(), delivery["id"], 0, in_slow_lane=False)
            attempted = delivery_store.find_delivery(running().store, delivery["id"])
            assert attempted is not None and fail(running(), attempted)
        person.page.reload()
        row.locator("summary").first.click()
        expect(row).to_contain_text(" 500 ")
        row.get_by_text("Body", exact=True).click()
        assert json.loads(row.locator("pre").last.inner_text()) == delivery["body"] != {}
        assert axe_findings(person.page) == []
        with person.page.expect_response("**/redeliver") as sent:
            row.get_by_role("button", name="Send it again").click()
        assert sent.value.status == 202


def test_a_test_is_sent_to_the_webhook_that_is_shown_alone(new_person: NewPerson) -> None:
    """Also to one of a client id."""
    person = new_person().register()
    client = person.call("POST", "/v1/client-ids", {"label": "Shop", "allowedDomains": []}, 201)["clientId"]
    bodies = ({"url": "http://127.0.0.1:9999/one"}, {"url": "http://127.0.0.1:9999/two"}, {"url": "http://127.0.0.1:9999/shop", "clientId": client})
    webhooks = [person.call("POST", "/v1/webhook", body, 201)["id"] for body in bodies]
    for each in webhooks[1:]:
        person.at(f"/webhook/{each}").click("Send a test")
        expect(person.page.locator(".deliveries li")).to_have_count(1)
    assert [len(person.call("GET", f"/v1/webhook/{each}/deliveries")["deliveries"]) for each in webhooks] == [0, 1, 1]


def test_all_failed_deliveries_since_a_time_are_sent_again(new_person: NewPerson) -> None:
    """By as many calls as there are pages; what was queued before one of them failed is said."""
    person = new_person().register()
    webhook = person.call("POST", "/v1/webhook", {"url": "http://127.0.0.1:9999/hook"}, 201)
    person.at(f"/webhook/{webhook['id']}").click("Send all again").sees("Choose a day and a time")
    answers = iter([{"queued": 100, "nextCursor": "01M81GWADTG430DT5ZY44SN900"}, {"queued": 7, "nextCursor": None}])
    sent: list[dict[str, str]] = []

    def answer(route: Route) -> None:
        sent.append(route.request.post_data_json)
        route.fulfill(status=202, json=next(answers))

    person.page.route("**/redeliver", answer)
    person.fill("Failed since", "2026-03-15T10:00").click("Send all again").sees("107 deliveries will be sent again")
    assert [set(each) for each in sent] == [{"since"}, {"since", "cursor"}]


def test_what_failed_since_a_time_goes_to_the_receiver_again_and_a_webhook_is_deleted(stack: Stack, new_person: NewPerson) -> None:
    person = new_person().register()
    with receiver(500, 500, 204) as url:
        webhook = person.call("POST", "/v1/webhook", {"url": url}, 201)["id"]

        def deliveries() -> Any:
            return person.call("GET", f"/v1/webhook/{webhook}/deliveries")["deliveries"]

        def attempt() -> list[tuple[str, list[int]]]:
            """As workers do that take them from the queue; the state of each, and what the receiver said to its attempts."""
            ids = [each["id"] for each in deliveries()]
            with stack.lock:
                for each in ids:
                    deliver(running(), each, 0, in_slow_lane=True)
            return [(each["state"], [made["status"] for made in each["attempts"]]) for each in deliveries()]

        for _ in range(2):
            person.call("POST", "/v1/webhook/test", {"eventType": "payment.confirmed", "webhookId": webhook}, 201)
        assert attempt() == [("pending", [500])] * 2
        ids = [each["id"] for each in deliveries()]
        with stack.lock:  # their last attempts
            for each in ids:
                attempted = delivery_store.find_delivery(running().store, each)
                assert attempted is not None and fail(running(), attempted)
        person.at(f"/webhook/{webhook}").fill("Failed since", "2026-01-01T00:00").click("Send all again").sees("2 deliveries will be sent again")
        assert attempt() == [("delivered", [500, 204])] * 2
    person.click("Delete").sees(url).page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    person.sees("no such webhook")
    assert person.call("GET", "/v1/webhook") == []


@pytest.mark.parametrize("fiat", ["USD", "EUR"])
def test_an_amount_in_dollars_or_euros_is_asked_for_by_the_form(new_person: NewPerson, fiat: str) -> None:
    person = fill_payment(new_person().register().at("/create")).choose("Amount in", fiat).sees(f"12.5 {fiat}").sees("fUSDC")
    person.click("Create link").sees("The link is ready")
    (made,) = person.call("GET", "/v2/request?cursor=")["requests"]
    assert (made["amount"], made["invoiceCurrency"], made["paymentCurrency"]) == ("12.5", fiat, "fUSDC-sepolia")


def test_a_payout_is_asked_for_by_the_form(new_person: NewPerson) -> None:
    person = new_person().register().at("/create?kind=payout").choose("Token", "fUSDC-sepolia")
    person.fill("Recipient", PAYEE).fill("Amount", "3.5").fill("Wallet that pays it", WALLET).fill("Reference", "RENT")
    person.click("Create link").sees("The link is ready")
    person.at(f"/payouts?walletAddress={WALLET}").sees("RENT").sees("3.5 fUSDC-sepolia")
    (made,) = person.call("GET", f"/v2/request?walletAddress={WALLET}&securePaymentFlow=outgoing&cursor=")["requests"]
    assert (made["amount"], made["payee"], made["payer"]) == ("3.5", PAYEE, WALLET)


def test_a_key_is_shown_once_and_revoked_by_its_name(new_person: NewPerson) -> None:
    person = new_person().register().at("/keys").click("New API key")
    person.fill("Name", "Checkout").page.get_by_label("secure_payments:write").check()
    person.click("Create key").sees("It is shown only this once")
    key = person.page.locator("dialog code").inner_text()
    person.click("Close").sees("Checkout").sees("secure_payments: write")
    assert key not in person.page.content()
    person.click("Revoke").sees("Servers that use Checkout are refused from now on")
    person.page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    person.sees("No API keys yet")
    assert person.call("GET", "/v1/api-keys") == []


def test_an_unlimited_public_client_id_is_a_warning(new_person: NewPerson) -> None:
    person = new_person().register().at("/clients").click("New client ID")
    person.fill("Name", "Shop").fill("Domains of your pages", "https://shop.example").sees("a stranger can create links")
    person.click("Create client ID").sees("The client ID is ready").click("Close").sees("Anybody may be paid")
    person.click("New client ID").fill("Name", "Safe").fill("Domains of your pages", "https://safe.example")
    person.fill("Allowed payees", PAYEE).click("Create client ID").sees("The client ID is ready").click("Close").sees("Limited")


def test_links_of_mails_lead_to_pages_that_register_and_set_a_password(stack: Stack, new_person: NewPerson) -> None:
    """Opening a link uses nothing up; a link counts once, which the page says."""
    with sending_mail(stack) as sent:
        person = new_person().at("/register").fill("E-mail address", "mia@dashboard.example").fill("Password", PASSWORD)
        person.click("Create an account").heading("Look into your e-mail").sees("mia@dashboard.example")
        person.page.goto(sent())
        person.heading("Confirm your address").page.reload()
        person.heading("Confirm your address").click("Confirm address").heading("Address confirmed")
        person.fill("Password", PASSWORD).click("Sign in").heading("Home")
        other = new_person().at("/forgot").fill("E-mail address", "mia@dashboard.example").click("Send link")
        other.heading("Look into your e-mail")
        link = sent()
        other.page.goto(link)
        other.heading("Set a new password").fill("Password", "another horse").click("Set password").heading("Password set")
        person.click("Requests", "link").sees("Your session has ended")
        other.fill("E-mail address", "mia@dashboard.example").fill("Password", "another horse").click("Sign in").heading("Home")
        other.page.goto(link)
        other.page.reload()
        other.heading("Set a new password").fill("Password", "third horse").click("Set password")
        expect(other.page.get_by_role("alert")).to_be_visible()


@contextmanager
def sending_mail(stack: Stack) -> Iterator[Callable[[], str]]:
    """The stack with a sender of e-mail; yields what reads the link of the next message."""
    queue = boto3.client("sqs").create_queue(QueueName=f"{PREFIX}-mails")["QueueUrl"]

    def link() -> str:
        (message,) = boto3.client("sqs").receive_message(QueueUrl=queue, WaitTimeSeconds=5)["Messages"]
        boto3.client("sqs").delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        mail_id = json.loads(message["Body"])["mailId"]
        mail = mail_store.mail(running().store, mail_id)
        assert mail is not None and mail.sealed is not None
        return str(json.loads(running().secrets.decrypt(mail.sealed, owner_of(mail_id)))["link"])

    with stack.lock:
        os.environ["MAIL_SENDER"] = "no-reply@dashboard.example"
        restart()
    try:
        yield link
    finally:
        with stack.lock:
            del os.environ["MAIL_SENDER"]
            restart()


def test_who_signs_in_by_a_wallet_adds_an_address(stack: Stack, new_person: NewPerson) -> None:
    person = new_person(signing(Purse(stack.chain, "Shop wallet"))).at().click("Use Shop wallet").heading("Home")
    person.at("/security").fill("E-mail address", "shop@dashboard.example").click("Add an address").sees("This service sends no e-mails")
    with sending_mail(stack) as sent:
        person.fill("E-mail address", "no address").click("Add an address")
        expect(person.page.locator("form [role=alert]")).to_have_count(1)
        person.fill("E-mail address", "shop@dashboard.example").click("Add an address").sees("A link was sent to shop@dashboard.example")
        person.page.goto(sent())
        person.heading("Confirm your address").click("Confirm address").sees("shop@dashboard.example")
        person.at("/security").heading("Sign-in and sessions")
        expect(person.page.get_by_role("row", name="shop@dashboard.example")).to_be_visible()
