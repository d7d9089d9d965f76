"""A request that recurs: how often, from when, and the end of its series, for the roles that may change requests."""

import json

import pytest
from playwright.sync_api import expect

from chalicelib.platform.access.people.records import Role
from tests.pages.dashboard.conftest import NewPerson, Person
from tests.pages.dashboard.test_roles import give_role
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings
from tests.support.client import item

pytestmark = pytest.mark.xdist_group("browser")


def recurring(person: Person, **changes: object) -> str:
    """The id of a request of which there is a new one every month."""
    made = person.call("POST", "/v2/request", {**item(), "reference": "RENT-<b>1", "recurrence": {"startDate": "2099-01-31", "frequency": "MONTHLY"}, **changes}, 201)
    return str(made["requestId"])


def answer(person: Person, button: str) -> Person:
    person.page.get_by_role("dialog").get_by_role("button", name=button, exact=True).click()
    expect(person.page.get_by_role("dialog")).to_have_count(0)
    return person


def is_stopped(person: Person, request_id: str) -> bool:
    return bool(person.call("GET", f"/v2/request/{request_id}")["isRecurrenceStopped"])


def test_the_series_of_a_request_is_stopped_after_a_question_that_names_it_and_is_resumed(new_person: NewPerson) -> None:
    person = new_person().register()
    request_id = recurring(person)
    person.at(f"/request/{request_id}").sees("Every month, from Jan 31, 2099").click("Stop recurrence")
    person.sees("fUSDC-sepolia, RENT-<b>1").sees("This request, and those of dates before, stay as they are.")
    assert axe_findings(person.page) == []
    assert not is_stopped(person, request_id), "nothing is done before somebody has read the question"
    answer(person, "Stop recurrence").sees("Stopped (Every month, from Jan 31, 2099)")
    assert is_stopped(person, request_id)
    expect(person.page.get_by_role("button", name="Resume recurrence")).to_be_focused()
    expect(person.page.get_by_role("button", name="Stop recurrence")).to_have_count(0)
    expect(person.page.get_by_role("button", name="Cancel the request")).to_have_count(1)
    person.click("Resume recurrence").sees("Dates that have passed meanwhile are not made up for.")
    answer(person, "Resume recurrence").click("Stop recurrence")
    assert not is_stopped(person, request_id)


def test_a_series_that_cannot_be_stopped_says_so_in_the_dialog(new_person: NewPerson) -> None:
    person = new_person().register().unwatched()
    request_id = recurring(person)
    person.at(f"/request/{request_id}").click("Stop recurrence")
    person.page.route(f"**/v2/request/{request_id}", lambda route: route.fulfill(status=503, json={"message": "x"}))
    person.page.get_by_role("dialog").get_by_role("button", name="Stop recurrence").click()
    expect(person.page.get_by_role("dialog").get_by_role("alert")).to_contain_text("The service has a problem")
    person.page.unroute_all()
    answer(person, "Stop recurrence").sees("Stopped (Every month")


def test_who_may_not_change_requests_sees_the_series_and_no_way_to_stop_it(stack: Stack, new_person: NewPerson) -> None:
    person = new_person().register()
    request_id = recurring(person)
    roles = json.loads(person.at().page.locator('meta[name="roles"]').get_attribute("content") or "")
    for role in Role:
        give_role(stack, person, role)
        person.at(f"/request/{request_id}").sees("Every month, from Jan 31, 2099")
        count = int("requests:write" in roles[role.value])
        expect(person.page.get_by_role("button", name="Stop recurrence")).to_have_count(count)
        refused = person.call("PATCH", f"/v2/request/{request_id}", {"isRecurrenceStopped": False})
        assert ("statusCode" in refused) is (count == 0), "as the API says"


def test_a_request_of_a_later_date_leads_to_the_first_one_whose_series_it_is_of(new_person: NewPerson) -> None:
    person = new_person().register()
    first = recurring(person)
    later = person.call("POST", "/v2/request", {**item(), "originalRequestId": first}, 201)["requestId"]
    person.at(f"/request/{later}").sees("The first of its series")
    expect(person.page.get_by_role("button", name="Stop recurrence")).to_have_count(0)
    person.page.locator(".row", has_text="The first of its series").get_by_role("link").click()
    person.sees("Every month, from Jan 31, 2099")
    expect(person.page.get_by_role("button", name="Stop recurrence")).to_be_visible()
