"""Changes that wait, for two people in two browsers: said, listed, approved, refused and withdrawn."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.pages.dashboard.conftest import PASSWORD, NewPerson, Person
from tests.pages.dashboard.test_sign_in import signing
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings
from tests.support.client import item
from tests.support.rehearsed import rehearsed

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture
def ann(stack: Stack, new_person: NewPerson) -> Person:
    """The owner of an account, who signs in with a wallet."""
    return new_person(signing(Purse(stack.chain, "Ann's wallet"))).at().click("Use Ann's wallet").heading("Home")


def joined(owner: Person, person: Person, email: str, role: str) -> Person:
    """The person, invited by the owner and signed in. Once a second person may approve, an invitation waits (202)."""
    made = owner.call("POST", "/v1/invitations", {"role": role, "email": email}, 201)
    person.email = email
    person.call("POST", "/v1/auth/invitations/register", {"secret": made["secret"], "password": PASSWORD}, 201)
    return person.sign_in()


def test_a_destination_that_one_person_asks_for_is_approved_by_another_one(ann: Person, new_person: NewPerson) -> None:
    """From then on the wallet is paid there; in between nothing has changed, which the dashboard says in words."""
    bob = joined(ann, new_person(), "bob@changes.example", "finance")
    ann.at("/payees").sees("No payee destination").choose("Token", "USDC-base").click("Save")
    ann.sees("Nothing has been changed yet. It waits for another person, or takes effect at ").click("Approvals", "link")
    ann.heading("Approvals").sees("A payee destination").sees("Base")
    assert ann.page.get_by_role("button", name="Approve").count() == 0, "nobody approves their own change"
    bob.at().sees("A change waits for approval: A payee destination").click("A change waits for approval: A payee destination", "link")
    bob.heading("Approvals").sees("Base").click("Approve").sees("takes effect at once")
    assert axe_findings(bob.page) == []
    bob.page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    bob.sees("In effect").sees("Approved by")
    assert bob.page.get_by_role("button", name="Refuse").count() == 0
    ann.at("/payees").sees("Active").sees("Base")
    ann.at().sees("Needs attention")
    expect(ann.page.locator(".loading")).to_have_count(0)
    expect(ann.page.locator("main")).not_to_contain_text("A change waits for approval")


@rehearsed
def test_a_secret_is_shown_with_the_words_that_it_does_not_work_yet(ann: Person, new_person: NewPerson) -> None:
    bob = joined(ann, new_person(), "rob@changes.example", "admin")
    ann.at("/keys").click("New API key").fill("Name", "Checkout").click("Create key").sees("Nothing has been changed yet.")
    ann.sees("it works as soon as the change has taken effect")
    ann.page.get_by_role("dialog", name="This waits for approval").get_by_role("button", name="Close").click()
    key = ann.page.locator("dialog code").inner_text()
    headers = {"x-api-key": key}
    asked: dict[str, Any] = {"data": {"requests": [item()]}, "headers": headers}
    assert ann.context.request.post(f"{ann.stack.api_url}/v2/secure-payments", **asked).status == 401
    ann.click("Close").sees("No API keys yet")
    bob.at("/changes").sees("Checkout").click("Approve")
    bob.page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    bob.sees("In effect")
    assert ann.context.request.post(f"{ann.stack.api_url}/v2/secure-payments", **asked).status == 201


@rehearsed
def test_what_waits_is_refused_by_another_person_or_withdrawn_by_who_asked(ann: Person, new_person: NewPerson) -> None:
    bob = joined(ann, new_person(), "rose@changes.example", "admin")
    eve = joined(ann, new_person(), "eve@changes.example", "viewer")
    for verb, person, state in (("Refuse", bob, "Refused"), ("Withdraw", ann, "Withdrawn")):
        ann.at("/team").page.get_by_label("Role of eve@changes.example").select_option("admin")
        ann.page.get_by_role("row", name="eve@changes.example").get_by_role("button", name="Save").click()
        ann.sees("Nothing has been changed yet.")
        eve.at("/changes").sees("Waits")
        assert eve.page.locator(".actions button").count() == 0
        person.at("/changes").click(verb)
        person.page.get_by_role("dialog").get_by_role("button", name=verb).click()
        person.sees(state)
        expect(person.page.get_by_role("button", name=verb)).to_have_count(0)
        ann.at("/team")
        expect(ann.page.get_by_label("Role of eve@changes.example")).to_have_value("viewer")


@rehearsed
def test_what_somebody_else_decided_at_the_same_moment_is_said(ann: Person, new_person: NewPerson) -> None:
    bob = joined(ann, new_person(), "bill@changes.example", "admin")
    change = ann.call("POST", "/v1/api-keys", {"label": "Server"}, 202)["pendingChange"]["id"]
    bob.at("/changes").click("Approve")
    ann.call("POST", f"/v1/changes/{change}/withdraw", expected=200)
    bob.page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    bob.sees("This change is withdrawn")


@rehearsed
def test_switching_approvals_off_waits_and_is_not_said_to_be_saved(ann: Person, new_person: NewPerson) -> None:
    bob = joined(ann, new_person(), "bea@changes.example", "owner")
    ann.at("/account").fill("Hours after which it takes effect unless somebody refuses it", "soon")
    ann.page.get_by_role("button", name="Save").first.click()
    expect(ann.page.get_by_role("alert")).to_be_visible()
    ann.at("/account").page.get_by_label("waits for a second person").uncheck()
    ann.page.get_by_role("button", name="Save").first.click()
    ann.sees("Nothing has been changed yet.")
    assert ann.page.get_by_text("Saved.").count() == 0
    assert ann.call("GET", "/v1/account")["approvals"] is True
    bob.at("/changes").sees("Settings of the account").sees("waits for a second person")


def test_what_a_change_does_to_each_record_is_shown_before_and_after(ann: Person, new_person: NewPerson) -> None:
    joined(ann, new_person(), "ben@changes.example", "owner")
    change = ann.call("POST", "/v1/api-keys", {"label": "Server"}, 202)["pendingChange"]
    effects = [
        {"resource": "client_id", "before": {"label": "Shop", "feePercentage": None}, "after": {"label": "Shop", "feePercentage": "5"}},
        {"resource": "webhook", "before": None, "after": {"url": "https://shop.example"}},
    ]
    page = {"changes": [{**change, "effects": effects}], "nextCursor": None}
    ann.page.route("**/v1/changes?*", lambda route: route.fulfill(json=page))
    ann.at("/changes").sees("Client ID: fee in percent").sees("– → 5").sees("Webhook: URL")
    assert ann.page.get_by_text("Shop → Shop").count() == 0
