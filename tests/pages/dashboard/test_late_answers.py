"""Answers that come late or not at all, and people who change: nothing is shown of what was asked before, and no form is
sent for somebody else."""

import pytest
from playwright.sync_api import Route, expect

from tests.fakes.world import PAYEE, WALLET
from tests.pages.dashboard.conftest import NewPerson, Person
from tests.pages.dashboard.test_sign_in import fill_payment, signing
from tests.pages.dashboard.test_views import shown
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.support.client import item
from tests.support.rehearsed import rehearsed
from tests.support.stored_transfers import store_payment

pytestmark = pytest.mark.xdist_group("browser")


def refuse(route: Route) -> None:
    route.fulfill(status=503, json={"message": "x"})


def confirm(person: Person, label: str) -> None:
    person.click(label).page.get_by_role("dialog").get_by_role("button", name=label).click()


def test_what_was_returned_is_in_the_token_that_was_paid(new_person: NewPerson) -> None:
    person = new_person().register()
    made = person.call("POST", "/v2/secure-payments", {"requests": [item()]}, 201)
    (request_id,) = made["requestIds"]
    own = person.call("GET", f"/v2/request/{request_id}")
    in_euros = {**own, "invoiceCurrency": "EUR", "paidAmount": "100", "receivedAmount": "108", "refundedAmount": "54"}
    person.page.route(f"**/v2/request/{request_id}", lambda route: route.fulfill(json=in_euros))
    shown(person, f"/request/{request_id}").sees("Received")
    row = person.page.locator(".row", has=person.page.get_by_text("Refunded", exact=True))
    assert row.inner_text().split() == ["Refunded", "54", own["paymentCurrency"]]


def test_a_form_in_a_window_beside_is_not_sent_for_somebody_else(new_person: NewPerson) -> None:
    other = new_person().register()
    person = fill_payment(new_person().register().at("/create"))
    own, person.email = person.email, other.email
    person.sign_in()
    person.click("Create link").heading("Home").sees(other.email).sees("In another window somebody else has signed in")
    person.page.locator("main").get_by_role("button", name="Close").click()
    expect(person.page.get_by_text("In another window")).to_have_count(0)
    assert other.call("GET", "/v2/secure-payments")["securePayments"] == []
    person.page.reload()
    person.heading("Home")
    expect(person.page.get_by_text("In another window")).to_have_count(0)
    person.email = own
    assert person.sign_in().call("GET", "/v2/secure-payments")["securePayments"] == []


def test_nothing_is_made_for_somebody_else_while_it_is_unknown_who_is_signed_in(new_person: NewPerson) -> None:
    other = new_person().register()
    person = fill_payment(new_person().register().at("/create"))
    person.email = other.email
    person.sign_in().page.route("**/v1/auth/me", refuse)
    person.page.evaluate("dispatchEvent(new Event('focus'))")
    person.click("Create link").sees("The service has a problem")
    expect(person.page.get_by_label("Reference", exact=True)).to_have_value("INV-7")
    assert other.call("GET", "/v2/secure-payments")["securePayments"] == []
    person.page.unroute_all()
    person.page.evaluate("document.querySelector('form .action')?.click()")  # unless the page starts anew by itself
    person.heading("Home").sees(other.email)
    assert other.call("GET", "/v2/secure-payments")["securePayments"] == []


def test_an_account_that_is_chosen_in_a_window_beside_is_not_shown_in_the_view_of_another(new_person: NewPerson) -> None:
    ann, bob = new_person().register(), new_person().register()
    ann.call("PUT", "/v1/account", {"name": "Ann's shop"}, 200)
    secret = ann.call("POST", "/v1/invitations", {"role": "viewer", "email": bob.email}, 201)["secret"]
    joined = bob.call("POST", "/v1/auth/invitations/accept", {"secret": secret}, 200)["accountId"]
    shown(bob.unwatched(), "/keys")
    bob.call("POST", "/v1/auth/switch", {"accountId": joined}, 200)
    bob.click("Webhooks", "link").heading("Home")
    expect(bob.page.locator(".person summary")).to_have_text("Ann's shop")


def test_a_call_of_a_session_that_was_replaced_is_made_again_with_the_new_one(new_person: NewPerson) -> None:
    person = shown(new_person().register().unwatched(), "")
    late = {"statusCode": 401, "message": "The session has ended", "error": "Unauthorized"}
    person.page.route("**/v1/webhook", lambda route: route.fulfill(status=401, json=late), times=1)
    person.sign_in().click("Webhooks", "link").heading("Webhooks").sees("No webhooks")
    expect(person.page.get_by_role("dialog")).to_have_count(0)


def test_while_it_is_unknown_whether_a_session_has_ended_nobody_is_asked_to_sign_in(new_person: NewPerson) -> None:
    person = shown(new_person().register().unwatched(), "")
    late = {"statusCode": 401, "message": "The session has ended", "error": "Unauthorized"}
    person.page.route("**/v1/webhook", lambda route: route.fulfill(status=401, json=late), times=1)
    person.page.route("**/v1/auth/me", refuse)
    person.click("Webhooks", "link").heading("Webhooks").sees("The service has a problem")
    expect(person.page.get_by_role("dialog")).to_have_count(0)
    person.page.unroute_all()
    person.click("Try again").sees("No webhooks")


