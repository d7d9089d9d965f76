"""Commerce payments of a tenant in the tables of the app under test, in the state that an example needs."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.escrow.logs import EscrowEventKind
from chalicelib.commerce.core.records import CommercePayment, EscrowEntry, OperationKind, PendingOperation
from chalicelib.commerce.service import flows as commerce
from chalicelib.commerce.service import store as commerce_store
from chalicelib.commerce.service.creation import Draft
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from tests.fakes.world import PAYEE, WALLET
from tests.support.running import running

AMOUNT = BaseUnits(100_000_000)
CAPTURED = {"authorized": AMOUNT, "captured": BaseUnits(60_000_000), "fees": BaseUnits(1_500_000)}
TX_HASH = "0x" + "5e" * 32


def commerce_payment(account_id: str, *, created_with: Mode | None = None, **changes: Any) -> CommercePayment:
    """A stored payment of 100 fUSDC on sepolia, which WALLET pays; `changes` are fields of the record."""
    services, owner = running(), Owner(account_id, None, None, mode=created_with)
    draft = Draft("shop-1", PAYEE, WALLET, AMOUNT, "fUSDC-sepolia", AMOUNT, None, None, None, 0, 10_000, None)
    made = commerce.create(services, owner, draft).payment
    stored = commerce_store.payment(services.store, made.payable_id)
    assert stored is not None
    if changes:
        services.store.write(replace(stored, **changes))
        stored = replace(stored, **changes, version=stored.version + 1)
    return stored


def executing(account_id: str, kind: OperationKind, amount: int, *, has_fee: bool = True, **changes: Any) -> str:
    """The request id of a payment with an operation that is under way, so that asking for it again changes nothing."""
    now = running().clock()
    pending = PendingOperation(1, kind, BaseUnits(amount), now, payer=WALLET, transaction_hash=TX_HASH)
    if has_fee and kind in (OperationKind.CAPTURE, OperationKind.CHARGE):
        pending = replace(pending, fee_bps=250, fee_receiver=PAYEE)
    return commerce_payment(account_id, pending=pending, operations=1, **changes).request_id


def expired(account_id: str) -> CommercePayment:
    """A payment whose money the payer may take back."""
    past = running().clock() - timedelta(hours=1)
    return commerce_payment(account_id, authorized=AMOUNT, authorization_expiry=past)


def with_events(account_id: str) -> str:
    """The request id of a payment of which a part was captured."""
    payment, services = commerce_payment(account_id, **CAPTURED), running()
    for number, kind, amount in ((1, EscrowEventKind.AUTHORIZED, AMOUNT), (2, EscrowEventKind.CAPTURED, 60_000_000)):
        block_hash, now = f"0x{number:064x}", services.clock()
        place = (payment.request_id, 100 + number, block_hash, TX_HASH, f"{number}", 0)
        services.store.write(EscrowEntry(*place, kind, BaseUnits(amount), now))
    return payment.request_id
