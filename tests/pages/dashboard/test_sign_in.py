"""Signing in: by password, passkey and wallet, registering, leaving; and a session that ends in the middle of a form."""

from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from playwright.sync_api import expect

from infra.local.outsiders.laptop import AUTHENTICATOR
from tests.fakes.world import PAYEE
from tests.pages.dashboard.conftest import PASSWORD, NewPerson, Person
from tests.pages.purse import REJECTS, Purse, TronPurse
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings
from tests.support.client import item
from tests.support.rehearsed import rehearsed

pytestmark = pytest.mark.xdist_group("browser")


def signing(purse: Purse) -> Purse:
    """A wallet that signs texts."""

    def sign(text: str, address: str) -> dict[str, Any]:
        assert address.lower() == purse.address.lower()
        signed = Account.sign_message(encode_defunct(hexstr=text), purse._account.key)
        return {"result": f"0x{bytes(signed.signature).hex()}"}

    purse.says["personal_sign"] = sign
    return purse


def with_authenticator(person: Person) -> Person:
    cdp = person.context.new_cdp_session(person.page)
    cdp.send("WebAuthn.enable")
    cdp.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    return person


def fill_payment(person: Person) -> Person:
    return person.choose("Token", "fUSDC-sepolia").fill("Payee", PAYEE).fill("Amount", "12.50").fill("Reference", "INV-7")


def test_somebody_who_has_only_the_url_registers_and_comes_back_by_password(new_person: NewPerson) -> None:
    person = new_person().at().heading("Sign in").click("Create an account", "link").heading("Create an account")
    person.fill("E-mail address", "new@dashboard.example").fill("Password", "short").click("Create an account")
    person.sees("8 to 100 characters")
    person.fill("Password", PASSWORD).click("Create an account").heading("Home").sees("No payments yet")
    person.page.locator(".person summary").click()
    person.click("Sign out").heading("Sign in")
    person.fill("E-mail address", "new@dashboard.example").fill("Password", "wrong password").click("Sign in")
    expect(person.page.get_by_role("alert")).to_be_visible()
    assert person.page.get_by_label("E-mail address").input_value() == "new@dashboard.example"
    person.fill("Password", PASSWORD).click("Sign in").heading("Home")


def test_who_opens_a_view_signed_out_is_led_to_it_by_signing_in(new_person: NewPerson) -> None:
    person = new_person().register()
    person.call("POST", "/v1/auth/logout")
    person.at("/payments?reference=INV-7").heading("Sign in")
    person.fill("E-mail address", person.email).fill("Password", PASSWORD).click("Sign in").heading("Payments")
    assert person.page.url.endswith("/dashboard/payments?reference=INV-7")
    assert person.page.get_by_label("Reference", exact=True).input_value() == "INV-7"


def test_a_person_of_two_accounts_chooses_between_them(new_person: NewPerson) -> None:
    """Signing in leads to the one that was chosen or joined last; of each they see what their role there may."""
    ann, bob = new_person().register(), new_person().register()
    own = bob.call("GET", "/v1/auth/me")["id"]
    ann.call("PUT", "/v1/account", {"name": "Ann's shop"}, 200)
    ann.call("POST", "/v2/secure-payments", {"requests": [item()], "reference": "INV-OF-ANN"}, 201)
    secret = ann.call("POST", "/v1/invitations", {"role": "viewer", "email": bob.email}, 201)["secret"]
    bob.call("POST", "/v1/auth/invitations/accept", {"secret": secret}, 200)
    for name, may_make_keys in (("Ann's shop", False), (bob.email, True)):
        bob.call("POST", "/v1/auth/logout")
        bob.at().heading("Sign in").fill("E-mail address", bob.email).fill("Password", PASSWORD).click("Sign in").heading("Home")
        expect(bob.page.locator(".person summary")).to_have_text(name)
        expect(bob.page.get_by_role("link", name="API keys")).to_have_count(int(may_make_keys))
        bob.at("/links")
        expect(bob.page.get_by_text("INV-OF-ANN")).to_have_count(int(not may_make_keys))
        bob.page.locator(".person summary").click()
        assert axe_findings(bob.page) == []
        with bob.page.expect_navigation():
            bob.page.get_by_label("Account", exact=True).select_option(own)
        assert bob.call("GET", "/v1/auth/me")["id"] == own


def test_a_passkey_is_added_and_signs_in_without_a_name(new_person: NewPerson) -> None:
    person = with_authenticator(new_person().register()).at("/security")
    person.fill("Name of the device", "Laptop <b>").click("Add a passkey")
    expect(person.page.get_by_role("row", name="Laptop <b>")).to_be_visible()
    person.click("Rename").page.get_by_role("dialog").get_by_label("Name of the device").fill("Desk <i>")
    person.page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(person.page.get_by_role("row", name="Desk <i>")).to_be_visible()
    person.click("Sign out everywhere")
    person.page.get_by_role("dialog").get_by_role("button", name="Sign out everywhere").click()
    person.heading("Sign in").click("Use a passkey").heading("Sign-in and sessions")
    assert person.call("GET", "/v1/auth/me")["provedBy"] == "passkey"


