"""Screens by role: each shows what the tables of operations let the role do, and asks for nothing else."""

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Response, expect

from chalicelib.base.money import BaseUnits
from chalicelib.pages import dashboard_html
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Role
from chalicelib.platform.access.people.roles import SCOPES_OF
from chalicelib.platform.http.operation import OPERATIONS, Operation
from infra.local.scenes_dashboard import CAPTURABLE, POPULATED
from tests.pages.dashboard.conftest import NewPerson, Person
from tests.pages.dashboard.test_sign_in import signing
from tests.pages.dashboard.test_views import pay_out, shown
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.support.client import item
from tests.support.patience import milliseconds
from tests.support.rehearsed import few
from tests.support.running import running

pytestmark = pytest.mark.xdist_group("browser")

PAGES = Path(dashboard_html.__file__).parent / "dashboard"
READS = {
    "requests": "GET /v2/request", "links": "GET /v2/secure-payments", "payments": "GET /v2/payments",
    "mispayments": "GET /v1/webhook/events", "keys": "GET /v1/api-keys", "clients": "GET /v1/client-ids", "platforms": "GET /v2/orchestrators",
    "webhooks": "GET /v1/webhook", "snippets": "GET /v1/client-ids", "payees": "GET /v1/payee-destination",
    "team": "GET /v1/members", "changes": "GET /v1/changes", "account": "GET /v1/account", "audit": "GET /v1/audit",
    "recurring": "GET /v2/payouts/recurring", "security": "GET /v1/auth/sessions", "status": "GET /v2/status",
}  # fmt: skip
"""What the views of the navigation read, without which they would show nothing. Payouts are requests."""
OPENED_BY = {
    "create": "POST /v2/secure-payments", "import": "POST /v2/secure-payments", "request/{id}": "GET /v2/request/{request_id}",
    "webhook/{webhook}": "GET /v1/webhook", "branding/{client}": "GET /v1/client-ids/{id}",
}  # fmt: skip
"""The views that others lead to, with what they need."""
SECURE, COMMERCE = "/v2/secure-payments", "/v2/commerce-payments/{request_id}"
OFFERED = {
    "/": (("link", "Create a link", f"POST {SECURE}"),),
    "/links": (("link", "Duplicate", f"POST {SECURE}"),),
    "/create": (("button", "Create link", f"POST {SECURE}"),),
    "/create?kind=held": (("button", "Create link", "POST /v2/commerce-payments/authorize/calldata"),),
    "/create?kind=recurring": (("button", "Create request", "POST /v2/request"),),
    "/import": (("button", "Create one link for all rows", f"POST {SECURE}"), ("textbox", "Wallet that pays it", f"POST {SECURE}/payouts/batch")),
    "/payouts?walletAddress={wallet}": (
        ("link", "New payout", f"POST {SECURE}/payouts"), ("link", "Import payouts", f"POST {SECURE}"),
        ("button", "Combine into one", f"POST {SECURE}/batch-payouts"), ("button", "Combine into one", f"POST {SECURE}/multicall-payouts"),
    ),
    "/recurring": (
        ("button", "New recurring payout", "POST /v2/payouts"), ("button", "Sign", "POST /v2/payouts/recurring/{recurring_id}"),
        ("button", "Resume", "PATCH /v2/payouts/recurring/{recurring_id}"), ("button", "Stop", "PATCH /v2/payouts/recurring/{recurring_id}"),
    ),
    "/mispayments": (("button", "Accept as paid", "POST /v2/request/{request_id}/accept"), ("button", "Refund", "POST /v2/request/{request_id}/refund"), ("button", "Refund", "POST /v2/safe-proposals")),
    "/request/{id}": (
        ("button", "Cancel the link", f"POST {SECURE}/{{token}}/cancel"), ("button", "Change the expiry", f"PATCH {SECURE}/{{token}}"),
        ("button", "Change the note", "PATCH /v2/request/{request_id}"), ("button", "Accept as paid", "POST /v2/request/{request_id}/accept"),
        ("button", "Refund", "POST /v2/request/{request_id}/refund"),
    ),
    "/request/{plain}": (("button", "Cancel the request", "POST /v2/request/{request_id}/cancel"),),
    "/request/{capturable}": tuple(
        ("button", name, f"POST {COMMERCE}/{verb}{end}")
        for name, verb in (("Capture", "capture"), ("Void", "void"), ("Refund", "refund")) for end in ("", "/calldata")
    ),
    "/keys": (
        ("button", "New API key", "POST /v1/api-keys"), ("button", "Change", "PUT /v1/api-keys/{key_id}"), ("button", "Revoke", "DELETE /v1/api-keys/{key_id}"),
    ),
    "/clients": (
        ("button", "New client ID", "POST /v1/client-ids"), ("button", "Settings", "PUT /v1/client-ids/{id}"), ("button", "Revoke", "DELETE /v1/client-ids/{id}"),
    ),
    "/platforms": (("button", "New platform", "POST /v2/orchestrators"), ("button", "Revoke", "DELETE /v2/orchestrators/{orchestrator_id}")),
    "/branding/{client}": (
        ("button", "Save", "PUT /v1/client-ids/{id}/branding"), ("button", "Remove the branding", "DELETE /v1/client-ids/{id}/branding"),
        ("button", "Set the domain", "PUT /v1/client-ids/{id}/domain"), ("button", "Check now", "POST /v1/client-ids/{id}/domain/check"),
        ("button", "Remove the domain", "DELETE /v1/client-ids/{id}/domain"),
    ),
    "/webhooks": (("button", "New webhook", "POST /v1/webhook"),),
    "/webhook/{webhook}": (
        ("button", "Turn off", "PUT /v1/webhook/{webhook_id}"), ("button", "Change the events", "PUT /v1/webhook/{webhook_id}"),
        ("button", "Send a test", "POST /v1/webhook/test"), ("button", "Replace the secret", "POST /v1/webhook/{webhook_id}/secret"),
        ("button", "Delete", "DELETE /v1/webhook/{webhook_id}"), ("button", "Send all again", "POST /v1/webhook/{webhook_id}/redeliver"),
        ("button", "Send it again", "POST /v1/webhook/{webhook_id}/deliveries/{delivery_id}/redeliver"),
    ),
    "/payees": (
        ("combobox", "Token", "POST /v1/payee-destination"), ("combobox", "Token", "PUT /v1/payee-destination"),
        ("button", "Deactivate", "PATCH /v1/payee-destination/deactivate"),
    ),
    "/team": (
        ("button", "Leave", "POST /v1/members/leave"), ("button", "Invite", "POST /v1/invitations"), ("combobox", "Role of {colleague}", "PUT /v1/members/{person_id}"),
        ("button", "End sessions", "DELETE /v1/members/{person_id}/sessions"), ("button", "Remove", "DELETE /v1/members/{person_id}"),
        ("button", "Withdraw", "DELETE /v1/invitations/{invitation_id}"),
    ),
    "/changes": (
        ("button", "Approve", "POST /v1/changes/{change_id}/approve"), ("button", "Refuse", "POST /v1/changes/{change_id}/refuse"),
        ("button", "Withdraw", "POST /v1/changes/{change_id}/withdraw"),
    ),
    "/account": (("button", "Save", "PUT /v1/account"), ("heading", "E-mail to owners, admins and finance", "PUT /v1/notifications")),
}  # fmt: skip
"""What is done in a view, by its path: the role and name of what offers it, and the operation."""
EXEMPT = {
    "/v1/auth/": "how somebody signs in, and the sessions of who is signed in, which are theirs in every role",
    "/v1/passkeys": "as above",
    "/v2/secure-payments/preview": "as below",
    "/v2/secure-payments/fees/preview": "changes nothing, and is asked for by the form of /create",
}
"""The beginnings of paths that are called to write, and are offered to everybody who may open the view."""
INDIRECT = {
    ("POST", "...callOf(draft, token)"): (f"POST {SECURE}", f"POST {SECURE}/payouts", "POST /v2/request", "POST /v2/commerce-payments/authorize/calldata"),
    ("POST", "path"): (*(f"POST {COMMERCE}/{verb}" for verb in ("capture", "void", "refund")), "POST /v1/auth/wallet/verify"),
    ("POST", "`${path}/calldata`"): tuple(f"POST {COMMERCE}/{verb}/calldata" for verb in ("capture", "void", "refund")),
    ("POST", "challengePath"): ("POST /v1/auth/wallet/challenge",),
    ("POST", "`${path}/options`"): ("POST /v1/auth/passkey/options",),
    ("POST", "`${path}/check`"): ("POST /v1/client-ids/{id}/domain/check",),
    ("PUT", "path"): ("PUT /v1/client-ids/{id}/branding", "PUT /v1/client-ids/{id}/domain"),
    ("DELETE", "path"): ("DELETE /v1/client-ids/{id}/branding", "DELETE /v1/client-ids/{id}/domain"),
    ("PATCH", "ofRequest"): ("PATCH /v2/request/{request_id}",),
    ("PATCH", "ofLink"): (f"PATCH {SECURE}/{{token}}",),
    ("POST", "`${ofLink ?? ofRequest}/cancel`"): (f"POST {SECURE}/{{token}}/cancel", "POST /v2/request/{request_id}/cancel"),
    ("POST", "pathOf(created)"): ("POST /v2/payouts/recurring/{recurring_id}",),
    ("PATCH", "pathOf(row)"): ("PATCH /v2/payouts/recurring/{recurring_id}",),
}
"""The operations of calls of the scripts whose path is not written where they are made."""


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


