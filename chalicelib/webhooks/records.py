"""Stored record: events, which are the outbox."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.lists import lists, place_of
from chalicelib.base.records import COMPRESSED, WEBHOOKS, KeyPattern, Record

EVENTS = "EVENT"
"""The kind of the lists of events."""
EVENT_RETENTION = timedelta(days=30)
BODY = {
    **COMPRESSED,
    "preset": b'"state":"pending","askedBy":"person:01","approvedBy":[],"takesEffectAt":"20","expiresAt":"20",'
    b'"decidedBy":null,"reason":null,"clientUserId":"","kycStatus":"approved","agreementStatus":"completed",'
    b'"isCompliant":true,"subStatus":"failed","failureReason":"chain_reorganization","originalRequestId":"01",'
    b'"originalRequestPaymentReference":"0x","offrampId":"offramp_01","isCryptoToFiat":true,'
    b'"paymentProcessor":"service-tech","rawPayload":{"status":"","createdWith":"clientId","refundedTo":"0x",'
    b'"refundAmount":"","untoldCount":0,"status":"confirmed","receivedAmount":"","labels":["duplicate"],'
    b'"labels":["under"],"fees":[{"type":"platform","amount":"1","currency":"USDC"}],"network":"mainnet",'
    b'"currency":"USDT","paymentCurrency":"USDT","event":"payment.partial.client_id",'
    b'{"event":"payment.confirmed.checkout","requestId":"01","requestID":"01","paymentReference":"0x",'
    b'"explorer":"https:///request/01","timestamp":"2026-T0:00.000Z","paymentProcessor":"service-network",'
    b'"createdWith":"apiKey","amount":"1","totalAmountPaid":"1","expectedAmount":"1","txHash":"0x",'
    b'"network":"base","currency":"USDC","paymentCurrency":"USDC","isCryptoToFiat":false,"subStatus":"","fees":[],'
    b'"payee":"0x","reference":"","payerIdentifier":null,"payerAddress":null,"payerAddress":"0x","labels":[],'
    b'"clientId":"cli_","origin":"https://","sequence":1}',
}
"""The metadata of the body of an event: what bodies have in common, the most common last."""
MISPAID = ("late", "over")
"""The labels of a payment that completes its request, and somebody has to look at all the same."""


def message_group(account_id: str, is_public: bool) -> str:
    """The group of messages about a webhook of an account. Those of public webhooks, which anybody can register, have
    one of their own: strangers whose receivers are slow do not hold up the account's deliveries."""
    return f"{account_id}/public" if is_public else account_id


@frozen
class EventVariant:
    """A further form of an event that is delivered, too. Its body is that of the event with its own kind as `event`.

    `body` is the whole body in an event of shape 1, and None since.
    """

    kind: str
    body: str | None = None


@frozen
class Event(Record):
    """One event of a merchant; `body` is the JSON text that each of its deliveries signs and sends.

    Each of its `variants` is delivered as well, after it: to a webhook with `n` variants, `n + 1` deliveries are made.
    `published` becomes true when all its deliveries are written; until then the event is in the outbox. `queued_at` is
    when a sweep last queued it; None if none had to. With a `person_id` the body is sealed with the data key of that
    person (webhooks/sealed_bodies.py), and has no variants. `about_webhook_id` is the webhook that it is about: it is
    not delivered to that one, nor to public ones. `request_id` is the request that it is about, None for others and for
    events that were stored without one. `sequence` is higher than that of every earlier event about the same thing; its
    body has it, too. None for events that were stored without one.
    """

    KEY = KeyPattern(WEBHOOKS, "EVENT#{event_id:.64}", "EVENT")
    SCHEMA = 2

    event_id: str
    kind: str
    account_id: str
    client_id: str | None
    body: str = field(metadata=BODY)
    created_at: datetime
    published: bool = field(metadata={"attribute": "announced"})
    variants: tuple[EventVariant, ...] = ()
    queued_at: datetime | None = None
    person_id: str | None = None
    about_webhook_id: str | None = None
    request_id: str | None = None
    sequence: int | None = field(default=None, metadata={"attribute": "seq"})

    @property
    def bodies(self) -> Iterator[tuple[str, str]]:
        """The kind and the body of the event and of each variant, in the order of their deliveries."""
        yield self.kind, self.body
        begin = f'{{"event":"{self.kind}"'
        for each in self.variants:
            yield each.kind, each.body or self.body.replace(begin, f'{{"event":"{each.kind}"', 1)

    @property
    def is_mispayment(self) -> bool:
        """Whether it is of a transfer that was not owed or does not count, or of a payment that completed its request
        too late or by too much."""
        if self.kind == "payment.unexpected":
            return bool(json.loads(self.body).get("status") != "reversed")
        labels = json.loads(self.body).get("labels", ()) if self.kind == "payment.confirmed" else ()
        return not {*MISPAID}.isdisjoint(labels)

    @property
    def listed(self) -> Mapping[str, str]:
        mispaid = "true" if self.is_mispayment else None
        values = {"by_kind": self.kind, "by_request": self.request_id, "by_mispayment": mispaid}
        return lists(self.account_id, EVENTS, values)

    @property
    def listed_at(self) -> str:
        return place_of(self.created_at, self.event_id)

    @property
    def next_due(self) -> datetime | None:
        """Until it is published, from its creation on, and again after each sweep."""
        return None if self.published else self.queued_at or self.created_at

    @property
    def vanishes_at(self) -> datetime:
        """30 days after it was created; the payment is kept."""
        return self.created_at + EVENT_RETENTION
