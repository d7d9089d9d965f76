"""The rate that is locked for the payment of a converted amount, from when its tokens were taken: for it alone."""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.frozen import make_from
from chalicelib.crosschain.service.payment_intents.records import PaymentIntent
from chalicelib.payments.links.records import AnnouncedTransaction
from chalicelib.payments.requests.quotes import store as quote_store
from chalicelib.payments.requests.quotes.records import LockedRate
from chalicelib.platform.services import Services

RATE_LOCKED = timedelta(minutes=30)
"""How long the rate of a converted amount is locked from when the tokens were taken."""


def begin_lock(intent: PaymentIntent, now: datetime) -> tuple[LockedRate, ...]:
    """The rate that is locked for the payment of a payment intent once its tokens were taken, if its amount is
    converted.

    The recorder has payments that may be this one wait until the deposit was read that brings it.
    """
    if intent.rate is None:
        return ()
    locked = {"amount": intent.due, "source": intent.network, "ends_at": now + RATE_LOCKED}
    return (make_from(LockedRate, intent, **locked),)


def lock_of_deposit(
    services: Services, intent: PaymentIntent, announced: AnnouncedTransaction
) -> tuple[LockedRate, ...]:
    """The rate with the deposit that a check has read of its payment; nothing if that was known. At most one read."""
    fill_key = announced.bridge_transfer.fill_key if announced.bridge_transfer is not None else None
    locked = _read(services, intent) if fill_key is not None else None
    return (replace(locked, fill_key=fill_key),) if locked is not None and locked.fill_key != fill_key else ()


def end_lock(services: Services, intent: PaymentIntent) -> tuple[LockedRate, ...]:
    """The rate of a payment that got into no bridge, for which no payment waits any more. At most one read."""
    locked = _read(services, intent) if intent.taken_at is not None else None
    if locked is None or locked.fill_key is not None or intent.taken_at is None:
        return ()
    return (replace(locked, ends_at=intent.taken_at),)


def _read(services: Services, intent: PaymentIntent) -> LockedRate | None:
    return (
        None
        if intent.rate is None
        else quote_store.find_locked_rate(services.store, intent.request_id, intent.intent_id)
    )