def populated(stack: Stack, person: Person, colleague: Person) -> dict[str, str]:
    """Makes what the views of OFFERED act on; what their paths and names have in braces."""
    paid, capturable = (
        person.call("POST", "/v2/secure-payments", {"requests": [item()], "reference": each}, 201)["requestIds"][0]
        for each in ("INV-1", "INV-2")
    )
    with stack.lock:
        request = request_store.request(running().store, paid)
        assert request is not None
        running().store.write(replace(request, status=RequestStatus.PARTIALLY_PAID, paid=BaseUnits(4), received=BaseUnits(4)))
    escrowed = {**CAPTURABLE["get_commerce_status"], "paymentCurrency": "fUSDC-sepolia", "network": "sepolia"}
    person.page.route(f"**/v2/commerce-payments/{capturable}/status", lambda route: route.fulfill(json=escrowed))
    person.page.route(
        f"**/v2/request/{capturable}", lambda route: route.fulfill(json={**route.fetch().json(), "isCommercePayment": True})
    )
    person.page.route("**/v2/payouts/recurring?*", lambda route: route.fulfill(json=POPULATED["list_recurring"]))
    parts = [each for each in POPULATED["list_requests"]["requests"] if each["status"] == "partially_paid"]
    listed = {"requests": parts, "pagination": {"nextCursor": None}}
    person.page.route("**/v2/request?status=partially_paid*", lambda route: route.fulfill(json=listed))
    wallet = person.call("GET", "/v1/auth/me")["address"]
    for _ in range(2):
        pay_out(person, wallet)
    plain = person.call("POST", "/v2/request", item(), 201)["requestId"]
    client = person.call("POST", "/v1/client-ids", {"label": "Shop", "allowedDomains": []}, 201)["id"]
    person.call("PUT", f"/v1/client-ids/{client}/branding", {"termsUrl": "https://shop.example/terms"}, 200)
    person.call("PUT", f"/v1/client-ids/{client}/domain", {"domain": "shop.example"}, 200)
    person.call("POST", "/v2/orchestrators", {"orchestratorName": "Market", "orchestratorContactEmail": "ops@market.example"}, 201)
    webhook = person.call("POST", "/v1/webhook", {"url": "http://127.0.0.1:9999/hook"}, 201)["id"]
    person.call("POST", "/v1/webhook/test", {"eventType": "payment.confirmed", "webhookId": webhook}, 201)
    token = next(each for each in person.call("GET", "/v2/currencies") if each["id"] == "fUSDC-sepolia")
    destination = {"tokenAddress": token["address"], "chainId": token["chainId"], "walletAddress": wallet}
    person.call("POST", "/v1/payee-destination", destination, 201)
    invited = [person.call("POST", "/v1/invitations", {"role": "viewer", "email": each}, 201)["secret"] for each in (colleague.email, "eve@roles.example")]
    colleague.call("POST", "/v1/auth/invitations/accept", {"secret": invited[0]}, 200)
    key = person.call("POST", "/v1/api-keys", {"label": "Server"}, 201)["key"]
    person.call("PUT", "/v1/account", {"approvals": True}, 200)
    person.call("POST", "/v1/api-keys", {"label": "Asked for by who looks"}, 202)
    waits = stack.shop.api.request("POST", "/v1/webhook", {"url": "http://127.0.0.1:9999/hook"}, {"x-api-key": key})
    assert waits.status == 202, waits.json
    return {"id": paid, "capturable": capturable, "plain": plain, "client": client, "webhook": webhook, "wallet": wallet, "colleague": colleague.email}


