"""Screens by role: each shows what the tables of operations let the role do, and asks for nothing else."""

import re
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Response, expect

from chalicelib.base.money import BaseUnits
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Role
from chalicelib.platform.access.people.roles import SCOPES_OF
from chalicelib.platform.http.operation import OPERATIONS, Operation
from infra.local.scenes_dashboard import CAPTURABLE
from tests.pages.dashboard.conftest import NewPerson, Person
from tests.pages.dashboard.test_views import shown
from tests.pages.stack import Stack
from tests.support.client import item
from tests.support.rehearsed import few
from tests.support.running import running

pytestmark = pytest.mark.xdist_group("browser")

READS = {
    "requests": "GET /v2/request", "links": "GET /v2/secure-payments", "payments": "GET /v2/payments",
    "mispayments": "GET /v1/webhook/events", "keys": "GET /v1/api-keys", "clients": "GET /v1/client-ids", "platforms": "GET /v2/orchestrators",
    "webhooks": "GET /v1/webhook", "snippets": "GET /v1/client-ids", "payees": "GET /v1/payee-destination",
    "team": "GET /v1/members", "changes": "GET /v1/changes", "account": "GET /v1/account", "audit": "GET /v1/audit",
    "recurring": "GET /v2/payouts/recurring", "security": "GET /v1/auth/sessions", "status": "GET /v2/status",
}  # fmt: skip
"""What the views of the navigation read, without which they would show nothing. Payouts are requests."""
OPENED_BY = {"create": "POST /v2/secure-payments", "import": "POST /v2/secure-payments"}
OFFERED = (
    ("/", "link", "Create a link", "POST /v2/secure-payments"),
    ("/links", "link", "Duplicate", "POST /v2/secure-payments"),
    ("/payouts", "link", "New payout", "POST /v2/secure-payments/payouts"),
    ("/payouts", "link", "Import payouts", "POST /v2/secure-payments"),
    ("/recurring", "button", "New recurring payout", "POST /v2/payouts"),
    ("/keys", "button", "New API key", "POST /v1/api-keys"),
    ("/clients", "button", "New client ID", "POST /v1/client-ids"),
    ("/platforms", "button", "New platform", "POST /v2/orchestrators"),
    ("/webhooks", "button", "New webhook", "POST /v1/webhook"),
    ("/team", "button", "Leave", "POST /v1/members/leave"),
    ("/team", "button", "Invite", "POST /v1/invitations"),
    ("/account", "button", "Save", "PUT /v1/account"),
    ("/request/{id}", "button", "Cancel the link", "POST /v2/secure-payments/{token}/cancel"),
    ("/request/{id}", "button", "Change the expiry", "PATCH /v2/secure-payments/{token}"),
    ("/request/{id}", "button", "Change the note", "PATCH /v2/request/{request_id}"),
    ("/request/{id}", "button", "Accept as paid", "POST /v2/request/{request_id}/accept"),
    ("/request/{capturable}", "button", "Capture", "POST /v2/commerce-payments/{request_id}/capture"),
    ("/keys", "button", "Change", "PUT /v1/api-keys/{key_id}"),
    ("/clients", "button", "Settings", "PUT /v1/client-ids/{client_id_id}"),
    ("/keys", "button", "Revoke", "DELETE /v1/api-keys/{key_id}"),
    ("/clients", "button", "Revoke", "DELETE /v1/client-ids/{client_id_id}"),
    ("/changes", "button", "Approve", "POST /v1/changes/{change_id}/approve"),
)
"""What is done in a view: its path, the role and name of what offers it, and the operation."""


def operation(method: str, path: str) -> Operation | None:
    """The operation of a call of the API; None if it is none. A path in the tables is the operation of itself."""
    for known in sorted(OPERATIONS, key=lambda each: "{" in each.path):
        if known.method == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", known.path), path):
            return known
    return None


