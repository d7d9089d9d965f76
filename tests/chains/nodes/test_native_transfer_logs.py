"""Logs of native transfers (EIP-7708): the topic of ERC-20 transfers, from an address that is no token."""

from typing import Any

import pytest

from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.chains.catalogue.escrows import escrow_contracts
from chalicelib.chains.nodes.bridges.deposits import sum_of_sent_tokens, token_transfer
from chalicelib.chains.nodes.bridges.fills import payments_of_fills
from chalicelib.chains.nodes.conversions.logs import CONVERSION_TOPIC
from chalicelib.chains.nodes.escrow.transfers import ESCROW_TOPICS
from chalicelib.chains.nodes.history.full_blocks import LogFilter
from chalicelib.chains.nodes.history.logs import TRANSFER_TOPIC, TRANSFER_TOPICS
from chalicelib.chains.nodes.history.proofs import _sum_of_moved
from chalicelib.chains.nodes.history.receipts import PaidTransfer, _payer
from chalicelib.chains.nodes.history.transfers import payment_events, transfers_of
from chalicelib.chains.nodes.readings import Sought, TokenFlow

SYSTEM = "0xfffffffffffffffffffffffffffffffffffffffe"
BURN_TOPIC = "0xcc16f5dbb4873280815c1ee09dbd06736cffcc184412cf7a71a0fdb75d397ca5"
TOKEN, PAYER, PAYEE = ("0x" + byte * 20 for byte in ("a1", "b2", "c3"))
TX = "0x" + "ab" * 32


def word(address: str) -> str:
    return "0x" + address[2:].rjust(64, "0")


def transfer(emitter: str, amount: int = 7) -> dict[str, Any]:
    return {
        "address": emitter, "topics": [TRANSFER_TOPIC, word(PAYER), word(PAYEE)], "data": f"0x{amount:064x}",
        "transactionHash": TX, "logIndex": "0x0", "blockNumber": "0x7", "blockHash": "0x" + "cd" * 32,
    }  # fmt: skip


def test_a_native_transfer_is_no_transfer_of_a_token() -> None:
    native, of_token = transfer(SYSTEM), transfer(TOKEN)
    assert token_transfer(of_token, bytes.fromhex(TOKEN[2:])) is not None
    assert token_transfer(native, bytes.fromhex(TOKEN[2:])) is None
    assert sum_of_sent_tokens([native, of_token, native], TOKEN, PAYER, PAYEE) == 7
    assert sum_of_sent_tokens([native], TOKEN, PAYER, PAYEE) == 0


def test_a_native_transfer_moves_nothing_of_what_the_service_holds() -> None:
    flow = TokenFlow(TOKEN, PAYEE, inward=True)
    assert _sum_of_moved([transfer(SYSTEM), transfer(TOKEN)], Sought(TX, 7, 9, flow), flow) == 7


def test_a_native_transfer_makes_nobody_the_payer_of_a_token() -> None:
    paid = PaidTransfer(TX, TOKEN, PAYEE, 7, "key")
    assert _payer("base", {"from": PAYER, "to": TOKEN, "logs": [transfer(SYSTEM)]}, paid) is None
    assert _payer("base", {"from": PAYER, "to": TOKEN, "logs": [transfer(SYSTEM), transfer(TOKEN)]}, paid) is not None


def test_a_native_transfer_is_no_fill_of_a_bridge() -> None:
    assert not list(payments_of_fills("base", [transfer(SYSTEM)]))


@pytest.mark.parametrize("topic", [*TRANSFER_TOPICS, CONVERSION_TOPIC, *ESCROW_TOPICS, TRANSFER_TOPIC, BURN_TOPIC])
@pytest.mark.parametrize("network", ["mainnet", "base", "sepolia"])
def test_nothing_from_that_address_is_a_payment_whatever_its_topic(network: str, topic: str) -> None:
    escrow = escrow_contracts(network, {})
    for words in range(6):
        log = {**transfer(SYSTEM), "topics": [topic, "0x" + "ef" * 32], "data": "0x" + "00" * 32 * words}
        assert transfers_of(network, [log], escrow) == ()
    assert SYSTEM not in {contract for contract, *_ in payment_events(network, escrow)}


def test_a_filter_for_a_contract_does_not_take_it() -> None:
    proxy = address_of(ERC20_FEE_PROXY, "mainnet")
    wanted = LogFilter((proxy,), ((TRANSFER_TOPIC,),))
    assert wanted.takes(transfer(proxy)) and not wanted.takes(transfer(SYSTEM))