def beyond(role: Role, response: Response) -> str | None:
    """A call that was refused, or that the role may not make."""
    method, path = response.request.method, urlsplit(response.url).path
    known = operation(method, path)
    may = known is None or known.scope is None or known.scope in SCOPES_OF[role]
    return f"{method} {path}" if not may or response.status == 403 else None


@pytest.mark.parametrize("role", few([Role.DEVELOPER, Role.VIEWER], Role))
def test_each_role_sees_what_it_may_and_nothing_else(stack: Stack, new_person: NewPerson, role: Role) -> None:
    person, refused = new_person(signing(Purse(stack.chain, "Wallet"))).at().click("Use Wallet").heading("Home"), list[str | None]()
    named = populated(stack, person, new_person().register())
    give_role(stack, person, role)
    person.page.on("response", lambda each: refused.append(beyond(role, each)))
    links = shown(person, "").page.locator("nav a").evaluate_all(
        "links => links.map((each) => each.pathname.split('/')[2] ?? '')"
    )
    expected = {view for view, call in READS.items() if allows(role, call)}
    assert set(links) == expected | {""} | ({"payouts"} if "payouts:read" in SCOPES_OF[role] else set())
    for view, call in {**READS, **OPENED_BY}.items():
        is_refused = shown(person, f"/{view.format(**named)}").page.get_by_role("heading", name="Not for your role").count() == 1
        assert is_refused != allows(role, call), view
    beyond_role = list[str]()
    for path, offers in OFFERED.items():
        shown(person, path.format(**named))
        person.page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
        for box in person.page.locator("main tbody input[type=checkbox]").all():
            box.check()
        may_open = person.page.get_by_role("heading", name="Not for your role").count() == 0
        for kind, name, call in offers:
            found = person.page.locator("main").get_by_role(kind, name=name.format(**named), exact=True)  # type: ignore[arg-type]
            if may_open and allows(role, call):
                expect(found.first, f"{path} {name} {call}").to_be_attached(timeout=milliseconds())  # what is chosen is read first
            elif found.count() > 0:
                beyond_role.append(f"{path} {name} {call}")
    assert beyond_role == []
    assert [each for each in refused if each] == []


