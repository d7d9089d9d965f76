"""Commerce payments on the chain in memory: stored as their creation writes them, and the logs of an escrow that obeys."""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS, hex_address
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.escrow.payment_info import PaymentInfo, encode_info, payment_hash
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.chains.nodes.escrow import transfers as escrow_transfers
from chalicelib.chains.nodes.escrow.logs import EscrowEventKind
from chalicelib.commerce.core.records import CommercePayment
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.records import Payable
from chalicelib.payments.requests.records import Reference
from chalicelib.platform.services import Services
from tests.fakes.chain import FakeChain
from tests.fakes.world import PAYEE, World

CONTRACTS = EscrowContracts("sepolia", *("0x" + f"{digit}" * 40 for digit in (1, 2, 3, 4, 5)))
OPERATOR, BUYER, OTHER = ("0x" + f"{digit}" * 40 for digit in (6, 7, 8))
COLLECTOR = CONTRACTS.pre_approval
AMOUNT = BaseUnits(100)
HOUR = timedelta(hours=1)
_TOPICS = {
    EscrowEventKind.PRE_APPROVED: escrow_transfers.PRE_APPROVED_TOPIC,
    EscrowEventKind.AUTHORIZED: escrow_transfers.AUTHORIZED_TOPIC,
    EscrowEventKind.CHARGED: escrow_transfers.CHARGED_TOPIC,
    EscrowEventKind.CAPTURED: escrow_transfers.CAPTURED_TOPIC,
    EscrowEventKind.VOIDED: escrow_transfers.VOIDED_TOPIC,
    EscrowEventKind.RECLAIMED: escrow_transfers.RECLAIMED_TOPIC,
    EscrowEventKind.REFUNDED: escrow_transfers.REFUNDED_TOPIC,
}


def new_payment(now: datetime, payable_id: str = "link", request_id: str = "request", **changes: Any) -> CommercePayment:
    """The record of a payment of 100 base units of fUSDC; `changes` are its fields."""
    fields: dict[str, Any] = {
        "payable_id": payable_id,
        "request_id": request_id,
        "account_id": "acct",
        "client_id": None,
        "merchant_id": "shop",
        "network": "sepolia",
        "currency": "fUSDC-sepolia",
        "escrow": CONTRACTS.escrow,
        "operator": OPERATOR,
        "is_service_operator": True,
        "receiver": PAYEE,
        "buyer": BUYER,
        "amount": AMOUNT,
        "max_amount": AMOUNT,
        "pre_approval_expiry": now + HOUR,
        "authorization_expiry": now + 2 * HOUR,
        "refund_expiry": now + 3 * HOUR,
        "min_fee_bps": 0,
        "max_fee_bps": 1000,
        "fee_receiver": None,
        "salt": "ab" * 32,
        "created_at": now,
        "changed_at": now,
        **changes,
    }
    payment = CommercePayment(**fields)
    if payment.buyer is None:
        return payment
    return replace(payment, payer=payment.buyer, payment_hash=hash_with(payment, payment.buyer))


def info_with(payment: CommercePayment, payer: str) -> PaymentInfo:
    token = token_with_id(payment.currency)
    assert token is not None
    return PaymentInfo(
        payment.operator,
        payer,
        payment.receiver,
        token.address,
        payment.max_amount,
        int(payment.pre_approval_expiry.timestamp()),
        int(payment.authorization_expiry.timestamp()),
        int(payment.refund_expiry.timestamp()),
        payment.min_fee_bps,
        payment.max_fee_bps,
        payment.fee_receiver or ZERO_ADDRESS,
        int(payment.salt, 16),
    )


def hash_with(payment: CommercePayment, payer: str) -> str:
    return payment_hash(info_with(payment, payer), CONTRACTS)


def store_commerce(world: World, **changes: Any) -> CommercePayment:
    """Writes a link over 100 base units and its commerce payment, and has the chain's escrow watched."""
    world.chain.escrow = CONTRACTS
    link = world.create_link(amount="0.0001", fee_percentage=None, fee_address=None)
    (request,) = link.requests
    client_id = request.client_id
    payment = new_payment(world.now, link.link.token, request.request_id, client_id=client_id, **changes)
    world.services.store.write(payment)
    if payment.payer is not None:
        world.services.store.write(Reference(hash_with(payment, payment.payer), payment.payable_id, 0, payer=payment.payer))
    return load_commerce(world.services, payment)


def ask_as(services: Services, payment: CommercePayment, wallet: str) -> None:
    """What is written when a wallet is handed its transactions."""
    expires_at = payment.pre_approval_expiry + timedelta(days=90)
    topic = hash_with(payment, wallet)
    services.store.write(Reference(topic, payment.payable_id, 0, payer=wallet, expires_at=expires_at))


def load_payable(services: Services, payment: CommercePayment) -> Payable:
    payable = link_store.load_payable(services.store, payment.payable_id)
    assert payable is not None
    return payable


def load_commerce(services: Services, payment: CommercePayment) -> CommercePayment:
    found = load_payable(services, payment).commerce
    assert found is not None
    return found


@dataclass
class FakeEscrow:
    """Writes the logs of the escrow about one payment into the chain in memory, a block for each."""

    chain: FakeChain
    payment: CommercePayment
    payer: str = BUYER

    def log(
        self, kind: EscrowEventKind, amount: int = 0, fee_bps: int = 0, fee_receiver: str = ZERO_ADDRESS
    ) -> dict[str, Any]:
        self.chain.mine()
        return self.log_too(kind, amount, fee_bps, fee_receiver)

    def log_too(
        self, kind: EscrowEventKind, amount: int = 0, fee_bps: int = 0, fee_receiver: str = ZERO_ADDRESS
    ) -> dict[str, Any]:
        """One more log of the newest block, of a transaction of its own."""
        info = encode_info(info_with(self.payment, self.payer)).hex()
        fee, collector = f"{fee_bps:064x}{_word(fee_receiver)}", _word(COLLECTOR)
        data = {
            EscrowEventKind.PRE_APPROVED: "",
            EscrowEventKind.AUTHORIZED: f"{info}{amount:064x}{collector}",
            EscrowEventKind.CHARGED: f"{info}{amount:064x}{collector}{fee}",
            EscrowEventKind.CAPTURED: f"{amount:064x}{fee}",
            EscrowEventKind.REFUNDED: f"{amount:064x}{collector}",
        }.get(kind, f"{amount:064x}")
        block = self.chain.blocks[-1]
        is_approval = kind is EscrowEventKind.PRE_APPROVED
        log = {
            "address": hex_address(CONTRACTS.pre_approval if is_approval else CONTRACTS.escrow),
            "topics": [_TOPICS[kind], hash_with(self.payment, self.payer)],
            "data": "0x" + data,
            "transactionHash": "0x" + hashlib.sha256(f"{block.hash}/{len(block.logs)}".encode()).hexdigest(),
            "logIndex": hex(len(block.logs)),
            "blockNumber": hex(block.number),
            "blockHash": block.hash,
        }
        block.logs.append(log)
        return log


def _word(address: str) -> str:
    return hex_address(address)[2:].rjust(64, "0")
