"""Answers that are lost on their way: pressing the button once more makes one thing, and shows what is shown only once."""

import pytest
from playwright.sync_api import Route, expect

from tests.pages.dashboard.conftest import NewPerson, Person
from tests.support.rehearsed import few

pytestmark = pytest.mark.xdist_group("browser")

FORMS = {
    "keys": ("/v1/api-keys", "New API key", {"Name": "Server"}, "Create key", "It is shown only this once"),
    "clients": ("/v1/client-ids", "New client ID", {"Name": "Shop"}, "Create client ID", "The client ID is ready"),
    "webhooks": ("/v1/webhook", "New webhook", {"URL": "http://127.0.0.1:9999/hook"}, "Create webhook", "It is shown only this once"),
    "team": ("/v1/invitations", "Invite", {"E-mail address or wallet": "bob@shop.example"}, "Invite", "It is shown only this once"),
    "platforms": ("/v2/orchestrators", "New platform", {"Name": "Market", "E-mail for support requests": "ops@market.example"}, "Create platform", "It is shown only this once"),
}
"""What is made in a view: the path of the operation, what opens its form, what is typed, what sends it, and what is seen then."""


def lose_first_answer(person: Person, path: str) -> list[int]:
    """The service does what the page asks for first, and the page hears nothing of it; the status of what is lost."""
    lost: list[int] = []

    def serve(route: Route) -> None:
        if route.request.method != "POST" or lost:
            route.continue_()
        else:
            lost.append(route.fetch().status)
            route.abort()

    person.page.route(f"**{path}", serve)
    return lost


@pytest.mark.parametrize("view", few(["keys"], FORMS))
def test_what_is_sent_again_after_its_answer_was_lost_is_made_once_and_shown(new_person: NewPerson, view: str) -> None:
    path, opens, typed, sends, seen = FORMS[view]
    person = new_person().register().at(f"/{view}")
    lost = lose_first_answer(person, path)
    person.click(opens)
    for label, text in typed.items():
        person.fill(label, text)
    form = person.page.get_by_role("dialog")
    form.get_by_role("button", name=sends, exact=True).click()
    person.sees("The service could not be reached")
    form.get_by_role("button", name=sends, exact=True).click()
    person.sees(seen)
    assert lost == [201]
    assert form.locator(".copy code").first.get_attribute("title")
    person.click("Close").page.reload()
    expect(person.page.locator("main tbody tr")).to_have_count(2 if view == "team" else 1)