def test_every_view_of_the_navigation_is_compared(new_person: NewPerson) -> None:
    links = shown(new_person().register(), "").page.locator("nav a")
    expect(links).to_have_count(len(READS) + 2)


def test_every_view_that_needs_a_scope_is_compared() -> None:
    (table,) = re.findall(r"const VIEWS = \{(.+?)\n\};", (PAGES / "shell.js").read_text(), re.DOTALL)
    scoped = set(re.findall(r"^  (\w+): \{[^}]*scope: ", table, re.MULTILINE))
    assert scoped - {"payouts"} == {each.split("/")[0] for each in {**READS, **OPENED_BY}} - {"security", "status"}


def arguments(script: str, start: int) -> list[str]:
    """What a call is given whose arguments begin there, as it is written."""
    found, depth, quote = [""], 0, ""
    for at in range(start, len(script)):
        letter = script[at]
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"`":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}" and depth:
            depth -= 1
        elif letter == ")":
            break
        elif letter == "," and not depth:
            found.append("")
            continue
        found[-1] += letter
    return [each.strip() for each in found]


def writes() -> set[tuple[str, str]]:
    """The method and the path, as both are written, of each call of the scripts that may change something."""
    found = set()
    for script in (each.read_text() for each in PAGES.glob("*.js") if each.name not in ("api.js", "vendor.js")):
        for call in re.finditer(r"(?<![\w.])(call|respond|post)\((?=\S)", script):
            first, *others = arguments(script, call.end())
            methods, path = (["POST"], first) if call[1] == "post" else (re.findall(r'"([A-Z]+)"', first), (others or [""])[0])
            found |= {(method, path) for method in methods if method != "GET"}
    return found


def called(method: str, path: str) -> set[str]:
    """The operations that a path means, of which a part in braces is anything."""
    if (method, path) in INDIRECT:
        return set(INDIRECT[method, path])
    texts = [re.sub(r"\$\{[^}]+\}", "*", each.split("?")[0]).split("/") for each in re.findall(r'["`](/v\d/[^"`]+)["`]', path)]
    known = {each.path: each.path.split("/") for each in OPERATIONS if each.method == method}
    return {
        f"{method} {name}" for text in texts for name, parts in known.items()
        if len(parts) == len(text) and all(one == other or one == "*" or (other.startswith("{") and one == "*") for one, other in zip(text, parts, strict=True))
    }  # fmt: skip


def test_every_call_of_the_scripts_that_writes_is_compared_or_exempt_with_its_reason() -> None:
    compared = {call for offers in OFFERED.values() for _, _, call in offers}
    operations = {call: called(*call) for call in writes()}
    assert [call for call, found in operations.items() if not found] == []
    assert INDIRECT.keys() - operations.keys() == set(), "no script makes these calls any more"
    left = set().union(*operations.values()) - compared
    assert sorted(each for each in left if not each.partition(" ")[2].startswith(tuple(EXEMPT))) == []
    assert compared - set().union(*operations.values()) == set(), "no script makes these calls"