@rehearsed
def test_one_more_step_proves_presence_and_has_a_way_out(new_person: NewPerson) -> None:
    person = new_person().register().unwatched()
    me = {**person.call("GET", "/v1/auth/me"), "secondFactorMissing": True, "proofs": ["password"]}
    refused = {"statusCode": 403, "code": "presence_required", "proofs": ["password"], "message": "x", "error": "Forbidden"}
    person.page.route("**/v1/auth/me", lambda route: route.fulfill(json=me))
    person.page.route("**/v1/passkeys/options", lambda route: route.fulfill(status=403, json=refused))
    person.at().heading("One more step").page.locator("main form button").click()
    person.sees("Is it you?").page.get_by_role("dialog").get_by_role("button", name="Close").click()
    person.page.unroute_all()
    person.page.locator(".person summary").click()
    person.click("Sign out").heading("Sign in")


@rehearsed
def test_a_list_shows_nothing_of_the_filter_before(new_person: NewPerson) -> None:
    person = new_person().register().unwatched()
    made = person.call("POST", "/v2/secure-payments", {"requests": [item()], "reference": "AAA"}, 201)
    store_payment(made["token"], 12_500_000)
    shown(person, "/payments").sees("12.5 fUSDC-sepolia")
    waiting: list[Route] = []
    person.page.route("**/v2/payments*", lambda route: waiting.append(route))
    person.page.locator("details.filter summary").click()
    person.fill("Reference", "ZZZ").click("Show").until_url("**reference=ZZZ")
    person.sees("Loading")
    expect(person.page.locator("tbody tr")).to_have_count(0)
    for each in waiting:
        refuse(each)
    person.sees("The service has a problem")
    expect(person.page.locator("tbody tr")).to_have_count(0)


@rehearsed
def test_the_fields_of_a_filter_are_those_of_the_url(new_person: NewPerson) -> None:
    person = shown(new_person().register(), "/payments?reference=AAA")
    reference = person.page.get_by_label("Reference", exact=True)
    person.fill("Reference", "BBB").click("Show").until_url("**reference=BBB")
    person.page.go_back()
    person.until_url("**reference=AAA")
    expect(reference).to_have_value("AAA")
    person.click("Show all", "link").page.locator("details.filter summary").click()
    expect(reference).to_have_value("")


@rehearsed
def test_a_picture_of_30_days_is_not_said_to_be_of_90(new_person: NewPerson) -> None:
    person = shown(new_person().register().unwatched(), "")
    made = person.call("POST", "/v2/secure-payments", {"requests": [item()]}, 201)
    store_payment(made["token"], 12_500_000)
    bars = shown(person, "").page.locator("svg.bars rect")
    expect(bars).to_have_count(30)
    person.page.route("**/v2/payments*", refuse)
    person.choose("Days", "90").sees("The service has a problem")
    expect(bars).to_have_count(30)
    person.page.unroute_all()
    person.click("Try again")
    expect(bars).to_have_count(90)


@rehearsed
def test_who_signs_out_everywhere_passes_over_what_has_ended(new_person: NewPerson) -> None:
    person, elsewhere = new_person().register(), new_person()
    elsewhere.email = person.email
    elsewhere.sign_in()
    shown(person, "/security")
    third = new_person()
    third.email = person.email
    third.sign_in()
    elsewhere.call("POST", "/v1/auth/logout")
    confirm(person, "Sign out everywhere")
    person.heading("Sign in")
    assert third.context.request.get(f"{third.stack.pay_url}/v1/auth/me").status == 401


@rehearsed
def test_the_fees_of_an_amount_before_are_not_shown(new_person: NewPerson) -> None:
    person = new_person().register().at("/create").choose("Token", "fUSDC-sepolia").fill("Payee", PAYEE)
    asked: list[Route] = []
    person.page.route("**/fees/preview", lambda route: asked.append(route))

    def ask(amount: str) -> Route:
        before = len(asked)
        person.fill("Amount", amount).until(lambda: len(asked) > before)
        return asked[-1]

    first, second = ask("10"), ask("1000")
    second.continue_()
    person.sees("1,000 USD")
    with person.page.expect_response("**/fees/preview"):
        first.continue_()
    person.page.evaluate("new Promise((done) => setTimeout(done, 50))")  # the page has read it
    assert "1,000 USD" in person.page.locator("aside dl").inner_text()


@rehearsed
def test_a_destination_is_not_changed_before_the_tokens_are_known(stack: Stack, new_person: NewPerson) -> None:
    person = new_person(signing(Purse(stack.chain, "Ann's wallet"))).unwatched()
    person.at().click("Use Ann's wallet").heading("Home")
    person.page.route("**/v2/currencies*", refuse)
    person.at("/payees").sees("The service has a problem")
    expect(person.page.get_by_role("button", name="Save")).to_have_count(0)
    person.page.unroute_all()
    person.click("Try again")
    expect(person.page.get_by_role("button", name="Save")).to_be_visible()


@rehearsed
@pytest.mark.parametrize("name", ["constructor", "toString", "__proto__"])
def test_what_every_object_has_is_no_view(new_person: NewPerson, name: str) -> None:
    new_person().register().at(f"/{name}").sees("There is nothing here")


@rehearsed
def test_all_payouts_of_a_link_are_chosen_also_those_of_other_pages(new_person: NewPerson) -> None:
    person = new_person().register()
    row = {"payee": PAYEE, "amount": "10", "invoiceCurrency": "fUSDC-sepolia", "paymentCurrency": "fUSDC-sepolia"}
    person.call("POST", "/v2/secure-payments/payouts/batch", {"requests": [row] * 40, "creatorWalletAddress": WALLET}, 201)
    boxes = shown(person, f"/payouts?walletAddress={WALLET}").page.locator("tbody input[type=checkbox]")
    boxes.first.check()
    person.sees("400 fUSDC-sepolia").click("Show more")
    expect(boxes).to_have_count(40)
    expect(person.page.locator("tbody input:checked")).to_have_count(40)
    boxes.last.uncheck()
    expect(person.page.locator("tbody input:checked")).to_have_count(0)
