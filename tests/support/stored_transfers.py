"""Transfers as the scan records them, and a node's responses about their senders."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from chalicelib.base.money import BaseUnits
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links import store as link_store
from chalicelib.payments.recording import payment_counts
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus, UnmatchedTransfer
from chalicelib.payments.requests.records import Request
from chalicelib.platform.storage.store import Add
from tests.fakes.world import PAYEE, WALLET
from tests.support.node import Node
from tests.support.running import running

FUSDC = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
FUSDT = "0xf046b3ca5ae2879c6bacc4d42faf363ee8379f78"
TX_HASH, BLOCK_HASH = "0x" + "ab" * 32, "0x" + "cd" * 32
_TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


def store_payment(token: str, amount: int) -> Payment:
    """Writes a payment of the link's only request, in base units of fUSDC."""
    payment = link_reading.load(running(), token)
    assert payment is not None
    return store_payment_of(payment.requests[0], amount)


def store_payment_of(request: Request, amount: int) -> Payment:
    """Writes a payment of a request, in base units of fUSDC."""
    made = Payment(
        request_id=request.request_id,
        event_key="",
        value=BaseUnits(amount),
        network="sepolia",
        block_hash=BLOCK_HASH,
        log_index=3,
        block_number=77,
        tx_hash=TX_HASH,
        amount=BaseUnits(amount),
        fee_amount=BaseUnits(125_000),
        fee_address="0x" + "11" * 20,
        status=PaymentStatus.CONFIRMED,
        detected_at=request.created_at + timedelta(seconds=30),
        paid_at=request.created_at + timedelta(seconds=12),
        payer=WALLET,
        account_id=request.account_id,
        client_id=request.client_id,
        payee=request.payee,
        currency=request.currency,
        invoice_currency=request.invoice_currency or request.currency,
        payment_reference=request.payment_reference,
        reference=request.reference,
    )
    return record_payment(made)


def record_payment(made: Payment) -> Payment:
    """Writes a payment and counts it, also in its request, as the recorder does; returns it as it was written."""
    marked = payment_counts.mark_payment(made)
    request = link_store.find_requests(running().store, [made.request_id])[made.request_id]
    one_more = replace(request, confirmed_count=request.confirmed_count + 1)
    running().store.write(marked, one_more, *(Add(*each) for each in payment_counts.amounts([], [marked])))
    return marked


def store_unmatched(token: str, token_address: str, payee: str = PAYEE) -> None:
    """Writes an unmatched transfer with the request's reference: 2 units of another token with 6 decimals."""
    payment = link_reading.load(running(), token)
    assert payment is not None
    running().store.write(
        UnmatchedTransfer(
            event_key="",
            request_id=payment.requests[0].request_id,
            network="sepolia",
            block_hash=BLOCK_HASH,
            log_index=4,
            block_number=78,
            tx_hash=TX_HASH,
            token_address=token_address,
            payee=payee.lower(),
            amount=BaseUnits(2_000_000),
            reason="wrong_token",
            detected_at=payment.link.created_at,
        )
    )


def paid_by(node: Node, wallet: str, amount: int) -> None:
    """Makes the node return one transaction, in which the wallet sends `amount` fUSDC to the payee."""
    words = ["0x" + address[2:].lower().rjust(64, "0") for address in (wallet, PAYEE)]
    log = {"address": FUSDC, "topics": [_TRANSFER_TOPIC, *words], "data": f"0x{amount:064x}"}
    receipt = {"transactionHash": TX_HASH, "from": wallet, "to": FUSDC, "status": "0x1", "logs": [log]}

    def answer(calls: list[Any]) -> bytes:
        assert {(call["method"], call["params"][0]) for call in calls} == {("eth_getTransactionReceipt", TX_HASH)}
        return json.dumps([{"jsonrpc": "2.0", "id": call["id"], "result": receipt} for call in calls]).encode()

    node.answers_with = answer
