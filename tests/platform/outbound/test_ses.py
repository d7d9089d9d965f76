"""The client of SES against a real server: what it sends, and what it makes of every answer."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest
from botocore.config import Config

from chalicelib.mail.rules import ID_TAG as TAG_OF_NEWS
from chalicelib.platform.outbound.ses import ID_HEADER, ID_TAG, Message, NotSent, Ses
from infra.local.cloud import Cloud
from tests.support.http_server import Request, Response, serving

MESSAGE = Message("01M", "ann@shop.example", "Größe", "text", "<p>html</p>")
LATER, AFTER_REPAIR, NEVER = (True, False), (True, True), (False, False)


@dataclass
class Answering:
    url: str = ""
    status: int = 200
    error: str = ""
    body: bytes = b'{"MessageId": "ses-1"}'
    seen: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, request: Request) -> Response:
        self.seen.append(json.loads(request.body))
        return Response(self.status, {"x-amzn-errortype": self.error} if self.error else {}, self.body)


@pytest.fixture
def server() -> Iterator[Answering]:
    running = Answering()
    with serving(running.answer) as running.url:
        yield running


def ses(url: str, brand: str = "Pay") -> Ses:
    config = Config(retries={"total_max_attempts": 1}, read_timeout=1)
    client = boto3.client("sesv2", region_name="us-east-1", endpoint_url=url, config=config)
    return Ses("no-reply@pay.example", brand, "stage-mails", client)


def test_a_message_goes_to_one_address_with_its_id_in_a_header_and_in_a_tag(server: Answering) -> None:
    assert ses(server.url).send(MESSAGE) == "ses-1"
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
        ses(server.url, brand).send(MESSAGE)
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
        ses(server.url).send(MESSAGE)
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
