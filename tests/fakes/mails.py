"""SES as flows are given it: keeps what it is given, and answers as a test says."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from chalicelib.platform.outbound.ses import Message, NotSent
from infra.local import calls as aws_calls

SENDER = "no-reply@pay.example"
"""For World(mail_sender=SENDER): with it a world sends e-mail."""


@dataclass
class FakeSes:
    """`refusals` are raised by the next calls, in order; `taken_first` has SES take a message that it then refuses, as
    when its answer is lost."""

    clock: Callable[[], datetime]
    sent: list[Message] = field(default_factory=list)
    sent_at: list[datetime] = field(default_factory=list)
    refusals: list[NotSent] = field(default_factory=list)
    taken_first: bool = False

    def send(self, message: Message) -> str:
        aws_calls.record_call("ses:SendEmail", "mails")
        if self.refusals and not self.taken_first:
            raise self.refusals.pop(0)
        self.sent.append(message)
        self.sent_at.append(self.clock())
        if self.refusals:
            raise self.refusals.pop(0)
        return f"ses-{len(self.sent)}"

    def to(self, address: str) -> list[Message]:
        return [each for each in self.sent if each.to.lower() == address.lower()]
