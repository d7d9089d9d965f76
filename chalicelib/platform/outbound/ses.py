"""The client of Amazon SES (API v2): sends one message to one address.

SES has no idempotency token, and sets Message-ID by itself. So a message that is sent twice, after a process died
between SES's answer and its record, has the same id in a header of its own, `X-Service-Mail`; it is also a tag of the
message, by which news of it (bounces, complaints) is told apart.
"""

from functools import cached_property
from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.platform.storage.clients import aws_client

ID_HEADER = "X-Service-Mail"
ID_TAG = "service-mail"
"""A tag has no other characters than letters, digits, - and _."""
_LATER = frozenset(
    {"TooManyRequestsException", "LimitExceededException", "ThrottlingException", "InternalServiceErrorException"}
)
_AFTER_REPAIR = frozenset(
    {
        "SendingPausedException", "AccountSuspendedException", "MailFromDomainNotVerifiedException", "MessageRejected",
        "NotFoundException", "AccessDeniedException", "AccessDenied",
    }
)


class NotSent(Exception):
    """SES did not take a message, or nobody knows whether it did. `code` is SES's own.

    It may be sent `later`, if need be after the operator has mended something (`needs_repair`); otherwise never.
    """

    def __init__(self, code: str, later: bool, needs_repair: bool = False) -> None:
        super().__init__(code)
        self.code, self.later, self.needs_repair = code, later, needs_repair


@frozen
class Message:
    """One message. `html` and `text` say the same."""

    mail_id: str
    to: str
    subject: str
    text: str
    html: str


class Ses:
    """`sender` is the verified address that messages come from, under the name `brand`; what became of them is told
    where `configuration_set` says."""

    def __init__(self, sender: str, brand: str, configuration_set: str, client: Any = None) -> None:
        self._sender, self._brand, self._configuration_set = sender, brand, configuration_set
        if client is not None:
            self._client = client

    @cached_property
    def _client(self) -> Any:
        return aws_client("sesv2", attempts=1)

    def send(self, message: Message) -> str:
        """Sends a message; returns SES's id of it. Raises NotSent."""
        from email.utils import formataddr

        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer = self._client.send_email(
                FromEmailAddress=formataddr((self._brand, self._sender)),
                Destination={"ToAddresses": [message.to]},
                Content={
                    "Simple": {
                        "Subject": _utf8(message.subject),
                        "Body": {"Text": _utf8(message.text), "Html": _utf8(message.html)},
                        "Headers": [{"Name": ID_HEADER, "Value": message.mail_id}],
                    }
                },
                ConfigurationSetName=self._configuration_set,
                EmailTags=[{"Name": ID_TAG, "Value": message.mail_id}],
            )
        except ClientError as error:
            code = error.response["Error"]["Code"]
            is_broken = error.response["ResponseMetadata"].get("HTTPStatusCode", 500) >= 500
            repair = code in _AFTER_REPAIR
            raise NotSent(code, later=is_broken or repair or code in _LATER, needs_repair=repair) from error
        except BotoCoreError as error:  # no connection, no answer in time
            raise NotSent(type(error).__name__, later=True) from error
        message_id: str = answer["MessageId"]
        return message_id


def _utf8(text: str) -> dict[str, str]:
    return {"Data": text, "Charset": "UTF-8"}
