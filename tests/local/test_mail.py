"""E-mail end to end: over HTTP, through the local cloud's tables, queues, SES and SNS, and back as a bounce; the mailbox."""

import json
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chalice import Chalice

from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.mail import flows as mail
from chalicelib.mail.flows import is_configured
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.services import Services, assemble
from chalicelib.platform.settings import Settings
from chalicelib.platform.storage.queue import continue_chain
from infra.local.cloud import Cloud
from infra.local.mailbox import Mailbox
from infra.local.runner import Runner
from tests.fakes.world import PREFIX
from tests.support.client import Api
from tests.support.light_passwords import light_passwords
from tests.support.patience import wait_for
from tests.support.running import restart, run_on, serving

SENDER = "no-reply@pay.example"
OLD, NEW = "correct horse", "battery staple"


@pytest.fixture(scope="module")
def services(cloud: Cloud) -> Iterator[Services]:
    """A deployment with a sender, and its consumers of mails and of their news."""
    cloud.verify_sender(SENDER)
    with pytest.MonkeyPatch.context() as environment, light_passwords():
        for name, value in {**cloud.environment(), "MAIL_SENDER": SENDER, "RATE_LIMIT_SCALE": "50"}.items():
            environment.setenv(name, value)
        made = assemble(Settings.read())
        app = Chalice(app_name="mails", env={})
        for queue, job in (("mails", mail.send_mail), ("mail-news", mail.note)):
            app.on_sqs_message(f"{PREFIX}-{queue}", batch_size=1, name=job.__name__, maximum_concurrency=2)(_consume(made, job))
        with Runner(app):
            yield made


def _consume(services: Services, job: Callable[[Services, str], None]) -> Callable[[Any], None]:
    def handle(event: Any) -> None:
        for message in event:
            with continue_chain(message.body):
                job(services, message.body)

    handle.__name__ = job.__name__
    return handle


@pytest.fixture(scope="module")
def api(services: Services) -> Iterator[Api]:
    run_on(services)
    with serving() as server:
        yield Api(server.server_port)
    restart()


def messages_to(cloud: Cloud, address: str) -> list[dict[str, Any]]:
    """Those in the mailbox of the cloud, which other files share: an address has to be that of one test."""
    return [each for each in cloud.mails() if each["To"] == [address]]


def token(message: dict[str, Any]) -> str:
    found = re.search(r"http://auth\.test/dashboard/(?:confirm|password)#(\w+)", message["BodyText"])
    assert found and found[0] in message["BodyHtml"]
    return found[1]


def log_in(api: Api, email: str, password: str) -> dict[str, str]:
    reply = api.request("POST", "/v1/auth/login", {"email": email, "password": password})
    assert reply.status == 200
    cookie = re.search(r"session_token=([^;]+)", reply.headers["set-cookie"])
    assert cookie
    return {"authorization": f"Bearer {cookie[1]}"}


def test_somebody_registers_confirms_forgets_the_password_and_sets_a_new_one(cloud: Cloud, api: Api) -> None:
    email, german = "registers@mail.example", {"accept-language": "de-CH,de;q=0.9"}
    made = api.request("POST", "/v1/auth/register", {"email": email, "password": OLD}, german)
    assert (made.status, made.json["emailSent"]) == (201, True)
    assert api.request("POST", "/v1/auth/login", {"email": email, "password": OLD}).status == 401
    [welcome] = wait_for(lambda: messages_to(cloud, email))
    assert welcome["Subject"] == "E-Mail-Adresse bestätigen" and len(welcome["Headers"]["X-Service-Mail"]) == 26
    assert api.request("POST", "/v1/auth/email/confirm", {"token": token(welcome)}).json == {"email": email}
    assert api.request("POST", "/v1/auth/email/confirm", {"token": token(welcome)}).status == 400

    session = log_in(api, email, OLD)
    [address] = api.get("/v1/auth/email", session).json["addresses"]
    assert (address["email"], address["language"], address["stopped"]) == (email, "de", None) and address["confirmedAt"]
    assert api.request("PUT", "/v1/auth/email", {"language": "ja"}, session).json["addresses"][0]["language"] == "ja"

    assert api.request("POST", "/v1/auth/password/forgot", {"email": email}).json == {"emailSent": True}
    message = wait_for(lambda: messages_to(cloud, email)[1:])[0]
    assert message["Subject"] == "新しいパスワードの設定"
    reset = {"token": token(message), "password": NEW}
    assert api.request("POST", "/v1/auth/password/reset", reset).json == {"success": True}
    assert api.request("POST", "/v1/auth/password/reset", reset).status == 400
    assert api.get("/v1/auth/me", session).status == 401
    log_in(api, email, NEW)


def test_an_address_that_bounces_is_shown_as_such_and_not_written_to_again(
    cloud: Cloud, api: Api, services: Services
) -> None:
    email = "bounce+shop@simulator.amazonses.com"
    sign_in_flows.register(services, email, OLD, Actor("", "anonymous", "203.0.113.7", "req-1"))
    session = log_in(api, email, OLD)
    assert api.request("POST", "/v1/auth/email/confirmation", {"email": email}, session).json == {"emailSent": True}
    stopped = wait_for(lambda: api.get("/v1/auth/email", session).json["addresses"][0]["stopped"])
    assert stopped["reason"] == "bounce"
    for _ in range(2):
        assert api.request("POST", "/v1/auth/email/confirmation", {"email": email}, session).status == 202
    time.sleep(1)
    assert len(messages_to(cloud, email)) == 1
    assert is_configured(services) and mail.ASKED_FOR


def test_the_mailbox_shows_messages_and_keeps_a_file_of_each(cloud: Cloud, tmp_path: Path) -> None:
    cloud.verify_sender(SENDER)
    content = {"Simple": {"Subject": {"Data": "<b>Größe</b>"}, "Body": {"Text": {"Data": "text"}, "Html": {"Data": "<p>html</p>"}}}}
    sent = cloud.client("sesv2").send_email(
        FromEmailAddress=SENDER, Destination={"ToAddresses": ["page@shop.example"]}, Content=content
    )["MessageId"]

    def page(path: str) -> str:
        with urllib.request.urlopen(f"{mailbox.url}{path}") as answer:
            return answer.read().decode()

    with Mailbox(cloud, tmp_path) as mailbox:
        assert "page@shop.example" in page("/") and "&lt;b&gt;Größe&lt;/b&gt;" in page("/")
        assert page(f"/{sent}") == "<p>html</p>"
        assert json.loads(page(f"/{sent}.json"))["BodyText"] == "text"
    assert json.loads((tmp_path / f"{sent}.json").read_text("utf-8"))["To"] == ["page@shop.example"]