def allows(role: Role, call: str) -> bool:
    known = operation(*call.split())
    assert known is not None, f"{call} is not in the tables"
    return known.scope is None or known.scope in SCOPES_OF[role]


def give_role(stack: Stack, person: Person, role: Role) -> None:
    me = person.call("GET", "/v1/auth/me")
    with stack.lock:
        membership = person_store.find_membership(running().store, me["id"], me["personId"])
        assert membership is not None
        running().store.write(replace(membership, role=role))


def populated(stack: Stack, person: Person) -> dict[str, str]:
    """Makes what the views of OFFERED act on; the ids of a request that is paid in part, and of one that counts as held."""
    paid, capturable = (
        person.call("POST", "/v2/secure-payments", {"requests": [item()], "reference": each}, 201)["requestIds"][0]
        for each in ("INV-1", "INV-2")
    )
    with stack.lock:
        request = request_store.request(running().store, paid)
        assert request is not None
        running().store.write(replace(request, status=RequestStatus.PARTIALLY_PAID, paid=BaseUnits(4)))
    escrowed = {**CAPTURABLE["get_commerce_status"], "paymentCurrency": "fUSDC-sepolia", "network": "sepolia"}
    person.page.route(f"**/v2/commerce-payments/{capturable}/status", lambda route: route.fulfill(json=escrowed))
    person.page.route(
        f"**/v2/request/{capturable}", lambda route: route.fulfill(json={**route.fetch().json(), "isCommercePayment": True})
    )
    person.call("POST", "/v1/client-ids", {"label": "Shop", "allowedDomains": []}, 201)
    key = person.call("POST", "/v1/api-keys", {"label": "Server"}, 201)["key"]
    person.call("PUT", "/v1/account", {"approvals": True}, 200)
    waits = stack.shop.api.request("POST", "/v1/webhook", {"url": "http://127.0.0.1:9999/hook"}, {"x-api-key": key})
    assert waits.status == 202, waits.json
    return {"id": paid, "capturable": capturable}


def beyond(role: Role, response: Response) -> str | None:
    """A call that was refused, or that the role may not make."""
    method, path = response.request.method, urlsplit(response.url).path
    known = operation(method, path)
    may = known is None or known.scope is None or known.scope in SCOPES_OF[role]
    return f"{method} {path}" if not may or response.status == 403 else None


@pytest.mark.parametrize("role", few([Role.DEVELOPER, Role.VIEWER], Role))
def test_each_role_sees_what_it_may_and_nothing_else(stack: Stack, new_person: NewPerson, role: Role) -> None:
    person, refused = new_person().register(), list[str | None]()
    shown_ids = populated(stack, person)
    give_role(stack, person, role)
    person.page.on("response", lambda each: refused.append(beyond(role, each)))
    links = shown(person, "").page.locator("nav a").evaluate_all(
        "links => links.map((each) => each.pathname.split('/')[2] ?? '')"
    )
    expected = {view for view, call in READS.items() if allows(role, call)}
    assert set(links) == expected | {""} | ({"payouts"} if "payouts:read" in SCOPES_OF[role] else set())
    for view, call in {**READS, **OPENED_BY}.items():
        is_refused = shown(person, f"/{view}").page.get_by_role("heading", name="Not for your role").count() == 1
        assert is_refused != allows(role, call), view
    for path, kind, name, call in OFFERED:
        shown(person, path.format(**shown_ids))
        found = person.page.locator("main").get_by_role(kind, name=name, exact=True)  # type: ignore[arg-type]
        may_open = person.page.get_by_role("heading", name="Not for your role").count() == 0
        assert (found.count() > 0) == (may_open and allows(role, call)), (path, name)
    assert [each for each in refused if each] == []


def test_every_view_of_the_navigation_is_compared(new_person: NewPerson) -> None:
    links = shown(new_person().register(), "").page.locator("nav a")
    expect(links).to_have_count(len(READS) + 2)
