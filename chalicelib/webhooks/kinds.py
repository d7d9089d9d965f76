"""The kinds of events: when each is sent and which fields it has, in the order in which its body has them.

Bodies (`body_of`), the samples of tests, the OpenAPI document and the tables of docs/webhooks.md take them from here.
So a new kind of event is one entry of `CORE`, with its own fields in fields.py, and the code that makes it.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from chalicelib.base import ids
from chalicelib.base.frozen import frozen
from chalicelib.webhooks import fields
from chalicelib.webhooks.fields import Field
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext, Payload, compact_json


@frozen
class Kind:
    """A kind of event. `when` says when it is sent, `summary` the same in one line, `about` what its body shows.

    The body has the `fields`, and in the OpenAPI document it is the model `model`, which has the fields of the first
    kind that names it. `sample` are the examples that differ from those of the fields. A kind with `variants` is
    delivered once more under each of these names. One that is `chosen_by_name` is received only by webhooks that choose
    it by its full name.
    """

    name: str
    when: str
    summary: str
    about: str
    model: str
    fields: tuple[Field, ...]
    sample: Mapping[str, Any] = field(default_factory=dict)
    variants: tuple[str, ...] = ()
    chosen_by_name: bool = False


_CHANGED = (*fields.REQUEST, *fields.FACTS)
_CONFIRMED = (*_CHANGED, fields.TX_HASH, *fields.PLACE, *fields.CONFIRMED)
_PAYMENT = "A confirmed payment."
_CHANGES = {
    "account.change_requested": "A change of where money goes was asked for",
    "account.change_approved": "Somebody has approved such a change",
    "account.change_applied": "Such a change has taken effect",
    "account.change_refused": "Such a change was refused",
    "account.change_withdrawn": "Whoever asked for such a change has withdrawn it",
    "account.change_expired": "Nobody has approved such a change in time",
    "account.change_failed": "Such a change no longer applies",
}

_DESCRIBED = (
    Kind(
        "payment.processing",
        "A request that is paid out to a bank account is a step further: `initiated`, `pending_internal_assessment`, "
        "`ongoing_checks`, `sending_fiat`, `fiat_sent`, in this order; beside them `retry_required` and `bounced`. "
        "Their `sequence` has the order, as deliveries may arrive in any.",
        "A paid request is a step nearer to the bank account",
        "The next step on the way of a paid request to a bank account.",
        "ProcessingPayload",
        (
            fields.EVENT,
            *fields.PAYMENT_ID,
            fields.OFFRAMP_ID,
            fields.TIMESTAMP,
            fields.STEP,
            fields.IS_PAID_OUT,
            fields.PROCESSOR,
            fields.RAW_OF_ORDER,
            fields.CREATED,
        ),
    ),
    Kind(
        "payment.failed",
        "A chain reorganization deeper than the network's confirmations removed a payment that an event had told of, "
        "or any payment without which the request is no longer paid. `failureReason` is `chain_reorganization`. Or a "
        "recurring payout is paused, because its payment failed three times in a row: then `recurringPayment` names "
        "it, and `failureReason` says why it failed last. Or the off-ramp provider has not sent the fiat, or the bank "
        "has returned it ([off-ramp.md](off-ramp.md)). Or a payment from another chain did not arrive "
        "([cross-chain.md](cross-chain.md)): then `network` and `txHash` are those of the chain that it came from, "
        "`amount` is what it would have counted for, `subStatus` is `bounced` if the payer has the tokens back, "
        "`insufficient_funds` or `failed` if the transaction took nothing, and `failureReason` says it in words. Or "
        "nothing of a commerce payment will be captured: `failureReason` is `voided`, `reclaimed` or `expired`.",
        "A payment was reversed, or will not be made",
        "A confirmed payment that a chain reorganization removed, so that `totalAmountPaid` is what is still paid; a "
        "recurring payout that is paused, because its payment failed three times; fiat that did not reach a bank "
        "account; a payment from another chain that did not arrive, whose `amount` is then not part of "
        "`totalAmountPaid`; or a commerce payment of which nothing will be captured.",
        "FailedPayload",
        (*_CHANGED, fields.FAILED_TX_HASH, *fields.PLACE, fields.STATED, *fields.FAILED),
        sample={"totalAmountPaid": "0"},
    ),
    Kind(
        "payment.refunded",
        "A refund that `POST /v2/request/{request_id}/refund` ([requests.md](requests.md)), `GET "
        "/v2/secure-payments/{token}/transfers` or `GET /v2/request/{request_id}/transfers` offered is confirmed. At "
        "most 20 transfers of a refund are reported, and besides these each of a thousandth of the request or more; "
        "`sentAmount` in that list has the sum. Or the operator of a commerce payment has refunded a part of it "
        "through the escrow, which is always reported.",
        "A refund is confirmed",
        "A transfer that returned an amount which was not owed, or a refund of a commerce payment.",
        "RefundedPayload",
        (*fields.REQUEST, *fields.REFUNDED, fields.CURRENCY, fields.TX_HASH, fields.NETWORK),
    ),
    Kind(
        "payment.confirmed",
        "The confirmed payments of a request reach its amount; of one that is paid out to a bank account, the fiat "
        "was sent ([off-ramp.md](off-ramp.md)). It is sent once, and again only if a chain reorganization removed a "
        "payment and a payment completes the request anew. Or its owner has accepted what was paid as full payment "
        "([links.md](links.md)): then `amount` is 0, `labels` has `under`, and `totalAmountPaid` is what was "
        "accepted.",
        "The confirmed payments of a request reach its amount",
        _PAYMENT,
        "PaymentPayload",
        _CONFIRMED,
        variants=("client_id", "checkout"),
    ),
    Kind(
        "payment.partial",
        "A payment is confirmed and the request is not yet paid in full. After 100 payments of a request, one of less "
        "than a thousandth of its amount is not reported; after 2,000 none is but the one that completes it.",
        "A payment is confirmed and the request is not paid in full",
        _PAYMENT,
        "PaymentPayload",
        tuple(each for each in _CONFIRMED if each is not fields.EXCESS),
        sample={"amount": "50", "totalAmountPaid": "50", "labels": ["under"]},
        variants=("client_id", "checkout"),
    ),
    Kind(
        "request.recurring",
        "A new request was created: of the next date of a request that recurs, or of the next period of a recurring "
        "payout, whose first request is reported, too.",
        "A new request of a series was created",
        "A new request: of the next date of a request that recurs, or of the next period of a recurring payout.",
        "RecurringPayload",
        (*fields.REQUEST, *fields.ORIGINAL, fields.RECURRING_PAYMENT),
    ),
    Kind(
        "request.cancelled",
        "A request, or the link that it is part of, was cancelled: it can be paid no more. Once for each request that "
        "was not paid. What is paid all the same is told by `payment.unexpected`, and can be refunded.",
        "A request was cancelled",
        "A request that its owner has cancelled. `totalAmountPaid` is what was paid of it before.",
        "CancelledPayload",
        (*fields.REQUEST, fields.TOTAL, fields.EXPECTED, fields.NETWORK, fields.CURRENCY, fields.REFERENCE),
        sample={"totalAmountPaid": "0"},
    ),
    Kind(
        "payment_detail.updated",
        "The provider tells another state of a payer's bank account.",
        "The check of a bank account has an outcome",
        "The provider has checked a bank account.",
        "PaymentDetailPayload",
        (
            fields.EVENT,
            fields.BANK_ACCOUNT,
            fields.PERSON,
            *fields.BANK_ACCOUNT_STATUS,
            fields.TIMESTAMP,
            fields.raw_of_person(status="approved"),
        ),
    ),
    Kind(
        "compliance.updated",
        "The provider tells another state of a payer's identity check or agreement ([payers.md](payers.md)). The "
        "newest state counts: one that the provider leaves behind before it is told is not sent.",
        "The compliance status of a person changes",
        "The provider has changed the state of a person who is paid out in fiat.",
        "CompliancePayload",
        (
            fields.EVENT,
            fields.PERSON,
            *fields.COMPLIANCE,
            fields.TIMESTAMP,
            fields.raw_of_person(kycStatus="approved", agreementStatus="completed"),
        ),
    ),
    Kind(
        "payment.unexpected",
        "A transfer with the reference of a request is confirmed that no other event tells of: a payment when the "
        "request was paid or cancelled before, or one that does not count. Only for webhooks that choose it by "
        "its name, see below.",
        "A transfer that was not owed, or does not count",
        "A transfer with the request's reference that no other event tells of: one that came when the request was "
        "paid or cancelled, or that does not count. Only webhooks that choose this kind by its name receive it. Of "
        "a request at most ten are told a day, and none in tokens that are not in the catalogue.",
        "UnexpectedPayload",
        (
            *fields.REQUEST,
            fields.TRANSFER_STATUS,
            fields.TOTAL,
            fields.EXPECTED,
            fields.TX_HASH,
            fields.NETWORK,
            fields.CURRENCY,
            fields.REFERENCE,
            fields.UNNOTIFIED,
            fields.UNEXPECTED_LABELS,
            fields.AMOUNT,
            fields.PAYEE,
            fields.PAYER,
            fields.PAYMENT_CURRENCY,
            fields.RECEIVED,
            fields.STATED,
        ),
        sample={"totalAmountPaid": "200"},
        chosen_by_name=True,
    ),
    *(
        Kind(
            name,
            f"{when} ([people.md](people.md), Approvals). Only for webhooks that choose it by its name.",
            when,
            "A change of where money goes, or of who says so, that waits for a second person or for a delay.",
            "AccountChangePayload",
            (fields.EVENT, fields.TIMESTAMP, *fields.CHANGE),
            chosen_by_name=True,
        )
        for name, when in _CHANGES.items()
    ),
    Kind(
        "webhook.failing",
        "Every attempt at another of your webhooks has failed for an hour. Once, until an attempt succeeds. Neither "
        "that webhook receives it, nor one that a client id alone registered; and of such a webhook none is sent. Only "
        "for webhooks that choose it by its name.",
        "Every attempt at a webhook has failed for an hour",
        "A webhook that does not answer. Only other webhooks of the account receive it, if they choose this kind by "
        "its name.",
        "WebhookFailingPayload",
        (fields.EVENT, fields.TIMESTAMP, *fields.FAILING),
        chosen_by_name=True,
    ),
)

CORE = tuple(replace(kind, fields=(*kind.fields, fields.SEQUENCE)) for kind in _DESCRIBED)

NAMED_KINDS = tuple(kind.name for kind in CORE if kind.chosen_by_name)
"""Kinds that only those webhooks receive that choose them by their full name, because receivers did not expect them."""
_VARIANTS = {f"{kind.name}.{variant}": kind for kind in CORE for variant in kind.variants}
BY_NAME = {
    **{kind.name: kind for kind in CORE if not kind.chosen_by_name},
    **_VARIANTS,
    **{kind.name: kind for kind in CORE if kind.chosen_by_name},
}
"""The kind of each event by its name. A variant has the fields and values of its core event, except for `event`."""
KINDS = tuple(BY_NAME)


def new_event(kind: str, body: str, account_id: str, client_id: str | None, context: EventContext) -> Event:
    """An event of an account that happens now and is not published yet."""
    event_id = ids.ulid(context.now, context.entropy)
    return Event(event_id, kind, account_id, client_id, body, created_at=context.now, published=False)


def with_sequence(event: Event, sequence: int) -> Event:
    """The event with a number, as the last field of its body, too. Not for one with a sealed body."""
    assert event.sequence is None and event.person_id is None, "it has one, or has to have it before it is sealed"
    return replace(event, sequence=sequence, body=f'{event.body[:-1]},"{fields.SEQUENCE.name}":{sequence}}}')


def body_of(kind: str, facts: Mapping[str, Any]) -> str:
    """The body of an event: those of the `facts` that its kind has, in their order. `facts` may have others."""
    found = {"event": kind, **{each.name: facts[each.name] for each in BY_NAME[kind].fields if each.name in facts}}
    return compact_json(found)


def sample_of(kind: str) -> Payload:
    """The facts of a sample that are not about its time and its deployment."""
    described = BY_NAME[kind]
    examples = {each.name: each.example for each in described.fields if each.example is not fields.ABSENT}
    return {**examples, **described.sample}


def is_personal(kind: str, name: str) -> bool:
    """Whether a field of a kind of event is personal data of the merchant's customer. One that it does not have is."""
    return next((each.is_personal for each in BY_NAME[kind].fields if each.name == name), True)
