"""What developers find at the dashboard: programs that run as they stand, branding that is seen while it is typed, and
the settings of a client id."""

import hashlib
import hmac
import json
import os
import shutil
import subprocess
import sys
import time
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
import requests
from playwright.sync_api import expect

from infra.local.process import free_port
from tests.accounts.branding.png import png
from tests.fakes.world import PAYEE
from tests.pages.conftest import NewVisitor
from tests.pages.dashboard.conftest import NewPerson, Person
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings
from tests.support.client import item
from tests.support.patience import patience
from tests.support.running import running

pytestmark = pytest.mark.xdist_group("browser")
LANGUAGES = {"curl": ["bash", "-c"], "python": [sys.executable, "-c"], "node": [shutil.which("node") or "node", "--input-type=module", "-e"]}
BODY, SECRET = b'{"event":"payment.confirmed"}', "whsec_of_a_test"


def program(person: Person, language: str, name: str) -> list[str]:
    """The command that runs a program, as it is shown."""
    person.page.get_by_label("Programming language").select_option(language)
    return [*LANGUAGES[language], person.page.locator(f"[aria-labelledby=snippet-{name}] pre").inner_text()]


@pytest.fixture
def developer(new_person: NewPerson) -> Person:
    person = new_person().register()
    person.call("POST", "/v1/client-ids", {"label": "Shop", "allowedDomains": []}, 201)
    person.call("POST", "/v2/secure-payments", {"requests": [item()]}, 201)
    return person


