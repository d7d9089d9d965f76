"""Filters of lists: what is chosen stands in the URL and is asked for, and days are said to be those of UTC."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.pages.dashboard.conftest import NewPerson
from tests.pages.dashboard.test_views import shown

pytestmark = pytest.mark.xdist_group("browser")


@pytest.mark.parametrize(
    ("view", "list_", "label", "name", "value"),
    [
        ("payments", "v2/payments", "Type", "type", "crosschain"),
        ("requests", "v2/request", "State", "status", "partially_paid"),
        ("links", "v2/secure-payments", "State", "status", "expired"),
    ],
)
def test_a_list_is_filtered_by_days_of_utc_and_by_a_value(
    new_person: NewPerson, view: str, list_: str, label: str, name: str, value: str
) -> None:
    """Also where the browser is a day ahead of UTC."""
    person = shown(new_person(timezone_id="Pacific/Kiritimati").register(), f"/{view}")
    person.page.locator("details.filter summary").click()
    person.choose(label, value).fill("From (day in UTC)", "2026-03-01").fill("To (day in UTC)", "2026-03-31")
    with person.page.expect_request(lambda each: f"/{list_}?" in each.url) as asked:
        person.click("Show")
    sent = {key: values[0] for key, values in parse_qs(urlsplit(asked.value.url).query).items()}
    assert (sent["fromDate"], sent["toDate"], sent[name]) == ("2026-03-01T00:00:00Z", "2026-03-31T23:59:59.999Z", value)
    kept = parse_qs(urlsplit(person.page.url).query)
    assert kept == {"fromDate": ["2026-03-01"], "toDate": ["2026-03-31"], name: [value]}
    person.page.reload()
    expect(person.page.get_by_label("From (day in UTC)")).to_have_value("2026-03-01")
    person.click("Show all", "link")
    expect(person.page.get_by_label("From (day in UTC)")).to_have_value("")