def test_a_wallet_signs_in_and_one_that_refuses_is_said(stack: Stack, new_person: NewPerson) -> None:
    purse = signing(Purse(stack.chain, "Wallet <i>One</i>"))
    accepts = purse.says.pop("personal_sign")
    purse.says["personal_sign"] = REJECTS
    person = new_person(purse).at().click("Use Wallet <i>One</i>").sees("The wallet did not sign.")
    purse.says["personal_sign"] = accepts
    person.click("Use Wallet <i>One</i>").heading("Home")
    assert person.call("GET", "/v1/auth/me")["address"] == purse.address


@rehearsed
def test_a_tron_wallet_signs_in(stack: Stack, tron_purse: TronPurse, new_person: NewPerson) -> None:
    person = new_person(tron_purse)
    person.at().click(f"Use {tron_purse.name}").heading("Home")
    assert person.call("GET", "/v1/auth/me")["address"] == tron_purse.address


def test_a_session_that_ends_in_the_middle_of_a_form_loses_no_input(new_person: NewPerson) -> None:
    person = fill_payment(new_person().register().at("/create"))
    person.call("POST", "/v1/auth/logout")
    person.context.clear_cookies()
    person.click("Create link").sees("Your session has ended")
    dialog = person.page.get_by_role("dialog")
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    person.sees("The link is ready")
    assert [each["reference"] for each in person.call("GET", "/v2/secure-payments")["securePayments"]] == ["INV-7"]


def sign_in_over(person: Person) -> None:
    dialog = person.page.get_by_role("dialog", name="Your session has ended")
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    expect(dialog).to_have_count(0)


@rehearsed
def test_a_session_that_ends_in_a_dialog_in_the_account_and_in_branding_loses_no_input(new_person: NewPerson) -> None:
    """Signed in again over it, the call goes on with what was typed."""
    person = new_person().register()
    client = person.call("POST", "/v1/client-ids", {"label": "Shop", "allowedDomains": []}, 201)["id"]
    for path, opens, label, text, sends in (
        ("/webhooks", "New webhook", "URL", "http://127.0.0.1:9999/hook", "Create webhook"),
        ("/account", "", "Name of the account", "Ann's shop", "Save"),
        (f"/branding/{client}", "", "Terms", "https://shop.example/terms", "Save"),
    ):
        person.at(path)
        if opens:
            person.click(opens)
        field = person.page.get_by_label(label, exact=True)
        field.fill(text)
        person.context.clear_cookies()
        form = person.page.locator("form", has=field)
        form.get_by_role("button", name=sends, exact=True).click()
        person.sees("Your session has ended").sees("What you entered is still here.")
        assert field.input_value() == text, path
        with person.page.expect_response(lambda each: each.request.method in ("POST", "PUT") and "/auth/" not in each.url and each.ok):
            sign_in_over(person)
    assert [each["url"] for each in person.call("GET", "/v1/webhook")] == ["http://127.0.0.1:9999/hook"]
    assert person.call("GET", "/v1/account")["name"] == "Ann's shop"
    assert person.call("GET", f"/v1/client-ids/{client}/branding")["termsUrl"] == "https://shop.example/terms"


def test_a_form_is_not_sent_for_somebody_else_who_signs_in_over_it(new_person: NewPerson) -> None:
    other = new_person().register()
    person = fill_payment(new_person().register().at("/create"))
    person.context.clear_cookies()
    person.click("Create link").sees("Your session has ended")
    dialog = person.page.get_by_role("dialog")
    dialog.get_by_label("E-mail address").fill(other.email)
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    person.heading("Home").sees(other.email)
    assert other.call("GET", "/v2/secure-payments")["securePayments"] == []


@rehearsed
def test_who_does_not_sign_in_again_keeps_the_form(new_person: NewPerson) -> None:
    person = fill_payment(new_person().register().at("/create"))
    person.context.clear_cookies()
    person.click("Create link").sees("Your session has ended").click("Close")
    assert person.page.get_by_label("Reference", exact=True).input_value() == "INV-7"
    assert person.page.get_by_label("Amount", exact=True).input_value() == "12.50"


@rehearsed
def test_another_person_in_the_same_browser_starts_anew(new_person: NewPerson) -> None:
    person = new_person().register().at("/team").sees(" (you)")
    first = person.email
    person.register()
    person.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    person.heading("Home").sees(person.email)
    assert first not in person.page.inner_text("body")


def test_what_changes_who_may_do_so_asks_for_a_proof_and_goes_on(stack: Stack, new_person: NewPerson) -> None:
    person = new_person().register().at("/keys").click("New API key")
    person.page.get_by_role("dialog").get_by_label("Name", exact=True).fill("Server")
    refused = {"statusCode": 403, "code": "presence_required", "proofs": ["password"], "message": "x", "error": "Forbidden"}
    asked: list[str] = []

    def refuse_once(route: Any) -> None:
        asked.append(route.request.method)
        route.fulfill(status=403, json=refused) if asked.count("POST") == 1 and asked[-1] == "POST" else route.continue_()

    person.page.route("**/v1/api-keys", refuse_once)
    person.click("Create key").sees("Is it you?")
    person.page.get_by_role("dialog", name="Is it you?").get_by_label("Password").fill(PASSWORD)
    person.click("Confirm").sees("It is shown only this once")
    assert [each["label"] for each in person.call("GET", "/v1/api-keys")] == ["Server"]
