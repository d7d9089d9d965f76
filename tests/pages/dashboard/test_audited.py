"""What takes access away, done in the browser: each ends what it names, and has its row in the audit log."""

import pytest
from playwright.sync_api import expect

from tests.pages.dashboard.conftest import NewPerson, Person
from tests.pages.dashboard.test_changes import joined
from tests.pages.dashboard.test_late_answers import confirm
from tests.pages.dashboard.test_sign_in import signing, with_authenticator
from tests.pages.dashboard.test_views import shown
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.support.rehearsed import rehearsed

pytestmark = pytest.mark.xdist_group("browser")


def confirm_in(person: Person, row: str, label: str) -> None:
    """Presses a button of a row and the one of the question after it."""
    person.page.get_by_role("row", name=row).get_by_role("button", name=label, exact=True).click()
    person.page.get_by_role("dialog").get_by_role("button", name=label, exact=True).click()
    expect(person.page.get_by_role("dialog")).to_have_count(0)


def audited(person: Person, action: str) -> None:
    """The view of the audit log has a row of that action, by this person."""
    row = shown(person, "/audit").page.locator("tbody tr", has_text=action).first
    expect(row.locator(f"code[title='person:{person.call('GET', '/v1/auth/me')['personId']}']")).not_to_have_count(0)


@rehearsed
def test_a_member_is_removed_and_an_invitation_withdrawn(new_person: NewPerson) -> None:
    ann = new_person().register()
    bob = joined(ann, new_person(), "bob@audited.example", "viewer")
    ann.call("POST", "/v1/invitations", {"role": "viewer", "email": "eve@audited.example"}, 201)
    confirm_in(shown(ann, "/team"), "bob@audited.example", "Remove")
    expect(ann.page.get_by_role("row", name="bob@audited.example")).to_have_count(0)
    bob.call("GET", "/v2/request?cursor=", expected=401)
    confirm_in(ann, "eve@audited.example", "Withdraw")
    ann.sees("Nobody is invited.")
    audited(ann, "member.removed")
    audited(ann, "invitation.withdrawn")


@rehearsed
def test_a_session_is_ended_and_the_others_go_on(new_person: NewPerson) -> None:
    ann, elsewhere = new_person().register(), new_person()
    elsewhere.email = ann.email
    elsewhere.sign_in()
    confirm(shown(ann, "/security"), "End")
    elsewhere.call("GET", "/v1/auth/me", expected=401)
    ann.call("GET", "/v1/auth/me", expected=200)
    audited(ann, "session.revoked")


@rehearsed
def test_a_passkey_and_a_wallet_are_removed(stack: Stack, new_person: NewPerson) -> None:
    purse = signing(Purse(stack.chain, "Ann's wallet"))
    ann = with_authenticator(new_person(purse).register())
    ann.at("/security").fill("Name of the device", "Laptop").click("Add a passkey")
    expect(ann.page.get_by_role("row", name="Laptop")).to_be_visible()
    ann.page.get_by_role("row", name="Laptop").get_by_role("button", name="Remove", exact=True).click()
    ann.page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    ann.sees("Is it you?").click("Use a passkey")
    expect(ann.page.get_by_role("row", name="Laptop")).to_have_count(0)
    ann.click("Add a wallet").click("Add with Ann's wallet")
    expect(ann.page.get_by_role("row", name=purse.address)).to_be_visible()
    confirm_in(ann, purse.address, "Remove")
    expect(ann.page.get_by_role("row", name=purse.address)).to_have_count(0)
    assert [each["type"] for each in ann.call("GET", "/v1/auth/me")["identities"]] == ["email"]
    audited(ann, "passkey.removed")
    audited(ann, "identity.removed")


@rehearsed
def test_a_second_factor_is_demanded_by_a_session_that_gives_one_when_it_is_asked(new_person: NewPerson) -> None:
    ann = with_authenticator(new_person().register())
    demanded = shown(ann, "/account").page.get_by_label("Demand a passkey or wallet beside passwords")
    demanded.check()
    ann.page.get_by_role("button", name="Save").first.click()
    ann.sees("Add a passkey and prove your presence by it first")
    expect(demanded).to_be_checked()
    ann.at("/security").fill("Name of the device", "Laptop").click("Add a passkey")
    expect(ann.page.get_by_role("row", name="Laptop")).to_be_visible()
    ann.call("POST", "/v1/auth/logout")
    ann.sign_in()
    shown(ann, "/account")
    demanded.check()
    ann.page.get_by_role("button", name="Save").first.click()
    ann.sees("Is it you?").click("Use a passkey").sees("Saved.")
    expect(ann.page.get_by_role("dialog")).to_have_count(0)
    assert ann.call("GET", "/v1/account")["requireSecondFactor"] is True
    audited(ann, "account.updated")
