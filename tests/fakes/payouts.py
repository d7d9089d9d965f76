"""Payout links as the flows write them, written in batches, which is faster than the flows."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from chalicelib.base import ids
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.links.records import (
    AnnouncedStatus,
    AnnouncedTransaction,
    Flow,
    Link,
    LinkAnnouncements,
    LinkStatus,
    PayableLink,
    PaymentType,
)
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.references import payment_reference
from chalicelib.platform.services import Services
from chalicelib.platform.storage.items import item_of
from tests.fakes.world import PAYEE, PREFIX, START, WALLET

AMOUNT = BaseUnits(12_500_000)
_BATCH = 25
"""The most items of a BatchWriteItem call."""


def store_payouts(services: Services, account_id: str, count: int, **changes: Any) -> list[PayableLink]:
    """Writes pending payouts of 12.50 fUSDC on sepolia; `changes` are fields of the link or of its request."""
    made = [payout(services, account_id, **changes) for _ in range(count)]
    records = [record for payment in made for record in (payment.link, *payment.requests)]
    for start in range(0, len(records), _BATCH):
        puts = [{"PutRequest": {"Item": item}} for item in _items(records[start : start + _BATCH])]
        services.store.client.batch_write_item(RequestItems={f"{PREFIX}-payments": puts})
    return made


def payout(services: Services, account_id: str, **changes: Any) -> PayableLink:
    """Returns a payout without writing it."""
    now: datetime = services.clock()
    entropy = services.entropy
    currency = token_with_id(changes.pop("currency", "fUSDC-sepolia"))
    assert currency is not None
    request_fields = {name: changes.pop(name) for name in list(changes) if name in ("amount", "paid", "payee")}
    token, request_id, salt = ids.ulid(now, entropy), ids.request_id(entropy), ids.salt(entropy)
    link: dict[str, Any] = {
        "token": token,
        "account_id": account_id,
        "client_id": None,
        "origin": None,
        "payment_type": PaymentType.SINGLE,
        "status": LinkStatus.PENDING,
        "created_at": now,
        "expires_at": now + timedelta(days=7),
        "fee_percentage": None,
        "fee_address": None,
        "reference": "PAY-1",
        "payer_identifier": None,
        "redirect_url": None,
        "redirect_label": None,
        "flow": Flow.PAY,
        "creator_wallet": WALLET,
        "version": 1,
        **changes,
    }
    request: dict[str, Any] = {
        "payable_id": token,
        "position": 0,
        "request_id": request_id,
        "account_id": "acct",
        "created_at": START,
        "salt": salt,
        "payment_reference": "0x" + payment_reference(request_id, salt, PAYEE).hex(),
        "payee": PAYEE,
        "network": currency.network,
        "currency": currency.id,
        "amount": AMOUNT,
        "status": RequestStatus.CREATED,
        "paid": BaseUnits(0),
        "tx_hash": None,
        "version": 1,
        **request_fields,
    }
    return PayableLink((Request(**request),), Link(**link))


def on_its_way(payable: PayableLink, status: AnnouncedStatus = AnnouncedStatus.PENDING) -> PayableLink:
    """Returns the link with a multisig announced transaction without writing it."""
    now = payable.link.created_at
    announced = AnnouncedTransaction(
        account_id=payable.link.account_id,
        link_token=payable.link.token,
        announced_id="intent",
        network="sepolia",
        safe_tx_hash="0x" + "ab" * 32,
        wallet=None,
        nonce=None,
        deadline=None,
        payer_address=None,
        status=status,
        created_at=now,
        ends_at=payable.link.expires_at,
        check_at=now,
        scanned_to=0,
    )
    return replace(payable, announcements=LinkAnnouncements(announced))


def _items(records: list[Any]) -> Iterator[dict[str, Any]]:
    return (item_of(replace(record, version=record.version - 1), record.key) for record in records)
