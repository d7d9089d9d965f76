"""Two people share an account by the API alone: mail of the local cloud, a passkey in Chromium, and a destination that waits."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from chalice import Chalice
from playwright.sync_api import Browser

from chalicelib.mail import flows as mail
from chalicelib.platform.services import assemble
from chalicelib.platform.settings import Settings
from chalicelib.platform.storage.queue import continue_chain
from infra.local.cloud import Cloud
from infra.local.runner import Runner
from tests.fakes.destinations import FUSDC_SEPOLIA, FUSDT_SEPOLIA, SEPOLIA
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import PREFIX
from tests.support.client import Api
from tests.support.device import Device
from tests.support.light_passwords import light_passwords
from tests.support.patience import patience
from tests.support.running import restart, run_on, serving
from tests.support.running_browser import running_browser
from tests.support.signed_in import Dashboard, by_wallet

SENDER, PASSWORD = "no-reply@pay.example", "correct horse"


@dataclass
class Site:
    """A deployment with a sender, at a name that browsers make passkeys for."""

    api: Api
    url: str
    cloud: Cloud

    def link(self, email: str, page: str) -> str:
        """What follows # in the link of the mail to this address."""
        deadline = time.monotonic() + patience()
        while time.monotonic() < deadline:
            for message in self.cloud.mails():
                if message["To"] == [email] and (found := re.search(rf"{self.url}/dashboard/{page}#(\S+)", message["BodyText"])):
                    return found[1]
            time.sleep(0.05)
        raise AssertionError(f"no mail with a link to {page} came to {email}")

    def log_in(self, email: str) -> Dashboard:
        reply = self.api.request("POST", "/v1/auth/login", {"email": email, "password": PASSWORD})
        assert reply.status == 200, reply.json
        return Dashboard(self.api, reply.headers["set-cookie"].split(";")[0].partition("=")[2])


@pytest.fixture
def site(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    cloud.verify_sender(SENDER)
    for name, value in {**cloud.environment(), "MAIL_SENDER": SENDER, "RATE_LIMIT_SCALE": "50"}.items():
        monkeypatch.setenv(name, value)
    with light_passwords(), serving() as server:
        url = f"http://localhost:{server.server_port}"
        services = assemble(replace(Settings.read(), auth_url=url, api_url=url))
        mails = Chalice(app_name="mails", env={})

        def send_mail(event: Any) -> None:
            for message in event:
                with continue_chain(message.body):
                    mail.send_mail(services, message.body)

        mails.on_sqs_message(f"{PREFIX}-mails", batch_size=1, name="send_mail", maximum_concurrency=2)(send_mail)
        with Runner(mails):
            run_on(services)
            yield Site(Api(server.server_port), url, cloud)
    restart()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as browser:
        yield browser


def test_two_people_share_an_account_and_no_one_alone_changes_where_they_are_paid(site: Site, browser: Browser) -> None:
    api, wallet = site.api, evm_wallet("shared")
    ann_email, bob_email = "ann@team.example", "bob@team.example"

    assert api.request("POST", "/v1/auth/register", {"email": ann_email, "password": PASSWORD}).status == 201
    confirmed = {"token": site.link(ann_email, "confirm")}
    assert api.request("POST", "/v1/auth/email/confirm", confirmed).status == 200
    ann = site.log_in(ann_email)
    asked = ann.send("POST", "/v1/auth/identities/challenge", {"address": wallet.address}).json
    fields = {name: asked[name] for name in ("challengeId", "nonce", "message")}
    assert ann.send("POST", "/v1/auth/identities", {**fields, "signature": wallet.sign(asked["message"])}).status == 201
    ann = by_wallet(api, wallet)
    route = {"tokenAddress": FUSDC_SEPOLIA, "chainId": SEPOLIA}
    assert ann.send("POST", "/v1/payee-destination", route).status == 201, "alone, nothing waits"

    assert ann.send("POST", "/v1/invitations", {"email": bob_email, "role": "admin"}).status == 201
    sent = {"secret": site.link(bob_email, "invitation"), "password": PASSWORD}
    assert api.request("POST", "/v1/auth/invitations/register", sent).status == 201
    assert api.request("POST", "/v1/auth/email/confirm", {"token": site.link(bob_email, "confirm")}).status == 200
    assert ann.get("/v1/account").json["approvals"] is True

    context = browser.new_context()
    bob = Device.at(context, site.url, bob_email)
    assert bob.send("POST", "/v1/auth/login", {"email": bob_email, "password": PASSWORD})[0] == 200
    bob.register()
    assert bob.send("POST", "/v1/auth/logout")[0] == 200
    assert bob.sign_in()[0] == 200
    assert bob.send("GET", "/v1/auth/me")[1]["provedBy"] == "passkey"

    changed = ann.send("PUT", "/v1/payee-destination", {**route, "tokenAddress": FUSDT_SEPOLIA})
    assert changed.status == 202, changed.json
    change = f"/v1/changes/{changed.json['pendingChange']['id']}"
    assert ann.get("/v1/payee-destination").json["tokenAddress"] == FUSDC_SEPOLIA
    assert ann.send("POST", f"{change}/approve").status == 403
    status, answer = bob.send("POST", f"{change}/approve")
    assert (status, answer["state"]) == (200, "applied"), answer
    assert ann.get("/v1/payee-destination").json["tokenAddress"] == FUSDT_SEPOLIA
    assert bob.send("POST", f"{change}/approve")[0] == 409
    context.close()
