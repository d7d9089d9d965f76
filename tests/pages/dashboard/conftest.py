"""People at the dashboard, in the browser and with the stack of the payment page's tests."""

import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from chalicelib.webhooks.kinds import body_of, sample_of
from chalicelib.webhooks.records import Event
from tests.pages.stack import Stack
from tests.pages.visitor import Visitor
from tests.support.light_passwords import light_passwords
from tests.support.running import running

PASSWORD = "correct horse"
EVIL = """<img src=x onerror="window.ran=1">"><script>window.ran=1</script>'};window.ran=1;//"""
"""A text for fields that is typed: as HTML or as a part of a script it would run."""
_numbers = itertools.count()


@pytest.fixture(autouse=True, scope="package")
def _light_passwords() -> Iterator[None]:
    with light_passwords():
        yield


class Person(Visitor):
    """A browser profile of somebody at the dashboard; `violations` are reports of the page's policy."""

    def at(self, path: str = "") -> "Person":
        self.page.goto(f"{self.stack.pay_url}/dashboard{path}")
        return self

    def call(self, method: str, path: str, body: Any = None, expected: int | None = None) -> Any:
        """A call of the API with this browser's session."""
        headers = {"origin": self.stack.pay_url}
        reply = self.context.request.fetch(f"{self.stack.pay_url}{path}", method=method, data=body, headers=headers)
        assert expected is None or reply.status == expected, reply.text()
        return reply.json()

    def register(self, email: str | None = None) -> "Person":
        """Makes an account and signs in, by the API."""
        self.email = email or f"ann{next(_numbers)}@dashboard.example"
        self.call("POST", "/v1/auth/register", {"email": self.email, "password": PASSWORD}, 201)
        return self.sign_in()

    def sign_in(self) -> "Person":
        self.call("POST", "/v1/auth/login", {"email": self.email, "password": PASSWORD}, 200)
        return self

    def fill(self, label: str, text: str) -> "Person":
        self.page.get_by_label(label, exact=True).last.fill(text)
        return self

    def choose(self, label: str, value: str) -> "Person":
        self.page.get_by_label(label, exact=True).last.select_option(value)
        return self

    def click(self, name: str, role: Any = "button") -> "Person":
        self.page.get_by_role(role, name=name, exact=True).last.click()
        return self

    def sees(self, text: str) -> "Person":
        """Waits until the text is shown: a dialog holds its text before it opens."""
        expect(self.page.locator("body")).to_contain_text(text, use_inner_text=True)
        return self

    def heading(self, text: str) -> "Person":
        expect(self.page.get_by_role("heading", level=1)).to_have_text(text)
        return self

    def until_url(self, pattern: str) -> Page:
        self.page.wait_for_url(pattern)
        return self.page


class StoredEvents:
    """Stores events of a person's account, as if they had happened: each a minute after the one before."""

    def __init__(self, stack: Stack, person: Person) -> None:
        self.stack, self.account_id = stack, person.call("GET", "/v1/auth/me")["id"]
        self.at = datetime.now(UTC) - timedelta(hours=1)

    def of(self, kind: str, **body: Any) -> None:
        self.at += timedelta(minutes=1)
        event_id = f"01{self.account_id[:12]}{self.at:%H%M%S}{'0' * 6}"
        text = body_of(kind, {**sample_of(kind), **body})
        with self.stack.lock:
            running().store.write(Event(event_id, kind, self.account_id, None, text, self.at, published=True, request_id=body.get("requestId")))


NewPerson = Callable[..., Person]


@pytest.fixture
def new_person(browser: Browser, stack: Stack) -> Iterator[NewPerson]:
    """Each has a browser profile of their own; whatever the browser complains of fails the test."""
    people: list[Person] = []

    def make(*purses: Any, **profile: Any) -> Person:
        context = browser.new_context(**{"reduced_motion": "reduce", "locale": "en", **profile})
        people.append(Person(context, stack))
        people[-1].has(*purses)
        return people[-1]

    yield make
    for person in people:
        for page in person.context.pages:
            page.unroute_all(behavior="ignoreErrors")
        person.context.close()
    assert [each for person in people for each in person.complaints] == []
