"""A link on Tron paid by a wallet that only signs: the service sends what tronpy built, and the node judges it."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tronpy.keys import PrivateKey

from chalicelib.chains.nodes.tron import BroadcastResult
from chalicelib.checkout.broadcasts import flows as broadcasts
from chalicelib.checkout.broadcasts.flows import SignedTransaction
from chalicelib.payments.links.reading import Viewer
from infra.local.tron import TronNode
from infra.local.tron_transactions import Transaction
from tests.fakes.world import World
from tests.onchain.ledger import Ledger
from tests.onchain.payer import pay_body

USDT = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
PAYEE, FEE_ADDRESS = "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7", "TG3XXyExBkPp9nzdajDZsozEu4BkaSJozs"


def test_a_wallet_that_only_signs_pays_a_link(
    world_on: Callable[..., World], tron: TronNode, tron_payer_of: Callable[[str], Any]
) -> None:
    world, payer = world_on("tron"), tron_payer_of("tronpy")
    payment = world.create_link(currency="USDT-tron", payee=PAYEE, fee_address=FEE_ADDRESS)

    def send(made: Transaction, id: str) -> BroadcastResult:
        signed = SignedTransaction(made.raw, made.signatures, id)
        return broadcasts.broadcast(world.services, payment.link.token, Viewer(world.account_id, None), signed)

    ledger = Ledger(tron.chain, [USDT], [payer.address, PAYEE, FEE_ADDRESS])
    grant, pay = pay_body(world, payment, payer.address)["transactions"]
    for transaction in (grant, pay):
        built = payer.build(transaction).sign(payer._key)  # over the id that tronpy gives it
        made = Transaction.of_json(built.to_json())
        assert send(made, built.txid) == BroadcastResult(True, built.txid, "SUCCESS", "")
        assert (send(made, built.txid).result, send(made, built.txid).code) == (False, "DUP_TRANSACTION_ERROR")
    assert ledger.moved() == {USDT: [-12_625_000, 12_500_000, 125_000]}
    raw = replace(made.call, permission_id=2).encode()
    stranger = PrivateKey.random().sign_msg_hash(hashlib.sha256(raw).digest()).to_bytes()
    refused = send(Transaction(made.call, raw, (stranger,)), hashlib.sha256(raw).hexdigest())
    assert (refused.result, refused.code) == (False, "SIGERROR")