def test_programs_create_links_as_they_stand(stack: Stack, developer: Person) -> None:
    key = developer.call("POST", "/v1/api-keys", {"label": "Server"}, 201)["key"]
    developer.at("/snippets").sees("Create a link")
    expect(developer.page.get_by_label("Payee", exact=True)).to_have_value(PAYEE)
    for number, language in enumerate(LANGUAGES, start=1):
        if number == 3:
            developer.page.get_by_label("Client ID").select_option(index=1)
        command = program(developer, language, "create")
        done = subprocess.run(command, env={**os.environ, "API_KEY": key}, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and f"{stack.pay_url}/?token=" in done.stdout, (language, done.stderr, done.stdout)
    assert len(developer.call("GET", "/v2/secure-payments?reference=INV-1")["securePayments"]) == 3


@pytest.mark.parametrize("language", ["python", "node"])
def test_a_receiver_takes_what_is_signed_and_refuses_what_is_not(developer: Person, language: str) -> None:
    command, port = program(developer.at("/snippets"), language, "verify"), free_port()
    signature = hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest()
    with subprocess.Popen(command, env={**os.environ, "WEBHOOK_SECRET": SECRET, "PORT": str(port)}, stdout=subprocess.PIPE) as receiver:
        try:
            url, deadline = f"http://127.0.0.1:{port}/", time.monotonic() + patience()
            while True:
                try:
                    statuses = [requests.post(url, BODY, headers={"x-service-signature": each}, timeout=patience()).status_code for each in (signature, signature[1:], "é" * 64)]
                    break
                except requests.ConnectionError:
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
            statuses.append(requests.post(url, BODY, timeout=patience()).status_code)
        finally:
            receiver.kill()
        assert statuses == [204, 401, 401, 401]
        assert receiver.stdout is not None and receiver.stdout.read().strip() == BODY


def test_the_shell_checks_a_body_that_was_kept(developer: Person, tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(BODY)
    command = program(developer.at("/snippets"), "curl", "verify")
    signature = hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest()
    for each, said in ((signature, "genuine\n"), ("0" * 64, "")):
        environment = {**os.environ, "WEBHOOK_SECRET": SECRET, "SIGNATURE": each}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.stdout == said, done.stderr


def test_branding_is_seen_while_it_is_typed_and_the_payer_sees_it(
    stack: Stack, developer: Person, new_visitor: NewVisitor, tmp_path: Path
) -> None:
    (client,) = developer.call("GET", "/v1/client-ids")
    developer.at("/clients").click("Branding", "link").heading("Branding of Shop")
    logo = tmp_path / "logo.png"
    logo.write_bytes(png())
    developer.page.get_by_label("Logo").set_input_files(logo)
    expect(developer.page.locator(".branded img")).to_be_visible()
    developer.page.get_by_label("Colours of your own").check()
    developer.fill("Lesser text", "#dddddd").sees("Lesser text on Card has a contrast of 1.3")
    developer.click("Save").sees("secondaryTextColor #dddddd on")
    developer.fill("Lesser text", "#333333").fill("Button", "#aa0044")
    expect(developer.page.locator(".branded-action")).to_have_css("background-color", "rgb(170, 0, 68)")
    assert axe_findings(developer.page) == []
    developer.click("Save")
    expect(developer.page.get_by_role("button", name="Remove the branding")).to_be_visible()
    kept = developer.call("GET", f"/v1/client-ids/{client['id']}/branding")
    assert (kept["primaryActionColor"], b64decode(kept["logo"])[:4]) == ("#aa0044", b"\x89PNG")
    reply = stack.shop.api.request("POST", "/v2/secure-payments", {"requests": [item()]}, {"x-client-id": client["clientId"]})
    visitor = new_visitor().open(reply.json["token"])
    assert visitor.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--action').trim()") == "#aa0044"
    developer.click("Remove the branding")
    developer.page.get_by_role("dialog").get_by_role("button", name="Remove the branding").click()
    expect(developer.page.get_by_role("button", name="Remove the branding")).to_have_count(0)


def test_a_domain_is_set_published_checked_and_removed(developer: Person) -> None:
    (client,) = developer.call("GET", "/v1/client-ids")
    path = f"/v1/client-ids/{client['id']}/domain"
    developer.at("/clients").click("Branding", "link").heading("Branding of Shop")
    developer.fill("Domain", "https://shop.example").click("Set the domain").sees("domain must be the name of a domain")
    developer.fill("Domain", "Shop.example").click("Set the domain").sees("Not verified")
    developer.sees("there is no TXT record at _payment-requests.shop.example")
    record = developer.call("GET", path)["record"]
    assert developer.page.locator(".copy.whole code").all_inner_texts() == [record["name"], record["value"]]
    assert axe_findings(developer.page) == []
    running().txt_records.texts[record["name"]] = (record["value"],)  # type: ignore[attr-defined]
    developer.click("Check now").sees("Last found")
    expect(developer.page.locator(".badge", has_text="Verified")).to_have_text("Verified")
    assert developer.call("GET", path)["status"] == "verified"
    developer.click("Remove the domain")
    developer.page.get_by_role("dialog").get_by_role("button", name="Remove the domain").click()
    expect(developer.page.get_by_role("button", name="Check now")).to_have_count(0)


def test_each_of_many_client_ids_is_shown_with_its_limits_by_one_call(new_person: NewPerson) -> None:
    person = new_person().register()
    for number in range(25):
        limits = {} if number % 2 else {"allowedPayees": [PAYEE]}
        body = {"label": f"Shop {number}", "allowedDomains": ["https://shop.example"], **limits}
        person.call("POST", "/v1/client-ids", body, 201)
    asked = list[str]()
    person.page.on("request", lambda sent: asked.append(sent.url) if "/v1/client-ids" in sent.url else None)
    person.at("/clients").sees("Shop 24")
    expect(person.page.get_by_role("row").filter(has_text="Anybody may be paid")).to_have_count(12)
    expect(person.page.get_by_role("row").filter(has_text="Limited")).to_have_count(13)
    assert len(asked) == 1


def test_defaults_of_a_client_id_are_changed_and_what_is_wrong_is_said_beside_its_field(developer: Person) -> None:
    developer.at("/clients").click("Settings").fill("Fee in percent", "2.5").fill("And captured for", "soon")
    developer.page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(developer.page.locator("dialog .problem").first).to_be_visible()
    developer.fill("And captured for", "86400").fill("Who gets the fee", PAYEE).fill("Allowed payees", PAYEE)
    developer.page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(developer.page.get_by_role("dialog")).to_have_count(0)
    (client,) = developer.call("GET", "/v1/client-ids")
    found = developer.call("GET", f"/v1/client-ids/{client['id']}")
    assert (found["feePercentage"], found["feeAddress"], found["defaultAuthorizationExpiry"], found["allowedPayees"]) == ("2.5", PAYEE, 86400, [PAYEE])
    developer.click("Settings").fill("Fee in percent", "").fill("Who gets the fee", "")
    developer.page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(developer.page.get_by_role("dialog")).to_have_count(0)
    now = developer.call("GET", f"/v1/client-ids/{client['id']}")
    assert (now["feePercentage"], now["feeAddress"]) == (None, None)


def save(person: Person) -> None:
    person.page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(person.page.get_by_role("dialog")).to_have_count(0)


def test_a_key_is_changed_turned_off_and_on_and_only_what_was_changed_is_sent(developer: Person) -> None:
    made = developer.call("POST", "/v1/api-keys", {"label": "Server", "scopes": ["requests:read", "audit:read"], "expiresAt": "2099-01-31T12:00:00Z"}, 201)
    sent = list[Any]()
    developer.page.on("request", lambda each: sent.append(each.post_data_json) if each.method == "PUT" else None)
    developer.at("/keys").click("Change").fill("Name", "Till <b>").fill("IP ranges", "everywhere")
    assert axe_findings(developer.page) == []
    developer.page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(developer.page.locator("dialog .problem").first).to_contain_text("not an IP address or range")
    developer.page.get_by_label("audit:read", exact=True).uncheck()
    save(developer.fill("IP ranges", "203.0.113.0/24, 198.51.100.7"))
    expect(developer.page.locator("tbody tr")).to_contain_text("Till <b>")
    found = developer.call("GET", f"/v1/api-keys/{made['id']}")
    assert (found["label"], found["scopes"], found["allowedIps"]) == ("Till <b>", ["requests:read"], ["203.0.113.0/24", "198.51.100.7/32"])
    assert found["expiresAt"].startswith("2099-01-31T12:00:00") and "expiresAt" not in sent[-1]
    developer.click("Change").page.get_by_label("In use").uncheck()
    save(developer)
    expect(developer.page.locator("tbody .badge")).to_have_text("Off")
    assert sent[-1] == {"isActive": False}
    developer.click("Change").fill("Ends on", "").page.get_by_label("In use").check()
    save(developer)
    assert sent[-1] == {"isActive": True, "expiresAt": None}
    save(developer.click("Change"))
    assert len(sent) == 4, "nothing is sent if nothing was changed"


def test_a_client_id_has_its_name_domains_and_state_changed(developer: Person) -> None:
    developer.at("/clients").click("Settings").fill("Name", "Till").fill("Domains of your pages", "https://till.example\nhttps://shop.example")
    developer.sees("Without allowed payees a stranger can create links")
    developer.page.get_by_label("In use").uncheck()
    save(developer)
    expect(developer.page.locator("tbody tr")).to_contain_text("Off")
    (client,) = developer.call("GET", "/v1/client-ids")
    assert (client["label"], client["allowedDomains"], client["status"]) == ("Till", ["https://till.example", "https://shop.example"], "inactive")
    developer.click("Settings").fill("Domains of your pages", "").page.get_by_label("In use").check()
    save(developer)
    (client,) = developer.call("GET", "/v1/client-ids")
    assert (client["allowedDomains"], client["status"]) == ([], "active")


def test_a_webhook_has_its_events_changed(developer: Person) -> None:
    made = developer.call("POST", "/v1/webhook", {"url": "http://127.0.0.1:9999/hook", "events": ["payment.confirmed"]}, 201)
    developer.at(f"/webhook/{made['id']}").click("Change the events")
    expect(developer.page.get_by_label("payment.confirmed", exact=True)).to_be_checked()
    developer.page.get_by_label("payment.confirmed", exact=True).uncheck()
    developer.page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(developer.page.get_by_role("dialog").get_by_role("alert")).to_have_text("Choose at least one event.")
    developer.page.get_by_label("webhook.failing", exact=True).check()
    save(developer)
    developer.sees("webhook.failing")
    (webhook,) = developer.call("GET", "/v1/webhook")
    assert (webhook["events"], webhook["isActive"]) == (["webhook.failing"], True)


def test_a_queue_is_a_webhook_whose_role_gets_the_policy_that_is_shown(developer: Person) -> None:
    role, queue = "arn:aws:iam::123456789012:role/payment-events-orders", "arn:aws:sqs:eu-west-1:123456789012:orders"
    developer.at("/webhooks").click("New webhook").fill("URL", "https://shop.example/hook")
    expect(developer.page.get_by_label("Role that sends there")).to_have_count(0)
    developer.fill("URL", queue).fill("Role that sends there", role.replace("payment-events-", ""))
    developer.click("Create webhook")
    expect(developer.page.get_by_label("Role that sends there")).to_have_attribute("aria-invalid", "true")
    developer.fill("Role that sends there", role).click("Create webhook").sees("Give the role this trust policy")
    assert axe_findings(developer.page) == []
    (webhook,) = developer.call("GET", "/v1/webhook")
    shown = json.loads(developer.page.locator("dialog code").inner_text())
    assert shown["Statement"][0]["Condition"] == {"StringEquals": {"sts:ExternalId": webhook["externalId"]}}
    assert (webhook["url"], webhook["roleArn"], webhook["events"]) == (queue, role, ["*"])
    developer.at(f"/webhook/{webhook['id']}").sees(webhook["externalId"]).sees(role)


def test_a_platform_is_created_with_a_key_shown_once_admitted_by_a_client_id_and_revoked(developer: Person) -> None:
    developer.at("/platforms").heading("Platforms").sees("No platforms yet")
    developer.click("New platform").fill("Name", "Market <b>").fill("E-mail for support requests", "market").click("Create platform")
    expect(developer.page.get_by_label("E-mail for support requests")).to_have_attribute("aria-invalid", "true")
    developer.fill("E-mail for support requests", "help@market.example").click("Create platform").sees("shown only this once")
    key, platform_id = developer.page.locator("dialog code").all_inner_texts()
    developer.click("Close").sees("help@market.example").sees(f"{key[:13]}…")
    expect(developer.page.locator("body")).not_to_contain_text(key)
    row = developer.page.locator("tbody tr", has_text="Market <b>")
    expect(row).not_to_contain_text("Shop")
    save(developer.at("/clients").click("Settings").fill("Platform that may link it", platform_id))
    developer.at("/platforms")
    expect(row).to_contain_text("Shop")
    links = f"{developer.stack.pay_url}/v2/orchestrators/client-ids"
    (client,) = developer.call("GET", "/v1/client-ids")
    as_platform = {"x-orchestrator-key": key}
    assert requests.post(links, json={"clientId": client["clientId"]}, headers=as_platform, timeout=patience(10)).status_code == 201
    developer.click("Revoke").sees("The key of Market <b> is refused from now on")
    developer.page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    developer.sees("No platforms yet")
    assert requests.get(links, headers=as_platform, timeout=patience(10)).status_code == 401
