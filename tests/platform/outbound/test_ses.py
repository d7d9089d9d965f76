"""The client of SES against a real server: what it sends, and what it makes of every answer."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import pytest
from botocore.config import Config

from chalicelib.mail.rules import ID_TAG as TAG_OF_NEWS
from chalicelib.platform.outbound.ses import ID_HEADER, ID_TAG, Message, NotSent, Ses
from infra.local.cloud import Cloud

MESSAGE = Message("01M", "ann@shop.example", "Größe", "text", "<p>html</p>")
LATER, AFTER_REPAIR, NEVER = (True, False), (True, True), (False, False)


class Answering(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.error, self.body = 200, "", b'{"MessageId": "ses-1"}'
        self.seen: list[dict[str, Any]] = []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    server: Answering

    def do_POST(self) -> None:
        self.server.seen.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(self.server.status)
        if self.server.error:
            self.send_header("x-amzn-errortype", self.server.error)
        self.send_header("content-length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Answering]:
    with Answering() as running:
        yield running
        running.shutdown()


def ses(url: str, brand: str = "Pay") -> Ses:
    config = Config(retries={"total_max_attempts": 1}, read_timeout=1)
    client = boto3.client("sesv2", region_name="us-east-1", endpoint_url=url, config=config)
    return Ses("no-reply@pay.example", brand, "stage-mails", client)


def url_of(server: Answering) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def test_a_message_goes_to_one_address_with_its_id_in_a_header_and_in_a_tag(server: Answering) -> None:
    assert ses(url_of(server)).send(MESSAGE) == "ses-1"
    [seen] = server.seen
    assert seen["Destination"] == {"ToAddresses": ["ann@shop.example"]}
    assert seen["FromEmailAddress"] == "Pay <no-reply@pay.example>"
    assert seen["ConfigurationSetName"] == "stage-mails"
    simple = seen["Content"]["Simple"]
    assert simple["Headers"] == [{"Name": ID_HEADER, "Value": "01M"}] and ID_HEADER == "X-Service-Mail"
    assert seen["EmailTags"] == [{"Name": ID_TAG, "Value": "01M"}] and ID_TAG == TAG_OF_NEWS
    assert simple["Subject"] == {"Data": "Größe", "Charset": "UTF-8"}
    assert simple["Body"] == {"Text": {"Data": "text", "Charset": "UTF-8"}, "Html": {"Data": "<p>html</p>", "Charset": "UTF-8"}}


@pytest.mark.parametrize("brand", ["Päy\r\nBcc: x@evil.example", 'Pay "x" <y@evil.example>', "支払い"])
def test_the_name_of_the_sender_cannot_end_its_header_or_add_an_address(server: Answering, brand: str) -> None:
    from email.utils import parseaddr

    try:
        ses(url_of(server), brand).send(MESSAGE)
    except ValueError:
        return  # refused before SES
    [seen] = server.seen
    assert "\n" not in seen["FromEmailAddress"] and seen["FromEmailAddress"].isascii()
    assert parseaddr(seen["FromEmailAddress"])[1] == "no-reply@pay.example"


@pytest.mark.parametrize(
    ("status", "error", "follows"),
    [
        (429, "TooManyRequestsException", LATER),
        (400, "LimitExceededException", LATER),
        (400, "ThrottlingException", LATER),
        (500, "InternalFailure", LATER),
        (503, "", LATER),
        (400, "SendingPausedException", AFTER_REPAIR),
        (400, "AccountSuspendedException", AFTER_REPAIR),
        (400, "MailFromDomainNotVerifiedException", AFTER_REPAIR),
        (400, "MessageRejected", AFTER_REPAIR),
        (404, "NotFoundException", AFTER_REPAIR),
        (403, "AccessDeniedException", AFTER_REPAIR),
        (400, "BadRequestException", NEVER),
        (400, "SomethingNew", NEVER),
    ],
)
def test_what_follows_from_an_error_of_ses(server: Answering, status: int, error: str, follows: tuple[bool, bool]) -> None:
    server.status, server.error, server.body = status, error, b'{"message": "no"}'
    with pytest.raises(NotSent) as raised:
        ses(url_of(server)).send(MESSAGE)
    assert (raised.value.later, raised.value.needs_repair) == follows
    assert len(server.seen) == 1, "the mail's own attempts are the only ones"


def test_a_server_that_is_not_there_is_asked_later() -> None:
    with pytest.raises(NotSent) as raised:
        ses("http://127.0.0.1:9").send(MESSAGE)
    assert (raised.value.later, raised.value.needs_repair) == LATER


def test_the_local_cloud_takes_messages_of_a_verified_sender_alone(cloud: Cloud) -> None:
    cloud.verify_sender("verified@pay.example")
    client, before = cloud.client("sesv2"), len(cloud.mails())
    Ses("verified@pay.example", "Pay", "payment-requests-local-mails", client).send(MESSAGE)
    assert cloud.mails()[before]["Headers"] == {ID_HEADER: "01M"}
    with pytest.raises(NotSent, match="MessageRejected"):
        Ses("other@pay.example", "Pay", "payment-requests-local-mails", client).send(MESSAGE)
